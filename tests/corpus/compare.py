#!/usr/bin/env python3
"""Compares what our GSYM says with llvm-symbolizer and llvm-gsymutil, address by address.

For every program: one `gsym convert`, then the same addresses through `gsym lookup`, through llvm-gsymutil
reading our file, through llvm-symbolizer reading the object file, and through llvm-gsymutil reading its own
conversion as a second opinion. Differences are put into classes and printed; accept.txt says which are
understood, and everything else fails.
"""
import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, peers  # noqa: E402
from corpus import accept, build, classify, realfiles, sample  # noqa: E402

COVERED, OUTSIDE = "covered", "outside"


class Result:
    """What came out for one program."""

    def __init__(self, name):
        self.name = name
        self.ours = {COVERED: Counter(), OUTSIDE: Counter()}
        self.read_by_peer = {COVERED: Counter(), OUTSIDE: Counter()}
        self.peer = {COVERED: Counter(), OUTSIDE: Counter()}
        self.readers_differ = 0
        self.examples = defaultdict(list)

    def add(self, address, ours, read, peer, theirs, short, symbols):
        part = COVERED if classify.covered(short) else OUTSIDE
        kind = classify.classify(ours, theirs, short, symbols)
        self.ours[part][kind] += 1
        self.read_by_peer[part][classify.classify(read, theirs, short, symbols)] += 1
        self.peer[part][classify.classify(peer, theirs, short, symbols)] += 1
        self.examples[part, kind].append((address, ours, theirs))
        if read != ours:
            self.readers_differ += 1
            self.examples["readers", "gsym and llvm-gsymutil differ"].append((address, ours, read))


def second_opinion(path, out):
    """llvm-gsymutil's conversion, or None: it refuses files without .symtab and DWARF."""
    try:
        frames.convert_with_gsymutil(path, out)
        return out
    except RuntimeError:
        return None


def by_gsymutil(gsym_file, addresses):
    return frames.gsymutil(gsym_file, addresses) if gsym_file else [[]] * len(addresses)


def attempt(gsym, name, path, options):
    """compare(), with the words of a failure in place of the result."""
    try:
        return compare(gsym, name, path, options), None
    except (RuntimeError, OSError, ValueError) as why:
        return None, f"{name}: {why}"


def compare(gsym, name, path, options):
    """Runs all tools on one program."""
    with tempfile.TemporaryDirectory(prefix="gsym-corpus-") as place:
        our_file = f"{place}/ours.gsym"
        if not options.judge_peer:
            peers.run([gsym, "convert", "--quiet", path, "-o", our_file])
        peer_file = second_opinion(path, f"{place}/peer.gsym")
        our_file = peer_file if options.judge_peer else our_file
        elf, addresses = sample.interesting(path, {f for f in (our_file, peer_file) if f})
        addresses = sample.thin(addresses, options.most, options.seed)
        read = by_gsymutil(our_file, addresses)
        answers = zip(addresses,
                      read if options.judge_peer else frames.gsym(gsym, our_file, addresses),
                      read,
                      by_gsymutil(peer_file, addresses),
                      frames.symbolizer(path, addresses),
                      frames.symbolizer(path, addresses, functions="short"))
        symbols = classify.Symbols(elf)
        result = Result(name)
        for address, ours, theirs_reading, peer, theirs, short in answers:
            result.add(address, ours, theirs_reading, peer, theirs, short, symbols)
        return result


def share(counts):
    total = sum(counts.values())
    good = counts[classify.IDENTICAL] + counts[classify.NEITHER]
    return f"{100 * good / total:6.2f}%" if total else "     -"


def print_program(result):
    others = Counter()
    for part in (COVERED, OUTSIDE):
        for kind, count in result.ours[part].items():
            if kind not in accept.HARMLESS:
                others[f"{kind} ({part})" if part == OUTSIDE else kind] += count
    words = "; ".join(f"{kind} {count}" for kind, count in others.most_common())
    print(f"{result.name:34} {sum(result.ours[COVERED].values()):6} {share(result.ours[COVERED])}"
          f" {sum(result.ours[OUTSIDE].values()):6} {share(result.ours[OUTSIDE])}  {words}")


