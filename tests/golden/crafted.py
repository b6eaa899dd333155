#!/usr/bin/env python3
"""Object files crafted byte by byte, and what their conversions hold: a case for each thing that compilers do not
make on request, defects of llvm-gsymutil that this converter fixes among them (docs/design/upstream-defects.md).

    crafted.py GSYM [CASE...]

A case builds a file, converts it and compares the dump of its functions, or answers of lookups, with what is written
beside it. Addresses are shortened. Where it says so, llvm-gsymutil (if there is one) must agree.
"""
import lzma
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from bad import containers  # noqa: E402
from lib import format_test, make_elf, measure, peers, splitfile  # noqa: E402
from lib.craft import (C99, C_PLUS_PLUS, Die, Dwarf, Section, Sequence, Symbol, Unit, elf_bytes, symbol_section,  # noqa: E402
                       write)

NOTYPE, IFUNC = 0, 10
ADA95 = 13
NO_ROW, NO_CALL_FILE = "line row ignored: no such file", "inlined call dropped: no such file"
SEVERAL, MISNAMED = "several line sequences describe one function", "line sequence that a function names does not describe it"
BETWEEN, SAME_RANGE = "function starts between two line rows", "functions with equal range, different content"
CODE_MOVED = "section of code outside the executable segments, which tell where code is"
MISSING = "missing files that the input refers to:\n"
BAD_LINES, UNKNOWN_LINES = "line table ignored: damaged header", "line table ignored: unknown version"
HERE = pathlib.Path(__file__).resolve().parent
CASES = []
sys.setrecursionlimit(10000)  # of entries nested in entries


def case(function):
    CASES.append(function)
    return function


class Bench:
    """A directory, the program under test, and what went wrong."""

    def __init__(self, gsym, directory):
        self.gsym, self.directory = gsym, pathlib.Path(directory)
        self.peer = peers.find("llvm-gsymutil")
        self.bad = []

    def run(self, *argv, stdin=None):
        done = subprocess.run([str(a) for a in argv], input=stdin, capture_output=True, text=True, timeout=300,
                              cwd=self.directory)
        return done.stdout, done.stderr, done.returncode

    def build(self, *args, name="in", **options):
        return write(self.directory / name, *args, **options)

    def convert(self, *options, source="in", out="out.gsym", odd=()):
        """Converts and gives the summary. @odd: the kinds of warnings that the input has, and no others are told."""
        _, told, status = self.run(self.gsym, "convert", "--progress=never", *options, "-o", out, source)
        if status:
            self.bad.append(f"gsym convert {' '.join(options)}: exit {status}: {told}")
        else:
            self.bad += format_test.faults(self.gsym, self.directory / out)
        kinds = re.findall(r"(?m)^  (\S.*): \d+, first: ", told)
        if sorted(kinds) != sorted(odd):
            self.bad.append(f"gsym convert {' '.join(options)}: warnings {kinds}, not {list(odd)}")
        return told

    def theirs(self, *options, source="in", out="theirs.gsym"):
        self.run(self.peer, "--num-threads=1", f"--convert={source}", f"--out-file={out}", *options)
        return functions(self.run(self.peer, out)[0])

    def dump(self, out="out.gsym"):
        return functions(self.run(self.gsym, "dump", out)[0])

    def lookup(self, *addresses, out="out.gsym", options=()):
        return self.run(self.gsym, "lookup", *options, out, *addresses)[0]

    def expect(self, what, got, expected):
        expected = "\n".join(line.rstrip() for line in expected.strip("\n").splitlines())
        got = "\n".join(line.rstrip() for line in got.strip("\n").splitlines())
        if got != expected:
            self.bad.append(f"{what}:\n--- expected\n{expected}\n--- got\n{got}\n---")

    def expect_words(self, text, words):
        if words not in text:
            self.bad.append(f"{words!r} is not in:\n{text}")


def functions(dump):
    """The functions of a dump, without places in the file and leading zeros."""
    at = dump.find("FunctionInfo @")
    text = re.sub(r"FunctionInfo @ \w+: ", "", dump[at:] if at >= 0 else "")
    text = re.sub(r"(?m)^ *(LineTable:|CallSites \(.*)\n", "", text)
    return re.sub(r"0x0{8,}(?=[0-9a-f])", "0x", text)


# ---- Call sites ----

def callers(version, tag, return_pc, tail):
    """A function with a call at every depth, a tail call, an indirect call, and one as its last instruction."""
    callee = Die("subprogram", name="callee", low_pc=0x1100, high_pc=0x10)
    abroad = Die("subprogram", name="abroad", declaration=True, external=True)
    inlined = Die("subprogram", name="inlined", inline=1)
    origin = "call_origin" if version == 5 else "abstract_origin"

    def call(pc, **more):
        return Die(tag, **{return_pc: pc}, **more)
    caller = Die(
        "subprogram", call(0x1005, **{origin: callee}),
        Die("lexical_block", call(0x100a, **{origin: abroad}), low_pc=0x1006, high_pc=4),
        Die("inlined_subroutine", Die("lexical_block", call(0x1015, **{origin: callee}), low_pc=0x1010, high_pc=8),
            abstract_origin=inlined, low_pc=0x1010, high_pc=8, call_file=1, call_line=3),
        call(0x1019), call(0x101c, **{origin: callee, tail: True}), call(0x1020, **{origin: abroad}),
        name="caller", low_pc=0x1000, high_pc=0x20)
    return Unit(caller, callee, abroad, inlined, version=version if version == 4 else 4, language=C99,
                lines=[Sequence(0x1020, (0x1000, 1, 1)), Sequence(0x1110, (0x1100, 1, 9))])


@case
def call_sites_at_any_depth(b):
    expected = """
[0x1000 - 0x1020) "caller"
  0x1000 /src/a.c:1
InlineInfo:
[0x1000 - 0x1020) caller
  [0x1010 - 0x1018) inlined called from /src/a.c:3
  0x0005 Flags[InternalCall] MatchRegex[callee]
  0x000a Flags[ExternalCall] MatchRegex[abroad]
  0x0015 Flags[InternalCall] MatchRegex[callee]
  0x0019 Flags[None]
  0x0020 Flags[ExternalCall] MatchRegex[abroad]
[0x1100 - 0x1110) "callee"
  0x1100 /src/a.c:9
"""
    b.build([callers(5, "call_site", "call_return_pc", "call_tail_call")])
    b.convert("--dwarf-callsites")
    b.expect("DW_TAG_call_site", b.dump(), expected)
    b.build([callers(4, "GNU_call_site", "low_pc", "GNU_tail_call")])
    b.convert("--dwarf-callsites")
    b.expect("DW_TAG_GNU_call_site", b.dump(), expected)


def folded():
    """Two functions that identical code folding left one body of; an alias of the first."""
    lines = [Sequence(0x1010, (0x1000, 1, 5)), Sequence(0x1010, (0x1000, 1, 9))]
    one = Die("subprogram", name="one", decl_file=1, decl_line=5, low_pc=0x1000, high_pc=0x10,
              LLVM_stmt_sequence=lines[0])
    two = Die("subprogram", name="two", decl_file=1, decl_line=9, low_pc=0, high_pc=0x10, LLVM_stmt_sequence=lines[1])
    return dict(units=[Unit(one, two, language=C99, lines=lines)],
                symbols=[Symbol("one", 0x1000, 0x10), Symbol("alias", 0x1000, 0x10), Symbol("two", 0x1000, 0x10)])


@case
def versions_of_dwarf(b):
    """From 2 on, which compilers of 1993 wrote, to 5."""
    for version in range(1, 8):
        known = 2 <= version <= 5
        b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), version=version, language=C99)],
                symbols=[Symbol("s", 0x1100, 0x10)])
        b.convert(odd=() if known else ("unit skipped: unknown DWARF version",))
        b.expect(f"version {version}", "\n".join(re.findall(r'(?m)^\[.*"(\w+)"$', b.dump())), "f\ns" if known else "s")


@case
def listed_call_sites_of_merged_functions(b):
    b.build(**folded())
    (b.directory / "y").write_text("""functions:
- name: two
  callsites: [{return_offset: 4, match_regex: [a]}]
- name: alias
  callsites: [{return_offset: 8, match_regex: [b]}]
- name: one
  callsites: [{return_offset: 4, match_regex: [c], flags: [ExternalCall]}]
""")
    b.convert("--merged-functions", "--callsites-yaml-file=y")
    b.expect("merged, and an alias", b.dump(), """
[0x1000 - 0x1010) "one"
  0x1000 /src/a.c:5
  0x0008 Flags[None] MatchRegex[b]
  0x0004 Flags[ExternalCall] MatchRegex[c]
++ Merged FunctionInfos[0]:
    [0x1000 - 0x1010) "two"
      0x1000 /src/a.c:9
      0x0004 Flags[None] MatchRegex[a]
""")
    b.expect("lookup", b.lookup("0x1004", options=("--format=gsymutil", "--merged-functions")), """
Looking up addresses in "out.gsym":
Found 2 functions at address 0x0000000000001004:
   0x0000000000001004: one + 4 @ /src/a.c:5
      CallSites: c

   0x0000000000001004: two + 4 @ /src/a.c:9
      CallSites: a
""")


@case
def listed_call_sites_replace_those_of_dwarf(b):
    b.build([callers(5, "call_site", "call_return_pc", "call_tail_call")])
    (b.directory / "y").write_text("functions: [{name: caller, callsites: [{return_offset: 10, match_regex: [x, y]}, "
                                   "{return_offset: 0x19, match_regex: [], flags: [InternalCall]}]}]")
    def sites():
        return "\n".join(line for line in b.dump().splitlines() if "Flags[" in line)
    b.convert("--dwarf-callsites", "--callsites-yaml-file=y")
    b.expect("replaced", sites(), """
  0x0005 Flags[InternalCall] MatchRegex[callee]
  0x0015 Flags[InternalCall] MatchRegex[callee]
  0x0020 Flags[ExternalCall] MatchRegex[abroad]
  0x000a Flags[None] MatchRegex[x;y]
  0x0019 Flags[InternalCall]
""")
    b.convert("--dwarf-callsites", "--callsites-yaml-file=y", "--match-llvm")
    b.expect("appended", sites(), """
  0x0005 Flags[None] MatchRegex[callee]
  0x000a Flags[None] MatchRegex[abroad]
  0x0015 Flags[None] MatchRegex[callee]
  0x0019 Flags[None]
  0x0020 Flags[None] MatchRegex[abroad]
  0x000a Flags[None] MatchRegex[x;y]
  0x0019 Flags[InternalCall]
""")


@case
def listed_name_of_two_functions(b):
    """The first in the input is meant, wherever it lies."""
    b.build([Unit(Die("subprogram", name="same", low_pc=0x1100, high_pc=0x10), language=C99),
             Unit(Die("subprogram", name="same", low_pc=0x1000, high_pc=0x10), language=C99)])
    (b.directory / "y").write_text("functions: [{name: same, callsites: [{return_offset: 1, match_regex: []}]}]")
    b.convert("--callsites-yaml-file=y")
    b.expect("functions", b.dump(), """
[0x1000 - 0x1010) "same"
[0x1100 - 0x1110) "same"
  0x0001 Flags[None]
""")
    if b.peer:
        b.expect("llvm-gsymutil", b.theirs("--callsites-yaml-file=y"), b.dump())


