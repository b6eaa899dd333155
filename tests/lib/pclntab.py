"""Writes Go's function table by hand, in each of its layouts (cmd/link/internal/ld/pcln.go), and programs with it."""
import struct
from dataclasses import dataclass, field, replace

from . import make_elf as m
from .craft import uleb

GO12, GO19, GO112, GO113, GO116, GO118, GO120 = "1.2", "1.9", "1.12", "1.13", "1.16", "1.18", "1.20"
OLD = (GO12, GO19, GO112, GO113)  # all with the first magic number
MAGIC = {**dict.fromkeys(OLD, 0xfffffffb), GO116: 0xfffffffa, GO118: 0xfffffff0, GO120: 0xfffffff1}
TREE_NUMBERS = {GO19: (1, 2), GO112: (1, 2), GO113: (2, 4)}  # of the tree's values, and of the tree
WORD_BASE = {GO118: 38, GO120: 40}  # of moduledata: what inline trees count from
WORDS = 56
TEXT, TABLE, TREES, TEXTS, MODULE = 0x401000, 0x500000, 0x600000, 0x680000, 0x700000


@dataclass
class Call:
    """A node of an inline tree. @file, @line, @parent: before Go 1.20."""
    name: str
    parent_pc: int
    file: int = 0
    line: int = 0
    parent: int = -1


@dataclass
class Function:
    """Values are lists of (end, value), with ends that count from the start."""
    name: str
    start: int
    files: list
    lines: list
    calls: list = field(default_factory=list)
    tree: list = field(default_factory=list)


