#!/usr/bin/env python3
"""Other languages than C and C++: every function's name and line beside what other tools say, and its readable name.

For each program of the language cells (cells.py): the first byte and one byte inside of every function symbol are
asked of `gsym lookup`, of llvm-symbolizer, addr2line and eu-addr2line, and frames are compared; demangled names are
compared with llvm-symbolizer's and with libiberty's c++filt. What differs is put into classes; a class that is not explained below
may not occur. The comparison with llvm-symbolizer, address by address, is compare.py's.
"""
import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, peers  # noqa: E402
from lib.elf import Elf  # noqa: E402
from lib.frames import Frame  # noqa: E402
from corpus import build  # noqa: E402

SAME = "same"

# Differences that are understood, by tool and kind; every other one is a fault.
EXPLAINED = {
    ("llvm-symbolizer", "file, line 0"): "without a line it takes the file symbol's name, which need not be the function's",
    ("llvm-symbolizer", "no line"): "a symbol without an entry in DWARF: we give it the rows that cover it (docs/design/converter.md, Line tables)",
    ("addr2line", "file, line 0"): "without a line it takes the file symbol's name, which need not be the function's",
    ("addr2line", "alias"): "two symbols at one address (rustc's own library has its equal functions folded)",
    ("addr2line", "inlined call named as the function around it"): "Go: it does not follow the call's DW_AT_abstract_origin",
    ("addr2line", "DWARF's name"): "a clone (.part.0, .llvm.123) without its suffix, or an alias that is no symbol",
    ("addr2line", "no inlined calls"): "it does not find rustc's .dwo and .dwp files",
    ("addr2line", "no line"): "the same",
    ("eu-addr2line", "alias"): "two symbols at one address",
    ("eu-addr2line", "DWARF's name"): "Fortran: the entry's DW_AT_name, not the symbol",
    ("eu-addr2line", "no line"): "it reads no line table of Go and of ldc 1.30",
    ("eu-addr2line", "no inlined calls"): "it finds no scopes of functions inside namespaces, and none without lines",
    ("demangled", "as c++filt"): "llvm-symbolizer takes Rust's legacy names for C++ and leaves D's alone",
}


