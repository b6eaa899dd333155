#!/usr/bin/env python3
"""What the shared library shows: the functions of gsym.h, with their versions, as debian/libgsym0.symbols lists them.

    library.py LIBRARY HEADER SYMBOLS

A function that is added goes into the list, with the version of the project that has it first. One that vanishes or
changes its version breaks programs: then the library needs another name.
"""
import re
import shutil
import subprocess
import sys


def exported(library):
    """name@version of each symbol that others can link against."""
    out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], check=True, text=True,
                         capture_output=True, timeout=300).stdout
    symbols = (line.split()[1:] for line in out.splitlines())
    return {name.replace("@@", "@") for kind, name in symbols if kind != "A"}


def declared(header):
    """Functions that the header offers."""
    with open(header, encoding="utf-8") as text:
        return set(re.findall(r"^GSYM_API [^;(]*?(\w+)\(", text.read(), re.M))


def listed(symbols):
    with open(symbols, encoding="utf-8") as text:
        lines = [line.split()[0] for line in text if line.startswith(" ")]
    return {line for line in lines if line.split("@")[0] != line.split("@")[1]}


def report(what, names):
    for name in sorted(names):
        print(f"{what}: {name}")
    return bool(names)


def main():
    library, header, symbols = sys.argv[1:]
    if not shutil.which("nm"):
        print("SKIP: no nm")
        sys.exit(77)
    ours, theirs, functions = exported(library), listed(symbols), declared(header)
    # Sanitizers add symbols of their own, without a version.
    ours = {name for name in ours if "@" in name or name.startswith("gsym_")}
    names = {name.split("@")[0] for name in ours}
    bad = report("exported, but not in the list " + symbols, ours - theirs)
    bad |= report("listed, but not exported", theirs - ours)
    bad |= report("exported, but not in gsym.h", names - functions)
    bad |= report("in gsym.h, but not exported", functions - names)
    print(f"{len(ours)} functions")
    sys.exit(bad or len(ours) < 20)


main()
