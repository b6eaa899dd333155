#!/usr/bin/env python3
"""Programs that run addr2line or llvm-symbolizer, unchanged: perf, programs with AddressSanitizer and ThreadSanitizer, asan_symbolize,
jeprof and google-pprof, boost::stacktrace, a flame graph's script, a program that keeps addr2line on a pipe.

Each runs with the original and with ours, and tells the same. Of frames in other files than the program's own, names and files
may differ, see CAVEATS of gsym-addr2line(1).

    symbolizer_clients.py GSYM
"""
import contextlib
import fcntl
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from corpus import realfiles, sample  # noqa: E402
from lib import peers  # noqa: E402

LIMIT = 600
gsym = ""

BUSY = """#include <cstdio>
static inline __attribute__((always_inline)) unsigned step(unsigned x)
{
	for (int i = 0; i < 50; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}
__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += step(i);
	return sum;
}
int main() { std::printf("%u\\n", work(3000000)); }
"""

OVERFLOW = """#include <cstdlib>
#include <cstring>
namespace ns {
__attribute__((noinline)) int read_past(const char *p, int n) { return p[n]; }
static inline __attribute__((always_inline)) int twice(const char *p, int n) { return 2 * read_past(p, n); }
}
int main(int argc, char **)
{
	char *p = static_cast<char *>(std::malloc(10 * argc));
	std::memset(p, 1, 10);
	int r = ns::twice(p, 10 * argc);
	std::free(p);
	return r;
}
"""

RACE = """#include <thread>
int shared_counter;
static void count() { for (int i = 0; i < 1000; i++) shared_counter++; }
int main() { std::thread a(count), b(count); a.join(); b.join(); return 0; }
"""


HEAP = """#include <cstdlib>
#include <cstring>
#include <vector>
namespace app {
static std::vector<char *> kept;
static inline __attribute__((always_inline)) void keep(size_t n)
{
	kept.push_back(static_cast<char *>(std::malloc(n)));
	std::memset(kept.back(), 1, n);
}
__attribute__((noinline)) void grow(int n) { for (int i = 0; i < n; i++) keep(1 << 20); }
}
int main() { app::grow(40); return 0; }
"""

STACKTRACE = """#define BOOST_STACKTRACE_USE_ADDR2LINE
#include <boost/stacktrace.hpp>
#include <iostream>
namespace app {
__attribute__((noinline)) int show(int n) { std::cout << boost::stacktrace::stacktrace(); return n; }
__attribute__((noinline)) int outer(int n) { return show(n) + 1; }
}
int main(int argc, char **) { return app::outer(argc) - 2; }
"""

# What a program does that keeps addr2line: one address, and two lines of answer.
PIPE = """import subprocess, sys
path, *addresses = sys.argv[1:]
with subprocess.Popen(["addr2line", "-C", "-f", "-e", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
    for address in addresses:
        process.stdin.write(address + "\\n")
        process.stdin.flush()
        print(process.stdout.readline(), process.stdout.readline(), sep="", end="")
    process.stdin.close()
"""