# ---- Functions ----

@case
def dropped_range(b):
    """Only the range that the linker dropped is lost, not the function."""
    b.build([Unit(Die("subprogram", name="f", ranges=[(0, 0x8), (0x1000, 0x1010), (1, 1), (0x1100, 0x1108)]),
                  language=C99)])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"\n[0x1100 - 0x1108) "f"')


@case
def sound_range_lists(b):
    """Both forms are read without a complaint; one that ends too early is told."""
    for version in (4, 5):
        b.build([Unit(Die("subprogram", name="f", ranges=[(0x1000, 0x1010), (0x1100, 0x1108)]),
                      Die("subprogram", name="g", ranges=[(0x1200, 0x1210)]), language=C99, version=version)])
        b.convert()
        b.expect(f"version {version}", b.dump(), '[0x1000 - 0x1010) "f"\n[0x1100 - 0x1108) "f"\n[0x1200 - 0x1210) "g"')
    b.build([Unit(Die("subprogram", name="f", ranges=0x1000), Die("subprogram", name="g", ranges=[(0x1200, 0x1210)]), language=C99)])
    b.convert(odd=("range list damaged",))
    b.expect("damaged", b.dump(), '[0x1200 - 0x1210) "g"')


@case
def file_names_by_index(b):
    """DWARF 5: names of a line table may be indexes into .debug_str_offsets, in any size of index."""
    names = ("/src", "main.c", "inc.h")
    strings, offsets = b"", b"\x10\0\0\0\5\0\0\0"
    for name in names:
        offsets += len(strings).to_bytes(4, "little")
        strings += name.encode() + b"\0"
    rows = b"\0\x09\2" + (0x1000).to_bytes(8, "little") + b"\4\0\3\4\1" + b"\2\x08\4\1\3\2\1" + b"\2\x08\0\1\1"
    for form, index in ((0x1a, b"%c"), (0x25, b"%c"), (0x26, b"%c\0"), (0x27, b"%c\0\0"), (0x28, b"%c\0\0\0")):
        entries = b"\1\1" + bytes([form]) + b"\1" + index % 0 + b"\2\1" + bytes([form]) + b"\2\x0b\2" + index % 1 + b"\0" + index % 2 + b"\0"
        prologue = b"\1\1\1\xfb\x0e\x0d" + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + entries
        body = b"\5\0\x08\0" + len(prologue).to_bytes(4, "little") + prologue + rows
        b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99, version=5, str_offsets_base=8,
                      table=len(body).to_bytes(4, "little") + body)],
                more=[Section(".debug_str", strings), Section(".debug_str_offsets", offsets)])
        b.convert()
        b.expect(f"form {form:#x}", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/main.c:5\n  0x1008 /src/inc.h:7')


@case
def empty_linkage_name(b):
    b.build([Unit(Die("subprogram", name="f", linkage_name="", low_pc=0x1000, high_pc=0x10), language=C99)])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"')


@case
def file_index_past_the_list(b):
    """A row or inlined call of no file is dropped and counted; the rest of the function stays."""
    inlined = Die("subprogram", name="inlined", inline=1)
    b.build([Unit(
        Die("subprogram", Die("inlined_subroutine", abstract_origin=inlined, low_pc=0x1008, high_pc=4, call_file=7,
                              call_line=3),
            Die("inlined_subroutine", abstract_origin=inlined, low_pc=0x100c, high_pc=4, call_file=1, call_line=4),
            name="f", low_pc=0x1000, high_pc=0x10), inlined, language=C99,
        lines=[Sequence(0x1010, (0x1000, 1, 1), (0x1004, 9, 2), (0x1008, 1, 3))])])
    told = b.convert(odd=(NO_ROW, NO_CALL_FILE))
    b.expect("functions", b.dump(), """
[0x1000 - 0x1010) "f"
  0x1000 /src/a.c:1
  0x1008 /src/a.c:3
InlineInfo:
[0x1000 - 0x1010) f
  [0x100c - 0x1010) inlined called from /src/a.c:4
""")
    b.expect_words(told, "line row ignored: no such file: 1")
    b.expect_words(told, "inlined call dropped: no such file: 1")


@case
def rows_beyond_the_budget(b):
    """32 units share a line table that none has the budget for: symbols get no rows, and no unit offers an empty list."""
    told = b.convert(source=HERE / "samples/rows_beyond_budget.elf", odd=("unit cut short: shared parts would multiply its size",))
    b.expect_words(told, "2 from symbols")


@case
def calls_nested_beyond_the_limit(b):
    """Calls beyond GSYM's depth are dropped; blocks beyond ours are skipped, and what follows them is not."""
    inlined = Die("subprogram", name="inlined", inline=1)
    tree, blocks = [], []
    for i in range(1100):
        tree = [Die("inlined_subroutine", *tree, abstract_origin=inlined, low_pc=0x1000, high_pc=0x10, call_file=1, call_line=1)]
    for i in range(2100):
        blocks = [Die("lexical_block", *blocks)]
    b.build([Unit(Die("subprogram", *tree, name="f", low_pc=0x1000, high_pc=0x10),
                  Die("subprogram", *blocks, name="g", low_pc=0x1010, high_pc=0x10),
                  Die("subprogram", name="h", low_pc=0x1020, high_pc=0x10), inlined, language=C99,
                  lines=[Sequence(0x1030, (0x1000, 1, 7), (0x1010, 1, 8), (0x1020, 1, 9))])])
    told = b.convert(odd=("entries skipped: nested too deep", "inlined call dropped: nested too deep"))
    b.expect_words(told, "inlined call dropped: nested too deep: 1,")
    answers = b.lookup("0x1000", "0x1010", "0x1020")
    if answers.count("inlined at") != 1024:
        b.bad.append(f"{answers.count('inlined at')} calls")
    b.expect("the rest", answers[answers.index("g at"):], "g at /src/a.c:8\nh at /src/a.c:9\n")


@case
def missing_split_file(b):
    """Told once with its name; symbols and lines are still converted."""
    units = [Unit(GNU_dwo_name="gone.dwo", GNU_dwo_id=n, lines=[Sequence(a + 16, (a, 1, n))])
             for n, a in ((5, 0x1000), (6, 0x1100))]
    b.build(units, [Symbol("f", 0x1000, 0x10), Symbol("g", 0x1100, 0x10)])
    told = b.convert(odd=("unit is in a split file that is not here",))
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:5\n[0x1100 - 0x1110) "g"\n  0x1100 /src/a.c:6')
    b.expect_words(told, "unit is in a split file that is not here: 2")
    b.expect("missing", told.split(MISSING)[1], "  gone.dwo\n")
    b.build([Unit(GNU_dwo_name=name, GNU_dwo_id=n, lines=[Sequence(0x1010, (0x1000, 1, n))])
             for n, name in ((5, "a\nstate\tfailed.dwo"), (6, "state"), (7, "a"))], [Symbol("f", 0x1000, 0x10)])
    told = b.convert(odd=("unit is in a split file that is not here",))
    b.expect("names of several lines", told.split(MISSING)[1], "  a\\x0astate\\x09failed.dwo\n  state\n  a\n")


@case
def template_arguments(b):
    """Arguments that a name lacks are rebuilt from the parameters, unless one cannot be written, or a type contains itself."""
    number, unnamed = Die("base_type", name="int"), Die("class_type")
    loop, odd = Die("pointer_type"), Die("base_type", name="number")
    loop.attributes["type"] = loop
    of = {"f": (Die("template_type_parameter", type=Die("pointer_type", type=number)), Die("template_value_parameter", type=number, const_value=7)),
          "pack": (Die("GNU_template_parameter_pack", Die("template_type_parameter"), Die("template_type_parameter", type=number)),),
          "none": (Die("GNU_template_parameter_pack"),), "stored<int>": (Die("template_type_parameter", type=number),),
          "nameless": (Die("template_type_parameter", type=unnamed),), "valueless": (Die("template_value_parameter", type=number),),
          "unknown": (Die("template_value_parameter", type=odd, const_value=7),), "endless": (Die("template_type_parameter", type=loop),)}
    pointer = of["f"][0].attributes["type"]
    box = Die("class_type", Die("template_type_parameter", type=number), name="Box")
    functions = [Die("subprogram", *parameters, name=name, low_pc=0x1000 + 16 * i, high_pc=16)
                 for i, (name, parameters) in enumerate(of.items())]
    box.children += (Die("subprogram", Die("template_type_parameter", type=box), name="m", low_pc=0x1100, high_pc=16),
                     Die("subprogram", Die("template_type_parameter", type=number), name="linked", linkage_name="linked", low_pc=0x1110, high_pc=16))
    b.build([Unit(number, unnamed, loop, odd, pointer, box, *functions, language=C_PLUS_PLUS)])
    b.convert(odd=("chain of references too long",))
    names = re.findall('"(.*)"', b.dump())
    b.expect("names", "\n".join(names), "f<int *, 7>\npack<void, int>\nnone<>\nstored<int>\nnameless\nvalueless\nunknown\nendless\n"
             "Box<int>::m<Box<int> >\nlinked")


@case
def clang_modules(b):
    """A skeleton without code that names a module is no split unit; one with code is."""
    modules = [Unit(GNU_dwo_name="cache/M-1.pcm", GNU_dwo_id=n) for n in (5, 6)]
    b.build([*modules, Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99)])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"')
    b.build([Unit(GNU_dwo_name="cache/M-1.pcm", GNU_dwo_id=7, low_pc=0x1000, high_pc=0x10)], [Symbol("f", 0x1000, 0x10)])
    b.convert(odd=("unit is in a split file that is not here",))


@case
def line_sequences_named(b):
    """DW_AT_LLVM_stmt_sequence: the one it names; none for all ones; told when it names none that fits."""
    lines = [Sequence(0x1010, (0x1000, 1, 5)), Sequence(0x1010, (0x1000, 1, 9))]
    for named, line, odd in ((lines[0], 5, ()), (lines[1], 9, ()), (0xffffffff, 5, (SEVERAL,)), (1, 5, (SEVERAL, MISNAMED))):
        b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10, LLVM_stmt_sequence=named), lines=lines)])
        told = b.convert(odd=odd)
        b.expect(f"{named}", b.dump(), f'[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:{line}')
        if (MISNAMED in odd) != (f"{MISNAMED}: 1, first: .debug_info" in told):
            b.bad.append(f"{named}: {told}")


@case
def folded_lines_never_mixed(b):
    """Two sequences of one place, without a word whose they are: that behind the declaration, whole."""
    lines = [Sequence(0x1010, (0x1000, 1, 5), (0x1004, 1, 6)), Sequence(0x1010, (0x1000, 1, 9), (0x1008, 1, 10))]
    b.build([Unit(Die("subprogram", name="f", decl_file=1, decl_line=9, low_pc=0x1000, high_pc=0x10), lines=lines,
                  language=C99)])
    b.convert(odd=(SEVERAL,))
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:9\n  0x1008 /src/a.c:10')


