"""Writes small Mach-O files by hand (<mach-o/loader.h>, <mach-o/nlist.h>, <mach-o/fat.h>): for both byte orders and 32
bit, which linkers at hand do not make any more, and for what no linker makes at all.

    m = Maker(ARM64, uuid=b"0123456789abcdef")
    m.section("__TEXT", "__text", 0x1000, bytes(0x40), CODE)
    m.symbols = [Symbol("_main", 0x1000)]
    m.file()
"""
import os
import struct
from dataclasses import dataclass, field

from .craft import Dwarf, uleb

I386, X86_64, ARMV7, ARM64, ARM64E, ARM64_32 = (7, 3), (0x1000007, 3), (12, 9), (0x100000c, 0), (0x100000c, 2), (0x200000c, 1)
PPC, PPC64 = (18, 0), (0x1000012, 0)
NARROW = (7, 12, 18, 0x200000c)
MH_OBJECT, MH_EXECUTE, MH_DYLIB, MH_DSYM = 1, 2, 6, 10
LC_SEGMENT, LC_SYMTAB, LC_DYSYMTAB, LC_SEGMENT_64, LC_UUID, LC_DYLD_INFO = 0x1, 0x2, 0xb, 0x19, 0x1b, 0x22
LC_FUNCTION_STARTS, LC_EXPORTS_TRIE = 0x26, 0x80000033
CODE, STUBS, ZEROFILL = 0x80000400, 0x80000408, 1
N_EXT, N_ABS, N_SECT, N_FUN, N_WEAK_DEF, N_THUMB = 0x01, 0x02, 0x0e, 0x24, 0x80, 0x08


@dataclass
class Section:
    segment: str
    name: str
    addr: int
    data: bytes
    flags: int = 0
    reserved1: int = 0
    reserved2: int = 0
    size: int = -1    # as told; -1: that of the data
    offset: int = -1  # as told; -1: where the data is


@dataclass
class Symbol:
    name: str
    value: int = 0
    type: int = N_SECT | N_EXT
    section: int = 1
    desc: int = 0


def trie(names):
    """The trie of exported symbols: @names: name -> offset from the header, or the terminal's bytes."""
    nodes = []  # (terminal, [(string of an edge, number of its node)])

    def add(suffixes):
        number = len(nodes)
        nodes.append(None)
        value = suffixes.pop("", b"")
        edges = []
        for letter in dict.fromkeys(s[0] for s in suffixes):
            group = [s for s in suffixes if s[0] == letter]
            edge = os.path.commonprefix(group)
            edges.append((edge, add({s[len(edge):]: suffixes[s] for s in group})))
        nodes[number] = (value if isinstance(value, bytes) else b"\0" + uleb(value), edges)
        return number

    add(dict(names))
    places = [0] * len(nodes)
    while True:  # offsets have as many bytes as they need: again until none changes
        out, moved = bytearray(), False
        for number, (terminal, edges) in enumerate(nodes):
            moved |= places[number] != len(out)
            places[number] = len(out)
            out += uleb(len(terminal)) + terminal + bytes([len(edges)])
            for edge, child in edges:
                out += edge.encode() + b"\0" + uleb(places[child])
        if not moved:
            return bytes(out)


def function_starts(base, addresses):
    out = b""
    for addr in addresses:
        out += uleb(addr - base)
        base = addr
    return out + b"\0"