def values(steps, quantum=1):
    """A value that depends on the program counter."""
    out, at, value = b"", 0, -1
    for i, (end, new) in enumerate(steps):
        if i + 1 < len(steps) and steps[i + 1][1] == new:
            continue  # a change of 0 would be the end
        change = new - value
        out += uleb(change << 1 if change >= 0 else (~change << 1) | 1) + uleb((end - at) // quantum)
        at, value = end, new
    return out + b"\0"


class Table:
    """The table, the inline trees, and moduledata of a program."""

    def __init__(self, version, files, functions, end, wide=True, big=False, quantum=1, text=TEXT, marked=True):
        """@marked: the header has the code's start."""
        self.version, self.wide, self.big, self.quantum, self.text = version, wide, big, quantum, text
        self.functions, self.end = functions, end
        self.order = ">" if big else "<"
        self.size = 8 if wide else 4
        self.trees = b"" if version == GO120 else bytes(4)
        self.names, self.values = b"\0", b"\0"
        self.bytes = self.old(files) if version in OLD else self.new(files, marked)

    def u32(self, *numbers):
        return struct.pack(f"{self.order}{len(numbers)}I", *(n & 0xffffffff for n in numbers))

    def words(self, *numbers):
        return struct.pack(f"{self.order}{len(numbers)}{'Q' if self.wide else 'I'}", *numbers)

    def add_name(self, name):
        self.names += name.encode() + b"\0"
        return len(self.names) - len(name.encode()) - 1

    def add_values(self, steps):
        if not steps:
            return 0
        self.values += values(steps, self.quantum)
        return len(self.values) - len(values(steps, self.quantum))

    def parent(self, call):
        """The first word of a node. The function that is called is of kind 5."""
        if self.version == GO19:
            return self.u32(call.parent)
        return struct.pack(f"{self.order}hBB", call.parent, 5, 0)

    def node(self, call, name):
        if self.version == GO120:
            return self.u32(0, name, call.parent_pc, 1)
        out = self.parent(call) + self.u32(call.file, call.line, name)
        return out if self.version == GO19 else out + self.u32(call.parent_pc)

    def add_tree(self, tree):
        at = len(self.trees)
        for call in tree:
            self.trees += self.node(call, self.add_name(call.name))
        return at

    def entry(self, function, at):
        """@at: its offset in the table of functions."""
        narrow = self.version in (GO118, GO120)
        out = self.u32(function.start - self.text) if narrow else self.words(function.start)
        out += self.u32(self.add_name(function.name), 0, 0, 0, self.add_values(function.files),
                        self.add_values(function.lines), 3, 1)
        out += self.u32(1) if self.version == GO120 else b""
        out += bytes(3) + b"\4" + self.u32(0, 0, self.add_values(function.calls))
        none = 0xffffffff if narrow else 0
        tree = self.add_tree(function.tree) if function.tree else none
        if narrow:
            return out + self.u32(none, none, none, tree)
        out += bytes(-(at + len(out)) % self.size)
        return out + self.words(none, none, none, tree and tree + TREES)

    def new(self, files, marked):
        """Since Go 1.16. The unit's files follow one that is not its."""
        narrow = self.version in (GO118, GO120)
        paths = b"".join(path.encode() + b"\0" for path in files)
        offsets = self.u32(0xffffffff, *(len("\0".join(files[:i]).encode()) + (i > 0) for i in range(len(files))))
        index_size = (len(self.functions) * 2 + 1) * (4 if narrow else self.size)
        index, entries = b"", b""
        entries += bytes(-index_size % 8)
        for function in self.functions:
            at = index_size + len(entries)
            index += self.u32(function.start - self.text, at) if narrow else self.words(function.start, at)
            entries += self.entry(function, at)
            entries += bytes(-len(entries) % 8)
        index += self.u32(self.end - self.text) if narrow else self.words(self.end)
        header_size = 8 + self.size * (8 if narrow else 7)
        parts, places, at = b"", [], header_size
        for part in (self.names, offsets, paths, self.values, index + entries):
            parts += bytes(-(header_size + len(parts)) % 8)
            places.append(header_size + len(parts))
            parts += part
        self.names_off = places[0]
        numbers = [len(self.functions), len(files)] + ([self.text if marked else 0] if narrow else []) + places
        return self.u32(MAGIC[self.version]) + bytes([0, 0, self.quantum, self.size]) + self.words(*numbers) + parts

    def old_entry(self, function, at):
        """At offset @at, with its values and names after it; files and trees count from 1."""
        pcdata, funcdata = TREE_NUMBERS.get(self.version, (-1, -1)) if function.tree else (-1, -1)
        count = self.u32(funcdata + 1) if self.version == GO19 else bytes([9, 0, 0, funcdata + 1])
        entry_size = self.size + 8 * 4 + 4 * (pcdata + 1)
        padding = -(at + entry_size) % self.size if function.tree else 0
        parts, places, end = b"", [], at + entry_size + padding + self.size * (funcdata + 1)
        for part in (values([(to, value + 1) for to, value in function.files], self.quantum),
                     values(function.lines, self.quantum), values(function.calls, self.quantum),
                     function.name.encode() + b"\0", *(call.name.encode() + b"\0" for call in function.tree)):
            places.append(end + len(parts))
            parts += part
        out = self.words(function.start) + self.u32(places[3], 0, 0, 0, *places[:2], pcdata + 1) + count
        if funcdata < 0:
            return out + parts
        tree = TREES + len(self.trees)
        for call, name in zip(function.tree, places[4:]):
            self.trees += self.node(replace(call, file=call.file + 1), name)
        return (out + self.u32(*[places[0]] * pcdata, places[2]) + bytes(padding) +
                self.words(*[TREES] * funcdata, tree) + parts)

    def old(self, files):
        """Before Go 1.16 all offsets count from the header."""
        index_size = 8 + self.size + (len(self.functions) * 2 + 1) * self.size + 4
        index, body = b"", b""
        for function in self.functions:
            body += bytes(-(index_size + len(body)) % 8)
            at = index_size + len(body)
            index += self.words(function.start, at)
            body += self.old_entry(function, at)
        body += bytes(-len(body) % 8)
        paths = index_size + len(body)
        offsets, names = [len(files) + 1], b""
        for path in files:
            offsets.append(paths + 4 * (len(files) + 1) + len(names))
            names += path.encode() + b"\0"
        index += self.words(self.end) + self.u32(paths)
        return (self.u32(MAGIC[GO12]) + bytes([0, 0, self.quantum, self.size]) + self.words(len(self.functions)) +
                index + body + self.u32(*offsets) + names)

    def addresses(self):
        """Offsets and values of the addresses in a table of before Go 1.18."""
        ends = (self.text, self.end), (TREES, TREES + len(self.trees) - 1)
        words = [(off, int.from_bytes(self.bytes[off:off + 8], "big" if self.big else "little"))
                 for off in range(0, len(self.bytes) - 7, 8)]
        return [(off, word) for off, word in words if any(first <= word <= last for first, last in ends)]

    def module(self, texts=()):
        """The words of moduledata that are read, and others that point elsewhere."""
        words = [TABLE + 8] * WORDS
        words[0], words[21], words[22] = TABLE, self.end, self.text
        words[1] = TABLE + getattr(self, "names_off", 0)
        if self.version in WORD_BASE:
            words[WORD_BASE[self.version]] = TREES
            if texts:
                words[22], words[21] = texts[0][2], texts[-1][2] + texts[-1][1] - texts[-1][0]
                words[WORD_BASE[self.version] + 2:WORD_BASE[self.version] + 5] = TEXTS, len(texts), len(texts)
        return words


def program(table, machine=m.EM_X86_64, section=".gopclntab", module=True, relocated=False, named=True, more=(),
            text_size=None, texts=()):
    """
    An ELF program without symbols. @relocated: addresses are in relocations, as the system's linker has them.
    @texts: parts of the code, each with the offsets of its start and end, and an address.
    """
    e = m.Maker(machine, wide=table.wide, big=table.big)
    e.add(".text", m.CODE, table.text, bytes(text_size or table.end - table.text))
    moved = table.addresses() if relocated and table.version in (*OLD, GO116) else []
    data = bytearray(table.bytes)
    for off, _ in moved:
        data[off:off + 8] = b"\xee" * 8
    e.add(section, m.SHF_ALLOC, TABLE, bytes(data))
    e.add(".rodata", m.SHF_ALLOC, TREES, table.trees or b"\0")
    words = table.module(texts)
    for _, end, addr in texts[1:]:
        e.add(".text", m.CODE, addr, bytes(end))
    if texts:
        e.add(".texts", m.SHF_ALLOC, TEXTS, b"".join(table.words(*text) for text in texts))
    e.add(".noptrdata", m.DATA, MODULE - 8, bytes(8) + (bytes(len(words) * 8) if relocated else table.words(*words))
          if module else bytes(8))
    if relocated:
        e.add_rela(".rela.dyn", 0x400, [(MODULE + 8 * i, 0, 8, word) for i, word in enumerate(words)] +
                   [(TABLE + off, 0, 8, word) for off, word in moved])
    if named:
        e.add(".go.buildinfo", m.DATA, 0x800000, b"\xff Go buildinf:" + bytes(2))
    for name, flags, addr, data in more:
        e.add(name, flags, addr, data)
    return e.file()


# ---- A sample ----

FILES = ["/src/main.go", "/src/util/util.go", "plain.go"]


def sample_functions(quantum=1):
    """Two functions; in the first, a calls b, which is inlined, and that calls c, from two places."""
    q = quantum
    tree = [Call("b", 4 * q, 0, 11), Call("c", 8 * q, 1, 21, parent=0)]
    return [
        Function("main.a", TEXT, [(4 * q, 0), (8 * q, 0), (12 * q, 1), (16 * q, 2), (20 * q, 1), (24 * q, 0)],
                 [(4 * q, 10), (8 * q, 11), (12 * q, 21), (16 * q, 30), (20 * q, 22), (24 * q, 12)],
                 [(8 * q, -1), (12 * q, 0), (16 * q, 1), (20 * q, 0), (24 * q, -1)], tree),
        Function("main.(*T[...]).m", TEXT + 32 * q, [(8 * q, 1)], [(8 * q, 5)]),
    ]


def sample(version=GO120, quantum=1, **more):
    return Table(version, FILES, sample_functions(quantum), TEXT + 48 * quantum, quantum=quantum, **more)