@case
def lines_of_dropped_code(b):
    """Linkers leave them at 0, from where long ones reach code: of a symbol without lines, and of a function whose
    declaration they begin closest to."""
    lines = [Sequence(0x1100, (0, 1, 6), (0xff0, 1, 7)), Sequence(0x1020, (0x1010, 1, 9))]
    b.build([Unit(Die("subprogram", name="f", decl_file=1, decl_line=5, low_pc=0x1010, high_pc=0x10), lines=lines,
                  language=C99)], [Symbol("start", 0x1000, 0x10)])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "start"\n[0x1010 - 0x1020) "f"\n  0x1010 /src/a.c:9')


@case
def rows_that_cannot_be_seen(b):
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99,
                  lines=[Sequence(0x1010, (0x1000, 1, 5), (0x1004, 1, 8), (0x1004, 1, 6), (0x1006, 1, 6), (0x1008, 1, 7))])])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:5\n  0x1004 /src/a.c:6\n'
             '  0x1008 /src/a.c:7')


@case
def first_bytes_without_a_row(b):
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99,
                  lines=[Sequence(0x1010, (0x1004, 1, 5), (0x1008, 1, 6))])])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1004 /src/a.c:5\n  0x1008 /src/a.c:6')


@case
def part_without_rows(b):
    """The declaration's line stands for a function's start, not for a part elsewhere."""
    b.build([Unit(Die("subprogram", name="f", decl_file=1, decl_line=3, ranges=[(0x1000, 0x1010), (0x1100, 0x1110)]),
                  language=C99, lines=[Sequence(0x1210, (0x1200, 1, 9))])])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:3\n[0x1100 - 0x1110) "f"')


@case
def nested_function(b):
    b.build([Unit(Die("subprogram", name="host", low_pc=0x1000, high_pc=0x100),
                  Die("subprogram", name="nested", low_pc=0x1040, high_pc=0x10), language=C99)])
    b.convert()
    b.expect("behind the nested one", b.lookup("0x1044", "0x1060"), "nested+0x4 at ??:0\nhost+0x60 at ??:0")


@case
def function_within_a_skipped_declaration(b):
    """Entries inside a declaration are skipped by its sibling, but a member declared there has its scopes."""
    member, after = Die("subprogram", name="f", declaration=True), Die("namespace", Die("subprogram", name="g", low_pc=0x1010,
                                                                                       high_pc=0x10), name="after")
    declared = Die("subprogram", Die("structure_type", member, name="local"), name="host", declaration=True, sibling=after)
    b.build([Unit(Die("namespace", declared, after, name="outer"),
                  Die("subprogram", specification=member, low_pc=0x1000, high_pc=0x10), language=C_PLUS_PLUS)])
    b.convert()
    b.expect("names", b.dump(), '[0x1000 - 0x1010) "outer::host::local::f"\n[0x1010 - 0x1020) "outer::after::g"')


@case
def names_of_clones_and_aliases(b):
    """The symbol's name: what DWARF knows as f is f.cold, and the mangled name where DWARF has a short one."""
    b.build([Unit(Die("subprogram", name="f", ranges=[(0x1000, 0x1010), (0x1100, 0x1108)]),
                  Die("subprogram", name="make_ftype", low_pc=0x1200, high_pc=0x10), language=C_PLUS_PLUS,
                  lines=[Sequence(0x1210, (0x1000, 1, 1), (0x1100, 1, 1), (0x1200, 1, 1))])],
            [Symbol("f", 0x1000, 0x10), Symbol("f.cold", 0x1100, 8), Symbol("_Z10make_ftypePci", 0x1200, 0x10)])
    b.convert()
    def names():
        return "\n".join(line for line in b.dump().splitlines() if line.startswith("["))
    b.expect("by symbols", names(), '[0x1000 - 0x1010) "f"\n[0x1100 - 0x1108) "f.cold"\n'
             '[0x1200 - 0x1210) "_Z10make_ftypePci"')
    b.convert("--dwarf-names")
    b.expect("by DWARF", names(), '[0x1000 - 0x1010) "f"\n[0x1100 - 0x1108) "f"\n[0x1200 - 0x1210) "_Z10make_ftypePci"')


@case
def windows_paths(b):
    files = ("c:\\a.c", "c:\\src\\a.c", "\\\\host\\a.c", "c:/a.c")
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x40), language=C99, files=files,
                  lines=[Sequence(0x1040, *((0x1000 + 16 * n, n + 1, n + 1) for n in range(4)))])])
    b.convert()
    b.expect("paths", b.lookup("0x1000", "0x1010", "0x1020", "0x1030"),
             "\n".join(f"f at {path}:{n + 1}" for n, path in enumerate(files)))


@case
def copies_in_two_units(b):
    """Of entries as rich as each other the earlier unit's stays."""
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99, files=(name,),
                  lines=[Sequence(0x1010, (0x1000, 1, line))]) for name, line in (("first.c", 1), ("second.c", 2))])
    b.convert(odd=(SAME_RANGE,))
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/first.c:1')


# ---- Symbols ----

@case
def symbols_of_assembly(b):
    """Labels without type, indirect functions and functions without size; lines from whoever covers them."""
    b.build([Unit(lines=[Sequence(0x1060, (0x1000, 1, 1), (0x1010, 1, 2), (0x1020, 1, 3), (0x1030, 1, 4))])],
            [Symbol("entry", 0x1000, 0, NOTYPE), Symbol("resolver", 0x1010, 0x10, IFUNC), Symbol("bare", 0x1020, 0),
             Symbol("sized", 0x1030, 8), Symbol("_etext", 0x1060, 0, NOTYPE), Symbol("$x", 0x1020, 0, NOTYPE)])
    b.convert()
    b.expect("functions", b.dump(), """
[0x1000 - 0x1010) "entry"
  0x1000 /src/a.c:1
[0x1010 - 0x1020) "resolver"
  0x1010 /src/a.c:2
[0x1020 - 0x1030) "bare"
  0x1020 /src/a.c:3
[0x1030 - 0x1038) "sized"
  0x1030 /src/a.c:4
""")


@case
def assembly_beside_a_large_unit(b):
    """A unit of one entry has the lines of all its labels, and of aliases of one, whatever else the file has."""
    labels = [Symbol(f"label{i}", 0x1000 + 4 * i, 4, NOTYPE) for i in range(100)]
    aliases = [Symbol(f"alias{i}", 0x1190, 4, NOTYPE) for i in range(40)]
    other = [Die("subprogram", name=f"f{i}", low_pc=0x1800, high_pc=0x10) for i in range(1000)]
    b.build([Unit(lines=[Sequence(0x1194, *((0x1000 + 4 * i, 1, 1 + i) for i in range(101)))]),
             Unit(*other, language=C99, lines=[Sequence(0x1810, (0x1800, 1, 5))])], labels + aliases)
    b.convert(odd=(SAME_RANGE,))
    b.expect("the last label and the aliases", b.lookup("0x118c", "0x1190"), "label99 at /src/a.c:100\nalias39 at /src/a.c:101\n")


@case
def equal_labels(b):
    """Of labels that nothing tells apart the last one in the table is the name."""
    labels = [Symbol(name, 0x1000, 0, NOTYPE) for name in ("one", "two", "three")]
    for symbols, name in ((labels, "three"), (labels[::-1], "one"), ([*labels, Symbol("x_start", 0x1000, 0, NOTYPE)], "three"),
                          ([Symbol("sized", 0x1000, 0x1000, NOTYPE), *labels], "sized")):
        b.build(symbols=symbols)
        b.convert()
        b.expect(name, b.dump(), f'[0x1000 - 0x2000) "{name}"')


@case
def labels_of_ends(b):
    """A label for the end of something is a name only where a row begins."""
    b.build([Unit(lines=[Sequence(0x1040, (0x1000, 1, 1), (0x1010, 1, 2), (0x1020, 1, 3))])],
            [Symbol("entry", 0x1000, 0, NOTYPE), Symbol("last_end", 0x1020, 0, NOTYPE), Symbol("entry_end", 0x1018, 0, NOTYPE)])
    b.convert()
    b.expect("functions", b.dump(), """
[0x1000 - 0x1018) "entry"
  0x1000 /src/a.c:1
  0x1010 /src/a.c:2
[0x1020 - 0x2000) "last_end"
  0x1020 /src/a.c:3
""")


@case
def function_without_size_in_another(b):
    """It never takes bytes from one with a size."""
    b.build(symbols=[Symbol("host", 0x1000, 0x40), Symbol("inside", 0x1010, 0)])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1040) "host"')
    b.expect("lookup", b.lookup("0x1010", "0x1030"), "host+0x10 at ??:0\nhost+0x30 at ??:0")


@case
def stripped_library(b):
    table, names = symbol_section([Symbol("exported", 0x1000, 0x10)])
    b.build(more=[Section(".dynsym", table, 11, 2, 0, 3, 1, 24), Section(".dynstr", names, 3, 2)])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "exported"')


@case
def section_past_the_end(b):
    """A file that lacks bytes is converted all the same if functions are left; if none are, the message says what is missing."""
    for symbols in ([Symbol("f", 0x1000, 0x10)], []):
        data = bytearray(elf_bytes(symbols=symbols, more=[Section(".extra", b"1234")]))
        header = struct.unpack_from("<Q", data, 40)[0] + 2 * 64  # that of .extra
        struct.pack_into("<Q", data, header + 32, 0x100000)
        (b.directory / "in").write_bytes(data)
        if symbols:
            b.convert()
            b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"')
        else:
            _, told, status = b.run(b.gsym, "convert", "-o", "none.gsym", "in")
            at, end = struct.unpack_from("<Q", data, header + 24)[0], len(data)
            b.expect("without functions", f"{status} {told}", "1 gsym convert: in: no function found: may be truncated: section 2 at offset "
                     f"{at:#x} to {at + 0x100000:#x}, end of file at {end:#x}: copy it again\n")


@case
def entry_of_no_abbreviation(b):
    """What is before it is kept, and the summary says that the unit was cut short."""
    path = b.build([Unit(Die("subprogram", name="first", low_pc=0x1000, high_pc=0x10), Die("subprogram", name="second", low_pc=0x1010, high_pc=0x10),
                         language=C99, lines=[Sequence(0x1020, (0x1000, 1, 5))])])
    data = bytearray(path.read_bytes())
    data[data.index(b"second\0") - 1] = 99
    path.write_bytes(data)
    b.convert(odd=["unit cut short: damaged entry"])
    b.expect("functions", re.findall('".*"', b.dump())[0], '"first"')


@case
def names_of_ada(b):
    """Answers from an object file, before it is converted and after, show names as its language has them."""
    for language, name in ((ADA95, "pkg.work"), (C99, "pkg__work")):
        b.build([Unit(Die("subprogram", name="pkg__work", low_pc=0x1000, high_pc=0x10), language=language,
                      lines=[Sequence(0x1010, (0x1000, 1, 5))])], name=f"in{language}", build_id=bytes([language]) * 20)
        for what in ("first", "again"):
            answer, told, _ = b.run(b.gsym, "lookup", "--cache=cache", f"in{language}", "0x1004")
            b.expect(f"language {language}, {what}", answer + told, f"{name} at /src/a.c:5\n")


