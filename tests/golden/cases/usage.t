$ gsym
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
  store       manage a store of conversions that several hosts share

'gsym help COMMAND' lists the options of a command; gsym(1) has the details.
[2]
$ gsym frobnicate
gsym: command 'frobnicate': unknown; 'gsym help' lists all
[2]
$ gsym --version | sed 's/[0-9][0-9.]*/N/g; s/LLVM N and //'
gsym N
demangles by libiberty
converter: common=N elf=N macho=N pe=N pdb=N breakpad=N dwarf=N go=N
$ gsym 2>without; gsym --help | cmp - without
$ gsym lookup --help
Usage: gsym lookup [OPTION...] [FILE] [ADDRESS|NAME...]
Prints the functions, files and lines of link-time addresses (hexadecimal) and of
functions by name (main, main+0x10); without either, of addresses on standard input,
one a line.
An object file is converted once; the result is kept in the cache of gsymfs.

Options:
      --format=text|tsv|json|atos|gsymutil
                              output format (default text)
      --addresses-from-stdin  read lines of an address and a file
      --mark-merged           in text, add [merged N] to the name of a function
                              that shares its code
      --demangle=auto|ada     names to demangle: C++, Rust, D and OCaml (auto,
                              the default), or Ada as well
      --no-demangle           print names as they are stored
      --approximate           where the line is 0, show the nearest before it in
                              the same function
      --columns               show columns, and declarations in JSON, from the
                              DWARF of an object file
      --merged-functions      show every function that shares the code; in the
                              gsymutil format with callees at return addresses
      --merged-functions-filter=REGEX
                              of these, show only functions whose stored name
                              matches REGEX; may be repeated
      --arch=ARCH             use the image for ARCH of a universal (fat)
                              object file
      --cache=DIR             directory of converted object files (default: that
                              of gsymfs, ~/.cache/gsymfs or, for root,
                              /var/cache/gsymfs)
      --mount=DIR             find images by their ids below DIR, where gsymfs is
                              mounted
      --base=ADDRESS          the only FILE was loaded at ADDRESS; NAME=ADDRESS:
                              module NAME was; may be repeated
      --slide=NUMBER          the only FILE was loaded at its link-time
                              address and NUMBER
      --strip-prefix=DIR      remove DIR from the beginning of paths; auto: the
                              directory of all sources of an image, but those
                              below /usr, as filter does for kernels by default;
                              none; may be repeated
      --verbose               say on standard error why an answer is unknown, as
                              is done on a terminal
  -h, --help                  print this help
  -V, --version               print the version

Examples:
  gsym lookup ./app 0x1170
  gsym lookup --format=json app.gsym main+0x10
  gsym lookup app.gsym < addresses
  echo 0x1170 ./app | gsym lookup --addresses-from-stdin
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
      --output-version=1|2    GSYM version to write (default: 1, or 2 if that
                              cannot hold the file)
      --segment-size=N        write several files, FILE-0x<address of the first
                              function>, of about N bytes each
      --debug-dir=DIR         search DIR for debug files; may be repeated
                              (default /usr/lib/debug)
      --debug-file=FILE       read the DWARF, PDB or text symbols from FILE
      --symtab-file=FILE      read the symbol table from FILE
      --dwarf-names           name functions as the DWARF does, not as the
                              symbol at their start
      --merged-functions      keep all functions that share a range, not just
                              the one with the most debug information
      --dwarf-callsites       keep call sites, which tell merged functions apart
      --no-lines              leave out the line tables
      --no-inline             leave out the inlined calls
      --names-only            leave out both: a small file for the names of
                              functions
      --callsites-yaml-file=FILE
                              add the call sites listed in FILE
      --match-llvm            make llvm-gsymutil's choices, for comparisons
      --verify                derive the output's frames a second time with
                              libdwarf and report differences
      --json-summary-file=FILE
                              write the warnings of INPUT to FILE
      --progress=auto|always|never
                              show progress; auto (default): on a terminal
      --recursive             INPUT is a directory: convert all object files in it
      --output-dir=DIR        with --recursive: write to DIR, in directories as
                              those of INPUT, instead of beside the object files
      --jobs=N                with --recursive: convert N files at a time
                              (default: number of processors)
      --quiet                 print errors only
      --shared=ADDRESS        convert as gsymfs does, and publish the conversion
                              in the store ADDRESS: a directory,
                              https://HOST/PATH or s3://BUCKET/PREFIX
      --source=DIR            with --shared: SOURCE of the daemons that use the
                              store; may be repeated (default: the directory
                              of INPUT)
      --sign-key=FILE         sign what is published with the secret key in FILE
      --trusted-keys=FILE     take only what was signed by a public key in FILE
      --bearer-file=FILE      HTTP: send the token in FILE
      --netrc-file=FILE       HTTP: send user and password of FILE, see netrc(5)
      --cert-file=FILE        HTTPS: the client's certificate, PEM
      --key-file=FILE         HTTPS: the key of the certificate, PEM
      --ca-file=FILE          HTTPS: certificates of authorities, PEM, instead of
                              the system's
  -h, --help                  print this help
  -V, --version               print the version

