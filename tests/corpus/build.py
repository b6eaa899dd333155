#!/usr/bin/env python3
"""Builds the programs of the corpus, each into a directory of its own, and keeps what is up to date."""
import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402
from corpus import cells as matrix  # noqa: E402

SOURCES = HERE / "sources"


class Unavailable(Exception):
    """This machine's tools cannot build the cell; the text says why."""


class Broken(Exception):
    """The tools could, but the sources do not build: a fault of the corpus."""


def compilers():
    """Name -> (C compiler, C++ compiler) of what is installed: gcc first, the newest clang last."""
    found = {}
    if shutil.which("gcc") and shutil.which("g++"):
        found["gcc"] = ("gcc", "g++")
    clangs = {}
    for name in ["clang"] + [f"clang-{n}" for n in peers.LLVM_VERSIONS]:
        if shutil.which(name) and shutil.which(name.replace("clang", "clang++")):
            clangs[peers.version_of(name)] = name
    for version in sorted({min(clangs), max(clangs)} if clangs else ()):
        found[f"clang-{version}"] = (clangs[version], clangs[version].replace("clang", "clang++"))
    return found


def _run(argv, cwd):
    done = subprocess.run([str(a) for a in argv], cwd=cwd, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        lines = [line for line in done.stderr.split("\n") if line.strip()]
        lines = [line for line in lines if "rror" in line] or lines or ["failed without a message"]
        raise Unavailable(lines[0].strip()[:160])


def _digest(cell, tools):
    """Changes with the sources, the options and the compiler's version."""
    h = hashlib.sha256(repr((cell, [_version(t) for t in tools])).encode())
    for path in sorted(SOURCES.rglob("*")):
        if path.is_file():
            h.update(path.read_bytes())
    for script in (HERE / "cells.py", HERE / "build.py"):
        h.update(script.read_bytes())
    return h.hexdigest()


def _version(tool):
    return subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.split("\n")[0]


class Builder:
    def __init__(self, directory):
        self.directory = Path(directory).absolute()
        self.compilers = compilers()
        self.lld = peers.find("ld.lld")

    def build(self, cell):
        """Path of the cell's program, built when it is not there yet."""
        if cell.compiler not in self.compilers:
            raise Unavailable(f"{cell.compiler} is not installed")
        tools = self.compilers[cell.compiler]
        place = self.directory / cell.name
        program, stamp = place / "program", place / "stamp"
        digest = _digest(cell, tools)
        if program.exists() and stamp.exists() and stamp.read_text() == digest:
            return program
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        make = {"native": self._native, "hosted": self._hosted, "bare": self._bare,
                "object": self._object}
        try:
            make[cell.kind](cell, *tools, place)
        except Unavailable as why:
            self._probe(cell, *tools, place)
            raise Broken(f"{cell.name}: {why}") from None
        for step in cell.after:
            self._after(step, place)
        for left in place.glob("*.o"):
            left.unlink()
        stamp.write_text(digest)
        return program

    @staticmethod
    def _flags(cell, place):
        return [f.replace("@CWD@", str(place)) for f in cell.flags] + ["-w"]

    def _probe(self, cell, cc, _, place):
        """Raises Unavailable when not even an empty function builds with the cell's options."""
        source = place / "probe.c"
        source.write_text("void _start(void); void _start(void) {}\n")
        target = [f"--target={cell.target}"] if cell.target else []
        _run([cc, *self._flags(cell, place), *target, "-c", source, "-o", "probe.o"], place)
        if not cell.target:
            _run([cc, *cell.link, *(["-m32"] if "-m32" in cell.flags else []), "-nostdlib", "probe.o", "-o",
                  "probe"], place)

    def _compile(self, cell, cc, cxx, place, c, cc_sources, assembly, more):
        flags = self._flags(cell, place) + more
        cxx_flags = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]
        _run([cc, *flags, "-c", *[SOURCES / f"{s}.c" for s in c]], place)
        _run([cxx, *flags, *cxx_flags, "-c", *[SOURCES / f"{s}.cc" for s in cc_sources]], place)
        assembler = [f for f in flags if not f.startswith("-flto")]
        _run([cc, *assembler, "-c", *[SOURCES / f"{s}.S" for s in assembly]], place)
        return sorted(path.name for path in place.glob("*.o"))

    def _native(self, cell, cc, cxx, place):
        objects = self._compile(cell, cc, cxx, place, matrix.CORE, matrix.CORE_CXX, ["hand"],
                                ["-DWITH_IFUNC"] if "-flto" not in " ".join(cell.flags) else [])
        _run([cxx, *cell.link, *objects, "-o", "program"], place)

    def _hosted(self, cell, _, cxx, place):
        _run([cxx, *self._flags(cell, place), "-std=c++17", *cell.link, SOURCES / "hosted.cc", "-o",
              "program"], place)

    def _object(self, cell, cc, _, place):
        """Only a file with one code section: in others every section of a .o begins at address 0."""
        _run([cc, *self._flags(cell, place), "-c", SOURCES / "statics_a.c", "-o", "program"], place)

    def _bare(self, cell, cc, cxx, place):
        more = ["-DBARE", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-fno-asynchronous-unwind-tables"]
        if cell.target:
            more.append(f"--target={cell.target}")
            if not self.lld:
                raise Unavailable("ld.lld is not installed")
        objects = self._compile(cell, cc, cxx, place, matrix.CORE + ("runtime",), matrix.CORE_CXX, ["hand"], more)
        if cell.target:
            compress = [f"--compress-debug-sections={f[4:]}" for f in cell.flags if f.startswith("-gz=")]
            _run([self.lld, "--unresolved-symbols=ignore-all", "--build-id=sha1", *compress, *objects, "-o",
                  "program"], place)
        else:
            _run([cc, "-m32", "-nostdlib", "-static", "-no-pie", "-Wl,--unresolved-symbols=ignore-all",
                  "-Wl,--build-id=sha1", *objects, "-o", "program"], place)

    def _after(self, step, place):
        if step == "dwz":
            if not shutil.which("dwz"):
                raise Unavailable("dwz is not installed")
            _run(["dwz", "-o", "packed", "program"], place)
        elif step == "zstd":
            _run(["objcopy", "--compress-debug-sections=zstd", "program", "packed"], place)
        elif step == "keep-debug":
            _run(["objcopy", "--only-keep-debug", "program", "packed"], place)
        elif step == "strip":
            _run(["strip", "-o", "packed", "program"], place)
        os.replace(place / "packed", place / "program")


def build_all(directory, full=False, only=None, jobs=2):
    """([(cell, path)], [(cell, why not)]) for the quick or the full set; @only: part of the names wanted."""
    builder = Builder(directory)
    wanted = [c for c in matrix.all_cells(list(builder.compilers)) if full or c.quick]
    if only:
        wanted = [c for c in wanted if only in c.name]

    def attempt(cell):
        try:
            return cell, builder.build(cell), None
        except Unavailable as why:
            return cell, None, str(why)

    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(attempt, wanted))
    return [(c, p) for c, p, _ in results if p], [(c, why) for c, p, why in results if not p]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True, help="where the programs go")
    parser.add_argument("--full", action="store_true", help="the whole matrix")
    parser.add_argument("--only", help="only cells with this in their name")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    built, skipped = build_all(options.dir, options.full, options.only, options.jobs)
    for cell, path in built:
        print(f"{cell.name:40} {path.stat().st_size:9} {path}")
    for cell, why in skipped:
        print(f"{cell.name:40} skipped: {why}")
    print(f"{len(built)} programs, {len(skipped)} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
