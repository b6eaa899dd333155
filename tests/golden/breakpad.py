#!/usr/bin/env python3
"""Breakpad text symbols written by hand: what each record becomes, and what becomes of records that are wrong.

    breakpad.py GSYM
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib.breakpad import FAR_NUMBERS, INLINED, MODULE, OLD_INLINED, PARENTS, WHOLE  # noqa: E402

ID = "00112233445566778899" "00aabbccddee"
failures = []

DAMAGED = "record ignored: damaged"
LOOSE = "line record ignored: belongs to no function"
OUTSIDE = "line record ignored: outside its function"
OVERLAP = "line record ignored: overlaps the one before"
NO_FILE = "line row ignored: no such file"
NO_DEPTH = "inlined call dropped: nested too deep"
NO_ORIGIN = "inlined call without a name: no such origin"
NO_CALL_FILE = "inlined call dropped: no such file"
NO_PARENT = "inlined call dropped: not within a call one level up"
NO_CODE = "inlined call dropped: outside its function"
TAKEN = "file or origin ignored: its number is taken"
TOO_MANY = "function cut short: too many records"
MOST = 4194304  # records of a function


class Result:
    def __init__(self, gsym, text, options=(), binary=None):
        with tempfile.TemporaryDirectory() as place:
            source = f"{place}/in.sym"
            pathlib.Path(source).write_bytes(text if isinstance(text, bytes) else text.encode())
            if binary:
                pathlib.Path(f"{place}/binary").write_bytes(binary)
                options = (*options, f"--debug-file={source}")
                source = f"{place}/binary"
            done = subprocess.run([gsym, "convert", "--progress=never", f"--json-summary-file={place}/sum", *options, source,
                                   "-o", f"{place}/out"], capture_output=True, text=True, timeout=300)
            self.words = done.stdout + done.stderr
            self.status = done.returncode
            if done.returncode:
                return
            for command in ("verify", "dump"):
                told = subprocess.run([gsym, command, f"{place}/out"], capture_output=True, text=True, timeout=300)
                if told.returncode:
                    failures.append(f"gsym {command}: {told.stderr}")
                self.dump = told.stdout
            self.warnings = {kind: v["count"] for kind, v in
                             json.loads(pathlib.Path(f"{place}/sum").read_text())["error-categories"].items()}
            self.gsym, self.out = gsym, pathlib.Path(f"{place}/out").read_bytes()

    def look_up(self, addresses):
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.out)
            file.flush()
            text = subprocess.run([self.gsym, "lookup", file.name], input="".join(f"{a:#x}\n" for a in addresses), text=True,
                                  capture_output=True, timeout=300).stdout
        return [r.strip().replace("\n (inlined by) ", "< ") for r in text.split("\n\n")]


def expect(gsym, what, text, answers, warnings=None, options=(), binary=None):
    """@answers: address -> frames on one line, callers behind "< "."""
    r = Result(gsym, text, options, binary)
    if r.status:
        failures.append(f"{what}: {r.words}")
        return None
    for (address, want), got in zip(answers.items(), r.look_up(answers)):
        if got != want:
            failures.append(f"{what}: {address:#x} is {got!r}, not {want!r}")
    if r.warnings != (warnings or {}):
        failures.append(f"{what}: warnings are {r.warnings}, not {warnings or {}}")
    return r


def refuse(gsym, what, text, words, options=()):
    r = Result(gsym, text, options)
    if not r.status or words not in r.words:
        failures.append(f"{what}: exit {r.status}, {r.words!r} without {words!r}")


def records(gsym):
    answers = {
        0x1000: "first(int, char const*) at /src/a.c:10", 0x1007: "first(int, char const*) at /src/a.c:10",
        0x1008: r"first(int, char const*) at C:\src\b.cc:11", 0x1010: "first(int, char const*)+0x10 at ??:0",
        0x1018: "first(int, char const*) at /src/a.c:12", 0x101f: "first(int, char const*) at /src/a.c:12",
        0x1020: "second at /src/a.c:5", 0x1030: "?? at ??:0", 0xfff: "?? at ??:0", 0x1040: "third at ??:0",
        0x105f: "third+0x1f at ??:0", 0x1060: "fourth<int, 3> at ??:0", 0x1064: "fourth<int, 3>+0x4 at ??:0"}
    expect(gsym, "every kind of record", WHOLE, answers)
    expect(gsym, "carriage returns", WHOLE.replace("\n", "\r\n"), answers)
    expect(gsym, "no line feed at the end", WHOLE.rstrip("\n"), answers)
    expect(gsym, "several spaces", WHOLE.replace(" 20 8", "  20   8").replace("8 10 0\n", "8  10 0 \n"), answers)
    lines = WHOLE.splitlines(keepends=True)
    files = [line for line in lines if line.startswith("FILE")]
    rest = [line for line in lines if not line.startswith("FILE")]
    expect(gsym, "FILE at the end", "".join(rest + files), answers)
    expect(gsym, "FILE within a function", "".join(rest[:4] + files + rest[4:]), answers)
    expect(gsym, "upper case", re.sub(r"(?m)^(FUNC (?:m )?|PUBLIC (?:m )?)?1", r"\g<1>A1", WHOLE),
           {0xa1000: answers[0x1000], 0xa1018: answers[0x1018], 0xa1020: answers[0x1020]})
    expect(gsym, "functions descend", MODULE + "FILE 1 a.c\nFUNC 2000 10 0 two\n2000 10 2 1\nFUNC 1000 10 0 one\n"
           "1000 10 1 1\n", {0x1000: "one at a.c:1", 0x2000: "two at a.c:2"})
    expect(gsym, "numbers far from one another", FAR_NUMBERS,
           {0x1000: "work at a.c:1", 0x1010: "work at c.c:2", 0x1020: "work at b.c:3", 0x1030: "work at d.c:4"})
    expect(gsym, "64-bit addresses", MODULE + "FILE 1 a.c\nFUNC fffffffffffff000 ff 0 high\nfffffffffffff000 ff 2 1\n",
           {0xfffffffffffff004: "high at a.c:2"})


def paths(gsym):
    """A path is shown as it is written, wherever readers split and join it."""
    files = ["c:\\a.c", "c:/a.c", "C:\\src\\b.cc", "C:\\src/b.cc", "C:/src\\b.cc", "\\\\host\\share\\b.cc", "\\a.c", "\\\\a.c", "src\\a.c", "/a.c", "//a.c",
             "/src/a.c", "/src//a.c", "/src///a.c", "src/", "src//", "/", "a.c", "./a.c", "../src/../a.c", "/src\\/a.c", "src/a\\b.c", "a b/c d.c",
             "hg:hg.mozilla.org/mozilla-central:js/src/jsapi.cpp:1fb4f6e1b5a2", "git:github.com/a/b:c.rs:0123"]
    text = MODULE + "".join(f"FILE {n} {path}\n" for n, path in enumerate(files)) + f"FUNC 1000 {len(files) * 16:x} 0 f\n" + \
        "".join(f"{0x1000 + 16 * n:x} 10 {n + 1} {n}\n" for n in range(len(files)))
    expect(gsym, "paths", text, {0x1000 + 16 * n: f"f at {path}:{n + 1}" for n, path in enumerate(files)})


def publics(gsym):
    text = MODULE + "FILE 1 a.c\nFUNC 1000 10 0 named\n1000 10 1 1\nPUBLIC 1000 0 other_name\nPUBLIC 1008 0 inside\n" \
        "PUBLIC 1010 0 behind\nFUNC 1020 10 0 next\nPUBLIC 1040 0 first_of_two\nPUBLIC 1040 0 second_of_two\nPUBLIC 0 0 zero\n"
    expect(gsym, "PUBLIC beside FUNC", text, {
        0x1000: "named at a.c:1", 0x1008: "named at a.c:1", 0x1010: "behind at ??:0", 0x101f: "behind+0xf at ??:0",
        0x1020: "next at ??:0", 0x1030: "?? at ??:0", 0x1040: "first_of_two at ??:0", 0x5000: "first_of_two+0x3fc0 at ??:0",
        0x10: "?? at ??:0"})
    expect(gsym, "FUNC without size", MODULE + "FILE 1 a.c\nFUNC 1000 0 0 open\n1000 8 1 1\nFUNC 1010 0 0 last\n1010 8 2 1\n",
           {0x1000: "open at a.c:1", 0x1008: "open+0x8 at ??:0", 0x1010: "last at a.c:2", 0x1018: "?? at ??:0"})


def inlines(gsym):
    answers = {
        0x1000: "outer() at b.h:1< work at a.c:10", 0x1010: "inner(int) at b.h:2< outer() at b.h:20< work at a.c:10",
        0x1018: "outer() at a.c:3< work at a.c:10", 0x1020: "work at a.c:3", 0x1030: "other at a.c:3< work at a.c:12",
        0x1040: "outer() at a.c:4< work at a.c:10", 0x1048: "inner(int) at a.c:4< outer() at b.h:20< work at a.c:10",
        0x1050: "work at a.c:4"}
    expect(gsym, "inlined calls", INLINED, answers)
    lines = INLINED.splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.startswith("INLINE ")]
    expect(gsym, "inlined calls, in another order",
           "".join(lines[:at[0]] + [lines[at[1]], lines[at[2]], *lines[at[2] + 1:], lines[at[0]]]), answers)
    origins = [line for line in lines if line.startswith("INLINE_ORIGIN")]
    expect(gsym, "origins at the end", "".join([line for line in lines if line not in origins] + origins), answers)


def parents(gsym):
    """Each range of an INLINE record lies in the call around it, whatever the record's other ranges lie in."""
    one, two, work = "one at a.c:20< work at a.c:10", "two at a.c:20< work at a.c:12", "work at a.c:1"
    answers = {0x1000: "one at a.c:1< work at a.c:10", 0x1008: "leaf at a.c:1< inner at a.c:30< " + one,
               0x100c: "inner at a.c:1< " + one, 0x1018: "inner at a.c:1< " + one, 0x101c: "one at a.c:1< work at a.c:10",
               0x1020: work, 0x1048: "inner at a.c:1< " + two, 0x104c: "leaf at a.c:1< inner at a.c:30< " + two,
               0x1050: "two at a.c:1< work at a.c:12", 0x1088: "inner at a.c:1< " + one,
               0x108c: "leaf at a.c:1< inner at a.c:30< " + one, 0x108e: "inner at a.c:1< " + one, 0x10a0: work}
    expect(gsym, "ranges below several calls", PARENTS, answers)
    lines = PARENTS.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("INLINE "))
    expect(gsym, "ranges below several calls, innermost first", "".join(lines[:at] + lines[at:at + 4][::-1] + lines[at + 4:]), answers)
    expect(gsym, "a range across two calls", PARENTS.replace("1048 8 1018 4", "1048 8 1010 38"),
           {0x1010: "inner at a.c:1< " + one, 0x101f: "inner at a.c:1< " + one, 0x1020: work,
            0x1040: "inner at a.c:1< " + two, 0x1048: "inner at a.c:1< " + two})


