#!/usr/bin/env python3
"""The store of converted files that hosts share. A host is a daemon with a cache of its own."""

import base64
import concurrent.futures
import ctypes
import glob
import os
import re
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import mount_harness
import splitfile
from fragment_harness import UNIT, UNITS
from mount_harness import GSYMFS, LIMIT, MountTest, run, wait_until

TRAILER = 256  # bytes of an object, see store_object.h


def make_key(seed):
    """(secret, public): lines of key files, from 32 bytes."""
    sodium = ctypes.CDLL("libsodium.so.23")
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    sodium.crypto_sign_seed_keypair(public, secret, seed)
    return ("gsymfs-secret-1 %s\n" % base64.b64encode(seed).decode(), "gsymfs-public-1 %s\n" % base64.b64encode(public.raw).decode())


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

    def test_layout_of_bazel(self):
        self.expect_converted("shared_layout=bazel")
        wait_until(lambda: glob.glob(os.path.join(self.shared, "ac", "*")), "the object")
        (path,) = os.listdir(os.path.join(self.shared, "ac"))
        self.assertRegex(path, "^[0-9a-f]{64}$")
        mnt = self.host("shared_layout=bazel")
        self.answer(mnt)
        self.assertEqual(self.shares(mnt, "hit"), 1)
        self.assertIn("shared_leases\tno", self.read("status", mnt=mnt))

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

    def test_failure(self):
        """What is wrong with a file is found out once."""
        with open(self.path, "r+b") as file:
            file.seek(0x28)
            file.write((1 << 40).to_bytes(8, "little"))  # its section headers are outside
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
    def gated_host(self):
        """A host whose worker waits at a gate, and the gate."""
        gate = mount_harness.Gate(self)
        gate.shut()
        return self.host("worker=" + gate.worker), gate

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
        first, gate = self.gated_host()
        reader = self.reader(self.id, "functions.tsv", mnt=first)
        wait_until(lambda: self.entries("lease"), "the lease")
        second = self.host()
        waiting = self.reader(self.id, "functions.tsv", mnt=second)
        wait_until(lambda: self.metric(second, "shared_leases_total", result="waited") == 1, "a wait")
        self.assertIn("leaf_3", self.answer(second))
        self.assertEqual(self.status(self.id, second)["tier"], "fragments")
        other = mount_harness.build_id(self.compile_other())
        wait_until(lambda: other in self.ids(second), "the other image")
        self.assertIn("geo::point::norm", self.read(other, "functions.tsv", mnt=second))  # others do not wait
        gate.open()
        outputs = {self.finish(process)[:2] for process in (reader, waiting)}
        self.assertEqual(len(outputs), 1)
        self.assertEqual(self.status(self.id, second)["conversions"], "0")
        self.assertEqual(self.shares(second, "waited"), 1)

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


