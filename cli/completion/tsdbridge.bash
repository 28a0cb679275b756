# Completion of tsdbridge for bash. The binary itself knows its commands and flags.
_tsdbridge() {
    local word="${COMP_WORDS[COMP_CWORD]}" words=() w
    # bash cuts words at =, which kingpin does not.
    for w in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        [[ $w == = ]] || words+=("$w")
    done
    [[ $word == = ]] && word='' && words+=('')
    mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --completion-bash "${words[@]}" 2>/dev/null)" -- "$word")
}
complete -F _tsdbridge -o default tsdbridge
