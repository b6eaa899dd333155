#!/usr/bin/env python3
"""Mach-O files in SOURCE: one directory for each image of a fat file, dSYM bundles, the spellings of a UUID."""

import errno
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import mount_harness  # noqa: E402
from mount_harness import MountTest, wait_until  # noqa: E402
from lib import make_macho as m  # noqa: E402
from lib.craft import Die, Sequence, Unit  # noqa: E402
from lib.macho_sample import LINES, NAMES, program  # noqa: E402

BASE = 0x100000000
FIRST, SECOND, THIRD = (bytes([n]) * 3 + bytes(range(13)) for n in (0xa1, 0xb2, 0xc3))
BUNDLE = "Contents/Resources/DWARF"


class MachoTest(MountTest):
    def one(self, uuid, machine=m.ARM64, **more):
        return machine, program(machine, machine == m.PPC, uuid=uuid, base=BASE if machine == m.ARM64 else 0, **more).file()

    def check(self, id, expected, base=0, *place):
        """@expected: address -> what is told; of a name without a line, the name."""
        for address, wanted in expected.items():
            path = os.path.join(self.mnt, id, *place, hex(base + address))
            if wanted == "??":
                self.assertErrno(errno.ENOENT, os.stat, path)
            else:
                self.assertEqual(self.read(id, *place, hex(base + address)).strip().removesuffix(" at ??:0"), wanted)

    def test_fat(self):
        """A fat library and its fat dSYM, and another one with a bundle around it: an image for each UUID."""
        kinds = {"dwarf": False}
        self.add_file("lib", "fat.dylib", data=m.fat([self.one(FIRST, **kinds), self.one(SECOND, m.PPC, **kinds)]))
        dsym = {"filetype": m.MH_DSYM}
        self.add_file("lib", "fat.dylib.dSYM", BUNDLE, "fat.dylib",
                   data=m.fat([self.one(SECOND, m.PPC, **dsym), self.one(FIRST, **dsym)], wide=True))
        self.add_file("X.app", "Contents", "MacOS", "X", data=self.one(THIRD, **kinds)[1])
        self.add_file("X.app.dSYM", BUNDLE, "X", data=self.one(THIRD, **dsym)[1])
        self.add_file("Main.class", data=b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(200))
        self.mount().wait_scanned()
        self.assertEqual(self.ids(), {FIRST.hex(), SECOND.hex(), THIRD.hex()})
        self.check(FIRST.hex(), LINES, BASE)
        self.check(SECOND.hex(), LINES)
        self.check(THIRD.hex(), LINES, BASE)
        self.check(THIRD.hex(), LINES, 0, "rva")
        self.check(THIRD.hex(), LINES, 0x7f0000, "base", "0x7f0000")
        self.assertEqual(self.status(FIRST.hex())["arch"], "arm64")
        self.assertEqual(self.status(SECOND.hex())["arch"], "ppc")
        self.assertIn(FIRST.hex(), self.builds("fat.dylib"))

    def test_twins(self):
        """Two machines of one name: arm64 in general, and its version 8."""
        second = (m.ARM64[0], 1)
        self.add_file("twins", data=m.fat([self.one(FIRST), (second, program(second, uuid=SECOND, dwarf=False).file())]))
        self.mount().wait_scanned()
        self.assertEqual(self.ids(), {FIRST.hex(), SECOND.hex()})
        self.check(FIRST.hex(), LINES, BASE)
        self.check(SECOND.hex(), NAMES)

    def test_spellings(self):
        """Of a UUID: as Apple prints it, in either case, with and without dashes, shortened, and as Breakpad has it."""
        self.add_file("X", data=self.one(THIRD)[1])
        self.mount().wait_scanned()
        text = THIRD.hex()
        dashed = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        for name in (text.upper(), dashed, dashed.upper(), text[:8], text[:9].upper(), text.upper() + "0"):
            self.assertEqual(os.readlink(os.path.join(self.mnt, name)), text, name)
            self.check(name, LINES, BASE)
        for name in (text[:7], text + "0" * 8, dashed[:-1], dashed.replace("-", "_"), text[:8] + "ff"):
            self.assertErrno(errno.ENOENT, os.lstat, os.path.join(self.mnt, name))
        self.assertEqual(self.ids(), {text})

    def test_dsym_comes_and_goes(self):
        """Names alone without the dSYM, lines with it; the dSYM alone is enough."""
        binary = self.add_file("X", data=self.one(THIRD, dwarf=False)[1])
        daemon = self.mount("rescan=1")
        daemon.wait_scanned()
        self.check(THIRD.hex(), NAMES, BASE)
        self.add_file("elsewhere", "Y.dSYM", BUNDLE, "Y", data=self.one(THIRD, filetype=m.MH_DSYM)[1])
        told = LINES[0x1000]
        wait_until(lambda: self.read(THIRD.hex(), hex(BASE + 0x1000)).strip() == told, "the lines of the dSYM")
        self.check(THIRD.hex(), LINES, BASE)
        os.unlink(binary)
        wait_until(lambda: self.status(THIRD.hex())["state"] != "gone", "the dSYM alone")
        self.check(THIRD.hex(), {0x1000: LINES[0x1000], 0x1020: LINES[0x1020]}, BASE)

    def test_wrong_bundle(self):
        """A bundle of another UUID is another image."""
        self.add_file("X", data=self.one(FIRST, dwarf=False)[1])
        self.add_file("X.dSYM", BUNDLE, "X", data=self.one(SECOND, filetype=m.MH_DSYM)[1])
        self.mount().wait_scanned()
        self.check(FIRST.hex(), NAMES, BASE)
        self.check(SECOND.hex(), LINES, BASE)

    def test_damaged_slice(self):
        """It does not take the others with it."""
        bad = bytearray(self.one(FIRST)[1])
        bad[20:24] = (1 << 30).to_bytes(4, "little")
        self.add_file("fat", data=m.fat([(m.ARM64, bytes(bad)), self.one(SECOND, m.PPC)]))
        self.mount().wait_scanned()
        self.assertEqual(self.ids(), {SECOND.hex()})
        self.check(SECOND.hex(), LINES)

    def test_rows_at_one_address(self):
        """The last counts, but atos shows the first."""
        made = m.Maker(m.ARM64, uuid=FIRST)
        made.section("__TEXT", "__text", 0x1000, bytes(0x40), m.CODE)
        made.symbols = [m.Symbol("_main", 0x1000)]
        made.dwarf([Unit(Die("subprogram", name="main", low_pc=0x1000, high_pc=0x20), files=("a.c", "b.h"),
                         lines=[Sequence(0x1020, (0x1000, 1, 4), (0x1000, 2, 5))])])
        self.add_file("X", data=made.file())
        self.mount().wait_scanned()
        self.assertEqual(self.read(FIRST.hex(), "0x1000"), "main at /src/b.h:5\n")
        for place in (("0x1004.atos",), ("approximate", "0x1000.atos"), ("ra", "0x1001.atos"), ("sym", "main.atos")):
            self.assertEqual(self.read(FIRST.hex(), *place), "main (in X) (a.c:4)\n", place)
        with open(os.path.join(self.mnt, FIRST.hex(), "q.atos"), "r+b", buffering=0) as q:
            q.write(b"1000\n1004\n")
            self.assertEqual(q.read(), b"main (in X) (a.c:4)\n\n" * 2)
        rows = self.read(FIRST.hex(), "lines.tsv").splitlines()
        self.assertEqual([line.split("\t")[-1] for line in rows if line.startswith("0x1000")], ["4", "5"])

    def test_without_uuid(self):
        """Images without one are told apart by what they hold."""
        self.add_file("fat", data=m.fat([self.one(b""), self.one(b"", m.PPC)]))
        self.mount().wait_scanned()
        self.assertEqual([i[:5] for i in self.ids()], ["xxh3-"] * 2)
        arches = {self.status(i)["arch"]: i for i in self.ids()}
        self.check(arches["arm64"], LINES, BASE)
        self.check(arches["ppc"], LINES)


if __name__ == "__main__":
    mount_harness.main()
