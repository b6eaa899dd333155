#!/usr/bin/env python3
"""The file metrics: its form, as strictly as Prometheus' text format is described, and its numbers."""

import errno
import mmap
import os
import re
import shutil
import subprocess
import unittest

import mount_harness
from mount_harness import LIMIT, MountTest, build_id, run, wait_until

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(r'(%s)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*",?)+)\})? (\S+)\Z' % NAME)
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|\Z)')
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z|[+-]?Inf\Z|NaN\Z")
TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}


class Malformed(Exception):
    pass


def must(condition, line, why):
    if not condition:
        raise Malformed("%s: %r" % (why, line))


def parse_labels(text, line):
    found = {}
    at = 0
    while at < len(text):
        label = LABEL.match(text, at)
        must(label, line, "no label")
        must(label[1] not in found, line, "a label twice")
        found[label[1]] = label[2]
        at = label.end()
    return found


def family_of(name, types):
    """The metric that a sample belongs to: histograms have three kinds of samples."""
    for suffix in ("_bucket", "_sum", "_count"):
        if name.endswith(suffix) and types.get(name[:-len(suffix)]) == "histogram":
            return name[:-len(suffix)]
    return name


def check_histogram(samples, name):
    """Each series of it, by its labels."""
    series = {}
    for (sample, labels), value in samples.items():
        if sample == name + "_bucket":
            rest = tuple(pair for pair in labels if pair[0] != "le")
            series.setdefault(rest, []).append((float(dict(labels)["le"].replace("Inf", "inf")), value))
    for labels, bounds in series.items():
        check_series(samples, name, labels, bounds)


def check_series(samples, name, labels, bounds):
    must(bounds == sorted(bounds) and bounds[-1][0] == float("inf"), bounds, "buckets are out of order")
    must([v for _, v in bounds] == sorted(v for _, v in bounds), bounds, "buckets are not cumulative")
    must(samples[name + "_count", labels] == bounds[-1][1], bounds, "the count is not that of the last bucket")
    must((name + "_sum", labels) in samples, name, "no sum")


def parse(text, mount=None):
    """{(name, ((label, value), ...)): value}. Each metric: HELP, TYPE, its samples, in one piece. All have the label
    @mount, which is left out."""
    must(text.endswith("\n"), text[-20:], "no newline at the end")
    samples, types, helps, current = {}, {}, set(), None
    for line in text[:-1].split("\n"):
        must(line and line == line.strip() and line.isprintable(), line, "an odd line")
        comment = re.match(r"# (HELP|TYPE) (%s) (.+)\Z" % NAME, line)
        if line.startswith("#"):
            must(comment, line, "a comment")
        if comment and comment[1] == "HELP":
            must(comment[2] not in helps and not re.search(r"\\[^n\\]", comment[3]), line, "HELP")
            helps.add(comment[2])
        elif comment:
            must(comment[3] in TYPES and comment[2] not in types and comment[2] in helps, line, "TYPE")
            types[comment[2]] = comment[3]
            current = comment[2]
        else:
            sample = SAMPLE.match(line)
            must(sample and NUMBER.match(sample[3]), line, "no sample")
            must(family_of(sample[1], types) == current, line, "a sample in another metric")
            labels = parse_labels(sample[2] or "", line)
            must(labels.pop("mount", None) == mount, line, "the label mount")
            key = sample[1], tuple(sorted(labels.items()))
            must(key not in samples, line, "a sample twice")
            samples[key] = float(sample[3].replace("Inf", "inf"))
            must(types[current] == "gauge" or samples[key] >= 0, line, "a counter below 0")
            must(types[current] != "counter" or current.endswith("_total"), line, "the name of a counter")
    must(set(types) == helps, helps ^ set(types), "HELP without TYPE")
    for name in types:
        must(any(family_of(sample, types) == name for sample, _ in samples), name, "no samples")
        if types[name] == "histogram":
            check_histogram(samples, name)
    return samples


