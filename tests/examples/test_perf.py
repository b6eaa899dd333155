#!/usr/bin/env python3
"""Stacks of perf: a recording made by hand, and a real one where the machine allows it; and the flame graph."""

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
        stack = "program \n\t%16x checksum (/opt/program)\n\t%16x main (/opt/program)\n\t     7f00 start (/opt/libc.so)\n\n"
        kernel = "a b \n\tffffffff81000000 schedule ([kernel.kallsyms])\n\t%16x ??? (/opt/program)\n\n"
        return stack % (inlined, call + 1) * 3 + stack % (inside, call + 1) + kernel % (start + size)

    def test_fold(self):
        # GNU ld gives code of a program that can be loaded anywhere the same place in the file and in memory.
        out = self.fold(self.script(), "%s /opt/program\n" % self.id)
        self.assertShown("perf-fold.py", out)

    def test_fold_without_images(self):
        out = self.fold(self.script(), "")
        self.assertEqual(out.splitlines(), ["a b;???;schedule_[k] 1", "program;start;main;checksum 4"])
        self.assertEqual(self.fold("", ""), "")

    def test_graph(self):
        svg, _ = self.example("flamegraph.py", "A <title>", text="a;b<int>;c_[i] 6\na;\"q\" 2\na 2\n")
        tree = xml.dom.minidom.parseString(svg)
        self.assertIn("A &lt;title&gt;", svg)
        frames = tree.getElementsByTagName("g")
        told = {g.getAttribute("data-name"): (float(g.getElementsByTagName("rect")[0].getAttribute("width")),
                                              g.getElementsByTagName("title")[0].firstChild.data) for g in frames}
        self.assertEqual(set(told), {"all", "a", "b<int>", "c_[i]", '"q"'})
        self.assertAlmostEqual(told["b<int>"][0], 0.6 * told["all"][0], delta=1)
        self.assertEqual(told["c_[i]"][1], "c_[i]: 6 samples, 60.00 %")
        self.example("flamegraph.py", text="", status=1)
        self.example("flamegraph.py", text="no count\n", status=1)

    def test_names_may_be_any_bytes(self):
        svg, _ = self.example("flamegraph.py", text=b"a\xff;</g>]]>\x01;\xe2\x80\xae 1\n")
        names = [g.getAttribute("data-name") for g in xml.dom.minidom.parseString(svg).getElementsByTagName("g")]
        self.assertEqual(names, ["all", "a\ufffd", "</g>]]>?", "?"])
        self.assertEqual(self.fold(b"a\xff b\n\t10 c\xfe (/opt/\xff)\n", ""), "a\ufffd b;c\ufffd 1\n")

    def test_graph_is_deep(self):
        svg, _ = self.example("flamegraph.py", text=";".join("f%d" % n for n in range(3000)) + " 1\n")
        self.assertEqual(svg.count("<title>"), 3001)

    def test_perf(self):
        """The whole way from a recording to the picture."""
        self.need("perf")
        data = os.path.join(self.dir, "perf.data")
        for event in ("cpu-clock", "task-clock"):
            done = run("perf", "record", "-q", "-e", event, "-F", "499", "--call-graph", "dwarf,4096", "-o", data,
                       self.program, "300", check=False)
            if done.returncode == 0:
                break
        else:
            self.skipTest("perf cannot record here: " + done.stderr.decode(errors="replace").strip()[:200])
        ids = run("perf", "buildid-list", "-i", data).stdout.decode()
        if self.id not in ids:
            self.skipTest("perf took no sample of the program")
        script = run("perf", "script", "--no-inline", "-i", data, "-F", "comm,ip,sym,dso").stdout.decode()
        folded = self.fold(script, ids)
        self.assertRegex(folded, r"(?m);main;checksum;mix_\[i\] \d+$")
        svg, _ = self.example("perf-flamegraph.sh", self.mnt, data)
        xml.dom.minidom.parseString(svg)
        self.assertIn('data-name="mix_[i]"', svg)


if __name__ == "__main__":
    main()
