#!/usr/bin/env python3
"""A fleet on one machine: several daemons with caches of their own, a store that they share, load, and faults.

Prints a table: for each scenario how often images were converted, how many answers were wrong, and how long they took.

    fleet.py --build DIR [--store KIND]... [--hosts N] [--images N] [--only SCENARIO]... [--json FILE]

A host is a daemon; each reads an address of every image at once, from several threads and in an order of its own. Then one more
host asks, which has the files at another path.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "mount"), os.path.join(HERE, "..", "lib")]

import mount_harness
import fleet_stores
from faulty_proxy import Fault, FaultyProxy
from mount_harness import Daemon, lazy_unmount, run

SOURCE = """
static inline int twice(int a) { volatile int b = a * 2; return b; }
__attribute__((noinline)) int leaf_@N@(int a) { return twice(a) + @N@; }
"""
ASK_THREADS = 8
HOUR = 3600

# What each scenario does to requests, by the proxy; or to the store as a whole, by a function of Fleet.
SCENARIOS = {
    "no fault": Fault(),
    "latency of 100 ms": Fault(latency=0.1),
    "latency of 400 ms": Fault(latency=0.4),
    "clock 5 hours ahead": Fault(date=5 * HOUR),
    "1 of 10 connections lost": Fault(loss=0.1),
    "1 of 5 answers is 503": Fault(error=0.2),
    "all answers are 503": Fault(error=1),
    "half of the bodies damaged": Fault(flip=0.5),
    "half of the bodies of another": Fault(swap=0.5),
    "half of the bodies cut": Fault(cut=0.5),
    "says nothing": Fault(silent=True),
    "1 byte a second": Fault(rate=1),
    "killed in the middle": "kill_store",
    "restarted in the middle": "restart_store",
    "stopped in the middle": "stop_store",
}
DIRECTORY_SCENARIOS = {"no fault": None, "full": "fill_store"}


class Answers:
    """Of all hosts in one scenario."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seconds, self.wrong, self.errors = [], [], []

    def note(self, seconds, where, found, want):
        with self.lock:
            self.seconds.append(seconds)
            if found is None:
                self.errors.append(where)
            elif found != want:
                self.wrong.append((where, found))


