$ gsym
gsym: missing command; try 'gsym --help'
[2]
$ gsym frobnicate
gsym: command 'frobnicate': unknown; try 'gsym --help'
[2]
$ gsym --version | sed 's/[0-9.]*$/N/'
gsym N
$ gsym --help
Usage: gsym COMMAND [OPTION...] FILE...

Commands:
  convert     make a GSYM file from an object file
  lookup      print the functions, files and lines of addresses
  stack       the same for the frames of stacks, telling merged functions apart
  filter      copy a log, adding functions, files and lines to its addresses
  dump        print the whole content of a GSYM file
  verify      check a GSYM file, alone or against the object file it was made from
  statistics  print how many bytes of a GSYM file its parts take
  segment     cut a GSYM file into several of about one size
  transcode   write a GSYM file again in another version or byte order

'gsym COMMAND --help' lists the options of a command; gsym(1) has the details.
$ gsym lookup --help
Usage: gsym lookup [OPTION...] FILE [ADDRESS...]
Prints the functions, files and lines of link-time addresses (hexadecimal);
without an ADDRESS, of those on standard input, one a line.
An object file is converted once; the result is kept in the cache of gsymfs.

Options:
      --format=text|tsv|json|atos|gsymutil
                              output format (default text)
      --mark-merged           in text, add [merged N] to the name of a function
                              that shares its code
      --demangle=auto|ada     names to demangle: C++, Rust and D (auto, the
                              default), or Ada as well
      --no-demangle           print names as they are stored
      --approximate           where the line is 0, show the nearest before it in
                              the same function
      --merged-functions      show every function that shares the code; in the
                              gsymutil format with callees at return addresses
      --merged-functions-filter=REGEX
                              of these, show only functions whose stored name
                              matches REGEX; may be repeated
      --arch=ARCH             use the image for ARCH of a universal (fat)
                              object file
      --cache=DIR             directory of converted object files (default: that
                              of gsymfs, ~/.cache/gsymfs)
  -h, --help                  print this help
$ gsym convert --help
Usage: gsym convert [OPTION...] INPUT
Makes a GSYM file from the debug data and symbols of an object file.

Options:
  -o, --out-file=FILE         write FILE instead of INPUT.gsym
      --arch=ARCH             convert only the image for ARCH of a universal
                              (fat) file, and refuse files for others;
                              without it, each becomes FILE.ARCH
      --num-threads=N         use N threads (default: number of processors);
                              the output is the same
      --output-version=1|2    GSYM version to write (default 1)
      --segment-size=N        write several files, FILE-0x<address of the first
                              function>, of about N bytes each
      --debug-dir=DIR         search DIR for debug files; may be repeated
                              (default /usr/lib/debug)
      --debug-file=FILE       read the DWARF, or text symbols, from FILE
      --symtab-file=FILE      read the symbol table from FILE
      --dwarf-names           name functions as the DWARF does, not as the
                              symbol at their start
      --merged-functions      keep all functions that share a range, not just
                              the one with the most debug information
      --dwarf-callsites       keep call sites, which tell merged functions apart
      --callsites-yaml-file=FILE
                              add the call sites listed in FILE
      --match-llvm            make llvm-gsymutil's choices, for comparisons
      --verify                derive the output's frames a second time with
                              libdwarf and report differences
      --json-summary-file=FILE
                              write the oddities of INPUT to FILE
      --progress=auto|always|never
                              show progress; auto (default): on a terminal
      --quiet                 print errors only
  -h, --help                  print this help
$ gsym verify --help
Usage: gsym verify [OPTION...] FILE.gsym...
Decodes every record of a GSYM file and reports each fault.

Options:
      --against=INPUT         derive the frames a second time from the DWARF of
                              INPUT, with libdwarf, and compare
      --max-functions=N       compare about N functions, spread evenly
  -h, --help                  print this help
$ gsym lookup
gsym lookup: missing operand 'FILE'; try 'gsym lookup --help'
[2]
$ gsym lookup --format=xml plain.gsym
gsym lookup: option '--format': invalid value 'xml'; allowed is text, tsv, json, atos or gsymutil
[2]
$ gsym lookup --format
gsym lookup: option '--format': missing argument; try 'gsym lookup --help'
[2]
$ gsym lookup --no-demangle=yes plain.gsym
gsym lookup: option '--no-demangle=yes': takes no argument; try 'gsym lookup --help'
[2]
$ gsym lookup --frobnicate plain.gsym
gsym lookup: option '--frobnicate': unknown; try 'gsym lookup --help'
[2]
$ gsym lookup -x plain.gsym
gsym lookup: option '-x': unknown; try 'gsym lookup --help'
[2]
$ gsym lookup plain.gsym 0x1000 main
gsym lookup: operand 'main': not a hexadecimal address; try 'gsym lookup --help'
[2]
$ gsym lookup plain.gsym 0x10000000000000000
gsym lookup: operand '0x10000000000000000': not a hexadecimal address; try 'gsym lookup --help'
[2]
$ gsym convert
gsym convert: missing operand 'INPUT'; try 'gsym convert --help'
[2]
$ gsym convert a b
gsym convert: extra operand 'b'; try 'gsym convert --help'
[2]
$ gsym convert --num-threads=0 a
gsym convert: option '--num-threads': invalid value '0'; allowed is a number from 1 to 1024
[2]
$ gsym convert --output-version=3 a
gsym convert: option '--output-version': invalid value '3'; allowed is a number from 1 to 2
[2]
$ gsym convert --progress=loud a
gsym convert: option '--progress': invalid value 'loud'; allowed is auto, always or never
[2]
$ gsym verify --against=a plain.gsym plain.gsym
gsym verify: option '--against': takes a single FILE.gsym; try 'gsym verify --help'
[2]
# Output that cannot be written is a failure.
$ gsym dump plain.gsym > /dev/full
gsym: standard output: No space left on device
[1]
$ gsym lookup plain.gsym 0x1000 > /dev/full
gsym: standard output: No space left on device
[1]
$ gsym --help > /dev/full
gsym: standard output: write failed
[1]
