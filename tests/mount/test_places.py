#!/usr/bin/env python3
"""Addresses that mean something else: base/, rva/, off/, ra/ and approximate/, alone and together."""

import errno
import os
import sys

import mount_harness
from mount_harness import MountTest, run

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import make_macho  # noqa: E402
from lib.craft import Die, Sequence, Unit  # noqa: E402


class PlacesTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.start, self.end = next(f[:2] for f in self.functions(self.path) if f[2].endswith("normEv"))

    def assertSame(self, *parts, link=None):
        """What this name says is what the link-time address says."""
        self.assertEqual(self.read(self.id, *parts), self.read(self.id, hex(self.start if link is None else link)))

    def segments(self, path):
        """(offset, address, size) of the loaded parts, as readelf tells them."""
        found = []
        for line in run("readelf", "-lW", path).stdout.decode().splitlines():
            words = line.split()
            if words and words[0] == "LOAD":
                found.append((int(words[1], 16), int(words[2], 16), int(words[4], 16)))
        return found

    def offset(self, address, path=None):
        return next(address - at + off for off, at, size in self.segments(path or self.path) if at <= address < at + size)

    def test_each(self):
        self.mount()
        load = 0x7f0012340000
        self.assertSame("base", hex(load), hex(load + self.start))
        self.assertSame("rva", hex(self.start))
        self.assertSame("off", hex(self.offset(self.start)))
        self.assertSame("ra", hex(self.start + 1))
        self.assertNotEqual(self.read(self.id, "ra", hex(self.start + 5)), "")

    def test_together(self):
        self.mount()
        load = 0x55550000
        self.assertSame("base", hex(load), "ra", hex(load + self.start + 1))
        self.assertSame("ra", "base", "%x" % load, "%x" % (load + self.start + 1))
        self.assertSame("rva", "ra", hex(self.start + 1))
        self.assertSame("off", "ra", hex(self.offset(self.start) + 1))

    def link_fixed(self, name, *flags):
        path = os.path.join(self.source, name)
        run(mount_harness.CXX, "-g", "-O2", "-nostdlib", "-static", "-no-pie", "-fno-pic", "-Wl,--build-id=sha1",
            "-Wl,-Ttext-segment=0x4000000", "-Wl,-e,entry_fixed", "-DNAME=fixed", *flags,
            os.path.join(mount_harness.HERE, "sample.cpp"), "-o", path)
        return path

    def test_image_base_is_a_page(self):
        """Of a program whose first segment begins within one."""
        path = self.link_fixed("packed", "-Wl,-n")
        id = mount_harness.build_id(path)
        start = next(f[0] for f in self.functions(path) if f[2].endswith("normEv"))
        self.assertNotEqual(self.segments(path)[0][1] % 4096, 0)
        self.mount()
        load = 0x7f0000000000
        self.assertEqual(self.read(id, "base", hex(load), hex(load + start - 0x4000000)), self.read(id, hex(start)))
        self.assertEqual(self.status(id)["image_base"], "0x4000000")

    def test_image_base(self):
        """Of a program that is linked to an address."""
        path = self.link_fixed("fixed")
        id = mount_harness.build_id(path)
        start = next(f[0] for f in self.functions(path) if f[2].endswith("normEv"))
        base = self.segments(path)[0][1]
        self.assertEqual(base, 0x4000000)
        self.mount()
        want = self.read(id, hex(start))
        load = 0x7f0000000000
        self.assertEqual(self.read(id, "base", hex(load), hex(load + start - base)), want)
        self.assertEqual(self.read(id, "rva", hex(start - base)), want)
        self.assertEqual(self.status(id)["image_base"], hex(base))

    def test_names(self):
        self.mount()
        self.assertEqual(set(os.listdir(self.image(self.id))) - {"image.gsym"},
                         {"status", "info.json", "q", "approximate", "base", "off", "ra", "rva", "sym", "why"})
        for name in ("base", "off", "ra", "rva", "base/0x1000", "base/0x1000/ra", "rva/ra", "approximate", "approximate/off/ra",
                     "base/0x1000/ra/approximate"):
            self.assertEqual(os.listdir(os.path.join(self.image(self.id), name)), [])
        for name in ("base/x", "base/status", "base/0x1000/base", "rva/off", "ra/ra", "rva/status", "off/image.gsym",
                     "base/0x1000.json", "approximate/approximate", "approximate/status", "base/approximate"):
            self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.image(self.id), name))

    def test_symbols(self):
        self.mount()
        name = "_ZNK3geo5point4normEv"
        size = self.end - self.start
        self.assertSame("sym", name)
        self.assertSame("sym", name + "+0x%x" % (size - 1), link=self.end - 1)
        self.assertSame("ra", "sym", name + "+0x%x" % size, link=self.end - 1)
        self.assertEqual(self.read(self.id, "sym", name + ".tsv"), self.read(self.id, hex(self.start) + ".tsv"))
        self.assertEqual(self.read(self.id, "sym", name + ".raw.json"), self.read(self.id, hex(self.start) + ".raw.json"))
        line = self.read(self.id, "ra", "sym", name + "+0x1.tsv").split("\t")
        self.assertEqual((line[0], line[3]), (hex(self.start + 1), "0x1"))
        for missing in ("nobody", name + "x", name[:-1], name + "+0x%x" % size, name + "+0xffffffffffffffff", "+0x1", "0x10"):
            self.assertErrno(errno.ENOENT, self.read, self.id, "sym", missing)
        self.assertErrno(errno.ENOENT, self.read, self.id, "ra", "sym", name)

    def test_namesakes(self):
        """All functions of a name answer."""
        objects = []
        for i in range(3):
            source = os.path.join(self.dir, "same%d.c" % i)
            with open(source, "w") as file:
                file.write("\n" * i + "static int same(int x) { return x * %d; }\nint (*p%d)(int) = same;\n" % (i + 3, i))
            objects.append(source)
        path = os.path.join(self.source, "same")
        run(mount_harness.CC, "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id=sha1", *objects, "-o", path)
        id = mount_harness.build_id(path)
        starts = [f[0] for f in self.functions(path) if f[2] == "same"]
        self.assertEqual(len(starts), 3)
        self.mount()
        self.assertEqual(self.read(id, "sym", "same"), "\n".join(self.read(id, hex(s)) for s in starts))
        self.assertEqual(self.read(id, "sym", "same+0x1.json"), "".join(self.read(id, hex(s + 1) + ".json") for s in starts))

    def test_what_lies_outside(self):
        self.mount()
        self.assertErrno(errno.ENOENT, self.read, self.id, "base", "0x5000", "0x4000")
        self.assertErrno(errno.ENOENT, self.read, self.id, "ra", "0x0")
        self.assertErrno(errno.ENOENT, self.read, self.id, "off", "0xffffffffffff")

    def test_given_address_is_printed(self):
        self.mount()
        load = 0x10000
        name = hex(load + self.start + 1)
        line = self.read(self.id, "base", hex(load), "ra", name + ".tsv").splitlines()[0].split("\t")
        self.assertEqual((line[0], line[3]), (name, "0x1"))
        self.assertIn('"Address":"%s"' % name, self.read(self.id, "base", hex(load), "ra", name + ".json"))

    def test_atos(self):
        self.mount()
        self.assertRegex(self.read(self.id, hex(self.start) + ".atos"),
                         r"^geo::point::norm\(\) const \(in sample\) \(sample.cpp:\d+\)\n$")

    def test_atos_of_a_symbol(self):
        run("strip", "--strip-debug", self.path)
        self.mount()
        self.assertEqual(self.read(self.id, hex(self.start + 2) + ".atos"), "geo::point::norm() const (in sample) + 2\n")

    def test_offsets_of_a_debug_file(self):
        """Its own are no use; the program beside it tells them."""
        debug = os.path.join(self.source, "sample.debug")
        offset = hex(self.offset(self.start))
        run("objcopy", "--only-keep-debug", self.path, debug)
        aside = os.path.join(self.dir, "aside")
        os.rename(self.path, aside)
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertErrno(errno.ENOENT, self.read, self.id, "off", offset)
        self.assertSame("rva", hex(self.start))
        self.assertEqual(daemon.stop(), 0)
        run("strip", aside, "-o", self.path)
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertSame("off", offset)

    def test_cache_keeps_places(self):
        daemon = self.mount()
        self.assertSame("off", hex(self.offset(self.start)))
        self.remount(daemon)
        self.assertSame("off", hex(self.offset(self.start)))
        self.assertEqual(self.conversions(), 0)