class Fleet:
    def __init__(self, options, place):
        self.options = options
        self.place = place
        self.source = os.path.join(place, "source")
        self.elsewhere = os.path.join(place, "elsewhere")
        self.images = {}  # id: (address, answer)
        self.daemons = []
        self.store = self.proxy = None
        self.rounds = 0
        os.mkdir(self.source)

    # ---- What is served ----

    def make_images(self):
        # In parallel, since most of the time is that of starting compilers.
        numbers = iter(range(self.options.images))
        lock = threading.Lock()

        def work():
            while True:
                with lock:
                    n = next(numbers, None)
                if n is None:
                    return
                self.make_image(n)

        threads = [threading.Thread(target=work) for _ in range(os.cpu_count() or 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(self.images) != self.options.images:
            sys.exit("fleet.py: cannot compile the images")
        shutil.copytree(self.source, self.elsewhere)

    def make_image(self, n):
        text = os.path.join(self.place, "unit_%d.c" % n)
        with open(text, "w") as file:
            file.write(SOURCE.replace("@N@", str(n)))
        path = os.path.join(self.source, "lib%d.so" % n)
        run(mount_harness.CC, "-g", "-O2", "-shared", "-fPIC", "-nostdlib", "-Wl,--build-id=sha1", text, "-o", path)
        gsym = path + ".gsym"
        run(mount_harness.GSYM, "convert", "--quiet", path, "-o", gsym)
        dump = run(mount_harness.GSYM, "dump", gsym).stdout.decode()
        os.unlink(gsym)
        address = re.search(r'\[(0x[0-9a-f]+) - 0x[0-9a-f]+\) "leaf_%d"' % n, dump)[1]
        want = run(mount_harness.GSYM, "lookup", "--cache=" + os.path.join(self.place, "own"), path, address).stdout.decode()
        self.images[mount_harness.build_id(path)] = (address, want)

    # ---- Hosts ----

    def start_host(self, source, address):
        self.rounds += 1
        names = [os.path.join(self.place, "%s%d" % (what, self.rounds)) for what in ("mnt", "cache", "log")]
        os.mkdir(names[0])
        os.mkdir(names[1], 0o700)
        options = ["worker=" + mount_harness.GSYM, "cache_free=0", "cache=" + names[1]]
        if address:
            options += ["shared=" + address, *self.store.options, *self.options.mount_option]
        daemon = Daemon(source, names[0], options, names[2], dict(os.environ, **(self.store.env if address else {})))
        self.daemons.append(daemon)
        daemon.wait_scanned()
        return daemon

    def ask(self, daemons, answers, middle=None):
        """All addresses of all daemons at once. @middle is called when half of them are answered."""
        jobs = [(d, id) for d in daemons for id in self.images]
        random.Random(1).shuffle(jobs)
        lock, half = threading.Lock(), len(jobs) // 2

        def work(mine):
            while True:
                with lock:
                    if not mine:
                        return
                    daemon, id = mine.pop()
                    left = sum(len(list) for list in lists)
                self.ask_one(daemon, id, answers)
                if middle and left == half:
                    middle()

        lists = [[job for job in jobs if job[0] is d] for d in daemons]
        threads = [threading.Thread(target=work, args=(mine,)) for mine in lists for _ in range(ASK_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def ask_one(self, daemon, id, answers):
        address, want = self.images[id]
        start = time.monotonic()
        try:
            with open(os.path.join(daemon.mountpoint, id, address), encoding="utf-8") as file:
                found = file.read()
        except OSError:
            found = None
        answers.note(time.monotonic() - start, (daemon.mountpoint, id), found, want)

    @staticmethod
    def metric(daemon, name, **labels):
        total = 0
        with open(os.path.join(daemon.mountpoint, "metrics"), encoding="utf-8") as file:
            for line in file:
                if line.startswith(name + "{") and all('%s="%s"' % pair in line for pair in labels.items()):
                    total += int(float(line.split()[-1]))
        return total

    def conversions(self, daemons):
        return sum(self.metric(d, "gsymfs_conversions_total") for d in daemons)

    def stop_hosts(self):
        for daemon in self.daemons:
            if daemon.stop() != 0:
                sys.exit("fleet.py: a daemon failed: %s" % daemon.log()[-2000:])
        self.daemons.clear()

    # ---- What happens to the store ----

    def kill_store(self):
        self.store.stop_server()

    def restart_store(self):
        self.store.stop_server()
        self.store.start()

    def stop_store(self):
        self.store.pause()

    def fill_store(self):
        self.store.fill()

    # ---- Scenarios ----

    def run_scenario(self, kind, name, what):
        """A row of the table."""
        self.store = fleet_stores.KINDS[kind](os.path.join(self.place, "store%d" % self.rounds))
        fault = what if isinstance(what, Fault) else Fault()
        self.proxy = None
        answers, later = Answers(), Answers()
        try:
            self.store.start()
            # Without a fault to do, the proxy would only take processor time.
            if self.store.port and fault.harms():
                self.proxy = FaultyProxy(self.store.port)
                self.proxy.set(fault)
            port = self.proxy.port if self.proxy else 0
            if what == "fill_store":
                self.fill_store()
            hosts = [self.start_host(self.source, self.store.address(port)) for _ in range(self.options.hosts)]
            middle = getattr(self, what) if isinstance(what, str) and what != "fill_store" else None
            self.ask(hosts, answers, middle)
            row = self.row(kind, name, hosts, answers)
            if name == "no fault":
                self.wait_published(hosts)
            fourth = self.start_host(self.elsewhere, self.store.address(port))
            self.ask([fourth], later)
            row["conversions_of_another_host"] = self.conversions([fourth])
            row["wrong"] += len(later.wrong)
            row["errors"] += len(later.errors)
            return row
        finally:
            self.stop_hosts()
            if self.proxy:
                self.proxy.close()
            self.store.stop()

    def wait_published(self, hosts):
        """Until no host gives anything any more."""
        def given():
            return sum(self.metric(h, "gsymfs_shared_conversions_total", result="given") for h in hosts)

        before = -1
        while given() != before:
            before = given()
            time.sleep(2)

    def row(self, kind, name, hosts, answers):
        times = sorted(answers.seconds)
        if answers.wrong:
            print("wrong: %r" % (answers.wrong[0],), file=sys.stderr)
        return {"store": kind, "scenario": name, "conversions": self.conversions(hosts),
                "taken": sum(self.metric(h, "gsymfs_shared_conversions_total", result=r) for h in hosts for r in ("hit", "waited")),
                "results": {r: sum(self.metric(h, "gsymfs_shared_conversions_total", result=r) for h in hosts)
                            for r in ("hit", "waited", "miss", "hedged", "down", "given", "dropped")},
                "wrong": len(answers.wrong), "errors": len(answers.errors),
                "p50_ms": 1000 * statistics.median(times), "p99_ms": 1000 * times[len(times) * 99 // 100],
                "max_ms": 1000 * times[-1]}

    def run_without(self):
        """The same without a store, which the others are compared with."""
        answers = Answers()
        hosts = [self.start_host(self.source, None) for _ in range(self.options.hosts)]
        self.ask(hosts, answers)
        row = self.row("none", "no store", hosts, answers)
        self.stop_hosts()
        return row


COLUMNS = ("store", "scenario", "conversions", "taken", "conversions_of_another_host", "wrong", "errors", "p50_ms", "p99_ms",
           "max_ms")


def print_row(row):
    cells = ["%.0f" % row[c] if isinstance(row.get(c), float) else str(row.get(c, "-")) for c in COLUMNS]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--store", action="append", choices=sorted(fleet_stores.KINDS))
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--only", action="append", metavar="SCENARIO")
    parser.add_argument("-o", action="append", default=[], dest="mount_option", metavar="OPTION", help="of all daemons")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    mount_harness.GSYMFS = os.path.join(options.build, "fs", "gsymfs")
    mount_harness.GSYM = os.path.join(options.build, "cli", "gsym")
    if not os.path.exists("/dev/fuse"):
        print("fleet.py: no /dev/fuse")
        sys.exit(77)
    place = os.path.realpath(tempfile.mkdtemp(prefix="gsymfs-fleet-"))
    os.chmod(place, 0o755)
    rows = []
    try:
        fleet = Fleet(options, place)
        fleet.make_images()
        print("| " + " | ".join(c.replace("_", " ") for c in COLUMNS) + " |\n|" + "--|" * len(COLUMNS))
        rows.append(fleet.run_without())
        print_row(rows[-1])
        for kind in options.store or ["directory"]:
            if not fleet_stores.KINDS[kind].is_installed():
                print("skipped: %s is not installed" % kind, file=sys.stderr)
                continue
            for name, what in (SCENARIOS if fleet_stores.KINDS[kind].has_port else DIRECTORY_SCENARIOS).items():
                if options.only and name not in options.only:
                    continue
                if isinstance(what, str) and not fleet_stores.KINDS[kind].can_be_killed:
                    continue
                rows.append(fleet.run_scenario(kind, name, what))
                print_row(rows[-1])
    finally:
        with open("/proc/self/mountinfo") as mounts:
            for path in [line.split()[4] for line in mounts if line.split()[4].startswith(place)]:
                lazy_unmount(path)
        shutil.rmtree(place, ignore_errors=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    sys.exit(1 if any(row["wrong"] or row["errors"] for row in rows) else 0)


if __name__ == "__main__":
    main()
