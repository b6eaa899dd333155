"""Mach-O files of the corpus: freestanding libraries and programs for Apple's targets, and their dSYM bundles."""
import shutil
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from lib import macho_link, make_macho, peers
from lib.macho import MachO
from . import build

APPLE = build.SOURCES / "apple"
C = [build.SOURCES / f"{name}.c" for name in ("main", "inlines", "split", "switches", "statics_a", "statics_b", "lines",
                                              "unity")] + [APPLE / "calls.c", APPLE / "repeats.c"]
CXX = [build.SOURCES / f"{name}.cc" for name in ("shapes", "templates", "odr_a", "odr_b")]
OBJC = [APPLE / "classes.m"]
FOLDED = [build.SOURCES / "folded_a.cc", build.SOURCES / "folded_b.cc", APPLE / "calls.c"]
OUTLINE = ["-mllvm", "-enable-machine-outliner=always"]
OFFSETS = ["-mllvm", "-emit-func-debug-line-table-offsets"]
NARROW = {"armv7": ("armv7", "-marm"), "armv7-thumb": ("armv7", "-mthumb"), "i386": ("i386", "-m32")}
VERSIONS = ["-platform_version", "macos", "12.0", "12.0"]


@dataclass(frozen=True)
class Cell:
    name: str
    arch: str
    flags: tuple
    sources: tuple
    link: tuple = ("-dylib",)
    linked: bool = True  # else one MH_OBJECT file of each source
    quick: bool = False
    own: dict = None  # linked by lib/macho_link.py, and how; else by lld


def cells():
    every = tuple(C + CXX + OBJC)
    for arch in ("arm64", "x86_64"):
        for level in ("O0", "O2", "Os"):
            for version in (2, 4, 5):
                quick = (arch, level, version) in (("arm64", "O2", 5), ("x86_64", "O2", 4))
                yield Cell(f"{arch}-{level}-dwarf{version}", arch, (f"-{level}", "-g", f"-gdwarf-{version}"), every,
                           quick=quick)
        yield Cell(f"{arch}-lines-only", arch, ("-O2", "-gline-tables-only"), every)
        yield Cell(f"{arch}-outlined", arch, ("-Oz", "-g", *OUTLINE), every, quick=arch == "arm64")
        yield Cell(f"{arch}-program", arch, ("-O1", "-g"), every, ("-e", "_main"))
        yield Cell(f"{arch}-no-debug", arch, ("-O2",), every)
        yield Cell(f"{arch}-icf", arch, ("-O2", "-g"), every, ("-dylib", "--icf=all"))
        yield Cell(f"{arch}-dead-strip", arch, ("-O2", "-g"), every, ("-dylib", "-dead_strip"))
        yield Cell(f"{arch}-old-fixups", arch, ("-O2", "-g"), every, ("-dylib", "-no_fixup_chains"))
    yield Cell("arm64e", "arm64e", ("-O2", "-g"), (*C[1:3], *C[-4:]))  # not switches.c: lld does not know signed pointers
    for arch in ("armv7", "armv7k", "arm64", "arm64e", "arm64_32", "x86_64", "x86_64h", "i386"):
        for level in ("O0", "O2"):
            yield Cell(f"{arch}-{level}-object", arch, (f"-{level}", "-g"), every, linked=False,
                       quick=arch in ("armv7", "i386") and level == "O2")
    yield from narrow_cells(every)


def narrow_cells(every):
    """Of machines that lld does not link."""
    for name, (arch, flag) in NARROW.items():
        for level in ("O0", "O2", "Os"):
            for version in (2, 4, 5):
                yield Cell(f"{name}-{level}-dwarf{version}", arch, (f"-{level}", "-g", f"-gdwarf-{version}", flag), every,
                           own={}, quick=(level, version) == ("O2", 4))
        yield Cell(f"{name}-lines-only", arch, ("-O2", "-gline-tables-only", flag), every, own={})
        yield Cell(f"{name}-no-debug", arch, ("-O2", flag), every, own={})
        yield Cell(f"{name}-library", arch, ("-O1", "-g", flag), every, own={"text": 0, "filetype": make_macho.MH_DYLIB})
        if arch == "armv7":
            yield Cell(f"{name}-outlined", arch, ("-Oz", "-g", flag, *OUTLINE), every, own={})


