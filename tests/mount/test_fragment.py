#!/usr/bin/env python3
"""Fragments: answers while the rest of the image is being converted, and workers that break after the first."""

import errno
import os
import re
import sys

import mount_harness
from mount_harness import GSYM, MountTest, contents, run, wait_until

UNITS = 12

UNIT = """
static inline int twice_@N@(int a) { volatile int b = a * 2; return b; }
__attribute__((noinline)) int leaf_@N@(int a) { return twice_@N@(a) + @N@; }
int branch_@N@(int a) { return leaf_@N@(a + 1) - 1; }
"""


class Between:
    """A converting worker that stands between the daemon and the real one, and does after the fragment what act() says.

    "pass": nothing; "hold": waits for release(). Others do harm, some of them after they waited.
    """

    SCRIPT = """#!{python}
import os, socket, sys, time
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
with open(os.path.join({dir!r}, "act")) as file:
    act = file.read()
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
mine.send(daemon.recv(65536))
while True:
    message = mine.recv(65536)
    if not message:
        break
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
    if act not in ("pass", "twice", "noise", "size", "huge"):
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
        text = b"the rest is bad"
        errno = 74
        daemon.send(FAILED.to_bytes(4, sys.byteorder) + (16 + 8 + 512).to_bytes(4, sys.byteorder) + message[8:16] +
                    errno.to_bytes(4, sys.byteorder) + bytes(4) + text + bytes(512 - len(text)))
        os._exit(0)
"""

    def __init__(self, test):
        self.dir = os.path.join(test.dir, "between")
        os.mkdir(self.dir)
        self.worker = os.path.join(self.dir, "worker")
        with open(self.worker, "w") as script:
            script.write(self.SCRIPT.format(python=sys.executable, dir=self.dir, gsym=os.path.realpath(GSYM)))
        os.chmod(self.worker, 0o755)
        self.act("hold")
        test.addCleanup(lambda: [self.say(word) for word in ("start", "release", "end")])

    def act(self, how):
        with open(os.path.join(self.dir, "act"), "w") as file:
            file.write(how)

    def say(self, word):
        with open(os.path.join(self.dir, word), "w"):
            pass

    def wait_for(self, word):
        wait_until(lambda: os.path.exists(os.path.join(self.dir, "waits-for-" + word)), "a worker that waits for " + word)


