#!/usr/bin/env python3
"""Names of Swift by a library that stands in for a toolchain's; a file of names that end its process."""

import os
import signal
import sys
import time

import mount_harness
from mount_harness import MountTest, wait_until

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import peers  # noqa: E402

VARIABLE = "GSYMFS_SWIFT_DEMANGLE"
GOOD, BAD = "12" * 20, "34" * 20
HOSTILE = 400
NAMES = {"$s3fooF": "main.3fooF() -> ()", "_$s3barF": "main.3barF() -> ()", "plain": "plain"}


def demanglers(daemon):
    """Process ids of its children that demangle."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as command:
                if stat.read().rsplit(")", 1)[1].split()[1] == str(daemon.process.pid) and "\0swift\0" in command.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


class SwiftTest(MountTest):
    def setUp(self):
        super().setUp()
        self.asked = 0
        self.add("good", GOOD, NAMES)
        self.add("bad", BAD, ["$s3bazF", *(f"$s{i}_{kind}" for i in range(HOSTILE // 4) for kind in ("abort", f"spin{i}", "stack", "memory"))])

    def add(self, name, id, names):
        text = f"MODULE Linux x86_64 {id[:32].upper()}0 {name}\nINFO CODE_ID {id.upper()}\n"
        text += "FUNC 100000 100000 0 $s3quxF\n" + "".join(f"FUNC {0x1000 + 16 * i:x} 10 0 {function}\n" for i, function in enumerate(names))
        self.add_file(name + ".sym", data=text.encode())

    def serve(self, *options, library=None):
        env = dict(os.environ, **{VARIABLE: os.environ["SWIFT_STAND_IN"] if library is None else library})
        daemon = self.mount(*options, env=env)
        daemon.wait_scanned()
        return daemon

    def lines(self, id=GOOD, suffix=""):
        return [self.read(id, hex(0x1000 + 16 * i) + suffix) for i in range(len(NAMES))]

    def fresh(self):
        """An answer that nobody has kept."""
        self.asked += 1
        return self.read(GOOD, hex(0x100000 + self.asked))

    def test_shown(self):
        daemon = self.serve()
        self.assertEqual(demanglers(daemon), [])
        self.assertEqual(self.lines(), [f"{shown} at ??:0\n" for shown in NAMES.values()])
        self.assertEqual(self.lines(suffix=".raw"), [f"{stored} at ??:0\n" for stored in NAMES])
        self.assertEqual(self.read(GOOD, "sym", "main.3fooF() -> ()"), "main.3fooF() -> () at ??:0\n")
        self.assertEqual(len(demanglers(daemon)), 1)
        self.remount(daemon, "demangle=no")
        self.assertEqual(self.lines(), [f"{stored} at ??:0\n" for stored in NAMES])

    def test_killed(self):
        """Between two names another process takes its place."""
        daemon = self.serve()
        self.lines()
        killed = demanglers(daemon)
        os.kill(killed[0], signal.SIGKILL)
        self.assertTrue(self.fresh().startswith("main.3quxF() -> ()+0x"))
        self.assertNotIn(killed[0], demanglers(daemon))

    def test_absent(self):
        daemon = self.serve(library="")
        self.assertEqual(self.lines(), [f"{stored} at ??:0\n" for stored in NAMES])
        self.assertEqual(demanglers(daemon), [])
        self.assertNotIn("swift", daemon.log().lower().replace(self.dir, ""))

    def test_hostile(self):
        """They cost a bounded time, other lookups go on, and the daemon lives; its names come back."""
        daemon = self.serve()
        begin = time.monotonic()
        for i in range(1, HOSTILE + 1):
            self.assertTrue(self.read(BAD, hex(0x1000 + 16 * i)).startswith("$s"))
            self.assertEqual(self.read(GOOD, "0x1020.json").count('"plain"'), 2)
        self.assertLess(time.monotonic() - begin, 30 * peers.TIMES_SLOWER)
        self.assertLessEqual(len(demanglers(daemon)), 1)
        wait_until(lambda: self.fresh().startswith("main.3quxF"), "names of Swift")
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    mount_harness.main()
