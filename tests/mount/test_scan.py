#!/usr/bin/env python3
"""The scan: while it is under way, when it fails, and what it says of links and of files it cannot look at."""

import ctypes
import errno
import os
import shutil
import struct
import subprocess
import time

import mount_harness
from mount_harness import MountTest, Relay, run, wait_until, within_limit

UNKNOWN = "00112233445566778899aabbccddeeff00112233"

# Bytes of a sparse file: 8 TB, or 64 GB where ThreadSanitizer leaves no room to map that.
HUGE = 64 << 30 if os.environ.get("BUILD_KIND") == "sanitize" else 8 << 40

class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def whole_hash(path):
    """XXH3 of 128 bits of a file, in hexadecimal digits."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Hash128
    data = mount_harness.contents(path)
    found = library.XXH3_128bits(data, ctypes.c_size_t(len(data)))
    return "%016x%016x" % (found.high, found.low)


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
            os.listdir(self.mnt)
        finally:
            self.assertIsNone(parked.poll())
            relay.release(3)
        self.assertIn("No such file", self.finish(parked)[2])
        self.assertEqual(stat.wait(mount_harness.LIMIT), 0)

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
        wait_until(lambda: self.errno_of(UNKNOWN) == errno.ENOENT, "the end of the scan")

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

    def test_a_known_file_is_not_opened(self):
        """The second mount knows what is in it and who may read it; its ctime tells that both are still true."""
        changed = os.stat(self.path).st_ctime
        wait_until(lambda: time.time() > changed + 4, "a file that is older than a step of the clock")
        for expected in (" 1 opened, 1 for their permissions", " 0 opened, 0 for their permissions"):
            daemon = self.mount("allow_other")
            daemon.wait_scanned()
            self.assertIn(expected, daemon.log())
            self.assertEqual(os.stat(self.image(self.id)).st_mode & 0o777, 0o555)
            daemon.stop()
        os.chmod(self.path, 0o700)
        daemon = self.mount("allow_other")
        daemon.wait_scanned()
        self.assertEqual(os.stat(self.image(self.id)).st_mode & 0o777, 0o500)

    def sick_stat(self):
        """(environment, switch): while the file switch exists, stat(2) of files called sick fails."""
        switch = os.path.join(self.dir, "switch")
        return self.preload("sick_stat.c", '-DSWITCH="%s"' % switch), switch

    def test_an_error_is_no_removal(self):
        environment, switch = self.sick_stat()
        sick = mount_harness.build_id(self.compile("sick"))
        daemon = self.mount("rescan=1", env=environment)
        daemon.wait_scanned()
        with open(switch, "w"):
            pass
        wait_until(lambda: daemon.log().count("sick: cannot stat") >= 2,
                   "two scans")
        self.assertIn("state", self.status(sick))
        self.assertIn(sick, os.listdir(self.mnt))

    def test_a_removed_file_is_gone_also_when_scans_are_incomplete(self):
        environment, switch = self.sick_stat()
        self.compile("sick")
        self.mount("rescan=1", env=environment).wait_scanned()
        with open(switch, "w"):
            pass
        # Or the removal may be all that is noticed: then the id is that of no file.
        wait_until(lambda: "state\tincomplete\n" in self.read("status"), "an incomplete scan")
        os.unlink(self.path)
        # It is gone, but its id may be that of the file which cannot be looked at.
        self.assertErrno(errno.EIO, self.read, self.id, "0x1000")
        self.assertNotIn(self.id, os.listdir(self.mnt))
        os.unlink(switch)
        wait_until(lambda: self.errno_of(self.id) == errno.ENOENT, "a complete scan")

    # ---- What is asked for during the first walk ----

    def slow_walk(self):
        """(environment, switch): a walk over SOURCE takes minutes, or until the file switch is removed."""
        switch = os.path.join(self.dir, "switch")
        environment = self.preload("slow_stat.c", '-DSWITCH="%s"' % switch)
        for name in (switch, *(os.path.join(self.source, "slow%d" % i) for i in range(3000))):
            with open(name, "w"):
                pass
        return environment, switch

    def into(self, *parts):
        """A directory of SOURCE that the walk reaches after all files beside it."""
        path = os.path.join(self.source, *parts)
        os.makedirs(path, exist_ok=True)
        return path

    def test_asked_for_before_its_turn(self):
        environment, switch = self.slow_walk()
        here = self.into("a", "b")
        deep = mount_harness.build_id(self.compile("deep", where=here))
        linked = mount_harness.build_id(self.compile("linked", where=self.into("later")))
        places = {}
        for at, top in enumerate((".build-id", "usr/lib/debug/.build-id", "")):
            path = self.compile("debug%d" % at)
            id = mount_harness.build_id(path)
            os.rename(path, os.path.join(self.into(top, id[:2]), id[2:] + ".debug"))
            places[id] = path
        outside = os.path.join(self.dir, "outside")
        os.makedirs(outside)
        self.compile("secret", where=outside)
        os.symlink(outside, os.path.join(self.source, "astray"))
        os.symlink("a", os.path.join(self.source, "alias"))
        daemon = self.mount("rescan=0", env=environment)
        top = os.path.join(self.mnt, "by-path")

        self.assertEqual(os.readlink(os.path.join(top, "a", "b", "deep")), "../../../" + deep)
        self.assertEqual(os.listdir(os.path.join(top, "a")), ["b"])
        for id in places:
            self.assertEqual(self.status(id)["state"], "cold")
            self.assertTrue(self.read(id, "functions.tsv"))
        self.assertEqual(os.stat(os.path.join(top, "a")).st_mtime, os.stat(self.into("a")).st_mtime)

        # What is not there, or not there without links, waits for the walk; and so does an id that can be anywhere.
        waiting = {path: self.reader(*path.split("/")) for path in
                   ("by-path/none", "by-path/a/none", "by-path/astray/secret", "by-path/alias/b", UNKNOWN + "/status",
                    "by-path/a/b/deep/none/x", linked + "/status")}
        del waiting["by-path/a/b/deep/none/x"]
        daemon.wait_calls("scan", 6)
        self.assertIn("the first one runs", daemon.state())
        self.assertNotIn("scan: ", daemon.log().replace("state: scan: ", ""))
        os.unlink(switch)
        for path, reader in waiting.items():
            status, out, _ = self.finish(reader)
            self.assertEqual(status, 0 if path.startswith(linked) else 1, path)
        self.assertEqual(os.readlink(os.path.join(top, "a", "b", "deep")), "../../../" + deep)

    def test_a_directory_asked_for_that_has_no_images(self):
        """It is there until the walk knows; then it is not."""
        environment, switch = self.slow_walk()
        os.mkdir(os.path.join(self.source, "empty"), 0o750)
        daemon = self.mount("rescan=0", env=environment)
        empty = os.path.join(self.mnt, "by-path", "empty")
        self.assertEqual(os.stat(empty).st_mode & 0o777, 0o550)
        self.assertEqual(os.listdir(empty), [])
        os.unlink(switch)
        daemon.wait_scanned()
        wait_until(lambda: not os.path.lexists(empty), "its end")

    # ---- Files without an id ----

    def plain(self, name, size, loaded=0):
        """A program without build id in a sparse file of @size bytes, of which it loads @loaded and some more."""
        data = os.path.join(self.dir, "data.cpp")
        with open(data, "w") as file:
            file.write("extern const char data[%d] = {1};\n" % (loaded + 1))
        path = self.compile(name, flags=["-Wl,--build-id=none", data])
        try:
            os.truncate(path, size)
        except OSError:
            self.skipTest("no sparse file of %d bytes here" % size)
        return path

    def hashes(self):
        return {id for id in self.ids() if id.startswith("xxh3-")}

    def address(self, path):
        return next("0x%x" % f[0] for f in self.functions(path) if f[2].endswith("normEv"))

    def answers(self, path, id, address=None):
        """Whether the image of @path is answered for."""
        return "sample.cpp:" in self.read(id, address or self.address(path))

    @mount_harness.needs_large_files
    def test_a_huge_sparse_file(self):
        """So much cannot be read: what is loaded into memory is hashed, and that is little."""
        path = self.plain("huge", HUGE)
        self.mount("rescan=1").wait_scanned()
        (id,) = self.hashes()
        self.assertErrno(errno.ENOENT, os.stat, self.image(UNKNOWN))
        os.truncate(path, HUGE // 8 * 7)
        self.wait_scans(2)
        self.assertEqual(self.hashes(), {id})

    @mount_harness.needs_large_files
    def test_sections_without_end(self):
        """A file that claims more than can be hashed has no id, and is not tried again."""
        path = self.plain("vast", HUGE)
        with open(path, "r+b") as file:
            head = file.read(64)
            table, entry, count = struct.unpack_from("<Q", head, 40)[0], *struct.unpack_from("<HH", head, 58)
            for i in range(count):
                file.seek(table + i * entry + 8)
                if struct.unpack("<Q", file.read(8))[0] & 4:  # SHF_EXECINSTR
                    file.seek(table + i * entry + 32)
                    file.write(struct.pack("<Q", HUGE // 8))
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertRegex(daemon.log(), "vast: .*too large for a hash; skipped until it changes")
        self.assertErrno(errno.ENOENT, os.stat, self.image(UNKNOWN))
        self.assertEqual(self.ids(), {self.id})
        daemon = self.remount(daemon)
        daemon.wait_scanned()
        self.assertNotIn("vast", daemon.log())

    def mount_hashing(self):
        """(daemon, relay) while the worker that hashes a file is held."""
        relay = Relay(self)
        relay.hold("hash")
        daemon = self.mount("worker=" + relay.worker)
        relay.wait_asked("hash")
        return daemon, relay

    def plain_large(self):
        """One that takes long to hash, for the daemon, which gives up on the worker after 889 s (30, and one for each
        5 MB up to 4 GiB). Of a file larger than 4 GiB what is loaded is hashed, soon also with ThreadSanitizer."""
        return self.plain("large", 5 << 30, loaded=10 << 20)

    @mount_harness.needs_large_files
    def test_hashing_delays_no_other_file(self):
        path, late = self.plain_large(), self.compile("late", where=self.dir)
        late_id, late_address, address = mount_harness.build_id(late), self.address(late), self.address(self.path)
        daemon, relay = self.mount_hashing()
        self.assertEqual(self.status(self.id)["debug"], "dwarf")
        self.assertTrue(self.answers(self.path, self.id, address))
        self.assertErrno(errno.ENOENT, os.stat, self.image(UNKNOWN))
        os.rename(late, os.path.join(self.source, "late"))
        wait_until(lambda: late_id in self.ids(), "a new file")
        self.assertTrue(self.answers(late, late_id, late_address))
        # Requests for what may come of it wait.
        unknown = self.reader("xxh3-" + "0" * 32, "status")
        daemon.wait_calls("scan")
        named = self.reader("by-name", "nothing", "x", "status")
        daemon.wait_calls("scan", 2)
        self.assertEqual(self.hashes(), set())
        relay.release("hash")
        (id,) = wait_until(self.hashes, "its id")
        self.assertTrue(self.answers(path, id))
        self.assertIn("No such file", self.finish(unknown)[2])
        self.assertIn("No such file", self.finish(named)[2])
        self.assertTrue(os.path.exists(os.path.join(self.mnt, "by-name", "large", id)))

    @mount_harness.needs_large_files
    def test_a_lookup_that_waits_delays_no_other(self):
        """Also when images come meanwhile: for as long as a lookup takes, the kernel locks the directory."""
        self.plain_large()
        late = self.compile("late", where=self.dir)
        images = [(path, mount_harness.build_id(path), self.address(path)) for path in (self.path, late)]
        daemon, relay = self.mount_hashing()
        waiting = self.reader("xxh3-" + "0" * 32, "status")
        daemon.wait_calls("scan")
        os.rename(late, os.path.join(self.source, "late"))
        within_limit(lambda: wait_until(lambda: images[1][1] in self.ids(), "a new file"), "a listing")
        for image in images:
            self.assertTrue(within_limit(lambda: self.answers(*image), "an answer"))
        within_limit(lambda: self.assertErrno(errno.ENOENT, os.stat, self.image(UNKNOWN)), "an unknown id")
        self.assertIsNone(waiting.poll())
        relay.release("hash")
        self.assertIn("No such file", self.finish(waiting)[2])

    def test_the_daemon_stops_while_it_hashes(self):
        path = self.plain("large", 16 << 20)
        daemon, relay = self.mount_hashing()
        daemon.wait_scanned()
        self.assertEqual(daemon.stop(), 0)
        relay.release("hash")
        self.mount()
        (id,) = wait_until(self.hashes, "its id")
        self.assertTrue(self.answers(path, id))
        self.assertEqual(id, "xxh3-" + whole_hash(path))


if __name__ == "__main__":
    mount_harness.main()
