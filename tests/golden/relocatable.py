#!/usr/bin/env python3
"""Relocatable files: crafted ones (lib/objfile.py) with known answers, and compiled ones against their linked form.

    relocatable.py GSYM
"""
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, objfile, peers  # noqa: E402
from lib.objfile import Plan, Relocation, Section  # noqa: E402

GSYM = ""
SOURCE = """
template <class T> __attribute__((noinline)) T twice(T x) { return x * 2 + 1; }
struct base { virtual int area(int x) { return twice(x) - 3; } virtual ~base() {} };
static inline __attribute__((always_inline)) int half(int x) { return x / 2 + (x & 3); }
int one(int x) { return x > 7 ? half(x) + twice(x) : half(x * 5); }
long two(long x) { if (__builtin_expect(x == 12345, 0)) __builtin_trap(); return twice(x) ^ one((int)x); }
__attribute__((cold)) int rare(int x) { return one(x) * 3; }
base make() { return base(); }
"""


class RelocatableTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="gsym-relocatable-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.object, self.gsym, self.summary = (os.path.join(self.dir, n) for n in ("a.o", "out", "summary"))

    def convert(self, path=None, check=True):
        """What the conversion says besides its output."""
        return peers.run([GSYM, "convert", "--quiet", "--json-summary-file", self.summary, path or self.object, "-o",
                          self.gsym], check=check, timeout=300)

    def told(self):
        with open(self.summary) as file:
            return json.load(file)

    def answers(self, addresses):
        return frames.gsym(GSYM, self.gsym, addresses)

    def check(self, plan, warnings=0):
        """Every function and both of its rows are where the layout has them."""
        objfile.make(plan, self.object)
        self.convert()
        expected = objfile.expected(plan)
        addresses = [at + off for at, _, _ in expected for off in (0, 7, 8, objfile.SIZE - 1)]
        want = [[frames.Frame(name, "unit.c", line + (off >= 8))] for _, name, line in expected for off in (0, 7, 8, 15)]
        wrong = [row for row in zip(map(hex, addresses), self.answers(addresses), want) if row[1] != row[2]]
        self.assertEqual(wrong[:5], [])  # unittest would compare all, letter by letter, for hours
        self.assertEqual(self.told()["error-count"], warnings, self.told())
        sections = {s["name"]: (int(s["address"], 16), s["size"]) for s in self.told()["sections"]}
        if len(plan.functions) < 500:
            for (_, section, _), (at, _, _) in zip(plan.functions, expected):
                self.assertEqual(sections[section], (at, objfile.SIZE))

    # ---- Crafted ----

    @staticmethod
    def functions(count, align=16):
        return [(f"function{i}", f".text.function{i}", align) for i in range(count)]

    def test_sections_of_their_own(self):
        aligned = [("a", ".text.a", 1), ("b", ".text.b", 64), ("c", ".text.c", 4), ("d", ".init.text", 32)]
        self.check(Plan(aligned))
        self.check(Plan(aligned, by_name=True))
        self.check(Plan(aligned, groups=True))
        self.check(Plan(aligned, groups=True, by_name=True))

    def test_addends_in_place(self):
        self.check(Plan(self.functions(5), machine=objfile.EM_386))
        self.check(Plan(self.functions(5), machine=objfile.EM_386, by_name=True))

    def test_other_sections_between(self):
        data = [Section(".data", flags=objfile.SHF_ALLOC, data=b"x" * 100, align=32)]
        self.check(Plan(self.functions(3), sections=data))

    def test_relocations_that_do_nothing(self):
        nothing = [Relocation(0, 0, objfile.R_X86_64_NONE), Relocation(1 << 60, 77, objfile.R_X86_64_NONE, 5)]
        self.check(Plan(self.functions(3), extra=nothing))

    def test_relocations_out_of_range(self):
        """They are left out, and the section is counted."""
        symbol, size = 1, len(objfile.Object(Plan(self.functions(3))).sections[5].data)
        for off in (size, size - 7, 1 << 63, (1 << 64) - 1):
            self.check(Plan(self.functions(3), extra=[Relocation(off, symbol, objfile.R_X86_64_64)]), warnings=1)
        self.check(Plan(self.functions(3), extra=[Relocation(0, symbol, 200)]), warnings=1)
        self.check(Plan(self.functions(3), extra=[Relocation(1 << 40, symbol, objfile.R_X86_64_32)] * 5), warnings=1)

    def test_symbol_that_is_not_there(self):
        """A function whose address is not known is not told at another's."""
        plan = Plan(self.functions(3))
        built = objfile.Object(plan)
        info = next(p for p in built.pending if p[1] == ".debug_info")
        at = next(i for i, s in enumerate(built.sections) if s.name == ".rela.debug_info")
        info[2][1].symbol = 1 << 30
        built.sections[at].data = b"".join(map(built.pack_relocation, info[2]))
        Path(self.object).write_bytes(built.bytes())
        self.convert()
        self.assertEqual([f[0].name for f in self.answers([0, 16, 32])], ["function0", "function1", "function2"])
        self.assertEqual(self.answers([0])[0][0].line, 10)
        self.assertEqual(self.told()["error-count"], 1)

    def test_unknown_machine(self):
        """Debug data that cannot be relocated has all code at 0: the symbols are what is told."""
        plan = Plan(self.functions(3))
        built = bytearray(objfile.Object(plan).bytes())
        struct.pack_into("<H", built, 18, 0xfeed)
        Path(self.object).write_bytes(built)
        self.convert()
        self.assertEqual([f[0].name for f in self.answers([0, 16, 32])], ["function0", "function1", "function2"])
        self.assertFalse(any(f[0].line for f in self.answers([0, 16, 32])))
        self.assertGreater(self.told()["error-count"], 0)

    def test_small_processors(self):
        clang, nm = peers.find("clang"), peers.find("llvm-nm")
        for target in ("hexagon-unknown-elf", "avr-none-elf", "msp430-none-elf"):
            command = [clang, f"--target={target}", "-g", "-O0", "-x", "c", "-c", "-o", self.object, "-"]
            if not clang or not nm or subprocess.run(command, input=b"int one(int x)\n{ return x; }\nint two(int x)\n{ return x; }\n",
                                                     capture_output=True, check=False, timeout=300).returncode:
                print(f"SKIP: no clang for {target}, or no llvm-nm")
                continue
            self.convert()
            at = {line.split()[2]: int(line.split()[0], 16) for line in peers.run([nm, self.object]).splitlines()}
            found = self.answers([at["one"], at["two"]])
            self.assertEqual([(f[0].name, f[0].line) for f in found], [("one", 2), ("two", 4)], target)
            self.assertEqual(self.told()["error-count"], 0, target)

    def test_without_symbols(self):
        """Nothing says where the functions are: better no answer than that all are at 0."""
        objfile.make(Plan(self.functions(3), symtab=False), self.object)
        done = subprocess.run([GSYM, "convert", self.object, "-o", self.gsym], capture_output=True, text=True,
                              check=False, timeout=300)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no function found", done.stderr)

    def test_many_sections(self):
        """More than the header has room for: their number and the indexes of symbols are elsewhere (gABI)."""
        plan = Plan(self.functions(70000))
        self.check(plan)
        self.assertEqual(len(self.told()["sections"]), 512)
        data = Path(self.object).read_bytes()
        self.assertEqual(struct.unpack_from("<H", data, 60), (0,))
        self.assertEqual(struct.unpack_from("<H", data, 62), (objfile.SHN_XINDEX,))

    def processor_time(self):
        """Seconds that a conversion takes, to be compared with those of another; the least of three."""
        runs = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.convert()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            runs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(runs)

    def test_time_is_linear(self):
        seconds = []
        for count in (25000, 100000):
            objfile.make(Plan(self.functions(count)), self.object)
            seconds.append(self.processor_time())
        print(f"25,000 sections {seconds[0]:.2f} s, 100,000 sections {seconds[1]:.2f} s")
        self.assertLess(seconds[1], 4 * 2 * seconds[0] + 0.5)

    def test_tables_that_share_their_bytes(self):
        """A file of a megabyte with 3,000 tables of 3,000 entries does not take millions of steps."""
        for shared, size in ((".rela.debug_info", None), (".rela.debug_info", 24), (".symtab", None)):
            built = objfile.Object(Plan(self.functions(3000)))
            at = next(i for i, s in enumerate(built.sections) if s.name == shared)
            like, first = built.sections[at], len(built.sections)
            for _ in range(3000):
                built.add(Section(shared, like.type, like.flags, b"", like.link, like.info, 1, like.entsize))
            data = bytearray(built.bytes())
            Path(self.object).write_bytes(data)
            alone = self.processor_time()
            headers = struct.unpack_from("<Q", data, 40)[0]
            off, whole = struct.unpack_from("<QQ", data, headers + 64 * at + 24)
            for i in range(first, first + 3000):
                struct.pack_into("<QQ", data, headers + 64 * i + 24, off, size or whole)
            Path(self.object).write_bytes(data)
            taken = self.processor_time()
            self.assertLess(taken, 4 * 2 * alone + 0.5, shared)
            self.assertEqual(self.answers([16 * 7])[0][0].name, "function7")

    # ---- Compiled ----

    def compile(self, compiler, *options):
        source = os.path.join(self.dir, "a.cc")
        Path(source).write_text(SOURCE)
        peers.run([compiler, "-g", "-O2", "-c", source, "-o", self.object, *options])

    def place(self):
        """A copy whose section headers have the addresses of the layout, which llvm-symbolizer then goes by."""
        placed = os.path.join(self.dir, "placed.o")
        data, at = bytearray(Path(self.object).read_bytes()), 0
        headers, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
        for i in range(count):
            header = headers + 64 * i
            flags, size, align = (struct.unpack_from("<Q", data, header + off)[0] for off in (8, 32, 48))
            if flags & objfile.SHF_ALLOC:
                at = -(-at // (align or 1)) * (align or 1)
                struct.pack_into("<Q", data, header + 16, at)
                at += size
        Path(placed).write_bytes(data)
        return placed

    def peer(self, compiler, addresses):
        """eu-addr2line reads relocatable files and lays them out alike, but knows no .debug_addr of theirs."""
        if compiler == "g++":
            return [found if sound else [] for found, sound in frames.elfutils(self.object, addresses)]
        return frames.symbolizer(self.place(), addresses)

    def compare(self, compiler):
        """Every byte of code as a peer has it."""
        self.convert()
        addresses = [a for s in self.told()["sections"] if s["code"]
                     for a in range(int(s["address"], 16), int(s["address"], 16) + s["size"])]
        peers.run([GSYM, "convert", "--quiet", "--dwarf-names", self.object, "-o", self.gsym])
        compared = 0
        for address, mine, theirs in zip(addresses, self.answers(addresses), self.peer(compiler, addresses)):
            if not mine or not theirs or not theirs[-1].file:
                continue
            compared += 1
            self.assertEqual([(f.file, f.line) for f in mine], [(f.file, f.line) for f in theirs], hex(address))
        self.assertGreater(compared, 100)

    def test_compiled(self):
        compilers = [("g++", peers.find("g++")), ("clang", peers.find("clang"))]
        for name, compiler in compilers:
            if not compiler or not shutil.which("eu-addr2line") or not peers.find("llvm-symbolizer"):
                print(f"SKIP: {name}, eu-addr2line (Debian package elfutils) or llvm-symbolizer is not installed")
                continue
            bb = [["-ffunction-sections", "-fbasic-block-sections=all"],
                  ["-fbasic-block-sections=all", "-funique-basic-block-section-names"]] if name == "clang" else []
            for options in ([], ["-ffunction-sections"], ["-gdwarf-4", "-ffunction-sections"],
                            ["-ffunction-sections", "-gdwarf-4", "-fdebug-types-section"], *bb):
                with self.subTest(compiler=name, options=options):
                    self.compile(compiler, *options)
                    self.compare(name)

    def test_type_units(self):
        """In DWARF 5 each is in a .debug_info of its own, ahead of that with the code."""
        for compiler in filter(None, (peers.find("g++"), peers.find("clang"))):
            found = []
            for options in ([], ["-fdebug-types-section"]):
                self.compile(compiler, "-gdwarf-5", "-ffunction-sections", *options)
                self.convert()
                found.append(self.answers(range(0x100)))
            self.assertEqual(found[0], found[1], compiler)
            self.assertTrue(found[0][0][0].line)

    def test_compressed(self):
        """Sections are decompressed before they are relocated: the bytes of the output are the same."""
        done = 0
        for compiler in filter(None, (peers.find("g++"), peers.find("clang"))):
            self.compile(compiler, "-ffunction-sections")
            self.convert()
            plain = Path(self.gsym).read_bytes()
            for kind in ("zlib", "zlib-gnu", "zstd"):
                squeezed = os.path.join(self.dir, "squeezed.o")
                objcopy = peers.find("llvm-objcopy") if kind == "zstd" else shutil.which("objcopy")
                tool = [objcopy, f"--compress-debug-sections={kind}", self.object, squeezed]
                if not objcopy or subprocess.run(tool, capture_output=True, check=False, timeout=300).returncode:
                    print(f"SKIP: no objcopy that compresses with {kind}")
                    continue
                self.assertLess(os.path.getsize(squeezed), os.path.getsize(self.object))
                self.convert(squeezed)
                self.assertEqual(Path(self.gsym).read_bytes(), plain, (compiler, kind))
                done += 1
        self.assertGreater(done, 0)


if __name__ == "__main__":
    GSYM = peers.gsym_program(sys.argv.pop(1) if len(sys.argv) > 1 else None)
    unittest.main(verbosity=2)
