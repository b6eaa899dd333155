#!/usr/bin/env python3
"""Images that are not converted yet: who waits for what, who starts it, and who must not."""

import errno
import os
import re
import signal
import subprocess

import mount_harness
from mount_harness import LIMIT, Gate, MountTest, run, wait_until, within_limit


class ColdTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.gate = Gate(self)
        self.spans = self.functions(self.path)
        self.address = next(hex(start) for start, _, name in self.spans if name.endswith("normEv"))

    def mount_gated(self, *options):
        return self.mount("worker=" + self.gate.worker, *options)

    def state(self, id=None):
        return self.status(id or self.id)["state"]

    def test_500_readers_one_conversion(self):
        """Readers of one name and of many, all at the same instant."""
        gsym = os.path.join(self.dir, "functions.gsym")
        places = [a for start, end, _ in self.spans for a in range(start, end)]
        addresses = (places * (500 // len(places) + 1))[:500]
        daemon = self.mount_gated()
        daemon.wait_scanned()
        self.gate.shut()
        readers = [(a, self.reader(self.id, hex(a))) for a in addresses]
        self.gate.wait_started()
        daemon.wait_calls(self.id, len(set(addresses)))
        wait_until(lambda: self.state() == "converting 0%", "the conversion")
        self.gate.open()
        for address, reader in readers:
            status, out, err = self.finish(reader)
            self.assertEqual((status, err), (0, ""))
            want = self.lookup_once(gsym, address)
            self.assertEqual(out, want)
        self.assertLessEqual(len(self.gate.started()), 2)  # one of them for addresses that came too late for the other
        self.assertEqual(self.status(self.id)["conversions"], "1")

    def lookup_once(self, gsym, address):
        if not hasattr(self, "known"):
            self.known = {}
        if address not in self.known:
            out = run(mount_harness.GSYM, "lookup", gsym, hex(address)).stdout.decode()
            self.known[address] = out.strip("\n") + "\n"
        return self.known[address]

    def test_status_and_listings_never_convert(self):
        for i in range(20):
            self.compile("more%d" % i)
        self.mount_gated().wait_scanned()
        for argv in (["find", self.mnt], ["ls", "-lR", self.mnt], ["grep", "-rc", "x", self.mnt],
                     ["du", "-a", self.mnt], ["tar", "-cf", os.path.join(self.dir, "tar"), self.mnt],
                     ["cat", os.path.join(self.image(self.id), "status")]):
            run(*argv)
        self.assertEqual(self.gate.started(), [])
        self.assertEqual(self.conversions(), 0)
        self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.image(self.id), "no-address"))
        self.assertEqual(self.conversions(), 0)

    def test_signals_end_parked_readers_at_once(self):
        daemon = self.mount_gated()
        daemon.wait_scanned()
        self.gate.shut()
        readers = {sig: self.reader(self.id, name) for sig, name in
                   ((signal.SIGINT, "0x1001"), (signal.SIGTERM, "0x1002"), (signal.SIGKILL, "0x1003"))}
        stays = self.reader(self.id, self.address)
        self.gate.wait_started()
        daemon.wait_calls(self.id, 4)
        for sig, reader in readers.items():
            reader.send_signal(sig)
            self.assertEqual(self.finish(reader)[0], -sig)
        self.assertEqual(self.state(), "converting 0%")
        self.gate.open()
        self.assertIn("geo::point::norm", self.finish(stays)[1])
        self.assertEqual(self.status(self.id)["conversions"], "1")

    def test_interrupts_while_answers_arrive(self):
        """Interrupt and completion race for the same requests; nobody may hang, get half an answer, or crash."""
        self.mount_gated().wait_scanned()
        for round_ in range(5):
            path = self.compile("round%d" % round_, flags=["-Wl,--build-id=0x%040x" % (round_ + 1)])
            daemon = self.remount(self.daemons[-1], "worker=" + self.gate.worker)
            daemon.wait_scanned()
            id = mount_harness.build_id(path)
            before = len(self.gate.started())
            self.gate.shut()
            readers = [self.reader(id, hex(0x1000 + i)) for i in range(60)]
            self.gate.wait_started(before + 1)
            self.gate.open()
            for i, reader in enumerate(readers):
                if i % 2:
                    reader.send_signal(signal.SIGINT)
            for reader in readers:
                self.assertIn(self.finish(reader)[0], (0, 1, -signal.SIGINT))
            self.assertIn("state", self.status(id))

    def test_ready_images_are_served_meanwhile(self):
        """More readers wait than the daemon has threads; others are not held up."""
        other = mount_harness.build_id(self.compile("other"))
        self.mount_gated("jobs=1").wait_scanned()
        self.read(self.id, self.address)
        self.gate.shut()
        readers = [self.reader(other, hex(0x1000 + i)) for i in range(40)]
        self.gate.wait_started(2)

        def look():
            for start, end, _ in self.spans:
                if end > start:
                    self.read(self.id, "%016x" % start)
            return os.listdir(self.mnt)
        within_limit(look, "answers of the image that is ready")
        self.gate.open()
        for reader in readers:
            self.assertIn(self.finish(reader)[0], (0, 1))

    def test_jobs_in_order_of_demand(self):
        ids = [mount_harness.build_id(self.compile("job%d" % i)) for i in range(4)]
        self.mount_gated("jobs=1").wait_scanned()
        self.gate.shut()
        readers = []
        for id in ids:
            readers.append(self.reader(id, "image.gsym", stdin=subprocess.DEVNULL))
            wanted = "queued" if len(readers) > 1 else "converting 0%"
            wait_until(lambda: self.state(id) == wanted, "the queue")
        self.assertEqual([self.state(id) for id in ids], ["converting 0%"] + ["queued"] * 3)
        self.gate.open()
        for reader in readers:
            reader.communicate(timeout=LIMIT)
            self.assertEqual(reader.returncode, 0)
        converted = re.findall(r"converted 'job(\d)'", self.daemons[-1].log())
        self.assertEqual(converted, ["0", "1", "2", "3"])

    def test_killed_worker(self):
        daemon = self.mount_gated()
        daemon.wait_scanned()
        self.gate.shut()
        readers = [self.reader(self.id, hex(0x1000 + i)) for i in range(10)]
        (worker,) = self.gate.wait_started()
        daemon.wait_calls(self.id, len(readers))
        wait_until(lambda: self.state() == "converting 0%", "the conversion")
        os.kill(worker, signal.SIGKILL)
        for reader in readers:
            status, out, err = self.finish(reader)
            self.assertEqual((status, out), (1, ""))
            self.assertIn("Input/output error", err)
        self.gate.open()

        def answers():
            """Not before the conversion is tried again, which backs off."""
            try:
                return "geo::point::norm" in self.read(self.id, self.address)
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
                return False

        wait_until(answers, "an answer")
        self.assertEqual(len(self.gate.started()), 2)

    def test_termination_with_parked_readers(self):
        daemon = self.mount_gated()
        daemon.wait_scanned()
        self.gate.shut()
        readers = [self.reader(self.id, hex(0x1000 + i)) for i in range(10)]
        self.gate.wait_started()
        self.assertEqual(daemon.stop(), 0)
        for reader in readers:
            self.assertEqual(self.finish(reader)[0], 1)
        self.assertFalse(mount_harness.is_mounted(self.mnt))
        self.wait_for_workers()

    def wait_for_workers(self):
        wait_until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in self.gate.started()),
                   "the end of the workers")

    def test_killed_daemon(self):
        """kill -9 in the middle of a conversion: the worker goes too, and the next daemon starts as if nothing was."""
        daemon = self.mount_gated()
        daemon.wait_scanned()
        self.gate.shut()
        reader = self.reader(self.id, self.address)
        self.gate.wait_started()
        wait_until(lambda: self.state() == "converting 0%", "the conversion")
        daemon.process.send_signal(signal.SIGSTOP)  # or it might answer before it is killed
        self.gate.open()
        daemon.process.kill()
        daemon.process.wait(LIMIT)
        self.assertEqual(self.finish(reader)[0], 1)
        self.assertErrno(errno.ENOTCONN, os.listdir, self.mnt)
        self.wait_for_workers()
        self.mount()
        self.assertIn("detached a mount whose daemon had died", self.daemons[-1].log())
        self.assertIn("geo::point::norm", self.read(self.id, self.address))
        self.assertEqual([n for n in os.listdir(self.cache) if n.startswith(".tmp")], [])

    def test_lookups_wait_for_the_first_scan(self):
        self.gate.shut("scan")
        options = "cache=%s,worker=%s" % (self.cache, self.gate.worker)
        with open(self.log_path, "w") as log:
            starter = subprocess.Popen([mount_harness.GSYMFS, "-f", "-o", options, self.source, self.mnt], stderr=log)
        self.processes.append(starter)
        # The worker that is only tried at the start stands at the gate first, then that of the scan.
        self.gate.wait_started(1, "scan")
        self.gate.open("scan")
        wait_until(lambda: mount_harness.is_mounted(self.mnt), "the mount")
        self.assertIn("geo::point::norm", self.read(self.id, self.address))
        self.assertErrno(errno.ENOENT, os.stat, self.image("0" * 40))
        starter.send_signal(signal.SIGTERM)
        self.assertEqual(starter.wait(LIMIT), 0)


if __name__ == "__main__":
    mount_harness.main()
