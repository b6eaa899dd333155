#!/usr/bin/env python3
"""Go's function table: tables in each layout written by hand, damaged ones, and programs that Go's own tools know.

    golang.py GSYM
"""
import os
from dataclasses import replace
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import costly, format_test, frames, make_elf as m, make_pe, pclntab  # noqa: E402
from lib.elf import Elf  # noqa: E402
from lib.pclntab import (FILES, GO12, GO19, GO112, GO113, GO116, GO118, GO120, OLD, TABLE, TEXT, TREES, Call, Function,  # noqa: E402
                         Table, program, sample, sample_functions)
from lib.format_test import failures, run, show  # noqa: E402


def convert(gsym, data, out, *options):
    path = f"{out}.elf"
    pathlib.Path(path).write_bytes(data)
    return format_test.convert(gsym, path, out, *options)


def lookup(gsym, file, addresses):
    return [show(answer) for answer in frames.gsym(gsym, file, addresses)]


def expect(gsym, what, data, expected, *options, odd=""):
    """@expected: address -> list of frames; None: the conversion fails. @odd: a text of the summary; no other tells of a damaged tree."""
    with tempfile.TemporaryDirectory() as directory:
        out = f"{directory}/out"
        done = convert(gsym, data, out, *options)
        if expected is None or done.returncode:
            if done.returncode != (1 if expected is None else 0):
                failures.append(f"{what}: exit {done.returncode}: {done.stderr}{done.stdout}")
            return
        summary = done.stdout + done.stderr
        if odd not in summary or ("damaged tree" in summary) != (odd == "tree"):
            failures.append(f"{what}: no {odd!r}, or a damaged tree, in {summary}")
        for (address, wanted), got in zip(expected.items(), lookup(gsym, out, expected)):
            if got != wanted:
                failures.append(f"{what}: {address:#x} is {got}, not {wanted}")


# ---- By hand ----

def answers(q=1, calls=True):
    a, b, c = "main.a /src/main.go:{}", "b /src/util/util.go:{}", "c plain.go:30"
    inner = {8: [b.format(21), a.format(11)], 12: [c, b.format(21), a.format(11)], 16: [b.format(22), a.format(11)]}
    if not calls:
        inner = {8: ["main.a /src/util/util.go:21"], 12: ["main.a plain.go:30"], 16: ["main.a /src/util/util.go:22"]}
    expected = {0: [a.format(10)], 4: [a.format(11)], **inner, 20: [a.format(12)], 24: [],
                32: ["main.(*T[...]).m /src/util/util.go:5"], 40: []}
    return {TEXT + off * q: wanted for off, wanted in expected.items()}


def check_layouts(gsym):
    for version in (*OLD, GO116, GO118, GO120):
        for machine, wide, big, quantum in ((m.EM_X86_64, True, False, 1), (m.EM_ARM, False, False, 4),
                                            (m.EM_PPC64, True, True, 4), (m.EM_MIPS, False, True, 4)):
            what = f"Go {version}, machine {machine}"
            data = program(sample(version, quantum, wide=wide, big=big), machine)
            expect(gsym, what, data, answers(quantum, version != GO12))


def check_places(gsym):
    whole = sample()
    expect(gsym, "position independent", program(whole, section=".data.rel.ro.gopclntab"), answers())
    expect(gsym, "relocations", program(whole, relocated=True), answers())
    for version in (GO112, GO116):
        expect(gsym, f"relocations, Go {version}", program(sample(version), relocated=True), answers())
    expect(gsym, "section of another name", program(whole, section=".x"), answers())
    expect(gsym, "no sign of Go", program(whole, section=".x", named=False), None)
    expect(gsym, "no moduledata", program(whole, module=False), answers(calls=False))
    # Without the code's start in the header, as since Go 1.26, that is the section's if nothing else is in it.
    unmarked = sample(marked=False)
    expect(gsym, "no start", program(unmarked, module=False), answers(calls=False))
    expect(gsym, "other code", program(unmarked, module=False, text_size=0x400), None)
    moved = sample()
    moved.text = TEXT - 0x1000
    expect(gsym, "moduledata of other code", program(moved), None)


def check_high_code(gsym):
    """Addresses of ELF have more bits than pointers of Mach-O that the loader relocates."""
    high = 1 << 40
    pclntab.TEXT = high
    try:
        data = program(sample(text=high))
    finally:
        pclntab.TEXT = TEXT
    expect(gsym, "code at 2^40", data, {address - TEXT + high: wanted for address, wanted in answers().items()})


