"""Small object files of every kind, for tests that fail what reads them."""

import gzip
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import breakpad, make_macho, make_pdb, make_pe, peers  # noqa: E402
from lib.macho_sample import program  # noqa: E402

SOURCE = """
static inline __attribute__((always_inline)) int square(int x) { return x * x; }
int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += square(i); return s; }
int main(int argc, char **argv) { return work(argc) + (argv == 0); }
"""
FLAGS = ("-O1", "-nostdlib", "-static", "-Wl,--build-id=sha1", "-Wl,-e,main", "-w")


def compiled(place, name, *flags):
    (place / "a.c").write_text(SOURCE)
    subprocess.run(["cc", *FLAGS, *flags, "-o", name, "a.c"], cwd=place, check=True)
    return place / name


def make(place):
    """The names of files in @place, each read by another part of the converter."""
    compiled(place, "dwarf5", "-gdwarf-5")
    compiled(place, "split", "-gdwarf-5", "-gsplit-dwarf", "-dumpdir", "s-")
    compiled(place, "packed", "-gdwarf-5", "-gz=zlib")
    names = ["dwarf5", "split", "packed", "breakpad.sym", "macho", "pdb.pdb", "pe.exe", "whole.gz"]
    if peers.find("objcopy"):
        whole = compiled(place, "stripped", "-gdwarf-4")
        subprocess.run(["objcopy", "--only-keep-debug", whole, "stripped.debug"], cwd=place, check=True)
        subprocess.run(["objcopy", "--strip-debug", "--add-gnu-debuglink=stripped.debug", whole], cwd=place, check=True)
        names.append("stripped")
    (place / "breakpad.sym").write_text(breakpad.WHOLE)
    (place / "macho").write_bytes(program(make_macho.X86_64).file())
    publics = [("main", 1, 0), ("?f@@YAXXZ", 1, 0x20)]
    (place / "pdb.pdb").write_bytes(make_pdb.Pdb(publics=publics, modules=[make_pdb.Module("x.obj", bytes(4))]).file())
    (place / "pe.exe").write_bytes(make_pe.program().file())
    (place / "whole.gz").write_bytes(gzip.compress((place / "dwarf5").read_bytes()))
    return names if peers.reads_gzip() else [name for name in names if name != "whole.gz"]


def functions(gsym, path):
    """[(start, end)] of the functions of an object file."""
    out = path.with_name(path.name + ".gsym")
    subprocess.run([gsym, "convert", "--quiet", path, "-o", out], check=True, capture_output=True)
    dump = subprocess.run([gsym, "dump", out], check=True, capture_output=True, text=True).stdout
    out.unlink()
    return [tuple(int(x, 16) for x in line[line.index("[") + 1:line.index(")")].split(" - "))
            for line in dump.splitlines() if line.startswith("FunctionInfo @")]
