#!/usr/bin/env python3
"""Breakpad symbols of real programs, made from llvm-gsymutil's reading of them and converted by us.

Every frame must be that of llvm-symbolizer for the original, or that of llvm-gsymutil for the data the symbols were
made from: where the two differ, the symbols cannot say what the first does. The names are llvm-gsymutil's.

    breakpad.py --gsym GSYM [--most N] [--large MIB]
"""
import argparse
import glob
import os
import random
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from corpus.realfiles import real_files  # noqa: E402
from corpus.sample import thin  # noqa: E402
from lib import breakpad, frames, measure, peers  # noqa: E402
from lib.elf import Elf  # noqa: E402

WANTED = {"libc": ("/lib/*/libc.so.6", "/lib64/libc.so.6"), "python3.11": ("/usr/bin/python3.11",),
          "libstdc++": ("/usr/lib/*/debug/libstdc++.so.6",)}
SIZE_MAX = 1 / 3       # of what is converted: with STACK records, as symbols have them, and names as they are stored
PEAK_MAX = 0.45        # of a large file
MIB = 1 << 20


def places(functions, most):
    """Edges of functions, rows and inlined calls, and the bytes between them by chance."""
    wanted = set()
    for f in functions:
        edges = {f.start, f.end - 1, *(a for a, _, _ in f.rows)}
        for call in f.calls:
            edges.update(a for r in call.ranges for a in (r[0], r[1] - 1, r[1]))
        wanted |= {a for a in edges if f.start <= a < f.end}
    return thin(sorted(wanted), most, 1)


def same(ours, theirs):
    """Names of the concrete function apart: llvm-gsymutil has DWARF's, llvm-symbolizer the symbol's."""
    return [(f.file, f.line) for f in ours] == [(f.file, f.line) for f in theirs] and \
        [f.name for f in ours[:-1]] == [f.name for f in theirs[:-1]]


def without_line(ours, peer, original):
    """The text has a call there, but no line: llvm-gsymutil then shows no call, and ours shows it without a line."""
    return len(peer) == 1 and not peer[0].line and not ours[0].line and len(ours) == len(original) > 1 and \
        [(f.file, f.line) for f in ours[1:]] == [(f.file, f.line) for f in original[1:]] and \
        all(a.name.endswith(b.name) for a, b in zip(ours[:-1], original[:-1]))


def stacks(name, build_id):
    """STACK records of the program itself; its debug file has none."""
    paths = [p for pattern in WANTED[name] for p in glob.glob(pattern) if Elf(os.path.realpath(p)).build_id() == build_id]
    dump = [peers.need("llvm-dwarfdump", "llvm-22"), "--eh-frame"]
    return breakpad.stack_records(peers.run([*dump, os.path.realpath(paths[0])])) if paths else []


def compare(gsym, name, path, place, most, chance):
    theirs, sym, ours = f"{place}/theirs", f"{place}/file.sym", f"{place}/ours"
    frames.convert_with_gsymutil(path, theirs)
    functions = breakpad.read_dump(peers.run([peers.need("llvm-gsymutil", "llvm-22"), theirs]))
    build_id = Elf(path).build_id()
    breakpad.write(sym, functions, stacks=stacks(name, build_id), build_id=build_id, chance=chance)
    peers.run([gsym, "convert", "--quiet", sym, "-o", ours])
    peers.run([gsym, "verify", ours])
    peers.run([gsym, "convert", "--quiet", "--num-threads=3", sym, "-o", f"{ours}.3"])
    if Path(ours).read_bytes() != Path(f"{ours}.3").read_bytes():
        print(f"{path}: three threads give other bytes")
        return False
    addresses = places(functions, most)
    got = frames.gsym(gsym, ours, addresses)
    peer = frames.gsymutil(theirs, addresses)
    original = frames.symbolizer(path, addresses)
    known = wrong = 0
    for address, a, b, c in zip(addresses, got, peer, original):
        if same(a, c):
            continue
        known += 1
        if a != b and not without_line(a, b, c):
            wrong += 1
            if wrong <= 10:
                print(f"  {address:#x}: ours {[*map(str, a)]}\n    llvm-gsymutil {[*map(str, b)]}\n"
                      f"    llvm-symbolizer {[*map(str, c)]}")
    ratio = os.path.getsize(ours) / os.path.getsize(sym)
    print(f"{path}: {len(functions)} functions, {len(addresses)} addresses; {known} where llvm-gsymutil differs from "
          f"llvm-symbolizer, {wrong} wrong; {os.path.getsize(sym)} bytes become {os.path.getsize(ours)}, {ratio:.3f}")
    return wrong == 0 and ratio <= SIZE_MAX


