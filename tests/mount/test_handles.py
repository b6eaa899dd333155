#!/usr/bin/env python3
"""Files by handle, as servers of NFS find them: after the kernel has forgotten them, and after a restart."""

import errno
import os
import re

import mount_harness
from mount_harness import SampleTest


class HandleTest(SampleTest):
    def setUp(self):
        if not mount_harness.is_root():
            self.skipTest("open_by_handle_at needs root")
        super().setUp()
        self.daemon = self.mount()
        self.daemon.wait_scanned()
        self.convert()
        number = int(self.address, 16)
        answers = [self.address, self.address + ".json", self.address + ".raw.tsv", "rva/" + self.address, "off/" + self.address,
                   "ra/" + hex(number + 1), "approximate/" + self.address, "ra/approximate/" + hex(number + 1) + ".json"]
        found = [name for name in answers if os.path.exists(os.path.join(self.image(self.id), name))]
        self.assertGreaterEqual(len(found), 6)
        self.answers = [os.path.join(self.id, name) for name in found]
        self.files = self.answers + [os.path.join(self.id, name) for name in ("image.gsym", "functions.tsv", "lines.tsv")] + [
            "README", "status"]
        self.links = [self.id[:12], os.path.join(self.id[:2], self.id[2:]), os.path.join("by-path", "sample"),
                      os.path.join("by-name", "sample", self.id)]
        # The kernel looks for a directory in the listing of the one above, which is why xx and ra/approximate are not here.
        self.directories = [self.id, os.path.join(self.id, "rva"), "by-name", "by-path", os.path.join("by-name", "sample")]

    def convert(self):
        """Answers of a fragment, before the end of the conversion, have numbers that the next daemon does not know."""
        self.read(self.id, "functions.tsv")

    def forget(self):
        """The kernel forgets all inodes that nothing holds, and has told the daemon."""
        def is_forgotten():
            with open("/proc/sys/vm/drop_caches", "w") as drop:
                drop.write("2")
            return re.search(r"(?m)^gsymfs_nodes\{.*\} 0$", self.read("metrics"))
        mount_harness.wait_until(is_forgotten, "the daemon's nodes to be forgotten")

    def handle(self, name):
        return mount_harness.file_handle(os.path.join(self.mnt, name))

    def open(self, handle, flags=os.O_RDONLY):
        top = os.open(self.mnt, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return mount_harness.open_handle(top, handle, flags)
        finally:
            os.close(top)

    def read_handle(self, handle):
        """What is in it, which is as much as its size says."""
        with open(self.open(handle), "rb") as file:
            data = file.read()
            self.assertEqual(os.fstat(file.fileno()).st_size, len(data))
            return data

    def replace(self):
        """Makes a version of the image that the next daemon gives the same number: one in 32 shares five bits with one
        before, and has a count in the 16 above them (fs/images/inode_numbers.c)."""
        count = 1
        while count:
            before = os.stat(self.image(self.id)).st_ino
            os.utime(self.path)
            mount_harness.wait_until(lambda: os.stat(self.image(self.id)).st_ino != before, "the scan that sees it")
            count = os.stat(self.image(self.id)).st_ino >> 14 & 0xffff

    def assertStale(self, handle):
        self.assertErrno(errno.ESTALE, self.open, handle)

    def know(self):
        """Handles of everything, and what they must lead to."""
        # Where what a link says never changes, its text is in the handle of no other; O_PATH opens the link itself.
        self.known = [(self.handle(name), mount_harness.contents(os.path.join(self.mnt, name))) for name in self.files]
        self.known_links = [(self.handle(name), os.readlink(os.path.join(self.mnt, name))) for name in self.links]
        self.known_directories = [(self.handle(name), os.stat(os.path.join(self.mnt, name)).st_ino) for name in self.directories]

    def check(self):
        for name, (handle, data) in zip(self.files, self.known):
            if name == "status":
                self.daemon.wait_scanned()  # it says whether that is over
            self.assertEqual(self.read_handle(handle), data)
        for handle, text in self.known_links:
            fd = self.open(handle, os.O_PATH)
            self.assertEqual(os.readlink("", dir_fd=fd), text)
            os.close(fd)
        for handle, ino in self.known_directories:
            fd = self.open(handle, os.O_RDONLY | os.O_DIRECTORY)
            self.assertEqual(os.fstat(fd).st_ino, ino)
            os.listdir(fd)
            os.close(fd)

    def test_forgotten(self):
        self.know()
        self.forget()
        self.check()

    def test_restarted(self):
        self.know()
        for _ in range(2):
            self.daemon = self.remount(self.daemon)
            self.check()  # also while SOURCE is scanned
            self.assertEqual(self.conversions(), 0)

    def test_restarted_with_others(self):
        """Files that are found before, and more of them, change no handle."""
        self.know()
        self.assertEqual(self.daemon.stop(), 0)
        for i in range(5):
            self.compile_other("a%d" % i)
        self.daemon = self.mount()
        self.check()

    def test_names_are_one_file(self):
        """Spellings of an address, and a name that is looked up again."""
        names = [os.path.join(self.mnt, self.id, name) for name in (self.address, "%016x" % int(self.address, 16))]
        before = [os.stat(name).st_ino for name in names]
        self.assertEqual(*before)
        self.forget()
        self.assertEqual([os.stat(name).st_ino for name in names], before)

    def test_other_parent(self):
        """A directory above one that was found by its handle."""
        handle = self.handle(os.path.join(self.id, "rva"))
        want = os.stat(self.image(self.id)).st_ino
        self.forget()
        fd = self.open(handle, os.O_RDONLY | os.O_DIRECTORY)
        self.assertEqual(os.stat("..", dir_fd=fd).st_ino, want)
        self.assertEqual(os.stat("../..", dir_fd=fd).st_ino, os.stat(self.mnt).st_ino)
        os.close(fd)

    def test_replaced(self):
        """No handle leads to what another file says, whether the daemon sees the change or the next one."""
        stale = [self.handle(name) for name in self.answers + [self.id, os.path.join(self.id, "image.gsym")]]
        self.replace()
        self.forget()
        for handle in stale:
            self.assertStale(handle)
        self.convert()
        self.know()
        self.daemon = self.remount(self.daemon)
        self.check()
        for handle in stale:
            self.assertStale(handle)
        self.assertEqual(self.daemon.stop(), 0)
        os.utime(self.path)
        self.daemon = self.mount()
        for handle, name in zip((h for h, _ in self.known), self.answers):
            self.assertStale(handle)
            self.read(name)

    def test_other_answers(self):
        """With other options a handle must not lead to other bytes."""
        handle = self.handle(self.answers[0])
        self.daemon = self.remount(self.daemon, "demangle=no")
        self.assertStale(handle)
        self.daemon = self.remount(self.daemon)
        self.read_handle(handle)

    def test_what_no_number_says(self):
        """Symbols and load addresses are stale once they are forgotten, and are never mistaken for another."""
        names = [os.path.join(self.id, "sym", "_ZNK3geo5point4normEv"),
                 os.path.join(self.id, "base", "0x7f0000000000", hex(0x7f0000000000 + int(self.address, 16)))]
        handles = []
        for name in names:
            with open(os.path.join(self.mnt, name), encoding="utf-8") as file:  # others may drop caches, but not what is open
                handles.append(self.handle(name))
                self.assertEqual(self.read_handle(handles[-1]).decode(), file.read())
        self.forget()
        for handle in handles:
            self.assertStale(handle)
        self.daemon = self.remount(self.daemon)
        for name in reversed(names):
            self.read(name)
        for handle in handles:
            self.assertStale(handle)

    def test_a_snapshot_is_made_again(self):
        handles = [(self.handle("metrics"), b"gsymfs_build_info"), (self.handle("images.tsv"), self.id.encode())]
        self.forget()
        for handle, text in handles:
            self.assertIn(text, self.read_handle(handle))
        self.daemon = self.remount(self.daemon)
        self.daemon.wait_scanned()
        for handle, text in handles:
            self.assertIn(text, self.read_handle(handle))

    def test_listings_tell_when_they_change(self):
        """Or clients of NFS would go on to believe that a name is not there."""
        def times():
            return [os.stat(os.path.join(self.mnt, name)).st_ctime_ns for name in (".", "by-name")]

        def change(what):
            before = times()
            what()
            mount_harness.wait_until(lambda: all(a > b for a, b in zip(times(), before)), "other times")

        self.daemon = self.remount(self.daemon, "rescan=1")
        self.wait_scans(1)
        before = times()
        self.wait_scans(2)
        self.assertEqual(times(), before)
        change(self.compile_other)
        change(lambda: os.rename(self.path, os.path.join(self.dir, "gone")))

    def test_gone(self):
        handles = [self.handle(name) for name in self.files[:1] + self.links + self.directories[:2]]
        self.assertEqual(self.daemon.stop(), 0)
        os.rename(self.path, os.path.join(self.dir, "gone"))
        self.compile_other()
        self.daemon = self.mount()
        for handle in handles:
            self.assertStale(handle)


if __name__ == "__main__":
    mount_harness.main()
