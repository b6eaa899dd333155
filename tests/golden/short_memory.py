#!/usr/bin/env python3
"""Conversions of all formats, and a comparison, in which one allocation after the other fails: either the result is the same, or the
error is that memory is short, and nothing is left of what was begun.

    short_memory.py DRIVER GSYM [NAME...]

DRIVER is short_memory.c. `no memory formats` asks the same of whole commands, whose status and output are compared.
"""
import lzma
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import breakpad, costly, costly_pdb, macho_sample, make_macho, objfile, pclntab, splitfile  # noqa: E402
from lib.formats import FORMATS  # noqa: E402
from lib.craft import C99, C_PLUS_PLUS, Die, Dwarf, Section, Sequence, Symbol, Unit, write  # noqa: E402

LIMIT = 300
SITES = """
functions:
  - name: main
    callsites: [{return_offset: 3, match_regex: [a, b], flags: [InternalCall]}, {return_offset: 2, match_regex: []}]
  - {name: other, callsites: [{return_offset: 1, match_regex: [c]}]}
"""
SHF_COMPRESSED = 0x800


def units(n=12):
    """Functions with inlined calls, call sites, ranges and namespaces; two of one name and place."""
    made = []
    for i in range(n):
        low = 0x1000 + 0x40 * i
        leaf, tiny = Die("subprogram", name="leaf", inline=1), Die("subprogram", name="tiny", inline=1)
        inner = Die("inlined_subroutine", abstract_origin=leaf, ranges=[(low + 8, low + 10), (low + 12, low + 14)], call_file=2, call_line=8)
        call = Die("inlined_subroutine", inner, abstract_origin=tiny, low_pc=low + 8, high_pc=8, call_file=1, call_line=5)
        site = Die("GNU_call_site", low_pc=low + 4, abstract_origin=leaf)
        function = Die("subprogram", call, site, name=f"f{i}" if i else "main", low_pc=low, high_pc=0x20)
        parts = Die("subprogram", name=f"parts{i}", ranges=[(low + 0x20, low + 0x28), (low + 0x30, low + 0x38)])
        body = [Die("namespace", function, parts, name="ns")] if i % 2 else [function, parts]
        made.append(Unit(leaf, tiny, *body, files=("a.c", "b.h"), language=C_PLUS_PLUS if i % 2 else C99, low_pc=low, high_pc=0x40, lines=[
            Sequence(low + 0x38, (low, 1, 4), (low + 8, 2, 9), (low + 0x10, 1, 6), (low + 0x20, 1, 20), (low + 0x30, 1, 22))]))
    return made


SYMBOLS = [Symbol("main", 0x1000, 0x20), Symbol("alias", 0x1000, 0x20), Symbol("other", 0x1400, 0x10), Symbol("_stext", 0x1000, 0, 0),
           Symbol("a_start", 0x1500, 0, 0), Symbol("f", 0x1508, 8), Symbol("a_end", 0x1510, 0, 0), Symbol("label", 0x1600, 0, 0)]


def packed(source, kind):
    """The file with compressed debug sections."""
    data = bytearray(source)
    shoff, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    strings, = struct.unpack_from("<Q", data, shoff + 64 * names + 24)
    for i in range(count):
        at = shoff + 64 * i
        name, _, flags = struct.unpack_from("<IIQ", data, at)
        off, size = struct.unpack_from("<QQ", data, at + 24)
        if not data[strings + name:].startswith(b".debug_"):
            continue
        body = struct.pack("<IIQQ", kind, 0, size, 1) + zlib.compress(bytes(data[off:off + size]))
        struct.pack_into("<Q", data, at + 8, flags | SHF_COMPRESSED)
        struct.pack_into("<QQ", data, at + 24, len(data), len(body))
        data += body + bytes(-len(body) % 8)
    return bytes(data)


def aranges(info):
    """.debug_aranges of units(), for fragments that need not find all units."""
    out, at, number = b"", 0, 0
    while at < len(info):
        out += struct.pack("<IHIBB4xQQQQ", 44, 2, at, 8, 0, 0x1000 + 0x40 * number, 0x40, 0, 0)
        at, number = at + 4 + struct.unpack_from("<I", info, at)[0], number + 1
    return Section(".debug_aranges", out)


def macho():
    """Two sections of code, stubs, exported functions and starts of others."""
    made = macho_sample.program()
    made.section("__TEXT", "__more", 0x1100, bytes(0x40), make_macho.CODE)
    made.section("__TEXT", "__stubs", 0x1200, bytes(12), make_macho.STUBS, reserved2=6)
    made.symbols += [make_macho.Symbol("_more", 0x1100, section=2), make_macho.Symbol("_puts", type=make_macho.N_EXT)]
    made.indirect = [len(made.symbols) - 1] * 2
    made.starts = make_macho.function_starts(made.text, [0x1000, 0x1020, 0x1100])
    made.exports = make_macho.trie({"_main": 0x1000, "_more": 0x1100, "_exported": 0x1120})
    return made.file()


