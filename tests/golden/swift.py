#!/usr/bin/env python3
"""Names of Swift by a library that stands in for a toolchain's: what is shown, and what hostile names cost.

    swift.py GSYM LIBRARY
"""
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib import breakpad, peers  # noqa: E402

GSYM = LIBRARY = ""
SANITIZED = os.environ.get("BUILD_KIND") == "sanitize"  # workers have no sandbox, and report crashes
VARIABLE = "GSYMFS_SWIFT_DEMANGLE"
HOSTILE = ("abort", "spin", "stack", "memory", "sleep")
SHOWN = {"$s3fooF": "main.3fooF() -> ()", "_$s3barF": "main.3barF() -> ()", "$S3oldF": "main.3oldF() -> ()", "_T03$sxF": "main.xF() -> ()",
         "$e3embF": "main.3embF() -> ()", "$s3fooF@plt": "main.3fooF() -> ()@plt"}
STORED = ("$s_long", "$s_none", "$s" + "a" * 5000, "$x", "$", "_T", "_$", "_T1x", "$d.s3fooF", "s3fooF", "plain")


class SwiftTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = Path(place.name)

    def run_gsym(self, *arguments, library=None, program="gsym", said="", **more):
        env = dict(os.environ, **{VARIABLE: LIBRARY if library is None else library})
        os.path.lexists(self.dir / program) or (self.dir / program).symlink_to(GSYM)
        done = subprocess.run([self.dir / program, *arguments], env=env, cwd=self.dir, capture_output=True, text=True, timeout=100, **more)
        if not SANITIZED:
            self.assertEqual(done.stderr, said)
        return done.stdout

    def convert(self, names):
        lines = [f"FUNC {0x1000 + 16 * i:x} 10 0 {name}\n" for i, name in enumerate(names)]
        (self.dir / "in.sym").write_text(breakpad.MODULE + "".join(lines))
        subprocess.run([GSYM, "convert", "--quiet", self.dir / "in.sym", "-o", self.dir / "in.gsym"], check=True)
        return [f"{0x1000 + 16 * i:#x}" for i in range(len(names))]

    def names(self, names, *options, **more):
        text = self.run_gsym("lookup", "--format=tsv", *options, "in.gsym", *self.convert(names), **more)
        return [line.split("\t")[2] for line in text.splitlines() if line]

    def test_shown(self):
        names = [*SHOWN, *STORED]
        shown = [*SHOWN.values(), *STORED]
        self.assertEqual(self.names(names), shown)
        self.assertEqual(self.names(names, "--no-demangle"), names)
        self.assertEqual(self.run_gsym("lookup", "in.gsym", "main.3fooF() -> ()"), "main.3fooF() -> () at ??:0\n")
        self.assertEqual(self.run_gsym("-e", "in.gsym", "0x1000", program="gsym-symbolizer"), "main.3fooF() -> ()\n??:0:0\n\n")
        self.assertEqual(self.run_gsym("-Cfe", "in.gsym", "0x1000", program="gsym-addr2line"), "$s3fooF\n??:?\n")
        self.assertEqual(self.run_gsym("filter", "in.gsym", input="at in.gsym+0x1000\n", said="gsym filter: 1 of 1 frames explained\n"),
                         "at in.gsym+0x1000 main.3fooF() -> ()\n")

    def test_absent(self):
        """Nothing is said, and nothing else than before."""
        for library in ("", "/nonexistent", GSYM):
            self.assertEqual(self.names(SHOWN, library=library), list(SHOWN), library)

    def test_hostile(self):
        """Each costs itself only."""
        for kind in HOSTILE:
            self.assertEqual(self.names([f"$s_{kind}", "$s3fooF"]), [f"$s_{kind}", "main.3fooF() -> ()"], kind)

    def test_many(self):
        """They take a bounded time, whatever their number."""
        names = [f"$s{i}_spin{i}" for i in range(3000)]
        begin = time.monotonic()
        self.assertEqual(self.names(["$s3fooF", *names]), ["main.3fooF() -> ()", *names])
        self.assertLess(time.monotonic() - begin, 20 * peers.TIMES_SLOWER)  # without a bound it is a minute

    @unittest.skipIf(SANITIZED, "workers have no sandbox")
    def test_caged(self):
        self.assertEqual(self.names(["$s_world"]), ["caged"])


if __name__ == "__main__":
    GSYM, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
