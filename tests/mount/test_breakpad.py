#!/usr/bin/env python3
"""Breakpad's text symbols in SOURCE: the layout of their stores, the ids they have, and who else has that id."""

import json
import os
import shutil
import sys

import mount_harness
from mount_harness import MountTest, run, tool

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import breakpad, macho_sample, make_macho  # noqa: E402

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

    # ---- Symbols that name only the first 16 bytes of the build id ----

    FROM_TEXT = "from_text(int) at /text/symbols.cc:77\n"

    def cut(self):
        """The id that such symbols would have alone."""
        return self.id[:32]

    def assertLeads(self, alias, id):
        """The kernel may remember for some seconds where it led before."""
        path = os.path.join(self.mnt, alias)
        mount_harness.wait_until(lambda: os.path.islink(path) and os.readlink(path) == id, f"{alias} for {id}")

    def assertJoined(self):
        """One image, under the id of the program; the others lead to it."""
        listed = set(os.listdir(self.mnt))
        self.assertIn(self.id, listed)
        self.assertNotIn(self.cut(), listed)
        self.assertLeads(self.debug_id, self.id)
        self.assertLeads(self.cut(), self.id)
        self.assertEqual(self.builds("sample.sym"), [self.id])

    def assertAlone(self):
        self.assertIn(self.cut(), os.listdir(self.mnt))
        self.assertEqual(os.readlink(os.path.join(self.mnt, self.debug_id)), self.cut())
        self.assertEqual(self.read(self.debug_id, hex(self.start)), self.FROM_TEXT)

    def test_joined_by_the_beginning(self):
        self.put(base=self.base())
        run("strip", self.binary)
        self.mount().wait_scanned()
        self.assertJoined()
        status = self.status(self.id)
        self.assertEqual((status["debug"], status["kind"], status["binary"]), ("breakpad", "breakpad", self.binary))
        self.assertEqual(self.read(self.debug_id, hex(self.start)), self.FROM_TEXT)

    def test_known_from_the_index(self):
        self.put(base=self.base())
        run("strip", self.binary)
        daemon = self.mount()
        daemon.wait_scanned()
        self.remount(daemon).wait_scanned()
        self.assertJoined()

    def test_dwarf_is_better_than_what_is_joined(self):
        path = self.put(base=self.base())
        self.mount().wait_scanned()
        self.assertJoined()
        status = self.status(self.id)
        self.assertEqual((status["debug"], status["also"]), ("dwarf", path))
        self.assertIn("sample.cpp", self.read(self.debug_id, hex(self.start)))

    def test_dwarf_elsewhere_is_better(self):
        """Of a debug file in a directory of such; when it comes, and when it goes."""
        self.put(base=self.base())
        dirs = os.path.join(self.dir, "debug")
        debug = os.path.join(dirs, ".build-id", self.id[:2], self.id[2:] + ".debug")
        os.makedirs(os.path.dirname(debug))
        run("objcopy", "--only-keep-debug", self.binary, debug + ".not")
        run("strip", self.binary)
        daemon = self.mount("debug_dirs=" + dirs, "rescan=1")
        daemon.wait_scanned()
        self.assertEqual(self.read(self.id, hex(self.start)), self.FROM_TEXT)
        for old, new, want in ((debug + ".not", debug, "sample.cpp"), (debug, debug + ".not", self.FROM_TEXT)):
            os.rename(old, new)
            mount_harness.wait_until(lambda want=want: want in self.read(self.id, hex(self.start)), want)

    def test_program_comes_and_goes(self):
        self.put(base=self.base())
        run("strip", self.binary)
        aside = os.path.join(self.dir, "elsewhere")
        os.rename(self.binary, aside)
        daemon = self.mount("rescan=1")
        daemon.wait_scanned()
        offset = hex(self.start - 0x400000)
        self.assertEqual(self.read(self.cut(), offset), self.FROM_TEXT)
        for _ in range(2):
            os.rename(aside, self.binary)
            mount_harness.wait_until(lambda: self.cut() not in os.listdir(self.mnt), "the program")
            self.assertJoined()
            self.assertEqual(self.read(self.id, hex(self.start)), self.FROM_TEXT)
            self.assertEqual(self.read(self.cut(), "rva", offset), self.FROM_TEXT)
            os.rename(self.binary, aside)
            mount_harness.wait_until(lambda: self.id not in os.listdir(self.mnt), "its end")
            self.assertLeads(self.debug_id, self.cut())
            mount_harness.wait_until(lambda: not os.path.islink(os.path.join(self.mnt, self.cut())), "its directory")
            self.assertEqual(self.read(self.cut(), offset), self.FROM_TEXT)

    def other_program(self):
        """One whose build id begins with the same 16 bytes; its id."""
        other = bytearray(bytes.fromhex(self.id))
        other[19] ^= 0xff
        data = mount_harness.contents(self.binary)
        with open(os.path.join(self.source, "other"), "wb") as file:
            file.write(data.replace(bytes.fromhex(self.id), bytes(other)))
        return other.hex()

    def test_two_programs(self):
        """Nobody knows whose the symbols are: they stay what they are, and say so."""
        self.put()
        other = self.other_program()
        daemon = self.mount("rescan=1")
        daemon.wait_scanned()
        self.assertAlone()
        self.assertLessEqual({self.id, other}, set(os.listdir(self.mnt)))
        self.assertEqual(sorted(self.status(self.cut())["ambiguous"]), sorted([self.id, other]))
        self.assertEqual(sorted(json.loads(self.read(self.cut(), "info.json"))["ambiguous"]), sorted([self.id, other]))
        self.assertNotIn("ambiguous", self.status(self.id))
        os.unlink(os.path.join(self.source, "other"))
        mount_harness.wait_until(lambda: self.cut() not in os.listdir(self.mnt), "the only program")
        self.assertJoined()

    def test_a_short_build_id(self):
        """Breakpad fills it up with zeros."""
        self.binary = self.compile("short", flags=("-Wl,--build-id=0x0102030405060708",))
        self.put("short", debug_id=breakpad.debug_id("0102030405060708"))
        run("strip", self.binary)
        self.mount().wait_scanned()
        self.assertIn("0102030405060708", os.listdir(self.mnt))
        self.assertNotIn("0102030405060708" + "0" * 16, os.listdir(self.mnt))
        self.assertEqual(os.readlink(os.path.join(self.mnt, breakpad.debug_id("0102030405060708"))), "0102030405060708")
        self.assertEqual(self.status("0102030405060708")["debug"], "breakpad")

    def test_symbols_that_fewer_may_read(self):
        """The program may not answer for what others may not read of it, nor the symbols for the program."""
        path = self.put(base=self.base())
        os.chmod(path, 0o600)
        run("strip", self.binary)
        self.mount().wait_scanned()
        self.assertJoined()
        self.assertEqual(os.stat(self.image(self.id)).st_mode & 0o777, 0o500)

    def test_a_program_that_fewer_may_read(self):
        self.put(base=self.base())
        run("strip", self.binary)
        os.chmod(self.binary, 0o700)
        self.mount().wait_scanned()
        self.assertJoined()
        status = self.status(self.id)
        self.assertEqual(status["debug"], "breakpad")
        self.assertNotIn("binary", status)

    def test_names_of_the_program(self):
        """The name in the first line, or that beside the code id, are names of the image, too."""
        self.put(base=self.base())
        digits = "11223344556677889900AABBCCDDEEFF1"
        self.add_file("windows.sym", data=("MODULE windows x86_64 %s shop.pdb\nINFO CODE_ID 5F0A1B2C9000 C:\\bin\\shop.exe\n"
                                           "FUNC 10 10 0 buy\n" % digits).encode())
        self.mount().wait_scanned()
        self.assertEqual(self.builds("sample"), [self.id])
        self.assertEqual(self.read("by-name", "shop.exe", "0x10"), "buy at ??:0\n")
        self.assertEqual(self.read("by-name", "shop.exe", "status"), self.read("by-name", "windows.sym", "status"))

    def test_a_link_to_the_symbols(self):
        path = self.put(base=self.base())
        run("strip", self.binary)
        os.symlink(os.path.relpath(path, self.source), os.path.join(self.source, "linked.sym"))
        self.mount().wait_scanned()
        self.assertEqual(self.builds("linked.sym"), [self.id])

    def test_mach_o_of_that_uuid(self):
        code = 0x100000000 + min(macho_sample.LINES)
        program = macho_sample.program(make_macho.ARM64, dwarf=False, base=0x100000000, uuid=bytes.fromhex(UUID))
        with open(os.path.join(self.source, "apple"), "wb") as file:
            file.write(program.file())
        self.put("apple", "mac", UUID.upper() + "0", arch="arm64", base=self.start - code + 0x100000000)
        self.mount().wait_scanned()
        self.assertEqual(os.readlink(os.path.join(self.mnt, UUID.upper() + "0")), UUID)
        self.assertEqual(self.read(UUID, hex(code)), self.FROM_TEXT)
        self.assertIn("binary", self.status(UUID))

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
