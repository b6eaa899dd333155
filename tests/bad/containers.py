#!/usr/bin/env python3
"""Packages of split units (.dwp) and fat files whose tables are hostile, field by field: units and images that a damage does not concern
keep their answers.

    containers.py [--count N] [--seed N] GSYM

Each field of a table gets every value that may be one too many, one too few, or large; after these come N random combinations.
"""
import argparse
import concurrent.futures
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import make_macho as m  # noqa: E402
from lib import splitfile as s  # noqa: E402
from lib.macho_sample import program  # noqa: E402

LIMIT = 600
UNITS, SLOTS = 6, 16
INFO, ABBREV = 1, 3  # of .debug_cu_index
EDGES = (0, 1, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff)
ID = bytes(range(20))


# ---- Packages ----

class Package:
    """A .dwp file of UNITS units; every part of it may be replaced before data() puts it together."""

    def __init__(self, version=5):
        self.version, self.columns, self.units, self.slots = version, [INFO, ABBREV], UNITS, SLOTS
        self.said = {}  # what the header says instead
        self.info = [s.unit(5, i + 1, b"\1unit.c\0" + b"\2" + b"f%d\0" % i + b"\0" + struct.pack("<I", s.STEP) + b"\0")
                     for i in range(UNITS)]
        self.table = []  # (offset, size) of each column, for each unit
        at = 0
        for unit in self.info:
            self.table.append([[at, len(unit)], [0, len(s.SPLIT_ABBREVS)]])
            at += len(unit)
        self.hashes = [0] * SLOTS
        self.rows = [0] * SLOTS
        for i in range(UNITS):
            self.insert(i + 1, i + 1)
        self.cut = None

    def insert(self, id, row):
        mask = len(self.rows) - 1
        at, step = id & mask, (id >> 32 & mask) | 1
        while self.rows[at]:
            at = (at + step) & mask
        self.hashes[at], self.rows[at] = id, row

    def index(self):
        values = {"version": self.version, "columns": len(self.columns), "units": self.units, "slots": self.slots, **self.said}
        head = struct.pack("<IIII", *(v & 0xffffffff for v in values.values()))
        out = head + b"".join(struct.pack("<Q", h) for h in self.hashes) + struct.pack(f"<{len(self.rows)}I", *self.rows)
        out += struct.pack(f"<{len(self.columns)}I", *self.columns)
        for part in (0, 1):
            for row in self.table:
                out += struct.pack(f"<{len(row)}I", *(pair[part] & 0xffffffff for pair in row))
        return out[:self.cut]

    def data(self):
        return s.elf([(".debug_info.dwo", s.SHT_PROGBITS, 0, 0, b"".join(self.info), 0, 0),
                      (".debug_abbrev.dwo", s.SHT_PROGBITS, 0, 0, s.SPLIT_ABBREVS, 0, 0),
                      (".debug_cu_index", s.SHT_PROGBITS, 0, 0, self.index(), 0, 0)], 1)


def header(field, value):
    def damage(package):
        package.said[field] = value
        return set(range(UNITS))
    return f"{field} {value:#x}", damage


def cell(unit, column, part, value):
    def damage(package):
        if column < len(package.table[unit]):
            package.table[unit][column][part] = value
        return {unit}
    return f"unit {unit}, column {column}, {'size' if part else 'offset'} {value:#x}", damage


def row(unit, value):
    def damage(package):
        package.rows[(unit + 1) & SLOTS - 1] = value
        return {unit}
    return f"row {value:#x} of unit {unit}", damage


def columns(ids):
    def damage(package):
        package.columns = list(ids)
        package.table = [(line + line)[:len(ids)] for line in package.table]
        return set(range(UNITS))
    return f"columns {ids}", damage


def full(package):
    """A hash table without an empty slot, in which a search for what is not there has no end."""
    package.hashes = [h or 1 << 40 | i for i, h in enumerate(package.hashes)]
    package.rows = [r or 1 for r in package.rows]
    return set()


def same_id(package):
    package.hashes[2] = 1
    return {0, 1}


def cut(size):
    def damage(package):
        package.cut = size
        return set(range(UNITS))
    return f"index of {size} bytes", damage


