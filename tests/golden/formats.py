#!/usr/bin/env python3
"""Every source format has a row in tests/lib/formats.py: its sample answers, and its parts say what they lack.

    formats.py GSYM
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib.formats import FORMATS  # noqa: E402
from lib.peers import gsym_program  # noqa: E402

LIST = HERE.parents[1] / "work/types/image_kind.h"


def run(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=300)


def check(gsym, row, place):
    """What is wrong with the sample of a row."""
    path, out = row.write(place), place / "out.gsym"
    done = run(gsym, "convert", "--quiet", path, "-o", out)
    if done.returncode:
        yield done.stderr
        return
    if f"UUID         = {row.id}" not in run(gsym, "dump", out).stdout:
        yield f"its id is not {row.id}"
    for address, wanted in row.answers.items():
        answer = run(gsym, "lookup", out, hex(address)).stdout.strip()
        if answer != wanted:
            yield f"{address:#x} is {answer!r}, not {wanted!r}"
    for cut in row.cuts:
        path.write_bytes(row.cut(cut))
        done = run(gsym, "convert", path, "-o", out)
        if cut.skipped and (not done.returncode or not re.search(cut.reason, done.stderr)):
            yield f"cut by {cut.bytes}: exit {done.returncode}: {done.stderr}"


def main():
    gsym, bad = gsym_program(sys.argv[1]), 0
    listed = re.findall(r'^\tX\(\w+, (\w+), "([^"]+)"', LIST.read_text(), re.M)
    if sorted(listed) != sorted((row.reader, row.word) for row in FORMATS):
        print(f"not ok: {LIST.name} lists {listed}: other formats have a sample")
        bad += 1
    for row in FORMATS:
        with tempfile.TemporaryDirectory() as place:
            wrong = list(check(gsym, row, pathlib.Path(place)))
        print(f"{'not ok' if wrong else 'ok'}: {row.reader}", *wrong, sep="\n    ")
        bad += bool(wrong)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
