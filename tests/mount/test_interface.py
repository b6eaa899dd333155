#!/usr/bin/env python3
"""What gsymfs(1) promises, row by row: a command in the mounted tree, and what it prints.

One mount serves ELF programs (one of them with its debug data in another file, one folded, one without an id, one damaged),
Mach-O programs, thin and fat, and Breakpad's text symbols.
"""

import os
import re
import sys

import mount_harness
from mount_harness import MountTest, contents, run

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import craft, make_macho  # noqa: E402
from lib.macho_sample import program  # noqa: E402

UUID = "00112233445566778899aabbccddeeff"
DASHED = "00112233-4455-6677-8899-AABBCCDDEEFF"
TEXT_ID = "a1b2c3d4e5f60718293a4b5c6d7e8f90"
TEXT = """MODULE mac arm64 A1B2C3D4E5F60718293A4B5C6D7E8F900 app
FILE 0 /src/a.c
FILE 1 /src/b.h
INLINE_ORIGIN 0 outer()
INLINE_ORIGIN 1 inner(int)
FUNC 1000 100 0 work
INLINE 0 10 0 0 1000 20
INLINE 1 20 1 1 1010 8
1000 10 1 1
1010 8 2 1
1018 e8 3 0
PUBLIC 2000 0 bare
"""
NAMES_ID = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
NAMES = """MODULE mac arm64 0F1E2D3C4B5A69788796A5B4C3D2E1F00 names
FILE 0 /src/a.c
FUNC 1000 10 0 odd\tna\\me\x01
1000 10 3 0
FUNC 2000 20 0 _ZN2ns1S1mEi
2000 8 4 0
2008 18 0 0
FUNC 3000 10 0 _ZN4core3fmt5write17h0123456789abcdefE
3000 10 5 0
FUNC 4000 10 0 _RNvCs15kBYyAo9fc_7mycrate7example
4000 10 6 0
FUNC 5000 10 0 _D3std5stdio7writelnFAyaZv
5000 10 7 0
FUNC 6000 10 0 _ZN2ns1S1mEd
6000 10 8 0
FUNC 7000 10 0 text::f(int)
7000 10 9 0
FUNC nonsense 10 0 left_out
"""
FAT = [(make_macho.ARM64, "ffeeddccbbaa99887766554433221100"), (make_macho.PPC, "fedcba98765432100123456789abcdef")]
SHORT = ["decafbad00000001", "decafbad00000002"]
LONG = "ab" * 32
FRAMES = "inner(int) at /src/b.h:2\n (inlined by) outer() at /src/b.h:20\n (inlined by) work at /src/a.c:10\n"
MAIN = "tiny at /src/b.h:9\n (inlined by) main at /src/a.c:5\n"
NO_FILE = "No such file or directory"
AT = "0x100001008"  # in main of the Mach-O program
T, M, N = TEXT_ID, UUID, NAMES_ID
UNKNOWN = "?? at ??:0\n"
RUST, V0, D = "core::fmt::write", "mycrate::example", "std.stdio.writeln(immutable(char)[])"


def not_found(names):
    """Rows: none of these exists."""
    return [("ls -d '%s' 2>&1" % name, re.compile(".*" + NO_FILE + "\n")) for name in names]


def asked(q, lines):
    """A command that writes lines to a q and reads what they become."""
    return "exec 3<>%s; printf '%%s\n' %s >&3; cat <&3" % (q, " ".join("'%s'" % line for line in lines))


# Command and output, exactly; or, compiled, a pattern that all of it must match. {e} is the ELF program's id, {a} an address
# in it, {n} that function's name, {s} the size of its answer, {x} the id of the file without one, {d} of the damaged one, {f} the
# program, {o} the address's offset in it, {b} what Breakpad makes of {e}, {p} the id of the program whose debug data is elsewhere, {g} the
# gsym program, {u} that address behind a load at 0x7f0000000000.
COLD = [
    ("ls {e}", "approximate\nbase\ninfo.json\noff\nq\nra\nrva\nstatus\nsym\nwhy\n"),
    ("ls -lR . > /dev/null; find . > /dev/null; du -a . > /dev/null; grep -rs no-such-text .; cat */status | grep ^conversions | sort -u",
     "conversions\t0\n"),
    ("cat */info.json | grep -o '\"conversions\":[^,}}]*' | sort -u; cat {e}/status | head -n 1", '"conversions":0\nstate\tcold\n'),
    ("head -c 4 {p}/image.gsym; grep -E '^(state|conversions)' {p}/status", "MYSGstate\tready\nconversions\t1\n"),
    ("cut -f2 %s/files.tsv | tail -n 1; grep ^conversions %s/status" % (M, M), "/src/b.h\nconversions\t1\n"),
]

