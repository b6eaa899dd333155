#!/usr/bin/env python3
"""PE files in SOURCE: ids, spellings of a GUID with an age, offsets, debug files, text symbols of the same program."""

import errno
import os
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import mount_harness  # noqa: E402
from mount_harness import GSYM, MountTest, run  # noqa: E402
from test_batch import Tape  # noqa: E402
from lib import make_pe as m  # noqa: E402

GUID = uuid.UUID("a1b2c3d4-e5f6-0718-293a-4b5c6d7e8f90")
TOLD = "main at /src/a.c:4"


class PeTest(MountTest):
    def program(self, guid=GUID, **more):
        made = m.program(id=False, **more)
        if guid:
            made.id(guid)
        return made

    def told(self, *parts):
        return self.read(*parts).strip()

    def test_one(self):
        """Lines by address, by distance from the image base and by offset in the file; GUIDs as they are written."""
        code = bytes(range(0x80))
        made = self.program(code=code)
        self.add_file("bin", "x.exe", data=made.file())
        self.mount().wait_scanned()
        id = GUID.hex
        self.assertEqual(self.ids(), {id})
        status = self.status(id)
        self.assertEqual((status["kind"], status["arch"]), ("pe", "x86_64"))
        self.assertEqual(self.told(id, hex(made.base + 0x1000)), TOLD)
        self.assertEqual(self.told(id, "rva", "0x1000"), TOLD)
        self.assertEqual(self.told(id, "base", "0x7ff000000", "0x7ff001000"), TOLD)
        self.assertEqual(self.told(id, "off", hex(made.file().index(code))), TOLD)
        self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, id, hex(made.base + 0xfff)))
        for name in (id.upper() + "1", id + "1f", str(GUID), str(GUID).upper(), id[:8]):
            self.assertEqual(os.readlink(os.path.join(self.mnt, name)), id, name)
        self.assertIn(id, self.builds("x.exe"))

    def test_logs(self):
        """Reports of Windows name a module without its ending."""
        made = self.program()
        self.add_file("bin", "x.exe", data=made.file())
        self.mount().wait_scanned()
        log = "00 000000aa`bb0ff6d0 00007ff7`12345678     x!main+0x4\n\nFaulting module name: x.exe, version: 1\nFault offset: 0x1000\n"
        want = log.replace("+0x4", "+0x4 " + TOLD).replace("offset: 0x1000", "offset: 0x1000 " + TOLD)
        done = run(GSYM, "filter", "--mount=" + self.mnt, "--by-name", input=log.encode())
        self.assertEqual(done.stdout.decode(), want)
        with Tape(os.path.join(self.mnt, "log")) as tape:
            self.assertEqual(tape.ask(log), want)

    def test_debug_data_of_go(self):
        """Status tells what a stripped program by Go's linker is answered from, whose table has no section."""
        code = b'\xff Go build ID: "%s"\n \xff' % b"/".join([b"x" * 20] * 4) + bytes(0x80)
        self.add_file("go.exe", data=self.program(code=code, dwarf=False, symbols=False).file())
        self.add_file("c.exe", data=self.program(guid=uuid.UUID(int=1), dwarf=False, symbols=False).file())
        self.mount().wait_scanned()
        found = {name: self.status(self.builds(name)[0])["debug"] for name in ("go.exe", "c.exe")}
        self.assertEqual(found, {"go.exe": "go", "c.exe": "none"})

    def test_go_build_id(self):
        """Go's linker has no note for it there."""
        go_id = "/".join(letter * 20 for letter in "abcd")
        self.add_file("x.exe", data=self.program(code=b'\xff Go build ID: "%s"\n \xff' % go_id.encode() + bytes(0x80)).file())
        for number, text in enumerate((b"redacted", b"a" * 20, b"a" * 200, go_id.encode()[:-1])):
            self.add_file("other%d.exe" % number, data=self.program(guid=uuid.UUID(int=number + 1), code=b'\xff Go build ID: "%s' % text).file())
        self.mount().wait_scanned()
        for name in go_id.replace("/", "_"), go_id.replace("/", "%2F"):
            self.assertEqual(os.readlink(os.path.join(self.mnt, name)), GUID.hex)

    def test_debug_file(self):
        """A stripped program, and its debug file anywhere in SOURCE."""
        self.add_file("bin", "x.exe", data=self.program(dwarf=False, symbols=False).file())
        debug = self.program()
        debug.sections[0].data, debug.sections[0].size = b"", 0x80
        self.add_file("elsewhere", "x.debug", data=debug.file())
        self.mount().wait_scanned()
        self.assertEqual(self.ids(), {GUID.hex})
        self.assertEqual(self.told(GUID.hex, "rva", "0x1000"), TOLD)

    def test_text_symbols(self):
        """Text symbols that were made of the program are of the same image."""
        self.add_file("x.exe", data=self.program(dwarf=False, symbols=False).file())
        text = f"MODULE windows x86_64 {GUID.hex.upper()}1 x.exe\nFILE 0 /src/a.c\nFUNC 1000 20 0 main\n1000 20 4 0\n"
        self.add_file("x.sym", data=text.encode())
        self.mount().wait_scanned()
        self.assertEqual(self.ids(), {GUID.hex})
        self.assertEqual(self.told(GUID.hex, "rva", "0x1000"), TOLD)

    def test_without_id(self):
        """The id is the hash of the file; a damaged one, and a program of DOS, are none."""
        self.add_file("x.exe", data=self.program(guid=None).file())
        self.add_file("cut.exe", data=self.program().file()[:0xa0])
        self.add_file("dos.exe", data=b"MZ" + bytes(200))
        self.mount().wait_scanned()
        id, = self.ids()
        self.assertTrue(id.startswith("xxh3-"), id)
        self.assertEqual(self.told(id, "rva", "0x1000"), TOLD)


if __name__ == "__main__":
    mount_harness.main()
