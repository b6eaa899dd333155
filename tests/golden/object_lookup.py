#!/usr/bin/env python3
"""gsym lookup of object files: the answers of convert and lookup, one conversion, and what is refused.

    object_lookup.py GSYM
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import make_macho as m  # noqa: E402
from lib.macho_sample import program  # noqa: E402

LIMIT = 60
FORMATS = ("text", "tsv", "json", "atos", "gsymutil")
NATIVE = {"x86_64": m.X86_64, "aarch64": m.ARM64}
gsym = ""

SOURCE = """
static inline int square(int x) { return x * x; }
int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += square(i); return s; }
int main(int argc, char **argv) { return work(argc) + (argv == 0); }
"""
FUNCTIONS = "".join(f"int f{i}(int x) {{ return x * {i} + f{i // 2}(x); }}\n" for i in range(1, 4000))
LARGE = f"int f0(int x) {{ return x; }}\n{FUNCTIONS}int main(void) {{ return f9(1); }}\n"


def run(*argv, **kwargs):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=LIMIT, check=False, **kwargs)


def must(*argv, **kwargs):
    done = run(*argv, **kwargs)
    if done.returncode:
        raise AssertionError(f"{argv}: status {done.returncode}: {done.stderr}")
    return done.stdout


class ObjectLookup(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="gsym-object-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.cache = os.path.join(self.dir, "cache")

    def at(self, *names):
        return os.path.join(self.dir, *names)

    def compile(self, name="program", text=SOURCE, *flags):
        pathlib.Path(self.at("a.c")).write_text(text)
        must("cc", "-g", "-O1", "-Wl,--build-id=sha1", *flags, "-o", self.at(name), self.at("a.c"))
        return self.at(name)

    def lookup(self, *argv, prefix=(), **kwargs):
        return run(*prefix, gsym, "lookup", f"--cache={self.cache}", *argv, **kwargs)

    def addresses(self, path):
        """Of everything that nm(1) has, and the byte after."""
        values = [int(line.split()[0], 16) for line in must("nm", "--defined-only", path).splitlines() if line[0] != " "]
        return [hex(value + more) for value in values for more in (0, 1)]

    def address(self, path, name):
        return re.search(rf"^([0-9a-f]+) \w {name}$", must("nm", path), re.M)[1]

    def entries(self):
        return {name: os.stat(os.path.join(self.cache, name)).st_ino for name in os.listdir(self.cache)}

    def expect_refused(self, words, *argv, **kwargs):
        done = self.lookup(*argv, **kwargs)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, words)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_answers(self):
        path = self.compile()
        addresses = self.addresses(path)
        os.mkdir(self.at("converted"))
        must(gsym, "convert", "--progress=never", "--merged-functions", path, "-o", self.at("converted", "program"))
        lines = "\n".join([*addresses, "nonsense", ""])
        for form in FORMATS:
            for more in ((), ("--no-demangle",), ("--approximate",), ("--merged-functions",)):
                options = [f"--format={form}", *more]
                for words, text in ((addresses, None), ([], lines)):
                    wanted = must(gsym, "lookup", *options, "program", *words, input=text, cwd=self.at("converted"))
                    done = self.lookup(*options, "program", *words, input=text, cwd=self.dir)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(done.stdout, wanted)
        self.assertIn("work at", self.lookup(path, self.address(path, "work")).stdout)

    def test_converted_once(self):
        path = self.compile()
        self.assertEqual(self.lookup(path, "0").returncode, 0)
        before = self.entries()
        self.assertEqual(len(before), 1, before)
        self.assertEqual(self.lookup(path, "0").returncode, 0)
        self.assertEqual(self.entries(), before)
        # Another file under that name is another entry.
        self.compile(text=SOURCE.replace("work", "toil"))
        self.assertIn("toil at", self.lookup(path, self.address(path, "toil")).stdout)
        self.assertEqual(len(self.entries()), 2)

    def test_entry_damaged(self):
        path = self.compile()
        wanted = self.lookup(path, *self.addresses(path)).stdout
        (name,) = self.entries()
        os.truncate(os.path.join(self.cache, name), 100)
        done = self.lookup(path, *self.addresses(path))
        self.assertEqual((done.stdout, done.stderr), (wanted, ""))

    def test_default_directory(self):
        if os.geteuid() == 0:
            self.skipTest("root's default directory is the system's")
        path = self.compile()
        must(gsym, "lookup", path, "0", env={**os.environ, "XDG_CACHE_HOME": self.dir})
        self.assertEqual(len(os.listdir(self.at("gsymfs"))), 1)

    def test_no_object_file(self):
        pathlib.Path(self.at("text")).write_text("just words, and more than a few\n")
        self.expect_refused("^gsym: .*: not GSYM$", self.at("text"), "0")
        self.expect_refused("No such file", self.at("missing"), "0")
        self.expect_refused("not a regular file", self.dir, "0")
        self.assertFalse(os.path.exists(self.cache))

    def test_damaged(self):
        path = self.compile()
        data = pathlib.Path(path).read_bytes()
        pathlib.Path(self.at("cut")).write_bytes(data[:len(data) // 3])
        for _ in range(2):  # the second time it is remembered
            self.expect_refused(f"^gsym lookup: {self.at('cut')}: [^;]*truncated[^;]*$", self.at("cut"), "0")
        self.assertEqual([name.rsplit(".", 1)[1] for name in self.entries()], ["failed"])

    def test_cache_of_others(self):
        path = self.compile()
        os.mkdir(self.cache)
        os.chmod(self.cache, 0o777)
        self.expect_refused(f"^gsym lookup: {path}: cache directory '.*' is writable by others", path, "0")
        if os.geteuid() == 0:
            os.chmod(self.cache, 0o700)
            os.chown(self.cache, 1000, 1000)
            self.expect_refused("belongs to user 1000: choose another with cache=DIR", path, "0")

    def test_fat(self):
        native = NATIVE.get(os.uname().machine)
        arms, others = program(m.ARM64).file(), program(m.PPC, True).file()
        pathlib.Path(self.at("fat")).write_bytes(m.fat([(m.PPC, others), (m.I386, program(m.I386).file())]))
        self.expect_refused(r": holds code for ppc\w*, i386; choose one with --arch=ARCH$", self.at("fat"), "0x1000")
        self.expect_refused(": holds code for .*; choose", "--arch=arm64", self.at("fat"), "0x1000")
        done = self.lookup("--arch=i386", self.at("fat"), "0x1000")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("??", done.stdout.split(" at ")[0])
        if native:
            pathlib.Path(self.at("own")).write_bytes(m.fat([(m.PPC, others), (native, program(native).file())]))
            self.assertEqual(self.lookup(self.at("own"), "0x1000").stderr, "")
        pathlib.Path(self.at("thin")).write_bytes(arms)
        self.assertEqual(self.lookup(self.at("thin"), "0x1000").stderr, "")

    def split(self, name="program"):
        """A stripped program and its debug file."""
        path = self.compile(name)
        address = self.address(path, "work")
        must("objcopy", "--only-keep-debug", path, path + ".debug")
        must("strip", path)
        return path, address

    def test_debug_link(self):
        path, address = self.split()
        must("objcopy", f"--add-gnu-debuglink={path}.debug", path)
        os.chmod(path + ".debug", 0o600)  # the user may read it: that is enough
        self.assertEqual(self.lookup(path, address).stdout, f"work at {self.at('a.c')}:3\n")
        before = self.entries()
        self.assertEqual(self.lookup(path, address).returncode, 0)
        self.assertEqual(self.entries(), before)
        os.unlink(path + ".debug")  # what the entry was made of has changed
        self.assertNotIn("a.c", self.lookup(path, address).stdout)

    def test_debug_file_by_build_id(self):
        path, address = self.split()
        digits = re.search(r"Build ID: ([0-9a-f]+)", must("readelf", "-n", path))[1]
        place = self.at("debug", ".build-id", digits[:2])
        os.makedirs(place)
        os.rename(path + ".debug", os.path.join(place, digits[2:] + ".debug"))
        own = ("unshare", "-m", "--map-root-user", "sh", "-c",
               f"mount --bind {self.at('debug')} /usr/lib/debug && exec \"$@\"", "sh")
        if not os.path.isdir("/usr/lib/debug") or not shutil.which("unshare") or run(*own, "true").returncode:
            self.skipTest("cannot put a file below /usr/lib/debug of a namespace")
        done = self.lookup(path, address, prefix=own)
        self.assertEqual((done.stdout, done.stderr), (f"work at {self.at('a.c')}:3\n", ""))

    def test_interrupted(self):
        path = self.compile("large", LARGE, "-O0")
        process = subprocess.Popen([gsym, "lookup", f"--cache={self.cache}", path, "0"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        worker = self.stop_worker(process)
        self.assertIsNotNone(worker, "no worker was seen that converts")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=LIMIT)[1], b"")
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertFalse(os.path.exists(f"/proc/{worker}"))
        self.assertEqual(os.listdir(self.cache), [])

    def test_ignored_signal(self):
        path = self.compile("large", LARGE, "-O0")
        process = subprocess.Popen([gsym, "lookup", f"--cache={self.cache}", path, self.address(path, "main")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        worker = self.stop_worker(process)
        self.assertIsNotNone(worker, "no worker was seen that converts")
        process.send_signal(signal.SIGHUP)
        os.kill(worker, signal.SIGCONT)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, err), (0, ""))
        self.assertIn("main at", out)

    def stop_worker(self, process):
        """Stops the worker that converts for @process as soon as there is one, so that it cannot end by itself."""
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        while process.poll() is None:
            for pid in map(int, pathlib.Path(children).read_text().split()):
                try:
                    if b"\0convert\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(pid, signal.SIGSTOP)
                        return pid
                except (FileNotFoundError, ProcessLookupError):
                    pass
            time.sleep(0.0005)
        return None


if __name__ == "__main__":
    gsym = os.path.abspath(sys.argv.pop(1))
    unittest.main()
