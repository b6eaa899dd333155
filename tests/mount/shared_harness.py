"""For tests of the store that hosts share. A host is a daemon with a cache of its own."""

import concurrent.futures
import glob
import os
import stat

import mount_harness
from mount_harness import LIMIT, MountTest, wait_until


class StoreTest(MountTest):
    def setUp(self):
        super().setUp()
        self.shared = os.path.join(self.dir, "shared")
        os.mkdir(self.shared, 0o700)
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.address = next(hex(start) for start, _, name in self.functions(self.path) if name.endswith("normEv"))
        self.hosts = 0

    def host(self, *options, source=None, env=None):
        """Another daemon that has converted nothing, and waits for the store as long as it takes; where it is mounted."""
        self.hosts += 1
        mnt, cache = (os.path.join(self.dir, "%s%d" % (name, self.hosts)) for name in ("host", "hostcache"))
        os.mkdir(mnt)
        os.mkdir(cache, 0o700)
        if not any(option.startswith("shared_wait=") for option in options):
            options += ("shared_wait=60000",)
        self.mount("shared=" + self.store_address(), *options, mnt=mnt, cache=cache, source=source,
                   log=os.path.join(self.dir, "log%d" % self.hosts), env=env)
        return mnt

    def store_address(self):
        return self.shared

    def entries(self, kind="gsym"):
        return sorted(glob.glob(os.path.join(self.shared, "gsymfs1", "*", "*." + kind)))

    def wait_given(self, count=1):
        wait_until(lambda: len(self.entries()) == count, "%d objects in the store" % count)
        return self.entries()

    def answer(self, mnt, id=None):
        return self.read(id or self.id, self.address, mnt=mnt)

    def metric(self, mnt, name, **labels):
        found = 0
        for line in self.read("metrics", mnt=mnt).splitlines():
            if line.startswith("gsymfs_%s{" % name) and all('%s="%s"' % label in line for label in labels.items()):
                found += int(line.rsplit(" ", 1)[1])
        return found

    def shares(self, mnt, result):
        return self.metric(mnt, "shared_conversions_total", result=result)

    def expect_taken(self, want, *options, source=None):
        mnt = self.host(*options, source=source)
        self.assertEqual(self.answer(mnt), want)
        self.assertEqual(self.conversions(mnt), 0)
        self.assertEqual(self.shares(mnt, "hit"), 1)
        return mnt

    def expect_converted(self, *options, source=None, why="miss"):
        mnt = self.host(*options, source=source)
        self.answer(mnt)
        wait_until(lambda: self.status(self.id, mnt)["state"] == "ready", "the conversion")
        self.assertEqual(self.conversions(mnt), 1)
        self.assertEqual((self.shares(mnt, "hit"), self.shares(mnt, why)), (0, 1), why)
        return mnt

    def cached(self, host=1):
        return sorted(glob.glob(os.path.join(self.dir, "hostcache%d" % host, "*.gsym")))

    def is_pending(self, path):
        """Whether a file of the cache is marked as not given yet."""
        return bool(os.stat(path).st_mode & stat.S_ISVTX)

    def copies(self, count):
        """So many small images, which differ in their ids."""
        data = mount_harness.contents(self.path)
        at = data.index(bytes.fromhex(self.id))
        ids = []
        for i in range(count):
            id = bytes([i + 1]) * 20
            self.add_file("copy%d" % i, data=data[:at] + id + data[at + 20:])
            ids.append(id.hex())
        return ids

    def change_a_line(self, path):
        """Another content, of the same size, id and time."""
        st = os.stat(path)
        with open(path, "r+b") as file:
            data = file.read()
            at = data.index(b"sample.cpp\0")
            file.seek(at)
            file.write(b"simple")
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))

    def ask_all(self, mounts, ids):
        """Asks all hosts for all images at once; the different answers."""
        with concurrent.futures.ThreadPoolExecutor(len(mounts) * len(ids)) as pool:
            answers = [pool.submit(self.read, id, "functions.tsv", mnt=mnt) for id in ids for mnt in mounts]
            return {answer.result(LIMIT) for answer in answers}

    def read_bytes(self, mnt, name):
        with open(os.path.join(mnt, self.id, name), "rb") as file:
            return file.read()
