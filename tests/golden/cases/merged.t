# Folded functions, all of them: the lines of llvm-gsymutil, with callees where a call returns.
$ gsym lookup --format=gsymutil --merged-functions merged.gsym 0x1000 0x1004 0x1008 0x1014 0x1024
Looking up addresses in "merged.gsym":
Found 3 functions at address 0x0000000000001000:
   0x0000000000001000: _ZN1f3oneEv @ /src/app/fold.cc:5

   0x0000000000001000: _ZN1f3twoEv @ /src/app/fold.cc:9

   0x0000000000001000: f_three
Found 3 functions at address 0x0000000000001004:
   0x0000000000001004: _ZN1f3oneEv + 4 @ /src/app/fold.cc:5
      CallSites: g1, _ZN1g3oneEv

   0x0000000000001004: _ZN1f3twoEv + 4 @ /src/app/fold.cc:9
      CallSites: g2, ^g.*two$

   0x0000000000001004: f_three + 4
      CallSites: g3, h
Found 3 functions at address 0x0000000000001008:
   0x0000000000001008: _ZN1f3oneEv + 8 @ /src/app/fold.cc:5

   0x0000000000001008: _ZN1f3twoEv + 8 @ /src/app/fold.cc:9

   0x0000000000001008: f_three + 8
Found 1 function at address 0x0000000000001014:
   0x0000000000001014: _ZN1f3oneEv + 4 @ /src/app/fold.cc:5
      CallSites: g1, _ZN1g3oneEv
Found 1 function at address 0x0000000000001024:
   0x0000000000001024: f_three + 4
      CallSites: g3, h
$ gsym lookup --format=gsymutil merged.gsym 0x1004
Looking up addresses in "merged.gsym":
0x0000000000001004: _ZN1f3oneEv + 4 @ /src/app/fold.cc:5
$ gsym lookup --format=gsymutil --merged-functions plain.gsym 0x1008
Looking up addresses in "plain.gsym":
Found 1 function at address 0x0000000000001008:
   0x0000000000001008: _ZNK5Shape4areaEv + 4 @ /src/app/include/shape.h:7 [inlined]
                    main + 8 @ /src/app/main.cc:11
      CallSites: _ZN5ShapeC2Ev, ^f.*$
# Filters: any of them may match, and the number is of those that do.
$ gsym lookup --format=gsymutil --merged-functions --merged-functions-filter='^_ZN1f3(one|two)' merged.gsym 0x1004
Looking up addresses in "merged.gsym":
Found 2 functions at address 0x0000000000001004:
   0x0000000000001004: _ZN1f3oneEv + 4 @ /src/app/fold.cc:5
      CallSites: g1, _ZN1g3oneEv

   0x0000000000001004: _ZN1f3twoEv + 4 @ /src/app/fold.cc:9
      CallSites: g2, ^g.*two$

$ gsym lookup --format=gsymutil --merged-functions --merged-functions-filter=two --merged-functions-filter='e$' merged.gsym 0x1000
Looking up addresses in "merged.gsym":
Found 2 functions at address 0x0000000000001000:
   0x0000000000001000: _ZN1f3twoEv @ /src/app/fold.cc:9

   0x0000000000001000: f_three
$ gsym lookup --format=gsymutil --merged-functions --merged-functions-filter=nothing merged.gsym 0x1000
Looking up addresses in "merged.gsym":
Found 0 functions at address 0x0000000000001000:
# An address that no function covers is told; llvm-gsymutil prints nothing.
$ gsym lookup --format=gsymutil --merged-functions merged.gsym 0x1fff
Looking up addresses in "merged.gsym":
0x0000000000001fff: error: address 0x1fff is not in GSYM
$ printf '0x1000\n0x1fff\n0x1014\n' | gsym lookup --format=gsymutil --merged-functions merged.gsym
Found 3 functions at address 0x0000000000001000:
   0x0000000000001000: _ZN1f3oneEv @ /src/app/fold.cc:5

   0x0000000000001000: _ZN1f3twoEv @ /src/app/fold.cc:9

   0x0000000000001000: f_three

0x0000000000001fff: error: address 0x1fff is not in GSYM

Found 1 function at address 0x0000000000001014:
   0x0000000000001014: _ZN1f3oneEv + 4 @ /src/app/fold.cc:5
      CallSites: g1, _ZN1g3oneEv

# In other formats one function after the other.
$ gsym lookup --merged-functions merged.gsym 0x1004 0x1014 0x1fff
f::one() at /src/app/fold.cc:5
f::two() at /src/app/fold.cc:9
f_three+0x4 at ??:0
f::one() at /src/app/fold.cc:5
?? at ??:0
$ gsym lookup --merged-functions --merged-functions-filter=three merged.gsym 0x1004 0x1014
f_three+0x4 at ??:0
?? at ??:0
$ printf '0x1004\n0x1fff\n0x1014\n' | gsym lookup --no-demangle --merged-functions merged.gsym
_ZN1f3oneEv at /src/app/fold.cc:5
_ZN1f3twoEv at /src/app/fold.cc:9
f_three+0x4 at ??:0

?? at ??:0

_ZN1f3oneEv at /src/app/fold.cc:5

$ gsym lookup --format=tsv --merged-functions merged.gsym 0x1004 0x1014
0x1004	0	f::one()	0x4	/src/app/fold.cc	5	m3	merged.gsym	_ZN1f3oneEv
0x1004	0	f::two()	0x4	/src/app/fold.cc	9	m3	merged.gsym	_ZN1f3twoEv
0x1004	0	f_three	0x4	??	0	sm3	merged.gsym	f_three
0x1014	0	f::one()	0x4	/src/app/fold.cc	5	-	merged.gsym	_ZN1f3oneEv
$ gsym lookup --format=json --merged-functions merged.gsym 0x1004
{"Address":"0x1004","Merged":3,"ModuleName":"merged.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/fold.cc","FunctionName":"f::one()","Inlined":false,"Line":5,"LinkageName":"_ZN1f3oneEv","Offset":"0x4","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
{"Address":"0x1004","Merged":3,"ModuleName":"merged.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/fold.cc","FunctionName":"f::two()","Inlined":false,"Line":9,"LinkageName":"_ZN1f3twoEv","Offset":"0x4","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
{"Address":"0x1004","Merged":3,"ModuleName":"merged.gsym","Source":"symbols","Symbol":[{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"f_three","Inlined":false,"Line":0,"LinkageName":"f_three","Offset":"0x4","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
# One that is nested, or as small as another at the same start, is no folded one.
$ gsym lookup --merged-functions nested.gsym 0x1100 0x1110 0x1140 0x1150
small at /src/app/nest.cc:1
host+0x10 at ??:0
nested at /src/app/nest.cc:2
host+0x50 at ??:0
$ gsym lookup --merged-functions --merged-functions-filter='(' merged.gsym 0x1000 2>&1 | sed 's/expression: .*/expression: (why)/'
gsym lookup: option '--merged-functions-filter': '(' is not a regular expression: (why)
$ gsym lookup --merged-functions-filter=one merged.gsym 0x1000
gsym lookup: option '--merged-functions-filter': needs '--merged-functions'; try 'gsym lookup --help'
[2]
