#!/usr/bin/env python3
"""gsym filter --core: which of the files that a core file lists are code, and how much of it is read.

    core_files.py GSYM MAKE_INPUTS
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import core_file as c  # noqa: E402
from lib import peers  # noqa: E402

BASE = 0x104a78000
PLAIN = [c.File(BASE, BASE + 0x3000, 0, "/plain")]
READ, EXECUTE = 4, 5


def load(flags, start, end):
    return c.Segment(c.PT_LOAD, flags, addr=BASE + start, size=end - start)


# What is in memory, and whether 0xc in the file is in code then. Segments are in no order.
SEGMENTS = {
    "without segments": ([], True),
    "of code": ([load(EXECUTE, 0, 0x1000)], True),
    "of data": ([load(READ, 0, 0x1000)], False),
    "between others": ([load(READ, 0x1000, 0x2000), load(EXECUTE, 0, 0x1000), load(READ, -0x2000, 0)], True),
    "between code": ([load(EXECUTE, 0x1000, 0x2000), load(READ, 0, 0x1000), load(EXECUTE, -0x2000, 0)], False),
    "in none": ([load(READ, 0x1000, 0x2000), load(READ, -0x2000, 0)], True),
}
LARGE = 40 << 20  # bytes; two are more than is read


def main():
    gsym, make_inputs = peers.gsym_program(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    failures = 0
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([make_inputs, "."], cwd=place, check=True)
        core = pathlib.Path(place) / "core"

        def filtered():
            return subprocess.run([gsym, "filter", "--core=core", "plain.gsym"], cwd=place, input=f"{BASE + 0xc:#x}\n",
                                  capture_output=True, text=True, timeout=300)

        for what, (segments, is_code) in SEGMENTS.items():
            core.write_bytes(c.core_file(PLAIN, segments))
            found = filtered()
            good = found.returncode == 0 and ("square" in found.stdout) == is_code
            print(f"{'ok' if good else 'not ok'}: {what}: {found.stdout!r} {found.stderr!r}")
            failures += not good
        for n, expected in ((1, "explained"), (2, "gsym filter: core: File too large\n")):
            core.write_bytes(c.core_file(PLAIN, [c.Segment(c.PT_NOTE, off=1 << 20, file_size=LARGE)] * n))
            with core.open("r+b") as file:
                file.truncate((1 << 20) + LARGE)
            found = filtered()
            good = expected in found.stderr
            print(f"{'ok' if good else 'not ok'}: {n} large segments of notes: {found.stderr!r}")
            failures += not good
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
