#!/usr/bin/env python3
"""eager=no: what an idle host converts, and that it gives up for whatever is asked."""

import contextlib
import os

import mount_harness
from fragment_harness import FragmentCase
from mount_harness import run, wait_until, within_limit

ALWAYS = ("idle_load=100000", "idle_time=1")  # any load is low


class IdleTest(FragmentCase):
    def ask(self, name="leaf_3"):
        self.assertIn(name, self.read(self.id, self.address(name)))

    def counted(self, result):
        with open(os.path.join(self.mnt, "metrics")) as file:
            return next(int(line.split()[-1]) for line in file
                        if line.startswith("gsymfs_idle_conversions_total") and '"%s"' % result in line)

    def hurry(self, worker):
        """A busy machine would leave it no processor time, for as long as it is busy; nor the real one, its child."""
        with open("/proc/%d/task/%d/children" % (worker, worker)) as file:
            processes = [worker, *map(int, file.read().split())]
        with contextlib.suppress(PermissionError):  # only root may
            for pid in processes:
                os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))

    def test_converts_the_rest(self):
        """Of all images that were asked for addresses, and of no other; with what processor time is left."""
        other, _ = self.reversed_program()
        daemon = self.mount_lazy("hold", ALWAYS)
        self.ask()
        worker = wait_until(lambda: self.between.started("whole"), "a conversion")[0]
        self.assertEqual(os.sched_getscheduler(worker), os.SCHED_IDLE)
        self.hurry(worker)
        self.assertConverting()
        self.between.say("release")
        wait_until(lambda: self.state() == "ready", "the end of the conversion")
        found = self.status(self.id)
        self.assertEqual((found["tier"], found["conversions"]), ("whole", "1"))
        self.assertNotIn("rest", found)
        wait_until(lambda: self.counted("converted") == 1, "the count")
        self.assertEqual(self.status(other)["state"], "cold")
        self.assertEqual(daemon.stop(), 0)

    def test_status(self):
        """Tells whether the rest waits for an idle host, or until it is asked for."""
        for load, rest in (("0", "asked"), ("100000", "idle")):
            with self.subTest(load):
                daemon = self.mount_lazy(options=("idle_load=" + load, "idle_time=600"))
                self.ask()
                self.wait_cold()
                self.assertEqual(self.status(self.id)["rest"], rest)
                self.assertEqual(daemon.stop(), 0)
                run("rm", "-rf", os.path.join(self.dir, "cache"))

    def test_gives_up_for_a_call(self):
        """The image itself is asked for more, and converted for that."""
        self.mount_lazy("hold", ALWAYS)
        self.ask()
        wait_until(lambda: self.between.started("whole"), "a conversion")
        self.ask()
        self.assertEqual(self.counted("given_up"), 0)
        self.between.act("pass")
        table = within_limit(lambda: self.read(self.id, "functions.tsv"), "a table")
        self.assertIn("leaf_9", table)
        self.assertEqual(self.counted("given_up"), 1)
        found = self.status(self.id)
        self.assertEqual((found["state"], found["conversions"]), ("ready", "2"))

    def test_gives_up_for_another_image(self):
        """And begins again; after three times, which is often, no more."""
        other, functions = self.reversed_program()
        daemon = self.mount_lazy("hold", ALWAYS)
        self.ask()
        for n in range(1, 4):
            wait_until(lambda: len(self.between.started("whole")) == n, "a conversion")
            name = "leaf_%d" % n
            self.assertIn(name, within_limit(lambda: self.read(other, "0x%x" % functions[name]), "the first answer"))
            wait_until(lambda: self.counted("given_up") == n, "the end of the worker")
            self.ask()  # its fragments are kept
        wait_until(lambda: self.status(self.id).get("rest") == "asked", "the end of the last attempt")
        self.assertEqual(self.state(), "cold")
        self.assertNotIn("cannot convert", daemon.log())

    def test_ends(self):
        """The file system is unmounted while the worker is at it."""
        daemon = self.mount_lazy("hold", ALWAYS)
        self.ask()
        wait_until(lambda: self.between.started("whole"), "a conversion")
        self.assertEqual(daemon.stop(), 0)

    def test_trouble(self):
        """A worker that dies is no verdict on the image; one that says it is bad is."""
        for act, state in (("die", "cold"), ("fail", "failed")):
            with self.subTest(act):
                daemon = self.mount_lazy(act, ALWAYS)
                self.between.say("release")
                self.ask()
                wait_until(lambda: self.counted("given_up") + self.counted("converted"), "the end of the worker")
                if state == "cold":
                    self.ask()
                    wait_until(lambda: self.status(self.id).get("rest") == "asked", "the last attempt")
                    self.assertEqual(self.counted("given_up"), 3)
                else:
                    wait_until(lambda: self.state() == state, "the verdict")  # which is counted first
                self.assertEqual(daemon.stop(), 0)
                os.unlink(os.path.join(self.between.dir, "release"))
                run("rm", "-rf", os.path.join(self.dir, "cache"))


if __name__ == "__main__":
    mount_harness.main()
