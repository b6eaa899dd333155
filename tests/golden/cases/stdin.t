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

# Nothing in, nothing out; a line longer than any buffer is no address.
$ gsym lookup plain.gsym < /dev/null
$ gsym lookup plain.gsym < /
gsym: standard input: Is a directory
[1]
$ { printf '%0200000d' 0; printf '1000\n0x1000\n'; } | gsym lookup --format=text plain.gsym
?? at ??:0

main at /src/app/main.cc:10

