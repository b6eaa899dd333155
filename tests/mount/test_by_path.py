#!/usr/bin/env python3
"""by-path/: SOURCE's directories as they are, with images for files."""

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import unittest

import mount_harness
from mount_harness import LIMIT, MountTest, build_id, is_root, run, wait_until

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import make_macho as m  # noqa: E402
from lib.macho_sample import program  # noqa: E402

NOBODY = 65534


def tree(top):
    """{path below top: text of the link, or None for a directory}; links are not followed."""
    found = {}
    for where, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(where, name)
            try:
                found[os.path.relpath(path, top)] = os.readlink(path) if os.path.islink(path) else None
            except OSError:
                pass  # it is gone, or no link any more, since it was listed
    return found


class ByPathTest(MountTest):
    def top(self):
        return os.path.join(self.mnt, "by-path")

    def mount_scanned(self, *options):
        daemon = self.mount(*options)
        daemon.wait_scanned()
        return daemon

    def directory(self, *parts, mode=0o755):
        path = os.path.join(self.source, *parts)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
        return path

    def test_the_tree(self):
        ids = {}
        for where, name in ((".", "first"), ("a", "second"), ("a/b/c", "third"), ("x y", "fourth")):
            ids[os.path.normpath(os.path.join(where, name))] = build_id(
                self.compile(name, where=self.directory(where)))
        self.directory("empty", "below")
        with open(os.path.join(self.directory("text"), "notes"), "w") as notes:
            notes.write("no image\n")
        self.mount_scanned()
        expected = {"a": None, "a/b": None, "a/b/c": None, "x y": None}
        for path, id in ids.items():
            expected[path] = "../" * (path.count("/") + 1) + id
        self.assertEqual(tree(self.top()), expected)
        for path, id in ids.items():
            self.assertEqual(os.path.realpath(os.path.join(self.top(), path)), self.image(id))
            self.assertEqual(os.lstat(os.path.join(self.top(), path)).st_size, len(expected[path]))
            self.assertIn("id\t" + id, self.read("by-path", path, "status"))
        for path in ("empty", "text", "text/notes", "a/first", "a/b/c/third/..x"):
            self.assertErrno(errno.ENOENT, os.lstat, os.path.join(self.top(), path))
        self.assertEqual(self.conversions(), 0)

    def test_links_and_directories_that_are_links(self):
        """A link is another name of its file; what a linked directory holds is where it is."""
        id = build_id(self.compile("library.so.1", where=self.directory("lib")))
        os.symlink("library.so.1", os.path.join(self.source, "lib", "library.so"))
        os.symlink("lib", os.path.join(self.source, "lib64"))
        os.symlink("/etc/passwd", os.path.join(self.source, "lib", "out"))
        os.link(os.path.join(self.source, "lib", "library.so.1"), os.path.join(self.directory("hard"), "other"))
        self.mount_scanned()
        target = "../../" + id
        self.assertEqual(tree(self.top()), {"lib": None, "hard": None, "lib/library.so.1": target,
                                            "lib/library.so": target, "hard/other": target})

    def test_attributes_are_those_of_the_directory(self):
        self.compile("one", where=self.directory("a", "b"))
        for path, mode, time in (("a/b", 0o750, 1234567890), ("a", 0o711, 987654321)):
            os.utime(os.path.join(self.source, path), (0, time))
            os.chmod(os.path.join(self.source, path), mode)
        os.chmod(self.source, 0o755)
        self.mount_scanned()
        for path, mode, time in (("a", 0o511, 987654321), ("a/b", 0o550, 1234567890)):
            st, its = os.stat(os.path.join(self.top(), path)), os.stat(os.path.join(self.source, path))
            self.assertEqual((st.st_mode & 0o7777, st.st_mtime, st.st_uid, st.st_gid),
                             (mode, time, its.st_uid, its.st_gid))
        st = os.stat(self.source)
        self.assertEqual(os.stat(self.top()).st_mtime_ns, st.st_mtime_ns)

    def as_nobody(self, *argv):
        return run(*argv, check=False, user=NOBODY, group=NOBODY, extra_groups=[])

    @unittest.skipUnless(is_root(), "only root can ask as another user")
    def test_a_closed_directory_is_closed_here(self):
        self.compile("secret", where=self.directory("private", "below"))
        self.compile("known", where=self.directory("public"))
        os.chmod(os.path.join(self.source, "private"), 0o700)
        self.mount_scanned("allow_other")
        self.assertEqual(sorted(os.listdir(os.path.join(self.top(), "private", "below"))), ["secret"])
        self.assertEqual(self.as_nobody("ls", os.path.join(self.top(), "public")).stdout, b"known\n")
        for path in ("private", "private/below", "private/below/secret/status"):
            done = self.as_nobody("cat" if path.endswith("status") else "ls", os.path.join(self.top(), path))
            self.assertIn(b"Permission denied", done.stderr, path)

    @unittest.skipUnless(is_root(), "only root can ask as another user")
    def test_a_closed_way_to_source_closes_all(self):
        self.compile("one")
        inner = os.path.join(self.dir, "closed")
        os.mkdir(inner, 0o700)
        shutil.move(self.source, os.path.join(inner, "source"))
        self.mount("allow_other", source=os.path.join(inner, "source")).wait_scanned()
        self.assertEqual(os.listdir(self.top()), ["one"])
        self.assertIn(b"Permission denied", self.as_nobody("ls", self.top()).stderr)

    def test_coming_and_going(self):
        path = self.compile("one", where=self.directory("a", "b"))
        first = build_id(path)
        self.mount_scanned("rescan=1")
        link = os.path.join(self.top(), "a", "b", "one")
        number = os.lstat(link).st_ino
        self.assertEqual(os.readlink(link), "../../../" + first)
        # Another build in its place.
        self.compile("one", where=os.path.dirname(path), flags=("-DNAME=two",))
        second = build_id(path)
        self.assertNotEqual(first, second)
        wait_until(lambda: tree(self.top()).get("a/b/one") == "../../../" + second, "the new image")
        self.assertNotEqual(os.lstat(link).st_ino, number)
        # Gone, and the directories with it; and back.
        os.rename(path, os.path.join(self.dir, "kept"))
        wait_until(lambda: os.listdir(self.top()) == [], "an empty tree")
        wait_until(lambda: not os.path.lexists(os.path.join(self.top(), "a")), "no directory")
        os.rename(os.path.join(self.dir, "kept"), path)
        wait_until(lambda: tree(self.top()) == {"a": None, "a/b": None, "a/b/one": "../../../" + second}, "all of it")

    def test_a_file_becomes_a_directory(self):
        path = self.compile("thing", where=self.directory("a"))
        self.mount_scanned("rescan=1")
        self.assertTrue(os.path.islink(os.path.join(self.top(), "a", "thing")))
        os.rename(path, path + ".tmp")
        os.mkdir(path)
        os.rename(path + ".tmp", os.path.join(path, "inside"))
        wait_until(lambda: set(tree(self.top())) == {"a", "a/thing", "a/thing/inside"}, "a directory")
        self.assertFalse(os.path.islink(os.path.join(self.top(), "a", "thing")))

    def test_a_file_that_becomes_a_directory_comes_once(self):
        """Also while the walk that finds it goes on."""
        relay = mount_harness.Relay(self)
        path = self.compile("thing")
        self.mount_scanned("worker=" + relay.worker)
        other = self.compile("other", where=self.dir)
        relay.hold(2)
        os.makedirs(os.path.join(self.dir, "new", "below"))
        os.rename(other, os.path.join(self.dir, "new", "below", "other"))
        os.rename(path, os.path.join(self.dir, "new", "inside"))
        os.rename(os.path.join(self.dir, "new"), path)
        relay.wait_asked(2)
        wait_until(lambda: os.listdir(self.top()) and os.path.isdir(os.path.join(self.top(), "thing", ".")), "a directory")
        self.assertEqual(os.listdir(self.top()), ["thing"])
        relay.release(2)
        wait_until(lambda: set(tree(self.top())) == {"thing", "thing/inside", "thing/below", "thing/below/other"}, "all of it")

    def fat(self, *machines, name="fat"):
        """A fat file with an image for each machine; their ids."""
        ids = {machine: bytes([n + 1]) * 16 for n, machine in enumerate((m.ARM64, m.PPC))}
        path = os.path.join(self.source, name)
        with open(path + ".new", "wb") as file:
            file.write(m.fat([(machine, program(machine, machine == m.PPC, uuid=ids[machine], base=0).file())
                              for machine in machines]))
        os.rename(path + ".new", path)
        return [ids[machine].hex() for machine in machines]

    def test_a_file_of_several_images(self):
        """It is a directory of links; with one image left, a link."""
        first, second = self.fat(m.ARM64, m.PPC)
        self.mount_scanned("rescan=1")
        both = {"fat": None, "fat/" + first: "../../" + first, "fat/" + second: "../../" + second}
        self.assertEqual(tree(self.top()), both)
        self.assertIn("id\t" + second, self.read("by-path", "fat", second, "status"))
        self.assertErrno(errno.ENOENT, os.lstat, os.path.join(self.top(), "fat", "00" * 16))
        self.assertEqual(self.fat(m.PPC), [second])
        wait_until(lambda: tree(self.top()) == {"fat": "../" + second}, "one image")
        self.fat(m.ARM64, m.PPC)
        wait_until(lambda: tree(self.top()) == both, "two images")
        # No rescan shows anything else, not even for a moment.
        end = self.scans() + 3
        while self.scans() < end:
            self.assertEqual(os.lstat(os.path.join(self.top(), "fat")).st_mode & 0o170000, 0o040000)
            os.scandir(self.top()).close()

    def test_a_listing_goes_on_where_it_was(self):
        """Positions stay valid while files come and go: nothing that stayed is missed or comes twice."""
        path = self.compile("n0000")
        for i in range(1, 3000):
            os.link(path, os.path.join(self.source, "n%04d" % i))
        self.mount_scanned("rescan=1")
        with os.scandir(self.top()) as entries:
            seen = [next(entries).name for _ in range(10)]
            for i in range(2300, 2350):
                os.unlink(os.path.join(self.source, "n%04d" % i))
            for i in range(3000, 3050):
                os.link(path, os.path.join(self.source, "n%04d" % i))
            wait_until(lambda: os.path.lexists(os.path.join(self.top(), "n3049")), "the new files")
            seen += [entry.name for entry in entries]
        stayed = {"n%04d" % i for i in range(3000) if not 2300 <= i < 2350}
        self.assertEqual(len(seen), len(set(seen)))
        self.assertEqual(stayed - set(seen), set())

    def test_positions_beyond_the_end(self):
        """A client may ask for any: nothing is there, and the listing does not begin anew."""
        id = build_id(self.compile("one"))
        self.mount_scanned()
        libc = ctypes.CDLL(None, use_errno=True)
        for path in (self.mnt, self.top(), os.path.join(self.mnt, "by-name"), self.image(id)):
            for position in (0, 2 ** 32 + 2, 2 ** 33 - 1, 2 ** 62):
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                os.lseek(fd, position, os.SEEK_SET)
                listed = libc.getdents64(fd, ctypes.create_string_buffer(8192), 8192)
                os.close(fd)
                self.assertEqual(listed > 0, position == 0, (path, position, listed))

    def test_names_that_are_no_text(self):
        name = os.fsdecode(b"\xff\xfe \n\"'")
        id = build_id(self.compile("one"))
        os.rename(os.path.join(self.source, "one"), os.path.join(self.source, name))
        self.mount_scanned()
        self.assertEqual(tree(self.top()), {name: "../" + id})

    def test_walks_convert_nothing(self):
        self.compile("one", where=self.directory("a"))
        self.mount_scanned()
        for argv in (["find", self.top()], ["ls", "-lR", self.top()], ["du", "-a", self.top()]):
            run(*argv)
        run("grep", "-r", "nothing-like-it", self.top(), check=False)
        self.assertEqual(self.conversions(), 0)

    def test_asked_for_before_it_is_found(self):
        """Until the first scan is over nobody knows that a path does not exist."""
        relay = mount_harness.Relay(self)
        id = build_id(self.compile("one", where=self.directory("a")))
        relay.hold(1)
        daemon = self.mount("worker=" + relay.worker)
        relay.wait_asked(1)
        waiting = [subprocess.Popen(["readlink", os.path.join(self.top(), path)], stdout=subprocess.PIPE)
                   for path in ("a/one", "b")]
        self.processes += waiting
        daemon.wait_calls("scan", 2)
        self.assertEqual([process.poll() for process in waiting], [None] * 2)
        relay.release(1)
        self.assertEqual(waiting[0].communicate(timeout=LIMIT)[0].decode(), "../../" + id + "\n")
        self.assertEqual(waiting[1].wait(LIMIT), 1)


if __name__ == "__main__":
    mount_harness.main()