@case
def languages_that_qualify(b):
    """Those of dwarfstd.org for C++17, 20 and 23 as C++14; C17 and Fortran 2018, which are between them, as C."""
    scope = Die("namespace", Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), name="ns")
    for language, name in ((C_PLUS_PLUS, "ns::f"), (0x2a, "ns::f"), (0x2b, "ns::f"), (0x3a, "ns::f"), (0x2c, "f"), (0x2d, "f")):
        b.build([Unit(scope, language=language, lines=[Sequence(0x1010, (0x1000, 1, 5))])])
        b.convert()
        b.expect(f"language {language:#x}", b.dump(), f'[0x1000 - 0x1010) "{name}"\n  0x1000 /src/a.c:5')


@case
def last_function_without_size(b):
    """--match-llvm stretches it to the end of the code, the one size that llvm-gsymutil infers."""
    b.build(symbols=[Symbol("first", 0x1000, 0), Symbol("last", 0x1800, 0)])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1800) "first"\n[0x1800 - 0x2000) "last"')
    b.convert("--match-llvm")
    b.expect("--match-llvm", b.dump(), '[0x1000 - 0x1000) "first"\n[0x1800 - 0x2000) "last"')
    if b.peer:
        b.expect("llvm-gsymutil", b.theirs(), b.dump())


@case
def uuid_in_another_section(b):
    """A kernel has its build id in .notes, behind others."""
    def note(kind, data):
        return len(b"GNU\0").to_bytes(4, "little") + len(data).to_bytes(4, "little") + kind.to_bytes(4, "little") + b"GNU\0" + data
    b.build(symbols=[Symbol("f", 0x1000, 0x10)], more=[Section(".notes", note(1, bytes(4)) + note(3, b"0123456789abcdefghij"), 7, 2)])
    b.convert()
    b.expect_words(b.run(b.gsym, "dump", "out.gsym")[0], "UUID         = " + b"0123456789abcdefghij".hex())


@case
def debugdata(b):
    inner = elf_bytes(symbols=[Symbol("stripped", 0x1000, 0x10), Symbol("exported", 0x1040, 0x10)])
    table, names = symbol_section([Symbol("exported", 0x1040, 0x10)])
    b.build(more=[Section(".dynsym", table, 11, 2, 0, 3, 1, 24), Section(".dynstr", names, 3, 2),
                  Section(".gnu_debugdata", lzma.compress(inner))])
    b.convert()
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "stripped"\n[0x1040 - 0x1050) "exported"')


# ---- Mode bits ----

@case
def thumb_functions_of_assembly(b):
    """gas leaves the Thumb bit of a symbol in DW_AT_low_pc: no part of the address, there or in lists and line tables."""
    units = [Unit(Die("subprogram", name="strrchr", low_pc=0x1001, high_pc=0x10),
                  Die("subprogram", name="listed", ranges=[(0x1021, 0x1031), (0x1041, 0x1049)]), language=C99,
                  lines=[Sequence(0x1010, (0x1000, 1, 5), (0x1004, 1, 6)), Sequence(0x1031, (0x1021, 1, 8), (0x1025, 1, 9))])]
    dwarf = Dwarf(units, wide=False)
    e = make_elf.Maker(make_elf.EM_ARM, wide=False)
    e.add(".text", make_elf.CODE, 0x1000, bytes(0x100))
    for name in ("info", "abbrev", "line", "ranges"):
        e.add(f".debug_{name}", 0, 0, bytes(getattr(dwarf, name)))
    e.add_symbols(".symtab", [("strrchr", 0x1001, 0x10, make_elf.STT_FUNC, ".text"), ("rindex", 0x1001, 0x10, make_elf.STT_FUNC, ".text"),
                              ("listed", 0x1021, 0x10, make_elf.STT_FUNC, ".text")])
    (b.directory / "in").write_bytes(e.file())
    b.convert()
    b.expect("functions", b.dump(), """
[0x1000 - 0x1010) "rindex"
  0x1000 /src/a.c:5
  0x1004 /src/a.c:6
[0x1020 - 0x1030) "listed"
  0x1020 /src/a.c:8
  0x1024 /src/a.c:9
[0x1040 - 0x1048) "listed"
""")
    b.expect("the end", b.lookup("0x100f", "0x1010", "0x1030"), "rindex at /src/a.c:6\n?? at ??:0\n?? at ??:0")
    b.expect("second opinion", str(b.run(b.gsym, "verify", "out.gsym", "--against", "in")[2]), "0")


# ---- Symbols around entries ----

def patchable(symbols, *more, **entry):
    """f, whose entry begins 8 bytes later than its symbol, in the code that gcc 12 makes of -fpatchable-function-entry=2."""
    inlined = Die("subprogram", name="inlined", inline=1)
    f = Die("subprogram", Die("inlined_subroutine", abstract_origin=inlined, low_pc=0x1030, high_pc=8, call_file=1, call_line=22),
            name="f", **(entry or {"low_pc": 0x1028, "high_pc": 0x18}))
    before = Die("subprogram", name="before", low_pc=0x1000, high_pc=0x20)
    lines = [Sequence(0x1040, (0x1000, 1, 10), (0x1010, 1, 11), (0x1028, 1, 20), (0x1030, 1, 3), (0x1038, 1, 23))]
    return dict(units=[Unit(before, f, inlined, *more, language=C99, lines=lines)],
                symbols=[Symbol("before", 0x1000, 0x20), *symbols])


@case
def symbol_before_the_entry(b):
    """One record: the symbol's range and name, the rows of the table, the calls of the entry."""
    expected = """
[0x1000 - 0x1020) "before"
  0x1000 /src/a.c:10
  0x1010 /src/a.c:11
[0x1020 - 0x1040) "f.constprop.0"
  0x1020 /src/a.c:11
  0x1028 /src/a.c:20
  0x1030 /src/a.c:3
  0x1038 /src/a.c:23
InlineInfo:
[0x1020 - 0x1040) f.constprop.0
  [0x1030 - 0x1038) inlined called from /src/a.c:22
"""
    b.build(**patchable([Symbol("f.constprop.0", 0x1020, 0x20)]))
    b.convert(odd=(BETWEEN,))
    b.expect("functions", b.dump(), expected)
    b.expect("lookup", b.lookup("0x1024", "0x1030", options=("--format=tsv",)),
             "0x1024\t0\tf.constprop.0\t0x4\t/src/a.c\t11\t-\tout.gsym\tf.constprop.0\n"
             "0x1030\t0\tinlined\t0x0\t/src/a.c\t3\ti\tout.gsym\tinlined\n"
             "0x1030\t1\tf.constprop.0\t0x10\t/src/a.c\t22\t-\tout.gsym\tf.constprop.0")
    b.expect("second opinion", str(b.run(b.gsym, "verify", "out.gsym", "--against", "in")[2]), "0")
    b.convert("--dwarf-names", odd=(BETWEEN,))
    b.expect("--dwarf-names", b.dump(), expected.replace(".constprop.0", ""))
    b.build(**patchable([Symbol("f", 0x1020, 0x20), Symbol("f.constprop.0", 0x1020, 0x20)]))
    b.convert(odd=(BETWEEN,))
    b.expect("aliases", b.dump(), expected)
    b.build(**patchable([Symbol("f.constprop.0", 0x1020, 0x20)], Die("subprogram", name="f", low_pc=0x1028, high_pc=0x18)))
    b.convert(odd=(BETWEEN, SAME_RANGE))
    b.expect("two entries of one range", b.dump(), expected)


@case
def symbol_before_the_entry_of_a_part(b):
    """The sequence of a section of its own begins with the entry: that row is also that of what precedes it."""
    f = Die("subprogram", name="f", decl_file=1, decl_line=5, low_pc=0x1008, high_pc=8)
    b.build([Unit(f, language=C99, lines=[Sequence(0x1010, (0x1008, 1, 9)), Sequence(0x1010, (0x1008, 1, 5), (0x100c, 1, 6))])],
            [Symbol("f", 0x1000, 0x10)])
    b.convert(odd=(SEVERAL,))
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:5\n  0x100c /src/a.c:6')
    b.expect("lookup", b.lookup("0x1004", "0x1008"), "f at /src/a.c:5\nf at /src/a.c:5")


@case
def symbol_before_the_entry_and_its_unit(b):
    """Where the unit's ranges begin with the entry, no row of another function holds before it."""
    for ranges, line in (([(0x1000, 0x1018), (0x1028, 0x1040)], 20), ([(0x1000, 0x1040)], 11)):
        parts = patchable([Symbol("f.constprop.0", 0x1020, 0x20)])
        parts["units"][0].die.attributes["ranges"] = ranges
        b.build(**parts)
        b.convert(odd=(BETWEEN,) if line == 11 else ())
        b.expect(f"ranges of {len(ranges)}", b.lookup("0x1020", "0x1027", "0x1028"),
                 f"f.constprop.0 at /src/a.c:{line}\nf.constprop.0 at /src/a.c:{line}\nf.constprop.0 at /src/a.c:20")


@case
def symbols_that_are_not_the_entrys(b):
    """A symbol of other code, or of several functions, stays apart from the entry behind its start."""
    def names():
        return "\n".join(line for line in b.dump().splitlines() if re.match(r'\[.*"$', line))
    for what, symbols, kept in (
            ("__pfx_", [Symbol("__pfx_f", 0x1020, 8), Symbol("f", 0x1028, 0x18)], '0x1028) "__pfx_f"'),
            ("the entry's own", [Symbol("wide", 0x1020, 0x20), Symbol("f", 0x1028, 0x18)], '0x1040) "wide"'),
            ("no size", [Symbol("open", 0x1020, 0)], '0x2000) "open"'),
            ("too short", [Symbol("short", 0x1020, 0x10)], '0x1030) "short"'),
            ("another name", [Symbol("outer", 0x1020, 0x20)], '0x1040) "outer"')):
        b.build(**patchable(symbols))
        b.convert(odd=(BETWEEN,))
        b.expect(what, names(), f'[0x1000 - 0x1020) "before"\n[0x1020 - {kept}\n[0x1028 - 0x1040) "f"')
    b.build(**patchable([Symbol("both", 0x1020, 0x30)], Die("subprogram", name="g", low_pc=0x1040, high_pc=8)))
    b.convert(odd=(BETWEEN,))
    b.expect("two functions", names(), '[0x1000 - 0x1020) "before"\n[0x1020 - 0x1050) "both"\n[0x1028 - 0x1040) "f"\n'
             '[0x1040 - 0x1048) "g"')
    b.build(**patchable([Symbol("f", 0x1020, 0x20)], ranges=[(0x1020, 0x1024), (0x1028, 0x1040)]))
    b.convert(odd=(BETWEEN,))
    b.expect("two parts of a function", names(), '[0x1000 - 0x1020) "before"\n[0x1020 - 0x1024) "f"\n[0x1020 - 0x1040) "f"\n'
             '[0x1028 - 0x1040) "f"')


# ---- Many units ----

