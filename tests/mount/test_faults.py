#!/usr/bin/env python3
"""What is remembered of a file that could not be looked at, also by the next daemon: its own fault only, without end."""

import contextlib
import errno
import os
import re
import sys
import time
import unittest

import mount_harness
from mount_harness import BAD_WORKER, GSYM, MountTest, Relay, wait_until

UNKNOWN = "00112233445566778899aabbccddeeff00112233"

# A scan worker that ends by a signal, or with a status, when it has taken a file, or "early", before: once for each line of the
# file @acts.
DYING = """#!{python}
import os, resource, socket, sys
with open({acts!r}) as file:
    acts = file.read().split()
if sys.argv[2] != "scan" or not acts:
    os.execv({gsym!r}, ["gsym"] + sys.argv[1:])
with open({acts!r}, "w") as file:
    file.write("\\n".join(acts[1:]))
""" + mount_harness.SCAN_WORKER_OF_ITS_OWN + """daemon.send(mine.recv(65536))
order, fds, _, _ = socket.recv_fds(daemon, 65536, 4)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if not acts[0].startswith("early"):
    socket.send_fds(mine, [order], fds)
    daemon.send(mine.recv(65536))
act = acts[0].removeprefix("early")
os.kill(me, int(act)) if act.isdigit() else os._exit(3)
"""


class FaultsTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.faults = os.path.join(self.dir, "faults")
        os.mkdir(self.faults)

    def library(self):
        """The environment of a daemon that fails as self.fault() says."""
        return self.preload("faults.c", '-DFAULTS="%s"' % self.faults)

    @contextlib.contextmanager
    def fault(self, name):
        path = os.path.join(self.faults, name)
        with open(path, "w"):
            pass
        try:
            yield
        finally:
            os.unlink(path)

    def script(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def assertUnknown(self, *ids):
        for id in ids or (self.id, UNKNOWN):
            self.assertErrno(errno.EIO, os.stat, self.image(id))

    def assertKnown(self):
        self.assertIn("state", self.status(self.id))
        wait_until(lambda: not os.path.exists(self.image(UNKNOWN)) and self.errno_of(UNKNOWN) == errno.ENOENT,
                   "a scan that saw into all files")

    def opened(self, daemon):
        """How many files the first scan had to open."""
        return int(wait_until(lambda: re.search(r"scan: .* (\d+) opened", daemon.log()), "the first scan")[1])

    # ---- The machine ----

    def assertForgotten(self, daemon):
        """The daemon looks again by itself, and so does the next one."""
        wait_until(lambda: os.path.exists(self.image(self.id)), "a scan without the fault")
        self.assertKnown()
        self.assertNotIn("until it changes", daemon.log())

    def test_a_socket_fails(self):
        environment = self.library()
        for name in ("send", "recv"):
            with self.subTest(name), self.fault(name):
                daemon = self.mount("rescan=0", env=environment)
                self.assertUnknown()
                self.assertEqual(daemon.stop(), 0)
            daemon = self.mount("rescan=0", env=environment)
            self.assertForgotten(daemon)
            self.assertEqual(daemon.stop(), 0)
            for index in os.listdir(self.cache):
                os.unlink(os.path.join(self.cache, index))

    def test_no_memory_in_the_worker(self):
        """libelf calls a file damaged when it has no memory for it."""
        environment = self.library()
        with self.fault("calloc"):
            daemon = self.mount("rescan=0", env=environment)
            self.assertUnknown()
        self.assertForgotten(daemon)

    @mount_harness.needs_large_files
    def test_no_address_space(self):
        large = os.path.join(self.source, "large")
        os.rename(self.path, large)
        os.truncate(large, 4 << 30)
        worker = self.script("worker", "#!/bin/sh\nulimit -v 1000000\nexec %s \"$@\"\n" % os.path.realpath(GSYM))
        if os.environ.get("BUILD_KIND") == "sanitize":
            self.skipTest("sanitizers reserve more than that")
        daemon = self.mount("worker=" + worker, "rescan=0")
        self.assertUnknown()
        self.assertIn("cannot map", daemon.log())
        self.assertForgotten(self.remount(daemon, "rescan=0"))

    # ---- The worker dies ----

    def dying(self, *acts):
        """A worker that dies so: a signal for each time, or "exit", each after "early" if that is so; afterwards it works."""
        self.acts = self.script("acts", "\n".join(str(a) for a in acts))
        gsym = os.path.realpath(GSYM)
        return self.script("dying", DYING.format(python=sys.executable, acts=self.acts, gsym=gsym))

    def deaths_left(self):
        return len(mount_harness.contents(self.acts).split())

    def test_killed_once(self):
        """One death does not count: another worker is asked."""
        for act in (11, 9, "exit"):
            with self.subTest(act):
                daemon = self.mount("worker=" + self.dying(act), "rescan=0")
                self.assertKnown()
                self.assertNotIn("skipped", daemon.log())
                self.assertEqual(daemon.stop(), 0)
                for index in os.listdir(self.cache):
                    os.unlink(os.path.join(self.cache, index))

    def test_killed_by_others(self):
        daemon = self.mount("worker=" + self.dying(9, 9, 15, 15), "rescan=0")
        self.assertUnknown()
        self.assertForgotten(daemon)
        self.assertEqual(self.deaths_left(), 0)

    def test_no_file_was_taken(self):
        """Whatever a worker dies of before it has a file, as for want of memory when it starts, is not the file's fault."""
        ids = [self.id] + [mount_harness.build_id(self.compile("more%d" % i)) for i in range(3)]
        for act, words in (("early11", "was killed by signal 11 (Segmentation fault)"), ("earlyexit", "exited with status 3")):
            with self.subTest(act):
                daemon = self.mount("worker=" + self.dying(*[act] * 4), "rescan=0")
                self.assertUnknown(*ids)
                wait_until(lambda: all(os.path.exists(self.image(id)) for id in ids), "a scan with a worker that lives")
                self.assertKnown()
                self.assertIn("the worker that identifies files %s before it took one\n" % words, daemon.log())
                self.assertNotIn("skipped", daemon.log())
                self.assertEqual(self.deaths_left(), 0)
                self.assertEqual(daemon.stop(), 0)
                for index in os.listdir(self.cache):
                    os.unlink(os.path.join(self.cache, index))

    def test_crashes_are_kept_for_a_time(self):
        environment = self.library()
        daemon = self.mount("worker=" + self.dying(11, 6, 11), "rescan=0", env=environment)
        self.assertUnknown()
        self.assertIn("skipped until it changes, or for an hour", daemon.log())
        self.assertEqual(daemon.stop(), 0)
        daemon = self.mount("worker=" + self.dying(), "rescan=0", env=environment)
        self.assertEqual(self.opened(daemon), 0)
        self.assertUnknown()
        self.assertEqual(daemon.stop(), 0)
        with self.fault("later"):
            self.mount("worker=" + self.dying(), "rescan=0", env=environment)
            self.assertKnown()

    def test_the_daemon_stops(self):
        """A file that was being looked at when the daemon ended is looked at by the next one."""
        relay = Relay(self)
        relay.hold(1)
        daemon = self.mount("worker=" + relay.worker)
        relay.wait_asked(1)
        self.assertEqual(daemon.stop(), 0)
        self.assertNotIn("skipped", daemon.log())
        relay.release(1)
        self.mount()
        self.assertKnown()

    # ---- The file ----

    def test_damage_is_remembered(self):
        with open(self.path, "r+b") as file:
            file.seek(4)
            file.write(b"\xff")
        daemon = self.mount("rescan=0")
        self.assertErrno(errno.ENOENT, os.stat, self.image(self.id))
        self.assertRegex(daemon.log(), "damaged ELF header.*; skipped until it changes\n")
        daemon = self.remount(daemon, "rescan=0")
        self.assertEqual(self.opened(daemon), 0)
        self.assertErrno(errno.ENOENT, os.stat, self.image(self.id))

    # ---- Conversions ----

    def mount_bad(self, act):
        environment = dict(self.library(), BAD_WORKER_ACT=act, GSYM=os.path.realpath(GSYM))
        daemon = self.mount("worker=" + BAD_WORKER, env=environment)
        daemon.wait_scanned()
        return daemon

    def failure(self, want):
        """A read that fails: (state, conversions so far)."""
        self.assertErrno(want, self.read, self.id, "0x1000")
        status = self.status(self.id)
        return status["state"], int(status["conversions"])

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_conversions_and_the_machine(self):
        """An error that is not known to be caused by content is retried after 1, 2, 4 s, and not recorded; it is told once."""
        daemon = self.mount_bad("device")
        start = time.monotonic()
        for _ in range(200):
            state, tries = self.failure(errno.EIO)
            self.assertEqual(state, "failed")
        self.assertLessEqual(2 ** (tries - 1) - 1, time.monotonic() - start + 1)
        self.assertEqual(daemon.log().count("cannot convert"), 1)
        self.assertLessEqual(int(self.status(self.id)["retry_seconds"]), 64)
        self.assertEqual([n for n in os.listdir(self.cache) if n.endswith(".failed")], [])
        with self.fault("later"):
            self.assertGreater(self.failure(errno.EIO)[1], tries)
        # A line that needs the image is not answered as unknown meanwhile.
        fd = os.open(os.path.join(self.mnt, "q"), os.O_RDWR)
        self.addCleanup(os.close, fd)
        os.write(fd, b"%s 0x1000\n" % self.id.encode())
        self.assertErrno(errno.EIO, os.read, fd, 4096)

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_conversions_and_limits(self):
        for act, want, tries in (("memory", errno.EFBIG, 1), ("crash", errno.EIO, 3)):
            with self.subTest(act):
                daemon = self.mount_bad(act)
                for n in range(tries):
                    self.assertEqual(self.failure(want), ("failed" if n + 1 == tries else "cold", n + 1))
                self.assertEqual(self.failure(want), ("failed", tries))
                with self.fault("later"):
                    self.assertEqual(self.failure(want)[1], tries + 1)
                self.assertEqual([n for n in os.listdir(self.cache) if n.endswith(".failed")], [])
                self.assertEqual(daemon.stop(), 0)

    # ---- The index itself ----

    def test_index(self):
        daemon = self.mount()
        self.assertEqual(self.opened(daemon), 1)
        self.assertNotIn("identified again", daemon.log())
        daemon = self.remount(daemon)
        self.assertEqual(self.opened(daemon), 0)
        self.assertIn("state", self.status(self.id))
        self.assertEqual(daemon.stop(), 0)
        (index,) = [n for n in os.listdir(self.cache) if n.startswith("index-")]
        os.rename(os.path.join(self.cache, index), os.path.join(self.dir, "elsewhere"))
        os.symlink(os.path.join(self.dir, "elsewhere"), os.path.join(self.cache, index))
        daemon = self.mount()
        self.assertEqual(self.opened(daemon), 1)
        self.assertRegex(daemon.log(), "cannot read: .*; all files will be identified again")
        self.assertIn("state", self.status(self.id))


if __name__ == "__main__":
    mount_harness.main()