def print_totals(results):
    print(f"\n{'class':50} {'ours':>9} {'ours read by':>13} {'llvm-gsymutil':>14}")
    print(f"{'':50} {'':>9} {'llvm-gsymutil':>13} {'its own':>14}")
    for part in (COVERED, OUTSIDE):
        columns = [sum((getattr(r, kind)[part] for r in results), Counter())
                   for kind in ("ours", "read_by_peer", "peer")]
        title = "inside functions that DWARF covers" if part == COVERED else "elsewhere in code"
        print(f"{title:50} {sum(columns[0].values()):9} {sum(columns[1].values()):13} {sum(columns[2].values()):14}")
        for kind in classify.CLASSES:
            if any(c[kind] for c in columns):
                print(f"  {kind:48} {columns[0][kind]:9} {columns[1][kind]:13} {columns[2][kind]:14}")
    print(f"{'gsym lookup and llvm-gsymutil read our files differently':60} "
          f"{sum(r.readers_differ for r in results)}")


def print_examples(results, count):
    shown = Counter()
    for result in results:
        for (part, kind), found in sorted(result.examples.items()):
            if kind in accept.HARMLESS:
                continue
            for address, ours, theirs in found[:max(0, count - shown[part, kind])]:
                shown[part, kind] += 1
                print(f"\n{result.name} {address:#x}: {kind} ({part})")
                print("   ours:   " + "\n           ".join(map(str, ours or ["-"])))
                print("   theirs: " + "\n           ".join(map(str, theirs or ["-"])))


def programs(options):
    """[(name, path)] to compare; says what is missing."""
    if options.files:
        return [(Path(f).name, f) for f in options.files]
    chosen = []
    if options.set in ("quick", "full"):
        built, skipped = build.build_all(options.dir, options.set == "full", options.only, options.jobs)
        chosen += [(cell.name, str(path)) for cell, path in built]
        for cell, why in skipped:
            print(f"not built: {cell.name}: {why}")
    elif options.set == "kernel":
        if not realfiles.kernel():
            peers.skip("no vmlinux (Debian package linux-image-cloud-amd64-dbg)")
        chosen.append(("vmlinux", realfiles.kernel()))
    else:
        for name, package, path in realfiles.real_files():
            if path:
                chosen.append((name, path))
            else:
                print(f"not there: {name} (Debian package {package})")
    return chosen


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="object files; else a set")
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--set", choices=("quick", "full", "real", "kernel"), default="quick")
    parser.add_argument("--dir", default="corpus-programs", help="where corpus programs are built")
    parser.add_argument("--only", help="only programs with this in their name")
    parser.add_argument("--most", type=int, default=3000, help="addresses of one program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--examples", type=int, default=0, metavar="N", help="show N addresses of each class")
    parser.add_argument("--accept", default=HERE / "accept.txt", help="the list of accepted differences")
    parser.add_argument("--judge-peer", action="store_true",
                        help="judge llvm-gsymutil's conversion in place of ours")
    return parser.parse_args()


def main():
    options = arguments()
    gsym = None if options.judge_peer else peers.gsym_program(options.gsym)
    peers.need("llvm-symbolizer", "llvm-22")
    peers.need("llvm-gsymutil", "llvm-22")
    chosen = programs(options)
    if not chosen:
        peers.skip("nothing to compare")
    with ThreadPoolExecutor(options.jobs) as pool:
        attempts = list(pool.map(lambda p: attempt(gsym, *p, options), chosen))
    results = [result for result, _ in attempts if result]
    print(f"{'program':34} {'in DWARF':>6} {'same':>6} {'else':>7} {'same':>6}   differences of ours")
    for result in results:
        print_program(result)
    print_totals(results)
    print_examples(results, options.examples)
    rules = accept.load(options.accept)
    faults = [why for _, why in attempts if why]
    faults += [f for r in results for part in (COVERED, OUTSIDE)
              for f in accept.judge(rules, r.name, part, r.ours[part])]
    faults += [f for r in results for part in (COVERED,)
               for f in accept.judge(rules, r.name, "peer-read", r.read_by_peer[part])]
    for fault in faults:
        print(f"FAIL {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
