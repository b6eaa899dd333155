#!/usr/bin/env python3
"""Every way of using q and log that nobody thought of: each answers as it should, or fails as documented."""

import ctypes
import errno
import fcntl
import mmap
import os
import select
import shutil
import signal
import subprocess
import sys
import threading

import mount_harness
from mount_harness import MountTest, build_id, run, wait_until

UNKNOWN = b"?? at ??:0\n\n"


class OddTest(MountTest):
    def setUp(self):
        super().setUp()
        self.id = build_id(self.compile())
        self.daemon = self.mount()
        self.daemon.wait_scanned()

    def open(self, name="q", flags=os.O_RDWR):
        fd = os.open(os.path.join(self.mnt, self.id if name != "log" else "", name), flags)
        self.addCleanup(lambda: os.close(fd))
        return fd

    def whole(self, fd):
        return mount_harness.read_all(fd)

    def test_poll(self):
        """Always ready, as files are: a read says itself that there is nothing."""
        for name in ("q", "log"):
            fd = self.open(name)
            poll = select.poll()
            poll.register(fd, select.POLLIN | select.POLLOUT)
            self.assertEqual(poll.poll(1000), [(fd, select.POLLIN | select.POLLOUT)])
            self.assertEqual(select.select([fd], [fd], [], 1), ([fd], [fd], []))
            with select.epoll() as epoll:
                try:
                    epoll.register(fd, select.EPOLLIN)
                    self.assertEqual(len(epoll.poll(1)), 1)
                except PermissionError:
                    pass  # as of a file on a disk

    def test_nonblocking(self):
        fd = self.open(flags=os.O_RDWR | os.O_NONBLOCK)
        self.assertEqual(os.read(fd, 100), b"")
        os.write(fd, b"0\n")
        self.assertEqual(self.whole(fd), UNKNOWN)

    def test_vectors(self):
        fd = self.open()
        self.assertEqual(os.writev(fd, [b"0", b"\n0", b"x0\n"]), 6)
        small, large = bytearray(5), bytearray(100)
        n = os.readv(fd, [small, large])
        self.assertGreater(n, len(small))
        self.assertEqual(bytes(small + large)[:n] + self.whole(fd), 2 * UNKNOWN)

    def copied(self, copy, fd):
        """What @copy(fd, pipe) copied, None if it was refused; never an end where there are answers."""
        read_end, write_end = os.pipe()
        try:
            n = copy(fd, write_end)
            self.assertGreater(n, 0)
            return mount_harness.read_some(read_end, n)
        except OSError as error:
            self.assertEqual(error.errno, errno.EINVAL)
            return None
        finally:
            os.close(read_end)
            os.close(write_end)

    def test_splice(self):
        """Writing works. Reading goes through the page cache, which all who have the file open share: refused."""
        copies = (lambda fd, to: os.splice(fd, to, 1000), lambda fd, to: os.sendfile(to, fd, None, 1000),
                  lambda fd, to: os.sendfile(to, fd, os.lseek(fd, 0, os.SEEK_CUR), 1000))
        for name, flags in (("q", 0), ("../q", 0), ("../log", 0), ("../q.json", 0), ("q", os.O_APPEND), ("../log", os.O_APPEND)):
            with self.subTest(name, flags=flags):
                if flags:
                    mount_harness.skip_if_files_are_limited(self)
                path = os.path.join(self.mnt, self.id, name)
                for copy in copies:
                    for look in (lambda fd: None, os.fstat, lambda fd, path=path: os.stat(path)):
                        fd = os.open(path, os.O_RDWR | flags)
                        try:
                            self.refuses(fd, copy, look)
                        finally:
                            os.close(fd)

    def refuses(self, fd, copy, look):
        for _ in range(2):
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND:  # splice(2) writes to no such file
                os.write(fd, b"0\n0x0\n")
            else:
                read_end, write_end = os.pipe()
                os.write(write_end, b"0\n0x0\n")
                os.close(write_end)
                self.assertEqual(os.splice(read_end, fd, 6), 6)
                os.close(read_end)
            look(fd)
            self.assertEqual(os.fstat(fd).st_size, 0)
            got = self.copied(copy, fd)
            self.assertTrue(got is None or self.whole(fd).startswith(got))
            self.assertTrue(got or self.whole(fd))

    def test_shells(self):
        """What the README shows, with a cat that uses sendfile(2)."""
        busybox = mount_harness.tool("busybox")
        if not busybox:
            self.skipTest("busybox is not installed (Debian package busybox)")
        script = 'exec 3<>"$1"; printf "0\\n0x0\\n" >&3; "$2" cat <&3; "$2" cat "$3" >"$4"; "$2" cp "$3" "$5"'
        copies = [os.path.join(self.dir, name) for name in ("cat", "cp")]
        for shell in ([busybox, "sh"], ["sh"]):
            done = run(*shell, "-c", script, "sh", os.path.join(self.mnt, self.id, "q"), busybox,
                       os.path.join(self.mnt, "metrics"), *copies)
            self.assertEqual(done.stdout, 2 * UNKNOWN)
            for path in copies:
                data = mount_harness.contents(path)
                self.assertTrue(data.startswith(b"# HELP gsymfs_build_info") and data.endswith(b"\n"), data)
                self.assertIn(b"gsymfs_batch_bytes", data)

    def test_sendfile_of_what_is_made_when_opened(self):
        """Either its own bytes, or an error; shutil then reads it."""
        for name in ("../metrics", "status", "info.json"):
            path = os.path.join(self.mnt, self.id, name)
            with open(path, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                got = self.copied(lambda fd, to, size=size: os.sendfile(to, fd, 0, size), file.fileno())
                data = file.read()
                self.assertTrue(got is None or data == got, name)
                self.assertEqual(len(data), size)
            shutil.copyfile(path, os.path.join(self.dir, "copy"))
            self.assertGreater(os.path.getsize(os.path.join(self.dir, "copy")), 100)

    def test_mmap(self):
        """What a mapping would show belongs to nobody's questions."""
        fd = self.open()
        os.write(fd, b"0\n" * 5000)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        at = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
        if at == ctypes.c_void_p(-1).value:
            self.assertEqual(ctypes.get_errno(), errno.ENODEV)
        else:
            libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(4096))
        script = "import mmap, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\nos.write(fd, b'0\\n' * 5000)\n" \
                 "print(len(mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)[:]))"
        path = os.path.join(self.mnt, self.id, "q")
        done = subprocess.run([sys.executable, "-c", script, path], capture_output=True,
                              timeout=mount_harness.LIMIT)
        self.assertIn(done.returncode, (0, -signal.SIGBUS, 1), done.stderr)  # the program's own trouble
        self.assertEqual(self.whole(fd), UNKNOWN * 5000)

    def test_far_writes(self):
        """Where one writes is nobody else's business: the kernel takes the end of the file for all from the last write."""
        mount_harness.skip_if_files_are_limited(self)
        fd = self.open()
        for off in ((1 << 63) - 3, (1 << 62) + 1):
            self.assertErrno(errno.EFBIG, os.pwrite, fd, b"0\n", off)
        os.pwrite(fd, b"0\n", (1 << 61))
        self.assertEqual(mount_harness.pread_all(fd, 100, (1 << 61) + 2), UNKNOWN)
        other = self.open(flags=os.O_RDWR | os.O_APPEND)
        for _ in range(3):
            os.write(other, b"0\n")
            self.assertEqual(self.whole(other), UNKNOWN)
        self.assertErrno(errno.EINVAL, os.pread, fd, 10, -1)

    def test_truncate(self):
        fd = self.open()
        os.write(fd, b"0\n")
        os.ftruncate(fd, 0)
        os.ftruncate(fd, 100)
        self.assertEqual(self.whole(fd), UNKNOWN)
        self.assertErrno(errno.EROFS, os.posix_fallocate, fd, 0, 100)

    def test_small_writes(self):
        """One byte each."""
        text = b"0\n0x0\nx\n" * 500
        fd = self.open("q.tsv")
        for i in range(len(text)):
            self.assertEqual(os.write(fd, text[i:i + 1]), 1)
        got = self.whole(fd).splitlines()
        self.assertEqual(len(got), 1500)
        self.assertEqual(len(set(got)), 2)

    def test_line_without_end(self):
        """Megabytes without a newline are one line, which is no address; of it the beginning is told."""
        fd = self.open()
        block = b"f" * (1 << 20)
        for _ in range(20):
            os.write(fd, block)
        got = mount_harness.within_limit(lambda: self.whole(fd), "the answer")
        self.assertEqual(got.count(b"\n\n"), 1)
        self.assertLess(len(got), 10000)
        log = self.open("log")
        for _ in range(20):
            os.write(log, block)
        self.assertEqual(len(self.whole(log)), 20 << 20)

    def test_many_empty_lines(self):
        fd = self.open()
        os.write(fd, b"\n" * 300000)
        self.assertEqual(self.whole(fd).count(b"\n\n"), 300000)

    def test_binary(self):
        everything = bytes(range(256)) * 200
        fd = self.open()
        os.write(fd, everything)
        self.assertGreater(len(self.whole(fd)), 200)
        log = self.open("log")
        os.write(log, everything)
        self.assertEqual(self.whole(log), everything)

    def test_odd_places(self):
        """Reads of any size anywhere in what there is say the same as one read of all of it."""
        fd = self.open()
        end = os.write(fd, b"0\n" * 1000)
        whole = mount_harness.pread_all(fd, 1 << 20, end)
        self.assertEqual(whole, UNKNOWN * 1000)
        for at in (0, 1, 7, 11, 12, 13, 4095, 4096, len(whole) - 1, len(whole), len(whole) + 5):
            for size in (1, 3, 4096, 100000):
                self.assertEqual(mount_harness.pread_all(fd, size, end + at), whole[at:at + size], (at, size))

    def test_fork(self):
        """Children share the description: what one writes the other can read."""
        fd = self.open()
        child = os.fork()
        if child == 0:
            os.write(fd, b"0\n")
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(self.whole(fd), UNKNOWN)

    def test_writer_and_reader(self):
        """One thread writes while another reads the same description: every line has its answer, in order."""
        fd = self.open("q.tsv")
        lines, got, done = 3000, [], []

        def write():
            for i in range(lines):
                os.write(fd, b"%x\n" % (1 + i))
            done.append(1)
        writer = threading.Thread(target=write)
        writer.start()
        while True:
            ended = bool(done)
            part = os.read(fd, 4096)
            got.append(part)
            if ended and not part:
                break
        writer.join(mount_harness.LIMIT)
        text = b"".join(got)
        self.assertEqual([int(line.split(b"\t")[0], 16) for line in text.splitlines()], list(range(1, lines + 1)))

    def test_closed_while_parked(self):
        """Who is killed while he waits leaves nothing behind."""
        def open_files():
            return int(next(line.split()[1] for line in self.read("metrics").splitlines()
                            if line.startswith("gsymfs_open_files{")))
        before = open_files()
        script = "import os, sys\nfds = [os.open(sys.argv[1], os.O_RDWR) for _ in range(50)]\n" \
                 "for fd in fds: os.write(fd, b'0\\n' * 1000)\nprint('', flush=True)\n" \
                 "while True:\n  for fd in fds: os.pread(fd, 100000, 2000)"
        path = os.path.join(self.mnt, self.id, "q.json")
        for _ in range(3):
            child = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
            self.processes.append(child)
            child.stdout.readline()
            child.kill()
            child.wait(mount_harness.LIMIT)
        wait_until(lambda: open_files() <= before, "all files closed")


if __name__ == "__main__":
    mount_harness.main()
