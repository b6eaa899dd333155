# Each segment has the UUID and the base address of the whole, and its own strings and files.
$ gsym segment --segment-size=400 -o out plain.gsym && ls out*
out-0x1000
out-0x1040
$ gsym verify out-*
out-0x1000: 3 functions, 0 faults
out-0x1040: 4 functions, 0 faults
$ gsym dump out-0x1040
Header:
  Magic        = 0x4753594d
  Version      = 0x0001
  AddrOffSize  = 0x02
  UUIDSize     = 0x08
  BaseAddress  = 0x0000000000001000
  NumAddresses = 0x00000004
  StrtabOffset = 0x00000064
  StrtabSize   = 0x0000007a
  UUID         = deadbeef00010203

Address Table:
INDEX  OFFSET16 (ADDRESS)
====== =============================== 
[   0] 0x0040 (0x0000000000001040)
[   1] 0x0050 (0x0000000000001050)
[   2] 0x0080 (0x0000000000001080)
[   3] 0x0100 (0x0000000000001100)

Address Info Offsets:
INDEX  Offset
====== ==========
[   0] 0x000000e0
[   1] 0x00000100
[   2] 0x00000120
[   3] 0x00000170

Files:
INDEX  DIRECTORY  BASENAME   PATH
====== ========== ========== ==============================
[   0] 0x00000000 0x00000000 
[   1] 0x00000000 0x00000024 shape.cc
[   2] 0x0000005b 0x00000064 /src/app/fold.cc

String table:
0x00000000: ""
0x00000001: "_RNvCs15kBYyAo9fc_7mycrate7example"
0x00000024: "shape.cc"
0x0000002d: "_ZN4core3fmt5write17h0123456789abcdefE"
0x00000054: "fold_a"
0x0000005b: "/src/app"
0x00000064: "fold.cc"
0x0000006c: "fold_b"
0x00000073: "_start"

FunctionInfo @ 0x000000e0: [0x0000000000001040 - 0x0000000000001050) "_RNvCs15kBYyAo9fc_7mycrate7example"
LineTable:
  0x0000000000001040 shape.cc:22
FunctionInfo @ 0x00000100: [0x0000000000001050 - 0x0000000000001060) "_ZN4core3fmt5write17h0123456789abcdefE"
LineTable:
  0x0000000000001050 shape.cc:23
FunctionInfo @ 0x00000120: [0x0000000000001080 - 0x0000000000001088) "fold_a"
LineTable:
  0x0000000000001080 /src/app/fold.cc:5
++ Merged FunctionInfos[0]:
    [0x0000000000001080 - 0x0000000000001088) "fold_b"
    LineTable:
      0x0000000000001080 /src/app/fold.cc:9
FunctionInfo @ 0x00000170: [0x0000000000001100 - 0x0000000000001110) "_start"
# One that is large enough is the whole, but for strings in the order of use.
$ gsym segment --segment-size=4096 -o all plain.gsym && ls all* && gsym lookup all-0x1000 0x100c
all-0x1000
square at /src/app/include/shape.h:3
 (inlined by) Shape::area() const at /src/app/include/shape.h:8
 (inlined by) main at /src/app/main.cc:11
# The version and the byte order stay.
$ gsym segment --segment-size=700 -o two plain2.gsym && ls two* && gsym statistics two-0x1000 | sed -n '1s/.*: //p'
two-0x1000
two-0x1050
version 2, big-endian
# Folded functions and call sites come along.
$ gsym segment --segment-size=450 -o fold merged.gsym && ls fold* && gsym lookup --format=gsymutil --merged-functions fold-0x1000 0x1004
fold-0x1000
fold-0x1020
Looking up addresses in "fold-0x1000":
Found 3 functions at address 0x0000000000001004:
   0x0000000000001004: _ZN1f3oneEv + 4 @ /src/app/fold.cc:5
      CallSites: g1, _ZN1g3oneEv

   0x0000000000001004: _ZN1f3twoEv + 4 @ /src/app/fold.cc:9
      CallSites: g2, ^g.*two$

   0x0000000000001004: f_three + 4
      CallSites: g3, h
