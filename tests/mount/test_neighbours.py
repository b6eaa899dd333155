#!/usr/bin/env python3
"""Files an object file refers to: debug files, .dwo and .dwp, what dwz shared; who may lead the daemon where."""

import errno
import gzip
import lzma
import os
import re
import shutil
import unittest

import mount_harness
from mount_harness import (GROUP_OBJ, MASK, NO_LINES, OTHERS, USER, USER_OBJ, SampleTest, acl, run, set_acl, tool,
                           wait_until)


PACKERS = {".xz": lambda data: lzma.compress(data, preset=1), ".gz": lambda data: gzip.compress(data, 1)}
if not mount_harness.READS_GZIP:
    del PACKERS[".gz"]


class NeighbourTest(SampleTest):
    # ---- Debug files ----

    def test_by_build_id(self):
        self.separate(self.by_id)
        self.mount()
        self.assertLines()
        self.assertEqual(self.status(self.id)["uses"], self.by_id)

    def pack(self, path, ending=".xz"):
        """Compresses @path; returns the new path."""
        with open(path, "rb") as f:
            data = f.read()
        os.unlink(path)
        with open(path + ending, "wb") as f:
            f.write(PACKERS[ending](data))
        return path + ending

    def test_packed_by_build_id(self):
        for ending in PACKERS:
            with self.subTest(ending):
                self.separate(self.by_id)
                packed = self.pack(self.by_id, ending)
                daemon = self.mount()
                self.assertLines()
                self.assertEqual(self.status(self.id)["uses"], packed)
                daemon = self.remount(daemon)
                self.assertLines()
                self.assertEqual(self.conversions(), 0)
                self.assertEqual(daemon.stop(), 0)
                os.unlink(packed)
                self.compile()

    def test_packed_by_debug_link(self):
        """The checksum is that of the content."""
        for where in ("source", "debug"):
            with self.subTest(where):
                place = self.source if where == "source" else self.debug_dir + os.path.realpath(self.source)
                debug = os.path.join(place, "sample.dbg")
                self.separate(debug)
                for path in (self.path, debug):
                    run("objcopy", "--remove-section=.note.gnu.build-id", path)
                run("objcopy", "--add-gnu-debuglink=" + debug, self.path)
                packed = self.pack(debug)
                daemon = self.mount()
                daemon.wait_scanned()
                ids = [n for n in os.listdir(self.mnt) if n.startswith("xxh3-")]
                answers = [self.read(id, self.address) for id in ids]
                self.assertEqual(len(answers), 2 if where == "source" else 1)
                for answer in answers:
                    self.assertIn("sample.cpp:", answer)
                self.assertEqual(daemon.stop(), 0)
                os.unlink(packed)
                self.compile()

    def test_packed_installed_later(self):
        self.separate(self.by_id)
        packed = self.pack(self.by_id)
        os.rename(packed, packed + ".aside")
        self.mount("rescan=1")
        self.assertNoLines()
        os.rename(packed + ".aside", packed)
        self.wait_lines()
        os.unlink(packed)
        wait_until(lambda: re.search(NO_LINES, self.answer()), "the symbols")

    def test_by_debug_link(self):
        for where in ("", ".debug"):
            with self.subTest(where):
                debug = os.path.join(self.source, where, "sample.dbg")
                self.separate(debug)
                run("objcopy", "--remove-section=.gnu_debuglink", self.path)
                run("objcopy", "--remove-section=.note.gnu.build-id", self.path)
                run("objcopy", "--remove-section=.note.gnu.build-id", debug)
                run("objcopy", "--add-gnu-debuglink=" + debug, self.path)
                daemon = self.mount()
                daemon.wait_scanned()
                ids = [n for n in os.listdir(self.mnt) if n.startswith("xxh3-")]
                answers = [self.read(id, self.address) for id in ids]
                self.assertEqual(len(answers), 2)
                for answer in answers:
                    self.assertIn("sample.cpp:", answer)
                self.assertEqual(daemon.stop(), 0)
                os.unlink(debug)
                self.compile()

    def test_installed_later(self):
        self.separate(self.by_id)
        aside = self.by_id + ".aside"
        os.rename(self.by_id, aside)
        self.mount("rescan=1")
        self.assertNoLines()
        self.assertIn(self.id[2:] + ".debug", self.status(self.id)["missing"])
        os.rename(aside, self.by_id)
        self.wait_lines()
        os.unlink(self.by_id)
        wait_until(lambda: re.search(NO_LINES, self.answer()), "the symbols")

    def test_installed_while_not_mounted(self):
        self.separate(self.by_id)
        os.rename(self.by_id, self.by_id + ".aside")
        daemon = self.mount()
        self.assertNoLines()
        daemon = self.remount(daemon)
        self.assertNotIn("(inlined by)", self.answer())
        self.assertEqual(self.conversions(), 0)
        self.assertEqual(daemon.stop(), 0)
        os.rename(self.by_id + ".aside", self.by_id)
        daemon = self.mount()
        self.assertLines()
        self.assertEqual(self.conversions(), 1)
        self.remount(daemon)
        self.assertLines()
        self.assertEqual(self.conversions(), 0)

    def test_nothing_known_until_it_is_installed(self):
        """A failure is remembered only as long as what was missing still is."""
        self.hide_all()
        self.separate(self.by_id, strip="--strip-all")
        os.rename(self.by_id, self.by_id + ".aside")
        daemon = self.mount("rescan=1")
        self.assertErrno(errno.EIO, self.answer)
        daemon = self.remount(daemon, "rescan=1")
        self.assertErrno(errno.EIO, self.answer)
        self.assertEqual(self.conversions(), 0)
        os.rename(self.by_id + ".aside", self.by_id)
        wait_until(lambda: self.status(self.id)["state"] == "cold", "the rescan")
        self.assertLines()
        self.remount(daemon)
        self.assertLines()
        self.assertEqual(self.conversions(), 0)

    # ---- Split DWARF ----

    def split(self, *flags):
        """The sample with its .dwo; the path of that."""
        self.path = self.compile(flags=["-gsplit-dwarf", "-dumpdir", self.source + "/", *flags])
        self.id = mount_harness.build_id(self.path)
        self.address = self.find_address()
        names = [n for n in os.listdir(self.source) if n.endswith(".dwo")]
        self.assertEqual(len(names), 1)
        return os.path.join(self.source, names[0])

    def test_what_the_daemon_may_not_read(self):
        """It is not tried again at each look, but as soon as it may be read; and meanwhile it is nobody else's answer."""
        self.separate(self.by_id)
        switch, store = (os.path.join(self.dir, name) for name in ("denied", "shared"))
        environment = self.preload("denied.c", '-DSWITCH="%s"' % switch)
        os.mkdir(store, 0o700)
        open(switch, "w").close()
        daemon = self.mount("shared=" + store, "shared_wait=60000", env=environment)
        self.assertNoLines()
        self.assertEqual(self.status(self.id)["denied"], self.by_id)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual([name for _, _, names in os.walk(store) for name in names if name.endswith(".gsym")], [])
        self.mount("rescan=1", env=environment)
        self.assertNoLines()
        self.wait_scans()
        self.assertNoLines()
        self.assertEqual(self.conversions(), 0)
        os.unlink(switch)
        self.wait_lines()
        self.assertNotIn("denied", self.status(self.id))

    def test_dwo(self):
        for version in "45":
            with self.subTest(version):
                dwo = self.split("-gdwarf-" + version)
                daemon = self.mount("rescan=1")
                self.assertIn("(inlined by)", self.answer())
                self.assertEqual(self.status(self.id)["uses"], dwo)
                os.rename(dwo, dwo + ".aside")
                wait_until(lambda: "(inlined by)" not in self.answer(), "the rescan")
                self.assertIn("sample.cpp:", self.answer())
                self.assertIn(os.path.basename(dwo), self.status(self.id)["missing"])
                os.rename(dwo + ".aside", dwo)
                wait_until(lambda: "(inlined by)" in self.answer(), "the rescan")
                self.assertEqual(daemon.stop(), 0)
                os.unlink(dwo)

    def test_dwp(self):
        dwp = tool("dwp", "llvm-dwp", "llvm-dwp-22")
        if not dwp:
            self.skipTest("dwp is not installed")
        dwo = self.split("-gdwarf-4")
        run(dwp, "-e", self.path, "-o", self.path + ".dwp", cwd=self.source)
        os.unlink(dwo)
        self.mount()
        self.assertIn("(inlined by)", self.answer())

    def test_line_break_in_a_name(self):
        """Files are found below it, and whether they have changed is known at the next mount."""
        inside = os.path.join(self.source, "new\nline \\n")
        os.mkdir(inside)
        dwo = self.split()
        moved = os.path.join(inside, os.path.basename(dwo))
        os.rename(self.path, os.path.join(inside, "sample"))
        os.rename(dwo, moved)
        daemon = self.mount()
        self.assertLines()
        daemon = self.remount(daemon)
        self.assertLines()
        self.assertEqual(self.conversions(), 0)
        os.unlink(moved)
        daemon = self.remount(daemon)
        self.assertNotIn("(inlined by)", self.answer())

    def test_dwo_at_its_compilation_directory(self):
        """Below a directory of debug files, at the path where the compiler worked."""
        dwo = self.split()
        name = os.path.basename(dwo)
        for top in (self.debug_dir, self.source):
            with self.subTest(top):
                there = top + self.source  # -dumpdir makes the name absolute
                os.makedirs(there)
                os.rename(dwo, os.path.join(there, name))
                daemon = self.mount()
                self.assertIn("(inlined by)", self.answer())
                self.assertEqual(daemon.stop(), 0)
                os.rename(os.path.join(there, name), dwo)
                shutil.rmtree(os.path.join(top, self.source.split("/")[1]))
                shutil.rmtree(self.cache)
                os.mkdir(self.cache, 0o700)

    # ---- dwz ----

    def test_alternate_file(self):
        if not tool("dwz"):
            self.skipTest("dwz is not installed")
        other = self.compile("other")
        before = self.mount()
        want = self.answer()
        self.assertEqual(before.stop(), 0)
        os.makedirs(os.path.join(self.debug_dir, ".dwz"))
        shared = os.path.join(self.debug_dir, ".dwz", "common")
        run("dwz", "-m", shared, "-M", "/usr/lib/debug/.dwz/common", self.path, other)
        self.mount(cache=self.new_cache())
        self.assertEqual(self.answer(), want)
        self.assertEqual(self.status(self.id)["uses"], shared)

    def new_cache(self):
        path = os.path.join(self.dir, "cache2")
        os.mkdir(path, 0o700)
        return path

    # ---- Where a hostile file would like to lead ----

    def test_links_out(self):
        """What lies elsewhere is not read, whatever link leads there."""
        self.separate(os.path.join(self.dir, "elsewhere", "file.debug"))
        os.makedirs(os.path.dirname(self.by_id))
        os.symlink(os.path.join(self.dir, "elsewhere", "file.debug"), self.by_id)
        self.mount()
        self.assertNoLines()
        self.assertNotIn("uses", self.status(self.id))

    def test_links_inside(self):
        self.separate(os.path.join(self.debug_dir, "usr", "file.debug"))
        os.makedirs(os.path.dirname(self.by_id))
        os.symlink("../../usr/file.debug", self.by_id)
        self.mount()
        self.assertLines()

    @unittest.skipIf(os.getuid() != 0, "only root can give files away")
    def test_what_readers_may_not_read(self):
        """A file closed to those who may read the object file tells them nothing through it."""
        self.separate(self.by_id)
        for make_private in (lambda: os.chmod(self.by_id, 0o600), lambda: os.chmod(self.debug_dir, 0o700)):
            os.chmod(self.by_id, 0o644)
            os.chmod(self.debug_dir, 0o755)
            make_private()
            daemon = self.mount(cache=os.path.join(self.dir, "cache-%d" % len(self.daemons)))
            self.assertNoLines()
            self.assertEqual(daemon.stop(), 0)
        os.chmod(self.path, 0o600)  # now both are for their owner alone
        daemon = self.mount(cache=os.path.join(self.dir, "cache-last"))
        self.assertLines()
        self.assertEqual(daemon.stop(), 0)
        os.chown(self.path, 12345, 12345)
        self.mount(cache=os.path.join(self.dir, "cache-other"))
        self.assertNoLines()

    @unittest.skipIf(os.getuid() != 0, "only root can give files away")
    def test_what_a_list_denies(self):
        """A debug file that an access control list closes to one user answers no user, whatever its mode says."""
        self.separate(self.by_id)
        denied = acl((USER_OBJ, 6), (USER, 0, 12345), (GROUP_OBJ, 4), (MASK, 4), (OTHERS, 4))
        if not set_acl(self.by_id, denied):
            self.skipTest("the file system has no access control lists")
        self.assertEqual(os.stat(self.by_id).st_mode & 0o777, 0o644)
        daemon = self.mount()
        self.assertNoLines()
        self.assertNotIn("uses", self.status(self.id))
        self.assertEqual(daemon.stop(), 0)
        os.chmod(self.path, 0o600)  # root's alone, like what the list leaves of the debug file
        self.mount(cache=self.new_cache())
        self.assertLines()

    @unittest.skipIf(os.getuid() != 0, "only root can give files away")
    def test_what_the_group_may_not_read(self):
        """A debug file of the same owner and group, closed to others only."""
        self.separate(self.by_id)
        os.chmod(self.by_id, 0o640)
        daemon = self.mount()
        self.assertNoLines()
        self.assertEqual(daemon.stop(), 0)
        os.chmod(self.path, 0o640)
        daemon = self.mount(cache=self.new_cache())
        self.assertLines()
        self.assertEqual(daemon.stop(), 0)
        os.chown(self.path, 0, 12345)
        self.mount()
        self.assertNoLines()

    def test_names_that_lead_into_the_mount(self):
        """The daemon would wait for itself."""
        mnt = os.path.join(self.source, "mnt")
        os.mkdir(mnt)
        elsewhere = os.path.join(mnt, self.id)
        self.path = self.compile(flags=["-gsplit-dwarf", "-dumpdir", elsewhere + "-"])
        self.id = mount_harness.build_id(self.path)
        self.address = self.find_address()
        for name in os.listdir(mnt):
            os.unlink(os.path.join(mnt, name))
        self.mount(mnt=mnt)
        self.assertIn("geo::point::norm", self.read(self.id, self.address, mnt=mnt))
        link = os.path.join(self.source, "link")
        os.symlink("mnt", link)
        self.assertIn("geo::point::norm", self.read(self.id, self.address, mnt=mnt))

    # ---- A debug file and its binary ----

    def test_binary_completes_debug_file(self):
        debug = os.path.join(self.source, "sample.debug")
        self.separate(debug, strip="--strip-all")
        daemon = self.mount("rescan=1")
        daemon.wait_scanned()
        self.assertLines()
        status = self.status(self.id)
        self.assertEqual((status["source"], status["binary"]), (debug, self.path))
        os.unlink(self.path)
        wait_until(lambda: "binary" not in self.status(self.id), "the rescan")
        self.assertLines()

    @unittest.skipIf(os.getuid() != 0, "only root can give files away")
    def test_a_binary_of_somebody_else_does_not(self):
        debug = os.path.join(self.source, "sample.debug")
        self.separate(debug)
        os.chown(debug, 12345, 12345)
        os.chown(self.path, 54321, 54321)
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertNotIn("binary", self.status(self.id))
        self.assertLines()

    def test_a_binary_that_fewer_may_read_does_not(self):
        """All who may read the debug file would learn what the program's linkage tables and symbols say."""
        debug = os.path.join(self.source, "sample.debug")
        self.separate(debug, strip="--strip-all")
        os.chmod(self.path, 0o600)
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertNotIn("binary", self.status(self.id))
        self.assertLines()
        self.assertEqual(daemon.stop(), 0)
        os.chmod(debug, 0o600)
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertEqual(self.status(self.id)["binary"], self.path)


if __name__ == "__main__":
    mount_harness.main()