@case
def the_same_for_any_number_of_threads(b):
    """Functions that several units have, of which one is chosen; strings and files that they share."""
    units = [Unit(Die("subprogram", name=f"f{n % 7}", low_pc=0x1000 + n % 7 * 0x10, high_pc=0x10), language=C99,
                  files=(f"{n % 5}.c",), name=f"{n % 5}.c", comp_dir=f"/src/{n % 3}",
                  lines=[Sequence(0x1010 + n % 7 * 0x10, (0x1000 + n % 7 * 0x10, 1, n + 1))]) for n in range(300)]
    b.build(units)
    files = set()
    for n in (1, 2, 7, 7, 7):
        b.convert(f"--num-threads={n}", odd=(SAME_RANGE,))
        files.add((b.directory / "out.gsym").read_bytes())
    b.expect("different files", str(len(files)), "1")


@case
def memory_does_not_grow_with_the_file(b):
    """Pages of .debug_info that were read are given back: 192 MB of units in a fraction of that."""
    filler = [Die("structure_type", name=f"type_{n:08}") for n in range(4000)]
    unit = Unit(*filler, Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99, files=())
    if os.fork() == 0: # the kernel counts what this process had at its peak as its children's
        dwarf = Dwarf([unit])
        for name, size in (("small", 8 << 20), ("large", 192 << 20)):
            b.build(more=[Section(".debug_info", bytes(dwarf.info) * (size // len(dwarf.info))),
                          Section(".debug_abbrev", bytes(dwarf.abbrev))], name=name)
        os._exit(0)
    os.wait()
    peaks = {}
    for name in ("small", "large"):
        _, peaks[name], status = measure.once([b.gsym, "convert", "--quiet", "--num-threads=2", "-o",
                                               b.directory / "out.gsym", b.directory / name])
        b.expect(name, str(status), "0")
    if os.environ.get("VERBOSE"):
        print(peaks)
    if peaks["large"] > peaks["small"] + (64 << 10):
        b.bad.append(f"peak memory in KiB: {peaks}")


@case
def segments_of_relative_paths(b):
    """A unit without a directory, cut into segments."""
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x50), language=C99, comp_dir="",
                  lines=[Sequence(0x1050, (0x1000, 1, 10), (0x1010, 1, 11))])])
    b.convert("--segment-size=100000")
    b.expect("functions", b.dump("out.gsym-0x1000"), '[0x1000 - 0x1050) "f"\n  0x1000 a.c:10\n  0x1010 a.c:11')


PT_LOAD, PT_NOTE = 1, 4


def with_segments(data, *segments):
    """The file with program headers: (type, offset, address, size in the file, alignment) each."""
    out = bytearray(data) + bytes(-len(data) % 8)
    struct.pack_into("<Q", out, 32, len(out))
    struct.pack_into("<HH", out, 54, 56, len(segments))
    for kind, off, addr, size, align in segments:
        out += struct.pack("<IIQQQQQQ", kind, 5, off, addr, addr, size, size, align)
    return bytes(out)


@case
def base_addresses(b):
    """The base is the address of the first segment that is loaded, in the order of the table, unless a function is below it."""
    plain = elf_bytes(symbols=[Symbol("f", 0x1000, 0x10)])

    def check(what, expected, *segments):
        (b.directory / "in").write_bytes(with_segments(plain, *segments) if segments else plain)
        b.convert(odd=(CODE_MOVED,) if segments else ())
        base = re.search(r"BaseAddress += 0x0*([0-9a-f]+)$", b.run(b.gsym, "dump", "out.gsym")[0], re.M)
        b.expect(what, base[1] if base else "none", expected)
    check("no segments", "1000")
    check("one", "400", (PT_LOAD, 0, 0x400, 0x100, 8))
    check("one without bytes", "400", (PT_LOAD, 0, 0x400, 0, 8))
    check("two", "800", (PT_LOAD, 0, 0x800, 0x100, 8), (PT_LOAD, 0, 0x400, 0x100, 8))
    check("another kind before", "800", (PT_NOTE, 0, 0x400, 0, 8), (PT_LOAD, 0, 0x800, 0x100, 8))
    check("at the function", "1000", (PT_LOAD, 0, 0x1000, 0x100, 8))
    check("above the function", "1000", (PT_LOAD, 0, 0x1001, 0x100, 8))


def elf_note(owner, kind, description, align=4):
    out = struct.pack("<3I", len(owner), len(description), kind) + owner
    out += bytes(-len(out) % align) + description
    return out + bytes(-len(out) % align)


@case
def build_ids(b):
    """The first note of GNU's kind that fits, of any section of notes; where no section has one, of a segment."""
    plain = elf_bytes(symbols=[Symbol("f", 0x1000, 0x10)])
    one, two = bytes(range(20)), bytes(range(100, 108))
    gnu = elf_note(b"GNU\0", 3, one)

    def check(what, expected, notes=(), segments=()):
        more = [Section(f".note.{i}", data, 7 if kind else 1) for i, (kind, data) in enumerate(notes)]
        data = elf_bytes(symbols=[Symbol("f", 0x1000, 0x10)], more=more) if more else plain
        if segments:
            at = len(data)
            data += b"".join(s for s, _ in segments)
            headers = []
            for body, align in segments:
                headers.append((PT_NOTE, at, 0x400, len(body), align))
                at += len(body)
            data = with_segments(data, *headers)
        (b.directory / "in").write_bytes(data)
        b.convert()
        found = re.search(r"UUID += ([0-9a-f]+)$", b.run(b.gsym, "dump", "out.gsym")[0], re.M)
        b.expect(what, found[1] if found else "none", expected.hex() or "none")
    check("none", b"")
    check("one", one, [(True, gnu)])
    check("behind others", one, [(True, elf_note(b"GNU\0", 1, b"abi!") + elf_note(b"Xen\0", 3, two) + elf_note(b"GNUX\0", 3, two) + gnu)])
    check("in the second section", one, [(True, elf_note(b"GNU\0", 1, b"abi!")), (True, gnu)])
    check("the first of two", one, [(True, gnu + elf_note(b"GNU\0", 3, two))])
    check("in another kind of section", b"", [(False, gnu)])
    check("of 64 bytes", bytes(64), [(True, elf_note(b"GNU\0", 3, bytes(64)))], ())
    check("of 65 bytes", two, [(True, elf_note(b"GNU\0", 3, bytes(65)) + elf_note(b"GNU\0", 3, two))])
    check("cut", b"", [(True, gnu[:-1])])
    check("in a segment", one, segments=[(gnu, 4)])
    check("in a segment aligned to 8", one, segments=[(elf_note(b"GNU\0", 1, b"abi!", 8) + elf_note(b"GNU\0", 3, one, 8), 8)])
    check("in the second segment", one, segments=[(elf_note(b"GNU\0", 1, b"abi!"), 4), (gnu, 4)])
    check("in a section before that in a segment", two, [(True, elf_note(b"GNU\0", 3, two))], [(gnu, 4)])


# ---- Files beside the input ----

@case
def split_files(b):
    """Found by the compiler's path, beside the program by that and by its last name, below debug directories; by id only."""
    here = b.directory

    def check(what, name, directory, files, expected, options=("--debug-dir=none", "--debug-dir=debug", "--debug-dir=more")):
        """@files: where there are .dwo files, and the numbers of their units: that of the program has 0."""
        for at, number in files.items():
            (here / at).parent.mkdir(parents=True, exist_ok=True)
            splitfile.make_dwo(here / at, number, f"{pathlib.Path(at).parent.name or 'here'}_{number}")
        (here / "bin").mkdir(exist_ok=True)
        splitfile.make_skeletons(here / "bin/in", b"12345678", [(name, directory)], symbol=False)
        _, told, status = b.run(b.gsym, "convert", "--progress=never", *options, "-o", "out.gsym", "bin/in")
        b.expect(what, re.sub(r'(?s).*"(\w+)".*', r"\1", b.dump()) if status == 0 else "none", expected or "none")
        b.expect(f"{what}: missing", str(f"missing files that the input refers to:\n  {name}\n" in told or "no function found" in told), str(not expected))
        for at in files:
            (here / at).unlink()
    below = str(here).lstrip("/")
    check("nowhere", "x.dwo", str(here / "src"), {}, "")
    check("in its directory", "x.dwo", str(here / "src"), {"src/x.dwo": 0}, "src_0")
    check("an absolute path", str(here / "abs/x.dwo"), str(here / "src"), {"abs/x.dwo": 0}, "abs_0")
    check("beside the program", "x.dwo", str(here / "src"), {"bin/x.dwo": 0}, "bin_0")
    check("below the program", "sub/x.dwo", str(here / "src"), {"bin/sub/x.dwo": 0}, "sub_0")
    check("its last name beside the program", "sub/x.dwo", str(here / "src"), {"bin/x.dwo": 0}, "bin_0")
    check("the last name of an absolute path", str(here / "abs/x.dwo"), "", {"bin/x.dwo": 0}, "bin_0")
    check("below a debug directory", "x.dwo", str(here / "src"), {f"debug/{below}/src/x.dwo": 0}, "src_0")
    check("below the second one", "x.dwo", str(here / "src"), {f"more/{below}/src/x.dwo": 0}, "src_0")
    check("an absolute path below a debug directory", str(here / "abs/x.dwo"), "", {f"debug/{below}/abs/x.dwo": 0}, "abs_0")
    check("a relative directory below a debug directory", "x.dwo", "rel", {"debug/rel/x.dwo": 0}, "rel_0")
    check("a relative directory", "x.dwo", "src", {"src/x.dwo": 0}, "src_0")
    check("no directory", "src/x.dwo", "", {"src/x.dwo": 0}, "src_0")
    check("without the directory", "x.dwo", str(here / "src"), {"debug/x.dwo": 0}, "")
    check("of an older build", "x.dwo", str(here / "src"), {"src/x.dwo": 1}, "")
    check("of an older build in the first place", "x.dwo", str(here / "src"), {"src/x.dwo": 1, "bin/x.dwo": 0}, "bin_0")
    check("the first of several", "x.dwo", str(here / "src"), {"src/x.dwo": 0, "bin/x.dwo": 0, f"debug/{below}/src/x.dwo": 0}, "src_0")
    check("the second of several", "sub/x.dwo", str(here / "src"), {"bin/sub/x.dwo": 0, "bin/x.dwo": 0, f"debug/{below}/src/sub/x.dwo": 0}, "sub_0")
    check("the third of several", "sub/x.dwo", str(here / "src"), {"bin/x.dwo": 0, f"debug/{below}/src/sub/x.dwo": 0}, "bin_0")


