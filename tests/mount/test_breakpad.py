#!/usr/bin/env python3
"""Breakpad's text symbols in SOURCE: the layout of their stores, the ids they have, and who else has that id."""

import os
import shutil
import sys

import mount_harness
from mount_harness import MountTest, run, tool

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import breakpad  # noqa: E402

UUID = "123456789abcdef0fedcba9876543210"


class BreakpadTest(MountTest):
    def setUp(self):
        super().setUp()
        self.binary = self.compile(flags=("-Wl,-Ttext-segment=0x400000",))
        self.id = mount_harness.build_id(self.binary)
        self.debug_id = breakpad.debug_id(self.id)
        self.start = next(start for start, _, name in self.functions(self.binary) if name.endswith("normEv"))

    def put(self, name="sample", os_name="Linux", debug_id=None, code_id=None, arch=None, base=0):
        """A store's file for the sample: its base is what the first segment has as address."""
        debug_id = debug_id or self.debug_id
        place = os.path.join(self.source, "store", name, debug_id)
        os.makedirs(place)
        start = self.start - base
        with open(os.path.join(place, name + ".sym"), "w") as file:
            file.write(f"MODULE {os_name} {arch or os.uname().machine} {debug_id} {name}\n")
            if code_id:
                file.write(f"INFO CODE_ID {code_id}\n")
            file.write(f"FILE 3 /text/symbols.cc\nFUNC {start:x} 10 0 from_text(int)\n{start:x} 10 77 3\n")
        return os.path.join(place, name + ".sym")

    def base(self):
        """Address of the first segment."""
        readelf = tool("readelf", "llvm-readelf")
        if not readelf:
            self.skipTest("readelf is not installed")
        text = run(readelf, "-lW", self.binary).stdout.decode()
        return next(int(line.split()[2], 16) for line in text.split("\n") if line.split()[:1] == ["LOAD"])

    def test_a_store(self):
        os.rename(self.binary, os.path.join(self.dir, "elsewhere"))
        self.put(code_id=self.id.upper())
        self.mount().wait_scanned()
        self.assertEqual(self.read(self.id, hex(self.start)), "from_text(int) at /text/symbols.cc:77\n")
        status = self.status(self.id)
        self.assertEqual((status["kind"], status["debug"]), ("breakpad", "breakpad"))
        self.assertTrue(os.path.lexists(os.path.join(self.mnt, "by-name", "sample.sym", self.id)))

    def test_ids_are_aliases(self):
        """Those that are printed swapped, and Apple's, which are not; in either case; never listed."""
        os.rename(self.binary, os.path.join(self.dir, "elsewhere"))
        self.put(code_id=self.id)
        self.put("apple", "mac", UUID.upper() + "0", arch="arm64")
        self.mount().wait_scanned()
        for alias, id in ((self.debug_id, self.id), (self.debug_id.lower(), self.id), (UUID + "0", UUID),
                          (UUID.upper() + "1a", UUID)):
            self.assertEqual(os.readlink(os.path.join(self.mnt, alias)), id)
            self.assertIn("from_text", self.read(alias, hex(self.start)))
        self.assertFalse(os.path.lexists(os.path.join(self.mnt, "0" * 33)))
        listed = set(os.listdir(self.mnt))
        self.assertLessEqual({self.id, UUID}, listed)
        self.assertFalse(listed & {self.debug_id, self.debug_id.lower(), UUID + "0"})

    def test_an_ambiguous_id(self):
        """Two images may claim one id by its two readings: then it names none."""
        os.rename(self.binary, os.path.join(self.dir, "elsewhere"))
        self.put(code_id=self.id)
        self.put("other", "mac", self.debug_id)
        self.mount().wait_scanned()
        self.assertFalse(os.path.lexists(os.path.join(self.mnt, self.debug_id[:-1] + "5")))

    def test_dwarf_is_better(self):
        self.put(code_id=self.id)
        self.mount().wait_scanned()
        self.assertEqual(self.status(self.id)["debug"], "dwarf")
        self.assertIn("sample.cpp", self.read(self.id, hex(self.start)))
        self.assertIn("geo::point::norm", self.read(self.debug_id, hex(self.start)))

    def test_beside_a_stripped_binary(self):
        """Its addresses count, not those from the start of the module."""
        base = self.base()
        self.assertGreater(base, 0)
        self.put(code_id=self.id, base=base)
        run("strip", self.binary)
        self.mount().wait_scanned()
        self.assertEqual(self.status(self.id)["debug"], "breakpad")
        self.assertEqual(self.read(self.id, hex(self.start)), "from_text(int) at /text/symbols.cc:77\n")
        self.assertEqual(self.read(self.id, "rva", hex(self.start - base)), "from_text(int) at /text/symbols.cc:77\n")

    def test_what_is_wrong_is_told(self):
        os.rename(self.binary, os.path.join(self.dir, "elsewhere"))
        path = self.put(code_id=self.id)
        with open(path, "a") as file:
            file.write("FUNC zz 10 0 damaged\n")
        self.mount().wait_scanned()
        self.read(self.id, hex(self.start))
        self.assertIn("damaged", " ".join(self.status(self.id).values()))
        shutil.copy(path, path + "2")
        with open(path + "2", "r+") as file:
            file.truncate(20)
        self.assertIn("from_text", self.read(self.id, hex(self.start)))


if __name__ == "__main__":
    mount_harness.main()