TREE = [
    ("cat {e}/{a} | tail -n 1", re.compile(r"(?: \(inlined by\) )?geo::point::norm\(\) const at /.*/sample\.cpp:\d+\n")),
    ("cat %s/%s" % (M, AT), MAIN),
    ("cat %s/0x1010" % T, FRAMES),
    ("ls %s | grep -c 0x" % T, "0\n"),  # not listed, though it is there
    ("cat {e}/{a}.json {e}/{a}.tsv {e}/{a}.atos | cut -c -2 | sort -u", re.compile('0x\nge\n(tw\n)?{"\n')),
    ("cat %s/0x1010.json | head -c 20" % T, '{{"Address":"0x1010",'),
    ("cat %s/%s.json %s/%s.tsv | cut -c -14" % (M, AT, M, AT), '{{"Address":"0x\n0x100001008\t0\t\n0x100001008\t1\t\n'),
    ("cat %s/base/0x10005d000/0x10005e008" % M, MAIN),
    ("cat %s/base/0x10005d000/0xb40000010005e008 %s/base/0x10005d000/ra/0x001500010005e009" % (M, M), MAIN * 2),  # with tags
    ("cat %s/base/0x10005d000/0xffff00010005e008 2>&1 | grep -c '%s'" % (M, NO_FILE), "1\n"),
    ("cat {e}/base/0x7f0000000000/{u} | cmp - {e}/{a} && echo same", "same\n"),
    ("cat %s/base/0x5000/0x6010" % T, FRAMES),
    ("ls %s/base/0x5000/0x4010 %s/base 2>&1 | grep -c '%s'" % (T, T, NO_FILE), "1\n"),
    ("cat %s/rva/0x1008" % M, MAIN),
    ("cat {e}/rva/{a} | cmp - {e}/{a} && echo same", "same\n"),
    ("cat %s/rva/0x1010" % T, FRAMES),
    ("cat {e}/off/$(printf 0x%x {o}) | cmp - {e}/{a} && echo same", "same\n"),
    ("ls %s/off/0x1010 2>&1" % T, re.compile(".*" + NO_FILE + "\n")),  # text symbols alone know no file
    ("cat %s/ra/0x1011 | head -n 1; cat %s/ra/0x1010 | head -n 1" % (T, T), "inner(int) at /src/b.h:2\nouter() at /src/b.h:1\n"),
    ("cut -f1,4 %s/ra/0x1011.tsv" % T, "0x1011\t0x1\n0x1011\t0x11\n0x1011\t0x11\n"),  # printed as given
    ("cat %s/sym/main" % M, "main at /src/a.c:4\n"),
    ("cat %s/sym/main+0x8" % M, MAIN),
    ("cat %s/sym/main+0x12.json | cut -d, -f1" % M, '{{"Address":"0x100001012"\n'),
    ("cat %s/sym/work+0x10" % T, FRAMES),
    ("cat '%s/sym/text::f(int)' %s/sym/text::f" % (N, N), "text::f(int) at /src/a.c:9\n" * 2),
    ("cat {e}/sym/{n} '{e}/sym/geo::point::norm() const' {e}/sym/geo::point::norm | sort | uniq -c | grep -vc ' 3 '", "0\n"),
    ("cat {e}/sym/{n} | cmp - {e}/{a} && echo same", "same\n"),
    ("cat '%s/sym/ns::S::m(int)' '%s/sym/ns::S::m'" % (N, N), "ns::S::m(int) at /src/a.c:4\n" * 2 + "\nns::S::m(double) at /src/a.c:8\n"),
    ("cat '%s/sym/%s' '%s/sym/%s' '%s/sym/%s+0x1' %s/sym/std.stdio.writeln | wc -l" % (N, RUST, N, V0, N, D, N), "4\n"),
    ("cat %s/approximate/0x2010 %s/0x2010" % (N, N), "ns::S::m(int) at /src/a.c:4\nns::S::m(int) at /src/a.c:0\n"),
    ("cat %s/base/0x10005d000/ra/0x10005e009" % M, MAIN),
    ("cat %s/ra/base/0x10005d000/0x10005e009" % M, MAIN),
    ("cat %s/ra/sym/main+0x9" % M, MAIN),
    ("cat %s/base/0x10005d000/approximate/ra/10005e009.raw.json | cut -d, -f1" % M, '{{"Address":"0x10005e009"\n'),
    ("ls {e}/base {e}/rva/ {e}/off {e}/ra {e}/sym {e}/approximate {e}/base/0x1000/ra | grep -v :", "\n" * 6),
    (asked(T + "/q", ["0x1010"]), FRAMES + "\n"),
    (asked(M + "/base/0x10005d000/ra/q", ["0x10005e009"]), MAIN + "\n"),
    (asked("q", [T + " 0x1010", "%s %s" % (M, AT)]), FRAMES + "\n" + MAIN + "\n"),
    (asked("q", [M + "/base/0x10005d000/ra 0x10005e009", DASHED + "/rva 1008", T[:8] + "/ra 1011", T + "/off 1010", "{e}/sym main"]),
     (MAIN + "\n") * 2 + FRAMES + "\n" + (UNKNOWN + "\n") * 2),
    (asked("q.tsv", ["{e}/off/ra $(({o}+1))"]) + " | grep -c x", re.compile("1\n")),
    ("cut -f1 %s/status | head -n 4" % T, "state\nid\nkind\narch\n"),
    ("grep -c . %s/status && tr , '\\n' < %s/info.json | grep kind" % (T, T), re.compile(r'\d+\n"kind":"breakpad"\n')),
    ("ls %s" % T, "approximate\nbase\nfiles.tsv\nfunctions.tsv\nimage.gsym\ninfo.json\nlines.tsv\noff\nq\nra\nrva\nstatus\nsym\nwhy\n"),
    ("head -c 4 %s/image.gsym" % T, "MYSG"),
    ("{g} lookup %s/image.gsym 10ff 0x2012" % T, "work at /src/a.c:3\nbare+0x12 at ??:0\n"),  # bare hex on the command line
    ("cat %s/functions.tsv" % T, "0x1000\t256\twork\t/src/b.h\t1\twork\n0x2000\t0\tbare\t??\t0\tbare\n"),
    ("cat %s/lines.tsv | head -n 2" % T, "0x1000\t16\t/src/b.h\t1\n0x1010\t8\t/src/b.h\t2\n"),
    ("cat %s/files.tsv" % T, "0\t??\n1\t/src/a.c\n2\t/src/b.h\n"),
    # The only image of a name, without its id.
    ("cmp by-name/names.sym/0x2010 %s/0x2010 && cut -f1 by-name/names.sym/2010.tsv " % N, "0x2010\n"),
    ("(ls %s; ls by-name/names.sym) | sort | uniq -u" % N, N + "\n"),
    ("readlink by-name/app.sym/%s by-path/dir/macho" % T, "../../%s\n../../%s\n" % (T, M)),
    ("ls by-name", "app\napp.sym\ndamaged\nfat\nfolded\nlong\nmacho\nnames\nnames.sym\none\nsample\nsplit\nsplit.debug\ntwo\nwithout\n"),
    ("ls -F by-path", "damaged@\ndir/\nfolded@\nlong@\none@\nsample@\nsplit@\ntwo@\nwithout@\n"),
    ("cat by-path/dir/macho/%s" % AT, MAIN),
    ("ls by-path/dir/fat; readlink by-path/dir/fat/*", "%s\n%s\n../../../%s\n../../../%s\n" % (FAT[1][1], FAT[0][1], FAT[1][1], FAT[0][1])),
    ("cat %s/%s %s/0x1008" % (FAT[0][1], AT, FAT[1][1]), MAIN * 2),
    ("readlink by-name/split/{p} by-name/split.debug/{p}", "../../{p}\n" * 2),  # one image, DWARF from the one, code from the other
    ("cat {p}/sym/geo::point::norm | tail -n 1; cat {p}/off/$(printf 0x%x {o}) | tail -n 1",
     re.compile(r"((?: \(inlined by\) )?geo::point::norm\(\) const at /.*/sample\.cpp:\d+\n)\1")),
    ("grep -E '^gsymfs_(build_info|images.*ready)' metrics", re.compile('gsymfs_build_info{mount="[^"]+",version="[0-9.]+"} 1\n' 'gsymfs_images{mount="[^"]+",state="ready"} \\d+\n')),
    ("grep -c '^# TYPE gsymfs_' metrics; tail -c 1 metrics | od -An -c", re.compile("\\d\\d\n +\\\\n\n")),
    ("ls -d %s/%s.debug by-name/macho/%s" % (M[:2], M[2:], M), "%s/%s.debug\nby-name/macho/%s\n" % (M[:2], M[2:], M)),
]

