#!/usr/bin/env python3
"""Small files that ask for much work (tests/lib/costly.py): work, memory and output grow with the file, not with its
square.

    costly.py GSYM

What is compared is the number of steps that the converter counts, not time.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import costly, measure  # noqa: E402

GSYM = None
SIZES = {  # of the smallest of three files, each twice as large as the one before
    "shared_functions": 1000, "shared_ranges": 1000, "nested_ranges": 1000, "overlapping_ranges": 1000, "overlapping_functions": 5000,
    "shared_abbreviations": 5000, "shared_lines": 5000, "shared_strings": 4000, "shared_scope": 4000, "shared_arguments": 4000, "shared_template": 2000,
    "shared_directory": 4000, "shared_names": 2000}
GROWTH = 2.3   # of work and output, when the file is twice as large
OUTPUT = 32    # bytes of GSYM for each byte of the file
WORK = 200     # steps for each byte of the file
MEMORY = 64    # MiB that the largest file may need more than the smallest; its square would be hundreds


class Costly(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.directory = pathlib.Path(kept.name)

    def gsym(self, *argv):
        done = subprocess.run([GSYM, *map(str, argv)], capture_output=True, text=True, cwd=self.directory, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def convert(self, image, threads=1):
        """(steps, bytes of output, warnings); sets self.peak, in KiB."""
        source, out, told = (self.directory / name for name in ("in", "out", "json"))
        source.write_bytes(image)
        _, self.peak, status = measure.once(
            [GSYM, "convert", "--progress=never", f"--num-threads={threads}", f"--json-summary-file={told}", "-o", out, source],
            env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"})
        self.assertEqual(status, 0)
        summary = json.loads(told.read_text())
        return summary["work"], out.stat().st_size, summary["error-categories"]

    def grows_linearly(self, make):
        n = SIZES[make.__name__]
        images = [make(n << i) for i in range(3)]
        told, peaks = [], []
        for image in images:
            told.append(self.convert(image))
            peaks.append(self.peak)
        self.assertLess(peaks[-1] - peaks[0], MEMORY * 1024, peaks)
        for (work, size, warnings), image in zip(told, images):
            self.assertLess(work, WORK * len(image), told)
            self.assertLess(size, OUTPUT * len(image), told)
            self.assertTrue(any("would multiply" in kind or "too many units" in kind for kind in warnings), warnings)
        for before, after in zip(told, told[1:]):
            self.assertLess(after[0], GROWTH * before[0], told)
            self.assertLess(after[1], GROWTH * before[1], told)
        self.gsym("verify", "out")
        one = (self.directory / "out").read_bytes()
        self.assertEqual(self.convert(images[-1], threads=3), told[-1])
        self.assertEqual((self.directory / "out").read_bytes(), one)
        if make is not costly.shared_names:
            self.assertEqual(self.gsym("lookup", "out", hex(costly.HONEST)), "honest at /src/honest.c:7\n")


    def tables(self, make, n):
        """Steps, output and memory for other tables than those of DWARF."""
        told, peaks = [], []
        for i in range(3):
            image = make(n << i)
            told.append((*self.convert(image), len(image)))
            peaks.append(self.peak)
        self.assertLess(peaks[-1] - peaks[0], MEMORY * 1024, peaks)
        for before, after in zip(told, told[1:]):
            self.assertLess(after[0], GROWTH * before[0], told)
        for work, size, _, length in told:
            self.assertLess(work, WORK * length, told)
            self.assertLess(size, OUTPUT * length, told)

    def test_refused_paths(self):
        """A path that is refused is measured once, and not for each of the rows: that would use up the account of paths."""
        image = costly.refused_paths(1000)
        work, size, warnings = self.convert(image)
        self.assertIn("unit cut short: shared parts would multiply its size", warnings)
        self.assertLess(work, 100 * len(image))
        self.assertLess(size, OUTPUT * len(image))

    def test_go_shared_values(self):
        self.tables(costly.go_shared_values, 4000)

    def test_go_nested_calls(self):
        self.tables(costly.go_nested_calls, 12000)

    def test_pdb_shared_lines(self):
        self.tables(costly.pdb_shared_lines, 4000)

    def test_pdb_shared_contributions(self):
        self.tables(costly.pdb_shared_contributions, 4000)

    def test_pdb_nested_calls(self):
        self.tables(costly.pdb_nested_calls, 10000)

    def test_pdb_overlapping_calls(self):
        self.tables(costly.pdb_overlapping_calls, 5000)

    def test_pdb_shared_scope(self):
        self.tables(costly.pdb_shared_scope, 4000)

    def test_pdb_shared_stream(self):
        self.tables(costly.pdb_shared_stream, 1000)

    def test_pdb_scattered_functions(self):
        self.tables(costly.pdb_scattered_functions, 2000)


def add(make):
    setattr(Costly, f"test_{make.__name__}", lambda self: self.grows_linearly(make))


for maker in costly.ALL:
    add(maker)

if __name__ == "__main__":
    GSYM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
