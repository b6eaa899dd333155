#!/usr/bin/env python3
"""PDB files written by hand (lib/craft_pdb.py): every record that a reader needs, OMAP, and files that are damaged on purpose.

    pdb_crafted.py GSYM

What llvm-pdbutil dumps of the same file is the second opinion on what is expected, where it can say.
"""
from dataclasses import replace
import pathlib
import random
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import craft_pdb as m, format_test, frames, make_pe, pdbutil, peers  # noqa: E402
from lib.format_test import failures, run, show  # noqa: E402

TEXT = 0x1000
sys.setrecursionlimit(10000)  # of symbols nested in symbols
SECONDS = 60   # of processor time, which no file here needs


def convert(gsym, path, out, *options):
    return format_test.convert(gsym, path, out, *options, limits=peers.limited(cpu_seconds=SECONDS))


def expect(gsym, what, made, expected, judge=True):
    """@expected: RVA -> frames as "function file:line". @judge: llvm-pdbutil says the same."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.pdb")
        path.write_bytes(made.file())
        if judge and peers.find("llvm-pdbutil"):
            dump = pdbutil.Dump(path)
            for rva, wanted in expected.items():
                said = [show(dump.frames(p, rva)) for p in dump.procs_at(rva)] or [[]]
                if wanted not in said:
                    failures.append(f"{what}: llvm-pdbutil has {said[0]} at {rva:#x}, not {wanted}")
        format_test.compare(gsym, what, path, expected, limits=peers.limited(cpu_seconds=SECONDS))


# ---- Symbols, lines, inlined calls ----

def program(items=None, parts=(), ids=(), types=(), more=(), **members):
    """main at 0 with lines 10, 11 and 12, and what a test adds; offsets of files: program.a, program.b."""
    names = m.Names()
    table, (a, b) = m.files(names, "/src/a.cc", "/src/b.h")
    items = [m.proc("main", 0, 0x40)] if items is None else items
    own = [table, m.lines(0, 0x40, (a, [(0, 10), (0x10, 11), (0x20, 12)]))]
    first = m.Module("/src/a.obj", items, own + list(parts))
    return m.Pdb([first, *more], names, list(types), ids if isinstance(ids, bytes) else list(ids), **members)


A, B = 0, 24   # offsets of the two files in the module's table


def check_functions(gsym):
    lines = {0xfff: [], 0x1000: ["main /src/a.cc:10"], 0x100f: ["main /src/a.cc:10"], 0x1010: ["main /src/a.cc:11"],
             0x103f: ["main /src/a.cc:12"], 0x1040: []}
    expect(gsym, "a function", program(), lines)
    for page in (0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000):
        more = [m.proc(f"f{i}", 0x40 + 16 * i, 16) for i in range(page // 16)]   # three pages of symbols
        at = 0x1040 + 16 * (len(more) - 1)
        expect(gsym, f"pages of {page}", program([m.proc("main", 0, 0x40), *more], msf={"page": page, "scattered": True},
                                                 sections=[m.Section(".text", 0x1000, 0x10000)]),
               {**lines, 0x1040: ["f0"], at // 32 * 16 + 0x800: [f"f{(at // 32 * 16 + 0x800 - 0x1040) // 16}"], at: [f"f{page // 16 - 1}"], at + 16: []})
    others = [m.Module(f"/src/{i}.obj", [m.proc(f"g{i}", 0x40 + 16 * i, 16)]) for i in range(160)]
    expect(gsym, "a directory of three pages", program(more=others, msf={"page": 0x200, "scattered": True}),
           {**lines, 0x1040: ["g0"], 0x1a3f: ["g159"], 0x1a40: []})
    # Linkers before 2005 wrote none: then the last entry of the table of names is almost the end of the stream.
    expect(gsym, "no features", program(features=()), lines)
    for kind in (m.S_LPROC32, m.S_GPROC32_ID, m.S_LPROC32_ID):
        expect(gsym, f"a procedure of kind {kind:#x}", program([m.proc("main", 0, 0x40, kind=kind)]), lines)
    expect(gsym, "a thunk", program([m.proc("main", 0, 0x40), m.thunk("imported", 0x80, 6)]),
           {**lines, 0x1080: ["imported"], 0x1085: ["imported"], 0x1086: []})
    expect(gsym, "names of namespaces and templates", program([m.proc("ns::Type<int,`anonymous namespace'::T>::operator()", 0, 0x10)]),
           {0x1000: ["ns::Type<int,`anonymous namespace'::T>::operator() /src/a.cc:10"]})
    expect(gsym, "a second section", program([m.proc("main", 0, 0x40), m.proc("more", 0x10, 0x10, section=2)],
                                             sections=[m.Section(".text", 0x1000, 0x1000), m.Section(".more", 0x2000, 0x1000)]),
           {0x2010: ["more"], 0x201f: ["more"], 0x2020: []})
    expect(gsym, "no such section", program([m.proc("main", 0, 0x40), m.proc("nowhere", 0, 0x10, section=9)]), lines, judge=False)


def check_lines(gsym):
    def with_lines(what, expected, *blocks, **members):
        table, _ = m.files(made_names := m.Names(), "/src/a.cc", "/src/b.h")
        made = m.Pdb([m.Module("/src/a.obj", [m.proc("main", 0, 0x40)], [table, m.lines(0, 0x40, *blocks)])], made_names, **members)
        expect(gsym, what, made, expected)
    with_lines("rows of two files", {0x1000: ["main /src/a.cc:10"], 0x1010: ["main /src/b.h:3"], 0x1018: ["main /src/a.cc:11"],
                                     0x1020: ["main /src/b.h:4"], 0x103f: ["main /src/b.h:4"]},
               (A, [(0, 10), (0x18, 11)]), (B, [(0x10, 3), (0x20, 4)]))
    with_lines("rows at the same address", {0x1000: ["main /src/a.cc:11"], 0x100f: ["main /src/a.cc:11"], 0x1010: ["main /src/a.cc:12"]},
               (A, [(0, 10), (0, 11), (0x10, 12)]))
    with_lines("columns", {0x1000: ["main /src/a.cc:10"], 0x1010: ["main /src/a.cc:10"], 0x103f: ["main /src/a.cc:11"]},
               (A, [(0, 10), (0x10, 10), (0x20, 11)], [(1, 0), (7, 0), (2, 5)]))
    for number in (0xfeefee, 0xf00f00):
        with_lines(f"line {number:#x}", {0x1000: ["main /src/a.cc:10"], 0x1014: ["main /src/a.cc:10"], 0x1020: ["main /src/a.cc:12"]},
                   (A, [(0, 10), (0x10, number), (0x20, 12)]))
    with_lines("rows that are not statements", {0x1000: ["main /src/a.cc:10"], 0x1010: ["main /src/a.cc:11"]},
               (A, [(0, 10 | 1 << 31), (0x10, 11 | 5 << 24 | 1 << 31)]))
    with_lines("bytes before the first row", {0x1000: ["main"], 0x1008: ["main /src/a.cc:10"]}, (A, [(8, 10)]))


def check_inlined(gsym):
    ids = [m.string_id("ns"), m.func_id("tiny", 0x1000), m.mfunc_id("method", 0x1000), m.func_id("plain"), m.mfunc_id("method", 0x1001)]
    types = [m.structure("ns::Outer<int>::Inner"), m.structure("ns::Newer", m.LF_STRUCTURE2)]
    starts = m.inlinees((0x1001, B, 5), (0x1002, B, 50), (0x1003, A, 70), (0x1004, B, 90))

    def sites(what, expected, *items, parts=(starts,), judge=True, ids=ids, **members):
        expect(gsym, what, program([m.proc("main", 0, 0x40, *items)], parts, ids, types, **members), expected, judge)
    nested = {0x1000: ["main /src/a.cc:10"], 0x1004: ["ns::tiny /src/b.h:7", "main /src/a.cc:10"],
              0x1008: ["ns::Outer<int>::Inner::method /src/b.h:50", "ns::tiny /src/b.h:8", "main /src/a.cc:10"],
              0x100c: ["ns::tiny /src/b.h:8", "main /src/a.cc:10"], 0x1010: ["main /src/a.cc:11"]}
    for second in (False, True):
        inner = m.site(0x1002, [(m.DELTA, 8), (m.LENGTH, 4)], second=second)
        sites(f"nested calls, second kind {second}", nested,
              m.site(0x1001, [(m.LINE, 2), (m.DELTA, 4), (m.BOTH, 4, 1), (m.LENGTH, 8)], inner, second=second), judge=not second)
        sites(f"calls in a block, second kind {second}", nested, m.block(0, 0x20, m.block(4, 4, m.site(
            0x1001, [(m.LINE, 2), (m.DELTA, 4), (m.BOTH, 4, 1), (m.LENGTH, 8)], m.block(8, 4, inner), second=second))), judge=False)
    sites("a function without scope", {0x1012: ["plain /src/a.cc:70", "main /src/a.cc:11"]}, m.site(0x1003, [(m.DELTA, 0x12), (m.LENGTH, 4)]))
    sites("a class of newer kind", {0x1012: ["ns::Newer::method /src/b.h:90", "main /src/a.cc:11"]},
          m.site(0x1004, [(m.DELTA, 0x12), (m.LENGTH, 4)]), judge=False)
    sites("more files of an inlined function", {0x1012: ["plain /src/a.cc:70", "main /src/a.cc:11"]},
          m.site(0x1003, [(m.DELTA, 0x12), (m.LENGTH, 4)]), parts=[m.inlinees((0x1001, B, 5, [A, B, A]), (0x1003, A, 70), extra=True)])
    sites("an inlined function without line", {0x1012: ["plain", "main /src/a.cc:11"]},
          m.site(0x1003, [(m.DELTA, 0x12), (m.LENGTH, 4)]), parts=[m.inlinees((0x1001, B, 5))])


def check_annotations(gsym):
    ids = [m.func_id("tiny")]

    def notes(what, expected, *operations, judge=True):
        made = program([m.proc("main", 0, 0x40, m.site(0x1000, list(operations)))], [m.inlinees((0x1000, B, 5))], ids)
        outer = {range(0x10): 10, range(0x10, 0x20): 11, range(0x20, 0x40): 12}
        whole = {}
        for off in range(0x40):
            line = next(line for part, line in outer.items() if off in part)
            inside = next((text for part, text in expected.items() if off in part), None)
            whole[TEXT + off] = ([f"tiny {inside}"] if inside else []) + [f"main /src/a.cc:{line}"]
        expect(gsym, f"annotations: {what}", made, whole, judge)
    h = "/src/b.h:"
    notes("start", {range(8, 12): h + "5"}, (m.OFFSET, 8), (m.LENGTH, 4))
    notes("offset and length", {range(4, 9): h + "5"}, (m.DELTA, 4), (m.LENGTH, 5))
    notes("an offset counts from the end of the length", {range(4, 9): h + "5", range(11, 13): h + "5"},
          (m.DELTA, 4), (m.LENGTH, 5), (m.DELTA, 2), (m.LENGTH, 2))
    notes("length with offset", {range(4, 9): h + "5", range(12, 14): h + "5"}, (m.LENGTH_DELTA, 5, 4), (m.LENGTH_DELTA, 2, 8))
    notes("length with offset after an open row", {range(4, 8): h + "6", range(8, 10): h + "8"},
          (m.LINE, 1), (m.DELTA, 4), (m.LINE, 2), (m.LENGTH_DELTA, 2, 4))
    notes("lines, also backwards", {range(4, 8): h + "8", range(8, 10): h + "3"},
          (m.LINE, 3), (m.DELTA, 4), (m.LINE, -5), (m.DELTA, 4), (m.LENGTH, 2))
    notes("offset with line", {range(4, 8): h + "7", range(8, 12): h + "6", range(12, 14): h + "6"},
          (m.BOTH, 4, 2), (m.BOTH, 4, -1), (m.BOTH, 4, 0), (m.LENGTH, 2))
    notes("another file", {range(4, 8): h + "5", range(8, 12): "/src/a.cc:6", range(12, 14): h + "6"},
          (m.DELTA, 4), (m.FILE, A), (m.BOTH, 4, 1), (m.FILE, B), (m.DELTA, 4), (m.LENGTH, 2), judge=False)
    notes("what names no code", {range(4, 8): h + "5"}, (m.LINE_END, 3), (m.KIND, 1), (m.COLUMN, 7), (m.COLUMN_END_DELTA, -2), (m.COLUMN_END, 9),
          (m.DELTA, 4), (m.LINE_END, 1), (m.KIND, 1), (m.LENGTH, 4))
    # llvm-pdbutil shows lines up to 65,535.
    notes("large operands", {range(4, 8): "/src/b.h:70005"}, (m.LINE, 70000), (m.DELTA, 4), (m.LENGTH, 4), judge=False)
    notes("middle operands", {range(4, 8): "/src/b.h:1005"}, (m.LINE, 1000), (m.DELTA, 4), (m.LENGTH, 4))
    notes("a last row without length is no code", {range(4, 8): h + "5"}, (m.DELTA, 4), (m.LENGTH, 4), (m.DELTA, 0x28))
    notes("beyond the function", {range(0x30, 0x40): h + "5"}, (m.DELTA, 0x30), (m.LENGTH, 0x1000))


def check_entries(gsym):
    """Of several entries for one inlined function the first counts; what is before damage in a list of them does."""
    ids, site = [m.func_id("tiny"), m.func_id("small")], m.site(0x1000, [(m.DELTA, 0x12), (m.LENGTH, 4)])
    expect(gsym, "two entries of an inlined function", program([m.proc("main", 0, 0x40, site)], [m.inlinees((0x1000, B, 5), (0x1001, A, 60), (0x1000, A, 70))], ids),
           {0x1012: ["tiny /src/b.h:5", "main /src/a.cc:11"]}, judge=False)
    for what, entries in (("cut", m.inlinees((0x1000, B, 5), (0x1001, A, 60))[1][:-1]), ("of an unknown kind", struct.pack("<I3I", 2, 0x1000, B, 5)),
                          ("with files that are cut", struct.pack("<I4I", 1, 0x1000, B, 5, 2) + bytes(4))):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "x.pdb")
            path.write_bytes(program([m.proc("main", 0, 0x40, site)], [(m.INLINEES, entries)], ids).file())
            told = convert(gsym, path, f"{path}.gsym", "--progress=never").stderr
            got = show(frames.gsym(gsym, f"{path}.gsym", [0x1012])[0])
        wanted = ["tiny /src/b.h:5" if what == "cut" else "tiny", "main /src/a.cc:11"]
        if got != wanted or "lines of a module cut short: damaged subsection: 1" not in told:
            failures.append(f"entries {what}: {got}, not {wanted}: {told}")


def check_counted(gsym):
    """An inlined call without a name is one, and is counted."""
    for number in (0x1001, 0x80000001):
        made = program([m.proc("main", 0, 0x40, m.site(number, [(m.DELTA, 0x12), (m.LENGTH, 4)]))], [m.inlinees((number, B, 5))], [m.func_id("tiny")])
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "x.pdb")
            path.write_bytes(made.file())
            told = convert(gsym, path, f"{path}.gsym", "--progress=never").stderr
            got = show(frames.gsym(gsym, f"{path}.gsym", [0x1012])[0])
        if "inlined call without a name: no such item: 1" not in told:
            failures.append(f"no id {number:#x}: {got}: {told}")


def told(gsym, what, made, expected, warning, kinds=1):
    """@expected: address -> frames; @warning: one of @kinds that are told, with its number."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.pdb")
        path.write_bytes(made.file())
        done = convert(gsym, path, f"{path}.gsym", "--progress=never")
        got = {a: show(f) for a, f in zip(expected, frames.gsym(gsym, f"{path}.gsym", list(expected)))} if not done.returncode else {}
    if f"{warning}, first:" not in done.stderr or done.stderr.count(", first: ") != kinds or got != expected:
        failures.append(f"{what}: exit {done.returncode}, {got}: {done.stderr}")


