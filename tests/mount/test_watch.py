#!/usr/bin/env python3
"""What changes in SOURCE shows at once, without anybody walking over it now and then (rescan=0)."""

import ctypes
import os
import shutil
import signal
import tempfile
import time

import mount_harness
from mount_harness import Gate, MountTest, checked, contents, run, tool, wait_until

AT_FDCWD, AT_SYMLINK_FOLLOW = -100, 0x400  # linux/fcntl.h
ADDRESS = "0x%x"


def link_named(fd, path):
    """linkat(2) of an open file; os.link() does not follow links."""
    libc = ctypes.CDLL(None, use_errno=True)
    checked(libc.linkat(AT_FDCWD, b"/proc/self/fd/%d" % fd, AT_FDCWD, path.encode(), AT_SYMLINK_FOLLOW))


class WatchTest(MountTest):
    @classmethod
    def setUpClass(cls):
        cls.once = tempfile.TemporaryDirectory(prefix="gsymfs-test-")
        cls.addClassCleanup(cls.once.cleanup)
        cls.sample = os.path.join(cls.once.name, "sample")
        run(mount_harness.CXX, "-g", "-O2", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-DNAME=sample",
            os.path.join(mount_harness.HERE, "sample.cpp"), "-o", cls.sample)
        cls.id = mount_harness.build_id(cls.sample)
        cls.bytes = contents(cls.sample)
        cls.at = cls.bytes.find(bytes.fromhex(cls.id))

    def setUp(self):
        super().setUp()
        self.made = 0

    def add(self, *where):
        """A new image in SOURCE; its id."""
        self.made += 1
        id = b"%020d" % self.made
        with open(os.path.join(self.source, *where), "wb") as file:
            file.write(self.bytes[:self.at] + id + self.bytes[self.at + 20:])
        return id.hex()

    def watching(self, *options, **kwargs):
        daemon = self.mount("rescan=0", *options, **kwargs)
        daemon.wait_scanned()
        return daemon

    def assertShows(self, *ids):
        wait_until(lambda: all(os.path.exists(self.image(id)) for id in ids), "the new image")

    def assertGone(self, *ids):
        wait_until(lambda: not any(os.path.exists(self.image(id)) for id in ids), "the end of the image")

    def passes(self, daemon):
        return daemon.log().count(" files in ")

    def looks(self, daemon):
        return daemon.log().count(" changed names")

    def scans(self):
        """Scans by how they ended, and the files they met."""
        with open(os.path.join(self.mnt, "metrics")) as file:
            lines = dict(line.rsplit(" ", 1) for line in file if not line.startswith("#"))
        words = {word: int(lines['gsymfs_scans_total{mount="%s",result="%s"}' % (self.mnt, word)]) for word in ("complete", "incomplete", "partial")}
        return dict(words, files=int(lines['gsymfs_scanned_files_total{mount="%s"}' % self.mnt]))

    def assertFewWalks(self, walks, begin):
        """However often something changes, a second lies between two walks."""
        self.assertLessEqual(walks, time.monotonic() - begin + 2)

    def names(self):
        return set(os.listdir(os.path.join(self.mnt, "by-name")))

    # ---- What may change ----

    def test_files_come_change_and_go(self):
        self.add("old")
        self.watching()
        a = self.add("a")
        self.assertShows(a)
        self.assertIn("state", self.status(a))
        self.made += 10
        b = self.add("a")
        self.assertShows(b)
        self.assertGone(a)
        c = self.add("new")
        os.rename(os.path.join(self.source, "new"), os.path.join(self.source, "a"))
        self.assertShows(c)
        self.assertGone(b)
        os.unlink(os.path.join(self.source, "a"))
        self.assertGone(c)
        self.assertEqual(self.names(), {"old"})

    def test_names_come_and_go(self):
        """In by-name and by-path, also for who has just looked."""
        id = self.add("old")
        self.watching()
        kinds = [os.path.join(self.mnt, kind) for kind in ("by-name/%s/" + id, "by-path/%s")]
        for old, new in (("old", "new"), ("new", "old"), ("old", "third")):
            self.assertTrue(all(os.path.exists(kind % old) for kind in kinds))
            self.assertFalse(any(os.path.exists(kind % new) for kind in kinds))
            os.rename(os.path.join(self.source, old), os.path.join(self.source, new))
            wait_until(lambda: all(os.path.exists(kind % new) for kind in kinds), "the new name")
            wait_until(lambda: not any(os.path.lexists(kind % old) for kind in kinds), "the end of the old one")

    def test_spellings_of_ids_come_and_go(self):
        """A beginning of an id, for who has just looked, of a file that becomes another one."""
        old = self.add("file")
        self.watching()
        spellings = [self.image(spelling) for spelling in (old[:8], old[:2] + "/" + old[2:])]
        self.assertTrue(all(os.path.exists(path) for path in spellings))
        new = self.add("file")
        self.assertEqual(old[:8], new[:8])

        def target():
            try:
                return os.readlink(self.image(old[:8]))
            except FileNotFoundError:  # both are there for a moment
                return None
        wait_until(lambda: target() == new, "the new image")
        wait_until(lambda: not os.path.lexists(spellings[1]), "the end of the old one")
        self.add("other")
        wait_until(lambda: not os.path.lexists(spellings[0]), "two images that begin so")

    def test_directories_come_move_and_go(self):
        self.watching()
        os.makedirs(os.path.join(self.source, "a/b/c/d"))
        deep = self.add("a/b/c/d/deep")
        self.assertShows(deep)
        os.rename(os.path.join(self.source, "a"), os.path.join(self.source, "z"))
        wait_until(lambda: "/z/b/c/d/deep" in self.status(deep)["source"], "its new path")
        more = self.add("z/b/c/more")
        self.assertShows(more)
        away = os.path.join(self.dir, "away")
        os.rename(os.path.join(self.source, "z"), away)
        self.assertGone(deep, more)
        os.rename(away, os.path.join(self.source, "back"))
        self.assertShows(deep, more)
        shutil.rmtree(os.path.join(self.source, "back"))
        self.assertGone(deep, more)

    def test_trees_made_while_they_are_watched(self):
        """Directories that get files before anybody can watch them."""
        self.watching()
        ids = []
        for i in range(40):
            path = os.path.join("t%d" % i, *"abcdef")
            os.makedirs(os.path.join(self.source, path))
            ids.append(self.add(path, "file%d" % i))
        self.assertShows(*ids)

    def test_links(self):
        here = os.path.join(self.source, "here")
        self.add("here")
        self.watching()
        os.symlink("here", os.path.join(self.source, "soft"))
        wait_until(lambda: self.names() == {"here", "soft"}, "the name of the link")
        os.link(here, os.path.join(self.source, "hard"))
        wait_until(lambda: self.names() == {"here", "soft", "hard"}, "the other name")

    def test_permissions(self):
        os.mkdir(os.path.join(self.source, "d"))
        id = self.add("d/file")
        os.chmod(os.path.join(self.source, "d", "file"), 0o644)
        self.watching()
        self.assertEqual(os.stat(self.image(id)).st_mode & 0o777, 0o555)
        os.chmod(os.path.join(self.source, "d"), 0o700)
        wait_until(lambda: os.stat(self.image(id)).st_mode & 0o777 == 0o500, "the directory's mode")
        os.chmod(os.path.join(self.source, "d"), 0o755)
        os.chmod(os.path.join(self.source, "d", "file"), 0o640)
        wait_until(lambda: os.stat(self.image(id)).st_mode & 0o777 == 0o550, "the file's mode")

    def test_a_thousand_files(self):
        daemon = self.watching("debug")
        begin = time.monotonic()
        ids = [self.add("file%d" % i) for i in range(1000)]
        wait_until(lambda: len(self.ids()) == 1000, "all of them")
        self.assertShows(ids[0], ids[-1])
        self.assertFewWalks(self.passes(daemon) - 1, begin)

    def test_a_file_that_is_being_written(self):
        """It hides nothing else, and is looked at once it is closed."""
        self.add("old")
        daemon = self.watching("debug")
        before = self.passes(daemon)
        with open(os.path.join(self.source, "begun"), "wb") as file:
            file.write(self.bytes[:2000])
            file.flush()
            time.sleep(0.5)  # in which nothing is to happen
            self.assertEqual(self.passes(daemon), before)
            other = self.add("other")
            self.assertShows(other)
            file.write(self.bytes[2000:])
        self.assertShows(self.id)

    def test_a_file_that_had_no_name(self):
        """Written in another directory with O_TMPFILE: the kernel tells only of its name, never that it was closed."""
        self.watching()
        self.made += 1
        try:
            fd = os.open(self.dir, os.O_TMPFILE | os.O_RDWR)
        except OSError as error:
            self.skipTest("O_TMPFILE: %s" % error)
        os.write(fd, self.bytes)
        time.sleep(0.05)  # the name comes later than what the daemon may have seen of the content
        link_named(fd, os.path.join(self.source, "named"))
        os.close(fd)
        self.assertShows(self.id)

    def test_debug_file_installed_later(self):
        objcopy = tool("objcopy", "llvm-objcopy", "llvm-objcopy-14")
        if not objcopy:
            self.skipTest("objcopy is not installed")
        debug = os.path.join(self.dir, "debug")
        os.mkdir(debug)
        run(objcopy, "--strip-debug", self.sample, os.path.join(self.source, "stripped"))
        start = next(start for start, _, name in self.functions(self.sample) if "norm" in name)
        self.watching("debug_dirs=" + debug)
        self.assertIn("??:0", self.read(self.id, ADDRESS % start))
        place = os.path.join(debug, ".build-id", self.id[:2])
        os.makedirs(place)
        shutil.copy2(self.sample, os.path.join(place, self.id[2:] + ".debug"))
        wait_until(lambda: "sample.cpp" in self.read(self.id, ADDRESS % start), "the lines")

    def test_only_what_is_named_is_looked_at(self):
        for i in range(30):
            self.add("old%d" % i)
        os.mkdir(os.path.join(self.source, "sub"))
        self.watching()
        begin = self.scans()
        self.assertGreaterEqual(begin["files"], 30)

        def look(expected):
            """A look that met so many files, and no walk over all."""
            nonlocal begin
            now = wait_until(lambda: [s for s in [self.scans()] if s["partial"] > begin["partial"]], "the end of the look")[0]
            self.assertEqual(now["files"] - begin["files"], expected)
            self.assertEqual((now["complete"], now["incomplete"]), (begin["complete"], begin["incomplete"]))
            begin = now

        aside = os.path.join(self.dir, "aside")
        new = self.add(aside)
        os.rename(aside, os.path.join(self.source, "sub", "new"))
        self.assertShows(new)
        look(1)
        self.assertTrue(os.path.exists(os.path.join(self.mnt, "by-path", "sub", "new")))
        os.rename(os.path.join(self.source, "sub", "new"), os.path.join(self.source, "moved"))
        wait_until(lambda: "/moved" in self.status(new)["source"], "its new path")
        look(1)
        wait_until(lambda: not os.path.lexists(os.path.join(self.mnt, "by-path", "sub")), "the end of its directory")
        other = self.add(aside)
        os.rename(aside, os.path.join(self.source, "moved"))
        self.assertShows(other)
        self.assertGone(new)
        look(1)
        os.unlink(os.path.join(self.source, "moved"))
        self.assertGone(other)
        look(0)
        self.assertNotIn("moved", self.names())
        os.symlink("old1", os.path.join(self.source, "soft"))
        wait_until(lambda: "soft" in self.names(), "the name of the link")
        look(0)
        tree = os.path.join(self.dir, "tree")
        os.makedirs(os.path.join(tree, "a", "b"))
        ids = [self.add(os.path.join(tree, "a", "b", name)) for name in "cd"]
        os.rename(tree, os.path.join(self.source, "tree"))
        self.assertShows(*ids)
        look(2)
        os.rename(os.path.join(self.source, "tree", "a"), os.path.join(self.source, "a"))
        wait_until(lambda: all("/source/a/b/" in self.status(id)["source"] for id in ids), "their new paths")
        look(2)
        self.assertFalse(os.path.lexists(os.path.join(self.mnt, "by-path", "tree")))
        late = self.add("a/b/late")
        self.assertShows(late)
        look(1)
        os.rename(os.path.join(self.source, "a"), os.path.join(self.dir, "gone"))
        self.assertGone(late, *ids)
        look(0)
        self.assertEqual(self.names() & {"c", "d", "late"}, set())

    def test_times_of_directories_follow(self):
        """Without a walk, also when what came or went is no image."""
        os.mkdir(os.path.join(self.source, "sub"))
        self.add("sub/one")
        self.watching()
        paths = [os.path.join(top, "sub") for top in (self.source, os.path.join(self.mnt, "by-path"))]
        same = lambda: len({os.stat(path).st_mtime_ns for path in paths}) == 1
        wait_until(same, "the time")
        for change in (lambda: self.add("sub/two"), lambda: os.mkdir(paths[0] + "/empty"), lambda: os.rmdir(paths[0] + "/empty"),
                       lambda: os.unlink(paths[0] + "/two"), lambda: os.utime(paths[0], (1, 1))):
            change()
            wait_until(same, "the time after a change")

    def test_a_file_with_several_paths(self):
        """What events say of one path concerns the others, too: a walk finds out."""
        id = self.add("one")
        self.watching()
        os.link(os.path.join(self.source, "one"), os.path.join(self.source, "two"))
        wait_until(lambda: "two" in self.names(), "the other name")
        os.unlink(os.path.join(self.source, "one"))
        wait_until(lambda: self.names() == {"two"}, "the end of the name")
        wait_until(lambda: "/two" in self.status(id)["source"], "the path that is left")
        os.unlink(os.path.join(self.source, "two"))
        self.assertGone(id)
        self.add("real")
        os.symlink("real", os.path.join(self.source, "soft"))
        wait_until(lambda: self.names() == {"real", "soft"}, "the name of the link")
        os.unlink(os.path.join(self.source, "real"))
        wait_until(lambda: self.names() == set(), "the end of both names")

    # ---- What it costs, and what if it cannot be had ----

    def test_overflow(self):
        """More events than the kernel keeps, while nobody takes them."""
        with open("/proc/sys/fs/inotify/max_queued_events") as limit:
            most = int(limit.read())
        if most > 100000:
            self.skipTest("fs.inotify.max_queued_events is %d: too many to overflow" % most)
        daemon = self.watching()
        daemon.process.send_signal(signal.SIGSTOP)
        a, b = os.path.join(self.source, "a"), os.path.join(self.source, "b")
        with open(a, "w"):
            pass
        for _ in range(most // 4 + 10):
            os.rename(a, b)
            os.rename(b, a)
        new = self.add("new")
        daemon.process.send_signal(signal.SIGCONT)
        self.assertShows(new)

    def spent(self, daemon):
        """Seconds of processor time of the daemon and of its workers that have ended."""
        with open("/proc/%d/stat" % daemon.process.pid) as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return sum(int(n) for n in fields[11:15]) / os.sysconf("SC_CLK_TCK")

    def test_somebody_changes_files_all_the_time(self):
        for i in range(30):
            os.mkdir(os.path.join(self.source, "d%d" % i))
            for k in range(20):
                with open(os.path.join(self.source, "d%d/%d" % (i, k)), "w") as file:
                    file.write("text")
        self.add("image")
        daemon = self.watching("debug")
        begin, changed = time.monotonic(), 0
        before, looks, walks = self.spent(daemon), self.looks(daemon), self.passes(daemon)

        def seen():  # by a walk if the kernel had to drop events
            return self.looks(daemon) - looks + self.passes(daemon) - walks

        while time.monotonic() < begin + 2 or (not seen() and time.monotonic() < begin + mount_harness.LIMIT):
            for k in range(20):
                os.utime(os.path.join(self.source, "d%d/%d" % (changed % 30, k)))
            changed += 1
        used, took = self.spent(daemon) - before, time.monotonic() - begin
        print("%d files touched in %.1f s: %d scans, %.2f s of processor time" % (changed * 20, took, seen(), used))
        self.assertGreaterEqual(seen(), 1)
        self.assertFewWalks(self.passes(daemon) - walks, begin)
        if os.environ.get("BUILD_KIND") != "sanitize":
            self.assertLess(used, took / 2)
        new = self.add("new")
        self.assertShows(new)

    def short(self, watches):
        """An environment in which so many directories can be watched."""
        return self.preload("short_watch.c", "-DWATCHES=%d" % watches)

    def test_not_enough_watches(self):
        for name in "abcdef":
            os.mkdir(os.path.join(self.source, name))
        daemon = self.mount("rescan=2", "debug_dirs=", env=self.short(3))
        daemon.wait_scanned()
        self.assertShows(*[self.add(name, "file") for name in "abcdef"])
        log = daemon.log()
        self.assertEqual(log.count("max_user_watches"), 1, log)
        self.assertIn("only 3 directories", log)

    def test_no_inotify(self):
        daemon = self.mount("rescan=1", env=self.short(0))
        daemon.wait_scanned()
        self.assertShows(self.add("file"))
        self.assertEqual(daemon.log().count("max_user_instances"), 1, daemon.log())

    def test_switched_off(self):
        daemon = self.watching("watch=no", "debug")
        self.add("file")
        time.sleep(1.5)  # in which nothing is to happen
        self.assertEqual(self.passes(daemon), 1)
        self.assertEqual(self.ids(), set())

    def inotify_fds(self, pid):
        found = []
        for fd in os.listdir("/proc/%d/fd" % pid):
            try:
                found.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
            except FileNotFoundError:
                pass
        return [path for path in found if "inotify" in path]

    def test_workers_do_not_have_the_descriptor(self):
        gate = Gate(self)
        gate.shut()
        id = self.add("file")
        daemon = self.watching("worker=" + gate.worker)
        self.assertEqual(len(self.inotify_fds(daemon.process.pid)), 1)
        reader = self.reader(id, "0x1000")
        (worker,) = gate.wait_started()
        self.assertEqual(self.inotify_fds(worker), [])
        gate.open()
        self.finish(reader)

    def test_the_cache_in_the_source(self):
        """What the daemon writes there is no reason to walk again."""
        cache = os.path.join(self.source, "cache")
        os.mkdir(cache, 0o700)
        id = self.add("file")
        daemon = self.watching("debug", cache=cache)
        run("cat", self.image(id) + "/image.gsym")
        time.sleep(0.6)  # in which nothing is to happen
        self.assertEqual(self.passes(daemon), 1)
        self.assertShows(self.add("new"))

    def test_the_mount_in_the_source(self):
        inside = os.path.join(self.source, "mnt")
        os.mkdir(inside)
        self.watching("debug", mnt=inside)
        id = self.add("new")
        wait_until(lambda: os.path.exists(self.image(id, inside)), "the new image")

    def test_unmounted_with_many_watches(self):
        for i in range(500):
            os.mkdir(os.path.join(self.source, "d%d" % i))
        daemon = self.watching()
        run("umount", self.mnt) if mount_harness.is_root() else run("fusermount3", "-u", self.mnt)
        self.assertEqual(daemon.process.wait(mount_harness.LIMIT), 0)
        daemon = self.watching()
        self.assertEqual(daemon.stop(), 0)

    def test_source_replaced(self):
        daemon = self.mount("rescan=1")
        daemon.wait_scanned()
        os.rename(self.source, self.source + ".old")
        os.mkdir(self.source)
        self.assertShows(self.add("file"))


if __name__ == "__main__":
    mount_harness.main()
