#!/usr/bin/env python3
"""A Mach-O binary without a dSYM: its object files, found by the linker's notes, answer as dsymutil's bundle does."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import macho, make_macho, measure, peers  # noqa: E402

GSYM = os.path.abspath(sys.argv.pop(1))
TOOLS = {name: peers.find(name) for name in ("clang", "ld64.lld", "dsymutil", "llvm-ar", "llvm-symbolizer",
                                            "llvm-gsymutil")}
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
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, timeout=300, **kwargs)


class LinkTest(unittest.TestCase):
    arch = "arm64"

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="gsym-objects-")
        self.addCleanup(place.cleanup)
        self.dir = os.path.realpath(place.name)

    def at(self, name):
        return os.path.join(self.dir, name)

    def link(self, *objects, out="lib.dylib"):
        run(TOOLS["ld64.lld"], "-arch", self.arch, "-platform_version", "macos", "12.0", "12.0", "-dylib", "-undefined",
            "dynamic_lookup", "-all_load", "-o", self.at(out), *objects, cwd=self.dir)
        return self.at(out)


class ObjectTest(LinkTest):
    def setUp(self):
        super().setUp()
        for name, text in SOURCES.items():
            with open(self.at(name), "w") as file:
                file.write(text)
            run(TOOLS["clang"], "--target=%s-apple-macos12" % self.arch, "-g", "-O1", "-c", self.at(name), "-o",
                self.at(name[0] + ".o"), cwd=self.dir)

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
        self.assertNotRegex(said, "not here|missing files")

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
                self.assertNotRegex(said, "not here|missing files")
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
            self.assertNotRegex(said, "not here|missing files")

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
        self.assertNotRegex(said, "not here|missing files")


ROWS = """
    .section CODE
    .file 1 "/src" "a.c"
    .file 2 "/src" "b.h"
    .globl _f
    .p2align 2
_f:
Lf:
    .loc 1 10 0
    .loc 1 11 3
    nop
    .loc 1 11 3
    .loc 2 7 1
    nop
    .loc 1 20 0
    .loc 1 0 0
    nop
Lend_f:
    .section INFO
    .long Lend - Lunit
Lunit:
    .short 4
    .long 0
    .byte 8, 1
    .asciz "a.c"
    .long 0
    .asciz "/src"
    .quad Lf
    .long Lend_f - Lf
    .byte 2
    .asciz "f"
    .quad Lf
    .long Lend_f - Lf
    .byte 0
Lend:
    .section ABBREV
    .byte 1, 0x11, 1,  3, 8,  0x10, 0x17,  0x1b, 8,  0x11, 1,  0x12, 6,  0, 0
    .byte 2, 0x2e, 0,  3, 8,  0x11, 1,  0x12, 6,  0, 0,  0
"""
APPLE = {"CODE": "__TEXT,__text,regular,pure_instructions", "INFO": "__DWARF,__debug_info,regular,debug",
         "ABBREV": "__DWARF,__debug_abbrev,regular,debug"}
ELF = {"CODE": ".text", "INFO": '.debug_info,"",@progbits', "ABBREV": '.debug_abbrev,"",@progbits'}


class RowsTest(LinkTest):
    """Two rows at one address, as an assembler makes them of two .loc in a row: what each format tells of the three."""

    LAST, FIRST = ["/src/a.c:11", "/src/b.h:7", "/src/a.c:0"], ["(a.c:10)", "(a.c:11)", "(a.c:20)"]

    def assemble(self, sections, target):
        text = ROWS
        for name, words in sections.items():
            text = text.replace(".section " + name, ".section " + words)
        with open(self.at("rows.s"), "w") as file:
            file.write(text)
        run(TOOLS["clang"], "--target=" + target, "-c", self.at("rows.s"), "-o", self.at("rows.o"))
        return self.at("rows.o")

    def tell(self, path, start):
        """(text, atos) of the three addresses; other tools that read the file tell what the text does."""
        run(GSYM, "convert", "--verify", "--quiet", path, "-o", self.at("rows.gsym"))
        addresses = [hex(start + 4 * i) for i in range(3)]
        told = {}
        for form in ("text", "tsv", "atos"):
            told[form] = run(GSYM, "lookup", "--format=" + form, self.at("rows.gsym"), *addresses).stdout.decode().splitlines()
        text = [line.split()[-1] for line in told["text"]]
        self.assertEqual([":".join(line.split("\t")[4:6]) for line in told["tsv"]], text)
        for address, line in zip(addresses, text):
            other = run(TOOLS["llvm-gsymutil"], "--address=" + address, self.at("rows.gsym")).stdout.decode()
            self.assertIn(" @ %s\n" % line, other)
        return text, [line.split()[-1] for line in told["atos"]]

    def peer(self, path, start):
        out = run(TOOLS["llvm-symbolizer"], "--obj=" + path, *[hex(start + 4 * i) for i in range(3)]).stdout.decode()
        return [line.rpartition(":")[0] for line in out.splitlines() if line.startswith("/src")]

    def test_apple(self):
        binary = self.link(self.assemble(APPLE, "arm64-apple-macos12"))
        run(TOOLS["dsymutil"], binary, "-o", self.at("elsewhere.dSYM"))
        bundle = os.path.join(self.at("elsewhere.dSYM/Contents/Resources/DWARF"), os.path.basename(binary))
        start = next(s.addr for s in macho.MachO.read(binary).symbols if s.name == "f")
        self.assertEqual(self.peer(bundle, start), self.LAST)
        for path, at in ((bundle, start), (binary, start), (self.at("rows.o"), 0)):
            self.assertEqual(self.tell(path, at), (self.LAST, self.FIRST), path)

    def test_elf(self):
        path = self.assemble(ELF, "aarch64-linux-gnu")
        self.assertEqual(self.peer(path, 0), self.LAST)
        self.assertEqual(self.tell(path, 0)[0], self.LAST)
        self.assertEqual(self.tell(path, 0)[1], ["(a.c:11)", "(b.h:7)", "(a.c:0)"])


class IntelObjectTest(ObjectTest):
    arch = "x86_64"


if __name__ == "__main__":
    missing = [name for name, path in TOOLS.items() if not path]
    if missing:
        print("SKIP: not installed: " + ", ".join(missing))
        sys.exit(77)
    unittest.main()