def addresses_of(path):
    """(address, symbol) for the first byte and one in the middle of each function."""
    found = {}
    for s in Elf(path).functions():
        if s.size:
            found.setdefault(s.addr, s.name)
            found.setdefault(s.addr + s.size // 2, s.name)
    return sorted(found)


_PLACE = re.compile(r"^(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?$")


def from_pairs(lines):
    """Frames of lines that are a name and a place in turn."""
    result = []
    for name, place in zip(lines[::2], lines[1::2]):
        found = _PLACE.match(place)
        file, line = (found[1], found[2]) if found else (place, "0")
        name = name.split(" inlined at ")[0]
        result.append(Frame("" if name == "??" else name, "" if file == "??" else file, int(line.replace("?", "0"))))
    return [f for f in result if f.name or f.file]


def split_records(text):
    """addr2line -a begins every answer with its address."""
    records = []
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            records.append([])
        else:
            records[-1].append(line)
    return records


def addr2line(tool):
    def ask(path, addresses):
        if not shutil.which(tool):
            return None
        out = peers.run([tool, "-a", "-f", "-i", "-e", path], stdin="".join(f"{a:#x}\n" for a in addresses),
                        check=False, timeout=300)  # eu-addr2line: 1 when one address is in no function
        records = split_records(out)
        if len(records) != len(addresses):
            raise RuntimeError(f"{tool} gave {len(records)} records for {len(addresses)} addresses")
        return [from_pairs(r) for r in records]
    return ask


TOOLS = {"llvm-symbolizer": frames.symbolizer, "addr2line": addr2line("addr2line"), "eu-addr2line": addr2line("eu-addr2line")}


def tail(path):
    """The end of a path: tools write directories in different ways."""
    return path.rsplit("/", 1)[-1]


def classify(ours, theirs, aliases, in_dwarf):
    """@aliases: names of symbols that share addresses; @in_dwarf: what DWARF calls the function."""
    if not theirs:
        return "it knows nothing"
    if not ours:
        return "only it knows"
    if not any(t.line for t in theirs) and any(o.line for o in ours):
        return "no line"
    inner = (ours[0].line, tail(ours[0].file)) == (theirs[0].line, tail(theirs[0].file))
    if len(ours) > len(theirs) == 1 and inner:
        return "no inlined calls"
    if len(ours) != len(theirs):
        return "number of frames"
    if [o.line for o in ours] != [t.line for t in theirs]:
        return "line"
    if [tail(o.file) for o in ours] != [tail(t.file) for t in theirs]:
        return "file, line 0" if len(ours) == 1 and not ours[0].line else "file"
    return names(ours, theirs, aliases, in_dwarf)


def names(ours, theirs, aliases, in_dwarf):
    mine, other = [o.name for o in ours], [t.name for t in theirs]
    if mine == other:
        return SAME
    if mine[-1] != other[-1]:
        if {mine[-1], other[-1]} <= aliases:
            return "alias"
        return "DWARF's name" if other[-1] in in_dwarf else "name of the function"
    if set(other[:-1]) <= set(mine[1:]):
        return "inlined call named as the function around it"
    return "name of an inlined call"


class Result:
    def __init__(self, name):
        self.name = name
        self.addresses = 0
        self.counts = defaultdict(Counter)
        self.examples = defaultdict(list)

    def add(self, tool, kind, *example):
        self.counts[tool][kind] += 1
        if kind != SAME:
            self.examples[tool, kind].append(example)

    def faults(self):
        return [f"{self.name}: {tool}: {count} of '{kind}', which nothing explains"
                for tool, counts in self.counts.items() for kind, count in counts.items()
                if kind != SAME and (tool, kind) not in EXPLAINED]


_VENDOR = re.compile(r" \(\.llvm\.\d+\)$")  # of a v0 name: libiberty leaves the suffix out


def filt(wanted):
    """Name -> what libiberty makes of it, by c++filt; each language's way is tried."""
    result = {name: {name} for name in wanted}
    for form in ("rust", "dlang", "auto"):
        done = peers.run(["c++filt", f"--format={form}"], stdin="".join(f"{n}\n" for n in result)).splitlines()
        for name, readable in zip(result, done):
            result[name].add(re.sub(r"::h[0-9a-f]{16}$", "", readable))
    return result


def demangled(gsym, path, gsym_file, addresses, raw, result):
    """Readable names beside llvm-symbolizer's; where it has none, beside c++filt's."""
    ours = frames.gsym(gsym, gsym_file, addresses, demangle=True)
    theirs = frames.symbolizer(path, addresses, demangle=True)
    readable = filt({f.name for frames_ in raw for f in frames_}) if shutil.which("c++filt") else {}
    for address, mine, other, raw_frames in zip(addresses, ours, theirs, raw):
        pair = [_VENDOR.sub("", f.name) for f in mine], [_VENDOR.sub("", f.name) for f in other]
        kind = SAME if pair[0] == pair[1] else "name"
        if kind != SAME and len(mine) == len(other) and all(
                m == o or (not r.name.startswith("_R") and m in readable.get(r.name, ()))
                for m, o, r in zip(*pair, raw_frames)):
            kind = "as c++filt"
        result.add("demangled", kind, address, *pair)


def check(gsym, name, path):
    result = Result(name)
    aliases = defaultdict(set)
    for s in Elf(path).functions():
        aliases[s.addr].add(s.name)
    shared = set().union(*(same for same in aliases.values() if len(same) > 1), ())
    addresses = addresses_of(path)
    result.addresses = len(addresses)
    with tempfile.NamedTemporaryFile(prefix="gsym-languages-") as gsym_file:
        peers.run([gsym, "convert", "--quiet", path, "-o", gsym_file.name])
        ours = frames.gsym(gsym, gsym_file.name, addresses)
        peers.run([gsym, "convert", "--quiet", "--dwarf-names", path, "-o", f"{gsym_file.name}.dwarf"])
        by_dwarf = frames.gsym(gsym, f"{gsym_file.name}.dwarf", addresses)
        short = frames.symbolizer(path, addresses, functions="short")
        Path(f"{gsym_file.name}.dwarf").unlink()
        for tool, ask in TOOLS.items():
            for address, mine, other, dwarf, bare in zip(addresses, ours, ask(path, addresses) or [], by_dwarf, short):
                in_dwarf = {f[-1].name for f in (dwarf, bare) if f}
                result.add(tool, classify(mine, other, shared, in_dwarf), address, mine, other)
        demangled(gsym, path, gsym_file.name, addresses, ours, result)
    return result


def built(builder, cell):
    return nullcontext(builder.build(cell))


def attempt(gsym, name, make):
    """(result, None) or (None, why it was skipped)."""
    try:
        with make() as path:
            return check(gsym, name, str(path)), None
    except build.Unavailable as why:
        return None, f"skipped: {name}: {why}"


def show(result, count):
    print(f"{result.name:24} {result.addresses:6}", end="")
    for tool, counts in result.counts.items():
        print(f"   {tool} {100 * counts[SAME] / max(1, sum(counts.values())):6.2f} %", end="")
    print()
    for tool, counts in result.counts.items():
        for kind, number in counts.most_common():
            if kind != SAME:
                print(f"    {tool}: {kind}: {number}")
                for address, mine, other in result.examples[tool, kind][:count]:
                    print(f"        {address:#x}\n            ours:   {mine}\n            theirs: {other}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="programs; else the language cells")
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--full", action="store_true", help="all cells, not just the quick ones")
    parser.add_argument("--only", help="only cells with this in their name")
    parser.add_argument("--examples", type=int, default=0, help="shown of each class")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    gsym = peers.gsym_program(options.gsym)
    peers.need("llvm-symbolizer", "llvm-22")
    with tempfile.TemporaryDirectory(prefix="gsym-languages-") as directory:
        builder = build.Builder(directory)
        chosen = [(Path(f).name, partial(nullcontext, f)) for f in options.files] or [
            (cell.name, partial(built, builder, cell))
            for cell in build.cells(options.full, options.only) if cell.kind == "language"]
        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(pool.map(lambda c: attempt(gsym, *c), chosen))
    results = [result for result, _ in outcomes if result]
    for result in results:
        show(result, options.examples)
    faults = [fault for result in results for fault in result.faults()]
    for line in [why for _, why in outcomes if why] + [f"FAIL {fault}" for fault in faults]:
        print(line)
    print(f"{len(results)} programs, {sum(r.addresses for r in results)} addresses, "
          f"{len(outcomes) - len(results)} skipped, {len(faults)} faults")
    if not results:
        peers.skip("no compiler of another language")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
