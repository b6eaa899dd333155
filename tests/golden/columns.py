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
INCLUDED = r"""int counts[3];
static inline __attribute__((always_inline)) int twice(int x)
{
	counts[x & 1] += '\t' + '\\';	// "\n"
	return x ? 2 * x : 7;
}
int main(int argc, char **) { return twice(argc); }
"""
SANITIZERS = {
    "address": """#include <cstdlib>
int table[10] = {1};
static int small[3] = {1};
namespace ns { int member[2]; }
__attribute__((noinline)) int read_past(const int *p, int n) { return p[n]; }
static inline __attribute__((always_inline)) int twice(const int *p, int n) { return 2 * read_past(p, n); }
int main(int argc, char **argv)
{
	static int local[2];
	int *heap = static_cast<int *>(std::malloc(40)), stack[4] = {argc};
	if (argc == 1)
		std::free(heap);
	const int *all[] = {heap, stack, table, small, local, ns::member};
	const int size[] = {1, 4, 10, 3, 2, 2};
	return twice(all[argc - 1], size[argc - 1]);
}
""",
    "memory": """static inline __attribute__((always_inline)) int get(const int *p, int i) { return p[i]; }
int main(int argc, char **) { int *p = new int[4]; if (get(p, argc)) return 1; return 0; }
""",
    "thread": """#include <pthread.h>
#include <unistd.h>
struct S { static long m; };
long S::m;
static int pair[2];
static void *run(void *p) { S::m++; pair[1]++; ++*static_cast<int *>(p); return nullptr; }
int main()
{
	static int inner;
	pthread_t thread;
	pthread_create(&thread, nullptr, run, &inner);
	sleep(1);
	run(&inner);
	return pthread_join(thread, nullptr);
}
""",
    "undefined": """static int shift(int a, int b) { return a << b; }
int main(int argc, char **)
{
	int k = 0x7fffffff, v[2] = {argc};
	k += argc;
	return (shift(1, 40 * argc) ^ v[argc + 1] ^ k) & 1;
}
"""}
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

    def expect_like_llvm(self, path, styles=STYLES, least=1000):
        text = self.addresses(path)
        original = peers.find("llvm-symbolizer", (22,))
        if not original:
            self.skipTest("llvm-symbolizer-22 is not installed")
        for style in styles:
            ours, theirs = (START_FILE.sub("", self.must(program, "-e", path, "--no-demangle", *style.split(), text=text))
                            for program in (self.at("llvm-symbolizer"), original))
            with self.subTest(style=style):
                self.assertEqual(ours.splitlines(), theirs.splitlines())
                self.assertGreater(len(theirs.splitlines()), least)

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

    def test_paths_of_includes(self):
        """Relative and absolute directories of headers, below the directory of the compilation and not."""
        os.mkdir(self.at("inc"))
        pathlib.Path(self.at("inc", "a.h")).write_text(INCLUDED)
        pathlib.Path(self.at("b.cc")).write_text('#include "a.h"\n')
        for dwarf, include, source in (("-gdwarf-4", "inc", "b.cc"), ("-gdwarf-5", "inc", self.at("b.cc")),
                                       ("-gdwarf-4", self.at("inc"), self.at("b.cc")), ("-gdwarf-5", self.at("inc"), "b.cc")):
            self.must("c++", dwarf, "-O1", "-I" + include, "-o", "b", source)
            with self.subTest(dwarf=dwarf, include=include, source=source):
                self.expect_like_llvm(self.at("b"), ("--relativenames", "--relativenames -s", "-s --relativenames --output-style=JSON",
                                                     "--print-source-context-lines=3"), least=20)

    def test_embedded_source(self):
        """Lines of a source that the debug data has, which is not there any more."""
        self.clang_22()
        pathlib.Path(self.at("a.cc")).write_text(INCLUDED)
        path = self.at("a")
        self.must("clang++-22", "-O1", "-gdwarf-5", "-gembed-source", "-o", path, "a.cc")
        os.unlink(self.at("a.cc"))
        self.expect_like_llvm(path, tuple(f"--print-source-context-lines={n} --output-style={style}" for n, style in
                                          ((1, "LLVM"), (3, "GNU"), (30, "JSON"))), least=20)
        self.assertIn("return x ? 2", self.must(self.at("llvm-symbolizer"), "-e", path, "--print-source-context-lines=30", "main"))

    def clang_22(self):
        original = peers.find("llvm-symbolizer", (22,))
        if not shutil.which("clang++-22") or not original:
            self.skipTest("clang-22 or llvm-symbolizer-22 is not installed")
        return original

    def report(self, program, n, symbolizer):
        """The report of a program with @n operands; numbers that differ each time are left out."""
        names = {f"{kind}_SYMBOLIZER_PATH": symbolizer for kind in ("ASAN", "MSAN")}
        names["TSAN_OPTIONS"] = f"external_symbolizer_path={symbolizer}"
        names["UBSAN_OPTIONS"] = f"print_stacktrace=1:external_symbolizer_path={symbolizer}"
        done = subprocess.run([program, *["x"] * n], capture_output=True, text=True, timeout=LIMIT, env={**self.env, **names}, check=False)
        return re.sub(r"==\d+==|\b(?:p|t)id=\d+|0x[0-9a-f]{9,}|\[0x\w+,0x\w+\)", "", done.stderr)

    def test_sanitizers(self):
        """The reports are llvm-symbolizer's to the byte."""
        os.mkdir(self.at("original"))
        os.symlink(self.clang_22(), self.at("original", "llvm-symbolizer"))
        for kind, source in SANITIZERS.items():
            pathlib.Path(self.at(kind + ".cc")).write_text(source)
            self.must("clang++-22", "-g", "-O1", f"-fsanitize={kind}", "-pthread", "-o", kind, kind + ".cc")
            for n in range(6 if kind == "address" else 1):
                ours, theirs = (self.report(self.at(kind), n, path)
                                for path in (self.at("llvm-symbolizer"), self.at("original", "llvm-symbolizer")))
                with self.subTest(kind=kind, n=n):
                    if not theirs or "unexpected memory mapping" in theirs:
                        self.skipTest("the sanitizer does not run here")
                    self.assertRegex(theirs, kind + r"\.cc:\d+:\d+")
                    self.assertEqual(ours, theirs)

    def test_data(self):
        """Where variables are declared: in name spaces, classes and functions, for all bytes of their symbols."""
        original = self.clang_22()
        pathlib.Path(self.at("v.cc")).write_text(SANITIZERS["address"].replace("int main", "struct S { static long m[2]; };\nlong S::m[2];\nint main"))
        for compiler, *options in (("clang++-22",), ("clang++-22", "-gdwarf-4"), ("clang++-22", "-gsplit-dwarf"), ("g++",)):
            self.must(compiler, "-g", *options, "-o", "v", "v.cc")
            found = re.findall(r"^(\w+) (\w+) [DdBb] \w*(?:table|small|member|local|1S1m)\w*$", self.must("nm", "-S", "v"), re.M)
            self.assertEqual(len(found), 5)
            text = "".join(f"DATA v {int(start, 16) + n:#x}\n" for start, size in found for n in range(int(size, 16)))
            ours, theirs = (self.must(path, text=text).split("\n\n") for path in (self.at("llvm-symbolizer"), original))
            self.assertEqual(len(ours), len(theirs))
            # LLVM knows none of split DWARF, loses some of gcc's, and of members of classes only the first byte.
            known = [pair for pair in zip(ours, theirs) if re.search(r"v\.cc:[1-9]", pair[1])]
            with self.subTest(compiler=compiler, options=options):
                self.assertEqual([mine for mine, _ in known], [other for _, other in known])
                self.assertTrue(len(known) > 40 or options == ["-gsplit-dwarf"])
                self.assertFalse([mine for mine in ours[:-1] if not re.search(r"/v\.cc:[1-9]\d*$", mine)])

    def ask(self, name, *argv):
        return self.must(name if "/" in name else self.at(name), *argv)

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
        self.must(gsym, "convert", "-o", "other.gsym", path)
        self.assertRegex(self.ask("llvm-symbolizer", "-e", self.at("other.gsym"), address), r"a\.cc:9:0\n")
        self.ask("addr2line", "-e", path, address)
        before = {f: f.read_bytes() for f in pathlib.Path(self.at("cache")).rglob("*.gsym") if f.is_file()}
        self.assertTrue(before)
        self.assertRegex(self.ask("llvm-symbolizer", "-e", path, address), r"a\.cc:9:[1-9]")
        self.assertEqual({f: f.read_bytes() for f in pathlib.Path(self.at("cache")).rglob("*.gsym") if f.is_file()}, before)

    def test_lookup(self):
        """gsym lookup --columns: what llvm-symbolizer and llvm-addr2line print, by operands, names and on standard input."""
        path = self.compile("a", "-O2")
        addresses = self.addresses(path).split()[::7]
        plain = self.ask(gsym, "lookup", path, *addresses).splitlines()
        columns = self.ask(gsym, "lookup", "--columns", path, *addresses).splitlines()
        self.assertEqual([re.sub(r":\d+$", "", line) for line in columns], plain)
        lines = self.must(gsym, "lookup", "--columns", path, text="\n".join(addresses)).splitlines()
        self.assertEqual([line for line in lines if line], columns)
        self.assertEqual([re.search(r":(\d+)$", line)[1] for line in columns],
                         re.findall(r":(\d+)$", self.must(self.at("llvm-symbolizer"), "-e", path, *addresses), re.M))
        self.assertRegex(self.ask(gsym, "lookup", "--columns", path, "main"), r"a\.cc:9:[1-9]\d*\n$")
        keys = r'"(?:Column|Discriminator|StartFileName|StartLine)":("[^"]*"|\d+)'
        self.assertEqual(*(re.findall(keys, text) for text in (
            self.ask(gsym, "lookup", "--columns", "--format=json", path, *addresses),
            self.must(self.at("llvm-symbolizer"), "--output-style=JSON", "-e", path, text="\n".join(addresses)))))
        self.must(gsym, "convert", "-o", "other.gsym", path)
        self.assertRegex(self.ask(gsym, "lookup", "--columns", "other.gsym", "main"), r"a\.cc:9:0\n$")
        for words in (("--format=tsv",), ("--approximate",), ("--merged-functions",)):
            done = subprocess.run([gsym, "lookup", "--columns", *words, path, "main"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--columns", done.stderr)

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
