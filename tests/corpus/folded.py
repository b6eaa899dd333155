#!/usr/bin/env python3
"""Folded functions: each of them has its own name, file and line, although all have one address.

A program with many equal functions is linked twice, with identical code folding and without. Equal code lies at
equal offsets, so the second program tells what each function's lines are: llvm-symbolizer answers for every byte
of every function there. In the first one `gsym lookup --merged-functions` has to give the same file and line for
the body of that name, and without the option the line (gold: and the name) of one of the functions that are there.
"""
import argparse
import itertools
import re
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, peers  # noqa: E402
from lib.elf import Elf  # noqa: E402
from corpus import build  # noqa: E402

UNITS = ("folded_a", "folded_b")
OFFSETS = ["-mllvm", "-emit-func-debug-line-table-offsets"]


class Kind(NamedTuple):
    name: str
    compiler: str
    flags: list
    linker: str


def kinds(compilers):
    gcc, clang = compilers[0], compilers[-1]
    yield Kind("gcc 4 gold", gcc, ["-gdwarf-4"], "gold")
    yield Kind("gcc 5 gold", gcc, ["-gdwarf-5"], "gold")
    yield Kind("gcc 5 lld", gcc, ["-gdwarf-5"], "lld")
    if clang.startswith("clang"):
        for version in (4, 5):
            yield Kind(f"clang {version} lld", clang, [f"-gdwarf-{version}"], "lld")
            yield Kind(f"clang {version} lld, offsets", clang, [f"-gdwarf-{version}", *OFFSETS], "lld")
        yield Kind("clang 5 gold", clang, ["-gdwarf-5"], "gold")
        yield Kind("clang 5 gold, offsets", clang, ["-gdwarf-5", *OFFSETS], "gold")


def is_told(kind, name):
    """gcc gives a lambda neither a linkage name nor a declaration, and lld no address: no telling which is which."""
    return not (kind.compiler == "gcc" and kind.linker == "lld" and re.search(r"U[^_]*E\d*_cl", name))


class Function(NamedTuple):
    name: str
    addr: int
    size: int


def functions(path):
    """All functions with a size; static ones may share a name."""
    return {Function(s.name, s.addr, s.size) for s in Elf(path).functions() if s.size}


def link(builder, kind, place):
    """(folded program, plain program)."""
    cxx = builder.compilers[kind.compiler][1]
    flags = ["-g", "-O2", "-ffunction-sections", "-fno-exceptions", "-fno-rtti", "-w", "-std=c++17",
             "-fno-ipa-icf" if kind.compiler == "gcc" else "-fno-threadsafe-statics", *kind.flags]
    build.run([cxx, *flags, "-c", *[build.SOURCES / f"{u}.cc" for u in UNITS]], place)
    for name, icf in (("folded", "all"), ("plain", "none")):
        use = [f"-fuse-ld={kind.linker}", f"-Wl,--icf={icf}", f"-B{builder.tools}"]
        build.run([cxx, *use, *[f"{u}.o" for u in UNITS], "-o", name], place)
    return place / "folded", place / "plain"


_FOUND = re.compile(r"^Found \d+ functions? at address 0x[0-9a-f]+:\n", re.MULTILINE)
_BODY = re.compile(r"^   (?=0x[0-9a-f]{16}: )", re.MULTILINE)


def bodies(gsym, gsym_file, addresses):
    """For each address, the frames of every body there."""
    out = peers.run([gsym, "lookup", "--format=gsymutil", "--merged-functions", "--no-demangle", gsym_file],
                    stdin="".join(f"{a:#x}\n" for a in addresses))
    records = _FOUND.split(out)[1:]
    if len(records) != len(addresses):
        raise RuntimeError(f"{len(records)} answers for {len(addresses)} addresses")
    return [[frames.gsymutil_record(b.strip()) for b in _BODY.split(record)[1:]] for record in records]


def is_same_place(ours, truth):
    return (ours.file, ours.line) == (truth.file, truth.line)


class Check:
    """What came out for one kind of program."""

    def __init__(self, kind):
        self.kind = kind
        self.functions = self.addresses = self.absent = 0
        self.faults = []

    def fault(self, text):
        self.faults.append(f"{self.kind.name}: {text}")


