"""What llvm-pdbutil dumps of a PDB, as functions, lines and inlined calls: a second opinion beside llvm-symbolizer.

Addresses are relative virtual ones.
"""
import bisect
import re
from dataclasses import dataclass, field

from . import peers
from .frames import Frame

_TITLE = re.compile(r"^ {20,}(\S.*?) *$")
_MODULE = re.compile(r"^ *Mod (\d+) \| `(.*)`: ?$")
_CHECKSUM = re.compile(r" \((?:MD5|SHA-1|SHA-256|no checksum|None)[^()]*\)$")
_BLOCK = re.compile(r"^  (\d{4}):([0-9A-F]{8})-([0-9A-F]{8}), line/(?:column/)?addr entries = (\d+)$")
_ROW = re.compile(r"\s*(\d+|NSI|ASI)(?:[:-][^ ]*)? ([0-9A-F]{8})\b")
_INLINEE = re.compile(r"^ *(0x[0-9A-F]+) \| +(\d+) \| (.*)$")
_RECORD = re.compile(r"^ *(\d+) \| (S_\w+) \[size = \d+\](?: .*?`(.*)`)?")
_PROC = re.compile(r"parent = (\d+), end = (\d+), addr = (\d+):(\d+), code size = (\d+)")
_THUNK = re.compile(r"kind = ([a-z ]+), size = (\d+), addr = (\d+):(\d+)")
_SITE = re.compile(r"inlinee = (0x[0-9A-F]+)(?: \(.*\))?, parent = (\d+), end = (\d+)")
_NOTE = re.compile(r"^ {8,}([0-9A-F]{2,}) +(\S.*)$")
_STEP = re.compile(r"(code end|code|line end delta|line|range kind|col\w* \w+|setfile) (0x[0-9A-F]+|-?\d+|.*?)"
                   r"(?: \([+-][^)]*\))?(?= (?:code|line|range|col|setfile)\b|$)")
_TYPE = re.compile(r"^ *(0x[0-9A-F]+) \| (LF_\w+) \[size = \d+\](?: `(.*)`)?")
_FUNC_ID = re.compile(r"^ +name = (.*), type = (?:0x[0-9A-F]+|<no type>)(?: \(.*\))?, (parent scope|class type) = (<no type>|0x[0-9A-F]+)")
_FILE = re.compile(r"^ *- \((?:(MD5|SHA-1|SHA-256): [0-9A-F]*|no checksum)\) (.*)$")
_CHECKSUM_SIZE = {None: 0, "MD5": 16, "SHA-1": 20, "SHA-256": 32}
_EXPORT = re.compile(r"^ *(0x[0-9A-F]+) \| (0x[0-9A-F]+)$")
_IMPORT = re.compile(r"^ *(\S.*?)? *\| +(0x[0-9A-F]+(?: +0x[0-9A-F]+)*) *$")
_IMPORTED = re.compile(r"^ {20,}(0x[0-9A-F]+(?: +0x[0-9A-F]+)*) *$")
_STRING_ID = re.compile(r"LF_STRING_ID \[size = \d+\] ID: (<no type>|0x[0-9A-F]+), String: (.*)$")
_PUBLIC = re.compile(r"^ +flags = (.*), addr = (\d+):(\d+)")
_SECTION = re.compile(r"^ +([0-9A-F]+) (virtual size|virtual address)$")
STEP_OVER = ("NSI", "ASI")


@dataclass
class Site:
    inlinee: int
    end: int
    ranges: list = field(default_factory=list)    # (begin, end or None, line from the inlinee's first, file or None)
    sites: list = field(default_factory=list)
    combined: bool = False  # has lengths and offsets in one operation (0x0c)
    moved: bool = False     # its line changes before its first row, which an operation of both (0x0b) begins


@dataclass
class Proc:
    name: str
    kind: str
    module: int
    section: int
    off: int
    size: int
    rva: int = 0
    folded: int = 0    # which of several functions that are the same code
    sites: list = field(default_factory=list)


