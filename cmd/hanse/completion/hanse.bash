# Completes hanse in bash: the program itself says what fits, and where it says nothing, files do.
_hanse() {
	local IFS=$'\n' word cur=${COMP_WORDS[COMP_CWORD]}
	local -a words=("${COMP_WORDS[@]:0:COMP_CWORD}")
	COMPREPLY=()
	for word in "${words[@]}"; do
		[[ $word == -- ]] && return # what follows is arguments, and the program would run
	done
	[[ $cur == -* ]] && words+=("$cur")
	COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null </dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _hanse hanse
