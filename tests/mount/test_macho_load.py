#!/usr/bin/env python3
"""Mach-O images that were loaded somewhere: base/, rva/, off/ and ra/ of images with __TEXT at 0, 0x4000, 0x100000000 and in
a kernel, thin and as slices of fat files; and programs of clang's for four architectures in one file."""

import errno
import os
import pathlib
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import mount_harness  # noqa: E402
from mount_harness import MountTest, contents, run  # noqa: E402
from corpus import macho_build  # noqa: E402
from lib import frames, macho, make_macho as m, peers  # noqa: E402
from lib.craft import Die, Sequence, Unit  # noqa: E402

LOAD, RUNTIME, RVA = 0x10005d000, 0x10035d580, 0x300580
FAR = 0x700000  # from __TEXT, in a segment whose place in the file is another
PAGE = 0x1000
KINDS = {"dylib": (m.ARM64, m.MH_DYLIB, 0), "program": (m.ARM64, m.MH_EXECUTE, 0x100000000),
         "narrow": (m.ARMV7, m.MH_EXECUTE, 0x4000), "fixed": (m.I386, m.MH_EXECUTE, 0x1000),
         "kernel": (m.X86_64, m.MH_EXECUTE, 0xffffff8000200000)}
BUNDLE = "Contents/Resources/DWARF"


def image(kind, dwarf=True, filetype=None):
    """A large function, then target() with an inlined call at RVA, and far() in a segment behind; its bytes and UUID."""
    machine, linked, text = KINDS[kind]
    made = m.Maker(machine, filetype or linked, uuid=(kind.encode() * 16)[:16], text=text, page=0 if filetype else PAGE)
    low, far = text + 0x300500, text + FAR
    code = 0 if filetype else 1
    made.section("__TEXT", "__text", text + 0x1000, bytes(code * 0x300000), m.CODE, size=0x300000)
    made.section("__FAR", "__text", far, bytes(code * 0x100), m.CODE, size=0x100)
    made.symbols = [m.Symbol("_large", text + 0x1000), m.Symbol("_target", low), m.Symbol("_far", far, section=2)]
    if dwarf:
        tiny = Die("subprogram", name="tiny", inline=1)
        call = Die("inlined_subroutine", abstract_origin=tiny, low_pc=low + 0x80, high_pc=0x10, call_file=1, call_line=5)
        made.dwarf([Unit(tiny, Die("subprogram", call, name="target", low_pc=low, high_pc=0x100),
                         Die("subprogram", name="far", low_pc=far, high_pc=0x100), files=("a.c", "b.h"), lines=[
            Sequence(low + 0x100, (low, 1, 4), (low + 0x80, 2, 9), (low + 0x90, 1, 6)), Sequence(far + 0x100, (far, 1, 30))])])
    return made.file(), made.uuid.hex()


