#!/usr/bin/env python3
"""Folds the stacks of perf: prints lines "command;outermost;...;innermost count", inlined calls included.

    perf record --call-graph dwarf program; perf buildid-list > ids
    perf script --no-inline --show-mmap-events --show-task-events -F comm,pid,tid,time,event,ip,sym,dso |
        perf-fold.py [--event=NAME] MOUNT ids

--no-inline keeps perf from asking addr2line, which takes long. MOUNT is where gsymfs is mounted. A recording without
call chains (perf record without -g) gives stacks of one function and what is inlined there; the mmap events tell
where in its file that is. Of several events one is counted: NAME, else the one with most samples.
Inlined calls end with "_[i]", functions of the kernel with "_[k]"; frames of images that MOUNT does not have keep the
names that perf gave them, and without a name that of their file. Comments before the stacks tell the event, the
duration, and whether there are call chains. flamegraph.py draws what this prints.
"""
import argparse
import bisect
import collections
import json
import os
import re
import sys

FRAME = re.compile(r"\t\s*([0-9a-f]+) (.*) \((.*)\)$")
HEAD = re.compile(r"\s*(.*?)\s+(?:(\d+)/-?\d+\s+)?(?:\[\d+\]\s+)?(\d+\.\d+):\s+(?:\d+\s+)?(\S+):(?:\s+(.*))?$")
ALONE = re.compile(r"([0-9a-f]+) (.*) \((.*)\)$")  # the only frame of a sample, after its head
COLUMNS = re.compile(r"\s*(.{,16}?) +([0-9a-f]{3,16}) (.*) \((.*)\)$")  # the same without time and event
MAPPED = re.compile(r"PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*")
FORKED = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
STARTED = re.compile(r"PERF_RECORD_COMM exec: .*:(\d+)/\d+$")

# @frames: (offset in the file, name, file), the innermost first.
Sample = collections.namedtuple("Sample", "command event time frames")


class Maps:
    """What is mapped in each process: perf prints addresses of call chains as offsets in files, others as they are."""

    def __init__(self):
        self.of = collections.defaultdict(list)  # process: sorted (start, end, offset)

    def note(self, line):
        """Whether the line is an event of mappings or processes."""
        if "PERF_RECORD_" not in line:
            return False
        if mapped := MAPPED.search(line):
            start, size = int(mapped[2], 16), int(mapped[3], 16)
            maps = [m for m in self.of[mapped[1]] if m[1] <= start or m[0] >= start + size]
            bisect.insort(maps, (start, start + size, int(mapped[4], 16)))
            self.of[mapped[1]] = maps
        elif forked := FORKED.search(line):
            if forked[1] != forked[2]:
                self.of[forked[1]] = list(self.of[forked[2]])
        elif started := STARTED.search(line):
            self.of.pop(started[1], None)
        return True

    def offset(self, process, address):
        """In the file that is mapped there; None if that is not known."""
        maps, value = self.of.get(process, []), int(address, 16)
        at = bisect.bisect_right(maps, (value, float("inf"), 0)) - 1
        return "%x" % (value - maps[at][0] + maps[at][2]) if at >= 0 and value < maps[at][1] else None


def samples(lines):
    """Yields the samples of perf script: of each a line, alone or followed by frames and an empty line."""
    maps, sample, has_chain = Maps(), None, False
    for line in map(str.rstrip, lines):
        frame = FRAME.match(line)
        if frame and sample:
            if not has_chain:
                sample, has_chain = sample._replace(frames=()), True
            sample = sample._replace(frames=sample.frames + (frame.groups(),))
        elif line and not frame and not maps.note(line):
            if sample:
                yield sample
            sample, has_chain = first_line(line, maps), False
    if sample:
        yield sample


def first_line(line, maps):
    if head := HEAD.match(line):
        command, process, time, event, rest = head.groups()
        alone = ALONE.match(rest or "")
        frames = ((maps.offset(process, alone[1]), alone[2], alone[3]),) if alone else ()
        return Sample(command, event, float(time), frames)
    alone = COLUMNS.match(line)
    return Sample(alone[1], None, None, ((None, alone[3], alone[4]),)) if alone else Sample(line.strip(), None, None, ())


