#!/usr/bin/env python3
"""Where hostile object files, and who may write to SOURCE, would like to lead the daemon; what must not come out."""

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import mount_harness
import splitfile
from mount_harness import GSYM, LIMIT, MountTest, is_root, wait_until, within_limit

ID = bytes(range(0x20, 0x34))
ADDRESS = "0x%x" % splitfile.address(0)
INSIDE, OUTSIDE = "secret at ??:0\n", "outer+0x10 at ??:0\n"
SOMEBODY, USERS, NOBODY = 12345, 100, 65534
LEASE_BREAK_TIME = "/proc/sys/fs/lease-break-time"


class LedAstrayTest(MountTest):
    def setUp(self):
        super().setUp()
        self.object = os.path.join(self.source, "object")

    def refer_to(self, path):
        """The object file, which says that its one unit is in the file @path."""
        splitfile.make_skeletons(self.object, ID, [(path, "")])

    def secret(self, directory="", mode=0o644):
        """A .dwo file that fits, in SOURCE."""
        where = os.path.join(self.source, directory)
        os.makedirs(where, exist_ok=True)
        path = os.path.join(where, "secret.dwo")
        splitfile.make_dwo(path, 0, "secret")
        os.chmod(path, mode)
        self.refer_to(path)
        return path

    def mount(self, *options, **kwargs):
        daemon = super().mount(*options, **kwargs)
        daemon.wait_scanned()
        return daemon

    def answer(self, mnt=None):
        return self.read(ID.hex(), ADDRESS, mnt=mnt)

    def answer_in_time(self, mnt=None):
        return within_limit(lambda: self.answer(mnt), "an answer")

    def processor_time(self, daemon):
        with open("/proc/%d/stat" % daemon.process.pid) as stat:
            return sum(int(f) for f in stat.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")

    # ---- To where it would wait ----

    def test_spellings_of_its_own_mount(self):
        mnt = os.path.join(self.source, "mnt")
        os.mkdir(mnt)
        for there in ("/mnt/", "//mnt/", "/./mnt/", "/mnt/./", "/mnt//", "/mnt/../mnt/"):
            with self.subTest(there):
                self.refer_to(self.source + there + ID.hex() + "/" + ADDRESS)
                daemon = self.mount(mnt=mnt)
                self.assertEqual(self.answer_in_time(mnt), OUTSIDE)
                self.assertEqual(daemon.stop(), 0)

    def test_other_file_systems_are_entered(self):
        if not is_root():
            self.skipTest("only root can mount")
        there = os.path.join(self.source, "other")
        os.mkdir(there)
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", there], capture_output=True)
        if mount.returncode:
            self.skipTest("cannot mount a tmpfs: " + mount.stderr.decode())
        self.addCleanup(mount_harness.lazy_unmount, there)
        path = self.secret("other/deeper")
        self.refer_to(self.source + "//./other//deeper/./secret.dwo")
        self.mount()
        self.assertEqual(self.answer(), INSIDE)
        os.unlink(path)

    def test_pipes_are_not_opened(self):
        """What is behind a name is looked at before it is opened: devices act on being opened."""
        pipe = os.path.join(self.source, "pipe")
        os.mkfifo(pipe)
        self.refer_to(pipe)
        self.mount()
        # The shell waits for a reader.
        meet = subprocess.Popen(["sh", "-c", 'echo; exec 3>"$1"', "sh", pipe], stdout=subprocess.PIPE)
        self.processes.append(meet)
        meet.stdout.readline()
        wait_until(lambda: self.sleeps(meet), "somebody who waits for a reader of the pipe")
        self.assertEqual(self.answer_in_time(), OUTSIDE)
        self.assertTrue(meet.poll() is None and self.sleeps(meet))
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
        self.assertEqual(meet.wait(LIMIT), 0)

    def sleeps(self, process):
        with open("/proc/%d/stat" % process.pid) as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "S"

    def leased(self, path):
        """A lease makes open(2) with O_NONBLOCK say EAGAIN until the kernel breaks it, after 45 seconds if nobody has set
        another time: what waits for that must count as hung."""
        with open(LEASE_BREAK_TIME) as file:
            seconds = file.read()
        try:
            self.set_lease_break_time(str(10 * LIMIT))
        except OSError:
            print("skipped: cannot set fs.lease-break-time: who waits for the end of a lease is not noticed")
        else:
            self.addCleanup(self.set_lease_break_time, seconds)
        handler = signal.signal(signal.SIGIO, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGIO, handler)
        fd = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, fd)
        try:
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            self.skipTest("no leases here: %s" % error)

    def set_lease_break_time(self, text):
        with open(LEASE_BREAK_TIME, "w") as file:
            file.write(text)

    def test_leased_neighbour(self):
        path = self.secret()
        daemon = self.mount()
        self.leased(path)
        self.assertEqual(self.answer_in_time(), OUTSIDE)
        self.assertLess(self.processor_time(daemon), 2)

    def test_leased_object_file(self):
        self.refer_to("nowhere")
        shutil.copy(self.object, self.object + ".free")
        self.leased(self.object)
        self.mount()
        self.assertEqual(self.answer_in_time(), OUTSIDE)

    # ---- To what readers of the image may not read ----

    @unittest.skipUnless(is_root(), "only root can give files away")
    def test_group_behind_a_closed_directory(self):
        path = self.secret("closed", 0o640)
        os.chown(path, 0, USERS)
        os.chmod(os.path.dirname(path), 0o700)
        os.chown(self.object, SOMEBODY, USERS)
        os.chmod(self.object, 0o040)
        self.mount()
        self.assertEqual(self.answer(), OUTSIDE)

    @unittest.skipUnless(is_root(), "only root can give files away")
    def test_group_that_may_less_than_others(self):
        path = self.secret("", 0o604)
        os.chown(path, 0, USERS)
        self.mount()
        self.assertEqual(self.answer(), OUTSIDE)

    @unittest.skipUnless(is_root(), "only root can give files away")
    def test_read_for_few_then_shown_to_all(self):
        """What was made while only few could read the image is not what all get later."""
        path = self.secret("closed", 0o600)
        os.chmod(os.path.dirname(path), 0o700)
        mine = os.path.join(self.source, "mine")
        os.mkdir(mine, 0o700)
        os.rename(self.object, os.path.join(mine, "object"))
        os.chmod(os.path.join(mine, "object"), 0o044)
        for file in (os.path.join(mine, "object"), mine):
            os.chown(file, SOMEBODY, USERS)
        self.mount("rescan=1")
        self.answer()  # root's: nobody else gets in
        os.chmod(mine, 0o755)
        wait_until(lambda: os.stat(self.image(ID.hex())).st_mode & 0o004, "the rescan")
        self.assertEqual(self.answer(), OUTSIDE)

    def test_directory_closed_and_opened(self):
        """A directory's permissions count like the file's: fingerprints of the file alone say nothing of them."""
        path = self.secret("directory")
        daemon = self.mount("rescan=1")
        self.assertEqual(self.answer(), INSIDE)
        os.chmod(os.path.dirname(path), 0o700)
        wait_until(lambda: self.answer() == OUTSIDE, "the rescan")
        self.assertEqual(daemon.stop(), 0)
        self.mount("rescan=1")
        self.assertEqual(self.answer(), OUTSIDE)
        self.assertEqual(self.conversions(), 0)
        os.chmod(os.path.dirname(path), 0o755)
        wait_until(lambda: self.answer() == INSIDE, "the rescan")

    def test_swapped_directories(self):
        """Two directories change places all the time: that of the secret file is the one that is closed."""
        path = self.secret("closed")
        closed, open_one = os.path.dirname(path), os.path.join(self.source, "open")
        os.mkdir(open_one)
        splitfile.make_dwo(os.path.join(open_one, "secret.dwo"), 0, "public")
        os.chmod(closed, 0o700)
        self.mount("rescan=1")
        end = time.monotonic() + 3  # of the attempts
        swapping = threading.Thread(target=lambda: self.swap(closed, open_one, end))
        swapping.start()
        answers = set()
        while time.monotonic() < end:
            try:
                answers.add(self.answer())
            except OSError as error:  # replaced twice during one lookup of the path
                self.assertEqual(error.errno, errno.ESTALE)
            os.utime(self.object)  # convert again
            time.sleep(0.01)
        swapping.join()
        self.assertTrue(answers)
        self.assertNotIn(INSIDE, answers)

    def swap(self, a, b, end):
        aside = a + ".aside"
        while time.monotonic() < end:
            os.rename(a, aside)
            os.rename(b, a)
            os.rename(aside, b)

    # ---- Always again ----

    @unittest.skipUnless(is_root(), "needs another user")
    def test_what_the_daemon_may_not_read(self):
        """A daemon of another user notes such a file as what it is, not as missing, and does not convert for ever."""
        self.secret("", 0o600)
        for path in (self.dir, self.mnt, self.cache):
            os.chown(path, NOBODY, NOBODY)
        become = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        options = "rescan=1,cache_free=0,worker=%s,cache=%s" % (GSYM, self.cache)
        if not shutil.which("setpriv") or not shutil.which("fusermount3"):
            self.skipTest("setpriv and fusermount3 are needed")
        with open(self.log_path, "ab") as log:
            daemon = subprocess.Popen(become + [mount_harness.GSYMFS, "-f", "-o", options, self.source, self.mnt],
                                      stdout=log, stderr=log)
        self.processes.append(daemon)

        def look(name):
            return subprocess.run(become + ["cat", os.path.join(self.mnt, ID.hex(), name)], capture_output=True,
                                  timeout=LIMIT).stdout.decode()

        try:
            wait_until(lambda: daemon.poll() is not None or look("status"), "the mount")
            if daemon.poll() is not None:
                self.skipTest("a user without privileges cannot run it here")
            for _ in range(3):
                self.assertEqual(look(ADDRESS), OUTSIDE)
                scans = mount_harness.scans_in(look("../metrics"))
                wait_until(lambda scans=scans: mount_harness.scans_in(look("../metrics")) >= scans + 2, "two scans")
            self.assertIn("conversions\t1\n", look("status"))
        finally:
            daemon.terminate()
            daemon.wait(LIMIT)

    def test_link_that_becomes_a_file(self):
        path = self.secret()
        os.rename(path, path + ".aside")
        os.symlink("/nowhere/else", path)
        self.mount("rescan=1")
        self.assertEqual(self.answer(), OUTSIDE)
        os.rename(path + ".aside", path)
        wait_until(lambda: self.answer() == INSIDE, "the rescan")

    def test_other_directories_at_the_next_mount(self):
        self.secret()
        os.rename(os.path.join(self.source, "secret.dwo"), os.path.join(self.dir, "secret.dwo"))
        splitfile.make_skeletons(self.object, ID, [("secret.dwo", "")])
        daemon = self.mount("debug_dirs=")
        self.assertEqual(self.answer(), OUTSIDE)
        self.assertEqual(daemon.stop(), 0)
        self.mount("debug_dirs=" + self.dir)
        self.assertEqual(self.answer(), INSIDE)

    # ---- Growing ----

    def test_failures_that_ask_for_much(self):
        """Each of these fails and asked for some 16 MiB of paths: neither memory nor cache keep them all."""
        long = os.path.join(self.source, "d" * 200)
        names = [("%s%d/%s" % (long, i, "/".join("n" * 250 for _ in range(14))), "") for i in range(600)]
        ids = [bytes([i + 1]) * 20 for i in range(10)]
        for id in ids:
            splitfile.make_skeletons(os.path.join(self.source, id.hex()), id, names, symbol=False)
        daemon = self.mount("cache_size=16M", "rescan=0")
        for id in ids:
            self.assertErrno(errno.EIO, self.read, id.hex(), ADDRESS)
        kept = sum(os.path.getsize(os.path.join(self.cache, n)) for n in os.listdir(self.cache) if n.endswith(".failed"))
        self.assertLess(kept, 17 << 20)
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    mount_harness.main()
