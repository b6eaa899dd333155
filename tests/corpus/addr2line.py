#!/usr/bin/env python3
"""Compares the text of `gsym lookup` with llvm-addr2line -pfiC, line for line.

Addresses are random bytes inside functions. Clone suffixes (.cold, .part.0 ...) and " (discriminator N)" are
removed on both sides; every other difference is an exception, counted by class and shown with examples.
"""
import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, peers  # noqa: E402
from lib.elf import Elf  # noqa: E402
from lib.frames import Frame  # noqa: E402
from corpus import accept, classify, realfiles, sample  # noqa: E402

_CLONE = r"\.(?:cold|part|isra|constprop|lto_priv|localalias|llvm|\d+)"
_CLONES = re.compile(rf"(?: \[clone {_CLONE}[.\d]*\]| \((?:{_CLONE}[.\d]*)+\)|(?:{_CLONE}(?:\.\d+)*)+(?= at |\+0x))")
_DISCRIMINATOR = re.compile(r" \(discriminator \d+\)$")
_OFFSET = re.compile(r"\+0x[0-9a-f]+(?= at \?\?:0$)")
_FRAME = re.compile(r"^(?: \(inlined by\) )?(.*) at (.*):(\d+|\?)$")


def normal(line):
    """A line without clone suffix, discriminator, and the offset only we print where no line is known."""
    return _OFFSET.sub("", _CLONES.sub("", _DISCRIMINATOR.sub("", line)))


def ours(gsym, gsym_file, addresses):
    out = peers.run([gsym, "lookup", gsym_file], stdin="".join(f"{a:#x}\n" for a in addresses))
    records = out.split("\n\n")
    if records[-1].strip() == "":
        records.pop()
    if len(records) != len(addresses):
        raise RuntimeError(f"gsym lookup gave {len(records)} records for {len(addresses)} addresses")
    return [record.strip("\n").split("\n") for record in records]


def theirs(path, addresses):
    """With -a every answer begins with its address, which is how the records are told apart."""
    tool = peers.need("llvm-addr2line", "llvm-22")
    out = peers.run([tool, "-a", "-pfiC", "-e", path], stdin="".join(f"{a:#x}\n" for a in addresses))
    records = []
    for line in out.rstrip("\n").split("\n"):
        begin = re.match(r"0x[0-9a-f]+: ", line)
        if begin:
            records.append([line[begin.end():]])
        else:
            records[-1].append(line)
    if len(records) != len(addresses):
        raise RuntimeError(f"{tool} gave {len(records)} records for {len(addresses)} addresses")
    return records


def as_frames(lines):
    found = [_FRAME.match(line) for line in lines]
    frames_ = [Frame("" if m[1] == "??" else m[1], "" if m[2] == "??" else m[2], int(m[3].replace("?", "0")))
               if m else Frame(line, "", 0) for m, line in zip(found, lines)]
    return frames_ if any(f.name or f.file for f in frames_) else []


def compare(gsym, name, path, options):
    """Prints the table of one file; gives the faults."""
    with tempfile.NamedTemporaryFile(prefix="gsym-addr2line-") as gsym_file:
        peers.run([gsym, "convert", "--quiet", path, "-o", gsym_file.name])
        addresses = sample.inside_functions(path, options.count, options.seed)
        answers = list(zip(addresses, ours(gsym, gsym_file.name, addresses), theirs(path, addresses),
                           frames.symbolizer(path, addresses, functions="short")))
    symbols = classify.Symbols(Elf(path))
    counts, examples = Counter(), defaultdict(list)
    for address, mine, other, short in answers:
        mine, other = [normal(line) for line in mine], [normal(line) for line in other]
        kind = classify.IDENTICAL
        if mine != other:
            kind = classify.classify(as_frames(mine), as_frames(other), short, symbols)
            if kind in (classify.IDENTICAL, classify.OTHER_NAME):
                mangled = any(frame.name.startswith("_Z") for frame in as_frames(other))
                kind = classify.MANGLED if mangled else classify.OTHER_NAME
        counts[kind] += 1
        examples[kind].append((address, mine, other))
    print(f"{name}: {counts[classify.IDENTICAL]} of {len(addresses)} addresses line for line the same")
    for kind in classify.CLASSES[1:]:
        if counts[kind]:
            print(f"  {kind}: {counts[kind]}")
            show(examples[kind][:options.examples])
    return [words for _, words in accept.judge(accept.load(options.accept), name, "text", counts)]


def show(examples):
    for address, mine, other in examples:
        print(f"    {address:#x}\n      ours:   " + "\n              ".join(mine) +
              "\n      theirs: " + "\n              ".join(other))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="object files; else libc, libstdc++, Python and the kernel")
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--count", type=int, default=2000, help="addresses of a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=2, help="shown of each class")
    parser.add_argument("--kernel", action="store_true", help="vmlinux in place of the others")
    parser.add_argument("--accept", default=HERE / "accept.txt")
    options = parser.parse_args()
    gsym = peers.gsym_program(options.gsym)
    peers.need("llvm-addr2line", "llvm-22")
    if options.files:
        chosen = [(Path(f).name, f) for f in options.files]
    elif options.kernel:
        chosen = [("vmlinux", realfiles.kernel())]
    else:
        chosen = [(name, path) for name, _, path in realfiles.real_files()]
    chosen = [(name, path) for name, path in chosen if path]
    if not chosen:
        peers.skip("the debug files are not installed")
    faults = [fault for name, path in chosen for fault in compare(gsym, name, path, options)]
    for fault in faults:
        print(f"FAIL {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