@case
def damaged_packages(b):
    """A section that is lost costs what needs it; the file and the section are named, and no file that is there is missing."""
    part, units = "part of a unit lost: its split file is damaged", containers.UNITS
    gone = "unit is in a split file that is not here"
    splitfile.make_skeletons(b.directory / "in", b"12345678", [("x.dwo", "/nowhere")] * units, symbol=False)

    def check(what, damage, kept, words, odd=(part,)):
        package = containers.Package()
        data = damage(package) or package.data()
        (b.directory / "in.dwp").write_bytes(data)
        told = b.convert("--symtab-file=symbols", odd=odd)
        b.expect(what, "".join(re.findall('"(f.)"', b.dump())), kept)
        b.expect_words(told, words)
        b.expect(f"{what}: missing", str(MISSING in told), str(gone in odd))
    b.build(symbols=[Symbol("g", splitfile.address(units), 0x10)], name="symbols")
    names = "".join(f"f{i}" for i in range(units))

    def lacks(column):
        def damage(package):
            package.columns.append(column)
            for row in package.table:
                row.append([0, 8])
        return damage

    def cut(column):
        def damage(package):
            package.table[2][column][0] = 1 << 20
        return damage
    check("sound", lambda package: None, names, "functions: 6 from", ())
    check("ranges", lacks(8), names, f"{part}: 6, first: in.dwp: .debug_rnglists.dwo+0x0")
    check("strings", lacks(6), names, f"{part}: 6, first: in.dwp: .debug_str_offsets.dwo+0x0")
    check("entries", cut(0), "f0f1f3f4f5", f"{part}: 1, first: in.dwp: .debug_info.dwo+0x100000")
    check("abbreviations", cut(1), "f0f1f3f4f5", f"{part}: 1, first: in.dwp: .debug_abbrev.dwo+0x100000")
    check("the index", lambda package: package.data().replace(b".debug_cu_index", b".debug_cu_indez"), "", f"{part}: 6, first: in.dwp: .debug_cu_index+0x0")
    check("the header", lambda package: b"\x7fELF" + bytes(100), "", f"{part}: 6, first: in.dwp: .debug_cu_index+0x0")
    check("a unit that is not listed", lambda package: package.rows.__setitem__(2, 0), "f0f2f3f4f5", f"{gone}: 1", (gone,))
    splitfile.make_skeletons(b.directory / "in", b"12345678", [("x.dwo", "/nowhere")], symbol=False)
    (b.directory / "in.dwp").unlink()
    for text in (b"\x7fELF" + bytes(100), splitfile.elf([(".debug_infp.dwo", 1, 0, 0, b"a", 0, 0)], 1)):
        (b.directory / "x.dwo").write_bytes(text)
        told = b.convert("--symtab-file=symbols", odd=(part,))
        b.expect_words(told, f"{part}: 1, first: x.dwo+0x0")
        b.expect("a damaged .dwo file: missing", str(MISSING in told), "False")


@case
def symbols_from_another_file(b):
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99,
                  lines=[Sequence(0x1010, (0x1000, 1, 5))])])
    b.build(symbols=[Symbol("f", 0x1000, 0x10), Symbol("g", 0x1100, 0x10)], name="symbols")
    b.convert("--symtab-file=symbols")
    b.expect("--symtab-file", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:5\n[0x1100 - 0x1110) "g"')
    b.convert("--debug-file=in", source="symbols")
    b.expect("--debug-file", b.dump(), '[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:5\n[0x1100 - 0x1110) "g"')


@case
def symbols_of_another_architecture(b):
    symbols = [Symbol("f", 0x1000, 0x10)]
    b.build(symbols=symbols)
    b.build(symbols=symbols, machine=183, name="arm")
    for option in ("--symtab-file=arm", "--debug-file=arm"):
        _, told, status = b.run(b.gsym, "convert", "--quiet", option, "-o", "no.gsym", "in")
        b.expect(option, f"{told}{status}", "gsym convert: in: arm: its architecture is aarch64, that of in is x86_64\n1")


@case
def damaged_debugdata(b):
    b.build(symbols=[Symbol("f", 0x1000, 0x10)], more=[Section(".gnu_debugdata", b"\xfd7zXZ\0" + bytes(range(40)))])
    b.expect_words(b.convert(odd=("section ignored: damaged",)), "section ignored: damaged: 1, first: .gnu_debugdata+0x0")
    b.expect("functions", b.dump(), '[0x1000 - 0x1010) "f"')


def debug_link(name, data):
    """.gnu_debuglink: a name, zeros up to a multiple of four, the CRC of the file."""
    text = name.encode() + b"\0"
    return Section(".gnu_debuglink", text + bytes(-len(text) % 4) + struct.pack("<I", zlib.crc32(data)))


@case
def debug_files(b):
    """By build id below debug directories, by name beside the file, in .debug/ and below debug directories, as a namesake there."""
    id, other = b"0123456789abcdefghij", b"0123456789abcdefghiX"
    here = b.directory.resolve()
    symbols = [Symbol("f", 0x1000, 0x10)]

    def debug(build_id=id, line=5, dwarf=True, more=()):
        units = [Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99, lines=[Sequence(0x1010, (0x1000, 1, line))])]
        return elf_bytes(units if dwarf else [], [Symbol("f", 0x1000, 0x10), Symbol("static", 0x1100, 0x10)], build_id, more=more)

    def check(what, files, expected, build_id=id, link=None, name="in", missing="", symbols=symbols):
        for at, data in files.items():
            (b.directory / at).parent.mkdir(parents=True, exist_ok=True)
            (b.directory / at).write_bytes(data)
        (b.directory / name).parent.mkdir(parents=True, exist_ok=True)
        b.build(symbols=symbols, build_id=build_id, more=[link] if link else [], name=name)
        told = b.convert("--debug-dir=none", "--debug-dir=debug", "--debug-dir=more", source=name)
        b.expect(what, re.sub(r"\[.*\) ", "", b.dump()), expected)
        b.expect(f"{what}: missing", "".join(re.findall(r"(?m)^missing.*\n((?:  .*\n)*)", told)).strip(), missing)
        for at in files:
            (b.directory / at).unlink(missing_ok=True)
    full, bare, hollow = '"f"\n  0x1000 /src/a.c:5', '"f"', '"f"\n"static"'
    six = full.replace(":5", ":6")
    by_id = f".build-id/{id[:1].hex()}/{id[1:].hex()}.debug"
    good, link = debug(), debug_link("x.debug", debug())
    check("none", {}, bare, missing=by_id)
    check("by id", {f"debug/{by_id}": good}, full)
    check("by id in the second directory", {f"more/{by_id}": good}, full)
    check("by id in both", {f"debug/{by_id}": debug(line=6), f"more/{by_id}": good}, six)
    check("by id, compressed", {f"debug/{by_id}.xz": lzma.compress(good)}, full)
    check("at that place with another id", {f"debug/{by_id}": debug(other)}, bare, missing=by_id)
    check("without DWARF, and one with it", {f"debug/{by_id}": debug(dwarf=False), f"more/{by_id}": good}, full)
    check("without DWARF", {f"debug/{by_id}": debug(dwarf=False)}, bare)
    check("symbols alone", {f"debug/{by_id}": debug(dwarf=False), f"more/{by_id}": debug(dwarf=False)}, hollow, symbols=[])
    check("symbols and DWARF", {f"debug/{by_id}": debug(dwarf=False), f"more/{by_id}": good}, f'{full}\n"static"', symbols=[])
    check("an id of a byte", {}, bare, build_id=b"0")
    check("beside the file", {"x.debug": good}, full, link=link)
    check("in .debug", {".debug/x.debug": good}, full, link=link)
    check("below a debug directory", {f"debug/{here}/x.debug": good}, full, link=link)
    check("below the second debug directory", {f"more/{here}/x.debug": good}, full, link=link)
    check("not below it", {"debug/x.debug": good}, bare, link=link, missing="x.debug")
    check("beside the file, compressed", {"x.debug.xz": lzma.compress(good)}, full, link=link)
    check("by id before by link", {"x.debug": debug(line=6), f"debug/{by_id}": good}, full, link=link)
    check("by link where that by id has no DWARF", {"x.debug": debug(line=6), f"debug/{by_id}": debug(dwarf=False)}, six, link=link)
    check("beside the file before in .debug", {"x.debug": debug(line=6), ".debug/x.debug": good}, six, link=link)
    check("of another id in the first place", {"x.debug": debug(other), ".debug/x.debug": good}, full, link=link)
    check("of an id, another checksum", {"x.debug": good}, full, link=debug_link("x.debug", b""))
    for build_id, its in ((b"", id), (id, b""), (b"", b"")):   # then the checksum decides
        data = debug(its)
        check("by checksum", {"x.debug": data}, full, build_id, debug_link("x.debug", data))
        check("of another checksum", {"x.debug": data}, bare, build_id, debug_link("x.debug", data + b"x"), missing="x.debug")
    for name in ("a", "ab", "abc", "abcd"):   # any number of zeros
        check(f"a name of {len(name)} bytes", {name: debug(b"")}, full, b"", debug_link(name, debug(b"")))
    check("a link to the file itself", {".debug/in": good}, full, link=debug_link("in", b""))
    check("a link with a directory", {"sub/x.debug": good}, bare, link=debug_link("sub/x.debug", good), missing=by_id)
    check("a link without name", {}, bare, link=debug_link("", good), missing=by_id)
    cut = Section(".gnu_debuglink", debug_link("x.debug", good).data[:-1])
    check("a link that is cut", {"x.debug": good}, bare, link=cut, missing=by_id)
    check("a namesake", {f"debug/{here}/in": good}, full)
    check("a namesake in a directory", {f"more/{here}/lib/in": good}, full, name="lib/in")
    check("a namesake of another id", {f"debug/{here}/in": debug(other)}, bare, missing=by_id)
    check("a namesake without ids", {f"debug/{here}/in": debug(b"")}, bare, b"")
    check("a namesake without DWARF", {f"debug/{here}/in": debug(dwarf=False)}, bare, missing=by_id)
    check("a link before a namesake", {"x.debug": debug(line=6), f"debug/{here}/in": good}, six, link=link)


def alternate(names, build_id=b"", sup=b""):
    """What dwz writes for several files: here only names."""
    more = [Section(".debug_str", b"\0" + b"\0".join(names) + b"\0")] + ([Section(".debug_sup", sup)] if sup else [])
    return elf_bytes(build_id=build_id, more=more)


def uses_alternate(**links):
    """Two functions, "own" and one whose name is at offset 1 of another file's .debug_str (DW_FORM_GNU_strp_alt)."""
    abbrev = b"\1\x11\1\0\0" + b"\2\x2e\0\3\xa1\x3e\x11\1\x12\6\0\0" + b"\3\x2e\0\3\x08\x11\1\x12\6\0\0\0"
    body = b"\4\0\0\0\0\0\x08\1" + b"\2" + struct.pack("<IQI", 1, 0x1000, 16) + b"\3own\0" + struct.pack("<QI", 0x1100, 16) + b"\0"
    sections = [Section(f".{name}", data) for name, data in links.items()]
    return [Section(".debug_info", struct.pack("<I", len(body)) + body), Section(".debug_abbrev", abbrev), *sections]


