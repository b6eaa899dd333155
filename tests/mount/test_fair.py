#!/usr/bin/env python3
"""What one user takes leaves something for the others: memory, threads, and the turn."""

import errno
import os
import random
import re
import subprocess
import sys
import threading
import time

import mount_harness
from mount_harness import MountTest, build_id, run, tool, wait_until, within_limit

PLAIN = os.environ.get("BUILD_KIND") != "sanitize"
READERS = 32
LINES = 20000  # of one function: a lookup takes a tenth of a millisecond
LINES_A_SECOND = 10000  # that one thread answers
UIDS = (60001, 60002)

FILL = """
import errno, os, sys
block = b"0x10\\n" * 200000
fds, written = [], 0
while len(fds) < 100:
    fds.append(os.open(sys.argv[1], os.O_RDWR))
    try:
        while True:
            written += os.write(fds[-1], block)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    if len(fds) > 2 and written == before:
        break
    before = written
print(written, flush=True)
sys.stdin.read()
"""

ASK = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.write(fd, b"0x10\\n" * 100000)
n = 0
while True:
    got = os.read(fd, 1 << 20)
    if not got:
        break
    n += got.count(b"\\n")
print(n)
"""

READ = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
with open(sys.argv[2], "rb") as file:
    os.write(fd, file.read())
print("", flush=True)
while os.read(fd, 1 << 17):
    pass
"""


