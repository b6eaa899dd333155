# fish completion for gsym(1): commands, options and their values are those that --help lists.

function __gsym_commands
    gsym --help 2>/dev/null | string match -rg '^  ([a-z][a-z-]*  .*)' | string replace -r ' +' \t
end

# Those of the paths that are directories, or of which the first bytes say that they are GSYM, or with "image" also
# those of object files.
function __gsym_files -a kind
    while read -l offer
        set -l file (string split -f1 \t -- $offer | string replace -r '^~' $HOME)
        if test -d $file
            echo $offer
            continue
        end
        test -f $file -a -r $file; or continue
        set -l magic
        read -z -n 4 magic <$file
        if test -s $file; and not string match -qr '^[ -~\\x7f\\t\\n\\r]{4}$' -- "$magic" # no text
            set magic (od -An -N4 -tx1 $file | string replace -a ' ' '')
        end
        switch "$magic"
            case GSYM MYSG
                echo $offer
            case \x7fELF MODU cefaedfe cffaedfe feedface feedfacf cafebabe cafebabf
                test $kind = image; and echo $offer
        end
    end
end

# The files that the operand which is typed can be; all if there are none of these.
function __gsym_operands
    set -l words (commandline -opc)
    set -l usage (gsym $words[2] --help 2>/dev/null | string match -rg '^Usage: .*?\[OPTION\.\.\.\] (.*)' | string split ' ')
    set -l at (math 1 + (count (string match -rv '^-' -- $words[3..])) - (count (string match -- -o $words[3..])))
    if test $at -gt (count $usage); and string match -q '*...*' -- $usage[-1]
        set at (count $usage)
    end
    set -l typed (commandline -ct)
    set -l found
    if string match -qr '^[a-z]+\|' -- "$usage[$at]" # words to choose from
        string split '|' $usage[$at]
        return
    end
    switch "$usage[$at]"
        case 'FILE.gsym*'
            set found (__fish_complete_path $typed | __gsym_files gsym)
        case '*FILE*' INPUT
            set found (__fish_complete_path $typed | __gsym_files image)
        case '*'
            return
    end
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path $typed
    end
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
    switch "$option:$argument"
        case '*|*'
            string split '|' $argument | string replace -r '^' -- "$option="
        case '*:DIR'
            __fish_complete_directories (string replace -r '^[^=]*=' '' -- $typed) | string replace -r '^' -- "$option="
        case '--debug-file:*' '--symtab-file:*' '*:INPUT'
            __fish_complete_path (string replace -r '^[^=]*=' '' -- $typed) | __gsym_files image | string replace -r '^' -- "$option="
        case '*:FILE'
            __fish_complete_path (string replace -r '^[^=]*=' '' -- $typed) | string replace -r '^' -- "$option="
    end
end

set -l first 'test (count (commandline -opc)) -eq 1'
complete -c gsym -n $first -f -a '(__gsym_commands)'
complete -c gsym -n $first -f -a help -d 'List the commands, or the options of one'
complete -c gsym -n '__fish_seen_subcommand_from help' -f -a '(__gsym_commands)'
complete -c gsym -n $first -f -l help -d 'List the commands'
complete -c gsym -n $first -f -l version -d 'Print the version'
complete -c gsym -n "not $first; and string match -q -- '-*' (commandline -ct)" -f -a '(__gsym_options)'
complete -c gsym -n "not $first; and not __fish_seen_subcommand_from help; and not string match -q -- '-*' (commandline -ct)" -f -a '(__gsym_operands)'
