"""Finding and running the programs that tests compare with, and our own.

A tool is looked for in the environment first (GSYM=..., LLVM_SYMBOLIZER=...), then with version suffixes
from the newest to the oldest, then without one. A test that misses a tool ends with SKIP and says which.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIP = 77  # what meson takes as "skipped"
LLVM_VERSIONS = range(29, 13, -1)
TIMES_SLOWER = int(os.environ.get("TIMES_SLOWER", "1"))  # than a processor is what runs our programs: set by tests/hosts/run


def skip(why):
    """Ends the test as skipped; tests/run prints the reason."""
    print(f"SKIP: {why}")
    sys.exit(SKIP)


def find(tool, versions=LLVM_VERSIONS):
    """Path of @tool (newest version first), or None."""
    named = os.environ.get(tool.upper().replace("-", "_"))
    if named:
        return named
    for version in versions:
        for place in (None, f"/usr/lib/llvm-{version}/bin"):
            name = f"{tool}-{version}" if place is None else tool
            path = shutil.which(name, path=place)
            if path:
                return path
    return shutil.which(tool)


def need(tool, package):
    """Like find(), but a missing tool skips the whole test."""
    path = find(tool)
    if not path:
        skip(f"{tool} is not installed (Debian package {package})")
    return path


def gsym_program(argument=None):
    """The program under test: an argument, $GSYM, or what the PATH has."""
    path = argument or os.environ.get("GSYM") or shutil.which("gsym")
    if not path or not os.access(path, os.X_OK):
        skip(f"the gsym program is not there ({path or 'set GSYM=PATH or give --gsym'})")
    return str(Path(path).absolute())


def reads_gzip():
    """Whether the program under test was built with ISA-L, as its build says."""
    return os.environ.get("HAVE_ISAL") != "0"


def is_32_bit(program):
    """Of an ELF program, whether it is for a 32-bit machine."""
    with open(program, "rb") as f:
        return f.read(5)[4] == 1


def version_of(tool):
    """Major version a tool prints, or 0."""
    if not tool:
        return 0
    text = subprocess.run([tool, "--version"], capture_output=True, text=True, errors="replace").stdout
    found = re.search(r"version (\d+)", text)
    return int(found.group(1)) if found else 0


def run(argv, stdin=None, timeout=600, check=True, **options):
    """Runs a command to its end and gives its standard output as text; a failure shows the whole command."""
    done = subprocess.run([str(a) for a in argv], input=stdin, capture_output=True, text=True,
                          errors="surrogateescape", timeout=timeout * TIMES_SLOWER, **options)
    if check and done.returncode != 0:
        command = " ".join(str(a) for a in argv)
        raise RuntimeError(f"exit {done.returncode}: {command}\n{done.stderr.strip()[-2000:]}")
    return done.stdout


def limited(memory_mib=None, cpu_seconds=None):
    """What a command is put after to run without core files, and with limits. Not preexec_fn: with one, subprocess copies
    the page tables of this process for each command, which takes longer than a short one runs."""
    return ["prlimit", "--core=0", *([f"--as={memory_mib << 20}"] if memory_mib else []),
            *([f"--cpu={cpu_seconds}:{cpu_seconds + 1}"] if cpu_seconds else [])]
