#!/usr/bin/env python3
"""Compares what our GSYM says with llvm-symbolizer and llvm-gsymutil, address by address, and prints a table.

Three comparisons for every program:
  symbolizer  `gsym lookup` of our conversion with llvm-symbolizer reading the object file
  gsymutil    `gsym convert --match-llvm` with llvm-gsymutil's own conversion, both read by llvm-gsymutil
  reader      llvm-gsymutil reading our default conversion with `gsym lookup` reading it
The addresses are every edge of a function, row and inlined range that any of the tools knows, and between them
every place where an instruction may begin, as far as --most allows. An address is covered when the symbolizer
finds a function of the DWARF data there (it names one with --functions=short, which ignores the symbol table);
the others are "elsewhere" and are judged as well.

Differences are put into classes (classify.py); accept.txt says which are understood. Everything else fails, and so
does a program where less than LEAST of the covered addresses agree or have an accepted difference.
"""
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, peers  # noqa: E402
from lib.elf import EM_AARCH64  # noqa: E402
from lib.pe import Pe  # noqa: E402
from corpus import accept, arguments, build, classify, realfiles, sample  # noqa: E402

COVERED, OUTSIDE = "covered", "outside"
SYMBOLIZER, GSYMUTIL, READER = "symbolizer", "gsymutil", "reader"
LEAST = 0.999


class Result:
    """What came out for one program: counts of classes for each comparison and part."""

    def __init__(self, name):
        self.name = name
        self.symbols = None  # what is wrong with them
        self.counts = defaultdict(Counter)
        self.examples = defaultdict(list)

    def add(self, what, part, address, ours, theirs, short, symbols):
        kind = classify.classify(ours, theirs, short, symbols)
        self.counts[what, part][kind] += 1
        if kind not in accept.HARMLESS:
            self.examples[what, part, kind].append((address, ours, theirs))

    def total(self, part=COVERED):
        return sum(self.counts[SYMBOLIZER, part].values())


def second_opinion(path, out):
    """llvm-gsymutil's conversion, or None: it refuses files without .symtab and DWARF."""
    try:
        frames.convert_with_gsymutil(path, out)
        return out
    except (RuntimeError, subprocess.TimeoutExpired):
        return None


def attempt(gsym, name, make, options):
    """compare(), with the words of a failure or of what is missing in place of the result."""
    try:
        with make() as path:
            return compare(gsym, name, str(path), options), None, None
    except build.Unavailable as why:
        return None, None, f"skipped: {name}: {why}"
    except (RuntimeError, OSError, ValueError, build.Broken, subprocess.TimeoutExpired) as why:
        return None, f"{name}: {why}", None


def compare(gsym, name, path, options):
    """Runs all tools on one program."""
    plain = Path(path).parent / build.PLAIN
    theirs_path = str(plain) if plain.exists() else path
    with tempfile.TemporaryDirectory(prefix="gsym-corpus-") as place:
        default, matching = f"{place}/ours.gsym", f"{place}/match.gsym"
        peers.run([gsym, "convert", "--quiet", path, "-o", default])
        own = second_opinion(theirs_path, f"{place}/peer.gsym")
        elf, addresses = sample.places(theirs_path, {f for f in (default, own) if f}, options.most, options.seed)
        symbols = classify.Symbols(elf)
        result = Result(name)
        short = frames.symbolizer(theirs_path, addresses, functions="short")
        parts = [COVERED if classify.covered(s) else OUTSIDE for s in short]
        ours = frames.gsym(gsym, default, addresses)
        for what, mine, theirs in comparisons(elf, gsym, path, theirs_path, default, matching, own, addresses, ours):
            for address, part, m, t, s in zip(addresses, parts, mine, theirs, short):
                result.add(what, part, address, m, t, t if what == READER else s, symbols)
        result.symbols = check_symbols(gsym, theirs_path, default, elf)
        return result