def check_texts(gsym):
    """Several code sections."""
    far = TEXT + 0x10000
    for wide, big in ((True, False), (False, True)):
        table = sample(wide=wide, big=big)
        expected = {address + (far - TEXT - 32 if address >= TEXT + 32 else 0): wanted for address, wanted in answers().items()}
        expected[TEXT + 32] = []
        expect(gsym, "two parts of code", program(table, texts=[(0, 32, TEXT), (32, 48, far)]), expected)
        # What is no such list is not taken for one, and then code ends elsewhere than the table says.
        for what, texts in (("do not ascend", [(0, 32, TEXT), (16, 48, far)]), ("have another start", [(4, 32, TEXT), (32, 48, far)]),
                            ("begin elsewhere", [(0, 32, TEXT), (32, 48, TEXT - 64)])):
            expect(gsym, f"parts of code that {what}", program(table, texts=texts), None)
    expect(gsym, "a function in no part", program(sample(), texts=[(0, 32, TEXT), (40, 48, far)]),
           {TEXT: answers()[TEXT], TEXT + 32: [], far: []}, odd="damaged entry")


def pe_program(table, sign=".symtab"):
    """As Go's own linker made them up to 1.15, with constants in a section that is marked as code."""
    base = TEXT - make_pe.PAGE
    made = make_pe.Maker(base=base)
    for name, addr, data in ((".text", TEXT, bytes(table.end - TEXT)), (".rdata", TABLE, table.bytes), (".more", TREES, table.trees)):
        made.sections.append(make_pe.Section(name, addr - base, data, make_pe.CODE))
    made.add(sign, bytes(4))
    return made.file()


def check_pe(gsym):
    expect(gsym, "PE", pe_program(sample(GO112)), answers())
    expect(gsym, "PE without a sign of Go's linker", pe_program(sample(GO112), ".other"), None)
    other = sample(GO112, wide=False)
    expect(gsym, "PE, table of a machine with other addresses", pe_program(other), None)


def check_nameless(gsym):
    """The first function has no name, which is damage: trees of the others are found all the same."""
    for version in (GO19, GO112, GO113, GO116, GO118, GO120):
        functions = [Function("", TEXT, [(0x40, 0)], [(0x40, 1)]), *sample_functions()]
        for function in functions[1:]:
            function.start += 0x40
        table = Table(version, FILES, functions, TEXT + 0x40 + 48)
        expect(gsym, f"a nameless function first, Go {version}", program(table),
               {TEXT: [], **{address + 0x40: wanted for address, wanted in answers().items()}}, odd="damaged entry")


def check_no_tree(gsym):
    """A function that has values for calls, but no tree, has no calls; the trees of others are found."""
    for version in (GO116, GO118, GO120):
        for first in (False, True):
            functions = sample_functions()
            functions[1].calls = [(8, -1), (16, 0)]
            if first:
                for function, at in zip(functions, (16, 0)):
                    function.start = TEXT + at
                functions.reverse()
            table = Table(version, FILES, functions, TEXT + 48)
            wanted = {TEXT + 0: answers()[TEXT + 32], TEXT + 16 + 8: answers()[TEXT + 8]} if first else answers()
            expect(gsym, f"no tree, Go {version}, first {first}", program(table), wanted)


def check_accounts(gsym):
    """Functions that share so many lines that these are left out keep their calls, which another account pays for."""
    n = 1500
    rows, calls = b"\2\1\1\1" * n + b"\0", pclntab.values([(8, 0), (16, -1)])
    data = costly.go_program(b"\0main.a\0b\0", (b"\0" + rows + calls, 1, 1 + len(rows)), costly.shared_entry(n), 16 * n,
                             struct.pack("<IIII", 0, 8, 0, 1))
    last = TEXT + 16 * (n - 1)
    expect(gsym, "accounts", data, {TEXT: ["b /a/b.go:0", "main.a"], last: ["b", "main.a"], last + 8: ["main.a"]},
           odd="too much for its size")


