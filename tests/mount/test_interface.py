#!/usr/bin/env python3
"""What gsymfs(1) promises, row by row: a command in the mounted tree, and what it prints.

One mount serves an ELF program, a Mach-O program, Breakpad's text symbols, a file without an id and a damaged one.
"""

import os
import re
import shutil
import sys

import mount_harness
from mount_harness import MountTest, contents, run

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import make_macho  # noqa: E402
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
FRAMES = "inner(int) at /src/b.h:2\n (inlined by) outer() at /src/b.h:20\n (inlined by) work at /src/a.c:10\n"
MAIN = "tiny at /src/b.h:9\n (inlined by) main at /src/a.c:5\n"
NO_FILE = "No such file or directory"
AT = "0x100001008"  # in main of the Mach-O program
T, M = TEXT_ID, UUID

# Command and output, exactly; or, compiled, a pattern that all of it must match. {e} is the ELF program's id, {a} an address
# in it, {n} that function's name, {s} the size of its answer, {x} the id of the file without one, {d} of the damaged one, {f} the
# program, {o} the address's offset in it, {b} what Breakpad makes of {e}.
TREE = [
    ("ls {e}", "approximate\nbase\ninfo.json\noff\nq\nra\nrva\nstatus\nsym\n"),
    ("cat {e}/{a} | tail -n 1", re.compile(r"(?: \(inlined by\) )?geo::point::norm\(\) const at /.*/sample\.cpp:\d+\n")),
    ("cat %s/%s" % (M, AT), MAIN),
    ("cat %s/0x1010" % T, FRAMES),
    ("cat %s/0x1010.json | head -c 20" % T, '{{"Address":"0x1010",'),
    ("cat %s/base/0x10005d000/0x10005e008" % M, MAIN),
    ("cat %s/rva/0x1008" % M, MAIN),
    ("cat {e}/off/$(printf 0x%x {o}) | cmp - {e}/{a} && echo same", "same\n"),
    ("cat %s/ra/0x1011" % T, FRAMES),
    ("cat %s/sym/main" % M, "main at /src/a.c:4\n"),
    ("cat %s/sym/main+0x8" % M, MAIN),
    ("cat %s/sym/main+0x12.json | cut -d, -f1" % M, '{{"Address":"0x100001012"\n'),
    ("cat %s/base/0x10005d000/ra/0x10005e009" % M, MAIN),
    ("cat {e}/sym/{n} | cmp - {e}/{a} && echo same", "same\n"),
    ("ls {e}/base {e}/rva/ {e}/off {e}/ra {e}/sym | grep -v :", "\n\n\n\n"),
    ("exec 3<>%s/q; echo 0x1010 >&3; cat <&3" % T, FRAMES + "\n"),
    ("exec 3<>q; echo %s 0x1010 >&3; echo %s %s >&3; cat <&3" % (T, M, AT), FRAMES + "\n" + MAIN + "\n"),
    ("cut -f1 %s/status | head -n 4" % T, "state\nid\nkind\narch\n"),
    ("grep -c . %s/status && tr , '\\n' < %s/info.json | grep kind" % (T, T), re.compile(r'\d+\n"kind":"breakpad"\n')),
    ("ls %s" % T, "approximate\nbase\nfiles.tsv\nfunctions.tsv\nimage.gsym\ninfo.json\nlines.tsv\noff\nq\nra\nrva\nstatus\nsym\n"),
    ("head -c 4 %s/image.gsym" % T, "MYSG"),
    ("cat %s/functions.tsv" % T, "0x1000\t256\twork\t/src/b.h\t1\twork\n0x2000\t0\tbare\t??\t0\tbare\n"),
    ("cat %s/lines.tsv | head -n 2" % T, "0x1000\t16\t/src/b.h\t1\n0x1010\t8\t/src/b.h\t2\n"),
    ("cat %s/files.tsv" % T, "0\t??\n1\t/src/a.c\n2\t/src/b.h\n"),
    ("readlink by-name/app.sym/%s by-path/dir/macho" % T, "../../%s\n../../%s\n" % (T, M)),
    ("ls by-name", "app.sym\ndamaged\nmacho\nsample\nwithout\n"),
    ("ls -F by-path", "damaged@\ndir/\nsample@\nwithout@\n"),
    ("cat by-path/dir/macho/%s" % AT, MAIN),
    ("exec 3<>log; echo 'at %s+0x1010.' >&3; cat <&3" % T, re.compile(r"at .*inner\(int\).*\n(.*\n)*")),
]