def comparisons(image, gsym, path, theirs_path, default, matching, own, addresses, ours):
    """(what, our frames, their frames) of each comparison."""
    yield SYMBOLIZER, ours, without_decoration(image, frames.symbolizer(theirs_path, addresses))
    yield READER, frames.gsymutil(default, addresses), ours
    if own:
        peers.run([gsym, "convert", "--quiet", "--match-llvm", path, "-o", matching])
        yield GSYMUTIL, frames.gsymutil(matching, addresses), frames.gsymutil(own, addresses)


def without_decoration(image, answers):
    """i386 PE: llvm-symbolizer prints names of symbols as the table has them."""
    if not isinstance(image, Pe):
        return answers
    return [[f._replace(name=image.plain_names.get(f.name, f.name)) for f in answer] for answer in answers]


_COFF_FUNCTION = re.compile(r"^\[ *\d+\]\(sec +([1-9]\d*)\).*\(ty +20\)\(scl +(?:2|3)\).* 0x([0-9a-f]+) (\S+)$", re.M)


def check_symbols(gsym, path, default, image):
    """What objdump says of the functions of a PE file: the first that has another name, or None."""
    if not isinstance(image, Pe):
        return None
    objdump = peers.find("llvm-objdump" if image.machine == EM_AARCH64 else "objdump")  # binutils may not know it
    if not objdump:
        return None
    names = defaultdict(set)
    for section, value, name in _COFF_FUNCTION.findall(peers.run([objdump, "-t", path])):
        if image.sections[int(section) - 1].code:
            names[image.sections[int(section) - 1].addr + int(value, 16)].add(image.plain(name))
    starts = sorted(names)
    for addr, answer in zip(starts, frames.gsym(gsym, default, starts)):
        if not answer or answer[-1].name not in names[addr]:
            return f"{addr:#x} is {answer[-1].name if answer else 'unknown'}, by objdump {sorted(names[addr])}"
    return None if starts else "objdump knows no function"


def share(count, total):
    """Rounded down: 100.00 means all."""
    return f"{int(10000 * count / total) / 100:7.2f}" if total else "      -"


def same(counts):
    return sum(counts[kind] for kind in accept.HARMLESS)


class Verdict:
    """One program's line of the table, and what is wrong with it."""

    def __init__(self, rules, result):
        self.result = result
        self.faults = []
        self.unexplained = Counter()
        for (what, part), counts in sorted(result.counts.items()):
            prefix = "" if what == SYMBOLIZER else what + "-"
            for kind, words in accept.judge(rules, result.name, prefix + part, counts):
                self.unexplained[what] += counts[kind] if part == COVERED else 0
                self.faults.append(words)
        if result.symbols:
            self.faults.append(f"{result.name}: {result.symbols}")
        self.agreement = {what: self._agreement(what) for what in (SYMBOLIZER, GSYMUTIL, READER)}
        for what, (total, _, agreed) in self.agreement.items():
            if total and agreed < LEAST * total:
                self.faults.append(f"{result.name}: {what}: {agreed} of {total} covered addresses agree")

    def _agreement(self, what):
        """(addresses, the same, the same or explained)."""
        counts = self.result.counts[what, COVERED]
        total = sum(counts.values())
        return total, same(counts), total - self.unexplained[what]

    def row(self):
        columns = "".join(f" {share(s, t)} {share(a, t)}" for t, s, a in self.agreement.values())
        elsewhere = self.result.counts[SYMBOLIZER, OUTSIDE]
        total = sum(elsewhere.values())
        return (f"{self.result.name:32} {self.result.total():7}{columns} {total:7} {share(same(elsewhere), total)}"
                f" {'FAIL' if self.faults else ''}").rstrip()


def print_table(verdicts):
    heads = "".join(f" {what:>15}" for what in (SYMBOLIZER, GSYMUTIL, READER))
    print(f"{'':32} {'covered':>7}{heads} {'':>7} {'% of':>7}")
    print(f"{'program':32} {'address':>7}{'  % same % agree' * 3} {'else':>7} {'% same':>7}")
    for verdict in verdicts:
        print(verdict.row())


