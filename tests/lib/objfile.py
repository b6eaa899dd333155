"""Relocatable ELF files with DWARF 4, written byte by byte: what no compiler makes, or not in this number.

Every function has a section of its own, 16 bytes long, and two rows: its line, and the next line from byte 8 on.
"""
import struct
from dataclasses import dataclass, field

from .craft import sleb, uleb
from .elf import (EM_386, EM_X86_64, SHF_ALLOC, SHF_EXECINSTR, SHF_GROUP, SHF_INFO_LINK, SHT_GROUP, SHT_PROGBITS, SHT_REL,
                  SHT_RELA, SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX)

SHN_LORESERVE, SHN_XINDEX = 0xff00, 0xffff
R_386_32, R_X86_64_NONE, R_X86_64_64, R_X86_64_32 = 1, 0, 1, 10
SIZE = 16


@dataclass
class Section:
    name: str
    type: int = SHT_PROGBITS
    flags: int = 0
    data: bytes = b""
    link: int = 0
    info: int = 0
    align: int = 1
    entsize: int = 0


@dataclass
class Relocation:
    off: int
    symbol: int
    type: int
    addend: int = 0


@dataclass
class Plan:
    """What to make. Relocations that are added are of .debug_info."""
    functions: list  # of (name, section name, alignment)
    machine: int = EM_X86_64
    by_name: bool = False       # relocate against the functions, not their sections
    groups: bool = False        # every function in a COMDAT group
    symtab: bool = True
    extra: list = field(default_factory=list)
    sections: list = field(default_factory=list)


class Strings:
    def __init__(self):
        self.data = bytearray(b"\0")

    def add(self, text):
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