def check_cut(gsym):
    """What is before a cut stays, and the cut is told."""
    lines = {0x1000: ["main /src/a.cc:10"], 0x1010: ["main /src/a.cc:11"]}
    bare = {0x1000: ["main"], 0x1010: ["main"]}
    whole = program(more=[m.Module("more.obj", [m.proc("more", 0x40, 0x20)], contribution=(1, 0x40, 0x20))])
    stream = bytearray(whole.streams()[3])
    end = 64 + len(whole._modules(lambda data: 9))   # of the list, whose last name gets no NUL
    stream[end - 4:end] = b"xxxx"
    told(gsym, "list of modules cut", replace(whole, replace={3: bytes(stream)}), {**lines, 0x1040: []}, "list of modules cut short: damaged: 1")
    module = whole.modules[0]
    size = len(module.bytes()[0])
    for what, members, left, warning in (
            ("symbols", {"symbol_bytes": size + 1}, bare, "symbol of a module ignored: damaged: "),
            ("lines of C11", {"c11_bytes": size}, bare, "lines of a module"),
            ("lines", {"c13_bytes": size}, lines, "lines of a module cut short: damaged subsection: ")):
        made = program()
        made.modules[0] = replace(module, **members)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "x.pdb")
            path.write_bytes(made.file())
            done = convert(gsym, path, f"{path}.gsym", "--progress=never")
            got = {a: show(f) for a, f in zip(left, frames.gsym(gsym, f"{path}.gsym", list(left)))} if not done.returncode else {}
        if warning not in done.stderr or got != left:
            failures.append(f"{what} beyond the stream: exit {done.returncode}, {got}: {done.stderr}")
    made = program()
    parts = made.modules[0].bytes()[2]
    made.modules[0] = replace(module, c11_bytes=parts, c13_bytes=0)
    told(gsym, "lines in C11", made, bare, "lines of a module ignored: in the format of C11: 1")


