# Completion of tsdbridge for fish. The binary itself knows its commands and flags.
function __tsdbridge_complete
    set -l given (commandline -opc)
    set -l word (commandline -ct)
    set -l program $given[1]
    set -e given[1]
    set -l before ''
    if string match -qr -- '^--[^=]*=' $word # --flag=value is one word here
        set -l parts (string split -m 1 = -- $word)
        set before "$parts[1]="
        set -a given $parts[1]
        set word $parts[2]
    end
    set -l words ($program --completion-bash $given $word 2>/dev/null)
    # The binary answers with all words that may stand here. If none of them fits, it is a file.
    if string match -qr -- '^'(string escape --style=regex -- $word) $words
        printf '%s\n' $before$words
    else
        printf '%s\n' $before(__fish_complete_path $word)
    end
end
complete -c tsdbridge -f -a '(__tsdbridge_complete)'
