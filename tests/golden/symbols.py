#!/usr/bin/env python3
"""Symbols that depend on the machine, in files written by hand: stubs of linkage tables, function descriptors,
mode bits, mapping symbols, relocations.

    symbols.py GSYM
"""
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import make_elf as m  # noqa: E402
from lib.format_test import failures, run  # noqa: E402

FUNC, NOTYPE, IFUNC = m.STT_FUNC, m.STT_NOTYPE, m.STT_GNU_IFUNC

def answers(gsym, data, addresses, *options, debug=None):
    """What `gsym lookup` prints for each address; None when the conversion fails. @debug: a debug file's bytes."""
    with tempfile.TemporaryDirectory() as directory:
        elf, out = f"{directory}/file", f"{directory}/out.gsym"
        pathlib.Path(elf).write_bytes(data)
        if debug:
            pathlib.Path(f"{directory}/debug").write_bytes(debug)
            options += (f"--debug-file={directory}/debug",)
        done = subprocess.run([gsym, "convert", "--quiet", *options, elf, "-o", out], capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            return None
        text = subprocess.run([gsym, "lookup", out], input="".join(f"{a:#x}\n" for a in addresses), text=True,
                              capture_output=True, timeout=300).stdout
        return [record.split(" at ")[0] for record in text.split("\n\n")[:len(addresses)]]


def expect(gsym, what, data, expected, *options, debug=None):
    """@expected: address -> "name", "name+0x4", or "??"."""
    got = answers(gsym, data, list(expected), *options, debug=debug)
    for (address, name), answer in zip(expected.items(), got or [None] * len(expected)):
        if answer != name:
            failures.append(f"{what}: {address:#x} is {answer}, not {name}")


# ---- Linkage tables ----

def jump(addr, slot):
    """jmp *slot(%rip); push; jmp"""
    return b"\xff\x25" + (slot - addr - 6 & 0xffffffff).to_bytes(4, "little") + b"\x68\0\0\0\0\xe9\0\0\0\0"


def linkage(symbols=(), **kind):
    """Entries of .plt go through slots in another order than the relocations have; one slot has none."""
    e = m.Maker(m.EM_X86_64, **kind)
    e.add(".text", m.CODE, 0x1000, bytes([0xc3] * 0x100))
    header = b"\xff\x35\0\0\0\0\xff\x25" + (0x3008 - 0x120c & 0xffffffff).to_bytes(4, "little") + bytes(4)
    e.add(".plt", m.CODE, 0x1200, header + jump(0x1210, 0x3020) + jump(0x1220, 0x3018) + jump(0x1230, 0x3030) +
          jump(0x1240, 0x3028) + jump(0x1250, 0x3040) + jump(0x1260, 0x3048))
    e.add(".plt.got", m.CODE, 0x1300, jump(0x1300, 0x3038)[:6] + b"\x66\x90")
    e.add(".got.plt", m.DATA, 0x3000, bytes(0x50))
    e.add_symbols(".dynsym", [("puts", 0, 0, FUNC, ""), ("free", 0, 0, FUNC, ""), ("exit", 0, 0, NOTYPE, ""),
                              ("", 0, 0, FUNC, "")], m.SHT_DYNSYM, m.SHF_ALLOC, 0x400)
    e.add_rela(".rela.plt", 0x500, [(0x3018, 1, 7, 0), (0x3020, 2, 7, 0), (0x3028, 0, 37, 0x1010),
                                    (0x3048, 0, 37, 0x1018), (0x3040, 4, 7, 0)])
    e.add_rela(".rela.dyn", 0x600, [(0x3038, 3, 6, 0)])
    if symbols:
        e.add_symbols(".symtab", symbols)
    return e.file()


def check_linkage(gsym):
    stubs = {0x1200: "??", 0x120f: "??", 0x1210: "free@plt", 0x121f: "free@plt+0xf", 0x1220: "puts@plt",
             0x1230: "??", 0x1240: "*ABS*+0x1010@plt", 0x1250: "??", 0x1260: "*ABS*+0x1018@plt",
             0x126f: "*ABS*+0x1018@plt+0xf", 0x1270: "??", 0x1300: "exit@plt", 0x1307: "exit@plt+0x7", 0x1308: "??"}
    expect(gsym, "stubs", linkage(), stubs)
    named = [("resolve_memcpy", 0x1010, 4, FUNC, ".text"), ("__memcpy", 0x1010, 4, IFUNC, ".text"),
             ("memcpy@@V_1", 0x1010, 4, IFUNC, ".text"), ("pick", 0x1018, 4, FUNC, ".text")]
    expect(gsym, "resolvers", linkage(named), {**stubs, 0x1240: "memcpy@plt", 0x1260: "pick@plt",
                                               0x126f: "pick@plt+0xf"})
    # A function with a size keeps its bytes, a label gives way, and what has no size ends where a stub begins.
    others = [("whole", 0x1208, 0x10, FUNC, ".plt"), ("puts_label", 0x1220, 0, NOTYPE, ".plt"),
              ("open", 0x1230, 0, FUNC, ".plt"), ("main", 0x1000, 8, FUNC, ".text")]
    expect(gsym, "other symbols", linkage(others),
           {0x1208: "whole", 0x1210: "whole+0x8", 0x1217: "whole+0xf", 0x1220: "puts@plt", 0x1230: "open",
            0x123f: "open+0xf", 0x1240: "*ABS*+0x1010@plt"})
    expect(gsym, "as llvm-gsymutil", linkage(others), {0x1220: "??"}, "--match-llvm")
    expect(gsym, "relocatable", linkage([("main", 0, 8, FUNC, ".text")], type=m.ET_REL),
           {0x0: "main", 0x110: "??"})


def check_rel(gsym):
    """i386: slots count from DT_PLTGOT, and the address of a resolver is in the slot."""
    e = m.Maker(m.EM_386, wide=False)
    e.add(".text", m.CODE, 0x1000, bytes(0x20))
    e.add(".plt", m.CODE, 0x1200, b"\xff\xa3\x0c\0\0\0\x68\0\0\0\0\xe9\0\0\0\0" +
          b"\xf3\x0f\x1e\xfb\xff\xa3\xfc\xff\xff\xff" + bytes(6))
    e.add(".got", m.DATA, 0x2ff0, bytes(12) + e.addresses(0x1010) + bytes(16))
    e.add_symbols(".dynsym", [("puts", 0, 0, FUNC, "")], m.SHT_DYNSYM, m.SHF_ALLOC, 0x400)
    e.add_rel(".rel.plt", 0x500, [(0x300c, 1, 7), (0x2ffc, 0, 42)])
    e.add(".dynamic", m.DATA, 0x3100, e.addresses(3, 0x3000, 0, 0), m.SHT_DYNAMIC, entsize=8)
    e.add_symbols(".symtab", [("memcpy", 0x1010, 4, IFUNC, ".text")])
    expect(gsym, "i386", e.file(), {0x1200: "puts@plt", 0x120f: "puts@plt+0xf", 0x1210: "memcpy@plt"})


def check_glink(gsym):
    """ppc64: entries of .glink have the numbers of relocations at DT_JMPREL, or their own one after the other."""
    def made(entries, jmprel=0x500, glink=0x1200, big=True):
        e = m.Maker(m.EM_PPC64, big=big, flags=0 if entries[0] >> 16 else 2)
        words = [word for word in entries if word >> 16]
        e.add(".text", m.CODE, 0x1000, bytes(0x20))
        e.add(".glink", m.CODE, 0x1200, bytes(32) + e.words(*words) + bytes(8))
        e.add_symbols(".dynsym", [(name, 0, 0, FUNC, "") for name in ("puts", "free", "exit")], m.SHT_DYNSYM, m.SHF_ALLOC, 0x400)
        e.add_rela(".rela.dyn", 0x480, [(0x3080, 2, 38, 0)] * 3)
        e.add_rela(".rela.plt", 0x500, [(0x3000, 1, 21, 0), (0x3018, 2, 21, 0), (0x3030, 3, 21, 0), (0x3048, 0, 248, 0x1000)])
        # Tags before and after those that count, and one after the end.
        e.add(".dynamic", m.DATA, 0x3100, e.addresses(1, 1, 0x70000000, glink, 23, jmprel, 7, 0x480, 0, 0, 23, 0x480), m.SHT_DYNAMIC,
              entsize=16)
        e.add_symbols(".symtab", [("main", 0x1000, 8, FUNC, ".text")])
        return e.file()
    branch = 0x48000000
    numbered = [0x38000000, branch, 0x38000002, branch, 0x3c000000, 0x60000001, branch]
    for big in (True, False):
        expect(gsym, f"glink with numbers, big {big}", made(numbered, big=big),
               {0x1000: "main", 0x121f: "??", 0x1220: "puts@plt", 0x1227: "puts@plt+0x7", 0x1228: "exit@plt", 0x1230: "free@plt",
                0x123b: "free@plt+0xb", 0x123c: "??"})
    expect(gsym, "glink without numbers", made([0, branch, branch | 0x100, branch, branch]),
           {0x1220: "puts@plt", 0x1224: "free@plt", 0x1228: "exit@plt", 0x122b: "exit@plt+0x3", 0x122c: "??"})
    for what, entries in (("a number past the table", [0x38000004, branch]), ("a number that is far past it", [0x3c00ffff, 0x6000ffff, branch]),
                          ("a call", [0x38000000, branch | 1]), ("an absolute branch", [0x38000000, branch | 2]), ("no branch", [0x38000000, 0x60000000]),
                          ("no symbol", [0x38000003, branch])):
        expect(gsym, f"glink: {what}", made(entries), {0x1000: "main", 0x1220: "??"})
    for what, places in (("no relocations there", {"jmprel": 0x508}), ("no such tag", {"jmprel": 0}), ("elsewhere", {"glink": 0x5000}),
                         ("no entries", {"glink": 0}), ("at the end of its section", {"glink": 0x1240})):
        expect(gsym, f"glink: {what}", made(numbered, **places), {0x1000: "main", 0x1220: "??"})


def check_hostile_names(gsym):
    """Thousands of stubs of one long name must not grow into a multiple of the file."""
    e = m.Maker(m.EM_X86_64)
    e.add(".text", m.CODE, 0x1000, bytes(0x10))
    count = 4096
    e.add(".plt", m.CODE, 0x10000, b"".join(jump(0x10000 + 16 * i, 0x80000 + 8 * i) for i in range(count)))
    e.add_symbols(".dynsym", [("n" * 100000, 0, 0, FUNC, "")], m.SHT_DYNSYM, m.SHF_ALLOC, 0x400)
    e.add_rela(".rela.plt", 0x500, [(0x80000 + 8 * i, 1, 7, 0) for i in range(count)])
    expect(gsym, "long names", e.file(), {0x10000: "n" * 100000 + "@plt", 0x10000 + 16 * count - 16: "??"})


def check_underscores(gsym):
    """One more underscore before a mangled name, as in names of Mach-O symbols: what llvm-cxxfilt prints."""
    names = {"__Z1fv": "f()", "__Z1gv.cold": "g() (.cold)", "____Z1fv_block_invoke": "invocation function for block in f()",
             "___Z1fv": "___Z1fv", "__Zone": "__Zone", "__RNvC6_123foo3bar": "__RNvC6_123foo3bar", "__D3foo3barFZv": "__D3foo3barFZv"}
    if "LLVM" not in subprocess.run([gsym, "--version"], capture_output=True, text=True, check=True).stdout:
        del names["____Z1fv_block_invoke"]  # libiberty does not know clang's blocks
    e = m.Maker(m.EM_X86_64)
    e.add(".text", m.CODE, 0x1000, bytes(0x100))
    e.add_symbols(".symtab", [(name, 0x1000 + 16 * i, 16, FUNC, ".text") for i, name in enumerate(names)])
    expect(gsym, "underscores", e.file(), {0x1000 + 16 * i: name for i, name in enumerate(names.values())})


def check_shared_bytes(gsym):
    """Thousands of tables over the same bytes must not become thousands of copies."""
    e = m.Maker(m.EM_386, wide=False, big=True)  # big-endian, so that libelf copies what it gives
    e.add(".text", m.CODE, 0x1000, bytes(0x10))
    e.add(".plt", m.CODE, 0x10000, jump(0, 0) * 4096)
    e.add_symbols(".dynsym", [(f"symbol{i}", 0, 0, FUNC, "") for i in range(4096)], m.SHT_DYNSYM, m.SHF_ALLOC, 0x400)
    e.add_rel(".rel.plt", 0x500, [(0x80000, 0, 42)] * 65536)
    e.add(".dynamic", m.DATA, 0x3100, e.addresses(3, 0x3000) * 32768, m.SHT_DYNAMIC, entsize=8)
    e.add_symbols(".symtab", [("main", 0x1000, 4, FUNC, ".text")])
    for _ in range(3000):
        for shared in (".plt", ".dynsym", ".rel.plt", ".dynamic"):
            e.share(shared)
    expect(gsym, "shared bytes", e.file(), {0x1000: "main"})
    mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    if mib > 600:
        failures.append(f"shared bytes: {mib} MiB of memory for a file of a megabyte")


# ---- Function descriptors ----

def descriptors(kind, flags, dots):
    e = m.Maker(m.EM_PPC64, big=True, type=kind, flags=flags)
    linked = kind != m.ET_REL
    text, opd = (0x1000, 0x2000) if linked else (0, 0)
    e.add(".text", m.CODE, text, bytes(0x100), align=16)
    e.add(".opd", m.DATA, opd, e.addresses(text + 0x10, 0x9000, 0, text + 0x50, 0x9000, 0) if linked else bytes(48),
          align=8)
    symbols = [("first", opd, 24 if dots else 0x20, FUNC, ".opd"), ("second", opd + 24, 0x18, FUNC, ".opd"),
               ("behind", opd + 48, 8, FUNC, ".opd"), ("label", text + 0x90, 0, NOTYPE, ".text"),
               ("", text, 0, m.STT_SECTION, ".text")]
    if dots:
        symbols += [(".first", text + 0x10, 0x20, FUNC, ".text"), (".alone", text + 0x80, 8, FUNC, ".text"),
                    (".L7", text + 0x84, 0, NOTYPE, ".text")]
    if not linked:
        e.add_rela(".rela.opd", 0, [(0, 5, 38, 0x10), (24, 5, 38, 0x50), (8, 0, 51, 0)], ".symtab", e.index(".opd"),
                   m.SHF_INFO_LINK)
    e.add_symbols(".symtab", symbols)
    return e.file()


def check_descriptors(gsym):
    for kind, base in ((m.ET_DYN, 0x1000), (m.ET_EXEC, 0x1000), (m.ET_REL, 0)):
        for flags in (0, 1):
            plain = {base + 0xf: "??", base + 0x10: "first", base + 0x2f: "first+0x1f", base + 0x30: "??",
                     base + 0x50: "second", base + 0x67: "second+0x17", base + 0x68: "??", base + 0x90: "label"}
            expect(gsym, f"descriptors {kind} {flags}", descriptors(kind, flags, False), plain)
            expect(gsym, f"dots {kind} {flags}", descriptors(kind, flags, True),
                   {**plain, base + 0x80: "alone", base + 0x86: "alone+0x6"})
        # The second ABI has none, whatever a section is called.
        expect(gsym, f"second ABI {kind}", descriptors(kind, 2, True),
               {base + 0x10: ".first", base + 0x50: "??", base + 0x80: ".alone"})


# ---- Debug files ----

def check_debug_files(gsym):
    """Code and descriptors are in the stripped file, symbols in the other one, whose sections have no bytes."""
    def hollow(machine, big, sections, symbols):
        e = m.Maker(machine, big=big)
        for name, flags, addr, size in sections:
            e.add(name, flags, addr, bytes(size), m.SHT_NOBITS)
        e.add_symbols(".symtab", symbols)
        return e.file()

    debug = hollow(m.EM_X86_64, False, [(".text", m.CODE, 0x1000, 0x100), (".plt", m.CODE, 0x1200, 0x70)],
                   [("main", 0x1000, 8, FUNC, ".text"), ("memcpy", 0x1010, 4, IFUNC, ".text")])
    expect(gsym, "stubs with a debug file", linkage(),
           {0x1000: "main", 0x1210: "free@plt", 0x1220: "puts@plt", 0x1240: "memcpy@plt"}, debug=debug)
    expect(gsym, "a debug file alone", debug, {0x1000: "main", 0x1210: "??"})
    debug = hollow(m.EM_PPC64, True, [(".text", m.CODE, 0x1000, 0x100), (".opd", m.DATA, 0x2000, 48)],
                   [("first", 0x2000, 0x20, FUNC, ".opd"), ("second", 0x2018, 0x18, FUNC, ".opd")])
    e = m.Maker(m.EM_PPC64, big=True, flags=1)
    e.add(".text", m.CODE, 0x1000, bytes(0x100))
    e.add(".opd", m.DATA, 0x2000, e.addresses(0x1010, 0x9000, 0, 0x1050, 0x9000, 0))
    expect(gsym, "descriptors with a debug file", e.file(), {0x1010: "first", 0x1067: "second+0x17"}, debug=debug)


# ---- Numbers without room in the header ----

def names_elsewhere(e):
    """The file with the number of its sections and the index of their names in section 0 (gABI)."""
    data = bytearray(e.file())
    header, link, size = (58, 40, 32) if e.wide else (46, 24, 20)
    first = int.from_bytes(data[40:48] if e.wide else data[32:36], "big" if e.big else "little")
    _, count, names = struct.unpack_from((">" if e.big else "<") + "HHH", data, header)
    data[header + 2:header + 6] = e.pack("HH", 0, 0xffff)
    data[first + link:first + link + 4] = e.pack("I", names)
    data[first + size:first + size + (8 if e.wide else 4)] = e.pack("Q" if e.wide else "I", count)
    return bytes(data)


def check_header_overflow(gsym):
    """Of both byte orders: one of them is not the host's. Where a symbol is depends on the sections before its own."""
    for machine, wide, big in ((m.EM_X86_64, True, False), (m.EM_PPC64, True, True), (m.EM_386, False, False), (m.EM_MIPS, False, True)):
        e = m.Maker(machine, wide=wide, big=big, flags=2, type=m.ET_REL)
        e.add(".text.first", m.CODE, 0, bytes(0x100))
        e.add(".text.second", m.CODE, 0, bytes(0x100))
        e.add_symbols(".symtab", [("first", 0x10, 0x10, FUNC, ".text.first"), ("second", 0x10, 0x10, FUNC, ".text.second")])
        expect(gsym, f"numbers in section 0, machine {machine}", names_elsewhere(e),
               {0x10: "first", 0x20: "??", 0x110: "second", 0x11f: "second+0xf"})


# ---- Mode bits and mapping symbols ----

def check_modes(gsym):
    e = m.Maker(m.EM_ARM, wide=False, type=m.ET_EXEC)
    e.add(".text", m.CODE, 0x1000, bytes(0x100))
    e.add_symbols(".symtab", [("$t", 0x1000, 0, NOTYPE, ".text"), ("thumb", 0x1001, 0x10, FUNC, ".text"),
                              ("$a.12", 0x1010, 0, NOTYPE, ".text"), ("arm", 0x1010, 0x10, FUNC, ".text"),
                              ("$d", 0x1020, 0, NOTYPE, ".text"), ("$t.3", 0x1030, 0, NOTYPE, ".text"),
                              ("entry", 0x1030, 0, NOTYPE, ".text"), ("$x", 0x1040, 0, NOTYPE, ".text")])
    expect(gsym, "Arm", e.file(), {0x1000: "thumb", 0x100f: "thumb+0xf", 0x1010: "arm", 0x1020: "??",
                                   0x1030: "entry", 0x1041: "entry+0x11"})
    e = m.Maker(m.EM_MIPS, wide=False, big=True, type=m.ET_EXEC)
    e.add(".text", m.CODE, 0x1000, bytes(0x100))
    e.add_symbols(".symtab", [("micro", 0x1001, 0x10, FUNC, ".text", 0x80),
                              ("mips16", 0x1011, 0x10, FUNC, ".text", 0xf0), ("plain", 0x1020, 0x10, FUNC, ".text"),
                              ("label", 0x1031, 0, NOTYPE, ".text", 0x80), ("odd", 0x1045, 0, NOTYPE, ".text")])
    expect(gsym, "MIPS", e.file(), {0x1000: "micro", 0x1010: "mips16", 0x101f: "mips16+0xf", 0x1020: "plain",
                                    0x1030: "label", 0x1044: "label+0x14", 0x1045: "odd"})
    e = m.Maker(m.EM_RISCV, type=m.ET_EXEC)
    e.add(".text", m.CODE, 0x1000, bytes(0x100))
    e.add_symbols(".symtab", [("$xrv64i2p1_m2p0", 0x1000, 0, NOTYPE, ".text"), ("$x", 0x1010, 0, NOTYPE, ".text"),
                              (".L0 ", 0x1014, 0, NOTYPE, ".text"), ("code", 0x1020, 0, FUNC, ".text"),
                              ("$d.4", 0x1030, 0, NOTYPE, ".text"), ("$dollar", 0x1040, 0, NOTYPE, ".text")])
    expect(gsym, "RISC-V", e.file(), {0x1000: "??", 0x1010: "??", 0x1014: "??", 0x1020: "code", 0x103f: "code+0x1f",
                                      0x1040: "$dollar"})


# ---- Markers of linker scripts ----

def check_markers(gsym):
    """Labels that bound sections or groups of functions name no code; labels of assembly do, whatever they are called."""
    e = m.Maker(m.EM_X86_64, type=m.ET_EXEC)
    e.add(".text", m.CODE, 0x1000, bytes(0x400))
    e.add(".init.text", m.CODE, 0x2000, bytes(0x100))
    e.add(".empty", m.CODE, 0x2100, b"")
    e.add(".altinstr_aux", m.CODE, 0x2100, bytes(0x100))
    e.add(".rodata", m.SHF_ALLOC, 0x3000, bytes(0x100))
    labels = {"_stext": 0x1000, "__efistub__stext": 0x1000, "own": 0x1040, "__kprobes_text_start": 0x1080, "__kprobes_text_end": 0x10c0,
              "__entry_text_start": 0x10d0, "__entry_text_end": 0x10f0, "__empty_begin": 0x1100, "__empty_stop": 0x1100,
              "__start___ex_table": 0x1110, "__prefix___start___ex_table": 0x1110, "__stop___ex_table": 0x1120,
              "__prefix___stop___ex_table": 0x1120, ".annobin_f.start": 0x1140, ".annobin_f.end": 0x1160, "copy_start": 0x1200,
              "copy_end": 0x1220, "__nvhe_$d": 0x1240, "_start": 0x1300, "_end": 0x1340, "_val": 0x1360, "_eval": 0x1370,
              "lone_start": 0x1380}
    symbols = [(name, at, 0, NOTYPE, ".text") for name, at in labels.items()]
    symbols += [("_sinittext", 0x2000, 0, NOTYPE, ".init.text"), ("_einittext", 0x2100, 0, NOTYPE, ".init.text"),
                ("in_empty", 0x2100, 0, NOTYPE, ".empty"), ("_etext", 0x3000, 0, NOTYPE, ".rodata"), ("f", 0x1010, 0x10, FUNC, ".text"), ("g", 0x1090, 0x10, FUNC, ".text"),
                ("vectors", 0x10d8, 8, NOTYPE, ".text"), ("h", 0x1150, 8, FUNC, ".text"), ("init", 0x2010, 0x10, FUNC, ".init.text")]
    e.add_symbols(".symtab", symbols)
    expect(gsym, "markers", e.file(), {
        0x1000: "??", 0x1010: "f", 0x1020: "??", 0x1040: "own", 0x107f: "own+0x3f", 0x1080: "??", 0x108f: "??", 0x1090: "g",
        0x10a0: "??", 0x10c0: "??", 0x10d0: "??", 0x10d8: "vectors", 0x10e0: "??", 0x10f0: "??", 0x1100: "??", 0x1110: "??",
        0x1120: "??", 0x1140: "??", 0x1150: "h", 0x1160: "??", 0x1204: "copy_start+0x4", 0x1240: "??", 0x1300: "_start",
        0x1364: "_val+0x4", 0x1374: "_eval+0x4", 0x1384: "lone_start+0x4", 0x2000: "??", 0x2010: "init", 0x2020: "??",
        0x2100: "??", 0x217a: "??"})


# ---- Symbols without size, and what else says where functions end ----

def entry(e, data):
    """An entry of .eh_frame, padded to the size of an address."""
    data += bytes(-(len(data) + 4) % (8 if e.wide else 4))
    return e.words(len(data)) + data


def eh_frame(e, addr, fdes, augmentation=b"zR\0", values=b"\1\x1b", cut=None):
    """One CIE, whose addresses are relative words unless @values says otherwise, and FDEs (start, size, instructions)."""
    out = entry(e, e.words(0) + b"\1" + augmentation + b"\1\x78\x10" + values + b"\x0c\7\x08\x90\1")
    for start, size, code in fdes:
        at = len(out)
        place = addr + at + 8
        relative = e.words(start - place & 0xffffffff, size) if values else e.addresses(start, size)
        out += entry(e, e.words(at + 4) + relative + (b"\0" if values else b"") + code)
    return out[:cut] + bytes(4)


def check_bounds(gsym):
    """The last has no FDE, as assembly often has none; the tail at 0x1028 is of the function before, that at 0x1048 of none."""
    tail = b"\x0e\x20\x86\2"
    fdes = [(0x1060, 0x10, b""), (0x1010, 0x10, b"\x41\x0e\x10"), (0x1020, 8, b""), (0x1028, 8, tail), (0x1048, 8, tail)]
    names = [("f", 0x1010, 0, FUNC, ".text"), ("inner", 0x1018, 0, NOTYPE, ".text"), ("g", 0x1020, 0, FUNC, ".text"),
             ("sized", 0x1060, 0x18, FUNC, ".text"), ("bare", 0x1040, 0, FUNC, ".text"), ("last", 0x1080, 0, FUNC, ".text")]
    want = {0x1010: "f", 0x1018: "inner", 0x101f: "inner+0x7", 0x1020: "g", 0x102f: "g+0xf", 0x1030: "??", 0x1040: "bare",
            0x1047: "bare+0x7", 0x1048: "??", 0x1050: "??", 0x1077: "sized+0x17", 0x1078: "??", 0x10ff: "last+0x7f"}
    whole = {0x101f: "inner+0x7", 0x1030: "g+0x10", 0x1048: "bare+0x8", 0x1050: "bare+0x10"}

    def program(machine, table, wide=True, big=False, name=".eh_frame", **more):
        e = m.Maker(machine, wide=wide, big=big, **more)
        e.add(".text", m.CODE, 0x1000, bytes(0x100))
        e.add(name, m.SHF_ALLOC, 0x2000, table(e))
        e.add_symbols(".dynsym", names, m.SHT_DYNSYM, m.SHF_ALLOC, 0x400)
        return e.file()

    for machine, wide, big in ((m.EM_X86_64, True, False), (m.EM_386, False, False), (m.EM_PPC64, True, True)):
        expect(gsym, f"FDEs, machine {machine}", program(machine, lambda e: eh_frame(e, 0x2000, fdes), wide, big, flags=2), want)
    absolute = [(start, size, code) for start, size, code in fdes]
    expect(gsym, "absolute FDEs", program(m.EM_X86_64, lambda e: eh_frame(e, 0x2000, absolute, b"\0", b"")), want)
    for what, table in (("of another encoding", lambda e: eh_frame(e, 0x2000, fdes, values=b"\1\x3b")),
                        ("of an unknown form", lambda e: eh_frame(e, 0x2000, fdes, b"eh\0")),
                        ("without a CIE", lambda e: eh_frame(e, 0x2000, fdes)[24:]),
                        ("cut short", lambda e: eh_frame(e, 0x2000, fdes, cut=30)),
                        ("without end", lambda e: b"\xff" * 12), ("of size 0", lambda e: bytes(64))):
        expect(gsym, f"FDEs {what}", program(m.EM_X86_64, table), whole)

    def exidx(e):
        starts = [0x1010, 0x1020, 0x1030, 0x1048, 0x1060]
        return e.words(*(word for i, at in enumerate(starts) for word in (at - 0x2000 - 8 * i & 0x7fffffff, 1)))
    expect(gsym, "entries for Arm", program(m.EM_ARM, exidx, False, name=".ARM.exidx"),
           {0x101f: "inner+0x7", 0x102f: "g+0xf", 0x1030: "??", 0x1047: "bare+0x7", 0x1048: "??", 0x1078: "??", 0x10ff: "last+0x7f"})


# ---- Tables that are damaged ----

def warned(gsym, what, data, first):
    """The conversion counts entries of a table of functions that are damaged, the first at @first; None: none."""
    with tempfile.TemporaryDirectory() as directory:
        elf = pathlib.Path(directory, "file")
        elf.write_bytes(data)
        told = subprocess.run([gsym, "convert", "--progress=never", elf, "-o", f"{directory}/out.gsym"], capture_output=True,
                              text=True, timeout=300)
    lines = [line for line in (told.stdout + told.stderr).splitlines() if "table of functions" in line]
    if [line.rpartition("first: ")[2].partition(";")[0] for line in lines] != ([first] if first else []):
        failures.append(f"{what}: not warned of {first}: {told.stdout}{told.stderr}")


def check_damaged_bounds(gsym):
    """Damage to an entry of .eh_frame hides those behind it, which the table of .eh_frame_hdr still names."""
    fdes = [(0x1000, 0x10, b""), (0x1020, 0x10, b""), (0x1040, 0x10, b""), (0x1060, 0x10, b""), (0x1080, 0x10, b"")]
    names = [(f"f{start:x}", start, 0, FUNC, ".text") for start in (0x1000, 0x1020, 0x1060)]  # that at 0x1040 is stripped
    want = {0x1000: "f1000", 0x1010: "??", 0x1020: "f1020", 0x102f: "f1020+0xf", 0x1030: "??", 0x1040: "??", 0x1060: "f1060",
            0x106f: "f1060+0xf", 0x1070: "??", 0x1080: "??"}

    def program(wide=True, header=True, edit=(), edit_header=()):
        e = m.Maker(m.EM_X86_64 if wide else m.EM_386, wide=wide)
        frames = bytearray(eh_frame(e, 0x2000, fdes))
        at, places = 0, []
        while at < len(frames) - 4:
            length = int.from_bytes(frames[at:at + 4], "little")
            places.append(at)
            at += 4 + length
        places = places[1:]
        table = bytearray(b"\1\x1b\3\x3b" + e.words(0x2000 - 0x3004 & 0xffffffff, len(fdes)) + b"".join(
            e.words(start - 0x3000 & 0xffffffff, 0x2000 + place - 0x3000 & 0xffffffff)
            for (start, _, _), place in zip(fdes, places)))
        for data, edits in ((frames, edit), (table, edit_header)):
            for fde, off, byte in edits:
                data[(places[fde] if data is frames else 12 + 8 * fde) + off] = byte
        e.add(".text", m.CODE, 0x1000, bytes(0x100))
        e.add(".eh_frame", m.SHF_ALLOC, 0x2000, bytes(frames))
        if header:
            e.add(".eh_frame_hdr", m.SHF_ALLOC, 0x3000, bytes(table))
        e.add_symbols(".dynsym", names, m.SHT_DYNSYM, m.SHF_ALLOC, 0x400)
        return e.file(), places

    for wide in (True, False):
        data, places = program(wide)
        expect(gsym, "sound tables", data, want)
        warned(gsym, "sound tables", data, None)
        entry = [f".eh_frame+{place:#x}" for place in places]
        for what, edit, told in (
                ("a length beyond the section", [(0, 1, 0x7f)], entry[0]),
                ("a length over the next entry", [(1, 0, places[3] - places[1] - 4)], entry[2]),
                ("the place of the CIE", [(1, 5, 0x7f)], entry[1]),
                ("where a function begins", [(2, 9, 0x7f)], entry[2]),
                ("the size of a function", [(1, 14, 0x7f)], entry[1])):
            damaged = program(wide, edit=edit)[0]
            where = {**want, 0x1030: "f1020+0x10"} if "size" in what or "CIE" in what else want
            where = {**where, 0x1010: "f1000+0x10"} if edit[0][0] == 0 else where
            expect(gsym, f"FDEs: {what}", damaged, where)
            warned(gsym, f"FDEs: {what}", damaged, told)
    for what, edit_header, told in (("a function elsewhere", [(1, 1, 0x7f)], ".eh_frame_hdr+0x14"),
                                    ("the number of functions", [(0, -2, 0x7f)], ".eh_frame_hdr+0x0")):
        damaged = program(edit_header=edit_header)[0]
        expect(gsym, f"table of FDEs: {what}", damaged, want)
        warned(gsym, f"table of FDEs: {what}", damaged, told)
    damaged = program(header=False, edit=[(1, 5, 0x7f)])[0]
    warned(gsym, "FDEs without a table", damaged, f".eh_frame+{program()[1][1]:#x}")

    for what, words, first in (("sound", (0x1000, 0x1020, 0x1100), None), ("out of order", (0x1020, 0x1000, 0x1040), ".ARM.exidx+0x8"),
                               ("outside", (0x1000, 0x5000, 0x5001), ".ARM.exidx+0x8")):
        e = m.Maker(m.EM_ARM, wide=False)
        e.add(".text", m.CODE, 0x1000, bytes(0x100))
        e.add(".ARM.exidx", m.SHF_ALLOC, 0x2000, e.words(*(word for i, at in enumerate(words)
                                                           for word in (at - 0x2000 - 8 * i & 0x7fffffff, 1))))
        e.add_symbols(".dynsym", names, m.SHT_DYNSYM, m.SHF_ALLOC, 0x400)
        warned(gsym, f"entries for Arm: {what}", e.file(), first)


# ---- Without section headers ----

EM_S390 = 22  # its DT_HASH has words of 64 bits
PT_LOAD, PT_DYNAMIC, PT_GNU_EH_FRAME = 1, 2, 0x6474e550
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_GNU_HASH = 4, 5, 6, 10, 0x6ffffef5


def gnu_hash(e, buckets, chain, first=1, words=1):
    return e.words(len(buckets), first, words, 6) + bytes(8 if e.wide else 4) + e.words(*buckets, *chain)


def check_without_sections(gsym):
    """PT_DYNAMIC leads to the symbols, a hash table or what follows has their number; PT_GNU_EH_FRAME bounds them."""
    def program(tag, table, wide=True, big=False, machine=m.EM_X86_64, place=0x700):
        e = m.Maker(machine, wide, big)
        e.add_symbols(".dynsym", [("f", 0x1010, 0, FUNC, "code"), ("g", 0x1040, 0x10, FUNC, "code"),
                                  ("data", 0x2000, 8, FUNC, "code"), ("h", 0x1050, 0x10, FUNC, "code")])
        symbols, strings = (s.data for s in e.sections)
        symbols = bytearray(symbols)
        size = 24 if wide else 16
        for i in range(1, 5):  # in a section, whatever its number
            symbols[i * size + (6 if wide else 14):i * size + (8 if wide else 16)] = e.pack("H", 7)
        header = e.pack("BBBB", 1, 0x1b, 3, 0x3b) + e.words(0x900 - 0x804)
        entries = ((DT_SYMTAB, 0x400), (DT_STRTAB, 0x600), (DT_STRSZ, len(strings)), (tag, place), (0, 0))
        dynamic = b"".join(e.addresses(*entry) for entry in entries)
        return e.flat([(PT_LOAD, 4, 0, 0x1000), (PT_LOAD, 5, 0x1000, 0x100), (PT_DYNAMIC, 4, 0x300, len(dynamic)),
                       (PT_GNU_EH_FRAME, 4, 0x800, 8)],
                      {0x300: dynamic, 0x400: bytes(symbols), 0x600: strings, 0x700: table(e), 0x800: header,
                       0x900: eh_frame(e, 0x900, [(0x1010, 0x10, b""), (0x1020, 0x10, b"")]), 0x1000: bytes(0x100)})

    want = {0x1000: "??", 0x1010: "f", 0x101f: "f+0xf", 0x1020: "??", 0x1030: "??", 0x104f: "g+0xf", 0x1050: "h", 0x1060: "??"}
    for wide, big, machine in ((True, False, m.EM_X86_64), (False, False, m.EM_386), (True, True, EM_S390)):
        word = "Q" if machine == EM_S390 else "I"
        expect(gsym, f"DT_HASH, machine {machine}",
               program(DT_HASH, lambda e: e.pack(f"5{word}", 1, 5, 0, 0, 0), wide, big, machine), want)  # noqa: B023
        expect(gsym, f"DT_GNU_HASH, machine {machine}",
               program(DT_GNU_HASH, lambda e: gnu_hash(e, [0, 3, 1], [0, 1, 0, 1]), wide, big, machine), want)
    fewer = {**want, 0x1050: "??"}
    for what, tag, table, names in (
            ("more than the file", DT_HASH, lambda e: e.words(1, 0xffffffff), want),
            ("fewer", DT_HASH, lambda e: e.words(1, 4), fewer),
            ("a chain without end", DT_GNU_HASH, lambda e: gnu_hash(e, [1], []), want),
            ("in no bucket", DT_GNU_HASH, lambda e: gnu_hash(e, [0], [], 4), fewer)):
        expect(gsym, f"symbols by a hash table: {what}", program(tag, table), names)
    for what, tag, place, names in (("up to their names", 99, 0x700, want), ("up to relocations", 7, 0x460, fewer)):
        expect(gsym, f"symbols without a hash table: {what}", program(tag, lambda e: b"", place=place), names)
    for what, tag, table in (("none", DT_HASH, lambda e: e.words(1, 0)),
                             ("buckets", DT_GNU_HASH, lambda e: e.words(0xffffffff, 1, 1, 6)),
                             ("a Bloom filter", DT_GNU_HASH, lambda e: e.words(1, 1, 0xffffffff, 6)),
                             ("a bucket", DT_GNU_HASH, lambda e: gnu_hash(e, [0xffffffff], []))):
        if answers(gsym, program(tag, table), [0x1010]):
            failures.append(f"symbols by a hash table that is damaged, {what}: there are some")


CHECKS = (check_linkage, check_rel, check_glink, check_hostile_names, check_underscores, check_shared_bytes, check_descriptors, check_debug_files,
          check_header_overflow, check_modes, check_markers, check_bounds, check_damaged_bounds,
          check_without_sections)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], CHECKS))