class LoadTest(MountTest):
    def says(self, id, *parts, link, name):
        """What this name says is what the link-time address says, and that is about @name."""
        told = self.read(id, hex(link))
        self.assertIn(name + " at /src/a.c:", told.splitlines()[-1])
        self.assertEqual(self.read(id, *parts), told)

    def nothing(self, id, *parts):
        self.assertErrno(errno.ENOENT, self.read, id, *parts)

    def check_base(self, id, text):
        at = {"link": text + RVA, "name": "target"}
        self.says(id, "base", hex(LOAD), hex(RUNTIME), **at)
        self.says(id, "base", "%x" % LOAD, "%016X" % RUNTIME, **at)
        self.says(id, "rva", hex(RVA), **at)
        self.says(id, "base", hex(text), hex(text + RVA), **at)
        before = {"link": text + RVA + 0xf, "name": "target"}  # the last byte of the inlined call
        self.says(id, "base", hex(LOAD), "ra", hex(RUNTIME + 0x10), **before)
        self.says(id, "ra", "base", hex(LOAD), hex(RUNTIME + 0x10), **before)
        self.says(id, "rva", "ra", hex(RVA + 0x10), **before)
        self.says(id, "ra", hex(text + RVA + 0x10), **before)
        self.says(id, "base", hex(LOAD), hex(LOAD + FAR), link=text + FAR, name="far")
        self.nothing(id, "base", hex(LOAD), hex(LOAD - 1))
        self.nothing(id, "base", hex(LOAD), hex(RUNTIME - RVA))  # the header

    def check_offsets(self, id, text, slice_at=0):
        """__TEXT is at the start of the image; the segment behind it where __TEXT ends, in whole pages."""
        far = 0x301000
        for off, link, name in ((RVA, text + RVA, "target"), (far + 0x10, text + FAR + 0x10, "far")):
            self.says(id, "off", hex(slice_at + off), link=link, name=name)
            self.says(id, "off", "ra", hex(slice_at + off + 1), link=link, name=name)
            self.says(id, "ra", "off", hex(slice_at + off + 1), link=link, name=name)
        self.nothing(id, "off", hex(slice_at + FAR + 0x10))

    def test_numbers(self):
        """As in a report of a crash: 0x10035d580 in what was loaded at 0x10005d000 is 0x300580."""
        data, id = image("dylib")
        self.add_file("lib.dylib", data=data)
        self.mount().wait_scanned()
        expected = "tiny at /src/b.h:9\n (inlined by) target at /src/a.c:5\n"
        self.assertEqual(self.read(id, "0x300580"), expected)
        self.assertEqual(self.read(id, "base", "0x10005d000", "0x10035d580"), expected)

    def test_thin(self):
        ids = {}
        for kind in KINDS:
            data, ids[kind] = image(kind)
            self.add_file(kind, data=data)
        self.mount().wait_scanned()
        for kind, (_, _, text) in KINDS.items():
            with self.subTest(kind):
                self.check_base(ids[kind], text)
                self.check_offsets(ids[kind], text)
                self.assertEqual(self.status(ids[kind])["image_base"], hex(text))

    def check_fat(self, ids, path):
        data = contents(path)
        places = {macho.MachO(data[at:at + size]).uuid.hex(): at for at, size in macho.slices(data)}
        for kind, id in ids.items():
            with self.subTest(kind):
                text = KINDS[kind][2]
                self.check_base(id, text)
                self.check_offsets(id, text, places[id])
                self.nothing(id, "off", hex(min(p for p in places.values() if p != places[id]) + RVA))  # another slice's

    def fat(self, kinds, **more):
        made = {kind: image(kind, **more) for kind in kinds}
        return m.fat([(KINDS[kind][0], data) for kind, (data, _) in made.items()]), {k: id for k, (_, id) in made.items()}

    def test_fat(self):
        """Offsets are those of the file: the kernel that maps it, and so a profiler, knows no slices."""
        data, ids = self.fat(["narrow", "dylib", "kernel"])
        path = self.add_file("library", data=data)
        daemon = self.mount()
        daemon.wait_scanned()
        self.check_fat(ids, path)
        self.remount(daemon)  # what the cache knows
        self.check_fat(ids, path)
        self.assertEqual(self.conversions(), 0)

    def test_fat_with_bundle(self):
        """Lines come from the dSYM, offsets from the program; of the dSYM alone none are known."""
        data, ids = self.fat(["program", "fixed"], dwarf=False)
        bundle, _ = self.fat(["program", "fixed"], filetype=m.MH_DSYM)
        self.add_file("X.dSYM", BUNDLE, "X", data=bundle)
        daemon = self.mount()
        daemon.wait_scanned()
        for kind, id in ids.items():
            self.check_base(id, KINDS[kind][2])
            self.nothing(id, "off", hex(RVA))
        self.assertEqual(daemon.stop(), 0)
        path = self.add_file("X", data=data)
        self.mount().wait_scanned()
        self.check_fat(ids, path)


