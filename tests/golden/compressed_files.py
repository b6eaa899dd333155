#!/usr/bin/env python3
"""Files that are compressed as a whole, by xz, zstd and gzip: the GSYM is that of the content.

    compressed_files.py GSYM
"""
import gzip
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib
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
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True, timeout=600).stdout


FORMATS = {"xz": lambda data: lzma.compress(data, preset=1), **({"zst": zstd} if shutil.which("zstd") else {})}
if os.environ.get("HAVE_ISAL") != "0":  # a build without it leaves gzip to the user
    FORMATS["gz"] = lambda data: gzip.compress(data, 6)


class CompressedFilesTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.place = Path(self.directory.name)

    def convert(self, name, data, *options):
        (self.place / name).write_bytes(data)
        return subprocess.run([GSYM, "convert", "--quiet", *options, self.place / name, "-o", self.place / "out"],
                              capture_output=True, text=True, timeout=600)

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
        if "gz" in FORMATS:
            self.assertEqual(self.converted("padded.gz", gzip.compress(whole) + bytes(600)), want)
        else:
            self.assertRefused("file.gz", gzip.compress(whole), "decompress it first")

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

    def separate(self):
        """app.id and app.link, two stripped programs; the path of the first's debug file by id; the debug files' bytes."""
        def run(*command):
            return subprocess.run(command, cwd=self.place, capture_output=True, text=True, check=True).stdout
        (self.place / "app.c").write_text("int twice(int x)\n{\n\treturn x * 2;\n}\n")
        run("gcc", "-g", "-shared", "-Wl,--build-id", "-o", "app.debug", "app.c")
        number = next(line.split()[-1] for line in run("readelf", "-n", "app.debug").splitlines() if "Build ID" in line)
        run("objcopy", "--strip-debug", "app.debug", "app.id")
        run("objcopy", "--remove-section=.note.gnu.build-id", "app.debug", "linked.debug")
        run("objcopy", "--strip-debug", "--remove-section=.note.gnu.build-id", "app.id", "plain")
        run("objcopy", "--add-gnu-debuglink=linked.debug", "plain", "app.link")
        debug, linked = ((self.place / name).read_bytes() for name in ("app.debug", "linked.debug"))
        (self.place / "linked.debug").unlink()
        return f".build-id/{number[:2]}/{number[2:]}.debug", debug, linked

    def test_packed_debug_file(self):
        """Debug files that are found may be compressed, whatever the object file is."""
        by_id, debug, linked = self.separate()
        top = self.place / "debug"
        for ending, compress in FORMATS.items():
            for name, where, data in (("app.id", top / by_id, debug), ("app.link", self.place / "linked.debug", linked),
                                      ("app.link", self.place / ".debug/linked.debug", linked),
                                      ("app.link", Path(f"{top}{self.place}/linked.debug"), linked)):
                packed = where.with_name(f"{where.name}.{ending}")
                where.parent.mkdir(parents=True, exist_ok=True)
                stripped = (self.place / name).read_bytes()
                packed.write_bytes(compress(data))
                self.assertIn(b"app.c", self.converted(name, stripped, f"--debug-dir={top}"), packed)
                packed.write_bytes(compress(data + b"\0" if data is linked else linked))
                self.assertNotIn(b"app.c", self.converted(name, stripped, f"--debug-dir={top}"), packed)
                packed.unlink()

    def test_namesake(self):
        """The debug file of a compressed module below a debug directory, as Debian has it, may be compressed, too."""
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
            (where / f"app.ko.{ending}").write_bytes(compress((where / "app.ko").read_bytes()))
            (where / "app.ko").rename(where / "aside")
            for name, data in (("app.ko", stripped), (f"app.ko.{ending}", compress(stripped))):
                self.assertEqual(self.converted(name, data, f"--debug-dir={self.place}/debug"), want, (name, ending))
            (where / f"app.ko.{ending}").unlink()
            (where / "aside").rename(where / "app.ko")

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

    def test_large_dictionary(self):
        """The headers ask for more memory than one file may take, as those of xz --lzma2=dict=384MiB and zstd --ultra --long=30."""
        packed = bytearray(FORMATS["xz"](sample()))
        size = 4 * (packed[12] + 1)
        self.assertEqual(packed[14:16], b"\x21\x01")  # LZMA2, one byte of properties
        packed[16] = 33
        packed[12 + size - 4:12 + size] = zlib.crc32(packed[12:12 + size - 4]).to_bytes(4, "little")
        self.assertRefused("large.xz", bytes(packed), "compressed with xz: decompressing it takes more than 256 MiB of memory")
        if "zst" in FORMATS:
            packed = bytearray(FORMATS["zst"](sample()))
            self.assertFalse(packed[4] & 0x20)  # the window's size follows
            packed[5] = 20 << 3
            self.assertRefused("large.zst", bytes(packed), "compressed with zstd: decompressing it takes more than 128 MiB of memory")

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
