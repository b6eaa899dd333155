$ gsym dump plain.gsym
Header:
  Magic        = 0x4753594d
  Version      = 0x0001
  AddrOffSize  = 0x02
  UUIDSize     = 0x08
  BaseAddress  = 0x0000000000001000
  NumAddresses = 0x00000007
  StrtabOffset = 0x00000088
  StrtabSize   = 0x00000108
  UUID         = deadbeef00010203

Address Table:
INDEX  OFFSET16 (ADDRESS)
====== =============================== 
[   0] 0x0000 (0x0000000000001000)
[   1] 0x0020 (0x0000000000001020)
[   2] 0x0030 (0x0000000000001030)
[   3] 0x0040 (0x0000000000001040)
[   4] 0x0050 (0x0000000000001050)
[   5] 0x0080 (0x0000000000001080)
[   6] 0x0100 (0x0000000000001100)

Address Info Offsets:
INDEX  Offset
====== ==========
[   0] 0x00000190
[   1] 0x00000210
[   2] 0x00000230
[   3] 0x00000250
[   4] 0x00000270
[   5] 0x00000290
[   6] 0x000002e0

Files:
INDEX  DIRECTORY  BASENAME   PATH
====== ========== ========== ==============================
[   0] 0x00000000 0x00000000 
[   1] 0x0000003a 0x00000043 /src/app/main.cc
[   2] 0x0000004b 0x0000005c /src/app/include/shape.h
[   3] 0x00000000 0x00000064 shape.cc
[   4] 0x0000003a 0x000000f2 /src/app/fold.cc

String table:
0x00000000: ""
0x00000001: "_start"
0x00000008: "main"
0x0000000d: "_ZNK5Shape4areaEv"
0x0000001f: "square"
0x00000026: "_ZN5ShapeC2Ev"
0x00000034: "^f.*$"
0x0000003a: "/src/app"
0x00000043: "main.cc"
0x0000004b: "/src/app/include"
0x0000005c: "shape.h"
0x00000064: "shape.cc"
0x0000006d: "_ZN5Shape4moveERKSt6vectorIS_SaIS_EE"
0x00000092: "_ZN5Shape4drawEv.cold"
0x000000a8: "_RNvCs15kBYyAo9fc_7mycrate7example"
0x000000cb: "_ZN4core3fmt5write17h0123456789abcdefE"
0x000000f2: "fold.cc"
0x000000fa: "fold_b"
0x00000101: "fold_a"

FunctionInfo @ 0x00000190: [0x0000000000001000 - 0x0000000000001020) "main"
LineTable:
  0x0000000000001000 /src/app/main.cc:10
  0x0000000000001004 /src/app/include/shape.h:7
  0x000000000000100c /src/app/include/shape.h:3
  0x0000000000001014 /src/app/main.cc:12
  0x000000000000101c /src/app/main.cc:0
InlineInfo:
[0x0000000000001000 - 0x0000000000001020) main
  [0x0000000000001004 - 0x0000000000001014) _ZNK5Shape4areaEv called from /src/app/main.cc:11
    [0x000000000000100c - 0x0000000000001014) square called from /src/app/include/shape.h:8
CallSites (by relative return offset):
  0x0008 Flags[None] MatchRegex[_ZN5ShapeC2Ev;^f.*$]
  0x0018 Flags[InternalCall | ExternalCall]
FunctionInfo @ 0x00000210: [0x0000000000001020 - 0x0000000000001030) "_ZN5Shape4moveERKSt6vectorIS_SaIS_EE"
LineTable:
  0x0000000000001020 shape.cc:20
FunctionInfo @ 0x00000230: [0x0000000000001030 - 0x0000000000001040) "_ZN5Shape4drawEv.cold"
LineTable:
  0x0000000000001030 shape.cc:21
FunctionInfo @ 0x00000250: [0x0000000000001040 - 0x0000000000001050) "_RNvCs15kBYyAo9fc_7mycrate7example"
LineTable:
  0x0000000000001040 shape.cc:22
