#!/usr/bin/env python3
"""A daemon under load while its processes are killed, its cache is damaged and SOURCE changes: every answer is compared.

    load.py [--seconds N] [--seed N] GSYMFS GSYM kills|daemons|cache|source

An answer is right to the byte, or an error other than ENOENT. When the harm is over, all answers are right, and no temporary file is
left.
"""
import argparse
import contextlib
import ctypes
import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import images

LIMIT = 600  # seconds until something counts as hung
READERS = 3
SECTION_HEADERS_AT = 40  # e_shoff of a 64-bit ELF file
REST_MAX = 10  # seconds
RENAME_EXCHANGE, AT_FDCWD = 2, -100
KNOWN = (errno.EIO, errno.ESTALE, errno.EINTR, errno.ENOMEM)
GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV)  # of a mount whose daemon was killed


def exchange(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2")


class Load:
    def __init__(self, gsymfs, gsym, place, seed=1, environment=None):
        """@environment: what the daemon has besides that of this process."""
        self.gsymfs, self.gsym, self.place, self.seed = gsymfs, gsym, Path(place), seed
        self.environment = dict(os.environ, **(environment or {}))
        self.source, self.mnt, self.cache = (self.place / n for n in ("source", "mnt", "cache"))
        for path in (self.source, self.mnt, self.cache, self.place / "shared"):
            path.mkdir(mode=0o700)
        self.log_path = self.place / "log"
        self.counts, self.complaints, self.lock = Counter(), [], threading.Lock()
        self.stop, self.rest = threading.Event(), 0
        self.images = images.make(gsym, self.place, self.source)
        self.process = None
        self.start()

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] += n

    def complain(self, what):
        with self.lock:
            self.complaints.append(what)
        print("not ok: " + what, flush=True)

    # ---- The daemon ----

    def start(self):
        options = ",".join((f"worker={self.gsym}", f"cache={self.cache}", "cache_free=0", "rescan=1", "jobs=2",
                            *([f"shared={self.place}/shared"] if os.environ.get("HAVE_STORE", "1") else [])))
        with open(self.log_path, "ab") as out:
            begin = out.tell()
            self.process = subprocess.Popen([self.gsymfs, "-f", "-o", options, self.source, self.mnt], stdout=out, stderr=out,
                                            env=self.environment)
        end = time.monotonic() + LIMIT
        while "serving" not in self.log(begin):
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the daemon does not start: " + self.log(begin))
            time.sleep(0.01)

    def log(self, begin=0):
        with open(self.log_path, errors="replace") as log:
            log.seek(begin)
            return log.read()

    def unmount(self):
        while os.path.ismount(self.mnt) or self.is_dead():
            if subprocess.run(["umount", "-l", self.mnt], capture_output=True, check=False).returncode:
                break

    def is_dead(self):
        try:
            os.stat(self.mnt)
        except OSError as error:
            return error.errno == errno.ENOTCONN
        return False

    def kill_daemon(self):
        self.process.kill()
        self.process.wait()
        self.unmount()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            if self.process.wait(LIMIT) != 0:
                self.complain("status %d: %s" % (self.process.returncode, self.log()[-2000:]))
        except subprocess.TimeoutExpired:
            self.complain("the daemon does not end: " + self.log()[-2000:])
            self.process.kill()
            self.process.wait()
        self.unmount()
        left = [p.name for p in self.cache.iterdir() if p.name.startswith(".tmp")]
        if left:
            self.complain("temporary files: %s" % left)

    def children(self):
        """[(pid, role)] of the daemon's processes; those that a zygote forks have its name."""
        found = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for pid in (task / "children").read_text().split():
                    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    if len(words) > 2 and words[1] == b"worker":
                        found.append((int(pid), words[2].decode()))
        return found

    # ---- Readers ----

    def look(self, image, address):
        """What is wrong with the answer, or None."""
        changes, steady = image.changes, image.steady
        try:
            got = self.ask(image.id, address)
            if got is None:
                return None
        except OSError as error:
            self.count(errno.errorcode[error.errno])
            if error.errno in KNOWN + GONE:
                return None
            if error.errno == errno.ENOENT and not (steady and image.steady and changes == image.changes):
                return None
            return "%s of %s" % (errno.errorcode[error.errno], image.path.name)
        self.count("answers")
        rights = [answers[address] for answers in image.answers[:2 if image.changes else 1]]
        return None if got in rights else "%s: %r instead of %r" % (image.path.name, got, rights)

    def ask(self, id, address):
        """An answer; None where nothing is mounted."""
        root = os.open(self.mnt, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if os.fstat(root).st_dev == self.place.stat().st_dev:
                return None
            fd = os.open(f"{id}/{address}", os.O_RDONLY, dir_fd=root)
        finally:
            os.close(root)
        with open(fd, "rb") as file:
            return file.read()

    def read(self, seed):
        rng = random.Random(seed)
        while not self.stop.is_set():
            image = rng.choice(self.images)
            trouble = self.look(image, rng.choice(list(image.answers[0])))
            if trouble:
                self.complain("wrong: " + trouble)
                self.count("wrong")

    def settle(self):
        """All images answer, with the version that is there."""
        for image in self.images:
            version = image.versions.index(image.path.read_bytes())
            right = image.answers[version][image.probe]
            end, got = time.monotonic() + LIMIT, None
            while time.monotonic() < end:
                try:
                    got = (self.mnt / image.id / image.probe).read_bytes()
                    if got == right:
                        break
                except OSError as error:
                    got = error
                time.sleep(0.05)
            else:
                self.complain("remembered: %s: %r instead of %r: %s" % (image.path.name, got, right, self.log()[-2000:]))

    # ---- Harm ----

    def evict(self, rng):
        """So that there is something to convert."""
        for path in (*self.cache.glob("*.gsym"), *(self.place / "shared").rglob("*.gsym")):
            if rng.random() < 0.5:
                path.unlink(missing_ok=True)
        for image in self.images:
            if rng.random() < 0.3:
                with image.lock, contextlib.suppress(OSError):
                    os.utime(image.path, (rng.randrange(10**9), rng.randrange(10**9)))

    def kill_one(self, rng):
        found = self.children()
        if found:
            pid, role = rng.choice(found)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.count("killed " + role)

    def kill_some(self, rng):
        self.evict(rng)
        before = self.counts["answers"]
        for _ in range(5):
            self.kill_one(rng)
            self.stop.wait(rng.random() / 10)
        self.let_answer(before)

    def let_answer(self, before):
        """Kills come less often while they leave no time for an answer, as on a machine that is busy with other work."""
        self.rest = 0 if self.counts["answers"] > before else min(2 * self.rest + 0.1, REST_MAX)
        end = time.monotonic() + self.rest
        while self.counts["answers"] == before and time.monotonic() < end and not self.stop.is_set():
            self.stop.wait(0.02)

    def kill_all(self, rng):
        """The daemon itself; its cache stays as it is."""
        self.evict(rng)
        before = self.counts["answers"]
        self.stop.wait(rng.random() / 2)
        self.let_answer(before)
        self.kill_daemon()
        self.count("killed daemon")
        self.start()

    def harm_cache(self, rng):
        """An entry that is in use is swapped with another, cut short, or replaced by a damaged one."""
        entries = sorted(self.cache.glob("*.gsym"))
        if len(entries) < 2:
            self.stop.wait(0.05)
            return
        one, other = rng.sample(entries, 2)
        what = rng.choice(("swapped", "truncated", "damaged", "emptied"))
        with contextlib.suppress(FileNotFoundError):
            if what == "swapped":
                exchange(one, other)
            elif what == "truncated":
                os.truncate(one, rng.randrange(one.stat().st_size + 1))
            else:
                data = bytearray(one.read_bytes())
                for _ in range(8 if data and what == "damaged" else 0):
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                made = self.cache / "made"
                made.write_bytes(data if what == "damaged" else bytes(len(data)))
                os.chmod(made, 0o600)
                os.rename(made, one)
            self.count("entries " + what)
        if rng.random() < 0.3:
            image = rng.choice(self.images)
            os.utime(image.path, (rng.randrange(10**9), rng.randrange(10**9)))
        self.stop.wait(rng.random() / 20)

    def harm_source(self, rng):
        """A file is emptied, cut, made sparse, swapped with another or rewritten, and whole again after a while."""
        image, other = rng.sample(self.images, 2)
        what = rng.choice(("swapped", "replaced", "rewritten", *(("truncated", "sparse") if image.has_end else ())))
        with self.unsteady(image, other):
            data = image.path.read_bytes()
            new = rng.choice(image.versions)
            if what == "truncated":
                os.truncate(image.path, rng.randrange(len(data)))
            elif what == "sparse":
                headers = int.from_bytes(data[SECTION_HEADERS_AT:SECTION_HEADERS_AT + 8], sys.byteorder)
                os.truncate(image.path, rng.randrange(64, headers))  # later, a single section would be missing
                os.truncate(image.path, len(data))
            elif what == "swapped":
                exchange(image.path, other.path)
                self.stop.wait(rng.random() / 10)
                exchange(image.path, other.path)
            elif what == "rewritten":
                with open(image.path, "r+b") as file:
                    for at in range(0, len(new), 4096):
                        file.write(new[at:at + 4096])
                    file.truncate()
            self.stop.wait(rng.random() / 10)
            made = self.place / "made"
            made.write_bytes(new)
            os.rename(made, image.path)
            self.count("sources " + what)
            self.await_scans()
            self.await_version(image, new)
            self.await_version(other, other.path.read_bytes())

    @contextlib.contextmanager
    def unsteady(self, *images):
        """Meanwhile they may be missing."""
        for image in images:
            image.steady = False
            image.changes += 1
        try:
            yield
        finally:
            for image in images:
                image.changes += 1
                image.steady = True

    def scans(self):
        """That have ended; None where nothing is mounted."""
        with contextlib.suppress(OSError):
            text = (self.mnt / "metrics").read_text()
            return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("gsymfs_scans_total{"))
        return None

    def await_scans(self):
        """Until one has ended that began after the call: the one before may have met the file as it was, and end after that."""
        before, end = self.scans(), time.monotonic() + LIMIT
        while before is not None and time.monotonic() < end and not self.stop.is_set():
            now = self.scans()
            if now is None or now >= before + 2:
                return
            time.sleep(0.02)

    def await_version(self, image, new):
        """A file that was away comes back with a scan."""
        right = image.answers[image.versions.index(new)][image.probe]
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and not self.stop.is_set():
            with contextlib.suppress(OSError):
                if (self.mnt / image.id / image.probe).read_bytes() == right:
                    return
            time.sleep(0.01)

    # ---- All of it ----

    def run(self, seconds, *harms, each=None):
        """@each: called every second."""
        readers = [threading.Thread(target=self.read, args=(self.seed + n,), daemon=True) for n in range(READERS)]
        harmers = [threading.Thread(target=self.harm, args=(harm, self.seed + n), daemon=True) for n, harm in enumerate(harms)]
        for thread in readers + harmers:
            thread.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end or (not self.counts["answers"] and time.monotonic() < end + LIMIT):
            time.sleep(1)
            if each:
                each()
        self.stop.set()
        for thread in readers + harmers:
            thread.join(LIMIT)
            if thread.is_alive():
                self.complain("a reader hangs: " + self.log()[-2000:])
        self.settle()

    def harm(self, harm, seed):
        rng = random.Random(seed)
        while not self.stop.is_set():
            harm(rng)


HARMS = {"kills": "kill_some", "daemons": "kill_all", "cache": "harm_cache", "source": "harm_source"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("gsymfs")
    parser.add_argument("gsym")
    parser.add_argument("harm", choices=HARMS)
    settings = parser.parse_args()
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("skipped: /dev/fuse is missing or closed to this user")
        return 77
    with tempfile.TemporaryDirectory(prefix="gsymfs-load-", ignore_cleanup_errors=True) as place:
        load = Load(os.path.realpath(settings.gsymfs), os.path.realpath(settings.gsym), place, settings.seed)
        try:
            load.run(settings.seconds, getattr(load, HARMS[settings.harm]))
        finally:
            load.end()
        for what, n in sorted(load.counts.items()):
            print("%-20s %d" % (what, n))
        if not load.counts.get("answers"):
            load.complain("no answers")
        return 1 if load.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
