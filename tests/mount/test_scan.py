#!/usr/bin/env python3
"""The scan: while it is under way, when it fails, and what it says of links and of files it cannot look at."""

import errno
import os
import shutil
import subprocess
import time

import mount_harness
from mount_harness import MountTest, Relay, run, wait_until

UNKNOWN = "00112233445566778899aabbccddeeff00112233"


class ScanTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)

    def test_nobody_waits_for_a_replaced_entry(self):
        """A parked lookup and a source that turns out to be better hold up neither listings nor other lookups."""
        deep = os.path.join(self.source, "d")
        os.makedirs(os.path.join(deep, "d"))
        shutil.copy2(self.path, os.path.join(deep, "debug"))
        self.compile("last", where=os.path.join(deep, "d"))
        run("strip", "--strip-debug", self.path)
        relay = Relay(self)
        relay.hold(2)
        relay.hold(3)
        self.mount("worker=" + relay.worker)
        relay.wait_asked(2)
        self.assertEqual(self.status(self.id)["debug"], "symbols")
        parked = self.reader(UNKNOWN, "status")
        time.sleep(0.2)
        relay.release(2)
        relay.wait_asked(3)
        time.sleep(0.2)
        ls = subprocess.Popen(["ls", "-l", self.mnt], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stat = subprocess.Popen(["stat", os.path.join(self.mnt, self.id[:12])], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        self.processes += [ls, stat]
        try:
            ls.wait(5)
            wait_until(lambda: self.status(self.id)["debug"] == "dwarf", "the better source", 5)
        finally:
            self.assertIsNone(parked.poll())
            relay.release(3)
        self.assertIn("No such file", self.finish(parked)[2])
        self.assertEqual(stat.wait(mount_harness.LIMIT), 0)


if __name__ == "__main__":
    mount_harness.main()
