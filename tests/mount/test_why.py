#!/usr/bin/env python3
"""Why an answer is unknown: the directories why, of an image and of the root, and what q says to who only reads it."""

import errno
import os
import subprocess

import mount_harness
from mount_harness import GSYM, LIMIT, SampleTest, contents, run

USAGE = "Answers come through the descriptor that was written to: "


class SecondGate(mount_harness.Gate):
    """Lets the worker pass that is only tried at the start."""

    SCRIPT = mount_harness.Gate.SCRIPT.replace("while ", "while len([n for n in os.listdir({dir!r}) if n.startswith('scan.')]) > 1 and ")


class WhyTest(SampleTest):
    def why(self, *parts):
        """The line, without the address before it."""
        line = self.read(*parts)
        self.assertEqual(line.count("\n"), 1)
        return line.split(": ", 1)[1].rstrip("\n")

    def test_addresses(self):
        self.mount()
        self.assertEqual(self.why(self.id, "why", self.address).split("'")[0], "in ")
        starts = sorted((start, end) for start, end, _ in self.functions(self.path))
        self.assertEqual(self.why(self.id, "why", "0x1").split("'")[0], "outside all functions: before ")
        gap = next(a for (_, a), (b, _) in zip(starts, starts[1:]) if a < b)
        self.assertRegex(self.why(self.id, "why", hex(gap)), r"outside all functions: after the end of '.*' \(%#x\) and before '.*' \(0x" % gap)
        self.assertIn("looks like a runtime address", self.why(self.id, "why", "0x7ffff7001000"))
        self.assertIn("below the load address", self.why(self.id, "why", "base/0x5000", "0x1"))
        for place in (("why", "base/0x70000000"), ("base/0x70000000", "why"), ("base", "0x70000000", "why", "ra")):
            self.assertEqual(self.why(self.id, *place, hex(0x70000001)).split(":")[0], "outside all functions", place)
        for name in ("0x1.json", "0x1.raw", "q", "why", "nonsense"):
            self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, self.id, "why", name))
        self.assertErrno(errno.ENOENT, self.read, self.id, "0x1")  # the answer is what it was
        self.assertIn("why", os.listdir(os.path.join(self.mnt, self.id)))
        self.assertEqual(os.listdir(os.path.join(self.mnt, self.id, "why")), [])

    def test_without_debug_data(self):
        """It is told where that was looked for."""
        self.separate(os.path.join(self.dir, "elsewhere"))
        self.mount()
        self.assertRegex(self.why(self.id, "why", self.address), "in 'geo::.*', of which no line is known; no debug data: none in the file and not "
                         "found as .*" + self.by_id)

    def test_a_failed_conversion(self):
        """The first who asks is told, too."""
        bad = self.add_file("bad", data=contents(self.path)[:64])
        self.mount().wait_scanned()
        for address in ("0x10", "0x20"):
            self.assertIn("cannot be converted: no function found", self.why("by-path", os.path.basename(bad), "why", address))
        self.assertErrno(errno.EIO, self.read, "by-path", os.path.basename(bad), "0x10")

    def test_ids(self):
        self.mount().wait_scanned()
        self.assertIn(self.id + "/why/ADDRESS", self.why("why", self.id[:12]))
        digit = "0" if self.id[7] != "0" else "1"
        wrong = self.id[:7] + digit + self.id[8:]
        for name in (wrong, self.id[:7] + self.id[8:], self.id[:7] + self.id[8] + self.id[7] + self.id[9:], self.id[:9] + "O" + self.id[10:]):
            self.assertIn("; the nearest is " + self.id, self.why("why", name), name)
        self.assertIn("no id is written so", self.why("why", "O" + self.id[1:]))
        self.assertEqual(self.why("why", "ab" * 20), "no image has this id")
        path = os.path.join(self.mnt, "why", wrong)
        self.assertEqual(os.stat(path).st_size, len(contents(path)))
        done = subprocess.run([GSYM, "stack", "--verbose", "--mount=" + self.mnt], input="%s 0x1\n%s 0x2\n%s 0x1\n" % (wrong, wrong, self.id),
                              capture_output=True, timeout=LIMIT, check=False, text=True)
        told = done.stderr.splitlines()
        self.assertEqual(told[0], "gsym stack: %s: no image has this id; the nearest is %s" % (wrong, self.id))
        self.assertEqual((done.returncode, len(told)), (0, 2), told)

    def test_not_scanned_yet(self):
        gate = SecondGate(self)
        gate.shut("scan")
        self.mount("worker=" + gate.worker)
        self.assertIn("not scanned yet", self.why("why", "ab" * 20))
        gate.open("scan")
        mount_harness.wait_until(lambda: self.why("why", "ab" * 20) == "no image has this id", "the end of the scan")

    def test_only_read(self):
        """What is written and read by two commands has no answer: the second says how it is done."""
        self.mount()
        for name in (os.path.join(self.id, "q"), "q", "q.json", "log", os.path.join(self.id, "base/0x1000/q.tsv")):
            path = os.path.join(self.mnt, name)
            run("sh", "-c", 'echo 0x1545 > "$1"', "sh", path)
            text = run("cat", path).stdout.decode()
            self.assertEqual((text.startswith(USAGE), text.count("\n")), (True, 1), name)
            with open(path, "r+b", buffering=0) as file:
                self.assertEqual(file.read(), b"", name)

    def test_by_name(self):
        """A name with one build has what the image has."""
        self.mount()
        name, start = os.path.join("by-name", os.path.basename(self.path)), next(f[0] for f in self.functions(self.path) if f[2].endswith("normEv"))
        for inside in ("status", "info.json", "functions.tsv", "lines.tsv", "files.tsv", "image.gsym", "sym/geo::point::norm", "why/0x1",
                       "base/0x1000/" + hex(0x1000 + start), "rva/" + hex(start), "ra/" + hex(start + 1), "approximate/" + hex(start),
                       hex(start) + ".json"):
            with open(os.path.join(self.mnt, self.id, inside), "rb") as file:
                self.assertEqual(contents(os.path.join(self.mnt, name, inside)), file.read(), inside)
        for q in ("q", "q.tsv", "rva/q"):
            with open(os.path.join(self.mnt, name, q), "r+b", buffering=0) as file:
                file.write(b"%#x\n" % start)
                self.assertIn(b"geo::point::norm", file.read(), q)
        self.assertEqual(sorted(os.listdir(os.path.join(self.mnt, name))), sorted(os.listdir(self.image(self.id)) + [self.id]))
        self.assertErrno(errno.ENOENT, self.read, name, "nothing")
        other = self.compile_other("other")
        os.mkdir(os.path.join(self.source, "d"))
        os.rename(other, os.path.join(self.source, "d", os.path.basename(self.path)))
        mount_harness.wait_until(lambda: len(os.listdir(os.path.join(self.mnt, name))) == 2, "the second build")
        for inside in ("status", "sym", "q"):
            self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, name, inside))

    def test_commands(self):
        """One line a reason and file, and none unless it is wanted."""
        def ask(*command, lines="", program=GSYM):
            done = subprocess.run([program, *command], input=lines, capture_output=True, timeout=LIMIT, check=False, text=True)
            return done.stdout, done.stderr.splitlines()

        addresses = ["0x1", "0x2", self.address, "0x7ffff7001000", "0x7ffff7001001"]
        lookup = ("lookup", "--cache=" + self.cache)
        quiet = ask(*lookup, self.path, *addresses)
        self.assertEqual((quiet[0].count("?? at ??:0\n"), quiet[1]), (4, []))
        batch = ask(*lookup, "--verbose", self.path, lines="\n".join(addresses))
        for said, told in (ask(*lookup, "--verbose", self.path, *addresses), (batch[0].replace("\n\n", "\n"), batch[1])):
            self.assertEqual(said, quiet[0])
            self.assertEqual([line.split(": ")[:4] for line in told],
                             [["gsym lookup", self.path, "0x1", "outside all functions"],
                              ["gsym lookup", self.path, "0x7ffff7001000", told[1].split(": ")[3]]])
            self.assertIn("looks like a runtime address", told[1])
        program = os.path.join(self.dir, "gsym-symbolizer")
        os.symlink(os.path.realpath(GSYM), program)
        said, told = ask("--cache=" + self.cache, "--verbose", "--obj=" + self.path, *addresses, program=program)
        self.assertEqual((len(told), "outside all functions" in told[0]), (2, True), told)
        self.assertEqual(ask("--cache=" + self.cache, "--obj=" + self.path, *addresses, program=program)[1], [])

    def test_names(self):
        """The names that are like one which no function has."""
        self.mount()
        self.assertRegex(self.read(self.id, "why", "sym", "geo::point::nrom"), "nearest (is|are) 'geo::point::norm'")
        self.assertIn("'geo::point::norm'", self.read(self.id, "why", "sym", "norm"))
        self.assertEqual(self.read(self.id, "why", "sym", "geo::point::norm"), self.read(self.id, "sym", "geo::point::norm"))
        done = subprocess.run([GSYM, "lookup", "--cache=" + self.cache, self.path, "geo::point::nrom"], capture_output=True, timeout=LIMIT,
                              check=False, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "gsym lookup: %s: no function 'geo::point::nrom'; the nearest (is|are) 'geo::point::norm'" % self.path)


if __name__ == "__main__":
    mount_harness.main()