Examples:
  gsym convert ./app
  gsym convert -o app.gsym --debug-file=app.debug ./app
  gsym convert --names-only -o names.gsym ./app
  gsym convert --recursive --output-dir=symbols ./build
$ gsym verify --help
Usage: gsym verify [OPTION...] FILE...
Decodes every record of a GSYM file, or of that of an object file, which is converted once,
and reports each fault.

Options:
      --arch=ARCH             use the image for ARCH of a universal (fat)
                              object file
      --cache=DIR             directory of converted object files (default: that
                              of gsymfs, ~/.cache/gsymfs or, for root,
                              /var/cache/gsymfs)
      --mount=DIR             find images by their ids below DIR, where gsymfs is
                              mounted
      --against=INPUT         derive the frames a second time from the DWARF of
                              INPUT, with libdwarf, and compare
      --max-functions=N       compare about N functions, spread evenly
  -h, --help                  print this help
  -V, --version               print the version

Examples:
  gsym verify app.gsym
  gsym verify --against=./app app.gsym
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
main at /src/app/main.cc:10
main at /src/app/main.cc:10
$ gsym lookup plain.gsym 0x10000000000000000
gsym lookup: operand '0x10000000000000000': not an address of 64 bits; try 'gsym lookup --help'
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
gsym verify: option '--against': takes a single FILE; try 'gsym verify --help'
[2]
# Output that cannot be written is a failure.
$ gsym dump plain.gsym > /dev/full
gsym dump: standard output: No space left on device
[1]
$ gsym lookup plain.gsym 0x1000 > /dev/full
gsym lookup: standard output: No space left on device
[1]
$ gsym --help > /dev/full
gsym: standard output: write failed
[1]
# Help by name, suggestions for what is misspelt.
$ gsym help segment | head -1
Usage: gsym segment [OPTION...] FILE.gsym
$ gsym help frobnicate
gsym: command 'frobnicate': unknown; 'gsym help' lists all
[2]
$ gsym help convert now
gsym: extra operand 'now'; try 'gsym help COMMAND'
[2]
$ gsym -V | sed 's/[0-9.]*$/N/; q'
gsym N
$ gsym lookup --version | sed 's/[0-9.]*$/N/; q'
gsym N
$ gsym convrt
gsym: command 'convrt': unknown; did you mean 'convert'? 'gsym help' lists all
[2]
$ gsym stat
gsym: command 'stat': unknown; did you mean 'statistics'? 'gsym help' lists all
[2]
$ gsym lookup --foramt=json plain.gsym
gsym lookup: option '--foramt=json': unknown; did you mean '--format'? 'gsym lookup --help' lists all
[2]
# Functions by name; what may be a decimal number is refused.
$ gsym lookup plain.gsym main main+0x4 0x1000
main at /src/app/main.cc:10
Shape::area() const at /src/app/include/shape.h:7
 (inlined by) main at /src/app/main.cc:11
main at /src/app/main.cc:10
$ gsym lookup plain.gsym main+0x100000 nowhere add main+4 'main + 0x4'
gsym lookup: plain.gsym: 'main+0x100000' is after the end of the function
gsym lookup: plain.gsym: no function 'nowhere'; an address is written 0x...
gsym lookup: plain.gsym: no function 'add'; an address is written 0x...
gsym lookup: plain.gsym: no function 'main+4'; an offset is written +0x... without blanks
gsym lookup: plain.gsym: no function 'main + 0x4'; an offset is written +0x... without blanks
[1]
$ gsym lookup plain.gsym 1000
gsym lookup: operand '1000': write 0x1000 if it is hexadecimal; try 'gsym lookup --help'
[2]
$ gsym lookup plain.gsym 00001000
main at /src/app/main.cc:10
$ gsym lookup --format=tsv plain.gsym main+0x4
0x1004	0	Shape::area() const	0x0	/src/app/include/shape.h	7	i	plain.gsym	_ZNK5Shape4areaEv
0x1004	1	main	0x4	/src/app/main.cc	11	-	plain.gsym	main
