"""Small object files of every kind, for tests that inject faults into the programs that read them."""

import gzip
import lzma
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import make_elf, peers  # noqa: E402
from lib.formats import FORMATS  # noqa: E402

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


def foreign():
    """Of a machine with the other byte order, whose headers and symbols are copied before they are read."""
    maker = make_elf.Maker(make_elf.EM_PPC64, big=sys.byteorder == "little", type=make_elf.ET_EXEC)
    maker.add(".text", make_elf.CODE, 0x1000, bytes(64))
    maker.add(".note.gnu.build-id", make_elf.SHF_ALLOC, 0x800, maker.words(4, 20, 3) + b"GNU\0" + bytes(range(20)), 7, align=4)
    maker.add_symbols(".symtab", [("main", 0x1000, 32, make_elf.STT_FUNC, ".text"), ("work", 0x1020, 32, make_elf.STT_FUNC, ".text")])
    return maker.file()


def make(place):
    """The names of files in @place, each read by another part of the converter."""
    compiled(place, "dwarf5", "-gdwarf-5")
    compiled(place, "split", "-gdwarf-5", "-gsplit-dwarf", "-dumpdir", "s-")
    compiled(place, "packed", "-gdwarf-5", "-gz=zlib")
    compiled(place, "object.o", "-gdwarf-5", "-c")
    (place / "foreign").write_bytes(foreign())
    names = ["dwarf5", "split", "packed", "object.o", "foreign", *(row.write(place).name for row in FORMATS), "whole.gz"]
    llvm = peers.find("llvm-objcopy")
    if llvm:
        subprocess.run([llvm, "--compress-debug-sections=zstd", "dwarf5", "zstd"], cwd=place, check=True)
        names.append("zstd")
    if peers.find("objcopy"):
        whole = compiled(place, "stripped", "-gdwarf-4")
        subprocess.run(["objcopy", "--only-keep-debug", whole, "stripped.debug"], cwd=place, check=True)
        subprocess.run(["objcopy", "--strip-debug", "--add-gnu-debuglink=stripped.debug", whole], cwd=place, check=True)
        names.append("stripped")
        (place / "symbols.xz").write_bytes(lzma.compress(compiled(place, "symbols", "-g0").read_bytes()))
        subprocess.run(["objcopy", "--strip-all", "--add-section=.gnu_debugdata=symbols.xz", "symbols", "mini"], cwd=place, check=True)
        names.append("mini")
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
