#!/usr/bin/env python3
"""Compares gsym as addr2line, llvm-addr2line and llvm-symbolizer with the original programs, answer for answer.

Addresses are random bytes inside functions. GNU's discriminators are left out, and where functions are declared: LLVM loses
files that gcc writes in the abbreviations, and ours does not read declarations of other units, as link-time optimization has
them. What differs after that is one of these:

    name   another name for the same places: an alias, a demangler's spelling, GNU's name for inlined code
    path   the same names and lines with another spelling of a file's path
    place  another line, or other frames
    column another column, discriminator or start

A table shows how many of the answers each class has, and the seconds that both took. What may differ is told by the manual
pages gsym-addr2line(1) and gsym-symbolizer(1); LIMITS below holds the numbers to that.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402
from corpus import realfiles, sample  # noqa: E402

MATRIX = {
    "addr2line": ("-a", "-afi", "-afis", "-pafC"),
    "llvm-addr2line": ("-as", "-afi", "-pafiC"),
    "llvm-symbolizer": ("-a", "-a --no-inlines", "-a --functions=none", "-a --functions=short", "-ps --no-demangle -a",
                        "-a --output-style=GNU --no-inlines", "--output-style=JSON"),
}
KERNEL_MATRIX = {"addr2line": ("-afi",), "llvm-addr2line": ("-afi",), "llvm-symbolizer": ("-a", "--output-style=JSON")}
# How many of 1,000 answers may be of a class: by program, then for short names, which are those of the debug information.
LIMITS = {"addr2line": {"name": 270, "path": 600, "place": 60}, "llvm-addr2line": {"name": 60, "path": 0, "place": 0, "column": 0},
          "llvm-symbolizer": {"name": 60, "path": 0, "place": 0, "column": 0}, "short": {"name": 520, "path": 0, "place": 0}}

_DETAIL = re.compile(r':\d+:(\d+)$|\(discriminator (\d+)\)$|"(?:Column|Discriminator|StartAddress)":"?(\w*)', re.M)
_DISCRIMINATOR = re.compile(r" \(discriminator \d+\)$", re.M)
_DECLARED = re.compile(r'"StartFileName":"[^"]*"|"StartLine":\d+')
_ANSWER = re.compile(r'^(?=0x[0-9a-f]+(?::|$)|\{"Address")', re.M)
_PLACE = re.compile(r'^(?:.* at )?([^\n]*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?$|"FileName":"([^"]*)"|"Line":(\d+)', re.M)

PROGRAM = """
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace shapes {
template <class T> struct box { T value; T get() const { return value + 1; } };
static inline int twice(int x) { return 2 * x; }
__attribute__((noinline)) int area(int x) { return twice(x) + box<int>{x}.get(); }
struct base { virtual ~base() {} virtual int id() const = 0; };
struct leaf : base { int id() const override { return 7; } };
}
int main(int argc, char **) {
	std::map<std::string, int> names;
	std::vector<int> values;
	for (int i = 0; i < argc + 3; i++) { values.push_back(shapes::area(i)); names[std::to_string(i)] = i; }
	std::sort(values.begin(), values.end(), [](int a, int b) { return a > b; });
	shapes::leaf leaf;
	printf("%d %zu %d\\n", values[0], names.size(), static_cast<shapes::base &>(leaf).id());
}
"""


def normal(tool, text):
    return _DISCRIMINATOR.sub("", text) if tool == "addr2line" else _DECLARED.sub("", text)


def places(answer):
    """Files and lines of an answer."""
    return [(m[1] or m[3] or "", m[2] or m[4] or "") for m in _PLACE.finditer(answer)]


def classify(mine, other):
    if mine == other:
        return "same"
    ours, theirs = places(mine), places(other)
    if ours == theirs:
        return "name" if _DETAIL.findall(mine) == _DETAIL.findall(other) else "column"
    if [(os.path.basename(file), line) for file, line in ours] == [(os.path.basename(file), line) for file, line in theirs]:
        return "path"
    return "place"


def ask(tool, argv, text, env):
    start = time.monotonic()
    done = subprocess.run(argv, input=text, stdout=subprocess.PIPE, env=env, text=True, errors="replace", timeout=600, check=True)
    return _ANSWER.split(normal(tool, done.stdout))[1:], time.monotonic() - start


def faults_of(what, tool, options, counts, total):
    limits = LIMITS["short" if "short" in options else tool]
    return [f"{what}: {counts[kind]} of {total} differ in {kind}, more than {most} of 1,000"
            for kind, most in limits.items() if counts[kind] * 1000 > most * total]


def compare(name, path, tools, matrix, count, env, examples):
    """Prints the table of one file; gives the faults."""
    addresses = sample.inside_functions(path, count, 1)
    text = "".join(f"{a:#x}\n" for a in addresses)
    faults = []
    print(f"{name}: {len(addresses)} addresses\n{'':4}{'program and options':58}{'same':>7}{'name':>6}{'path':>6}{'place':>7}{'column':>7}"
          f"{'theirs s':>10}{'ours s':>8}")
    for tool, rows in matrix.items():
        for options in rows if tool in tools else ():
            original, own = tools[tool]
            argv = ["-e", str(path), *options.split()]
            theirs, their_time = ask(tool, [original, *argv], text, env)
            ours, our_time = ask(tool, [own, *argv], text, env)
            what = f"{name}: {tool} {options}"
            if not len(ours) == len(theirs) == len(addresses):
                faults.append(f"{what}: {len(ours)} and {len(theirs)} answers for {len(addresses)} addresses")
                continue
            kinds = [classify(*pair) for pair in zip(ours, theirs)]
            counts = Counter(kinds)
            print(f"{'':4}{tool + ' ' + options:58}{counts['same']:7}{counts['name']:6}{counts['path']:6}{counts['place']:7}{counts['column']:7}"
                  f"{their_time:10.2f}{our_time:8.2f}", flush=True)
            for kind in ("name", "path", "place", "column"):
                shown = [pair for pair, its in zip(zip(ours, theirs), kinds) if its == kind][:examples]
                for mine, other in shown:
                    print(f"{'':8}{kind}: ours   {mine!r}\n{'':8}{'':{len(kind)}}  theirs {other!r}")
            faults += faults_of(what, tool, options, counts, len(addresses))
    return faults


def own_program(directory):
    source = Path(directory, "shapes.cc")
    source.write_text(PROGRAM)
    subprocess.run(["c++", "-g", "-O2", "-o", source.with_suffix(""), source], check=True)
    return str(source.with_suffix(""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="object files; else libc, libstdc++, Python and a C++ program")
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--count", type=int, default=3000, help="addresses of a file")
    parser.add_argument("--examples", type=int, default=0, help="shown of each class")
    parser.add_argument("--kernel", action="store_true", help="vmlinux in place of the others")
    options = parser.parse_args()
    gsym = os.path.abspath(peers.gsym_program(options.gsym))
    with tempfile.TemporaryDirectory(prefix="gsym-symbolizer-") as directory:
        originals = {"addr2line": "/usr/bin/addr2line", "llvm-addr2line": peers.need("llvm-addr2line", "llvm-22"),
                     "llvm-symbolizer": peers.need("llvm-symbolizer", "llvm-22")}
        tools = {}
        for name, original in originals.items():
            os.symlink(gsym, os.path.join(directory, name))
            if os.path.exists(original) or "/" not in original:
                tools[name] = (original, os.path.join(directory, name))
        env = {**os.environ, "GSYMFS_CACHE": os.path.join(directory, "cache"), "GSYMFS_MOUNT": directory, "LC_ALL": "C.UTF-8"}
        if options.files:
            chosen = [(Path(f).name, f) for f in options.files]
        elif options.kernel:
            chosen = [("vmlinux", realfiles.kernel())]
        else:
            wanted = ("libc", "libstdc++", "python3.11")
            chosen = [(name, path) for name, _, path in realfiles.real_files() if name in wanted]
            chosen.append(("a C++ program", own_program(directory)))
        chosen = [(name, path) for name, path in chosen if path]
        if not chosen:
            peers.skip("the debug files are not installed")
        matrix = KERNEL_MATRIX if options.kernel else MATRIX
        faults = []
        for name, path in chosen:
            subprocess.run([tools["llvm-symbolizer"][1], "-e", path, "0"], env=env, stdout=subprocess.DEVNULL, check=True)
            faults += compare(name, path, tools, matrix, options.count, env, options.examples)
    for fault in faults:
        print(f"FAIL {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
