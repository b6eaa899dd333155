# The id of a module in a log, and the file with that id, whatever their names: in any case, and as Breakpad has it, with an age of up to eight digits.
$ ask() { file=$1; shift; for id; do printf 'Module|other|1.0|other|%s|0x400000|0x400fff|1\n0|1|other||||0x15\n' "$id" | gsym filter --quiet "$file" | tail -n 1 | sed "s/$/  $id/"; done; }; ask plain.gsym deadbeef00010203 DEADBEEF00010203 deadbeef0001020 deadbeef00010204 deadbeef000102030 eadbeef00010203 EFBEADDE0100030200000000000000000 EFBEADDE01000302000000000000000012345678 EFBEADDE010003020000000000000000123456789 EFBEADDE010003020000000000000000 EFBEADDE0100030200000000000000010 FFBEADDE0100030200000000000000000
0|1|other|main|/src/app/main.cc|12|0x15  deadbeef00010203
0|1|other|main|/src/app/main.cc|12|0x15  DEADBEEF00010203
0|1|other||||0x15  deadbeef0001020
0|1|other||||0x15  deadbeef00010204
0|1|other||||0x15  deadbeef000102030
0|1|other||||0x15  eadbeef00010203
0|1|other|main|/src/app/main.cc|12|0x15  EFBEADDE0100030200000000000000000
0|1|other|main|/src/app/main.cc|12|0x15  EFBEADDE01000302000000000000000012345678
0|1|other||||0x15  EFBEADDE010003020000000000000000123456789
0|1|other||||0x15  EFBEADDE010003020000000000000000
0|1|other||||0x15  EFBEADDE0100030200000000000000010
0|1|other||||0x15  FFBEADDE0100030200000000000000000
# Of a longer id the first 16 digits are enough.
$ gsym convert --quiet -o elf.gsym "$ELF" && id=$(gsym dump elf.gsym | sed -n 's/^ *UUID *= //p') && echo ${#id} && for n in 40 39 16 15; do printf 'Module|other|1.0|other|%.*s|0x400000|0x400fff|1\n0|1|other||||0x0\n' $n "$id" | gsym filter elf.gsym 2>&1 | tail -n 1 | sed "s/(.*)/(...)/; s/^/$n digits: /"; done
40
40 digits: gsym filter: other (...): 1 frame not explained: not in a function of the image; another build may have written the log
39 digits: gsym filter: other (...): 1 frame not explained: not in a function of the image; another build may have written the log
16 digits: gsym filter: other (...): 1 frame not explained: not in a function of the image; another build may have written the log
15 digits: gsym filter: other (...): 1 frame not explained: no FILE has this id; give the GSYM file of that build, or --mount