def old_inlines(gsym):
    """INLINE records of before 2021 have no file: a call stands in the file of the function that makes it."""
    answers = {0x1000: "outer() at b.h:1< work at a.c:10", 0x1010: "inner(int) at b.h:2< outer() at b.h:20< work at a.c:10",
               0x1030: "other at a.c:3< work at a.c:12", 0x1048: "inner(int) at a.c:4< outer() at b.h:20< work at a.c:10"}
    old = re.sub(r"(?m)^INLINE_ORIGIN (\d) 1", r"INLINE_ORIGIN \1", OLD_INLINED)
    expect(gsym, "old INLINE: by lines", old, answers)
    expect(gsym, "old INLINE: by origins", OLD_INLINED, answers)
    expect(gsym, "old INLINE: artificial", re.sub(r"(?m)^INLINE_ORIGIN (\d) 1", r"INLINE_ORIGIN \1 -1", OLD_INLINED), answers)
    expect(gsym, "old INLINE: another file of the origin", OLD_INLINED.replace("INLINE_ORIGIN 0 1", "INLINE_ORIGIN 0 0"),
           {0x1010: "inner(int) at b.h:2< outer() at a.c:20< work at a.c:10"})
    expect(gsym, "old INLINE: no such file of the origin", OLD_INLINED.replace("INLINE_ORIGIN 0 1", "INLINE_ORIGIN 0 7"), answers)
    sample = MODULE + "FILE 0 main.cpp\nFILE 1 b.h\nINLINE_ORIGIN 0 0 bar()\nINLINE_ORIGIN 1 foo()\nINLINE_ORIGIN 2 func()\n" \
        "FUNC 15b30 60 0 main\nINLINE 0 42 1 15b45 20\nINLINE 1 39 0 15b45 20\nINLINE 2 32 2 15b50 8\n15b30 15 41 0\n15b45 b 36 0\n" \
        "15b50 8 27 1\n15b58 d 37 0\n15b65 2b 43 0\n"
    expect(gsym, "old INLINE: a call as large as its caller", sample, {
        0x15b50: "func() at b.h:27< bar() at main.cpp:32< foo() at main.cpp:39< main at main.cpp:42",
        0x15b45: "bar() at main.cpp:36< foo() at main.cpp:39< main at main.cpp:42", 0x15b66: "main at main.cpp:43"})
    expect(gsym, "old INLINE: no line of its own", MODULE + "FILE 0 a.c\nINLINE_ORIGIN 0 f\nFUNC 1000 10 0 all\nINLINE 0 5 0 1000 10\n"
           "1008 8 7 0\n", {0x1004: "f at ??:0< all at a.c:5", 0x1008: "f at a.c:7< all at a.c:5"})
    expect(gsym, "old INLINE: no line at all", MODULE + "INLINE_ORIGIN 0 f\nFUNC 1000 10 0 all\nINLINE 0 5 0 1000 10\n",
           {0x1004: "f at ??:0< all at ??:5"})
    expect(gsym, "old and new INLINE", old.replace("INLINE 0 12 2", "INLINE 0 12 1 2"),
           {**answers, 0x1030: "other at a.c:3< work at b.h:12"})


