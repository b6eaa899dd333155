#!/usr/bin/env python3
"""gsym store and gsym convert --shared beside daemons: one name, one content, one signature for all."""

import os

import mount_harness
from mount_harness import GSYM, SampleTest, contents, is_root, run, wait_until


class StoreCommandTest(SampleTest):
    def setUp(self):
        super().setUp()
        self.shared = os.path.join(self.dir, "shared")
        self.user_cache = os.path.join(self.dir, "user-cache")
        for path in (self.shared, self.user_cache):
            os.mkdir(path, 0o700)
        self.gsym_env = dict(os.environ, GSYMFS_CACHE=self.user_cache)

    def gsym(self, *argv, check=True):
        return run(GSYM, *argv, check=check, env=self.gsym_env)

    def store(self, action, *operands, check=True):
        options = [word for word in operands if word.startswith("--")]
        operands = [word for word in operands if not word.startswith("--")]
        return self.gsym("store", action, "--debug-dir=" + self.debug_dir, *options, self.shared, *operands, check=check)

    def keys(self):
        return [line.split("\t")[0] for line in self.gsym("store", "list", self.shared).stdout.decode().splitlines()]

    def host(self, *options, env=None):
        return self.mount("shared=" + self.shared, "shared_wait=60000", *options, env=env)

    def assertTaken(self):
        self.assertLines()
        self.assertEqual(self.status(self.id)["origin"], "store")
        self.assertEqual(self.conversions(), 0)

    def test_daemon_takes_what_was_put(self):
        self.store("put", self.path)
        self.host()
        self.assertTaken()

    def test_daemon_takes_what_was_converted(self):
        out = os.path.join(self.dir, "out.gsym")
        self.gsym("convert", "--quiet", "--shared=" + self.shared, "--debug-dir=" + self.debug_dir, "-o", out, self.path)
        self.host()
        self.assertTaken()
        self.assertEqual(contents(os.path.join(self.mnt, self.id, "image.gsym")), contents(out))

    def test_with_a_debug_file(self):
        """A daemon that searches as the command did takes it, another converts."""
        self.separate(self.by_id)
        self.store("put", self.path)
        daemon = self.host()
        self.assertTaken()
        self.assertEqual(daemon.stop(), 0)
        other = os.path.join(self.dir, "other-cache")
        os.mkdir(other, 0o700)
        os.rename(self.by_id, self.by_id + ".away")
        self.mount("shared=" + self.shared, "shared_wait=60000", cache=other)
        self.assertNoLines()
        wait_until(lambda: self.status(self.id)["state"] == "ready", "the conversion")
        self.assertEqual(self.conversions(), 1)

    def test_get_what_a_daemon_gave(self):
        self.host()
        self.assertLines()
        wait_until(lambda: len(self.keys()) == 1, "the object")
        moved = os.path.join(self.dir, "moved")
        os.rename(self.path, moved)
        self.store("get", moved)
        self.assertIn(b"sample.cpp", self.gsym("lookup", moved + ".gsym", self.address).stdout)
        self.assertIn(b"1 objects verified, 0 bad", self.gsym("store", "verify", self.shared).stdout)
        # The same key: nothing is published twice.
        self.assertEqual(self.store("put", moved).stdout.decode().split(), [self.keys()[0], "present", moved])

    def test_damaged_is_published_again(self):
        """What is in the cache is put in place of an object that no host can use, and left if that may be of use."""
        secret, trusted = (os.path.join(self.dir, name) for name in ("secret", "trusted"))
        with open(trusted, "wb") as file:
            file.write(self.gsym("store", "keygen", secret).stdout)
        self.store("put", self.path)
        (key,) = self.keys()
        path = os.path.join(self.shared, "gsymfs1", key[:2], key + ".gsym")
        data = contents(path)
        with open(path, "r+b") as file:
            file.seek(len(data) // 2)
            file.write(bytes([data[len(data) // 2] ^ 1]))
        self.assertEqual(self.gsym("store", "verify", self.shared, check=False).returncode, 1)
        self.assertEqual(self.store("put", self.path).stdout.decode().split(), [key, "published", self.path])
        self.assertEqual(contents(path)[:-256], data[:-256])
        self.assertIn(b"1 objects verified, 0 bad", self.gsym("store", "verify", self.shared).stdout)
        self.assertEqual(self.store("put", self.path).stdout.decode().split(), [key, "present", self.path])
        done = self.store("put", "--trusted-keys=" + trusted, self.path, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertRegex(done.stderr, rb"not trusted: not signed; .*\n.*: was not published\n")

    def get(self, *options, env=None):
        """Whether the store has it as by daemons with these options, and then whether it answers."""
        out = os.path.join(self.dir, "got.gsym")
        done = run(GSYM, "store", "get", "--debug-dir=" + self.debug_dir, "-o", out, *options, self.shared, self.path, check=False,
                   env=dict(self.gsym_env, **(env or {})))
        if done.returncode:
            self.assertIn(b"is not in the store", done.stderr)
            return False
        self.assertIn(b"sample.cpp", self.gsym("lookup", out, self.address).stdout)
        return True

    def test_get_what_other_options_made(self):
        servers = {"DEBUGINFOD_URLS": "http://127.0.0.1:1/"}
        for option, env, words in (("merged=no", {}, ["--merged=no"]), ("debuginfod=yes", servers, ["--debuginfod"])):
            daemon = self.host(option, env=dict(os.environ, **env))
            self.assertLines()
            wait_until(lambda: len(self.keys()) == 1, "the object")
            self.assertEqual(daemon.stop(), 0)
            self.assertFalse(self.get(env=env))
            self.assertTrue(self.get(*words, env=env))
            self.gsym("store", "prune", "--max-size=0", self.shared)
        self.assertIn(b"DEBUGINFOD_URLS is not set", self.gsym("store", "get", "--debuginfod", self.shared, self.path, check=False).stderr)

    def test_signed(self):
        secret, trusted = (os.path.join(self.dir, name) for name in ("secret", "trusted"))
        with open(trusted, "wb") as file:
            file.write(self.gsym("store", "keygen", secret).stdout)
        self.gsym("store", "put", "--sign-key=" + secret, "--debug-dir=" + self.debug_dir, self.shared, self.path)
        daemon = self.host("trusted_keys=" + trusted)
        self.assertTaken()
        self.assertEqual(daemon.stop(), 0)
        # Unsigned, it is not taken.
        other = os.path.join(self.dir, "other-cache")
        os.mkdir(other, 0o700)
        self.gsym("store", "prune", "--max-size=0", self.shared)
        self.store("put", self.path)
        self.assertEqual(len(self.keys()), 1)
        self.mount("shared=" + self.shared, "shared_wait=60000", "trusted_keys=" + trusted, cache=other)
        self.assertLines()
        wait_until(lambda: self.status(self.id)["state"] == "ready", "the conversion")
        self.assertEqual(self.conversions(), 1)


if __name__ == "__main__":
    mount_harness.main()
