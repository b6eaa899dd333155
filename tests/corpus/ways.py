#!/usr/bin/env python3
"""One program, its debug data kept in every way there is: all must give the same answers.

The plain program is converted and asked for the edges of every function and inlined range and for every row. Then
the debug data is compressed, packed by dwz, stripped off into a file that is found by .gnu_debuglink or by build
id, or compiled into .dwo files and packed into a .dwp. `gsym lookup` must print the same text for every address.
The ways that compile again must give the same code at the same addresses; otherwise the test says so and fails.
"""
import argparse
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, peers  # noqa: E402
from lib.elf import Elf  # noqa: E402
from corpus import build, cells  # noqa: E402


def run(place, *argv):
    build.run(argv, place)


# ---- Ways that begin with the plain program: each gives the options of `gsym convert`, the file last. ----

def compressed(how):
    def make(place):
        run(place, "objcopy", f"--compress-debug-sections={how}", "program", how)
        return [place / how]
    return make


def stripped(place, name):
    """The program without symbols and debug data, and a file with nothing else."""
    folder = place / name
    folder.mkdir()
    run(place, "objcopy", "--only-keep-debug", "program", folder / "program.debug")
    run(place, "strip", "-o", folder / "program", "program")
    return folder


def debug_link(place):
    folder = stripped(place, "link")
    run(folder, "objcopy", "--add-gnu-debuglink=program.debug", "program")
    return [folder / "program"]


def debug_link_in_subfolder(place):
    folder = stripped(place, "sublink")
    run(folder, "objcopy", "--add-gnu-debuglink=program.debug", "program")
    (folder / ".debug").mkdir()
    (folder / "program.debug").rename(folder / ".debug" / "program.debug")
    return [folder / "program"]


def build_id_tree(place):
    folder = stripped(place, "tree")
    build_id = Elf(place / "program").build_id()
    if not build_id:
        raise build.Unavailable("the linker writes no build id")
    target = folder / "debug" / ".build-id" / build_id[:2]
    target.mkdir(parents=True)
    (folder / "program.debug").rename(target / f"{build_id[2:]}.debug")
    return [f"--debug-dir={folder / 'debug'}", folder / "program"]


def dwz_single(place):
    run(place, "dwz", "-o", "dwz", "program")
    return [place / "dwz"]


def dwz_shared(place, name):
    """A folder where two files share a third; the copy has another name only."""
    folder = place / name
    folder.mkdir()
    for file in ("program", "copy"):
        shutil.copy(place / "program", folder / file)
    run(folder, "dwz", "-m", "shared", "-M", "shared", "program", "copy")
    if not (folder / "shared").exists():
        raise build.Unavailable("dwz -m shared nothing")
    return folder


def dwz_multi(place):
    return [dwz_shared(place, "multi") / "program"]


def dwz_multi_debug_file(place):
    """What Debian ships: a debug file, which shares with others through .dwz."""
    folder = dwz_shared(place, "multi-link")
    run(folder, "objcopy", "--only-keep-debug", "program", "program.debug")
    run(folder, "strip", "program")
    run(folder, "objcopy", "--add-gnu-debuglink=program.debug", "program")
    return [folder / "program"]


PACKED = {
    "zlib": compressed("zlib"),
    "zlib-gnu": compressed("zlib-gnu"),
    "zstd": compressed("zstd"),
    "debug link": debug_link,
    "debug link, .debug/": debug_link_in_subfolder,
    "build-id tree": build_id_tree,
    "dwz": dwz_single,
    "dwz -m": dwz_multi,
    "dwz -m, debug link": dwz_multi_debug_file,
}


# ---- Ways that compile again: flags, then what becomes of the linked program. ----

def packaged(tool):
    def make(place):
        build.package(place, tool)
        return [place / "program"]
    return make


def as_it_is(place):
    return [place / "program"]


def stripped_package(place):
    """The package is found beside a stripped program."""
    folder = debug_link(place).pop().parent
    build.package(place, "llvm-dwp", folder / "program.dwp")
    return [folder / "program"]


AGAIN = {
    "-gz=zlib": (["-gz=zlib"], as_it_is),
    ".dwo": (["-gsplit-dwarf"], as_it_is),
    ".dwo, -gz=zlib": (["-gsplit-dwarf", "-gz=zlib"], as_it_is),
    ".dwp by dwp": (["-gsplit-dwarf"], packaged("dwp")),
    ".dwp by llvm-dwp": (["-gsplit-dwarf"], packaged("llvm-dwp")),
    ".dwp, debug link": (["-gsplit-dwarf"], stripped_package),
    "type units": (["-fdebug-types-section"], as_it_is),
    "type units, .dwo": (["-fdebug-types-section", "-gsplit-dwarf"], as_it_is),
}