IDS = [
    ("readlink %s %s %s" % (M.upper(), DASHED, DASHED.lower()), (M + "\n") * 3),
    ("readlink %s" % (M.upper() + "0"), M + "\n"),  # as minidumps have Apple's
    ("readlink %s %s" % (M[:8], M[:31]), (M + "\n") * 2),
    ("cat %s/%s" % (DASHED, AT), MAIN),
    ("readlink {b}", "{e}\n"),
    ("ls -d %s 2>&1" % M[:7], re.compile(".*" + NO_FILE + "\n")),
    ("ls | grep -c -e '[A-Z]' -e %s" % DASHED[:13], "0\n"),  # other spellings are not listed
    ("ls -d xxh3-* && cat {x}/status | grep ^id", "{x}\nid\t{x}\n"),
    ("ls -d 00000000 2>&1", re.compile(".*" + NO_FILE + "\n")),
]

ADDRESSES = [
    ("cat %s/0X1010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/0x0000000001010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/1010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/00001010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/0000000000001010 | head -n 1" % T, "inner(int) at /src/b.h:2\n"),
    ("cat %s/0x10FF %s/0x10ff" % (T, T), "work at /src/a.c:3\n" * 2),
    ("ls %s/0x10000000000001010 %s/0x %s/ffff %s/0x10g 2>&1 | grep -c '%s'" % (T, T, T, T, NO_FILE), "4\n"),
    ("exec 3<>%s/q.tsv; echo ff >&3; echo 10ff >&3; cut -f1,3 <&3" % T, "0xff\t??\n0x10ff\twork\n"),
]

ANSWERS = [
    ("cat %s/0x1010.tsv | cut -f1-7,9" % T,
     "0x1010\t0\tinner(int)\t0x0\t/src/b.h\t2\ti\tinner(int)\n0x1010\t1\touter()\t0x10\t/src/b.h\t20\ti\touter()\n"
     "0x1010\t2\twork\t0x10\t/src/a.c\t10\t-\twork\n"),
    ("cat %s/0x2012.tsv | cut -f1-7" % T, "0x2012\t0\tbare\t0x12\t??\t0\ts\n"),
    ("cat %s/0x2012" % T, "bare+0x12 at ??:0\n"),
    ("cat %s/0x2000" % T, "bare at ??:0\n"),
    ("cat %s/0x1010.atos" % T, "inner(int) (in app.sym) (b.h:2)\nouter() (in app.sym) (b.h:20)\nwork (in app.sym) (a.c:10)\n"),
    ("cat %s/0x2002.atos" % T, "bare (in app.sym) + 2\n"),
    ("wc -l < %s/0x1010.json; grep -o '\"Symbol\":\\[{{' %s/0x1010.json" % (T, T), '1\n"Symbol":[{{\n'),
    ("grep -o '\"\\(FunctionName\\|FileName\\|Line\\)\":[^,]*' %s/%s.json" % (M, AT),
     '"FileName":"/src/b.h"\n"FunctionName":"tiny"\n"Line":9\n"FileName":"/src/a.c"\n"FunctionName":"main"\n"Line":5\n'),
    ("tail -n 1 {e}/{a}.raw | grep -o {n}", "{n}\n"),
    ("cat {e}/{a}.raw.json | grep -c '\"FunctionName\":\"{n}\"'", "1\n"),
    ("exec 3<>%s/q; printf '0x1010\\nnonsense\\n0x1\\n0x2000' >&3; cat <&3" % T,
     FRAMES + "\n?? at ??:0\n\n?? at ??:0\n\nbare at ??:0\n\n"),
    ("exec 3<>%s/q.tsv; printf '0x2000\\nx\\n' >&3; cut -f1,3,5,6 <&3" % T, re.compile("0x2000\tbare\t\\?\\?\t0\n.*\\?\\?.*\n")),
    ("exec 3<>%s/q.json; printf '0x2000\\n0x1010\\n' >&3; wc -l <&3" % T, "2\n"),
    ("exec 3<>%s/q; printf '0x2000\\n0x2001\\n' >&3; head -n 1 <&3; head -n 2 <&3 | tail -n 1; cat <&3" % T,
     "bare at ??:0\nbare+0x1 at ??:0\n\n"),
    ("exec 3<>%s/q; echo 0x2000 >&3; read -r l <&3; echo \"$l\"; echo 0x1 >&3; cat <&3" % T, "bare at ??:0\n\n?? at ??:0\n\n"),
    ("exec 3<>%s/q; printf 0x2 >&3; printf '000\\n' >&3; cat <&3" % T, "bare at ??:0\n\n"),
    ("exec 3<>log; printf 'nothing here\\n\\377 0x12\\n' >&3; cat <&3 | od -An -c | tr -d ' \\n'", "nothinghere\\n3770x12\\n"),
]

