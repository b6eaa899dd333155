#!/usr/bin/env python3
"""Conversions that hosts share by a directory."""

import glob
import json
import os
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import mount_harness
import splitfile
from fragment_harness import UNIT, UNITS
from mount_harness import run, wait_until
from shared_harness import StoreTest


class SharedTest(StoreTest):
    def test_one_converts_for_all(self):
        first = self.expect_converted()
        (path,) = self.wait_given()
        want = self.answer(first)
        self.assertIn("geo::point::norm", want)
        second = self.expect_taken(want)
        wait_until(lambda: self.shares(first, "given") == 1, "the count")
        self.assertEqual(self.shares(second, "given"), 0)
        for name in ("image.gsym", "functions.tsv"):
            self.assertEqual(self.read_bytes(first, name), self.read_bytes(second, name))
        keep = ("state", "id", "source", "functions", "bytes", "units", "image_base", "segment")
        self.assertEqual(*({k: self.status(self.id, mnt)[k] for k in keep} for mnt in (first, second)))
        self.assertEqual([self.status(self.id, mnt)["origin"] for mnt in (first, second)], ["here", "store"])
        self.assertIn('"origin":"store"', self.read(self.id, "info.json", mnt=second).replace(" ", ""))
        self.assertIn("from the shared store", self.daemons[1].log())
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        wait_until(lambda: not self.entries("lease"), "the end of the lease")
        status = dict(line.split("\t", 1) for line in self.read("status", mnt=first).splitlines())
        self.assertEqual([status[k] for k in ("shared", "shared_breaker", "shared_access", "shared_leases", "shared_signatures")],
                         [self.shared, "closed", "read-write", "yes", "none"])
        self.assertEqual(self.metric(first, "shared_leases_total", result="taken"), 1)

    def test_all_at_once(self):
        ids = self.copies(20)
        mounts = [self.host() for _ in range(3)]
        self.assertEqual(len(self.ask_all(mounts, ids)), 1)
        self.assertEqual(sum(self.conversions(mnt) for mnt in mounts), 20)
        elsewhere = os.path.join(self.dir, "elsewhere")
        os.rename(self.source, elsewhere)
        os.mkdir(self.source)
        late = self.host(source=elsewhere)
        self.assertEqual(len(self.ask_all([late], ids)), 1)
        self.assertEqual((self.conversions(late), self.shares(late, "hit")), (0, 20))

    def test_leases_that_do_not_hold(self):
        """They save work, and nothing else."""
        ids = self.copies(8)
        mounts = [self.host() for _ in range(3)]
        over = threading.Event()

        def delete():
            while not over.is_set():
                for path in self.entries("lease"):
                    try:
                        os.unlink(path)
                    except FileNotFoundError:
                        pass

        thread = threading.Thread(target=delete)
        thread.start()
        try:
            self.assertEqual(len(self.ask_all(mounts, ids)), 1)
        finally:
            over.set()
            thread.join()
        self.assertLessEqual(8, sum(self.conversions(mnt) for mnt in mounts))
        self.assertLessEqual(sum(self.conversions(mnt) for mnt in mounts), 24)

    def test_other_place_and_owner(self):
        """That a file may be read is each host's own affair."""
        want = self.answer(self.expect_converted())
        self.wait_given()
        place = os.path.join(self.dir, "place", "below")
        os.makedirs(place)
        shutil.copy(self.path, os.path.join(place, "renamed"))
        os.chmod(os.path.join(place, "renamed"), 0o666)
        if mount_harness.is_root():
            os.chown(os.path.join(place, "renamed"), 65534, 65534)
        self.expect_taken(want, source=os.path.dirname(place))

    def test_other_content(self):
        """A file with everything a build system would look at is still another."""
        self.expect_converted()
        self.wait_given()
        self.change_a_line(self.path)
        self.assertIn("simple.cpp", self.answer(self.expect_converted()))
        self.wait_given(2)

    def test_other_options(self):
        want = self.answer(self.expect_converted())
        self.wait_given()
        self.expect_converted("merged=no")
        self.wait_given(2)
        # It looked for no other file, so that it does not matter where it would have looked.
        self.expect_taken(want, "debug_dirs=" + self.dir)

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
        data = mount_harness.contents(dwo)
        os.unlink(dwo)
        mnt = self.expect_converted(why="outdated")
        self.assertEqual(len(self.entries()), 1)  # the key is the same
        wait_until(lambda: self.shares(mnt, "given") == 1, "another object")
        with open(dwo, "wb") as file:
            file.write(data)
        self.assertEqual(self.answer(self.expect_converted(why="outdated")), want)

    def test_neighbours_at_another_place(self):
        debug = os.path.join(self.source, "deep", ".debug")
        os.makedirs(debug)
        path = os.path.join(self.source, "deep", "sample")
        os.rename(self.path, path)
        run("objcopy", "--only-keep-debug", path, os.path.join(debug, "sample.debug"))
        run("strip", "--strip-debug", path)
        run("objcopy", "--add-gnu-debuglink=" + os.path.join(debug, "sample.debug"), path)
        os.rename(os.path.join(debug, "sample.debug"), os.path.join(self.source, "deep", "sample.debug"))
        want = self.answer(self.expect_converted())
        self.assertIn("sample.cpp", want)
        self.wait_given()
        other = os.path.join(self.dir, "other")
        os.rename(self.source, other)
        os.mkdir(self.source)
        self.expect_taken(want, source=other)

    def test_other_directories(self):
        """A conversion that looked for a debug file is of no use to hosts that look elsewhere, but is left to others."""
        run("strip", "--strip-debug", self.path)
        self.expect_converted()
        self.wait_given()
        mnt = self.expect_converted("debug_dirs=" + self.dir, why="outdated")
        self.assertIn("give all hosts the same debug_dirs", self.daemons[-1].log())
        self.assertEqual(self.shares(mnt, "given"), 0)
        self.expect_taken(self.answer(mnt))

    def test_file_that_changes_meanwhile(self):
        """What another host made of a file is not taken for one that changes while the object is checked."""
        at = mount_harness.contents(self.path).index(b"sample.cpp\0")
        environment = self.preload("meanwhile.c", MEANWHILE_FILE=self.path, MEANWHILE_AT=str(at), MEANWHILE_TEXT="simple")
        self.answer(self.expect_converted())
        self.wait_given()
        mnt = self.host(env=environment)
        self.assertIn("simple.cpp", self.answer(mnt))
        self.assertEqual(self.shares(mnt, "hit"), 0)

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
            self.assertEqual(self.shares(self.expect_taken(self.answer(mnt)) if shared else mnt, "given"), 0)
            for path in self.entries():
                os.unlink(path)

    def test_evicted_is_taken_again(self):
        mnt = self.expect_converted()
        self.wait_given()
        want = self.answer(mnt)
        daemon, cache = self.daemons[-1], os.path.join(self.dir, "hostcache1")
        self.assertEqual(daemon.stop(), 0)
        for path in glob.glob(os.path.join(cache, "*.gsym")):
            os.unlink(path)
        self.mount("shared=" + self.shared, "shared_wait=60000", mnt=mnt, cache=cache)
        self.assertEqual(self.answer(mnt), want)
        self.assertEqual((self.conversions(mnt), self.status(self.id, mnt)["origin"]), (0, "store"))

    @mount_harness.needs_large_files
    def test_large_file(self):
        """One is known by samples, which another user who may write it could forge; and named so at any place."""
        os.truncate(self.path, 200 << 30)
        want = self.answer(self.expect_converted())
        self.wait_given()
        place = os.path.join(self.dir, "place", "below")
        os.makedirs(place)
        os.rename(self.path, os.path.join(place, "renamed"))
        self.expect_taken(want, source=os.path.dirname(place))
        os.chmod(os.path.join(place, "renamed"), 0o666)
        mnt = self.expect_converted(source=os.path.dirname(place))
        self.assertEqual(self.answer(mnt), want)
        self.assertEqual((self.shares(mnt, "given"), len(self.entries())), (0, 1))

    def test_failure(self):
        """What is wrong with a file is found out once."""
        mount_harness.spoil(self.path)
        reasons = set()
        for result in ("miss", "failure"):
            mnt = self.host()
            self.assertErrno(5, self.answer, mnt)
            status = self.status(self.id, mnt)
            self.assertEqual((status["state"], status["conversions"]), ("failed", "0" if result == "failure" else "1"))
            reasons.add(status["reason"])
            self.assertEqual(self.shares(mnt, result), 1)
            self.wait_given()
        self.assertEqual(len(reasons), 1)
        (path,) = self.entries()
        os.utime(path, (time.time() - 25 * 3600,) * 2)  # it is believed for a day
        mnt = self.host()
        self.assertErrno(5, self.answer, mnt)
        self.assertEqual((self.status(self.id, mnt)["conversions"], self.shares(mnt, "failure")), ("1", 0))
        wait_until(lambda: os.stat(self.entries()[0]).st_mtime > time.time() - 3600, "another")


