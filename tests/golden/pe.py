#!/usr/bin/env python3
"""PE files written by hand: symbols, exports, imports, unwind data, ids, debug data, debug files, damaged ones.

    pe.py GSYM
"""
import itertools
import pathlib
import struct
import subprocess
import sys
import tempfile
import uuid
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import frames, make_pe as m, pclntab, peers  # noqa: E402
from lib.format_test import compare, convert, failures, run  # noqa: E402


def expect(gsym, what, made, expected):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.exe")
        path.write_bytes(made.file())
        compare(gsym, what, path, expected, made.base)


def check_machines(gsym):
    for machine in (m.I386, m.AMD64, m.ARM64, m.ARMNT):
        expect(gsym, f"debug data, machine {machine:#x}", m.program(machine), m.LINES)
        expect(gsym, f"symbols, machine {machine:#x}", m.program(machine, dwarf=False), m.NAMES)
    # lld: bit 0 of the addresses of Thumb code is set in debug data, not in the symbol table
    for symbols in (True, False):
        made = m.program(m.ARMNT, dwarf=False, symbols=symbols)
        made.dwarf(m.dwarf_units(made.base + 0x1001))
        expect(gsym, f"debug data of Thumb code, symbols {symbols}", made, m.LINES)


def check_names(gsym):
    made = m.Maker(m.I386, 0x400000)
    made.add(".text", bytes(0x80), m.CODE)
    names = {"_cdecl": "cdecl", "_std@8": "std", "@fast@12": "fast", "vector@@16": "vector", "?f@@YAXXZ": "?f@@YAXXZ", "plain": "plain"}
    made.symbols = [m.Symbol(name, 16 * i) for i, name in enumerate(names)]
    expect(gsym, "decorated names", made, {0x1000 + 16 * i: [name] for i, name in enumerate(names.values())})


def check_untyped(gsym):
    """objcopy writes symbols without types: then names like those of bounds are functions, too."""
    made = m.Maker(m.AMD64, 0x400000)
    made.add(".text", bytes(0x80), m.CODE)
    names = ("ctx_start", "work", "ctx_end", "check_end", "list_stop")
    made.symbols = [m.Symbol(name, 16 * i, type=0) for i, name in enumerate(names)]
    expect(gsym, "symbols without types", made, {0x1000 + 16 * i: [name] for i, name in enumerate(names)})


def check_thunks_with_symbols(gsym):
    """Where symbols name thunks, other jumps are calls in tail position, whatever is before them."""
    made = m.program(m.AMD64, dwarf=False)
    slots = made.imports(["imported"])
    code = bytearray(made.sections[0].data)
    for place in (0x1010, 0x1048, 0x1060):
        code[place - 0x1001:place - 0x1000 + 6] = b"\x90\xff\x25" + struct.pack("<I", slots[0] - place - 6)
    made.sections[0].data = bytes(code)
    expect(gsym, "a jump in a named function", made, m.NAMES)


def check_exports(gsym):
    made = m.program(dwarf=False, symbols=False)
    made.exports({"first": 0x1010, "second": 0x1020, "in_another_file": "other.dll.name", "data": 0x2000})
    expect(gsym, "exports", made, {0x100f: [], 0x1010: ["first"], 0x101f: ["first"], 0x1020: ["second"], 0x107f: ["second"]})
    made = m.program(dwarf=False)
    made.exports({"alias": 0x1000, "more": 0x1060})
    expect(gsym, "exports and symbols", made, {**m.NAMES, 0x107f: ["more"]})


def check_jump_table(gsym):
    """An incrementally linked program exports jumps of a table, most of which have no name: each is as long as a jump."""
    jumps = b"\xe9\0\1\0\0" * 4
    for machine, ends in ((m.I386, True), (m.AMD64, True), (m.ARM64, False)):
        made = m.program(machine, dwarf=False, symbols=False, code=(b"\xcc" * 5 + jumps).ljust(0x30, b"\xcc") + b"\xe9\0\1\0\0".ljust(0x50, b"\xcc"))
        made.exports({"first": 0x1005, "third": 0x100f, "last": 0x1014, "tail": 0x1030})
        expect(gsym, f"table of jumps, machine {machine:#x}", made,
               {0x1004: [], 0x1005: ["first"], 0x1009: ["first"], 0x100a: [] if ends else ["first"], 0x100f: ["third"], 0x1014: ["last"],
                0x1018: ["last"], 0x1019: [] if ends else ["last"], 0x1030: ["tail"], 0x107f: ["tail"]})