# Functions that overlap stay together, whatever the size: what is around one of them answers behind it.
$ gsym segment --segment-size=130 -o nest nested.gsym && ls nest* && gsym lookup nest-0x1100 0x1100 0x1110 0x1140 0x1150
nest-0x1100
nest-0x1200
nested.gsym
small at /src/app/nest.cc:1
host+0x10 at ??:0
nested at /src/app/nest.cc:2
host+0x50 at ??:0
# A function that does not fit: which, and what it needs.
$ gsym segment --segment-size=200 -o none plain.gsym
gsym segment: plain.gsym: function 0, "main" at 0x1000, needs a segment of 298 bytes, but --segment-size is 200
[1]
$ gsym segment --segment-size=1 -o none plain.gsym
gsym segment: plain.gsym: function 0, "main" at 0x1000, needs a segment of 298 bytes, but --segment-size is 1
[1]
$ gsym segment --segment-size=298 -o some plain.gsym && ls some*
some-0x1000
some-0x1020
some-0x1080
# All of them or none, and what was there before is still there.
$ ls none*
ls: cannot access 'none*': No such file or directory
[2]
$ mkdir no && mkdir no/out-0x1030 && echo before > no/out-0x1000 && gsym segment --segment-size=300 -o no/out plain.gsym
gsym segment: plain.gsym: no/out-0x1030: Is a directory
[1]
$ ls no && cat no/out-0x1000
out-0x1000
out-0x1030
before
$ rmdir no/out-0x1030 && gsym segment --segment-size=300 -o no/out plain.gsym && ls no && gsym verify no/out-0x1000
out-0x1000
out-0x1030
out-0x1100
no/out-0x1000: 2 functions, 0 faults
$ cp plain.gsym self-0x1000 && gsym segment --segment-size=300 -o self self-0x1000
gsym segment: self-0x1000: output would replace the input
[1]
$ cmp plain.gsym self-0x1000
$ ls self*
self-0x1000
$ gsym segment --segment-size=300 -o nowhere/out plain.gsym
gsym segment: plain.gsym: nowhere/out-0x1000: cannot create a temporary file for it: No such file or directory
[1]
$ gsym segment --segment-size=300 -o bad broken.gsym
gsym segment: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
[1]
$ ls bad*
ls: cannot access 'bad*': No such file or directory
[2]
# The same from an object file. The whole is not written, and nothing else stays behind.
$ mkdir elf && gsym convert --quiet --segment-size=400 -o elf/out "$ELF" && gsym convert --quiet -o whole.gsym "$ELF" && gsym segment --segment-size=400 -o cut whole.gsym && for f in cut-*; do cmp $f elf/out-${f#cut-}; done; test $(ls cut-* | wc -l) = $(ls elf | wc -l) && test -e elf/out-$(ls cut-* | head -n 1 | cut -d - -f 2) && echo as many
as many
$ gsym convert --segment-size=100000000 -o elf/big "$ELF" 2>&1 | sed -n 's/0x[0-9a-f]*, [0-9]* bytes/N/; /^output/p'
output: elf/big-N
$ gsym convert --quiet --verify --output-version=2 --segment-size=100000 -o elf/two "$ELF" && for f in elf/two-*; do gsym statistics $f | sed -n '1s/.*: \(.*\), .*-endian/\1/p'; done | sort -u
version 2
$ gsym convert --quiet --segment-size=60 -o elf/none "$ELF" 2>&1 | sed 's/, "\(.*\)" at 0x[0-9a-f]*, needs a segment of [0-9]* bytes/, NAME, needs N/'
gsym convert: elf/none: function 0, NAME, needs N, but --segment-size is 60
$ ls elf/none*
ls: cannot access 'elf/none*': No such file or directory
[2]
$ gsym convert --quiet --segment-size=1000 -o /dev/null "$ELF"
gsym convert: /dev/null: not a regular file; segments are named after a regular file
[1]
$ gsym segment --segment-size=100 plain.gsym
gsym segment: missing option '--out-file=FILE'; try 'gsym segment --help'
[2]
$ gsym segment -o out plain.gsym
gsym segment: missing option '--segment-size=N'; try 'gsym segment --help'
[2]
$ gsym segment --segment-size=0 -o out plain.gsym
gsym segment: option '--segment-size': invalid value '0'; allowed is a number from 1 to 18446744073709551615
[2]
$ gsym segment --segment-size=10k -o out plain.gsym
gsym segment: option '--segment-size': invalid value '10k'; allowed is a number from 1 to 18446744073709551615
[2]
$ gsym segment --segment-size=100 -o out
gsym segment: missing operand 'FILE.gsym'; try 'gsym segment --help'
[2]
$ gsym segment --help
Usage: gsym segment [OPTION...] FILE.gsym
Cuts a GSYM file into several that each stand alone.

Options:
  -o, --out-file=FILE         write FILE-0x<address of the first function>;
                              required
      --segment-size=N        begin another segment once one has N bytes;
                              required
  -h, --help                  print this help
  -V, --version               print the version

Examples:
  gsym segment --segment-size=1000000 -o parts app.gsym
