#!/usr/bin/env python3
"""Several sources in one mount: what by-path shows, which file stands for an image, changes, what each is known by."""

import errno
import os
import shutil
import subprocess

import mount_harness
from mount_harness import GSYM, GSYMFS, LIMIT, MountTest, Relay, build_id, is_mounted, run, wait_until


class SourcesTest(MountTest):
    def setUp(self):
        super().setUp()
        self.first, self.second = os.path.join(self.source, "first"), os.path.join(self.source, "second")
        self.both = [self.first, self.second]
        for path in self.both:
            os.mkdir(path)

    def by_path(self, *parts):
        return os.path.join(self.mnt, "by-path", *(part.lstrip("/") for part in parts))

    def source_of(self, id):
        return self.status(id)["source"]

    def test_a_tree_of_absolute_paths(self):
        os.mkdir(os.path.join(self.second, "d"))
        one, two = self.compile("one", where=self.first), self.compile("two", where=os.path.join(self.second, "d"))
        outside = self.compile("outside")
        for operands in self.both, [":".join(self.both)]:
            daemon = self.mount(source=operands)
            daemon.wait_scanned()
            self.assertEqual(self.ids(), {build_id(one), build_id(two)})
            for path in one, two:
                self.assertEqual(os.readlink(self.by_path(path)).split("/")[-1], build_id(path))
                self.assertEqual(self.source_of(build_id(path)), path)
                self.assertIn('"source":"%s"' % path, self.read(build_id(path), "info.json"))
            self.assertErrno(errno.ENOENT, os.stat, self.by_path(outside))
            self.assertErrno(errno.ENOENT, os.stat, self.by_path("etc"))
            self.assertEqual(sorted(os.listdir(self.by_path(self.source))), ["first", "second"])
            lines = [line for line in self.read("status").splitlines() if line.startswith("source")]
            self.assertEqual(lines, ["source\t" + path for path in self.both])
            address = next(start for start, _, name in self.functions(two) if name.endswith("normEv"))
            self.assertIn("sample.cpp", self.read("by-path", two.lstrip("/"), hex(address)))
            self.assertIn("serving '%s'" % ":".join(self.both), daemon.log())
            with open("/proc/self/mountinfo") as mounts:
                self.assertIn(" %s rw" % ":".join(self.both), [line for line in mounts if self.mnt in line][0])
            daemon.stop()

    def test_one_source_with_a_colon(self):
        odd = os.path.join(self.source, "a:b")
        os.mkdir(odd)
        path = self.compile("odd", where=odd)
        self.mount(source=odd).wait_scanned()
        self.assertEqual(self.ids(), {build_id(path)})
        self.assertIn("odd", os.listdir(self.by_path()))

    def test_the_first_source_wins(self):
        path = self.compile("same", where=self.second)
        id, copy = build_id(path), os.path.join(self.first, "copy")
        shutil.copy2(path, copy)
        for operands, chosen in (self.both, copy), (self.both[::-1], path):
            daemon = self.mount(source=operands)
            daemon.wait_scanned()
            self.assertEqual(self.source_of(id), chosen)
            daemon.stop()
        os.unlink(copy)
        self.mount("rescan=0", source=self.both).wait_scanned()
        self.assertEqual(self.source_of(id), path)
        shutil.copy2(path, copy)
        wait_until(lambda: self.source_of(id) == copy, "the file of the first source")
        os.unlink(copy)
        wait_until(lambda: self.source_of(id) == path, "the file of the second source")
        # Line tables come before the order.
        run("strip", "--strip-debug", "-o", copy + ".new", path)
        os.rename(copy + ".new", copy)
        wait_until(lambda: self.status(id).get("also") == copy, "the stripped file")
        self.assertEqual(self.source_of(id), path)

    def test_changes(self):
        self.compile("one", where=self.first)
        self.mount("rescan=0", source=self.both).wait_scanned()
        path = self.compile("new", where=self.second)
        wait_until(lambda: build_id(path) in self.ids(), "the new file")
        os.makedirs(os.path.join(self.first, "d", "e"))
        wait_until(lambda: "d" not in os.listdir(self.by_path(self.first)), "no directory without images")
        moved = os.path.join(self.first, "d", "e", "new")
        os.rename(path, moved)
        wait_until(lambda: self.source_of(build_id(moved)) == moved, "the file that has changed sources")
        shutil.move(os.path.join(self.first, "d"), self.second)
        wait_until(lambda: self.source_of(build_id(os.path.join(self.second, "d", "e", "new"))).startswith(self.second),
                   "the directory that has changed sources")
        id = build_id(os.path.join(self.second, "d", "e", "new"))
        shutil.rmtree(os.path.join(self.second, "d"))
        wait_until(lambda: id not in self.ids(), "the removed directory")
        outside = self.compile("outside")
        probe = self.compile("probe", where=self.first)
        wait_until(lambda: build_id(probe) in self.ids(), "a file after it")
        self.assertNotIn(build_id(outside), self.ids())

    def test_a_source_that_is_gone_hides_its_files_only(self):
        """As with one source, what cannot be looked at is not removed; and the others are still scanned."""
        one, two = self.compile("one", where=self.first), self.compile("two", where=self.second)
        ids = {build_id(one), build_id(two)}
        daemon = self.mount("rescan=1", source=self.both)
        daemon.wait_scanned()
        away = os.path.join(self.dir, "away")
        os.rename(self.first, away)
        wait_until(lambda: "cannot open" in daemon.log(), "the scan that misses it")
        new = self.compile("new", where=self.second)
        wait_until(lambda: build_id(new) in self.ids(), "the new file")
        self.assertLessEqual(ids, self.ids())
        wait_until(lambda: self.errno_of("00" * 20) == errno.EIO, "the end of the scan that misses it")
        os.rename(away, self.first)
        wait_until(lambda: self.errno_of("00" * 20) == errno.ENOENT, "a complete scan")

    def test_the_only_source_that_is_gone(self):
        """Nothing is removed; one line says why, and what is not known may be there."""
        id = build_id(self.compile("one", where=self.first))
        daemon = self.mount("rescan=1", source=self.first)
        daemon.wait_scanned()
        away = os.path.join(self.dir, "away")
        os.rename(self.first, away)
        wait_until(lambda: self.errno_of("00" * 20) == errno.EIO, "the scan that misses it")
        self.assertIn(id, self.ids())
        self.assertRegex(daemon.log(), "scan: .*: cannot open: No such file or directory")
        self.assertNotIn("cannot read", daemon.log())
        os.rename(away, self.first)
        wait_until(lambda: self.errno_of("00" * 20) == errno.ENOENT, "a complete scan")

    def test_each_source_has_its_index(self):
        """What one mount knows of a source is known to those of other sets."""
        self.compile("one", where=self.first)
        self.compile("two", where=self.second)
        for source, opened in (self.first, 1), (self.both, 1), (self.second, 0), (self.both[::-1], 0):
            daemon = self.mount(source=source)
            daemon.wait_scanned()
            self.assertIn(" %d opened" % opened, daemon.log())
            daemon.stop()

    def test_companions_in_another_source(self):
        path = self.compile("program", where=self.first)
        id = build_id(path)
        address = next(start for start, _, name in self.functions(path) if name.endswith("normEv"))
        where = os.path.join(self.second, ".build-id", id[:2])
        os.makedirs(where)
        run("objcopy", "--only-keep-debug", path, os.path.join(where, id[2:] + ".debug"))
        run("strip", path)
        self.mount(source=self.both).wait_scanned()
        self.assertIn("sample.cpp", self.read(id, hex(address)))
        self.assertEqual(self.status(id)["binary"], path)
        self.assertEqual(self.builds("program"), [id])

    def test_links_between_sources(self):
        path = self.compile("real", where=self.second)
        outside = self.compile("outside")
        os.symlink("../second/real", os.path.join(self.first, "link"))
        os.symlink("../outside", os.path.join(self.first, "stray"))
        self.mount(source=self.both).wait_scanned()
        self.assertEqual(self.ids(), {build_id(path)})
        self.assertEqual(os.listdir(self.by_path(self.first)), ["link"])
        self.assertNotIn(build_id(outside), self.ids())

    def test_openat2_refused(self):
        """As by RestrictSUIDSGID= of systemd, and by profiles of containers that are older than it."""
        path = self.compile("program", where=self.second)
        id = build_id(path)
        debug = os.path.join(self.first, ".build-id", id[:2], id[2:] + ".debug")
        os.makedirs(os.path.dirname(debug))
        run("objcopy", "--only-keep-debug", path, debug)
        address = next(start for start, _, name in self.functions(path) if name.endswith("normEv"))
        run("strip", path)
        os.symlink("../second/program", os.path.join(self.first, "link"))
        for number, text in (errno.ENOSYS, "Function not implemented"), (errno.EPERM, "Operation not permitted"):
            environment = self.preload("no_openat2.c", "-DREFUSAL=%d" % number)
            daemon = self.mount(source=self.both, env=environment)
            daemon.wait_scanned()
            self.assertIn("sample.cpp", self.read(id, hex(address)))
            self.assertEqual(self.builds("link"), [id])
            self.assertIn("openat2_refused\t%s\n" % text, self.read("status"))
            self.assertEqual(daemon.log().count("openat2(2) is refused: " + text), 1)
            daemon.stop()
        self.mount(source=self.both).wait_scanned()
        self.assertNotIn("openat2", self.read("status"))

    def test_what_is_asked_for_during_the_first_scan(self):
        """It does not wait for its turn, but what is in no source is not looked at."""
        first, outside = self.compile("one", where=self.first), self.compile("outside")
        for name in "two", "three":
            self.compile(name, where=self.second)
        relay = Relay(self)
        relay.hold(1)
        daemon = self.mount("worker=" + relay.worker, "rescan=0", source=self.both)
        relay.wait_asked(1)
        stray = self.reader("by-path", outside.lstrip("/"), "status")
        daemon.wait_calls("scan")
        relay.release(1)
        self.assertIn("No such file", self.finish(stray)[2])
        daemon.wait_scanned()
        self.assertEqual(len(self.ids()), 3)
        self.assertIn(build_id(first), self.ids())
        self.assertNotIn("outside", os.listdir(os.path.join(self.mnt, "by-name")))

    def test_a_private_way_to_a_source(self):
        if not mount_harness.is_root():
            self.skipTest("only root can ask as another user")
        os.chmod(self.dir, 0o755)
        os.chmod(self.first, 0o700)
        one, two = self.compile("one", where=self.first), self.compile("two", where=self.second)
        self.mount("allow_other", source=self.both).wait_scanned()
        other = ["setpriv", "--reuid=65534", "--clear-groups"]
        self.assertIn(b"Permission denied", run(*other, "ls", self.by_path(self.first), check=False).stderr)
        self.assertEqual(run(*other, "ls", self.by_path(self.second)).stdout, b"two\n")
        self.assertEqual(run(*other, "ls", os.path.join(self.mnt, "by-name")).stdout, b"two\n")
        self.assertIn(b"Permission denied", run(*other, "cat", self.image(build_id(one)) + "/status", check=False).stderr)
        run(*other, "cat", self.image(build_id(two)) + "/status")

    def test_paths_in_the_log(self):
        """Absolute ones, since they say which source has the file."""
        path = os.path.join(self.second, "cut")
        with open(path, "wb") as file:
            file.write(b"\x7fELF" + bytes(100))
        daemon = self.mount(source=self.both)
        daemon.wait_scanned()
        self.assertIn("scan: %s: damaged" % path, daemon.log())

    def refused(self, *operands):
        done = subprocess.run([GSYMFS, "-o", "worker=%s,cache=%s" % (GSYM, self.cache), *operands, self.mnt],
                              capture_output=True, timeout=LIMIT)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(is_mounted(self.mnt))
        return done.stderr.decode()

    def test_refused(self):
        below = os.path.join(self.first, "below")
        os.mkdir(below)
        self.assertIn("one is in the other", self.refused(self.first, below))
        self.assertIn("one is in the other", self.refused(below + ":" + self.first))
        self.assertIn("source '%s': given twice" % self.first, self.refused(self.first, self.first + "/../first"))
        self.assertIn("operand 'SOURCE' is empty (number 2)", self.refused(self.first, ""))
        self.assertIn("/none': No such file", self.refused(self.first, self.second + "/none"))
        self.assertIn("/none': No such file", self.refused(self.first + ":" + self.second + "/none"))
        self.assertIn("hidden by the mount", self.refused(self.first, self.mnt))


if __name__ == "__main__":
    mount_harness.main()
