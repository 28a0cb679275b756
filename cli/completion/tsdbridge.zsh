#compdef tsdbridge
# Completion of tsdbridge for zsh. The binary itself knows its commands and flags.
_tsdbridge() {
    local -a matches given
    given=("${(@)words[2,CURRENT]}")
    if [[ $PREFIX == --*=* ]]; then # --flag=value is one word here
        given[-1]=("${PREFIX%%=*}" "${PREFIX#*=}")
        compset -P '*='
    fi
    matches=("${(@f)$("${words[1]}" --completion-bash "${(@)given}" 2>/dev/null)}")
    compadd -a matches || _files
}
if [[ $funcstack[1] == _tsdbridge ]]; then
    _tsdbridge "$@"
else
    compdef _tsdbridge tsdbridge
fi