def print_classes(results):
    """How often each class occurs, all programs together."""
    for part, title in ((COVERED, "covered addresses"), (OUTSIDE, "elsewhere in code")):
        columns = [sum((r.counts[what, part] for r in results), Counter())
                   for what in (SYMBOLIZER, GSYMUTIL, READER)]
        print(f"\n{title:50} {'symbolizer':>11} {'gsymutil':>11} {'reader':>11}")
        for kind in classify.CLASSES:
            if any(c[kind] for c in columns):
                print(f"  {kind:48}" + "".join(f" {c[kind]:11}" for c in columns))
        print(f"  {'all':48}" + "".join(f" {sum(c.values()):11}" for c in columns))


def shorten(frame):
    """The corpus has a name of 9,000 letters."""
    text = str(frame)
    return text if len(text) < 400 else f"{text[:60]}...{text[-120:]}"


def print_examples(results, count):
    shown = Counter()
    for result in results:
        for key, found in sorted(result.examples.items()):
            for address, ours, theirs in found[:max(0, count - shown[key])]:
                shown[key] += 1
                print(f"\n{result.name} {address:#x}: {', '.join(key)}")
                print("   ours:   " + "\n           ".join(shorten(f) for f in ours or ["-"]))
                print("   theirs: " + "\n           ".join(shorten(f) for f in theirs or ["-"]))


@contextmanager
def built(builder, cell):
    """The program of a cell while it is compared: nothing is left for the next run."""
    try:
        yield builder.build(cell)
    finally:
        if not builder.keep:
            builder.remove(cell)


def programs(options, directory):
    """[(name, context that gives a path)] to compare; says what is missing."""
    if options.files:
        return [(Path(f).name, partial(nullcontext, f)) for f in options.files]
    if options.set in ("quick", "full"):
        builder = build.Builder(options.dir or directory)
        builder.keep = bool(options.dir)
        return [(cell.name, partial(built, builder, cell))
                for cell in build.cells(options.set == "full", options.only)]
    if options.set == "kernel":
        if not realfiles.kernel():
            peers.skip("no vmlinux (Debian package linux-image-cloud-amd64-dbg)")
        return [("vmlinux", partial(nullcontext, realfiles.kernel()))]
    for name, package, path in realfiles.real_files():
        if not path:
            print(f"skipped: {name}: not installed (Debian package {package})")
    return [(name, partial(nullcontext, path)) for name, _, path in realfiles.real_files() if path]


def read_arguments():
    parser = arguments.parser(__doc__, 3000, "one program")
    parser.add_argument("files", nargs="*", help="object files; else a set")
    parser.add_argument("--set", choices=("quick", "full", "real", "kernel"), default="quick")
    parser.add_argument("--dir", help="where programs are built and kept (default: nowhere)")
    parser.add_argument("--only", help="only programs with this in their name")
    parser.add_argument("--accept", default=HERE / "accept.txt", help="the list of accepted differences")
    return parser.parse_args()


def main():
    options = read_arguments()
    gsym = peers.gsym_program(options.gsym)
    peers.need("llvm-symbolizer", "llvm-22")
    peers.need("llvm-gsymutil", "llvm-22")
    rules = accept.load(options.accept)
    with tempfile.TemporaryDirectory(prefix="gsym-corpus-") as directory:
        chosen = programs(options, directory)
        with ThreadPoolExecutor(options.jobs) as pool:
            attempts = list(pool.map(lambda p: attempt(gsym, *p, options), chosen))
    results = [result for result, _, _ in attempts if result]
    verdicts = [Verdict(rules, result) for result in results]
    print_table(verdicts)
    print_classes(results)
    print_examples(results, options.examples)
    skipped = [why for _, _, why in attempts if why]
    faults = [why for _, why, _ in attempts if why] + [f for v in verdicts for f in v.faults]
    for line in skipped + [f"FAIL {fault}" for fault in faults]:
        print(line)
    print(f"{len(results)} programs, {sum(r.total() for r in results)} covered addresses, {len(skipped)} skipped, "
          f"{len(faults)} faults")
    if not results and not faults:
        peers.skip("nothing to compare")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
