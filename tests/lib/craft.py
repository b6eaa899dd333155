"""Small ELF files with DWARF, byte by byte, for shapes that no compiler makes on request.

    main = Die("subprogram", name="main", low_pc=0x1000, high_pc=0x10)
    write(path, units=[Unit(main, lines=[Sequence(0x1010, (0x1000, 1, 5))])], symbols=[Symbol("main", 0x1000, 0x10)])

Little-endian ELF64 for x86-64 with one code section, DWARF 4 (5 with Unit.version; line tables stay those of version 4).
"""
import struct
from dataclasses import dataclass, field

TAGS = {"class_type": 0x02, "lexical_block": 0x0b, "pointer_type": 0x0f, "base_type": 0x24, "template_type_parameter": 0x2f,
        "template_value_parameter": 0x30, "GNU_template_parameter_pack": 0x4107, "compile_unit": 0x11, "structure_type": 0x13, "inlined_subroutine": 0x1d,
        "subprogram": 0x2e, "namespace": 0x39, "call_site": 0x48, "GNU_call_site": 0x4109}
ADDR, DATA2, DATA4, DATA8, STRING, DATA1, REF4, SEC_OFFSET, FLAG = 1, 5, 6, 7, 8, 0x0b, 0x13, 0x17, 0x19
ATTRIBUTES = {"sibling": (0x01, REF4), "name": (0x03, STRING), "stmt_list": (0x10, SEC_OFFSET),
              "low_pc": (0x11, ADDR), "high_pc": (0x12, DATA8),
              "language": (0x13, DATA2), "comp_dir": (0x1b, STRING), "inline": (0x20, DATA1),
              "const_value": (0x1c, DATA8), "abstract_origin": (0x31, REF4), "decl_file": (0x3a, DATA2), "decl_line": (0x3b, DATA2),
              "declaration": (0x3c, FLAG), "external": (0x3f, FLAG), "specification": (0x47, REF4), "type": (0x49, REF4),
              "ranges": (0x55, SEC_OFFSET), "call_file": (0x58, DATA2), "call_line": (0x59, DATA2),
              "linkage_name": (0x6e, STRING), "str_offsets_base": (0x72, SEC_OFFSET), "call_return_pc": (0x7d, ADDR), "call_origin": (0x7f, REF4),
              "call_tail_call": (0x82, FLAG), "GNU_dwo_name": (0x2130, STRING), "GNU_dwo_id": (0x2131, DATA8),
              "GNU_tail_call": (0x2115, FLAG), "LLVM_stmt_sequence": (0x3e0c, SEC_OFFSET)}
C_PLUS_PLUS, C99 = 0x04, 0x0c
TEXT, TEXT_SIZE = 0x1000, 0x1000


class Die:
    """An entry. Attributes are keywords of ATTRIBUTES; a reference is the Die, ranges are a list of (low, high),
    which entries with the same list share."""

    def __init__(self, tag, *children, **attributes):
        self.tag, self.children, self.attributes = tag, children, attributes
        self.offset = None


@dataclass
class Sequence:
    """Rows (address, file, line) of a line table, up to the end address."""
    end: int
    rows: list

    def __init__(self, end, *rows):
        self.end, self.rows = end, list(rows)
        self.offset = None  # in .debug_line, once written


class Unit:
    """A unit. @table: the bytes of its line table, in place of @lines and @files."""

    def __init__(self, *children, lines=(), files=("a.c",), version=4, table=b"", **attributes):
        self.version, self.lines, self.files, self.table = version, list(lines), list(files), table
        attributes.setdefault("name", "a.c")
        attributes.setdefault("comp_dir", "/src")
        if self.lines or self.files:
            attributes["stmt_list"] = 0
        self.die = Die("compile_unit", *children, **attributes)


@dataclass
class Symbol:
    name: str
    addr: int
    size: int = 0
    type: int = 2  # STT_FUNC
    section: int = 1


