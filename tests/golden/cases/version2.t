# The same answers from version 2 in the other byte order.
$ gsym lookup plain2.gsym 0x100c 0x1104 0x1080 0x1fff
square at /src/app/include/shape.h:3
 (inlined by) Shape::area() const at /src/app/include/shape.h:8
 (inlined by) main at /src/app/main.cc:11
_start+0x4 at ??:0
fold_a at /src/app/fold.cc:5
?? at ??:0
$ gsym lookup --format=gsymutil plain2.gsym 0x100c 0x1020
Looking up addresses in "plain2.gsym":
0x000000000000100c: square @ /src/app/include/shape.h:3 [inlined]
                    _ZNK5Shape4areaEv + 8 @ /src/app/include/shape.h:8 [inlined]
                    main + 12 @ /src/app/main.cc:11
0x0000000000001020: _ZN5Shape4moveERKSt6vectorIS_SaIS_EE @ shape.cc:20
$ gsym verify plain2.gsym
plain2.gsym: 7 functions, 0 faults
$ gsym dump plain2.gsym
Header:
  Magic        = 0x4753594d
  Version      = 0x0002
  AddrOffSize  = 0x02
  UUIDSize     = 0x08
  BaseAddress  = 0x0000000000001000
  NumAddresses = 0x00000007
  StrtabOffset = 0x0000000000000144
  StrtabSize   = 0x0000000000000108
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
[   0] 0x0000000000000000
[   1] 0x0000000000000098
[   2] 0x00000000000000bc
[   3] 0x00000000000000e0
[   4] 0x0000000000000104
[   5] 0x0000000000000128
[   6] 0x0000000000000180

Files:
INDEX  DIRECTORY  BASENAME   PATH
====== ========== ========== ==============================
[   0] 0x0000000000000000 0x0000000000000000 
[   1] 0x000000000000003a 0x0000000000000043 /src/app/main.cc
[   2] 0x000000000000004b 0x000000000000005c /src/app/include/shape.h
[   3] 0x0000000000000000 0x0000000000000064 shape.cc
[   4] 0x000000000000003a 0x00000000000000f2 /src/app/fold.cc

String table:
0x0000000000000000: ""
0x0000000000000001: "_start"
0x0000000000000008: "main"
0x000000000000000d: "_ZNK5Shape4areaEv"
0x000000000000001f: "square"
0x0000000000000026: "_ZN5ShapeC2Ev"
0x0000000000000034: "^f.*$"
0x000000000000003a: "/src/app"
0x0000000000000043: "main.cc"
0x000000000000004b: "/src/app/include"
0x000000000000005c: "shape.h"
0x0000000000000064: "shape.cc"
0x000000000000006d: "_ZN5Shape4moveERKSt6vectorIS_SaIS_EE"
0x0000000000000092: "_ZN5Shape4drawEv.cold"
0x00000000000000a8: "_RNvCs15kBYyAo9fc_7mycrate7example"
0x00000000000000cb: "_ZN4core3fmt5write17h0123456789abcdefE"
0x00000000000000f2: "fold.cc"
0x00000000000000fa: "fold_b"
0x0000000000000101: "fold_a"

FunctionInfo @ 0x000000000000024c: [0x0000000000001000 - 0x0000000000001020) "main"
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
FunctionInfo @ 0x00000000000002e4: [0x0000000000001020 - 0x0000000000001030) "_ZN5Shape4moveERKSt6vectorIS_SaIS_EE"
LineTable:
  0x0000000000001020 shape.cc:20
FunctionInfo @ 0x0000000000000308: [0x0000000000001030 - 0x0000000000001040) "_ZN5Shape4drawEv.cold"
LineTable:
  0x0000000000001030 shape.cc:21
FunctionInfo @ 0x000000000000032c: [0x0000000000001040 - 0x0000000000001050) "_RNvCs15kBYyAo9fc_7mycrate7example"
LineTable:
  0x0000000000001040 shape.cc:22
FunctionInfo @ 0x0000000000000350: [0x0000000000001050 - 0x0000000000001060) "_ZN4core3fmt5write17h0123456789abcdefE"
LineTable:
  0x0000000000001050 shape.cc:23
FunctionInfo @ 0x0000000000000374: [0x0000000000001080 - 0x0000000000001088) "fold_a"
LineTable:
  0x0000000000001080 /src/app/fold.cc:5
++ Merged FunctionInfos[0]:
    [0x0000000000001080 - 0x0000000000001088) "fold_b"
    LineTable:
      0x0000000000001080 /src/app/fold.cc:9
FunctionInfo @ 0x00000000000003cc: [0x0000000000001100 - 0x0000000000001110) "_start"
