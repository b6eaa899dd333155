#!/usr/bin/env python3
"""Relocatable files: where their sections are, before and after a restart; a kernel's modules as SOURCE."""

import glob
import json
import os
import subprocess
import unittest

import mount_harness
from mount_harness import GSYM, MountTest, run, tool

PACKERS = {".xz": ["xz", "-1", "--check=crc32"], ".zst": ["zstd", "-q"], ".gz": ["gzip", "-1"]}
if not mount_harness.READS_GZIP:
    del PACKERS[".gz"]
KERNELS = sorted(glob.glob("/usr/lib/debug/lib/modules/*/kernel"))


def sections(status):
    """{name: (address, size)} of the lines of a status."""
    lines = status["section"] if isinstance(status["section"], list) else [status["section"]]
    parts = [line.rsplit(" ", 2) for line in lines]
    return {name: (int(address, 16), int(size)) for name, address, size in parts}


class RelocatableTest(MountTest):
    def setUp(self):
        super().setUp()
        path = os.path.join(self.source, "unit.o")
        run(mount_harness.CXX, "-g", "-O2", "-c", "-ffunction-sections", "-DNAME=unit",
            os.path.join(mount_harness.HERE, "sample.cpp"), "-o", path)
        self.found = self.functions(path)
        out = os.path.join(self.dir, "summary.json")
        run(GSYM, "convert", "--quiet", "--json-summary-file", out, path, "-o", "/dev/null")
        with open(out) as file:
            self.expected = {s["name"]: (int(s["address"], 16), s["size"]) for s in json.load(file)["sections"]}

    def info(self):
        return json.loads(self.read(self.id, "info.json"))

    def agree(self):
        """info.json says what status says."""
        status, info = self.status(self.id), self.info()
        self.assertEqual(set(status), set(info))
        for key, value in status.items():
            if key == "section":
                self.assertEqual(sections(status), {s["name"]: (int(s["address"], 16), s["size"])
                                                    for s in info["section"]})
            elif isinstance(info[key], list):
                self.assertEqual(info[key], value if isinstance(value, list) else [value])
            else:
                self.assertEqual("%.2f" % info[key] if key == "seconds" else str(info[key]), value)

    def test_sections(self):
        daemon = self.mount()
        daemon.wait_scanned()
        self.id = next(iter(self.ids()))
        self.assertEqual(sorted(os.listdir(self.image(self.id))), ["approximate", "base", "info.json", "off", "q", "ra", "rva", "status", "sym", "why"])
        self.assertEqual(os.stat(os.path.join(self.image(self.id), "info.json")).st_size,
                         len(self.read(self.id, "info.json")))
        self.assertEqual(self.info()["state"], "cold")
        self.assertNotIn("section", self.info())
        self.agree()
        for start, end, name in self.found:
            self.assertIn(" at ", self.read(self.id, hex(start)), name)
        self.assertEqual(sections(self.status(self.id)), self.expected)
        inside = [any(low <= start < low + size for low, size in self.expected.values()) for start, _, _ in self.found]
        self.assertTrue(all(inside))
        self.agree()
        self.assertEqual(self.info()["conversions"], 1)
        # What the conversion had to tell is in the cache, and told without opening what it made.
        self.remount(daemon).wait_scanned()
        self.assertEqual(self.info()["state"], "cold")
        self.assertEqual(sections(self.status(self.id)), self.expected)
        self.agree()
        self.assertEqual(self.info()["conversions"], 0)


@unittest.skipUnless(KERNELS, "no kernel modules with debug data (Debian package linux-image-cloud-amd64-dbg)")
class KernelTest(MountTest):
    """SOURCE holds vmlinux and a thousand modules."""

    def check(self, path):
        """Start, middle and last byte of functions answer as they do without a mount."""
        [id] = self.builds(os.path.basename(path))
        out = os.path.join(self.dir, "alone.gsym")
        run(GSYM, "convert", "--quiet", path, "-o", out)
        found = self.functions(path)
        found = found[::max(1, len(found) // 50)]
        asked = [hex(a) for start, end, _ in found for a in (start, (start + end) // 2, max(start, end - 1))]
        want = run(GSYM, "lookup", out, input="\n".join(asked).encode()).stdout.decode().rstrip("\n").split("\n\n")
        self.assertEqual([self.read(id, address).rstrip("\n") for address in asked], want, path)
        return id

    def test_modules(self):
        paths = sorted(glob.glob(KERNELS[-1] + "/**/*.ko", recursive=True))
        self.mount(source="/usr/lib/debug").wait_scanned()
        for path in paths[len(paths) // 40::max(1, len(paths) // 20)][:20]:
            code = run(tool("readelf"), "-SW", path).stdout.decode() if tool("readelf") else ""
            told = sections(self.status(self.check(path)))
            for line in code.splitlines():
                words = line.partition("]")[2].split()
                if len(words) > 8 and "A" in words[6] and int(words[4], 16):
                    self.assertEqual(told[words[0]][1], int(words[4], 16), line)

    def check_compressed(self, paths):
        """In each format: the answers of the plain files, and the same ids."""
        for ending, command in PACKERS.items():
            if not tool(command[0]):
                continue
            for path in paths:
                with open(os.path.join(self.source, os.path.basename(path) + ending), "wb") as file, open(path, "rb") as data:
                    subprocess.run(command, stdin=data, stdout=file, check=True)
            daemon = self.mount()
            daemon.wait_scanned()
            ids = [self.check(path) for path in paths]
            self.assertEqual(ids, [mount_harness.build_id(path) for path in paths], ending)
            self.assertEqual(daemon.stop(), 0)
            for name in os.listdir(self.source):
                os.unlink(os.path.join(self.source, name))

    def test_compressed_modules(self):
        """As Fedora, Arch, Ubuntu and newer Debian install them."""
        paths = sorted(glob.glob(KERNELS[-1] + "/**/*.ko", recursive=True), key=os.path.getsize)
        self.check_compressed(paths[len(paths) // 8::len(paths) // 5][:4])

    def test_stripped_modules(self):
        """Their debug files are called as they are, below /usr/lib/debug."""
        tree = KERNELS[-1].replace("/usr/lib/debug", "")
        paths = sorted(glob.glob(tree + "/net/**/*.ko", recursive=True))[::30][:5]
        if not paths:
            self.skipTest("the modules of %s are not installed" % tree)
        self.mount(source=tree + "/net").wait_scanned()
        for path in paths:
            id = self.check("/usr/lib/debug" + path)
            self.assertGreater(int(self.status(id)["functions_dwarf"]), 0)

    @unittest.skipIf(os.environ.get("BUILD_KIND") == "sanitize", "takes minutes with sanitizers")
    def test_vmlinux(self):
        kernel = os.path.realpath(os.path.join(os.path.dirname(KERNELS[-1]), "vmlinux"))
        self.mount(source="/usr/lib/debug").wait_scanned()
        self.assertNotIn("section", self.status(self.check(kernel)))


if __name__ == "__main__":
    mount_harness.main()
