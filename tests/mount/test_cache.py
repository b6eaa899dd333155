#!/usr/bin/env python3
"""The cache directory: what survives, what is repaired, what is refused."""

import contextlib
import errno
import glob
import itertools
import os
import re
import resource
import shutil
import sys
import threading

import mount_harness
from mount_harness import GSYMFS, Gate, MountTest, run, wait_until


class CacheTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.address = next(hex(start) for start, _, name in self.functions(self.path) if name.endswith("normEv"))

    def cached(self, pattern="*.gsym"):
        return sorted(glob.glob(os.path.join(self.cache, pattern)))

    def answer(self, mnt=None):
        text = self.read(self.id, self.address, mnt=mnt)
        self.assertIn("geo::point::norm", text)
        return text

    def flip(self, path, offset):
        with open(path, "r+b") as file:
            file.seek(offset if offset >= 0 else os.path.getsize(path) + offset)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0x40]))

    def test_restart_reuses(self):
        daemon = self.mount()
        want = self.answer()
        inode = os.stat(self.cached()[0]).st_ino
        daemon = self.remount(daemon)
        self.assertEqual(self.answer(), want)
        self.assertEqual(self.conversions(), 0)
        daemon.wait_scanned()
        self.assertIn(" 0 opened", daemon.log())
        self.assertEqual(os.stat(self.cached()[0]).st_ino, inode)

    def test_listing_knows_what_is_cached(self):
        daemon = self.mount()
        size = os.stat(os.path.join(self.image(self.id), "image.gsym")).st_size
        self.remount(daemon).wait_scanned()
        with os.scandir(self.image(self.id)) as entries:
            sizes = {e.name: e.stat().st_size for e in entries}
        self.assertEqual(sizes["image.gsym"], size)
        self.assertEqual(self.status(self.id)["state"], "cold")

    def test_names_and_permissions(self):
        self.mount()
        self.answer()
        (path,) = self.cached()
        self.assertRegex(os.path.basename(path), "^%s-[0-9a-f]{40}\\.gsym$" % self.id)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        # GSYM readers take no notice of what we put behind.
        run(mount_harness.GSYM, "lookup", path, self.address)

    def test_another_key_for_a_copy(self):
        """Id, size and time can be had by any file: a copy with all of them gets an entry of its own."""
        daemon = self.mount()
        self.answer()
        self.assertEqual(daemon.stop(), 0)
        elsewhere = os.path.join(self.dir, "elsewhere")
        os.mkdir(elsewhere)
        run("cp", "-p", self.path, elsewhere)
        self.mount(source=elsewhere)
        self.answer()
        self.assertEqual(self.conversions(), 1)
        self.assertEqual(len(self.cached()), 2)

    def test_forged_file_does_not_reach_the_entry(self):
        """Another file under the id, size and time of the first, and under its name, is converted itself."""
        daemon = self.mount()
        self.answer()
        self.assertEqual(daemon.stop(), 0)
        before = os.stat(self.path)
        forged = os.path.join(self.dir, "forged")
        self.make_unconvertible(forged)
        note = mount_harness.contents(forged).replace(bytes.fromhex(mount_harness.build_id(forged)),
                                                      bytes.fromhex(self.id))
        self.assertLess(len(note), before.st_size)
        with open(forged, "wb") as file:
            file.write(note.ljust(before.st_size, b"\0"))
        os.utime(forged, ns=(before.st_mtime_ns, before.st_mtime_ns))
        os.rename(forged, self.path)
        self.mount()
        self.assertErrno(errno.EIO, self.read, self.id, self.address)
        self.assertEqual(self.conversions(), 1)
        self.assertEqual(len(self.cached()), 1)

    def test_failure_of_a_forged_file_is_its_own(self):
        """Nor does what fails under the id of a file keep that file from being served."""
        whole = mount_harness.contents(self.path)
        times = os.stat(self.path).st_mtime_ns
        self.test_forged_file_does_not_reach_the_entry()
        self.assertEqual(len(self.cached("*.failed")), 1)
        self.assertEqual(self.daemons[-1].stop(), 0)
        with open(self.path + ".new", "wb") as file:
            file.write(whole)
        os.utime(self.path + ".new", ns=(times, times))
        os.rename(self.path + ".new", self.path)
        self.mount()
        self.answer()

    def test_damaged_files_are_made_again(self):
        daemon = self.mount()
        want = self.answer()
        (path,) = self.cached()
        size = os.path.getsize(path)
        damages = [lambda: self.flip(path, 60), lambda: self.flip(path, size // 2), lambda: self.flip(path, -1),
                   lambda: self.flip(path, -30), lambda: os.truncate(path, 0), lambda: os.truncate(path, 17),
                   lambda: os.truncate(path, size - 1), lambda: os.truncate(path, size + 4096)]
        for damage in damages:
            self.assertEqual(daemon.stop(), 0)
            damage()
            daemon = self.mount()
            self.assertEqual(self.answer(), want)
            self.assertEqual(self.conversions(), 1)
            self.assertIn("deleted; it will be converted again", daemon.log())

    def test_intact_files_under_other_names(self):
        """An entry answers for the file that it was made of, and for no other, whatever its name says."""
        path = self.compile_other()
        other = mount_harness.build_id(path)
        daemon = self.mount()
        start = next(hex(start) for start, _, name in self.functions(path) if name.endswith("normEv"))
        want, its_answer = self.answer(), self.read(other, start)
        self.assertNotEqual(its_answer, want)
        self.assertEqual(daemon.stop(), 0)
        (mine,), (its,) = self.cached(self.id + "*"), self.cached(other + "*")
        self.swap(mine, its)
        daemon = self.mount()
        self.assertEqual((self.answer(), self.read(other, start)), (want, its_answer))
        self.assertEqual(self.conversions(), 2)
        self.assertEqual(daemon.log().count("under another name: deleted"), 2)
        daemon = self.remount(daemon)
        self.assertEqual((self.answer(), self.read(other, start), self.conversions()), (want, its_answer, 0))

    def swap(self, one, other):
        os.rename(one, one + ".aside")
        os.rename(other, one)
        os.rename(one + ".aside", other)

    def test_failures_under_other_names(self):
        """A failure that is another file's, or damaged, keeps no file from being converted."""
        paths = [os.path.join(self.source, name) for name in ("bad", "worse")]
        self.make_unconvertible(paths[0])
        self.make_unconvertible(paths[1], "const int more = 2;")
        ids = [mount_harness.build_id(path) for path in paths]
        daemon = self.mount()
        for id in ids:
            self.assertErrno(errno.EIO, self.read, id, "0x1000")
        (first,), (second,) = (self.cached(id + "*.failed") for id in ids)
        for spoil in (lambda: self.swap(first, second), lambda: [self.flip(path, 10) for path in (first, second)],
                      lambda: [os.truncate(path, 20) for path in (first, second)]):
            self.assertEqual(daemon.stop(), 0)
            spoil()
            daemon = self.mount()
            for id in ids:
                self.assertErrno(errno.EIO, self.read, id, "0x1000")
            self.assertEqual(self.conversions(), 2)
            self.assertEqual(daemon.log().count("the failure of another image"), 2)

    def test_file_cut_short_while_it_is_mapped(self):
        """Somebody truncates the cache under the daemon: errors for its readers, then it is made again."""
        daemon = self.mount()
        want = self.answer()
        (path,) = self.cached()
        with open(os.path.join(self.image(self.id), "image.gsym"), "rb") as opened:
            os.truncate(path, 0)
            self.assertErrno(errno.EIO, os.stat, os.path.join(self.image(self.id), "0x0" + self.address[2:]))
            with self.assertRaises(OSError):
                opened.read()
        self.assertEqual(self.read(self.id, "0x00" + self.address[2:]), want)
        self.assertEqual(self.read(self.id, self.address), want)
        self.assertEqual(self.status(self.id)["conversions"], "2")
        self.assertIsNone(daemon.process.poll())

    def test_file_cut_short_within_a_page(self):
        """What is left of the last page reads as zeros: no answer is made of them."""
        self.mount()
        want, digits = self.answer(), self.address[2:]
        log = "#0 0x%s (sample+0x%s) (BuildId: %s)\n" % (digits, digits, self.id)
        spellings = ("base/%#x/%#x" % (i << 12, (i << 12) + int(digits, 16)) for i in itertools.count(1))
        ways = [lambda: self.read(self.id, next(spellings)), lambda: self.read(self.id, next(spellings) + ".raw"),
                lambda: self.ask("log", log), lambda: self.ask("q", "%s %s\n" % (self.id, digits)),
                lambda: mount_harness.contents(os.path.join(self.image(self.id), "image.gsym")),
                lambda: self.read(self.id, "functions.tsv")]
        answers = [way() for way in ways]
        self.assertIn("norm", answers[2])
        size = os.path.getsize(self.cached()[0])
        for cut in range(8, size, size // 20):
            for way, answer in zip(ways, answers):
                os.truncate(self.cached()[0], size - cut)
                try:
                    self.assertEqual(way(), answer)
                except OSError as error:
                    self.assertEqual(error.errno, errno.EIO)
                try:
                    self.assertEqual(self.read(self.id, next(spellings)), want)
                except OSError as error:
                    self.assertEqual(error.errno, errno.EIO)
                self.assertEqual(way(), answer)
                self.assertEqual(self.read(self.id, next(spellings)), want)

    def ask(self, name, text):
        """What is read from a q or log after @text was written to it."""
        with open(os.path.join(self.mnt, name), "r+b", buffering=0) as file:
            file.write(text.encode())
            return mount_harness.read_all(file.fileno()).decode()

    def test_file_cut_short_is_made_again_for_readers_of_gsym(self):
        self.mount()
        self.answer()
        gsym = os.path.join(self.image(self.id), "image.gsym")
        os.truncate(self.cached()[0], 0)
        self.assertErrno(errno.EIO, mount_harness.contents, gsym)

        def begins():
            """The kernel answers a fault before the daemon knows of it, so that the next reader may meet it as well."""
            try:
                return mount_harness.contents(gsym)[:4]
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
                return None
        self.assertEqual(wait_until(begins, "a good file"), (0x4753594D).to_bytes(4, sys.byteorder))
        self.assertEqual(self.status(self.id)["conversions"], "2")

    def test_entry_that_is_no_file(self):
        daemon = self.mount()
        want = self.answer()
        (path,) = self.cached()
        target = os.path.join(self.dir, "target")
        os.mkdir(target)

        def directory():
            os.mkdir(path)
            with open(os.path.join(path, "kept"), "w"):
                pass

        for make in (lambda: os.symlink(target, path), lambda: os.symlink("/dev/zero", path), lambda: os.mkfifo(path),
                     directory):
            self.assertEqual(daemon.stop(), 0)
            os.unlink(path)
            make()
            daemon = self.mount()
            self.assertEqual(self.answer(), want)
            self.assertEqual(self.conversions(), 1)
            self.assertEqual(daemon.log().count("not a regular file"), 1)
            self.assertTrue(os.path.isfile(path))
        self.assertTrue(self.cached("*/kept"))
        self.assertTrue(os.path.isdir(target))

    def test_entry_that_cannot_be_moved_away(self):
        """A mount point under the entry's name: said once, then the image counts as failed, without a conversion."""
        if not mount_harness.is_root():
            self.skipTest("making a mount point needs root")
        daemon = self.mount()
        self.answer()
        (path,) = self.cached()
        self.assertEqual(daemon.stop(), 0)
        os.unlink(path)
        os.mkdir(path)
        if run("mount", "-t", "tmpfs", "-o", "size=64k", "none", path, check=False).returncode != 0:
            self.skipTest("tmpfs cannot be mounted here")
        daemon = self.mount()
        for _ in range(3):
            self.assertErrno(errno.EIO, self.read, self.id, self.address)
        self.assertEqual(daemon.log().count("cannot be moved away"), 1)
        status = self.status(self.id)
        self.assertEqual((status["state"], status["conversions"]), ("failed", "0"))

    def test_failures_are_remembered(self):
        bad = os.path.join(self.source, "bad")
        self.make_unconvertible(bad)
        id = mount_harness.build_id(bad)
        gate = Gate(self)
        daemon = self.mount("worker=" + gate.worker)
        for _ in range(3):
            self.assertErrno(errno.EIO, self.read, id, "0x1000")
        self.assertEqual(len(gate.started()), 1)
        status = self.status(id)
        self.assertEqual((status["state"], status["conversions"]), ("failed", "1"))
        self.assertTrue(status["reason"])
        self.assertEqual(len(self.cached("*.failed")), 1)
        daemon = self.remount(daemon, "worker=" + gate.worker)
        self.assertErrno(errno.EIO, self.read, id, "0x1000")
        self.assertEqual(len(gate.started()), 1)
        self.assertEqual(self.status(id)["reason"], status["reason"])
        self.answer()
        # Another time is another file: it is tried again.
        os.utime(bad, (1, 1))
        self.remount(daemon, "worker=" + gate.worker)
        self.assertErrno(errno.EIO, self.read, id, "0x1000")
        self.assertEqual(len(gate.started()), 3)

    def test_rewritten_during_its_conversion(self):
        """What a worker read of a file that changed meanwhile, size and mtime or not, is not published."""
        gate = Gate(self)
        gate.shut()
        daemon = self.mount("worker=" + gate.worker)
        reader = self.reader(self.id, self.address)
        gate.wait_started()
        before = os.stat(self.path)
        data = mount_harness.contents(self.path)
        with open(self.path, "r+b") as file:
            file.write(data)
        os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        gate.open()
        status, out, _ = self.finish(reader)
        self.assertEqual(status, 0)
        self.assertIn("geo::point::norm", out)
        self.assertEqual(len(gate.started()), 2)
        self.assertEqual(len(self.cached()), 1)
        self.assertEqual(daemon.log().count("converted '"), 1)
        # The queue may refuse it once more before a worker starts, until the scan has seen the new file.
        metrics = self.read("metrics")
        for result, count in (("ok", "1"), ("replaced", "[1-9]")):
            self.assertRegex(metrics, r'(?m)^gsymfs_conversions_total\{.*,result="%s"\} %s$' % (result, count))

    def test_limit_of_file_size(self):
        """A conversion that fits but for the trailer fails; SIGXFSZ does not end the daemon."""
        daemon = self.mount()
        size = os.stat(os.path.join(self.image(self.id), "image.gsym")).st_size
        self.assertEqual(daemon.stop(), 0)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 8, hard))
        try:
            daemon = self.mount(cache=os.path.join(self.dir, "small"), log=os.path.join(self.dir, "log-small"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        self.assertErrno(errno.EIO, self.read, self.id, self.address)
        self.assertIn(os.strerror(errno.EFBIG), self.status(self.id)["reason"])
        self.assertEqual(daemon.stop(), 0)

    def make_unconvertible(self, path, text="const int nothing = 1;"):
        """An ELF file with an id and nothing else to tell."""
        source = os.path.join(self.dir, "empty.c")
        with open(source, "w") as file:
            file.write(text + "\n")
        run(mount_harness.CC, "-shared", "-nostdlib", "-Wl,--build-id=sha1", "-s", source, "-o", path)

    def test_leftovers_are_removed(self):
        name = os.path.join(self.cache, ".tmp-12345-1")
        with open(name, "w") as file:
            file.write("half a file")
        self.mount()
        self.assertFalse(os.path.exists(name))

    def test_two_daemons_share_a_cache(self):
        other_mnt = os.path.join(self.dir, "mnt2")
        os.mkdir(other_mnt)
        self.mount()
        self.mount(mnt=other_mnt, log=self.log_path + "2")
        readers = [self.reader(self.id, "%016x" % (int(self.address, 16) + i % 4), mnt=mnt)
                   for i in range(20) for mnt in (self.mnt, other_mnt)]
        for reader in readers:
            self.assertEqual(self.finish(reader)[0], 0)
        self.assertEqual(self.answer(), self.answer(mnt=other_mnt))
        self.assertEqual(len(self.cached()), 1)
        for daemon in self.daemons:
            daemon.wait_scanned()  # which writes the index by way of a temporary file
        self.assertEqual(glob.glob(os.path.join(self.cache, ".tmp*")), [])

    def usage(self):
        """Bytes that the files of the cache take from the disk."""
        size = 0
        for path in self.cached("*"):
            with contextlib.suppress(FileNotFoundError):  # evicted since it was listed
                size += os.stat(path).st_blocks * 512
        return size

    def test_eviction_by_last_use(self):
        paths = [self.compile("evict%d" % i) for i in range(6)]
        ids = [mount_harness.build_id(p) for p in paths]
        daemon = self.mount()
        for id in ids:
            os.stat(os.path.join(self.image(id), "image.gsym"))
        for age, id in enumerate(ids):
            for path in self.cached(id + "*"):
                os.utime(path, (0, 1000000000 + age))
        limit = self.usage()
        self.remount(daemon, "cache_size=%d" % limit)
        self.daemons[-1].wait_scanned()
        # The first is used again; another image makes the cache grow over its limit.
        mount_harness.contents(os.path.join(self.image(ids[0]), "image.gsym"))
        self.answer()
        left = [id for id in ids if self.cached(id + "*")]
        self.assertIn(ids[0], left)
        self.assertNotIn(ids[1], left)
        self.assertIn(ids[5], left)
        self.assertLessEqual(self.usage(), limit)
        os.stat(os.path.join(self.image(ids[1]), "image.gsym"))

    def fill(self, count):
        """Mounts, converts @count more images, and gives their ids."""
        ids = [mount_harness.build_id(self.compile("fill%d" % i)) for i in range(count)]
        daemon = self.mount()
        for id in ids:
            os.stat(os.path.join(self.image(id), "image.gsym"))
        return daemon, ids

    def test_eviction_at_the_start(self):
        """A smaller limit than before counts at once, and everything of ours counts."""
        daemon, ids = self.fill(4)
        self.assertEqual(daemon.stop(), 0)
        limit = self.usage() - 1
        self.mount("cache_size=%d" % limit)
        wait_until(lambda: len(self.cached()) < len(ids), "the eviction")
        self.assertGreater(len(self.cached()), 0)
        self.assertEqual(len(self.cached("index-*")), 1)

    def test_eviction_of_what_others_added(self):
        """A daemon that shares the directory and adds nothing itself keeps it within the limit."""
        other_mnt = os.path.join(self.dir, "mnt2")
        os.mkdir(other_mnt)
        other = self.mount("rescan=1", "cache_size=16K", mnt=other_mnt, log=self.log_path + "2")
        other.wait_scanned()
        self.fill(4)
        wait_until(lambda: "evicted" in other.log(), "the eviction")
        wait_until(lambda: self.usage() <= 16 << 10, "the limit")

    def test_evicted_by_others_is_closed(self):
        """As long as a file is mapped its space is not free. An event tells; without events, the next scan."""
        for options in (["rescan=0"], ["rescan=1", "watch=no"]):
            daemon = self.mount(*options)
            self.answer()
            mapped = "/proc/%d/maps" % daemon.process.pid
            self.assertIn(self.cached()[0], mount_harness.contents(mapped).decode())
            for path in self.cached():
                os.unlink(path)
            wait_until(lambda: self.cache not in mount_harness.contents(mapped).decode(), "the mapping to go")
            self.answer()
            daemon.stop()

    def alternating(self, count):
        """Mounts with a cache for one image, and gives the ids of @count images and an address of all."""
        paths = [self.compile("alternate%d" % i) for i in range(count)]
        start = next(start for start, end, name in self.functions(paths[0]) if name.endswith("norm") or "norm" in name)
        self.mount("cache_size=4K", "jobs=2").wait_scanned()
        return [mount_harness.build_id(path) for path in paths], start

    def test_lines_that_alternate_among_evicted_images(self):
        """In a q, an image is converted when its first line needs it, and ahead of need, but not for every line."""
        ids, address = self.alternating(6)
        text = self.ask("q", "".join("%s %x\n" % (ids[i * i % 6 if i % 2 else i % 6], address) for i in range(600)))
        self.assertEqual(text.count("norm"), 600, text[:1000])
        self.assertNotIn("??", text)
        self.assertLessEqual(self.conversions(), 12)

    def test_stack_of_evicted_images(self):
        """
        A stack needs all its images at once, also if the cache holds fewer. Of what was converted since the log looked
        last, only the newest file may be left: 6 + 5 + ... + 1 conversions, and more if that is evicted as it looks.
        """
        ids, address = self.alternating(6)
        lines = "".join("    #%d 0x%x  (/bin/alternate%d+0x%x) (BuildId: %s)\n" % (i, address, i % 6, address, ids[i % 6])
                        for i in range(60))
        text = self.ask("log", lines)
        self.assertEqual(text.count("norm"), 60, text[:1000])
        self.assertLessEqual(self.conversions(), 30)

    def test_bytes_are_those_of_the_disk(self):
        """A file takes whole blocks, however short it is."""
        daemon, _ = self.fill(3)
        self.remount(daemon).wait_scanned()
        count = re.search(r"(?m)^gsymfs_cache_bytes\S* (\d+)$", self.read("metrics"))
        self.assertEqual(int(count[1]), self.usage())

    def small_disk(self, size):
        """A file system of its own for the cache, which needs root."""
        if not mount_harness.is_root():
            self.skipTest("a small file system needs root to mount")
        if run("mount", "-t", "tmpfs", "-o", "size=%d,mode=700" % size, "none", self.cache, check=False).returncode:
            self.skipTest("tmpfs cannot be mounted here")

    def free_bytes(self):
        disk = os.statvfs(self.cache)
        return disk.f_bavail * disk.f_frsize

    def test_evicted_at_once(self):
        """A file that another daemon evicts as soon as it is there has its answer."""
        paths = [self.compile("gone%d" % i) for i in range(16)]
        self.mount()
        stop = threading.Event()

        def evict():
            while not stop.is_set():
                for path in self.cached():
                    os.unlink(path)

        thread = threading.Thread(target=evict)
        thread.start()
        try:
            for path in paths:
                self.assertIn("geo::point::norm", self.read(mount_harness.build_id(path), self.address))
        finally:
            stop.set()
            thread.join()

    def test_space_is_left_free(self):
        """Whatever fills the disk, the cache gives way, but for the file that was asked for last."""
        self.small_disk(1 << 20)
        spare = (1 << 20) - (24 << 10)
        ids = [mount_harness.build_id(self.compile("fill%d" % i)) for i in range(9)]
        daemon = self.mount("cache_free=%d" % spare)
        daemon.wait_scanned()  # its index takes space, too
        for id in ids:
            os.stat(os.path.join(self.image(id), "image.gsym"))
            self.assertGreaterEqual(self.free_bytes(), spare)
            self.assertTrue(self.cached(id + "*"))
        self.assertIn("evicted", daemon.log())
        self.assertGreater(len(self.cached()), 1)
        with open(os.path.join(self.cache, "of another program"), "wb") as file:
            file.write(bytes(12 << 10))
        os.stat(os.path.join(self.image(ids[0]), "image.gsym"))
        self.remount(daemon, "cache_free=0")
        for id in ids:
            os.stat(os.path.join(self.image(id), "image.gsym"))
        self.assertEqual(len(self.cached()), len(ids))

    def test_index_takes_space_that_is_left_free(self):
        """The scan whose index has grown evicts for it; no later scan or conversion has to."""
        self.small_disk(1 << 20)
        spare = (1 << 20) - (24 << 10)
        daemon = self.mount("cache_free=%d" % spare)
        os.stat(os.path.join(self.image(self.id), "image.gsym"))
        self.assertTrue(self.cached())
        many = os.path.join(self.source, "many")
        os.mkdir(many)
        for i in range(300):
            shutil.copy(os.path.join(self.source, "sample"), os.path.join(many, "%d" % i))
        daemon = self.remount(daemon, "cache_free=%d" % spare)
        daemon.wait_scanned()
        self.assertLess(self.free_bytes(), spare)
        self.assertEqual(self.cached(), [])

    def test_what_is_open_stays_readable(self):
        """Eviction unlinks; a reader keeps what it reads."""
        daemon, ids = self.fill(2)
        with open(os.path.join(self.image(ids[0]), "image.gsym"), "rb") as file:
            start = file.read(100)
            other_mnt = os.path.join(self.dir, "mnt2")
            os.mkdir(other_mnt)
            self.mount("cache_size=1", mnt=other_mnt, log=self.log_path + "2")
            wait_until(lambda: not self.cached(), "the eviction")
            file.seek(0)
            self.assertEqual(file.read(100), start)
            self.assertGreater(len(file.read()), 100)
        with open(os.path.join(self.image(ids[0]), "image.gsym"), "rb") as file:
            self.assertEqual(file.read(100), start)

    def test_files_of_others_stay(self):
        """The user's own files in the directory are neither evicted nor taken for leftovers."""
        names = ["mine.gsym", "notes.failed", ".tmp-mine", ".tmp-1-2.txt", self.id + ".gsym", "1234-abcd.gsym",
                 "Notes-" + 32 * "0" + ".gsym", self.id + "-" + 32 * "0" + ".gsym.bak"]
        for name in names:
            with open(os.path.join(self.cache, name), "w") as file:
                file.write("mine" * 1000)
        os.mkdir(os.path.join(self.cache, "d-" + 32 * "0" + ".gsym"))
        self.compile("other")
        self.mount("cache_size=1")
        self.answer()
        os.stat(os.path.join(self.image(mount_harness.build_id(os.path.join(self.source, "other"))), "image.gsym"))
        self.assertEqual(self.cached(self.id + "-*.gsym"), [])
        self.assertEqual([n for n in names if not os.path.exists(os.path.join(self.cache, n))], [])

    def test_full_disk(self):
        small = self.cache
        self.small_disk(256 << 10)
        daemon = self.mount("rescan=1")
        daemon.wait_scanned()
        filler = os.path.join(small, "filler")
        with open(filler, "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while True:
                    file.write(b"x" * 4096)
        want = self.answer()
        for _ in range(20):
            self.assertEqual(self.answer(), want)
        self.assertEqual(self.conversions(), 1)
        self.assertEqual(daemon.log().count("make room"), 1)
        self.assertEqual([n for n in os.listdir(small) if n.endswith((".gsym", ".failed")) or n.startswith(".tmp")], [])
        os.unlink(filler)
        wait_until(lambda: self.cached(), "the file in the cache")
        self.assertEqual(self.answer(), want)
        self.assertEqual(self.conversions(), 1)
        daemon = self.remount(daemon)
        self.assertEqual(self.answer(), want)
        self.assertEqual(self.conversions(), 0)

    def test_too_large_for_the_room(self):
        """Only what does not fit is kept in memory, however often it is tried to be written."""
        self.small_disk(128 << 10)
        source = os.path.join(self.dir, "large.c")
        with open(source, "w") as file:
            for i in range(600):
                file.write("int %s_%d(int x) { return x + %d; }\n" % ("long" * 60, i, i))
        id = mount_harness.build_id(self.compile("large", source=source))
        daemon = self.mount("rescan=1", "cache_free=0")
        daemon.wait_scanned()
        self.assertGreater(os.stat(os.path.join(self.image(id), "image.gsym")).st_size, 128 << 10)
        self.wait_scans()
        self.answer()
        self.assertTrue(self.cached(self.id + "*"))
        self.assertNotIn("kept in memory", daemon.log())

    def test_read_only_cache(self):
        """Answers come from memory, and nothing is converted for each of them."""
        self.small_disk(256 << 10)
        daemon = self.mount("rescan=1")
        daemon.wait_scanned()
        run("mount", "-o", "remount,ro", self.cache)
        want = self.answer()
        for _ in range(20):
            self.assertEqual(self.answer(), want)
        self.assertEqual(self.conversions(), 1)
        self.assertEqual(daemon.log().count("kept in memory"), 1)
        run("mount", "-o", "remount,rw", self.cache)
        wait_until(lambda: self.cached(), "the file in the cache")
        wait_until(lambda: "can be written to again" in daemon.log(), "the message")
        self.assertEqual(daemon.log().count("can be written to again"), 1)
        self.assertEqual(self.answer(), want)

    def test_directories_of_others_are_refused(self):
        for mode in (0o777, 0o720, 0o702):
            os.chmod(self.cache, mode)
            done = run(GSYMFS, "-f", "-o", "cache=%s,worker=%s" % (self.cache, mount_harness.GSYM), self.source, self.mnt,
                       check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"writable by others", done.stderr)

    def remove_cache(self):
        """True if it is removed; the daemon may be writing its index there."""
        shutil.rmtree(self.cache, ignore_errors=True)
        return not os.path.exists(self.cache)

    def test_directory_removed_while_running(self):
        """It is made again, as at the start, and what is open stays so."""
        daemon = self.mount("rescan=1")
        want, mode = self.answer(), os.stat(self.cache).st_mode
        for i in range(2):
            wait_until(self.remove_cache, "the end of the directory")
            other = self.compile_other("other%d" % i)
            id = mount_harness.build_id(other)
            wait_until(lambda id=id: os.path.exists(os.path.join(self.image(id), "image.gsym")), "another image")
            self.assertEqual(len(self.cached(id + "-*.gsym")), 1)
            self.assertEqual(os.stat(self.cache).st_mode, mode)
            self.assertEqual(self.read(self.id, "0x0" + self.address[2:]), want)
            os.unlink(other)
        self.assertIn("was removed: made it again", daemon.log())
        self.assertEqual(self.remount(daemon).stop(), 0)

    def test_damaged_index(self):
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertEqual(daemon.stop(), 0)
        (index,) = self.cached("index-*")
        size = os.path.getsize(index)

        def enlarge():
            mount_harness.skip_if_files_are_limited(self)
            os.truncate(index, 3 << 29)

        for name, damage in (("flipped", lambda: self.flip(index, 30)), ("halved", lambda: os.truncate(index, size // 2)),
                             ("empty", lambda: os.truncate(index, 0)), ("too large", enlarge)):
            with self.subTest(name):
                damage()
                daemon = self.mount()
                daemon.wait_scanned()
                self.assertIn("damaged", daemon.log())
                self.assertIn(" 1 opened", daemon.log())
                self.answer()
                self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    mount_harness.main()