@dataclass
class Maker:
    """A thin file. Segments are in the order in which sections first name them."""
    machine: tuple = ARM64
    filetype: int = MH_DYLIB
    big: bool = False
    uuid: bytes = b""
    text: int = 0  # address of __TEXT
    symbols: list = field(default_factory=list)
    indirect: list = field(default_factory=list)
    starts: bytes = b""
    exports: bytes = b""
    old_exports: bool = False  # LC_DYLD_INFO has the trie
    extra: list = field(default_factory=list)  # (command, bytes behind its two words)
    sections: list = field(default_factory=list)
    page: int = 0  # size of one: segments are in the file as linkers put them, __TEXT at its start; 0: they have no bytes

    @property
    def wide(self):
        return self.machine[0] not in NARROW

    def pack(self, form, *values):
        return struct.pack((">" if self.big else "<") + form, *values)

    def section(self, segment, name, addr, data, flags=0, **more):
        self.sections.append(Section(segment, name, addr, data, flags, **more))

    def dwarf(self, units):
        made = Dwarf(units, self.wide, self.big)
        for name in ("info", "abbrev", "line", "ranges"):
            if getattr(made, name):
                self.section("__DWARF", f"__debug_{name}", 0, bytes(getattr(made, name)))

    def _segments(self):
        names = [""] if self.filetype == MH_OBJECT else list(dict.fromkeys(["__TEXT", *(s.segment for s in self.sections)]))
        if self.page and self.text and self.filetype == MH_EXECUTE:
            yield "__PAGEZERO", []
        for name in names:
            yield name, [s for s in self.sections if s.segment == name or not name]
        if self.page:
            yield "__LINKEDIT", []

    def _segment(self, name, sections, places):
        form, word = ("16s16sQQ8I", "Q") if self.wide else ("16s16sII7I", "I")
        body = b""
        for s in sections:
            offset = s.offset if s.offset >= 0 else places.get(id(s), 0)
            size = s.size if s.size >= 0 else len(s.data)
            rest = (offset, 0, 0, 0, s.flags, s.reserved1, s.reserved2) + ((0,) if self.wide else ())
            body += self.pack(form, s.name.encode(), s.segment.encode(), s.addr, size, *rest)
        addr = self.text if name == "__TEXT" else sections[0].addr if sections else 0
        size = max([s.addr + len(s.data) for s in sections], default=0) - addr
        place = places.get(("segment", name), (addr, max(size, 0), 0, 0))
        head = self.pack(f"16s4{word}4I", name.encode(), *place, 7, 7, len(sections), 0)
        return LC_SEGMENT_64 if self.wide else LC_SEGMENT, head + body

    def _symtab(self):
        strings, table = b"\0", b""
        for s in self.symbols:
            at = len(strings) if s.name else 0
            table += self.pack("IBBHQ" if self.wide else "IBBHI", at, s.type, s.section, s.desc, s.value)
            strings += s.name.encode() + b"\0" if s.name else b""
        return table, strings

    def _commands(self, places):
        """Load commands; @places: where parts of the file are, known the second time."""
        out = [self._segment(name, sections, places) for name, sections in self._segments()]
        if self.uuid:
            out.append((LC_UUID, self.uuid))
        table, strings = self._symtab()
        if self.symbols:
            out.append((LC_SYMTAB, self.pack("4I", places.get("symbols", 0), len(self.symbols),
                                             places.get("strings", 0), len(strings))))
        if self.indirect:
            out.append((LC_DYSYMTAB, bytes(48) + self.pack("2I", places.get("indirect", 0), len(self.indirect)) + bytes(16)))
        if self.starts:
            out.append((LC_FUNCTION_STARTS, self.pack("2I", places.get("starts", 0), len(self.starts))))
        if self.exports:
            where = self.pack("2I", places.get("exports", 0), len(self.exports))
            out.append((LC_DYLD_INFO, bytes(32) + where) if self.old_exports else (LC_EXPORTS_TRIE, where))
        return out + self.extra

    def _whole(self, size):
        return size + -size % self.page

    def _load(self, first):
        """Places of segments and of what is in them, as file() has them, and where the file goes on: at a whole page."""
        places, at, end = {("segment", "__PAGEZERO"): (0, self.text, 0, 0)}, 0, self.text
        for name, sections in self._segments():
            if not sections or name == "__DWARF":  # behind everything, as it has no address
                continue
            addr = self.text if name == "__TEXT" else min(s.addr for s in sections) // self.page * self.page
            for s in sections:
                places[id(s)] = at + s.addr - addr
                if s.data and places[id(s)] < first:
                    raise ValueError(f"{s.name} lies in the load commands, which end at {first:#x}")
            size = self._whole(max(s.addr + len(s.data) - addr for s in sections if s.data))
            end = addr + self._whole(max(s.addr + max(s.size, len(s.data)) - addr for s in sections))
            places["segment", name] = addr, end - addr, at, size
            at += size
        return places, at, end

    def _places(self, parts, first):
        """Where in the file the parts are, and segments: (address, size, place, size in the file)."""
        places, at, end = self._load(first) if self.page else ({}, first, 0)
        start = at
        for key, data in parts:
            if key not in places:
                places[key] = at + -at % 8
                at = places[key] + len(data)
        if self.page:
            places["segment", "__LINKEDIT"] = end, self._whole(at - start), start, at - start
        return places

    def file(self):
        """The bytes of the whole file."""
        table, strings = self._symtab()
        parts = [(id(s), s.data) for s in self.sections if s.data and s.offset < 0]
        parts += [("symbols", table), ("strings", strings), ("starts", self.starts), ("exports", self.exports),
                  ("indirect", self.pack(f"{len(self.indirect)}I", *self.indirect))]
        header = 32 if self.wide else 28
        first = header + sum(len(data) + 8 for _, data in self._commands({}))
        places = self._places(parts, first)
        body = bytearray(max(places[key] + len(data) for key, data in parts))
        for key, data in parts:
            body[places[key]:places[key] + len(data)] = data
        commands = self._commands(places)
        text = b"".join(self.pack("2I", command, len(data) + 8) + data for command, data in commands)
        magic = 0xfeedfacf if self.wide else 0xfeedface
        head = self.pack("7I", magic, *self.machine, self.filetype, len(commands), len(text), 0)
        body[:first] = head + bytes(header - 28) + text
        return bytes(body)


def fat(files, wide=False):
    """A fat file of thin ones: (machine, bytes) each. Always big-endian."""
    out = bytearray(struct.pack(">II", 0xcafebabf if wide else 0xcafebabe, len(files)))
    at = len(out) + len(files) * (32 if wide else 20)
    body = bytearray()
    for machine, data in files:
        body += bytes(-(at + len(body)) % 16)
        out += struct.pack(">IIQQII" if wide else ">IIIII", *machine, at + len(body), len(data), 4, *([0] if wide else []))
        body += data
    return bytes(out + body)
