# What is good is shown; what is damaged is named, and the status tells.
$ gsym verify broken.gsym
gsym verify: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
broken.gsym: 7 functions, 1 faults
[1]
$ gsym lookup broken.gsym 0x1000 0x1020 0x1030
gsym lookup: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
main at /src/app/main.cc:10
?? at ??:0
Shape::draw() (.cold) at shape.cc:21
[1]
$ gsym statistics broken.gsym | head -3
gsym statistics: broken.gsym: damaged function records: 1; 'gsym verify' lists them
broken.gsym: version 1, little-endian
                              bytes  of file  /function
  file                          752  100.0 %      107.4
$ gsym dump broken.gsym | tail -4
gsym dump: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
    [0x0000000000001080 - 0x0000000000001088) "fold_b"
    LineTable:
      0x0000000000001080 /src/app/fold.cc:9
FunctionInfo @ 0x000002e0: [0x0000000000001100 - 0x0000000000001110) "_start"
$ gsym dump broken.gsym > /dev/null
gsym dump: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
[1]
$ head -c 40 plain.gsym > short.gsym
$ gsym lookup short.gsym 0x1000
gsym lookup: short.gsym: header at offset 0: the file ends at 0x28
[1]
$ gsym verify short.gsym
gsym verify: short.gsym: header at offset 0: the file ends at 0x28
[1]
$ : > empty.gsym
$ gsym dump empty.gsym
gsym dump: empty.gsym: neither an object file nor a GSYM file
[1]
$ gsym dump missing.gsym
gsym dump: missing.gsym: No such file or directory
[1]
# Each warning says how answers suffer.
$ gsym convert -o out.gsym broken.gsym
input: broken.gsym
output: out.gsym, 712 bytes
functions: 6 copied from GSYM
written: 6
warnings of the input: 1
  function skipped: damaged record of GSYM: 1, first: 0x1020; functions there may be missing or have no lines
$ gsym convert --quiet --json-summary-file=/dev/stdout -o out.gsym broken.gsym
{"error-categories":{"function skipped: damaged record of GSYM":{"count":1,"effect":"functions there may be missing or have no lines"}},"error-count":1,"work":0}
