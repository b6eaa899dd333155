# fish completion for gsymfs(1): options and their values are those that --help lists.

function __gsymfs_options
    set -l typed (commandline -ct)
    set -l before (string match -r '^.*,' -- $typed)
    set -l found (gsymfs --help 2>/dev/null | string match -rg '^ *-o ([a-z_]+=?[^ ]*)')
    set -l name (string match -rg '([a-z_]+)=[^,]*$' -- $typed)
    if test -z "$name"
        string replace -r '=.*' = -- $found | string replace -r '^' "$before"
        return
    end
    set -l value (string match -rg "^$name=(.*)" -- $found)
    switch "$value"
        case '*|*'
            string split '|' $value | string replace -r '^' "$before$name="
        case 'DIR*' PATH
            set -l start (string match -r '^.*[=:]' -- $typed)
            __fish_complete_path (string replace -r '^.*[=:]' '' -- $typed) | string replace -r '^' "$start"
    end
end

complete -c gsymfs -x -a '(__fish_complete_directories)'
complete -c gsymfs -s o -x -a '(__gsymfs_options)' -d 'Options'
for line in (gsymfs --help 2>/dev/null | string match -r '^ *-[a-zA-Z](?:,| ) .*' | string match -v '*-o *')
    set -l parts (string match -rg '^ *-([a-zA-Z])(?:, --([a-z]+))? +(.*)' -- $line)
    if test (count $parts) -eq 3
        complete -c gsymfs -s $parts[1] -l $parts[2] -d $parts[3]
    else
        complete -c gsymfs -s $parts[1] -d $parts[2]
    end
end
for line in (gsymfs --help 2>/dev/null | string match -r '^ *-o [a-z_]+=.*')
    set -l parts (string match -rg '^ *-o ([a-z_]+)=(\S+) +(.*)' -- $line)
    if string match -q '*|*' -- $parts[2]
        complete -c gsymfs -l $parts[1] -x -a (string replace -a '|' ' ' -- $parts[2]) -d $parts[3]
    else
        complete -c gsymfs -l $parts[1] -r -d $parts[3]
    end
end
