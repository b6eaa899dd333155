"""As much of NFSv4.0 (RFC 7530) as it takes to keep a file handle and to read by it: no state, no client id.

Programs that mount or that know paths look a stale handle up again; this one says what the server answered.
"""

import os
import socket
import struct

GETATTR, GETFH, LOOKUP, PUTFH, PUTROOTFH, READ = 9, 10, 15, 22, 24, 25
STALE = 70  # NFS4ERR_STALE
SIZE_ATTRIBUTE = 1 << 4
READ_BYTES = 1 << 16


class Error(Exception):
    """What the server answered to an operation."""

    def __init__(self, status):
        super().__init__("NFS4 error %d" % status)
        self.status = status


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


class Reply:
    """XDR, from the beginning to the end."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        part = self.data[self.at:self.at + size]
        assert len(part) == size, "the reply is truncated"
        self.at += size
        return part

    def number(self):
        return struct.unpack(">I", self.take(4))[0]

    def opaque(self):
        size = self.number()
        data = self.take(size)
        self.take(-size % 4)
        return data


class Client:
    """A connection; the caller closes it."""

    def __init__(self, port, timeout):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.xid = 0

    def close(self):
        self.socket.close()

    def receive(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the server has closed the connection")
            data += part
        return data

    def receive_record(self):
        data, last = b"", False
        while not last:
            mark = struct.unpack(">I", self.receive(4))[0]
            last = mark >> 31
            data += self.receive(mark & 0x7fffffff)
        return Reply(data)

    def compound(self, *operations):
        """Runs them; the reply from the result of the last one on."""
        self.xid += 1
        program, version, procedure, auth_sys = 100003, 4, 1, 1
        credential = struct.pack(">I", 0) + opaque(b"test") + struct.pack(">III", os.getuid(), os.getgid(), 0)
        call = struct.pack(">IIIIII", self.xid, 0, 2, program, version, procedure) + struct.pack(">I", auth_sys) + opaque(
            credential) + struct.pack(">II", 0, 0)
        call += opaque(b"") + struct.pack(">II", 0, len(operations)) + b"".join(operations)
        self.socket.sendall(struct.pack(">I", 1 << 31 | len(call)) + call)
        reply = self.receive_record()
        xid, kind, accepted, _flavor = (reply.number() for _ in range(4))
        reply.opaque()
        assert (xid, kind, accepted, reply.number()) == (self.xid, 1, 0, 0), "the call was refused"
        status = reply.number()
        reply.opaque()
        if status:
            raise Error(status)
        assert reply.number() == len(operations)
        for _ in operations[:-1]:  # none of these has a result
            reply.take(8)
        reply.take(8)
        return reply

    def handle(self, path):
        """The handle of the file @path, from the root of the server."""
        names = [struct.pack(">I", LOOKUP) + opaque(name.encode()) for name in path.split("/") if name]
        return self.compound(struct.pack(">I", PUTROOTFH), *names, struct.pack(">I", GETFH)).opaque()

    def put(self, handle):
        return struct.pack(">I", PUTFH) + opaque(handle)

    def handle_in(self, handle, name):
        """The handle of @name in a directory."""
        return self.compound(self.put(handle), struct.pack(">I", LOOKUP) + opaque(name.encode()),
                             struct.pack(">I", GETFH)).opaque()

    def size(self, handle):
        reply = self.compound(self.put(handle), struct.pack(">III", GETATTR, 1, SIZE_ATTRIBUTE))
        reply.take(8)  # the attributes there are: that one
        return struct.unpack(">Q", reply.opaque())[0]

    def read(self, handle):
        """All of a file, by the stateid of those who have none."""
        data, end = b"", False
        while not end:
            reply = self.compound(self.put(handle), struct.pack(">I", READ) + b"\0" * 16 + struct.pack(
                ">QI", len(data), READ_BYTES))
            end = reply.number()
            part = reply.opaque()
            assert part or end, "nothing was read, and it is not the end"
            data += part
        return data
