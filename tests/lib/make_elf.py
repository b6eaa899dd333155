"""Writes small ELF files by hand (gABI chapter 4), for tests of things that compilers at hand would not make."""
import struct
from dataclasses import dataclass, field, replace

from .elf import (EM_386, EM_AARCH64, EM_ARM, EM_MIPS, EM_PPC64, EM_RISCV, EM_X86_64,  # noqa: F401: for who uses this
                  SHF_ALLOC, SHF_EXECINSTR, SHF_INFO_LINK, SHF_WRITE, SHT_DYNAMIC, SHT_DYNSYM, SHT_NOBITS, SHT_PROGBITS, SHT_REL, SHT_RELA, SHT_STRTAB,
                  SHT_SYMTAB, STB_GLOBAL, STB_LOCAL, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT, STT_SECTION)

ET_REL, ET_EXEC, ET_DYN = 1, 2, 3
CODE, DATA = SHF_ALLOC | SHF_EXECINSTR, SHF_ALLOC | SHF_WRITE


@dataclass
class Section:
    name: str
    type: int
    flags: int
    addr: int
    data: bytes
    link: str = ""
    info: int = 0
    entsize: int = 0
    align: int = 1
    shared: str = ""  # the bytes are those of this section


@dataclass
class Maker:
    """Sections are written in the order they are added; links between them are by name."""
    machine: int
    wide: bool = True
    big: bool = False
    type: int = ET_DYN
    flags: int = 0
    sections: list = field(default_factory=list)

    def pack(self, form, *values):
        return struct.pack((">" if self.big else "<") + form, *values)

    def words(self, *values):
        return self.pack(f"{len(values)}I", *values)

    def addresses(self, *values):
        return self.pack(f"{len(values)}{'Q' if self.wide else 'I'}", *values)

    def index(self, name):
        return next((i + 1 for i, s in enumerate(self.sections) if s.name == name), 0)

    def add(self, name, flags, addr, data, kind=SHT_PROGBITS, **more):
        self.sections.append(Section(name, kind, flags, addr, data, **more))

    def share(self, name):
        """Another section like the first one of that name, over its bytes."""
        self.sections.append(replace(self.sections[self.index(name) - 1], shared=name))

    def add_symbols(self, name, symbols, kind=SHT_SYMTAB, flags=0, addr=0):
        """@symbols: (name, value, size, type, section or "", st_other) each; globals, and the table's strings."""
        strings, entries = b"\0", self.pack("IBBHQQ" if self.wide else "IIIBBH", 0, 0, 0, 0, 0, 0)
        for label, value, size, stt, section, *other in symbols:
            info, shndx = STB_GLOBAL << 4 | stt, self.index(section)
            common = (other[0] if other else 0, shndx)
            entries += (self.pack("IBBHQQ", len(strings), info, *common, value, size) if self.wide else
                        self.pack("IIIBBH", len(strings), value, size, info, *common))
            strings += label.encode() + b"\0"
        table = ".dynstr" if kind == SHT_DYNSYM else ".strtab"
        self.add(name, flags, addr, entries, kind, link=table, info=1, entsize=24 if self.wide else 16, align=8)
        self.add(table, flags, 0, strings, SHT_STRTAB)

    def add_rela(self, name, addr, entries, link=".dynsym", info=0, flags=SHF_ALLOC):
        """@entries: (place, symbol's number, type, addend) each."""
        data = b"".join(self.pack("QQq", place, symbol << 32 | kind, addend) if self.wide else
                        self.pack("IIi", place, symbol << 8 | kind, addend)
                        for place, symbol, kind, addend in entries)
        self.add(name, flags, addr, data, SHT_RELA, link=link, info=info, entsize=24 if self.wide else 12, align=8)

    def add_rel(self, name, addr, entries, link=".dynsym", info=0, flags=SHF_ALLOC):
        data = b"".join(self.pack("QQ", place, symbol << 32 | kind) if self.wide else
                        self.pack("II", place, symbol << 8 | kind) for place, symbol, kind in entries)
        self.add(name, flags, addr, data, SHT_REL, link=link, info=info, entsize=16 if self.wide else 8, align=8)

    def flat(self, segments, blobs):
        """A file without section headers, whose addresses are offsets. @segments: (type, flags, addr, size) each."""
        header, entry, form = (64, 56, "HHIQQQIHHHHHH") if self.wide else (52, 32, "HHIIIIIHHHHHH")
        ident = b"\x7fELF" + bytes([2 if self.wide else 1, 2 if self.big else 1, 1]) + bytes(9)
        body = bytearray(ident + self.pack(form, self.type, self.machine, 1, 0, header, 0, self.flags, header, entry,
                                           len(segments), 0, 0, 0))
        for kind, flags, addr, size in segments:
            body += (self.pack("IIQQQQQQ", kind, flags, addr, addr, addr, size, size, 1) if self.wide else
                     self.pack("IIIIIIII", kind, addr, addr, addr, size, size, flags, 1))
        for addr, data in blobs.items():
            body += bytes(max(0, addr + len(data) - len(body)))
            body[addr:addr + len(data)] = data
        return bytes(body)

    def file(self):
        """The bytes of the whole file."""
        header, entry = (64, 64) if self.wide else (52, 40)
        names = b"\0" + b"".join(s.name.encode() + b"\0" for s in self.sections) + b".shstrtab\0"
        sections = self.sections + [Section(".shstrtab", SHT_STRTAB, 0, 0, names)]
        body, headers, at, places = bytearray(), bytearray(entry), 1, {}
        for s in sections:
            if not s.shared:
                body += bytes(-(header + len(body)) % 16)
                places[s.name] = header + len(body)
            form = "IIQQQQIIQQ" if self.wide else "10I"
            headers += self.pack(form, at, s.type, s.flags, s.addr, places[s.name], len(s.data),
                                 self.index(s.link), s.info, s.align, s.entsize)
            at += len(s.name) + 1
            body += b"" if s.shared else s.data
        body += bytes(-(header + len(body)) % 16)
        ident = b"\x7fELF" + bytes([2 if self.wide else 1, 2 if self.big else 1, 1]) + bytes(9)
        form = "HHIQQQIHHHHHH" if self.wide else "HHIIIIIHHHHHH"
        return ident + self.pack(form, self.type, self.machine, 1, 0, 0, header + len(body), self.flags, header, 0, 0,
                                 entry, len(sections) + 1, len(sections)) + bytes(body + headers)
