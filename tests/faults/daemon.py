#!/usr/bin/env python3
"""Makes a call of a daemon or of its workers fail: the right answer, or an error other than ENOENT; afterwards the right one.

    daemon.py [--most N] [--seed N] [--table FILE] [--log FILE] [--way start|serve] GSYMFS GSYM LIBRARY [ROLE...]

LIBRARY is libinject.so, built from inject.c. With --most N occurrences of each call fail, with 0 all of them. Two ways:

 * start: a call fails while a daemon starts, scans and converts. When the fault is over, and after a restart with the same cache, all
   answers must be right.
 * serve: one daemon with many files, which differ in their ids; for each of them a call fails while it is converted and read.
"""
import argparse
import concurrent.futures
import errno
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import inputs
from injection import CLASSES, Injection, Tally, choose, errors_of

LIMIT = 300  # seconds until something counts as hung
SAMPLE = 1  # occurrences of each call in the short form
COPIES = 40  # files of a daemon that serves
JOBS = 2
RIGHT, WRONG = "right", "wrong"
SANITIZED = bool(os.environ.get("SANITIZER_LIBRARY"))


def is_mounted(path):
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == str(path) for line in mounts)


def within(function):
    """The value of function() or its OSError; None if it does not return."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    future = pool.submit(function)
    try:
        return future.result(LIMIT)
    except concurrent.futures.TimeoutError:
        return None
    except OSError as error:
        return error
    finally:
        pool.shutdown(wait=False)


class Mount:
    """A running daemon."""

    def __init__(self, bench, log):
        self.mnt, self.log_path = bench.place / "mnt", bench.place / log
        options = f"worker={bench.gsym},cache={bench.place}/cache,cache_free=0,rescan=0,jobs=1"
        with open(self.log_path, "ab") as out:
            self.process = subprocess.Popen([bench.gsymfs, "-f", "-o", options, bench.source, self.mnt], stdout=out, stderr=out,
                                            env=bench.injection.environment(ASAN_OPTIONS="exitcode=77"))

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_serving(self):
        """False if it ended instead, or hangs. Its log may lack the line that says so: writing that may be what fails."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and self.process.poll() is None:
            if is_mounted(self.mnt):
                return True
            time.sleep(0.005)
        return False

    def held(self):
        """(descriptors, threads)"""
        proc = f"/proc/{self.process.pid}/"
        return len(os.listdir(proc + "fd")), len(os.listdir(proc + "task"))

    def stop(self):
        """The exit status; None: it had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        finally:
            if is_mounted(self.mnt):
                subprocess.run(["umount", "-l", self.mnt], check=False)

    def answer(self, id, address):
        def read():
            with open(self.mnt / id / address, "rb") as file:
                return file.read()
        return within(read)


class Bench:
    """A directory with SOURCE, a cache and a mount point, for one daemon at a time."""

    def __init__(self, programs, place):
        self.gsymfs, self.gsym, library = programs
        self.place = Path(place)
        self.source = self.place / "source"
        for name in ("source", "mnt", "cache"):
            (self.place / name).mkdir(mode=0o700)
        self.injection = Injection(self.place / "inject", library)
        self.log_number = 0

    def mount(self):
        self.log_number += 1
        return Mount(self, f"log{self.log_number}")

    def empty_cache(self):
        for path in (self.place / "cache").iterdir():
            path.unlink()

    def left_behind(self):
        return [p.name for p in (self.place / "cache").iterdir() if p.name.startswith(".tmp")]


def prepare(gsym, place):
    """{id: (address, answer)} of files in @place, one of each kind; and a template for copies: (bytes, where the id is)."""
    made = place / "made"
    made.mkdir()
    names = inputs.make(made)
    wanted = {}
    for name in names:
        out = made / "x.gsym"
        subprocess.run([gsym, "convert", "--quiet", made / name, "-o", out], check=True, capture_output=True)
        dump = subprocess.run([gsym, "dump", out], check=True, capture_output=True, text=True).stdout
        id = re.search(r"^  UUID += (\w+)$", dump, re.M)
        start = inputs.functions(gsym, made / name)[0][0]
        answer = subprocess.run([gsym, "lookup", out, hex(start)], check=True, capture_output=True).stdout
        out.unlink()
        if name in ("dwarf5", "split", "stripped", "sample.dylib", "sample.sym"):
            wanted[name] = (id[1], hex(start), answer)
    return made, wanted


def judge(got, answer):
    """Of an answer while there is a fault."""
    if got is None:
        return "hangs"
    if isinstance(got, OSError):
        return "wrong ENOENT" if got.errno == errno.ENOENT else "clean errors"
    return RIGHT if got == answer else WRONG


def settle(mount, id, address, answer):
    """What the same request gives when the fault is over: a scan may have to look again, a failed request to be repeated."""
    end = time.monotonic() + LIMIT
    while True:
        got = mount.answer(id, address)
        if got is None or got == answer or time.monotonic() > end or mount.process.poll() is not None:
            return got
        time.sleep(0.02)


class Start:
    """A fault while a daemon starts, scans and converts."""

    name = "start"
    roles = ("daemon", "scan", "zygote", "convert")

    def __init__(self, bench, made, wanted):
        self.bench, self.wanted = bench, wanted
        for path in made.iterdir():
            if path.suffix not in (".c", ".pdb", ".exe"):  # by hand, these two have the id of the Mach-O file
                (bench.source / path.name).write_bytes(path.read_bytes())

    def count(self):
        self.bench.injection.count()
        mount = self.bench.mount()
        assert mount.wait_serving(), mount.log()
        for id, address, answer in self.wanted.values():
            assert settle(mount, id, address, answer) == answer, (id, address, mount.answer(id, address), answer, mount.log())
        self.threads = mount.held()[1]
        assert mount.stop() == 0, mount.log()
        found = self.bench.injection.counted()
        self.bench.empty_cache()
        return found

    def once(self, fault):
        """(outcome, what)"""
        self.bench.empty_cache()
        self.bench.injection.arm(*fault)
        mount = self.bench.mount()
        try:
            return self.look(mount)
        finally:
            self.bench.injection.disarm()
            mount.stop()

    def ended(self, mount):
        """A daemon that could not start says why."""
        status = mount.stop()
        if status is None:
            return "hangs", "neither serving nor ended: " + mount.log()
        if status == 0 or status < 0 or status == 77:
            return "crashes", "status %s: %s" % (status, mount.log())
        return ("clean errors" if mount.log() else WRONG), "status %d: %s" % (status, mount.log())

    def look(self, mount):
        if not mount.wait_serving():
            return self.ended(mount)
        outcome, what = RIGHT, ""
        for name, (id, address, answer) in self.wanted.items():
            seen = judge(mount.answer(id, address), answer)
            if seen == "wrong ENOENT" and not is_mounted(mount.mnt):
                return self.ended(mount)
            if seen not in (RIGHT, "clean errors"):
                return seen, "%s while the fault lasts: %s" % (name, mount.log()[-1500:])
            outcome = seen if seen != RIGHT else outcome
        self.bench.injection.disarm()
        for mounts, what in ((mount, "afterwards"), (None, "in the next daemon")):
            mounts = mounts or self.bench.mount()
            if mounts is not mount and not mounts.wait_serving():
                return "remembered", "the next daemon does not start: " + mounts.log()
            try:
                for name, (id, address, answer) in self.wanted.items():
                    got = settle(mounts, id, address, answer) if mounts is mount else mounts.answer(id, address)
                    if got != answer and mounts is mount and not is_mounted(mount.mnt):
                        return self.ended(mount)  # it was about to while it answered with errors
                    if got != answer:
                        return ("hangs" if got is None else "remembered"), "%s %s: %r: %s" % (name, what, got, mounts.log()[-1500:])
            finally:
                status = mounts.stop()
            if status != 0:
                return ("hangs" if status is None else "crashes"), "status %s: %s" % (status, mounts.log()[-2000:])
        left = self.bench.left_behind()
        return ("left behind", str(left)) if left else (outcome, what)


class Serve:
    """A fault while a file is converted and read."""

    name = "serve"
    roles = ("daemon", "convert", "zygote")

    def __init__(self, bench, made, wanted):
        self.bench = bench
        self.id, self.address, self.answer = wanted["dwarf5"]
        self.data = (made / "dwarf5").read_bytes()
        self.mount = None
        self.next = 0

    def copy(self, number):
        own = bytes.fromhex(self.id)
        id = own[:16] + number.to_bytes(4, "big")
        (self.bench.source / f"copy{number}").write_bytes(self.data.replace(own, id))
        return id.hex()

    def begin(self):
        self.end()
        for path in self.bench.source.iterdir():
            path.unlink()
        self.bench.empty_cache()
        self.ids = [self.copy(n) for n in range(COPIES)]
        self.mount = self.bench.mount()
        if not self.mount.wait_serving():
            raise AssertionError(self.mount.log())
        self.next = 0
        assert self.take() == self.answer, self.mount.log()
        self.before = self.mount.held()

    def end(self):
        """What was wrong with the daemon at its end."""
        mount, self.mount = self.mount, None
        if not mount:
            return ""
        deadline = time.monotonic() + LIMIT
        more = ()
        while time.monotonic() < deadline and mount.process.poll() is None:
            more = mount.held()
            if more[0] <= self.before[0] + 1 and more[1] <= self.before[1] + 10:  # libfuse keeps up to 10 threads
                break
            time.sleep(0.05)
        else:
            return "descriptors and threads %s before, %s after: %s" % (self.before, more, mount.log()[-2000:])
        status = mount.stop()
        left = self.bench.left_behind()
        return "status %s: %s" % (status, mount.log()[-2000:]) if status != 0 else "temporary files %s" % left if left else ""

    def take(self):
        self.next += 1
        return self.mount.answer(self.ids[self.next - 1], self.address)

    def count(self):
        self.begin()
        self.bench.injection.count()
        self.take()
        assert self.wait_whole(), self.mount.log()
        return self.bench.injection.counted()

    def wait_whole(self):
        """Until the image that was asked is converted, or is not going to be; False: it hangs, or the daemon has ended."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and self.mount.process.poll() is None:
            text = within(lambda: (self.mount.mnt / self.ids[self.next - 1] / "status").read_text())
            if isinstance(text, str) and not any("state\t" + s in text for s in ("opening", "queued", "converting")):
                return True
            time.sleep(0.005)
        return False

    def once(self, fault):
        if not self.mount or self.next >= COPIES - 1:
            trouble = self.end()
            if trouble:
                return "left behind", trouble
            self.begin()
        self.bench.injection.arm(*fault)
        outcome = judge(self.take(), self.answer)
        is_whole = self.wait_whole()
        self.bench.injection.disarm()
        log = self.mount.log()[-1500:]
        if self.mount.process.poll() is not None:
            self.mount = None
            return "crashes", log
        if not is_whole:
            return "hangs", log
        got = settle(self.mount, self.ids[self.next - 1], self.address, self.answer)
        if got != self.answer:
            return ("hangs" if got is None else "remembered"), "%r: %s" % (got, log)
        return outcome, log


