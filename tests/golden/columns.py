#!/usr/bin/env python3
"""What GSYM does not hold and gsym-symbolizer answers from the program's DWARF: columns, discriminators, where functions are
declared and begin.

    columns.py GSYM

The reports of sanitizers, which consist of that, are compared with the original's by symbolizer_clients.py.
"""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import peers  # noqa: E402

LIMIT = 600
gsym = ""

SOURCE = """#include <algorithm>
#include <map>
#include <string>
#include <vector>
template <class T> struct box { T value; T get() const { return value + 1; } };
static inline int twice(int x) { return x ? 2 * x : box<int>{x}.get(); }
__attribute__((noinline)) int area(int x) { for (int i = 0; i < x; i++) if (twice(i) > x) return i; return twice(x); }
int main(int argc, char **argv)
{
	std::map<std::string, int> names;
	std::vector<int> values;
	for (int i = 0; i < argc; i++) { names[argv[i]]++; values.push_back(area(i)); }
	std::sort(values.begin(), values.end());
	return names.size() + values[0];
}
"""
STYLES = ("", "--no-inlines", "--output-style=GNU", "--output-style=JSON", "--verbose", "--verbose --no-inlines -s",
          "--functions=none --verbose")
# LLVM loses the file of a declaration that is in the abbreviation, where gcc puts it.
START_FILE = re.compile(r'"StartFileName":"[^"]*"|Function start filename: .*')


class Columns(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="gsym-columns-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.env = {**os.environ, "GSYMFS_CACHE": self.at("cache"), "GSYMFS_MOUNT": self.at("none"), "LLVM_SYMBOLIZER_OPTS": ""}
        for name in ("llvm-symbolizer", "llvm-addr2line", "addr2line"):
            os.symlink(gsym, self.at(name))

    def at(self, *names):
        return os.path.join(self.dir, *names)

    def must(self, *argv, text=None):
        done = subprocess.run(argv, input=text, capture_output=True, text=True, errors="replace", timeout=LIMIT, env=self.env,
                              cwd=self.dir, check=False)
        self.assertEqual(done.returncode, 0, f"{argv}: {done.stderr}")
        return done.stdout

    def compile(self, name, *options, compiler="c++"):
        pathlib.Path(self.at("a.cc")).write_text(SOURCE)
        self.must(compiler, "-g", "-Wl,--build-id=sha1", *options, "-o", name, "a.cc")
        return self.at(name)

    def addresses(self, path):
        """All bytes of the functions that the program has of its source."""
        text = ""
        for start, size in re.findall(r"^(\w+) (\w+) [TtWw] (?!_init|_fini|_start|_dl_|call_weak)\w+$", self.must("nm", "-S", path), re.M):
            text += "".join(f"{a:#x}\n" for a in range(int(start, 16), int(start, 16) + int(size, 16)))
        return text

    def expect_like_llvm(self, path, styles=STYLES):
        text = self.addresses(path)
        original = peers.find("llvm-symbolizer", (22,))
        if not original:
            self.skipTest("llvm-symbolizer-22 is not installed")
        for style in styles:
            ours, theirs = (START_FILE.sub("", self.must(program, "-e", path, "--no-demangle", *style.split(), text=text))
                            for program in (self.at("llvm-symbolizer"), original))
            with self.subTest(style=style):
                self.assertEqual(ours.splitlines(), theirs.splitlines())
                self.assertGreater(len(theirs.splitlines()), 1000)

    def test_gcc(self):
        for options in (("-O0",), ("-O2",), ("-O2", "-gdwarf-4"), ("-O2", "-gz"), ("-O2", "-gsplit-dwarf")):
            with self.subTest(options=options):
                self.expect_like_llvm(self.compile("a", *options), STYLES if options == ("-O2",) else STYLES[:2])

    def test_clang(self):
        clang = next((name for name in ("clang++-22", "clang++-14", "clang++") if shutil.which(name)), None)
        if not clang:
            self.skipTest("clang is not installed")
        for options in (("-O0",), ("-O1", "-fdebug-info-for-profiling"), ("-O2", "-gsplit-dwarf")):
            with self.subTest(options=options):
                self.expect_like_llvm(self.compile("a", *options, compiler=clang))

    def ask(self, name, *argv):
        return self.must(self.at(name), *argv)

    def test_debug_file(self):
        """Columns of a stripped program are in its debug file."""
        path = self.compile("a", "-O1")
        address = "0x" + re.search(r"^(\w+) T main$", self.must("nm", path), re.M)[1]
        whole = self.ask("llvm-symbolizer", "-e", path, address)
        self.assertRegex(whole, r"^main\n\S+a\.cc:9:[1-9]\d*\n\n$")
        self.must("objcopy", "--only-keep-debug", path, "a.debug")
        self.must("objcopy", "--strip-debug", "--add-gnu-debuglink=a.debug", path, "stripped")
        self.assertEqual(self.ask("llvm-symbolizer", "-e", self.at("stripped"), address), whole)

    def test_only_where_asked_for(self):
        """GSYM alone has no columns, the entry of the cache does not change, and addr2line starts no process for them."""
        path = self.compile("a", "-O1")
        address = "0x" + re.search(r"^(\w+) T main$", self.must("nm", path), re.M)[1]
        self.must(gsym, "convert", "-o", "a.gsym", path)
        self.assertRegex(self.ask("llvm-symbolizer", "-e", self.at("a.gsym"), address), r"a\.cc:9:0\n")
        self.ask("addr2line", "-e", path, address)
        before = {f: f.read_bytes() for f in pathlib.Path(self.at("cache")).rglob("*.gsym") if f.is_file()}
        self.assertTrue(before)
        self.assertRegex(self.ask("llvm-symbolizer", "-e", path, address), r"a\.cc:9:[1-9]")
        self.assertEqual({f: f.read_bytes() for f in pathlib.Path(self.at("cache")).rglob("*.gsym") if f.is_file()}, before)

    def test_damaged(self):
        """Whatever the debug sections hold, there is an answer for each address."""
        path = self.compile("a", "-O2")
        sections = [(int(off, 16), int(size, 16)) for off, size in re.findall(
            r"\.debug_(?:info|abbrev|line|aranges|rnglists) +PROGBITS +\w+ (\w+) (\w+)", self.must("readelf", "-SW", path))]
        self.assertGreaterEqual(len(sections), 4)
        addresses = "".join(self.addresses(path).splitlines(keepends=True)[::97])
        whole, damaged = pathlib.Path(path).read_bytes(), pathlib.Path(self.at("damaged"))
        for seed in range(24):
            choose, data = random.Random(seed), bytearray(whole)
            for _ in range(1 << seed % 8):
                off, size = choose.choice(sections)
                data[off + choose.randrange(size)] = choose.randrange(256)
            damaged.write_bytes(data)
            with self.subTest(seed=seed):
                answers = self.must(self.at("llvm-symbolizer"), "-e", str(damaged), "--output-style=JSON", text=addresses)
                self.assertEqual(len(answers.splitlines()), len(addresses.splitlines()))


if __name__ == "__main__":
    gsym = os.path.abspath(sys.argv.pop(1))
    unittest.main()
