#!/usr/bin/env python3
"""Stores on servers that are broken or hostile: each request ends within its limits, with the errno that fits.

    store_faults.py ENGINE_DRIVER
"""
import os
import socket
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib.peers import TIMES_SLOWER  # noqa: E402
from lib.store_servers import HANG, Driver  # noqa: E402

failures = []
OK = b"HTTP/1.1 200 OK\r\n"
WHOLE = "--whole=5000"  # ms, where this is the limit that ends it
BIG = 8 << 20
BYTE_SECONDS = 0.1 * TIMES_SLOWER  # by which the driver's limits are longer, too


class Nasty:
    """Each connection is served by a function (connection, request) -> None, which may keep it open."""

    def __init__(self, serve):
        self.serve, self.requests, self.stopped = serve, [], threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/store"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.handle, args=(connection,), daemon=True).start()

    def handle(self, connection):
        with connection:
            try:
                request = b""
                while b"\r\n\r\n" not in request:
                    more = connection.recv(65536)
                    if not more:
                        return
                    request += more
                self.requests.append(request)
                self.serve(self, connection, request)
            except OSError:
                pass  # the client has gone

    def await_request(self):
        """The client may be gone before the thread that has its request runs."""
        end = time.monotonic() + HANG
        while not self.requests and time.monotonic() < end:
            time.sleep(0.01)

    def close(self):
        self.stopped.set()
        # Wakes accept(), which close() alone does not.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def says(data):
    """Sends @data, then closes; what the client still sends is taken, so that it is no reset."""
    def serve(nasty, connection, _):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    return serve


def repeats(head, data, pause=0.0):
    """@head, then @data until the client goes."""
    def serve(nasty, connection, _):
        connection.sendall(head)
        while not nasty.stopped.wait(pause):
            connection.sendall(data)
    return serve


def slowly(data):
    """A byte at a time, and then nothing."""
    def serve(nasty, connection, _):
        for i in range(len(data)):
            connection.sendall(data[i:i + 1])
            if nasty.stopped.wait(BYTE_SECONDS):
                return
        nasty.stopped.wait()
    return serve


def says_nothing(nasty, connection, _):
    nasty.stopped.wait()


def closes(nasty, connection, _):
    connection.shutdown(socket.SHUT_RDWR)


def refuses(data):
    """Answers before it has read the body, and closes, which resets the connection while the client still sends."""
    def serve(nasty, connection, _):
        connection.sendall(data)
    return serve


