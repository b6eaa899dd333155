#!/usr/bin/env python3
"""Every system call that would change something, on every kind of node: which error it gives, and that nothing changed.

EROFS is what we say. Other errors are Linux's, which refuses some calls before it asks a file system: they are in TABLE.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import socket
import stat
import struct

import mount_harness
from mount_harness import MountTest, checked

DIR, LINK, FILE, TAPE = "directory", "symbolic link", "file", "file to write to"
AT_FDCWD = -100
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4  # renameat2(2)
PUNCH_HOLE, KEEP_SIZE = 2, 1  # fallocate(2)
FS_IOC_SETFLAGS, FIFREEZE = 0x40086602, 0xc0045877
OK = 0

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_ssize_t


def opened(path, flags, mode=0o644):
    os.close(os.open(path, flags, mode))


def as_large_as_allowed(size):
    """Beyond RLIMIT_FSIZE Linux refuses before it asks the file system."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return size if limit == resource.RLIM_INFINITY else min(size, limit)


def with_fd(path, flags, function):
    fd = os.open(path, flags)
    try:
        return function(fd)
    finally:
        os.close(fd)


def on_reader(function):
    return lambda path: with_fd(path, os.O_RDONLY, function)


def on_writer(function):
    return lambda path: with_fd(path, os.O_RDWR, function)


def renameat2(a, b, flags):
    checked(libc.renameat2(AT_FDCWD, a.encode(), AT_FDCWD, b.encode(), flags))


def exchange(path):
    """With the other of these two."""
    name = "q" if os.path.basename(path) == "log" else "log"
    top = path
    while not os.path.ismount(top):
        top = os.path.dirname(top)
    renameat2(path, os.path.join(top, name), EXCHANGE)


def fallocate(fd, mode):
    checked(libc.fallocate(fd, mode, ctypes.c_long(0), ctypes.c_long(1)))


def map_to_write(fd):
    at = checked(libc.mmap(None, 4096, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, ctypes.c_long(0)))
    libc.munmap(ctypes.c_void_p(at), 4096)


def copy_into(fd):
    """From the same mount: some kernels do not copy between file systems."""
    path = os.readlink("/proc/self/fd/%d" % fd)
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    with open(os.path.join(path, os.environ["FILE_TO_COPY"]), "rb") as file:
        os.copy_file_range(file.fileno(), fd, 4)


def lock_to_write(fd):
    fcntl.fcntl(fd, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0))


def bind(path):
    where = os.open(os.path.dirname(path), os.O_RDONLY)  # a path of a socket may have 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind("/proc/self/fd/%d/%s" % (where, os.path.basename(path)))
    finally:
        os.close(where)


# In a directory: what would make the name, which is new.
MAKING = [
    ("creat", lambda p: opened(p, os.O_CREAT | os.O_WRONLY)),
    ("creat to read", lambda p: opened(p, os.O_CREAT | os.O_RDONLY)),
    ("creat, exclusively", lambda p: opened(p, os.O_CREAT | os.O_EXCL | os.O_RDWR)),
    ("mkdir", os.mkdir),
    ("mknod file", lambda p: os.mknod(p, stat.S_IFREG | 0o644)),
    ("mknod fifo", os.mkfifo),
    ("mknod device", lambda p: os.mknod(p, stat.S_IFCHR | 0o644, os.makedev(1, 3))),
    ("symlink", lambda p: os.symlink("target", p)),
    ("bind", bind),
]