@case
def alternate_files(b):
    """Found by name beside the file, in .dwz and by build id below debug directories; never one of another id."""
    id, other = b"0123456789abcdefghij", b"0123456789abcdefghiX"
    shared = alternate([b"shared"], id)

    def check(what, link, found, at=None, data=shared, section="gnu_debugaltlink", missing=""):
        path = b.directory / (at or "unused")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        b.build(more=uses_alternate(**{section: link}))
        told = b.convert("--debug-dir=debug", odd=() if found else ("function without a name", "name is in an alternate file that is not here"))
        b.expect(what, b.dump(), ('[0x1000 - 0x1010) "shared"\n' if found else "") + '[0x1100 - 0x1110) "own"')
        b.expect(f"{what}: missing", "".join(re.findall(r"(?m)^missing.*\n(?:  .*\n)*", told)), missing)
        path.unlink()
    link = b"alt\0" + id
    missing = f"{MISSING}  alt\n"
    check("beside the file", link, True, "alt")
    check("in another directory", b"sub/alt\0" + id, True, "sub/alt")
    check("its name beside the file", b"sub/alt\0" + id, True, "alt")
    check("its absolute path", f"{b.directory}/elsewhere/alt".encode() + b"\0" + id, True, "elsewhere/alt")
    check("the name of an absolute path beside the file", f"{b.directory}/elsewhere/alt".encode() + b"\0" + id, True, "alt")
    check("in .dwz", link, True, "debug/.dwz/alt")
    check("in .dwz by its last name", b"sub/alt\0" + id, True, "debug/.dwz/alt")
    check("by build id", link, True, f"debug/.build-id/{id[:1].hex()}/{id[1:].hex()}.debug")
    check("elsewhere", link, False, "debug/alt", missing=missing)
    check("none", link, False, missing=missing)
    check("of another id", b"alt\0" + other, False, "alt", missing=missing)
    check("of a shorter id", b"alt\0" + id[:-1], False, "alt", missing=missing)
    check("without id", link, False, "alt", alternate([b"shared"]), missing=missing)
    check("a link without id", b"alt\0", False, "alt")
    check("a link without name", b"\0" + id, False, "alt")
    check("a link without end", b"alt", False, "alt")
    # .debug_sup: version, whether it is the other file, its name, the size and bytes of a checksum.
    sum_of = b"\4sum!"
    link, own = b"\5\0\0alt\0" + sum_of, b"\5\0\1\0"
    check("by checksum", link, True, "alt", alternate([b"shared"], sup=own + sum_of), "debug_sup")
    check("its checksum as build id", link, True, "alt", alternate([b"shared"], b"sum!"), "debug_sup")
    check("by build id, and the other way round", b"alt\0sum!", True, "alt", alternate([b"shared"], sup=own + sum_of))
    check("of another checksum", link, False, "alt", alternate([b"shared"], sup=own + b"\4sum?"), "debug_sup", missing)
    check("of a shorter checksum", link, False, "alt", alternate([b"shared"], sup=own + b"\3sum"), "debug_sup", missing)
    check("of a checksum that is cut", link, False, "alt", alternate([b"shared"], sup=own + b"\4sum"), "debug_sup", missing)
    check("a file that is such itself", b"\5\0\1alt\0" + sum_of, False, "alt", alternate([b"shared"], sup=own + sum_of), "debug_sup")
    check("a checksum without bytes", b"\5\0\0alt\0\0", False, "alt", alternate([b"shared"], sup=own + b"\0"), "debug_sup")


def zlib_section(name, data, claimed=None, magic=b"ZLIB"):
    return Section(name, magic + struct.pack(">Q", len(data) if claimed is None else claimed) + zlib.compress(data))


@case
def sections_of_older_tools(b):
    """".zdebug_x": "ZLIB", the size, and a stream of zlib."""
    units = [Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99, lines=[Sequence(0x1010, (0x1000, 1, 5))])]
    expected = '[0x1000 - 0x1010) "f"\n  0x1000 /src/a.c:5'
    symbol = [Symbol("f", 0x1000, 0x10)]
    dwarf = Dwarf(units)
    parts = {name: bytes(getattr(dwarf, name)) for name in ("info", "abbrev", "line")}

    def build(**changed):
        more = [changed.get(name) or zlib_section(f".zdebug_{name}", data) for name, data in parts.items()]
        b.build(more=more, symbols=symbol)
    build()
    b.convert()
    b.expect("all", b.dump(), expected)
    told = b.run(b.gsym, "verify", "out.gsym", "--against=in")
    b.expect_words("".join(told[:2]), "the same: 2")
    b.expect("verified", str(told[2]), "0")
    build(line=Section(".debug_line", parts["line"]))
    b.convert()
    b.expect("one is as it is", b.dump(), expected)
    build(line=Section(".zdebug_line", parts["line"]))
    b.convert()
    b.expect("one is called so only", b.dump(), expected)
    build(line=zlib_section(".zdebug_line", parts["line"], magic=b"zlib"))
    b.convert(odd=(UNKNOWN_LINES,))
    b.expect("no mark", b.dump(), '[0x1000 - 0x1010) "f"')
    for claimed, why in ((len(parts["line"]) - 1, "damaged"), (len(parts["line"]) + 1, "damaged"), (1 << 60, "too large when decompressed")):
        build(line=zlib_section(".zdebug_line", parts["line"], claimed))
        b.convert(odd=(BAD_LINES, f"section ignored: {why}"))
        b.expect(f"a size of {claimed}", b.dump(), '[0x1000 - 0x1010) "f"')
    for size, why in ((0, BAD_LINES), (3, BAD_LINES), (11, UNKNOWN_LINES)):
        build(line=Section(".zdebug_line", zlib_section("", parts["line"]).data[:size]))
        b.convert(odd=(why,))
        b.expect(f"{size} bytes", b.dump(), '[0x1000 - 0x1010) "f"')


@case
def rows_out_of_order(b):
    """Rows of a sequence are sorted by address; of those at one address the last holds."""
    rows = [(0x1000, 1, 10), (0x1020, 1, 14), (0x1008, 1, 11), (0x1018, 1, 13), (0x1010, 1, 12), (0x1008, 1, 21), (0x1030, 1, 15)]
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x40), language=C99, lines=[Sequence(0x1040, *rows)])])
    b.convert(odd=("line rows ignored: addresses descend",))
    b.expect("rows", b.dump(), """
[0x1000 - 0x1040) "f"
  0x1000 /src/a.c:10
  0x1008 /src/a.c:21
  0x1010 /src/a.c:12
  0x1018 /src/a.c:13
  0x1020 /src/a.c:14
  0x1030 /src/a.c:15""")


@case
def files_named_in_line_programs(b):
    """DW_LNE_define_file adds a file after those of the header; one that is cut is none."""
    def table(*operations):
        prologue = struct.pack("BBBbBB", 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"\0a.c\0\0\0\0\0"
        body = struct.pack("<HI", 4, len(prologue)) + prologue + b"".join(operations)
        return struct.pack("<I", len(body)) + body

    def extended(operation, operand=b""):
        return b"\0" + bytes([1 + len(operand), operation]) + operand
    start, end = extended(2, struct.pack("<Q", 0x1000)), b"\2\x10" + extended(1)
    for what, operations, expected, odd in (
            ("defined", (start, extended(3, b"late.c\0\0\0\0"), b"\4\2\1", end), "\n  0x1000 /src/late.c:1", ()),
            ("defined twice", (start, extended(3, b"one.c\0\0\0\0") + extended(3, b"two.c\0\0\0\0"), b"\4\3\1", end), "\n  0x1000 /src/two.c:1", ()),
            ("another operation", (start, extended(0x80, b"late.c\0\0\0\0"), b"\4\1\1", end), "\n  0x1000 /src/a.c:1", ()),
            ("cut", (start, extended(3, b"late.c"), b"\4\2\1", end), "", (NO_ROW,))):
        b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99, table=table(*operations))])
        b.convert(odd=odd)
        b.expect(what, b.dump(), '[0x1000 - 0x1010) "f"' + expected)


# ---- Readers ----

@case
def found_beside_the_program(b):
    """llvm-symbolizer reads PROGRAM.gsym where it is told to."""
    symbolizer = peers.find("llvm-symbolizer")
    if not symbolizer or peers.version_of(symbolizer) < 21:
        print("SKIP: no llvm-symbolizer that reads GSYM: case found_beside_the_program")
        return
    b.build(**folded(), build_id=b"0123456789abcdefghij")
    b.convert(out="in.gsym")
    (b.directory / "in").write_bytes(elf_bytes(build_id=b"0123456789abcdefghij"))
    told = b.run(symbolizer, "--obj=in", "0x1004")[0]
    b.expect("llvm-symbolizer", re.sub(r":0\n", "\n", told), "two\n/src/a.c:5\n")


@case
def unknown_information(b):
    """A kind of information that is not known is skipped, in dumps and lookups."""
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), language=C99,
                  lines=[Sequence(0x1010, (0x1000, 1, 5))])])
    b.convert()
    data = bytearray((b.directory / "out.gsym").read_bytes())
    line_table = data.rfind(b"\x10\0\0\0", 0, data.rfind(b"\1\0\0\0")) + 8
    data[line_table] = 77
    (b.directory / "out.gsym").write_bytes(data)
    b.expect("dump", b.dump(), '[0x1000 - 0x1010) "f"')
    b.expect("lookup", b.lookup("0x1004"), "f+0x4 at ??:0")
    b.expect("verify", str(b.run(b.gsym, "verify", "out.gsym")[2]), "1")  # llvm-gsymutil would refuse it


def spenders():
    """For each account of a unit: entries, rows and more that use it up, below address 0x2000."""
    n, base = 600, 0x1000
    abstract = Die("subprogram", name="callee", inline=1)
    ranges = [(base + 4 * i, base + 4 * i + 2) for i in range(n)]
    calls = [Die("inlined_subroutine", abstract_origin=abstract, ranges=ranges, call_file=1, call_line=1) for _ in range(n)]
    small = [Die("subprogram", name=f"f{i}", low_pc=base + 4 * i, high_pc=4) for i in range(n)]
    rows = [(base + 2 * i, i + 1, 1 + i % 50) for i in range(n)]
    yield "rows", [Die("subprogram", name=f"f{i}", low_pc=base + i, high_pc=2 * n - i) for i in range(n)], [(at, 1, line) for at, _, line in rows], {}
    yield "calls", [abstract, Die("subprogram", *calls, name="caller", ranges=ranges)], [], {}
    yield "records", [Die("subprogram", name=f"f{i}", ranges=ranges) for i in range(n)], [], {}
    yield "names", [Die("namespace", *small, name="n" * 30000)], [], {}
    types = [Die("class_type", name=f"argument{i}") for i in range(n)]
    yield "types", [*types, Die("class_type", *(Die("template_type_parameter", type=t) for t in types), *small, name="t")], [], {}
    yield "files", [Die("subprogram", name="f", low_pc=base, high_pc=2 * n)], rows, {
        "comp_dir": "/" + "d" * 15000, "files": [f"{i}.c" for i in range(n)]}