def check_depth(gsym):
    """Calls nested too deep are dropped, those around them stay; blocks nest as deep as calls again."""
    item = m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)])
    for _ in range(1100):
        item = m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)], item)
    made = program([m.proc("main", 0, 0x40, item)], [m.inlinees((0x1000, B, 5))], [m.func_id("tiny")])
    told(gsym, "deep calls", made, {0x1000: ["main /src/a.cc:10"], 0x1004: ["tiny /src/b.h:5"] * 1024 + ["main /src/a.cc:10"]},
         "inlined call dropped: nested too deep: 1")
    item = m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)])
    for _ in range(2100):
        item = m.block(0, 0x40, item)
    made = program([m.proc("main", 0, 0x40, item)], [m.inlinees((0x1000, B, 5))], [m.func_id("tiny")])
    told(gsym, "deep blocks", made, {0x1004: ["main /src/a.cc:10"]}, "inlined call dropped: nested too deep: 1")


def check_accounts(gsym):
    """Functions that share so many lines that these are left out keep their calls, which another account pays for."""
    n = 1500
    call = m.site(0x1000, [(m.DELTA, 0), (m.LENGTH, 1)])
    names = m.Names()
    table, (a,) = m.files(names, "/src/a.cc")
    module = m.Module("/src/a.obj", [m.proc(f"f{i}", i, n, call) for i in range(n)],
                      [table, m.lines(0, 2 * n, (a, [(i, 1 + i) for i in range(2 * n)])), m.inlinees((0x1000, a, 5))], contribution=(1, 0, 2 * n))
    made = m.Pdb([module], names, [], [m.func_id("tiny")])
    told(gsym, "accounts", made, {0x1000: ["tiny /src/a.cc:5", "f0 /src/a.cc:1"], 0x1000 + n - 1: ["tiny", f"f{n - 1}"]},
         "module cut short: shared parts would multiply its size: 1", kinds=2)  # functions overlap


