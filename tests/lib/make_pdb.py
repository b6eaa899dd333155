"""PDB files written byte by byte: the MSF container, PDB and DBI streams, section headers, OMAP, publics, modules."""
import struct
import uuid
from dataclasses import dataclass, field

from .make_pe import AMD64, CODE, DATA, GUID, align

MAGIC = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"
NONE = 0xffff
DELETED = None  # a stream that the directory has no bytes of
VC70, VC140, FASTLINK = 20000404, 20140508, 0x494e494d
TO_SOURCE, FROM_SOURCE, SECTIONS, ORIGINAL = 3, 4, 5, 10  # indexes of the debug header
FUNCTION = 2


def msf(streams, block=4096, scatter=False):
    """The container; @scatter: no two blocks of a stream follow one another."""
    blocks, lists = [b"", bytes(block), bytes(block)], []
    parts = [(s, i) for s, data in enumerate(streams) for i in range(-(-len(data or b"") // block))]
    if scatter:
        parts = parts[::-2] + parts[-2::-2]
    numbers = {part: 3 + i for i, part in enumerate(parts)}
    for s, i in parts:
        blocks.append(streams[s][i * block:(i + 1) * block].ljust(block, b"\0"))
    for s, data in enumerate(streams):
        lists += [numbers[s, i] for i in range(-(-len(data or b"") // block))]
    sizes = [0xffffffff if data is DELETED else len(data) for data in streams]
    directory = struct.pack(f"<I{len(sizes)}I{len(lists)}I", len(sizes), *sizes, *lists)
    at = len(blocks)
    blocks += [directory[i:i + block].ljust(block, b"\0") for i in range(0, len(directory), block)]
    own = list(range(at, len(blocks)))
    at = len(blocks)
    blocks.append(struct.pack(f"<{len(own)}I", *own).ljust(block, b"\0"))
    blocks[0] = (MAGIC + struct.pack("<6I", block, 1, len(blocks), len(directory), 0, at)).ljust(block, b"\0")
    return b"".join(blocks)


def public(name, section, off, flags=FUNCTION):
    body = struct.pack("<HIIH", 0x110e, flags, off, section) + name.encode() + b"\0"
    body += bytes(-(len(body) + 2) % 4)
    return struct.pack("<H", len(body)) + body


@dataclass
class Module:
    name: str = "x.obj"
    symbols: bytes = b""  # with the signature
    c11: bytes = b""
    c13: bytes = b""


def linker(**environment):
    """The linker's module, with its environment: its command line is "cmd"."""
    body = struct.pack("<HB", 0x113d, 0) + b"".join(text.encode() + b"\0" for pair in environment.items() for text in pair) + b"\0"
    body += bytes(-(len(body) + 2) % 4)
    return Module("* Linker *", struct.pack("<IH", 4, len(body)) + body)


@dataclass
class Pdb:
    guid: uuid.UUID = GUID
    age: int = 1           # of the DBI stream
    machine: int = AMD64
    version: int = VC70
    features: tuple = (VC140,)
    sections: list = field(default_factory=lambda: [(".text", 0x1000, 0x80, CODE), (".data", 0x2000, 0x10, DATA)])
    publics: list = field(default_factory=list)  # (name, section, offset[, flags])
    modules: list = field(default_factory=list)
    named: dict = field(default_factory=dict)    # name -> bytes of the stream
    omap: list = None      # (from, to): where code went
    back: list = None      # (from, to): where it was
    original: list = None  # sections that publics count in, with an OMAP; none: the same
    types: bytes = b""
    ids: bytes = b""
    program: bool = True   # has a DBI stream
    block: int = 4096
    scatter: bool = False

    def __post_init__(self):
        self.streams = [b"", b"", self.types, b"", self.ids]

    def stream(self, data):
        self.streams.append(data)
        return len(self.streams) - 1

    def _info(self):
        texts, entries = b"", b""
        for name, data in self.named.items():
            entries += struct.pack("<II", len(texts), self.stream(data))
            texts += name.encode() + b"\0"
        n = len(self.named)
        table = struct.pack("<4II", n, 2 * n + 1, 1, (1 << n) - 1, 0) + entries
        return struct.pack("<III", self.version, 0, self.age + 3) + self.guid.bytes_le + \
            struct.pack("<I", len(texts)) + texts + table + struct.pack(f"<{len(self.features)}I", *self.features)

    def _headers(self, sections):
        return self.stream(b"".join(struct.pack("<8sIIIIIIHHI", name.encode(), size, rva, size, 0, 0, 0, 0, 0, flags)
                                    for name, rva, size, flags in sections))

    def _publics(self):
        starts = dict(enumerate((s[1] for s in self.original or self.sections), 1))
        places = {s: starts.get(s[1], 0) + s[2] for s in self.publics}
        records, offs = b"", {}
        for s in self.publics:
            offs[s] = len(records)
            records += public(*s)
        order = [offs[s] for s in sorted(self.publics, key=places.get)]
        names = struct.pack("<iIII", -1, 0xf12f091a, 0, 0)  # of no hash buckets
        head = struct.pack("<6II", len(names), 4 * len(order), 0, 0, 0, 0, len(self.sections))
        return self.stream(head + names + struct.pack(f"<{len(order)}I", *order)), self.stream(records)

    def _dbi(self):
        publics, symbols = self._publics()
        modules, streams = b"", {}  # a module that is listed again has the same stream
        for m in self.modules:
            if id(m) not in streams:
                streams[id(m)] = self.stream(m.symbols + m.c11 + m.c13)
            number = streams[id(m)]
            one = bytes(34) + struct.pack("<H3I", number, len(m.symbols), len(m.c11), len(m.c13)) + bytes(16)
            one += m.name.encode() + b"\0" + m.name.encode() + b"\0"
            modules += one.ljust(align(len(one), 4), b"\0")
        listed = [NONE] * 11
        listed[SECTIONS] = self._headers(self.sections)
        if self.omap is not None:
            listed[FROM_SOURCE] = self.stream(b"".join(struct.pack("<II", *entry) for entry in self.omap))
            listed[TO_SOURCE] = NONE if self.back is None else self.stream(b"".join(struct.pack("<II", *entry) for entry in self.back))
            listed[ORIGINAL] = self._headers(self.original) if self.original else NONE
        debug = struct.pack("<11H", *listed)
        contributions = struct.pack("<I", 0xf12eba2d)
        return struct.pack("<iIIHHHHHH8I2HI", -1, 19990903, self.age, NONE, 0, publics, 0, symbols, 0, len(modules),
                           len(contributions), 0, 0, 0, 0, len(debug), 0, 0, self.machine, 0) + modules + contributions + debug

    def file(self):
        self.streams[1] = self._info()
        self.streams[3] = self._dbi() if self.program else b""
        return msf(self.streams, self.block, self.scatter)
