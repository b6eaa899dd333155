"""Rows about very much: a hundred thousand images, gigabytes of debug data, all points of a kernel's code coverage."""
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

import inputs
from lib import peers
from lib.elf import EM_X86_64, SHT_NOTE, STT_FUNC, Elf
from lib.make_elf import CODE, SHF_ALLOC, Maker
from mounts import ask
from result import Row
from tools import interleave, put, until

POINTS = Path(__file__).resolve().parents[2] / "examples/kernel-coverage.sh"
LARGE = Path(__file__).resolve().parent / "large.cpp"
ID = bytes(range(0xa0, 0xb4))


def _small_file():
    """An ELF file with one function and the build id ID."""
    maker = Maker(EM_X86_64)
    maker.add(".note.gnu.build-id", SHF_ALLOC, 0x200, struct.pack("<3I4s20s", 4, len(ID), 3, b"GNU\0", ID), SHT_NOTE, align=4)
    maker.add(".text", CODE, 0x1000, b"\xc3" * 16)
    maker.add_symbols(".symtab", [("only", 0x1000, 16, STT_FUNC, ".text")])
    return maker.file()


def _fill(source, count):
    """@count files in 256 directories, as in .build-id; each a build id of its own."""
    template = _small_file()
    at = template.index(ID)
    for directory in range(256):
        os.makedirs(f"{source}/{directory:02x}", exist_ok=True)
    for number in range(count):
        build_id = (number * 0x9e3779b97f4a7c15 & (1 << 64) - 1).to_bytes(8, "big") + number.to_bytes(12, "big")
        with open(f"{source}/{number % 256:02x}/{number:06x}.debug", "wb") as out:
            out.write(template[:at] + build_id + template[at + len(ID):])


def images(bench):
    """A directory of many files, mounted with nothing known, and again with what the first mount kept."""
    if not bench.can_mount():
        return
    tools, count = bench.tools, bench.scaled(100000)
    source, empty, cache = bench.fresh("many"), bench.fresh("none"), bench.fresh("cache")
    os.mkdir(empty)
    _fill(source, count)
    time.sleep(3)  # what changed in the same moment as it was looked at has to be looked at again
    cold, warm, memory, shown, shown_cpu = [], [], [], [], []
    for at in range(bench.slow()):
        shutil.rmtree(cache, ignore_errors=True)
        with tools.gsymfs(empty, bench.fresh("other")) as mount:
            mount.wait_scanned()
            base = mount.memory()
        with tools.gsymfs(source, cache) as mount:
            mount.wait_scanned()
            cold.append(mount.used())
        with tools.gsymfs(source, cache) as mount:
            mount.wait_scanned()
            warm.append(mount.used())
            memory.append((mount.memory() - base) / count)
            for number in range(3):  # one after the other: the daemon may still be at work for the one before
                seconds, cpu = _new_file(mount, source, f"new-{at}-{number}")
                shown.append(seconds)
                shown_cpu.append(cpu * 1000)
    yield Row("images", f"{count:,} images: CPU time of a mount, nothing known", "s", cold)
    yield Row("images", f"{count:,} images: CPU time of a mount, nothing changed", "s", warm)
    yield Row("images", f"{count:,} images: memory of an idle one", "bytes", memory)
    yield Row("images", f"{count:,} images: until a new file shows", "s", shown)
    yield Row("images", f"{count:,} images: CPU time until then", "ms", shown_cpu)


def _new_file(mount, source, name):
    """(seconds, seconds of the daemon's CPU time) from a file's appearance until by-path has it."""
    text = _small_file().replace(ID, name.encode().ljust(len(ID), b"\xee"))
    Path(f"{source}/../{name}").write_bytes(text)
    before, begin = mount.used(), time.perf_counter()
    os.rename(f"{source}/../{name}", f"{source}/00/{name}")
    until(lambda: os.path.lexists(f"{mount.where}/by-path/00/{name}"), f"{name} in by-path", pause=0.05)
    return time.perf_counter() - begin, mount.used() - before


def coverage(bench):
    """All points of a kernel's code coverage: from an image that nothing was asked of, and from one that is ready."""
    path = bench.inputs.path("vmlinux")
    if not path or not bench.can_mount():
        return
    tools, build_id = bench.tools, Elf(path).build_id()
    text = peers.run([POINTS, "--points", path], timeout=900)
    text = text[:len(text) // (10 if bench.options.quick else 1)].rpartition("\n")[0] + "\n"
    plain, count = tools.file("points", text), text.count("\n")
    source, cache = bench.fresh("source"), bench.fresh("cache")
    put(path, source)

    def ours(fresh):
        def run(_):
            if fresh:
                shutil.rmtree(cache, ignore_errors=True)
            with tools.gsymfs(source, cache) as mount:
                mount.wait_scanned()
                begin = time.perf_counter()
                ask(f"{mount.where}/{build_id}/q.tsv", text.encode(), piece=len(text))
                seconds = time.perf_counter() - begin
            return seconds, mount.peak / 1024
        return run

    first, ready, theirs = interleave(
        bench.slow(), ours(True), ours(False),
        lambda _: tools.spend([tools["llvm-symbolizer"], "-f", "-i", "-e", path], stdin=plain)[::2])
    theirs[1] = [kib / 1024 for kib in theirs[1]]
    what = f"{count:,} points"
    yield Row("coverage", f"{what}, converting vmlinux: time", "s", first[0], "llvm-symbolizer", theirs[0], chart=True)
    yield Row("coverage", f"{what}, converted before: time", "s", ready[0], "llvm-symbolizer", theirs[0], chart=True)
    yield Row("coverage", f"{what}, converting vmlinux: memory", "MiB", first[1], "llvm-symbolizer", theirs[1],
              chart=True)
    yield Row("coverage", f"{what}, converted before: memory", "MiB", ready[1], "llvm-symbolizer", theirs[1])


def large(bench):
    """The conversion of --large gigabytes of debug data: one unit of C++, linked as often as that takes."""
    if not bench.options.large:
        return
    tools, place = bench.tools, bench.tools.place
    unit, linked = f"{place}/unit.o", f"{place}/linked"
    subprocess.run(["c++", "-std=c++17", "-g", "-O1", "-c", str(LARGE), "-o", unit], check=True)
    # Every copy keeps its functions: neither groups nor strong symbols, of which only one may stay.
    subprocess.run(["objcopy", "--remove-section=.group", "--weaken", unit], check=True)
    copies = max(1, round(bench.options.large * 1e9 / inputs.debug_bytes(unit)))
    lld = peers.need("ld.lld", "lld")
    subprocess.run([lld, "-O0", "--no-gc-sections", "--unresolved-symbols=ignore-all", "--noinhibit-exec", "-e", "0", "--build-id",
                    "-o", linked, *[unit] * copies], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    size = inputs.debug_bytes(linked) / 1e9
    spent = [tools.spend([tools["gsym"], "convert", "--quiet", "--num-threads=2", "--output-version=2", linked,
                          "-o", f"{place}/large.gsym"]) for _ in range(min(bench.slow(), 2))]
    os.unlink(linked)
    os.unlink(f"{place}/large.gsym")
    what = f"{size:.1f} GB of debug data"
    yield Row("size", f"{what}: time for each GB", "s", [s[0] / size for s in spent])
    yield Row("size", f"{what}: CPU time for each GB", "s", [s[1] / size for s in spent])
    yield Row("size", f"{what}: memory", "MiB", [s[2] / 1024 for s in spent])
