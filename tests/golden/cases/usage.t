$ gsym
gsym: no command given (gsym --help lists them)
[2]
$ gsym frobnicate
gsym: 'frobnicate' is not a command (gsym --help lists them)
[2]
$ gsym --version | sed 's/[0-9.]*$/N/'
gsym N
$ gsym --help
Usage: gsym COMMAND [OPTION...] FILE...

Commands:
  convert     make a GSYM file from an object file
  lookup      say which functions, files and lines addresses belong to
  stack       the same for the frames of stacks, telling folded functions apart
  filter      copy a log and write functions, files and lines to its addresses
  dump        print everything a GSYM file holds
  verify      check a GSYM file, alone or against the object file it was made from
  statistics  say how many bytes of a GSYM file go where
  segment     cut a GSYM file into several of about one size
  transcode   write a GSYM file again in another version or byte order

"gsym COMMAND --help" lists the options of a command; gsym(1) has the details.
$ gsym lookup --help
Usage: gsym lookup [OPTION...] FILE.gsym [ADDRESS...]
Says which functions, files and lines addresses (hexadecimal, link-time) belong to;
without an ADDRESS, those on standard input, one a line.

Options:
      --format=FORMAT         text (default), tsv, json, atos, or gsymutil
      --demangle=LANGUAGE     auto (default: C++, Rust, D) or ada
      --approximate           where the line is 0, show the nearest before it in
                              the same function
      --no-demangle           print names as they are stored
      --merged-functions      show every function that shares the code; in the
                              gsymutil format with callees at return addresses
      --merged-functions-filter=REGEX
                              of these, show only functions whose stored name
                              matches REGEX; may be repeated
  -h, --help                  print this
$ gsym convert --help
Usage: gsym convert [OPTION...] INPUT
Makes a GSYM file from the debug data and symbols of an object file.

Options:
  -o, --out-file=FILE         write FILE instead of INPUT.gsym
      --arch=ARCH             convert only the image for ARCH of a fat file, and
                              refuse others; without it, each becomes FILE.ARCH
      --num-threads=N         use N threads (default: one a processor);
                              the output is the same
      --output-version=1|2    GSYM version to write (default 1)
      --segment-size=N        write several files, FILE-0x<address of the first
                              function>, of about N bytes each
      --debug-dir=DIR         look for debug files below DIR; may be repeated
                              (default /usr/lib/debug)
      --debug-file=FILE       take the DWARF, or text symbols, from FILE
      --symtab-file=FILE      take the symbols from FILE
      --dwarf-names           name functions as the DWARF does, not as the
                              symbol at their start
      --merged-functions      keep all functions that share a range, not
                              just the one that tells most
      --dwarf-callsites       keep call sites, which tell merged functions apart
      --callsites-yaml-file=FILE
                              add the call sites that FILE lists
      --match-llvm            make llvm-gsymutil's choices, for comparisons
      --verify                derive the output's frames once more with
                              libdwarf and report differences
      --json-summary-file=FILE
                              write the oddities of INPUT to FILE
      --progress=WHEN         auto (default: on a terminal), always, never
      --quiet                 print errors only
  -h, --help                  print this
$ gsym verify --help
Usage: gsym verify [OPTION...] FILE.gsym...
Decodes every record of a GSYM file and reports each fault.

Options:
      --against=INPUT         derive the frames once more from the DWARF of
                              INPUT, with libdwarf, and compare
      --max-functions=N       compare about N functions, spread evenly
  -h, --help                  print this
$ gsym lookup
gsym: lookup: which FILE.gsym? (see gsym lookup --help)
[2]
$ gsym lookup --format=xml plain.gsym
gsym: lookup: --format is text, tsv, json, atos or gsymutil, not 'xml' (see gsym lookup --help)
[2]
$ gsym lookup --format
gsym: lookup: '--format' needs an argument (see gsym lookup --help)
[2]
$ gsym lookup --no-demangle=yes plain.gsym
gsym: lookup: '--no-demangle=yes' takes no argument (see gsym lookup --help)
[2]
$ gsym lookup --frobnicate plain.gsym
gsym: lookup: '--frobnicate' is not an option here (see gsym lookup --help)
[2]
$ gsym lookup -x plain.gsym
gsym: lookup: '-x' is not an option here (see gsym lookup --help)
[2]
$ gsym lookup plain.gsym 0x1000 main
gsym: lookup: 'main' is not a hexadecimal address (see gsym lookup --help)
[2]
$ gsym lookup plain.gsym 0x10000000000000000
gsym: lookup: '0x10000000000000000' is not a hexadecimal address (see gsym lookup --help)
[2]
$ gsym convert
gsym: convert: which INPUT? (see gsym convert --help)
[2]
$ gsym convert a b
gsym: convert: one INPUT at a time (see gsym convert --help)
[2]
$ gsym convert --num-threads=0 a
gsym: convert: --num-threads takes a number from 1 to 1024, not '0' (see gsym convert --help)
[2]
$ gsym convert --output-version=3 a
gsym: convert: --output-version takes a number from 1 to 2, not '3' (see gsym convert --help)
[2]
$ gsym convert --progress=loud a
gsym: convert: --progress is auto, always or never, not 'loud' (see gsym convert --help)
[2]
$ gsym verify --against=a plain.gsym plain.gsym
gsym: verify: --against compares one FILE.gsym (see gsym verify --help)
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
