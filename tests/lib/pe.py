"""Just enough of PE (Microsoft's "PE Format") for choosing addresses and checking names: sections, symbols.

Independent of the converter on purpose, and only ever used on files the tests made. A Pe has the methods of elf.Elf,
with its numbers of machines, so that comparisons need not know which it is.
"""
import bisect
import re
import struct
from dataclasses import dataclass
from functools import cached_property

MACHINES = {0x14c: 3, 0x8664: 62, 0x1c4: 40, 0xaa64: 183}  # IMAGE_FILE_MACHINE_ -> e_machine
IMAGE_SCN_CNT_CODE, IMAGE_SCN_MEM_EXECUTE = 0x20, 0x20000000
FUNCTION, STATIC, LABEL, EXTERNAL, WEAK = 0x20, 3, 6, 2, 105
_DECORATION = re.compile(r"^[_@]|(?<=.)@?@\d+$")


@dataclass
class Section:
    name: str
    addr: int
    size: int
    code: bool


@dataclass
class Symbol:
    name: str
    addr: int
    size: int
    function: bool


class Pe:
    def __init__(self, data):
        self.data = data
        at = struct.unpack_from("<I", data, 0x3c)[0]
        machine, count, _, table, n_symbols, optional = struct.unpack_from("<HHIIIH", data, at + 4)
        self.machine = MACHINES.get(machine, 0)
        self.wide = struct.unpack_from("<H", data, at + 24)[0] == 0x20b
        self.base = struct.unpack_from("<Q" if self.wide else "<I", data, at + (48 if self.wide else 52))[0]
        self.table, self.n_symbols = table, n_symbols if table else 0
        self.strings = table + 18 * n_symbols
        self.sections = [self._section(at + 24 + optional + 40 * i) for i in range(count)]

    @staticmethod
    def read(path):
        with open(path, "rb") as f:
            return Pe(f.read())

    def _section(self, at):
        name, size, rva, raw = struct.unpack_from("<8sIII", self.data, at)
        flags = struct.unpack_from("<I", self.data, at + 36)[0]
        name = name.rstrip(b"\0").decode()
        if name.startswith("/"):
            name = self._string(int(name[1:]))
        return Section(name, self.base + rva, size or raw, bool(flags & (IMAGE_SCN_CNT_CODE | IMAGE_SCN_MEM_EXECUTE)))

    def _string(self, off):
        at = self.strings + off
        return self.data[at:self.data.index(b"\0", at)].decode("utf-8", "surrogateescape")

    def code_sections(self):
        return [s for s in self.sections if s.code and s.size]

    def _entries(self):
        """(name, address, whether it is a function) of defined symbols in code."""
        at = self.table
        while at < self.strings:
            name, value, section, kind, storage, aux = struct.unpack_from("<8sIhHBB", self.data, at)
            at += 18 * (1 + aux)
            if section <= 0 or not self.sections[section - 1].code or storage not in (EXTERNAL, STATIC, LABEL, WEAK):
                continue
            if storage == STATIC and kind != FUNCTION and aux:
                continue  # of a section
            text = name.rstrip(b"\0").decode() if name[:4] != bytes(4) else self._string(struct.unpack("<I", name[4:])[0])
            yield text, self.sections[section - 1].addr + value, kind == FUNCTION

    def plain(self, name):
        return _DECORATION.sub("", name) if self.machine == 3 and name[0] != "?" else name

    @cached_property
    def plain_names(self):
        """Names in the table -> those without decoration."""
        return {name: self.plain(name) for name, _, _ in self._entries()}

    @cached_property
    def symbols(self):
        """Without the decoration of i386's calling conventions; the size is up to what comes next."""
        found = [(self.plain(name), addr, function) for name, addr, function in self._entries()
                 if function or name[0] != "."]
        code = [(s.addr, s.addr + s.size) for s in self.code_sections()]
        edges, out = sorted({addr for _, addr, _ in found}), []
        for name, addr, function in found:
            end = next((high for low, high in code if low <= addr < high), addr)
            after = bisect.bisect_right(edges, addr)
            out.append(Symbol(name, addr, min(end, edges[after] if after < len(edges) else end) - addr, function))
        return out

    def functions(self):
        return [s for s in self.symbols if s.function]

    def labels(self):
        return [s for s in self.symbols if not s.function]