# On a node. Calls that follow symbolic links reach the directory behind.
CHANGING = [
    ("open to write", lambda p: opened(p, os.O_WRONLY)),
    ("open to read and write", lambda p: opened(p, os.O_RDWR)),
    ("open to append", lambda p: opened(p, os.O_WRONLY | os.O_APPEND)),
    ("open and truncate", lambda p: opened(p, os.O_WRONLY | os.O_TRUNC)),
    ("open to read and truncate", lambda p: opened(p, os.O_RDONLY | os.O_TRUNC)),
    ("creat what is there", lambda p: opened(p, os.O_WRONLY | os.O_CREAT)),
    ("creat only what is not there", lambda p: opened(p, os.O_WRONLY | os.O_CREAT | os.O_EXCL)),
    ("O_TMPFILE", lambda p: opened(p, os.O_TMPFILE | os.O_RDWR)),
    ("truncate", lambda p: os.truncate(p, 0)),
    ("truncate to more", lambda p: os.truncate(p, as_large_as_allowed(1 << 40))),
    ("chmod", lambda p: os.chmod(p, 0o777)),
    ("chown", lambda p: os.chown(p, 1, 1)),
    ("lchown", lambda p: os.lchown(p, 1, 1)),
    ("utimensat", lambda p: os.utime(p, (1, 1), follow_symlinks=False)),
    ("utimensat, now", lambda p: os.utime(p)),
    ("setxattr", lambda p: os.setxattr(p, "user.name", b"value")),
    ("setxattr, trusted", lambda p: os.setxattr(p, "trusted.name", b"value", follow_symlinks=False)),
    ("setxattr, ACL", lambda p: os.setxattr(p, "system.posix_acl_access", struct.pack(
        "<I" + "HHI" * 3, 2, 1, 7, 0xffffffff, 4, 7, 0xffffffff, 32, 7, 0xffffffff))),
    ("removexattr", lambda p: os.removexattr(p, "user.name")),
    ("unlink", os.unlink),
    ("rmdir", os.rmdir),
    ("rename", lambda p: os.rename(p, p + "new")),
    ("rename, nothing replaced", lambda p: renameat2(p, p + "new", NOREPLACE)),
    ("rename, leaving a whiteout", lambda p: renameat2(p, p + "new", WHITEOUT)),
    ("exchange", exchange),
    ("link", lambda p: os.link(p, p + "new", follow_symlinks=False)),
    ("link from elsewhere", lambda p: os.link(__file__, p + "new")),
    ("mknod over it", lambda p: os.mknod(p, stat.S_IFREG | 0o644)),
    ("fchmod", on_reader(lambda fd: os.fchmod(fd, 0o777))),
    ("fchown", on_reader(lambda fd: os.fchown(fd, 1, 1))),
    ("futimens", on_reader(lambda fd: os.utime(fd, (1, 1)))),
    ("fsetxattr", on_reader(lambda fd: os.setxattr(fd, "user.name", b"value"))),
    ("ftruncate of a reader", on_reader(lambda fd: os.ftruncate(fd, 0))),
    ("write of a reader", on_reader(lambda fd: os.write(fd, b"x"))),
    ("fallocate of a reader", on_reader(lambda fd: fallocate(fd, 0))),
    ("copy_file_range to a reader", on_reader(copy_into)),
    ("mmap to write", on_reader(map_to_write)),
    ("lock to write of a reader", on_reader(lock_to_write)),
    ("set flags", on_reader(lambda fd: fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("l", 0x10)))),
    ("freeze", on_reader(lambda fd: fcntl.ioctl(fd, FIFREEZE, 0))),
    ("flock", on_reader(lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))),
]

# Where a writer can be had.
WRITING = [
    ("write", on_writer(lambda fd: os.write(fd, b"0x1\n"))),
    ("ftruncate", on_writer(lambda fd: os.ftruncate(fd, 0))),
    ("fallocate", on_writer(lambda fd: fallocate(fd, 0))),
    ("punch a hole", on_writer(lambda fd: fallocate(fd, PUNCH_HOLE | KEEP_SIZE))),
    ("copy_file_range", on_writer(copy_into)),
    ("mmap a writer", on_writer(map_to_write)),
    ("lock to write", on_writer(lock_to_write)),
]

# What is not EROFS. Of directories and links to them, by Linux:
BEHIND = {
    **dict.fromkeys(["open to write", "open to read and write", "open to append", "open and truncate", "open to read and truncate",
                     "creat what is there", "truncate", "truncate to more", "copy_file_range to a reader"], errno.EISDIR),
    "O_TMPFILE": errno.EOPNOTSUPP,
}
# Of everything, by Linux: there is something, or the descriptor is not open to write. Locks are Linux's own affair.
ALWAYS = {
    **dict.fromkeys(["creat only what is not there", "mknod over it"], errno.EEXIST),
    **dict.fromkeys(["write of a reader", "fallocate of a reader", "copy_file_range to a reader",
                     "lock to write of a reader"], errno.EBADF),
    "ftruncate of a reader": errno.EINVAL,
    "mmap to write": errno.EACCES,
    "link from elsewhere": errno.EXDEV,
    "set flags": errno.ENOTTY,
    "freeze": errno.EOPNOTSUPP,
    "flock": OK,
}
NOT_A_DIRECTORY = {"rmdir": errno.ENOTDIR}
TABLE = {
    DIR: {**ALWAYS, **BEHIND, "unlink": errno.EISDIR, "link": errno.EPERM},
    LINK: {**ALWAYS, **BEHIND, **NOT_A_DIRECTORY},
    FILE: {**ALWAYS, **NOT_A_DIRECTORY, "O_TMPFILE": errno.ENOTDIR},
    # May be opened, written to, and emptied, which is what a shell does first.
    TAPE: {
        **ALWAYS, **NOT_A_DIRECTORY, "O_TMPFILE": errno.ENOTDIR,
        **dict.fromkeys(["open to write", "open to read and write", "open to append", "open and truncate",
                         "open to read and truncate", "creat what is there", "truncate", "truncate to more", "write", "ftruncate",
                         "copy_file_range", "lock to write"], OK),
        "mmap a writer": errno.ENODEV,
    },
}
# Names that belong to the directory the mount lies in.
OUTSIDE = {"unlink", "rmdir", "rename", "rename, nothing replaced", "rename, leaving a whiteout", "exchange", "link",
           "link from elsewhere"}


