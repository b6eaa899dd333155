"""Files to convert: of each kind some that real compilers made, which every host must convert to the same bytes."""
import glob
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from corpus import build, cells  # noqa: E402
from lib import make_elf  # noqa: E402
from lib.formats import FORMATS  # noqa: E402

# Programs of the corpus; {clang} is the newest one.
CELLS = ("gcc-O2-dwarf2", "gcc-O2-dwarf4", "gcc-O2-dwarf5", "gcc-O0-dwarf5-64", "gcc-O2-dwarf5-zlib", "gcc-split4", "gcc-split5",
         "gcc-dwp4", "gcc-dwz5", "gcc-type-units5", "gcc-stripped", "gcc-object", "gcc-hosted-O2-dwarf5", "{clang}-split5",
         "{clang}-hosted-O2-dwarf5", "aarch64_be-O2-dwarf5", "mips-O0-dwarf4", "gcc-powerpc64-O2-dwarf4",
         "windows-gcc-x86_64-O2-dwarf5", "go", "rust-3-2-v0")
INSTALLED = {"python": "/usr/lib/debug/.build-id/*/*.debug", "kernel module": "/usr/lib/debug/lib/modules/*/kernel/fs/*/*.ko"}
MODEST = range(256 << 10, 4 << 20)  # bytes of an installed file: emulation takes thirty times as long
SPARSE = 5 << 30  # bytes
# Of the seeds of fuzz targets, which are made by compilers, linkers and hand: those that are files to convert.
SEEDS = (*(row.reader for row in FORMATS), "golang")


def corpus(directory, jobs):
    """[(name, path)] of cells that this host's tools can build."""
    builder = build.Builder(directory)
    names = list(build.compilers())
    wanted = {name.format(clang=names[-1]) for name in CELLS}

    def one(cell):
        try:
            return cell.name, builder.build(cell)
        except (build.Unavailable, build.Broken) as why:
            print(f"left out: {cell.name}: {why}")
            return None

    with ThreadPoolExecutor(jobs) as pool:
        return [row for row in pool.map(one, (cell for cell in cells.all_cells(names) if cell.name in wanted)) if row]


def installed():
    """(name, path) of files of packages."""
    for name, pattern in INSTALLED.items():
        paths = [path for path in sorted(glob.glob(pattern)) if os.path.getsize(path) in MODEST]
        if paths:
            yield name, Path(paths[0])
        else:
            print(f"left out: {name}: no file {pattern}")


def seeds(directory):
    for kind in SEEDS:
        for path in sorted((directory / kind).glob("*")):
            yield f"seed {kind}/{path.name}", path


def large(path):
    """An ELF file whose symbols lie beyond 5 GB of nothing."""
    made = make_elf.Maker(make_elf.EM_X86_64)
    made.add(".text", make_elf.CODE, 0x1000, bytes(0x100))
    made.add_symbols(".symtab", [("first", 0x1000, 0x80, make_elf.STT_FUNC, ".text")])
    data = made.file()
    path.write_bytes(data)
    os.truncate(path, SPARSE)
    return path


def compressed(directory, path):
    """The same file as .xz and .gz are."""
    for tool, ending in (("xz", "xz"), ("gzip", "gz")):
        packed = directory / f"packed.{ending}"
        with open(packed, "wb") as out:
            if subprocess.run([tool, "-c", path], stdout=out).returncode == 0:
                yield f"compressed by {tool}", packed


def collect(directory, seed_directory, jobs):
    """[(name, path)] of everything but the file that is too large for some."""
    found = [*corpus(directory / "corpus", jobs), *installed()]
    found += compressed(directory, dict(found)["gcc-O2-dwarf5"]) if "gcc-O2-dwarf5" in dict(found) else ()
    return found + list(seeds(seed_directory))
