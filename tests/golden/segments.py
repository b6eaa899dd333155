#!/usr/bin/env python3
"""Segments answer as the whole does, at every address; and they are those of llvm-gsymutil.

    segments.py GSYM MAKE_INPUTS ELF
"""
import bisect
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import peers  # noqa: E402

ENOUGH = 20  # segments: of a file of thousands of functions there is no need to make smaller ones
TOO_SMALL = 60  # for any function

FUNCTION = re.compile(r"^FunctionInfo @ \S+ \[(\S+) - (\S+)\)", re.M)


def run(*argv, stdin=None):
    return subprocess.run([str(a) for a in argv], input=stdin, capture_output=True, text=True, timeout=300)


def output(*argv, stdin=None):
    return run(*argv, stdin=stdin).stdout


def addresses(gsym, path):
    """Around both ends of every function, in its middle, and where calls return in the inputs."""
    places = set()
    for low, high in FUNCTION.findall(output(gsym, "dump", path)):
        low, high = int(low, 16), int(high, 16)
        places |= {low - 1, low, low + 1, low + 4, (low + high) // 2, high - 1, high, high + 7}
    return sorted(places)


def answers(gsym, path, places):
    """What every body at each address is, as a list of records."""
    text = output(gsym, "lookup", "--format=gsymutil", "--merged-functions", path,
                  stdin="".join(f"{a:#x}\n" for a in places))
    records, record = [], []
    for line in text.splitlines():
        if record and (line.startswith("Found ") or ": error: " in line):
            records.append(record)
            record = []
        record.append(line)
    return records + [record]


def by_segment(starts, places):
    """Indices of places by segment: the last one that does not begin behind the place, or the first."""
    starts, groups = sorted(starts), {}
    for i, place in enumerate(places):
        groups.setdefault(starts[max(bisect.bisect_right(starts, place) - 1, 0)], []).append(i)
    return groups


def cut(gsym, path, size, directory):
    """Segments by the address in their name, or None and why there are none."""
    done = run(gsym, "segment", f"--segment-size={size}", "-o", directory / "out", path)
    paths = list(directory.iterdir())
    if done.returncode:
        assert not paths, f"{path.name}: failed and left {paths}"
        return None, done.stderr
    return {int(p.name.removeprefix("out-"), 16): p for p in paths}, ""


def compare_answers(gsym, path, segments, places, whole):
    for start, some in by_segment(segments, places).items():
        got = answers(gsym, segments[start], [places[i] for i in some])
        if got != [whole[i] for i in some]:
            print(f"not ok: {path.name}: other answers in {segments[start].name}")
            return False
    return True


def check_whole(gsym, path):
    """Ever smaller sizes, from one that makes a single segment to one that does not fit a function."""
    places, ok, counts = addresses(gsym, path), True, []
    whole = answers(gsym, path, places)
    assert len(whole) == len(places)
    size = path.stat().st_size + 1
    while ok:
        with tempfile.TemporaryDirectory() as directory:
            segments, why = cut(gsym, path, size, pathlib.Path(directory))
            if not segments:
                break
            counts.append(len(segments))
            ok = compare_answers(gsym, path, segments, places, whole)
            ok &= all(run(gsym, "verify", s).returncode == 0 for s in segments.values())
        size = size * 3 // 4 if counts[-1] < ENOUGH else TOO_SMALL
    needed = re.search(r"needs a segment of (\d+) bytes, but --segment-size is (\d+)", why)
    ok &= bool(counts) and needed is not None and int(needed[1]) > int(needed[2]) == size
    print(f"{'ok' if ok else 'not ok'}: {path.name}: {len(places)} addresses in {counts} segments; then {why.strip()}")
    return ok


def contents(directory):
    return {p.name.removeprefix("out-"): p.read_bytes() for p in directory.iterdir()}


def check_peer(gsym, peer, elf, size):
    """The same bytes as llvm's for a file whose functions all fit; llvm reads what it did not write."""
    with tempfile.TemporaryDirectory() as name:
        base = pathlib.Path(name)
        for folder in ("theirs", "ours"):
            (base / folder).mkdir()
        convert = [peer, f"--convert={elf}", "--quiet", "--num-threads=1"]
        run(*convert, f"--out-file={base / 'whole'}")
        run(*convert, f"--out-file={base / 'theirs' / 'out'}", f"--segment-size={size}")
        segments, why = cut(gsym, base / "whole", size, base / "ours")
        theirs, ours = contents(base / "theirs"), contents(base / "ours")
        ok = theirs == ours if segments else "needs a segment" in why
        for path in list((segments or {}).values())[:ENOUGH]:
            ok &= run(peer, path).returncode == 0
    what = f"{len(ours)} segments" if segments else f"refused, llvm makes {len(theirs)}"
    print(f"{'ok' if ok else 'not ok'}: llvm's segments of {size} bytes: {what}")
    return ok


def main():
    gsym, make_inputs, elf = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    peer = peers.find("llvm-gsymutil")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        subprocess.run([make_inputs, directory], check=True)
        run(gsym, "convert", "--quiet", "-o", directory / "elf.gsym", elf)
        run(gsym, "transcode", "--output-version=2", "-o", directory / "elf2.gsym", directory / "elf.gsym")
        wholes = [p for p in sorted(directory.iterdir()) if p.name != "broken.gsym"]
        results = [check_whole(gsym, path) for path in wholes]
        if peer:
            results += [check_peer(gsym, peer, elf, size) for size in (60, 150, 250, 300, 350, 400, 10000)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