IDS = [
    ("ls -d {e} %s %s %s %s" % (M, T, SHORT[0], LONG), re.compile("(.+\n)" * 5)),  # of any length
    ("readlink %s %s %s" % (M.upper(), DASHED, DASHED.lower()), (M + "\n") * 3),
    ("readlink %s %s" % (T.upper(), SHORT[0].upper()), T + "\n" + SHORT[0] + "\n"),
    ("readlink $(echo {e} | tr a-f A-F)", "{e}\n"),
    ("readlink A1B2C3D4-E5F6-0718-293A-4B5C6D7E8F90", T + "\n"),
    ("readlink %s %s" % (M.upper() + "0", T.upper() + "0"), M + "\n" + T + "\n"),  # as minidumps have Apple's
    ("readlink {b}", "{e}\n"),
    ("readlink %s %s %s" % (M[:8], M[:31], M[:9].upper()), (M + "\n") * 3),
    ("readlink %s $(echo {e} | cut -c -8)" % T[:8], T + "\n{e}\n"),
    ("readlink %s/%s %s/%s.debug" % (M[:2], M[2:], T[:2], T[2:]), "../%s\n../%s\n" % (M, T)),
    ("i={e}; readlink $(echo $i | cut -c -2)/$(echo $i | cut -c 3-)", "../{e}\n"),
    ("cat %s/%s/%s" % (M[:2], M[2:], AT), MAIN),
    ("cat %s/%s" % (DASHED, AT), MAIN),
    ("ls | grep -v '^README$' | grep -c -e '[A-Z]' -e %s -e '^..$'" % DASHED[:13], "0\n"),  # other spellings are not listed
    ("ls -d xxh3-* | grep {x} && cat {x}/status | grep ^id; readlink $(echo {x} | tr a-z A-Z) $(echo {x} | cut -c -13)",
     "{x}\nid\t{x}\n{x}\n{x}\n"),
    ("cat {x}/sym/entry_without | tail -n 1", "entry_without at ??:0\n"),
    ("ls %s | wc -l; ls -d %s" % (SHORT[0], SHORT[0]), re.compile(r"\d+\n%s\n" % SHORT[0])),
] + not_found([M[:7], SHORT[0][:8], SHORT[0][:15], "00000000", M + "12345678", M[:-1] + "0", DASHED[1:], M[:2] + "/" + M[2:31], "xxh3-", "{x}0"])

