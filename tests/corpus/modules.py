#!/usr/bin/env python3
"""Compares kernel modules with llvm-symbolizer and eu-addr2line, address by address.

A module is a relocatable file: its sections have no addresses. eu-addr2line lays them out one behind the other, as
we do, and reads the module itself. llvm-symbolizer takes every section to begin at 0, so that most addresses mean
several places; it reads the module linked by ld(1), which applies the relocations, with every section at the address
it has in that layout. Every function's edges, every row and every edge of an inlined call are asked for.

The same is then asked of the stripped module with its debug file, whose answers have to be those of the debug file.
"""
import glob
import os
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, peers  # noqa: E402
from lib.elf import SHF_ALLOC, Elf  # noqa: E402
from corpus import accept, arguments, classify, sample  # noqa: E402

BAR = 0.999  # of the addresses in functions that DWARF covers, the same answer; labels in assembly aside
SECTIONS = (".init.text", ".exit.text", ".altinstructions", ".text.unlikely")
LLVM, ELFUTILS = "llvm-symbolizer", "eu-addr2line"
# Of accept.txt. "alone": where llvm-symbolizer has our answer.
PARTS = {LLVM: ("covered", "outside"), ELFUTILS: ("eu-covered", "eu-outside")}
ALONE = {"eu-covered": "eu-alone"}


# ---- Which modules ----

def installed():
    """Modules with debug data of the newest kernel that has some, sorted by path."""
    trees = glob.glob("/usr/lib/debug/lib/modules/*/kernel")
    if not trees:
        peers.skip("no kernel modules with debug data (Debian package linux-image-cloud-amd64-dbg)")
    tree = max(trees, key=os.path.getmtime)
    return sorted(glob.glob(f"{tree}/**/*.ko", recursive=True))


