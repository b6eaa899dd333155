#!/usr/bin/env python3
"""Digests of whole files, which a daemon makes in the background when its conversions are shared."""

import ctypes.util
import hashlib
import os
import re
import shutil
import sys
import time

import mount_harness
from mount_harness import SampleTest, build_id, contents, is_root, run, wait_until

MIB = 1 << 20
SETTLED = 3  # seconds after which a file that did not change is digested


def digest(path):
    return hashlib.blake2b(contents(path), digest_size=32).hexdigest()


class DigestTest(SampleTest):
    def setUp(self):
        super().setUp()
        if not ctypes.util.find_library("sodium"):
            self.skipTest("libsodium is not installed")
        self.shared = os.path.join(self.dir, "shared")
        os.mkdir(self.shared, 0o700)

    def mount_shared(self, *options, **kwargs):
        return self.mount("shared=" + self.shared, *options, **kwargs)

    def metric(self, name):
        """The sample of a metric, with its labels but for the mount's."""
        name, _, labels = name.partition("{")
        want = 'gsymfs_%s{mount="%s"%s} ' % (name, self.mnt, "," + labels[:-1] if labels else "")
        return next(int(line[len(want):]) for line in self.read("metrics").splitlines() if line.startswith(want))

    def made(self):
        return self.metric('digests_total{result="made"}')

    def bytes(self):
        return self.metric("digest_bytes_total")

    def root_status(self):
        return dict(line.split("\t", 1) for line in self.read("status").splitlines())

    def wait_digest(self, path, id=None, key="digest"):
        want = digest(path)
        wait_until(lambda: self.status(id or self.id).get(key) == want, "the digest of " + path)

    def wait_done(self):
        wait_until(lambda: self.root_status().get("digests_pending") == "0", "all digests")

    def wait_bytes(self, least):
        wait_until(lambda: self.bytes() >= least, "%d bytes of files" % least)

    def grow(self, path, size):
        """A hole at the end makes the file @size bytes."""
        os.truncate(path, size)
        return path

    def wait_digesting(self):
        """Until files are old enough, and after that for another scan."""
        old = os.stat(self.path).st_ctime + SETTLED
        wait_until(lambda: time.time() > old, "the file's age")
        self.add_file("text", data=b"text")
        self.wait_scans(1)

    def threads(self, daemon):
        tasks = "/proc/%d/task" % daemon.process.pid
        return {contents(os.path.join(tasks, task, "comm")).decode().strip() for task in os.listdir(tasks)}

    def test_kept(self):
        """They are those of the files, and the next mount knows them without reading."""
        debug = os.path.join(self.source, "debug")
        self.separate(debug)
        daemon = self.mount_shared()
        daemon.wait_scanned()
        self.wait_digest(debug)
        self.wait_digest(self.path, key="binary_digest")
        self.assertIn('"digest":"%s"' % digest(debug), self.read(self.id, "info.json").replace(" ", ""))
        self.wait_done()
        self.assertEqual(self.made(), 2)
        self.assertEqual(self.bytes(), os.path.getsize(debug) + os.path.getsize(self.path))
        daemon = self.remount(daemon, "shared=" + self.shared)
        self.wait_done()
        self.assertEqual(self.status(self.id)["digest"], digest(debug))
        self.assertEqual(self.status(self.id)["binary_digest"], digest(self.path))
        self.assertEqual((self.made(), self.bytes()), (0, 0))

    def test_only_for_shared(self):
        for options in ([], ["shared=" + self.shared, "digest_rate=0"]):
            daemon = self.mount(*options)
            self.wait_digesting()
            self.assertNotIn("digest", self.threads(daemon))
            self.assertEqual((self.made(), self.bytes()), (0, 0))
            self.assertNotIn("digests_pending", self.root_status())
            self.assertNotIn("digest", self.status(self.id))
            self.assertEqual(daemon.stop(), 0)

    def test_changed(self):
        self.mount_shared()
        self.wait_digest(self.path)
        first = self.made()
        with open(self.path, "ab") as file:
            file.write(b"more")
        self.wait_digest(self.path)
        self.assertEqual(self.made(), first + 1)
        os.unlink(self.path)
        self.path = self.compile_other("other")
        self.id = build_id(self.path)
        wait_until(lambda: self.errno_of(self.id) == 0, "the other image")
        self.wait_digest(self.path)

    def test_copies(self):
        """Only what stands for the image is read, once, whatever else is called so."""
        os.link(self.path, os.path.join(self.source, "link"))
        shutil.copyfile(self.path, os.path.join(self.source, "zcopy"))
        self.mount_shared()
        self.wait_digest(self.path)
        self.wait_done()
        self.assertEqual(self.bytes(), os.path.getsize(self.path))

    def check_change(self, change):
        self.grow(self.path, 20 * MIB)
        self.mount_shared("digest_rate=512K", "rescan=0", "watch=no")
        self.wait_bytes(1)
        change()
        wait_until(lambda: self.metric('digests_total{result="replaced"}') == 1, "that it is noticed")
        self.assertEqual(self.made(), 0)
        self.assertLess(self.bytes(), 20 * MIB)
        self.assertNotIn("digest", self.status(self.id))
        self.assertEqual(self.root_status()["digests_pending"], "1")

    def test_changed_while_it_is_read(self):
        """Neither the old content nor a mixture gets a digest."""
        def change():
            with open(self.path, "r+b") as file:
                file.seek(10 * MIB)
                file.write(b"changed")
        self.check_change(change)

    def test_replaced_while_it_is_read(self):
        other = self.grow(self.compile(where=self.dir), 20 * MIB)
        self.check_change(lambda: os.replace(other, self.path))

    def mount_young(self, ask, *files, options=(), **kwargs):
        """A mount where ask() was done before the files, in that order, became old enough to be digested."""
        for _ in range(5):
            for file in files:
                os.chmod(file, 0o644)
            daemon = self.mount_shared(*options, **kwargs)
            daemon.wait_scanned()
            ask()
            if time.time() < os.stat(files[0]).st_ctime + SETTLED - 1:
                return daemon
            self.assertEqual(daemon.stop(), 0)
        self.skipTest("this machine is too slow now")

    def test_asked_first(self):
        """The richest come first, but for those that something was asked of."""
        poor = self.compile("poor")
        run("strip", poor, "-o", poor + ".new")
        os.rename(poor + ".new", poor)
        poorest = os.path.join(self.source, "poorest")
        run("objcopy", "--only-section=.note.gnu.build-id", self.compile("away", where=self.dir), poorest)
        found = []
        for _ in range(5):  # they may become old enough between the looks at the one and at the other
            daemon = self.mount_young(lambda: self.status(build_id(poor)), poor, self.path, poorest, switches=["-d"])
            self.wait_done()
            found.append(re.findall(r"digest: '(\w+)': \d+ bytes", daemon.log())[:2])
            self.assertEqual(daemon.stop(), 0)
            if found[-1] == ["poor", "sample"]:
                return
        self.fail(found)

    def test_made_for_a_conversion(self):
        """What was read to name a conversion is not read again, not even after the next mount."""
        self.grow(self.path, 20 * MIB)
        daemon = self.mount_shared("digest_rate=32K")
        self.wait_bytes(1)  # the only thread that digests is busy for the next ten minutes
        other = self.compile_other("other")
        id = build_id(other)
        wait_until(lambda: self.errno_of(id) == 0, "the other image")
        old = os.stat(other).st_ctime + SETTLED
        wait_until(lambda: time.time() > old, "the file's age")
        self.read(id, "functions.tsv")
        self.assertEqual(self.status(id)["digest"], digest(other))
        self.assertEqual(self.made(), 0)
        self.remount(daemon, "shared=" + self.shared, "digest_rate=1K")
        self.assertEqual(self.status(id)["digest"], digest(other))
        self.assertEqual(self.made(), 0)

    def test_waits_for_conversions(self):
        gate = mount_harness.Gate(self)
        gate.shut()

        def ask():
            self.reader(self.id, self.address)
            gate.wait_started()

        self.mount_young(ask, self.path, options=["worker=" + gate.worker])
        wait_until(lambda: self.metric('thread_work_pending{role="digest"}') == 1, "a file without a digest")
        old = os.stat(self.path).st_ctime + SETTLED + 1
        wait_until(lambda: time.time() > old, "the file's age")
        self.assertEqual(self.bytes(), 0)
        gate.open()
        self.assertEqual(self.finish(self.processes[-1])[0], 0)
        self.wait_digest(self.path)

    @mount_harness.needs_large_files
    def test_ends_at_once(self):
        """A daemon ends although it would read for minutes."""
        self.grow(self.path, 20 << 30)
        daemon = self.mount_shared()
        self.wait_bytes(2 * MIB)
        self.assertEqual(daemon.stop(), 0)
        daemon = self.mount_shared("digest_rate=1K")  # a block in 17 minutes
        self.wait_bytes(MIB)
        self.assertEqual(daemon.stop(), 0)

    def test_a_fault(self):
        """A file that cannot be read is left alone; others are not."""
        flag = os.path.join(self.dir, "digest")
        env = self.preload("faults.c", '-DFAULTS="%s"' % self.dir)
        with open(flag, "w"):
            pass
        daemon = self.mount_shared(env=env)
        daemon.wait_scanned()
        wait_until(lambda: "digest: 'sample': cannot read: Input/output error" in daemon.log(), "the warning")
        self.assertEqual(self.metric('digests_total{result="failed"}'), 1)
        self.assertEqual(self.root_status()["state"], "complete")
        self.assertNotIn("digest", self.status(self.id))
        os.unlink(flag)
        self.address = self.find_address()
        self.assertLines()
        self.assertEqual(daemon.stop(), 0)
        self.mount_shared()
        self.wait_digest(self.path)

    def test_no_permission(self):
        if is_root():
            self.skipTest("root may read all files")
        self.mount_shared().wait_scanned()
        os.chmod(self.path, 0)
        self.wait_scans(1)
        self.assertNotIn("digest", self.status(self.id))
        os.chmod(self.path, 0o600)
        self.wait_digest(self.path)


if __name__ == "__main__":
    mount_harness.main()
