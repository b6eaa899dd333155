"""Just enough of Mach-O (<mach-o/loader.h>) for choosing addresses and checking names: slices, sections, symbols,
function starts. Independent of the converter on purpose, and only ever used on files the tests made.

A MachO has the methods of elf.Elf, with its numbers of machines, so that comparisons need not know which it is.
"""
import bisect
import struct
from dataclasses import dataclass
from functools import cached_property

MAGICS = {b"\xfe\xed\xfa\xce": (">", False), b"\xce\xfa\xed\xfe": ("<", False),
          b"\xfe\xed\xfa\xcf": (">", True), b"\xcf\xfa\xed\xfe": ("<", True)}
FAT = (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
LC_SEGMENT, LC_SYMTAB, LC_SEGMENT_64, LC_UUID, LC_FUNCTION_STARTS = 0x1, 0x2, 0x19, 0x1b, 0x26
S_ATTR_CODE = 0x80000400
S_SYMBOL_STUBS = 8
N_STAB, N_TYPE, N_SECT, N_EXT = 0xe0, 0x0e, 0x0e, 1
MACHINES = {7: 3, 0x1000007: 62, 12: 40, 0x100000c: 183, 18: 20, 0x1000012: 21}  # cputype -> e_machine


@dataclass
class Section:
    segment: str
    name: str
    addr: int
    size: int
    offset: int
    flags: int
    header: int  # where its entry in the load command is
    reserved2: int
    align: int  # a power of two


@dataclass
class Entry:
    """A symbol as the table has it."""
    name: str
    type: int
    section: int
    desc: int
    value: int


@dataclass
class Symbol:
    name: str
    addr: int
    size: int
    exported: bool


def slices(data):
    """[(offset, size)] of a fat file; of a thin one, all of it."""
    if data[:4] not in FAT:
        return [(0, len(data))]
    form, step = (">II", 20) if data[3] == 0xbe else (">QQ", 32)
    return [struct.unpack_from(form, data, 16 + i * step) for i in range(struct.unpack_from(">I", data, 4)[0])]


class MachO:
    def __init__(self, data):
        """@data: bytes of a thin file."""
        self.data = data
        self.order, self.wide = MAGICS[bytes(data[:4])]
        self.cputype, self.subtype, self.filetype, count = struct.unpack_from(self.order + "4I", data, 4)
        self.machine = MACHINES.get(self.cputype, 0)
        self.sections, self.text_addr, self.uuid = [], 0, b""
        self.symtab = self.starts = None
        at = 32 if self.wide else 28
        for _ in range(count):
            command, size = struct.unpack_from(self.order + "2I", data, at)
            self._command(command, at)
            at += size

    @staticmethod
    def read(path):
        with open(path, "rb") as f:
            return MachO(f.read())

    @staticmethod
    def all_of(path):
        """The images of a fat file."""
        with open(path, "rb") as f:
            data = f.read()
        return [MachO(data[at:at + size]) for at, size in slices(data)]

    def _command(self, command, at):
        if command in (LC_SEGMENT, LC_SEGMENT_64):
            self._segment(at, command == LC_SEGMENT_64)
        elif command == LC_SYMTAB:
            self.symtab = struct.unpack_from(self.order + "4I", self.data, at + 8)
        elif command == LC_UUID:
            self.uuid = bytes(self.data[at + 8:at + 24])
        elif command == LC_FUNCTION_STARTS:
            self.starts = struct.unpack_from(self.order + "2I", self.data, at + 8)

    def _segment(self, at, wide):
        name = self.data[at + 8:at + 24].split(b"\0")[0]
        addr = struct.unpack_from(self.order + ("Q" if wide else "I"), self.data, at + 24)[0]
        count = struct.unpack_from(self.order + "I", self.data, at + (64 if wide else 48))[0]
        if name == b"__TEXT":
            self.text_addr = addr
        form, step, first = ("16s16sQQ8I", 80, 72) if wide else ("16s16sII7I", 68, 56)
        for i in range(count):
            place = at + first + i * step
            f = struct.unpack_from(self.order + form, self.data, place)
            self.sections.append(Section(f[1].split(b"\0")[0].decode(), f[0].split(b"\0")[0].decode(), f[2], f[3], f[4],
                                         f[8], place, f[10], f[5]))

    def _string(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode("utf-8", "surrogateescape")

    def code_sections(self):
        return [s for s in self.sections if s.flags & S_ATTR_CODE and s.size]

    def stubs(self):
        return [s for s in self.sections if s.flags & 0xff == S_SYMBOL_STUBS]

    def entries(self):
        """All of the symbol table."""
        off, count, strings, _ = self.symtab or (0, 0, 0, 0)
        form, step = (self.order + ("IBBHQ" if self.wide else "IBBHI"), 16 if self.wide else 12)
        for i in range(count):
            name, *rest = struct.unpack_from(form, self.data, off + i * step)
            yield Entry(self._string(strings + name), *rest)

    @cached_property
    def symbols(self):
        """Defined ones in code, in table order, without the underscore of C; the size is up to what comes next."""
        found = []
        for e in self.entries():
            if e.type & N_STAB or e.type & N_TYPE != N_SECT or not e.name or e.value < self.text_addr:
                continue
            found.append(Symbol(e.name.removeprefix("_"), e.value, 0, bool(e.type & N_EXT)))
        code = [(s.addr, s.addr + s.size) for s in self.code_sections()]
        edges = sorted({s.addr for s in found} | set(self.function_starts()))
        out = []
        for s in found:
            end = next((high for low, high in code if low <= s.addr < high), None)
            if end is None:
                continue
            after = bisect.bisect_right(edges, s.addr)
            s.size = min(end, edges[after] if after < len(edges) else end) - s.addr
            out.append(s)
        return out

    def function_starts(self):
        if not self.starts:
            return []
        at, size = self.starts
        end, out, addr = at + size, [], self.text_addr
        while at < end:
            delta = shift = 0
            while True:
                byte = self.data[at]
                at += 1
                delta |= (byte & 0x7f) << shift
                shift += 7
                if not byte & 0x80:
                    break
            if not delta:
                break
            addr += delta
            out.append(addr & ~1 if self.machine == 40 else addr)
        return out

    def functions(self):
        return self.symbols

    def labels(self):
        return []
