#!/usr/bin/env python3
"""The scan: while it is under way, when it fails, and what it says of links and of files it cannot look at."""

import errno
import os
import shutil
import subprocess

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
        daemon = self.mount("worker=" + relay.worker)
        relay.wait_asked(2)
        self.assertEqual(self.status(self.id)["debug"], "symbols")
        parked = self.reader(UNKNOWN, "status")
        daemon.wait_calls("scan")
        relay.release(2)
        relay.wait_asked(3)
        ls = subprocess.Popen(["ls", "-l", self.mnt], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stat = subprocess.Popen(["stat", os.path.join(self.mnt, self.id[:12])], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        self.processes += [ls, stat]
        try:
            ls.wait(mount_harness.LIMIT)
            wait_until(lambda: self.status(self.id)["debug"] == "dwarf", "the better source")
            run("ls", "-l", self.mnt)
        finally:
            self.assertIsNone(parked.poll())
            relay.release(3)
        self.assertIn("No such file", self.finish(parked)[2])
        self.assertEqual(stat.wait(mount_harness.LIMIT), 0)

    def stat_errno(self, id):
        try:
            os.stat(self.image(id))
        except OSError as error:
            return error.errno
        return 0

    def test_a_failed_first_scan_is_no_answer(self):
        """The worker cannot be started once the mount is there: unknown ids are errors until it can."""
        broken = os.path.join(self.dir, "broken")
        worker = os.path.join(self.dir, "worker")
        with open(worker, "w") as script:
            script.write("#!/bin/sh\n[ -e %s ] && exit 1\n: >%s\nexec %s \"$@\"\n" %
                         (broken, broken, os.path.realpath(mount_harness.GSYM)))
        os.chmod(worker, 0o755)
        daemon = self.mount("worker=" + worker)
        self.assertErrno(errno.EIO, os.stat, self.image(self.id))
        self.assertErrno(errno.EIO, os.stat, self.image(UNKNOWN))
        self.assertErrno(errno.EIO, os.stat, os.path.join(self.mnt, "by-name", "sample"))
        with open(worker, "w") as script:
            script.write("#!/bin/sh\nexec %s \"$@\"\n" % os.path.realpath(mount_harness.GSYM))
        wait_until(lambda: os.path.exists(self.image(self.id)), "the scan that works")
        # The image is there as soon as it is found; what is not there is known when the scan ends.
        daemon.wait_scanned()
        wait_until(lambda: self.stat_errno(UNKNOWN) == errno.ENOENT, "the end of the scan")

    def test_hard_links_of_different_reach(self):
        """Whoever reaches the file by one of its links may read it, and a rescan replaces nothing."""
        for name, mode in (("a", 0o755), ("b", 0o700), ("c", 0o755), ("d", 0o700)):
            where = os.path.join(self.source, name)
            os.mkdir(where)
            os.chmod(where, mode)
            os.link(self.path, os.path.join(where, "link"))
        os.unlink(self.path)
        daemon = self.mount("rescan=1", "allow_other")
        daemon.wait_scanned()
        first = os.stat(self.image(self.id))
        self.assertEqual(first.st_mode & 0o777, 0o555)
        held = os.open(self.image(self.id), os.O_RDONLY)
        self.addCleanup(os.close, held)
        self.wait_scans()
        # A name nobody has looked up yet: of a replaced directory it would be ESTALE.
        self.assertIn("state", self.status(self.id))
        self.assertErrno(errno.ENOENT, os.stat, "0x1", dir_fd=held)
        self.assertEqual(os.stat(self.image(self.id)).st_ino, first.st_ino)

    def sick_stat(self):
        """(environment, switch): while the file switch exists, stat(2) of files called sick fails."""
        if os.environ.get("BUILD_KIND") == "sanitize":
            self.skipTest("a sanitizer wants to be the first library")
        library, switch = os.path.join(self.dir, "sick.so"), os.path.join(self.dir, "switch")
        run(mount_harness.CC, "-shared", "-fPIC", "-O2", '-DSWITCH="%s"' % switch,
            os.path.join(mount_harness.HERE, "sick_stat.c"), "-o", library)
        return dict(os.environ, LD_PRELOAD=library), switch

    def test_an_error_is_no_removal(self):
        environment, switch = self.sick_stat()
        sick = mount_harness.build_id(self.compile("sick"))
        daemon = self.mount("rescan=1", env=environment)
        daemon.wait_scanned()
        with open(switch, "w"):
            pass
        wait_until(lambda: daemon.log().count("/sick': cannot stat") + daemon.log().count("'sick': cannot stat") >= 2,
                   "two scans")
        self.assertIn("state", self.status(sick))
        self.assertIn(sick, os.listdir(self.mnt))

    def test_a_removed_file_is_gone_also_when_scans_are_incomplete(self):
        environment, switch = self.sick_stat()
        self.compile("sick")
        self.mount("rescan=0", env=environment).wait_scanned()
        with open(switch, "w"):
            pass
        os.unlink(self.path)
        # It is gone, but its id may be that of the file which cannot be looked at.
        self.assertErrno(errno.EIO, self.read, self.id, "0x1000")
        self.assertNotIn(self.id, os.listdir(self.mnt))
        os.unlink(switch)
        wait_until(lambda: self.stat_errno(self.id) == errno.ENOENT, "a complete scan")


if __name__ == "__main__":
    mount_harness.main()