def prepare(place, gsym):
    for row in FORMATS:
        row.write(place)
    write(place / "elf", units(), SYMBOLS, build_id=b"0123456789abcdefghij")
    elf = (place / "elf").read_bytes()
    write(place / "bare", symbols=SYMBOLS, build_id=b"0123456789abcdefghij")
    write(place / "mini", more=[Section(".gnu_debugdata", lzma.compress((place / "bare").read_bytes()))], symbols=SYMBOLS[:1])
    (place / "packed").write_bytes(packed(elf, 1))
    write(place / "listed", units(), [Symbol(f"f{i}", 0x1000 + 0x40 * i, 0x20) for i in range(12)], more=[aranges(Dwarf(units()).info)])
    (place / "listed.packed").write_bytes(packed((place / "listed").read_bytes(), 1))
    (place / "elf.xz").write_bytes(lzma.compress(elf))
    (place / "sites.yaml").write_text(SITES)
    for version in (4, 5):
        write(place / f"v{version}", [Unit(Die("subprogram", name="f", low_pc=0x1000, high_pc=0x10), version=version, language=C99,
                                           lines=[Sequence(0x1010, (0x1000, 1, 5))])])
    (place / "calls.sym").write_text(breakpad.INLINED)
    (place / "unsorted.sym").write_text(breakpad.FAR_NUMBERS)
    (place / "parents.sym").write_text(breakpad.PARENTS)
    (place / "go").write_bytes(pclntab.program(pclntab.sample()))
    (place / "go12").write_bytes(pclntab.program(pclntab.sample(pclntab.GO12)))
    (place / "macho").write_bytes(macho())
    (place / "stripped").write_bytes(macho_sample.program(dwarf=False).file())
    (place / "fat").write_bytes(make_macho.fat([(make_macho.X86_64, macho_sample.program(make_macho.X86_64).file()),
                                                (make_macho.ARM64, macho_sample.program().file())]))
    (place / "calls.pdb").write_bytes(costly.pdb_overlapping_calls(8))
    (place / "moved.pdb").write_bytes(costly_pdb.scattered(8))
    splitfile.make_skeletons(place / "split", b"12345678", [("one.dwo", str(place)), ("two.dwo", str(place)), ("none.dwo", str(place))])
    for number, name in enumerate(("one", "two")):
        splitfile.make_dwo(place / f"{name}.dwo", number, name)
    dwarf = Dwarf(units())
    parts = [(name, bytes(getattr(dwarf, name))) for name in ("info", "abbrev", "line", "ranges")]
    write(place / "zdebug", symbols=SYMBOLS, more=[Section(f".zdebug_{name}", b"ZLIB" + struct.pack(">Q", len(data)) + zlib.compress(data))
                                                   for name, data in parts])
    objfile.make(objfile.Plan([("main", ".text.main", 1), ("other", ".text.other", 16)]), place / "rel.o")
    write(place / "changed", units(7), SYMBOLS[2:], build_id=b"0123456789abcdefghij")
    for name in ("elf", "macho", "changed", "rel.o"):
        subprocess.run([gsym, "convert", "--quiet", "-o", f"{name}.gsym", name], cwd=place, check=True, timeout=LIMIT)


RUNS = [*("sample" + row.ending for row in FORMATS), "elf", "--merged-functions elf", "--match-llvm elf", "--dwarf-callsites elf", "--no-dwarf elf", "--callsites-yaml-file=sites.yaml elf",
        "--ask=0x1044 elf", "--debug-file=elf bare", "--symtab-file=bare elf", "mini", "packed", "--ask=0x1044 listed", "--ask=0x1044 listed.packed", "elf.xz", "v4", "v5",
        "calls.sym", "unsorted.sym", "parents.sym", "go", "go12", "macho", "--arch=arm64 fat", "--debug-file=macho stripped", "calls.pdb", "moved.pdb",
        "split", "zdebug", "rel.o", "elf.gsym", "--verify=elf.gsym elf", "--verify=elf.gsym packed", "--verify=changed.gsym elf", "--verify=elf.gsym zdebug",
        "--verify=rel.o.gsym rel.o", "--verify=macho.gsym macho"]


def main():
    driver, gsym, *wanted = sys.argv[1:]
    driver, gsym = (str(pathlib.Path(p).absolute()) for p in (driver, gsym))
    bad = 0
    with tempfile.TemporaryDirectory(prefix="gsym-memory-") as place:
        prepare(pathlib.Path(place), gsym)
        for words in RUNS:
            if wanted and words not in wanted:
                continue
            done = subprocess.run([driver, *words.split()], cwd=place, capture_output=True, text=True, timeout=LIMIT, check=False)
            good = done.returncode == 0 and not done.stderr and re.search(r"(?m)^[1-9]\d* allocations$", done.stdout)
            print(f"{'ok' if good else 'not ok'}: {words}: {done.stdout.strip().splitlines()[-1] if good else f'status {done.returncode}'}")
            if not good:
                print(done.stdout + done.stderr)
                bad += 1
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