def wrong(gsym):
    head = MODULE + "FILE 1 a.c\nINLINE_ORIGIN 1 call\n"
    func = head + "FUNC 1000 20 0 f\n1000 20 1 1\n"
    plain = {0x1000: "f at a.c:1", 0x101f: "f at a.c:1"}
    for what, line, kind in (
            ("a line without file", "1008 4 5\n", DAMAGED), ("a line that is no number", "100x 4 5 1\n", DAMAGED),
            ("a line number too large", "1008 4 4294967296 1\n", DAMAGED), ("a line in hex", "1008 4 a 1\n", DAMAGED),
            ("an unknown file", "1008 4 5 9\n", NO_FILE), ("lines that overlap", "1008 4 5 1\n", OVERLAP),
            ("a line behind the function", "1020 4 5 1\n", OUTSIDE), ("a line before it", "ff0 10 5 1\n", OUTSIDE),
            ("a line whose end wraps", "fffffffffffffff0 20 5 1\n", OUTSIDE),
            ("INLINE of an unknown file", "INLINE 0 5 9 1 1000 8\n", NO_CALL_FILE),
            ("INLINE outside", "INLINE 0 5 1 1 2000 8\n", NO_CODE), ("INLINE without parent", "INLINE 1 5 1 1 1000 8\n", NO_PARENT),
            ("INLINE too deep", "INLINE 1024 5 1 1 1000 8\n", NO_DEPTH), ("INLINE without size", "INLINE 0 5 1 1 1000 x\n", DAMAGED),
            ("INLINE without code", "INLINE 0 5 1 1\n", DAMAGED), ("INLINE of nothing", "INLINE \n", DAMAGED),
            ("FUNC without name", "FUNC 3000 10 0\n", "function without a name"),
            ("FUNC without number", "FUNC 3000 xx 0 g\n", DAMAGED), ("FUNC that wraps", "FUNC fffffffffffffff0 20 0 g\n", DAMAGED),
            ("FUNC too large", "FUNC 3000 100000000 0 g\n", "function larger than 4 GiB"),
            ("PUBLIC without name", "PUBLIC 3000 0\n", DAMAGED), ("FILE without name", "FILE 3\n", DAMAGED),
            ("FILE twice", "FILE 1 b.c\n", TAKEN), ("an origin twice", "INLINE_ORIGIN 1 b\n", TAKEN),
            ("a number too large", "FILE 99999999999999999999 b.c\n", DAMAGED), ("a NUL in a name", "FILE 3 a\0b\n", DAMAGED),
            ("a huge number", "FILE 123456789012 b.c\n", None), ("a line without size", "1008 0 5 1\n", None),
            ("an empty line", "\n", None)):
        expect(gsym, what, func + line, plain, {kind: 1} if kind else {})
    nameless = {0x1000: "?? at a.c:1< f at a.c:5", 0x1010: "f at a.c:1"}
    expect(gsym, "INLINE of an unknown origin", func + "INLINE 0 5 1 9 1000 8\n", nameless, {NO_ORIGIN: 1})
    expect(gsym, "an origin without a name", func + "INLINE_ORIGIN 9 \nINLINE 0 5 1 9 1000 8\n", nameless)
    expect(gsym, "lines before any function", head + "10 4 1 1\n14 4 1 1\n" + func[len(head):], plain, {LOOSE: 2})
    expect(gsym, "lines behind PUBLIC", func + "PUBLIC 2000 0 p\n2000 4 1 1\n", plain, {LOOSE: 1})
    expect(gsym, "lines of a damaged FUNC", func + "FUNC 3000 zz 0 g\n3000 4 1 1\n", plain, {DAMAGED: 1, LOOSE: 1})
    expect(gsym, "a line across the end", head + "FUNC 1000 20 0 f\n1000 30 1 1\n", plain)
    expect(gsym, "lines descend", head + "FUNC 1000 20 0 f\n1010 10 2 1\n1000 10 1 1\n",
           {0x1000: "f at a.c:1", 0x1010: "f at a.c:2"})
    expect(gsym, "two calls in one place", func + "INLINE_ORIGIN 2 late\nINLINE 0 5 1 1 1000 10\nINLINE 0 6 1 2 1008 10\n",
           {0x1008: "call at a.c:1< f at a.c:5", 0x1010: "late at a.c:1< f at a.c:6"})
    expect(gsym, "a call larger than its caller", func + "INLINE 0 5 1 1 1000 8\nINLINE 1 6 1 1 1004 100\n",
           {0x1004: "call at a.c:1< call at a.c:6< f at a.c:5", 0x1008: "f at a.c:1"})
    expect(gsym, "functions of one range", func + "FUNC 1000 20 0 twin\n1000 8 3 1\n1008 18 4 1\n",
           {0x1000: "twin at a.c:3"}, {"functions with equal range, different content": 1})
    expect(gsym, "a function in another", func + "FUNC 1008 8 0 nested\n1008 8 3 1\n",
           {0x1000: "f at a.c:1", 0x1008: "nested at a.c:3", 0x1010: "f at a.c:1"}, {"functions overlap": 1})
    expect(gsym, "a FUNC in sight of a chunk's end", head + "FUNC 1000 20 0 f\n" + "STACK WIN 4 " + "x" * (9 << 20) +
           "\n1000 20 1 1\n", plain)


