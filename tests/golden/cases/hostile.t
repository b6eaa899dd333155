# No name can reach the terminal or forge a line.
$ gsym lookup hostile.gsym 0x1000 0x1010 0x1020 0x1030 0x1040 0x1050 0x1060 0x1070 0x1080 0x1090
red\x1b[31mname at /s\x0arc/a\x1b.c:1
two\x0alines at /etc/passwd:1 at /s\x0arc/a\x1b.c:1
tab\x09and\backslash at /s\x0arc/a\x1b.c:1
bad\xff\xc0\x80utf8 at /s\x0arc/a\x1b.c:1
right\xe2\x80\xaeto left at /s\x0arc/a\x1b.c:1
c1\xc2\x9b[2J at /s\x0arc/a\x1b.c:1
café 😀 at /s\x0arc/a\x1b.c:1
"quoted" at /s\x0arc/a\x1b.c:1
\x1b[2m() at /s\x0arc/a\x1b.c:1
del\x7f at /s\x0arc/a\x1b.c:1
$ gsym lookup --format=tsv hostile.gsym 0x1000 0x1010 0x1020 0x1030 0x1040 0x1050 0x1060 0x1070 0x1080 0x1090
0x1000	0	red\x1b[31mname	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	red\x1b[31mname
0x1010	0	two\nlines at /etc/passwd:1	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	two\nlines at /etc/passwd:1
0x1020	0	tab\tand\\backslash	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	tab\tand\\backslash
0x1030	0	bad\xff\xc0\x80utf8	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	bad\xff\xc0\x80utf8
0x1040	0	right\xe2\x80\xaeto left	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	right\xe2\x80\xaeto left
0x1050	0	c1\xc2\x9b[2J	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	c1\xc2\x9b[2J
0x1060	0	café 😀	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	café 😀
0x1070	0	"quoted"	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	"quoted"
0x1080	0	\x1b[2m()	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	_ZN4\x1b[2mEv
0x1090	0	del\x7f	0x0	/s\nrc/a\x1b.c	1	-	hostile.gsym	del\x7f
$ gsym lookup --format=json hostile.gsym 0x1000 0x1010 0x1020 0x1030 0x1040 0x1050 0x1060 0x1070 0x1080 0x1090
{"Address":"0x1000","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"red\u001b[31mname","Inlined":false,"Line":1,"LinkageName":"red\u001b[31mname","Offset":"0x0","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
{"Address":"0x1010","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"two\nlines at /etc/passwd:1","Inlined":false,"Line":1,"LinkageName":"two\nlines at /etc/passwd:1","Offset":"0x0","StartAddress":"0x1010","StartFileName":"","StartLine":0}]}
{"Address":"0x1020","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"tab\tand\\backslash","Inlined":false,"Line":1,"LinkageName":"tab\tand\\backslash","Offset":"0x0","StartAddress":"0x1020","StartFileName":"","StartLine":0}]}
{"Address":"0x1030","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"bad���utf8","Inlined":false,"Line":1,"LinkageName":"bad���utf8","Offset":"0x0","StartAddress":"0x1030","StartFileName":"","StartLine":0}]}
{"Address":"0x1040","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"right\u202eto left","Inlined":false,"Line":1,"LinkageName":"right\u202eto left","Offset":"0x0","StartAddress":"0x1040","StartFileName":"","StartLine":0}]}
{"Address":"0x1050","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"c1\u009b[2J","Inlined":false,"Line":1,"LinkageName":"c1\u009b[2J","Offset":"0x0","StartAddress":"0x1050","StartFileName":"","StartLine":0}]}
{"Address":"0x1060","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"café 😀","Inlined":false,"Line":1,"LinkageName":"café 😀","Offset":"0x0","StartAddress":"0x1060","StartFileName":"","StartLine":0}]}
{"Address":"0x1070","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"\"quoted\"","Inlined":false,"Line":1,"LinkageName":"\"quoted\"","Offset":"0x0","StartAddress":"0x1070","StartFileName":"","StartLine":0}]}
{"Address":"0x1080","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"\u001b[2m()","Inlined":false,"Line":1,"LinkageName":"_ZN4\u001b[2mEv","Offset":"0x0","StartAddress":"0x1080","StartFileName":"","StartLine":0}]}
{"Address":"0x1090","ModuleName":"hostile.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/s\nrc/a\u001b.c","FunctionName":"del\u007f","Inlined":false,"Line":1,"LinkageName":"del\u007f","Offset":"0x0","StartAddress":"0x1090","StartFileName":"","StartLine":0}]}
$ gsym lookup --format=gsymutil hostile.gsym 0x1000 0x1010
Looking up addresses in "hostile.gsym":
0x0000000000001000: red\x1b[31mname @ /s\x0arc/a\x1b.c:1
0x0000000000001010: two\x0alines at /etc/passwd:1 @ /s\x0arc/a\x1b.c:1
# Paths of other systems and of the root directory.
$ gsym lookup hostile.gsym 0x1200 0x1210 0x1220
windows at C:\src\a.c:2
root at /a.c:3
only_dir at /src:4
$ gsym lookup --format=gsymutil hostile.gsym 0x1200 0x1210 0x1220
Looking up addresses in "hostile.gsym":
0x0000000000001200: windows @ C:\src\a.c:2
0x0000000000001210: root @ //a.c:3
0x0000000000001220: only_dir @ /src/<invalid-file>:4
$ gsym dump hostile.gsym
Header:
  Magic        = 0x4753594d
  Version      = 0x0001
  AddrOffSize  = 0x02
  UUIDSize     = 0x08
  BaseAddress  = 0x0000000000001000
  NumAddresses = 0x0000000d
  StrtabOffset = 0x000000ac
  StrtabSize   = 0x000000b5
  UUID         = deadbeef00010203

Address Table:
INDEX  OFFSET16 (ADDRESS)
====== =============================== 
[   0] 0x0000 (0x0000000000001000)
[   1] 0x0010 (0x0000000000001010)
[   2] 0x0020 (0x0000000000001020)
[   3] 0x0030 (0x0000000000001030)
[   4] 0x0040 (0x0000000000001040)
[   5] 0x0050 (0x0000000000001050)
[   6] 0x0060 (0x0000000000001060)
[   7] 0x0070 (0x0000000000001070)
[   8] 0x0080 (0x0000000000001080)
[   9] 0x0090 (0x0000000000001090)
[  10] 0x0200 (0x0000000000001200)
[  11] 0x0210 (0x0000000000001210)
[  12] 0x0220 (0x0000000000001220)

Address Info Offsets:
INDEX  Offset
====== ==========
[   0] 0x00000164
[   1] 0x00000184
[   2] 0x000001a4
[   3] 0x000001c4
[   4] 0x000001e4
[   5] 0x00000204
[   6] 0x00000224
[   7] 0x00000244
[   8] 0x00000264
[   9] 0x00000284
[  10] 0x000002a4
[  11] 0x000002c4
[  12] 0x000002e4

Files:
INDEX  DIRECTORY  BASENAME   PATH
====== ========== ========== ==============================
[   0] 0x00000000 0x00000000 
[   1] 0x00000001 0x00000007 /s\x0arc/a\x1b.c
[   2] 0x0000008d 0x00000094 C:\src\a.c
[   3] 0x000000a0 0x00000094 //a.c
[   4] 0x000000a7 0x00000000 /src/

String table:
0x00000000: ""
0x00000001: "/s\x0arc"
0x00000007: "a\x1b.c"
0x0000000c: "red\x1b[31mname"
0x00000019: "two\x0alines at /etc/passwd:1"
0x00000034: "tab\x09and\backslash"
0x00000046: "bad\xff\xc0\x80utf8"
0x00000051: "right\xe2\x80\xaeto left"
0x00000061: "c1\xc2\x9b[2J"
0x00000069: "café 😀"
0x00000074: ""quoted""
0x0000007d: "_ZN4\x1b[2mEv"
0x00000088: "del\x7f"
0x0000008d: "C:\src"
0x00000094: "a.c"
0x00000098: "windows"
0x000000a0: "/"
0x000000a2: "root"
0x000000a7: "/src"
0x000000ac: "only_dir"

FunctionInfo @ 0x00000164: [0x0000000000001000 - 0x0000000000001010) "red\x1b[31mname"
LineTable:
  0x0000000000001000 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x00000184: [0x0000000000001010 - 0x0000000000001020) "two\x0alines at /etc/passwd:1"
LineTable:
  0x0000000000001010 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x000001a4: [0x0000000000001020 - 0x0000000000001030) "tab\x09and\backslash"
LineTable:
  0x0000000000001020 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x000001c4: [0x0000000000001030 - 0x0000000000001040) "bad\xff\xc0\x80utf8"
LineTable:
  0x0000000000001030 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x000001e4: [0x0000000000001040 - 0x0000000000001050) "right\xe2\x80\xaeto left"
LineTable:
  0x0000000000001040 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x00000204: [0x0000000000001050 - 0x0000000000001060) "c1\xc2\x9b[2J"
LineTable:
  0x0000000000001050 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x00000224: [0x0000000000001060 - 0x0000000000001070) "café 😀"
LineTable:
  0x0000000000001060 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x00000244: [0x0000000000001070 - 0x0000000000001080) ""quoted""
LineTable:
  0x0000000000001070 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x00000264: [0x0000000000001080 - 0x0000000000001090) "_ZN4\x1b[2mEv"
LineTable:
  0x0000000000001080 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x00000284: [0x0000000000001090 - 0x00000000000010a0) "del\x7f"
LineTable:
  0x0000000000001090 /s\x0arc/a\x1b.c:1
FunctionInfo @ 0x000002a4: [0x0000000000001200 - 0x0000000000001210) "windows"
LineTable:
  0x0000000000001200 C:\src\a.c:2
FunctionInfo @ 0x000002c4: [0x0000000000001210 - 0x0000000000001220) "root"
LineTable:
  0x0000000000001210 //a.c:3
FunctionInfo @ 0x000002e4: [0x0000000000001220 - 0x0000000000001230) "only_dir"
LineTable:
  0x0000000000001220 /src/:4