def check_spent(gsym):
    """Functions before those that use up an account are whole; those behind them lack what the account is for, and no more."""
    n, entry_size, values = 1500, 72, b"\0"
    names = b"\0f\0b\0honest\0" + b"n" * 20000 + b"\0"
    paths = b"/a/b.go\0/" + b"p" * 20000 + b"\0"
    places = {}
    for what, added in (("file", pclntab.values([(16, 0)])), ("line", pclntab.values([(16, 7)])), ("call", pclntab.values([(8, 0), (16, -1)])),
                        ("calls", b"\2\1\1\1" * n + b"\0"), ("files", pclntab.values([(i + 1, i) for i in range(n)])),
                        ("lines", pclntab.values([(n, 7)]))):
        places[what] = len(values)
        values += added
    whole, bare = ["b /a/b.go:7", "honest /a/b.go:7"], ["honest /a/b.go:7"]
    # The account; the name of a function that uses it up, its values, size and number; its last byte and the next function.
    for what, entry, size, count, wanted, behind in (
            ("calls", (1, "file", "line", "calls"), 16, n, ["f /a/b.go:7"], bare), ("names", (12, "file", "line", ""), 16, n, [], []),
            ("paths", (1, "files", "lines", ""), n, 1, ["f"], whole)):
        starts = [0, *(16 + size * i for i in range(count + 1))]
        at = 8 * len(starts) + 4 + entry_size
        index = [word for i, start in enumerate(starts) for word in (start, at + (entry_size if 0 < i <= count else 0))] + [starts[-1] + 16]
        more = [(5, *(places[v] for v in ("file", "line", "call"))), (entry[0], *(places.get(v, 0) for v in entry[1:]))]
        data = costly.go_program(names, (values, places["line"], 0), index, index[-1], struct.pack("<IIII", 0, 3, 15, 1), more,
                                 [0, *(8 + i for i in range(n - 1))], paths)
        expect(gsym, f"spent: {what}", data, {TEXT: whole, TEXT + starts[-1] - 1: wanted, TEXT + starts[-1]: behind}, odd="too much for its size")


def check_values(gsym):
    """Values behind a number of more than 32 bits are lost; those before it, and other functions, stay."""
    for what in "files", "lines", "calls":
        table = sample()
        at = table.bytes.index(pclntab.values(getattr(table.functions[0], what))) + 4
        table.bytes = table.bytes[:at] + b"\xff" * 6 + table.bytes[at + 6:]
        expect(gsym, f"damaged {what}", program(table), {address: answers()[address] for address in (TEXT, TEXT + 4, TEXT + 32)}, odd="damaged values")


def check_lost_trees(gsym):
    """A tree that cannot be one costs the calls of its function, if most others can; if not, it is said that calls are lost."""
    for version, odd in (GO120, "tree"), (GO118, "tree"), (GO112, "tree"):
        functions = [replace(sample_functions()[0], name=f"main.f{i}", start=TEXT + 32 * i) for i in range(6)]
        functions[0].tree = [Call("b", 1 << 20, -5, 11), Call("c", 8, 1, 21, parent=0)]
        calls = [frame.replace("main.a", "main.f3") for frame in answers()[TEXT + 8]]
        expect(gsym, f"a lost tree, Go {version}", program(Table(version, FILES, functions, TEXT + 6 * 32)),
               {TEXT + 8: ["main.f0 /src/util/util.go:21"], TEXT + 3 * 32 + 8: calls}, odd=odd)
        expect(gsym, f"lost trees, Go {version}", program(Table(version, FILES, functions[:1], TEXT + 32)),
               {TEXT + 8: ["main.f0 /src/util/util.go:21"]}, odd="no trees that are possible")


def check_header(gsym):
    """A section whose table does not begin like one is told."""
    whole = sample().bytes
    for damaged in bytes(len(whole)), whole[:8] + bytes(8) + whole[16:], whole[:20]:
        e = m.Maker(m.EM_X86_64)
        e.add(".text", m.CODE, TEXT, bytes(64))
        e.add(".gopclntab", m.SHF_ALLOC, 0x600000, damaged)
        e.add_symbols(".symtab", [("f", TEXT, 0x10, m.STT_FUNC, ".text")])
        expect(gsym, "damaged header", e.file(), {TEXT: ["f"]}, odd="section ignored: damaged")
        e.sections = [s for s in e.sections if s.name not in (".symtab", ".strtab")]
        with tempfile.TemporaryDirectory() as directory:
            told = convert(gsym, e.file(), f"{directory}/out").stderr
        if "no function found: neither DWARF nor symbols name any code; section ignored: damaged (.gopclntab+0x0)" not in told:
            failures.append(f"damaged header, stripped: {told}")


