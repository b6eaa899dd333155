#!/usr/bin/env python3
"""Builds the programs of the corpus, each into a directory of its own."""
import argparse
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
TOOL_SECONDS = 120
PLAIN = "plain"  # the program before steps that LLVM's tools do not understand
PACKAGE_SECONDS = 10  # llvm-dwp, 14 to 22, never ends on gcc's DWARF 5; dwp 2.40 crashes on all DWARF 5


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


def cross_compilers():
    """The same of gcc's cross compilers; the C++ one may be missing."""
    found = {}
    for triple in [t for t, _ in matrix.MACHINES.values()] + [f"{m}-w64-mingw32" for m in matrix.WINDOWS]:
        name = f"{triple}-gcc"
        if shutil.which(name):
            found[name] = (name, name.replace("-gcc", "-g++"))
    return found


def _ending(tool, status):
    return f"{tool} ends by signal {-status}" if status < 0 else f"{tool} ends with status {status}"


def run(argv, cwd, seconds=TOOL_SECONDS, env=None):
    """Runs a tool; Unavailable tells why it could not."""
    try:
        done = subprocess.run([str(a) for a in argv], cwd=cwd, env=env, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{argv[0]} does not end in {seconds} s") from None
    except FileNotFoundError:
        raise Unavailable(f"{argv[0]} is not installed") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.split("\n") if line.strip()]
        lines = [line for line in lines if "rror" in line] or lines or [_ending(argv[0], done.returncode)]
        raise Unavailable(lines[0].strip()[:160])