class ApproximateTest(MountTest):
    """Code with line 0, and with rows of an inlined call."""
    BASE = 0x100000000
    ID = bytes(range(16)).hex()
    EXACT = {0x1004: "main at /src/a.c:4\n", 0x100c: "tiny at /src/b.h:0\n (inlined by) main at /src/a.c:5\n",
             0x1018: "main at /src/a.c:0\n"}
    NEAR = {0x1004: "main at /src/a.c:4\n", 0x100c: "tiny at /src/b.h:9\n (inlined by) main at /src/a.c:5\n",
            0x1018: "main at /src/a.c:4\n"}

    def setUp(self):
        super().setUp()
        text = self.BASE + 0x1000
        tiny = Die("subprogram", name="tiny", inline=1)
        call = Die("inlined_subroutine", abstract_origin=tiny, low_pc=text + 8, high_pc=0x10, call_file=1, call_line=5)
        main = Die("subprogram", call, name="main", low_pc=text, high_pc=0x28)
        made = make_macho.Maker(uuid=bytes.fromhex(self.ID), text=self.BASE)
        made.section("__TEXT", "__text", text, bytes(0x40), make_macho.CODE)
        rows = ((text, 1, 4), (text + 8, 2, 9), (text + 0xc, 2, 0), (text + 0x18, 1, 0))
        made.dwarf([Unit(tiny, main, files=("a.c", "b.h"), lines=[Sequence(text + 0x28, *rows)])])
        with open(os.path.join(self.source, "program"), "wb") as file:
            file.write(made.file())

    def check(self, want, *place, add=0):
        for address, text in want.items():
            self.assertEqual(self.read(self.ID, *place, hex(address + add)), text)

    def test_by_name(self):
        self.mount()
        load = 0x7f0000000000
        self.check(self.EXACT, add=self.BASE)
        self.check(self.NEAR, "approximate", add=self.BASE)
        self.check(self.EXACT, add=self.BASE)  # the one is not the other, whoever comes first
        self.check(self.NEAR, "approximate", "rva")
        self.check(self.NEAR, "rva", "approximate")
        self.check(self.EXACT, "rva")
        self.check(self.NEAR, "base", hex(load), "approximate", "ra", add=load + 1)
        self.check(self.NEAR, "approximate", "base", hex(load), "ra", add=load + 1)
        self.check(self.EXACT, "base", hex(load), "ra", add=load + 1)
        self.check(self.NEAR, "ra", "approximate", add=self.BASE + 1)

    def ask(self, *parts):
        """What a file q answers for all the addresses."""
        q = os.open(os.path.join(self.image(self.ID), *parts, "q"), os.O_RDWR)
        try:
            os.write(q, "".join(f"{self.BASE + address:x}\n" for address in self.EXACT).encode())
            return mount_harness.read_all(q).decode()
        finally:
            os.close(q)

    def test_many_at_once(self):
        self.mount()
        self.assertEqual(self.ask(), "".join(text + "\n" for text in self.EXACT.values()))
        self.assertEqual(self.ask("approximate"), "".join(text + "\n" for text in self.NEAR.values()))

    def test_it_is_marked(self):
        self.mount()
        at = hex(self.BASE + 0x1018)
        self.assertIn('"Approximate":true', self.read(self.ID, "approximate", at + ".json"))
        self.assertNotIn("Approximate", self.read(self.ID, at + ".json"))
        self.assertEqual(self.read(self.ID, "approximate", at + ".tsv").split("\t")[6], "~")
        self.assertNotIn("Approximate", self.read(self.ID, "approximate", hex(self.BASE + 0x1004) + ".json"))

    def test_option(self):
        self.mount("approximate=yes")
        self.assertEqual(self.ask(), "".join(text + "\n" for text in self.NEAR.values()))
        self.check(self.NEAR, add=self.BASE)
        self.check(self.NEAR, "rva")
        self.check(self.NEAR, "approximate", add=self.BASE)

    def test_of_what_is_outside(self):
        self.mount()
        self.assertErrno(errno.ENOENT, self.read, self.ID, "approximate", hex(self.BASE + 0x2000))

    def test_survives_the_kernel(self):
        """The file is read again, not from what the lookup left."""
        self.mount()
        path = os.path.join(self.image(self.ID), "approximate", hex(self.BASE + 0x1018))
        with open(path, "rb") as file:
            for _ in range(3):
                file.seek(0)
                self.assertEqual(file.read().decode(), self.NEAR[0x1018])


if __name__ == "__main__":
    mount_harness.main()