def ask(mount, places):
    """The names at each of @places, the outermost first; nothing where none is known."""
    with open(os.path.join(mount, "q.json"), "r+b", buffering=0) as q:
        q.write("".join(place + "\n" for place in places).encode())
        answers = q.readall().decode().splitlines()
    for place, answer in zip(places, answers):
        frames = reversed(json.loads(answer)["Symbol"])
        yield place, [f["FunctionName"] + ("_[i]" if f.get("Inlined") else "") for f in frames if f["FunctionName"]]


def perf_name(name, file):
    """A frame that only perf knows."""
    if name == "[unknown]" and file.strip("[]") != "unknown":
        name = "[%s]" % os.path.basename(file).strip("[]")
    return name + ("_[k]" if file.startswith("[kernel") else "")


def of_one_event(found, wanted):
    """The samples of the event that is wanted, or that has most of them."""
    counts = collections.Counter(sample.event for sample in found)
    if wanted is None and counts:
        wanted = counts.most_common(1)[0][0]
        if len(counts) > 1:
            others = ", ".join("%d of %s" % (n, event) for event, n in counts.items() if event != wanted)
            print("perf-fold.py: %s only; not counted: %s (see --event)" % (wanted, others), file=sys.stderr)
    elif wanted is not None and wanted not in counts:
        there = ", ".join(map(str, counts)) or "none"
        sys.exit("perf-fold.py: no sample of the event '%s'; there are: %s" % (wanted, there))
    return wanted, [sample for sample in found if sample.event == wanted]


def read_ids(path):
    """{file: build id}, from perf buildid-list."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = (line.split(None, 1) for line in file.read().splitlines())
            return {words[1]: words[0] for words in lines if len(words) == 2}
    except OSError as error:
        sys.exit("perf-fold.py: %s: %s" % (path, error.strerror))


def main():
    parser = argparse.ArgumentParser(usage="perf script ... | perf-fold.py [--event=NAME] MOUNT IDS")
    parser.add_argument("--event", metavar="NAME")
    parser.add_argument("mount", metavar="MOUNT")
    parser.add_argument("ids", metavar="IDS")
    options = parser.parse_args()
    for stream in sys.stdin, sys.stdout, sys.stderr:  # names may be any bytes
        stream.reconfigure(encoding="utf-8", errors="replace")
    ids = read_ids(options.ids)
    if not os.path.exists(os.path.join(options.mount, "q.json")):
        sys.exit("perf-fold.py: %s: no gsymfs is mounted there (it has no file q.json)" % options.mount)

    def place(depth, address, file):
        """A frame as q takes it: an offset in the file; those of callers are return addresses."""
        return address and file in ids and "%s/%s %s" % (ids[file], "off/ra" if depth else "off", address)

    event, counted = of_one_event(list(samples(sys.stdin)), options.event)
    stacks = collections.Counter((sample.command, sample.frames) for sample in counted)
    wanted = {place(depth, address, file) for _, frames in stacks for depth, (address, _, file) in enumerate(frames)}
    try:
        known = dict(ask(options.mount, sorted(filter(None, wanted))))
    except OSError as error:
        sys.exit("perf-fold.py: %s: %s" % (options.mount, error.strerror))
    folded = collections.Counter()
    for (command, frames), count in stacks.items():
        names = [command]
        for depth, (address, name, file) in reversed(list(enumerate(frames))):
            names += known.get(place(depth, address, file)) or [perf_name(name, file)]
        folded[";".join(name.replace(";", ":") for name in names)] += count
    if event:
        times = [sample.time for sample in counted]
        chains = "yes" if any(len(sample.frames) > 1 for sample in counted) else "no"
        print("# event: %s\n# seconds: %.3f\n# chains: %s" % (event, max(times) - min(times), chains))
    for stack in sorted(folded):
        print(stack, folded[stack])


main()