ADDRESSES = [
    ("cat %s/0X1010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/0x0000000001010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/1010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/00001010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/0000000000001010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/0x%s1010 %s/%s10ff | tail -n 1" % (T, "0" * 100, T, "0" * 200), "work at /src/a.c:3\n"),
    ("cat %s/0x10FF %s/0x10ff" % (T, T), "work at /src/a.c:3\n" * 2),
    ("cat {e}/base/ffff0000/$(printf %x $((0xffff0000+{o}))) | cmp - {e}/{a} && echo same", "same\n"),  # 8 digits need no 0x
    (asked(T + "/q.tsv", ["ff", "10ff", "0X10FF", "00000010ff"]) + " | cut -f1,3", "0xff\t??\n" + "0x10ff\twork\n" * 3),
    (asked(T + "/q.tsv", ["1" + "0" * 16, "0x1" + "0" * 16]) + " | cut -f1,3", "1%s\t??\n0x1%s\t??\n" % ("0" * 16, "0" * 16)),
] + not_found([T + "/" + name for name in ("0x10000000000001010", "10000000000001010", "0x", "ffff", "abcdef0", "abcdef012", "0x10g", "-0x10",
                                           "+4112", "0x1010 ", "0x1010.JSON", "0x1010.json.raw", "0x1010.xml", "0x1010.")])

