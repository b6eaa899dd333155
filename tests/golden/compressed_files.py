#!/usr/bin/env python3
"""Files that are compressed as a whole, by xz, zstd and gzip: the GSYM is that of the content.

    compressed_files.py GSYM
"""
import gzip
import lzma
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import make_elf as m  # noqa: E402

GSYM = ""


def sample(size=200000):
    """An ELF file with two functions; larger than the first step that is inflated."""
    e = m.Maker(m.EM_X86_64)
    e.add(".text", m.CODE, 0x1000, bytes(range(256)) * 8)
    e.add(".data", m.DATA, 0x100000, bytes(i * 7919 >> 5 & 255 for i in range(size)))
    e.add_symbols(".symtab", [("first", 0x1000, 0x100, m.STT_FUNC, ".text"), ("second", 0x1100, 0x40, m.STT_FUNC, ".text")])
    return e.file()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True, timeout=60).stdout


FORMATS = {"xz": lambda data: lzma.compress(data, preset=1), "gz": lambda data: gzip.compress(data, 6), **({"zst": zstd} if shutil.which("zstd") else {})}


class CompressedFilesTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.place = Path(self.directory.name)

    def convert(self, name, data, *options):
        (self.place / name).write_bytes(data)
        return subprocess.run([GSYM, "convert", "--quiet", *options, self.place / name, "-o", self.place / "out"],
                              capture_output=True, text=True, timeout=120)

    def converted(self, name, data, *options):
        done = self.convert(name, data, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        return (self.place / "out").read_bytes()

    def assertRefused(self, name, data, text):
        done = self.convert(name, data)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(text, done.stderr)

    def test_content(self):
        whole = sample()
        want = self.converted("plain", whole)
        for ending, compress in FORMATS.items():
            self.assertEqual(self.converted(f"file.{ending}", compress(whole)), want, ending)
            # Several compressed pieces, as parallel compressors write.
            halves = compress(whole[:70000]) + compress(whole[70000:])
            self.assertEqual(self.converted(f"file.{ending}", halves), want, ending)
        self.assertEqual(self.converted("padded.gz", gzip.compress(whole) + bytes(600)), want)

    def test_debug_file(self):
        """The files that an object file refers to may be compressed, too."""
        e = m.Maker(m.EM_X86_64)
        e.add(".text", m.CODE, 0x1000, bytes(range(256)) * 8)
        stripped = e.file()
        debug = self.place / "app.debug"
        debug.write_bytes(lzma.compress(sample()))
        got = self.converted("app", stripped, f"--debug-file={debug}")
        text = subprocess.run([GSYM, "lookup", self.place / "out", "0x1104"], capture_output=True, text=True).stdout
        self.assertEqual(text, "second+0x4 at ??:0\n", got)

    def test_namesake(self):
        """The debug file of a compressed module below a debug directory, as Debian has it, is not compressed."""
        (self.place / "app.c").write_text("int twice(int x)\n{\n\treturn x * 2;\n}\n")
        where = self.place / "debug" / str(self.place)[1:]
        where.mkdir(parents=True)
        subprocess.run(["gcc", "-g", "-shared", "-Wl,--build-id", "-o", where / "app.ko", "app.c"], cwd=self.place, check=True)
        subprocess.run(["objcopy", "--strip-debug", where / "app.ko", self.place / "app.ko"], check=True)
        stripped = (self.place / "app.ko").read_bytes()
        want = self.converted("app.ko", stripped, f"--debug-dir={self.place}/debug")
        self.assertIn(b"app.c", want)
        for ending, compress in FORMATS.items():
            got = self.converted(f"app.ko.{ending}", compress(stripped), f"--debug-dir={self.place}/debug")
            self.assertEqual(got, want, ending)

    def test_damaged(self):
        whole = sample()
        for ending, compress in FORMATS.items():
            packed = compress(whole)
            self.assertRefused(f"cut.{ending}", packed[:-20], "damaged, or cut short")
            self.assertRefused(f"cut.{ending}", packed[:len(packed) // 2], "damaged, or cut short")
            if ending != "zst":  # which has no checksum here
                flipped = bytearray(packed)
                flipped[-40 if ending == "xz" else -6] ^= 1
                self.assertRefused(f"flipped.{ending}", bytes(flipped), "damaged, or cut short")

    def test_other_content(self):
        for ending, compress in FORMATS.items():
            self.assertRefused(f"text.{ending}", compress(b"no object file\n" * 1000), "no object file")
        self.assertRefused("file.bz2", b"BZh91AY&SY" + bytes(40), "decompress it first")
        # Nothing is inflated twice.
        self.assertRefused("twice.xz", lzma.compress(gzip.compress(sample())), "no object file")

    def test_bombs(self):
        bomb = sample() + bytes(66 << 20)
        for ending, compress in FORMATS.items():
            packed = compress(bomb)
            if len(packed) * 64 > len(bomb):
                continue
            self.assertRefused(f"bomb.{ending}", packed, "more than 67108864 bytes when decompressed")


if __name__ == "__main__":
    GSYM = str(Path(sys.argv.pop(1)).absolute())
    unittest.main()