def check_files_outside(gsym):
    """Go 1.2: the table of files is named by an offset after the functions, which may lead anywhere."""
    whole = sample(GO112)
    at = 8 + whole.size + (2 * len(whole.functions) + 1) * whole.size
    bare = {address: [frame.split(" ")[0] for frame in wanted] for address, wanted in answers().items()}
    for off in (len(whole.bytes), len(whole.bytes) + 1, 0x7fffffff, 0xffffffff):
        table = sample(GO112)
        table.bytes = table.bytes[:at] + off.to_bytes(4, "little") + table.bytes[at + 4:]
        expect(gsym, f"files at {off:#x}", program(table), bare)


def check_damage(gsym):
    circle = sample_functions()
    circle[0].tree = [Call("b", 12), Call("c", 8)]
    expect(gsym, "circle", program(Table(GO120, FILES, circle, TEXT + 48)), answers(calls=False), odd="tree")
    # The same by the parents that nodes have, which may be any number.
    for parents in ((2, 1), (1, 1), (30000, -30000)):
        circle = sample_functions()
        circle[0].calls = [(8, -1), (12, 0), (16, 1), (20, 0), (24, -1)]
        circle[0].tree = [Call("b", 4, 0, 11)] + [Call("c", 8, 1, 21, parent=parent) for parent in parents]
        expect(gsym, f"parents {parents}", program(Table(GO112, FILES, circle, TEXT + 48)),
               {TEXT + 8: ["b /src/util/util.go:21", "main.a /src/main.go:11"], TEXT + 12: ["main.a plain.go:30"]}, odd="tree")
    # Places that the compiler left out lead to the first call, which calls none of these.
    alone = sample_functions()
    alone[0].calls, alone[0].tree = [(8, 1), (16, 2), (24, -1)], [Call("a", 0), Call("b", 0), Call("c", 0)]
    expect(gsym, "no caller", program(Table(GO120, FILES, alone, TEXT + 48)),
           {TEXT: ["b /src/main.go:10", "main.a"], TEXT + 8: ["c /src/util/util.go:21", "main.a"], TEXT + 20: ["main.a /src/main.go:12"]})
    # A node that cannot be in the tree costs no memory.
    huge = sample_functions()
    huge[0].calls = [(8, -1), (12, 0), (16, 1 << 30), (20, 0), (24, -1)]
    expect(gsym, "node outside the tree", program(Table(GO120, FILES, huge, TEXT + 48)),
           {TEXT + 8: ["b /src/util/util.go:21", "main.a /src/main.go:11"], TEXT + 12: ["main.a plain.go:30"]}, odd="tree")
    deep = sample_functions()
    n = 1100  # more than GSYM's readers follow: the outermost calls are kept
    deep[0] = Function("main.a", TEXT, [(n, 0)], [(n, 7)], [(i + 1, i - 1) for i in range(n)],
                       [Call(f"f{i}", i) for i in range(n)])
    deep[1].start = TEXT + 1200
    data = program(Table(GO120, FILES, deep, TEXT + 1300))
    nested = [f"f{i} /src/main.go:7" for i in range(1023, -1, -1)] + ["main.a /src/main.go:7"]
    expect(gsym, "deep", data, {TEXT + 1024: nested, TEXT + 1090: nested}, odd="too deep")
    # A function ends with its lines, and so do the calls in it.
    short = sample_functions()
    short[0].lines = short[0].lines[:4]
    short[0].calls = [(8, -1), (12, 0), (20, 1), (24, 0)]
    expect(gsym, "calls beyond the function", program(Table(GO120, FILES, short, TEXT + 48)),
           {**{a: wanted for a, wanted in answers().items() if a < TEXT + 16}, TEXT + 16: []}, odd="beyond the function")
    expect(gsym, "shared values", costly.go_shared_values(4000), {TEXT: ["main.a /a/b.go:0"]}, odd="too much for its size")
    whole = program(sample())
    at = whole.index(sample().bytes)
    for cut in (7, 20, 40, 72, 90, 150, len(sample().bytes) - 3):
        damaged = bytearray(whole)
        for i in range(at + cut, min(at + cut + 4, at + len(sample().bytes))):
            damaged[i] = 0xff
        with tempfile.TemporaryDirectory() as directory:
            done = convert(gsym, bytes(damaged), f"{directory}/out")
            if done.returncode not in (0, 1):
                failures.append(f"damage at {cut}: exit {done.returncode}: {done.stderr}")


# ---- Programs ----