def ids(gsym):
    def id_of(module, info=""):
        r = Result(gsym, f"{module}\n{info}FUNC 1000 10 0 f\n")
        found = re.search(r"(?i)uuid *= *\{?([0-9a-f -]*)", r.dump if not r.status else "")
        return re.sub("[ -]", "", found[1]).lower() if found else r.words

    def check(what, got, want):
        if got.strip() != want:
            failures.append(f"{what}: id {got!r}, not {want!r}")

    guid = "3322110055447766889900AABBCCDDEE"
    plain = guid.lower()
    for os in ("Linux", "Android", "linux", "solaris", "Fuchsia"):
        check(os, id_of(f"MODULE {os} x86_64 {guid}0 a"), ID)
    for os in ("mac", "ios", "windows"):
        check(os, id_of(f"MODULE {os} x86_64 {guid}2a a.pdb", f"INFO CODE_ID {ID}\n"), plain)
    whole = ID.upper() + "01020304"
    check("code id", id_of(f"MODULE Linux x86_64 {guid}0 a", f"INFO URL x\nINFO CODE_ID {whole}\n"), whole.lower())
    check("another's code id", id_of(f"MODULE Linux x86_64 {guid}0 a", "INFO CODE_ID 99112233445566778899AABBCCDD\n"), ID)
    check("short code id", id_of("MODULE Linux x86_64 332211005544776600000000000000000 a", "INFO CODE_ID 0011223344556677\n"),
          "0011223344556677")
    check("no id", id_of("MODULE Linux x86_64 000000000000000000000000000000000 a"), "")
    for os, name, arch in (("Linux", "x86_64", "x86_64"), ("Linux", "x86", "i386"), ("windows", "x86", "i386"),
                           ("Linux", "arm64", "aarch64"), ("mac", "arm64", "arm64"), ("ios", "arm64e", "arm64e"),
                           ("Android", "arm", "arm"), ("mac", "x86_64h", "x86_64h"), ("Linux", "ppc64", "powerpc64")):
        words = Result(gsym, f"MODULE {os} {name} {guid}0 a\nFUNC 1000 10 0 f\n").words
        if f"({arch})" not in words:
            failures.append(f"{os} {name}: not {arch}: {words}")


