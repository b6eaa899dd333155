#!/usr/bin/env python3
"""C sources keep to .clang-format: no line beyond its limit, and no difference to what clang-format 14 writes.

    format.py ROOT

Other versions of clang-format break lines elsewhere, so without version 14 (Debian 12) only the length of lines is checked.
Sources below tests/ whose line numbers tests expect are left as they are (DisableFormat in their folder's .clang-format).
"""
import os
import re
import shutil
import subprocess
import sys

TOPS = ("gsym", "log", "work", "convert", "store", "fs", "cli", "tests", "examples")
# Compiled or copied as they are: where their lines break is part of what they are for.
AS_WRITTEN = {"tests/golden/calls.c", "tests/golden/input.c", "tests/examples/program.c"}
VERSION = "14"
TAB = 8


def sources(root):
    for top in TOPS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [f for f in folders if os.path.join(folder, f) != os.path.join(root, "tests/corpus/sources")]
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith((".c", ".h")):
                    yield path


def limit(root):
    text = open(os.path.join(root, ".clang-format"), encoding="utf-8").read()
    return int(re.search(r"^ColumnLimit: (\d+)", text, re.M).group(1))


def long_lines(root, paths, most):
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                size = len(line.rstrip("\n").expandtabs(TAB))
                if size > most:
                    yield f"{path}:{number}: {size} columns, the limit is {most}"


def clang_format():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program and f"version {VERSION}." in subprocess.run([program, "--version"], capture_output=True, text=True).stdout:
            return program
    return None


def differences(root, paths, program):
    paths = [path for path in paths if path not in AS_WRITTEN]
    result = subprocess.run([program, "--dry-run", "--ferror-limit=1", *paths], cwd=root, capture_output=True, text=True)
    return re.findall(r"^(\S+:\d+):\d+: warning: code should be clang-formatted", result.stderr, re.M)


def main():
    root = sys.argv[1]
    paths = list(sources(root))
    complaints = list(long_lines(root, paths, limit(root)))
    program = clang_format()
    if program:
        complaints += [f"{place}: not as clang-format writes it" for place in differences(root, paths, program)]
    else:
        print(f"SKIP: no clang-format {VERSION}: only the length of lines is checked")
    for complaint in complaints:
        print("format:", complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