class LeaseTest(StoreTest):
    def gated_host(self, *options):
        """A host whose worker waits at a gate, and the gate."""
        gate = mount_harness.Gate(self)
        gate.shut()
        return self.host("worker=" + gate.worker, *options), gate

    def use_program(self):
        """A program of so many units that an address is answered from one."""
        sources = []
        for n in range(UNITS):
            sources.append(os.path.join(self.dir, "unit_%d.c" % n))
            with open(sources[-1], "w") as file:
                file.write(UNIT.replace("@N@", str(n)))
        self.path = os.path.join(self.source, "program")
        run(mount_harness.CC, "-g", "-O2", "-shared", "-fPIC", "-Wl,--build-id=sha1", *sources, "-o", self.path)
        self.id = mount_harness.build_id(self.path)
        self.address = next(hex(start) for start, _, name in self.functions(self.path) if name == "leaf_3")

    def test_first_answers_while_another_converts(self):
        self.use_program()
        made = self.compile_other(where=self.dir)
        first, gate = self.gated_host()
        reader = self.reader(self.id, "functions.tsv", mnt=first)
        wait_until(lambda: self.entries("lease"), "the lease")
        gate.wait_started()
        second = self.host()
        waiting = self.reader(self.id, "functions.tsv", mnt=second)
        wait_until(lambda: self.metric(second, "shared_leases_total", result="waited") == 1, "a wait")
        wait_until(lambda: self.status(self.id, second).get("converter") == "elsewhere", "that status says so")
        self.assertEqual([self.status(self.id, mnt)["state"] for mnt in (first, second)], ["converting 0%", "converting"])
        self.assertEqual(self.status(self.id, first)["converter"], "here")
        info = json.loads(self.read(self.id, "info.json", mnt=second))
        self.assertEqual((info["state"], info["converter"], info.get("progress")), ("converting", "elsewhere", None))
        self.assertIn("leaf_3", self.answer(second))
        self.assertEqual(self.status(self.id, second)["tier"], "fragments")
        other = mount_harness.build_id(made)
        os.rename(made, os.path.join(self.source, "other"))
        wait_until(lambda: other in self.ids(second), "the other image")
        self.assertIn("geo::point::norm", self.read(other, "functions.tsv", mnt=second))  # others do not wait
        gate.open()
        outputs = {self.finish(process)[:2] for process in (reader, waiting)}
        self.assertEqual(len(outputs), 1)
        self.assertEqual(self.status(self.id, second)["conversions"], "0")
        self.assertNotIn("converter", self.status(self.id, second))
        self.assertEqual(self.shares(second, "waited"), 1)

    @mount_harness.needs_large_files
    def test_answers_that_fragments_do_not_have(self):
        """Of an image of one unit: they wait for another host no longer than for the store."""
        os.truncate(self.path, 20 << 30)  # 200 seconds are predicted for it, and waited for ten times as long
        first, gate = self.gated_host()
        self.reader(self.id, "functions.tsv", mnt=first)
        wait_until(lambda: self.entries("lease"), "the lease")
        gate.wait_started()
        second = self.host("shared_wait=15000", "threads=1")  # for the start of the store's process, too
        waiting = self.reader(self.id, "functions.tsv", mnt=second)
        wait_until(lambda: self.metric(second, "shared_leases_total", result="waited") == 1, "a wait")
        self.assertIn("geo::point::norm", self.answer(second))
        self.assertEqual(self.status(self.id, first)["state"], "converting 0%")
        self.assertEqual(self.finish(waiting)[0], 0)
        self.assertEqual(self.conversions(second), 1)

    def test_holder_that_ends(self):
        """A daemon that is stopped leaves no lease to wait for."""
        first, gate = self.gated_host()
        self.reader(self.id, "functions.tsv", mnt=first)
        wait_until(lambda: self.entries("lease"), "the lease")
        second = self.host()
        waiting = self.reader(self.id, "functions.tsv", mnt=second)
        wait_until(lambda: self.metric(second, "shared_leases_total", result="waited") == 1, "a wait")
        self.assertEqual(self.daemons[0].stop(), 0)
        self.assertEqual(self.finish(waiting)[0], 0)
        self.assertEqual(self.conversions(second), 1)
        self.assertEqual([self.metric(second, "shared_leases_total", result=result) for result in ("taken", "broken")], [1, 0])

    def test_holder_that_was_killed(self):
        first, gate = self.gated_host()
        self.reader(self.id, "functions.tsv", mnt=first)
        (lease,) = wait_until(lambda: self.entries("lease"), "the lease")
        second = self.host()
        waiting = self.reader(self.id, "functions.tsv", mnt=second)
        wait_until(lambda: self.metric(second, "shared_leases_total", result="waited") == 1, "a wait")
        self.daemons[0].stop(signal.SIGKILL)
        os.utime(lease, (time.time() - 3600,) * 2)
        self.assertEqual(self.finish(waiting)[0], 0)
        self.assertEqual(self.conversions(second), 1)
        self.assertEqual(self.metric(second, "shared_leases_total", result="broken"), 1)
        self.wait_given()


if __name__ == "__main__":
    mount_harness.main()
