#!/usr/bin/env python3
"""JSON answers beside llvm-symbolizer's, key by key.

Every answer must pass a strict parser: RFC 8259 as Python's json module has it, without NaN and the like, without a key that
comes twice, in UTF-8. Each key of llvm-symbolizer's must be there with the same value, apart from what GSYM does not hold (Column,
Discriminator, StartFileName, StartLine: 0 or "", as llvm-symbolizer says "not known") and the paths that both were given.
Other keys are ours to add. Prints how often each key was the same, and examples where it was not.
"""
import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402
from corpus import realfiles, sample  # noqa: E402

NOT_HELD = {"Column": 0, "Discriminator": 0, "StartFileName": "", "StartLine": 0}
OURS = {"Inlined", "LinkageName", "Offset", "Approximate", "Merged", "Source"}
LEAST = 99.9  # per cent of the values of each key


def strict(text):
    """The object, or ValueError."""
    def pairs(found):
        keys = [key for key, _ in found]
        if len(keys) != len(set(keys)):
            raise ValueError("a key comes twice: %s" % keys)
        return dict(found)

    def constant(word):
        raise ValueError("%s is no JSON" % word)
    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)


def lines(argv, addresses):
    out = peers.run(argv, stdin="".join(f"{a:#x}\n" for a in addresses))
    found = [line for line in out.split("\n") if line]
    if len(found) != len(addresses):
        raise RuntimeError(f"{argv[0]} gave {len(found)} records for {len(addresses)} addresses")
    return found


class Keys:
    """What was compared of each key, and where it differed."""

    def __init__(self):
        self.same, self.all, self.examples = Counter(), Counter(), {}

    def compare(self, address, key, ours, theirs):
        self.all[key] += 1
        self.same[key] += ours == theirs
        if ours != theirs:
            self.examples.setdefault(key, []).append(f"{address:#x}: ours {ours!r}, llvm-symbolizer {theirs!r}")

    def frame(self, address, ours, theirs):
        for key, value in theirs.items():
            if key in NOT_HELD:
                self.compare(address, key + " (not held)", ours.get(key), NOT_HELD[key])
            elif key == "StartAddress" and ours.get("Inlined"):
                continue  # llvm-symbolizer gives that of the function around it, ours that of the inlined body
            else:
                self.compare(address, key, ours.get(key), value)
        self.compare(address, "other keys", sorted(ours.keys() - theirs.keys() - OURS), [])

    def answer(self, address, ours, theirs):
        self.compare(address, "Address", ours.get("Address"), theirs["Address"])
        self.compare(address, "frames", len(ours["Symbol"]), len(theirs["Symbol"]))
        for a, b in zip(ours["Symbol"], theirs["Symbol"]):
            self.frame(address, a, b)

    def report(self, name, examples):
        print(f"{name}:")
        for key in sorted(self.all):
            print(f"  {key:28} {self.same[key]:6} of {self.all[key]:6}")
            for example in self.examples.get(key, [])[:examples]:
                print(f"      {example}")
        return all(100 * self.same[key] >= LEAST * self.all[key] for key in self.all)


def check(gsym, tool, name, path, most, examples):
    """Whether all is well."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        peers.run([gsym, "convert", "--quiet", path, "-o", out])
        _, addresses = sample.places(path, [], most * 3, 1)
        ours = [strict(line) for line in lines([gsym, "lookup", "--format=json", out], addresses)]
    theirs = [strict(line) for line in lines([tool, "--output-style=JSON", "-e", path], addresses)]
    keys = Keys()
    compared = 0
    for address, a, b in zip(addresses, ours, theirs):
        # Padding has rows but no function, and of a symbol without lines the two say different things: see addr2line.py.
        if compared < most and all(s["FunctionName"] for s in b["Symbol"]) and b["Symbol"][0]["Line"]:
            keys.answer(address, a, b)
            compared += 1
    return keys.report(f"{name}, {compared} addresses", examples)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--gsym")
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--examples", type=int, default=2)
    arguments = parser.parse_args()
    gsym = peers.gsym_program(arguments.gsym)
    tool = peers.need("llvm-symbolizer", "llvm-22")
    files = [(name, path) for name, _, path in realfiles.real_files() if path and name in ("libc", "python3.11")]
    if not files:
        peers.skip("neither libc6-dbg nor python3.11-dbg is installed")
    good = [check(gsym, tool, name, path, arguments.most, arguments.examples) for name, path in files]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