ANSWERS = [
    ("cat %s/0x1010.tsv | cut -f1-7,9" % T,
     "0x1010\t0\tinner(int)\t0x0\t/src/b.h\t2\ti\tinner(int)\n0x1010\t1\touter()\t0x10\t/src/b.h\t20\ti\touter()\n"
     "0x1010\t2\twork\t0x10\t/src/a.c\t10\t-\twork\n"),
    ("cat %s/0x1010.tsv | cut -f8 | sort -u" % T, re.compile("/.*/source/dir/app.sym\n")),
    ("cat %s/0x2012.tsv | cut -f1-7" % T, "0x2012\t0\tbare\t0x12\t??\t0\ts\n"),
    ("cat %s/0x1000.tsv | cut -f3,9" % N, "odd\\tna\\\\me\\x01\todd\\tna\\\\me\\x01\n"),
    ("cat %s/0x1000" % N, "odd\\x09na\\me\\x01 at /src/a.c:3\n"),
    ("cut -f6,7 %s/approximate/0x2010.tsv; grep -o Approximate...... %s/approximate/0x2010.json" % (N, N), '4\t~\nApproximate":true\n'),
    ("cat by-path/folded/0x1004 by-path/folded/0x1004.tsv | cut -f7", "one at /src/a.c:5\nm2\n"),
    ("grep -o '\"Merged\":2' by-path/folded/0x1004.json", '"Merged":2\n'),
    ("cat %s/0x2012" % T, "bare+0x12 at ??:0\n"),
    ("cat %s/0x2000" % T, "bare at ??:0\n"),
    ("cat %s/0x1010.atos" % T, "inner(int) (in app.sym) (b.h:2)\nouter() (in app.sym) (b.h:20)\nwork (in app.sym) (a.c:10)\n"),
    ("cat %s/0x2002.atos" % T, "bare (in app.sym) + 2\n"),
    ("wc -l < %s/0x1010.json; grep -o '\"Symbol\":\\[{{' %s/0x1010.json" % (T, T), '1\n"Symbol":[{{\n'),
    ("grep -o '\"\\(FunctionName\\|FileName\\|Line\\)\":[^,]*' %s/%s.json" % (M, AT),
     '"FileName":"/src/b.h"\n"FunctionName":"tiny"\n"Line":9\n"FileName":"/src/a.c"\n"FunctionName":"main"\n"Line":5\n'),
    ("grep -o '\"[A-Za-z]*\":' %s/0x2012.json | sort | tr -d '\\n'" % T,
     '"Address":"Column":"Discriminator":"FileName":"FunctionName":"Inlined":"Line":"LinkageName":"ModuleName":"Offset":"Source":'
     '"StartAddress":"StartFileName":"StartLine":"Symbol":'),
    ("for a in 2000 3000 4000 5000; do cat %s/$a; done" % N,
     "ns::S::m(int) at /src/a.c:4\n%s at /src/a.c:5\n%s at /src/a.c:6\n%s at /src/a.c:7\n" % (RUST, V0, D)),
    ("cat %s/3000.raw; cut -f3,9 %s/3000.tsv" % (N, N), "_ZN4core3fmt5write17h0123456789abcdefE at /src/a.c:5\n"
     "%s\t_ZN4core3fmt5write17h0123456789abcdefE\n" % RUST),
    ("cat %s/5000.raw.atos" % N, "_D3std5stdio7writelnFAyaZv (in names.sym) (a.c:7)\n"),
    ("tail -n 1 {e}/{a}.raw | grep -o {n}", "{n}\n"),
    ("cat {e}/{a}.raw.json | grep -c '\"FunctionName\":\"{n}\"'", "1\n"),
    (asked(N + "/q.raw.tsv", ["2000"]) + " | cut -f3", "_ZN2ns1S1mEi\n"),
    ("exec 3<>%s/q; printf '0x1010\\nnonsense\\n0x1\\n0x2000' >&3; cat <&3" % T,
     FRAMES + "\n?? at ??:0\n\n?? at ??:0\n\nbare at ??:0\n\n"),
    ("exec 3<>%s/q.tsv; printf '0x2000\\nx\\n' >&3; cut -f1,3,5,6 <&3" % T, re.compile("0x2000\tbare\t\\?\\?\t0\n.*\\?\\?.*\n")),
    ("exec 3<>%s/q.json; printf '0x2000\\n0x1010\\n' >&3; wc -l <&3" % T, "2\n"),
    (asked(T + "/q.atos", ["0x2000", "1"]), "bare (in app.sym) + 0\n\n0x1 (in app.sym)\n\n"),
    ("exec 3<>%s/q; printf '0x2000\\n0x2001\\n' >&3; head -n 1 <&3; head -n 2 <&3 | tail -n 1; cat <&3" % T,
     "bare at ??:0\nbare+0x1 at ??:0\n\n"),
    ("exec 3<>%s/q; echo 0x2000 >&3; read -r l <&3; echo \"$l\"; echo 0x1 >&3; cat <&3" % T, "bare at ??:0\n\n?? at ??:0\n\n"),
    ("exec 3<>%s/q; printf 0x2 >&3; printf '000\\n' >&3; cat <&3" % T, "bare at ??:0\n\n"),
    ("exec 3<>%s/q; echo 0x2000 >&3; exec 4<>%s/q; cat <&4; cat <&3" % (T, T), "bare at ??:0\n\n"),  # each its own
    ("{y} -c 'f = open(\"%s/q\", \"r+\"); f.write(\"2000\\n\"); f.flush(); print(f.readline()); f.seek(0); print(f.read())'" % T,
     re.compile("bare at .*\n\n(bare at .*\n\n)?\n")),
    ("{y} -c 'import os; f = os.open(\"%s/q\", os.O_RDWR); os.write(f, b\"2000\\n\"); print(os.pread(f, 4, os.lseek(f, 0, 1)))'" % T, "b'bare'\n"),
]

