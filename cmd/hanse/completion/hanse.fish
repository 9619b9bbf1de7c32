# Completes hanse in fish: the program itself says what fits, and where it says nothing, files do.
function __hanse_fitting
    set -l words (commandline -opc)
    contains -- -- $words; and return # what follows is arguments, and the program would run
    set -l cur (commandline -ct)
    string match -q -- '-*' $cur; and set -a words $cur
    env 0=zsh $words --generate-bash-completion 2>/dev/null </dev/null | string replace -r '^([^:]+):' '$1\t'
end
complete -c hanse -f -n '__hanse_fitting | string length -q' -a '(__hanse_fitting)'
