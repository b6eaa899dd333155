#!/usr/bin/env python3
"""images.tsv: what it says of each image, to whom, and that it follows the images and the cache."""

import os
import re
import shutil
import stat
import threading
import unittest

import mount_harness
from mount_harness import MountTest, contents

OTHER = 61001  # a user
MANY = 3000    # images: more than a slice takes


class ImagesTableTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.data = contents(self.path)
        self.at = self.data.find(bytes.fromhex(self.id))

    def copy(self, name, number, data=None):
        """The id of another file of the same content but for that."""
        id = number.to_bytes(20, "little")
        path = os.path.join(self.source, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write((data or self.data[:self.at]) + id + (b"" if data else self.data[self.at + 20:]))
        return id.hex()

    def rows(self):
        with open(os.path.join(self.mnt, "images.tsv"), errors="surrogateescape") as table:
            text = table.read()
            self.assertEqual(os.fstat(table.fileno()).st_size, len(text.encode(errors="surrogateescape")))
        rows = [line.split("\t") for line in text.splitlines()]
        self.assertEqual([row[0] for row in rows], sorted(row[0] for row in rows))
        self.assertEqual({len(row) for row in rows} - {7}, set())
        return {row[0]: row[1:] for row in rows}

    def test_content(self):
        odd = self.copy("dir/a\tb\nc", 1)
        daemon = self.mount()
        daemon.wait_scanned()
        arch = self.value(self.id, "arch")
        name = os.path.relpath(self.path, self.source)
        self.assertEqual(self.rows(), {
            self.id: ["elf", arch, os.path.basename(name), "cold", "??", name],
            odd: ["elf", arch, "a\\tb\\nc", "cold", "??", "dir/a\\tb\\nc"],
        })
        self.assertEqual(self.value(odd, "conversions"), "0")
        functions = self.read(odd, "functions.tsv").count("\n")
        self.assertGreater(functions, 1)
        self.assertEqual(self.rows()[odd][3:5], ["ready", str(functions)])
        # The next daemon has it in the cache, and opens nothing to say so.
        self.remount(daemon).wait_scanned()
        self.assertEqual(self.rows()[odd][3:5], ["converted", str(functions)])
        self.assertEqual(self.rows()[self.id][3:5], ["cold", "??"])
        self.assertEqual(self.value(odd, "state"), "cold")
        self.assertIn('state="ready"} 0', self.read("metrics"))

    def value(self, id, key):
        return re.search(r"(?m)^%s\t(.*)$" % key, self.read(id, "status")).group(1)

    def test_snapshot(self):
        """What is open stays as it was; each path walk sees what there is."""
        self.mount().wait_scanned()
        with open(os.path.join(self.mnt, "images.tsv")) as table:
            more = self.copy("more", 7)
            os.rename(self.path, self.path + "-moved")
            mount_harness.wait_until(lambda: os.path.exists(os.path.join(self.mnt, more)), "the new image")
            mount_harness.wait_until(lambda: self.rows()[self.id][5].endswith("-moved"), "the new path")
            before = table.read()
        self.assertNotIn("-moved", before)
        self.assertIn(self.id, before)
        self.assertNotIn(more, before)
        copied = os.path.join(self.dir, "copy")
        shutil.copyfile(os.path.join(self.mnt, "images.tsv"), copied)
        self.assertEqual({line.split("\t")[0] for line in contents(copied).decode().splitlines()}, {self.id, more})

    def test_many_that_change(self):
        """Images that are there all the time are listed once, whatever comes and goes meanwhile."""
        stable = {self.copy("s/%d" % i, 1000 + i) for i in range(MANY)}
        self.mount().wait_scanned()
        self.assertEqual(set(self.rows()), stable | {self.id})
        stop = threading.Event()

        def change():
            for i in range(1, 1000):
                if stop.is_set():
                    return
                self.copy("changing", i)
        thread = threading.Thread(target=change)
        thread.start()
        for _ in range(5):
            self.assertLessEqual(stable, set(self.rows()))
        stop.set()
        thread.join()

    @unittest.skipUnless(mount_harness.is_root(), "only root can make files of other users")
    def test_access(self):
        mine = self.copy("mine", 3)
        path = os.path.join(self.source, "mine")
        os.chown(path, OTHER, OTHER)
        os.chmod(path, 0o600)
        os.chmod(self.path, 0o600)
        open_to_all = self.copy("open", 4)
        self.mount("allow_other").wait_scanned()
        self.assertEqual(set(self.rows()), {self.id, mine, open_to_all})
        self.assertEqual(self.as_user(OTHER), [[mine, open_to_all], OTHER, 0o400])
        self.assertEqual(self.as_user(OTHER + 1), [[open_to_all], OTHER + 1, 0o400])

    def as_user(self, uid):
        """The ids that the user sees, the owner of the file then, and its mode."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            with open(os.path.join(self.mnt, "images.tsv")) as table, open(writing, "w") as out:
                st = os.fstat(table.fileno())
                out.write(repr([sorted(line.split("\t")[0] for line in table), st.st_uid, stat.S_IMODE(st.st_mode)]))
            os._exit(0)
        os.close(writing)
        with open(reading) as result:
            text = result.read()
        os.waitpid(child, 0)
        return eval(text)  # of our own making


if __name__ == "__main__":
    mount_harness.main()
