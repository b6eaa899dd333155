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

LIMIT = 600
FORMATS = ("text", "tsv", "json", "atos", "gsymutil")
gsym = ""

SOURCE = """
static inline int square(int x) { return x * x; }
int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += square(i); return s; }
int main(int argc, char **argv) { return work(argc) + (argv == 0); }
"""
FUNCTIONS = "".join(f"int f{i}(int x) {{ return x * {i} + f{i // 2}(x); }}\n" for i in range(1, 4000))
LARGE = f"int f0(int x) {{ return x; }}\n{FUNCTIONS}int main(void) {{ return f9(1); }}\n"

OTHER = 65534


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
        return {name: os.stat(os.path.join(self.cache, name)).st_ino for name in os.listdir(self.cache)
                if name != ".lock" and not name.startswith("id-")}

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

    def expect_no_worker(self, *argv, **kwargs):
        """In a namespace of their own, the processes of a lookup are counted, and those of a command that starts none."""
        count, words = "cat /proc/sys/kernel/ns_last_pid", " ".join(argv)
        script = f"{gsym} --version > /dev/null; {count}; {gsym} lookup --cache={self.cache} {words} > /dev/null; {count}"
        done = run("unshare", "--map-root-user", "--pid", "--fork", "sh", "-c", script, **kwargs)
        if done.returncode:
            self.skipTest("no namespace of processes: " + done.stderr)
        before, after = map(int, done.stdout.split())
        self.assertEqual(after - before, before - 1)

    def test_cached_without_a_worker(self):
        path = self.compile()
        self.lookup(path, "0")
        self.expect_no_worker(path, "0")

    def test_mounted_without_a_worker(self):
        path = self.compile()
        environment = {**os.environ, "GSYMFS_MOUNT": self.mount_of(path)}
        self.lookup(path, "0", env=environment)
        self.assertEqual(self.entries(), {})
        self.expect_no_worker(path, "0", env=environment)
        # In another state it is another file.
        os.utime(path)
        self.compile(text=SOURCE.replace("work", "toil"))
        self.assertIn("toil at", self.lookup(path, self.address(path, "toil"), env=environment).stdout)

    def test_cached_without_a_listing(self):
        """What a cached lookup costs does not depend on how many entries there are."""
        path = self.compile()
        self.lookup(path, "0")
        if not shutil.which("strace"):
            self.skipTest("strace is not installed (Debian package strace)")
        calls = run("strace", "-f", "-e", "trace=getdents,getdents64", gsym, "lookup", f"--cache={self.cache}", path, "0")
        if calls.returncode:
            self.skipTest("strace may not trace here: " + calls.stderr.strip()[-200:])
        self.assertNotIn("getdents", calls.stderr)

    def mount_of(self, path):
        """A directory that looks like a mount with the image of @path."""
        mount = self.at("mount")
        image = os.path.join(mount, self.build_id(path))
        os.makedirs(image)
        must(gsym, "convert", "--quiet", path, "-o", os.path.join(image, "image.gsym"))
        return mount

    def build_id(self, path):
        return re.search(r"Build ID: ([0-9a-f]+)", must("readelf", "-n", path))[1]

    def test_mount(self):
        path, mount = self.compile(), self.at("mount")
        image = os.path.join(mount, self.build_id(path))
        os.makedirs(image)
        other = self.compile("other", SOURCE.replace("work", "toil"))
        must(gsym, "convert", "--quiet", other, "-o", os.path.join(image, "image.gsym"))
        environment = {**os.environ, "GSYMFS_MOUNT": mount}
        address = self.address(other, "toil")
        self.assertIn("toil at", self.lookup(path, address, env=environment).stdout)
        self.assertEqual(self.entries(), {})
        # What the cache has comes first, and what no mount has is converted.
        self.assertIn("work at", self.lookup(path, address).stdout)
        self.assertIn("work at", self.lookup(path, address, env=environment).stdout)
        self.assertIn("toil at", self.lookup(other, address, env=environment).stdout)
        self.assertEqual(len(self.entries()), 2)

    def test_directory_of_the_environment(self):
        path = self.compile()
        must(gsym, "lookup", path, "0", env={**os.environ, "GSYMFS_CACHE": self.at("elsewhere")})
        self.assertEqual(len(os.listdir(self.at("elsewhere"))), 3)  # and the lock, and the id

    def test_entry_damaged(self):
        path = self.compile()
        wanted = self.lookup(path, *self.addresses(path)).stdout
        (name,) = self.entries()
        os.truncate(os.path.join(self.cache, name), 100)
        done = self.lookup(path, *self.addresses(path))
        self.assertEqual((done.stdout, done.stderr), (wanted, ""))

    def as_user(self, env):
        """What to begin a command with that root, whose default directory is the system's, runs as a user."""
        os.chmod(self.dir, 0o755)
        argv = () if os.geteuid() else ("setpriv", f"--reuid={OTHER}", "--clear-groups")
        if argv and (not shutil.which("setpriv") or run(*argv, gsym, "--version", env=env).returncode):
            self.skipTest("gsym cannot be run by another user")
        return argv

    def test_default_directory(self):
        """Of a user; a home of somebody else, as su leaves it, is not written to."""
        path = self.compile()
        home = self.at("home")
        for environment, made, is_own in (({"XDG_CACHE_HOME": home}, ["gsymfs"], True), ({"HOME": home}, [".cache"], True), ({"HOME": home}, [], False)):
            env = {"PATH": os.environ["PATH"], **environment}
            user = self.as_user(env)
            if not user and not is_own:
                continue
            os.mkdir(home)
            os.chmod(home, 0o777)
            if user and is_own:
                os.chown(home, OTHER, -1)
            must(*user, gsym, "lookup", path, "0", env=env)
            self.assertEqual(os.listdir(home), made)
            shutil.rmtree(home)

    def test_filter(self):
        """A log's program instead of its GSYM file: its segments are known then."""
        path = self.compile()
        start = int(self.address(path, "main"), 16)
        log = f" > {path}() [{start + 1:#x}]\n"
        for _ in range(2):
            done = subprocess.run([gsym, "filter", path], input=log.encode(), capture_output=True, cwd=self.dir,
                                  env={**os.environ, "XDG_CACHE_HOME": self.dir}, check=True)
            self.assertRegex(done.stdout.decode(), r"\(\) \[0x[0-9a-f]+\] main at .*a\.c:\d+\n")
            self.assertEqual(done.stderr.decode(), "gsym filter: 1 of 1 frames explained\n")
        os.truncate(path, 100)
        done = subprocess.run([gsym, "filter", path], input=b"", capture_output=True, env={**os.environ, "XDG_CACHE_HOME": self.dir}, check=False)
        self.assertEqual((done.returncode, done.stderr.decode().count("\n")), (1, 1), done.stderr)

    def test_call_without_line(self):
        """Of a return address the nearest line is shown, marked, where the call has line 0; of no other address."""
        clang = shutil.which("clang")
        if not clang:
            self.skipTest("no clang, whose assembler takes line 0")
        text = "volatile int g; __attribute__((noinline)) int callee(int x) { return g += x; }\nint main(int n, char **v)\n{\n\tn += v[0][0];\n\treturn callee(n) * 7;\n}\n"
        pathlib.Path(self.at("b.c")).write_text(text)
        must(clang, "-g", "-O1", "-S", "-o", self.at("b.s"), self.at("b.c"))
        lines = pathlib.Path(self.at("b.s")).read_text()
        self.assertRegex(lines, r"\tcallq?\tcallee")
        number = re.search(r"\.loc\t(\d+) 4 ", lines)[1]
        lines = re.sub(r"\tcallq?\tcallee(@PLT)?", f"\t.loc {number} 0 0\n\tcall\tcallee\n\tnop", lines)
        pathlib.Path(self.at("b.s")).write_text(lines)
        path = self.at("calls")
        must(clang, "-Wl,--build-id=sha1", "-o", path, self.at("b.s"))
        after = int(re.search(r"call +\w+ <callee>\n +(\w+):", must("objdump", "-d", "--no-show-raw-insn", path))[1], 16)
        build_id = re.search(r"Build ID: (\w+)", must("readelf", "-n", path))[1]
        log = f"#0 {build_id} {after:#x}\n#1 {build_id} {after:#x}\n"
        done = subprocess.run([gsym, "filter", path], input=log, capture_output=True, text=True, cwd=self.dir,
                              env={**os.environ, "XDG_CACHE_HOME": self.dir}, check=True)
        self.assertEqual([re.search(r"main at \S*b\.c:(\S+)$", line)[1] for line in done.stdout.splitlines()], ["0", "~4"])

    def test_number_beside_id(self):
        """An offset in the file as BPF has it, a link-time address in other surroundings; both are in functions."""
        if not shutil.which("ld.lld"):
            self.skipTest("no lld, whose addresses differ from offsets in the file")
        text = "".join(f"__attribute__((noinline, aligned(256))) int f{i}(int x) {{ return x * {i + 3}; }}\n" for i in range(64))
        path = self.compile("moved", text + "int main(int n, char **v) { return f0(n) + (v == 0); }\n", "-fuse-ld=lld")
        build_id = re.search(r"Build ID: (\w+)", must("readelf", "-n", path))[1]
        offset, addr = (int(n, 16) for n in re.search(r"LOAD +(0x\w+) (0x\w+) .* R E ", must("readelf", "-lW", path)).groups())
        self.assertNotEqual(offset, addr)
        place = int(self.address(path, "f40"), 16)
        log = f"{build_id} {place - addr + offset:#x}\nx {build_id} {place:#x} y\n"
        done = subprocess.run([gsym, "filter", path], input=log, capture_output=True, text=True, cwd=self.dir,
                              env={**os.environ, "XDG_CACHE_HOME": self.dir}, check=True)
        self.assertEqual(done.stdout.count(" f40 at "), 2, done.stdout)
        self.assertEqual(done.stderr.splitlines(), [
            "gsym filter: 2 of 2 frames explained",
            "gsym filter: 1 of them by an id and an offset in the file, as of BPF; read as link-time addresses they would be elsewhere",
            "gsym filter: 1 of them by an id and a link-time address; read as offsets in the file they would be elsewhere"])
        base = min(int(n, 16) for n in re.findall(r"LOAD +0x\w+ (0x\w+)", must("readelf", "-lW", path)))
        nowhere = int(self.address(path, "f0"), 16) - addr + offset  # in no function but as an offset in the file
        log = f"{build_id}+{place - base:#x}\n{build_id}+{nowhere:#x}\nx {build_id} {nowhere:#x} y\n"
        done = subprocess.run([gsym, "filter", path], input=log, capture_output=True, text=True, cwd=self.dir,
                              env={**os.environ, "XDG_CACHE_HOME": self.dir}, check=True)
        self.assertEqual(done.stderr.splitlines(), [
            "gsym filter: 1 of 3 frames explained",
            "gsym filter: 1 of them by an id and an offset from the load address; read as offsets in the file they would be elsewhere",
            f"gsym filter: {build_id}: 2 frames not explained: not in a function of the image; read as offsets in the file they would be in one"])

    def test_no_object_file(self):
        for name, data, words in (("text", b"just words, and more than a few\n", "neither an object file nor a GSYM file"),
                                  ("empty", b"", "neither an object file nor a GSYM file"),
                                  ("lib.a", b"!<arch>\n", "an archive: extract its members with ar x"),
                                  ("thin.a", b"!<thin>\n", "a thin archive: its members are files of their own"),
                                  ("a.wasm", b"\0asm\1\0\0\0" + bytes(20), "WebAssembly, which is not read"),
                                  ("a.bc", b"BC\xc0\xde" + bytes(20), "LLVM bitcode, which is not read: compile and link it"),
                                  ("a.xcoff", b"\1\xf7\0\2" + bytes(20), "XCOFF, which is not read"),
                                  ("a.obj", b"\x64\x86\2\0" + bytes(20), "a COFF object file, which is not read: link it"),
                                  ("big.obj", b"\0\0\xff\xff\2\0\x64\x86" + bytes(20), "a COFF object file, which is not read: link it"),
                                  ("no.obj", b"\x64\x86\2\0" + bytes(12) + b"\1" + bytes(7), "neither an object file nor a GSYM file"),
                                  ("a.class", b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(9), "a Java class, which is not read"),
                                  ("a.fat", b"\xca\xfe\xba\xbe\0\0\0\1" + bytes(99), "neither an object file nor a GSYM file"),
                                  ("cut.gsym", b"MYSG\1", "header at offset 0: the file ends at 0x5")):
            pathlib.Path(self.at(name)).write_bytes(data)
            self.expect_refused(f"^gsym lookup: .*/{name}: {words}$", self.at(name), "0")
            if "which is" in words:
                done = subprocess.run([gsym, "convert", self.at(name), "-o", self.at("out")], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (1, f"gsym convert: {self.at(name)}: {words}\n"))
        self.expect_refused("No such file", self.at("missing"), "0")
        self.expect_refused(": not a regular file$", self.dir, "0")
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

    def test_user_without_a_home(self):
        """There is no directory for the cache: what is converted is gone with the process."""
        path = self.compile()
        environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": "/proc/none"}
        as_other = self.as_user(environment)
        for _ in range(2):
            done = run(*as_other, gsym, "lookup", path, self.address(path, "work"), "main", env=environment)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("work at", done.stdout)
            self.assertIn("main at", done.stdout)

    def test_fat(self):
        arms, others = program(m.ARM64).file(), program(m.PPC, True).file()
        pathlib.Path(self.at("fat")).write_bytes(m.fat([(m.PPC, others), (m.I386, program(m.I386).file())]))
        self.expect_refused(r": holds code for ppc\w*, i386; choose one as FILE:ARCH or with --arch=ARCH$", self.at("fat"), "0x1000")
        self.expect_refused(": holds code for .*; choose", "--arch=arm64", self.at("fat"), "0x1000")
        for words in (("--arch=i386", self.at("fat")), (self.at("fat:i386"),), ("--arch=ppc", self.at("fat:i386"))):
            done = self.lookup(*words, "0x1000")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotIn("??", done.stdout.split(" at ")[0])
        self.expect_refused(r"/fat: holds code for ppc\w*, i386, none for arm64; choose one as FILE:ARCH or", self.at("fat:arm64"), "0x1000")
        self.expect_refused("/none:arm64: No such file", self.at("none:arm64"), "0x1000")
        self.assertEqual(self.lookup("--addresses-from-stdin", input=f"0x1000 {self.at('fat:i386')}\n0x1000 {self.at('fat:ppc')}\n"
                                     ).stdout.count("main at"), 2)
        pathlib.Path(self.at("fat:i386")).write_bytes(m.fat([(m.PPC, others)]))  # a file of that name comes first
        self.assertIn("main", self.lookup("--arch=ppc", self.at("fat:i386"), "0x1000").stdout)
        # Not even that of this machine is chosen unasked: the answer could be of the wrong one.
        both = [(machine, program(machine, uuid=bytes([i] * 16)).file()) for i, machine in ((1, m.X86_64), (2, m.ARM64))]
        pathlib.Path(self.at("both")).write_bytes(m.fat(both))
        self.expect_refused(": holds code for x86_64, arm64; choose", self.at("both"), "0x1000")
        log = "".join(f"#0{i} pc 00001004  both (BuildId: {i:02x}{f'{i:02x}' * 15})\n" for i in (1, 2, 3))
        done = subprocess.run([gsym, "filter", self.at("both")], input=log, text=True, capture_output=True, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": self.dir})
        self.assertEqual(["main" in line for line in done.stdout.splitlines()], [True, True, False], done.stdout + done.stderr)
        pathlib.Path(self.at("thin")).write_bytes(arms)
        self.assertEqual(self.lookup(self.at("thin"), "0x1000").stderr, "")

    def test_bundle(self):
        """A dSYM bundle stands for the debug file in it; of several one must be named."""
        inner = os.path.join("App.dSYM", "Contents", "Resources", "DWARF")
        os.makedirs(self.at(inner))
        self.expect_refused("App.dSYM: bundle without a file in Contents/Resources/DWARF$", self.at("App.dSYM"), "0x1000")
        pathlib.Path(self.at(inner, "App")).write_bytes(program(m.ARM64, filetype=m.MH_DSYM).file())
        pathlib.Path(self.at(inner, ".DS_Store")).write_bytes(bytes(100))
        for name in "App.dSYM", "App.dSYM/":
            done = self.lookup(self.at(name), "0x1000", "helper")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "main at /src/a.c:4\nhelper at /src/a.c:20\n", ""))
            must(gsym, "convert", "--quiet", self.at(name))
            self.assertEqual(must(gsym, "lookup", self.at("App.dSYM.gsym"), "0x1020"), "helper at /src/a.c:20\n")
            os.unlink(self.at("App.dSYM.gsym"))
        done = subprocess.run([gsym, "filter", self.at("App.dSYM")], input="App(+0x1004) [0x1]\nOther(+0x1004) [0x1]\n", text=True,
                              capture_output=True, env={**os.environ, "XDG_CACHE_HOME": self.dir}, check=False)
        self.assertEqual(done.stdout.count("main"), 1, done.stderr)
        shutil.copy(self.at(inner, "App"), self.at(inner, "Other"))
        told = f"App.dSYM: bundle with 2 files: choose one, as .*{inner}/App: App, Other$"
        self.expect_refused(told, self.at("App.dSYM"), "0x1000")
        done = run(gsym, "convert", self.at("App.dSYM"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, told)
        self.assertEqual(self.lookup(self.at(inner, "Other"), "0x1000").stdout, "main at /src/a.c:4\n")

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

    def start_stopped(self, argv, **more):
        """A program and its worker, stopped while it converts: on a busy machine it may be over before it is seen."""
        for _ in range(20):
            process = subprocess.Popen(argv, **more)
            worker = self.stop_worker(process)
            if worker is not None:
                return process, worker
            process.communicate(timeout=LIMIT)
            shutil.rmtree(self.cache, ignore_errors=True)
        raise self.failureException("no worker was seen that converts")

    def test_interrupted(self):
        path = self.compile("large", LARGE, "-O0")
        # Shells ignore SIGINT for what runs in the background.
        process, worker = self.start_stopped([gsym, "lookup", f"--cache={self.cache}", path, "0"], stdout=subprocess.DEVNULL,
                                             stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=LIMIT)[1], b"")
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertFalse(os.path.exists(f"/proc/{worker}"))
        self.assertEqual(self.entries(), {})

    def test_ignored_signal(self):
        path = self.compile("large", LARGE, "-O0")
        process, worker = self.start_stopped([gsym, "lookup", f"--cache={self.cache}", path, self.address(path, "main")],
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        os.kill(worker, signal.SIGCONT)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, err), (0, ""))
        self.assertIn("main at", out)

    def test_several_at_once(self):
        """One converts, the others wait for it and then take its entry."""
        path = self.compile("large", LARGE, "-O0")
        argv = [gsym, "lookup", f"--cache={self.cache}", path, self.address(path, "main")]
        first = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        worker = self.stop_worker(first)
        self.assertIsNotNone(worker, "no worker was seen that converts")
        others = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        stopped = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)  # nothing depends on it: if one is slower, it meets the lock later
        for process in others:
            self.assertFalse([command for command in self.workers(process) if b"\0convert\0" in command], "a second one converts")
        stopped.send_signal(signal.SIGTERM)
        self.assertEqual(stopped.communicate(timeout=LIMIT), ("", ""))
        self.assertEqual(stopped.returncode, -signal.SIGTERM)
        os.kill(worker, signal.SIGCONT)
        for process in [first, *others]:
            out, err = process.communicate(timeout=LIMIT)
            self.assertEqual((process.returncode, err), (0, ""))
            self.assertIn("main at", out)
        self.assertEqual(len(self.entries()), 1)

    def workers(self, process):
        """The command lines of a process' children."""
        found = []
        for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            try:
                found.append(pathlib.Path(f"/proc/{child}/cmdline").read_bytes())
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

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