def check_spent(gsym):
    """Functions before those that use up an account are whole; those behind them lack what the account is for, and no more."""
    n, start = 2000, 0x40
    end = start + 0x10000

    def spent(what, items, own, behind, ids=(), table=b"", names=None, blocks=None, kinds=1):
        names = names or m.Names()
        (_, files), (a, b) = m.files(names, "/src/a.cc", "/src/b.h")
        call = m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)])
        calls = m.inlinees((0x1000, b, 5), *((0x1001 + i, b, 6) for i in range(len(ids))))
        parts = [(m.CHECKSUMS, files + table), m.lines(0, start, (a, [(0, 10)])), m.lines(start, end - start, *(blocks or [(a, [(0, 20)])])),
                 m.lines(end, 0x40, (a, [(0, 10)])), calls]
        symbols = [m.proc("first", 0, start, call), m.proc("f", start, end - start, *items), m.proc("last", end, 0x40, call)]
        made = m.Pdb([m.Module("/src/a.obj", symbols, parts, contribution=(1, 0, end + 0x40))], names, [], [m.func_id("tiny"), *ids],
                     sections=[m.Section(".text", TEXT, 0x40000)])
        told(gsym, f"spent: {what}", made, {TEXT + 4: ["tiny /src/b.h:5", "first /src/a.cc:10"], **own, TEXT + end + 4: behind},
             "module cut short: shared parts would multiply its size: 1", kinds)

    whole = ["tiny /src/b.h:5", "last /src/a.cc:10"]
    # Lines stay those of what was called.
    deep = [m.site(0x1000, [(m.DELTA, 2000 * i + 1), (m.LENGTH, 1), *[(m.DELTA, 2), (m.LENGTH, 1)] * 999]) for i in range(20)]
    for _ in range(900):
        deep = [m.site(0x1000, [(m.DELTA, 0), (m.LENGTH, end - start)], *deep)]
    spent("calls", deep, {TEXT + start: ["f /src/b.h:5"]}, ["last /src/a.cc:10"])
    sites = [m.site(0x1002 + i, [(m.DELTA, 4 * i), (m.LENGTH, 4)]) for i in range(n)]
    spent("names", sites, {TEXT + start + 4 * n - 1: [" /src/b.h:6", "f /src/a.cc:20"]}, whole,
          [m.string_id("s" * 8 * n), *(m.func_id(f"g{i}", 0x1001) for i in range(n))], kinds=3)  # calls without a name, strings of the file
    names = m.Names()
    at = names.add("/" + "n" * 8 * n)
    # Lines are read before calls, whose file is a new one.
    spent("paths", [], {TEXT + 4: ["tiny", "first /src/a.cc:10"], TEXT + start + 4 * n - 1: ["f"]}, ["tiny", "last /src/a.cc:10"], names=names,
          table=b"".join(m.files(at + i, "", checksum=b"")[0][1] for i in range(n)), blocks=[(48 + 8 * i, [(4 * i, i + 1)]) for i in range(n)], kinds=2)


def check_apart(gsym):
    """A part of a call in code apart from its function is left out; those in it stay."""
    site = m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4), (m.BASE, 1), (m.DELTA, 4), (m.LENGTH, 4)])
    made = program([m.proc("main", 0, 0x40, site)], [m.inlinees((0x1000, B, 5))], [m.func_id("tiny")])
    told(gsym, "code apart", made, {0x1004: ["tiny /src/b.h:5", "main /src/a.cc:10"], 0x1008: ["main /src/a.cc:10"]},
         "inlined call cut short: code apart from its function: 1")


def check_modules(gsym):
    """Ids that a module has from another one."""
    names = m.Names()
    table, (a,) = m.files(names, "/src/a.cc")
    user = m.Module("c:\\obj\\user.obj", [m.proc("main", 0, 0x40, m.site(0x80000001, [(m.DELTA, 4), (m.LENGTH, 4)]))],
                    [table, m.lines(0, 0x40, (a, [(0, 10)])), m.inlinees((0x80000001, a, 5)),
                     m.imports(names, ("c:\\obj\\owner.obj", [0x1200, 0x1300]))])
    owner = m.Module("c:\\obj\\owner.obj", [m.proc("second", 0x40, 0x20)], [m.exports((0x1200, 0x1000), (0x1300, 0x1001))],
                     contribution=(1, 0x40, 0x20))
    made = m.Pdb([user, owner], names, [], [m.func_id("wrong"), m.func_id("right")])
    expect(gsym, "ids of another module", made, {0x1004: ["right /src/a.cc:5", "main /src/a.cc:10"], 0x1040: ["second"]})
    sites = [m.site(number, [(m.DELTA, 4 + 4 * i), (m.LENGTH, 4)]) for i, number in enumerate((0x80000000, 0x80000001, 0x80100000, 0x80100001, 0x80200000))]
    user.symbols = [m.proc("main", 0, 0x40, *sites)]
    user.parts[2:] = [m.inlinees(*((number, a, 5) for number in (0x80000000, 0x80000001, 0x80100000, 0x80100001, 0x80200000))),
                      m.imports(names, ("c:\\obj\\owner.obj", [0x1200, 0x1300]), ("c:\\obj\\third.obj", [0x1300]))]
    third = m.Module("c:\\obj\\third.obj", [], [m.exports((0x1300, 0x1002))], contribution=(1, 0x60, 0x20))
    made = m.Pdb([user, owner, third], names, [], [m.func_id("one"), m.func_id("two"), m.func_id("three")])
    expect(gsym, "ids of two other modules", made, {0x1004: ["one /src/a.cc:5", "main /src/a.cc:10"], 0x1008: ["two /src/a.cc:5", "main /src/a.cc:10"],
                                                    0x100c: ["three /src/a.cc:5", "main /src/a.cc:10"], 0x1010: [" /src/a.cc:5", "main /src/a.cc:10"]}, judge=False)


# ---- Code that was moved, split, or has public names only ----

def check_omap(gsym):
    """A tool that rearranged the image: main is in two places, a part of it is gone, second is before it."""
    def moved(what, pairs, expected):
        made = program([m.proc("main", 0, 0x40), m.proc("second", 0x40, 0x20)],
                       [m.lines(0x40, 0x20, (A, [(0, 20)]))], publics=[("main", 0), ("?second@@YAXXZ", 0x40), ("third", 0x60)])
        made.original, made.sections = made.sections, [m.Section(".text", 0x3000, 0x1000), m.Section(".data", 0x4000, 0x1000, m.DATA)]
        made.omap_from = pairs
        made.omap_to = sorted((to, source) for source, to in pairs if to)
        expect(gsym, f"OMAP: {what}", made, expected, judge=False)
    moved("in one piece", [(0x1000, 0x3000)], {0x3000: ["main /src/a.cc:10"], 0x303f: ["main /src/a.cc:12"], 0x3040: ["?second@@YAXXZ /src/a.cc:20"],
                                               0x305f: ["?second@@YAXXZ /src/a.cc:20"], 0x1000: []})
    moved("functions exchanged", [(0x1000, 0x3020), (0x1040, 0x3000), (0x1060, 0x3060)],
          {0x3000: ["?second@@YAXXZ /src/a.cc:20"], 0x301f: ["?second@@YAXXZ /src/a.cc:20"], 0x3020: ["main /src/a.cc:10"], 0x3030: ["main /src/a.cc:11"],
           0x305f: ["main /src/a.cc:12"], 0x3060: ["third"]})
    moved("a function in pieces", [(0x1000, 0x3000), (0x1010, 0x3800), (0x1020, 0x3010), (0x1040, 0x3100)],
          {0x3000: ["main /src/a.cc:10"], 0x300f: ["main /src/a.cc:10"], 0x3010: ["main /src/a.cc:12"], 0x302f: ["main /src/a.cc:12"],
           0x3800: ["main /src/a.cc:11"], 0x380f: ["main /src/a.cc:11"], 0x3100: ["?second@@YAXXZ /src/a.cc:20"]})
    moved("a piece removed", [(0x1000, 0x3000), (0x1010, 0), (0x1020, 0x3010), (0x1040, 0x3100)],
          {0x3000: ["main /src/a.cc:10"], 0x300f: ["main /src/a.cc:10"], 0x3010: ["main /src/a.cc:12"], 0x302f: ["main /src/a.cc:12"]})
    moved("bytes put in between", [(0x1000, 0x3000), (0x1010, 0x3030), (0x1040, 0x3100)],
          {0x300f: ["main /src/a.cc:10"], 0x3030: ["main /src/a.cc:11"], 0x305f: ["main /src/a.cc:12"], 0x3100: ["?second@@YAXXZ /src/a.cc:20"]})


