#!/usr/bin/env python3
"""What `gsym convert` shows while it runs: a line on a terminal, nothing elsewhere.

    progress.py GSYM

Takes a kernel with debug data, because what is done within a tenth of a second shows nothing.
"""
import glob
import os
import pty
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"reading unit (\d+) of (\d+), ([\d.]+) of ([\d.]+) MB\x1b\[K")


def on_terminal(argv):
    """What a program writes to a terminal that is its standard error, and its status."""
    try:
        leader, follower = pty.openpty()
    except OSError as error:
        print(f"SKIP: no terminal can be had here: {error}")
        sys.exit(77)
    process = subprocess.Popen(argv, stderr=follower)
    os.close(follower)
    said = b""
    try:
        while data := os.read(leader, 4096):
            said += data
    except OSError:  # the other side is closed
        pass
    os.close(leader)
    return said.decode(), process.wait(300)


def main():
    kernels = glob.glob("/usr/lib/debug/boot/vmlinux-*")
    if not kernels:
        print("SKIP: no kernel with debug data")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        argv = [sys.argv[1], "convert", "--num-threads=1", kernels[0], "-o", os.path.join(directory, "out")]
        said, status = on_terminal(argv)
        quiet = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=True).stderr
    shown = [[float(n) for n in match] for match in LINE.findall(said)]
    grows = all(a[0] < b[0] and a[2] < b[2] for a, b in zip(shown, shown[1:]))
    whole = {(row[1], row[3]) for row in shown}
    good = status == 0 and shown and grows and len(whole) == 1 and all(row[2] <= row[3] for row in shown)
    good = good and "reading unit" not in quiet and "\r\x1b[K" in said
    print(f"{len(shown)} lines, status {status}" if good else f"shown: {said!r}\nnot on a terminal: {quiet!r}")
    sys.exit(not good)


main()
