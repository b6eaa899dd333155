# There and back again, every byte as it was: versions, byte orders, both.
$ gsym transcode --output-version=2 -o two plain.gsym && gsym transcode --output-version=1 -o back two && cmp plain.gsym back
$ gsym transcode --byte-order=big -o big plain.gsym && gsym transcode -o back --byte-order=little big && cmp plain.gsym back
$ gsym transcode --output-version=1 --byte-order=little plain2.gsym -o one && gsym transcode --output-version=2 --byte-order=big one -o back && cmp plain2.gsym back
$ for f in merged nested hostile; do gsym transcode --output-version=2 --byte-order=big -o there $f.gsym && gsym transcode --output-version=1 --byte-order=little -o back there && cmp $f.gsym back || echo $f; done
$ gsym convert --quiet -o elf.gsym "$ELF" && gsym transcode --output-version=2 -o two elf.gsym && gsym convert --quiet --output-version=2 -o two.gsym "$ELF" && cmp two two.gsym && gsym transcode --output-version=1 -o back two && cmp elf.gsym back
# Without options a copy.
$ gsym transcode -o copy plain2.gsym && cmp plain2.gsym copy
# The same functions, wherever they lie: lines, inlined calls, call sites, merged functions.
$ for f in plain merged; do gsym transcode --output-version=2 --byte-order=big -o there $f.gsym; for g in $f.gsym there; do gsym dump $g | sed 's/^\(FunctionInfo\) @ 0x[0-9a-f]*/\1/; /^FunctionInfo/,$!d' > $g.functions; done; cmp $f.gsym.functions there.functions; done
$ gsym transcode --byte-order=big -o big merged.gsym && gsym verify big && gsym lookup --format=gsymutil --merged-functions big 0x1004
big: 3 functions, 0 faults
Looking up addresses in "big":
Found 3 functions at address 0x0000000000001004:
   0x0000000000001004: _ZN1f3oneEv + 4 @ /src/app/fold.cc:5
      CallSites: g1, _ZN1g3oneEv

   0x0000000000001004: _ZN1f3twoEv + 4 @ /src/app/fold.cc:9
      CallSites: g2, ^g.*two$

   0x0000000000001004: f_three + 4
      CallSites: g3, h
# A UUID of more than 20 bytes is too long for version 1.
$ gsym transcode -o copy long_uuid.gsym && cmp long_uuid.gsym copy && gsym transcode --output-version=1 -o short long_uuid.gsym
gsym transcode: long_uuid.gsym: header at offset 0x1c: UUID of 32 bytes, version 1 holds 20
[1]
$ ls short
ls: cannot access 'short': No such file or directory
[2]
# What cannot be read or written.
$ gsym transcode -o out broken.gsym
gsym transcode: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
[1]
$ gsym transcode -o out "$0"
gsym transcode: sh: No such file or directory
[1]
$ gsym transcode -o nowhere/out plain.gsym
gsym transcode: nowhere/out: cannot create a temporary file for it: No such file or directory
[1]
$ gsym transcode -o missing/out missing.gsym
gsym transcode: missing.gsym: No such file or directory
[1]
$ ls out
ls: cannot access 'out': No such file or directory
[2]
$ cp plain.gsym self && gsym transcode --output-version=2 -o self self
gsym transcode: self: output would replace the input; try 'gsym transcode --help'
[2]
$ cmp plain.gsym self
$ gsym transcode plain.gsym
gsym transcode: missing option '--out-file=FILE'; try 'gsym transcode --help'
[2]
$ gsym transcode -o out
gsym transcode: missing operand 'FILE.gsym'; try 'gsym transcode --help'
[2]
$ gsym transcode -o out --byte-order=middle plain.gsym
gsym transcode: option '--byte-order': invalid value 'middle'; allowed is little or big
[2]
$ gsym transcode -o out --output-version=3 plain.gsym
gsym transcode: option '--output-version': invalid value '3'; allowed is a number from 1 to 2
[2]
$ gsym transcode --help
Usage: gsym transcode [OPTION...] FILE.gsym
Writes a whole GSYM file again in another version or byte order.

Options:
  -o, --out-file=FILE         write FILE; required
      --output-version=1|2    GSYM version to write (default: as the input)
      --byte-order=little|big byte order to write (default: as the input)
  -h, --help                  print this help
  -V, --version               print the version

Examples:
  gsym transcode --output-version=2 -o app2.gsym app.gsym