class Object:
    def __init__(self, plan):
        self.plan = plan
        self.wide = plan.machine == EM_X86_64
        self.addr = "<Q" if self.wide else "<I"
        self.rela = self.wide
        self.sections = [Section("", type=0)]
        self.symbols = [(0, 0, 0, 0, 0)]  # name, info, section, value, size
        self.strings = Strings()
        self.build()

    def add(self, section):
        self.sections.append(section)
        return len(self.sections) - 1

    # ---- DWARF ----

    def place(self, data, relocations, target, addend=0):
        """Room for an address, filled in by a relocation."""
        kind = R_X86_64_64 if self.wide else R_386_32
        relocations.append(Relocation(len(data), target, kind, addend))
        data += struct.pack(self.addr, 0 if self.rela else addend)

    def debug_info(self, targets, relocations):
        size = 8 if self.wide else 4
        data = bytearray(struct.pack("<IHIB", 0, 4, 0, size))
        data += uleb(1) + b"unit.c\0" + struct.pack("<I", 0)
        for (name, _, _), target in zip(self.plan.functions, targets):
            data += uleb(2) + name.encode() + b"\0"
            self.place(data, relocations, target)
            data += struct.pack("<I", SIZE)
        data += b"\0"
        struct.pack_into("<I", data, 0, len(data) - 4)
        return data

    def debug_line(self, targets, relocations):
        lengths = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
        tables = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + lengths + b"\0" + b"unit.c\0\0\0\0" + b"\0"
        data = bytearray(struct.pack("<IHI", 0, 4, len(tables)) + tables)
        size = 8 if self.wide else 4
        for i, target in enumerate(targets):
            data += b"\0" + uleb(1 + size) + b"\2"
            self.place(data, relocations, target)
            data += b"\3" + sleb(10 * (i + 1) - 1) + b"\1"            # advance_line, copy
            data += b"\2" + uleb(8) + b"\3" + sleb(1) + b"\1"          # advance_pc, advance_line, copy
            data += b"\2" + uleb(SIZE - 8) + b"\0\1\1"                # advance_pc, end_sequence
        struct.pack_into("<I", data, 0, len(data) - 4)
        return data

    # ---- Sections ----

    def build(self):
        plan = self.plan
        bodies, self.bodies = [], []
        for name, section, align in plan.functions:
            flags = SHF_ALLOC | SHF_EXECINSTR | (SHF_GROUP if plan.groups else 0)
            group = self.add(Section(".group", SHT_GROUP, align=4, entsize=4)) if plan.groups else None
            bodies.append(self.add(Section(section, flags=flags, data=b"\x90" * SIZE, align=align)))
            if group:
                self.sections[group].data = struct.pack("<II", 1, bodies[-1])
                self.sections[group].info = len(bodies)  # the symbol of its section: signature
        self.bodies = bodies
        for section in plan.sections:
            self.add(section)
        self.symbols += [(0, 3, index, 0, 0) for index in bodies]
        first = len(self.symbols)
        self.symbols += [(self.strings.add(name), 0x12, index, 0, SIZE)
                         for (name, _, _), index in zip(plan.functions, bodies)]
        targets = [(first if plan.by_name else 1) + i for i in range(len(bodies))]
        self.add_debug(targets)
        self.add_symbols(first)

    def add_debug(self, targets):
        self.add(Section(".debug_abbrev", data=bytes([1, 0x11, 1, 3, 8, 0x10, 0x17, 0, 0,
                                                      2, 0x2e, 0, 3, 8, 0x11, 1, 0x12, 6, 0, 0, 0])))
        self.pending = []
        for name, make, extra in ((".debug_info", self.debug_info, self.plan.extra), (".debug_line", self.debug_line, [])):
            relocations = []
            index = self.add(Section(name, data=bytes(make(targets, relocations))))
            self.pending.append((index, name, relocations + extra))

    def add_symbols(self, first_global):
        symtab = 0
        if self.plan.symtab:
            wide = any(s[2] >= SHN_LORESERVE for s in self.symbols)
            symtab = self.add(Section(".symtab", SHT_SYMTAB, data=self.pack_symbols(), info=first_global, align=8,
                                      entsize=24 if self.wide else 16))
            if wide:
                indexes = b"".join(struct.pack("<I", s[2] if s[2] >= SHN_LORESERVE else 0) for s in self.symbols)
                self.add(Section(".symtab_shndx", SHT_SYMTAB_SHNDX, data=indexes, link=symtab, align=4, entsize=4))
            self.sections[symtab].link = self.add(Section(".strtab", SHT_STRTAB, data=bytes(self.strings.data)))
        for s in self.sections:
            if s.type == SHT_GROUP:
                s.link = symtab
        for index, name, relocations in self.pending:
            self.add(Section((".rela" if self.rela else ".rel") + name, SHT_RELA if self.rela else SHT_REL, SHF_INFO_LINK,
                             b"".join(map(self.pack_relocation, relocations)), symtab, index, 8,
                             24 if self.rela else 8))

    def pack_symbols(self):
        out = bytearray()
        for name, info, section, value, size in self.symbols:
            section = SHN_XINDEX if section >= SHN_LORESERVE else section
            out += (struct.pack("<IBBHQQ", name, info, 0, section, value, size) if self.wide else
                    struct.pack("<IIIBBH", name, value, size, info, 0, section))
        return bytes(out)

    def pack_relocation(self, r):
        if self.rela:
            return struct.pack("<QQq", r.off, r.symbol << 32 | r.type, r.addend)
        return struct.pack("<II", r.off, r.symbol << 8 | r.type)

    # ---- The file ----

    def bytes(self):
        names = Strings()
        offsets = [names.add(s.name) if s.name else 0 for s in self.sections]
        strndx = len(self.sections)
        offsets.append(names.add(".shstrtab"))
        sections = self.sections + [Section(".shstrtab", SHT_STRTAB, data=bytes(names.data))]
        out = bytearray(64 if self.wide else 52)
        headers = bytearray()
        for index, (s, name) in enumerate(zip(sections, offsets)):
            out += bytes(-len(out) % s.align)
            size, link = len(s.data), s.link
            if index == 0:  # gABI: what does not fit the header is here
                size = len(sections) if len(sections) >= SHN_LORESERVE else 0
                link = strndx if strndx >= SHN_LORESERVE else 0
            headers += struct.pack("<IIQQQQIIQQ" if self.wide else "<10I", name, s.type, s.flags, 0,
                                   len(out) if index else 0, size, link, s.info, s.align if index else 0, s.entsize)
            out += s.data
        out += bytes(-len(out) % 8)
        ident = b"\x7fELF" + bytes([2 if self.wide else 1, 1, 1]) + bytes(9)
        count = len(sections) if len(sections) < SHN_LORESERVE else 0
        index = strndx if strndx < SHN_LORESERVE else SHN_XINDEX
        form = "<HHIQQQIHHHHHH" if self.wide else "<HHIIIIIHHHHHH"
        out[:len(ident)] = ident
        struct.pack_into(form, out, 16, 1, self.plan.machine, 1, 0, 0, len(out), 0, 64 if self.wide else 52, 0, 0,
                         64 if self.wide else 40, count, index)
        return bytes(out + headers)


def make(plan, path):
    with open(path, "wb") as file:
        file.write(Object(plan).bytes())


def expected(plan):
    """[(address, name, line)] of the first byte of every function, in a layout from 0."""
    at, found = 0, []
    for i, (name, _, align) in enumerate(plan.functions):
        at = -(-at // align) * align
        found.append((at, name, 10 * (i + 1)))
        at += SIZE
    return found
