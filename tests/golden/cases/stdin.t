# One record a line, in order; malformed and unknown ones included.
$ printf '0x1000\n1000\n 0X100C \r\n\nfoo\n10000000000000000\n0x1fff' | gsym lookup plain.gsym
main at /src/app/main.cc:10

main at /src/app/main.cc:10

square at /src/app/include/shape.h:3
 (inlined by) Shape::area() const at /src/app/include/shape.h:8
 (inlined by) main at /src/app/main.cc:11

?? at ??:0

?? at ??:0

?? at ??:0

?? at ??:0

$ printf '0x1000\nfoo\t1\n0x1fff\n' | gsym lookup --format=tsv plain.gsym
0x1000	0	main	0x0	/src/app/main.cc	10	-	plain.gsym	main
foo\t1	0	??	0x0	??	0	-	plain.gsym	??
0x1fff	0	??	0x0	??	0	-	plain.gsym	??
$ printf '0x1000\n"foo"\n0x1fff\n' | gsym lookup --format=json plain.gsym
{"Address":"0x1000","ModuleName":"plain.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/main.cc","FunctionName":"main","Inlined":false,"Line":10,"LinkageName":"main","Offset":"0x0","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
{"Address":"\"foo\"","ModuleName":"plain.gsym","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
{"Address":"0x1fff","ModuleName":"plain.gsym","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
$ printf '0x1000\nfoo\n0x1fff\n' | gsym lookup --format=gsymutil plain.gsym
0x0000000000001000: main @ /src/app/main.cc:10

foo: error: not an address

0x0000000000001fff: error: address 0x1fff is not in GSYM

# Lines with a file each; a line without one is malformed, and one file that cannot be opened is reported once.
$ cp plain.gsym 'with space.gsym'
$ printf '0x1000 plain.gsym\n 100c\twith space.gsym \r\n0x1000\n\nfoo plain.gsym\n0x1fff plain.gsym\n1000 none\n1000 none\n1000 plain.gsym' > files
$ gsym lookup --addresses-from-stdin --format=tsv < files
gsym lookup: none: No such file or directory
0x1000	0	main	0x0	/src/app/main.cc	10	-	plain.gsym	main
0x100c	0	square	0x0	/src/app/include/shape.h	3	i	with space.gsym	square
0x100c	1	Shape::area() const	0x8	/src/app/include/shape.h	8	i	with space.gsym	_ZNK5Shape4areaEv
0x100c	2	main	0xc	/src/app/main.cc	11	-	with space.gsym	main
0x1000	0	??	0x0	??	0	-	-	??
	0	??	0x0	??	0	-	-	??
foo plain.gsym	0	??	0x0	??	0	-	-	??
0x1fff	0	??	0x0	??	0	-	plain.gsym	??
0x1000	0	??	0x0	??	0	-	none	??
0x1000	0	??	0x0	??	0	-	none	??
0x1000	0	main	0x0	/src/app/main.cc	10	-	plain.gsym	main
[1]
$ gsym lookup --addresses-from-stdin < files
gsym lookup: none: No such file or directory
main at /src/app/main.cc:10

square at /src/app/include/shape.h:3
 (inlined by) Shape::area() const at /src/app/include/shape.h:8
 (inlined by) main at /src/app/main.cc:11

?? at ??:0

?? at ??:0

?? at ??:0

?? at ??:0

?? at ??:0

?? at ??:0

main at /src/app/main.cc:10

[1]
$ gsym lookup --addresses-from-stdin --format=gsymutil < files
gsym lookup: none: No such file or directory
0x0000000000001000: main @ /src/app/main.cc:10

0x000000000000100c: square @ /src/app/include/shape.h:3 [inlined]
                    _ZNK5Shape4areaEv + 8 @ /src/app/include/shape.h:8 [inlined]
                    main + 12 @ /src/app/main.cc:11

0x1000: error: not an address

: error: not an address

foo plain.gsym: error: not an address

0x0000000000001fff: error: address 0x1fff is not in GSYM

0x0000000000001000: error: address 0x1000 is not in GSYM

0x0000000000001000: error: address 0x1000 is not in GSYM

0x0000000000001000: main @ /src/app/main.cc:10

[1]
$ gsym lookup --addresses-from-stdin --format=json --merged-functions < files
gsym lookup: none: No such file or directory
{"Address":"0x1000","ModuleName":"plain.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/main.cc","FunctionName":"main","Inlined":false,"Line":10,"LinkageName":"main","Offset":"0x0","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
{"Address":"0x100c","ModuleName":"with space.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/include/shape.h","FunctionName":"square","Inlined":true,"Line":3,"LinkageName":"square","Offset":"0x0","StartAddress":"0x100c","StartFileName":"","StartLine":0},{"Column":0,"Discriminator":0,"FileName":"/src/app/include/shape.h","FunctionName":"Shape::area() const","Inlined":true,"Line":8,"LinkageName":"_ZNK5Shape4areaEv","Offset":"0x8","StartAddress":"0x1004","StartFileName":"","StartLine":0},{"Column":0,"Discriminator":0,"FileName":"/src/app/main.cc","FunctionName":"main","Inlined":false,"Line":11,"LinkageName":"main","Offset":"0xc","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
{"Address":"0x1000","ModuleName":"","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
{"Address":"","ModuleName":"","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
{"Address":"foo plain.gsym","ModuleName":"","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
{"Address":"0x1fff","ModuleName":"plain.gsym","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
{"Address":"0x1000","ModuleName":"none","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
{"Address":"0x1000","ModuleName":"none","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"","Line":0,"StartAddress":"","StartFileName":"","StartLine":0}]}
{"Address":"0x1000","ModuleName":"plain.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/main.cc","FunctionName":"main","Inlined":false,"Line":10,"LinkageName":"main","Offset":"0x0","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
[1]
$ gsym lookup --addresses-from-stdin < /dev/null
$ for i in $(seq 200); do cp plain.gsym f$i.gsym; printf '1000 f%d.gsym\n100c f%d.gsym\n0x1000 f1.gsym\n' $i $i; done | (ulimit -n 90; gsym lookup --addresses-from-stdin --format=tsv) | sort | uniq -c | sort -rn | sed -n '1p;$='
    201 0x1000	0	main	0x0	/src/app/main.cc	10	-	f1.gsym	main
800
# Nothing in, nothing out; a line longer than any buffer is no address.
$ gsym lookup plain.gsym < /dev/null
$ gsym lookup plain.gsym < /
gsym lookup: standard input: Is a directory
[1]
$ { printf '%0200000d' 0; printf '1000\n0x1000\n'; } | gsym lookup --format=text plain.gsym
?? at ??:0

main at /src/app/main.cc:10

# Of a line that is too long its beginning is printed, however it was read.
$ { head -c 6000 /dev/zero | tr '\0' x; echo; head -c 4097 /dev/zero | tr '\0' ' '; echo 0x1000; } > long
$ for size in 1 1000 4096 8192; do dd bs=$size status=none < long | gsym lookup --format=tsv plain.gsym | awk -F '\t' '{print length($1), $3}'; done
4096 ??
0 ??
4096 ??
0 ??
4096 ??
0 ??
4096 ??
0 ??
