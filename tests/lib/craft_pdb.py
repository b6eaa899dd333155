"""PDB files written byte by byte: MSF pages, streams, DBI, modules with symbols and line tables, types, ids, publics, OMAP.

All numbers of a part that a test may want to be wrong are members of the maker of that part.
"""
import struct
import uuid
from dataclasses import dataclass, field

from .make_pe import AMD64, GUID

MAGIC = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"
NONE = 0xffff
PAGE = 0x1000
CODE, DATA = 0x60000020, 0x40000040

S_END, S_THUNK32, S_BLOCK32, S_PUB32, S_LPROC32, S_GPROC32, S_GMANPROC, S_TRAMPOLINE = 6, 0x1102, 0x1103, 0x110e, 0x110f, 0x1110, 0x112a, 0x112c
S_SEPCODE, S_LPROC32_ID, S_GPROC32_ID, S_INLINESITE, S_INLINESITE_END, S_PROC_ID_END, S_INLINESITE2 = (
    0x1132, 0x1146, 0x1147, 0x114d, 0x114e, 0x114f, 0x115d)
LF_STRUCTURE, LF_STRUCTURE2, LF_FUNC_ID, LF_MFUNC_ID, LF_SUBSTR_LIST, LF_STRING_ID = 0x1505, 0x1609, 0x1601, 0x1602, 0x1604, 0x1605
(OFFSET, BASE, DELTA, LENGTH, FILE, LINE, LINE_END, KIND, COLUMN, COLUMN_END_DELTA, BOTH, LENGTH_DELTA, COLUMN_END) = range(1, 14)
LINES, STRINGS, CHECKSUMS, INLINEES, IMPORTS, EXPORTS = 0xf2, 0xf3, 0xf4, 0xf6, 0xf7, 0xf8


def text(name):
    return (name.encode() if isinstance(name, str) else name) + b"\0"


def pad(data, to=4, fill=b"\0"):
    return data + fill * (-len(data) % to)


# ---- MSF ----

