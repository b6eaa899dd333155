#!/usr/bin/env python3
"""Programs with compressed debug data: the GSYM is that of the same data uncompressed, or of none if it is damaged.

    compressed.py GSYM
"""
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402

GSYM = ""
UNITS = 6
SOURCE = """
static inline __attribute__((always_inline)) int h%d(int x) { return x * %d + (x & 3); }
__attribute__((noinline)) int f%d(int x) { return x > 7 ? h%d(x) : h%d(x * 5); }
"""
# A type unit, of which no entry is read: it only moves the units apart.
FILLER = """
	.section .debug_info, "", @progbits
	.long 2f - 1f
1:	.short 5
	.byte 2, 8
	.long 0
	.quad 0
	.long 0
	.fill %d, 1, 0x5a
2:
	.section .note.GNU-stack, "", @progbits
"""
APART = 3 << 20


def section(data, name):
    """Where a section of a 64-bit little-endian ELF file is: offset of its header, of its bytes, their number."""
    shoff, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    strings, = struct.unpack_from("<Q", data, shoff + 64 * names + 24)
    for header in range(shoff, shoff + 64 * count, 64):
        at = strings + struct.unpack_from("<I", data, header)[0]
        if data[at:data.index(0, at)] == name.encode():
            return (header, *struct.unpack_from("<QQ", data, header + 24))
    raise KeyError(name)


class CompressedTest(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="gsym-compressed-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def run_in(self, *argv):
        subprocess.run(argv, cwd=self.dir, check=True, timeout=300)

    def build(self, *options, filler=True):
        """plain, with several units far from each other whose inlined functions have short names, and packed."""
        objects = []
        for i in range(UNITS):
            (self.dir / f"u{i}.c").write_text(SOURCE % ((i, i + 3, i, i, i)))
            (self.dir / f"u{i}.s").write_text(FILLER % APART)
            self.run_in("gcc", "-g", "-O2", *options, "-c", f"u{i}.c")
            objects.append(f"u{i}.o")
            if filler:
                self.run_in("gcc", "-c", f"u{i}.s", "-o", f"s{i}.o")
                objects.append(f"s{i}.o")
        (self.dir / "main.c").write_text(
            "".join(f"int f{i}(int);" for i in range(UNITS)) +
            "int main(int n, char **v) { return " + "+".join(f"f{i}(n)" for i in range(UNITS)) + "; }")
        self.run_in("gcc", "-g", "-O2", *options, "main.c", *objects, "-o", "plain")
        self.run_in("objcopy", "--compress-debug-sections=zlib", "plain", "packed")
        self.assertEqual(struct.unpack_from("<I", *self.bytes_of(".debug_info"))[0], 1, "zlib")

    def bytes_of(self, name):
        data = (self.dir / "packed").read_bytes()
        return data, section(data, name)[1]

    def convert(self, name, threads=2):
        """The bytes of GSYM, and the oddities."""
        peers.run([GSYM, "convert", "--quiet", f"--num-threads={threads}", "--json-summary-file", self.dir / "told",
                   "-o", self.dir / "out", self.dir / name], timeout=300)
        return (self.dir / "out").read_bytes(), json.loads((self.dir / "told").read_text())["error-categories"]

    def test_like_plain(self):
        self.build()
        plain = self.convert("plain")
        for i in range(UNITS):
            self.assertIn(b"\0h%d\0" % i, plain[0])
        for threads in (1, 2, 5):
            self.assertEqual(self.convert("packed", threads), plain, threads)

    def test_references_between_units(self):
        """The entries of an optimised program refer to those of its units, which come before them or after."""
        self.build("-flto", filler=False)
        self.assertEqual(self.convert("packed"), self.convert("plain"))

    def test_damaged(self):
        """Nothing of a damaged section is used, wherever the damage is."""
        self.build()
        self.run_in("objcopy", "--remove-section=.debug_info", "plain", "none")
        want, odd = self.convert("none")
        self.assertFalse(odd)
        data = (self.dir / "packed").read_bytes()
        header, off, size = section(data, ".debug_info")
        full, = struct.unpack_from("<Q", data, off + 8)
        damages = {
            "begin": (off + 24, b"\xff\xff"),
            "data": (off + size // 2, bytes(b ^ 0x55 for b in data[off + size // 2:off + size // 2 + 64])),
            "checksum": (off + size - 1, bytes([data[off + size - 1] ^ 1])),
            "cut": (header + 32, struct.pack("<Q", size - 3)),
            "longer": (off + 8, struct.pack("<Q", full + 1)),
            "shorter": (off + 8, struct.pack("<Q", full - 1)),
        }
        for what, (at, new) in damages.items():
            (self.dir / "bad").write_bytes(data[:at] + new + data[at + len(new):])
            for threads in (1, 3):
                gsym, odd = self.convert("bad", threads)
                self.assertEqual(list(odd), ["section ignored: damaged"], what)
                self.assertEqual(gsym, want, what)


if __name__ == "__main__":
    GSYM = peers.gsym_program(sys.argv.pop(1) if len(sys.argv) > 1 else None)
    unittest.main(verbosity=2)