def beside_a_binary(gsym):
    """Addresses are then those of the binary."""
    header, segment = 64, 56
    text = bytes([0xc3] * 0x100)
    elf = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x401000, header, 0, 0, header, segment, 1,
                                                    0, 0, 0)
    elf += struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 0x1100, 0x1100, 0x1000)
    binary = elf.ljust(0x1000, b"\0") + text
    func = MODULE + "FILE 1 a.c\nINLINE_ORIGIN 1 call\nFUNC 1000 20 0 f\nINLINE 0 7 1 1 1010 8\n1000 20 1 1\nPUBLIC 1040 0 p\n"
    expect(gsym, "with a binary", func, {0x401000: "f at a.c:1", 0x401010: "call at a.c:1< f at a.c:7",
                                         0x401044: "p+0x4 at ??:0", 0x1000: "?? at ??:0"}, binary=binary)


def chunks(gsym):
    """A record ignored before them moves the end of the first chunk that is read through all records."""
    answers = {0x1000: "outer() at b.h:1< work at a.c:10", 0x1010: "inner(int) at b.h:2< outer() at b.h:20< work at a.c:10",
               0x1050: "work at a.c:4"}
    rest = INLINED[len(MODULE):]
    for left in range(0, len(rest) + 8, 7):
        ignored = "STACK WIN " + "x" * ((4 << 20) - len(MODULE) - left - 11) + "\n"
        expect(gsym, f"{left} bytes before the end of a chunk", MODULE + ignored + rest, answers)