class FragmentTest(MountTest):
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
        path = os.path.join(self.source, "program")
        run(mount_harness.CC, "-g", "-O2", "-shared", "-fPIC", "-Wl,--build-id=0x" + "5a" * 20, *sources, "-o", path)
        return path

    def final(self, address):
        return run(GSYM, "lookup", "--cache=" + os.path.join(self.dir, "own"), self.path, address).stdout.decode()

    def address(self, name, more=0):
        return "0x%x" % (self.leaf[name] + more)

    def mount_between(self, act="hold", start=True):
        self.between.act(act)
        if start:
            self.between.say("start")
        daemon = self.mount("worker=" + self.between.worker, "rescan=1")
        daemon.wait_scanned()
        return daemon

    def state(self):
        return self.status(self.id)["state"]

    def assertConverting(self):
        self.assertTrue(self.state().startswith("converting"), self.state())

    def test_answers_before_the_end(self):
        """Addresses of the units that were asked first, in every form; all else waits."""
        daemon = self.mount_between()
        address = self.address("leaf_3", 2)
        self.assertEqual(self.read(self.id, address), self.final(address))
        self.assertConverting()
        self.assertGreaterEqual(int(self.status(self.id)["first_functions"]), 2)
        other = self.address("branch_3")
        offset = self.leaf["branch_3"]  # a shared object is linked at 0
        for path in ([other], ["rva", other], ["ra", "0x%x" % (offset + 1)], [other + ".json"], [other + ".tsv"],
                     ["base", "0x7f0000000000", "0x%x" % (0x7f0000000000 + offset)]):
            self.assertIn("branch_3", self.read(self.id, *path), path)
        self.assertConverting()
        waiting = [self.reader(self.id, name) for name in (self.address("leaf_5"), "functions.tsv", "lines.tsv")]
        waiting.append(self.reader(self.id, "off", other))
        daemon.wait_calls(self.id, len(waiting))
        self.assertConverting()
        self.between.say("release")
        for reader in waiting:
            self.assertEqual(self.finish(reader)[0], 0)
        self.assertEqual(self.state(), "ready")
        self.assertNotIn("first_functions", self.status(self.id))
        self.assertEqual(self.read(self.id, address), self.final(address))
        self.assertEqual(self.status(self.id)["conversions"], "1")

    def test_all_that_wait_are_asked(self):
        """An address outside all functions, asked with others, waits for the whole."""
        daemon = self.mount_between(start=False)
        readers = [self.reader(self.id, self.address(name)) for name in ("leaf_2", "branch_9")]
        unknown = self.reader(self.id, "0x1")
        daemon.wait_calls(self.id, 3)
        self.between.say("start")
        for reader, name in zip(readers, ("leaf_2", "branch_9")):
            self.assertIn(name, self.finish(reader)[1])
        self.assertConverting()
        daemon.wait_calls(self.id, 1)
        self.between.say("release")
        self.assertEqual(self.finish(unknown)[0], 1)

    def test_worker_changes_its_fragment(self):
        self.mount_between("change")
        self.assertIn("leaf_4", self.read(self.id, self.address("leaf_4")))
        self.between.say("release")
        self.between.wait_for("end")
        self.assertIn("branch_4", self.read(self.id, self.address("branch_4")))
        self.assertConverting()
        self.between.say("end")
        self.assertIn("branch_7", self.read(self.id, self.address("branch_7")))
        self.assertEqual(self.state(), "ready")

    def break_after(self, act):
        """The worker breaks when the first answer was given; the status then."""
        daemon = self.mount_between(act)
        self.assertIn("leaf_1", self.read(self.id, self.address("leaf_1")))
        waiting = self.reader(self.id, self.address("leaf_8"))
        daemon.wait_calls(self.id)
        self.between.say("release")
        status, _, why = self.finish(waiting)
        self.assertEqual(status, 1)
        self.assertIn(os.strerror(errno.EIO), why)
        found = self.status(self.id)
        self.assertNotIn("first_functions", found)
        return found

    def test_worker_dies_after_the_fragment(self):
        self.assertEqual(self.break_after("die")["state"], "cold")
        self.between.act("pass")
        self.assertIn("leaf_8", self.read(self.id, self.address("leaf_8")))

    def test_rest_is_bad(self):
        found = self.break_after("fail")
        self.assertEqual((found["state"], found["reason"]), ("failed", "the rest is bad"))

    def test_lies_end_the_worker(self):
        for act in ("noise", "size"):
            with self.subTest(act):
                daemon = self.mount_between(act)
                self.assertErrno(errno.EIO, self.read, self.id, self.address("leaf_6"))
                self.assertIn("protocol", self.status(self.id)["reason"])
                self.assertEqual(daemon.stop(), 0)
        daemon = self.mount_between("twice")
        self.assertIn("leaf_6", self.read(self.id, self.address("leaf_6")))
        wait_until(lambda: self.state() == "cold", "the end of the worker")
        self.assertIn("protocol", self.status(self.id)["reason"])

    def test_more_than_can_be_copied(self):
        """The whole is waited for."""
        self.mount_between("huge")
        self.assertIn("leaf_6", self.read(self.id, self.address("leaf_6")))
        self.assertEqual(self.state(), "ready")

    def test_replaced_meanwhile(self):
        daemon = self.mount_between()
        self.assertIn("leaf_0", self.read(self.id, self.address("leaf_0")))
        self.between.act("pass")
        before = contents(self.path)
        self.program(tail="\nstatic __attribute__((used)) int later(void) { return 7; }\n")
        self.assertNotEqual(contents(self.path), before)
        self.wait_scans()
        reader = self.reader(self.id, "functions.tsv")
        self.between.say("release")
        status, out, why = self.finish(reader)
        self.assertEqual(status, 0, why)
        self.assertIn("later", out)
        self.assertIsNone(daemon.process.poll())


if __name__ == "__main__":
    mount_harness.main()
