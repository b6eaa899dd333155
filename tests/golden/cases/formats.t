# One answer in every format: inlined calls, a symbol alone, folded functions, nothing.
$ gsym lookup plain.gsym 0x100c 0x1104 0x1080 0x1fff
square at /src/app/include/shape.h:3
 (inlined by) Shape::area() const at /src/app/include/shape.h:8
 (inlined by) main at /src/app/main.cc:11
_start+0x4 at ??:0
fold_a at /src/app/fold.cc:5
?? at ??:0
# Functions that share code are told of in text on request.
$ gsym lookup --mark-merged plain.gsym 0x1080; printf '0x1080\n' | gsym lookup --mark-merged plain.gsym; gsym lookup --mark-merged --format=atos plain.gsym 0x1080
fold_a [merged 2] at /src/app/fold.cc:5
fold_a [merged 2] at /src/app/fold.cc:5

fold_a (in plain.gsym) (fold.cc:5)
$ gsym lookup --no-demangle plain.gsym 100c
square at /src/app/include/shape.h:3
 (inlined by) _ZNK5Shape4areaEv at /src/app/include/shape.h:8
 (inlined by) main at /src/app/main.cc:11
$ gsym lookup --format=tsv plain.gsym 0x100c 0x1104 0x1080 0x1fff
0x100c	0	square	0x0	/src/app/include/shape.h	3	i	plain.gsym	square
0x100c	1	Shape::area() const	0x8	/src/app/include/shape.h	8	i	plain.gsym	_ZNK5Shape4areaEv
0x100c	2	main	0xc	/src/app/main.cc	11	-	plain.gsym	main
0x1104	0	_start	0x4	??	0	s	plain.gsym	_start
0x1080	0	fold_a	0x0	/src/app/fold.cc	5	m2	plain.gsym	fold_a
0x1fff	0	??	0x0	??	0	-	plain.gsym	??
$ gsym lookup --format=json plain.gsym 0x100c 0x1104 0x1080 0x1fff
{"Address":"0x100c","ModuleName":"plain.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/include/shape.h","FunctionName":"square","Inlined":true,"Line":3,"LinkageName":"square","Offset":"0x0","StartAddress":"0x100c","StartFileName":"","StartLine":0},{"Column":0,"Discriminator":0,"FileName":"/src/app/include/shape.h","FunctionName":"Shape::area() const","Inlined":true,"Line":8,"LinkageName":"_ZNK5Shape4areaEv","Offset":"0x8","StartAddress":"0x1004","StartFileName":"","StartLine":0},{"Column":0,"Discriminator":0,"FileName":"/src/app/main.cc","FunctionName":"main","Inlined":false,"Line":11,"LinkageName":"main","Offset":"0xc","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
{"Address":"0x1104","ModuleName":"plain.gsym","Source":"symbols","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"_start","Inlined":false,"Line":0,"LinkageName":"_start","Offset":"0x4","StartAddress":"0x1100","StartFileName":"","StartLine":0}]}
{"Address":"0x1080","Merged":2,"ModuleName":"plain.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/fold.cc","FunctionName":"fold_a","Inlined":false,"Line":5,"LinkageName":"fold_a","Offset":"0x0","StartAddress":"0x1080","StartFileName":"","StartLine":0}]}
{"Address":"0x1fff","ModuleName":"plain.gsym","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
$ gsym lookup --format=gsymutil plain.gsym 0x100c 0x1104 0x1080 0x1fff
Looking up addresses in "plain.gsym":
0x000000000000100c: square @ /src/app/include/shape.h:3 [inlined]
                    _ZNK5Shape4areaEv + 8 @ /src/app/include/shape.h:8 [inlined]
                    main + 12 @ /src/app/main.cc:11
0x0000000000001104: _start + 4
0x0000000000001080: fold_a @ /src/app/fold.cc:5
0x0000000000001fff: error: address 0x1fff is not in GSYM
# A row without a line prints line 0, as llvm-addr2line does.
$ gsym lookup plain.gsym 0x101c
main at /src/app/main.cc:0
# Mangled names of several languages; a path without a directory.
$ gsym lookup plain.gsym 0x1020 0x1030 0x1040 0x1050
Shape::move(std::vector<Shape, std::allocator<Shape>> const&) at shape.cc:20
Shape::draw() (.cold) at shape.cc:21
mycrate::example at shape.cc:22
core::fmt::write at shape.cc:23
$ gsym lookup --no-demangle plain.gsym 0x1020 0x1030 0x1040 0x1050
_ZN5Shape4moveERKSt6vectorIS_SaIS_EE at shape.cc:20
_ZN5Shape4drawEv.cold at shape.cc:21
_RNvCs15kBYyAo9fc_7mycrate7example at shape.cc:22
_ZN4core3fmt5write17h0123456789abcdefE at shape.cc:23
