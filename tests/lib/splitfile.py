"""Split DWARF 5 written byte by byte: an object file of skeleton units, and .dwo files for them.

Unit number I has one function of STEP bytes at address(I). A symbol "outer" covers the first SYMBOL_SIZE bytes.
"""
import struct

TEXT, STEP, SYMBOL_SIZE = 0x10000, 16, 4096
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE = 1, 2, 3, 7
ALLOC, EXEC = 2, 4
FORM_STRING, FORM_SEC_OFFSET, FORM_ADDRX, FORM_DATA4 = 0x08, 0x17, 0x1b, 0x06
AT_NAME, AT_LOW_PC, AT_HIGH_PC, AT_COMP_DIR, AT_ADDR_BASE, AT_DWO_NAME = 0x03, 0x11, 0x12, 0x1b, 0x73, 0x76
SKELETON_ABBREVS = bytes([1, 0x4a, 0, AT_DWO_NAME, FORM_STRING, AT_COMP_DIR, FORM_STRING,
                          AT_ADDR_BASE, FORM_SEC_OFFSET, 0, 0, 0])
SPLIT_ABBREVS = bytes([1, 0x11, 1, AT_NAME, FORM_STRING, 0, 0,
                       2, 0x2e, 0, AT_NAME, FORM_STRING, AT_LOW_PC, FORM_ADDRX, AT_HIGH_PC, FORM_DATA4, 0, 0, 0])


def address(unit):
    return TEXT + STEP * (unit + 1)


def elf(sections, type):
    """@sections are (name, type, flags, address, data, link, entry size); section headers only."""
    names, out, headers = bytearray(b"\0"), bytearray(64), bytearray(64)
    for name, kind, flags, addr, data, link, entry in sections + [(".shstrtab", SHT_STRTAB, 0, 0, None, 0, 0)]:
        at = len(names)
        names += name.encode() + b"\0"
        data = names if data is None else data
        out += bytes(-len(out) % 16)
        headers += struct.pack("<IIQQQQIIQQ", at, kind, flags, addr, len(out), len(data), link, 1, 16, entry)
        out += data
    out += bytes(-len(out) % 8)
    count = len(headers) // 64
    out[:64] = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", type, 62, 1, 0, 0, len(out), 0, 64, 56, 0, 64, count, count - 1)
    return bytes(out + headers)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def unit(type, dwo_id, entries):
    body = struct.pack("<HBBIQ", 5, type, 8, 0, dwo_id) + entries
    return struct.pack("<I", len(body)) + body


def make_skeletons(path, build_id, names, symbol=True):
    """@names are (dwo_name, comp_dir); the id of unit I is I + 1."""
    addresses = b"".join(struct.pack("<Q", address(i)) for i in range(len(names)))
    info = b"".join(unit(4, i + 1, b"\1" + name.encode() + b"\0" + where.encode() + b"\0" + struct.pack("<I", 8 + 8 * i))
                    for i, (name, where) in enumerate(names))
    strings = b"\0outer\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 2, TEXT, SYMBOL_SIZE)
    sections = [
        (".note.gnu.build-id", SHT_NOTE, ALLOC, 0x200, struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id, 0, 0),
        (".text", SHT_PROGBITS, ALLOC | EXEC, TEXT, bytes(max(SYMBOL_SIZE, STEP * (len(names) + 1))), 0, 0),
        (".debug_info", SHT_PROGBITS, 0, 0, info, 0, 0),
        (".debug_abbrev", SHT_PROGBITS, 0, 0, SKELETON_ABBREVS, 0, 0),
        (".debug_addr", SHT_PROGBITS, 0, 0, struct.pack("<IHBB", 4 + len(addresses), 5, 8, 0) + addresses, 0, 0),
    ]
    if symbol:
        sections += [(".symtab", SHT_SYMTAB, 0, 0, symbols, 7, 24), (".strtab", SHT_STRTAB, 0, 0, strings, 0, 0)]
    write(path, elf(sections, 3))


def make_dwo(path, unit_number, function):
    entries = b"\1unit.c\0" + b"\2" + function.encode() + b"\0\0" + struct.pack("<I", STEP) + b"\0"
    write(path, elf([(".debug_info.dwo", SHT_PROGBITS, 0, 0, unit(5, unit_number + 1, entries), 0, 0),
                     (".debug_abbrev.dwo", SHT_PROGBITS, 0, 0, SPLIT_ABBREVS, 0, 0)], 1))
