#!/usr/bin/env python3
"""Debug data that was read does not stay in memory while the rest is read.

    released.py GSYM
"""
import os
import shutil
import struct
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from compressed import section  # noqa: E402
from lib import measure, peers  # noqa: E402
from lib.craft import Die, Dwarf, Section, Sequence, Unit, layout  # noqa: E402

GSYM = ""
UNITS = 5
APART = 70 << 20  # bytes of .debug_info between units: more than those after which tables are released
LINES = 12 << 20  # bytes of each line table, nearly all of them opcodes that do nothing


def function(number, **options):
    at = 0x1000 + 0x20 * number
    return Unit(Die("subprogram", name=f"f{number}", low_pc=at, high_pc=0x10),
                lines=[Sequence(at + 0x10, (at, 1, number + 5))], **options)


def long_table(number):
    """The line table of a unit, with empty extended opcodes after the sequence."""
    table = Dwarf([function(number)]).line
    return struct.pack("<I", len(table) - 4 + LINES) + table[4:] + bytes(LINES)


def filler(size):
    """The header of a type unit of that size, of which no entry is read."""
    return struct.pack("<IHBBIQI", size - 4, 5, 2, 8, 0, 0, 0)


def units_of(info):
    while info:
        size = 4 + struct.unpack_from("<I", info)[0]
        yield info[:size]
        info = info[size:]


def write(path, apart):
    """Units that many bytes apart, in .debug_info at the end of a sparse file."""
    dwarf = Dwarf([function(i, table=long_table(i)) for i in range(UNITS)])
    sections = [Section(".text", bytes(0x1000), 1, 6, 0x1000)]
    sections += [Section(f".debug_{name}", bytes(getattr(dwarf, name))) for name in ("info", "abbrev", "line")]
    data = bytearray(layout(sections, 62))
    header, _, _ = section(data, ".debug_info")
    with open(path, "wb") as f:
        f.write(data)
        start = f.tell()
        for unit in units_of(bytes(dwarf.info)):
            f.write(unit)
            if apart:
                end = f.tell() + apart
                f.write(filler(apart))
                f.truncate(end)
                f.seek(end)
        place = struct.pack("<QQ", start, f.tell() - start)
        f.seek(header + 24)
        f.write(place)
    return path


class ReleasedTest(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="gsym-released-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def convert(self, path):
        """The bytes of GSYM, and the peak of memory, KiB."""
        out = self.dir / "out"
        _, peak, status = measure.once([GSYM, "convert", "--quiet", "--num-threads=1", "-o", out, path],
                                       env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"})
        self.assertEqual(status, 0)
        return out.read_bytes(), peak

    def test_tables(self):
        """Line tables and their like, each time some .debug_info was read."""
        close, held = self.convert(write(self.dir / "close", 0))
        apart, released = self.convert(write(self.dir / "apart", APART))
        self.assertEqual(apart, close)
        for i in range(UNITS):
            self.assertIn(b"\0f%d\0" % i, apart)
        self.assertLess(released, held - (2 * LINES >> 10), "KiB")


if __name__ == "__main__":
    GSYM = peers.gsym_program(sys.argv.pop(1) if len(sys.argv) > 1 else None)
    unittest.main(verbosity=2)