SOURCE = """
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type number interface{ ~int | ~float64 }

func add[T number](a, b T) T { return a + b }

func sum[T number](v []T) (s T) {
	for _, x := range v {
		s = add(s, x)
	}
	return
}

type point struct{ X, Y int }

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

func (p point) norm() int { return abs(p.X) + abs(p.Y) }

func main() {
	ps := []point{{1, -2}, {3, 4}}
	sort.Slice(ps, func(i, j int) bool { return ps[i].norm() < ps[j].norm() })
	fmt.Println(strings.ToUpper(fmt.Sprint(ps)), sum([]int{1, 2}), sum([]float64{1, len(os.Args) * 1.0}))
}
""".replace("len(os.Args) * 1.0", "float64(len(os.Args))")


def build(directory, out, *options):
    env = dict(os.environ, GOCACHE=f"{directory}/cache", HOME=directory, GO111MODULE="off", GOTOOLCHAIN="local",
               GOFLAGS="", CGO_ENABLED="0")
    subprocess.run(["go", "build", *options, "-o", out, f"{directory}/main.go"], check=True, env=env, timeout=600)
    return out


def plain(frame):
    """A frame without what only symbols and DWARF know."""
    for text in (".abi0 ", ".abiinternal "):
        frame = frame.replace(text, " ")
    if "[" in frame:
        frame = frame[:frame.index("[")] + "[...]" + frame[frame.rindex("]") + 1:]
    return frame.replace(" ./<", " <")


def check_program(gsym, directory, whole, stripped, addresses):
    """The answers of a stripped program are those of the whole one."""
    for path in (whole, stripped):
        subprocess.run([gsym, "convert", "--quiet", path, "-o", path + ".gsym"], check=True, timeout=300)
    got, want = (lookup(gsym, path + ".gsym", addresses) for path in (stripped, whole))
    differ = [(a, g, w) for a, g, w in zip(addresses, got, want)
              if [plain(f) for f in g] != [plain(f) for f in w] and "·" not in str(g)]
    print(f"{stripped[len(directory) + 1:]}: {len(addresses) - len(differ)} of {len(addresses)} addresses as with DWARF")
    # gc gives some calls in wrappers another line in DWARF than in the table.
    if len(differ) > len(addresses) // 1000:
        failures.append(f"{stripped}: {len(differ)} of {len(addresses)} differ, first {differ[0]}")


def check_addr2line(gsym, whole, addresses):
    """The innermost line, and the function that contains it, as Go's own tool has them."""
    text = subprocess.run(["go", "tool", "addr2line", whole], input="".join(f"{a:#x}\n" for a in addresses), text=True,
                          capture_output=True, check=True, timeout=300).stdout.splitlines()
    got = lookup(gsym, whole + "-s.gsym", addresses)
    differ, padding = [], 0
    for i, address in enumerate(addresses):
        function, place = text[2 * i:2 * i + 2]
        known = got[i]
        padding += place == ":-1" and not known
        # Names of functions for types without a name have spaces.
        if place not in ("?:0", ":-1") and not (known and plain(known[-1]).startswith(plain(function + " ")) and
                                                known[0].endswith(" " + place)):
            differ.append((hex(address), function, place, known))
    asked = len(addresses) - padding
    print(f"go tool addr2line: {asked - len(differ)} of {asked} alike, {padding} more are padding")
    if differ or padding > asked // 20:
        failures.append(f"go tool addr2line: {len(differ)} differ, {padding} unknown, first {differ[:3]}")


def check_programs(gsym):
    if not shutil.which("go"):
        print("skipped: programs: no go in PATH: install golang-go")
        return
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(f"{directory}/main.go").write_text(SOURCE)
        for name, options in (("plain", []), ("pie", ["-buildmode=pie"])):
            whole = build(directory, f"{directory}/{name}", *options)
            build(directory, whole + "-s", *options, "-ldflags=-s -w")
            starts = sorted({s.addr for s in Elf(whole).symbols if s.type == m.STT_FUNC and s.size})
            addresses = sorted({a + k for a, b in zip(starts, starts[1:]) for k in (0, 7, 40) if a + k < b})[:5000]
            check_program(gsym, directory, whole, whole + "-s", addresses)
            if name == "plain":  # it does not know the addresses of others
                check_addr2line(gsym, whole, addresses)


CHECKS = (check_layouts, check_places, check_high_code, check_texts, check_pe, check_nameless, check_no_tree, check_files_outside,
          check_damage, check_values, check_lost_trees, check_accounts, check_spent, check_header, check_programs)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], CHECKS))