def check_unwind(gsym):
    made = m.program(dwarf=False, symbols=False)
    made.exports({"first": 0x1000, "second": 0x1040})
    made.unwind([(0x1000, 0x1008), (0x1008, 0x1010, 0), (0x1010, 0x1018, 1), (0x1020, 0x1030), (0x1040, 0x1048), (0x1050, 0x1058, 4)])
    expect(gsym, "unwind data, chained", made, {0x1000: ["first"], 0x1017: ["first"], 0x1018: [], 0x1020: [], 0x103f: [],
                                                0x1047: ["second"], 0x1048: [], 0x1050: []})
    for what, entries, told in (("sound", [(0x1000, 0x1008), (0x1040, 0x1048), (0, 0)], None),
                                ("descending", [(0x1040, 0x1048), (0x1000, 0x1008)], ".pdata+0xc"),
                                ("outside", [(0x1000, 0x1008), (0x9040, 0x9048)], ".pdata+0xc"),
                                ("without code", [(0x1000, 0x1000), (0x1040, 0x1048)], ".pdata+0x0")):
        made = m.program(dwarf=False, symbols=False)
        made.exports({"first": 0x1000, "second": 0x1040})
        made.unwind(entries)
        with tempfile.TemporaryDirectory() as directory:
            pathlib.Path(directory, "x.exe").write_bytes(made.file())
            summary = subprocess.run([gsym, "convert", "--progress=never", f"{directory}/x.exe", "-o", f"{directory}/x.gsym"],
                                     capture_output=True, text=True, timeout=300)
        lines = [line for line in (summary.stdout + summary.stderr).splitlines() if "table of functions" in line]
        if [line.rpartition("first: ")[2].partition(";")[0] for line in lines] != ([told] if told else []):
            failures.append(f"unwind data {what}: {summary.stdout}{summary.stderr}")
    made = m.program(m.ARM64, dwarf=False, symbols=False)
    made.exports({"packed": 0x1000, "full": 0x1040})
    rva = made.next_rva()
    data = struct.pack("<5I", 0x1000, 1 | 3 << 2, 0x1040, rva + 16, 5)
    made.directories[m.EXCEPTION] = (made.add(".pdata", data), 16)
    expect(gsym, "unwind data of ARM64", made, {0x100b: ["packed"], 0x100c: [], 0x1053: ["full"], 0x1054: []})
    made = m.program(m.ARMNT, dwarf=False, symbols=False)
    made.exports({"packed": 0x1001, "full": 0x1041})
    rva = made.next_rva()
    data = struct.pack("<5I", 0x1001, 1 | 3 << 2, 0x1041, rva + 16, 5)
    made.directories[m.EXCEPTION] = (made.add(".pdata", data), 16)
    expect(gsym, "unwind data of Thumb code", made, {0x1000: ["packed"], 0x1005: ["packed"], 0x1006: [], 0x1049: ["full"], 0x104a: []})
    # rustc: the entry ends before the code that cleans up, which unwind data and the line table have
    rest = {0x1038: ["helper_function /src/a.c:25"], 0x103f: ["helper_function /src/b.h:30"]}
    for what, end, expected in (("beyond an entry", 0x1040, rest), ("that ends with its entry", 0x1038, {0x1038: [], 0x103f: []})):
        made = m.program(dwarf=False)
        text = made.base + 0x1000
        units = m.dwarf_units(text)
        units[0].lines = [m.Sequence(text + 0x40, *units[0].lines[0].rows, (text + 0x38, 1, 25), (text + 0x3c, 2, 30))]
        made.dwarf(units)
        made.unwind([(0x1000, 0x1020), (0x1020, end)])
        expect(gsym, f"unwind data {what}", made, {**m.LINES, **expected})


