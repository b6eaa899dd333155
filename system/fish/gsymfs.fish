# fish completion for gsymfs(1): options are those that --help lists.

function __gsymfs_options
    set -l typed (commandline -ct)
    set -l before (string match -r '^.*,' -- $typed)
    set -l found (gsymfs --help 2>/dev/null | string match -rg '^ *-o ([a-z_]+=?[^ ]*)')
    set -l name (string match -rg '([a-z_]+)=[^,]*$' -- $typed)
    if test -n "$name"
        string match -- "$name=*|*" $found | string replace "$name=" '' | string split '|' |
            string replace -r '^' "$before$name="
    else
        string replace -r '=.*' = -- $found | string replace -r '^' "$before"
    end
end

complete -c gsymfs -x -a '(__fish_complete_directories)'
complete -c gsymfs -s f -d 'Stay in the foreground'
complete -c gsymfs -s d -d 'Log every request'
complete -c gsymfs -s s -d 'Serve with one thread'
complete -c gsymfs -s h -l help -d 'Print a summary of the options'
complete -c gsymfs -s V -l version -d 'Print the version'
complete -c gsymfs -s o -x -a '(__gsymfs_options)' -d 'Options'