class Clients(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="gsym-clients-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.env = {**os.environ, "GSYMFS_CACHE": self.at("cache"), "GSYMFS_MOUNT": self.at("none"), "HOME": self.dir}
        os.mkdir(self.at("bin"))
        for name in ("addr2line", "llvm-symbolizer"):
            os.symlink(gsym, self.at("bin", name))

    def at(self, *names):
        return os.path.join(self.dir, *names)

    def run_in(self, *argv, env=None):
        return subprocess.run([str(a) for a in argv], capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False,
                              cwd=self.dir, env=env or self.env)

    def need(self, program, package):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed (Debian package {package})")
        return shutil.which(program)

    def with_ours(self):
        """Our programs first in PATH."""
        return {**self.env, "PATH": f"{self.at('bin')}:{os.environ['PATH']}"}

    def compile(self, name, text, *flags, compiler="c++"):
        pathlib.Path(self.at(name + ".cc")).write_text(text)
        done = self.run_in(compiler, "-g", "-O1", *flags, "-o", name, name + ".cc")
        if done.returncode and flags:
            self.skipTest(f"the compiler cannot {flags[0]}: {done.stderr.strip().splitlines()[-1]}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.at(name)

    def test_perf(self):
        if not shutil.which("perf"):
            self.skipTest("perf is not installed (Debian package linux-perf)")
        script = ("perf", "script", "-i", "data", "-F", "ip,sym,srcline")
        self.record()
        wanted = self.run_in(*script).stdout
        ours = self.run_in(*script, env=self.with_ours()).stdout
        self.assertEqual(os.path.exists(self.at("cache")), "busy.cc" in wanted, "perf runs no addr2line")
        # GNU's program may name another file of a unit with DWARF 5, as libc's are.
        wanted, ours = [re.findall(r"^\t *\w+ (.*)\n  (busy\.cc:\d+)$", text, re.M) for text in (wanted, ours)]
        self.assertEqual(ours, wanted)
        if not ours:
            self.skipTest("this perf reads lines without addr2line")
        self.assertIn("work", {name for name, _ in ours})

    def record(self):
        self.need("perf", "linux-perf")
        program = self.compile("busy", BUSY)
        record = self.run_in("perf", "record", "-N", "-e", "cpu-clock", "--call-graph=fp", "-o", "data", program)
        if record.returncode:
            self.skipTest("perf may not record here: " + record.stderr.strip()[-200:])

    def test_perf_inlined(self):
        """With inlined calls, all of perf's own lines; where there is no file GNU's program says :?, of which perf makes :0.
        A report adds up samples of one line: only those of the program, since other files may be told by other names."""
        self.record()
        for argv in (("script", "-F", "ip,sym,srcline", "--inline"), ("script", "-F", "ip,sym,symoff,dso,srcline"),
                     ("report", "--stdio", "--dsos", "busy", "-g", "caller,srcline", "--no-children", "-F", "overhead,sym,srcline"),
                     ("report", "--stdio", "--dsos", "busy", "--inline", "-g", "caller,function", "-F", "overhead,srcline")):
            argv = ("perf", argv[0], "-i", "data", *argv[1:])
            found = [self.run_in(*argv, env=env) for env in (self.env, self.with_ours())]
            lines = [[line for line in done.stdout.splitlines() if line != "  :0" and not line.startswith("# (Tip: ")] for done in found]
            with self.subTest(argv):
                self.assertGreater(len(lines[0]), 20, found[0].stderr)
                self.assertEqual(self.own(lines[1]), self.own(lines[0]))
                # A sample in the start-up code: GNU's program has the name of a FILE symbol, which need not be the function's.
                if not any("crtstuff.c:0" in line for line in lines[0]):
                    self.assertEqual(len(lines[1]), len(lines[0]))

    def own(self, lines):
        return [line for line in lines if "busy.cc" in line]

    def worker_of(self, process):
        """The worker that converts for @process, as soon as there is one; None if it was over before it was seen."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not select.select([process.stdout], [], [], 0)[0]:
            for pid in map(int, children.read_text().split()):
                try:
                    if b"\0convert\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                        return pid
                except (FileNotFoundError, ProcessLookupError):  # the one that identified the file is gone
                    pass
        return None

    def test_first_answer_before_the_end(self):
        """A file that was never converted: the first line is answered while it is. The worker goes on in small steps, so that
        the machine's load does not matter."""
        path = realfiles.kernel()
        if not path:
            self.skipTest("no vmlinux with debug information is installed")
        address = f"{sample.inside_functions(path, 1, 1)[0]:x}"
        for name, argv, lines in (("addr2line", [self.at("bin", "addr2line"), "-afie", path], address),
                                  ("lookup", [gsym, "lookup", path], address),
                                  ("lookup tsv", [gsym, "lookup", "--format=tsv", path], address),
                                  ("lookup of lines with files", [gsym, "lookup", "--addresses-from-stdin"], f"{address} {path}")):
            with self.subTest(name):
                self.assertTrue(any(self.answers_early(argv, lines) for _ in range(5)), "the answer came after the conversion")

    def hold_until_answer(self, process):
        """Lets the worker of @process go on in small steps until something is printed; whether it still converts then. On a
        busy machine it may end before this process runs again."""
        worker = self.worker_of(process)
        if worker is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGSTOP)
            while not select.select([process.stdout], [], [], 0.02)[0]:
                os.kill(worker, signal.SIGCONT)
                time.sleep(0.002)
                os.kill(worker, signal.SIGSTOP)
            converts = not [name for name in os.listdir(self.at("cache")) if name.endswith(".gsym")]
            os.kill(worker, signal.SIGCONT)
            return converts
        return False

    def answers_early(self, argv, line):
        """Whether the first answer comes before the end of the conversion; early or late, it is right."""
        line = line.encode() + b"\n"
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env, bufsize=0)
        self.addCleanup(process.kill)
        process.stdin.write(line)
        is_early = self.hold_until_answer(process)
        first = process.stdout.read(65536)
        process.stdin.write(line)
        process.stdin.close()
        # Once each, and the same as when the whole is there.
        self.assertEqual(process.stdout.read(), first)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=LIMIT), 0)
        self.assertEqual(subprocess.run(argv, input=line, capture_output=True, env=self.env, check=True).stdout, first)
        self.assertRegex(first.decode(), r"\w+\.c\b")
        shutil.rmtree(self.at("cache"))
        return is_early

    def test_few_addresses(self):
        """Of a file that was never converted, by commands that end: it is not converted for the first of them, and behind the
        back of the second. What is not certain before is answered as ever."""
        parts = [f"int part_{i}(int x) {{ return x * {i} + part_{i - 1 if i else 9999}(x - 1); }}" for i in range(9999)]
        pathlib.Path(self.at("large.c")).write_text("int part_9999(int x) { return x; }\n" + "\n".join(parts))
        pathlib.Path(self.at("few.c")).write_text("int few(int x) { return x + 1; }\nint more(int x) { return x - 1; }\n"
                                                  "extern int part_1(int);\nint main(void) { return few(2) + part_1(0); }\n")
        done = self.run_in("cc", "-g", "-o", "few", "few.c", "large.c")
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.at("few")
        self.assertGreater(os.path.getsize(path), 1 << 20)
        at = {name: "0x" + value for value, _, name in map(str.split, self.run_in("nm", "--defined-only", "few").stdout.splitlines())}
        certain, all_three = [at["few"], at["more"]], [at["few"], at["part_77"], at["more"]]
        for argv, given in (([self.at("bin", "addr2line"), "-fe", path, *certain], ""),
                            ([self.at("bin", "addr2line"), "-afe", path], "\n".join(certain)),
                            ([self.at("bin", "llvm-symbolizer"), "--obj=few", "--output-style=JSON", *certain], ""),
                            ([gsym, "lookup", "--format=gsymutil", path, *certain], ""),
                            ([gsym, "lookup", path], "\n".join(certain) + "\n"),
                            ([gsym, "lookup", "--addresses-from-stdin"], "".join(f"{a} {path}\n" for a in certain))):
            with self.subTest(argv):
                first = self.run_ending(argv, given)
                self.assertIn("few.c", first)
                self.assertNotIn("large.c", first)
                self.assertFalse(self.has_conversion())
                self.assertEqual(self.run_ending(argv, given), first)
                self.wait_for_conversion()
                self.assertEqual(self.run_ending(argv, given), first)
                shutil.rmtree(self.at("cache"))
                argv, given = [a for a in argv if a not in certain], given and given.replace(certain[1], all_three[1])
                argv += [] if given else all_three
                whole = self.run_ending(argv, given)
                self.assertIn("large.c", whole)
                self.assertTrue(self.has_conversion())
                self.assertEqual(self.run_ending(argv, given), whole)
                shutil.rmtree(self.at("cache"))

    def run_ending(self, argv, given):
        done = subprocess.run(argv, input=given, capture_output=True, text=True, timeout=LIMIT, check=False, cwd=self.dir, env=self.env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def has_conversion(self):
        return any(name.endswith(".gsym") for name in os.listdir(self.at("cache")))

    def wait_for_conversion(self):
        """Until the process that nobody waits for has made it, and has ended, which is when nobody has the lock."""
        end = time.monotonic() + LIMIT
        while not self.has_conversion() or self.is_locked():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def is_locked(self):
        with open(self.at("cache", ".lock"), "r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def report_of(self, program, variable, symbolizer):
        env = {**self.env, variable: symbolizer, "TSAN_OPTIONS": f"external_symbolizer_path={symbolizer}"}
        return self.run_in(program, env=env).stderr

    def test_address_sanitizer(self):
        report = self.report_of(self.compile("overflow", OVERFLOW, "-fsanitize=address"), "ASAN_SYMBOLIZER_PATH",
                                self.at("bin", "llvm-symbolizer"))
        self.assertRegex(report, r"#0 \S+ in ns::read_past\(char const\*, int\) \S*/overflow\.cc:4")
        self.assertRegex(report, r"#1 \S+ in (ns::)?twice(\(char const\*, int\))? \S*/overflow\.cc:5")
        self.assertRegex(report, r"#2 \S+ in main \S*/overflow\.cc:11")

    def test_address_sanitizer_like_llvm(self):
        original = peers.find("llvm-symbolizer")
        if not original:
            self.skipTest("llvm-symbolizer is not installed (Debian package llvm-22)")
        program = self.compile("overflow", OVERFLOW, "-fsanitize=address", "-no-pie")
        # The run-time library takes no program of another name; its frames with columns differ in those only.
        os.mkdir(self.at("llvm"))
        os.symlink(shutil.which(original), self.at("llvm", "llvm-symbolizer"))
        frames = [re.findall(r"^ +(#\d+) \S+ in (.*?)(?::\d+)?$", re.sub(r"(\.cc:\d+):\d+$", r"\1", report, flags=re.M), re.M)
                  for report in (self.report_of(program, "ASAN_SYMBOLIZER_PATH", self.at(folder, "llvm-symbolizer"))
                                 for folder in ("bin", "llvm"))]
        own = [[frame for frame in found if "overflow.cc" in frame[1]] for found in frames]
        self.assertEqual(own[0], own[1])
        self.assertGreaterEqual(len(own[0]), 4)

    def frames(self, report):
        """Without columns, which GSYM does not have, and addresses, which differ each time."""
        return [(number, re.sub(r"(:\d+)(?::\d+)(?= |$)", r"\1", rest))
                for number, rest in re.findall(r"^ +(#\d+) (?:0x\w+ (?:in )?)?(.*)$", report, re.M)]

    def clang(self):
        """The newest clang, with its symbolizer."""
        symbolizer = peers.find("llvm-symbolizer")
        clang = next((name for name in ("clang++-22", "clang++-19", "clang++-14", "clang++") if shutil.which(name)), None)
        if not clang or not symbolizer:
            self.skipTest("clang or llvm-symbolizer is not installed (Debian packages clang, llvm)")
        return clang, shutil.which(symbolizer)

    def link_original(self):
        """Links to LLVM's symbolizer under the name that the run-time library asks for."""
        os.mkdir(self.at("original"))
        os.symlink(self.clang()[1], self.at("original", "llvm-symbolizer"))

    def test_clang_address_sanitizer(self):
        program = self.compile("overflow", OVERFLOW, "-fsanitize=address", compiler=self.clang()[0])
        self.link_original()
        theirs, ours = [self.frames(self.report_of(program, "ASAN_SYMBOLIZER_PATH", self.at(folder, "llvm-symbolizer")))
                        for folder in ("original", "bin")]
        self.assertEqual(ours, theirs)
        self.assertIn("overflow.cc:5", str(ours))
        self.assertTrue(os.path.exists(self.at("cache")), "llvm-symbolizer was not run")

    def test_clang_thread_sanitizer(self):
        program = self.compile("race", RACE, "-fsanitize=thread", "-pthread", compiler=self.clang()[0])
        self.link_original()
        # Which thread is first may differ: what is compared is the first frame of each.
        firsts = [{rest for number, rest in self.frames(self.report_of(program, "TSAN_SYMBOLIZER_PATH", self.at(folder, "llvm-symbolizer")))
                   if number == "#0" and "race.cc" in rest} for folder in ("original", "bin")]
        if not firsts[0]:
            self.skipTest("ThreadSanitizer does not run here")
        self.assertEqual(*firsts)

    def test_asan_symbolize(self):
        """The script that explains a log later, by llvm-symbolizer or by addr2line."""
        script = self.need("asan_symbolize", "llvm")
        program = self.compile("overflow", OVERFLOW, "-fsanitize=address", compiler=self.clang()[0])
        log = self.run_in(program, env={**self.env, "ASAN_OPTIONS": "symbolize=0"}).stderr
        pathlib.Path(self.at("log")).write_text(log)
        self.link_original()
        for options in ((), ("--force-system-symbolizer",)):
            theirs, ours = [self.frames(self.run_in("sh", "-c", f"{script} {' '.join(options)} < log",
                                                    env={**self.env, "PATH": f"{self.at(folder)}:{os.environ['PATH']}"}).stdout)
                            for folder in ("original", "bin")]
            self.assertEqual(len(ours), len(theirs))
            own = [[frame for frame in frames if "overflow.cc" in frame[1]] for frames in (theirs, ours)]
            # GNU's addr2line names inlined code after the function around it.
            named = [[(number, re.sub(r"^\S+ ", "", rest) if options else rest) for number, rest in frames] for frames in own]
            self.assertEqual(named[1], named[0])
            self.assertGreaterEqual(len(own[1]), 4)

    def expect_equal_profile(self, argv, tools):
        """jeprof and its relatives look for tools beside themselves, unless a variable has another."""
        found = {"addr2line": self.at("bin", "addr2line"), **{name: shutil.which(name) for name in ("nm", "objdump", "c++filt")}}
        ours = {**self.env, tools: ",".join(f"{name}:{path}" for name, path in found.items())}
        profiles = []
        for env in (self.env, ours):
            done = self.run_in(*argv, env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = re.findall(r"^ *([\d.]+ +[\d.]+% +[\d.]+% +[\d.]+ +[\d.]+%) .*/(\w+\.cc:\d+)$", done.stdout, re.M)
            profiles.append(sorted((tuple(numbers.split()[:1] + numbers.split()[3:]), place) for numbers, place in lines))
        self.assertEqual(profiles[1], profiles[0])
        self.assertTrue(os.path.exists(self.at("cache")), "addr2line was not run")
        self.assertTrue(profiles[0])

    def test_jeprof(self):
        jeprof = self.need("jeprof", "libjemalloc-dev")
        program = self.compile("heap", HEAP, "-fno-omit-frame-pointer", "-Wl,--no-as-needed", "-ljemalloc")
        self.run_in(program, env={**self.env, "MALLOC_CONF": "prof:true,prof_final:true,lg_prof_sample:12,prof_prefix:jeprof"})
        profile = next((name for name in os.listdir(self.dir) if name.startswith("jeprof.")), None)
        if not profile:
            self.skipTest("jemalloc is built without profiles")
        self.expect_equal_profile((jeprof, "--text", "--lines", program, self.at(profile)), "JEPROF_TOOLS")

    def test_google_pprof(self):
        pprof = self.need("google-pprof", "google-perftools")
        program = self.compile("heap", HEAP, "-fno-omit-frame-pointer", "-Wl,--no-as-needed", "-ltcmalloc")
        self.run_in(program, env={**self.env, "HEAPPROFILE": self.at("heapfile")})
        self.expect_equal_profile((pprof, "--text", "--lines", program, self.at("heapfile.0001.heap")), "PPROF_TOOLS")

    def test_boost_stacktrace(self):
        """It runs one addr2line for a frame's name and one for its line."""
        traces = []
        for addr2line in (shutil.which("addr2line"), self.at("bin", "addr2line")):
            program = self.compile("trace", STACKTRACE, "-no-pie", f"-DBOOST_STACKTRACE_ADDR2LINE_LOCATION={addr2line}", "-ldl")
            done = self.run_in(program)
            traces.append([line for line in done.stdout.splitlines() if "trace.cc" in line])
        self.assertEqual(*traces)
        self.assertIn(f"app::outer(int) at {self.at('trace.cc')}:6", str(traces[1]))

    def some_addresses(self, program):
        found = re.search(r"^(\w+) (\w+) \w (_Z4work\S*)$", self.run_in("nm", "-S", program).stdout, re.M)
        start, size = int(found[1], 16), int(found[2], 16)
        return [f"{start + i:x}" for i in range(0, size, 3)] + ["0", "fffffff"]

    def test_pipe(self):
        program = self.compile("busy", BUSY)
        argv = (sys.executable, "-c", PIPE, program, *self.some_addresses(program))
        theirs, ours = [self.run_in(*argv, env=env) for env in (self.env, self.with_ours())]
        self.assertEqual((ours.stderr, ours.returncode), ("", 0))
        self.assertEqual(ours.stdout.splitlines()[1::2], theirs.stdout.splitlines()[1::2])
        self.assertIn("busy.cc:11", ours.stdout)

    def test_process_for_each_address(self):
        """As loops in shells do it, with the options of several scripts, some of which flame graphs are made with."""
        program = self.compile("busy", BUSY)
        for options in ("-e", "-pCfe", "-aifsC -e", "-Cfispe", "-fie"):
            script = f'for a in {" ".join(self.some_addresses(program)[::4])}; do addr2line {options} {program} 0x$a; done'
            theirs, ours = [self.run_in("sh", "-c", script, env=env).stdout.splitlines() for env in (self.env, self.with_ours())]
            with self.subTest(options):
                self.assertEqual([re.sub(r".* at |.*inlined by\) ", "", line) for line in ours if "busy.cc" in line],
                                 [re.sub(r" \(discriminator \d+\)|.* at |.*inlined by\) ", "", line) for line in theirs if "busy.cc" in line])
                self.assertEqual(len(ours), len(theirs))

    def test_flame_graph_script(self):
        script = shutil.which("stackcollapse-perf.pl")
        if not script:
            self.skipTest("stackcollapse-perf.pl is not installed (from the FlameGraph tools)")
        self.record()
        pathlib.Path(self.at("samples")).write_text(self.run_in("perf", "script", "-i", "data").stdout)
        theirs, ours = [self.run_in(script, "--inline", "samples", env=env).stdout.splitlines() for env in (self.env, self.with_ours())]
        # GNU's program names inlined code after the function around it; the weight of each stack is the same.
        self.assertEqual(sorted(line.rsplit(" ", 1)[1] for line in ours), sorted(line.rsplit(" ", 1)[1] for line in theirs))
        self.assertTrue([line for line in ours if ";step" in line], ours)

    def test_thread_sanitizer(self):
        report = self.report_of(self.compile("race", RACE, "-fsanitize=thread", "-pthread"), "TSAN_SYMBOLIZER_PATH",
                                self.at("bin", "llvm-symbolizer"))
        if "data race" not in report:
            self.skipTest("ThreadSanitizer does not run here: " + report.strip()[:200])
        self.assertRegex(report, r"#0 count(\(\))? \S*/race\.cc:3")
        # The variable is found by DATA.
        self.assertRegex(report, r"Location is global '(shared_counter)' of size 4")


if __name__ == "__main__":
    gsym = os.path.abspath(sys.argv.pop(1))
    unittest.main()
