"""Just enough of ELF (gABI chapter 4) for choosing addresses: section headers, symbols, build id.

Independent of the converter on purpose, and only ever used on files the tests made or Debian ships.
"""
import mmap
import struct
from dataclasses import dataclass
from functools import cached_property

EM_386, EM_MIPS, EM_PPC64, EM_ARM, EM_X86_64, EM_AARCH64, EM_RISCV = 3, 8, 21, 40, 62, 183, 243
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS = 1, 2, 3, 4, 6, 7, 8
SHT_REL, SHT_DYNSYM, SHT_GROUP, SHT_SYMTAB_SHNDX = 9, 11, 17, 18
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_INFO_LINK, SHF_GROUP, SHF_COMPRESSED = 1, 2, 4, 0x40, 0x200, 0x800
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_GNU_IFUNC = 0, 1, 2, 3, 10
STB_LOCAL, STB_GLOBAL = 0, 1


@dataclass
class Section:
    name: str
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    align: int
    entsize: int


@dataclass
class Symbol:
    name: str
    addr: int
    size: int
    type: int
    section: int


class Elf:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:4] != b"\x7fELF":
            raise ValueError(f"{path}: not ELF")
        self.wide = self.data[4] == 2
        self.order = "<" if self.data[5] == 1 else ">"
        self.machine = self._get("H", 18)
        self.sections = self._sections()

    @cached_property
    def symbols(self):
        return [s for t in (SHT_SYMTAB, SHT_DYNSYM) for s in self._symbols(t)]

    def _get(self, form, at):
        return struct.unpack_from(self.order + form, self.data, at)[0]

    def _sections(self):
        shoff = self._get("Q", 40) if self.wide else self._get("I", 32)
        base = 58 if self.wide else 46
        entsize, count, strndx = struct.unpack_from(self.order + "3H", self.data, base)
        form = self.order + ("IIQQQQIIQQ" if self.wide else "10I")
        raw = [struct.unpack_from(form, self.data, shoff + i * entsize) for i in range(count)]
        names = raw[strndx][4] if count else 0
        return [Section(self._string(names + r[0]), r[1], r[2], r[3], r[4], r[5], r[6], r[8], r[9])
                for r in raw]

    def _string(self, at):
        return self.data[at:self.data.find(b"\0", at)].decode("utf-8", "surrogateescape")

    def _symbols(self, kind):
        form = self.order + ("IBBHQQ" if self.wide else "IIIBBH")
        for table in (s for s in self.sections if s.type == kind and s.entsize):
            strings = self.sections[table.link].offset
            for at in range(table.offset, table.offset + table.size, table.entsize):
                f = struct.unpack_from(form, self.data, at)
                name, info, shndx, value, size = (
                    (f[0], f[1], f[3], f[4], f[5]) if self.wide else (f[0], f[3], f[5], f[1], f[2]))
                kind_of = info & 15
                if self.machine in (EM_ARM, EM_MIPS) and kind_of == STT_FUNC:
                    value &= ~1
                yield Symbol(self._string(strings + name), value, size, kind_of, shndx)

    def code_sections(self):
        wanted = SHF_ALLOC | SHF_EXECINSTR
        return [s for s in self.sections if s.flags & wanted == wanted and s.size]

    def decompressed_size(self, section):
        if not section.flags & SHF_COMPRESSED:
            return section.size
        return self._get("Q", section.offset + 8) if self.wide else self._get("I", section.offset + 4)

    def functions(self):
        """Defined symbols of functions."""
        return [s for s in self.symbols if s.type in (STT_FUNC, STT_GNU_IFUNC) and s.section]

    def labels(self):
        """Defined symbols without a type that lie in code: hand-written assembly."""
        code = self.code_sections()
        return [s for s in self.symbols if s.type == STT_NOTYPE and s.section and s.name and
                any(c.addr <= s.addr < c.addr + c.size for c in code)]

    def build_id(self):
        """The GNU build id in hex, or None."""
        for s in self.sections:
            if s.type != SHT_NOTE:
                continue
            at, end = s.offset, s.offset + s.size
            while at + 12 <= end:
                namesz, descsz, kind = struct.unpack_from(self.order + "3I", self.data, at)
                name = self.data[at + 12:at + 12 + namesz]
                desc = at + 12 + (namesz + 3 & ~3)
                if kind == 3 and name == b"GNU\0":
                    return self.data[desc:desc + descsz].hex()
                at = desc + (descsz + 3 & ~3)
        return None