class ProgramTest(MountTest):
    """Of clang's, linked by lld and by tests/lib/macho_link.py."""

    def setUp(self):
        super().setUp()
        wanted = ("clang", "clang++", "ld64.lld", "dsymutil", "llvm-lipo", "llvm-strip", "llvm-nm", "llvm-objdump",
                  "llvm-symbolizer")
        missing = [name for name in wanted if not peers.find(name)]
        if missing:
            self.skipTest("not installed: " + ", ".join(missing))
        self.tools = macho_build.Tools()
        self.place = pathlib.Path(self.dir)

    def test_fat(self):
        """Each slice by its UUID, as llvm-symbolizer answers for it; loaded somewhere, and by offset in the file."""
        thin, bundles = {}, {}
        for cell in macho_build.each_arch():
            inner = self.place / cell.arch
            inner.mkdir()
            thin[cell.arch], bundles[cell.arch] = self.tools.make(cell, inner)
        fat = pathlib.Path(self.source) / "library"
        bundle = pathlib.Path(self.source) / "library.dSYM" / BUNDLE / "library"
        bundle.parent.mkdir(parents=True)
        run(self.tools.lipo, "-create", *thin.values(), "-output", fat)
        run(self.tools.lipo, "-create", *bundles.values(), "-output", bundle)
        self.mount().wait_scanned()
        data = contents(fat)
        slices = {macho.MachO(data[at:at + size]).uuid.hex(): at for at, size in macho.slices(data)}
        for arch, path in thin.items():
            with self.subTest(arch):
                one = macho.MachO.read(path)
                id = one.uuid.hex()
                self.assertEqual(self.status(id)["arch"], arch)
                text = next(s for s in one.sections if s.name == "__text")
                self.check_functions(id, "%s:%s" % (fat, arch), one, slices[id] + text.offset - text.addr)

    def check_functions(self, id, file, one, shift):
        starts = sorted({s.addr for s in one.symbols if s.name != "in_section"})
        known = [(a, told) for a, told in zip(starts, frames.symbolizer(file, starts, demangle=True)) if told[0].line]
        self.assertGreater(len(known), 40)
        for address, told in known:
            expected = "\n (inlined by) ".join(map(str, told)) + "\n"
            self.assertEqual(self.read(id, hex(address)), expected)
            self.assertEqual(self.read(id, "base", hex(LOAD), hex(LOAD + address - one.text_addr)), expected)
            self.assertEqual(self.read(id, "off", hex(address + shift)), expected)
            self.assertEqual(self.read(id, "off", "ra", hex(address + shift + 1)), expected)

    def check_large(self, arch, text, **options):
        """Of a program with a function behind so much space that it has RVA."""
        source = self.place / "large.c"
        source.write_text("__asm__(\".text\\n.globl _large\\n_large: .space 0x300000 - 0x1000\\n\");\n"
                          "int target(int n)\n{\n" + "\t__asm__ volatile(\".space 64\");\n" * 200 + "\treturn n;\n}\n")
        cell = macho_build.Cell("large", arch, ("-O0", "-g"), (source,), **options)
        made, _ = self.tools.make(cell, self.place)
        one = macho.MachO.read(made)
        self.assertEqual(one.text_addr, text)
        os.rename(made, os.path.join(self.source, "large"))
        os.rename(str(made) + ".dSYM", os.path.join(self.source, "large.dSYM"))
        self.mount().wait_scanned()
        id = one.uuid.hex()
        told = self.read(id, hex(text + RVA))
        self.assertRegex(told, "^target at .*/large.c:[0-9]+\n$")
        self.assertEqual(self.read(id, "base", hex(LOAD), hex(RUNTIME)), told)
        self.assertEqual(self.read(id, "rva", hex(RVA)), told)
        self.assertEqual(self.read(id, "off", hex(RVA)), told)

    def test_library(self):
        self.check_large("arm64", 0)

    def test_program(self):
        self.check_large("x86_64", 0x100000000, link=("-e", "_target"))

    def test_narrow_program(self):
        self.check_large("armv7", 0x4000, own={})


if __name__ == "__main__":
    mount_harness.main()