@dataclass
class Block:
    """Rows of one file for bytes of a section."""
    section: int
    begin: int
    end: int
    file: str
    rows: list = field(default_factory=list)  # (offset, line or a word of STEP_OVER)


@dataclass
class Module:
    number: int
    name: str
    blocks: list = field(default_factory=list)
    inlinees: dict = field(default_factory=dict)  # id -> (file, line)
    imports: list = field(default_factory=list)   # (end of the other module's name, its ids)
    exports: dict = field(default_factory=dict)   # own id -> that of the PDB
    files: dict = field(default_factory=dict)     # offset in the table of checksums -> name
    files_end: int = 0


class Dump:
    def __init__(self, path):
        tool = peers.need("llvm-pdbutil", "llvm-22")
        text = peers.run([tool, "dump", "-symbols", "-l", "-il", "-ids", "-types", "-publics", "-section-headers",
                          "-xmi", "-xme", "-files", path])
        self.modules, self.procs, self.publics, self.sections = {}, [], [], []
        self.types, self.ids = {}, {}
        self.unknown = []
        parse = None
        parsers = {"Files": self._file, "Lines": self._line, "Inlinee Lines": self._inlinee, "Symbols": self._symbol,
                   "Types (TPI Stream)": self._type, "Types (IPI Stream)": self._id, "Public Symbols": self._public,
                   "Cross Module Imports": self._import, "Cross Module Exports": self._export, "Section Headers": self._section}
        self.module, self.stack, self.file, self.block, self.last = None, [], "", None, None
        for line in text.split("\n"):
            title = _TITLE.match(line)
            if title and (title[1] in parsers or title[1] == "Original Section Headers"):
                parse = parsers.get(title[1])
                self.module, self.stack, self.block, self.last = None, [], None, None
                continue
            if not parse or line.startswith("====") or not line.strip():
                self.block = None if not line.strip() else self.block
                continue
            found = _MODULE.match(line)
            if found:
                number = int(found[1])
                self.module = self.modules.setdefault(number, Module(number, found[2]))
                self.stack, self.last = [], None
                continue
            parse(line)
        for proc in self.procs:
            proc.rva = self.rva(proc.section, proc.off)
        self._index()

    def rva(self, section, off):
        return self.sections[section - 1][0] + off if 0 < section <= len(self.sections) else None

    # ---- Lines of the dump ----

    def _line(self, line):
        found = _BLOCK.match(line)
        if found:
            section, begin, end = int(found[1]), int(found[2], 16), int(found[3], 16)
            self.block = Block(section, begin, end, self.file)
            self.module.blocks.append(self.block)
        elif self.block and _ROW.match(line):
            for row in _ROW.finditer(line):
                self.block.rows.append((int(row[2], 16), row[1] if row[1] in STEP_OVER else int(row[1])))
        elif line.strip():
            self.file = _CHECKSUM.sub("", line)

    def _inlinee(self, line):
        found = _INLINEE.match(line)
        if found:
            # rustc gives one id to functions of the same name: the first counts, as for llvm-symbolizer.
            self.module.inlinees.setdefault(int(found[1], 16), (_CHECKSUM.sub("", found[3]), int(found[2])))

    def _symbol(self, line):
        record = _RECORD.match(line)
        if record:
            self.last = (record[2], record[3])
            kind = record[2]
            if kind in ("S_END", "S_INLINESITE_END", "S_PROC_ID_END"):
                if self.stack:
                    self.stack.pop()
            elif kind in ("S_BLOCK32", "S_WITH32", "S_SEPCODE"):
                self.stack.append(None)
            return
        if not self.last:
            return
        kind, name = self.last
        proc = _PROC.search(line)
        if proc and kind in ("S_GPROC32", "S_LPROC32", "S_GPROC32_ID", "S_LPROC32_ID"):
            found = Proc(name or "", kind, self.module.number, int(proc[3]), int(proc[4]), int(proc[5]))
            self.procs.append(found)
            self.stack = [found]
            return
        thunk = _THUNK.search(line)
        if thunk and kind == "S_THUNK32":
            found = Proc(name or "", kind, self.module.number, int(thunk[3]), int(thunk[4]), int(thunk[2]))
            self.procs.append(found)
            self.stack = [found]
            return
        site = _SITE.search(line)
        if site and kind.startswith("S_INLINESITE"):
            found = Site(int(site[1], 16), int(site[3]))
            parent = next((p for p in reversed(self.stack) if p), None)
            if parent:
                parent.sites.append(found)
            self.stack.append(found)
            self.line_now, self.file_now = 0, None
            return
        note = _NOTE.match(line)
        if note and kind.startswith("S_INLINESITE") and self.stack and isinstance(self.stack[-1], Site):
            site = self.stack[-1]
            site.combined |= note[1].startswith("0C")
            site.moved |= note[1].startswith("0B") and not site.ranges and self.line_now != 0
            self._notes(self.stack[-1], note[2])

    def _notes(self, site, text):
        begin, end = None, None
        for step in _STEP.finditer(text):
            what, value = step[1], step[2]
            if what == "code":
                begin = int(value, 16)
            elif what == "code end":
                end = int(value, 16)
            elif what == "line":
                self.line_now = int(value)
            elif what == "setfile":  # the name is that of another table's offset
                self.file_now = self.modules[self.module.number].files.get(int(value.split()[-1], 16), "")
            elif what not in ("line end delta", "range kind") and not what.startswith("col"):
                self.unknown.append(text)
        ranges = site.ranges
        if begin is not None:
            if ranges and ranges[-1][1] is None:
                ranges[-1] = (ranges[-1][0], begin, *ranges[-1][2:])
            ranges.append((begin, None, self.line_now, self.file_now))
        if end is not None and ranges and ranges[-1][1] is None:
            ranges[-1] = (ranges[-1][0], end, *ranges[-1][2:])

    def _type(self, line):
        found = _TYPE.match(line)
        if found and found[3] is not None:
            self.types[int(found[1], 16)] = found[3]

    def _id(self, line):
        found = _TYPE.match(line)
        if found:
            self.last = int(found[1], 16)
            text = _STRING_ID.search(line)
            if text:
                self.ids[self.last] = ("string", text[2], text[1])
            return
        found = _FUNC_ID.match(line)
        if found and self.last is not None:
            self.ids[self.last] = (found[2], found[1], found[3])

    def _public(self, line):
        record = _RECORD.match(line)
        if record:
            self.last = (record[2], record[3])
            return
        found = _PUBLIC.match(line)
        if found and self.last and self.last[0] == "S_PUB32":
            self.publics.append((int(found[2]), int(found[3]), self.last[1], found[1]))

    def _section(self, line):
        found = _SECTION.match(line)
        if found and found[2] == "virtual size":
            self.last = int(found[1], 16)
        elif found:
            self.sections.append((int(found[1], 16), self.last))

    def _import(self, line):
        found = _IMPORT.match(line)
        if found:
            self.module.imports.append((found[1] or "", [int(n, 16) for n in found[2].split()]))
            return
        found = _IMPORTED.match(line)
        if found and self.module.imports:
            self.module.imports[-1][1].extend(int(n, 16) for n in found[1].split())

    def _file(self, line):
        found = _FILE.match(line)
        if found:
            self.module.files[self.module.files_end] = found[2]
            self.module.files_end += (6 + _CHECKSUM_SIZE[found[1]] + 3) & ~3

    def _export(self, line):
        found = _EXPORT.match(line)
        if found:
            self.module.exports[int(found[1], 16)] = int(found[2], 16)

    # ---- Answers ----

    def resolve(self, module, number):
        """An id of a module as one of the PDB: bit 31 refers to an imported module (bits 20 to 30) and its id of that index."""
        if not number >> 31:
            return number
        imports = self.modules[module].imports
        if (number >> 20 & 0x7ff) >= len(imports):
            return 0
        name, ids = imports[number >> 20 & 0x7ff]
        if (number & 0xfffff) >= len(ids):
            return 0
        end = name.lstrip(".").lower()
        other = next((m for m in self.modules.values() if m.name.lower().endswith(end)), None)
        return other.exports.get(ids[number & 0xfffff], 0) if other else 0

    def id_name(self, number, module=None):
        """Name of an inlined function with its class or namespace."""
        number = self.resolve(module, number) if module is not None else number
        kind, name, scope = self.ids.get(number, ("", "", "<no type>"))
        if scope == "<no type>" or kind == "string":
            return name
        scope = int(scope, 16)
        outer = self.types.get(scope, "") if kind == "class type" else self.id_name(scope)
        return f"{outer}::{name}" if outer else name

    def _index(self):
        self.rows = {}   # (module, folded) -> sorted (rva, order, order, line, file, end of its block)
        for number, module in self.modules.items():
            seen, last = {}, None    # bytes -> how many contributions of theirs came before
            for order, block in enumerate(module.blocks):
                start = self.rva(block.section, 0)
                if start is None:
                    continue
                # The next block of one contribution has another file, or goes on after the one before.
                place = (block.section, block.begin, block.end)
                if last is None or (last.section, last.begin, last.end) != place or \
                        last.file == block.file and last.rows and block.rows and block.rows[0][0] <= last.rows[-1][0]:
                    seen[place] = seen.get(place, -1) + 1
                last = block
                self.rows.setdefault((number, seen[place]), []).extend(
                    (start + off, order, i, line, block.file, start + block.end) for i, (off, line) in enumerate(block.rows))
        for rows in self.rows.values():
            rows.sort(key=lambda row: row[:3])
        seen = {}        # identical functions folded into one: each has its own rows
        for proc in self.procs:
            place = (proc.module, proc.section, proc.off)
            proc.folded = seen[place] = seen.get(place, -1) + 1
        self.by_rva = sorted((p for p in self.procs if p.rva is not None), key=lambda p: p.rva)
        self.starts = [p.rva for p in self.by_rva]

    def linkage_names(self, proc, i386=False):
        """The names of the publics at a function's start, without the decoration of i386's calling conventions; its own if there are none."""
        names = {name for section, off, name, _ in self.publics if (section, off) == (proc.section, proc.off)}
        return {re.sub(r"^[_@](?=.)|@\d+$", "", n) if i386 and n[0] != "?" else n for n in names} or {proc.name}

    def rows_of(self, module):
        return [rows for (number, _), rows in self.rows.items() if number == module]

    def procs_at(self, rva):
        """The functions that hold an address."""
        at = bisect.bisect_right(self.starts, rva)
        return [p for p in self.by_rva[max(0, at - 64):at] if p.rva <= rva < p.rva + max(p.size, 1)]

    def row_at(self, proc, rva):
        """(file, line) of a function's line table, or None. Rows that a debugger steps over continue the row before."""
        rows = self.rows.get((proc.module, proc.folded)) if proc.folded else None
        if rows is None or not rows[0][0] <= rva < rows[-1][5]:
            rows = self.rows.get((proc.module, 0), [])
        at = bisect.bisect_right(rows, rva, key=lambda row: row[0]) - 1
        while at >= 0 and rows[at][3] in STEP_OVER and rows[at][5] > rva:
            at -= 1
        if at < 0 or rows[at][5] <= rva:
            return None
        return rows[at][4], rows[at][3]

    def frames(self, proc, rva):
        """Innermost first, of one function that holds the address."""
        frames, sites, off = [], proc.sites, rva - proc.rva
        module = self.modules[proc.module]
        row = self.row_at(proc, rva)
        frames.append(Frame(proc.name, row[0] if row else "", row[1] if row else 0))
        while True:
            for site in sites:
                found = next((r for r in site.ranges if r[0] <= off < (r[1] or 0)), None)
                if found:
                    break
            else:
                return frames[::-1]
            file, line = module.inlinees.get(site.inlinee, ("", 0))
            frames.append(Frame(self.id_name(site.inlinee, proc.module), found[3] or file, line + found[2] if file else 0))
            sites = site.sites

    def chain(self, proc, rva):
        """The inlined calls that hold an address, outermost first."""
        chain, sites, off = [], proc.sites, rva - proc.rva
        while True:
            found = next((s for s in sites if any(r[0] <= off < (r[1] or 0) for r in s.ranges)), None)
            if not found:
                return chain
            chain.append(found)
            sites = found.sites

    def blocks_at(self, module, rva):
        """The blocks of rows that hold an address."""
        return [b for b in self.modules[module].blocks if self.rva(b.section, b.begin) <= rva < self.rva(b.section, b.end)]

    def addresses(self):
        """First, last and row addresses of every function."""
        found = set()
        for proc in self.by_rva:
            if proc.size:
                found |= {proc.rva, proc.rva + proc.size - 1}
            stack = list(proc.sites)
            while stack:
                site = stack.pop()
                stack += site.sites
                for r in site.ranges:
                    found |= {proc.rva + off for off in (r[0], (r[1] or r[0]) - 1) if 0 <= off < proc.size}
        for rows in self.rows.values():
            found |= {row[0] for row in rows}
        return sorted(found)