def package_damages():
    for field in ("version", "columns", "units", "slots"):
        for value in (*EDGES, 2, 3, 5, 6, 15, 16, 17, 0x50002, 1 << 28):
            yield header(field, value)
    for column in (0, 1):
        for part in (0, 1):
            for value in (*EDGES, 3, 40, 1000):
                yield cell(2, column, part, value)
    for value in (0, UNITS + 1, *EDGES[2:]):
        yield row(3, value)
    for ids in ((), (INFO,), (ABBREV, INFO), (INFO, INFO), (0, 0xffffffff), (INFO, ABBREV, 8, 6), tuple(range(17))):
        yield columns(ids)
    size = len(Package().index())
    for at in (0, 1, 15, 16, 17, size // 2, size - 1):
        yield cut(at)
    yield "a full table", full
    yield "an id twice", same_id


class Packages:
    def __init__(self, gsym, place):
        self.gsym, self.place = gsym, Path(place)
        s.make_skeletons(self.place / "main", ID, [("missing.dwo", "/nowhere")] * UNITS)

    def functions(self):
        """{unit: name}, or None after a crash: what it was."""
        (self.place / "out").unlink(missing_ok=True)
        done = run(self.gsym, "convert", "--quiet", self.place / "main", "-o", self.place / "out")
        if done.returncode not in (0, 1) or (done.returncode and not done.stderr):
            return f"status {done.returncode}: {done.stderr[-500:]}"
        if done.returncode:
            return {}
        done = run(self.gsym, "lookup", self.place / "out", *(hex(s.address(i)) for i in range(UNITS)))
        if done.returncode:
            return f"lookup: status {done.returncode}: {done.stderr[-500:]}"
        return {i: line.split()[0].split("+")[0] for i, line in enumerate(done.stdout.splitlines())}

    def check(self, version, damages):
        package = Package(version)
        concerned = set().union(*(damage(package) for _, damage in damages))
        (self.place / "main.dwp").write_bytes(package.data())
        found = self.functions()
        if isinstance(found, str):
            return found
        for unit in set(range(UNITS)) - concerned:
            if found.get(unit) != f"f{unit}":
                return f"unit {unit}, which it does not concern: {found.get(unit)}"
        foreign = {unit: name for unit, name in found.items() if name not in ("outer", "<unknown>") and name[:1] != "f"}
        return f"names from nowhere: {foreign}" if foreign else None


# ---- Fat files ----

class Fat:
    """A fat file of two images; every field of its table may be replaced."""

    FIELDS = ("type", "subtype", "off", "size", "align")

    def __init__(self, wide):
        self.wide, self.said = wide, None
        self.images = [program(m.X86_64).file(), program(m.ARM64).file()]
        at, self.table = 64 * 16, []
        self.body = bytearray(at)
        for machine, data in zip((m.X86_64, m.ARM64), self.images):
            self.table.append([*machine, len(self.body), len(data), 4])
            self.body += data + bytes(-len(data) % 16)

    def data(self):
        n = len(self.table) if self.said is None else self.said
        out = struct.pack(">II", 0xcafebabf if self.wide else 0xcafebabe, n)
        for kind, subtype, off, size, align in self.table:
            out += struct.pack(">IIQQII" if self.wide else ">IIIII", kind & 0xffffffff, subtype & 0xffffffff, *(
                v & (1 << (64 if self.wide else 32)) - 1 for v in (off, size)), align & 0xffffffff, *([0] if self.wide else []))
        return out + bytes(self.body[len(out):])


def fat_field(at, value):
    def damage(fat):
        fat.table[1][at] = value(fat) if callable(value) else value
        return {1}
    return f"{Fat.FIELDS[at]} {'of the other' if callable(value) else hex(value)}", damage


def fat_count(n):
    def damage(fat):
        fat.said = n
        return {0, 1} if not 0 < n < 3 else {1}
    return f"{n:#x} images", damage


def nested(fat):
    """The second image is the file itself."""
    fat.table[1][2], fat.table[1][3] = 0, len(fat.body)
    return {1}


def many(fat):
    fat.table += [list(fat.table[0]) for _ in range(30)]
    return {0, 1}


def fat_damages():
    for at in range(len(Fat.FIELDS)):
        for value in (*EDGES, (1 << 64) - 1, 1 << 63, lambda fat, at=at: fat.table[0][at]):
            yield fat_field(at, value)
    for n in (*EDGES, 2, 3, 42, 43):
        yield fat_count(n)
    yield "itself inside", nested
    yield "32 images", many


class Fats:
    def __init__(self, gsym, place):
        self.gsym, self.place = gsym, Path(place)

    def check(self, wide, damages):
        fat = Fat(wide)
        concerned = set().union(*(damage(fat) for _, damage in damages))
        (self.place / "fat").write_bytes(fat.data())
        for n, arch in enumerate(("x86_64", "arm64")):
            done = run(self.gsym, "convert", "--quiet", f"--arch={arch}", self.place / "fat", "-o", self.place / "out")
            if done.returncode not in (0, 1) or (done.returncode and not done.stderr):
                return f"status {done.returncode}: {done.stderr[-500:]}"
            if n not in concerned and done.returncode:
                return f"{arch}, which it does not concern: {done.stderr}"
        return None


def run(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=LIMIT, check=False)


def cases(kind, damages, variants, count, seed):
    """(kind, variant, damages)"""
    for variant in variants:
        yield kind, variant, []
        for damage in damages:
            yield kind, variant, [damage]
    rng = random.Random(seed)
    for _ in range(count):
        yield kind, rng.choice(variants), rng.sample(damages, rng.randrange(2, 5))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("gsym")
    settings = parser.parse_args()
    gsym = str(Path(settings.gsym).resolve())
    wanted = [*cases(Packages, list(package_damages()), (2, 5), settings.count, settings.seed),
              *cases(Fats, list(fat_damages()), (False, True), settings.count, settings.seed)]

    def check(case):
        kind, variant, damages = case
        with tempfile.TemporaryDirectory(prefix="gsym-containers-") as place:
            try:
                wrong = kind(gsym, place).check(variant, damages)
            except subprocess.TimeoutExpired:
                wrong = "no end"
        if wrong:
            print(f"not ok: {kind.__name__} {variant}: {', '.join(name for name, _ in damages) or 'whole'}: {wrong}", flush=True)
        return bool(wrong)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = sum(pool.map(check, wanted))
    print(f"{len(wanted)} files, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
