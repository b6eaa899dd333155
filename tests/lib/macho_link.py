"""A linker for tests: Mach-O object files of freestanding code become a program or library, also for machines that lld does
not link (armv7, i386).

Sections of one name are joined, code is cut at its symbols so that of weak functions the first one stays, and the table of
symbols has the notes for debuggers (<mach-o/stab.h>) from which dsymutil finds the object files. Relocations of code and
data are not applied: what is made here is never run, and where code is does not depend on them. Those of debug data stay
in the object files, where dsymutil applies them.
"""
import hashlib
import os
import struct
from dataclasses import dataclass

from . import make_macho as m
from .macho import N_EXT, N_SECT, N_STAB, N_TYPE, S_ATTR_CODE, MachO

S_ATTR_DEBUG, SECTION_TYPE, ZEROFILL = 0x02000000, 0xff, (0x1, 0xc, 0x12)
N_PEXT, WEAK_DEF, THUMB = 0x10, 0x80, 0x08
N_GSYM, N_FUN, N_STSYM, N_BNSYM, N_ENSYM, N_SO, N_OSO = 0x20, 0x24, 0x26, 0x2e, 0x4e, 0x64, 0x66
LC_ID_DYLIB = 0xd
ROOM = 0x1000  # for the header and load commands


@dataclass
class Atom:
    """A stretch of a section that stays in one piece, and the symbols at its start."""
    source: object  # the Object
    section: object
    start: int
    size: int
    symbols: list
    addr: int = 0

    def bytes(self):
        at = self.section.offset + self.start - self.section.addr
        return self.source.data[at:at + self.size]


class Object:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        image = MachO.read(path)
        self.data, self.machine = image.data, (image.cputype, image.subtype)
        self.debug = any(s.name == "__debug_info" for s in image.sections)
        defined = [e for e in image.entries() if not e.type & N_STAB and e.type & N_TYPE == N_SECT and e.name[:1] not in "lL"]
        self.atoms = []
        for number, section in enumerate(image.sections, 1):
            if section.segment not in ("__DWARF", "__LD") and not section.flags & S_ATTR_DEBUG:
                self._cut(section, [e for e in defined if e.section == number])

    def _cut(self, section, symbols):
        symbols = sorted(symbols, key=lambda e: e.value)
        starts = sorted({section.addr, *(e.value for e in symbols)} if section.flags & S_ATTR_CODE else {section.addr})
        for start, end in zip(starts, [*starts[1:], section.addr + section.size]):
            here = [e for e in symbols if start <= e.value < max(end, start + 1)]
            self.atoms.append(Atom(self, section, start, end - start, here))


def keep_one(objects):
    """Leaves one of each external name, and no atom that lost all of its names."""
    seen = set()
    for source in objects:
        kept = []
        for atom in source.atoms:
            others = [e for e in atom.symbols if not e.type & N_EXT or e.name not in seen]
            if any(e not in others and not e.desc & WEAK_DEF for e in atom.symbols):
                raise ValueError(f"{source.path}: defined twice: {[e.name for e in atom.symbols]}")
            if others or not atom.symbols:
                kept.append(atom)
            atom.symbols = others
            seen.update(e.name for e in others if e.type & N_EXT)
        source.atoms = kept


class Output:
    """Where everything goes."""

    def __init__(self, objects, text, page, places):
        self.sections = {}  # (segment, name) -> atoms, in the order of the file
        atoms = [a for o in objects for a in o.atoms]
        for segment in dict.fromkeys(["__TEXT", *(a.section.segment for a in atoms)]):
            for a in sorted((a for a in atoms if a.section.segment == segment), key=lambda a: self._last(a.section)):
                self.sections.setdefault((segment, a.section.name), []).append(a)
        at, before = text + ROOM, "__TEXT"
        for (segment, _), inside in self.sections.items():
            at += -at % page if segment != before else 0
            before = segment
            for a in inside:
                at = max([at, *(places[e.name] for e in a.symbols if e.name in places)])
                at += (a.start - at) % (1 << a.section.align)
                a.addr = at
                at += a.size

    @staticmethod
    def _last(section):
        return section.flags & SECTION_TYPE in ZEROFILL

    def add_to(self, made):
        for (segment, name), atoms in self.sections.items():
            first, last = atoms[0], atoms[-1]
            size, data = last.addr + last.size - first.addr, b""
            if not self._last(first.section):
                data = bytearray(size)
                for a in atoms:
                    data[a.addr - first.addr:a.addr - first.addr + a.size] = a.bytes()
            made.section(segment, name, first.addr, bytes(data), first.section.flags, size=size)

    def symbols(self):
        """(atom, entry of its object, the symbol) of all that are left."""
        for number, atoms in enumerate(self.sections.values(), 1):
            for a in atoms:
                for e in a.symbols:
                    kind = N_SECT | N_PEXT if e.type & N_PEXT else N_SECT | e.type & N_EXT
                    yield a, e, m.Symbol(e.name, a.addr + e.value - a.start, kind, number, e.desc & THUMB)


def notes(source, symbols):
    """The notes for debuggers of one object file. @symbols: (atom, entry, symbol) of it."""
    directory, name = os.path.split(source.path)
    out = [m.Symbol(directory + "/", 0, N_SO, 0), m.Symbol(os.path.splitext(name)[0], 0, N_SO, 0),
           m.Symbol(source.path, int(os.stat(source.path).st_mtime), N_OSO, source.machine[1] & 0xff, 1)]
    for atom, _, s in symbols:
        if atom.section.flags & S_ATTR_CODE:
            out += [m.Symbol("", s.value, N_BNSYM, s.section), m.Symbol(s.name, s.value, N_FUN, s.section, s.desc),
                    m.Symbol("", atom.size, N_FUN, 0), m.Symbol("", atom.size, N_ENSYM, s.section)]
        elif s.type & N_EXT:
            out.append(m.Symbol(s.name, 0, N_GSYM, 0))
        else:
            out.append(m.Symbol(s.name, s.value, N_STSYM, s.section))
    return [*out, m.Symbol("", 0, N_SO, 1)]


def link(paths, out, text=0x4000, filetype=m.MH_EXECUTE, places=None):
    """Links the files @paths to @out, with __TEXT at @text. @places: name of a function -> the least address it may get."""
    objects = [Object(path) for path in paths]
    keep_one(objects)
    made = m.Maker(objects[0].machine, filetype, text=text, page=0x4000)
    if any(o.machine != made.machine for o in objects):
        raise ValueError("object files of different machines")
    result = Output(objects, text, made.page, places or {})
    result.add_to(made)
    symbols = list(result.symbols())
    for source in objects:
        if source.debug:
            made.symbols += notes(source, [s for s in symbols if s[0].source is source])
    made.symbols += sorted((s for _, _, s in symbols), key=lambda s: s.type & N_EXT)
    code = [s for a, _, s in symbols if a.section.flags & S_ATTR_CODE]
    made.starts = m.function_starts(text, sorted({s.value | bool(s.desc & THUMB) for s in code}))
    made.exports = m.trie({s.name: s.value - text for _, _, s in symbols if s.type & N_EXT})
    made.old_exports = True
    if filetype == m.MH_DYLIB:
        name = os.path.basename(out).encode()
        made.extra.append((LC_ID_DYLIB, made.pack("4I", 24, 1, 0, 0) + name + bytes(8 - len(name) % 8)))
    made.uuid = hashlib.md5(b"".join(struct.pack("<Q", s.value) + s.name.encode() for s in made.symbols)).digest()
    with open(out, "wb") as file:
        file.write(made.file())
    return out