class ParserTest(unittest.TestCase):
    """The parser itself notices what is wrong."""

    GOOD = "# HELP a_total Some.\n# TYPE a_total counter\na_total{x=\"1\",y=\"a\\\"b\"} 1\na_total{x=\"2\"} 2.5\n"

    def test_good(self):
        self.assertEqual(parse(self.GOOD)["a_total", (("x", "2"),)], 2.5)

    def test_bad(self):
        for old, new in (("# HELP a_total Some.\n", ""), ("counter", "counters"), ("} 1\n", "} one\n"), ("} 1\n", "}1\n"),
                         ('x="2"', 'x="1",y="a\\"b"'), ('x="2"', "x=2"), ("2.5\n", "2.5"), ("2.5\n", "2.5\n\n"),
                         ("a_total", "a"), ("2.5", "-2.5"), ("a_total{x=\"2\"}", "b_total"), ('x="2"', 'x="2",x="3"')):
            with self.assertRaises(Malformed, msg=(old, new)):
                parse(self.GOOD.replace(old, new))


class MetricsTest(MountTest):
    def metrics(self):
        return parse(self.read("metrics"), self.mnt)

    def metric(self, name, **labels):
        return self.metrics()["gsymfs_" + name, tuple(sorted(labels.items()))]

    def grown(self, before, after):
        """What has become more, without the names' beginning."""
        return {(name[len("gsymfs_"):],) + tuple(v for _, v in labels): after[name, labels] - value
                for (name, labels), value in before.items() if after[name, labels] != value}

    def test_form(self):
        self.compile()
        self.mount().wait_scanned()
        found = self.metrics()
        [version] = [dict(labels)["version"] for name, labels in found if name == "gsymfs_build_info"]
        self.assertIn(version, run(mount_harness.GSYMFS, "--version").stdout.decode())
        st = os.stat(os.path.join(self.mnt, "metrics"))
        self.assertEqual(st.st_mode, 0o100444)
        self.assertErrno(errno.EROFS, open, os.path.join(self.mnt, "metrics"), "a")
        promtool = shutil.which("promtool")
        if promtool:
            done = run(promtool, "check", "metrics", input=self.read("metrics").encode(), check=False)
            self.assertEqual(done.stderr + done.stdout, b"")

    def test_what_is_open_stays_as_it_was(self):
        id = build_id(self.compile())
        self.mount().wait_scanned()
        with open(os.path.join(self.mnt, "metrics"), "rb", buffering=0) as file:
            first = file.read(100)
            self.assertErrno(errno.ENOENT, self.read, id, "0x1")
            self.assertEqual(parse((first + file.read()).decode(), self.mnt)["gsymfs_lookups_total", (("result", "unknown"),)], 0)

    def test_size(self):
        """It has the size of what it says, so that programs that ask first get all of it."""
        self.compile()
        self.mount().wait_scanned()
        path = os.path.join(self.mnt, "metrics")
        self.assertGreater(os.stat(path).st_size, 1000)
        with open(path, "rb", buffering=0) as first:
            size = os.fstat(first.fileno()).st_size
            for i in range(200):
                self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, "%032x" % i))
            with open(path, "rb", buffering=0) as second:
                for file in (first, second):
                    self.assertEqual(os.fstat(file.fileno()).st_size, len(file.read()))
            self.assertEqual(os.fstat(first.fileno()).st_size, size)
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            parse(mapped[:].decode(), self.mnt)

    def test_lookups(self):
        path = self.compile()
        id, (start, _, name) = build_id(path), self.functions(path)[0]
        self.mount("rescan=0").wait_scanned()
        before = self.metrics()

        def at_rest():
            """Once the daemon knows that what was read before is closed."""
            found = self.metrics()
            same = all(found[gauge, ()] == before[gauge, ()] for gauge in ("gsymfs_open_files", "gsymfs_batch_bytes"))
            return found if same else None

        # The kernel forgets no file that is open when another test has it drop its caches.
        with open(os.path.join(self.image(id), hex(start))), open(os.path.join(self.image(id), "sym", name)):
            self.assertErrno(errno.ENOENT, self.read, id, "0x1")
            after = wait_until(at_rest, "the end of other files")
        grown = self.grown(before, after)
        seconds = grown.pop(("conversion_seconds_sum",))
        self.assertGreater(seconds, 0)
        for bucket in [key for key in grown if key[0] == "conversion_seconds_bucket"]:
            self.assertEqual(grown.pop(bucket), 1)
        tiers = {key[-1]: grown.pop(key) for key in list(grown) if key[0] == "lookup_seconds_count"}
        self.assertEqual(sum(tiers.values()), 3)
        self.assertGreaterEqual(tiers["conversion"], 1)  # or a fragment was first
        for key in [key for key in grown if key[0].startswith(("lookup_seconds_", "scan_completed_age"))]:
            grown.pop(key)
        self.assertGreater(grown.pop(("cache_bytes",)), 0)
        self.assertEqual(grown.pop(("nodes",)), 2)
        self.assertEqual(grown.pop(("nodes_total",)), 2)
        self.assertGreater(grown.pop(("node_bytes",)), 0)
        self.assertEqual(grown, {
            ("lookups_total", "found"): 2,
            ("lookups_total", "unknown"): 1,
            ("conversions_total", "ok"): 1,
            ("conversion_seconds_count",): 1,
            ("cache_requests_total", "miss"): 1,
            ("cache_files",): 1,
            ("images", "cold"): -1,
            ("images", "ready"): 1,
        })

    def test_batches(self):
        id = build_id(self.compile())
        self.mount().wait_scanned()
        with open(os.path.join(self.mnt, id, "q"), "r+b", buffering=0) as file:
            file.write(b"0x1000\n" * 1000 + b"nonsense\n")
            self.assertEqual(file.read().count(b"\n\n"), 1001)
            self.assertEqual(self.metric("open_files"), 1)
        self.assertEqual(self.metric("batch_addresses_total"), 1001)
        wait_until(lambda: self.metric("open_files") == 0, "the file closed")

    def test_unknown_that_is_printed(self):
        id = build_id(self.compile())
        self.mount("unknown=print").wait_scanned()
        self.assertEqual(self.read(id, "0x1"), "?? at ??:0\n")
        self.assertErrno(errno.ENOENT, self.read, id, "sym", "nobody")
        self.assertEqual(self.metric("lookups_total", result="found"), 0)
        self.assertEqual(self.metric("lookups_total", result="unknown"), 2)

    def test_logs(self):
        path = self.compile()
        id, start = build_id(path), next(f[0] for f in self.functions(path) if "norm" in f[2])
        self.mount().wait_scanned()
        with open(os.path.join(self.mnt, "log"), "r+b", buffering=0) as file:
            file.write(b"%s+0x%x\nnothing\n%s 0x%x\n%s+0x1\n0011223344556677+0x1\n" % (
                id.encode(), start, id.encode(), start, id.encode()))
            self.assertEqual(file.read().count(b".cpp:"), 2)
            file.write(b"%s+0x%x\n" % (id.encode(), start))
            self.assertIn(b".cpp:", file.read())
        self.assertEqual(self.metric("log_addresses_total", result="found"), 3)
        self.assertEqual(self.metric("log_addresses_total", result="unknown"), 2)
        self.assertEqual(self.metric("batch_addresses_total"), 0)

    def test_the_cache_remembers(self):
        path = self.compile()
        id, start = build_id(path), self.functions(path)[0][0]
        daemon = self.mount()
        self.read(id, hex(start))
        self.remount(daemon)
        self.read(id, hex(start))
        self.assertEqual(self.metric("cache_requests_total", result="hit"), 1)
        self.assertEqual(self.metric("cache_requests_total", result="miss"), 0)
        self.assertEqual(self.metric("conversion_seconds_count"), 0)
        self.assertEqual(self.metric("cache_files"), 1)

    @unittest.skipUnless(mount_harness.BAD_WORKER, "the hostile worker was not built")
    def test_failures(self):
        """Of a worker that breaks, and of one that may not take any time."""
        id = build_id(self.compile())
        env = dict(os.environ, BAD_WORKER_ACT="crash", GSYM=os.path.realpath(mount_harness.GSYM))
        daemon = self.mount("worker=" + mount_harness.BAD_WORKER, env=env)
        daemon.wait_scanned()
        self.assertErrno(errno.EIO, self.read, id, "0x1000")
        self.assertEqual(self.metric("conversions_total", result="crashed"), 1)
        self.assertEqual(self.metric("lookups_total", result="found"), 0)
        self.assertEqual(daemon.stop(), 0)
        env["BAD_WORKER_ACT"] = "hang"
        daemon = self.mount("worker=" + mount_harness.BAD_WORKER, env=env)
        daemon.wait_scanned()
        reader = self.reader(id, "0x1000")
        wait_until(lambda: self.status(id)["state"].startswith("converting"), "the conversion")
        self.assertEqual(self.metric("thread_busy", role="convert"), 1)
        self.assertEqual(self.metric("images", state="converting"), 1)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.finish(reader)[0], 1)
        self.mount("worker=" + mount_harness.BAD_WORKER, "convert_time=1", env=env).wait_scanned()
        self.assertEqual(self.finish(self.reader(id, "0x1000"))[0], 1)
        self.assertEqual(self.metric("conversions_total", result="limit"), 1)
        self.assertEqual(self.metric("thread_busy", role="convert"), 0)
        self.assertEqual(self.metric("images", state="failed"), 1)
        self.assertRegex(self.read("status"), "(?m)^failed_image\t%s: .*time" % id)

    def test_limits(self):
        """Of open images, and of answers that are kept."""
        paths = [self.compile("sample%d" % i) for i in range(4)]
        at = "0x%x" % next(start for start, _, name in self.functions(paths[0]) if "norm" in name)
        self.mount("open_images=2", "kept_answers=1M").wait_scanned()
        answers = {self.read(mount_harness.build_id(path), at) for path in paths}
        self.assertEqual(len(answers), 1)
        self.assertEqual(self.metric("images", state="ready"), 2)
        self.assertLessEqual(self.metric("node_bytes"), 1 << 20)

    def test_scans(self):
        self.compile()
        self.mount("rescan=1").wait_scanned()
        first = self.metric("scans_total", result="complete")
        wait_until(lambda: self.metric("scans_total", result="complete") >= first + 2, "two scans")
        self.assertGreaterEqual(self.metric("scanned_files_total"), 3)
        self.assertEqual(self.metric("scans_total", result="incomplete"), 0)

    def test_source_that_is_empty(self):
        """As where a file system is not mounted: told once, by the next daemon as well, until there are images again."""
        self.compile()
        options = "rescan=1", "watch=no"
        daemon = self.mount(*options)
        daemon.wait_scanned()
        self.assertEqual(self.metric("source_emptied"), 0)
        for starts_empty in (False, True):
            if starts_empty:
                self.assertEqual(daemon.stop(), 0)
            os.rename(self.source, self.source + "~")
            os.mkdir(self.source)
            if starts_empty:
                daemon = self.mount(*options)
            wait_until(lambda: self.metric("source_emptied") == 1, "a scan of the empty directory")
            scans = self.metric("scans_total", result="complete")
            wait_until(lambda: self.metric("scans_total", result="complete") > scans, "another")
            self.assertEqual(daemon.log().count("is a file system not mounted there?"), 1)
            os.rmdir(self.source)
            os.rename(self.source + "~", self.source)
            wait_until(lambda: self.metric("source_emptied") == 0, "a scan that finds images")
        self.assertGreater(self.metric("scan_completed_time_seconds"), 0)

    def test_state_of_the_daemon(self):
        """Who waits, for how long; what failed, to those who may read it; a cache that is full."""
        id = build_id(self.compile())
        gate = mount_harness.Gate(self)
        gate.shut()
        self.mount("worker=" + gate.worker).wait_scanned()
        reader = self.reader(id, "0x1000")
        wait_until(lambda: self.metric("waiting_seconds") > 0.1, "a call that waits")
        gate.open()
        self.finish(reader)
        wait_until(lambda: self.metric("waiting_seconds") == 0, "the answer")
        self.assertEqual(self.metric("worker_failing"), 0)
        self.assertEqual(self.metric("cache_in_memory"), 0)

    def test_asked_for_by_many(self):
        self.compile()
        self.mount().wait_scanned()
        readers = [subprocess.Popen(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do cat '%s'; done | wc -l" %
                                     os.path.join(self.mnt, "metrics")], stdout=subprocess.PIPE) for _ in range(4)]
        self.processes += readers
        lines = self.read("metrics").count("\n")
        for reader in readers:
            self.assertEqual(int(reader.communicate(timeout=LIMIT)[0]), 9 * lines)


if __name__ == "__main__":
    mount_harness.main()