PLACE = "geo::point::norm() const"
LOGS = [
    ("exec 3<>log; printf 'nothing here\\n\\377 0x12\\n' >&3; cat <&3 | od -An -c | tr -d ' \\n'", "nothinghere\\n3770x12\\n"),
    (asked("log", ["at %s+0x1010." % T]), re.compile(r"at .*inner\(int\).*\n(.*\n)*")),
    (asked("log", ["%s 0x10ff" % T]), "%s 0x10ff work at /src/a.c:3\n" % T),
    (asked("log", ["    #1 0x55a58645e37d  (/app+0x10ff) (BuildId: %s)" % T]), "    #1 0x55a58645e37d in work /src/a.c:3\n"),
    (asked("log", ["      #00 pc 00000000000010ff  /app (BuildId: %s)" % T]),
     "      #00 pc 00000000000010ff  /app (work /src/a.c:3) (BuildId: %s)\n" % T),
    (asked("log", [" main+0x9/0x20 [macho %s]" % M]), " tiny (/src/b.h:9) [inlined]\n main (/src/a.c:5) [macho %s]\n" % M),
    (asked("log", ["{{{{{{module:0:app:elf:%s}}}}}}" % T, "{{{{{{mmap:0x7f0000000000:0x3000:load:0:rx:0x0}}}}}}", "{{{{{{pc:0x7f00000010ff}}}}}}"]) + " | tail -n 1",
     "work[/src/a.c:3]\n"),
    (asked("log", ["Module app with build-id %s" % T, "#0  0x00005581f7f210ff n/a (app + 0x10ff)"]) + " | tail -n 1",
     "#0  0x00005581f7f210ff work at /src/a.c:3 (app + 0x10ff)\n"),
    (asked("log", ["Thread 0 Crashed:", "0   macho   0x10005e008 0x10005d000 + 4104", "", "Binary Images:",
                   "  0x10005d000 - 0x10005ffff macho arm64 <%s> /macho" % M]) + " | head -n 3",
     "Thread 0 Crashed:\n0   macho   0x10005e008 tiny (in macho) (b.h:9) [inlined]\n0   macho   0x10005e008 main (in macho) (a.c:5)\n"),
]

READ_ONLY = re.compile("(.*Read-only file system\n)+")
ERRORS = [
    ("cat {d}/0x1000 2>&1", re.compile(".*Input/output error\n")),
    ("grep -E '^(state|reason)' {d}/status", re.compile("state\tfailed\nreason\t.*section headers at offset 0x10000000000 to .*\n")),
    ("tr , '\\n' < {d}/info.json | grep -c reason", "1\n"),
    ("cat {d}/0x1001 2>&1; grep conversions {d}/status", re.compile(".*Input/output error\nconversions\t1\n")),
    ("grep ^skipped %s/status; grep -o '\"skipped\":..[^]]*' %s/info.json" % (N, N),
     re.compile("skipped\t1 record ignored: damaged \\(first: file\\+0x[0-9a-f]+\\): functions there may be missing or have no lines\n\"skipped\":.*damaged.*\n")),
    ("ls {d}; cat {d}/base/0x1000/0x1000 2>&1", re.compile("approximate\n(.*\n)+.*Input/output error\n")),
    (asked("q", ["{d} 1000", T + " 2000"]), UNKNOWN + "\nbare at ??:0\n\n"),
    ("echo x 2>&1 > %s/0x1010; touch %s/new 2>&1; rm %s/status 2>&1" % (T, T, T), READ_ONLY),
    ("mkdir new 2>&1; mkdir %s/new 2>&1; ln -s x link 2>&1; ln %s/status hard 2>&1; rmdir %s 2>&1; mv %s/q %s/r 2>&1; rm %s 2>&1" %
     (T, T, T, T, T, T.upper()), READ_ONLY),
    ("chmod 777 %s/status 2>&1; chown 1 metrics 2>&1; truncate -s 0 %s/image.gsym 2>&1; touch -d 2000-01-01 by-name 2>&1; echo x 2>&1 > metrics" %
     (T, T), READ_ONLY),
    ("stat -c %s {e}/{a}; cat {e}/{a} | wc -c", "{s}\n{s}\n"),
    ("tar -cf - {e}/{a} 2>/dev/null | tar -xOf - | cmp - {e}/{a} && echo same", "same\n"),
    ("stat -c %s {e}/{a}.raw.json {e}/sym/{n} {e}/image.gsym {e}/lines.tsv > /tmp/sizes.$$; for f in {e}/{a}.raw.json {e}/sym/{n} "
     "{e}/image.gsym {e}/lines.tsv; do cat $f | wc -c; done | cmp - /tmp/sizes.$$ && echo same; rm /tmp/sizes.$$", "same\n"),
    ("stat -c %Y {e} {e}/{a} {e}/{a}.json {e}/status {e}/info.json {e}/image.gsym {e}/functions.tsv {e}/q {e}/base {e}/base/0x1000 "
     "{e}/base/0x1000/ra {e}/off {e}/sym {e}/sym/{n} {f} | sort -u | wc -l", "1\n"),
] + not_found(["1234567812345678/0x1", T + "/nothing", T + "/0x1", T + "/0x1100", T + "/sym/unknown", T + "/sym/work+0x100", T + "/Status", "by-name/x", "by-name/fat/0x1000", "by-name/names.sym/0x1", "by-name/names.sym/Status",
               "by-path/x", T + "/q.txt", T + "/base/x", T + "/rva/off", T + "/rva/status", T + "/by-name", "nothing"])


