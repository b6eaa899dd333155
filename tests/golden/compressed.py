#!/usr/bin/env python3
"""Programs with compressed debug data: the GSYM is that of the same data uncompressed, or of none if it is damaged.

    compressed.py GSYM
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import measure, peers  # noqa: E402
from lib.zstd import frame, wide  # noqa: E402

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


SHF_COMPRESSED = 0x800
ELFCOMPRESS_ZSTD = 2
SKIPPABLE = struct.pack("<II", 0x184d2a53, 5) + b"12345"


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

    def pack_zstd(self, frames, full=None):
        """packed, with .debug_info in these frames, and their size."""
        data = bytearray((self.dir / "plain").read_bytes())
        header, _, size = section(data, ".debug_info")
        flags, = struct.unpack_from("<Q", data, header + 8)
        packed = struct.pack("<IIQQ", ELFCOMPRESS_ZSTD, 0, size if full is None else full, 1) + frames
        struct.pack_into("<Q", data, header + 8, flags | SHF_COMPRESSED)
        struct.pack_into("<QQ", data, header + 24, len(data), len(packed))
        (self.dir / "packed").write_bytes(data + packed)

    def info(self):
        data = (self.dir / "plain").read_bytes()
        _, off, size = section(data, ".debug_info")
        return data[off:off + size]

    def convert(self, name, threads=2):
        """The bytes of GSYM, and the warnings."""
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

    def test_names_of_many_units(self):
        """A qualified name that many units have takes memory once, even if it is that of a symbol in the end."""
        members = "".join(f"int m{i};" for i in range(5000))  # names may take as much memory as the unit is large
        functions = "".join(
            f"__attribute__((used, noinline)) static int f{i}(int x) {{ return x * {i} + 1; }}" for i in range(40))
        (self.dir / "names.cc").write_text(
            f"struct pad {{ {members} }}; __attribute__((used)) static pad p;"
            f"namespace {'n' * 20000} {{ extern \"C\" {{ {functions} }} }}")
        self.run_in("g++", "-g", "-O1", "-fPIC", "-c", "names.cc")
        peaks = []
        for n in (10, 100):
            self.run_in("gcc", "-shared", "-nostdlib", "-o", "plain", *["names.o"] * n)
            _, peak, status = measure.once(
                [GSYM, "convert", "--quiet", "--num-threads=2", "-o", self.dir / "out", self.dir / "plain"],
                env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"})
            self.assertEqual(status, 0)
            peaks.append(peak)
        self.assertLess(peaks[1] - peaks[0], 40 << 10, "KiB; all of them are 72 MB")

    def test_references_between_units(self):
        """The entries of an optimised program refer to those of its units, which come before them or after."""
        self.build("-flto", filler=False)
        self.assertEqual(self.convert("packed"), self.convert("plain"))

    def test_zstd(self):
        """However a section is cut into frames, and whatever is between them."""
        self.build()
        plain, info = self.convert("plain"), self.info()
        pieces = [info[i:i + 100_001] for i in range(0, len(info), 100_001)]
        packed = {
            "one frame": frame(info),
            "checksum": frame(info, checksum=1),
            "no size": frame(info, size=0),
            "many frames": b"".join(frame(p, checksum=i & 1, size=i >> 1 & 1) for i, p in enumerate(pieces)),
            "between": SKIPPABLE.join(frame(p) for p in pieces),
            "at the end": frame(info) + frame(b"") + SKIPPABLE + frame(b"", size=0, checksum=1),
            "first": SKIPPABLE + frame(info),
            "largest window": wide(info, 30 if peers.is_32_bit(GSYM) else 31),  # of libzstd, too
            "window of later frames": frame(pieces[0]) + wide(info[len(pieces[0]):], 27),
        }
        for what, frames in packed.items():
            self.pack_zstd(frames)
            for threads in (1, 3):
                self.assertEqual(self.convert("packed", threads), plain, what)

    def test_zstd_memory(self):
        """A section is not held in memory whole."""
        self.build()
        copies, peaks = 5, []
        for wrap in (frame, lambda data: wide(data, 24)):  # a window of two megabytes, and one that is too large
            self.pack_zstd(wrap(self.info() * copies), len(self.info()) * copies)
            _, peak, status = measure.once(
                [GSYM, "convert", "--quiet", "--num-threads=2", "-o", self.dir / "out", self.dir / "packed"],
                env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"})
            self.assertEqual(status, 0)
            peaks.append(peak)
        self.assertLess(peaks[0], peaks[1] - (24 << 10), "KiB")

    def test_zstd_damaged(self):
        self.build()
        self.run_in("objcopy", "--remove-section=.debug_info", "plain", "none")
        want, odd = self.convert("none")
        self.assertFalse(odd)
        info = self.info()
        whole, half = frame(info, checksum=1), len(info) // 2
        damages = {
            "magic": (b"\0" + whole[1:], None),
            "cut": (whole[:-5], None),
            "cut in the checksum": (whole[:-1], None),
            "checksum": (whole[:-1] + bytes([whole[-1] ^ 1]), None),
            "last frame cut": (frame(info[:half]) + frame(info[half:])[:-1], None),
            "last header cut": (frame(info[:half]) + frame(info[half:])[:5], None),
            "frame missing": (frame(info[:half]), None),
            "frame too many": (whole + frame(b"x"), None),
            "header too many": (whole + whole[:3], None),
            "garbage at the end": (whole + b"garbage", None),
            "longer": (whole, len(info) + 1),
            "shorter": (whole, len(info) - 1),
            "window beyond all": (wide(info, 41), None),
            "window of a later frame beyond all": (frame(info[:half]) + wide(info[half:], 41), None),
        }
        for what, (frames, full) in damages.items():
            self.pack_zstd(frames, full)
            for threads in (1, 3):
                gsym, odd = self.convert("packed", threads)
                self.assertEqual(list(odd), ["section ignored: damaged"], what)
                self.assertEqual(gsym, want, what)

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
