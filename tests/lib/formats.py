"""One small file of each source format, for tests that ask the same of all of them.

A row of FORMATS is a row of IMAGE_KINDS in work/types/image_kind.h, which the test `formats` checks.
"""
import struct
import uuid
from typing import Callable, NamedTuple

from . import breakpad, craft, macho_sample, make_macho, make_pdb, make_pe
from .craft import Die, Sequence, Symbol, Unit


class Cut(NamedTuple):
    """A file that is @bytes shorter, or half of it (0): read as far as it goes, or @skipped."""
    bytes: int
    reason: str  # regular expression
    skipped: bool = False


class Format(NamedTuple):
    reader: str  # as in IMAGE_KINDS, and the folder of its seeds
    word: str  # in the file status
    ending: str  # of a file
    make: Callable[[], bytes]  # a file with an id and functions, among them "main" or "first"
    id: str  # in the mount
    answers: dict  # address -> the line of its innermost function
    cuts: tuple = ()

    def cut(self, cut):
        data = self.make()
        return data[:len(data) - (cut.bytes or len(data) // 2)]

    def write(self, place, name="sample"):
        """A file in the directory @place."""
        path = place / (name + self.ending)
        path.write_bytes(self.make())
        return path


BUILD_ID = bytes(range(0x21, 0x35))
UUIDS = {name: uuid.UUID(int=0x41424344454647484940414243444500 + number) for number, name in enumerate(("gsym", "macho", "pe", "pdb"))}


def elf():
    main = Die("subprogram", name="main", low_pc=0x1000, high_pc=0x20)
    lines = [Sequence(0x1020, (0x1000, 1, 4), (0x1010, 1, 6))]
    return craft.elf_bytes([Unit(main, files=("a.c",), lines=lines)], [Symbol("main", 0x1000, 0x20), Symbol("other", 0x1020, 0x10)],
                           BUILD_ID)


def macho():
    return macho_sample.program(make_macho.X86_64, uuid=UUIDS["macho"].bytes).file()


def pe():
    made = make_pe.program(id=False)
    made.id(UUIDS["pe"])
    return made.file()


def pdb():
    publics = [("main", 1, 0), ("second", 1, 0x20)]
    return make_pdb.Pdb(guid=UUIDS["pdb"], publics=publics, modules=[make_pdb.Module("x.obj", bytes(4))]).file()


def gsym():
    """Version 1, little-endian: functions without lines."""
    functions = (("main", 0x1000, 0x20), ("other", 0x1020, 0x10))
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in functions)
    infos = [struct.pack("<IIII", size, names.index(name.encode() + b"\0"), 0, 0) for name, _, size in functions]
    tables = 48 + 2 * len(functions)  # of two bytes an address; a multiple of four
    files = tables + 4 * len(functions)
    strings = files + 12
    at = strings + len(names) + -len(names) % 4
    offsets = b"".join(struct.pack("<I", at + 16 * i) for i in range(len(infos)))
    head = struct.pack("<IHBBQIII20s", 0x4753594d, 1, 2, 16, 0x1000, len(functions), strings, len(names), UUIDS["gsym"].bytes)
    places = b"".join(struct.pack("<H", addr - 0x1000) for _, addr, _ in functions)
    return head + places + offsets + struct.pack("<III", 1, 0, 0) + names.ljust(at - strings, b"\0") + b"".join(infos)


FORMATS = (
    Format("elf", "elf", ".elf", elf, BUILD_ID.hex(), {0x1000: "main at /src/a.c:4", 0x1020: "other at ??:0"},
           (Cut(1, "section headers at offset"), Cut(0, "section headers at offset"))),
    Format("macho", "mach-o", ".dylib", macho, UUIDS["macho"].hex,
           {0x1000: "main at /src/a.c:4", 0x1020: "helper at /src/a.c:20"},
           (Cut(10, "(segment|symbol table|names of symbols) at offset"), Cut(0, r"load commands of \d+ bytes", True))),
    Format("breakpad", "breakpad", ".sym", breakpad.WHOLE.encode, "0011223344556677889900aabbccddee",
           {0x1000: "first(int, char const*) at /src/a.c:10", 0x1020: "second at /src/a.c:5"}),
    Format("gsym", "gsym", ".gsym", gsym, UUIDS["gsym"].hex, {0x1000: "main at ??:0", 0x1020: "other at ??:0"},
           (Cut(0, "address info offsets at offset", True),)),
    Format("pe", "pe", ".exe", pe, UUIDS["pe"].hex,
           {0x140001000: "main at /src/a.c:4", 0x140001020: "helper_function at /src/a.c:20"},
           (Cut(1, "names of symbols at offset"), Cut(0, r"(section \d+|symbol table) at offset"))),
    Format("pdb", "pdb", ".pdb", pdb, UUIDS["pdb"].hex, {0x1000: "main at ??:0", 0x1020: "second at ??:0"},
           (Cut(1, r"truncated: \d+ bytes", True),)),
)
