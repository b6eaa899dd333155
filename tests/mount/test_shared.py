#!/usr/bin/env python3
"""The directory of converted files that hosts share. A host is a daemon with a cache of its own."""

import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import mount_harness
import splitfile
from mount_harness import GSYMFS, MountTest, run, wait_until


class SharedTest(MountTest):
    def setUp(self):
        super().setUp()
        self.shared = os.path.join(self.dir, "shared")
        os.mkdir(self.shared, 0o700)
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.address = next(hex(start) for start, _, name in self.functions(self.path) if name.endswith("normEv"))
        self.hosts = 0

    def host(self, *options, source=None, env=None):
        """Another daemon that has converted nothing; where it is mounted."""
        self.hosts += 1
        mnt, cache = (os.path.join(self.dir, "%s%d" % (name, self.hosts)) for name in ("host", "hostcache"))
        os.mkdir(mnt)
        os.mkdir(cache, 0o700)
        self.mount("shared=" + self.shared, *options, mnt=mnt, cache=cache, source=source,
                   log=os.path.join(self.dir, "log%d" % self.hosts), env=env)
        return mnt

    def entries(self):
        return sorted(glob.glob(os.path.join(self.shared, "*.gsym")))

    def wait_given(self, count=1):
        wait_until(lambda: len(self.entries()) == count, "%d files in the shared directory" % count)

    def answer(self, mnt):
        return self.read(self.id, self.address, mnt=mnt)

    def requests(self, mnt, result):
        name = 'gsymfs_shared_requests_total{mount="%s",result="%s"} ' % (mnt, result)
        return next(int(line[len(name):]) for line in self.read("metrics", mnt=mnt).splitlines() if line.startswith(name))

    def expect_taken(self, want, *options):
        mnt = self.host(*options)
        self.assertEqual(self.answer(mnt), want)
        self.assertEqual(self.conversions(mnt), 0)
        self.assertEqual(self.requests(mnt, "hit"), 1)
        return mnt

    def expect_converted(self, *options, source=None, unusable=0):
        mnt = self.host(*options, source=source)
        self.answer(mnt)
        self.assertEqual(self.conversions(mnt), 1)
        self.assertEqual((self.requests(mnt, "hit"), self.requests(mnt, "unusable")), (0, unusable))
        return mnt

    def change_a_line(self, path):
        """Another content, of the same size, id and time."""
        st = os.stat(path)
        with open(path, "r+b") as file:
            data = file.read()
            at = data.index(b"sample.cpp\0")
            file.seek(at)
            file.write(b"simple")
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))

    def test_one_converts_for_all(self):
        first = self.expect_converted()
        self.wait_given()
        want = self.answer(first)
        self.assertIn("geo::point::norm", want)
        second = self.expect_taken(want)
        self.assertEqual(self.requests(first, "given"), 1)
        self.assertEqual(self.requests(second, "given"), 0)
        for name in ("image.gsym", "functions.tsv"):
            self.assertEqual(self.read_bytes(first, name), self.read_bytes(second, name))
        keep = ("state", "id", "source", "functions", "bytes", "units", "image_base", "segment")
        self.assertEqual(*({k: self.status(self.id, mnt)[k] for k in keep} for mnt in (first, second)))
        self.assertIn("from the shared directory", self.daemons[1].log())
        self.assertEqual([os.stat(path).st_mode & 0o777 for path in self.entries()], [0o600])

    def read_bytes(self, mnt, name):
        with open(os.path.join(mnt, self.id, name), "rb") as file:
            return file.read()

    def test_other_content(self):
        """A file with everything a build system would look at is still another."""
        self.expect_converted()
        self.wait_given()
        self.change_a_line(self.path)
        self.assertIn("simple.cpp", self.answer(self.expect_converted()))
        self.wait_given(2)

    def test_other_options_and_places(self):
        self.expect_converted()
        self.wait_given()
        self.expect_converted("merged=no")
        self.wait_given(2)
        self.expect_converted("debug_dirs=" + self.dir)
        self.wait_given(3)

    def test_only_of_those_who_are_trusted(self):
        os.chmod(self.path, 0o664)
        self.expect_converted()
        os.chmod(self.path, 0o644)
        if mount_harness.is_root():
            os.chown(self.path, 65534, 65534)
            self.expect_converted()
            os.chown(self.path, 0, 0)
        self.assertEqual(os.listdir(self.shared), [])
        self.expect_converted()
        self.wait_given()

    def split(self):
        """The sample with its .dwo; the path of that."""
        self.compile(flags=["-gsplit-dwarf", "-dumpdir", self.source + "/"])
        self.id = mount_harness.build_id(self.path)
        (name,) = [n for n in os.listdir(self.source) if n.endswith(".dwo")]
        return os.path.join(self.source, name)

    def test_neighbours(self):
        """What a conversion took from other files belongs to it, and so does what was not there."""
        dwo = self.split()
        want = self.answer(self.expect_converted())
        self.wait_given()
        self.assertEqual(self.status(self.id, self.expect_taken(want))["uses"], dwo)
        with open(dwo, "rb") as file:
            data = file.read()
        os.unlink(dwo)
        self.expect_converted(unusable=1)
        self.assertEqual(len(self.entries()), 1)  # the key is the same
        wait_until(lambda: self.requests(self.daemons[-1].mountpoint, "given") == 1, "another entry")
        with open(dwo, "wb") as file:
            file.write(data)
        self.assertEqual(self.answer(self.expect_converted(unusable=1)), want)

    def test_file_that_changes_meanwhile(self):
        """What another host made of a file is not taken for one that changes while the entry is copied."""
        at = mount_harness.contents(self.path).index(b"sample.cpp\0")
        environment = self.preload("meanwhile.c", MEANWHILE_FILE=self.path, MEANWHILE_AT=str(at), MEANWHILE_TEXT="simple")
        self.answer(self.expect_converted())
        self.wait_given()
        mnt = self.host(env=environment)
        self.assertIn("simple.cpp", self.answer(mnt))
        self.assertEqual((self.requests(mnt, "hit"), self.requests(mnt, "unusable")), (0, 1))

    def test_neighbour_that_others_may_write(self):
        os.chmod(self.split(), 0o666)
        mnt = self.expect_converted()
        self.expect_converted()
        self.assertEqual(self.requests(mnt, "given"), 0)
        self.assertEqual(os.listdir(self.shared), [])

    def test_many_neighbours(self):
        """All of them would be opened by each host."""
        id = bytes(range(20))
        for count, shared in ((256, 1), (257, 0)):
            names = [os.path.join(self.source, "%d.dwo" % i) for i in range(count)]
            for i, name in enumerate(names):
                splitfile.make_dwo(name, i, "function%d" % i)
            splitfile.make_skeletons(self.path, id, [(name, "") for name in names])
            self.id, self.address = id.hex(), "%#x" % splitfile.address(count - 1)
            mnt = self.expect_converted()
            self.assertTrue(self.answer(mnt).startswith("function%d" % (count - 1)))
            self.wait_given(shared)
            self.assertEqual(self.requests(self.expect_taken(self.answer(mnt)) if shared else mnt, "given"), 0)
            for path in self.entries():
                os.unlink(path)

    def test_damaged(self):
        want = self.answer(self.expect_converted())
        self.wait_given()
        (path,) = self.entries()
        for damage in (self.flip, lambda path: os.truncate(path, 100), lambda path: os.truncate(path, 0)):
            damage(path)
            mnt = self.expect_converted(unusable=1)
            self.assertEqual(self.answer(mnt), want)
            wait_until(lambda: self.requests(mnt, "given") == 1, "a sound entry")
            self.assertIn("deleting it", self.daemons[-1].log())
        self.expect_taken(want)

    def test_under_another_name(self):
        """An intact entry of another file is of no use, and another host makes the right one."""
        other = mount_harness.build_id(self.compile_other())
        mnt = self.expect_converted()
        self.wait_given()
        (path,) = self.entries()
        os.stat(os.path.join(mnt, other, "image.gsym"))
        self.wait_given(2)
        want = self.answer(mnt)
        (foreign,) = set(self.entries()) - {path}
        shutil.copyfile(foreign, path)
        mnt = self.expect_converted(unusable=1)
        self.assertEqual(self.answer(mnt), want)
        self.assertIn("under another name; deleting it", self.daemons[-1].log())
        wait_until(lambda: self.requests(mnt, "given") == 1, "the right entry")
        self.expect_taken(want)

    def flip(self, path):
        with open(path, "r+b") as file:
            file.seek(300)
            byte = file.read(1)
            file.seek(300)
            file.write(bytes([byte[0] ^ 1]))

    def test_strange_entries(self):
        want = self.answer(self.expect_converted())
        self.wait_given()
        (path,) = self.entries()
        os.unlink(path)
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)):
            make(path)
            mnt = self.expect_converted(unusable=1)
            self.assertEqual(self.answer(mnt), want)
            wait_until(lambda: self.requests(mnt, "given") == 1 or "cannot write" in self.daemons[-1].log(), "the end of it")
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)

    def test_gone(self):
        """A server that is away is no reason not to answer."""
        mnt = self.host()
        os.rmdir(self.shared)
        self.assertIn("geo::point::norm", self.answer(mnt))
        wait_until(lambda: "cannot write" in self.daemons[-1].log(), "a complaint")

    def test_evicted_is_taken_again(self):
        mnt = self.expect_converted()
        self.wait_given()
        want = self.answer(mnt)
        daemon, cache = self.daemons[-1], os.path.join(self.dir, "hostcache1")
        self.assertEqual(daemon.stop(), 0)
        for path in glob.glob(os.path.join(cache, "*.gsym")):
            os.unlink(path)
        self.mount("shared=" + self.shared, mnt=mnt, cache=cache)
        self.assertEqual(self.answer(mnt), want)
        self.assertEqual(self.conversions(mnt), 0)

    def test_leftovers(self):
        old, new = (os.path.join(self.shared, ".tmp-1-%d" % i) for i in range(2))
        for path in (old, new):
            with open(path, "w"):
                pass
        os.utime(old, (1, 1))
        self.host()
        self.assertEqual(os.listdir(self.shared), [os.path.basename(new)])

    def refused(self, shared, words, status=1):
        done = run(GSYMFS, "-f", "-o", "cache=%s,shared=%s" % (self.cache, shared), self.source, self.mnt, check=False)
        self.assertEqual(done.returncode, status)
        self.assertIn(words, done.stderr.decode())

    def test_refused(self):
        self.refused(os.path.join(self.dir, "nowhere"), "cannot open")
        self.refused("https\\://127.0.0.1/", "allowed is a directory", status=2)
        self.refused(self.cache, "is the cache")
        for mode in (0o777, 0o720, 0o702):
            os.chmod(self.shared, mode)
            self.refused(self.shared, "writable by others")
        if mount_harness.is_root():
            os.chmod(self.shared, 0o700)
            os.chown(self.shared, 65534, 65534)
            self.refused(self.shared, "belongs to user 65534")


if __name__ == "__main__":
    mount_harness.main()
