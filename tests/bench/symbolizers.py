#!/usr/bin/env python3
"""Times programs that run addr2line with GNU's, LLVM's and ours in PATH, and writes the table of docs/addr2line.md.

    symbolizers.py --build BUILD [--runs N] [--write]

Each row runs the three in turn, ours twice: with an empty cache, and with what that left. Figures are medians of seconds from start to
end, and of CPU time with that of all processes that were started.
"""
import argparse
import ctypes
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from corpus import realfiles, sample  # noqa: E402
from lib import peers  # noqa: E402

DOCUMENT = HERE.parents[1] / "docs/addr2line.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
PR_SET_CHILD_SUBREAPER = 36
BUSY = "import json; x = [{'a': i, 'b': str(i) * 3} for i in range(3000)]\nfor _ in range(60): json.loads(json.dumps(x))"
EACH = 'for a in $ADDRESSES; do addr2line -afie "$FILE" $a; done'


class Ways:
    """What is called addr2line: GNU's, LLVM's, ours with and without a conversion."""

    def __init__(self, build, place):
        self.cache = place / "cache"
        self.bins = {}
        for name, program in (("GNU", shutil.which("addr2line")), ("LLVM", peers.find("llvm-addr2line")), ("ours", build / "cli/gsym")):
            if not program:
                sys.exit(f"no addr2line of {name}")
            self.bins[name] = place / name
            self.bins[name].mkdir()
            (self.bins[name] / "addr2line").symlink_to(os.path.abspath(shutil.which(program)))

    def __iter__(self):
        return iter((("GNU", True), ("LLVM", True), ("ours", False), ("ours", True)))

    def environment(self, name):
        return {**os.environ, "PATH": f"{self.bins[name]}:/usr/bin:/bin", "GSYMFS_CACHE": str(self.cache), "GSYMFS_MOUNT": "/nonexistent"}


def spend(argv, environment, stdin):
    """(seconds, CPU seconds, output) of a command and what it starts."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, input=stdin, capture_output=True, env=environment, check=False)
    seconds = time.monotonic() - begin
    try:
        while True:
            os.wait()  # those that perf leaves behind
    except ChildProcessError:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout.decode(errors="replace")


def measure(ways, runs, argv, stdin=None, **variables):
    """The medians of each way, and how many lines it printed."""
    found = {way: [] for way in ways}
    for _ in range(runs):
        for name, warm in ways:
            if not warm:
                shutil.rmtree(ways.cache, ignore_errors=True)
            found[name, warm].append(spend(argv, {**ways.environment(name), **variables}, stdin))
    return {way: (statistics.median(f[0] for f in results), statistics.median(f[1] for f in results), results[0][2].count("\n"))
            for way, results in found.items()}


def loops(ways, runs, addresses):
    """A process for each address, as scripts do it, and all on standard input of one."""
    files = {name: path for name, _, path in realfiles.real_files()}
    for name, path, count in (("libc", files["libc"], 100), ("python3.11", files["python3.11"], 40), ("vmlinux", realfiles.kernel(), 10)):
        if not path:
            print(f"skipped: no debug information of {name} is installed")
            continue
        chosen = [f"{a:#x}" for a in sample.inside_functions(path, addresses, 1)]
        yield f"a process for each of {count} addresses of {name}", measure(
            ways, runs, ["sh", "-c", EACH], ADDRESSES=" ".join(chosen[::max(1, len(chosen) // count)][:count]), FILE=str(path))
        yield f"{len(chosen):,} addresses of {name} on a pipe", measure(
            ways, runs, ["addr2line", "-afie", str(path)], "".join(f"{a}\n" for a in chosen).encode())


def profiles(ways, runs, place):
    """perf with source lines and inlined calls."""
    data = place / "data"
    record = subprocess.run(["perf", "record", "-N", "-e", "cpu-clock", "--call-graph=fp", "-o", data, "/usr/bin/python3.11", "-c", BUSY],
                            capture_output=True, text=True, check=False)
    if record.returncode:
        print("skipped: perf may not record here: " + record.stderr.strip()[-100:])
        return
    samples = re.search(r"\((\d+) samples\)", record.stderr)[1]
    for argv in (("script", "-F", "ip,sym,srcline"), ("script", "-F", "ip,sym,srcline", "--inline"),
                 ("report", "--stdio", "--inline", "-g", "caller,srcline", "-F", "overhead,srcline")):
        yield f"`perf {' '.join(argv)}`, {samples} samples of python3.11", measure(ways, runs, ["perf", argv[0], "-i", str(data), *argv[1:]])


def row(what, found):
    cells = " | ".join(f"{seconds:.2f} ({cpu:.2f})" for seconds, cpu, _ in found.values())
    return f"| {what} | {cells} | {found['GNU', True][1] / found['ours', True][1]:.1f} |\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--addresses", type=int, default=3000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    text = "| | GNU | LLVM | ours, cold | ours, warm | GNU / warm, CPU |\n|--|--|--|--|--|--|\n"
    with tempfile.TemporaryDirectory() as place:
        ways = Ways(options.build, pathlib.Path(place))
        for rows in (loops(ways, options.runs, options.addresses), profiles(ways, options.runs, pathlib.Path(place))):
            for what, found in rows:
                text += row(what, found)
                print(row(what, found), end="", flush=True)
    if options.write:
        before, rest = DOCUMENT.read_text().split(BEGIN)
        DOCUMENT.write_text(before + BEGIN + text + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