class HostileTest(StoreTest):
    """What a store may hold."""

    def foreign(self):
        """An intact object of another image, which the store has as well."""
        other = mount_harness.build_id(self.compile_other())
        mnt = self.host()
        before = set(self.entries())
        self.read(other, "functions.tsv", mnt=mnt)
        return wait_until(lambda: set(self.entries()) - before, "another object").pop()

    def damages(self, path):
        data = mount_harness.contents(path)
        foreign = mount_harness.contents(self.foreign())
        os.unlink(os.path.join(self.source, "other"))

        def flipped(at):
            return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]

        end = len(data)
        return {"truncated": data[:100], "empty": b"", "without its end": data[:-1], "longer": data + b"\0",
                "flipped": flipped(end // 2), "flipped in the key": flipped(end - TRAILER + 100),
                "flipped in the size": flipped(end - TRAILER + 144), "of another": foreign,
                "trailer of another": data[:-TRAILER] + foreign[-TRAILER:], "not one": b"<html></html>" * 100}

    def test_damaged(self):
        want = self.answer(self.expect_converted())
        (path,) = self.wait_given()
        for name, data in self.damages(path).items():
            with self.subTest(name):
                with open(path, "wb") as file:
                    file.write(data)
                mnt = self.expect_converted(why="damaged")
                self.assertEqual(self.answer(mnt), want)
                wait_until(lambda: self.shares(mnt, "given") == 1, "a sound object")
                self.assertRegex(self.daemons[-1].log(), os.path.basename(path) + ": damaged: .*; converting it here, and replacing it")
                self.assertEqual(self.daemons[-1].stop(), 0)
        self.expect_taken(want)

    def test_strange_entries(self):
        want = self.answer(self.expect_converted())
        (path,) = self.wait_given()
        os.unlink(path)
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)):
            self.assertEqual(self.daemons[-1].stop(), 0)  # it may be about to give
            if os.path.lexists(path):
                os.unlink(path)
            make(path)
            mnt = self.host()
            self.assertEqual(self.answer(mnt), want)
            wait_until(lambda: self.status(self.id, mnt)["state"] == "ready", "the conversion")
            self.assertEqual(self.shares(mnt, "hit"), 0)
            if os.path.isdir(path):
                os.rmdir(path)

    def key_files(self):
        """Files of two keys: (secret, public) of each."""
        files = []
        for i in range(2):
            paths = [os.path.join(self.dir, "%s%d" % (kind, i)) for kind in ("secret", "public")]
            for path, line in zip(paths, make_key(bytes([i + 1]) * 32)):
                with open(path, "w") as file:
                    file.write(line)
                os.chmod(path, 0o600)
            files.append(paths)
        return files

    def test_signed(self):
        (secret, public), (other_secret, other_public) = self.key_files()
        want = self.answer(self.expect_converted("sign_key=" + secret))
        (path,) = self.wait_given()
        mnt = self.expect_taken(want, "trusted_keys=" + public)
        self.assertIn("shared_signatures\tdemanded", self.read("status", mnt=mnt))
        self.expect_taken(want)  # who demands nothing takes what is signed, too
        mnt = self.expect_converted("trusted_keys=" + other_public, "sign_key=" + other_secret, why="refused")
        self.assertRegex(self.daemons[-1].log(), os.path.basename(path) + ": not trusted: .*have its signer in trusted_keys")
        self.assertEqual(self.shares(mnt, "given"), 0)  # it may be others' right one
        with open(other_public, "a") as both, open(public) as more:
            both.write(more.read())
        self.expect_taken(want, "trusted_keys=" + other_public)

    def test_unsigned(self):
        (secret, public), _ = self.key_files()
        want = self.answer(self.expect_converted())
        (path,) = self.wait_given()
        mnt = self.expect_converted("trusted_keys=" + public, "sign_key=" + secret, why="refused")
        self.assertEqual(self.answer(mnt), want)
        self.assertIn("not trusted", self.daemons[-1].log())

    def test_replayed(self):
        """A signed object is of no use under another name."""
        (secret, public), _ = self.key_files()
        options = ("trusted_keys=" + public, "sign_key=" + secret)
        want = self.answer(self.expect_converted(*options))
        (path,) = self.wait_given()
        other = mount_harness.build_id(self.compile_other())
        mnt = self.host(*options)
        self.read(other, "functions.tsv", mnt=mnt)
        (foreign,) = set(self.wait_given(2)) - {path}
        os.unlink(os.path.join(self.source, "other"))
        shutil.copyfile(foreign, path)
        mnt = self.expect_converted(*options, why="damaged")
        self.assertEqual(self.answer(mnt), want)
        wait_until(lambda: self.shares(mnt, "given") == 1, "the right object")
        self.expect_taken(want, *options)


