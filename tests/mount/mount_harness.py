"""Mount tests: a private directory with SOURCE, cache and mount point, a daemon, and a clean end whatever happens.

Every wait has a limit. A test that finds no /dev/fuse is skipped (exit status 77). The programs come from the
environment: GSYMFS, GSYM, BAD_WORKER, CC, CXX.
"""

import ctypes
import functools
import glob
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from lib.peers import is_32_bit  # noqa: E402

# Seconds until something counts as hung; no test asserts that anything is faster.
LIMIT = int(os.environ.get("MOUNT_TEST_LIMIT", "600"))
LOG_SHOWN = 8000  # characters of the log of a test that fails
GSYMFS = os.environ.get("GSYMFS", "gsymfs")
GSYM = os.environ.get("GSYM", "gsym")
BAD_WORKER = os.environ.get("BAD_WORKER", "")
CC = os.environ.get("CC_FOR_TESTS", "cc")
CXX = os.environ.get("CXX_FOR_TESTS", "c++")
CC_FOR_PRELOAD = os.environ.get("CC_FOR_PRELOAD", CC).split()  # for the machine of the daemon
READS_GZIP = os.environ.get("HAVE_ISAL") != "0"
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib/root_names.h")) as names:
    NO_IMAGES = set(re.findall(r'X\("(.*)"\)', names.read()))  # what else is in the root
NO_LINES = r"^geo::point::norm\(\) const(\+0x[0-9a-f]+)? at \?\?:0\n$"
SANITIZER_WORDS = ("ERROR: AddressSanitizer", "WARNING: ThreadSanitizer", "runtime error:", "LeakSanitizer")
# Of an INTERRUPT that arrives after the answer of its request: libfuse keeps it for the next request, and frees none at
# the end (fuse_session_destroy()). A call of ours that was never answered has an allocation of ours in the same report.
LATE_INTERRUPT = re.compile(r"=+\n==\d+==ERROR: LeakSanitizer: detected memory leaks\n\n"
                            r"(?:(?:Direct|Indirect) leak of .* allocated from:\n"
                            r" +#0 .* in \w*calloc .*\n +#1 .*/libfuse3\.so.*\n(?: +#.*\n)*\n)+"
                            r"SUMMARY: AddressSanitizer: .*\n")


def has_finding(log):
    """Whether a sanitizer has reported something, but for what is libfuse's."""
    return any(word in LATE_INTERRUPT.sub("", log) for word in SANITIZER_WORDS)


def wait_until(condition, what, limit=LIMIT):
    """Polls until condition() is true; its value."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError("not within %d seconds: %s" % (limit, what))


def within_limit(function, what):
    """The value of function(), which runs in a thread of its own, so that a call that hangs ends the test only."""
    values, errors = [], []

    def call():
        try:
            values.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(LIMIT)
    if errors:
        raise errors[0]
    if not values:
        raise AssertionError("not within %d seconds: %s" % (LIMIT, what))
    return values[0]


def read_all(fd, size=1 << 20):
    """All there is from here on, in reads of @size: each may return less than it could."""
    parts = []
    while not parts or parts[-1]:
        parts.append(os.read(fd, size))
    return b"".join(parts)


def read_some(fd, size):
    """@size bytes, however many reads that takes."""
    parts = b""
    while len(parts) < size:
        part = os.read(fd, size - len(parts))
        if not part:
            break
        parts += part
    return parts


def pread_all(fd, size, offset):
    """@size bytes at @offset, fewer only at the end."""
    found = b""
    while len(found) < size:
        part = os.pread(fd, size - len(found), offset + len(found))
        if not part:
            break
        found += part
    return found


def skip_if_files_are_limited(test):
    """RLIMIT_FSIZE, which takes CAP_SYS_RESOURCE to raise, refuses large files, and may refuse to append to a q or log."""
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        test.skipTest("the size of files is limited, and this user may not raise the limit")


def needs_large_files(test):
    """Of a test with a file larger than the address space of 32-bit programs."""
    @functools.wraps(test)
    def checked(self):
        skip_if_files_are_limited(self)
        if is_32_bit(shutil.which(GSYMFS)):
            self.skipTest("a 32-bit program cannot map a file of this size")
        test(self)
    return checked


def run(*argv, check=True, **kwargs):
    """Runs a program with a limit and gives what it printed."""
    done = subprocess.run([str(a) for a in argv], capture_output=True, timeout=LIMIT, **kwargs)
    if check and done.returncode != 0:
        raise AssertionError("%s: status %d: %s" % (argv, done.returncode, done.stderr.decode(errors="replace")))
    return done


def tool(*names):
    """The first installed program of these names, or None."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    return None