GET = [  # what, server, options, errno, bytes taken
    ("an empty object", says(OK + b"Content-Length: 0\r\n\r\n"), [], "0", b""),
    ("an object without length", says(OK + b"\r\nabc"), [], "0", b"abc"),
    ("in chunks", says(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nETag: \"late\"\r\n\r\n"), [], "0", b"abc"),
    ("after 100", says(b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx"), [], "0", b"x"),
    ("more than its length", says(OK + b"Content-Length: 5\r\n\r\n0123456789"), [], "0", b"01234"),
    ("less than its length", says(OK + b"Content-Length: 1000\r\n\r\n01234"), [], "EREMOTEIO", b"01234"),
    ("a large length", says(OK + b"Content-Length: 999999999999\r\n\r\n01234"), [], "EFBIG", b""),
    ("a length beyond 64 bits", says(OK + b"Content-Length: 99999999999999999999999\r\n\r\n01234"), [], "EFBIG", b""),
    ("a length of no number", says(OK + b"Content-Length: many\r\n\r\n01234"), [], "EREMOTEIO", None),
    ("a body without end", repeats(OK + b"\r\n", b"x" * 65536), [], "EFBIG", None),
    ("chunks without end", repeats(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"4000\r\n" + b"x" * 16384 + b"\r\n"), [],
     "EFBIG", None),
    ("small chunks without end", repeats(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.05), [WHOLE],
     "ETIMEDOUT", None),
    ("a chunk of another size", says(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"), [], "EREMOTEIO", None),
    ("chunks cut off", says(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc"), [], "EREMOTEIO", b"abc"),
    ("a byte at a time", repeats(OK + b"Content-Length: 100000\r\n\r\n", b"x", 0.1), [WHOLE], "ETIMEDOUT", None),
    ("a body that stops", lambda n, c, r: (c.sendall(OK + b"Content-Length: 9\r\n\r\nabc"), n.stopped.wait()),
     ["--stall=5000"], "ETIMEDOUT", b"abc"),
    ("headers at a byte a time", slowly(OK + b"Content-Length: 0\r\n\r\n"), ["--stall=500"], "ETIMEDOUT", b""),
    ("headers that stop", lambda n, c, r: (c.sendall(OK + b"Date: "), n.stopped.wait()), ["--stall=5000"], "ETIMEDOUT", b""),
    ("a header of 1 MB", says(OK + b"X: " + b"x" * (1 << 20) + b"\r\n\r\n"), [], "EREMOTEIO", b""),
    ("headers of 1 MB", says(OK + b"X: x\r\n" * 180000 + b"\r\n"), [], "EREMOTEIO", b""),
    ("headers without end", repeats(OK, b"X: y\r\n" * 100), [], "EREMOTEIO", b""),
    ("100 without end", repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), [], "EREMOTEIO", b""),
    ("garbage", says(b"\x00\x01\x02garbage\r\n\r\n" * 10), [], "EREMOTEIO", b""),
    ("a page without headers", says(b"<html>hello</html>"), [], "EREMOTEIO", b""),
    ("an odd version", says(b"HTTP/9.9 200 OK\r\n\r\nx"), [], "EREMOTEIO", b""),
    ("an odd status", says(b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"), [], "EREMOTEIO", b""),
    ("no status", says(b"HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), [], "EREMOTEIO", b""),
    ("it says nothing", says_nothing, ["--stall=500"], "ETIMEDOUT", b""),
    ("it closes", closes, [], "EREMOTEIO", b""),
    ("no content", says(b"HTTP/1.1 204 No Content\r\n\r\n"), [], "EREMOTEIO", b""),
    ("a part", says(b"HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\n\r\nabc"), [], "EREMOTEIO", None),
    ("not modified", says(b"HTTP/1.1 304 Not Modified\r\n\r\n"), [], "EREMOTEIO", b""),
    ("overloaded", says(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"), [], "EREMOTEIO", b""),
    ("a failure without end", repeats(b"HTTP/1.1 503 Service Unavailable\r\n\r\n", b"x" * 65536), [], "EREMOTEIO", b""),
    ("a failure that is cut off", says(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 400\r\n\r\nno"), [], "EACCES", b""),
    ("too many", says(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"), [], "EREMOTEIO", b""),
    ("gone", says(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"), [], "ENOENT", b""),
    ("not there, with a page", says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\npage"), [], "ENOENT", b""),
    ("login", says(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"), [], "EACCES", b""),
]
PUT = [  # what, server, options, size, errno
    ("made", says(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"), [], 10, "0"),
    ("accepted for later", says(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"), [], 10, "EREMOTEIO"),
    ("refused at once", refuses(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), [], BIG, "EACCES"),
    ("too large for it", refuses(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), [], BIG, "EFBIG"),
    ("there is one", refuses(b"HTTP/1.1 412 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), ["--absent"], BIG, "EEXIST"),
    ("a race", says(b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n"), ["--absent"], 10, "EAGAIN"),
    ("a conflict", says(b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n"), [], 10, "EREMOTEIO"),
    ("no such place", says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), [], 10, "EREMOTEIO"),
    ("no such condition", says(b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n"), ["--absent"], 10, "EOPNOTSUPP"),
    ("it reads nothing", says_nothing, ["--stall=5000"], BIG, "ETIMEDOUT"),
    ("it does not answer", says_nothing, ["--stall=500"], 10, "ETIMEDOUT"),
    ("it goes", closes, [], 10, "EREMOTEIO"),
]


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got!r}, not {wanted!r}")


def serve(server, act):
    nasty = Nasty(server)
    try:
        return act(nasty)
    finally:
        nasty.close()


def get(program, directory, i, what, server, options, err, content):
    def act(nasty):
        path = directory / f"get{i}"
        reply = Driver(program, nasty.url).run("get", "gsymfs1/entry", path, options=options)
        nasty.await_request()
        expect(f"get: {what}", (reply.err, reply.etag, len(nasty.requests)), (err, "", 1))
        expect(f"get: {what}: text", bool(reply.text), err not in ("0", "ENOENT"))
        if content is not None:
            expect(f"get: {what}: taken", path.read_bytes(), content)
    serve(server, act)


def put(program, directory, i, what, server, options, size, err):
    def act(nasty):
        path = directory / f"put{i}"
        path.write_bytes(b"x" * size)
        reply = Driver(program, nasty.url).run("put", "gsymfs1/entry", path, options=options)
        expect(f"put: {what}", reply.err, err)
    serve(server, act)


def check_redirect(program, directory):
    """It is not followed, and what is sent to the server not to another."""
    def at_other(other):
        secret = directory / "token"
        secret.write_text("the-token")
        location = other.url.encode()
        serve(says(b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % location), lambda nasty: [
            expect(f"redirect of {words[0]}", Driver(program, nasty.url, f"--bearer={secret}").run(*words).err, "EREMOTEIO")
            for words in (("get", "entry", directory / "redirected"), ("head", "entry"), ("put", "entry", secret))])
        expect("requests at the other server", other.requests, [])
    serve(says(OK + b"\r\n"), at_other)


def check_text(program, directory):
    """What a server says moves no cursor."""
    def act(nasty):
        reply = Driver(program, nasty.url).run("get", "entry", directory / "escaped")
        expect("control characters", (reply.err, "\x1b" in reply.text), ("EREMOTEIO", False))
    serve(says(b"HTTP/1.1 503 \x1b[31mred\r\nContent-Length: many\x1b[31m\r\n\r\n"), act)


def check_etags(program, directory):
    for etag, wanted in ((b'"a"', '"a"'), (b'W/"a"', '"a"'), (b'"' + b"x" * 200 + b'"', ""),
                         (b'  "spaced"  ', '"spaced"')):
        def act(nasty):
            reply = Driver(program, nasty.url).run("head", "entry")
            expect(f"tag {etag}", (reply.err, reply.etag, reply.now, reply.modified), ("0", wanted, 784111777, 0))
        serve(says(OK + b"ETag: " + etag + b"\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nLast-Modified: never\r\n"
                   b"Content-Length: 3\r\n\r\n"), act)


def check_connections(program, directory):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        reply = Driver(program, f"http://127.0.0.1:{port}/store").run("head", "entry")
        expect("no server", (reply.err, bool(reply.text), reply.begun), ("EHOSTUNREACH", True, 0))
        # A queue that is full drops what comes.
        closed.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        reply = Driver(program, f"http://127.0.0.1:{port}/store", "--connect=300").run("head", "entry")
        expect("no connection", reply.err, "ETIMEDOUT")
        for client in waiting:
            client.close()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        reply = Driver(program, f"https://127.0.0.1:{port}/store", "--connect=300").run("head", "entry")
        expect("no handshake", reply.err, "ETIMEDOUT")
        reply = Driver(program, f"http://127.0.0.1:{port}/store", "--cancel=300").run("head", "entry")
        expect("canceled", reply.err, "ECANCELED")


def check_caches(program, directory):
    """A cache between may keep conversions, and is to ask the server for a lease."""
    def act(nasty):
        Driver(program, nasty.url).run_all(("head", "a.lease"), ("get", "a.lease", directory / "cached"), ("head", "a.gsym"),
                                           ("get", "a.gsym", directory / "cached"))
        expect("no-cache", [b"\r\nCache-Control: no-cache\r\n" in request for request in nasty.requests],
               [True, True, False, False])
    serve(says(OK + b"Content-Length: 0\r\nConnection: close\r\n\r\n"), act)


def check_reuse(program, directory):
    """A connection is used again; one that has been closed meanwhile is made anew."""
    def twice(nasty, connection, _):
        connection.sendall(OK + b"Content-Length: 0\r\n\r\n")
        nasty.requests.append(connection.recv(65536))
        connection.shutdown(socket.SHUT_RDWR)

    def act(nasty):
        replies = Driver(program, nasty.url).run_all(*[("head", "entry")] * 4)
        expect("used again", [reply.err for reply in replies], ["0"] * 4)
    serve(twice, act)


class Dav:
    """Keeps objects and collections. Says once that one is forbidden, as Apache of those that other hosts make."""

    def __init__(self, refused):
        self.refused, self.times = refused, 1
        self.paths, self.lock = {"/store/": '"1"'}, threading.Lock()

    def make_collection(self, path):
        if path in self.paths:
            return 405
        if self.times and path.endswith(self.refused):
            self.times -= 1
            self.paths[path] = '"1"'
            return 403
        self.paths[path] = '"1"'
        return 201

    def status(self, method, path, conditions):
        etag = self.paths.get(path)
        if method == "DELETE":
            return 204 if self.paths.pop(path, None) else 404
        if method in ("GET", "HEAD"):
            return 200 if etag else 404
        if path.rstrip("/").rpartition("/")[0] + "/" not in self.paths:
            return 409
        if method == "MKCOL":
            return self.make_collection(path)
        if "if-none-match" in conditions and etag or conditions.get("if-match", etag) != etag:
            return 412
        self.paths[path] = '"%d"' % (int(etag.strip('"')) + 1 if etag else 1)
        return 201

    def __call__(self, _, connection, request):
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {key.lower(): value for key, value in (line.split(": ", 1) for line in lines)}
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        with self.lock:
            method, path, _ = first.split()
            status = self.status(method, path, headers)
            connection.sendall(b"HTTP/1.1 %d X\r\nETag: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                               % (status, self.paths.get(path, '""').encode()))


def check_raced(program, directory):
    """Apache forbids to make what another host makes at the same moment: it is there then."""
    path = directory / "lease"
    path.write_bytes(b"host")
    dav = Dav("/00/")

    def act(nasty):
        lease = Driver(program, nasty.url).run("put", "gsymfs1/00/a.lease", path, options=["--absent"])
        expect("a collection that others make", (lease.err, dav.times), ("0", 0))
    serve(dav, act)


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        # Most of the time is waited for limits.
        with ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(check, program, directory, i, *case)
                    for check, cases in ((get, GET), (put, PUT)) for i, case in enumerate(cases)]
            jobs += [pool.submit(check, program, directory) for check in (
                check_redirect, check_text, check_etags, check_connections, check_caches, check_reuse, check_raced)]
            for job in jobs:
                job.result()
    print("\n".join(failures) or f"{len(GET) + len(PUT)} servers with faults: as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
