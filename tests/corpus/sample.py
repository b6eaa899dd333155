"""Choosing addresses: where answers change, and that is where mistakes are."""
import bisect
import itertools
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib import frames  # noqa: E402
from lib.elf import Elf  # noqa: E402
from lib.macho import MachO  # noqa: E402
from lib.pe import Pe  # noqa: E402


def _edges(start, end):
    """First byte, middle, last byte, and the byte after."""
    return {start, (start + end) // 2, end - 1, end} if end > start else {start}


# Bytes from one instruction to the next, at least, by e_machine: MIPS, PowerPC, ARM (Thumb), s390, AArch64, RISC-V.
_STEPS = {8: 4, 20: 4, 21: 4, 40: 2, 22: 2, 183: 4, 243: 2}


def image(path):
    """The object file, by what it begins with."""
    with open(path, "rb") as f:
        magic = f.read(4)
    return Elf(path) if magic == b"\x7fELF" else Pe.read(path) if magic[:2] == b"MZ" else MachO.read(path)


def edges_of(elf, gsym_files):
    """Edges of every function, row and inlined range that symbols or GSYM files know."""
    wanted = set()
    for symbol in elf.functions() + elf.labels():
        wanted |= _edges(symbol.addr, symbol.addr + symbol.size)
    for gsym_file in gsym_files:
        functions, rows, inlines = frames.tables(gsym_file)
        wanted.update(rows)
        for start, end in functions + inlines:
            wanted |= _edges(start, end)
    code = [(s.addr, s.addr + s.size) for s in elf.code_sections()]
    return sorted(a for a in wanted if any(low <= a < high for low, high in code))


def places(path, gsym_files, most, seed):
    """(ELF, Mach-O or PE file, at most @most addresses): edges_of(), then, as far as there is room, the other addresses in code where an
    instruction may begin."""
    elf = image(path)
    edges = edges_of(elf, gsym_files)
    code = [(s.addr, s.addr + s.size) for s in elf.code_sections()]
    if len(edges) >= most:
        return elf, thin(edges, most, seed)
    step = _STEPS.get(elf.machine, 1)
    between = _Chain([range(low, high, step) for low, high in code])
    return elf, sorted(set(edges).union(thin(between, most - len(edges), seed)))


class _Chain:
    """Several ranges as one sequence."""

    def __init__(self, ranges):
        self.ranges = ranges
        self.first = list(itertools.accumulate((len(r) for r in ranges), initial=0))

    def __len__(self):
        return self.first[-1]

    def __getitem__(self, at):
        part = bisect.bisect_right(self.first, at) - 1
        if part >= len(self.ranges):
            raise IndexError(at)
        return self.ranges[part][at - self.first[part]]


def thin(addresses, most, seed):
    """At most @most of them, evenly over the file, the place within each step by chance of @seed."""
    if len(addresses) <= most:
        return list(addresses)
    chance = random.Random(seed)
    step = len(addresses) / most
    return [addresses[int((i + chance.random()) * step)] for i in range(most)]


def inside_functions(path, most, seed):
    """Random addresses inside sized function symbols, each byte of code as likely as any other."""
    elf = Elf(path)
    spans = sorted({(s.addr, s.addr + s.size) for s in elf.functions() if s.size})
    if not spans:
        return []
    chance = random.Random(seed)
    weights = [end - start for start, end in spans]
    return sorted(chance.randrange(start, end)
                  for start, end in chance.choices(spans, weights=weights, k=most))