def run(way, programs, made, wanted, settings, tally, log):
    with tempfile.TemporaryDirectory(dir=made.parent) as place:
        bench = Bench(programs, place)
        act = way(bench, made, wanted)
        calls, sites = act.count()
        rng = random.Random(settings.seed)
        for role in act.roles:
            if settings.only and role not in settings.only:
                continue
            for call, n in choose(calls, sites, role, rng, settings.most or None):
                if SANITIZED and call in CLASSES["memory"][0][:4]:
                    continue
                errors = errors_of(call)
                for error in [rng.choice(errors)] if settings.most == SAMPLE else errors:
                    outcome, what = act.once((role, call, n, error))
                    if not bench.injection.injected:
                        continue
                    line = "%s: %s" % (way.name, bench.injection.describe([programs[0], programs[1]]))
                    tally.add(role, call, outcome, "%s: %s" % (line, what.strip()))
                    log.write("%s\t%s\t%s\n" % (outcome, line, what.strip().replace("\n", "\\n")))
        if isinstance(act, Serve):
            trouble = act.end()
            if trouble:
                tally.fail("at the end: " + trouble)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=SAMPLE, help="occurrences of each call of each process; 0: every one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--log", metavar="FILE", default=os.devnull)
    parser.add_argument("--way", choices=("start", "serve"))
    parser.add_argument("gsymfs")
    parser.add_argument("gsym")
    parser.add_argument("library")
    parser.add_argument("only", nargs="*")
    settings = parser.parse_args()
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("skipped: /dev/fuse is missing or closed to this user")
        return 77
    programs = [os.path.realpath(p) for p in (settings.gsymfs, settings.gsym, settings.library)]
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="gsymfs-faults-") as directory, open(settings.log, "w", encoding="utf-8", buffering=1) as log:
        made, wanted = prepare(programs[1], Path(directory))
        ways = [way for way in (Start, Serve) if settings.way in (None, way.name)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for job in [pool.submit(run, way, programs, made, wanted, settings, tally, log) for way in ways]:
                job.result()
    return tally.finish(settings.table)


if __name__ == "__main__":
    sys.exit(main())
