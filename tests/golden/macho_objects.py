#!/usr/bin/env python3
"""A Mach-O binary without a dSYM: its object files, found by the linker's notes, answer as dsymutil's bundle does."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import make_macho, measure, peers  # noqa: E402

GSYM = os.path.abspath(sys.argv.pop(1))
TOOLS = {name: peers.find(name) for name in ("clang", "ld64.lld", "dsymutil", "llvm-ar")}
machines = {"arm64": make_macho.ARM64, "x86_64": make_macho.X86_64}
SOURCES = {
    "a.c": """
static inline __attribute__((always_inline)) int square(int x) { return x * x; }
__attribute__((noinline)) int work(int a) { return square(a) + square(a + 1); }
__attribute__((noinline)) static int unused(int a) { return a + 9; }
int start(void) { return work(3); }
int keep(void) { return unused(1); }
""",
    "b.c": """
extern int work(int);
static __attribute__((noinline)) int helper(int a)
{
    return work(a) + 5;
}
int other(int a) { return helper(a) * 2; }
""",
}


def run(*argv, **kwargs):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, timeout=60, **kwargs)


class ObjectTest(unittest.TestCase):
    arch = "arm64"

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="gsym-objects-")
        self.addCleanup(place.cleanup)
        self.dir = os.path.realpath(place.name)
        for name, text in SOURCES.items():
            with open(self.at(name), "w") as file:
                file.write(text)
            run(TOOLS["clang"], "--target=%s-apple-macos12" % self.arch, "-g", "-O1", "-c", self.at(name), "-o",
                self.at(name[0] + ".o"), cwd=self.dir)

    def at(self, name):
        return os.path.join(self.dir, name)

    def link(self, *objects, out="lib.dylib"):
        run(TOOLS["ld64.lld"], "-arch", self.arch, "-platform_version", "macos", "12.0", "12.0", "-dylib", "-undefined",
            "dynamic_lookup", "-all_load", "-o", self.at(out), *objects, cwd=self.dir)
        return self.at(out)

    def convert(self, path, out="out.gsym"):
        """(what gsym printed, functions with their lines and inlined calls)"""
        done = run(GSYM, "convert", path, "-o", self.at(out))
        text = run(GSYM, "dump", self.at(out)).stdout.decode()
        lines = []
        for line in text[text.index("FunctionInfo"):].splitlines():
            lines.append(line.split("[", 1)[1] if line.startswith("FunctionInfo") else line)
        stub = next((i for i, line in enumerate(lines) if "symbol stub" in line), len(lines))
        return done.stderr.decode(), lines[:stub]

    def reference(self, binary):
        """The same of the bundle, which is not left where it would be found."""
        run(TOOLS["dsymutil"], binary, "-o", self.at("elsewhere.dSYM"))
        bundle = self.at("elsewhere.dSYM/Contents/Resources/DWARF")
        return self.convert(os.path.join(bundle, os.path.basename(binary)))[1]

    def test_objects(self):
        binary = self.link("a.o", "b.o")
        said, ours = self.convert(binary)
        self.assertEqual(ours, self.reference(binary))
        self.assertIn("a.c:3", "\n".join(ours))
        self.assertIn("square called from", "\n".join(ours))
        self.assertNotIn("not here", said)

    def test_archive(self):
        for form in ("bsd", "gnu"):
            with self.subTest(form):
                archive = self.at("lib%s.a" % form)
                run(TOOLS["llvm-ar"], "--format=" + form, "rc", archive, self.at("b.o"), self.at("a.o"))
                os.link(self.at("a.o"), self.at("an_object_with_a_long_name_%s.o" % form))
                run(TOOLS["llvm-ar"], "--format=" + form, "rc", archive,
                    self.at("an_object_with_a_long_name_%s.o" % form))
                run(TOOLS["llvm-ar"], "--format=" + form, "d", archive, "a.o")
                binary = self.link(archive, out=form + ".dylib")
                said, ours = self.convert(binary)
                self.assertEqual(ours, self.reference(binary))
                self.assertNotIn("not here", said)
                run("rm", "-r", self.at("elsewhere.dSYM"))

    def test_fat_archive(self):
        """A static library for several machines."""
        parts = []
        for machine, target in ((make_macho.X86_64, "x86_64"), (make_macho.ARM64, "arm64")):
            run(TOOLS["clang"], "--target=%s-apple-macos12" % target, "-g", "-O1", "-c", self.at("b.c"), "-o", self.at("b.o"))
            run(TOOLS["llvm-ar"], "--format=darwin", "rcs", self.at(target + ".a"), self.at("b.o"))
            with open(self.at(target + ".a"), "rb") as file:
                parts.append((machine, file.read()))
        for wide in (False, True):
            with open(self.at("fat.a"), "wb") as file:
                file.write(make_macho.fat(parts, wide))
            # A linker that reads the wide form is not at hand: the same members, from a library of the same name.
            with open(self.at("fat.a"), "rb") as file:
                whole = file.read()
            os.rename(self.at(self.arch + ".a"), self.at("fat.a"))
            binary = self.link(self.at("fat.a"))
            os.rename(self.at("fat.a"), self.at(self.arch + ".a"))
            with open(self.at("fat.a"), "wb") as file:
                file.write(whole)
            said, ours = self.convert(binary)
            self.assertIn("b.c:7", "\n".join(ours))
            self.assertNotIn("not here", said)

    def test_memory_of_many_objects(self):
        """Only what the binary has of an object is kept, and no object stays open."""
        functions = "".join("int f%d(int a) { return a + %d; }\n" % (i, i) for i in range(3000))
        with open(self.at("big.c"), "w") as file:
            file.write(functions)
        run(TOOLS["clang"], "--target=%s-apple-macos12" % self.arch, "-g", "-O1", "-c", self.at("big.c"), "-o",
            self.at("big.o"))
        made, count = make_macho.Maker(machines[self.arch], uuid=bytes(range(16))), 600
        made.section("__TEXT", "__text", 0x1000, bytes(0x20 * count), make_macho.CODE)
        for i in range(count):
            made.symbols += [make_macho.Symbol(self.at("./" * (i % 9) + "big.o"), 0, 0x66, 0),
                             make_macho.Symbol("_f%d" % i, 0x1000 + 0x20 * i, make_macho.N_FUN), make_macho.Symbol("", 0x20, make_macho.N_FUN, 0)]
        with open(self.at("many"), "wb") as file:
            file.write(made.file())
        _, kib, status = measure.once([GSYM, "convert", "--quiet", self.at("many"), "-o", self.at("out.gsym")])
        self.assertEqual(status, 0)
        self.assertLess(kib, 150 << 10)
        answer = run(GSYM, "lookup", self.at("out.gsym"), "0x1000", hex(0x1000 + 0x20 * (count - 1))).stdout.decode()
        self.assertIn("f0 at %s:1\n" % self.at("big.c"), answer)
        self.assertIn("f%d at %s:%d\n" % (count - 1, self.at("big.c"), count), answer)

    def test_missing_object(self):
        binary = self.link("a.o", "b.o")
        os.unlink(self.at("b.o"))
        said, ours = self.convert(binary)
        text = "\n".join(ours)
        self.assertIn("a.c:3", text)
        self.assertIn('"other"', text)  # its symbol is left
        self.assertNotIn("b.c", text)
        self.assertIn(self.at("b.o"), said)

    def test_object_of_another_architecture(self):
        binary = self.link("a.o", "b.o")
        other = "arm64" if self.arch == "x86_64" else "x86_64"
        run(TOOLS["clang"], "--target=%s-apple-macos12" % other, "-g", "-O1", "-c", self.at("b.c"), "-o", self.at("b.o"))
        said, ours = self.convert(binary)
        self.assertNotIn("b.c", "\n".join(ours))
        self.assertIn(self.at("b.o"), said)

    def test_bundle_beside_is_preferred(self):
        binary = self.link("a.o", "b.o")
        run(TOOLS["dsymutil"], binary, "-o", binary + ".dSYM")
        os.unlink(self.at("a.o"))
        said, ours = self.convert(binary)
        self.assertIn("a.c:3", "\n".join(ours))
        self.assertNotIn("not here", said)


class IntelObjectTest(ObjectTest):
    arch = "x86_64"


if __name__ == "__main__":
    missing = [name for name, path in TOOLS.items() if not path]
    if missing:
        print("SKIP: not installed: " + ", ".join(missing))
        sys.exit(77)
    unittest.main()
