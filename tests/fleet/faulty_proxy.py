"""An HTTP proxy before a store that does to requests and answers what set() says.

One request a connection is passed on, so that a fault concerns a request and not what a connection was before it.
"""

import contextlib
import random
import socket
import threading
import time
from email.utils import formatdate, parsedate_to_datetime

BLOCK = 1 << 16
HEAD_MAX = 1 << 16


class Fault:
    """What happens to requests. All zero: nothing."""

    def __init__(self, latency=0.0, loss=0.0, error=0.0, code=503, flip=0.0, cut=0.0, swap=0.0, silent=False, rate=0, date=0):
        self.latency = latency  # seconds before the answer
        self.loss = loss        # part of the connections that are closed without an answer
        self.error = error      # part of the requests answered with @code
        self.code = code
        self.flip = flip        # part of the bodies in which a bit is flipped
        self.cut = cut          # part of the bodies that end early
        self.swap = swap        # part of the bodies that are those of another object
        self.silent = silent    # accepts connections and says nothing
        self.rate = rate        # bytes a second of an answer; 0: as fast as it can
        self.date = date        # seconds by which the server's clock seems to be ahead

    def harms(self):
        return vars(self) != vars(Fault())


def read_head(sock):
    """The head of a message, and what came after it."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = sock.recv(BLOCK)
        if not block or len(data) > HEAD_MAX:
            raise ConnectionError("no head")
        data += block
    head, rest = data.split(b"\r\n\r\n", 1)
    return head.split(b"\r\n"), rest


def field(lines, name):
    for line in lines[1:]:
        if line.lower().startswith(name.lower() + b":"):
            return line.split(b":", 1)[1].strip()
    return None


def read_body(sock, lines, rest, has_body=True):
    """A body of a known length, one in chunks, or until the end."""
    length = field(lines, b"content-length")
    if not has_body:
        return b""
    if (field(lines, b"transfer-encoding") or b"").lower() == b"chunked":
        return read_chunks(sock, rest)
    while length is None or len(rest) < int(length):
        block = sock.recv(BLOCK)
        if not block:
            break
        rest += block
    return rest


def read_chunks(sock, rest):
    body = b""
    while True:
        while b"\r\n" not in rest:
            rest += sock.recv(BLOCK)
        size, rest = rest.split(b"\r\n", 1)
        size = int(size.split(b";")[0], 16)
        while len(rest) < size + 2:
            block = sock.recv(BLOCK)
            if not block:
                raise ConnectionError("a chunk is missing")
            rest += block
        body, rest = body + rest[:size], rest[size + 2:]
        if not size:
            return body


class FaultyProxy:
    """Listens on a port of loopback, .port, and passes on to @port."""

    def __init__(self, port, seed=1):
        self.to = port
        self.fault = Fault()
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.requests = 0
        self.faults = 0
        self.last_body = {}  # of a path
        self.closing = False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def set(self, fault):
        self.fault = fault

    def close(self):
        self.closing = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)

    def accept(self):
        while not self.closing:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def chance(self, part):
        with self.lock:
            hit = part > 0 and self.random.random() < part
            self.faults += hit
            return hit

    def serve(self, client):
        with client, contextlib.suppress(OSError, ValueError):
            client.settimeout(60)
            self.exchange(client, self.fault)

    def exchange(self, client, fault):
        lines, rest = read_head(client)
        with self.lock:
            self.requests += 1
        if fault.silent:
            self.faults += 1
            time.sleep(30)
            return
        if self.chance(fault.loss):
            return
        if (field(lines, b"expect") or b"").lower() == b"100-continue":
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        method = lines[0].split()[0]
        body = read_body(client, lines, rest, field(lines, b"content-length") is not None or
                         field(lines, b"transfer-encoding") is not None)
        time.sleep(fault.latency)
        if self.chance(fault.error):
            client.sendall(b"HTTP/1.1 %d Fault\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % fault.code)
            return
        answer, found = self.ask(lines, body, method)
        self.reply(client, fault, lines, answer, found)

    def ask(self, lines, body, method):
        drop = (b"connection:", b"content-length:", b"transfer-encoding:", b"expect:")
        head = [line for line in lines if not line.lower().startswith(drop)]
        if body or method == b"PUT":
            head.append(b"Content-Length: %d" % len(body))
        head.append(b"Connection: close")
        with socket.create_connection(("127.0.0.1", self.to), timeout=60) as server:
            server.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
            answer, rest = read_head(server)
            while answer[0].split()[1] == b"100":
                answer, rest = read_head(server) if not rest else (rest.split(b"\r\n\r\n")[0].split(b"\r\n"),
                                                                   rest.split(b"\r\n\r\n", 1)[1])
            return answer, read_body(server, answer, rest, method != b"HEAD" and answer[0].split()[1] not in (b"204", b"304"))

    def reply(self, client, fault, lines, answer, body):
        method, path = lines[0].split()[:2]
        if method == b"GET" and answer[0].split()[1] == b"200":
            body = self.damage(fault, path, body)
        drop = (b"connection:", b"transfer-encoding:") + ((b"content-length:",) if method != b"HEAD" else ())
        head = [self.shift(line, fault) for line in answer if not line.lower().startswith(drop)]
        if method != b"HEAD":
            head.append(b"Content-Length: %d" % len(body))
        head.append(b"Connection: close")
        out = b"\r\n".join(head) + b"\r\n\r\n" + body
        if method == b"GET" and answer[0].split()[1] == b"200" and self.chance(fault.cut):
            out = out[:max(len(out) - max(len(body) // 2, 1), 1)]
        if not fault.rate:
            client.sendall(out)
            return
        for at in range(0, len(out), fault.rate):
            client.sendall(out[at:at + fault.rate])
            time.sleep(1)

    def damage(self, fault, path, body):
        with self.lock:
            others = [b for p, b in self.last_body.items() if p != path and b]
            self.last_body[path] = body
        if body and self.chance(fault.flip):
            body = bytearray(body)
            body[self.random.randrange(len(body))] ^= 1 << self.random.randrange(8)
            body = bytes(body)
        if others and self.chance(fault.swap):
            body = self.random.choice(others)
        return body

    @staticmethod
    def shift(line, fault):
        """Moves Date and Last-Modified, as of a server whose clock is ahead."""
        name = line.split(b":", 1)[0].lower()
        if not fault.date or name not in (b"date", b"last-modified"):
            return line
        moment = parsedate_to_datetime(line.split(b":", 1)[1].decode().strip()).timestamp() + fault.date
        return line.split(b":", 1)[0] + b": " + formatdate(moment, usegmt=True).encode()