class Builder:
    """Builds cells below @directory, from scratch each time."""

    def __init__(self, directory):
        self.directory = Path(directory).absolute()
        self.compilers = {**compilers(), **cross_compilers()}
        self.lld = peers.find("ld.lld")
        self.tools = self.directory / "tools"
        self.tools.mkdir(parents=True, exist_ok=True)
        link = self.tools / "ld.lld"
        if self.lld and not link.exists():
            link.symlink_to(shutil.which(self.lld))  # gcc takes ld.lld from -B, whatever the PATH's version

    def build(self, cell):
        """Path of the cell's program."""
        if cell.kind == "language":
            return self._language(cell)
        if cell.compiler not in self.compilers:
            raise Unavailable(f"{cell.compiler} is not installed")
        tools = self.compilers[cell.compiler]
        place = self.directory / cell.name
        program = place / "program"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        make = {"native": self._native, "hosted": self._hosted, "bare": self._bare,
                "object": self._object, "windows": self._windows}
        try:
            make[cell.kind](cell, *tools, place)
        except Unavailable as why:
            self._probe(cell, *tools, place)
            raise Broken(f"{cell.name}: {why}") from None
        for step in cell.after:
            STEPS[step](place)
        for left in place.glob("*.o"):
            left.unlink()
        return program

    def _language(self, cell):
        """A program in another language; not even its compiler may be here."""
        place = self.directory / cell.name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        if not shutil.which(cell.compiler):
            raise Unavailable(f"{cell.compiler} is not installed")
        LANGUAGES[cell.compiler](cell, place)
        return place / "program"

    def remove(self, cell):
        shutil.rmtree(self.directory / cell.name, ignore_errors=True)

    @staticmethod
    def _flags(cell, place):
        return [f.replace("@CWD@", str(place)) for f in cell.flags] + ["-w"]

    def _link(self, cell):
        """Options of linking; gcc may need the way to a linker."""
        return [*cell.link, *([] if cell.compiler.startswith("clang") else [f"-B{self.tools}"])]

    @staticmethod
    def _target(cell):
        """gcc is another program for each."""
        return [f"--target={cell.target}"] if cell.target and cell.compiler.startswith("clang") else []

    def _probe(self, cell, cc, cxx, place):
        """Raises Unavailable when not even an empty function builds with the cell's options."""
        source = place / "probe.c"
        source.write_text("void _start(void); void _start(void) {} int main(void) { return 0; }\n")
        target = self._target(cell)
        for compiler, of in ((cc, "c"), (cxx, "c++")):
            run([compiler, *self._flags(cell, place), *target, "-x", of, "-c", source, "-o", "probe.o"], place)
        if not cell.target:
            run([cc, *self._link(cell), *(["-m32"] if "-m32" in cell.flags else []), "-nostdlib", "probe.o", "-o",
                  "probe"], place)
        elif cell.kind == "windows":
            run([*self._windows_linker(cell, cc), "probe.o", "-o", "probe"], place)

    def _compile(self, cell, cc, cxx, place, c, cc_sources, assembly, more):
        flags = self._flags(cell, place) + more
        cxx_flags = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]
        run([cc, *flags, "-c", *[SOURCES / f"{s}.c" for s in c]], place)
        run([cxx, *flags, *cxx_flags, "-c", *[SOURCES / f"{s}.cc" for s in cc_sources]], place)
        assembler = [f for f in flags if not f.startswith("-flto")]
        run([cc, *assembler, "-c", *[SOURCES / f"{s}.S" for s in assembly]], place)
        return sorted(path.name for path in place.glob("*.o"))

    def _native(self, cell, cc, cxx, place):
        with_ifunc = "-flto" not in " ".join(cell.flags) and "mips" not in cell.compiler
        objects = self._compile(cell, cc, cxx, place, matrix.CORE, matrix.CORE_CXX, ["hand"],
                                ["-DWITH_IFUNC"] if with_ifunc else [])
        run([cxx, *self._link(cell), *objects, "-o", "program"], place)

    def _hosted(self, cell, _, cxx, place):
        run([cxx, *self._flags(cell, place), "-std=c++17", *self._link(cell), SOURCES / "hosted.cc", "-o",
              "program"], place)

    @staticmethod
    def _is_bare_windows(cell):
        """Debian's mingw has no C library for the machine."""
        return cell.target.startswith("aarch64")

    def _windows_linker(self, cell, cc):
        """With mingw's C library where it has one, which its linkers' scripts want."""
        linker = [f"-fuse-ld={shutil.which(self.lld)}"] if self._target(cell) else []
        bare = ["-nostdlib", "-Wl,-e,_start"] if self._is_bare_windows(cell) else []
        return [cc, *self._target(cell), *linker, *cell.link, *bare]

    def _windows(self, cell, cc, cxx, place):
        clang = bool(self._target(cell))
        bare = ["-DBARE", "-ffreestanding", "-fno-stack-protector"] if self._is_bare_windows(cell) else []
        if clang and not self.lld:
            raise Unavailable("ld.lld is not installed")
        sources = matrix.CORE + (("runtime",) if clang else ())
        objects = self._compile(cell, cc, cxx, place, sources, matrix.CORE_CXX, ["hand"], self._target(cell) + bare)
        run([*self._windows_linker(cell, cc), *objects, "-o", "program.exe"], place)
        os.replace(place / "program.exe", place / "program")

    def _object(self, cell, cc, _, place):
        """Only a file with one code section: in others every section of a .o begins at address 0."""
        target = [f"--target={cell.target}"] if cell.target else []
        run([cc, *self._flags(cell, place), *target, "-c", SOURCES / "statics_a.c", "-o", "program"], place)

    def _bare(self, cell, cc, cxx, place):
        more = ["-DBARE", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-fno-asynchronous-unwind-tables"]
        if cell.target:
            more.append(f"--target={cell.target}")
            if not self.lld:
                raise Unavailable("ld.lld is not installed")
        objects = self._compile(cell, cc, cxx, place, matrix.CORE + ("runtime",), matrix.CORE_CXX, ["hand"], more)
        if cell.target:
            compress = [f"--compress-debug-sections={f[4:]}" for f in cell.flags if f.startswith("-gz=")]
            run([self.lld, "--unresolved-symbols=ignore-all", "--build-id=sha1", *compress, *objects, "-o",
                  "program"], place)
        else:
            run([cc, "-m32", "-nostdlib", "-static", "-no-pie", "-Wl,--unresolved-symbols=ignore-all",
                  "-Wl,--build-id=sha1", *objects, "-o", "program"], place)


def _replace(*command):
    """A step that writes another file, which takes the program's place."""
    def step(place):
        run(command, place)
        os.replace(place / "packed", place / "program")
    return step


def package(place, tool, out="program.dwp"):
    """The .dwo files of a linked program become one package."""
    run([peers.find(tool) or tool, "-e", "program", "-o", out], place, PACKAGE_SECONDS)
    for left in place.glob("*.dwo"):
        left.unlink()


def _dwz_multi(place):
    """What two programs share moves into a third file. LLVM's tools do not follow it: they read the plain one."""
    shutil.copy(place / "program", place / "copy")
    shutil.copy(place / "program", place / PLAIN)
    run(["dwz", "-m", "shared", "-M", "shared", "program", "copy"], place)
    if not (place / "shared").exists():
        raise Unavailable("dwz -m shared nothing")


def _debug_link(place):
    """The debug data in a file of its own, and all else stripped. LLVM's tools take no symbols from that file: they
    read the program as it was."""
    shutil.copy(place / "program", place / PLAIN)
    objcopy = peers.find("llvm-objcopy")
    if not objcopy:
        raise Unavailable("llvm-objcopy is not installed")
    run([objcopy, "--only-keep-debug", "program", "program.debug"], place)
    run([objcopy, "--strip-all", "--add-gnu-debuglink=program.debug", "program"], place)


STEPS = {
    "debug-link": _debug_link,
    "dwz": _replace("dwz", "-o", "packed", "program"),
    "dwz-multi": _dwz_multi,
    "zstd": _replace("objcopy", "--compress-debug-sections=zstd", "program", "packed"),
    "keep-debug": _replace("objcopy", "--only-keep-debug", "program", "packed"),
    "strip": _replace("strip", "-o", "packed", "program"),
    "dwp": lambda place: package(place, "dwp"),
    "llvm-dwp": lambda place: package(place, "llvm-dwp"),
}


def _go(cell, place):
    """Go wants a module's folder, and a cache: here one that is gone afterwards."""
    shutil.copytree(SOURCES / "languages" / "gopkg", place / "gopkg")
    env = dict(os.environ, GOCACHE=str(place / "cache"), GOFLAGS="-buildvcs=false", GO111MODULE="on", GOPROXY="off")
    run(["go", "build", *cell.flags, "-o", place / "program", "."], place / "gopkg", env=env)
    shutil.rmtree(place / "cache", ignore_errors=True)


def _single(source, *words):
    """A compiler that makes a program of one file."""
    def make(cell, place):
        run([cell.compiler, *cell.flags, SOURCES / "languages" / source, *words], place)
    return make


LANGUAGES = {
    "rustc": _single("shapes.rs", "-o", "program"),
    "go": _go,
    "gfortran": _single("shapes.f90", "-o", "program"),
    "gnatmake": _single("shapes.adb", "-D", ".", "-o", "program"),
    "gdc": _single("shapes.d", "-o", "program"),
    "ldc2": _single("shapes.d", "-of=program"),
}


def cells(full=False, only=None):
    """The quick or the full set; @only: a part of the names wanted."""
    chosen = [c for c in matrix.all_cells(list(compilers()) or ["gcc"]) if full or c.quick]
    return [c for c in chosen if not only or only in c.name]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True, help="where the programs go")
    parser.add_argument("--full", action="store_true", help="the whole matrix")
    parser.add_argument("--only", help="only cells with this in their name")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    builder = Builder(options.dir)

    def attempt(cell):
        try:
            path = builder.build(cell)
            return f"{path.stat().st_size:9} {path}"
        except Unavailable as why:
            return f"skipped: {why}"
        except Broken as why:
            return f"broken: {why}"

    wanted = cells(options.full, options.only)
    with ThreadPoolExecutor(options.jobs) as pool:
        words = list(pool.map(attempt, wanted))
    for cell, outcome in zip(wanted, words):
        print(f"{cell.name:40} {outcome}")
    skipped = sum(outcome.startswith("skipped") for outcome in words)
    print(f"{len(words) - skipped} programs, {skipped} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