class FaultyStoreTest(StoreTest):
    """A store that fails costs no answer."""

    def test_gone(self):
        mnt = self.host()
        os.rmdir(self.shared)
        self.assertIn("geo::point::norm", self.answer(mnt))
        self.assertEqual(self.shares(mnt, "hit"), 0)

    def mount_small(self, options):
        if not mount_harness.is_root():
            self.skipTest("mounts are root's")
        run("mount", "-t", "tmpfs", "-o", "mode=0700," + options, "none", self.shared)

    def test_full(self):
        self.mount_small("size=4k,nr_inodes=5")
        mnt = self.host()
        self.assertIn("geo::point::norm", self.answer(mnt))
        wait_until(lambda: self.shares(mnt, "dropped") >= 1, "what cannot be given")
        self.assertRegex(self.daemons[-1].log(), "cannot be given|must not be written")

    def test_read_only(self):
        self.mount_small("size=64m")
        want = self.answer(self.expect_converted())
        self.wait_given()
        wait_until(lambda: not self.entries("lease"), "the end of the lease")
        run("mount", "-o", "remount,ro", self.shared)
        mnt = self.expect_taken(want)
        other = mount_harness.build_id(self.compile_other())
        wait_until(lambda: other in self.ids(mnt), "the other image")
        self.assertIn("geo::point::norm", self.read(other, "functions.tsv", mnt=mnt))
        wait_until(lambda: self.shares(mnt, "dropped") == 1, "what cannot be given")
        self.assertIn("shared_access\tread-only", self.read("status", mnt=mnt))

    def child(self, daemon):
        """The process of @daemon that transfers."""
        pid = daemon.process.pid
        for line in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(line) as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                with open(os.path.join(os.path.dirname(line), "cmdline"), "rb") as file:
                    words = file.read().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == pid and words[1:3] == [b"worker", b"store"]:
                return int(line.split("/")[2])
        return None

    def test_stopped(self):
        """As a directory on a file server that stops answering would."""
        ids = self.copies(6)
        mnt = self.host("shared_wait=100")
        want = self.read(ids[0], "functions.tsv", mnt=mnt)
        pid = wait_until(lambda: self.child(self.daemons[-1]), "the process")
        os.kill(pid, signal.SIGSTOP)
        try:
            for id in ids[1:]:
                self.assertEqual(self.read(id, "functions.tsv", mnt=mnt), want)
            self.assertEqual(self.conversions(mnt), 6)
            self.read("status", mnt=mnt)
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_killed(self):
        ids = self.copies(3)
        mnt = self.host()
        want = self.read(ids[0], "functions.tsv", mnt=mnt)
        self.wait_given(1)
        os.kill(wait_until(lambda: self.child(self.daemons[-1]), "the process"), signal.SIGKILL)
        for id in ids[1:]:
            self.assertEqual(self.read(id, "functions.tsv", mnt=mnt), want)


class RefusedTest(StoreTest):
    def refused(self, *options, words, status=1):
        done = run(GSYMFS, "-f", "-o", ",".join(("cache=" + self.cache, *options)), self.source, self.mnt, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(words, done.stderr.decode())

    def test_refused(self):
        self.refused("shared=" + os.path.join(self.dir, "nowhere"), words="cannot open")
        self.refused("shared=ftp\\://127.0.0.1/", words="allowed is a directory, or an address", status=2)
        self.refused("shared=" + self.cache, words="is the cache")
        for mode in (0o777, 0o720, 0o702):
            os.chmod(self.shared, mode)
            self.refused("shared=" + self.shared, words="writable by others")
        if mount_harness.is_root():
            os.chmod(self.shared, 0o700)
            os.chown(self.shared, 65534, 65534)
            self.refused("shared=" + self.shared, words="belongs to user 65534")

    def test_refused_keys(self):
        path = os.path.join(self.dir, "key")
        with open(path, "w") as file:
            file.write(make_key(b"k" * 32)[0])
        os.chmod(path, 0o644)
        self.refused("shared=" + self.shared, "sign_key=" + path, words=path)
        self.refused("shared=" + self.shared, "trusted_keys=" + path + "none", words=path + "none")


if __name__ == "__main__":
    mount_harness.main()