def is_mounted(path):
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == path for line in mounts)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def build_id(path):
    """The GNU build id of a small ELF file of this machine's byte order, without any tool."""
    data = contents(path)
    at = data.find(b"GNU\0", data.find(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"))
    if at < 0:
        raise AssertionError("%s has no build id of 20 bytes" % path)
    return data[at + 4:at + 24].hex()


def spoil(path):
    """Makes an ELF file of 64 bits one that can be identified, and in which there is nothing to convert."""
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        data[0x28:0x30] = (1 << 40).to_bytes(8, sys.byteorder)  # its section headers are outside
        headers, = struct.unpack_from("=Q", data, 0x20)
        size, count = struct.unpack_from("=HH", data, 0x36)
        for at in range(headers, headers + count * size, size):
            if struct.unpack_from("=I", data, at)[0] == 2:  # PT_DYNAMIC, which leads to symbols
                struct.pack_into("=I", data, at, 0)
        file.seek(0)
        file.write(data)


def scans_in(metrics):
    """Scans that have ended, as the file metrics says."""
    return sum(int(line.split()[1]) for line in metrics.splitlines() if line.startswith("gsymfs_scans_total{"))


class Daemon:
    """A running gsymfs in the foreground, its log in a file."""

    def __init__(self, source, mountpoint, options, log_path, env=None, switches=()):
        self.mountpoint = mountpoint
        self.log_path = log_path
        self.log_start = os.path.getsize(log_path) if os.path.exists(log_path) else 0
        sources = [source] if isinstance(source, str) else source
        argv = [GSYMFS, "-f", *switches, "-o", ",".join(options), *sources, mountpoint]
        with open(log_path, "ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, env=env)
        try:
            wait_until(lambda: self.process.poll() is not None or "serving" in self.log(), "the mount")
        except AssertionError:
            self.stop()
            raise
        if self.process.poll() is not None:
            raise AssertionError("the daemon ended with %d: %s" % (self.process.returncode, self.log()))

    def log(self):
        with open(self.log_path, errors="replace") as log:
            log.seek(self.log_start)
            return log.read()

    def wait_scanned(self):
        """Waits for the line at the end of a scan; warnings about files are written while it lasts."""
        wait_until(lambda: re.search(r"scan: \d+ files? in ", self.log()), "the first scan")

    def state(self):
        """What it writes to its log on SIGUSR1."""
        begin = len(self.log())
        self.process.send_signal(signal.SIGUSR1)
        return wait_until(lambda: re.match(r"(?s).*state: open files.*\n", self.log()[begin:]), "the state")[0]

    def wait_calls(self, of, count=1):
        """Waits until @count calls are parked; @of: an id, or "scan"."""
        def parked():
            found = re.search(r"state: %s: .*, (\d+) calls wait" % of, self.state())
            return found and int(found[1]) >= count
        wait_until(parked, "%d calls that wait for %s" % (count, of))

    def stop(self, sig=signal.SIGTERM):
        """Ends it; the exit status, without what LeakSanitizer made of it for an interrupt of libfuse."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            status = self.process.wait(LIMIT)
            return 0 if LATE_INTERRUPT.search(self.log()) and not has_finding(self.log()) else status
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(LIMIT)
            raise AssertionError("the daemon did not end: %s" % self.log())
        finally:
            if is_mounted(self.mountpoint) and sig != signal.SIGKILL:
                lazy_unmount(self.mountpoint)


def lazy_unmount(path):
    for argv in (["umount", "-l", path], ["fusermount3", "-uz", path]):
        if shutil.which(argv[0]) and subprocess.run(argv, capture_output=True, timeout=LIMIT).returncode == 0:
            return


class MountTest(unittest.TestCase):
    """A test with self.source, self.mnt and self.cache; mount() starts a daemon."""

    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="gsymfs-test-"))
        self.source, self.mnt, self.cache = (os.path.join(self.dir, n) for n in ("source", "mnt", "cache"))
        for path in (self.source, self.mnt, self.cache):
            os.mkdir(path, 0o700 if path == self.cache else 0o755)
        os.chmod(self.dir, 0o755)
        self.log_path = os.path.join(self.dir, "log")
        self.daemons = []
        self.processes = []
        self.addCleanup(self.clean_up)

    def run(self, result=None):
        """Also prints what the daemons of a test that fails have logged last."""
        def count():
            return len(result.failures) + len(result.errors) if result else 0
        before = count()
        self.logs = ""
        result = super().run(result)
        if count() > before and self.logs:
            print("\n---- log of %s\n%s---- end" % (self, self.logs[-LOG_SHOWN:]), file=sys.stderr)
        return result

    def clean_up(self):
        """Ends and unmounts everything, whatever state it is in; then what went wrong is reported."""
        troubles = []
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        for daemon in self.daemons:
            try:
                if daemon.process.poll() is None:
                    daemon.stop()
            except (AssertionError, subprocess.TimeoutExpired) as trouble:
                troubles.append(str(trouble))
        self.unmount_all()
        for process in self.processes:
            try:
                process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                troubles.append("%s does not end" % process.args)
        self.logs = "".join(contents(path).decode(errors="replace")
                            for path in glob.glob(os.path.join(self.dir, "log*")))
        shutil.rmtree(self.dir, ignore_errors=True)
        self.assertFalse(has_finding(self.logs), self.logs)
        self.assertEqual(troubles, [])

    def unmount_all(self):
        with open("/proc/self/mountinfo") as mounts:
            left = [line.split()[4] for line in mounts if line.split()[4].startswith(self.dir)]
        for path in reversed(left):
            lazy_unmount(path)

    def mount(self, *options, mnt=None, source=None, cache=None, log=None, env=None, switches=()):
        has = {o.split("=")[0] for o in options}
        defaults = ["worker=" + GSYM] if "worker" not in has else []
        defaults += ["cache_free=0"] if "cache_free" not in has else []  # however full the disk of this machine is
        defaults += ["cache=" + (cache or self.cache)]
        daemon = Daemon(source or self.source, mnt or self.mnt, defaults + list(options), log or self.log_path, env,
                        switches)
        self.daemons.append(daemon)
        return daemon

    def remount(self, daemon, *options):
        self.assertEqual(daemon.stop(), 0)
        return self.mount(*options)

    # ---- Things to serve ----

    def compile(self, name="sample", where=None, flags=(), source=None):
        """A shared object with nested inlining in SOURCE; its path."""
        path = os.path.join(where or self.source, name)
        source = source or os.path.join(HERE, "sample.cpp")
        run(CXX, "-g", "-O2", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-DNAME=" + name.replace(".", "_")
            .replace("-", "_"), *flags, source, "-o", path)
        return path

    def compile_other(self, name="other", where=None):
        """Another program of the same functions, at other lines; its path."""
        source = os.path.join(self.dir, name + ".cpp")
        with open(source, "wb") as file:
            file.write(b"\n" * 100 + contents(os.path.join(HERE, "sample.cpp")))
        return self.compile(name, where=where, source=source)

    def add_file(self, *parts, data):
        """A file in SOURCE, which appears whole; its path."""
        path = os.path.join(self.source, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        new = os.path.join(self.dir, "new-file")
        with open(new, "wb") as file:
            file.write(data)
        os.rename(new, path)
        return path

    def preload(self, source, *flags, **variables):
        """The environment of a daemon whose library functions are replaced by those of @source, a file beside the tests."""
        if os.environ.get("BUILD_KIND") == "sanitize":
            self.skipTest("a sanitizer wants to be the first library")
        library = os.path.join(self.dir, source.replace(".c", ".so"))
        run(*CC_FOR_PRELOAD, "-shared", "-fPIC", "-O2", *flags, os.path.join(HERE, source), "-o", library)
        return dict(os.environ, LD_PRELOAD=library, **variables)

    def image(self, id, mnt=None):
        return os.path.join(mnt or self.mnt, id)

    def read(self, *parts, mnt=None):
        with open(os.path.join(mnt or self.mnt, *parts), "rb") as file:
            return file.read().decode()

    def status(self, id, mnt=None):
        """The file status as a dictionary; a key that comes more than once is a list."""
        found = {}
        for line in self.read(id, "status", mnt=mnt).splitlines():
            key, value = line.split("\t", 1)
            if key in found:
                found[key] = (found[key] if isinstance(found[key], list) else [found[key]]) + [value]
            else:
                found[key] = value
        return found

    def conversions(self, mnt=None):
        """Conversions started since the mount, of all images."""
        return sum(int(self.status(id, mnt)["conversions"]) for id in self.ids(mnt))

    def scans(self, mnt=None):
        """Scans that have ended since the mount."""
        return scans_in(self.read("metrics", mnt=mnt))

    def is_too_busy(self):
        """Whether a zygote did not answer within a second, on a machine with more to do than it has processors."""
        return "cannot fork a worker: no answer in time" in self.daemons[-1].log() and os.getloadavg()[0] > os.cpu_count()

    def wait_scans(self, count=3, mnt=None):
        """Waits for the end of @count scans; all but the first began after the call."""
        end = self.scans(mnt) + count
        wait_until(lambda: self.scans(mnt) >= end, "%d scans" % count)

    def ids(self, mnt=None):
        """The images there are."""
        return {n for n in os.listdir(mnt or self.mnt) if n not in NO_IMAGES}

    def builds(self, name, mnt=None):
        """The ids that by-name has for a file name, sorted; none if it lacks the name."""
        directory = os.path.join(mnt or self.mnt, "by-name", name)
        listed = os.listdir(directory) if os.path.isdir(directory) else []
        return sorted(id for id in listed if re.fullmatch("xxh3-[0-9a-f]+|([0-9a-f]{2})+", id))

    def functions(self, path, stubs=False):
        """(start, end, name) of each function of an object file, as gsym dumps its conversion. Without @stubs
        not of linkage tables, whose names llvm-addr2line does not know."""
        out = os.path.join(self.dir, "functions.gsym")
        run(GSYM, "convert", "--quiet", path, "-o", out)
        functions = []
        for line in run(GSYM, "dump", out).stdout.decode().splitlines():
            if line.startswith("FunctionInfo @"):
                span = line[line.index("[") + 1:line.index(")")]
                start, end = (int(x, 16) for x in span.split(" - "))
                name = line.split('"')[1]
                if stubs or not name.endswith("@plt"):
                    functions.append((start, end, name))
        self.assertTrue(functions)
        return functions

    def reader(self, *parts, mnt=None, **kwargs):
        """A cat that runs beside the test."""
        process = subprocess.Popen(["cat", os.path.join(mnt or self.mnt, *parts)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **kwargs)
        self.processes.append(process)
        return process

    def finish(self, process):
        """(status, output, error text) of a process, within the limit."""
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out.decode(), err.decode()

    def errno_of(self, id):
        """Of looking at the image; 0: it is there."""
        try:
            os.stat(self.image(id))
        except OSError as error:
            return error.errno
        return 0

    def assertErrno(self, errno, function, *args, **kwargs):
        with self.assertRaises(OSError) as caught:
            function(*args, **kwargs)
        self.assertEqual(os.strerror(caught.exception.errno), os.strerror(errno))


class SampleTest(MountTest):
    """A test with a sample in SOURCE, self.path, whose debug data can be taken away: self.by_id is where it is found."""

    def setUp(self):
        super().setUp()
        self.debug_dir = os.path.join(self.dir, "debug")
        os.mkdir(self.debug_dir)
        self.path = self.compile()
        self.id = build_id(self.path)
        self.address = self.find_address()
        self.by_id = os.path.join(self.debug_dir, ".build-id", self.id[:2], self.id[2:] + ".debug")

    def find_address(self):
        """Of an inlined call in the sample, which symbols alone do not know."""
        start, end = next(f[:2] for f in self.functions(self.path) if f[2].endswith("normEv"))
        gsym = os.path.join(self.dir, "functions.gsym")
        addresses = ["0x%x" % a for a in range(start, end)]
        for address in addresses:
            if b"(inlined by)" in run(GSYM, "lookup", gsym, address).stdout:
                return address
        self.fail("no inlined call in " + self.path)

    def mount(self, *options, **kwargs):
        return super().mount("debug_dirs=" + self.debug_dir, *options, **kwargs)

    def separate(self, debug, strip="--strip-debug"):
        """Moves the debug data of the sample to the file @debug."""
        os.makedirs(os.path.dirname(debug), exist_ok=True)
        run("objcopy", "--only-keep-debug", self.path, debug)
        run("strip", strip, self.path)

    def answer(self):
        return self.read(self.id, self.address)

    def assertLines(self):
        self.assertRegex(self.answer(), r"geo::.* at .*sample.cpp:\d+\n \(inlined by\) .*sample.cpp:\d+\n")

    def assertNoLines(self):
        self.assertRegex(self.answer(), NO_LINES)

    def wait_lines(self):
        wait_until(lambda: "sample.cpp:" in self.answer(), "the debug file")

    def hide_all(self):
        """Makes the sample one of which nothing is known without its debug data."""
        script = os.path.join(self.dir, "hidden.map")
        with open(script, "w") as file:
            file.write("{ local: *; };\n")
        self.path = self.compile(flags=["-nostdlib", "-Wl,-Bsymbolic", "-fvisibility=hidden",
                                        "-Wl,--version-script=" + script])
        self.id = build_id(self.path)
        self.by_id = os.path.join(self.debug_dir, ".build-id", self.id[:2], self.id[2:] + ".debug")
        self.address = self.find_address()


class Gate:
    """A worker that waits before it converts, for as long as the gate is shut.

    It is no zygote: the daemon starts one for each conversion.
    """

    SCRIPT = """#!{python}
import os, sys, time
mode = sys.argv[2]
if mode == "zygote":
    sys.exit(1)
with open(os.path.join({dir!r}, mode + "." + str(os.getpid())), "w"):
    pass
while os.path.exists(os.path.join({dir!r}, "shut-" + mode)):
    time.sleep(0.005)
os.execv({gsym!r}, ["gsym"] + sys.argv[1:])
"""

    def __init__(self, test):
        self.dir = os.path.join(test.dir, "gate")
        os.mkdir(self.dir)
        self.worker = os.path.join(self.dir, "worker")
        with open(self.worker, "w") as script:
            script.write(self.SCRIPT.format(python=sys.executable, dir=self.dir, gsym=os.path.realpath(GSYM)))
        os.chmod(self.worker, 0o755)
        test.addCleanup(self.open)

    def shut(self, mode="convert"):
        with open(os.path.join(self.dir, "shut-" + mode), "w"):
            pass

    def open(self, mode="convert"):
        try:
            os.unlink(os.path.join(self.dir, "shut-" + mode))
        except FileNotFoundError:
            pass

    def started(self, mode="convert"):
        """The process ids of the workers started so far."""
        return sorted(int(name.split(".")[1]) for name in os.listdir(self.dir) if name.startswith(mode + "."))

    def wait_started(self, count=1, mode="convert"):
        wait_until(lambda: len(self.started(mode)) >= count, "%d workers" % count)
        return self.started(mode)


# For a program in place of the scan worker, with sockets imported: daemon is the socket to the daemon, mine that to a real
# scan worker, which it starts.
SCAN_WORKER_OF_ITS_OWN = """daemon = socket.socket(fileno=3)
mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
me = os.getpid()
if os.fork() == 0:
    os.dup2(its.fileno(), 3)
    os.execv({gsym!r}, ["gsym", "worker", "scan", str(me)])
its.close()
"""


class Relay:
    """A scan worker that asks before it looks at the file number N: hold(N) makes it wait, release(N) lets it go on.

    N is "hash" for every file that is to be hashed apart from the scan. Stands between the daemon and the real
    worker and passes their messages on.
    """

    SCRIPT = """#!{python}
import os, socket, sys, time
if sys.argv[2] != "scan":
    os.execv({gsym!r}, ["gsym"] + sys.argv[1:])
""" + SCAN_WORKER_OF_ITS_OWN + """asked = 0
while True:
    answer = mine.recv(65536)
    if not answer:
        break
    daemon.send(answer)
    order, fds, _, _ = socket.recv_fds(daemon, 65536, 4)
    if not order:
        break
    hashes = int.from_bytes(order[16:24], sys.byteorder) > 1 << 30
    asked += 1
    number = "hash" if hashes else asked
    with open(os.path.join({dir!r}, "asked-%s" % number), "w"):
        pass
    while os.path.exists(os.path.join({dir!r}, "hold-%s" % number)):
        time.sleep(0.005)
    socket.send_fds(mine, [order], fds)
    daemon.send(mine.recv(65536)) # that it has the file
    for fd in fds:
        os.close(fd)
"""

    def __init__(self, test):
        self.dir = os.path.join(test.dir, "relay")
        os.mkdir(self.dir)
        self.worker = os.path.join(self.dir, "worker")
        with open(self.worker, "w") as script:
            script.write(self.SCRIPT.format(python=sys.executable, dir=self.dir, gsym=os.path.realpath(GSYM)))
        os.chmod(self.worker, 0o755)
        test.addCleanup(lambda: [self.release(n) for n in ("hash", *range(10))])

    def hold(self, number):
        with open(os.path.join(self.dir, "hold-%s" % number), "w"):
            pass

    def release(self, number):
        try:
            os.unlink(os.path.join(self.dir, "hold-%s" % number))
        except FileNotFoundError:
            pass

    def wait_asked(self, number):
        wait_until(lambda: os.path.exists(os.path.join(self.dir, "asked-%s" % number)), "file %s of the scan" % number)


def is_root():
    return os.geteuid() == 0


# Kinds of entries of an access control list (acl_e_tag of linux/posix_acl.h).
USER_OBJ, USER, GROUP_OBJ, MASK, OTHERS = 1, 2, 4, 0x10, 0x20


def acl(*entries):
    """The value of system.posix_acl_access: (kind, permissions) each, and the number of a named user."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *(*e, 0xffffffff)[:3]) for e in entries)


def set_acl(path, value):
    """False where the file system has no access control lists."""
    try:
        os.setxattr(path, "system.posix_acl_access", value)
    except OSError:
        return False
    return True


class FileHandle(ctypes.Structure):
    """struct file_handle with room for the largest handle there is."""
    _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]


def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def file_handle(path):
    """name_to_handle_at(2)."""
    at_fdcwd, mount_id = -100, ctypes.c_int()
    handle = FileHandle(size=128)
    libc = ctypes.CDLL(None, use_errno=True)
    checked(libc.name_to_handle_at(at_fdcwd, path.encode(), ctypes.byref(handle), ctypes.byref(mount_id), 0))
    return handle


def open_handle(mount_fd, handle, flags):
    """open_by_handle_at(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    return checked(libc.open_by_handle_at(mount_fd, ctypes.byref(handle), flags))


def raise_limit(which, wanted):
    """Sets a resource limit to @wanted, or to as much as this user may have; a limit that is higher stays."""
    soft, hard = resource.getrlimit(which)
    infinity = resource.RLIM_INFINITY
    if soft == infinity or (wanted != infinity and soft >= wanted):
        return
    try:
        resource.setrlimit(which, (wanted, infinity if wanted == infinity else max(hard, wanted)))
    except (ValueError, OSError):
        resource.setrlimit(which, (hard, hard))


def reset_process():
    """Undoes what tests and their children would inherit: shells ignore SIGINT for what runs in the background,
    nohup ignores SIGHUP, and limits and the umask are the user's."""
    for sig in (signal.SIGHUP, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(sig, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    raise_limit(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
    raise_limit(resource.RLIMIT_NOFILE, 8192)
    os.umask(0o022)


def main():
    """Runs the tests of the calling script."""
    reset_process()
    if not os.path.exists("/dev/fuse") or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("skipped: /dev/fuse is missing or closed to this user; load the fuse module, or run as root")
        sys.exit(77)
    if not tool(CXX.split()[0]):
        print("skipped: no C++ compiler '%s' to build samples with" % CXX)
        sys.exit(77)
    unittest.main(verbosity=2)