def choose(paths, count):
    """The biggest ones, for each of SECTIONS one that has it, and the rest evenly over the list."""
    wanted = set(sorted(paths, key=os.path.getsize)[len(paths) - count // 10:])
    for name in SECTIONS:
        middle = paths[len(paths) // 2:] + paths[:len(paths) // 2]
        wanted.update([p for p in middle if any(s.name == name for s in Elf(p).sections)][:1])
    rest = [p for p in paths if p not in wanted]
    missing = max(0, count - len(wanted))
    return sorted(wanted | {rest[i * len(rest) // missing] for i in range(missing)})


# ---- Addresses for a file that has none ----

def link(path, out):
    """Links @path alone, each allocated section at the address that the layout of elfutils gives it."""
    at = 0
    lines = []
    for s in Elf(path).sections:
        if s.flags & SHF_ALLOC:
            at = -(-at // (s.align or 1)) * (s.align or 1)
            lines.append(f'"{s.name}" {at:#x} : {{ *("{s.name}") }}')
            at += s.size
    Path(f"{out}.ld").write_text("SECTIONS {\n" + "\n".join(lines) + "\n}\n")
    peers.run(["ld", "-T", f"{out}.ld", "-e", "0", "--unresolved-symbols=ignore-all", "--no-check-sections",
               "--no-warnings", "-o", out, path])


# ---- One module ----

class Result:
    def __init__(self, name, faults):
        self.name = name
        self.faults = faults
        self.sections = ()
        self.counts = defaultdict(Counter)
        self.examples = defaultdict(list)

    def add(self, who, address, ours, theirs, short, symbols, alone=False, sound=True):
        """@alone: llvm-symbolizer has our answer; @sound: theirs does not contradict itself."""
        part = PARTS[who][0 if classify.covered(short) else 1]
        kind = classify.classify(ours, theirs, short, symbols)
        if alone and kind not in accept.HARMLESS:
            part = ALONE.get(part, part)
            kind = kind if sound else classify.CONTRADICTION
        self.counts[part][kind] += 1
        if kind not in accept.HARMLESS:
            self.examples[part, kind].append((address, ours, theirs))


def convert(gsym, *arguments):
    peers.run([gsym, "convert", "--quiet", *arguments])


def stripped_faults(gsym, path, addresses, ours, place):
    """What the stripped module says differently, which finds its debug file below /usr/lib/debug."""
    stripped = path.removeprefix("/usr/lib/debug")
    if not os.path.exists(stripped):
        return []
    convert(gsym, stripped, "-o", f"{place}/stripped.gsym")
    convert(gsym, stripped, "--debug-file", path, "-o", f"{place}/named.gsym")
    if Path(f"{place}/stripped.gsym").read_bytes() != Path(f"{place}/named.gsym").read_bytes():
        return [f"{stripped}: another conversion than with its debug file named"]
    found = frames.gsym(gsym, f"{place}/stripped.gsym", addresses)
    return [f"{Path(path).name} {a:#x}: stripped {list(map(str, theirs))}, debug file {list(map(str, mine))}"
            for a, mine, theirs in zip(addresses, ours, found) if mine != theirs][:5]


def compare(gsym, path, options):
    with tempfile.TemporaryDirectory(prefix="gsym-modules-") as place:
        linked, our_file, peer_file = f"{place}/linked", f"{place}/ours.gsym", f"{place}/peer.gsym"
        plain_file = f"{place}/plain.gsym"  # eu-addr2line names functions as DWARF does
        link(path, linked)
        convert(gsym, path, "-o", our_file)
        convert(gsym, path, "--dwarf-names", "-o", plain_file)
        try:
            frames.convert_with_gsymutil(linked, peer_file)
            rows_of = {our_file, peer_file}
        except RuntimeError: # it refuses a module without any function
            rows_of = {our_file}
        elf = Elf(linked)
        addresses = sample.edges_of(elf, rows_of)
        ours = frames.gsym(gsym, our_file, addresses)
        result = Result(f"module:{Path(path).stem}", stripped_faults(gsym, path, addresses, ours, place))
        result.sections = {s.name for s in Elf(path).sections}
        symbols = classify.Symbols(elf)
        answers = zip(addresses, ours, frames.gsym(gsym, plain_file, addresses),
                      frames.symbolizer(linked, addresses),
                      frames.symbolizer(linked, addresses, functions="short"))
        asked = sample.thin(addresses, options.most, options.seed)
        elfutils = dict(zip(asked, frames.elfutils(path, asked)))
        for address, mine, plain, llvm, short in answers:
            result.add(LLVM, address, mine, llvm, short, symbols)
            if address in elfutils:
                theirs, sound = elfutils[address]
                result.add(ELFUTILS, address, plain, theirs, short, symbols, mine == llvm, sound)
        return result


def attempt(gsym, path, options):
    try:
        return compare(gsym, path, options)
    except (RuntimeError, OSError, ValueError) as why:
        return Result(Path(path).stem, [f"{Path(path).name}: {why}"])


# ---- Telling ----

def same(counts):
    return sum(counts[kind] for kind in (*accept.HARMLESS, classify.LABEL))


def print_module(result):
    told = []
    for part, counts in result.counts.items():
        told += [f"{part}: {kind} {n}" for kind, n in counts.most_common() if kind not in accept.HARMLESS]
    shares = " ".join(f"{same(result.counts[p[0]]):7} of {sum(result.counts[p[0]].values()):<7}"
                      for p in PARTS.values())
    print(f"{result.name:32} {shares} {'; '.join(told)}")


def print_examples(results, count):
    shown = Counter()
    for result in results:
        for (part, kind), found in sorted(result.examples.items()):
            for address, ours, theirs in found[:max(0, count - shown[part, kind])]:
                shown[part, kind] += 1
                print(f"\n{result.name} {address:#x}: {kind} ({part})")
                print("   ours:   " + "\n           ".join(map(str, ours or ["-"])))
                print("   theirs: " + "\n           ".join(map(str, theirs or ["-"])))


def judge_all(results, rules):
    faults = [fault for r in results for fault in r.faults]
    faults += [fault for r in results for part, counts in r.counts.items()
               for _, fault in accept.judge(rules, r.name, part, counts)]
    for who, (covered, _) in PARTS.items():
        counts = sum((r.counts[covered] for r in results), Counter())
        alone = sum((r.counts[ALONE[covered]] for r in results if covered in ALONE), Counter())
        total = sum(counts.values()) + sum(alone.values())
        good = same(counts)
        print(f"{who}: {good} of {total} addresses in functions the same ({100 * good / max(1, total):.3f} %)")
        for kind in classify.CLASSES:
            for n, words in ((counts[kind], ""), (alone[kind], ", and llvm-symbolizer has our answer")):
                if n:
                    print(f"    {kind}{words}: {n}")
        if good + sum(alone.values()) < BAR * total or not total:
            faults.append(f"{who}: less than {100 * BAR} % the same, or the tool alone with its answer")
    return faults


def read_arguments():
    parser = arguments.parser(__doc__, 8000, "a module that eu-addr2line is asked for", examples=2)
    parser.add_argument("modules", nargs="*", help=".ko files; else some of the newest kernel's")
    parser.add_argument("--count", type=int, default=50, help="modules")
    parser.add_argument("--accept", default=HERE / "accept.txt", help="the list of accepted differences")
    return parser.parse_args()


def main():
    options = read_arguments()
    gsym = peers.gsym_program(options.gsym)
    for tool, package in (("llvm-symbolizer", "llvm-22"), ("llvm-gsymutil", "llvm-22"), ("eu-addr2line", "elfutils"),
                          ("ld", "binutils")):
        peers.need(tool, package)
    chosen = options.modules or choose(installed(), options.count)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda p: attempt(gsym, p, options), chosen))
    for result in results:
        print_module(result)
    print_examples(results, options.examples)
    print(f"{len(results)} modules; " +
          ", ".join(f"{sum(name in r.sections for r in results)} with {name}" for name in SECTIONS))
    faults = judge_all(results, accept.load(options.accept))
    for fault in faults:
        print(f"FAIL {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
