"""CodeView of a module of a PDB file, written byte by byte: symbols, lines, types and items."""
import struct

S_END, S_THUNK32, S_BLOCK32, S_LPROC32, S_GPROC32, S_TRAMPOLINE, S_SEPCODE = 0x6, 0x1102, 0x1103, 0x110f, 0x1110, 0x112c, 0x1132
S_INLINESITE, S_INLINESITE_END, S_INLINESITE2 = 0x114d, 0x114e, 0x115d
LINES, CHECKSUMS, INLINEES, IMPORTS, EXPORTS = 0xf2, 0xf4, 0xf6, 0xf7, 0xf8
LF_CLASS, LF_STRUCTURE, LF_UNION, LF_ENUM, LF_FUNC_ID, LF_MFUNC_ID, LF_STRING_ID, LF_STRUCTURE2 = \
    0x1504, 0x1505, 0x1506, 0x1507, 0x1601, 0x1602, 0x1605, 0x1609
FIRST_TYPE = 0x1000


def padded(data):
    return data + bytes(-len(data) % 4)


def record(kind, body):
    """A symbol, type or item: its size and that of its kind make a multiple of 4."""
    body = struct.pack("<H", kind) + body
    body += bytes(-(len(body) + 2) % 4)
    return struct.pack("<H", len(body)) + body


def text(name):
    return name.encode() + b"\0"


# ---- Symbols ----

def procedure(name, off, size, *inner, section=1, kind=S_GPROC32):
    head = struct.pack("<7IIHB", 0, 0, 0, size, 0, size, 0, off, section, 0)
    return record(kind, head + text(name)) + b"".join(inner) + record(S_END, b"")


def thunk(name, off, size, section=1):
    return record(S_THUNK32, struct.pack("<4IHHB", 0, 0, 0, off, section, size, 0) + text(name)) + record(S_END, b"")


def trampoline(off, size, target, section=1):
    return record(S_TRAMPOLINE, struct.pack("<2H2I2H", 0, size, off, target, section, section))


def separated(off, size, parent, *inner, section=1):
    head = struct.pack("<6I2H", 0, 0, size, 0, off, parent, section, section)
    return record(S_SEPCODE, head) + b"".join(inner) + record(S_END, b"")


def block(*inner):
    return record(S_BLOCK32, bytes(18) + b"\0") + b"".join(inner) + record(S_END, b"")


def number(value):
    """A number of an annotation."""
    if value < 0x80:
        return bytes([value])
    return struct.pack(">H", 0x8000 | value) if value < 0x4000 else struct.pack(">I", 0xc0000000 | value)


def signed(value):
    return number(-value << 1 | 1 if value < 0 else value << 1)


def site(item, annotations, *inner, second=False):
    head = struct.pack("<3I", 0, 0, item) + (bytes(4) if second else b"")
    return record(S_INLINESITE2 if second else S_INLINESITE, head + annotations) + b"".join(inner) + record(S_INLINESITE_END, b"")


def symbols(*items):
    return struct.pack("<I", 4) + b"".join(items)


# ---- Lines ----

def subsection(kind, data):
    return struct.pack("<II", kind, len(data)) + padded(data)


def lines(off, size, *blocks, section=1, columns=False):
    """@blocks: offset of the file's checksum, then (offset, line) of each line."""
    data = struct.pack("<IHHI", off, section, columns, size)
    for checksum, entries in blocks:
        body = b"".join(struct.pack("<II", at, line | 1 << 31) for at, line in entries) + bytes(4 * len(entries) * columns)
        data += struct.pack("<III", checksum, len(entries), len(body) + 12) + body
    return subsection(LINES, data)


def checksums(*names):
    """Of 8 bytes each, as files without a checksum have them."""
    return subsection(CHECKSUMS, b"".join(struct.pack("<I4x", name) for name in names))


def inlinees(*entries, files=None):
    """@entries: (item, checksum, line); @files: further files of each."""
    data = struct.pack("<I", files is not None)
    for entry in entries:
        data += struct.pack("<III", *entry)
        data += b"" if files is None else struct.pack(f"<I{len(files)}I", len(files), *files)
    return subsection(INLINEES, data)


def imports(module, *items):
    return subsection(IMPORTS, struct.pack(f"<II{len(items)}I", module, len(items), *items))


def exports(*pairs):
    return subsection(EXPORTS, b"".join(struct.pack("<II", *pair) for pair in pairs))


def names(*files):
    """The stream "/names", and the offset of each."""
    data, offs = b"\0", []
    for name in files:
        offs.append(len(data))
        data += text(name)
    return struct.pack("<III", 0xeffeeffe, 1, len(data)) + data + bytes(12), offs


# ---- Types and items ----

def table(*records):
    """A TPI or IPI stream."""
    data = b"".join(records)
    return struct.pack("<5I", 20040203, 56, FIRST_TYPE, FIRST_TYPE + len(records), len(data)) + bytes(36) + data


def structure(name, kind=LF_STRUCTURE, size=struct.pack("<H", 4)):
    if kind == LF_STRUCTURE2:
        return record(kind, struct.pack("<4IH", 0, 0, 0, 0, 1) + size + text(name))
    return record(kind, struct.pack("<HHIII", 1, 0, 0, 0, 0) + size + text(name))


def union(name):
    return record(LF_UNION, struct.pack("<HHIHI", 1, 0, 0, 0x8004, 70000) + text(name))


def enumeration(name):
    return record(LF_ENUM, struct.pack("<HHII", 1, 0, 0x74, 0) + text(name))


def string(name):
    return record(LF_STRING_ID, struct.pack("<I", 0) + text(name))


def function(name, scope=0, kind=LF_FUNC_ID):
    return record(kind, struct.pack("<II", scope, 0) + text(name))
