#!/usr/bin/env python3
"""Folds the stacks of perf: prints lines "command;outermost;...;innermost count", inlined calls included.

    perf record --call-graph dwarf program; perf buildid-list > ids
    perf script --no-inline -F comm,ip,sym,dso | perf-fold.py MOUNT ids

--no-inline keeps perf from asking addr2line, which takes long. MOUNT is where gsymfs is mounted.
Inlined calls end with "_[i]", functions of the kernel with "_[k]"; frames of images that MOUNT does not have keep the
names that perf gave them. flamegraph.py draws what this prints.
"""
import collections
import json
import os
import re
import sys

FRAME = re.compile(r"\s+([0-9a-f]+) (.*) \((.*)\)$")


def stacks(lines):
    """Yields (command, ((address, name, file), ...)) of each sample, the innermost frame first."""
    command, frames = None, []
    for line in lines:
        frame = FRAME.match(line)
        if frame and command is not None:
            frames.append(frame.groups())
        elif line.strip():
            command = line.strip()
        elif command is not None:
            yield command, tuple(frames)
            command, frames = None, []
    if command is not None:
        yield command, tuple(frames)


def ask(mount, places):
    """The names at each of @places, the outermost first; nothing where none is known."""
    with open(os.path.join(mount, "q.json"), "r+b", buffering=0) as q:
        q.write("".join(place + "\n" for place in places).encode())
        answers = q.readall().decode().splitlines()
    for place, answer in zip(places, answers):
        frames = reversed(json.loads(answer)["Symbol"])
        yield place, [f["FunctionName"] + ("_[i]" if f.get("Inlined") else "") for f in frames if f["FunctionName"]]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: perf script -F comm,ip,sym,dso | perf-fold.py MOUNT IDS")
    for stream in sys.stdin, sys.stdout:  # names may be any bytes
        stream.reconfigure(encoding="utf-8", errors="replace")
    with open(sys.argv[2], encoding="utf-8", errors="replace") as file:
        ids = dict(reversed(line.split(None, 1)) for line in file.read().splitlines())

    def place(depth, address, file):
        """A frame as q takes it. perf prints offsets in the file; those of callers are return addresses."""
        return "%s/%s %s" % (ids.get(file, "-"), "off/ra" if depth else "off", address)

    samples = collections.Counter(stacks(sys.stdin))
    wanted = {place(depth, address, file) for _, frames in samples for depth, (address, _, file) in enumerate(frames)}
    known = dict(ask(sys.argv[1], sorted(wanted)))
    folded = collections.Counter()
    for (command, frames), count in samples.items():
        names = [command]
        for depth, (address, name, file) in reversed(list(enumerate(frames))):
            names += known[place(depth, address, file)] or [name + ("_[k]" if file.startswith("[kernel") else "")]
        folded[";".join(name.replace(";", ":") for name in names)] += count
    for stack in sorted(folded):
        print(stack, folded[stack])


main()
