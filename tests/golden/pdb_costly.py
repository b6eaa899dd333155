#!/usr/bin/env python3
"""Small PDB files that ask for much work (tests/lib/costly_pdb.py): steps, memory and output grow with the file, not with
its square.

    pdb_costly.py GSYM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import costly_pdb, measure  # noqa: E402

GSYM = None
GROWTH = 2.3   # of work and output, when the file is twice as large
OUTPUT = 32    # bytes of GSYM for each byte of the file
WORK = 200     # steps for each byte of the file
LOST = 12      # the same where few of the functions can be paid for
MEMORY = 64    # MiB that the largest file may need more than the smallest


class CostlyPdb(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.directory = pathlib.Path(kept.name)

    def convert(self, image, threads=1):
        """(steps, bytes of output, peak KiB)."""
        source, out, told = (self.directory / name for name in ("in.pdb", "out", "json"))
        source.write_bytes(image)
        _, peak, status = measure.once(
            [GSYM, "convert", "--progress=never", f"--num-threads={threads}", f"--json-summary-file={told}", "-o", out, source],
            env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"})
        self.assertEqual(status, 0)
        return json.loads(told.read_text())["work"], out.stat().st_size, peak

    def grows_linearly(self, make):
        images = [make(costly_pdb.ALL[make] << i) for i in range(3)]
        told = [(*self.convert(image), len(image)) for image in images]
        self.assertLess(told[-1][2] - told[0][2], MEMORY * 1024, told)
        for work, size, _, length in told:
            self.assertLess(work, WORK * length, told)
            self.assertLess(size, OUTPUT * length, told)
        for before, after in zip(told, told[1:]):
            self.assertLess(after[0], GROWTH * before[0] + 1000, told)
            self.assertLess(after[1], GROWTH * before[1], told)
        one = (self.directory / "out").read_bytes()
        self.assertEqual(self.convert(images[-1], threads=3)[:2], told[-1][:2])
        self.assertEqual((self.directory / "out").read_bytes(), one)
        for command in (["verify", "out"], ["lookup", "out", hex(costly_pdb.HONEST)]):
            done = subprocess.run([GSYM, *command], capture_output=True, text=True, cwd=self.directory, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "honest at ??:0\n")

    def test_lost(self):
        """Functions whose lines cannot be paid for are given up before their inlined calls are laid out."""
        image = costly_pdb.separate_calls(4000)
        self.assertLess(self.convert(image)[0], LOST * len(image))


def add(make):
    setattr(CostlyPdb, f"test_{make.__name__}", lambda self: self.grows_linearly(make))


for maker in costly_pdb.ALL:
    add(maker)

if __name__ == "__main__":
    GSYM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