class InterfaceTest(MountTest):
    def put(self, name, data, mode="w"):
        with open(os.path.join(self.source, "dir", name), mode) as file:
            file.write(data)

    def split(self):
        """A program whose DWARF is in a file of its own; its id."""
        path = self.compile("split", flags=["-DSPLIT"])
        run("objcopy", "--only-keep-debug", path, os.path.join(self.source, "dir", "split.debug"))
        run("strip", path)
        return mount_harness.build_id(path)

    def folded(self):
        """Two functions that identical code folding left one body of."""
        lines = [craft.Sequence(0x1010, (0x1000, 1, 5)), craft.Sequence(0x1010, (0x1000, 1, 9))]
        functions = [craft.Die("subprogram", name=name, decl_file=1, decl_line=line, low_pc=at, high_pc=0x10, LLVM_stmt_sequence=lines[i])
                     for i, (name, line, at) in enumerate((("one", 5, 0x1000), ("two", 9, 0)))]
        craft.write(os.path.join(self.source, "folded"), units=[craft.Unit(*functions, language=craft.C99, lines=lines)],
                    symbols=[craft.Symbol("two", 0x1000, 0x10), craft.Symbol("one", 0x1000, 0x10)])

    def fill(self):
        """SOURCE, and what the rows need of it."""
        elf = self.compile()
        os.mkdir(os.path.join(self.source, "dir"))
        self.put("app.sym", TEXT)
        self.put("names.sym", NAMES)
        self.put("macho", program(make_macho.ARM64, base=0x100000000, uuid=bytes.fromhex(UUID)).file(), "wb")
        self.put("fat", make_macho.fat([(machine, program(machine, big=machine == make_macho.PPC, base=(1 << 32) * (machine == make_macho.ARM64),
                                                          uuid=bytes.fromhex(uuid)).file()) for machine, uuid in FAT]), "wb")
        for name, id in (("one", SHORT[0]), ("two", SHORT[1]), ("long", LONG)):
            self.compile(name, flags=["-Wl,--build-id=0x" + id])
        self.split_id = self.split()
        self.folded()
        without = os.path.join(self.source, "without")
        run(mount_harness.CXX, "-g0", "-shared", "-fPIC", "-Wl,--build-id=none", "-DNAME=without",
            os.path.join(mount_harness.HERE, "sample.cpp"), "-o", without)
        damaged = self.compile("damaged", flags=["-DOTHER"])
        self.damaged_id = mount_harness.build_id(damaged)
        mount_harness.spoil(damaged)
        return elf

    def setUp(self):
        super().setUp()
        elf = self.fill()
        id = mount_harness.build_id(elf)
        start, _, name = next(f for f in self.functions(elf) if "norm" in f[2])
        self.mount("debug_dirs=").wait_scanned()
        digits = bytes.fromhex(id[:32])
        guid = digits[3::-1] + digits[5:3:-1] + digits[7:5:-1] + digits[8:]
        without = os.readlink(os.path.join(self.mnt, "by-path", "without"))
        self.known = {"e": id, "f": elf, "n": name, "a": hex(start), "o": start, "b": guid.hex().upper() + "0", "d": self.damaged_id,
                      "x": os.path.basename(without), "p": self.split_id, "g": os.path.realpath(mount_harness.GSYM), "y": sys.executable,
                      "u": hex(0x7f0000000000 + start)}

    def check(self, rows):
        wrong = []
        for command, expected in rows:
            command = command.format(**self.known)
            done = run("sh", "-c", command, check=False, cwd=self.mnt)
            said = (done.stdout + done.stderr).decode(errors="backslashreplace")
            if isinstance(expected, str):
                good = said == expected.format(**self.known)
            else:
                good = expected.fullmatch(said)
            if not good:
                wrong.append("%s\n   prints %r\n   not    %r" % (command, said, expected))
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_all_rows(self):
        self.check(COLD)
        self.known["s"] = os.stat(os.path.join(self.image(self.known["e"]), self.known["a"])).st_size
        for rows in (TREE, IDS, ADDRESSES, ANSWERS, LOGS, ERRORS):
            with self.subTest(rows[0]):
                self.check(rows)

    def test_manuals_name_every_node(self):
        """What the root and an image list beside ids and contexts is in gsymfs(1) and in the grammar of gsym(5)."""
        docs = os.path.join(os.path.dirname(mount_harness.HERE), os.pardir, "docs")
        with open(os.path.join(docs, "gsymfs.1")) as page:
            tree = page.read().split(".Ss The tree\n")[1].split("\n.Ss ")[0]
        with open(os.path.join(docs, "gsym.5")) as page:
            grammar = page.read().split(".Sh NAMES BELOW A MOUNT\n")[1].split(".Ed")[0]
        contents(os.path.join(self.image(self.known["e"]), self.known["a"]))  # now image.gsym and the tables are listed
        wrong = []
        for place, directory in (("", self.mnt), ("Ar id Ns Pa /", self.image(self.known["e"]))):
            for name in os.listdir(directory):
                if re.fullmatch(r"(xxh3-)?[0-9a-f]+", name):
                    continue
                if not re.search(r"^\.It (.* )?(Pa )?%s%s\b" % (re.escape(place), re.escape(name)), tree, re.M):
                    wrong.append("gsymfs(1) does not describe " + place + name)
                if not {'"%s"' % name, '"%s/"' % name, '"%s"' % name.partition(".")[0]} & set(grammar.split()):
                    wrong.append("the grammar of gsym(5) does not know " + place + name)
        self.assertEqual(wrong, [])

    def test_unknown_is_printed(self):
        self.remount(self.daemons[-1], "unknown=print").wait_scanned()
        self.check([("cat %s/0x1 %s/base/0x5000/0x1" % (T, T), UNKNOWN * 2), ("stat -c %%s %s/0x1" % T, "%d\n" % len(UNKNOWN)),
                    ("cut -f1,3 %s/0x1.tsv" % T, "0x1\t??\n"),
                    ("grep '^gsymfs_lookups_total.*[^0]$' metrics | sed 's/mount=[^,]*,//'", 'gsymfs_lookups_total{{result="unknown"}} 3\n')] +
                   not_found([T + "/nothing", T + "/sym/unknown", "12345678/0x1"]))

    def test_options(self):
        """Those that change what answers say."""
        self.remount(self.daemons[-1], "demangle=no,approximate=yes,merged=no").wait_scanned()
        self.check([("cat %s/3000" % N, "_ZN4core3fmt5write17h0123456789abcdefE at /src/a.c:5\n"),
                    ("cut -f3 %s/functions.tsv | tail -n 2" % N, "_ZN2ns1S1mEd\ntext::f(int)\n"),
                    (asked(N + "/q", ["2000"]), "_ZN2ns1S1mEi at /src/a.c:4\n\n"),
                    (asked("log", [N + " 0x2000"]), N + " 0x2000 _ZN2ns1S1mEi at /src/a.c:4\n"),
                    ("cat %s/0x2010" % N, "_ZN2ns1S1mEi at /src/a.c:4\n"),
                    ("cat by-path/folded/0x1004", "one at /src/a.c:5\n"), ("cut -f7 by-path/folded/0x1004.tsv", "-\n")])

    def test_mark_merged(self):
        """Folded functions are told of in text only on request, so that it stays addr2line's."""
        folded = os.path.basename(os.readlink(os.path.join(self.mnt, "by-path/folded")))
        for option, mark in (("merged=yes", ""), ("merged=mark", " [merged 2]")):
            self.remount(self.daemons[-1], option).wait_scanned()
            text = "one%s at /src/a.c:5\n" % mark
            self.check([("cat %s/0x1004 %s/0x1004.raw" % (folded, folded), text * 2), (asked(folded + "/q", ["1004"]), text + "\n"),
                        (asked("log", [folded + " 0x1004"]), "%s 0x1004 %s" % (folded, text)),
                        ("cat %s/0x1004.atos" % folded, "one (in folded) (a.c:5)\n"), ("cut -f7 %s/0x1004.tsv" % folded, "m2\n"),
                        ("grep -o Merged..2 %s/0x1004.json" % folded, 'Merged":2\n')])


if __name__ == "__main__":
    mount_harness.main()