def check_omap_added(gsym):
    """A tool that added code: it belongs to the original address that the table to the source names, however often that occurs."""
    back = [(0x3000, 0x1000), (0x3010, 0x1010), (0x3015, 0x1010), (0x3025, 0x1020), (0x3045, 0), (0x3050, 0x1040), (0x3070, 0x1010),
            (0x3078, 0x80000000), (0x3080, 0x1038), (0x3090, 0)]
    there = [(0x1000, 0x3000), (0x1010, 0x3015), (0x1020, 0x3025), (0x1040, 0x3050), (0x1060, 0x30a0), (0x1070, 0)]
    main = [f"main /src/a.cc:{n}" for n in (10, 11, 12)]
    second = "?second@@YAXXZ /src/a.cc:20"
    expected = {0x3000: main[0], 0x300f: main[0], 0x3010: main[1], 0x3014: main[1], 0x3015: main[1], 0x3024: main[1], 0x3025: main[2],
                0x3044: main[2], 0x3045: None, 0x304f: None, 0x3050: second, 0x306f: second, 0x3070: main[1], 0x3077: main[1], 0x3078: None,
                0x3080: main[2], 0x3087: main[2], 0x3088: second, 0x308f: second, 0x3090: None, 0x1000: None}
    expected = {rva: [name] if name else [] for rva, name in expected.items()}
    for what, from_source, moved_headers in (("", there, True), (", headers that were left", there, False), (", one table", None, True),
                                             (", one table and headers that were left", None, False)):
        made = program([m.proc("main", 0, 0x40), m.proc("second", 0x40, 0x20)], [m.lines(0x40, 0x20, (A, [(0, 20)]))],
                       publics=[("main", 0), ("?second@@YAXXZ", 0x40)], omap_from=from_source, omap_to=back)
        if moved_headers:
            made.original, made.sections = made.sections, [m.Section(".text", 0x3000, 0x1000), m.Section(".data", 0x4000, 0x1000, m.DATA)]
        expect(gsym, f"OMAP: code was added{what}", made, expected, judge=False)
        made.modules = []
        starts = {0x3000: ["main"], 0x3044: ["main"], 0x3050: ["?second@@YAXXZ"], 0x2fff: [], 0x1000: []}
        expect(gsym, f"OMAP: publics{what}", made, starts, judge=False)


def check_omap_joined(gsym):
    """A counter before each instruction: parts that stay together are one function, but for the counter before its label."""
    n = 16
    back = [(0x3000 + 8 * i + at, 0x1000 + 4 * i) for i in range(n) for at in (0, 4)] + [(0x3000 + 8 * n, 0)]
    made = program([m.proc("main", 0, 0x40, m.site(0x1000, [(m.DELTA, 0x14), (m.LENGTH, 8)]))], [m.inlinees((0x1000, B, 5))], [m.func_id("tiny")],
                   omap_to=back, omap_from=[(0x1000 + 4 * i, 0x3004 + 8 * i) for i in range(n)], publics=[("_main", 0)],
                   sections=[m.Section(".text", 0x3000, 0x1000)], original=[m.Section(".text", 0x1000, 0x1000)])
    lines = [[f"_main /src/a.cc:{10 + min(i // 4, 2)}"] for i in range(n)]
    lines[5:7] = [["tiny /src/b.h:5", "_main /src/a.cc:11"]] * 2
    expect(gsym, "OMAP: code between", made, {0x3000 + 8 * i + at: lines[i] for i in range(n) for at in (0, 3, 4, 7)}, judge=False)
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.pdb")
        path.write_bytes(made.file())
        told = convert(gsym, path, f"{path}.gsym").stderr
        if "functions: 2 from the PDB" not in told:
            failures.append(f"OMAP: code between: {told}")


def check_omap_many(gsym):
    """Functions in the order of a table that is not theirs."""
    n = 3000
    pairs = [(0x100000 + 32 * (i * 7 % n), 0x1000 + 16 * i) for i in range(n)]
    made = m.Pdb([m.Module("a.obj", [m.proc(f"f{i}", 16 * i, 16) for i in range(n)] + [m.proc("whole", 16 * n, 16)])],
                 sections=[m.Section(".text", 0x100000, 64 * n)], original=[m.Section(".text", 0x1000, 16 * n + 16)],
                 omap_to=sorted(pairs) + [(0x100000 + 32 * n, 0x1000 + 16 * n)])
    expect(gsym, "OMAP: many functions", made, {0x100000 + 32 * (i * 7 % n) + at: [f"f{i}"] for i in range(n) for at in (0, 15)}, judge=False)


def check_separated(gsym):
    made = program([m.proc("main", 0, 0x40), m.sepcode(0x100, 0x20, 0)], [m.lines(0x100, 0x20, (A, [(0, 30)]))])
    expect(gsym, "separated code", made, {0x1000: ["main /src/a.cc:10"], 0x1100: ["main /src/a.cc:30"], 0x111f: ["main /src/a.cc:30"]}, judge=False)


def check_trampolines(gsym):
    """Jumps of an incremental linker are called as what they lead to; one that leads nowhere has no name."""
    expect(gsym, "trampolines", program([m.trampoline(0x80, 5, 0), m.proc("main", 0, 0x40), m.trampoline(0x90, 6, 0x100), m.trampoline(0xa0, 5, 0x800),
                                         m.proc("after", 0x100, 0x10)]),
           {0x1000: ["main /src/a.cc:10"], 0x107f: [], 0x1080: ["main"], 0x1084: ["main"], 0x1085: [], 0x1090: ["after"], 0x1095: ["after"], 0x1096: [],
            0x10a0: [], 0x1100: ["after"]}, judge=False)