def uleb(value):
    out = bytearray()
    while True:
        byte, value = value & 0x7f, value >> 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def sleb(value):
    out = bytearray()
    while True:
        byte, value = value & 0x7f, value >> 7
        last = (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40)
        out.append(byte | (0 if last else 0x80))
        if last:
            return bytes(out)


def cstring(text):
    return text.encode() + b"\0"


class Dwarf:
    """The sections of all units, for 64-bit little-endian machines unless told otherwise."""

    def __init__(self, units, wide=True, big=False):
        self.order, self.addr, self.addr_size = ">" if big else "<", "Q" if wide else "I", 8 if wide else 4
        self.info, self.abbrev, self.line, self.ranges = bytearray(), bytearray(), bytearray(), bytearray()
        self.rnglists = bytearray()
        self.codes, self.fixups, self.lists = {}, [], {}
        for unit in units:
            self._lines(unit)
        for unit in units:
            self._unit(unit)
        self.abbrev += b"\0"

    def _lines(self, unit):
        if "stmt_list" not in unit.die.attributes:
            return
        unit.die.attributes["stmt_list"] = len(self.line)
        if unit.table:
            self.line += unit.table
            return
        prologue = struct.pack("BBBbBB", 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
        prologue += b"\0" + b"".join(cstring(name) + b"\0\0\0" for name in unit.files) + b"\0"
        program = bytearray()
        start = len(self.line) + 4 + 2 + 4 + len(prologue)
        for sequence in unit.lines:
            sequence.offset = start + len(program)
            program += self._sequence(sequence)
        body = struct.pack(self.order + "HI", 4, len(prologue)) + prologue + program
        self.line += struct.pack(self.order + "I", len(body)) + body

    def _sequence(self, sequence):
        out, at, file, line = bytearray(), sequence.rows[0][0], 1, 1
        out += b"\0" + uleb(1 + self.addr_size) + b"\2" + struct.pack(self.order + self.addr, at)
        for row in sequence.rows:
            if row[0] < at:
                out += b"\0" + uleb(1 + self.addr_size) + b"\2" + struct.pack(self.order + self.addr, row[0])
            elif row[0] > at:
                out += b"\2" + uleb(row[0] - at)
            if row[1] != file:
                out += b"\4" + uleb(row[1])
            if row[2] != line:
                out += b"\3" + sleb(row[2] - line)
            out += b"\1"
            at, file, line = row
        return out + b"\2" + uleb(sequence.end - at) + b"\0\1\1"

    def _unit(self, unit):
        start = len(self.info)
        if unit.version >= 5:
            self.info += struct.pack(self.order + "IHBBI", 0, unit.version, 1, self.addr_size, 0)
        else:
            self.info += struct.pack(self.order + "IHIB", 0, unit.version, 0, self.addr_size)
        self.version = unit.version
        self._die(unit.die, start)
        for at, target in self.fixups:
            struct.pack_into(self.order + "I", self.info, at, target.offset - start)
        self.fixups.clear()
        struct.pack_into(self.order + "I", self.info, start, len(self.info) - start - 4)

    def _code(self, die):
        key = (die.tag, bool(die.children), tuple(die.attributes))
        if key not in self.codes:
            self.codes[key] = len(self.codes) + 1
            self.abbrev += uleb(self.codes[key]) + uleb(TAGS[die.tag]) + bytes([bool(die.children)])
            for name in die.attributes:
                self.abbrev += uleb(ATTRIBUTES[name][0]) + uleb(ATTRIBUTES[name][1])
            self.abbrev += b"\0\0"
        return self.codes[key]

    def _value(self, form, value, unit_start):
        if isinstance(value, Die):
            self.fixups.append((len(self.info), value))
            value = 0
        elif isinstance(value, Sequence):
            value = value.offset
        elif isinstance(value, list):
            key = self.version >= 5, id(value)
            if key not in self.lists:
                self.lists[key] = self._range_list(value) if self.version >= 5 else self._debug_ranges(value)
            value = self.lists[key]
        if form == STRING:
            return cstring(value)
        size = {ADDR: self.addr, DATA8: "Q", DATA1: "B", DATA2: "H", FLAG: "0s"}.get(form, "I")
        return b"" if form == FLAG else struct.pack(self.order + size, value)

    def _range_list(self, ranges):
        """DW_RLE_start_length for each, in one table without index (7.25, 7.28)."""
        self.rnglists = self.rnglists or bytearray(struct.pack(self.order + "IHBBI", 0, 5, self.addr_size, 0, 0))
        at = len(self.rnglists)
        for low, high in ranges:
            self.rnglists += b"\7" + struct.pack(self.order + self.addr, low) + uleb(high - low)
        self.rnglists += b"\0"
        struct.pack_into(self.order + "I", self.rnglists, 0, len(self.rnglists) - 4)
        return at

    def _debug_ranges(self, ranges):
        at = len(self.ranges)
        self.ranges += b"".join(struct.pack(self.order + 2 * self.addr, *r) for r in ranges) + bytes(2 * self.addr_size)
        return at

    def _die(self, die, unit_start):
        die.offset = len(self.info)
        self.info += uleb(self._code(die))
        for name, value in die.attributes.items():
            self.info += self._value(ATTRIBUTES[name][1], value, unit_start)
        for child in die.children:
            self._die(child, unit_start)
        if die.children:
            self.info += b"\0"


@dataclass
class Section:
    name: str
    data: bytes
    type: int = 1
    flags: int = 0
    addr: int = 0
    link: int = 0
    info: int = 0
    entsize: int = 0
    offset: int = field(default=0, init=False)


def build_id_note(build_id):
    return struct.pack("<3I", 4, len(build_id), 3) + b"GNU\0" + build_id


def symbol_section(symbols):
    names, table = bytearray(b"\0"), bytearray(24)
    for s in symbols:
        table += struct.pack("<IBBHQQ", len(names), 0x10 | s.type, 0, s.section, s.addr, s.size)
        names += cstring(s.name)
    return bytes(table), bytes(names)


def elf_bytes(units=(), symbols=(), build_id=b"", machine=62, more=(), text=TEXT, text_size=TEXT_SIZE):
    """The file. @more: further Sections; those it has before .symtab keep the numbers 2 and up."""
    sections = [Section(".text", bytes(text_size), 1, 6, text), *more]
    if build_id:
        sections.append(Section(".note.gnu.build-id", build_id_note(build_id), 7, 2))
    if units:
        dwarf = Dwarf(units)
        sections += [Section(f".debug_{name}", bytes(getattr(dwarf, name)))
                     for name in ("info", "abbrev", "line", "ranges", "rnglists") if getattr(dwarf, name)]
    if symbols:
        table, names = symbol_section(symbols)
        sections.append(Section(".symtab", table, 2, 0, 0, len(sections) + 2, 1, 24))
        sections.append(Section(".strtab", names, 3))
    return layout(sections, machine)


def layout(sections, machine):
    names = bytearray(b"\0")
    sections = [*sections, Section(".shstrtab", b"", 3)]
    places = []
    for s in sections:
        places.append(len(names))
        names += cstring(s.name)
    sections[-1].data = bytes(names)
    body, headers = bytearray(64), bytearray(64)
    for s, name in zip(sections, places):
        body += bytes(-len(body) % 8)
        s.offset = len(body)
        body += s.data
        headers += struct.pack("<IIQQQQIIQQ", name, s.type, s.flags, s.addr, s.offset, len(s.data), s.link, s.info, 1,
                               s.entsize)
    body += bytes(-len(body) % 8)
    ident = b"\x7fELF\2\1\1" + bytes(9)
    struct.pack_into("<16sHHIQQQIHHHHHH", body, 0, ident, 2, machine, 1, 0, 0, len(body), 0, 64, 56, 0, 64,
                     len(sections) + 1, len(sections))
    return bytes(body + headers)


def write(path, *args, **options):
    with open(path, "wb") as f:
        f.write(elf_bytes(*args, **options))
    return path