@case
def accounts_used_up(b):
    """What a unit cannot pay for is left out of each kind of record: functions, calls, folded functions, call sites, symbols without an entry."""
    at = 0x2000
    for account, entries, rows, more in spenders():
        for options in (), ("--merged-functions", "--dwarf-callsites"), ("--match-llvm",):
            for entries_first in True, False:
                tiny = Die("subprogram", name="tiny", inline=1)
                call = Die("inlined_subroutine", abstract_origin=tiny, low_pc=at + 4, high_pc=4, call_file=1, call_line=5)
                site = Die("call_site", call_return_pc=at + 8)
                kinds = [tiny, Die("subprogram", call, site, name="plain", low_pc=at, high_pc=0x10), Die("subprogram", name="one", low_pc=at + 0x20, high_pc=0x10),
                         Die("subprogram", name="two", low_pc=at + 0x20, high_pc=0x10), Die("subprogram", low_pc=at + 0x60, high_pc=0x10)]
                lines = [Sequence(at + 0x70, *((at + i, 1, 3 + i) for i in range(0, 0x70, 4)))]
                spent = [Sequence(rows[-1][0] + 2, *rows)] if rows else []
                first, second = (entries, kinds) if entries_first else (kinds, entries)
                unit = Unit(*first, *second, language=C_PLUS_PLUS, lines=spent + lines if entries_first else lines + spent, version=5,
                            **{"files": ("a.c",), **more})
                other = Unit(Die("subprogram", name="honest", low_pc=at + 0x100, high_pc=0x10), language=C99,
                             lines=[Sequence(at + 0x110, (at + 0x100, 1, 9))])
                b.build([unit, other], [Symbol("orphan", at + 0x40, 0x10), Symbol("two", at + 0x20, 0x10), Symbol("plain", at, 0x10), Symbol("bare", at + 0x60, 0x10),
                                        Symbol("label", at + 0x50)], text_size=0x2000)
                _, told, status = b.run(b.gsym, "convert", "--progress=never", *options, "-o", "out.gsym", "in")
                what = f"{account} {' '.join(options)} {entries_first}"
                if status or "shared parts would multiply its size" not in told:
                    b.bad.append(f"{what}: exit {status}: {told}")
                    continue
                b.bad += [f"{what}: {fault}" for fault in format_test.faults(b.gsym, b.directory / "out.gsym")]
                b.expect(what, b.lookup(hex(at + 0x100)), "honest at /src/a.c:9")
                for off in 0, 4, 0x20, 0x40, 0x60:
                    if b.lookup(hex(at + off)).startswith("??"):
                        b.bad.append(f"{what}: nothing at {off:#x}")


@case
def merged_beyond_the_limit(b):
    """4,096 functions are merged with one: that there are others is told."""
    for n, odd in (4097, ()), (4100, ("functions merged with another left out: too many",)):
        b.build([Unit(*(Die("subprogram", name=f"f{i}", low_pc=0x1000, high_pc=0x10) for i in range(n)), language=C99)])
        b.convert("--merged-functions", odd=odd)
        b.expect("merged", str(b.run(b.gsym, "dump", "out.gsym")[0].count("Merged FunctionInfos[")), "4096")


def hand_made(b, abbrevs, entry, **more):
    """A unit of DWARF 4 with one entry, beside a symbol; @entry: its bytes."""
    info = b"\4\0" + bytes(4) + b"\x08\1" + entry + b"\0"
    b.build(symbols=[Symbol("symbol", 0x1000, 0x10)], more=[Section(".debug_info", struct.pack("<I", len(info)) + info),
                                                         Section(".debug_abbrev", b"\1\x11\1\0\0" + abbrevs)], **more)


FUNCTION = struct.pack("<QI", 0x1020, 0x10)


@case
def abbreviations_cut_short(b):
    """Those before a damaged one are used: the entries of the others end the unit."""
    for damage in b"\3", b"\3\x2e\0\3", b"\3\x2e\0\3\0\0\0\0", b"":
        hand_made(b, b"\2\x2e\0\3\x08\x11\1\x12\6\0\0" + damage, b"\2f\0" + FUNCTION)
        b.convert(odd=("abbreviations of a unit cut short: damaged",))
        b.expect("dump", b.dump(), '[0x1000 - 0x1010) "symbol"\n[0x1020 - 0x1030) "f"')
    hand_made(b, b"", b"")
    b.build(symbols=[Symbol("symbol", 0x1000, 0x10)], more=[Section(".debug_info", b"\x08\0\0\0\4\0\0\0\0\0\x08\1"), Section(".debug_abbrev", b"\1\x11")])
    b.convert(odd=("unit skipped: damaged abbreviations",))


@case
def strings_outside(b):
    """A name that is not in the section of strings is told, whatever form it has."""
    for form, value in (b"\x0e", struct.pack("<I", 0x999)), (b"\x1a", b"\7"):  # DW_FORM_strp, DW_FORM_strx
        hand_made(b, b"\2\x2e\0\3" + form + b"\x11\1\x12\6\0\0\0", b"\2" + value + FUNCTION)
        b.convert(odd=("string ignored: offset outside its section", "function without a name"))
        b.expect("dump", b.dump(), '[0x1000 - 0x1010) "symbol"')


@case
def one_breach_each(b):
    """A function beside the symbol breaks one rule: what it costs is told, and the symbol stays."""
    symbol, named = '[0x1000 - 0x1010) "symbol"', b"\2\x2e\0\3\x08\x11\1\x12"
    for abbrev, entry, odd in (
            (b"\2\x2e\0\x31\x13\x11\1\x12\6\0\0\0", b"\2" + struct.pack("<I", 0xffff) + FUNCTION, ("reference to no entry", "function without a name")),
            (named + b"\7\0\0\0", b"\2f\0" + struct.pack("<QQ", 0x1020, 1 << 33), ("function larger than 4 GiB",)),
            (named + b"\6\0\0\0", b"\2f\0" + struct.pack("<QI", 0x900000, 0x10), ("function outside the code sections",))):
        hand_made(b, abbrev, entry)
        b.convert(odd=odd)
        b.expect(odd[0], b.dump(), symbol)
    callee = Die("subprogram", name="callee", inline=1)
    outside = Die("inlined_subroutine", abstract_origin=callee, low_pc=0x1040, high_pc=4, call_file=1, call_line=5)
    inside = Die("inlined_subroutine", abstract_origin=callee, low_pc=0x1024, high_pc=4, call_file=1, call_line=6)
    b.build([Unit(callee, Die("subprogram", outside, inside, name="f", low_pc=0x1020, high_pc=0x10), language=C99,
                  lines=[Sequence(0x1030, (0x1020, 1, 7))])])
    b.convert(odd=("inlined call dropped: outside its function",))
    b.expect("calls", b.lookup("0x1024"), "callee at /src/a.c:7\n (inlined by) f at /src/a.c:6")
    b.build([Unit(Die("subprogram", name="f", decl_file=9, decl_line=3, low_pc=0x1020, high_pc=0x10), language=C99,
                  lines=[Sequence(0x1018, (0x1010, 1, 7))])])
    b.convert(odd=("declaration ignored: no such file",))
    b.expect("declaration", b.lookup("0x1020"), "f at ??:0")
    head = bytes([1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"\0a.c\0\0\0\0\0"
    first, cut = b"\0\x09\2" + struct.pack("<Q", 0x1020) + b"\x19\2\x10\0\1\1", b"\0\x09\2" + struct.pack("<Q", 0x1040) + b"\x19\2\x80"
    body = struct.pack("<HI", 4, len(head)) + head + first + cut
    b.build([Unit(Die("subprogram", name="f", low_pc=0x1020, high_pc=0x10), Die("subprogram", name="g", low_pc=0x1040, high_pc=0x10), language=C99,
                  table=struct.pack("<I", len(body)) + body)])
    b.convert(odd=("line table cut short: damaged program",))
    b.expect("lines", b.lookup("0x1020", "0x1040"), "f at /src/a.c:8\ng at ??:0")


@case
def sections_lost(b):
    """Debug data past the end of the file, and sections without names, are told."""
    hand_made(b, b"\2\x2e\0\3\x08\x11\1\x12\6\0\0\0", b"\2f\0" + FUNCTION)
    whole = (b.directory / "in").read_bytes()
    at, = struct.unpack_from("<Q", whole, 0x28)
    n, names = struct.unpack_from("<HH", whole, 0x3c)
    table, = struct.unpack_from("<Q", whole, at + 64 * names + 24)
    for i in range(n):
        name, = struct.unpack_from("<I", whole, at + 64 * i)
        if whole[table + name:].startswith(b".debug_info\0"):
            data = bytearray(whole)
            struct.pack_into("<Q", data, at + 64 * i + 24, 1 << 40)
            (b.directory / "in").write_bytes(data)
            told = b.convert(odd=("section ignored: outside the file",))
            b.expect_words(told, "first: .debug_info")
            b.expect("dump", b.dump(), '[0x1000 - 0x1010) "symbol"')
    for index in n, 0xfff0, 1:
        (b.directory / "in").write_bytes(whole[:0x3e] + struct.pack("<H", index) + whole[0x40:])
        b.convert(odd=("sections without names: their table is damaged",))
        b.expect("dump", b.dump(), '[0x1000 - 0x1010) "symbol"')


@case
def section_of_code_moved(b):
    """What executable segments hold is code, but for headers and data: one wrong address of a section costs no function."""
    functions = [Die("subprogram", name=name, low_pc=at, high_pc=0x10) for name, at in (("f", 0x40), ("g", 0x50), ("dropped", 0x10), ("data", 0x150))]
    unit = Unit(*functions, language=C99, lines=[Sequence(0x60, (0x40, 1, 5), (0x50, 1, 6))])
    b.build([unit], [Symbol("g", 0x50, 0x10), Symbol("h", 0x60, 0x10)], text=0x40, text_size=0x100, more=[Section(".rodata", bytes(0x20), 1, 2, 0x140)])
    whole, outside = (b.directory / "in").read_bytes(), "function outside the code sections"
    headers, = struct.unpack_from("<Q", whole, 0x28)

    def check(what, addr, odd):
        """@addr: of .text"""
        data = bytearray(whole + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0x160, 0x160, 1))
        struct.pack_into("<Q", data, 0x20, len(whole))
        struct.pack_into("<H", data, 0x38, 1)
        struct.pack_into("<Q", data, headers + 64 + 16, addr)
        (b.directory / "in").write_bytes(data)
        told = b.convert(odd=odd)
        b.expect(what, b.dump(), '[0x40 - 0x50) "f"\n  0x40 /src/a.c:5\n[0x50 - 0x60) "g"\n  0x50 /src/a.c:6\n[0x60 - 0x70) "h"')
        b.expect_words(told, f"{outside}: 2")
    check("sound", 0x40, (outside,))
    check("far away", 0x5d00000000000040, (outside, CODE_MOVED))
    check("a bit too high", 0x4c, (outside, CODE_MOVED))


@case
def unit_without_attributes(b):
    """The only abbreviation has none: there is no array of attributes."""
    info = b"\x0b\0\0\0\4\0\0\0\0\0\x08\1" + b"\1\0\0"
    b.build(symbols=[Symbol("f", 0x1000, 0x10)], more=[Section(".debug_info", info), Section(".debug_abbrev", b"\1\x11\1\0\0\0")])
    b.convert()
    b.expect("dump", b.dump(), '[0x1000 - 0x1010) "f"')


def main():
    gsym = peers.gsym_program(sys.argv[1])
    wanted = sys.argv[2:]
    failed = 0
    for function in CASES:
        if wanted and function.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory() as directory:
            bench = Bench(gsym, directory)
            function(bench)
        print(f"{'not ok' if bench.bad else 'ok'}: {function.__name__}")
        print("".join(f"  {line}\n" for text in bench.bad for line in text.splitlines()), end="")
        failed += bool(bench.bad)
    print(f"{len(CASES)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