def write_large(out, mib):
    """A module of many functions: (bytes, {address: answer})."""
    chance = random.Random(1)
    answers, address, at = {}, 0x1000, 0
    with open(out, "w", buffering=MIB) as stream:
        at += stream.write("MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 large\n")
        for i in range(5000):
            at += stream.write(f"FILE {i} /src/component{i % 100}/part{i}.cc\n")
        for i in range(20000):
            at += stream.write(f"INLINE_ORIGIN {i} ns::inlined_{i}<int>(ns::argument const&)\n")
        number = 0
        while at < mib * MIB:
            rows = chance.randrange(4, 60)
            start, file, line = address, chance.randrange(5000), chance.randrange(1, 5000)
            records = []
            for _ in range(rows):
                size = chance.randrange(1, 24)
                if chance.random() < 0.2:
                    file = chance.randrange(5000)
                line = max(1, line + chance.randrange(-8, 12))
                records.append(f"{address:x} {size:x} {line} {file}\n")
                address += size
            if number % 997 == 0:
                answers[address - 1] = f"ns::function_{number}(int, ns::type<char>) at " \
                                       f"/src/component{file % 100}/part{file}.cc:{line}"
            else:
                middle = start + (address - start) // 2
                records.insert(0, f"INLINE 0 {line} {file} {number % 20000} {start:x} {middle - start:x}\n")
            records.insert(0, f"FUNC {start:x} {address - start:x} 0 ns::function_{number}(int, ns::type<char>)\n")
            records.append(f"STACK CFI INIT {start:x} {address - start:x} .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
                           f"STACK CFI {start + 1:x} .cfa: $rsp 16 + $rbx: .cfa -16 + ^\n")
            at += stream.write("".join(records))
            address += chance.randrange(0, 16)
            number += 1
    return at, answers


def large(gsym, place, mib):
    sym, out = f"{place}/large.sym", f"{place}/large.gsym"
    size, answers = write_large(sym, mib)
    seconds, peak, status = measure.once([gsym, "convert", "--quiet", "--output-version=2", sym, "-o", out])
    if status:
        print(f"large: exit status {status}")
        return False
    got = peers.run([gsym, "lookup", out], stdin="".join(f"{a:#x}\n" for a in answers)).split("\n\n")
    wrong = [(a, want, have) for (a, want), have in zip(answers.items(), got) if have.strip() != want]
    ratio = os.path.getsize(out) / size
    print(f"large: {size / MIB:.0f} MiB in {seconds:.1f} s, {size / MIB / seconds:.0f} MiB/s; peak {peak / 1024:.0f} MiB, "
          f"{peak * 1024 / size:.2f} of the file; GSYM {ratio:.3f} of it; {len(answers)} answers, {len(wrong)} wrong")
    for address, want, have in wrong[:5]:
        print(f"  {address:#x}: {have.strip()!r}, not {want!r}")
    return not wrong and ratio <= SIZE_MAX and peak * 1024 <= PEAK_MAX * size + 64 * MIB


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--most", type=int, default=5000, help="addresses of each file")
    parser.add_argument("--large", type=int, default=0, help="only a generated file of so many MiB")
    options = parser.parse_args()
    gsym = peers.gsym_program(options.gsym)
    with tempfile.TemporaryDirectory(prefix="gsym-breakpad-", dir=os.environ.get("TMPDIR")) as place:
        if options.large:
            return 0 if large(gsym, place, options.large) else 1
        found = [(name, path) for name, _, path in real_files() if name in WANTED and path]
        if not found:
            peers.skip("neither libc6-dbg nor python3.11-dbg is installed")
        good = [compare(gsym, name, path, place, options.most, chance)
                for name, path in found for chance in (None, random.Random(name))]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
