#!/usr/bin/env python3
"""A shared store that is damaged, hostile, full, slow or away costs no answer."""

import base64
import contextlib
import ctypes
import glob
import os
import re
import shutil
import signal

import mount_harness
from mount_harness import GSYMFS, run, wait_until
from shared_harness import StoreTest

TRAILER = 256  # bytes of an object, see store_object.h


def make_key(seed):
    """(secret, public): lines of key files, from 32 bytes."""
    sodium = ctypes.CDLL("libsodium.so.23")
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    sodium.crypto_sign_seed_keypair(public, secret, seed)
    return ("gsymfs-secret-1 %s\n" % base64.b64encode(seed).decode(), "gsymfs-public-1 %s\n" % base64.b64encode(public.raw).decode())


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
        mnt = self.expect_converted("trusted_keys=" + other_public, why="refused")
        self.assertRegex(self.daemons[-1].log(), os.path.basename(path) + ": not trusted: .*have its signer in trusted_keys")
        self.assertEqual(self.shares(mnt, "given"), 0)  # an unsigned one would be no better
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
        wait_until(lambda: self.shares(mnt, "given") == 1, "a signed one in its place")
        self.expect_taken(want, "trusted_keys=" + public)

    def test_key_no_longer_trusted(self):
        """What it signed is replaced by the next host that converts and signs."""
        (secret, public), (other_secret, other_public) = self.key_files()
        want = self.answer(self.expect_converted("sign_key=" + secret))
        self.wait_given()
        mnt = self.expect_converted("trusted_keys=" + other_public, "sign_key=" + other_secret, why="refused")
        wait_until(lambda: self.shares(mnt, "given") == 1, "another object")
        self.expect_taken(want, "trusted_keys=" + other_public)

    def test_writable_by_others(self):
        """An object that other users may write could be theirs."""
        want = self.answer(self.expect_converted())
        (path,) = self.wait_given()
        for mode in (0o666, 0o620):
            os.chmod(path, mode)
            mnt = self.expect_converted(why="damaged")
            self.assertEqual(self.answer(mnt), want)
            self.assertIn("other users may write it", self.daemons[-1].log())
            wait_until(lambda: self.shares(mnt, "given") == 1, "another object")
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_keys_that_are_damaged(self):
        """A list of keys that was damaged meanwhile is no fault of the objects, which stay."""
        (secret, public), (other_secret, other_public) = self.key_files()
        want = self.answer(self.expect_converted("sign_key=" + secret))
        (path,) = self.wait_given()
        data = mount_harness.contents(path)
        line = mount_harness.contents(public)
        for name, damaged in {"cut": line[:30], "empty": b"", "large": b"#" * (300 << 10), "missing": None}.items():
            with self.subTest(name):
                with open(other_public, "wb") as file:
                    file.write(line)
                mnt = self.host("trusted_keys=" + other_public, "sign_key=" + other_secret)
                if damaged is None:
                    os.unlink(other_public)
                else:
                    with open(other_public, "wb") as file:
                        file.write(damaged)
                self.assertEqual(self.answer(mnt), want)
                wait_until(lambda: self.status(self.id, mnt)["state"] == "ready", "the conversion")
                self.assertEqual((self.conversions(mnt), self.shares(mnt, "refused")), (1, 1))
                self.assertEqual(self.daemons[-1].stop(), 0)
                self.assertRegex(self.daemons[-1].log(), ": not checked: %s.*: mend trusted_keys" % other_public)
                self.assertEqual(mount_harness.contents(path), data)

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
        os.rename(self.shared, self.shared + ".away")
        self.assertIn("geo::point::norm", self.answer(mnt))
        self.assertEqual(self.shares(mnt, "hit"), 0)

    def test_replaced(self):
        """A directory that takes the place of the store is the store, as one is that is mounted there later."""
        ids = iter(self.copies(40))
        mnt = self.host()
        want = self.read(next(ids), "functions.tsv", mnt=mnt)
        self.wait_given()
        os.rename(self.shared, self.shared + ".away")
        os.mkdir(self.shared, 0o700)

        def has_come():
            self.assertEqual(self.read(next(ids), "functions.tsv", mnt=mnt), want)
            return wait_until(lambda: self.entries() or self.shares(mnt, "dropped"), "an offer") and self.entries()
        wait_until(has_come, "an object in the new directory")
        # Which request met the old directory is not known: an offer, or the release of a lease.
        self.assertIn("the directory was replaced or removed: opening it again", self.daemons[-1].log())

    def test_removed(self):
        """A directory that is away is no empty one: it is left alone, and looked for later."""
        ids = self.copies(12)
        mnt = self.host()
        want = self.read(ids[0], "functions.tsv", mnt=mnt)
        self.wait_given()
        os.rename(self.shared, self.shared + ".away")
        for id in ids[1:]:
            self.assertEqual(self.read(id, "functions.tsv", mnt=mnt), want)
        wait_until(lambda: self.metric(mnt, "shared_breaker_opened_total"), "that the store is left alone")
        self.assertRegex(self.read("status", mnt=mnt), "shared_breaker\t(half )?open ")
        wait_until(lambda: re.search("store '%s': not used for 1?[0-9] s: " % self.shared, self.daemons[-1].log()), "the log")
        os.rename(self.shared + ".away", self.shared)
        self.wait_given(len(ids))  # what was converted meanwhile

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
            with contextlib.suppress(ProcessLookupError):  # it is replaced when it says nothing for five seconds
                os.kill(pid, signal.SIGCONT)

    def test_killed(self):
        ids = self.copies(3)
        mnt = self.host()
        want = self.read(ids[0], "functions.tsv", mnt=mnt)
        self.wait_given(1)
        os.kill(wait_until(lambda: self.child(self.daemons[-1]), "the process"), signal.SIGKILL)
        for id in ids[1:]:
            self.assertEqual(self.read(id, "functions.tsv", mnt=mnt), want)