def own_name(body, symbol):
    """Whether a body is the function of that symbol; without a linkage name DWARF has the short one with its scopes."""
    name = body[-1].name
    return name == symbol or name == symbol.split(".")[0] or (
        symbol.startswith("_Z") and not name.startswith("_Z") and
        all(f"{len(part)}{part}" in symbol or part == "operator()" and "cl" in symbol
            for part in name.split("::") if not part.startswith(("{", "("))))


def check(gsym, kind):
    result = Check(kind)
    with tempfile.TemporaryDirectory(prefix="gsym-folded-") as place:
        place = Path(place)
        check_files(gsym, result, *link(build.Builder(place), kind, place), place, functions)
    return result


def check_files(gsym, result, folded, plain, place, functions_of):
    """@functions_of: the functions of a file, by its symbols."""
    sharing, there = defaultdict(set), defaultdict(set)
    for f in functions_of(folded):
        sharing[f.addr, f.size].add(f)
    for f in functions_of(plain):
        there[f.name, f.size].add(f.addr)
    asked, plain_addresses = [], []
    for f in sorted(f for group in sharing.values() for f in group if len(group) > 1):
        for start in there[f.name, f.size] if is_told(result.kind, f.name) else ():
            asked += [(f, off) for off in range(f.size)]
            plain_addresses += range(start, start + f.size)
    truth = frames.symbolizer(str(plain), plain_addresses)
    # Symbols of Mach-O have no sizes: up to the next one there may be padding, of which no file and line are known.
    known = [bool(t and t[0].file) for t in truth]
    asked, truth = list(itertools.compress(asked, known)), list(itertools.compress(truth, known))
    gsym_file, merged_file = place / "default.gsym", place / "merged.gsym"
    peers.run([gsym, "convert", "--quiet", folded, "-o", gsym_file])
    peers.run([gsym, "convert", "--quiet", "--merged-functions", folded, "-o", merged_file])
    addresses = [f.addr + off for f, off in asked]
    single = frames.gsym(gsym, gsym_file, addresses)
    merged = bodies(gsym, merged_file, addresses)
    compare(result, asked, truth, single, merged)
    result.functions, result.addresses = len({f.name for f, _ in asked}), len(asked)


def compare(result, asked, truth, single, merged):
    """With lld only one function's entry has an address, so that folded functions look like aliases: without the option
    the name is the last symbol's, as llvm-symbolizer's, and the line that of the entry."""
    told = result.kind.linker == "gold"
    places = defaultdict(set)
    for (f, off), true in zip(asked, truth):
        places[f.addr + off].add((f.name if told else "", true[0].file, true[0].line))
    absent = set()
    for (f, off), true, one, several in zip(asked, truth, single, merged):
        own = [body for body in several if own_name(body, f.name)]
        if not own:
            absent.add(f.name)
        elif not any(is_same_place(body[0], true[0]) for body in own):
            result.fault(f"{f.name}+{off:#x}: {own[0][0]}, not {true[0]}")
        if (one[-1].name if told else "", one[0].file, one[0].line) not in places[f.addr + off]:
            result.fault(f"{f.addr + off:#x} without --merged-functions: {one[0]} in {one[-1].name}")
    result.absent = len(absent)
    for name in sorted(absent):
        result.fault(f"{name} is not among the merged functions")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--only", default="", help="only kinds with this in their name")
    parser.add_argument("--examples", type=int, default=5, help="faults shown of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    gsym = peers.gsym_program(options.gsym)
    peers.need("llvm-symbolizer", "llvm-22")
    compilers = list(build.compilers())
    if not compilers:
        peers.skip("no compiler")
    chosen = [kind for kind in kinds(compilers) if options.only in kind.name]

    def attempt(kind):
        try:
            return check(gsym, kind), None
        except build.Unavailable as why:
            return None, f"skipped: {kind.name}: {why}"

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(attempt, chosen))
    print(f"{'kind':26} {'functions':>9} {'addresses':>9} {'absent':>7} {'faults':>7}")
    for result, skipped in outcomes:
        if skipped:
            print(skipped)
            continue
        print(f"{result.kind.name:26} {result.functions:9} {result.addresses:9} {result.absent:7} {len(result.faults):7}")
        for fault in result.faults[:options.examples]:
            print(f"FAIL {fault}")
    results = [result for result, _ in outcomes if result]
    if not results:
        peers.skip("nothing could be built")
    return 1 if any(r.faults or not r.addresses for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
