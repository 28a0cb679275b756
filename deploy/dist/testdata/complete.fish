# Prints how fish completes each line.
#
#   fish --no-config complete.fish SCRIPT LINE...
source $argv[1]
for line in $argv[2..]
    echo (complete -C $line | string replace -r '\t.*' '')
end
