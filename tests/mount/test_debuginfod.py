#!/usr/bin/env python3
"""Debug files from servers of debuginfod: this script serves them, on the loopback device only."""

import ctypes
import errno
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import mount_harness
from mount_harness import SampleTest, contents, run, tool, wait_until, within_limit


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests.append(self.path)
        self.server.answering.wait()
        data = self.server.files.get(self.path)
        try:
            self.send_response(200 if data is not None else self.server.refusal)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            if self.command == "GET" and data:
                self.wfile.write(data)
        except OSError:
            pass  # the client has lost patience

    do_HEAD = do_GET

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Serves the bytes in files by path, and notes what was asked for. answering.clear() makes it silent."""
    daemon_threads = True
    block_on_close = False

    def __init__(self, test, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.files, self.requests, self.answering, self.refusal = {}, [], threading.Event(), 404
        self.answering.set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        test.addCleanup(self.end)

    def end(self):
        self.answering.set()
        self.shutdown()
        self.server_close()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server_address[1]


def dead_url():
    """Of a port where nobody listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return "http://127.0.0.1:%d" % s.getsockname()[1]


REST = 10  # seconds that a server that does not answer is left alone


class DebuginfodTest(SampleTest):
    def setUp(self):
        super().setUp()
        self.server = Server(self)
        self.client = os.path.join(self.dir, "client")

    def ask(self, *options, url=None, cache=None, **environment):
        """Mounts with servers."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_") and not k.lower().endswith("_proxy")}
        env.update(DEBUGINFOD_URLS=self.server.url if url is None else url, DEBUGINFOD_CACHE_PATH=self.client,
                   DEBUGINFOD_TIMEOUT="600")
        env.update(environment)
        if not any(o.startswith("debuginfod=") for o in options):
            options = ("debuginfod=yes",) + options
        return self.mount(*options, env=env, cache=cache)

    def again(self, daemon, *options, **kwargs):
        self.assertEqual(daemon.stop(), 0)
        return self.ask(*options, **kwargs)

    def publish(self, strip="--strip-debug", serve=True):
        """Takes the sample's debug data away; the path that the server has it at from now on."""
        aside = os.path.join(self.dir, "aside")
        self.separate(aside, strip=strip)
        path = "/buildid/%s/debuginfo" % self.id
        if serve:
            self.server.files[path] = contents(aside)
        self.debug_data = contents(aside)
        return path

    def requests(self, result):
        line = 'gsymfs_debuginfod_requests_total{mount="%s",result="%s"} ' % (self.mnt, result)
        return int(self.read("metrics").split(line)[1].split()[0])

    def share(self, *options, url=None):
        """Another host, which has nothing yet, of those with one store."""
        self.hosts = getattr(self, "hosts", 0) + 1
        cache, self.client = (os.path.join(self.dir, "%s%d" % (name, self.hosts)) for name in ("cache", "client"))
        shared = os.path.join(self.dir, "shared")
        os.makedirs(shared, mode=0o700, exist_ok=True)
        os.mkdir(cache, mode=0o700)
        for daemon in self.daemons:
            daemon.stop()
        return self.ask("shared=" + shared, "shared_wait=60000", *options, cache=cache, url=url)

    def wait_given(self):
        given = 'gsymfs_shared_conversions_total{mount="%s",result="given"} 1\n' % self.mnt
        wait_until(lambda: given in self.read("metrics"), "the object")

    def test_shared(self):
        """Hosts that ask the same servers share what came of it."""
        path = self.publish()
        self.share()
        self.assertLines()
        self.wait_given()
        asked = self.server.requests.count(path)
        self.share()
        self.assertLines()
        self.assertEqual((self.status(self.id)["conversions"], self.server.requests.count(path)), ("0", asked))
        self.share("debuginfod=no")
        self.assertNoLines()
        other = Server(self)
        other.files = self.server.files
        self.share(url=other.url)
        self.assertLines()
        self.assertEqual(self.status(self.id)["conversions"], "1")

    def test_shared_that_no_server_has_it(self):
        path = self.publish(serve=False)
        self.share()
        self.assertNoLines()
        self.wait_given()
        asked = self.server.requests.count(path)
        self.share()
        self.assertNoLines()
        self.assertEqual((self.status(self.id)["conversions"], self.server.requests.count(path)), ("0", asked))

    def test_shared_not_when_servers_fail(self):
        """That a server could not be reached says nothing about the file."""
        self.publish()
        self.share(url=dead_url())
        self.assertNoLines()
        self.share()
        self.assertLines()

    def assertFailed(self, count, begin):
        """So many requests failed since @begin; more only where the machine is so slow that the server's rest is over."""
        failed = self.requests("failed")
        self.assertGreaterEqual(failed, count)
        self.assertLessEqual(failed, max(count, 1 + (time.monotonic() - begin) // REST))

    # ---- Of no source ----

    def remote(self):
        """The sample is in no source, and its debug file on the server; the path that is asked for."""
        path = "/buildid/%s/debuginfo" % self.id
        aside = os.path.join(self.dir, "aside")
        run("objcopy", "--only-keep-debug", self.path, aside)
        self.server.files[path] = contents(aside)
        os.unlink(self.path)
        return path

    def test_an_id_of_no_source(self):
        path = self.remote()
        daemon = self.ask("rescan=1")
        daemon.wait_scanned()
        self.assertEqual(self.ids(), set())
        self.assertLines()
        self.assertEqual(set(self.server.requests), {path})
        self.assertEqual(self.ids(), {self.id})
        status = self.status(self.id)
        self.assertEqual((status["source"], status["debug"]), (os.path.join(self.client, self.id, "debuginfo"), "dwarf"))
        self.assertEqual(os.listdir(os.path.join(self.mnt, "by-name")), [])
        self.assertEqual(os.listdir(os.path.join(self.mnt, "by-path")), [])
        self.assertIn("sample.cpp", self.read(self.id[:2], self.id[2:] + ".debug", self.address))
        self.assertIn("sample.cpp", self.read(self.id[:12], self.address))
        self.wait_scans()
        self.assertEqual(self.ids(), {self.id})
        self.assertLines()
        # The client may forget it; then it is no image any more, and is asked for again.
        run("rm", "-rf", self.client)
        os.mkdir(self.client)
        wait_until(lambda: not self.ids(), "the file that is gone")
        wait_until(self.asked_again, "an answer that was asked for again")
        self.assertIn("state", self.status(self.id))

    def test_an_id_of_no_source_in_other_places(self):
        """In the root's q, with answers of others before and after it, and as .build-id has it."""
        path = self.remote()
        other = self.compile("other")
        address = next(hex(start) for start, _, name in self.functions(other) if name.endswith("normEv"))
        lines = [(mount_harness.build_id(other), address), (self.id, self.address), ("0a" * 20, "0x10"),
                 (mount_harness.build_id(other), address)]
        self.ask("rescan=0").wait_scanned()
        with open(os.path.join(self.mnt, "q"), "r+b", buffering=0) as q:
            q.write("".join("%s %s\n" % line for line in lines).encode())
            told = mount_harness.read_all(q.fileno()).decode()
        self.assertEqual([record.count("sample.cpp") > 0 for record in told.strip().split("\n\n")], [True, True, False, True], told)
        self.assertEqual(self.server.requests.count(path), 1)
        self.assertEqual((self.requests("found"), self.requests("missing")), (1, 1))

    def test_a_file_without_lines_of_no_source(self):
        """It is requested once: servers have no better one of the same id."""
        path = self.compile("bare", where=self.dir, flags=["-g0"])
        id = mount_harness.build_id(path)
        self.server.files["/buildid/%s/debuginfo" % id] = contents(path)
        self.ask("rescan=0").wait_scanned()
        address = next(hex(start) for start, _, name in self.functions(path) if name.endswith("normEv"))
        self.assertIn("norm", self.read(id, address))
        self.assertEqual((self.requests("found"), self.requests("missing")), (1, 0))
        self.assertEqual(len(self.server.requests), 1)

    def test_an_id_of_no_source_in_two_parts(self):
        path = self.remote()
        self.ask("rescan=0").wait_scanned()
        self.assertErrno(errno.ENOENT, os.stat, self.image("0d/" + "0d" * 6))
        self.assertEqual(self.server.requests, [])
        self.assertIn("sample.cpp", self.read(self.id[:2], self.id[2:], self.address))
        self.assertEqual(self.server.requests, [path])

    def asked_again(self):
        """The kernel may still have the name of the image that went."""
        try:
            self.status(self.id)
        except OSError:
            return False
        return self.requests("found") == 2

    def test_ids_that_the_client_does_not_take(self):
        """They are no fault of the servers, and so is none of a directory that was removed."""
        self.remote()
        self.ask("rescan=0").wait_scanned()
        self.assertErrno(errno.ENOENT, os.lstat, os.path.join(self.mnt, "ab" * 64))
        run("rm", "-rf", self.client)
        self.assertLines()
        self.assertEqual(self.requests("failed"), 0)

    def test_a_source_comes_before_servers(self):
        """Also if it has the file only later."""
        data = contents(self.path)
        self.remote()
        self.ask("rescan=0").wait_scanned()
        self.assertIn("state", self.status(self.id))
        with open(self.path, "wb") as file:
            file.write(data)
        wait_until(lambda: self.status(self.id)["source"] == self.path, "the file of the source")
        self.assertEqual(os.listdir(os.path.join(self.mnt, "by-name")), [os.path.basename(self.path)])

    def test_what_is_asked(self):
        """Whole ids only, and what no server has once."""
        os.unlink(self.path)
        self.ask("rescan=0").wait_scanned()
        whole = ["0a" * 20, "0b" * 16, "0c" * 32]
        for id in whole * 2 + [whole[0].upper()]:
            self.assertErrno(errno.ENOENT, os.stat, self.image(id))
        self.assertEqual(set(self.server.requests), {"/buildid/%s/debuginfo" % id for id in whole})
        self.assertEqual(self.requests("missing"), 3)
        for name in ("0d" * 8, "0d" * 15, "0d" * 20 + "0", "0d" * 65, "xxh3-" + "0d" * 16, "0g" * 20, "0d" * 15 + "/0d",
                     "by-name/" + "0d" * 20, "by-path/" + "0d" * 20, "autorun.inf", ".git"):
            self.assertErrno(errno.ENOENT, os.stat, self.image(name))
        self.assertEqual(self.requests("missing"), 3)
        self.assertEqual(len(set(self.server.requests)), 3)

    def test_no_source_and_not_without_the_option(self):
        self.remote()
        self.ask("debuginfod=no").wait_scanned()
        self.assertErrno(errno.ENOENT, os.stat, self.image(self.id))
        self.assertEqual(self.server.requests, [])

    def test_a_server_with_another_file(self):
        path = self.remote()
        other = "/buildid/%s/debuginfo" % ("0e" * 20)
        self.server.files[other] = self.server.files.pop(path)
        daemon = self.ask("rescan=0")
        daemon.wait_scanned()
        self.assertErrno(errno.EIO, os.stat, self.image("0e" * 20))
        self.assertIn("another build id", daemon.log())
        self.assertEqual(self.ids(), set())

    def test_no_source_and_a_dead_server(self):
        self.remote()
        daemon = self.ask("rescan=0", url=dead_url())
        daemon.wait_scanned()
        for id in (self.id, "0a" * 20):  # servers that fail are left alone
            self.assertErrno(errno.EHOSTUNREACH, os.stat, self.image(id))
        self.assertErrno(errno.ENOENT, os.stat, self.image("0a" * 8))

    def test_no_source_and_a_silent_server(self):
        """It costs ten seconds, unless the client's own limit is set; a reader can be killed before."""
        path = self.remote()
        self.server.answering.clear()
        daemon = self.ask("rescan=0", DEBUGINFOD_TIMEOUT="")
        daemon.wait_scanned()
        begin = time.monotonic()
        killed = self.reader(self.id, "status")
        wait_until(lambda: path in self.server.requests, "the request")
        waiting = self.reader(self.id, "status")
        killed.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(killed)[0], -signal.SIGINT)
        self.assertEqual(os.listdir(os.path.join(self.mnt, "by-name")), [])
        self.assertIn("Connection timed out", self.finish(waiting)[2])
        self.assertGreaterEqual(time.monotonic() - begin, 9)
        self.assertEqual(self.requests("failed"), 1)
        self.assertErrno(errno.ETIMEDOUT, os.stat, self.image("0a" * 20))
        self.assertEqual(len(set(self.server.requests)), 1)

    def test_it_comes_while_a_server_is_silent(self):
        path = self.remote()
        self.server.answering.clear()
        self.ask("rescan=0").wait_scanned()
        readers = [self.reader(id, "status") for id in (self.id, self.id[:2] + "/" + self.id[2:])]
        wait_until(lambda: path in self.server.requests, "the request")
        self.compile(flags=["-Wl,--build-id=0x" + self.id])
        for reader in readers:
            self.assertEqual(self.finish(reader)[0], 0)
        self.assertEqual(self.requests("failed"), 0)  # it is still being asked

    def test_a_user_does_not_take_all_requests(self):
        """Two of one user are under way, the others wait; what no call waits for any more is not asked."""
        os.unlink(self.path)
        self.server.answering.clear()
        self.ask("rescan=0", "allow_other").wait_scanned()
        ids = ["%02x" % n * 20 for n in range(16, 22)]
        readers = [self.reader(id, "status") for id in ids]
        wait_until(lambda: len(set(self.server.requests)) == 2, "two requests")
        if mount_harness.is_root():
            other = "77" * 20
            argv = ["setpriv", "--reuid=65534", "--clear-groups", "stat", self.image(other)]
            self.processes.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            wait_until(lambda: "/buildid/%s/debuginfo" % other in self.server.requests, "the request of another user")
        asked = {path.split("/")[2] for path in self.server.requests}
        self.assertEqual(len(asked), 2 + mount_harness.is_root())
        last = next(i for i, id in enumerate(ids) if id not in asked)
        readers[last].kill()
        self.finish(readers[last])
        self.server.answering.set()
        for i, reader in enumerate(readers):
            if i != last:
                self.assertIn("No such file", self.finish(reader)[2])
        self.assertEqual({path.split("/")[2] for path in self.server.requests} & set(ids), set(ids) - {ids[last]})

    def test_end_while_no_source_has_it(self):
        path = self.remote()
        self.server.answering.clear()
        daemon = self.ask("rescan=0")
        daemon.wait_scanned()
        reader = self.reader(self.id, "status")
        wait_until(lambda: path in self.server.requests, "the request")
        self.assertEqual(daemon.stop(), 0)
        self.assertNotEqual(self.finish(reader)[0], 0)

    # ---- Found ----

    @unittest.skipUnless(mount_harness.BAD_WORKER, "the hostile worker was not built")
    def test_no_more_than_two_for_a_conversion(self):
        """A worker that was taken over chooses what servers are asked for, but not how often."""
        self.ask("worker=" + mount_harness.BAD_WORKER, BAD_WORKER_ACT="fetch-much",
                 GSYM=os.path.realpath(mount_harness.GSYM))
        self.assertErrno(errno.EIO, self.read, self.id, self.address)
        self.assertEqual(self.status(self.id)["reason"], "enough")
        self.assertEqual(set(self.server.requests),
                         {"/buildid/%02x%s/debuginfo" % (i, "00" * 19) for i in (1, 2)})
        self.assertEqual(self.requests("missing"), 2)

    def test_found(self):
        path = self.publish()
        daemon = self.ask("rescan=1")
        self.assertLines()
        status = self.status(self.id)
        self.assertEqual(status["uses"], os.path.join(self.client, self.id, "debuginfo"))
        self.assertEqual(status["debuginfod"], self.id + ": found")
        self.assertNotIn("missing", status)
        self.assertIn('"debuginfod":["%s: found"]' % self.id, self.read(self.id, "info.json"))
        self.assertEqual((self.requests("found"), self.requests("missing"), self.requests("failed")), (1, 0, 0))
        self.assertEqual(set(self.server.requests), {path})
        # What was fetched has done its service: the client may forget it.
        run("rm", "-rf", self.client)
        self.wait_scans()
        self.assertLines()
        self.assertEqual(self.conversions(), 1)
        self.again(daemon)
        self.assertLines()
        self.assertEqual(self.conversions(), 0)

    def test_no_room_for_what_is_found(self):
        """libdebuginfod says EINVAL then, as for an id that it does not take: not that no server has it."""
        if not mount_harness.is_root():
            self.skipTest("a file system without inodes needs root")
        self.publish()
        os.mkdir(self.client, mode=0o700)
        mounted = run("mount", "-t", "tmpfs", "-o", "nr_inodes=2,mode=700", "none", self.client, check=False)
        if mounted.returncode:
            self.skipTest("tmpfs cannot be mounted here")
        self.addCleanup(run, "umount", "-l", self.client, check=False)
        self.ask("rescan=1")
        self.assertNoLines()
        self.assertEqual(self.requests("missing"), 0)
        run("mount", "-o", "remount,nr_inodes=1000", self.client)
        wait_until(lambda: "sample.cpp:" in self.answer(), "the second try")
        self.assertEqual(self.requests("found"), 1)

    def test_private_binary(self):
        self.publish()
        os.chmod(self.path, 0o600)
        self.ask()
        self.assertLines()

    def test_client_directory_of_the_home(self):
        self.publish()
        for variable, where in (("HOME", ".cache/debuginfod_client"), ("XDG_CACHE_HOME", "debuginfod_client")):
            with self.subTest(variable):
                home = os.path.join(self.dir, variable)
                places = {"DEBUGINFOD_CACHE_PATH": "", "HOME": os.path.join(self.dir, "HOME"), "XDG_CACHE_HOME": ""}
                places[variable] = home
                daemon = self.ask(cache=os.path.join(self.dir, "cache-" + variable), **places)
                self.assertLines()
                self.assertEqual(self.status(self.id)["uses"], os.path.join(home, where, self.id, "debuginfo"))
                self.assertEqual(daemon.stop(), 0)

    def test_local_files_come_first(self):
        self.publish()
        os.makedirs(os.path.dirname(self.by_id))
        with open(self.by_id, "wb") as file:
            file.write(self.debug_data)
        self.ask()
        self.assertLines()
        self.assertEqual(self.status(self.id)["uses"], self.by_id)
        self.assertEqual(self.server.requests, [])

    def test_nothing_is_asked_for_complete_files(self):
        self.ask()
        self.assertLines()
        self.assertNotIn("debuginfod", self.status(self.id))
        self.assertEqual(self.server.requests, [])

    def test_alternate_file(self):
        """A fetched debug file may share data with others that is fetched as well."""
        if not tool("dwz"):
            self.skipTest("dwz is not installed")
        other = self.compile("other", where=self.dir)
        shared = os.path.join(self.dir, "common")
        run("dwz", "-m", shared, "-M", "/nowhere/common", self.path, other)
        shared_id = mount_harness.build_id(shared)
        self.publish()
        self.server.files["/buildid/%s/debuginfo" % shared_id] = contents(shared)
        self.ask()
        self.assertLines()
        status = self.status(self.id)
        self.assertEqual(status["debuginfod"], [self.id + ": found", shared_id + ": found"])
        self.assertNotIn("missing", status)

    # ---- Not asked ----

    def test_not_without_the_option(self):
        self.publish()
        daemon = self.ask("debuginfod=no")
        self.assertNoLines()
        self.assertNotIn("debuginfod", self.status(self.id)["missing"])
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.server.requests, [])
        self.assertFalse(os.path.exists(self.client))
        daemon = self.ask()
        self.assertLines()
        self.again(daemon, "debuginfod=no")
        self.assertNoLines()

    def test_no_servers(self):
        self.publish()
        daemon = self.ask(url="")
        self.assertIn("DEBUGINFOD_URLS", daemon.log())
        self.assertNoLines()

    def test_no_library(self):
        self.publish()
        broken = os.path.join(self.dir, "libdebuginfod.so.1")
        with open(broken, "w") as file:
            file.write("no library")
        daemon = self.ask(LD_LIBRARY_PATH=self.dir)
        self.assertNoLines()
        self.assertIn("cannot load libdebuginfod.so.1", daemon.log())
        self.assertEqual(self.server.requests, [])

    def test_directory_of_others(self):
        os.mkdir(self.client)
        os.chmod(self.client, 0o777)
        with self.assertRaisesRegex(AssertionError, "set DEBUGINFOD_CACHE_PATH"):
            self.ask()

    # ---- No server has it ----

    def test_missing(self):
        path = self.publish(serve=False)
        daemon = self.ask("rescan=1")
        self.assertNoLines()
        status = self.status(self.id)
        self.assertIn(self.id[2:] + ".debug (debuginfod: no server has it)", status["missing"])
        self.assertEqual(status["debuginfod"], self.id + ": no server has it")
        self.assertEqual(self.requests("missing"), 1)
        asked = len(self.server.requests)
        self.wait_scans()
        self.assertNoLines()
        daemon = self.again(daemon, "rescan=1")
        self.assertNoLines()
        self.assertEqual((self.conversions(), len(self.server.requests)), (0, asked))
        # Another list of servers is asked anew, whatever the client remembers.
        self.server.files[path] = self.debug_data
        run("rm", "-rf", self.client)
        self.again(daemon, url=self.server.url + "/ " + self.server.url)
        self.assertLines()

    def test_missing_until_it_is_installed(self):
        self.publish(serve=False)
        self.ask("rescan=1")
        self.assertNoLines()
        os.makedirs(os.path.dirname(self.by_id))
        with open(self.by_id, "wb") as file:
            file.write(self.debug_data)
        self.wait_lines()

    def test_missing_and_nothing_else_known(self):
        self.hide_all()
        self.publish("--strip-all", serve=False)
        daemon = self.ask("rescan=1")
        self.assertErrno(errno.EIO, self.answer)
        asked = len(self.server.requests)
        self.wait_scans()
        self.assertErrno(errno.EIO, self.answer)
        self.again(daemon)
        self.assertErrno(errno.EIO, self.answer)
        self.assertEqual((self.conversions(), len(self.server.requests)), (0, asked))

    # ---- Servers that lie ----

    def test_another_file(self):
        path = self.publish(serve=False)
        other = self.compile("other", where=self.dir, flags=["-DOTHER"])
        for data in (contents(other), b"<html>Welcome to our wireless network!</html>"):
            self.server.files[path] = data
            run("rm", "-rf", self.client)
            daemon = self.ask(cache=os.path.join(self.dir, "cache-%d" % len(data)))
            self.assertNoLines()
            self.assertIn("(debuginfod: Bad message)", self.status(self.id)["missing"])
            self.assertEqual(daemon.stop(), 0)

    def test_too_large(self):
        self.server.files[self.publish()] += bytes(8 << 20)
        self.ask("cache_size=4M")
        self.assertNoLines()
        self.assertIn("File too large", self.status(self.id)["debuginfod"])

    # ---- Servers that do not answer ----

    def test_dead(self):
        self.publish()
        url = dead_url()
        aside = self.compile("other", where=self.dir)
        other_id = mount_harness.build_id(aside)
        run("strip", "--strip-debug", aside)
        daemon = self.ask("rescan=1", url=url)
        begin = time.monotonic()
        self.assertNoLines()
        self.assertRegex(self.status(self.id)["missing"], r"\(debuginfod: .*\)")
        self.assertFailed(1, begin)
        # It is left alone for ten seconds, whoever wants something.
        os.rename(aside, os.path.join(self.source, "other"))
        wait_until(lambda: other_id in self.ids(), "the other image")
        self.assertRaises(OSError, self.read, other_id, "0xffffff")
        self.assertFailed(1, begin)
        self.assertIn("debuginfod", self.status(other_id))
        # It comes back to life.
        revived = Server(self, int(url.split(":")[2]))
        revived.files = self.server.files
        wait_until(lambda: "sample.cpp:" in self.answer(), "the second try")
        self.assertEqual(self.requests("found"), 1)
        self.assertEqual(daemon.process.poll(), None)

    def test_dead_and_nothing_else_known(self):
        self.hide_all()
        self.publish("--strip-all")
        daemon = self.ask("rescan=0", url=dead_url())
        begin = time.monotonic()
        self.assertErrno(errno.EHOSTUNREACH, self.answer)
        self.assertErrno(errno.EHOSTUNREACH, self.answer)
        self.assertIn("debuginfod", self.status(self.id)["reason"])
        self.assertFailed(1, begin)
        self.assertEqual(self.requests("failed"), self.conversions())
        failed = self.requests("failed")

        def asked_again():
            self.assertErrno(errno.EHOSTUNREACH, self.answer)
            return self.requests("failed") > failed
        wait_until(asked_again, "the next request")
        self.assertFailed(failed + 1, begin)
        self.assertEqual(self.requests("failed"), self.conversions())
        # It is no failure of the file's: not kept.
        self.again(daemon)
        self.assertLines()

    def test_overloaded(self):
        """The client says the same of this as of a file that no server has."""
        self.publish(serve=False)
        self.server.refusal = 503
        self.ask(url=self.server.url + " " + Server(self).url)
        self.assertNoLines()
        self.assertIn("(debuginfod: Remote I/O error)", self.status(self.id)["missing"])
        self.assertEqual((self.requests("missing"), self.requests("failed")), (0, 1))
        self.assertFalse(os.path.exists(os.path.join(self.client, self.id, "debuginfo")))

    def test_one_of_two_servers_fails(self):
        """Only that one rests: what the other has is fetched at once, and what it lacks is wanted of the first later."""
        self.publish(serve=False)
        wanted = "/buildid/%s/debuginfo" % self.id
        aside, debug = self.compile("other", where=self.dir), os.path.join(self.dir, "other.debug")
        other_id = mount_harness.build_id(aside)
        run("objcopy", "--only-keep-debug", aside, debug)
        run("strip", "--strip-debug", aside)
        self.server.files["/buildid/%s/debuginfo" % other_id] = contents(debug)
        failing = Server(self)
        failing.refusal = 503
        daemon = self.ask("rescan=1", url=failing.url + " " + self.server.url)
        begin = time.monotonic()
        self.assertNoLines()
        self.assertIn("(debuginfod: Remote I/O error)", self.status(self.id)["missing"])
        self.assertRegex(daemon.log(), r"%s: Remote I/O error; no more requests to it for \d\d+ s" % failing.url[7:])
        self.assertNotIn(self.server.url[7:] + ": ", daemon.log())
        asked = len(failing.requests)
        os.rename(aside, os.path.join(self.source, "other"))
        wait_until(lambda: other_id in self.ids(), "the other image")
        address = next(hex(start) for start, _, name in self.functions(debug) if name.endswith("normEv"))
        self.assertIn("sample.cpp", self.read(other_id, address))
        if time.monotonic() - begin < REST:
            self.assertEqual(len(failing.requests), asked)
        failing.files[wanted] = self.debug_data
        self.wait_lines()

    def test_silent(self):
        self.hide_all()
        self.publish("--strip-all")
        self.server.answering.clear()
        daemon = self.ask()
        reader = self.reader(self.id, self.address)
        wait_until(lambda: self.server.requests, "the request")
        reader.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(reader)[0], -signal.SIGINT)
        self.again(daemon, DEBUGINFOD_TIMEOUT="2")
        self.assertErrno(errno.ETIMEDOUT, self.answer)

    def test_silent_and_symbols(self):
        """convert_time is the limit where the client's own is longer."""
        self.publish()
        self.server.answering.clear()
        self.ask("convert_time=20")  # which limits the conversion, too
        within_limit(self.assertNoLines, "an answer without the server")
        self.assertIn("timed out", self.status(self.id)["missing"])
        self.assertEqual(os.listdir(os.path.join(self.client, self.id)), [])

    def test_end_while_it_waits(self):
        self.publish()
        self.server.answering.clear()
        daemon = self.ask()
        reader = self.reader(self.id, self.address)
        wait_until(lambda: self.server.requests, "the request")
        self.assertEqual(daemon.stop(), 0)
        self.assertNotEqual(self.finish(reader)[0], 0)
        worker = "gsym worker fetch %d" % daemon.process.pid
        wait_until(lambda: not run("pgrep", "-f", worker, check=False).stdout, "the end of the worker")


if __name__ == "__main__":
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        print("skipped: libdebuginfod.so.1 is missing; install libdebuginfod1")
        sys.exit(77)
    mount_harness.main()
