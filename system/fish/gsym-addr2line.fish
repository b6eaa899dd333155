# fish completion for gsym-addr2line(1) and gsym-symbolizer(1): options are those that --help lists.

function __gsym_symbolizer_options
    set -l program (commandline -opc)[1]
    $program --help 2>/dev/null | string match -rg '^ *(?:-., )?(--[a-z-]+=?)'
end

for program in gsym-addr2line gsym-symbolizer
    complete -c $program -n "string match -q -- '-*' (commandline -ct)" -f -a '(__gsym_symbolizer_options)'
end