# ---- Where llvm-symbolizer differs ----

# Rules about the function itself: its last frame @peer, where the dump says @own.

def first_row(dump, proc, rva, peer, own):
    """Of rows at the same address it takes the first, there only."""
    lines = [row[3] for rows in dump.rows_of(proc.module) for row in rows if row[0] == rva]
    return len(lines) > 1 and peer.line in lines


def stepped_over(dump, proc, rva, peer, own):
    """It prints the line numbers 0xfeefee and 0xf00f00, which mean that a debugger stops there never or always."""
    return peer.line in (0xfeefee, 0xf00f00)


def before_first_row(dump, proc, rva, peer, own):
    """It takes the first row for the bytes before it, too."""
    blocks = dump.blocks_at(proc.module, rva)
    return not own.file and any(
        rva < dump.rva(b.section, b.rows[0][0]) and (peer.line, peer.file) == (b.rows[0][1], b.file) for b in blocks if b.rows)


def blocks_of_files(dump, proc, rva, peer, own):
    """It keeps the rows of a contribution apart that are of different files, as if each began and ended with it."""
    blocks = dump.blocks_at(proc.module, rva)
    return len(blocks) > 1 and any((peer.line, peer.file) == (line, b.file) for b in blocks for _, line in b.rows)


# Rules about the inlined calls: all frames but the last.