def each_arch():
    """A small library for each architecture, to be put into one fat file; their UUIDs differ."""
    for arch in ("arm64", "x86_64"):
        yield Cell(arch, arch, ("-O1", "-g"), tuple(C))
    for name in ("armv7-thumb", "i386"):
        arch, flag = NARROW[name]
        yield Cell(arch, arch, ("-O1", "-g", flag), tuple(C), own={"text": 0, "filetype": make_macho.MH_DYLIB})


class Tools:
    """What LLVM has for Apple's formats; skips the test when one of them is missing."""

    def __init__(self):
        self.clang = peers.need("clang", "clang-22")
        self.cxx = peers.need("clang++", "clang-22")
        self.linker = peers.need("ld64.lld", "lld-22")
        for name in ("dsymutil", "llvm-lipo", "llvm-strip", "llvm-nm", "llvm-objdump"):
            setattr(self, name.removeprefix("llvm-"), peers.need(name, "llvm-22"))

    def compile(self, cell, place, sources):
        out = []
        for source in sources:
            compiler, more = self.clang, ["-fblocks"]
            if source.suffix == ".cc":
                compiler, more = self.cxx, ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]
            out.append(place / f"{source.stem}.o")
            build.run([compiler, "-target", f"{cell.arch}-apple-macos12", "-ffreestanding", "-fno-stack-protector", "-w",
                       *cell.flags, *more, "-c", source, "-o", out[-1]], place)
        return out

    def link(self, cell, place, objects, name, options=None):
        """The linked file and the DWARF of its dSYM bundle, which is beside it; that is None without debug data."""
        out = place / name
        if cell.own is not None:
            macho_link.link(objects, out, **cell.own)
            return self.bundle(out)
        build.run([self.linker, *VERSIONS, "-arch", cell.arch, "-undefined", "dynamic_lookup",
                   *(cell.link if options is None else options), "-o", out, *objects], place)
        if cell.arch == "arm64e":
            set_arm64e(out)
        return self.bundle(out)

    def bundle(self, out):
        build.run([self.dsymutil, out], out.parent)
        dsym = out.parent / f"{out.name}.dSYM/Contents/Resources/DWARF/{out.name}"
        return out, dsym if dsym.exists() and any(s.segment == "__DWARF" for s in MachO.read(dsym).sections) else None

    def make(self, cell, place):
        """(linked file, DWARF of its dSYM). The object files are gone: nothing else must answer for the dSYM."""
        objects = self.compile(cell, place, cell.sources)
        made = self.link(cell, place, objects, "library")
        for path in objects:
            path.unlink()
        return made


def set_arm64e(path):
    """lld calls it arm64, and dsymutil then does not open the object files."""
    with open(path, "r+b") as f:
        f.seek(8)
        f.write(struct.pack("<I", 2))


def compress(path, out):
    """A copy in the way of Apple's older tools: sections "__zdebug_*" with "ZLIB", the size and a zlib stream."""
    data = bytearray(Path(path).read_bytes())
    thin = MachO(bytes(data))
    for s in thin.sections:
        if s.segment != "__DWARF" or not s.name.startswith("__debug_"):
            continue
        content = b"ZLIB" + struct.pack(">Q", s.size) + zlib.compress(bytes(data[s.offset:s.offset + s.size]))
        struct.pack_into("16s", data, s.header, b"__z" + s.name[2:].encode()[:13])
        form, at = ("QI", 40) if thin.wide else ("II", 36)
        struct.pack_into(thin.order + form, data, s.header + at, len(content), len(data))
        data += content
    Path(out).write_bytes(data)


def move_away(path):
    """The linked file alone in a directory of its own, without the bundle beside it."""
    alone = path.parent / "alone"
    alone.mkdir(exist_ok=True)
    return shutil.copy(path, alone / path.name)