class FairTest(MountTest):
    def huge(self):
        """An image whose largest function has so many lines that a lookup takes long; (id, start, size)."""
        source, path = os.path.join(self.dir, "huge.c"), os.path.join(self.source, "huge.so")
        with open(source, "w") as file:
            file.write("void huge(void) {\n" + '__asm__ volatile("nop");\n' * LINES + "}\n")
        run(mount_harness.CC, "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id=sha1", source, "-o", path)
        start, end, _ = max(self.functions(path), key=lambda f: f[1] - f[0])
        return build_id(path), start, end - start

    def python(self, script, *args, uid=None):
        argv = [sys.executable, "-c", script, *args]
        if uid:
            argv = ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups"] + argv
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.processes.append(process)
        return process

    def metric(self, name):
        return next(int(line.split()[1]) for line in self.read("metrics").splitlines()
                    if line.startswith("gsymfs_" + name + "{"))

    def answered_during(self, call):
        """Lines of q that the daemon answers while call() runs: how long that takes in units of the work of others, which is
        the same on a busy machine."""
        before = self.metric("batch_addresses_total")
        call()
        return self.metric("batch_addresses_total") - before

    def resident(self, daemon, key="VmRSS"):
        with open("/proc/%d/status" % daemon.process.pid) as status:
            return next(int(line.split()[1]) for line in status if line.startswith(key)) * 1024

    # ---- Memory ----

    def test_memory_of_users(self):
        """One who writes as much as he can leaves room for another, and another."""
        if not mount_harness.is_root() or not tool("setpriv"):
            self.skipTest("needs root and setpriv")
        self.compile()
        self.mount("allow_other").wait_scanned()
        path, got = os.path.join(self.mnt, "q"), []
        for uid in UIDS:
            fill = self.python(FILL, path, uid=uid)
            got.append(int(fill.stdout.readline()))
        self.assertGreater(got[0], 150 << 20)
        self.assertLess(got[0], 600 << 20)
        self.assertGreater(got[1], 50 << 20)
        for uid in (None, 60003):
            out = self.python(ASK, path, uid=uid).communicate(timeout=mount_harness.LIMIT)[0]
            self.assertEqual(out.split(), [b"200000"])

    def test_open_files_are_small(self):
        """Thousands of open q need some KB each, and are counted."""
        id = build_id(self.compile())
        daemon = self.mount()
        self.read(id, "status")
        before, counted, n = self.resident(daemon), self.metric("batch_bytes"), 3000
        fds = [os.open(os.path.join(self.mnt, id, "q"), os.O_RDWR) for _ in range(n)]
        try:
            if PLAIN:
                self.assertLess(self.resident(daemon) - before, n * 8192)
            self.assertGreaterEqual(self.metric("batch_bytes") - counted, n * 1024)
        finally:
            for fd in fds:
                os.close(fd)
        wait_until(lambda: self.metric("batch_bytes") <= counted + 65536, "memory given back")

    # ---- Conversions ----

    def test_asked_before_wanted(self):
        """An image that somebody waits for comes before those that a q will need later."""
        paths = []
        for i in range(8):
            source, path = os.path.join(self.dir, "s%d.c" % i), os.path.join(self.source, "s%d.so" % i)
            with open(source, "w") as file:
                file.write("int f%d(int a) { return a + %d; }\n" % (i, i))
            run(mount_harness.CC, "-g", "-shared", "-fPIC", "-Wl,--build-id=sha1", source, "-o", path)
            paths.append(path)
        ids = [build_id(path) for path in paths]
        gate = mount_harness.Gate(self)
        gate.shut()
        daemon = self.mount("worker=" + gate.worker, "jobs=1")
        daemon.wait_scanned()
        q = os.open(os.path.join(self.mnt, "q"), os.O_RDWR)
        os.write(q, "".join("%s 0x10\n" % id for id in ids).encode())
        reader = threading.Thread(target=lambda: mount_harness.read_all(q))
        reader.start()
        gate.wait_started(1)
        wait_until(lambda: sum(self.status(id)["state"] != "cold" for id in ids) == 8, "all are wanted")

        def stat():
            try:
                os.stat(os.path.join(self.mnt, ids[7], "0x10"))
            except FileNotFoundError:
                pass
        neighbour = threading.Thread(target=stat)
        neighbour.start()
        daemon.wait_calls(ids[7])
        gate.open()
        for thread in (neighbour, reader):
            thread.join(mount_harness.LIMIT)
        converted = re.findall(r"converted 's(\d)\.so'", daemon.log())
        self.assertEqual(len(converted), 8)
        self.assertLess(converted.index("7"), 4)
        os.close(q)

    # ---- Threads ----

    def test_stat_beside_long_reads(self):
        """Reads that compute for seconds do not hold the threads that answer a neighbour."""
        id, start, size = self.huge()
        self.mount().wait_scanned()
        pick = random.Random(3)
        lines = os.path.join(self.dir, "lines")
        with open(lines, "w") as file:
            file.write("".join("%x\n" % (start + pick.randrange(size)) for _ in range(50000)))
        self.read(id, "0x%x" % start)
        readers = [self.python(READ, os.path.join(self.mnt, id, "q.atos"), lines) for _ in range(READERS)]
        for reader in readers:
            reader.stdout.readline()
        done = []  # meanwhile, by the readers
        for i in range(100):
            done.append(self.answered_during(lambda i=i: os.stat(os.path.join(self.mnt, id, "0x%x" % (start + i)))))
            time.sleep(0.01)  # a pause, in which the readers go on
        busy = [reader for reader in readers if reader.poll() is None]
        for reader in readers:
            reader.kill()
        done.sort()
        print("stat beside %d readers: lines of q answered meanwhile: median %d, 99 %% %d, most %d" %
              (len(busy), *(done[i] for i in (50, 98, 99))))
        self.assertGreater(len(busy), READERS / 2)
        self.assertLess(done[50], 0.1 * LINES_A_SECOND)
        self.assertLess(done[99], 3 * LINES_A_SECOND)

    def test_all_readers_get_on(self):
        """Long reads take turns, and say what one alone would have got."""
        id, start, size = self.huge()
        self.mount().wait_scanned()
        text = "".join("%x\n" % (start + i * 7 % size) for i in range(1000)).encode()

        def ask():
            with open(os.path.join(self.mnt, id, "q.atos"), "r+b", buffering=0) as q:
                q.write(text)
                return q.read()
        want, got = ask(), []
        self.assertEqual(want.count(b"\n"), 2000)
        threads = [threading.Thread(target=lambda: got.append(ask())) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(mount_harness.LIMIT)
        self.assertEqual(len(got), 12)
        self.assertTrue(all(g == want for g in got))

    def test_write_beside_long_read(self):
        """The kernel lets one write to a file at a time, whoever opened it: none may wait for a read."""
        id, start, size = self.huge()
        self.mount().wait_scanned()
        self.read(id, "0x%x" % start)
        path = os.path.join(self.mnt, "q.atos")
        mine, other = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
        text = "".join("%s %x\n" % (id, start + i * 7 % size) for i in range(50000)).encode()
        here, stop, reads = [os.write(mine, text)], [], []

        def read():
            while not stop:
                try:
                    reads.append(len(os.pread(mine, 1 << 20, here[0])))
                except OSError as error:  # a write moved the beginning meanwhile
                    self.assertEqual(error.errno, errno.ESPIPE)
        reader = threading.Thread(target=read)
        reader.start()
        most = 0  # lines that the reader was given meanwhile
        try:
            for _ in range(30):
                for fd in (mine, other):
                    most = max(most, self.answered_during(lambda fd=fd: os.pwrite(fd, b"x\n", here[0])))
                here[0] += 2
                time.sleep(0.005)  # a pause, in which the reader goes on
        finally:
            stop.append(1)
            reader.join(mount_harness.LIMIT)
        print("lines of q answered during a write beside %d reads: %d at most" % (len(reads), most))
        self.assertGreater(max(reads), 0)
        self.assertLess(most, LINES_A_SECOND)
        self.assertTrue(os.pread(other, 100, here[0]))
        os.close(mine)
        os.close(other)

    def test_many_preads_of_one_description(self):
        """They wait for each other without a thread, and each is answered."""
        id, start, size = self.huge()
        self.mount().wait_scanned()
        self.read(id, "0x%x" % start)
        fd = os.open(os.path.join(self.mnt, id, "q.atos"), os.O_RDWR)
        written = os.write(fd, "".join("%x\n" % (start + i * 7 % size) for i in range(5000)).encode())
        got = []
        threads = [threading.Thread(target=lambda: got.append(os.pread(fd, 1 << 16, written))) for _ in range(40)]
        for thread in threads:
            thread.start()
        within_limit(lambda: os.stat(os.path.join(self.mnt, id, "0x%x" % (start + 1))), "a stat")
        for thread in threads:
            thread.join(mount_harness.LIMIT)
        self.assertEqual(len(got), 40)
        whole = max(got, key=len)
        self.assertTrue(whole and all(whole.startswith(g) and g for g in got))
        os.close(fd)

    def test_end_while_all_wait(self):
        """A daemon that ends answers who computes, who waits for a turn and who has a table measured."""
        id, start, size = self.huge()
        daemon = self.mount("jobs=1")
        daemon.wait_scanned()
        path = os.path.join(self.mnt, id, "q.atos")
        fd = os.open(path, os.O_RDWR)
        text = "".join("%x\n" % (start + i * 7 % size) for i in range(50000)).encode()
        written, ended = os.write(fd, text), []

        def read():
            try:
                while os.pread(fd, 1 << 20, written):
                    pass
            except OSError as error:
                ended.append(error.errno)
        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: self.metric("batch_addresses_total"), "an answer")
        self.assertEqual(daemon.stop(), 0)
        for thread in threads:
            thread.join(mount_harness.LIMIT)
            self.assertFalse(thread.is_alive())
        self.assertTrue(set(ended) <= {errno.ENOTCONN, errno.ECONNABORTED}, ended)
        try:
            os.close(fd)
        except OSError:
            pass  # nobody is there to be told


if __name__ == "__main__":
    mount_harness.main()