def check_managed(gsym):
    """Functions of .NET are left out with all in them; what follows is not."""
    ids, parts = [m.func_id("tiny", 0)], [m.inlinees((0x1000, B, 5))]
    site = m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)])
    expect(gsym, "a function of .NET", program([m.managed("managed", 0x80, 0x10, site), m.proc("main", 0, 0x40, site)], parts, ids),
           {0x1000: ["main /src/a.cc:10"], 0x1004: ["tiny /src/b.h:5", "main /src/a.cc:10"], 0x1080: [], 0x1084: []}, judge=False)
    expect(gsym, "a function of .NET in a function", program([m.proc("main", 0, 0x40), m.Symbol(m.S_GMANPROC, b""), site, m.proc("after", 0x80, 0x10)], parts, ids),
           {0x1000: ["main /src/a.cc:10"], 0x1004: ["main /src/a.cc:10"], 0x1080: ["after"]}, judge=False)


def check_parts(gsym):
    """Parts of line information in any order, with other parts between, and of any length."""
    names = m.Names()
    table, (a, _) = m.files(names, "/src/a.cc", "/src/b.h")
    parts = [m.lines(0x100, 0x20, (a, [(0, 30), (0x10, 31)])), (0x8000_00f2, b"12345"), m.lines(0x40, 0x20, (a, [(0, 20)])),
             (0xfe, b"1"), m.lines(0, 0x20, (a, [(0, 10), (0x10, 11)])), (0xfd, b"123"), m.lines(0x20, 0x20, (a, [(0, 12)])), table]
    made = m.Pdb([m.Module("/src/a.obj", [m.proc("main", 0, 0x40), m.proc("next", 0x40, 0x20), m.proc("last", 0x100, 0x20)], parts)], names)
    expect(gsym, "parts in any order", made, {
        0x1000: ["main /src/a.cc:10"], 0x101f: ["main /src/a.cc:11"], 0x1020: ["main /src/a.cc:12"], 0x103f: ["main /src/a.cc:12"],
        0x1040: ["next /src/a.cc:20"], 0x105f: ["next /src/a.cc:20"], 0x1060: [], 0x1100: ["last /src/a.cc:30"], 0x111f: ["last /src/a.cc:31"]}, judge=False)


def check_publics(gsym):
    names = [("first", 0), ("?second@@YAXXZ", 0x40), ("data", 0, 2, 0), ("nowhere", 0, 7), ("last", 0xff0)]
    expect(gsym, "publics only", m.Pdb([], publics=names, types=[]),
           {0x1000: ["first"], 0x103f: ["first"], 0x1040: ["?second@@YAXXZ"], 0x1ff0: ["last"], 0x1fff: ["last"]}, judge=False)
    made = program(publics=[("_main", 0), ("after", 0x40)])
    expect(gsym, "publics beside a function", made, {0x1000: ["_main /src/a.cc:10"], 0x103f: ["_main /src/a.cc:12"], 0x1040: ["after"]}, judge=False)


def check_left_out(gsym):
    """Lines of functions that the linker left out lie at the place of another one, which is as large as its own."""
    lines = [m.lines(0, 0x80, (A, [(0, 20)])), m.lines(0, 0x20, (A, [(0, 30), (0x10, 31)])), m.lines(0, 0x30, (A, [(0, 40)]))]
    expect(gsym, "lines of functions left out", program([m.proc("main", 0, 0x20)], lines), {0x1000: ["main /src/a.cc:30"], 0x101f: ["main /src/a.cc:31"]},
           judge=False)


def check_public_names(gsym):
    """Functions are called as the last public at their start, and thunks and parts as their functions. Of folded ones the one that it names stands for all."""
    folded = m.Module("/src/b.obj", [m.proc("ns::g<ns::S>", 0, 0x40), m.proc("ns::f<ns::S>", 0, 0x40), m.trampoline(0x90, 5, 0x40), m.trampoline(0x98, 5, 0)],
                      contribution=(1, 0x90, 13))
    made = program([m.proc("folded", 0, 0x40), m.proc("g", 0x40, 0x10), m.proc("own", 0x50, 0x10), m.proc("one", 0x60, 0x10), m.proc("two", 0x60, 0x10),
                    m.sepcode(0x100, 0x20, 0)], more=[folded],
                   publics=[("?a@@YAXXZ", 0), ("??$f@VS@ns@@@ns@@YAXXZ", 0), ("?g@@YAXXZ", 0x40), ("label", 0x50, 1, 0), ("?inside@@YAXXZ", 0x58),
                            ("?other@@YAXXZ", 0x60)])
    frames = {0x1000: ["??$f@VS@ns@@@ns@@YAXXZ"], 0x103f: ["??$f@VS@ns@@@ns@@YAXXZ"], 0x1040: ["?g@@YAXXZ"], 0x1050: ["own"], 0x1060: ["?other@@YAXXZ"],
              0x1090: ["?g@@YAXXZ"], 0x1098: ["??$f@VS@ns@@@ns@@YAXXZ"], 0x1100: ["??$f@VS@ns@@@ns@@YAXXZ"]}
    expect(gsym, "publics of functions", made, frames, judge=False)
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.pdb")
        path.write_bytes(made.file())
        convert(gsym, path, f"{path}.gsym", "--merged-functions")
        told = peers.run([gsym, "lookup", "--merged-functions", "--no-demangle", f"{path}.gsym", "0x1000"])
        if [told.count(name) for name in ("??$f@VS@ns@@@ns@@YAXXZ", "folded", "ns::g<ns::S>", "ns::f")] != [1, 1, 1, 0]:
            failures.append(f"publics of folded functions: {told}")


def check_joined(gsym):
    """A program and its PDB: addresses from its base on, for every machine."""
    for machine, word in ((make_pe.AMD64, 8), (make_pe.I386, 4), (make_pe.ARM64, 8), (make_pe.ARMNT, 4)):
        with tempfile.TemporaryDirectory() as directory:
            made = make_pe.Maker(machine, 0x140000000 if word == 8 else 0x400000)
            made.add(".text", bytes(0x1000), make_pe.CODE)
            made.add(".data", bytes(0x1000))
            made.id(section=".rdata")
            path = pathlib.Path(directory, "y.exe")
            path.write_bytes(made.file())
            pathlib.Path(directory, "x.pdb").write_bytes(program(machine=machine).file())
            done = convert(gsym, path, f"{path}.gsym")
            got = show(frames.gsym(gsym, f"{path}.gsym", [made.base + 0x1010])[0]) if done.returncode == 0 else done.stderr
            if got != ["main /src/a.cc:11"]:
                failures.append(f"joined with a program of machine {machine:#x}: {got}")


# ---- Damaged ----

