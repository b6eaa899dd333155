#!/usr/bin/env python3
"""GSYM files in SOURCE: images of their own, better than symbols, and used for the program they lie beside."""

import errno
import os
import random
import shutil
import sys
import unittest

import mount_harness
from mount_harness import GSYM, MountTest, contents, is_root, run, tool

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import breakpad  # noqa: E402


class GsymTest(MountTest):
    def setUp(self):
        super().setUp()
        self.binary = self.compile()
        self.id = mount_harness.build_id(self.binary)
        self.address = next(hex(start) for start, _, name in self.functions(self.binary) if name.endswith("normEv"))
        self.elsewhere = os.path.join(self.dir, "elsewhere")

    def make(self, path, *options, id=None, text="from_gsym"):
        """GSYM that says something else than the program's DWARF: made of text symbols."""
        sym = os.path.join(self.dir, "text.sym")
        swapped = breakpad.debug_id(id or self.id)
        with open(sym, "w") as file:
            file.write(f"MODULE Linux {os.uname().machine} {swapped} sample\nINFO CODE_ID {id or self.id}\nFILE 1 /g.c\n"
                       f"FUNC {int(self.address, 16):x} 10 0 {text}\n{int(self.address, 16):x} 10 9 1\n")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run(GSYM, "convert", "--quiet", *options, sym, "-o", path)
        os.unlink(sym)

    def put(self, name, *options, **more):
        self.make(os.path.join(self.source, name), *options, **more)

    def test_alone(self):
        os.rename(self.binary, self.elsewhere)
        for version in "1", "2":
            for order in "little", "big":
                with self.subTest(version=version, order=order):
                    self.put("plain", "--output-version=" + version)
                    run(GSYM, "transcode", "--byte-order=" + order, os.path.join(self.source, "plain"), "-o",
                        os.path.join(self.source, "x.gsym"))
                    os.unlink(os.path.join(self.source, "plain"))
                    daemon = self.mount()
                    daemon.wait_scanned()
                    self.assertEqual(self.read(self.id, self.address), "from_gsym at /g.c:9\n")
                    status = self.status(self.id)
                    self.assertEqual((status["kind"], status["debug"]), ("gsym", "gsym"))
                    daemon.stop()

    def test_long_id(self):
        """Version 1 holds 20 bytes of a build ID: an image with more of them is converted to version 2."""
        long_id = "ab" * 32
        self.compile("long", flags=["-Wl,--build-id=0x" + long_id])
        self.mount().wait_scanned()
        self.assertEqual(self.read(long_id, self.address), self.read(self.id, self.address))
        self.assertIn("geo::point::norm", self.read(long_id, self.address))

    def test_symbolizer(self):
        """addr2line by another name asks the mount about a file that it has the id of, and keeps no more than that id."""
        copy, links, cache = (os.path.join(self.dir, name) for name in ("copy", "links", "own-cache"))
        shutil.copy(self.binary, copy)
        os.mkdir(links)
        for name in "addr2line", "llvm-symbolizer":
            os.symlink(os.path.realpath(GSYM), os.path.join(links, name))
        self.mount().wait_scanned()
        env = {**os.environ, "GSYMFS_MOUNT": self.mnt, "GSYMFS_CACHE": cache}
        wanted = contents(os.path.join(self.mnt, self.id, self.address)).decode()
        for path in copy, os.path.join(self.mnt, self.id, "image.gsym"):
            out = run(os.path.join(links, "addr2line"), "-pfCie", path, self.address, env=env).stdout.decode()
            self.assertEqual(out.splitlines()[0].split(" at ")[1], wanted.splitlines()[0].split(" at ")[1])
            self.assertEqual(len(out.splitlines()), len(wanted.splitlines()))
        out = run(os.path.join(links, "llvm-symbolizer"), "--build-id=" + self.id, self.address, env=env).stdout.decode()
        self.assertIn("norm", out)
        self.assertEqual([name for name in os.listdir(cache) if not name.startswith("id-")], [])

    def test_llvm(self):
        """Those of llvm-gsymutil."""
        gsymutil = tool("llvm-gsymutil-22", "llvm-gsymutil")
        if not gsymutil:
            self.skipTest("llvm-gsymutil is not installed")
        os.rename(self.binary, self.elsewhere)
        run("timeout", str(mount_harness.LIMIT), gsymutil, "--quiet", "--convert", self.elsewhere, "-o", os.path.join(self.source, "theirs"))
        self.mount().wait_scanned()
        self.assertIn("geo::point::norm", self.read(self.id, self.address))

    def test_order(self):
        """DWARF, GSYM, symbols; but GSYM under the program's name comes first."""
        self.put("other/x.gsym")
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertIn("geo::point::norm", self.read(self.id, self.address))
        daemon.stop()
        shutil.copy2(self.binary, self.elsewhere)
        run("strip", "--strip-debug", self.binary)
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertEqual(self.read(self.id, self.address), "from_gsym at /g.c:9\n")
        self.assertIn("segment", self.status(self.id))
        daemon.stop()
        shutil.copy2(self.elsewhere, self.binary)
        self.put("sample.gsym", text="beside")
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertEqual(self.read(self.id, self.address), "beside at /g.c:9\n")
        self.assertTrue(self.status(self.id)["binary"].endswith("/sample"))
        self.assertNotIn("its UUID is not", daemon.log())

    @unittest.skipUnless(is_root(), "only root can give files away")
    def test_of_another_user(self):
        """PROGRAM.gsym of a user who is neither the program's owner nor root does not answer in its place."""
        for program, gsym, wanted in ((12345, 54321, "geo::point::norm"), (12345, 12345, "from_gsym"),
                                      (12345, 0, "from_gsym"), (0, 12345, "geo::point::norm")):
            with self.subTest(program=program, gsym=gsym):
                self.put("sample.gsym")
                os.chown(self.binary, program, program)
                os.chown(self.binary + ".gsym", gsym, gsym)
                daemon = self.mount()
                daemon.wait_scanned()
                self.assertIn(wanted, self.read(self.id, self.address))
                self.assertEqual(daemon.stop(), 0)

    def test_of_another_build(self):
        other = "ff" * 20
        self.put("sample.gsym", id=other)
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertIn("geo::point::norm", self.read(self.id, self.address))
        self.assertIn("from_gsym", self.read(other, self.address))
        self.assertIn("sample.gsym: its UUID is not the id of 'sample'", daemon.log())

    def test_in_a_section(self):
        objcopy = tool("objcopy", "llvm-objcopy", "llvm-objcopy-22")
        if not objcopy:
            self.skipTest("objcopy is not installed")
        self.make(self.elsewhere)
        run("strip", "--strip-debug", self.binary)
        run(objcopy, "--add-section", ".gsym=" + self.elsewhere, self.binary)
        self.mount().wait_scanned()
        self.assertEqual(self.read(self.id, self.address), "from_gsym at /g.c:9\n")
        status = self.status(self.id)
        self.assertEqual((status["kind"], status["debug"]), ("elf", "gsym"))

    def test_damaged(self):
        """Each fails, or answers; the good one stays."""
        random.seed(5)
        self.put("good.gsym", id="ee" * 20)
        good = contents(os.path.join(self.source, "good.gsym"))
        uuid = good.index(bytes.fromhex("ee" * 20))
        for i in range(40):
            bad = bytearray(good)
            for _ in range(6):
                bad[random.randrange(4, len(bad))] = random.randrange(256)
            bad[uuid:uuid + 20] = b"%020d" % i
            if i % 4 == 0:
                del bad[random.randrange(8, len(bad)):]
            with open(os.path.join(self.source, "bad%d.gsym" % i), "wb") as file:
                file.write(bad)
        self.mount().wait_scanned()
        for id in self.ids():
            try:
                self.status(id)
                self.read(id, self.address)
            except OSError as error:
                self.assertIn(error.errno, (errno.EIO, errno.ENOENT, errno.EFBIG, errno.EISDIR, errno.ENOTDIR))
        self.assertIn("from_gsym", self.read("ee" * 20, self.address))


if __name__ == "__main__":
    mount_harness.main()
