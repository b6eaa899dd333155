#!/usr/bin/env python3
"""PDB files in SOURCE: joined with their PE files by id, alone, in a symbol store, missing, refused, damaged."""

import errno
import os
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import mount_harness  # noqa: E402
from mount_harness import MountTest  # noqa: E402
from test_batch import Tape  # noqa: E402
from lib import make_pdb, make_pe  # noqa: E402

GUID = uuid.UUID("a1b2c3d4-e5f6-0718-293a-4b5c6d7e8f90")
PUBLICS = [("start", 1, 0), ("?second@@YAXXZ", 1, 0x20)]
SECOND = ("void __cdecl second(void)", "?second@@YAXXZ")  # as builds with and without LLVM's demangler show it


class PdbTest(MountTest):
    def program(self, age=1, **more):
        made = make_pe.program(id=False, **{"dwarf": False, "symbols": False, **more})
        made.id(GUID, age)
        return made

    def pdb(self, **more):
        return make_pdb.Pdb(**{"guid": GUID, "publics": PUBLICS, **more}).file()

    def told(self, *parts):
        return self.read(*parts).strip().removesuffix(" at ??:0")

    def make_store(self, age):
        """A symbol store outside of SOURCE with x.pdb of that age."""
        store = os.path.join(self.dir, "store")
        place = os.path.join(store, "x.pdb", f"{GUID.hex.upper()}{age:X}")
        os.makedirs(place)
        os.chmod(self.dir, 0o755)
        with open(os.path.join(place, "x.pdb"), "wb") as file:
            file.write(self.pdb(age=age))
        return store

    def test_pair(self):
        """A program and its PDB file in different directories: addresses are the program's."""
        made = self.program(code=bytes(range(0x80)))
        self.add_file("bin", "x.exe", data=made.file())
        self.add_file("symbols", "renamed.pdb", data=self.pdb())
        self.mount().wait_scanned()
        id = GUID.hex
        self.assertEqual(self.ids(), {id})
        for name in (id.upper() + "1", str(GUID), id[:8]):
            self.assertEqual(os.readlink(os.path.join(self.mnt, name)), id, name)
        self.assertEqual(self.told(id, hex(made.base + 0x1000)), "start")
        self.assertEqual(self.told(id, "rva", "0x1020.raw"), "?second@@YAXXZ")
        self.assertIn(self.told(id, "rva", "0x1020"), SECOND)
        self.assertEqual(self.told(id, "base", "0x7ff000000", "0x7ff001000"), "start")
        self.assertIn(self.told(id, "off", hex(made.file().index(bytes(range(0x80))) + 0x20)), SECOND)
        status = self.status(id)
        self.assertEqual((status["kind"], status["debug"], status["arch"]), ("pdb", "pdb", "x86_64"))
        self.assertTrue(status["source"].endswith("renamed.pdb"), status)
        self.assertTrue(status["binary"].endswith("x.exe"), status)
        self.assertNotIn("missing", status)
        self.assertNotIn("addresses", status)

    def test_dwarf_besides(self):
        """Debug data in the program is told before what the PDB file has, which fills its gaps."""
        made = self.program(dwarf=True, symbols=True)
        self.add_file("x.exe", data=made.file())
        self.add_file("x.pdb", data=self.pdb(publics=[("start", 1, 0), ("more", 1, 0x60)]))
        self.mount().wait_scanned()
        self.assertEqual(self.told(GUID.hex, "rva", "0x1000"), "main at /src/a.c:4")
        self.assertEqual(self.told(GUID.hex, "rva", "0x1060"), "more")

    def test_name_of_the_program(self):
        """A PDB file alone is found by the name that its linker was given, and by its own."""
        lines = {"app": ' /DEBUG /OUT:C:\\build\\app.exe /PDB:C:\\build\\app.pdb', "spaces": '-nologo -out:"C:\\Program Files\\the shop.exe" -dll',
                 "lld": '"/pdb:a b.pdb" "/OUT:out/a b.dll" /dll', "twice": "/out:first.exe /out:second.exe x.obj", "bare": "/out:bare.sys",
                 "none": "/layout:x.exe x.obj /out:", "dots": "/out:..", "lost": None}
        for number, (name, line) in enumerate(lines.items()):
            modules = [make_pdb.Module(), make_pdb.linker(cwd="C:\\", exe="C:\\link.exe", **({"cmd": line} if line else {}))]
            self.add_file(name + ".pdb", data=self.pdb(modules=modules, scatter=True, block=512, guid=uuid.UUID(int=GUID.int + number)))
        self.mount().wait_scanned()
        self.assertEqual(set(os.listdir(os.path.join(self.mnt, "by-name"))) - {name + ".pdb" for name in lines},
                         {"app.exe", "the shop.exe", "a b.dll", "second.exe", "bare.sys"})
        self.assertEqual(self.told("by-name", "app.exe", "0x1000"), "start")
        self.assertEqual(self.builds("app.exe"), self.builds("app.pdb"))

    def test_alone(self):
        """Without the program addresses count from the image base, and usual link-time ones are taken; it may come later."""
        self.add_file("x.pdb", data=self.pdb(scatter=True, block=512))
        self.mount().wait_scanned()
        id = GUID.hex
        self.assertEqual(self.ids(), {id})
        for parts in (("0x1000",), ("0x140001000",), ("0x180001000",), ("rva", "0x1000"), ("base", "0x7ff000000", "0x7ff001000")):
            self.assertEqual(self.told(id, *parts), "start")
        for address in ("0x7ff001000", "0x140000000", "0x140009000"):
            self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, id, address))
        with Tape(os.path.join(self.mnt, "log")) as log:
            self.assertEqual(log.ask(f"{id} 0x140001000\n"), f"{id} 0x140001000 start\n")
        with Tape(os.path.join(self.mnt, id, "q")) as q:
            self.assertEqual(q.ask("0x140001000\n"), "start at ??:0\n\n")
        self.assertEqual((self.status(id)["kind"], self.status(id)["addresses"]), ("pdb", "relative"))
        self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, id, "off", "0x400"))
        made = self.program()
        self.add_file("x.exe", data=made.file())
        mount_harness.wait_until(lambda: "binary" in self.status(id), "the program")
        self.assertIn(self.told(id, hex(made.base + 0x1020)), SECOND)

    def test_missing(self):
        """A program without its PDB file says which it lacks, as symbol stores have it."""
        self.add_file("x.exe", data=self.program(symbols=True, age=0x1a).file())
        self.add_file("elsewhere", "x.pdb", data=self.pdb(guid=uuid.uuid4()))
        self.mount().wait_scanned()
        self.assertEqual(self.told(GUID.hex, "rva", "0x1020"), "helper_function")
        self.assertEqual(self.status(GUID.hex)["missing"], f"x.pdb/{GUID.hex.upper()}1A/x.pdb")

    def test_store(self):
        """A symbol store below a directory of debug files."""
        store = self.make_store(1)
        self.add_file("x.exe", data=self.program().file())
        self.mount("debug_dirs=" + store).wait_scanned()
        self.assertEqual(self.told(GUID.hex, "rva", "0x1000"), "start")

    def test_other_age(self):
        """A PDB file of another link has the same GUID, and code may be elsewhere: the program has its own symbols, and status says why."""
        self.add_file("x.exe", data=self.program(symbols=True, age=2).file())
        self.add_file("x.pdb", data=self.pdb(age=1))
        self.mount().wait_scanned()
        self.assertEqual(self.told(GUID.hex, "rva", "0x1020"), "helper_function")
        self.assertRegex(self.status(GUID.hex)["missing"], f"^x.pdb/{GUID.hex.upper()}2/x.pdb .*its age, 1, is not that which .* names, 2:")

    def test_right_age_elsewhere(self):
        """The PDB file of the program is in a symbol store, one of another link in SOURCE."""
        store = self.make_store(2)
        self.add_file("x.exe", data=self.program(symbols=False, age=2).file())
        self.add_file("x.pdb", data=self.pdb(age=1, publics=[("other", 1, 0)]))
        self.mount("debug_dirs=" + store).wait_scanned()
        self.assertEqual(self.told(GUID.hex, "rva", "0x1000"), "start")
        self.assertNotIn("missing", self.status(GUID.hex))

    def test_other_age_alone(self):
        """Without names of its own the program's image says what is wrong with the PDB file."""
        self.add_file("x.exe", data=self.program(age=2).file())
        self.add_file("x.pdb", data=self.pdb(age=1))
        self.mount().wait_scanned()
        self.assertErrno(errno.EIO, os.stat, os.path.join(self.mnt, GUID.hex, "rva", "0x1000"))
        self.assertRegex(self.status(GUID.hex)["reason"], "x.pdb: its age, 1, is not that which .*x.exe names, 2:")

    def test_fastlink_beside(self):
        """A PDB file without debug data of its own is named as such, not as missing alone."""
        self.add_file("x.exe", data=self.program(symbols=True).file())
        self.add_file("x.pdb", data=self.pdb(features=(make_pdb.VC140, make_pdb.FASTLINK)))
        self.mount().wait_scanned()
        self.assertEqual(self.told(GUID.hex, "rva", "0x1020"), "helper_function")
        self.assertRegex(self.status(GUID.hex)["missing"], f"^x.pdb/{GUID.hex.upper()}1/x.pdb .*x.pdb: a PDB linked with /DEBUG:FASTLINK")

    def test_refused(self):
        """What is not read of PDB files is named in the root's status, and a compiler's file of types is no image."""
        self.add_file("fast.pdb", data=self.pdb(features=(make_pdb.VC140, make_pdb.FASTLINK)))
        self.add_file("portable.pdb", data=b"BSJB" + bytes(60))
        self.add_file("packed.pdb", data=b"Microsoft MSFZ Container\r\n\x1aALD\0\0" + bytes(60))
        self.add_file("old.pdb", data=b"Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0" + bytes(60))
        self.add_file("cut.pdb", data=self.pdb()[:-4096])
        self.add_file("vc140.pdb", data=self.pdb(program=False))
        self.mount().wait_scanned()
        self.assertEqual(self.ids(), set())
        with open(os.path.join(self.mnt, "status")) as file:
            told = file.read()
        for name, why in (("fast", "/DEBUG:FASTLINK"), ("portable", "a portable PDB"), ("packed", "MSFZ"), ("old", "version 2.00"),
                          ("cut", "truncated")):
            self.assertRegex(told, f"skipped_file\t.*{name}.pdb.*{why}")
        self.assertNotIn("vc140", told)


if __name__ == "__main__":
    mount_harness.main()