def damaged(gsym, what, data, exits=(0, 1), answers=None):
    """@answers: what has to be known at 0x1000 all the same."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.pdb")
        path.write_bytes(data)
        done = convert(gsym, path, f"{path}.gsym")
        if done.returncode not in exits or done.returncode == 1 and "x.pdb" not in done.stderr:
            failures.append(f"{what}: exit {done.returncode}: {done.stderr[-2000:]}")
        elif answers and done.returncode == 0:
            got = show(frames.gsym(gsym, f"{path}.gsym", [TEXT])[0])
            if got != answers:
                failures.append(f"{what}: {got}, not {answers}")


MAIN = ["main /src/a.cc:10"]


def check_container(gsym):
    def container(what, exits=(1,), **members):
        damaged(gsym, f"container: {what}", program(msf=members).file(), exits)
    streams = len(program().streams())
    container("whole", (0,))
    for page in (0, 1, 3, 0x100, 0x201, 0x300, 0x80000000, 0xffffffff):
        made = bytearray(program().file())
        struct.pack_into("<I", made, 32, page)
        damaged(gsym, f"container: pages of {page:#x}", bytes(made), (1,))
    container("directory beyond the file", directory_pages=[0x7fffffff])
    container("list of directory pages beyond the file", map_page=0xffffffff)
    container("directory of 4 GiB", directory_size=0xffffffff)
    container("directory of 3 bytes", directory_size=3)
    container("directory of no bytes", directory_size=0)
    container("more streams than the directory holds", n_streams=0xffffffff)
    container("no streams", n_streams=0)
    container("list of directory pages is itself", directory_pages=[0] * 4)
    for stream in range(1, streams):
        for size in (0xfffffffe, 0x7fffffff, 0x10000000):
            container(f"stream {stream} of {size:#x} bytes", (0, 1), sizes={stream: size})
        container(f"stream {stream} is not there", (0, 1), sizes={stream: 0xffffffff})
        pages = -(-len(program().streams()[stream]) // 0x200)
        container(f"stream {stream} beyond the file", (0, 1), pages={stream: [0x10000000] * pages})
        container(f"stream {stream} is the first page again and again", (0, 1), pages={stream: [0] * pages})
    # Every stream has the same pages; one stream is a page again and again.
    container("streams that overlap", (0, 1), pages={i: [4] * -(-len(s or b"") // 0x200) for i, s in enumerate(program().streams())})
    made = program(publics=[(f"name_{i}", 16 * i) for i in range(1000)])
    damaged(gsym, "container: a page again and again", m.Msf([s if i != 7 else s * 50 for i, s in enumerate(made.streams())],
                                                             pages={7: [4] * -(-50 * len(made.streams()[7]) // 0x200)}).file())
    whole = program().file()
    for size in (0, 16, 31, 32, 55, 56, 0x1ff, 0x200, 0x400, 0x600, len(whole) // 2, len(whole) - 0x200, len(whole) - 1):
        damaged(gsym, f"container: cut at {size:#x}", whole[:size], (0, 1) if size == len(whole) - 1 else (1,))


def check_headers(gsym):
    for index in range(20):
        for number in ((-1, 0, 0x7fffffff) if index == 0 else (0xffff, 0x7fff, 1) if index in (3, 4, 5, 6, 7, 8, 17, 18) else
                       (0xffffffff, 0x7fffffff, 0, 1, 3)):
            if index >= 9 and index <= 16 and number > 0x7fffffff:
                number = 0x80000001
            damaged(gsym, f"DBI header: number {index} is {number:#x}", program(header={index: number}, publics=[("main", 0)]).file())
    for stream in (1, 2, 3, 4, 5, 6, 7, 8):
        data = program(publics=[("main", 0)]).streams()[stream]
        for size in (0, 1, 4, 12, 27, 28, 55, 56, 63, 64, len(data) - 1):
            damaged(gsym, f"stream {stream} cut at {size}", program(replace={stream: data[:size]}, publics=[("main", 0)]).file())


def check_modules_damaged(gsym):
    def module(what, answers=MAIN, items=(), parts=(), **members):
        more = m.Module("bad.obj", items if isinstance(items, bytes) else list(items), list(parts), contribution=(1, 0x100, 0x100), **members)
        damaged(gsym, f"module: {what}", program(more=[more]).file(), (0,), answers)
    for numbers in ({"symbol_bytes": 0xffffffff}, {"symbol_bytes": 3}, {"c11_bytes": 0xfffffff0}, {"c13_bytes": 0xffffffff},
                    {"c13_bytes": 0x10000}, {"stream": 0xfffe}, {"stream": 3}, {"stream": 0}, {"stream": 1}):
        module(f"numbers {numbers}", items=[m.proc("f", 0x100, 0x20)], **numbers)
    signature = struct.pack("<I", 4)
    module("wrong signature", items=struct.pack("<I", 2) + m.record(m.S_END, b""))
    module("a record without length", items=signature + bytes(4))
    module("a record of one byte", items=signature + struct.pack("<HH", 1, m.S_GPROC32))
    module("a record beyond the module", items=signature + struct.pack("<HH", 0xffff, m.S_GPROC32) + bytes(32))
    module("a name that does not end", items=signature + struct.pack("<HH", 0x2f, m.S_GPROC32) + bytes(28) +
           struct.pack("<IHB", 0x100, 1, 0) + b"x" * 10)
    for places in ((0, 0), (4, 4), (0xffffffff, 0xffffffff), (0, 4), (0, 0x10000000), (8, 6)):
        module(f"a procedure with parent and end {places}", items=[
            m.proc("f", 0x100, 0x20, m.site(0x1000, [(m.DELTA, 4)], places=places), places=places)])
        module(f"a call with parent and end {places}", items=[m.proc("f", 0x100, 0x20, m.site(0x1000, [(m.DELTA, 4)], m.site(
            0x1000, [(m.DELTA, 4)], places=places), places=places))])
    module("ends without beginning", items=signature + m.record(m.S_END, b"") * 9 + m.record(m.S_INLINESITE_END, b"") * 9)
    module("beginnings without end", items=signature + m.record(m.S_GPROC32, m.proc("f", 0x100, 0x20).payload) * 9 +
           m.record(m.S_INLINESITE, bytes(12)) * 9)
    module("calls outside of functions", items=[m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)])])
    module("deep calls", items=[deep_calls(5000)])
    module("a function of 4 GiB", None, items=[m.proc("f", 0x100, 0xffffffff)])
    module("a function at the end of addresses", items=[m.proc("f", 0xfffffff0, 0x20)])
    for section in (0, 3, 0xffff):
        module(f"a function in section {section}", items=[m.proc("f", 0x100, 0x20, section=section)])
    lines = struct.pack("<IHHI", 0x100, 1, 0, 0x20)
    for what, body in (("no rows", lines), ("cut", lines[:7]), ("rows beyond", lines + struct.pack("<III", 0, 0xffffffff, 12)),
                       ("blocks of no size", lines + struct.pack("<III", 0, 0, 0) * 9),
                       ("a block of 4 GiB", lines + struct.pack("<III", 0, 1, 0xffffffff) + bytes(8)),
                       ("a file beyond the table", m.lines(0x100, 0x20, (0xffffff, [(0, 1)]))[1]),
                       ("a file inside of an entry", m.lines(0x100, 0x20, (3, [(0, 1)]))[1]),
                       ("rows outside of the code", m.lines(0x100, 0x20, (0, [(0x20, 1), (0xffffffff, 2), (0, 3)]))[1]),
                       ("the highest line", m.lines(0x100, 0x20, (0, [(0, 0xffffff)]))[1])):
        module(f"lines: {what}", items=[m.proc("f", 0x100, 0x20)], parts=[m.files(0, "")[0], (m.LINES, body)])
    for name in (0xffffffff, 0x10000, 1 << 31):
        module(f"a file whose name is at {name:#x}", items=[m.proc("f", 0x100, 0x20)],
               parts=[m.files(name, "")[0], m.lines(0x100, 0x20, (0, [(0, 1)]))])
    for kind in (m.LINES, m.CHECKSUMS, m.INLINEES, m.IMPORTS, m.EXPORTS, m.STRINGS, 0x8000_00f2, 0, 0xffffffff):
        for body in (b"", b"\1", bytes(4), b"\xff" * 4, b"\1\0\0\0" + b"\xff" * 28, b"\xff" * 100, bytes(100)):
            module(f"part {kind:#x} of {body[:8]}...", parts=[(kind, body)],
                   items=[m.proc("f", 0x100, 0x20, m.site(0x80000000, [(m.DELTA, 4)]))])
    for notes in (b"", b"\x03", b"\x03\x80", b"\x03\xc0\0", b"\xff" * 40, b"\x03\xe0\0\0\0", b"\x0b\xdf\xff\xff\xff" * 20, b"\x0c\xdf\xff\xff\xff" * 20,
                  b"\x06\xdf\xff\xff\xff" * 20 + b"\x03\1\4\4", b"\x05\xdf\xff\xff\xff\x03\1\4\4", b"\x02\5\x03\1\4\4", b"\x0e\1\x7f\x3f\x03\1\4\4"):
        module(f"annotations {notes[:6]}", items=[m.proc("f", 0x100, 0x20, m.site(0x1000, notes))])
    rng = random.Random(7)
    for i in range(60):
        module(f"random annotations {i}", items=[m.proc("f", 0x100, 0x20, m.site(0x1000, rng.randbytes(rng.randrange(1, 60)), m.site(
            0x1000, rng.randbytes(9))))])


def deep_calls(n):
    item = m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)])
    for _ in range(900):
        item = m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)], item)
    return m.proc("f", 0x100, 0x20, item, *[m.site(0x1000, [(m.DELTA, 4), (m.LENGTH, 4)]) for _ in range(n - 900)])


def check_types(gsym):
    def items(what, ids, types=(), number=0x1000):
        made = program([m.proc("main", 0, 0x40, m.site(number, [(m.DELTA, 0x12), (m.LENGTH, 4)]))], [m.inlinees((number, B, 5))], ids, types)
        damaged(gsym, f"ids: {what}", made.file(), (0,), MAIN)
    items("its own scope", [m.func_id("f", 0x1000)])
    items("its own class", [m.mfunc_id("f", 0x1000)], [m.mfunc_id("f", 0x1000)])
    items("two scopes in a circle", [m.func_id("f", 0x1001), m.string_id("s", 0x1001)])
    items("a list of itself", [m.func_id("f", 0x1001), m.string_id("s", 0x1002), m.substrings(0x1002, 0x1002, 0x1001, 0x1002)])
    doubled = [m.func_id("f", 0x1001), m.string_id("s", 0x1002)] + [m.substrings(0x1003 + i, 0x1003 + i) for i in range(40)] + [m.string_id("x" * 50)]
    items("a string of 2^40 parts", doubled)
    items("a scope that is none", [m.func_id("f", 0xfffff)])
    items("a name that does not end", b"\x0e\0\x01\x16" + bytes(8) + b"abcd")
    items("a record of no length", b"\0\0\x01\x16" + bytes(40))
    items("a record beyond the stream", b"\xff\xff\x01\x16" + bytes(40))
    for number in (0, 1, 0xfff, 0x1001, 0x7fffffff, 0x80000000, 0xffffffff):
        items(f"no id {number:#x}", [m.func_id("f")], number=number)
    for end, size in ((0xffffffff, None), (0x1000, None), (0, None), (None, 0xffffffff), (None, 0)):
        made = program([m.proc("main", 0, 0x40, m.site(0x1000, [(m.DELTA, 0x12), (m.LENGTH, 4)]))], [m.inlinees((0x1000, B, 5))])
        made.replace = {4: m.type_stream([m.func_id("f")], end, size)}
        damaged(gsym, f"ids: the stream ends at {end}, size {size}", made.file(), (0,), MAIN)


def check_omap_damaged(gsym):
    for what, pairs in (("backwards", [(0x1040, 0x3000), (0x1000, 0x3100)]), ("one address", [(0x1000, 0x3000)] * 500),
                        ("the end of addresses", [(0x1000, 0xfffffff0), (0x1020, 0xffffffff)]), ("nothing", []),
                        ("over one another", [(0x1000 + i, 0x3000) for i in range(0x40)])):
        made = program(omap_from=pairs, omap_to=[(b, a) for a, b in pairs])
        made.original = made.sections
        damaged(gsym, f"OMAP: {what}", made.file())


def check_random(gsym):
    """Bytes changed at random, the same ones every time."""
    made = program([m.proc("main", 0, 0x40, m.site(0x1001, [(m.LINE, 2), (m.DELTA, 4), (m.BOTH, 4, 1), (m.LENGTH, 8)])), m.thunk("t", 0x80, 6)],
                   [m.inlinees((0x1001, B, 5))], [m.string_id("ns"), m.func_id("tiny", 0x1000)], publics=[("main", 0), ("p", 0x60)])
    whole = made.file()
    rng = random.Random(15)
    for i in range(150):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 3, 20))):
            at = rng.randrange(len(data))
            data[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
        damaged(gsym, f"random {i}", bytes(data))


def check_refused(gsym):
    made = program(features=(20140508, 0x494e494d))
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.pdb")
        path.write_bytes(made.file())
        done = convert(gsym, path, f"{path}.gsym")
        if done.returncode != 1 or "FASTLINK" not in done.stderr:
            failures.append(f"/DEBUG:FASTLINK: exit {done.returncode}: {done.stderr}")


CHECKS = (check_functions, check_lines, check_inlined, check_annotations, check_modules, check_omap, check_omap_added, check_omap_joined, check_omap_many, check_separated, check_trampolines,
          check_managed, check_parts, check_entries, check_publics, check_left_out, check_public_names,
          check_joined, check_counted, check_cut, check_depth, check_apart, check_accounts, check_spent, check_refused, check_container, check_headers, check_modules_damaged, check_types, check_omap_damaged,
          check_random)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], CHECKS))