@dataclass
class Msf:
    """A container: streams to pages. What is None is computed."""
    streams: list
    page: int = 0x200
    scattered: bool = False   # no two pages of a stream follow one another
    sizes: dict = field(default_factory=dict)   # stream -> what the directory says of its size
    pages: dict = field(default_factory=dict)   # stream -> its pages
    n_pages: int = None
    n_streams: int = None
    directory_size: int = None
    directory_pages: list = None
    map_page: int = None
    magic: bytes = MAGIC

    def file(self):
        placed, data = {}, {}
        wanted = [(i, k) for i, s in enumerate(self.streams) if s for k in range(-(-len(s) // self.page))]
        if self.scattered:
            wanted.sort(key=lambda w: (w[1], w[0]))
        at = 3
        for i, k in wanted:
            at += at % self.page in (1, 2) and self.page - 1
            placed.setdefault(i, []).append(at)
            data[at] = self.streams[i][k * self.page:(k + 1) * self.page]
            at += 1
        placed.update(self.pages)
        sizes = [self.sizes.get(i, 0xffffffff if s is None else len(s)) for i, s in enumerate(self.streams)]
        directory = struct.pack("<I", len(sizes) if self.n_streams is None else self.n_streams) + struct.pack(f"<{len(sizes)}I", *sizes)
        for i in range(len(self.streams)):
            directory += struct.pack(f"<{len(placed.get(i, []))}I", *placed.get(i, []))
        pages = []
        for k in range(0, len(directory), self.page):
            data[at] = directory[k:k + self.page]
            pages.append(at)
            at += 2 if self.scattered else 1
        pages = pages if self.directory_pages is None else self.directory_pages
        map_page = at
        for k in range(0, max(4 * len(pages), 1), self.page):
            data[at] = struct.pack(f"<{len(pages)}I", *pages)[k:k + self.page]
            at += 1
        head = self.magic + struct.pack("<6I", self.page, 1, at if self.n_pages is None else self.n_pages,
                                        len(directory) if self.directory_size is None else self.directory_size, 0,
                                        map_page if self.map_page is None else self.map_page)
        out = bytearray(at * self.page)
        out[:len(head)] = head
        for k, part in data.items():
            out[k * self.page:k * self.page + len(part)] = part
        return bytes(out)


# ---- Symbols and line tables of a module ----

@dataclass
class Symbol:
    """Of @payload, the first two words are parent and end where there are @children, or an @end."""
    kind: int
    payload: bytes
    children: list = field(default_factory=list)
    end: int = None
    places: tuple = None   # parent and end, where they lie


def proc(name, off, size, *children, section=1, kind=S_GPROC32, flags=0, places=None):
    payload = bytes(12) + struct.pack("<IIIIIHB", size, 0, size, 0, off, section, flags) + text(name)
    return Symbol(kind, payload, list(children), S_PROC_ID_END if kind in (S_GPROC32_ID, S_LPROC32_ID) else S_END, places)


def thunk(name, off, size, section=1):
    return Symbol(S_THUNK32, bytes(12) + struct.pack("<IHHB", off, section, size, 0) + text(name), [], S_END)


def trampoline(off, size, target, section=1):
    return Symbol(S_TRAMPOLINE, struct.pack("<HHIIHH", 0, size, off, target, section, section))


def managed(name, off, size, *children, section=1):
    """A function of .NET, of which the address is of no code of the processor."""
    return Symbol(S_GMANPROC, bytes(12) + struct.pack("<IIIIIHBH", size, 0, size, 0, off, section, 0, 0) + text(name), list(children), S_END)


def block(off, size, *children, section=1):
    return Symbol(S_BLOCK32, bytes(8) + struct.pack("<IIH", size, off, section) + text(""), list(children), S_END)


def sepcode(off, size, parent_off, *children, section=1, parent_section=1):
    return Symbol(S_SEPCODE, bytes(8) + struct.pack("<IIIIHH", size, 0, off, parent_off, section, parent_section), list(children), S_END)


def site(inlinee, notes, *children, second=False, places=None):
    """@notes: operations of annotate(), or bytes."""
    payload = bytes(8) + struct.pack("<I", inlinee) + (struct.pack("<I", 1) if second else b"")
    return Symbol(S_INLINESITE2 if second else S_INLINESITE, payload + (notes if isinstance(notes, bytes) else annotate(*notes)),
                  list(children), S_INLINESITE_END, places)


def compress(n):
    if n < 0x80:
        return bytes([n])
    if n < 0x4000:
        return struct.pack(">H", 0x8000 | n)
    return struct.pack(">I", 0xc0000000 | n)


def signed(n):
    return n << 1 if n >= 0 else -n << 1 | 1


def annotate(*operations):
    """(operation, operand, ...), operands as numbers; that of lines is signed, of BOTH (code, line)."""
    out = b""
    for operation, *operands in operations:
        if operation in (LINE, COLUMN_END_DELTA):
            operands = [signed(operands[0])]
        elif operation == BOTH:
            operands = [signed(operands[1]) << 4 | operands[0]]
        out += compress(operation) + b"".join(compress(n) for n in operands)
    return out


def record(kind, payload):
    data = struct.pack("<H", kind) + payload
    data += bytes(-(len(data) + 2) % 4)
    return struct.pack("<H", len(data)) + data


def symbols(items):
    """Bytes of a symbol substream from its signature on, with parents and ends filled in."""
    out = bytearray(struct.pack("<I", 4))

    def add(item, parent):
        at = len(out)
        out.extend(record(item.kind, item.payload))
        for child in item.children:
            add(child, at if item.end else parent)
        if item.end:
            end = len(out)
            out.extend(record(item.end, b""))
            struct.pack_into("<II", out, at + 4, *(item.places or (parent, end)))
    for item in items:
        add(item, 0)
    return bytes(out)


def lines(off, size, *blocks, section=1, flags=0):
    """@blocks: (file, rows, columns): @file is the offset of its checksum; rows are (offset, line), line with the flags of its high bits."""
    out = struct.pack("<IHHI", off, section, flags | (1 if any(len(b) > 2 for b in blocks) else 0), size)
    for file, rows, *columns in blocks:
        body = b"".join(struct.pack("<II", at, line if line >> 31 else line | 1 << 31) for at, line in rows)
        body += b"".join(struct.pack("<HH", *c) for c in (columns[0] if columns else []))
        out += struct.pack("<III", file, len(rows), 12 + len(body)) + body
    return LINES, out


def inlinees(*entries, extra=False):
    """(id, file, line) or (id, file, line, [more files])."""
    out = struct.pack("<I", int(extra))
    for number, file, line, *more in entries:
        out += struct.pack("<III", number, file, line)
        if extra:
            files = more[0] if more else []
            out += struct.pack(f"<I{len(files)}I", len(files), *files)
    return INLINEES, out


def imports(names, *modules):
    """(module's name, [ids])."""
    return IMPORTS, b"".join(struct.pack(f"<II{len(ids)}I", names.add(name), len(ids), *ids) for name, ids in modules)


def exports(*pairs):
    return EXPORTS, b"".join(struct.pack("<II", *p) for p in pairs)


class Names:
    """The string table "/names"."""

    def __init__(self):
        self.data = bytearray(1)

    def add(self, name):
        at = len(self.data)
        self.data += text(name)
        return at

    def stream(self):
        return struct.pack("<III", 0xeffeeffe, 1, len(self.data)) + bytes(self.data) + struct.pack("<III", 1, 0, 0)


@dataclass
class Module:
    name: str
    symbols: list = field(default_factory=list)     # or bytes
    parts: list = field(default_factory=list)       # (kind, bytes)
    symbol_bytes: int = None
    c11_bytes: int = 0
    c13_bytes: int = None
    stream: int = None
    contribution: tuple = (1, 0, 0x1000)            # section, offset, size

    def bytes(self):
        own = self.symbols if isinstance(self.symbols, bytes) else symbols(self.symbols)
        own = pad(own)
        parts = b"".join(struct.pack("<II", kind, len(body)) + pad(body) for kind, body in self.parts)
        return own + parts + struct.pack("<I", 0), len(own), len(parts)


def files(names, *paths, kind=1, checksum=bytes(16)):
    """The file table of a module, and the offset of each file in it."""
    body, places = b"", []
    for path in paths:
        places.append(len(body))
        body += pad(struct.pack("<IBB", names if isinstance(names, int) else names.add(path), len(checksum), kind) + checksum)
    return (CHECKSUMS, body), places


# ---- Types and ids ----

def numeric(n):
    return struct.pack("<H", n) if n < 0x8000 else struct.pack("<HI", 0x8004, n)


def structure(name, leaf=LF_STRUCTURE, unique=None):
    properties = 0x200 if unique else 0
    if leaf == LF_STRUCTURE2:
        body = struct.pack("<IIIIH", properties, 0, 0, 0, 0)
    else:
        body = struct.pack("<HHIII", 0, properties, 0, 0, 0)
    return leaf, body + numeric(0) + text(name) + (text(unique) if unique else b"")


def func_id(name, scope=0, type=0):
    return LF_FUNC_ID, struct.pack("<II", scope, type) + text(name)


def mfunc_id(name, parent, type=0):
    return LF_MFUNC_ID, struct.pack("<II", parent, type) + text(name)


def string_id(name, more=0):
    return LF_STRING_ID, struct.pack("<I", more) + text(name)


def substrings(*ids):
    return LF_SUBSTR_LIST, struct.pack(f"<I{len(ids)}I", len(ids), *ids)


def type_record(leaf, body):
    data = struct.pack("<H", leaf) + body
    while (len(data) + 2) % 4:
        data += bytes([0xf0 | 4 - (len(data) + 2) % 4])
    return struct.pack("<H", len(data)) + data


def type_stream(records, end=None, size=None):
    body = records if isinstance(records, bytes) else b"".join(type_record(*r) for r in records)
    count = 0 if isinstance(records, bytes) else len(records)
    return struct.pack("<5IHHII6i", 20040203, 56, 0x1000, 0x1000 + count if end is None else end, len(body) if size is None else size,
                       NONE, NONE, 4, 0x3ffff, 0, 0, 0, 0, 0, 0) + body


# ---- The whole ----

def hash_name(name):
    data, result = name.encode(), 0
    while len(data) >= 4:
        result ^= struct.unpack_from("<I", data)[0]
        data = data[4:]
    if len(data) >= 2:
        result ^= struct.unpack_from("<H", data)[0]
        data = data[2:]
    if data:
        result ^= data[0]
    result |= 0x20202020
    result ^= result >> 11
    return (result ^ result >> 16) & 0xffff


def info_stream(guid, age, named, features=(20140508,), version=20000404):
    strings, places = b"", {}
    for name in named:
        places[name] = len(strings)
        strings += text(name)
    capacity = 2 * len(named) + 2
    table = {}
    for name, number in named.items():
        bucket = hash_name(name) % capacity
        while bucket in table:
            bucket = (bucket + 1) % capacity
        table[bucket] = (places[name], number)
    present = sum(1 << b for b in table)
    out = struct.pack("<III", version, 0x5f000000, age) + guid.bytes_le
    out += struct.pack("<I", len(strings)) + strings + struct.pack("<IIIII", len(named), capacity, 1, present, 0)
    out += b"".join(struct.pack("<II", *table[b]) for b in sorted(table)) + struct.pack("<I", 0)
    return out + b"".join(struct.pack("<I", f) for f in features)


@dataclass
class Section:
    name: str
    rva: int
    size: int
    flags: int = CODE

    def header(self):
        return struct.pack("<8sIIIIIIHHI", self.name.encode(), self.size, self.rva, self.size, 0x400, 0, 0, 0, 0, self.flags)


@dataclass
class Pdb:
    modules: list = field(default_factory=list)
    names: Names = field(default_factory=Names)
    types: list = field(default_factory=list)
    ids: list = field(default_factory=list)
    publics: list = field(default_factory=list)          # (name, offset[, section[, flags]])
    sections: list = field(default_factory=lambda: [Section(".text", 0x1000, 0x1000), Section(".data", 0x2000, 0x1000, DATA)])
    original: list = None                                # sections before OMAP
    omap_from: list = None                               # (original RVA, RVA): of what was moved
    omap_to: list = None                                 # (RVA, original RVA)
    guid: uuid.UUID = GUID
    age: int = 1
    info_age: int = 1
    machine: int = AMD64
    features: tuple = (20140508,)
    header: dict = field(default_factory=dict)           # numbers of the DBI header by their index
    replace: dict = field(default_factory=dict)          # stream -> bytes
    msf: dict = field(default_factory=dict)              # members of Msf

    def _modules(self, add):
        out = b""
        for i, m in enumerate(self.modules):
            data, own, parts = m.bytes()
            stream = add(data) if m.stream is None else m.stream
            section, off, size = m.contribution
            out += struct.pack("<I", 0) + contribution(section, off, size, i)
            out += struct.pack("<HHIIIHHIII", 0, stream, own if m.symbol_bytes is None else m.symbol_bytes, m.c11_bytes,
                               parts if m.c13_bytes is None else m.c13_bytes, 0, 0, 0, 0, 0)
            out = pad(out + text(m.name) + text(m.name))
        return out

    def _publics(self, add):
        places, body = [], b""
        for name, off, *more in self.publics:
            section, flags = (more + [1, 2][len(more):])[:2]
            places.append((section, off, len(body)))
            body += record(S_PUB32, struct.pack("<IIH", flags, off, section) + text(name))
        symbols_at = add(body)
        records = b"".join(struct.pack("<II", at + 1, 1) for _, _, at in places)
        table = struct.pack("<IIII", 0xffffffff, 0xeffe0000 + 19990810, len(records), 520 if places else 0) + records
        table += struct.pack("<I", 1) + bytes(516) if places else b""  # all in the first bucket
        addresses = b"".join(struct.pack("<I", at) for _, _, at in sorted(places))
        return add(struct.pack("<IIIIHHII", len(table), len(addresses), 0, 0, 0, 0, 0, 0) + table + addresses), symbols_at

    def _omap(self, pairs, add):
        return NONE if pairs is None else add(b"".join(struct.pack("<II", *p) for p in pairs))

    def streams(self):
        out = [b"", b"", type_stream(self.types), b"", type_stream(self.ids)]

        def add(data):
            out.append(data)
            return len(out) - 1
        names = add(self.names.stream())
        headers = add(b"".join(s.header() for s in self.sections))
        original = add(b"".join(s.header() for s in self.original)) if self.original else NONE
        publics, records = self._publics(add)
        debug = [NONE, NONE, NONE, self._omap(self.omap_to, add), self._omap(self.omap_from, add), headers, NONE, NONE, NONE, NONE, original]
        modules = self._modules(add)
        contributions = struct.pack("<I", 0xeffe0000 + 19970605)
        contributions += b"".join(contribution(*m.contribution, i) for i, m in enumerate(self.modules))
        n = len(self.sections) + 1
        section_map = struct.pack("<HH", n, n)
        for i, s in enumerate([*self.sections, Section("", 0, 0xffffffff)]):
            section_map += struct.pack("<HHHHHHII", 0x109 if i < n - 1 else 0x208, 0, 0, i + 1, NONE, NONE, 0, s.size)
        source = pad(struct.pack("<HH", len(self.modules), 0) + struct.pack("<HH", 0, 0) * len(self.modules))
        debug = struct.pack("<11H", *debug)
        numbers = [-1, 19990903, self.age, NONE, 0x8e00, publics, 0, records, 0, len(modules), len(contributions), len(section_map),
                   len(source), 0, 0, len(debug), 0, 0, self.machine, 0]
        for index, number in self.header.items():
            numbers[index] = number
        out[3] = struct.pack("<iII6HIIIIIIIIHHI", *numbers) + modules + contributions + section_map + source + debug
        out[1] = info_stream(self.guid, self.info_age, {"/names": names}, self.features)
        for number, data in self.replace.items():
            out[number] = data
        return out

    def file(self):
        return Msf(self.streams(), **self.msf).file()


def contribution(section, off, size, module):
    return struct.pack("<HHiiIHHII", section, 0, off, size, CODE, module, 0, 0, 0)