def limits(gsym):
    """What a function has beyond a limit is left out; what is before, and the functions around it, stay as they are."""
    func = "FUNC 2000 100 0 f\n2000 1 1 1\n"
    head, tail = MODULE + "FILE 1 a.c\nINLINE_ORIGIN 1 call\nFUNC 1000 10 0 before\n1000 10 7 1\n" + func, "FUNC 3000 10 0 after\n3000 10 9 1\n"
    around = {0x1000: "before at a.c:7", 0x3000: "after at a.c:9"}
    called = {**around, 0x2000: "call at a.c:1< f at a.c:5"}
    expect(gsym, "records", head + "INLINE 0 5 1 1 2000 1\n" + "2000 1 1 1\n" * (MOST - 3) + "2010 1 3 1\n2020 1 4 1\n" + tail,
           {**called, 0x2010: "f at a.c:3", 0x2020: "f+0x20 at ??:0"}, {OVERLAP: MOST - 3, TOO_MANY: 1})
    expect(gsym, "ranges of a call", head + "INLINE 0 5 1 1" + " 2000 1" * (MOST - 1) + " 2010 1 2020 1\n" + tail,
           {**called, 0x2010: "call at ??:0< f at a.c:5", 0x2020: "f+0x20 at ??:0"}, {TOO_MANY: 1})
    # Calls that lie across many others are cut to them: so many pieces are made, of the outer ones first.
    hosts = "INLINE 0 5 1 1" + "".join(f" {0x10000 + 4 * i:x} 2" for i in range(3000)) + "\n"
    across = "".join(f"INLINE {depth} {depth} 1 1 10000 3000\n" for depth in range(1, 6))
    deep = "call at ??:0< call at a.c:4< call at a.c:3< call at a.c:2< call at a.c:1< wide at a.c:5"
    expect(gsym, "calls across many others", head + tail + "FUNC 10000 3000 0 wide\n" + hosts + across,
           {**around, 0x10000: deep, 0x12edc: deep.replace("call at a.c:4< ", "")}, {TOO_MANY: 2, NO_PARENT: 1})


def main():
    gsym = sys.argv[1]
    for test in (records, paths, publics, inlines, old_inlines, parents, chunks, wrong, limits, ids, beside_a_binary):
        test(gsym)
    refuse(gsym, "no function", MODULE + "FILE 1 a.c\n", "no function found")
    refuse(gsym, "another architecture", WHOLE, "architecture is x86_64, not arm", ("--arch=arm",))
    refuse(gsym, "an id too short", "MODULE Linux x86_64 33221100 a\nFUNC 10 1 0 f\n", "not an object file")
    refuse(gsym, "an id that is no number", "MODULE Linux x86_64 3322110055447766889900AABBCCDDEX0 a\nFUNC 10 1 0 f\n",
           "not an object file")
    refuse(gsym, "no name", "MODULE Linux x86_64 3322110055447766889900AABBCCDDEE0\nFUNC 10 1 0 f\n", "not an object file")
    for failure in failures:
        print("FAIL", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
