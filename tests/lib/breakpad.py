"""Writing Breakpad text symbols from what llvm-gsymutil says of a file: no code is shared with the converter."""
import re
from typing import NamedTuple

# A module of every kind of record, and one with inlined calls.
MODULE = "MODULE Linux x86_64 3322110055447766889900AABBCCDDEE0 prog\n"
WHOLE = MODULE + """INFO CODE_ID 00112233445566778899AABBCCDDEEFF01234567
FILE 0 /src/a.c
FILE 7 C:\\src\\b.cc
FUNC 1000 20 8 first(int, char const*)
1000 8 10 0
1008 8 11 7
1018 8 12 0
FUNC m 1020 10 0 second
1020 10 5 0
PUBLIC m 1040 0 third
PUBLIC 1060 8 fourth<int, 3>
STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^
WHATEVER 12
"""
INLINED = MODULE + """FILE 0 a.c
FILE 1 b.h
INLINE_ORIGIN 0 outer()
INLINE_ORIGIN 1 inner(int)
INLINE_ORIGIN 2 other
FUNC 1000 100 0 work
INLINE 0 10 0 0 1000 20 1040 10
INLINE 1 20 1 1 1010 8 1048 8
INLINE 0 12 0 2 1030 8
1000 10 1 1
1010 8 2 1
1018 28 3 0
1040 c0 4 0
"""
# The same calls in records of before 2021: no file of the call, and one of the origin.
OLD_INLINED = re.sub(r"(?m)^INLINE_ORIGIN (\d)", r"INLINE_ORIGIN \1 1", re.sub(r"(?m)^INLINE (\d) (\d+) \d", r"INLINE \1 \2", INLINED))

# Numbers of files that are too far from one another for an array, and not in order.
FAR_NUMBERS = MODULE + """FILE 4000000000 c.c
FILE 3000000000 a.c
FILE 3500000000 b.c
FILE 7 d.c
FUNC 1000 40 0 work
1000 10 1 3000000000
1010 10 2 4000000000
1020 10 3 3500000000
1030 10 4 7
"""

# A record in two calls.
PARENTS = MODULE + """FILE 0 a.c
INLINE_ORIGIN 0 one
INLINE_ORIGIN 1 two
INLINE_ORIGIN 2 inner
INLINE_ORIGIN 3 leaf
FUNC 1000 100 0 work
INLINE 0 10 0 0 1000 20 1080 20
INLINE 0 12 0 1 1040 20
INLINE 1 20 0 2 1008 8 1048 8 1018 4 1088 8
INLINE 2 30 0 3 1008 4 104c 8 108c 2
1000 100 1 0
"""

_FUNCTION = re.compile(r'^FunctionInfo @ 0x[0-9a-f]+: \[0x([0-9a-f]+) - 0x([0-9a-f]+)\) "(.*)"$')
_ROW = re.compile(r"^  0x([0-9a-f]{16}) (.*):(\d+)$")
_CALL = re.compile(r"^( *)((?:\[0x[0-9a-f]+ - 0x[0-9a-f]+\) ?)+)(.*?)(?: called from (.*):(\d+))?$")
_PAIR = re.compile(r"\[0x([0-9a-f]+) - 0x([0-9a-f]+)\)")


class Call(NamedTuple):
    depth: int  # 0 = inlined into the function itself
    name: str
    file: str
    line: int
    ranges: list


class Function(NamedTuple):
    start: int
    end: int
    name: str
    rows: list   # [(address, file, line)]
    calls: list


