# fish completion for gsym(1): commands and options are those that --help lists.

function __gsym_commands
    gsym --help 2>/dev/null | string match -rg '^  ([a-z][a-z-]*  .*)' | string replace -r ' +' \t
end

# Those that are not described below.
function __gsym_options
    set -l command (commandline -opc)[2]
    gsym $command --help 2>/dev/null | string match -rg '^ *(?:-., )?(--[a-z-]+=?)' |
        string match -rv '^--(format|demangle|output-version|progress|debug-dir|byte-order)='
end

function __gsym_in
    contains -- (commandline -opc)[2] $argv
end

set -l first 'test (count (commandline -opc)) -eq 1'
complete -c gsym -n $first -f -a '(__gsym_commands)'
complete -c gsym -n $first -f -l help -d 'List the commands'
complete -c gsym -n $first -f -l version -d 'Print the version'
complete -c gsym -n "not $first; and string match -q -- '-*' (commandline -ct)" -f -a '(__gsym_options)'
complete -c gsym -n '__gsym_in lookup' -l format -x -a 'text tsv json atos gsymutil'
complete -c gsym -n '__gsym_in stack' -l format -x -a 'text tsv json'
complete -c gsym -n '__gsym_in lookup stack filter' -l demangle -x -a 'auto ada'
complete -c gsym -n '__gsym_in convert transcode' -l output-version -x -a '1 2'
complete -c gsym -n '__gsym_in convert' -l progress -x -a 'auto always never'
complete -c gsym -n '__gsym_in convert' -l debug-dir -x -a '(__fish_complete_directories)'
complete -c gsym -n '__gsym_in transcode' -l byte-order -x -a 'little big'
