#!/usr/bin/env python3
"""Files q of images that are not converted: few lines are answered from fragments, as the whole image answers them."""

import os
import signal
import subprocess

import mount_harness
from fragment_harness import UNITS, FragmentCase
from mount_harness import read_all, run, wait_until, within_limit

LINES = 64  # that do not wait for the whole image


class FragmentBatchTest(FragmentCase):
    def setUp(self):
        super().setUp()
        self.fds = []
        self.addCleanup(lambda: [os.close(fd) for fd in self.fds])

    def q(self, *parts, lines):
        """A descriptor to which these lines were written."""
        fd = os.open(os.path.join(self.mnt, *parts), os.O_RDWR)
        self.fds.append(fd)
        os.write(fd, "".join(line + "\n" for line in lines).encode())
        return fd

    def answers(self, fd):
        return within_limit(lambda: read_all(fd).decode(), "answers that do not wait for the conversion")

    def waiting(self, fd):
        """A cat of what can be read there."""
        process = subprocess.Popen(["cat"], stdin=fd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    def lines(self, n, names=("leaf_2", "branch_2", "leaf_11")):
        """Addresses in few units, since a fragment is of few."""
        return [self.address(names[k % len(names)], k // len(names) % 4) for k in range(n)]

    def other_program(self):
        """Another image; its id, and the address of a function."""
        id, functions = self.reversed_program()
        return id, "0x%x" % functions["leaf_5"]

    def test_same_as_the_whole(self):
        """Every form, while the conversion is held; the descriptors are read again after it, and others are opened."""
        self.mount_between()
        offsets = [self.leaf[name] + 1 for name in ("leaf_3", "branch_3", "leaf_4", "branch_4")]
        plain = ["0x%x" % off for off in offsets]
        loaded = ["0x%x" % (0x7f0000000000 + off) for off in offsets]
        asked = {(name,): plain + ["no address", plain[1]] for name in ("q", "q.tsv", "q.json", "q.raw")}
        asked.update({place + ("q",): plain for place in (("rva",), ("off",), ("ra",), ("ra", "off"), ("approximate",))})
        asked[("base", "0x7f0000000000", "q")] = loaded
        fds = {place: self.q(self.id, *place, lines=lines) for place, lines in asked.items()}
        early = {place: self.answers(fd) for place, fd in fds.items()}
        root = ["%s%s %s" % (self.id, "/".join(("",) + place[:-1]), line)
                for place, lines in asked.items() for line in lines[:1]]
        fds["root"] = self.q("q", lines=root)
        early["root"] = self.answers(fds["root"])
        self.assertConverting()
        self.assertEqual(self.status(self.id)["tier"], "fragments")
        self.assertIn("leaf_3", early["root"])
        self.between.say("release")
        self.read(self.id, "functions.tsv")
        self.assertEqual(self.status(self.id)["tier"], "whole")
        asked["root"] = root
        for place, lines in asked.items():
            start = sum(len(line) + 1 for line in lines)
            self.assertEqual(os.pread(fds[place], 1 << 20, start).decode(), early[place], "read again")
            path = (self.id,) + place if place != "root" else ("q",)
            self.assertEqual(self.answers(self.q(*path, lines=lines)), early[place])
            os.write(fds[place], (lines[0] + "\n").encode())
            self.assertTrue(early[place].startswith(self.answers(fds[place])), "more of the same descriptor")

    def test_waits_where_nothing_is_certain(self):
        """Lines are answered up to the first that no fragment has."""
        daemon = self.mount_between()
        fd = self.q(self.id, "q", lines=[self.address("leaf_1"), "0x1", self.address("leaf_2")])
        first = within_limit(lambda: os.read(fd, 1 << 20).decode(), "the first answer")
        self.assertIn("leaf_1", first)
        self.assertNotIn("?? ", first)
        rest = self.waiting(fd)
        daemon.wait_calls(self.id)
        self.assertConverting()
        self.assertEqual(self.between.started("only"), [])
        self.between.say("release")
        self.assertEqual(self.finish(rest)[1].splitlines()[0], "?? at ??:0")
        self.assertEqual(self.state(), "ready")

    def test_many_lines_wait(self):
        daemon = self.mount_between(start=False)
        many = self.waiting(self.q(self.id, "q", lines=self.lines(LINES + 1)))
        daemon.wait_calls(self.id)
        self.between.say("start")
        few = self.answers(self.q(self.id, "q.tsv", lines=self.lines(LINES)))
        self.assertEqual(len({line.split("\t")[0] for line in few.splitlines()}), 12)
        daemon.wait_calls(self.id)
        self.assertConverting()
        self.between.say("release")
        self.assertEqual(self.finish(many)[1].count("leaf_2"), sum(
            line in self.lines(3 * 4)[::3] for line in self.lines(LINES + 1)))

    def test_all_that_wait_are_asked(self):
        """More together than one question holds."""
        daemon = self.mount_between(start=False)
        readers = [self.waiting(self.q(self.id, "q", lines=self.lines(40))) for _ in range(3)]
        readers.append(self.reader(self.id, self.address("leaf_2")))
        daemon.wait_calls(self.id, len(readers))
        self.between.say("start")
        for reader in readers:
            self.assertIn("leaf_2", self.finish(reader)[1])
        self.assertConverting()

    def test_ends_while_lines_are_asked(self):
        """A reader is interrupted, and the file system unmounted, while the worker is at it."""
        self.between.later("hold")
        daemon = self.mount_between()
        self.assertIn("leaf_0", self.read(self.id, self.address("leaf_0")))
        gone, stays = [self.waiting(self.q(self.id, "q", lines=self.lines(LINES))) for _ in range(2)]
        self.between.wait_for("go")
        daemon.wait_calls(self.id, 2)
        gone.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(gone)[0], -signal.SIGINT)
        while self.fds:
            os.close(self.fds.pop())
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.finish(stays)[0], 1)

    def test_trouble(self):
        """Whatever the worker does, the whole answers."""
        for how in ("die", "noise", "size", "huge"):
            with self.subTest(how):
                self.between.later(how)
                daemon = self.mount_lazy()
                fd = self.q(self.id, "q", lines=self.lines(12))
                self.assertEqual(self.answers(fd), "".join(self.final(line) + "\n" for line in self.lines(12)))
                self.assertEqual((self.state(), self.status(self.id)["conversions"]), ("ready", "1"))
                os.close(self.fds.pop())
                self.assertEqual(daemon.stop(), 0)
                run("rm", "-rf", os.path.join(self.dir, "cache"))

    # ---- eager=no ----

    def test_not_eager(self):
        """Few lines convert nothing else, of several images at once; one more than few does."""
        other, address = self.other_program()
        self.mount_lazy()
        lines = ["%s %s" % (self.id, line) for line in self.lines(LINES - 1)]
        lines.insert(1, "%s %s" % (other, address))
        got = self.answers(self.q("q", lines=lines))
        self.assertEqual((got.count("leaf_5"), got.count("\n\n")), (1, LINES))
        self.assertEqual(self.answers(self.q(self.id, "q", lines=self.lines(LINES))).count("\n\n"), LINES)
        for image in (self.id, other):
            wait_until(lambda: self.status(image)["state"] == "cold", "the end of the worker")
            found = self.status(image)
            self.assertEqual((found["conversions"], found["tier"]), ("0", "fragments"))
        self.assertEqual(self.between.started("whole"), [])
        fd = self.q(self.id, "q", lines=self.lines(LINES + 1))
        self.assertEqual(self.answers(fd).count("\n\n"), LINES + 1)
        self.assertEqual(self.status(self.id)["conversions"], "1")
        self.assertEqual(self.status(other)["conversions"], "0")

    def test_not_eager_wants_the_whole(self):
        """A line that no fragment has, after others, and the seventeenth fragment."""
        ways = {"unknown": [[self.address("leaf_1"), "0x1"]],
                "often": [[self.address("leaf_%d" % n), self.address("branch_%d" % n)] for n in range(UNITS)]}
        for name, batches in ways.items():
            with self.subTest(name):
                daemon = self.mount_lazy()
                for lines in batches:
                    got = self.answers(self.q(self.id, "q", lines=lines))
                    self.assertEqual(got.count("\n\n"), len(lines))
                self.assertEqual(self.status(self.id)["conversions"], "1")
                while self.fds:
                    os.close(self.fds.pop())
                self.assertEqual(daemon.stop(), 0)
                run("rm", "-rf", os.path.join(self.dir, "cache"))


if __name__ == "__main__":
    mount_harness.main()
