#!/usr/bin/env python3
"""Prints one table of time, memory and size, each row beside a peer measured in turn with it in the same run.

    bench.py --build BUILD                     all rows; writes docs/bench.json, docs/bench.md, docs/bench.svg and README's figures
    bench.py --build BUILD 'first*' q          the rows of these names or patterns (--list shows them), and no document
    bench.py --build BUILD --quick             all rows with a tenth of the addresses and images, and no document
    bench.py --publish --from docs/bench.json  the documents, without measuring

Figures are medians of runs that alternate, A B A B; a ratio is the median of those of each pair, and above 1 in our favour.
"""
import argparse
import fnmatch
import os
import shutil
import signal
import sys
import tempfile
import time
from functools import cached_property, partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import files  # noqa: E402
import machine  # noqa: E402
import many  # noqa: E402
import mounts  # noqa: E402
import report  # noqa: E402
import result  # noqa: E402
from inputs import Inputs  # noqa: E402
from tools import Tools  # noqa: E402

ROOT = HERE.parents[1]
RAW, DEMANGLED = ["--format=tsv", "--no-demangle"], ["--format=tsv"]


class Bench:
    """What measuring functions share: tools, inputs, options, and how much of everything."""

    def __init__(self, options, place):
        self.options, self.place = options, place
        self.tools = Tools(options.build, place)
        self._fresh = 0

    @cached_property
    def inputs(self):
        return Inputs(self.options.file, self.place)

    def few(self):
        """Runs of what takes seconds."""
        return self.options.runs

    def slow(self):
        """Runs of what takes half a minute."""
        return (self.options.runs * 3 + 4) // 5

    def of(self, name, count):
        """Runs of a batch of @count addresses: a million of C++ take a minute."""
        return self.few() if count < 500000 else min(2, self.slow()) if name in self.inputs.cxx else self.slow()

    def many(self):
        """Runs of what takes less than one."""
        return self.options.runs if self.options.quick else self.options.runs * 2

    def scaled(self, count):
        return count // 10 if self.options.quick else count

    def fresh(self, name):
        """A path that is not used yet."""
        self._fresh += 1
        return f"{self.place}/{name}-{self._fresh}"

    def can_mount(self):
        if not self.tools.can_mount():
            print("skipped: a mount needs /dev/fuse, gsymfs and the programs of tests/bench")
        return self.tools.can_mount()

    def gsym_of(self, name):
        """Our conversion of an input, made once, or None."""
        path, out = self.inputs.path(name), f"{self.place}/{name}.gsym"
        if path and not os.path.exists(out):
            self.tools.spend([self.tools["gsym"], "convert", "--quiet", path, "-o", out])
        return path and out


def measures(bench):
    """{name: function that gives rows}, in the order of the table."""
    inputs, cxx = bench.inputs, list(bench.inputs.cxx)
    found = {f"first-{name}": partial(files.first, bench, name) for name in ("program", "libc", "vmlinux", *cxx)}
    for name in ("program", "module", "libstdc++", "vmlinux", *cxx):
        found[f"convert-{name}"] = partial(files.convert, bench, name)
    for name in ("program", "vmlinux"):
        found[f"startup-{name}"] = partial(files.startup, bench, name)
    found["startup-mount"] = partial(mounts.cold, bench)
    few, million = bench.scaled(200000), bench.scaled(1000000)
    found["batch-vmlinux-spread"] = partial(files.batch, bench, "vmlinux", lambda: inputs.spread("vmlinux", few),
                                            "spread over its functions", [RAW])
    found["batch-vmlinux"] = partial(files.batch, bench, "vmlinux", lambda: inputs.addresses("vmlinux", million), "random",
                                     [DEMANGLED])
    for name in cxx:
        asked = partial(inputs.addresses, name)
        found[f"batch-{name}"] = partial(files.batch, bench, name, partial(asked, few), "random",
                                         [["--format=text", "--no-demangle"], RAW, DEMANGLED])
        if name == cxx[0]:
            found[f"batch-{name}-million"] = partial(files.batch, bench, name, partial(asked, million), "random", [DEMANGLED])
        found[f"batch-{name}-object"] = partial(files.batch_object, bench, name)
    for order in ("random", "profile"):
        asked = inputs.addresses if order == "random" else inputs.profile
        found[f"q-vmlinux-{order}"] = partial(mounts.q, bench, "vmlinux", partial(asked, "vmlinux", million), order)
    for name in cxx:
        found[f"q-{name}"] = partial(mounts.q, bench, name, partial(inputs.addresses, name, million if name == cxx[0] else few), "random")
    found["address-files"] = partial(mounts.address_files, bench, "vmlinux")
    found["cat"] = partial(mounts.cat, bench, "vmlinux")
    found["coverage"] = partial(many.coverage, bench)
    found["images"] = partial(many.images, bench)
    found["large"] = partial(many.large, bench)
    return found


def chosen(found, patterns):
    """The measures whose names match, or begin with, one of the patterns; all when there is none."""
    return {name: make for name, make in found.items()
            if not patterns or any(fnmatch.fnmatch(name, p) or name.startswith(f"{p}-") for p in patterns)}


def measured(options, place):
    """The Result of a run, or None after only listing names."""
    bench = Bench(options, place)
    found = chosen(measures(bench), options.rows)
    if options.list:
        print("\n".join(found))
        return None
    about, rows, begin = machine.machine(), [], time.monotonic()
    for name, make in found.items():
        start = time.monotonic()
        rows += make()
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    kept = {"runs": options.runs, "quick": options.quick, "minutes": round((time.monotonic() - begin) / 60, 1)}
    versions = machine.versions(bench.tools.paths, options.build)
    return result.Result(about, versions, kept, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="names of rows, or patterns; all but 'large' when there is none")
    parser.add_argument("--build", help="build directory with gsym and gsymfs")
    parser.add_argument("--runs", type=int, help="5, or 2 with --quick")
    parser.add_argument("--quick", action="store_true", help="a tenth of the addresses and images")
    parser.add_argument("--large", type=float, metavar="GB", help="also convert a file with that much debug data, at most 6, which takes four times as much disk")
    parser.add_argument("--file", action="append", default=[], metavar="[NAME=]PATH", help="a further large C++ file, or the input of that name")
    parser.add_argument("--list", action="store_true", help="print the names of rows")
    parser.add_argument("--save", metavar="FILE", help="keep the figures")
    parser.add_argument("--from", dest="source", metavar="FILE", help="kept figures in place of a run")
    parser.add_argument("--publish", action=argparse.BooleanOptionalAction,
                        help="write the documents: by default if all rows are measured, not --quick")
    options = parser.parse_args()
    if not (options.build or options.source):
        parser.error("--build or --from is missing")
    options.runs = options.runs or (2 if options.quick else 5)
    if options.source:
        found = result.load(options.source)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # mounts end and files are removed
        place = tempfile.mkdtemp(prefix="gsym-bench-")
        try:
            found = measured(options, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    if not found:
        return 0
    print(result.terminal(found.rows))
    if options.save:
        found.save(options.save)
    whole = not (options.rows or options.quick or options.source)
    if whole if options.publish is None else options.publish:
        report.publish(found, ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
