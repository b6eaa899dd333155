# The output appears whole, under its name, and nothing else stays behind.
$ mkdir out
$ gsym convert --quiet --verify -o out/a.gsym "$ELF" && ls out
a.gsym
$ gsym verify out/a.gsym --against "$ELF" | grep -c DIFFERENT
0
[1]
$ gsym convert --quiet -o out/a.gsym "$ELF" && ls out
a.gsym
$ gsym convert --quiet --num-threads=1 -o out/b.gsym "$ELF" && cmp out/a.gsym out/b.gsym
$ gsym convert --quiet --output-version=2 --verify -o out/c.gsym "$ELF" && gsym statistics out/c.gsym | sed -n '1s/.*: //p'
version 2, little-endian
$ cp "$ELF" out/program && gsym convert --quiet out/program && cmp out/program.gsym out/a.gsym
$ gsym convert --quiet --json-summary-file=out/j -o out/d.gsym "$ELF" && cut -c1-21 out/j
{"error-categories":{
$ gsym convert -o out/e.gsym "$ELF" 2>&1 | grep -c '^input: \|^output: \|^functions: \|^written: '
4
# A failure leaves what was there before.
$ echo before > out/keep && gsym convert -o out/keep /etc/passwd
gsym: /etc/passwd: not an object file
[1]
$ { printf '\177ELF\011'; head -c 59 /dev/zero; } > out/odd && gsym convert -o out/keep out/odd
gsym: out/odd: damaged ELF header: unknown class, byte order or version, at offset 0x4
[1]
$ rm out/odd
$ cat out/keep
before
$ ls out
a.gsym
b.gsym
c.gsym
d.gsym
e.gsym
j
keep
program
program.gsym
$ gsym convert missing
gsym: missing: cannot open: No such file or directory
[1]
$ gsym convert -o nowhere/a.gsym "$ELF"
gsym: nowhere/a.gsym: cannot create a temporary file for it: No such file or directory
[1]
$ gsym convert --quiet --arch=vax -o out/f.gsym "$ELF" > /dev/null 2>&1
[1]
$ cp out/program out/self && ln out/self out/other && gsym convert -o out/other out/self
gsym convert: 'out/self': output would replace the input; try 'gsym convert --help'
[2]
$ cmp out/self out/program
# A device is written in place.
$ gsym convert --quiet -o /dev/null "$ELF" && test -c /dev/null && echo still there
still there
# A mode as any new file has.
$ umask 027; gsym convert --quiet -o out/m.gsym "$ELF"; stat -c %a out/m.gsym
640
# Distributions compress kernel modules.
$ printf '\375\067zXZ\000, and so on' > out/module.ko.xz && gsym convert out/module.ko.xz
gsym: out/module.ko.xz: compressed with xz: damaged, or cut short
[1]
$ printf '(\265/\375 and so on, long enough' > out/module.ko.zst && gsym convert out/module.ko.zst
gsym: out/module.ko.zst: compressed with zstd: damaged, or cut short
[1]
