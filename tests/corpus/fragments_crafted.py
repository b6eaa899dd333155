#!/usr/bin/env python3
"""Fragments of object files written by hand: how many functions are in one, each asked alone, in groups, and of one conversion.

    fragments_crafted.py COMPARE_FRAGMENTS
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib.craft import C99, C_PLUS_PLUS, Die, Dwarf, Section, Sequence, Symbol, Unit, write  # noqa: E402

ADA95, SIZE, UNITS = 13, 0x20, 12


def unit(number, language=C99, name="f", rows=True, functions=2):
    low = 0x1000 + functions * SIZE * number
    dies = [Die("subprogram", name=f"{name}{number}_{i}", low_pc=low + SIZE * i, high_pc=SIZE) for i in range(functions)]
    lines = [Sequence(low + functions * SIZE, *((low + SIZE * i, 1, 10 + i) for i in range(functions)))] if rows else []
    return Unit(*dies, language=language, lines=lines, low_pc=low, high_pc=functions * SIZE)


def symbols(count, first=0, name="f", size=SIZE):
    return [Symbol(f"{name}{i // 2}_{i % 2}", 0x1000 + SIZE * i, size) for i in range(first, count)]


def aranges(count):
    """.debug_aranges of the units of unit(), each as long as the other."""
    out = b""
    for i in range(count):
        out += (44).to_bytes(4, "little") + b"\2\0" + (i * UNIT_SIZE).to_bytes(4, "little") + b"\x08\0" + bytes(4)
        out += (0x1000 + 2 * SIZE * i).to_bytes(8, "little") + (2 * SIZE).to_bytes(8, "little") + bytes(16)
    return Section(".debug_aranges", out)


UNIT_SIZE = 0  # set by main(): of one of ten units

# What it is, the file, (functions in fragments, functions).
ALL = (2 * UNITS, 2 * UNITS)
CASES = [
    ("units", lambda: ([unit(i) for i in range(UNITS)], {}), ALL),
    ("units and symbols", lambda: ([unit(i) for i in range(UNITS)], {"symbols": symbols(2 * UNITS)}), ALL),
    ("units of Ada", lambda: ([unit(i, ADA95, "pkg__f") for i in range(UNITS)], {}), ALL),
    ("one unit of Ada", lambda: ([unit(i, ADA95 if i == 3 else C99, "pkg__f") for i in range(UNITS)], {}), ALL),
    ("units of C++", lambda: ([unit(i, C_PLUS_PLUS) for i in range(UNITS)], {"symbols": symbols(2 * UNITS)}), ALL),
    ("units of 10, which are listed", lambda: ([unit(i) for i in range(10)], {"symbols": symbols(20), "more": [aranges(10)]}), (20, 20)),
    ("units of 10 that are listed, without symbols", lambda: ([unit(i) for i in range(10)], {"more": [aranges(10)]}), (20, 20)),
    ("functions without rows", lambda: ([unit(i, rows=i % 2) for i in range(UNITS)], {"symbols": symbols(2 * UNITS)}), (UNITS, 2 * UNITS)),
    ("symbols alone", lambda: ([], {"symbols": symbols(8)}), (0, 8)),
    ("symbols beside units", lambda: ([unit(i) for i in range(UNITS)], {"symbols": symbols(2 * UNITS + 4, 2 * UNITS)}), (2 * UNITS, 2 * UNITS + 4)),
    ("a function in two units", lambda: ([unit(i) for i in range(UNITS)] + [unit(UNITS - 1)], {}), ALL),
    ("functions that overlap", lambda: ([unit(i) for i in range(UNITS)] + [unit(5, name="g", functions=1)], {}), ALL),
]


def main():
    global UNIT_SIZE
    program, bad = str(pathlib.Path(sys.argv[1]).resolve()), 0
    UNIT_SIZE = len(Dwarf([unit(i) for i in range(10)]).info) // 10
    for what, make, wanted in CASES:
        for more in ([], ["4"], ["4", "1000", "served"]):
            with tempfile.TemporaryDirectory() as directory:
                units, options = make()
                write(f"{directory}/in", units, text_size=0x4000, **options)
                done = subprocess.run([program, f"{directory}/in", *more], capture_output=True, text=True, timeout=300)
            told = "{} of {} functions in fragments, 0 answers differ".format(*wanted)
            if done.returncode or done.stdout.strip() != told:
                bad += 1
                print(f"{what} {more}: status {done.returncode}, {(done.stdout + done.stderr).strip()}, not {told}")
    print(f"{len(CASES)} files, {bad} answers wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