def read_dump(text):
    """The functions of what `llvm-gsymutil FILE.gsym` prints."""
    functions, inlined = [], False
    for line in text.split("\n"):
        found = _FUNCTION.match(line)
        if found:
            functions.append(Function(int(found[1], 16), int(found[2], 16), found[3], [], []))
            inlined = False
        elif line == "InlineInfo:":
            inlined = True
        elif functions and not inlined and (found := _ROW.match(line)):
            functions[-1].rows.append((int(found[1], 16), found[2], int(found[3])))
        elif functions and inlined and (found := _CALL.match(line)) and found[1]:
            ranges = [(int(a, 16), int(b, 16)) for a, b in _PAIR.findall(found[2])]
            functions[-1].calls.append(Call(len(found[1]) // 2 - 1, found[3].strip(), found[4] or "", int(found[5] or 0),
                                            ranges))
    return functions


_FRAME_START = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .* pc=([0-9a-f]+)\.\.\.([0-9a-f]+)")
_FRAME_ROW = re.compile(r"^  0x([0-9a-f]+): CFA=([A-Z0-9]+)([+-]\d+)(?:: (.*))?$")
_SAVED = re.compile(r"([A-Z0-9]+)=\[CFA([+-]\d+)\]")


def stack_records(text):
    """STACK records, which take a good part of such files, of what `llvm-dwarfdump --eh-frame` prints: what changes."""
    records, start, before = [], None, {}
    for line in text.split("\n"):
        begin, row = _FRAME_START.match(line), _FRAME_ROW.match(line)
        if begin:
            start = int(begin[1], 16), int(begin[2], 16)
        if not row or not start:
            continue
        address = int(row[1], 16)
        rules = {".cfa": f"${row[2].lower()} {int(row[3])} +"}
        rules |= {".ra" if reg == "RIP" else "$" + reg.lower(): f".cfa {int(off)} + ^"
                  for reg, off in _SAVED.findall(row[4] or "")}
        old, before = {} if address == start[0] else before, rules
        rules = {**rules, **{name: name for name in old if name not in rules}}  # restored
        rules = " ".join(f"{name}: {rule}" for name, rule in rules.items() if old.get(name) != rule)
        size = f" {start[1] - start[0]:x}" if address == start[0] else ""
        records.append(f"STACK CFI {'INIT ' if size else ''}{address:x}{size} {rules}\n")
    return records


def debug_id(build_id, age="0"):
    """The id that dump_syms makes of a build id on ELF systems."""
    raw = bytes.fromhex(build_id)[:16].ljust(16, b"\0")
    return (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex().upper() + age


class Numbers(dict):
    """Gives each text a number."""

    def of(self, text):
        return self.setdefault(text, len(self))


def write(out, functions, publics=(), stacks=(), build_id="00" * 20, os="Linux", arch="x86_64", name="file", chance=None):
    """
    Writes a .sym file. @publics: [(address, name)], @stacks: lines. With @chance, a random.Random, INLINE records come in any order,
    and FILE and INLINE_ORIGIN records at the end of the file.
    """
    files, origins = Numbers(), Numbers()
    records = []
    for f in functions:
        records.append(f"FUNC {f.start:x} {f.end - f.start:x} 0 {f.name}\n")
        calls = [f"INLINE {c.depth} {c.line} {files.of(c.file)} {origins.of(c.name)} " +
                 " ".join(f"{a:x} {b - a:x}" for a, b in c.ranges) + "\n" for c in f.calls]
        if chance:
            chance.shuffle(calls)
        last = {a: (file, line) for a, file, line in f.rows}  # of several at one address
        places = sorted(a for a in last if a < f.end)
        lines = [f"{a:x} {b - a:x} {last[a][1]} {files.of(last[a][0])}\n"
                 for a, b in zip(places, places[1:] + [f.end])]
        records += calls + lines
    tables = [f"FILE {n} {path}\n" for path, n in files.items()]
    tables += [f"INLINE_ORIGIN {n} {text}\n" for text, n in origins.items()]
    head = [f"MODULE {os} {arch} {debug_id(build_id)} {name}\n", f"INFO CODE_ID {build_id.upper()}\n"]
    records += [f"PUBLIC {a:x} 0 {text}\n" for a, text in publics]
    records += stacks
    with open(out, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.writelines(head + (records + tables if chance else tables + records))