class SecretsTest(StoreTest):
    def store_address(self):
        return "s3\\://bucket/prefix"

    def children(self, pid):
        """The command lines of processes below @pid, by their environments."""
        found = {}
        for path in glob.glob("/proc/%d/task/*/children" % pid):
            with contextlib.suppress(OSError):  # the scan worker may end meanwhile
                for child in mount_harness.contents(path).split():
                    words = mount_harness.contents("/proc/%s/cmdline" % child.decode()).split(b"\0")
                    found[b" ".join(words[1:3])] = mount_harness.contents("/proc/%s/environ" % child.decode())
        return found

    def test_environment(self):
        """Keys of S3 are known to the process that transfers alone."""
        if not mount_harness.is_root():
            self.skipTest("environments of other processes are root's to read")
        secrets = {"AWS_SECRET_ACCESS_KEY": "secret-1", "AWS_SESSION_TOKEN": "secret-2", "AWS_ACCESS_KEY_ID": "key"}
        mnt = self.host(env=dict(os.environ, AWS_ENDPOINT_URL="http://127.0.0.1:9", **secrets))
        self.assertIn("geo::point::norm", self.answer(mnt))
        children = self.children(self.daemons[-1].process.pid)
        self.assertIn(b"secret-2", children[b"worker store"])
        self.assertIn(b"worker zygote", children)
        for words, environment in children.items():
            if words != b"worker store":
                self.assertNotIn(b"AWS_", environment, words)


    def test_missing(self):
        """A bucket without credentials is told of at once, not with the first conversion."""
        keys = os.path.join(self.dir, "credentials")
        bare = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        bare.update(AWS_ENDPOINT_URL="http://127.0.0.1:9", AWS_SHARED_CREDENTIALS_FILE=keys)
        for is_there in (False, True):
            if is_there:
                with open(keys, "w") as file:
                    file.write("[default]\n")
            self.host(env=bare)
            log = self.daemons[-1].log()
            self.assertEqual("there are no credentials for S3, so it is not used" in log, not is_there, log)

    def test_modes(self):
        """A token that other users can read is named."""
        token = os.path.join(self.dir, "token")
        with open(token, "w") as file:
            file.write("secret-3")
        self.store_address = lambda: "http\\://127.0.0.1\\:9/"
        for mode in (0o600, 0o640, 0o604):
            os.chmod(token, mode)
            self.host("shared_bearer=" + token)
            log = self.daemons[-1].log()
            self.assertEqual("'%s' holds a secret" % token in log, mode != 0o600, log)
            self.assertNotIn("secret-3", log)


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
