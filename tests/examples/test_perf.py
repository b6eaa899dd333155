#!/usr/bin/env python3
"""Stacks of perf: recordings made by hand, and real ones where the machine allows it."""

import os
import xml.dom.minidom

from example_test import ExampleTest, main, run


class PerfTest(ExampleTest):
    def setUp(self):
        super().setUp()
        self.mount().wait_scanned()

    def fold(self, script, ids):
        path = os.path.join(self.dir, "ids")
        with open(path, "w") as file:
            file.write(ids)
        return self.example("perf-fold.py", self.mnt, path, text=script)[0]

    def script(self):
        """Two commands; functions of the program, of a kernel, and of a library that the mount does not have."""
        inlined, inside, call = (self.line_address(line) for line in (18, 30, 59))
        start, size = self.symbols()["checksum"]
        stack = "program 7/7 1.%03d: cycles:u: \n\t%16x checksum (/opt/program)\n\t%16x main (/opt/program)\n\t     7f00 start (/opt/libc.so)\n\n"
        kernel = "a b 8/8 1.004: cycles:u: \n\tffffffff81000000 schedule ([kernel.kallsyms])\n\t%16x ??? (/opt/program)\n\n"
        addresses = inlined, inlined, inlined, inside
        return "".join(stack % (n, at, call + 1) for n, at in enumerate(addresses)) + kernel % (start + size)

    def test_fold(self):
        # GNU ld gives code of a program that can be loaded anywhere the same place in the file and in memory.
        out = self.fold(self.script(), "%s /opt/program\n" % self.id)
        self.assertShown("perf-fold.py", out)

    def test_fold_without_images(self):
        out = self.fold(self.script(), "")
        self.assertEqual(out.splitlines()[2:], ["# chains: yes", "a b;???;schedule_[k] 1", "program;start;main;checksum 4"])
        self.assertEqual(self.fold("", ""), "")

    def test_names_may_be_any_bytes(self):
        self.assertEqual(self.fold(b"a\xff b\n\t10 c\xfe (/opt/\xff)\n", ""), "a\ufffd b;c\ufffd 1\n")

    def test_fold_without_call_chains(self):
        """Each sample is a line, with the address where the program was loaded: alone and after a fork."""
        inlined, call = self.line_address(18), self.line_address(59)
        line = "         program %s/%s 7.%06d: cycles:u:  %16x %s (/opt/program)\n"
        script = "".join((
            "         program 10/10 7.000000: PERF_RECORD_COMM exec: program:10/10\n",
            "         program 10/10 7.000000: PERF_RECORD_MMAP2 10/10: [0x550000(0x100000) @ 0 fe:00 1 2]: r-xp /opt/program\n",
            "         program 10/10 7.000001: PERF_RECORD_FORK(11:11):(10:10)\n",
            "         program 10/10 7.000001: PERF_RECORD_FORK(10:12):(10:10)\n",
            line % (10, 10, 1, 0x550000 + inlined, "checksum"),
            line % (11, 11, 2, 0x550000 + inlined, "checksum"),
            line % (10, 12, 250000, 0x550000 + call, "main"),
            "         program 11/11 7.300000: PERF_RECORD_COMM exec: program:11/11\n",
            line % (11, 11, 400000, 0x550000 + inlined, "not_mapped"),
            "              dd 9/9 7.500001: cycles:u:  ffffffff81000000 schedule ([kernel.kallsyms])\n",
            "            a: b 9/9 7.450000: cycles:u:              7f00 [unknown] (/opt/libc.so)\n",
        ))
        self.assertEqual(self.fold(script, "%s /opt/program\n" % self.id).splitlines(), [
            "# event: cycles:u", "# seconds: 0.500", "# chains: no", "a: b;[libc.so] 1", "dd;schedule_[k] 1", "program;checksum;mix_[i] 2",
            "program;main 1", "program;not_mapped 1"])
        # Without the events the names are perf's, and the counts right.
        short = "            a: b          %12x checksum (/opt/program)\n" % inlined * 3 + "              dd          ff00 x ([unknown])\n"
        self.assertEqual(self.fold(short, "%s /opt/program\n" % self.id).splitlines(), ["a: b;checksum 3", "dd;x 1"])

    def test_fold_of_several_events(self):
        script = "".join("p 1/1 %d.0: %s:\n\t10 f (/x)\n\n" % (n, "faults" if n % 3 else "cycles") for n in range(9))
        path = os.path.join(self.dir, "ids")
        with open(path, "w"):
            pass
        out, err = self.example("perf-fold.py", self.mnt, path, text=script)
        self.assertEqual(out, "# event: faults\n# seconds: 7.000\n# chains: no\np;f 6\n")
        self.assertEqual(err, "perf-fold.py: faults only; not counted: 3 of cycles (see --event)\n")
        out, err = self.example("perf-fold.py", "--event=cycles", self.mnt, path, text=script)
        self.assertEqual((out, err), ("# event: cycles\n# seconds: 6.000\n# chains: no\np;f 3\n", ""))
        _, err = self.example("perf-fold.py", "--event=x", self.mnt, path, text=script, status=1)
        self.assertEqual(err, "perf-fold.py: no sample of the event 'x'; there are: cycles, faults\n")

    def test_fold_with_wrong_arguments(self):
        _, err = self.example("perf-fold.py", self.dir, os.devnull, status=1)
        self.assertEqual(err, "perf-fold.py: %s: no gsymfs is mounted there (it has no file q.json)\n" % self.dir)
        _, err = self.example("perf-fold.py", self.mnt, self.dir + "/none", status=1)
        self.assertEqual(err, "perf-fold.py: %s/none: No such file or directory\n" % self.dir)
        self.assertIn("usage:", self.example("perf-fold.py", self.mnt, status=2)[1])

    def record(self, data, rounds, *options):
        for event in ("cpu-clock", "task-clock"):
            done = run("perf", "record", "-N", "-q", "-e", event, "-F", "499", *options, "-o", data, self.program, str(rounds), check=False)
            if done.returncode == 0:
                return
        self.skipTest("perf cannot record here: " + done.stderr.decode(errors="replace").strip()[:200])

    def picture(self, data, *options):
        """Of a recording that has the inlined call: few samples may have none of it, so longer ones are made until one has."""
        for rounds in (300, 1000, 3000, 10000):
            self.record(data, rounds, *options)
            if self.id not in run("perf", "buildid-list", "-i", data).stdout.decode():
                self.skipTest("perf took no sample of the program")
            svg, _ = self.example("gsym-flamegraph", self.mnt, data)
            if 'data-name="mix_[i]"' in svg:
                break
        self.assertIn('data-name="mix_[i]"', svg)
        return svg

    def test_perf(self):
        """The whole way from a recording to the picture."""
        self.need("perf")
        data = os.path.join(self.dir, "perf.data")
        svg = self.picture(data, "--call-graph", "dwarf,4096")
        xml.dom.minidom.parseString(svg)
        self.assertRegex(svg, r"[\d,]+ samples \u00b7 (cpu|task)-clock\S* \u00b7 [\d.]+ s<")
        alone = os.path.join(self.dir, "alone.data")
        svg = self.picture(alone)  # no call chain, and still the inlined call
        script = run("perf", "script", "-i", alone, "-F", "comm").stdout.decode()
        self.assertIn(">all: %d samples," % len(script.split()), svg)
        svg, _ = self.example("gsym-flamegraph", self.mnt, data, alone)
        xml.dom.minidom.parseString(svg)
        self.assertIn("perf.data against alone.data", svg)
        self.assertIn("call chains now, none before", svg)
        self.assertIn("gsym-flamegraph MOUNT", self.example("gsym-flamegraph", "--help")[0])
        self.example("gsym-flamegraph", status=2)


if __name__ == "__main__":
    main()
