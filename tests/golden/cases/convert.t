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
$ gsym convert --quiet --output-version=2 --verify -o out/c.gsym "$ELF" && gsym statistics out/c.gsym | sed -n '1s/.*: \(.*\), .*-endian/\1/p'
version 2
$ cp "$ELF" out/program && gsym convert --quiet out/program && cmp out/program.gsym out/a.gsym
$ gsym convert --quiet --json-summary-file=out/j -o out/d.gsym "$ELF" && cut -c1-21 out/j
{"error-categories":{
$ gsym convert -o out/e.gsym "$ELF" 2>&1 | grep -c '^input: \|^output: \|^functions: \|^written: '
4
# A failure leaves what was there before.
$ echo before > out/keep && gsym convert -o out/keep /etc/passwd
gsym convert: /etc/passwd: not an object file
[1]
$ { printf '\177ELF\011'; head -c 59 /dev/zero; } > out/odd && gsym convert -o out/keep out/odd
gsym convert: out/odd: damaged ELF header: unknown class, byte order or version, at offset 0x4
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
# A link is replaced, also one to a device; the name of a descriptor is not, also where that is closed.
$ mkdir links && echo before > links/file && ln -s file links/link && ln -s /dev/null links/null && ln -s /proc/self/fd/1 links/stdout
$ for link in link null stdout; do gsym convert --quiet -o links/$link "$ELF" && cmp links/$link out/a.gsym; done; cat links/file
before
$ gsym convert --quiet -o /proc/self/fd/1 "$ELF" > links/file && cmp links/file out/a.gsym
$ sh -c 'exec >links/gone 3<links/gone; rm links/gone; gsym convert --quiet -o /dev/fd/1 "$ELF"; cat <&3 >&2' 2>&1 | cmp - out/a.gsym
$ gsym convert --quiet -o /proc/self/fd/1 "$ELF" >&-
gsym convert: /proc/self/fd/1: Is a directory
[1]
$ gsym convert --quiet --json-summary-file=/dev/stdout -o out/d.gsym "$ELF" | cut -c1-21
{"error-categories":{
# Without standard streams no message gets into the output.
$ gsym convert -o links/quiet "$ELF" 2>&- && cmp links/quiet out/a.gsym
$ gsym convert -o links/quiet --json-summary-file=/dev/stdout "$ELF" <&- >&- 2>&-; echo $?; cmp links/quiet out/a.gsym
1
$ rm links/quiet; gsym lookup out/a.gsym main >&-
gsym lookup: standard output: Bad file descriptor
[1]
$ ls -F links
file
link
null
stdout
$ gsym convert missing
gsym convert: missing: cannot open: No such file or directory
[1]
$ gsym convert -o nowhere/a.gsym "$ELF"
gsym convert: nowhere/a.gsym: cannot create a temporary file for it: No such file or directory
[1]
$ gsym convert --quiet --arch=vax -o out/f.gsym "$ELF" > /dev/null 2>&1
[1]
$ cp out/program out/self && ln out/self out/other && gsym convert -o out/other out/self
gsym convert: out/self: output would replace the input; try 'gsym convert --help'
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
gsym convert: out/module.ko.xz: compressed with xz: damaged, or cut short
[1]
$ printf '(\265/\375 and so on, long enough' > out/module.ko.zst && gsym convert out/module.ko.zst
gsym convert: out/module.ko.zst: compressed with zstd: damaged, or cut short
[1]
# Files without lines, without inlined calls, and with names alone.
$ gsym convert --quiet --no-lines -o out/n.gsym "$ELF" && gsym lookup out/n.gsym main && gsym statistics --json out/n.gsym | grep -o '"line_rows": 0'
main at ??:0
"line_rows": 0
$ gsym convert --quiet --no-inline -o out/n.gsym "$ELF" && gsym statistics --json out/n.gsym | grep -o '"inlined_calls": 0'
"inlined_calls": 0
$ gsym convert --quiet --names-only -o out/n.gsym "$ELF" && gsym statistics --json out/n.gsym | grep -oE '"(line_rows|inlined_calls|files)": [0-9]+'
"line_rows": 0
"inlined_calls": 0
"files": 1
$ gsym convert --names-only --verify -o out/n.gsym "$ELF"
gsym convert: option '--verify': conflicts with leaving out lines or inlined calls; try 'gsym convert --help'
[2]
# A whole directory: what is no object file is left alone, what is damaged fails alone.
$ mkdir -p in/deep && cp "$ELF" in/deep/a && cp "$ELF" in/b && head -c 300 "$ELF" > in/cut && cp "$ELF" in/deep/c && echo text > in/notes && cp plain.gsym in && ln -s deep in/link
$ gsym convert --recursive --output-dir=trees/all --jobs=2 in 2>&1 | sed "s=^gsym convert: in.cut: no function found: .*=gsym convert: in.cut: (why)=" && find trees -type f | sort
gsym convert: in.cut: (why)
in: 3 files converted, 0 failed, 3 without code to convert
trees/all/b.gsym
trees/all/deep/a.gsym
trees/all/deep/c.gsym
$ gsym convert --recursive --output-dir=in/trees in 2>/dev/null; gsym convert --recursive --output-dir=in/trees --quiet in 2>/dev/null; find in/trees -type f | sort
in/trees/b.gsym
in/trees/deep/a.gsym
in/trees/deep/c.gsym
$ gsym convert --quiet -o out/n.gsym "$ELF" && cmp out/n.gsym trees/all/deep/a.gsym
$ rm in/cut && gsym convert --recursive --quiet in && find in -name '*.gsym' | grep -v trees | sort
in/b.gsym
in/deep/a.gsym
in/deep/c.gsym
in/plain.gsym
$ gsym convert --recursive nowhere
gsym convert: nowhere: No such file or directory
nowhere: 0 files converted, 1 failed, 0 without code to convert
[1]
# The directory itself may be a link, and that of the results.
$ mkdir -p one && cp "$ELF" one/a && ln -s one two && gsym convert --recursive --output-dir=trees/two two && find trees/two -type f
two: 1 files converted, 0 failed, 0 without code to convert
trees/two/a.gsym
$ gsym convert --recursive --output-dir=one one && find one -type f | sort
one: 1 files converted, 0 failed, 0 without code to convert
one/a
one/a.gsym
$ gsym convert --recursive --output-dir=trees/file one/a; ls -A trees
gsym convert: one/a: Not a directory
one/a: 0 files converted, 1 failed, 0 without code to convert
all
two
# A parent that ignores the end of its children hands that down.
$ timeout 60 env --ignore-signal=CHLD gsym convert --recursive one
one: 1 files converted, 0 failed, 1 without code to convert
$ gsym convert --recursive --jobs=2 -o x in
gsym convert: option '--out-file': conflicts with '--recursive'; try 'gsym convert --help'
[2]
$ gsym convert --output-dir=x in
gsym convert: option '--output-dir': needs '--recursive'; try 'gsym convert --help'
[2]
