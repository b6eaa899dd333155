# What is good is shown; what is damaged is named, and the status tells.
$ gsym verify broken.gsym
gsym: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
broken.gsym: 7 functions, 1 faults
[1]
$ gsym lookup broken.gsym 0x1000 0x1020 0x1030
gsym: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
main at /src/app/main.cc:10
?? at ??:0
Shape::draw() (.cold) at shape.cc:21
[1]
$ gsym statistics broken.gsym | head -3
gsym: broken.gsym: damaged function records: 1; 'gsym verify' lists them
broken.gsym: version 1, little-endian
                              bytes  of file  /function
  file                          752  100.0 %      107.4
$ gsym dump broken.gsym | tail -4
gsym: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
    [0x0000000000001080 - 0x0000000000001088) "fold_b"
    LineTable:
      0x0000000000001080 /src/app/fold.cc:9
FunctionInfo @ 0x000002e0: [0x0000000000001100 - 0x0000000000001110) "_start"
$ gsym dump broken.gsym > /dev/null
gsym: broken.gsym: function 1: function record at offset 0x210: name 0xffffffff, expected one within the string table of 0x108 bytes
[1]
$ head -c 40 plain.gsym > short.gsym
$ gsym lookup short.gsym 0x1000
gsym: short.gsym: header at offset 0: the file ends at 0x28
[1]
$ gsym verify short.gsym
gsym: short.gsym: header at offset 0: the file ends at 0x28
[1]
$ : > empty.gsym
$ gsym dump empty.gsym
gsym: empty.gsym: header at offset 0: the file ends at 0x0
[1]
$ gsym dump missing.gsym
gsym: missing.gsym: No such file or directory
[1]
