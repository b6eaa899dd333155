"""For tests of fragments: a worker that stops or does harm between its first answer and the rest of the image."""

import os
import re
import sys

import mount_harness
from mount_harness import GSYM, MountTest, run, wait_until

UNITS = 19  # more than fragments are kept of an image

UNIT = """
static inline int twice_@N@(int a) { volatile int b = a * 2; return b; }
__attribute__((noinline)) int leaf_@N@(int a) { return twice_@N@(a) + @N@; }
int branch_@N@(int a) { return leaf_@N@(a + 1) - 1; }
"""


class Between:
    """A converting worker that stands between the daemon and the real one, and does after the fragment what act() says.

    "pass": nothing; "hold": waits for release(). Others do harm, some of them after they waited. A worker that was asked
    for no address makes no fragment, and does it at once. One that makes fragments only does what later() says, with each
    of them: "pass", "hold", or harm.
    """

    ONLY = 144 + 3 * 4096 + 4  # offset of purpose in the order, see worker.h

    SCRIPT = """#!{python}
import os, select, socket, sys, time
if sys.argv[2] == "zygote":
    sys.exit(1)
if sys.argv[2] != "convert":
    os.execv({gsym!r}, ["gsym"] + sys.argv[1:])
daemon = socket.socket(fileno=3)
mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
FRAGMENT, FAILED = 16, 6
def told(name):
    return os.path.exists(os.path.join({dir!r}, name))
def wait(name):
    with open(os.path.join({dir!r}, "waits-for-" + name), "w"):
        pass
    while not told(name):
        time.sleep(0.005)
def number(at, size=4):
    return int.from_bytes(message[at:at + size], sys.byteorder)
def read(name):
    with open(os.path.join({dir!r}, name)) as file:
        return file.read()
def fail(head):
    text = b"the rest is bad"
    errno = 74
    daemon.send(FAILED.to_bytes(4, sys.byteorder) + (16 + 8 + 512).to_bytes(4, sys.byteorder) + head +
                errno.to_bytes(4, sys.byteorder) + bytes(4) + text + bytes(512 - len(text)))
    os._exit(0)
me = os.getpid()
if os.fork() == 0:
    os.dup2(its.fileno(), 3)
    for fd in range(4, 8):
        try:
            os.set_inheritable(fd, True)
        except OSError:
            pass
    os.execv({gsym!r}, ["gsym", "worker", "convert", str(me)])
its.close()
daemon.send(mine.recv(65536))
wait("start")
message = daemon.recv(65536)
only = number({only})
with open(os.path.join({dir!r}, "%s-%d" % ("only" if only else "whole", me)), "w"):
    pass
act = read("later" if only else "act")
if not only and not number({only} - 4):
    if act != "pass":
        wait("release")
    if act == "die":
        os._exit(3)
    if act == "fail":
        fail(message[8:16])
mine.send(message)
while True:
    if mine not in select.select([mine, daemon], [], [])[0]:
        message = daemon.recv(65536)
        if not message:
            break
        mine.send(message)
        continue
    message = mine.recv(65536)
    if not message:
        break
    if only and number(0) == FRAGMENT:
        if act == "hold":
            wait("go")
        if act == "die":
            os._exit(3)
    if number(0) == FRAGMENT and act == "noise":
        os.pwrite(5, b"noise" * 1000, 0)
    if number(0) == FRAGMENT and act == "size":
        message = message[:16] + (100).to_bytes(8, sys.byteorder) + message[24:]
    if number(0) == FRAGMENT and act == "huge":
        message = message[:16] + (1 << 60).to_bytes(8, sys.byteorder) + message[24:]
    daemon.send(message)
    if number(0) != FRAGMENT:
        continue
    if act == "twice":
        daemon.send(message)
    if not only and act not in ("pass", "twice", "noise", "size", "huge"):
        wait("release")
    if act == "die":
        os._exit(3)
    if act == "change":
        try:
            os.pwrite(5, b"more than the daemon allows", 64 << 20)
            os._exit(4)
        except PermissionError:
            os.ftruncate(5, 0)
        wait("end")
    if act == "fail":
        fail(message[8:16])
"""

    def __init__(self, test):
        self.dir = os.path.join(test.dir, "between")
        os.mkdir(self.dir)
        self.worker = os.path.join(self.dir, "worker")
        with open(self.worker, "w") as script:
            script.write(self.SCRIPT.format(python=sys.executable, dir=self.dir, gsym=os.path.realpath(GSYM),
                                            only=self.ONLY))
        os.chmod(self.worker, 0o755)
        self.act("hold")
        self.later("pass")
        test.addCleanup(lambda: [self.say(word) for word in ("start", "release", "end", "go")])

    def act(self, how):
        with open(os.path.join(self.dir, "act"), "w") as file:
            file.write(how)

    def later(self, how):
        with open(os.path.join(self.dir, "later"), "w") as file:
            file.write(how)

    def started(self, kind):
        """Process ids of workers that were told to convert the whole, or make fragments only."""
        return [int(name[len(kind) + 1:]) for name in os.listdir(self.dir) if name.startswith(kind + "-")]

    def say(self, word):
        with open(os.path.join(self.dir, word), "w"):
            pass

    def wait_for(self, word):
        wait_until(lambda: os.path.exists(os.path.join(self.dir, "waits-for-" + word)), "a worker that waits for " + word)


class FragmentCase(MountTest):
    """Tests with such a worker, and a program of many units in SOURCE."""

    def setUp(self):
        super().setUp()
        self.between = Between(self)
        self.path = self.program()
        self.id = mount_harness.build_id(self.path)
        self.leaf = {f[2]: f[0] for f in self.functions(self.path) if re.match(r"(leaf|branch)_\d+$", f[2])}

    def program(self, tail=""):
        """A program of many units; its path."""
        sources = []
        for n in range(UNITS):
            sources.append(os.path.join(self.dir, "unit_%d.c" % n))
            with open(sources[-1], "w") as file:
                file.write(UNIT.replace("@N@", str(n)) + tail)
        return self.link("program", "5a" * 20, sources)

    def link(self, name, id, sources):
        path = os.path.join(self.source, name)
        run(mount_harness.CC, "-g", "-O2", "-shared", "-fPIC", "-Wl,--build-id=0x" + id, *sources, "-o", path)
        return path

    def reversed_program(self, name="other", id="6b" * 20):
        """One of the same units in the other order; its id, and its functions' addresses."""
        path = self.link(name, id, [os.path.join(self.dir, "unit_%d.c" % n) for n in reversed(range(UNITS))])
        return id, {f[2]: f[0] for f in self.functions(path)}

    def final(self, address):
        return run(GSYM, "lookup", "--cache=" + os.path.join(self.dir, "own"), self.path, address).stdout.decode()

    def address(self, name, more=0):
        return "0x%x" % (self.leaf[name] + more)

    def mount_between(self, act="hold", start=True, options=()):
        self.between.act(act)
        if start:
            self.between.say("start")
        daemon = self.mount("worker=" + self.between.worker, "rescan=1", *options)
        daemon.wait_scanned()
        return daemon

    def state(self):
        return self.status(self.id)["state"]

    def assertConverting(self):
        self.assertTrue(self.state().startswith("converting"), self.state())

    def mount_lazy(self, act="pass", options=("idle_load=0",), **how):
        """Without what an idle host does, unless @options say so."""
        return self.mount_between(act, options=["eager=no", *options], **how)

    def wait_cold(self):
        wait_until(lambda: self.state() == "cold", "the end of the worker")