FunctionInfo @ 0x00000270: [0x0000000000001050 - 0x0000000000001060) "_ZN4core3fmt5write17h0123456789abcdefE"
LineTable:
  0x0000000000001050 shape.cc:23
FunctionInfo @ 0x00000290: [0x0000000000001080 - 0x0000000000001088) "fold_a"
LineTable:
  0x0000000000001080 /src/app/fold.cc:5
++ Merged FunctionInfos[0]:
    [0x0000000000001080 - 0x0000000000001088) "fold_b"
    LineTable:
      0x0000000000001080 /src/app/fold.cc:9
FunctionInfo @ 0x000002e0: [0x0000000000001100 - 0x0000000000001110) "_start"
$ gsym statistics plain.gsym
plain.gsym: version 1, little-endian
                              bytes  of file  /function
  file                          752  100.0 %      107.4
  address offsets                14    1.9 %        2.0
  info offsets                   28    3.7 %        4.0
  file table                     44    5.9 %        6.3
  string table                  264   35.1 %       37.7
  record heads                  112   14.9 %       16.0
  line tables                   100   13.3 %       14.3
  inline info                    40    5.3 %        5.7
  merged functions               47    6.2 %        6.7
  call sites                     46    6.1 %        6.6
  all else                       57    7.6 %        8.1

  functions                       7
    with lines                    6
    with inlined calls            1
    with call sites               1
    with merged ones              1
    of unknown size               0
    damaged                       0
  merged functions                1
  line rows                      10
  inlined calls                   2
    their ranges                  2
    deepest nesting               2
  call sites                      2
  files                           5
  bytes of code                 120
$ gsym verify plain.gsym
plain.gsym: 7 functions, 0 faults
$ gsym statistics --json plain.gsym
{"file": "plain.gsym", "version": 1, "byte_order": "little", "bytes": {"file": 752, "address_offsets": 14, "info_offsets": 28, "file_table": 44, "string_table": 264, "record_heads": 112, "line_tables": 100, "inline_info": 40, "merged_functions": 47, "call_sites": 46, "all_else": 57}, "functions": 7, "functions_with_lines": 6, "functions_with_inlined_calls": 1, "functions_with_call_sites": 1, "functions_with_merged": 1, "functions_of_unknown_size": 0, "functions_damaged": 0, "merged_functions": 1, "line_rows": 10, "inlined_calls": 2, "inlined_ranges": 2, "deepest_nesting": 2, "call_sites": 2, "files": 5, "code_bytes": 120}
# Object files are converted once, by all commands, with the options of lookup.
$ cp "$ELF" prog && gsym convert --quiet -o prog.gsym prog && gsym dump prog.gsym > one; gsym dump --cache=c prog > two; cmp one two
$ gsym verify --cache=c prog | sed 's/[0-9][0-9]* functions/N functions/'; gsym statistics --cache=c prog | head -1; ls c | grep -c gsym
prog: N functions, 0 faults
prog: version 1, little-endian
1
$ gsym verify --arch=pdp11 --cache=c prog 2>&1 | sed 's/for [a-z0-9_]*,/for X,/'
gsym verify: prog: holds code for X, none for pdp11; choose one as FILE:ARCH or with --arch=ARCH
$ gsym dump --mount=. prog
gsym dump: .: no gsymfs is mounted there (it has no file q)
[1]
$ echo text > text && gsym statistics text
gsym statistics: text: neither an object file nor a GSYM file
[1]
# What a mount has, by id and by name.
$ mkdir -p m/deadbeef m/by-name/there && touch m/q && cp prog.gsym m/deadbeef/image.gsym && cp prog.gsym m/by-name/there/image.gsym
$ gsym verify --mount=m deadbeef there nothere | sed 's/[0-9][0-9]* functions/N functions/'
gsym verify: nothere: No such file or directory
deadbeef: N functions, 0 faults
there: N functions, 0 faults
$ (gsym lookup --mount=m there main; gsym lookup --mount=m deadbeef main) | sed 's/ at .*//'
main
main
$ mkdir -p Shop.app.dSYM/Contents/Resources/DWARF && cp prog Shop.app.dSYM/Contents/Resources/DWARF/Shop && gsym lookup --cache=c --format=atos Shop.app.dSYM main | grep -o '(in [^)]*)'
(in Shop)
# Where a file was loaded: the same options in all commands.
$ printf '0x7f0000001000\n' > loaded; gsym lookup plain.gsym 0x1000 > linked; for o in --base=0x7f0000001000 --base=plain=7f0000001000 --slide=7f0000000000; do gsym lookup $o plain.gsym 0x7f0000001000 | cmp - linked; gsym lookup $o plain.gsym < loaded | head -1 | cmp - linked; gsym stack $o plain.gsym < loaded | cut -c5- | grep . | cmp - linked; gsym filter $o plain.gsym < loaded; done
0x7f0000001000 main at /src/app/main.cc:10
gsym filter: 1 of 1 frames explained
0x7f0000001000 main at /src/app/main.cc:10
gsym filter: 1 of 1 frames explained
0x7f0000001000 main at /src/app/main.cc:10
gsym filter: 1 of 1 frames explained
$ echo 0x7f0000001000 plain.gsym | gsym lookup --base=plain=7f0000001000 --addresses-from-stdin
main at /src/app/main.cc:10