class ReadonlyTest(MountTest):
    def setUp(self):
        if not mount_harness.is_root():
            self.skipTest("Linux itself refuses some of the calls when it is not root who makes them")
        super().setUp()
        path = self.compile()
        self.id = mount_harness.build_id(path)
        start, _, name = next(f for f in self.functions(path) if "norm" in f[2])
        self.mount().wait_scanned()
        address = "0x%x" % start
        self.read(self.id, address)
        os.environ["FILE_TO_COPY"] = os.path.join(self.id, address)
        image = [self.id]
        self.nodes = {
            DIR: [[], ["by-name"], ["by-name", "sample"], ["by-path"], image, image + ["rva"], image + ["base"], image + ["base", "0x1000"],
                  image + ["sym"]],
            LINK: [["by-name", "sample", self.id], ["by-path", "sample"], [self.id.upper()], [self.id[:9]]],
            FILE: [image + [n] for n in ("status", "info.json", "image.gsym", "functions.tsv", address,
                                         address + ".json", "rva/" + address, "base/0x0/" + address,
                                         "sym/" + name)] + [["images.tsv"]],
            TAPE: [["q"], ["q.json"], ["log"], image + ["q"], image + ["rva", "q"], image + ["base", "0x1000", "q"]],
        }

    def outcome(self, call, path):
        try:
            call(path)
        except OSError as error:
            return error.errno
        return OK

    def snapshot(self):
        """All that is listed, and what the files hold but for metrics, which counts what is asked here."""
        found = {}
        for top, dirs, files in os.walk(self.mnt):
            for name in dirs + files:
                path = os.path.join(top, name)
                st = os.lstat(path)
                said = name in files and name != "metrics" and stat.S_ISREG(st.st_mode)
                text = mount_harness.contents(path) if said else b""
                size = None if name == "metrics" else st.st_size
                found[path] = (st.st_ino, st.st_mode, st.st_uid, st.st_gid, size, st.st_mtime_ns, st.st_nlink, text)
        return found

    def calls(self, kind):
        """(name, call, whether it gets the name of something new)."""
        calls = [(name, call, False) for name, call in CHANGING]
        if kind == DIR:
            calls += [(name, call, True) for name, call in MAKING]
        if kind == TAPE:
            calls += [(name, call, False) for name, call in WRITING]
        return calls

    def check(self, kind, node):
        """What is not as it should be."""
        wrong = []
        for name, call, is_new in self.calls(kind):
            if not node and name in OUTSIDE:
                continue
            path = os.path.join(self.mnt, *node, *(["new"] if is_new else []))
            got, want = self.outcome(call, path), TABLE[kind].get(name, errno.EROFS)
            if got != want:
                wrong.append("%s: %s: %s, not %s" % ("/".join(node), name, errno.errorcode.get(got, "allowed"),
                                                      errno.errorcode.get(want, "allowed")))
        return wrong

    def test_access_says_so(self):
        """access(2) says of every node what open(2) says."""
        for kind, nodes in self.nodes.items():
            for node in nodes:
                path = os.path.join(self.mnt, *node)
                with self.subTest(path):
                    self.assertTrue(os.access(path, os.R_OK))
                    self.assertEqual(os.access(path, os.W_OK), kind == TAPE)
                    self.assertEqual(os.access(path, os.X_OK), os.path.isdir(path))

    def test_every_call_on_every_node(self):
        before = self.snapshot()
        wrong = []
        for kind, nodes in self.nodes.items():
            for node in nodes:
                wrong += self.check(kind, node)
        self.assertEqual(wrong, [])
        self.assertEqual(self.snapshot(), before)


if __name__ == "__main__":
    mount_harness.main()
