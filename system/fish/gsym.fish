# fish completion for gsym(1): commands, options and their values are those that --help lists.

function __gsym_commands
    gsym --help 2>/dev/null | string match -rg '^  ([a-z][a-z-]*  .*)' | string replace -r ' +' \t
end

# Options of the command, or the values of the one that is typed.
function __gsym_options
    set -l command (commandline -opc)[2]
    set -l typed (commandline -ct)
    set -l found (gsym $command --help 2>/dev/null | string match -rg '^ *(?:-., )?(--[a-z][^ ]*)')
    set -l option (string match -rg '^(--[a-z-]+)=' -- $typed)
    if test -z "$option"
        string replace -r '=.*' = -- $found
        return
    end
    set -l argument (string match -rg "^$option=(.*)" -- $found)
    switch "$argument"
        case '*|*'
            string split '|' $argument | string replace -r '^' -- "$option="
        case DIR
            __fish_complete_directories (string replace -r '^[^=]*=' '' -- $typed) | string replace -r '^' -- "$option="
        case FILE INPUT
            __fish_complete_path (string replace -r '^[^=]*=' '' -- $typed) | string replace -r '^' -- "$option="
    end
end

set -l first 'test (count (commandline -opc)) -eq 1'
complete -c gsym -n $first -f -a '(__gsym_commands)'
complete -c gsym -n $first -f -l help -d 'List the commands'
complete -c gsym -n $first -f -l version -d 'Print the version'
complete -c gsym -n "not $first; and string match -q -- '-*' (commandline -ct)" -f -a '(__gsym_options)'