$ gsym lookup --base=1 --addresses-from-stdin; gsym stack --slide=1 plain.gsym merged.gsym; gsym filter --base=1 plain.gsym merged.gsym; gsym lookup --base== plain.gsym 1
gsym lookup: option '--base': needs one FILE, or NAME=ADDRESS; try 'gsym lookup --help'
gsym stack: option '--slide': needs one FILE; try 'gsym stack --help'
gsym filter: option '--base': needs one FILE, or NAME=ADDRESS; try 'gsym filter --help'
gsym lookup: option '--base': invalid value '='; allowed is ADDRESS or NAME=ADDRESS
[2]
$ gsym stack --base=0x7f0000001000 --format=atos plain.gsym < loaded | cut -c2-
0  main (in plain.gsym) (main.cc:10)

# What paths lose.
$ for o in --strip-prefix=/src --strip-prefix=/src/app/ --strip-prefix=/sr --strip-prefix=none; do gsym lookup $o plain.gsym 0x1000; echo 0x1000 | gsym lookup $o --format=tsv plain.gsym | cut -f5; echo 0x1000 | gsym stack $o plain.gsym | cut -c2-; gsym lookup $o --merged-functions --format=json plain.gsym 0x1000 | grep -o '"FileName":"[^"]*"'; done
main at app/main.cc:10
app/main.cc
0  main at app/main.cc:10

"FileName":"app/main.cc"
main at main.cc:10
main.cc
0  main at main.cc:10

"FileName":"main.cc"
main at /src/app/main.cc:10
/src/app/main.cc
0  main at /src/app/main.cc:10

"FileName":"/src/app/main.cc"
main at /src/app/main.cc:10
/src/app/main.cc
0  main at /src/app/main.cc:10

"FileName":"/src/app/main.cc"
$ gsym lookup --strip-prefix=auto plain.gsym 0x1000; echo 0x1000 plain.gsym | gsym lookup --strip-prefix=auto --addresses-from-stdin; echo 0x1000 | gsym stack --strip-prefix=auto plain.gsym | cut -c2-
main at main.cc:10
main at main.cc:10

0  main at main.cc:10

$ gsym statistics --format=json plain.gsym > one; gsym statistics --json plain.gsym | cmp - one; gsym statistics --format=text plain.gsym | head -1; gsym statistics --format=tsv plain.gsym
plain.gsym: version 1, little-endian
gsym statistics: option '--format': invalid value 'tsv'; allowed is text or json
[2]
