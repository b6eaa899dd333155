"""PE files written byte by byte: headers, sections, symbols, exports, imports, unwind data, ids, debug data."""
import struct
import uuid
from dataclasses import dataclass, field

from .craft import Die, Dwarf, Sequence, Unit

I386, ARMNT, AMD64, ARM64 = 0x14c, 0x1c4, 0x8664, 0xaa64
CODE, DATA, DISCARDABLE = 0x60000020, 0x40000040, 0x42000040
EXTERNAL, STATIC, LABEL, FILE = 2, 3, 6, 103
FUNCTION = 0x20
EXPORT, IMPORT, EXCEPTION, DEBUG, DELAY = 0, 1, 3, 6, 13
PAGE, FILE_ALIGN = 0x1000, 0x200
GUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


CODEVIEW, POGO = 2, 13  # entries of the debug directory


def codeview(guid=GUID, age=1, path=b"x.pdb\0"):
    return b"RSDS" + guid.bytes_le + struct.pack("<I", age) + path


def align(n, to):
    return -(-n // to) * to


@dataclass
class Section:
    name: str
    rva: int
    data: bytes
    flags: int = DATA
    size: int = -1      # virtual
    offset: int = -1    # in the file


@dataclass
class Symbol:
    name: str
    value: int
    section: int = 1
    type: int = FUNCTION
    storage: int = EXTERNAL
    aux: bytes = b""


@dataclass
class Maker:
    machine: int = AMD64
    base: int = 0x140000000
    sections: list = field(default_factory=list)
    symbols: list = field(default_factory=list)
    directories: dict = field(default_factory=dict)
    n_sections: int = -1
    n_symbols: int = -1
    symbols_at: int = -1
    optional_size: int = -1
    magic: int = 0

    @property
    def wide(self):
        return self.machine in (AMD64, ARM64)

    def add(self, name, data, flags=DATA, **more):
        """A section behind the others; returns its RVA."""
        last = self.sections[-1] if self.sections else None
        rva = align(last.rva + max(len(last.data), 1), PAGE) if last else PAGE
        self.sections.append(Section(name, rva, data, flags, **more))
        return rva

    def next_rva(self):
        last = self.sections[-1]
        return align(last.rva + max(len(last.data), 1), PAGE)

    def dwarf(self, units):
        made = Dwarf(units, self.wide, False)
        for name in ("info", "abbrev", "line", "ranges"):
            if getattr(made, name):
                self.add(f".debug_{name}", bytes(getattr(made, name)), DISCARDABLE)

    def exports(self, functions, name="x.dll"):
        """@functions: name -> RVA, or the text of what is in another file."""
        rva, n = self.next_rva(), len(functions)
        tables = rva + 40
        names, texts, forwards = [], b"", {}
        at = tables + 10 * n
        for text in [*functions, *(f for f in functions.values() if isinstance(f, str))]:
            forwards[text] = at + len(texts)
            texts += text.encode() + b"\0"
        names = [forwards[text] for text in functions]
        places = [forwards[f] if isinstance(f, str) else f for f in functions.values()]
        data = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, at, 1, n, n, tables, tables + 4 * n, tables + 8 * n)
        data += struct.pack(f"<{2 * n}I{n}H", *places, *names, *range(n)) + texts
        self.directories[EXPORT] = (self.add(".edata", data), len(data))

    def imports(self, names, dll="y.dll"):
        """Returns the RVAs of their slots; a number: by ordinal."""
        rva, word = self.next_rva(), 8 if self.wide else 4
        lists, n = rva + 40, len(names) + 1
        hints, slots = b"", []
        for name in names:
            slots.append(1 << (word * 8 - 1) | name if isinstance(name, int) else lists + 2 * n * word + len(hints))
            hints += b"" if isinstance(name, int) else b"\0\0" + name.encode() + b"\0"
        table = struct.pack(f"<{n}{'Q' if self.wide else 'I'}", *slots, 0)
        data = struct.pack("<5I", lists, 0, 0, lists + 2 * n * word + len(hints), lists + n * word) + bytes(20)
        data += table + table + hints + dll.encode() + b"\0"
        self.directories[IMPORT] = (self.add(".idata", data), 40)
        return [lists + (n + i) * word for i in range(len(names))]

    def unwind(self, functions):
        """@functions: (begin, end) or (begin, end, index of the function that it is chained to)."""
        rva, table, infos = self.next_rva(), b"", b""
        size = 12 * len(functions)
        at = [rva + size + 24 * i for i in range(len(functions))]
        for i, (begin, end, *chain) in enumerate(functions):
            table += struct.pack("<III", begin, end, at[i])
            parent = functions[chain[0]][:2] + (at[chain[0]],) if chain else (0, 0, 0)
            infos += struct.pack("<BBBBHHIII", 1 | (4 << 3 if chain else 0), 0, 1, 0, 0, 0, *parent) + bytes(4)
        self.directories[EXCEPTION] = (self.add(".pdata", table + infos), size)

    def id(self, guid=GUID, age=1, section=".buildid"):
        self.debug_entries([(CODEVIEW, codeview(guid, age))], section)

    def debug_entries(self, entries, section=".buildid", mapped=True):
        """@entries: (type, record), in this order. Not @mapped: records have no address."""
        at, records, table = self.next_rva() + 28 * len(entries), b"", b""
        for kind, record in entries:
            table += struct.pack("<IIHHIIII", 0, 0, 0, 0, kind, len(record), at + len(records) if mapped else 0, 0)
            records += record
        self.directories[DEBUG] = (self.add(section, table + records), len(table))

    def _symbols(self):
        strings, table = b"", b""

        def name(text, long):
            nonlocal strings
            if len(text) <= 8:
                return text.encode().ljust(8, b"\0")
            off = 4 + len(strings)
            strings += text.encode() + b"\0"
            return long(off)
        names = [name(s.name, lambda off: f"/{off}".encode().ljust(8, b"\0")) for s in self.sections]
        for s in self.symbols:
            table += name(s.name, lambda off: struct.pack("<II", 0, off))
            table += struct.pack("<IhHBB", s.value, s.section, s.type, s.storage, -(-len(s.aux) // 18))
            table += s.aux.ljust(-(-len(s.aux) // 18) * 18, b"\0")
        return names, table, struct.pack("<I", 4 + len(strings)) + strings

    def _optional(self, headers):
        form = "<HBBIIIII" + ("Q" if self.wide else "II") + "IIHHHHHHIIIIHH" + ("4Q" if self.wide else "4I") + "II"
        magic = self.magic or (0x20b if self.wide else 0x10b)
        base = (self.base,) if self.wide else (0, self.base)
        image = max((s.rva + len(s.data) for s in self.sections), default=0)
        data = struct.pack(form, magic, 0, 0, 0, 0, 0, 0, 0, *base, PAGE, FILE_ALIGN, *[0] * 6, 0, align(image, PAGE),
                           headers, 0, 3, 0, *[0] * 4, 0, 16)
        return data + b"".join(struct.pack("<II", *self.directories.get(i, (0, 0))) for i in range(16))

    def file(self):
        names, symbols, strings = self._symbols()
        headers = align(0x80 + 24 + 240 + 40 * len(self.sections), FILE_ALIGN)
        optional = self._optional(headers)
        body, table = b"", b""
        for name, s in zip(names, self.sections):
            size = align(len(s.data), FILE_ALIGN)
            offset = s.offset if s.offset >= 0 else headers + len(body) if s.data else 0
            body += s.data.ljust(size, b"\0")
            table += name + struct.pack("<6IHHI", len(s.data) if s.size < 0 else s.size, s.rva, size, offset, 0, 0, 0, 0, s.flags)
        count = len(symbols) // 18 if self.n_symbols < 0 else self.n_symbols
        at = self.symbols_at if self.symbols_at >= 0 else headers + len(body)
        coff = struct.pack("<HHIIIHH", self.machine, len(self.sections) if self.n_sections < 0 else self.n_sections, 0, at, count,
                           len(optional) if self.optional_size < 0 else self.optional_size, 0x22)
        start = b"MZ".ljust(0x3c, b"\0") + struct.pack("<I", 0x80)
        data = start.ljust(0x80, b"\0") + b"PE\0\0" + coff + optional + table
        return data.ljust(headers, b"\0") + body + symbols + strings


def dwarf_units(text):
    """main with an inlined call, helper_function at 0x20 behind it."""
    tiny = Die("subprogram", name="tiny", inline=1)
    main = Die("subprogram", Die("inlined_subroutine", abstract_origin=tiny, low_pc=text + 8, high_pc=8, call_file=1,
                                 call_line=5), name="main", low_pc=text, high_pc=0x20)
    helper = Die("subprogram", name="helper_function", low_pc=text + 0x20, high_pc=0x18)
    return [Unit(tiny, main, helper, files=("a.c", "b.h"), lines=[
        Sequence(text + 0x38, (text, 1, 4), (text + 8, 2, 9), (text + 0x10, 1, 6), (text + 0x20, 1, 20),
                 (text + 0x30, 1, 22))])]


def program(machine=AMD64, dwarf=True, symbols=True, id=True, code=bytes(0x80), base=None):
    """main and helper_function in .text at 0x1000."""
    made = Maker(machine, **({"base": base} if base is not None else {} if machine in (AMD64, ARM64) else {"base": 0x400000}))
    text = made.base + made.add(".text", code, CODE)
    under = "_" if machine == I386 else ""
    if symbols:
        made.symbols = [Symbol(".file", 0, -2, 0, FILE, b"a.c"), Symbol(under + "main", 0),
                        Symbol(".text", 0x20, 1, 0, STATIC, bytes(18)), Symbol(under + "helper_function", 0x20, storage=STATIC),
                        Symbol("a_label", 0x40, type=0), Symbol("an_absolute_one", 0x1050, -1), Symbol("elsewhere", 0, 0)]
    made.add(".data", bytes(16))
    if id:
        made.id()
    if dwarf:
        made.dwarf(dwarf_units(text))
    return made


LINES = {0xfff: [], 0x1000: ["main /src/a.c:4"], 0x1008: ["tiny /src/b.h:9", "main /src/a.c:5"], 0x101f: ["main /src/a.c:6"],
         0x1020: ["helper_function /src/a.c:20"], 0x1037: ["helper_function /src/a.c:22"]}
NAMES = {0xfff: [], 0x1000: ["main"], 0x101f: ["main"], 0x1020: ["helper_function"], 0x103f: ["helper_function"],
         0x1040: ["a_label"], 0x107f: ["a_label"], 0x1080: []}
