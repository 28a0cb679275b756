# Types lines into an interactive zsh and presses Tab after each; prints the line that stands there then.
#
#   zsh -f complete.zsh DIRECTORY LINE...    DIRECTORY has _tsdbridge, as packages install it
zmodload zsh/zpty && zpty shell zsh -f -i || exit 1
answer() { # waits for what the shell prints between <<< and >>>
    local text
    zpty -r -m shell text '*<<<*>>>*' || exit 1
    REPLY=${${text##*<<<}%%>>>*}
}
zpty -w shell "PROMPT= RPROMPT= fpath=(${(q)1} \$fpath); unsetopt prompt_cr prompt_sp
    report() { print -r -- '<<''<'\$BUFFER'>>''>'; BUFFER=; zle .accept-line }; zle -N report; bindkey '^G' report
    autoload -Uz compinit && compinit -u -D && print '<<''<'ready'>>''>'"
answer
[[ $REPLY == ready ]] || exit 1
for line in "${(@)argv[2,-1]}"; do
    zpty -w -n shell "$line"$'\t\a'
    answer
    print -r -- $REPLY
done
zpty -d shell
