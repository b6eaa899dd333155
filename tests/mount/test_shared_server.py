#!/usr/bin/env python3
"""Conversions that hosts share by a server of HTTP, however that behaves."""

import contextlib
import ctypes
import email.utils
import http.server
import os
import signal
import threading
import time

import mount_harness
from fragment_harness import Between
from mount_harness import LIMIT, wait_until
from shared_harness import StoreTest


class Server(http.server.ThreadingHTTPServer):
    """A server that keeps what it gets by PUT, with conditions, and does harm as @act says."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects = {}  # (bytes, etag, time) by path
        self.lock = threading.Lock()
        self.act = None  # called with the handler of a GET of a conversion; true if it has answered
        self.go = None  # an event, until which no conversion is taken
        self.held = 0  # conversions that wait for it
        self.barrier = None  # at which deletions wait for each other
        self.broken = None  # the status of all answers
        self.has_date = True
        self.asked = 0  # requests
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients end connections when they have waited long enough."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", found=None):
        self.server.asked += 1
        if self.server.broken:
            status, body = self.server.broken, b""
        if self.server.has_date:
            self.send_response(status)
        else:
            self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        if found:
            self.send_header("ETag", found[1])
            self.send_header("Last-Modified", email.utils.formatdate(found[2], usegmt=True))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        if self.command == "GET" and self.path.endswith(".gsym") and self.server.act and self.server.act(self):
            return
        found = self.server.objects.get(self.path)
        self.answer(200, found[0], found) if found else self.answer(404)

    do_HEAD = do_GET

    def change(self, body):
        """What is at the path becomes @body, or nothing, if the conditions hold: the status, and what is there then."""
        with self.server.lock:
            found = self.server.objects.get(self.path)
            match = self.headers.get("If-Match")
            if (self.headers.get("If-None-Match") == "*" and found) or (match and (not found or found[1] != match)):
                return 412, None
            if body is None:
                return (204 if self.server.objects.pop(self.path, None) else 404), None
            self.server.objects[self.path] = new = (body, '"%s"' % os.urandom(8).hex(), time.time())
            return 201, new

    def hold(self):
        if self.server.go and self.path.endswith(".gsym"):
            self.server.held += 1
            self.server.go.wait(LIMIT)

    def do_PUT(self):
        self.hold()
        status, found = self.change(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(status, found=found)

    def do_DELETE(self):
        if self.server.barrier:
            self.server.barrier.wait(LIMIT)
        self.answer(self.change(None)[0])


class ServerTest(StoreTest):
    """The same by HTTP."""

    def setUp(self):
        super().setUp()
        try:
            ctypes.CDLL("libcurl-gnutls.so.4")
        except OSError:
            self.skipTest("no libcurl")
        self.server = Server()
        self.addCleanup(lambda: self.server.end())

    def store_address(self):
        return "http\\://127.0.0.1\\:%d/gsym" % self.server.server_address[1]

    def entries(self, kind="gsym"):
        return sorted(path for path in list(self.server.objects) if path.endswith("." + kind))

    def test_all_at_once(self):
        ids = self.copies(20)
        mounts = [self.host() for _ in range(3)]
        self.assertEqual(len(self.ask_all(mounts, ids)), 1)
        self.assertEqual(sum(self.conversions(mnt) for mnt in mounts), 20)
        self.wait_given(20)
        wait_until(lambda: not self.entries("lease"), "the end of the leases")
        late = self.host()
        self.assertEqual(len(self.ask_all([late], ids)), 1)
        self.assertEqual((self.conversions(late), self.shares(late, "hit")), (0, 20))

    def given(self):
        """The answer of a host whose conversion the server has."""
        want = self.answer(self.expect_converted())
        self.wait_given()
        return want

    def test_silent(self):
        """A server that says nothing is not waited for."""
        want = self.given()
        over = threading.Event()
        self.addCleanup(over.set)
        self.server.act = lambda handler: over.wait(LIMIT)
        mnt = self.host("shared_wait=50")
        self.assertEqual(self.answer(mnt), want)
        # "down" where the machine is so slow that the time of the server is over before the conversion.
        wait_until(lambda: self.shares(mnt, "hedged") + self.shares(mnt, "down") == 1, "the count")
        self.assertEqual(self.conversions(mnt), 1)

    def test_late(self):
        """What arrives while the worker runs is taken, and the worker ends."""
        want = self.given()
        go = threading.Event()
        self.addCleanup(go.set)

        def begin(handler):
            """The head in time; the body of an object may take ten seconds."""
            body, etag, _ = self.server.objects[handler.path]
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.send_header("ETag", etag)
            handler.end_headers()
            handler.wfile.flush()
            go.wait(LIMIT)
            handler.wfile.write(body)
            return True
        self.server.act = begin
        between = Between(self)
        between.say("start")
        mnt = self.host("worker=" + between.worker, "shared_wait=50")
        reader = self.reader(self.id, "functions.tsv", mnt=mnt)
        between.wait_for("release")
        (pid,) = between.started("whole")
        go.set()
        self.assertEqual(self.finish(reader)[0], 0)
        self.assertEqual(self.answer(mnt), want)
        self.assertEqual((self.conversions(mnt), self.shares(mnt, "hit"), self.status(self.id, mnt)["origin"]), (0, 1, "store"))
        wait_until(lambda: not os.path.exists("/proc/%d" % pid), "the end of the worker")

    def test_harm(self):
        """No answer is wrong, and each is there."""
        want = self.given()
        (path,) = self.entries()
        body = self.server.objects[path][0]

        def fail(status):
            return lambda handler: handler.answer(status) or True

        def send(data, length):
            def act(handler):
                handler.send_response(200)
                handler.send_header("Content-Length", str(length))
                handler.send_header("ETag", '"x"')
                handler.end_headers()
                handler.wfile.write(data)
                handler.wfile.flush()
                handler.close_connection = True
                return True
            return act

        for name, act in (("503", fail(503)), ("500", fail(500)), ("403", fail(403)), ("302", fail(302)), ("204", fail(204)),
                          ("truncated", send(body[:100], len(body))), ("another", send(body[::-1], len(body))),
                          ("more", send(body + body, 2 * len(body))), ("endless", send(b"", 1 << 60)), ("empty", send(b"", 0))):
            with self.subTest(name):
                self.server.act = act
                mnt = self.host()
                self.assertEqual(self.answer(mnt), want)
                wait_until(lambda: self.status(self.id, mnt)["state"] == "ready", "the conversion")
                self.assertEqual((self.conversions(mnt), self.shares(mnt, "hit")), (1, 0))
                self.assertEqual(self.daemons[-1].stop(), 0)

    def test_without_end(self):
        """What is larger than a conversion can be is not received, whether the server says so or not."""
        want = self.given()
        sent = []

        def flood(handler):
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            sent.append(0)
            handler.close_connection = True
            try:
                while sent[-1] < 1 << 30:
                    handler.wfile.write(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
                    sent[-1] += 1 << 20
            except OSError:
                pass
            return True

        self.server.act = flood
        mnt = self.host()
        self.assertEqual(self.answer(mnt), want)
        wait_until(lambda: self.shares(mnt, "damaged") == 1, "the count")
        self.assertLess(max(sent), 128 << 20)
        self.assertIn(": too large: ", self.daemons[-1].log())
        wait_until(lambda: self.shares(mnt, "given") == 1, "another object in its place")
        self.server.act = None
        self.expect_taken(want)

    def test_failure_of_no_time(self):
        """A failure is believed for a day, whatever times the server gives, or does not."""
        day = 24 * 3600
        mount_harness.spoil(self.path)
        self.assertErrno(5, self.answer, self.host())
        (path,) = self.wait_given()
        for name, has_date, age, believed in (("now", True, 0, True), ("without a date", False, 0, True),
                                              ("old, without a date", False, 2 * day, False), ("to come", True, -2 * day, False)):
            with self.subTest(name):
                self.assertEqual(self.daemons[-1].stop(), 0)
                self.server.has_date = has_date
                body, etag, _ = self.server.objects[path]
                self.server.objects[path] = (body, etag, time.time() - age)
                mnt = self.host()
                self.assertErrno(5, self.answer, mnt)
                wait_until(lambda: self.shares(mnt, "failure" if believed else "outdated") == 1, "the count")
                self.assertEqual(self.conversions(mnt), 0 if believed else 1)

    def hold(self):
        self.server.go = threading.Event()
        self.addCleanup(self.server.go.set)

    def wait_held(self):
        wait_until(lambda: self.server.held, "a conversion that the server does not take")

    def threads(self, daemon):
        tasks, names = "/proc/%d/task" % daemon.process.pid, set()
        for task in os.listdir(tasks):
            with contextlib.suppress(OSError):  # it ends meanwhile
                names.add(mount_harness.contents(os.path.join(tasks, task, "comm")).decode().strip())
        return names

    def test_given_at_the_end(self):
        """What is queued is given before a daemon ends."""
        ids = self.copies(3)
        self.hold()
        mnt = self.host()
        for id in ids:
            self.read(id, "functions.tsv", mnt=mnt)
        self.wait_held()
        (daemon,) = self.daemons
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "convert" not in self.threads(daemon), "that the daemon stops")
        self.server.go.set()
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(len(self.entries()), 3)
        wait_until(lambda: not self.entries("lease"), "the end of the leases")
        self.assertEqual([self.is_pending(path) for path in self.cached()], [False] * 3)

    def test_leases_at_the_end(self):
        """All are let go of at the same time, since there is not much of it."""
        gate = mount_harness.Gate(self)
        gate.shut()
        ids = self.copies(2)
        mnt = self.host("worker=" + gate.worker)
        for id in ids:
            self.reader(id, "functions.tsv", mnt=mnt)
        wait_until(lambda: len(self.entries("lease")) == 2, "both leases")
        self.server.barrier = threading.Barrier(2)
        self.addCleanup(self.server.barrier.abort)
        self.assertEqual(self.daemons[0].stop(), 0)
        wait_until(lambda: not self.entries("lease"), "the end of the leases")

    def again(self, mnt):
        """Mounts once more with the same cache."""
        if mount_harness.is_mounted(mnt):
            mount_harness.lazy_unmount(mnt)
        self.mount("shared=" + self.store_address(), "shared_wait=60000", mnt=mnt, cache=os.path.join(self.dir, "hostcache1"))

    def check_given_again(self, mnt, want):
        self.assertEqual(self.entries(), [])
        (path,) = self.cached()
        self.assertTrue(self.is_pending(path))
        self.server.broken, self.server.go = None, None
        self.again(mnt)
        self.assertEqual(self.answer(mnt), want)
        self.assertEqual(self.conversions(mnt), 0)
        self.wait_given()
        wait_until(lambda: not self.is_pending(path), "the mark's end")
        self.expect_taken(want)

    def test_given_after_a_fault(self):
        """What a server did not take, it gets after a restart, when it is asked for again."""
        self.server.broken = 503
        mnt = self.host()
        want = self.answer(mnt)
        wait_until(lambda: self.metric(mnt, "shared_requests_total", operation="put", result="failed"), "the fault")
        self.assertEqual(self.daemons[0].stop(), 0)
        self.server.objects.clear()
        self.check_given_again(mnt, want)

    def test_given_when_it_is_back(self):
        """What was converted while a server was away is given without a restart."""
        ids = self.copies(4)
        self.server.broken = 503
        mnt = self.host()
        for id in ids:
            self.read(id, "functions.tsv", mnt=mnt)
        wait_until(lambda: self.metric(mnt, "shared_breaker_opened_total"), "that the store is left alone")
        self.server.broken = None
        self.wait_given(len(ids))
        wait_until(lambda: not any(self.is_pending(path) for path in self.cached()), "the end of the marks")
        self.assertEqual(self.shares(mnt, "dropped"), 0)

    def test_given_after_a_crash(self):
        self.hold()
        mnt = self.host()
        want = self.answer(mnt)
        self.wait_held()
        self.daemons[0].stop(signal.SIGKILL)
        self.check_given_again(mnt, want)

    def test_breaker(self):
        """A server that fails is left alone for a while, and the log and status say so."""
        ids = self.copies(5)
        self.server.broken = 503
        mnt = self.host()
        for id in ids:
            self.assertIn("geo::point::norm", self.read(id, "functions.tsv", mnt=mnt))
            if self.metric(mnt, "shared_breaker_opened_total"):
                break
        self.assertRegex(self.read("status", mnt=mnt), "shared_breaker\t(half )?open.* 503")
        for id in ids:
            self.assertIn("geo::point::norm", self.read(id, "functions.tsv", mnt=mnt))
        self.assertEqual(self.conversions(mnt), 5)
        # It is tried again each time the breaker has been open for a while.
        self.assertLessEqual(self.server.asked, 5 + self.metric(mnt, "shared_breaker_opened_total"))

    def test_restarted(self):
        """A server that was away for a while is asked again by the next daemon at the latest."""
        want = self.given()
        self.server.end()
        mnt = self.host()
        self.assertEqual(self.answer(mnt), want)
        objects, self.server = self.server.objects, Server()
        self.server.objects = objects
        self.expect_taken(want)


if __name__ == "__main__":
    mount_harness.main()