def first_operation(dump, proc, rva, peer, own):
    """Where the line changes before an operation (0x0b) that changes it again and begins the first row, it counts the first only."""
    chain = dump.chain(proc, rva)[::-1]
    return len(chain) == len(peer) == len(own) and all(
        theirs == ours or site.moved and theirs.name == ours.name for theirs, ours, site in zip(peer, own, chain))


def combined_operation(dump, proc, rva, peer, own):
    """A length that comes with the next offset (0x0c) ends what it knows of the ranges and lines before."""
    chain = dump.chain(proc, rva)
    if not any(site.combined for site in chain) or len(peer) > len(own):
        return False
    for frame, site in zip(peer[::-1], chain):
        file, line = dump.modules[proc.module].inlinees.get(site.inlinee, ("", 0))
        rows = {(r[3] or file, line + r[2]) for r in site.ranges} | {(file, line)}
        if frame.name != dump.id_name(site.inlinee, proc.module) or (frame.file, frame.line) not in rows:
            return False
    return True


OUTER_RULES = (first_row, stepped_over, before_first_row, blocks_of_files)
INNER_RULES = (first_operation, combined_operation)


def explain(dump, proc, rva, peer, own):
    """Names of the rules by which llvm-symbolizer gives the frames @peer where the dump says @own, or None."""
    if proc.kind == "S_THUNK32" and not peer:
        return ["thunk"]  # it reads procedures only
    if not peer or not own or peer[-1].name != own[-1].name:
        return None
    found = []
    for rules, theirs, ours in ((OUTER_RULES, peer[-1], own[-1]), (INNER_RULES, peer[:-1], own[:-1])):
        if theirs != ours:
            rule = next((r.__name__ for r in rules if r(dump, proc, rva, theirs, ours)), None)
            if not rule:
                return None
            found.append(rule)
    return found