class Program:
    """The corpus by one compiler and DWARF version, and the plain one's answers."""

    def __init__(self, builder, gsym, compiler, version, directory):
        self.builder, self.gsym, self.compiler, self.version = builder, gsym, compiler, version
        self.directory = Path(directory)
        self.name = f"{compiler} DWARF {version}"
        self.plain = self.build("plain", [])
        gsym_file = self.convert("plain", [self.plain / "program"])
        functions, rows, inlines = frames.tables(gsym_file, gsym)
        edges = {e for a, b in functions + inlines for e in (a, (a + b) // 2, b - 1, b)}
        self.elf = Elf(self.plain / "program")
        symbols = {s.addr for s in self.elf.functions() + self.elf.labels()}
        self.addresses = sorted(edges | set(rows) | symbols)
        self.answers = self.ask(gsym_file)

    def build(self, name, flags):
        """Folder of the linked program; all are compiled in one and the same, whose path is in the debug data."""
        cell = cells.Cell("program", self.compiler, cells.base_flags("O2", self.version) + flags,
                          ["-Wl,--build-id=sha1"])
        place = self.builder.build(cell).parent
        folder = self.directory / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place, folder)
        return folder

    def convert(self, way, arguments):
        out = self.directory / f"{way.replace('/', '_')}.gsym"
        peers.run([self.gsym, "convert", "--quiet", "--debug-dir=/nowhere", *arguments, "-o", out])
        return out

    def ask(self, gsym_file):
        out = peers.run([self.gsym, "lookup", gsym_file], stdin="".join(f"{a:#x}\n" for a in self.addresses))
        records = out.removesuffix("\n\n").split("\n\n")
        if len(records) != len(self.addresses):
            raise RuntimeError(f"{len(records)} answers for {len(self.addresses)} addresses")
        return records

    def same_code(self, program):
        """Whether another program has the same bytes at the same places."""
        def code(elf):
            return [(s.name, s.addr, elf.data[s.offset:s.offset + s.size]) for s in elf.code_sections()]
        return code(Elf(program)) == code(self.elf)

    def compare(self, way, arguments):
        """[(address, plain answer, this answer)] of those that differ."""
        return [difference for difference in zip(self.addresses, self.answers, self.ask(self.convert(way, arguments)))
                if difference[1] != difference[2]]


def attempt(program, way, make):
    """(way, words for the table, differences or None, fault or None)."""
    try:
        differences = program.compare(way, make())
    except build.Unavailable as why:
        return way, f"skipped: {why}", None
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as why:
        return way, f"FAIL {why}", []
    count = len(program.addresses)
    return way, f"{count - len(differences):6} of {count:6} the same{' FAIL' if differences else ''}", differences


def again(program, way):
    flags, finish = AGAIN[way]

    def make():
        folder = program.build(way.replace("/", "_").replace(" ", "-"), flags)
        if not program.same_code(folder / "program"):
            raise RuntimeError(f"{' '.join(flags)} changes the code: nothing to compare")
        return finish(folder)
    return make


def all_ways(gsym, compiler, version, examples):
    """The lines of the table, how many ways agree, fail and are skipped."""
    lines, counts = [], {"same": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="gsym-ways-") as directory:
        try:
            program = Program(build.Builder(f"{directory}/build"), gsym, compiler, version, directory)
        except build.Unavailable as why:
            return [f"{compiler} DWARF {version}: skipped: {why}"], {"same": 0, "failed": 0, "skipped": 1}
        outcomes = [attempt(program, way, lambda m=make: m(program.plain)) for way, make in PACKED.items()]
        outcomes += [attempt(program, way, again(program, way)) for way in AGAIN]
    for way, words, differences in outcomes:
        lines.append(f"{program.name:18} {way:22} {words}")
        for address, plain, this in (differences or [])[:examples]:
            lines.append(f"    {address:#x}\n        plain: {plain}\n        this:  {this}")
        failed = "FAIL" in words
        counts["skipped" if differences is None else "failed" if failed else "same"] += 1
    return lines, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--only", help="only compilers with this in their name")
    parser.add_argument("--examples", type=int, default=2, help="differences shown of each way")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="each compiler with each version of DWARF")
    options = parser.parse_args()
    gsym = peers.gsym_program(options.gsym)
    found = build.compilers()
    chosen = [c for c in dict.fromkeys([*list(found)[:1], *list(found)[-1:]]) if not options.only or options.only in c]
    if not chosen:
        peers.skip("no compiler")
    tasks = [(compiler, version) for turn, compiler in enumerate(chosen)
             for version in ((4, 5) if options.full else (5 - turn % 2,))]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda t: all_ways(gsym, *t, options.examples), tasks))
    total = {kind: sum(counts[kind] for _, counts in results) for kind in ("same", "failed", "skipped")}
    for lines, _ in results:
        print("\n".join(lines))
    print(", ".join(f"{count} {kind}" for kind, count in total.items()))
    if not total["same"] and not total["failed"]:
        peers.skip("nothing could be built")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