def arm64_thunk(at, slot):
    pages = (slot >> 12) - (at >> 12)
    return struct.pack("<III", 0x90000010 | (pages & 3) << 29 | pages >> 2 << 5, 0xf9400210 | (slot & 0xfff) // 8 << 10, 0xd61f0200)


def check_thunks(gsym):
    for machine in (m.I386, m.AMD64, m.ARM64):
        made = m.program(machine, dwarf=False, symbols=False)
        made.exports({"tail": 0x1000})
        slots = made.imports(["imported", 7, "another_import"])
        size = 12 if machine == m.ARM64 else 6

        def thunk(at, slot):
            if machine == m.ARM64:
                return arm64_thunk(at, slot)
            return b"\xff\x25" + struct.pack("<I", slot - at - 6 if machine == m.AMD64 else made.base + slot)
        at = [0x1010, 0x1020, 0x1020 + size]
        code = bytearray(made.sections[0].data)
        for place, slot in zip(at, (slots[0], slots[2], slots[0])):
            code[place - 0x1000:place - 0x1000 + size] = thunk(place, slot)
        if machine != m.ARM64:
            code[2] = 0x55  # a jump at the end of a function is none
            code[3:9] = thunk(0x1003, slots[0])
            code[9] = 0xc3  # nor is one behind a return, unless functions could begin there
            code[10:16] = thunk(0x100a, slots[0])
        made.sections[0].data = bytes(code)
        expect(gsym, f"thunks, machine {machine:#x}", made,
               {0x1003: ["tail"], 0x100a: ["tail"], 0x1010: ["imported"], 0x1010 + size: [], 0x1020: ["another_import"], 0x1020 + size: ["imported"]})


def uuid_of(gsym, path):
    convert(gsym, path, f"{path}.gsym")
    text = subprocess.run([gsym, "dump", f"{path}.gsym"], capture_output=True, text=True, timeout=600).stdout
    return next((line.split("=")[1].strip() for line in text.splitlines() if "UUID  " in line), "")


def check_files(gsym):
    """The id, and separate debug files with and without one."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.exe")
        for section in (".buildid", ".rdata"):
            made = m.program(id=False)
            made.id(section=section)
            path.write_bytes(made.file())
            if uuid_of(gsym, path) != m.GUID.hex:
                failures.append(f"id in {section}: {uuid_of(gsym, path)}")
        for guid, crc, found in ((m.GUID, 0, True), (uuid.UUID(int=5), 0, False), (None, 0, True), (None, 1, False)):
            debug = m.program(id=False)
            debug.sections[0].data, debug.sections[0].size = b"", 0x80
            if guid:
                debug.id(guid)
            pathlib.Path(directory, "x.debug").write_bytes(debug.file())
            made = m.program(dwarf=False, symbols=False, id=bool(guid))
            made.exports({"main": 0x1000})
            made.add(".gnu_debuglink", b"x.debug\0" + struct.pack("<I", zlib.crc32(debug.file()) ^ crc), m.DISCARDABLE)
            path.write_bytes(made.file())
            compare(gsym, f"debug file with {guid}, CRC ^ {crc}", path, m.LINES if found else {0x1000: ["main"]}, made.base)


def check_ids(gsym):
    """Which entry of the debug directory has the id."""
    good, other = m.codeview(), m.codeview(uuid.UUID(int=5))
    named = [  # entries, and whether the id is that of @good
        ("after another kind", [(m.POGO, other), (m.CODEVIEW, good)], True),
        ("before others", [(m.CODEVIEW, good), (m.CODEVIEW, other), (m.POGO, other)], True),
        ("after that of an older format", [(m.CODEVIEW, b"NB10" + other[4:]), (m.CODEVIEW, good)], True),
        ("after one of zeros", [(m.CODEVIEW, m.codeview(uuid.UUID(int=0))), (m.CODEVIEW, good)], True),
        ("after one that is cut", [(m.CODEVIEW, other[:23]), (m.CODEVIEW, good)], True),
        ("without a path", [(m.CODEVIEW, good[:24])], True),
        ("of another kind only", [(m.POGO, good)], False),
        ("none", [(m.CODEVIEW, good[:23])], False)]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.exe")
        for what, entries, found in named:
            made = m.program(dwarf=False, id=False)
            made.debug_entries(entries)
            path.write_bytes(made.file())
            if uuid_of(gsym, path) != (m.GUID.hex if found else ""):
                failures.append(f"id {what}: {uuid_of(gsym, path)}")
        made = m.program(dwarf=False, id=False)
        made.debug_entries([(m.CODEVIEW, good)], mapped=False)
        data = made.file()
        unset, at = struct.pack("<4I", m.CODEVIEW, len(good), 0, 0), data.index(good)
        path.write_bytes(data.replace(unset, unset[:12] + struct.pack("<I", at)))
        if uuid_of(gsym, path) != m.GUID.hex:
            failures.append(f"id by its offset in the file: {uuid_of(gsym, path)}")


def check_go(gsym):
    made = m.Maker(base=pclntab.TEXT - m.PAGE)
    made.add(".text", bytes(0x100), m.CODE)
    table = pclntab.sample(pclntab.GO12)
    made.add(".rdata", bytes(0x40) + table.bytes)
    expect(gsym, "Go's function table", made, {0x1000: ["main.a /src/main.go:10"], 0x1014: ["main.a /src/main.go:12"]})


# ---- Programs ----

SOURCE = """
static inline __attribute__((always_inline)) int square(int x)
{
	int r = x * x;
	return r > 100 ? r - 3 : r;
}
__attribute__((noinline)) int leaf(int a)
{
	return a * 3 + 1;
}
static __attribute__((noinline)) int work(int *v)
{
	int s = 0;
	for (int i = 0; i < 10; i++)
		v[i] = s += square(leaf(v[i]));
	return s;
}
__attribute__((stdcall, noinline)) int called(int a, int b)
{
	return leaf(a) + square(b);
}
int start(int *a)
{
	return work(a) + called(*a, 2);
}
"""


def compilers():
    """Name, command, machine."""
    for machine in ("x86_64", "i686"):
        gcc = peers.find(f"{machine}-w64-mingw32-gcc", ())
        if gcc:
            yield f"gcc-{machine}", [gcc, "-Wl,-e,start" if machine == "x86_64" else "-Wl,-e,_start"], machine
    clang = peers.find("clang")
    if clang and peers.find("ld.lld"):
        for machine in ("x86_64", "i686", "aarch64", "armv7"):
            yield f"clang-{machine}", [clang, f"--target={machine}-w64-mingw32", f"-fuse-ld={peers.find('ld.lld')}",
                                       "-Wl,-e,start"], machine


def code_of(path):
    """Addresses of .text."""
    data = path.read_bytes()
    at = struct.unpack_from("<I", data, 0x3c)[0]
    wide = struct.unpack_from("<H", data, at + 24)[0] == 0x20b
    base = struct.unpack_from("<Q" if wide else "<I", data, at + (48 if wide else 52))[0]
    table = at + 24 + struct.unpack_from("<H", data, at + 20)[0]
    for i in range(struct.unpack_from("<H", data, at + 6)[0]):
        name, size, rva = struct.unpack_from("<8sII", data, table + 40 * i)
        if name.rstrip(b"\0") == b".text":
            return list(range(base + rva, base + rva + size))
    return []


def check_program(gsym, what, path, out, machine):
    done = convert(gsym, path, out)
    if done.returncode:
        failures.append(f"{what}: exit {done.returncode}: {done.stderr}")
        return
    addresses = code_of(path)

    def plain(answer):
        """i686: llvm-symbolizer has the names of symbols as they are."""
        return [(f.name.lstrip("_").split("@")[0] if machine == "i686" else f.name, f.file, f.line) for f in answer]
    # llvm-symbolizer takes debug data of Thumb code as it is: with bit 0 of addresses set.
    asked = [a | 1 for a in addresses] if machine == "armv7" else addresses
    got, want = frames.gsym(gsym, out, addresses), frames.symbolizer(str(path), asked)
    known = [(a, g, w) for a, g, w in zip(addresses, got, want) if g and g[0].file]
    # llvm-symbolizer prefers a label of the linker's script to the function that begins there.
    labels = {"___crt_xt_end__"}
    differ = [(hex(a), g, w) for a, g, w in known
              if plain(g) != plain([f._replace(name=g[-1].name) if f.name in labels else f for f in w])]
    print(f"{what}: {len(known) - len(differ)} of {len(known)} addresses as by llvm-symbolizer")
    if differ or len(known) < 100:
        failures.append(f"{what}: {len(differ)} of {len(known)} differ, first {differ[:1]}")


def check_programs(gsym):
    if not peers.find("llvm-symbolizer"):
        return
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory, "a.c")
        source.write_text(SOURCE)
        for name, command, machine in compilers():
            for level, version in itertools.product(("-O0", "-O1", "-O2"), (4, 5)):
                path = source.with_name("a.exe")
                done = subprocess.run([*command, "-nostdlib", level, f"-gdwarf-{version}", "-o", path, source],
                                      capture_output=True, text=True, timeout=600)
                if done.returncode:
                    print(f"{name}: {done.stderr}")
                    break
                # Not beside the program, where llvm-symbolizer would read it.
                check_program(gsym, f"{name} {level} DWARF {version}", path, f"{directory}/out", machine)


# ---- Damaged ----

def check_damaged(gsym):
    def change(what, message=None, **members):
        made = m.program()
        made.exports({"first": 0x1010})
        made.imports(["imported"])
        made.unwind([(0x1000, 0x1020), (0x1020, 0x1038, 1)])
        for key, value in members.items():
            setattr(made, key, value)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "x.exe")
            path.write_bytes(made.file())
            done = convert(gsym, path, f"{path}.gsym")
            if done.returncode != bool(message) or (message or "") not in done.stderr:
                failures.append(f"{what}: exit {done.returncode}: {done.stderr}")
    change("nothing")
    change("too many sections", "65535 section headers at offset 0x188 extend past the end of the file", n_sections=65535)
    change("optional header too long", "damaged PE header", optional_size=0xffff)
    change("optional header too short", "damaged PE header", optional_size=8)
    change("unknown optional header", "damaged PE header", magic=0x107)
    change("symbols beyond the file", n_symbols=0xffffffff)
    change("symbols at the end of addresses", symbols_at=0xfffffff0)
    for index in (m.EXPORT, m.IMPORT, m.EXCEPTION, m.DEBUG, m.DELAY):
        for rva, size in ((0xffffffff, 0xffffffff), (0x1000, 0xffffffff), (0, 1), (0x3000, 20)):
            change(f"directory {index} at {rva:#x}", directories={index: (rva, size)})


def check_overlaps(gsym):
    """Work and memory are bounded where many things share bytes."""
    made = m.Maker()
    made.add(".text", bytes(0x1000), m.CODE)
    # Every export has one long name, all imports are one list of itself, a chain of unwind data is a ring.
    n = 20000
    rva = made.next_rva()
    names = rva + 40 + 4 * n
    data = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, 0, 1, n, n, rva + 40, rva + 40, rva + 40)
    data += struct.pack("<I", names) * n + b"x" * 60000 + b"\0"
    made.directories[m.EXPORT] = (made.add(".edata", data), len(data))
    at = made.next_rva()
    made.directories[m.IMPORT] = (made.add(".idata", struct.pack("<5I", at, at, at, at, at) * n), 20 * n)
    at = made.next_rva()
    ring = struct.pack("<III", 0x1000, 0x1004, at) * n + bytes([1 | 4 << 3, 0, 0, 0]) + struct.pack("<III", 0x1000, 0x1004, at)
    made.directories[m.EXCEPTION] = (made.add(".pdata", ring), 12 * n)
    for _ in range(1000):
        made.add("s", b"", m.CODE, offset=0x200, size=0x100000)
    made.symbols = [m.Symbol("a" * 60000, 0)] * 2
    data = bytearray(made.file())
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.exe")
        path.write_bytes(data)
        done = convert(gsym, path, f"{path}.gsym")
        if done.returncode not in (0, 1):
            failures.append(f"overlaps: exit {done.returncode}: {done.stderr}")


def check_cut(gsym):
    whole = m.program().file()
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "x.exe")
        for size in (16, 0x3f, 0x40, 0x83, 0x84, 0x90, 0x100, 0x190, 0x200, 0x3ff, 0x600, len(whole) - 30):
            path.write_bytes(whole[:size])
            done = convert(gsym, path, f"{path}.gsym")
            if done.returncode not in (0, 1):
                failures.append(f"cut at {size:#x}: exit {done.returncode}: {done.stderr}")


CHECKS = (check_machines, check_names, check_untyped, check_exports, check_jump_table, check_unwind, check_thunks, check_thunks_with_symbols,
          check_files, check_ids, check_go, check_programs, check_damaged, check_overlaps, check_cut)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], CHECKS))
