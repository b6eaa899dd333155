#!/usr/bin/env python3
"""Files of SOURCE that are cut short, as copies that broke off are: named in the log and in status, and still used."""

import lzma
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import mount_harness  # noqa: E402
from mount_harness import MountTest, build_id, contents, run, wait_until  # noqa: E402
from lib import make_macho  # noqa: E402
from lib.formats import FORMATS  # noqa: E402
from lib.macho_sample import program as macho_program  # noqa: E402

GO_ON = "copy it again"


class TruncatedTest(MountTest):
    def put(self, name, data):
        """The file appears whole."""
        path = os.path.join(self.source, name)
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.rename(path + ".new", path)
        return path

    def root_status(self):
        found = {}
        for line in self.read("status").splitlines():
            key, value = line.split("\t", 1)
            found.setdefault(key, []).append(value)
        return found

    def named(self, kind="truncated"):
        """{base name: reason} of the files that are named."""
        found = (value.split(": ", 1) for value in self.root_status().get(kind + "_file", []))
        return {os.path.basename(path): reason for path, reason in found}

    def scan(self, *options):
        daemon = self.mount("rescan=0", *options)
        wait_until(lambda: self.root_status()["state"] == ["complete"], "the end of the scan")
        return daemon

    def test_elf(self):
        """At ten places; each is an image all the same, and its status says why it has no answers."""
        path = self.compile()
        whole, id = contents(path), build_id(path)
        os.unlink(path)
        sizes = [len(whole) * i // 10 for i in range(1, 10)] + [len(whole) - 1]
        for number, size in enumerate(sizes):
            self.put("cut%d" % number, whole[:size])
        self.put("whole", whole)
        daemon = self.scan()
        named = self.named()
        self.assertEqual(set(named), {"cut%d" % number for number in range(10)})
        headers = struct.unpack_from("<Q", whole, 0x28)[0]
        for number, size in enumerate(sizes):
            self.assertEqual(named["cut%d" % number], "may be truncated: section headers at offset 0x%x to 0x%x, "
                             "end of file at 0x%x: copy it again" % (headers, len(whole), size))
        self.assertEqual((self.root_status()["truncated"], self.root_status()["skipped"]), (["10"], ["0"]))
        self.assertIn("cut3: may be truncated: section headers at offset", daemon.log())
        self.assertIn("copy it again; used as far as it goes", daemon.log())
        self.assertEqual(self.ids(), {id})
        self.assertEqual(self.status(id)["source"], os.path.join(self.source, "whole"))
        # The index has the reasons.
        daemon = self.remount(daemon, "rescan=0")
        wait_until(lambda: " 0 opened" in daemon.log(), "the line of the scan in the log")
        self.assertEqual(self.named(), named)
        self.assertNotIn("may be truncated", daemon.log())
        # Without another one the image stays, and says what is wrong with it.
        for number in range(1, 10):
            os.unlink(os.path.join(self.source, "cut%d" % number))
        os.unlink(os.path.join(self.source, "whole"))
        wait_until(lambda: self.status(id)["source"].endswith("cut0"), "the file that is left")
        self.assertErrno(5, self.read, id, "0x1000")
        self.assertIn("may be truncated", self.status(id)["reason"])

    def test_a_copy_that_goes_on(self):
        """What is complete is forgotten, whether or not the watch tells of it."""
        path = self.compile()
        whole, id = contents(path), build_id(path)
        address = next(hex(start) for start, _, name in self.functions(path) if name.endswith("normEv"))
        with open(path, "r+b") as copy:
            copy.truncate(len(whole) // 2)
            daemon = self.scan()
            self.assertEqual(set(self.named()), {"sample"})
            copy.seek(len(whole) // 2)
            copy.write(whole[len(whole) // 2:])
        wait_until(lambda: not self.named(), "the complete file")
        self.assertIn("sample.cpp", self.read(id, address))
        with open(path, "r+b") as copy:
            copy.truncate(len(whole) // 2)
        wait_until(self.named, "the file that is cut")
        daemon.stop()
        with open(path, "wb") as copy:
            copy.write(whole)
        self.scan()
        self.assertEqual(self.named(), {})

    def test_formats(self):
        """Each format at its cut points: the rest answers, unless the part is no such file. The whole one of equal content is chosen."""
        wanted = {}
        for row in FORMATS:
            self.put("whole" + row.ending, row.make())
            for cut in row.cuts:
                name = f"cut{cut.bytes}{row.ending}"
                self.put(name, row.cut(cut))
                wanted[name] = cut
        daemon = self.scan()
        named = {False: self.named(), True: self.named("skipped")}
        self.assertEqual({name: skipped for skipped in named for name in named[skipped]}, {name: cut.skipped for name, cut in wanted.items()})
        for name, cut in wanted.items():
            self.assertRegex(named[cut.skipped][name], cut.reason + (".*" if cut.skipped else ".* end of file at 0x[0-9a-f]+: " + GO_ON))
            self.assertIn(f"{name}: ", daemon.log())
        for row in FORMATS:
            self.assertEqual(os.path.basename(self.status(row.id)["source"]), "whole" + row.ending)

    def test_fat_files(self):
        machine, macho = make_macho.ARM64, macho_program(make_macho.ARM64, uuid=bytes(range(1, 17))).file()
        other = macho_program(make_macho.PPC, True, uuid=bytes(range(2, 18))).file()
        fat = make_macho.fat([(machine, macho), (make_macho.PPC, other)])
        self.put("fat", fat[:len(fat) - 10])
        self.put("empty_fat", fat[:60])
        self.put("Main.class", b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(200))
        self.scan()
        named = self.named()
        self.assertEqual(set(named), {"fat"})
        self.assertRegex(named["fat"], "slice 2 at offset .* end of file at 0x%x" % (len(fat) - 10))
        self.assertRegex(self.named("skipped")["empty_fat"], "slice 1 at offset .* end of file at 0x3c")
        self.assertIn(bytes(range(1, 17)).hex(), self.ids())

    def test_wrong_headers(self):
        """A file whose section headers never were where its header says answers, and so does one without any."""
        path = self.compile()
        whole = bytearray(contents(path))
        run("strip", "--strip-debug", path)
        struct.pack_into("<Q", whole, 0x28, 1 << 40)
        self.put("wrong", whole)
        bare = bytearray(contents(path))
        struct.pack_into("<Q", bare, 0x28, 0)
        struct.pack_into("<HHH", bare, 0x3a, 0, 0, 0)
        self.put("bare", bare)
        loaded = [struct.unpack_from("<IIQQQQ", bare, 64 + 56 * i) for i in range(struct.unpack_from("<H", bare, 56)[0])]
        end = max(off + size for kind, _, off, _, _, size in loaded if kind == 1)
        self.put("packed", bare[:end])
        self.put("packed_cut", bare[:end - 1])
        debug = os.path.join(self.source, "debug")
        run("objcopy", "--only-keep-debug", path, debug)
        self.scan()
        named = self.named()
        self.assertEqual(set(named), {"wrong", "packed_cut"})
        self.assertRegex(named["wrong"], "section headers at offset 0x10000000000")
        self.assertRegex(named["packed_cut"], "segment [0-9]+ at offset")
        self.assertEqual(len(self.ids()), 1)

    def test_compressed(self):
        """Files compressed as a whole that end too early are damaged; those of other content are none of ours."""
        path = self.compile()
        whole = contents(path)
        os.unlink(path)
        small = lzma.compress(whole)
        self.put("app.xz", small[:len(small) // 2])
        self.put("inner.xz", lzma.compress(whole[:len(whole) // 2]))
        text = lzma.compress(os.urandom(3000).hex().encode() * 20)
        self.put("text.xz", text[:len(text) // 2])
        self.scan()
        self.assertEqual(self.named("skipped"), {"app.xz": "compressed with xz: damaged, or cut short"})
        self.assertRegex(self.named()["inner.xz"], "end of file at 0x%x" % (len(whole) // 2))
        self.assertNotIn("text.xz", self.read("status"))


if __name__ == "__main__":
    mount_harness.main()
