#!/usr/bin/env python3
"""Fragments: answers while the rest of the image is being converted, and workers that break after the first."""

import errno
import os
import signal

import mount_harness
from fragment_harness import UNITS, FragmentCase
from mount_harness import contents, run, wait_until


class FragmentTest(FragmentCase):
    def test_answers_before_the_end(self):
        """Addresses of the units that were asked first, in every form; all else waits."""
        daemon = self.mount_between()
        address = self.address("leaf_3", 2)
        self.assertEqual(self.read(self.id, address), self.final(address))
        self.assertConverting()
        self.assertGreaterEqual(int(self.status(self.id)["first_functions"]), 2)
        other = self.address("branch_3")
        offset = self.leaf["branch_3"]  # a shared object is linked at 0
        for path in ([other], ["rva", other], ["ra", "0x%x" % (offset + 1)], [other + ".json"], [other + ".tsv"],
                     ["base", "0x7f0000000000", "0x%x" % (0x7f0000000000 + offset)],
                     ["off", other], ["ra", "off", "0x%x" % (offset + 1)], ["approximate", "off", other]):
            self.assertIn("branch_3", self.read(self.id, *path), path)
        self.assertConverting()
        waiting = [self.reader(self.id, name) for name in ("0x1", "functions.tsv", "lines.tsv")]
        daemon.wait_calls(self.id, len(waiting))
        self.assertConverting()
        self.between.say("release")
        self.assertEqual([self.finish(reader)[0] for reader in waiting], [1, 0, 0])
        self.assertEqual(self.state(), "ready")
        self.assertNotIn("first_functions", self.status(self.id))
        self.assertEqual(self.read(self.id, address), self.final(address))
        self.assertEqual(self.status(self.id)["conversions"], "1")

    def test_all_that_wait_are_asked(self):
        """An address outside all functions, asked with others, waits for the whole."""
        daemon = self.mount_between(start=False)
        readers = [self.reader(self.id, self.address(name)) for name in ("leaf_2", "branch_9")]
        unknown = self.reader(self.id, "0x1")
        daemon.wait_calls(self.id, 3)
        self.between.say("start")
        for reader, name in zip(readers, ("leaf_2", "branch_9")):
            self.assertIn(name, self.finish(reader)[1])
        self.assertConverting()
        daemon.wait_calls(self.id, 1)
        self.between.say("release")
        self.assertEqual(self.finish(unknown)[0], 1)

    def test_worker_changes_its_fragment(self):
        self.mount_between("change")
        self.assertIn("leaf_4", self.read(self.id, self.address("leaf_4")))
        self.between.say("release")
        self.between.wait_for("end")
        self.assertIn("branch_4", self.read(self.id, self.address("branch_4")))
        self.assertConverting()
        self.between.say("end")
        self.read(self.id, "functions.tsv")
        self.assertIn("branch_7", self.read(self.id, self.address("branch_7")))
        self.assertEqual(self.state(), "ready")

    def break_after(self, act):
        """The worker breaks when the first answer was given; the status then."""
        daemon = self.mount_between(act)
        self.assertIn("leaf_1", self.read(self.id, self.address("leaf_1")))
        waiting = self.reader(self.id, "functions.tsv")
        daemon.wait_calls(self.id)
        self.between.say("release")
        status, _, why = self.finish(waiting)
        self.assertEqual(status, 1)
        self.assertIn(os.strerror(errno.EIO), why)
        found = self.status(self.id)
        self.assertNotIn("first_functions", found)
        return found

    def test_worker_dies_after_the_fragment(self):
        self.assertEqual(self.break_after("die")["state"], "cold")
        self.between.act("pass")
        self.assertIn("leaf_8", self.read(self.id, self.address("leaf_8")))

    def test_rest_is_bad(self):
        found = self.break_after("fail")
        self.assertEqual((found["state"], found["reason"]), ("failed", "the rest is bad"))

    def test_lies_end_the_worker(self):
        for act in ("noise", "size"):
            with self.subTest(act):
                daemon = self.mount_between(act)
                self.assertErrno(errno.EIO, self.read, self.id, self.address("leaf_6"))
                self.assertIn("protocol", self.status(self.id)["reason"])
                self.assertEqual(daemon.stop(), 0)
        # The conversion is made again if the answer had not been taken from the fragment by then. That of a call that
        # is not parked yet has no address, and would wait.
        self.between.say("release")
        self.mount_between("twice")
        self.assertIn("leaf_6", self.read(self.id, self.address("leaf_6")))
        wait_until(lambda: "protocol" in self.status(self.id).get("reason", ""), "the end of the worker")

    def test_more_than_can_be_copied(self):
        """The whole is waited for."""
        self.mount_between("huge")
        self.assertIn("leaf_6", self.read(self.id, self.address("leaf_6")))
        self.assertEqual(self.state(), "ready")

    def test_replaced_meanwhile(self):
        daemon = self.mount_between()
        self.assertIn("leaf_0", self.read(self.id, self.address("leaf_0")))
        self.between.act("pass")
        before = contents(self.path)
        self.program(tail="\nstatic __attribute__((used)) int later(void) { return 7; }\n")
        self.assertNotEqual(contents(self.path), before)
        self.wait_scans()
        reader = self.reader(self.id, "functions.tsv")
        self.between.say("release")
        status, out, why = self.finish(reader)
        self.assertEqual(status, 0, why)
        self.assertIn("later", out)
        self.assertIsNone(daemon.process.poll())

    def test_offset_is_asked(self):
        """The first question is for an offset in the file, as the kernel's traces have them."""
        self.mount_between()
        for n, place in enumerate((["off"], ["ra", "off"], ["approximate", "off"])):
            self.assertIn("leaf_%d" % n, self.read(self.id, *place, self.address("leaf_%d" % n, 1)))
        self.assertConverting()

    # ---- Later addresses ----

    def test_later_addresses(self):
        """Asked while the conversion runs: of another worker, which is there for all of them."""
        daemon = self.mount_between()
        self.assertIn("leaf_0", self.read(self.id, self.address("leaf_0")))
        for n in range(1, 5):
            address = self.address("leaf_%d" % n, 2)
            self.assertEqual(self.read(self.id, address), self.final(address))
            self.assertIn("branch_%d" % n, self.read(self.id, self.address("branch_%d" % n)))
        for n in range(5, UNITS):  # at once: of one unit, since a fragment is of few
            names = [word + "_%d" % n for word in ("leaf", "branch")]
            readers = [self.reader(self.id, self.address(name)) for name in names]
            for name, reader in zip(names, readers):
                self.assertIn(name, self.finish(reader)[1])
        unknown = self.reader(self.id, "0x1")
        daemon.wait_calls(self.id, 1)
        self.assertConverting()
        self.between.say("release")
        self.assertEqual(self.finish(unknown)[0], 1)
        self.assertEqual(self.state(), "ready")
        self.assertEqual(self.status(self.id)["conversions"], "1")
        self.assertEqual(len(self.between.started("whole")), 1)

    def test_trouble_with_later_addresses(self):
        """Whatever happens to the other worker, the conversion goes on, and answers."""
        for how in ("die", "size", "huge"):
            with self.subTest(how):
                self.between.later(how)
                daemon = self.mount_between()
                self.assertIn("leaf_0", self.read(self.id, self.address("leaf_0")))
                waiting = [self.reader(self.id, self.address("leaf_%d" % n)) for n in (1, 2)]
                wait_until(lambda: self.between.started("only"), "the other worker")
                daemon.wait_calls(self.id, 2)
                self.assertConverting()
                self.between.say("release")
                for n, reader in enumerate(waiting):
                    self.assertIn("leaf_%d" % (n + 1), self.finish(reader)[1])
                self.assertEqual(self.status(self.id)["conversions"], "1")
                self.assertEqual(daemon.stop(), 0)
                for name in os.listdir(self.between.dir):
                    if name.startswith(("release", "only-", "waits-for-release")):
                        os.unlink(os.path.join(self.between.dir, name))
                run("rm", "-rf", os.path.join(self.dir, "cache"))

    def test_ends_while_addresses_are_asked(self):
        """A reader is interrupted, and the file system unmounted, while the other worker is at it."""
        self.between.later("hold")
        daemon = self.mount_between()
        self.assertIn("leaf_0", self.read(self.id, self.address("leaf_0")))
        gone, stays = [self.reader(self.id, self.address(name)) for name in ("leaf_1", "leaf_2")]
        self.between.wait_for("go")
        gone.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(gone)[0], -signal.SIGINT)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.finish(stays)[0], 1)

    # ---- eager=no ----

    def test_not_eager(self):
        """Few addresses are answered, and nothing is converted until more is wanted than addresses."""
        self.mount_lazy()
        for name in ("leaf_3", "branch_3", "leaf_7"):
            address = self.address(name, 2)
            self.assertEqual(self.read(self.id, address), self.final(address))
        self.wait_cold()
        found = self.status(self.id)
        self.assertEqual((found["conversions"], found["tier"]), ("0", "fragments"))
        self.assertGreaterEqual(int(found["first_functions"]), 4)
        self.assertIn("branch_7", self.read(self.id, self.address("branch_7")))
        self.assertIn("leaf_9", self.read(self.id, self.address("leaf_9")))
        self.assertEqual(self.between.started("whole"), [])
        self.assertIn("leaf_11", self.read(self.id, "functions.tsv"))
        found = self.status(self.id)
        self.assertEqual((found["state"], found["conversions"], found["tier"]), ("ready", "1", "whole"))
        self.assertNotIn("first_functions", found)

    def test_not_eager_wants_the_whole(self):
        """An address that no fragment has, all that is not an address, and the seventeenth fragment."""
        ways = {"unknown": lambda: self.assertErrno(errno.ENOENT, self.read, self.id, "0x1"),
                "table": lambda: self.read(self.id, "lines.tsv"),
                "image.gsym": lambda: contents(os.path.join(self.image(self.id), "image.gsym")),
                "symbol": lambda: self.read(self.id, "sym", "leaf_1"),
                "often": lambda: [self.read(self.id, self.address("leaf_%d" % n)) for n in range(UNITS)]}
        for name, way in ways.items():
            with self.subTest(name):
                daemon = self.mount_lazy()
                self.assertIn("leaf_1", self.read(self.id, self.address("leaf_1")))
                self.assertEqual(self.status(self.id)["conversions"], "0")
                way()
                self.assertEqual(self.status(self.id)["conversions"], "1")
                self.assertEqual(daemon.stop(), 0)
                run("rm", "-rf", os.path.join(self.dir, "cache"))

    def test_not_eager_trouble(self):
        """Without a fragment, the whole answers."""
        for how in ("die", "noise"):
            with self.subTest(how):
                self.between.later(how)
                daemon = self.mount_lazy()
                self.assertIn("leaf_1", self.read(self.id, self.address("leaf_1")))
                self.read(self.id, "functions.tsv")
                self.assertEqual((self.state(), self.status(self.id)["conversions"]), ("ready", "1"))
                self.assertEqual(daemon.stop(), 0)
                run("rm", "-rf", os.path.join(self.dir, "cache"))

    def test_not_eager_ends(self):
        """Interrupted, killed, unmounted while the worker is at it."""
        self.between.later("hold")
        daemon = self.mount_lazy()
        gone, stays = [self.reader(self.id, self.address(name)) for name in ("leaf_1", "leaf_2")]
        self.between.wait_for("go")
        gone.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(gone)[0], -signal.SIGINT)
        os.kill(self.between.started("only")[0], signal.SIGKILL)
        self.assertIn("leaf_2", self.finish(stays)[1])
        self.read(self.id, "functions.tsv")
        self.assertEqual((self.state(), self.status(self.id)["conversions"]), ("ready", "1"))
        self.program(tail="\nstatic __attribute__((used)) int later(void) { return 7; }\n")
        self.wait_scans()
        waits = self.reader(self.id, self.address("leaf_2"))
        wait_until(lambda: len(self.between.started("only")) > 1, "a worker for the new file")
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.finish(waits)[0], 1)

    def test_not_eager_replaced(self):
        """What was known of a file is not told of the next one."""
        self.mount_lazy()
        self.assertIn("leaf_1", self.read(self.id, self.address("leaf_1")))
        _, moved = self.reversed_program("program", self.id)
        self.wait_scans()
        self.assertNotEqual(moved["leaf_1"], self.leaf["leaf_1"])
        for name in ("leaf_1", "leaf_10"):
            self.assertIn(name, self.read(self.id, "0x%x" % moved[name]))


if __name__ == "__main__":
    mount_harness.main()
