#compdef hanse
# Completes hanse in zsh: the program itself says what fits, and where it says nothing, files do.
_hanse() {
	local -a asked fitting
	asked=("${(@)words[1,CURRENT-1]}")
	if (( ${asked[(Ie)--]} )); then
		_files # what follows is arguments, and the program would run
		return
	fi
	[[ $words[CURRENT] == -* ]] && asked+=("$words[CURRENT]")
	fitting=("${(@f)$(env 0=zsh "${asked[@]}" --generate-bash-completion 2>/dev/null </dev/null)}")
	if [[ -n $fitting[1] ]]; then
		_describe hanse fitting
	else
		_files
	fi
}
if [[ $funcstack[1] == _hanse ]]; then
	_hanse "$@" # loaded from a folder of fpath
else
	compdef _hanse hanse
fi