ERRORS = [
    ("cat 1234567812345678/0x1 2>&1", re.compile(".*" + NO_FILE + "\n")),
    ("cat %s/nothing 2>&1" % T, re.compile(".*" + NO_FILE + "\n")),
    ("cat %s/0x1 %s/0x1100 2>&1 | grep -c '%s'" % (T, T, NO_FILE), "2\n"),
    ("cat {d}/0x1000 2>&1", re.compile(".*Input/output error\n")),
    ("grep -E '^(state|reason)' {d}/status", re.compile("state\tfailed\nreason\t.*\n")),
    ("tr , '\\n' < {d}/info.json | grep -c reason", "1\n"),
    ("cat {d}/0x1001 2>&1; grep conversions {d}/status", re.compile(".*Input/output error\nconversions\t1\n")),
    ("echo x 2>&1 > %s/0x1010; touch %s/new 2>&1; rm %s/status 2>&1" % (T, T, T), re.compile("(.*Read-only file system\n)+")),
    ("stat -c %s {e}/{a}; cat {e}/{a} | wc -c", "{s}\n{s}\n"),
    ("stat -c %Y {e} {e}/{a} {e}/status {f} | sort -u | wc -l", "1\n"),
]


class InterfaceTest(MountTest):
    @staticmethod
    def damage(path):
        """Sections that lie behind the end, but the notes are there."""
        data = bytearray(contents(path))
        data[0x28:0x30] = (1 << 40).to_bytes(8, "little")
        with open(path, "wb") as file:
            file.write(data)

    def fill(self):
        """SOURCE, and what the rows need of it."""
        elf = self.compile()
        os.mkdir(os.path.join(self.source, "dir"))
        with open(os.path.join(self.source, "dir", "app.sym"), "w") as file:
            file.write(TEXT)
        with open(os.path.join(self.source, "dir", "macho"), "wb") as file:
            file.write(program(make_macho.ARM64, base=0x100000000, uuid=bytes.fromhex(UUID)).file())
        shutil.copy2(elf, os.path.join(self.dir, "copy"))
        without = os.path.join(self.source, "without")
        run(mount_harness.CXX, "-g0", "-shared", "-fPIC", "-Wl,--build-id=none", "-DNAME=without",
            os.path.join(mount_harness.HERE, "sample.cpp"), "-o", without)
        damaged = self.compile("damaged", flags=["-DOTHER"])
        self.damaged_id = mount_harness.build_id(damaged)
        self.damage(damaged)
        return elf

    def setUp(self):
        super().setUp()
        elf = self.fill()
        id = mount_harness.build_id(elf)
        start, _, name = next(f for f in self.functions(elf) if "norm" in f[2])
        self.mount("debug_dirs=").wait_scanned()
        digits = bytes.fromhex(id[:32])
        guid = digits[3::-1] + digits[5:3:-1] + digits[7:5:-1] + digits[8:]
        self.known = {"e": id, "f": elf, "n": name, "a": hex(start), "o": start, "b": guid.hex().upper() + "0", "d": self.damaged_id,
                      "x": next((i for i in self.ids() if i.startswith("xxh3-")), "none")}

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
        self.check(TREE[:1])
        self.check(TREE[1:])
        self.known["s"] = os.stat(os.path.join(self.image(self.known["e"]), self.known["a"])).st_size
        for rows in (IDS, ADDRESSES, ANSWERS, ERRORS):
            self.check(rows)

    def test_unknown_is_printed(self):
        self.remount(self.daemons[-1], "unknown=print").wait_scanned()
        self.check([("cat %s/0x1" % T, "?? at ??:0\n"), ("ls %s/nothing 2>&1" % T, re.compile(".*" + NO_FILE + "\n"))])


if __name__ == "__main__":
    mount_harness.main()
