#!/usr/bin/env python3
"""Everything at once for a few seconds: readers, listings, interrupts, changing files, evictions, full rescans."""

import errno
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import mount_harness
from mount_harness import LIMIT, MountTest

SECONDS = 6
KNOWN_ERRORS = (errno.ENOENT, errno.ESTALE, errno.EIO, errno.EINTR)


class StressTest(MountTest):
    def setUp(self):
        super().setUp()
        self.paths = [self.compile("image%d" % i) for i in range(8)]
        self.ids = [mount_harness.build_id(path) for path in self.paths]
        self.spans = [s for s in self.functions(self.paths[0]) if s[1] > s[0]]
        self.stop = False
        self.failures = []

    def address(self, rng):
        start, end, _ = rng.choice(self.spans)
        return rng.choice(("0x%x", "%016x", "0x%x.json", "0x%x.tsv", "0x%x.raw")) % rng.randrange(start, end)

    def read_some(self, rng):
        text = self.read(rng.choice(self.ids), self.address(rng))
        if not text.endswith("\n"):
            raise AssertionError("half an answer: %r" % text)

    def list_some(self, rng):
        for name in os.listdir(rng.choice((self.mnt, os.path.join(self.mnt, "by-name"),
                                           self.image(rng.choice(self.ids))))):
            rng.random()

    def status_some(self, rng):
        self.status(rng.choice(self.ids))

    def gsym_some(self, rng):
        with open(os.path.join(self.image(rng.choice(self.ids)), "image.gsym"), "rb") as file:
            if file.read(4) != b"MYSG":
                raise AssertionError("not a GSYM file")

    def interrupt_some(self, rng):
        cat = subprocess.Popen(["cat", os.path.join(self.image(rng.choice(self.ids)), self.address(rng))],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() / 50)
        cat.send_signal(rng.choice((signal.SIGINT, signal.SIGKILL)))
        cat.wait(LIMIT)

    def alias_some(self, rng):
        os.readlink(self.image(rng.choice(self.ids)[:rng.randrange(8, 40)]))

    def change_some(self, rng):
        """A file gets another time, goes away and comes back, or is replaced by a copy."""
        path = rng.choice(self.paths)
        kept = os.path.join(self.dir, "kept-%d" % threading.get_ident())
        what = rng.randrange(3)
        if what == 0:
            os.utime(path, (rng.randrange(10**9), rng.randrange(10**9)))
        elif what == 1:
            os.rename(path, kept)
            time.sleep(0.3)
            os.rename(kept, path)
        else:
            shutil.copy2(path, kept)
            os.rename(kept, path)
        time.sleep(0.2)

    def evict_some(self, rng):
        for name in os.listdir(self.cache):
            if name.endswith(".gsym") and rng.random() < 0.5:
                try:
                    os.unlink(os.path.join(self.cache, name))
                except FileNotFoundError:
                    pass
        time.sleep(0.3)

    def repeat(self, action, seed):
        rng = random.Random(seed)
        while not self.stop:
            try:
                action(rng)
            except OSError as error:
                if error.errno not in KNOWN_ERRORS:
                    self.failures.append((action.__name__, error))
                    return
            except Exception as error:
                self.failures.append((action.__name__, error))
                return

    def test_everything_at_once(self):
        daemon = self.mount("rescan=1", "jobs=2", "cache_size=4K")
        actions = [self.read_some] * 4 + [self.list_some, self.status_some, self.gsym_some, self.alias_some] + \
                  [self.interrupt_some] * 2 + [self.change_some, self.evict_some]
        threads = [threading.Thread(target=self.repeat, args=(action, i)) for i, action in enumerate(actions)]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS)
        self.stop = True
        for thread in threads:
            thread.join(LIMIT)
            self.assertFalse(thread.is_alive(), "a reader hangs: %s" % daemon.log())
        self.assertEqual(self.failures, [])
        time.sleep(1.2)
        for id in self.ids:
            self.assertIn("geo::point::norm", self.read(id, self.norm()))
        self.assertEqual(daemon.stop(), 0)

    def norm(self):
        return next(hex(start) for start, _, name in self.spans if name.endswith("normEv"))


if __name__ == "__main__":
    mount_harness.main()
