#!/usr/bin/env python3
"""Examples that ask for addresses or read tables."""

import contextlib
import functools
import http.server
import json
import os
import pathlib
import re
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from example_test import CC, EXAMPLES, GSYM, LIMIT, ExampleTest, main, masked, run, shown, wait_until
from lib.store_servers import free_port

C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class BatchTest(ExampleTest):
    def setUp(self):
        super().setUp()
        self.mount().wait_scanned()
        self.image_dir = os.path.join(self.mnt, self.id)
        self.inlined = self.line_address(18)
        self.outer = self.line_address(30)

    def test_each_says_how_it_is_used(self):
        for path in sorted([*EXAMPLES.glob("*.sh"), *EXAMPLES.glob("*.py")]):
            done = subprocess.run([str(path), "--help"], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
            self.assertRegex((done.stdout + done.stderr).decode(), r"\Ausage: .*" + re.escape(path.name))

    def addresses(self):
        return [hex(self.inlined), hex(self.outer), "0x1"]

    def test_addresses(self):
        self.need("readelf")
        text = "".join(a + "\n" for a in self.addresses())
        for by in (self.program, "program"):
            out, _ = self.example("addresses.sh", self.mnt, by, text=text, status=1)
            self.assertShown("addresses.sh", out)
        out, _ = self.example("addresses.sh", self.mnt, "program", text=self.addresses()[1])
        self.assertEqual(out.count("\n"), 1)
        self.example("addresses.sh", self.mnt, "nothing", status=1)
        self.example("addresses.sh", self.mnt, "/bin/sh", status=1)
        self.example("addresses.sh", status=2)

    def test_tables(self):
        self.need("awk")
        out, _ = self.example("largest-functions.sh", self.image_dir, 3)
        sizes = [int(line.split()[0]) for line in out.splitlines()]
        self.assertEqual(sizes, sorted((size for _, size in self.symbols().values()), reverse=True)[:3])
        self.assertEqual(re.sub(r"\d+", "N", shown_line("largest-functions.sh", "main")),
                         re.sub(r"\d+", "N", next(line for line in out.splitlines() if "  main" in line)))
        self.example("largest-functions.sh", os.path.join(self.mnt, "nothing"), status=1)
        out = run("awk", "-f", EXAMPLES / "functions-per-file.awk", os.path.join(self.image_dir, "functions.tsv")).stdout.decode()
        self.assertEqual(sum(int(line.split()[0]) for line in out.splitlines()),
                         len(self.read(self.id, "functions.tsv").splitlines()))
        self.assertRegex(out, r"(?m)^ *5 +\d+  /src/program\.c$")

    def test_breakpoint(self):
        for at, status in (("program.c:30", 0), ("/src/program.c:30", 0), ("c:30", 1), ("program.c:1", 1), ("program.c", 2)):
            done = run("awk", "-v", "at=" + at, "-f", EXAMPLES / "breakpoint.awk", os.path.join(self.image_dir, "lines.tsv"),
                       check=False)
            self.assertEqual(done.returncode, status, at)
            found = done.stdout.decode().split()
            self.assertEqual(bool(found), not status)
            for address in found:
                self.assertIn("/src/program.c:30\n", self.read(self.id, address))

    def test_coverage(self):
        self.need("objdump")
        self.need("readelf")
        if os.uname().machine != "x86_64":
            self.skipTest("jumps and calls are known of x86 only")
        points = self.example("kernel-coverage.sh", "--points", self.program)[0].split()
        self.assertIn(self.outer, [int(point, 16) for point in points])
        out, _ = self.example("kernel-coverage.sh", self.mnt, self.program, text="%016X\n0x1\n" % self.outer)
        counts = {file: (int(of), int(n)) for of, n, file in (line.split() for line in out.splitlines())}
        self.assertEqual(sum(of for of, _ in counts.values()), len(points))
        self.assertEqual([n for _, n in counts.values() if n], [1])
        self.assertEqual(counts["/src/program.c"][1], 1)
        self.assertShown("kernel-coverage.sh", "".join(l for l in out.splitlines(True) if "  /usr/" not in l))
        self.assertIn("no file", self.example("kernel-coverage.sh", self.mnt, "nothing", status=1)[1])
        self.assertIn("no image", self.example("kernel-coverage.sh", self.mnt, "/bin/sh", status=1)[1])

    def test_coverage_of_kcov(self):
        self.need("objdump")
        self.need("readelf")
        trace = os.path.join(self.dir, "trace.c")
        with open(trace, "w") as file:
            file.write("void __sanitizer_cov_trace_pc(void) { }\n")
        traced = os.path.join(self.source, "traced")
        try:
            self.build(traced, "-O2", "-fsanitize-coverage=trace-pc", trace)
        except AssertionError:
            self.skipTest("the compiler has no -fsanitize-coverage=trace-pc")
        wait_until(lambda: os.path.exists(os.path.join(self.mnt, "by-path", "traced")), "the new file")
        points = self.example("kernel-coverage.sh", "--points", traced)[0].split()
        code = run("objdump", "-d", "--no-show-raw-insn", traced).stdout.decode()
        calls = re.findall(r"call.*<__sanitizer_cov_trace_pc>\n *([0-9a-f]+):", code)
        self.assertEqual(sorted(points), sorted("0x" + at for at in calls))
        out, _ = self.example("kernel-coverage.sh", self.mnt, traced, text="\n".join(points[:2]) + "\n")
        counts = [[int(n) for n in line.split()[:2]] for line in out.splitlines()]
        self.assertEqual([sum(column) for column in zip(*counts)], [len(points), 2])

    def test_client_py(self):
        out, _ = self.example("client.py", self.image_dir, *self.addresses())
        self.assertShown("client.py", out)

    def test_client_py_many(self):
        """More than one write, and more than one question."""
        script = ("import sys; sys.path.insert(0, sys.argv[1]); import client\n"
                  "with client.Image(sys.argv[2]) as image:\n"
                  "    first, last = (image.ask([int(a, 16)] * n) for a, n in zip(sys.argv[3:], (250000, 1)))\n"
                  "print(len(first), first[0] == first[-1], len(first[0]), len(last[0]))")
        out = run("python3", "-B", "-c", script, EXAMPLES, self.image_dir, *self.addresses()[:2]).stdout.decode()
        self.assertEqual(out, "250000 True 2 1\n")

    def test_client_c(self):
        program = os.path.join(self.dir, "client")
        run(CC, *C_FLAGS, EXAMPLES / "client.c", "-o", program)
        self.assertShown("client.c", run(program, self.image_dir, *self.addresses()).stdout.decode())
        self.assertEqual(run(program, self.mnt + "/nothing", "0x1", check=False).returncode, 1)
        self.assertEqual(run(program, check=False).returncode, 2)

    def test_prometheus_textfile(self):
        directory = os.path.join(self.dir, "collector")
        os.mkdir(directory)
        self.read(self.id, self.addresses()[0])
        self.example("prometheus-textfile.sh", directory, self.mnt)
        [name] = os.listdir(directory)
        self.assertRegex(name, r"\A[\w]+\.prom\Z")
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            lines = [line.replace(self.mnt, "/mnt/sym") for line in file if "conversions_total{" in line and '"ok"' in line]
        self.assertShown("prometheus-textfile.sh", "".join(lines))
        _, err = self.example("prometheus-textfile.sh", directory, self.mnt, self.dir + "/nothing", status=1)
        self.assertIn("nothing: no metrics\n", err)
        self.assertEqual(os.listdir(directory), [name])

    def metrics(self):
        """Those of a mount with a store, which is the second one here."""
        fleet = os.path.join(self.dir, "fleet")
        if not os.path.isdir(fleet):
            os.mkdir(fleet)
            os.mkdir(fleet + "-store")
            self.mount(f"shared={fleet}-store", mnt=fleet, cache=fleet + "-cache", log=fleet + ".log").wait_scanned()
        return self.read("metrics", mnt=fleet)

    def test_grafana_dashboard(self):
        """Each expression asks for metrics and labels that there are, and each metric of the daemon's work is shown."""
        dashboard = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
        samples = dict.fromkeys(re.findall(r"(?m)^(gsymfs_\w+)\{(.*)\}", self.metrics()))
        labels = {}
        for name, given in samples:
            labels.setdefault(name, set()).update(re.findall(r"(\w+)=", given))
        expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        for expression in expressions:
            name = re.search(r"gsymfs_\w+", expression)[0]
            self.assertIn(name, labels, expression)
            wanted = set(re.findall(r"(\w+)=~", expression)) | set(re.findall(r"\w+", "".join(re.findall(r"by \((.*?)\)", expression))))
            self.assertLessEqual(wanted, labels[name], expression)
        self.assertGreater(len(expressions), 15)

    def test_prometheus(self):
        """A Prometheus that has the alerts and our metrics finds each rule healthy, and samples for each expression."""
        self.need("promtool")
        for argv in (["check", "rules", "prometheus-alerts.yaml"], ["test", "rules", "prometheus-alerts.test.yaml"]):
            done = subprocess.run(["promtool", *argv], cwd=EXAMPLES, capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        alerts = re.findall(r"alert: (\w+)", (EXAMPLES / "prometheus-alerts.yaml").read_text())
        runbook = re.findall(r"(?m)^\| (Gsymfs\w+) \|", (EXAMPLES.parent / "docs/operations.md").read_text())
        self.assertEqual(runbook, alerts)
        files = pathlib.Path(self.dir, "metrics")
        files.mkdir()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=files))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        config = pathlib.Path(self.dir, "prometheus.yml")
        config.write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
                          f"rule_files: [{EXAMPLES}/prometheus-alerts.yaml]\nscrape_configs:\n"
                          f"- {{job_name: gsymfs, metrics_path: /gsymfs.prom, static_configs: [{{targets: ['127.0.0.1:{server.server_port}']}}]}}\n")
        port = free_port()
        process = subprocess.Popen([self.need("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={self.dir}/tsdb",
                                    f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def ask(path, **parameters):
            pathlib.Path(files, "gsymfs.new").write_text(self.metrics())
            os.replace(files / "gsymfs.new", files / "gsymfs.prom")
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}") as answer:
                    return json.load(answer)["data"]
            time.sleep(0.1)
            return None

        def rules():
            groups = (ask("rules") or {"groups": []})["groups"]
            found = [rule for group in groups for rule in group["rules"]]
            return found if found and all(rule["health"] != "unknown" for rule in found) else None

        self.assertEqual({rule["health"] for rule in wait_until(rules, "the evaluation of the rules")}, {"ok"})
        dashboard = (EXAMPLES / "grafana-dashboard.json").read_text().replace("$mount", ".*")
        for expression in [target["expr"] for panel in json.loads(dashboard)["panels"] for target in panel["targets"]]:
            with self.subTest(expression):
                wait_until(lambda: (ask("query", query=expression) or {}).get("result"), "samples")

    def test_library_programs(self):
        self.need("pkg-config")
        if os.environ.get("BUILD_KIND") == "sanitize":
            self.skipTest("the library is built with a sanitizer")
        library = os.path.dirname(os.environ["LIBGSYM"])
        env = dict(os.environ, PKG_CONFIG_PATH=os.environ["UNINSTALLED"], LD_LIBRARY_PATH=library)
        flags = run("pkg-config", "--cflags", "--libs", "gsym", env=env).stdout.decode().split()
        program, gsym = os.path.join(self.dir, "lookup"), os.path.join(self.dir, "program.gsym")
        # Headers that are not installed yet have the folder that they are installed to only in the source.
        run(CC, *C_FLAGS, "-I", EXAMPLES.parent, EXAMPLES / "lookup.c", "-o", program, *flags)
        run(GSYM, "convert", "--quiet", self.program, "-o", gsym)
        done = run(program, gsym, *self.addresses(), env=env, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertShown("lookup.c", done.stdout.decode())
        self.assertEqual(run(program, gsym, *self.addresses()[:2], env=env).stderr, b"")
        self.assertEqual(run(program, self.program, "0x1", env=env, check=False).returncode, 1)
        done = run("python3", "-B", EXAMPLES / "lookup.py", gsym, *self.addresses(), env=env, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertShown("lookup.py", done.stdout.decode())
        program = os.path.join(self.dir, "threads")
        run(CC, *C_FLAGS, "-pthread", "-I", EXAMPLES.parent, EXAMPLES / "threads.c", "-o", program, *flags)
        queries = "\n".join(self.addresses()).encode()
        self.assertShown("threads.c", run(program, gsym, "2", env=env, input=queries).stdout.decode())
        one, many = (run(program, gsym, n, env=env, input=(queries + b"\n") * 1000).stdout for n in ("1", "7"))
        self.assertEqual(one, many)

    def serve(self, *images):
        """The URL of a symbolz.py that runs."""
        server = subprocess.Popen([str(EXAMPLES / "symbolz.py"), self.mnt, *images], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL)
        self.processes.append(server)
        url = server.stdout.readline().strip()
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/symbolz$")
        return url

    def post(self, url, body):
        with urllib.request.urlopen(url, body.encode(), timeout=LIMIT) as reply:
            return reply.read().decode()

    def names_shown(self):
        return shown("symbolz.py").split("\n", 1)[1]  # the first line is the server's address

    def test_symbolz(self):
        url = self.serve(self.id)
        with urllib.request.urlopen(url, timeout=LIMIT) as reply:
            self.assertEqual(reply.read(), b"num_symbols: 1\n")
        self.assertEqual(masked(self.post(url, "+".join(self.addresses()))), masked(self.names_shown()))
        self.assertEqual(self.post(url, ""), "")
        self.assertEqual(self.post(url, "rubbish+0x1\n0x2"), "")
        for bad, body in ((url, b"0" * (1 << 21)), (url[:-1], b"0x1")):
            with self.assertRaises((urllib.error.HTTPError, ConnectionError, urllib.error.URLError)):
                urllib.request.urlopen(bad, body, timeout=LIMIT)

    def test_symbolz_curl(self):
        curl = self.need("curl")
        out = run(curl, "-sS", "-d", "+".join(self.addresses()), self.serve(self.id)).stdout.decode()
        self.assertEqual(masked(out), masked(self.names_shown()))

    def test_symbolz_loaded(self):
        url = self.serve("%s@0x7f3a10000000" % self.id)
        address = hex(0x7f3a10000000 + self.inlined)
        self.assertEqual(self.post(url, address), address + "\tchecksum--mix\n")


def shown_line(name, function):
    return next(line for line in shown(name).splitlines() if "  %s" % function in line)


if __name__ == "__main__":
    main()
