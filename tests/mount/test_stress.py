#!/usr/bin/env python3
"""Everything at once for a few seconds: readers, listings, interrupts, changing files, evictions, full rescans; and q, log and tables, shared
and alone, by those who are killed while they wait. Afterwards nothing is left of it. STRESS_SECONDS makes it longer."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import mount_harness
from mount_harness import LIMIT, MountTest

FUSE_THREADS = 10  # that libfuse starts as they are needed, and keeps
SECONDS = float(os.environ.get("STRESS_SECONDS", "5"))
KNOWN_ERRORS = (errno.ENOENT, errno.ESTALE, errno.EIO, errno.EINTR)
# Of a descriptor that several use: one reads where another's write has dropped what was there.
SHARED_ERRORS = KNOWN_ERRORS + (errno.ESPIPE, errno.ENOSPC)

# Asks, and is killed while it waits for the answer.
ASK = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.write(fd, sys.argv[2].encode())
print("", flush=True)
while os.read(fd, 1 << 17):
    pass
"""


class StressTest(MountTest):
    def setUp(self):
        super().setUp()
        self.paths = [self.compile("image%d" % i) for i in range(8)]
        self.ids = [mount_harness.build_id(path) for path in self.paths]
        self.spans = [s for s in self.functions(self.paths[0]) if s[1] > s[0]]
        self.stop = False
        self.failures = []

    def address(self, rng):
        start, end, _ = rng.choice(self.spans)
        return rng.choice(("0x%x", "%016x", "0x%x.json", "0x%x.tsv", "0x%x.raw")) % rng.randrange(start, end)

    def read_some(self, rng):
        text = self.read(rng.choice(self.ids), self.address(rng))
        if not text.endswith("\n"):
            raise AssertionError("half an answer: %r" % text)

    def list_some(self, rng):
        for name in os.listdir(rng.choice((self.mnt, os.path.join(self.mnt, "by-name"),
                                           self.image(rng.choice(self.ids))))):
            rng.random()

    def status_some(self, rng):
        self.status(rng.choice(self.ids))

    def gsym_some(self, rng):
        with open(os.path.join(self.image(rng.choice(self.ids)), "image.gsym"), "rb") as file:
            if file.read(4) != b"MYSG":
                raise AssertionError("not a GSYM file")

    def interrupt_some(self, rng):
        cat = subprocess.Popen(["cat", os.path.join(self.image(rng.choice(self.ids)), self.address(rng))],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() / 50)
        cat.send_signal(rng.choice((signal.SIGINT, signal.SIGKILL)))
        cat.wait(LIMIT)

    def alias_some(self, rng):
        os.readlink(self.image(rng.choice(self.ids)[:rng.randrange(8, 40)]))

    # ---- q, log and tables ----

    def lines(self, rng, n):
        return "".join("%s %x\n" % (rng.choice(self.ids), rng.randrange(*rng.choice(self.spans)[:2])) for _ in range(n))

    def q_some(self, rng):
        """As many records as lines, whatever becomes of the images."""
        n = rng.choice((1, 10, 3000))
        with open(os.path.join(self.mnt, rng.choice(("q", "q.tsv", "q.json"))), "r+b", buffering=0) as q:
            q.write(self.lines(rng, n).encode())
            text = q.readall()
        if not text.endswith(b"\n") or text.count(b"\n") < n:
            raise AssertionError("%d lines, %d records" % (n, text.count(b"\n")))

    def log_some(self, rng):
        n = rng.choice((1, 10, 1000))
        with open(os.path.join(self.mnt, "log"), "r+b", buffering=0) as log:
            log.write(("a line\n" + self.lines(rng, n)).encode())
            text = log.readall()
        if not text.startswith(b"a line\n") or text.count(b"\n") < n + 1:
            raise AssertionError("%d lines, %d came out" % (n + 1, text.count(b"\n")))

    def table_some(self, rng):
        with open(os.path.join(self.image(rng.choice(self.ids)), rng.choice(("functions", "lines", "files")) + ".tsv")) as table:
            rng.choice((table.read, table.readline, table.fileno))()

    def shared_some(self, rng):
        """The same descriptor as others, in any order."""
        try:
            if rng.random() < 0.5:
                os.pwrite(self.shared, self.lines(rng, rng.choice((1, 100))).encode(), rng.randrange(5000))
            else:
                os.pread(self.shared, rng.randrange(1, 1 << 17), rng.randrange(10000))
        except OSError as error:
            if error.errno not in SHARED_ERRORS:
                raise

    def kill_some(self, rng):
        path = os.path.join(self.mnt, rng.choice(("q", "log", os.path.join(rng.choice(self.ids), "q.atos"))))
        ask = subprocess.Popen([sys.executable, "-c", ASK, path, self.lines(rng, 1500)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        ask.stdout.readline()
        time.sleep(rng.random() / 50)
        ask.send_signal(rng.choice((signal.SIGINT, signal.SIGKILL, signal.SIGTERM)))
        ask.wait(LIMIT)
        ask.stdout.close()

    # ---- Changes ----

    def change_some(self, rng):
        """A file gets another time, goes away and comes back, or is replaced by a copy."""
        path = rng.choice(self.paths)
        kept = os.path.join(self.dir, "kept-%d" % threading.get_ident())
        what = rng.randrange(3)
        if what == 0:
            os.utime(path, (rng.randrange(10**9), rng.randrange(10**9)))
        elif what == 1:
            os.rename(path, kept)
            time.sleep(0.3)
            os.rename(kept, path)
        else:
            shutil.copy2(path, kept)
            os.rename(kept, path)
        time.sleep(0.2)

    def evict_some(self, rng):
        for name in os.listdir(self.cache):
            if name.endswith(".gsym") and rng.random() < 0.5:
                try:
                    os.unlink(os.path.join(self.cache, name))
                except FileNotFoundError:
                    pass
        time.sleep(0.3)

    def repeat(self, action, seed):
        rng = random.Random(seed)
        while not self.stop:
            try:
                action(rng)
            except OSError as error:
                if error.errno not in KNOWN_ERRORS:
                    self.failures.append((action.__name__, error))
                    return
            except Exception as error:
                self.failures.append((action.__name__, error))
                return

    def test_everything_at_once(self):
        daemon = self.mount("rescan=1", "jobs=2", "cache_size=4K")
        daemon.wait_scanned()
        self.read(self.ids[0], self.norm())
        descriptors, threads_before = self.held(daemon)
        self.shared = os.open(os.path.join(self.mnt, "q"), os.O_RDWR)
        actions = [self.q_some] * 2 + [self.log_some, self.table_some, self.kill_some] + [self.shared_some] * 3 + \
                  [self.read_some] * 2 + [self.list_some, self.status_some, self.gsym_some, self.alias_some] + \
                  [self.interrupt_some] * 2 + [self.change_some, self.evict_some]
        threads = [threading.Thread(target=self.repeat, args=(action, i)) for i, action in enumerate(actions)]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS)
        self.stop = True
        for thread in threads:
            thread.join(LIMIT)
            self.assertFalse(thread.is_alive(), "a reader hangs: %s" % daemon.log())
        self.assertEqual(self.failures, [])
        os.close(self.shared)
        mount_harness.wait_until(lambda: self.metric("open_files") <= 1 and self.metric("batch_bytes") < 1 << 16,
                                 "all files closed")
        for id in self.ids:
            mount_harness.wait_until(lambda id=id: self.answered(id), "the answers of " + id)
        descriptors += "no answer in time" in daemon.log()  # a zygote that was ended before these were counted
        mount_harness.wait_until(lambda: self.held(daemon)[0] <= descriptors, "no more than %d descriptors" % descriptors)
        self.assertLessEqual(self.held(daemon)[1], threads_before + FUSE_THREADS)
        self.assertEqual(daemon.stop(), 0)

    def answered(self, id):
        """Whether the image answers; a file that was away when it was looked for is found by the next scan."""
        try:
            return "geo::point::norm" in self.read(id, self.norm())
        except OSError as error:
            self.assertIn(error.errno, KNOWN_ERRORS)
            return False

    def held(self, daemon):
        """Descriptors and threads; images are mapped without one."""
        proc = "/proc/%d/" % daemon.process.pid
        return len(os.listdir(proc + "fd")), len(os.listdir(proc + "task"))

    def metric(self, name):
        return next(int(line.split()[1]) for line in self.read("metrics").splitlines()
                    if line.startswith("gsymfs_" + name + "{"))

    def test_end_under_load(self):
        """A daemon that is told to end does, whatever is asked of it, and everybody is answered."""
        daemon = self.mount("jobs=2")
        actions = [self.q_some, self.log_some, self.table_some, self.read_some, self.status_some, self.list_some] * 2
        self.over = False

        def work(action, seed):
            rng = random.Random(seed)
            while not self.stop:
                try:
                    action(rng)
                except OSError as error:
                    if error.errno not in KNOWN_ERRORS + (errno.ENOTCONN, errno.ECONNABORTED):
                        self.failures.append((action.__name__, error))
                except Exception as error:
                    if not self.over:
                        self.failures.append((action.__name__, error))
        threads = [threading.Thread(target=work, args=(action, i)) for i, action in enumerate(actions)]
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        self.over = True
        self.assertEqual(daemon.stop(), 0)
        self.stop = True
        for thread in threads:
            thread.join(LIMIT)
            self.assertFalse(thread.is_alive(), "a reader hangs")
        self.assertEqual(self.failures, [])

    def norm(self):
        return next(hex(start) for start, _, name in self.spans if name.endswith("normEv"))


if __name__ == "__main__":
    mount_harness.main()
