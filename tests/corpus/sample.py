"""Choosing addresses: where answers change, and that is where mistakes are."""
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib import frames  # noqa: E402
from lib.elf import Elf  # noqa: E402


def _edges(start, end):
    """First byte, middle, last byte, and the byte after."""
    return {start, (start + end) // 2, end - 1, end} if end > start else {start}


def interesting(path, gsym_files):
    """Every function's edges, every row, every edge of an inlined range, by symbols and by GSYM files."""
    elf = Elf(path)
    wanted = set()
    for symbol in elf.functions() + elf.labels():
        wanted |= _edges(symbol.addr, symbol.addr + symbol.size)
    for gsym_file in gsym_files:
        functions, rows, inlines = frames.tables(gsym_file)
        wanted.update(rows)
        for start, end in functions + inlines:
            wanted |= _edges(start, end)
    code = [(s.addr, s.addr + s.size) for s in elf.code_sections()]
    return elf, sorted(a for a in wanted if any(low <= a < high for low, high in code))


def thin(addresses, most, seed):
    """At most @most of them, evenly over the file, the place within each step by chance of @seed."""
    if len(addresses) <= most:
        return addresses
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
