#!/usr/bin/env python3
"""Mach-O files written by hand: both byte orders, 32 and 64 bit, fat files, dSYM bundles, exported symbols, stubs, starts
of functions, and names of Objective-C and Swift.

    macho.py GSYM [CASE...]
"""
import pathlib
import re
import resource
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import make_macho as m  # noqa: E402
from lib import measure  # noqa: E402
from lib.format_test import failures, run  # noqa: E402
from lib.craft import Die, Sequence, Unit  # noqa: E402
from lib.macho_sample import LINES, NAMES, UUID, program  # noqa: E402

MACHINES = {"ppc": (m.PPC, True), "ppc64": (m.PPC64, True), "i386": (m.I386, False), "armv7": (m.ARMV7, False),
            "arm64": (m.ARM64, False), "arm64_32": (m.ARM64_32, False), "x86_64": (m.X86_64, False)}
CASES = []


def case(function):
    CASES.append(function)
    return function


class Bench:
    def __init__(self, gsym, what):
        self.gsym, self.what = gsym, what
        self.place = tempfile.TemporaryDirectory()
        self.directory = pathlib.Path(self.place.name)

    def write(self, name, data):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def run(self, *argv, stdin=None):
        return subprocess.run([self.gsym, *argv], input=stdin, capture_output=True, text=True, timeout=300,
                              cwd=self.directory)

    def same(self, what, got, expected):
        if got != expected:
            failures.append(f"{self.what}: {what}: {got!r}, not {expected!r}")

    def lookup(self, out, expected, *options):
        """@expected: address -> the answer's lines, or the name when there is no line, or "??"."""
        done = self.run("lookup", *options, out, stdin="".join(f"{a:#x}\n" for a in expected))
        records = done.stdout.split("\n\n")[:len(expected)] + [done.stderr] * len(expected)
        for (address, wanted), got in zip(expected.items(), records):
            self.same(f"{address:#x}", got.strip().removesuffix(" at ??:0"), wanted)

    def expect(self, data, expected, *options, name="file"):
        """Converts and looks up; gives the conversion's words."""
        self.write(name, data)
        done = self.run("convert", "--progress=never", *options, name, "-o", "out.gsym")
        if done.returncode:
            failures.append(f"{self.what}: convert {' '.join(options)}: exit {done.returncode}: {done.stderr.strip()}")
        else:
            self.lookup("out.gsym", expected)
        return done.stderr

    def refuse(self, data, words, *options, name="file"):
        self.write(name, data)
        done = self.run("convert", "--quiet", *options, name, "-o", "refused.gsym")
        self.same("status", done.returncode, 1)
        if words not in done.stderr:
            failures.append(f"{self.what}: says {done.stderr.strip()!r}, not {words!r}")


@case
def byte_orders(gsym):
    """Debug data and symbols, linked and as an object file."""
    for name, (machine, big) in MACHINES.items():
        for filetype in (m.MH_DYLIB, m.MH_OBJECT):
            bench = Bench(gsym, f"{name} {filetype}")
            told = bench.expect(program(machine, big, filetype=filetype).file(), LINES)
            if f"({name})" not in told:
                failures.append(f"{name}: called otherwise: {told.splitlines()[0]}")
            bench.expect(program(machine, big, False, filetype=filetype).file(), NAMES)
            order = "big-endian" if big else "little-endian"
            bench.same("order", order in bench.run("statistics", "out.gsym").stdout, True)
            bench.same("id", UUID.hex() in bench.run("dump", "out.gsym").stdout.replace("-", "").lower(), True)


@case
def without_symbols(gsym):
    made = program()
    made.symbols = []
    Bench(gsym, "DWARF alone").expect(made.file(), LINES)


@case
def sections_without_bytes(gsym):
    """Those filled with zeros have none in the file, and neither have those that it does not hold to the end."""
    named = {0x1000: "main", 0x1008: "main+0x8", 0x1020: "helper"}

    def lines_of(made):
        return next(s for s in made.sections if s.name == "__debug_line")
    for kind in (0x1, 0xc, 0x12):
        made = program()
        lines_of(made).flags = kind
        Bench(gsym, f"a section of type {kind:#x}").expect(made.file(), named)
    for kind in (0, 0x100, 0x2, 0xb):
        made = program()
        lines_of(made).flags = kind
        Bench(gsym, f"a section with flags {kind:#x}").expect(made.file(), LINES)
    made = program()
    section = lines_of(made)
    section.offset = 1
    end = len(made.file())
    for what, offset, cut, expected in (("up to the end of the file", end, 0, LINES), ("past the end of the file", end, 1, named),
                                        ("behind the end of the file", end + len(section.data) + 1, 0, named), ("nowhere", 0, 0, named)):
        section.offset = offset
        whole = made.file() + section.data
        Bench(gsym, what).expect(whole[:len(whole) - cut], expected)


@case
def bundles(gsym):
    """A dSYM beside the binary, beside the bundle it is in, in a directory; never one of another UUID."""
    plain, debug = program(dwarf=False), program(filetype=m.MH_DSYM)
    for binary, bundle in (("X.app/X", "X.app.dSYM"), ("X.app/Contents/MacOS/X", "X.app.dSYM"),
                           ("X.framework/X", "X.framework.dSYM"), ("X.framework/Versions/A/X", "X.framework.dSYM"),
                           ("X", "X.dSYM"), ("bin/X", "bin/X.dSYM")):
        bench = Bench(gsym, binary)
        bench.write(f"{bundle}/Contents/Resources/DWARF/X", debug.file())
        bench.expect(plain.file(), LINES, name=binary)
    bench = Bench(gsym, "--debug-dir")
    bench.write("debug/X.dSYM/Contents/Resources/DWARF/X", debug.file())
    bench.expect(plain.file(), LINES, "--debug-dir=debug", name="X")
    bench = Bench(gsym, "--debug-file")
    bench.write("else", debug.file())
    bench.expect(plain.file(), LINES, "--debug-file=else", name="X")
    debug.uuid = bytes(16)
    bench = Bench(gsym, "another UUID")
    bench.write("X.dSYM/Contents/Resources/DWARF/X", debug.file())
    told = bench.expect(plain.file(), NAMES, name="X")
    bench.same("missing", "X.dSYM (its UUID is that of another build)" in told, True)
    told = Bench(gsym, "no bundle").expect(plain.file(), NAMES, name="X")
    bench.same("missing without a bundle", "X.dSYM" in told, False)
    # A fat bundle is searched for the image of that UUID; a thin one of another architecture is not it.
    right, wrong = program(filetype=m.MH_DSYM), program(m.X86_64, filetype=m.MH_DSYM)
    wrong.uuid = bytes(16)
    bench = Bench(gsym, "fat bundle")
    bench.write("X.dSYM/Contents/Resources/DWARF/X", m.fat([(m.X86_64, wrong.file()), (m.ARM64, right.file())]))
    bench.expect(plain.file(), LINES, name="X")


@case
def beyond_4_gib(gsym):
    """Offsets of sections have 32 bits: the first section of the segment is 4 GiB longer, or what is before the segment."""
    gap = 1 << 32
    made = program(filetype=m.MH_DSYM)
    made.symbols = []
    made.sections.insert(1, m.Section("__DWARF", "__debug_frame", 0, bytes(40)))
    data = bytearray(made.file())
    segment = data.index(b"__DWARF\0") + 16  # vmaddr, vmsize, fileoff, filesize, then 4 words, and the first section
    section = segment + 48 + 32 + 8
    start = int.from_bytes(data[section + 8:section + 12], "little")
    for what, grown, at in (("a long section", gap, start + 40), ("a segment", 0, start)):
        bench = Bench(gsym, f"{what} of 4 GiB")
        data[segment + 16:segment + 32] = struct.pack("<QQ", start + gap - grown, len(data) - start + grown)
        data[section:section + 8] = struct.pack("<Q", 40 + grown)
        with open(bench.directory / "file", "wb") as f:
            f.write(data[:at])
            f.seek(at + gap)
            f.write(data[at:])
        bench.run("convert", "--quiet", "file", "-o", "out.gsym")
        bench.lookup("out.gsym", LINES)


@case
def fat_files(gsym):
    """Each image by its architecture; all, if none is named; none that is not there."""
    one, two = program(m.ARM64), program(m.PPC, True, dwarf=False)
    two.uuid = bytes(range(16))
    for wide in (False, True):
        data = m.fat([(m.ARM64, one.file()), (m.PPC, two.file())], wide)
        bench = Bench(gsym, f"fat {wide}")
        bench.expect(data, LINES, "--arch=arm64")
        bench.expect(data, NAMES, "--arch=ppc")
        bench.write("file", data)
        bench.same("all", bench.run("convert", "--quiet", "file", "-o", "each").returncode, 0)
        bench.lookup("each.arm64", LINES)
        bench.lookup("each.ppc", NAMES)
        bench.refuse(data, "holds images for arm64, ppc, none for arm64e", "--arch=arm64e")
        compared = bench.run("convert", "--verify", "file", "-o", "compared")
        bench.same("each compared with its own", compared.returncode, 0)
        told = bench.run("convert", "--quiet", "--names-only", "--symtab-file=file", "each.ppc", "-o", "refused.gsym")
        bench.same("several", (told.returncode, "choose one of them" in told.stderr), (1, True))
        # Neither is the code of any host, which lookup would choose.
        bench.write("foreign", m.fat([(m.ARMV7, program(m.ARMV7).file()), (m.ARM64_32, program(m.ARM64_32).file())], wide))
        told = bench.run("lookup", "foreign", "0x1000")
        bench.same("the choice", (told.returncode, told.stderr),
                   (1, "gsym lookup: foreign: holds code for armv7, arm64_32; choose one as FILE:ARCH or with --arch=ARCH\n"))
        bench.expect(m.fat([(m.ARM64, one.file())], wide), LINES)
        # A slice that is damaged, or no image at all, does not take the others with it.
        bench.expect(m.fat([(m.X86_64, b"!<arch>\n" + bytes(100)), (m.ARM64, one.file())], wide), LINES)
    # Two of one name, and one without a function: the others are converted all the same.
    twin, empty = program((m.ARM64[0], 1), dwarf=False), m.Maker(m.I386, uuid=bytes(16))
    twin.uuid = bytes(range(1, 17))
    bench = Bench(gsym, "twins")
    bench.write("file", m.fat([(m.ARM64, one.file()), (m.I386, empty.file()), (m.ARM64, twin.file())]))
    done = bench.run("convert", "--quiet", "file", "-o", "each")
    bench.same("exit", (done.returncode, "no function found" in done.stderr), (1, True))
    bench.lookup("each.arm64", LINES)
    bench.lookup("each.arm64.2", NAMES)
    Bench(gsym, "thin").refuse(one.file(), "architecture is arm64, not x86_64", "--arch=x86_64")
    Bench(gsym, "class").refuse(b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(100), "a Java class, which is not read")


@case
def exported(gsym):
    """A stripped library: exported names stay, a nameless function ends the one before it."""
    for old in (False, True):
        made = m.Maker(text=0x100000000, old_exports=old)
        made.section("__TEXT", "__text", 0x100001000, bytes(0x100), m.CODE)
        made.section("__DATA", "__data", 0x100004000, bytes(0x10))
        made.exports = m.trie({"_first": 0x1000, "_firmly": 0x1040, "_absolute": b"\2" + m.uleb(0x1010), "_data": 0x4000,
                               "_from_elsewhere": b"\x08\1_else\0", "_with_resolver": b"\x10" + m.uleb(0x1080) + m.uleb(0x10c0),
                               "__ZN3gut2faEv": 0x1060})
        made.starts = m.function_starts(made.text, [0x100001000, 0x100001020, 0x100001040, 0x100001060, 0x1000010c0])
        base = 0x100000000
        Bench(gsym, f"exported {old}").expect(made.file(), {
            base + 0x1000: "first", base + 0x101f: "first+0x1f", base + 0x1020: "??", base + 0x1040: "firmly",
            base + 0x1060: "gut::fa()", base + 0x1080: "with_resolver", base + 0x10bf: "with_resolver+0x3f",
            base + 0x10c0: "??", base + 0x4000: "??"})
    for what, starts, first in (("outside", m.uleb(0x1000) + m.uleb(0x8000) + b"\0", 2), ("cut", m.uleb(0x1000) + b"\x80", 2)):
        made.starts = starts
        told = Bench(gsym, f"starts {what}").expect(made.file(), {base + 0x1000: "first"})
        if f"table of functions: 1, first: LC_FUNCTION_STARTS+{first:#x}" not in told:
            failures.append(f"starts {what}: {told}")
    made = m.Maker()
    made.section("__TEXT", "__text", 0x1000, bytes(0x40), m.CODE)
    made.exports = b"\0\1_last\0\11" + b"\3\0\x80\x20"  # a node that ends with the trie, without the number of its edges
    Bench(gsym, "last").expect(made.file(), {0x1000: "last"})
    made.exports = b"\0\1a\0\0"  # an edge to its own node
    made.symbols = [m.Symbol("_main", 0x1000)]
    Bench(gsym, "circle").expect(made.file(), {0x1000: "main"})
    made.exports = b"\0\1\0\0" + bytes(8 << 20)  # a node in itself, in a trie that would let it be read millions of times
    told = Bench(gsym, "deep circle").expect(made.file(), {0x1000: "main"})
    if "exports of a Mach-O file ignored: damaged, or too many: 1" not in told:
        failures.append(f"deep circle: {told}")
    made.exports = b"\0\2a\0\7b\0\7" + b"\0\2a\0\7b\0\7"  # twice as many names with each letter
    Bench(gsym, "many ways").expect(made.file(), {0x1000: "main"})


@case
def stubs(gsym):
    for machine, size in ((m.ARM64, 12), (m.X86_64, 6), (m.I386, 5), (m.PPC, 32)):
        made = program(machine, machine == m.PPC, False)
        made.section("__TEXT", "__stubs", 0x2000, bytes(4 * size), m.STUBS, reserved1=1, reserved2=size)
        made.indirect = [0, 2, 0x80000000, 9999, 2]
        Bench(gsym, f"stubs {machine}").expect(made.file(), {
            **NAMES, 0x2000: "symbol stub for: other", 0x2000 + size - 1: f"symbol stub for: other+{size - 1:#x}",
            0x2000 + size: "??", 0x2000 + 2 * size: "??", 0x2000 + 3 * size: "symbol stub for: other", 0x2000 + 4 * size: "??"})
        Bench(gsym, f"stubs {machine}").expect(made.file(), {0x1000: "main", 0x2000: "??", 0x2000 + 3 * size: "??"}, "--match-llvm")


@case
def two_tables(gsym):
    """A dSYM's table adds what the binary's has lost; --symtab-file takes its place, but not that of the stubs."""
    binary = program(dwarf=False)
    binary.section("__TEXT", "__stubs", 0x2000, bytes(12), m.STUBS, reserved1=0, reserved2=12)
    binary.indirect = [2]
    binary.symbols[1] = m.Symbol("", 0, 0)
    dsym = program(filetype=m.MH_DSYM, dwarf=False)
    dsym.symbols = [m.Symbol("_main_again", 0x1000), m.Symbol("_lost", 0x1020, m.N_SECT), m.Symbol("_tail", 0x1030)]
    bench = Bench(gsym, "two tables")
    bench.write("dsym", dsym.file())
    stub = {0x2000: "symbol stub for: other"}
    bench.expect(binary.file(), {0x1000: "main", 0x1020: "lost", 0x1030: "tail", **stub}, "--debug-file=dsym")
    bench.expect(binary.file(), {0x1000: "main_again", 0x1020: "lost", **stub}, "--symtab-file=dsym")
    # Of a fat file the image for the same machine; none is an error.
    bench.write("fat", m.fat([(m.PPC, program(m.PPC, True).file()), (m.ARM64, dsym.file())]))
    bench.expect(binary.file(), {0x1000: "main_again", 0x1020: "lost", **stub}, "--symtab-file=fat")
    bench.write("other", m.fat([(m.PPC, program(m.PPC, True).file()), (m.I386, program(m.I386).file())]))
    bench.refuse(binary.file(), "other: holds images for ppc, i386", "--symtab-file=other")
    whole = m.fat([(m.PPC, program(m.PPC, True).file()), (m.ARM64, binary.file())])
    bench.expect(whole, {0x1000: "main_again", **stub}, "--arch=arm64", "--symtab-file=dsym")
    bench.refuse(whole, "its architecture is arm64, that of", "--symtab-file=dsym")


@case
def many_stubs(gsym):
    """Stubs that share one long name must not grow into a multiple of the file; nor sections that share the table."""
    made = program(dwarf=False)
    made.symbols[2] = m.Symbol("_" + "n" * 100000, type=m.N_EXT)
    count = 20000
    for i in range(50):
        made.section("__TEXT", "__stubs", 0x100000 * (i + 1), b"", m.STUBS, reserved1=0, reserved2=16, size=16 * count)
    made.indirect = [2] * count
    bench = Bench(gsym, "many stubs")
    bench.expect(made.file(), {0x1000: "main", 0x100000: "symbol stub for: " + "n" * 100000,
                               0x100000 + 16 * (count - 1): "??"})
    mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    bench.same("memory below 600 MiB", mib < 600 or mib, True)


@case
def shared_names(gsym):
    """Symbols that share one long name: so many are named as keeps the work in proportion to the file: here 13."""
    count, long = 4000, b"_" + b"n" * 100000 + b"\0"
    made = m.Maker()
    made.section("__TEXT", "__text", 0x1000, bytes(4), m.CODE, size=4 * count)
    made.extra = [(m.LC_SYMTAB, bytes(16))]
    at = len(made.file())
    table = b"".join(made.pack("IBBHQ", 0, m.N_SECT | m.N_EXT, 1, 0, 0x1000 + 4 * i) for i in range(count))
    made.extra = [(m.LC_SYMTAB, made.pack("4I", at, count, at + len(table), len(long)))]
    Bench(gsym, "shared names").expect(made.file() + table + long, {
        0x1000: "n" * 100000, 0x1004: "n" * 100000, 0x1000 + 4 * (count - 1): "n" * 100000 + f"+{4 * (count - 13):#x}"})


@case
def many_ways_through_a_trie(gsym):
    """Each of many ways to one node gives a name of four thousand letters; and a name too long hides only itself."""
    def far(places):
        edges = b"".join(bytes([1 + i, 0, 0x80 | place & 0x7f, 0x80 | place >> 7 & 0x7f, place >> 14])
                         for i, place in enumerate(places))
        return bytes([0, len(places)]) + edges

    made = program(dwarf=False)
    made.symbols = []
    first = 0x2000
    size = 2 + 5 * 200
    end = first + 3 * size
    made.exports = (b"\0\1" + b"n" * 4000 + b"\0\x80\x40").ljust(first, b"\0")
    for level in range(3):
        made.exports += far([first + size * (level + 1)] * 200)
    made.exports += b"\3\0\x80\x20\0" + bytes(1 << 16)
    bench = Bench(gsym, "many ways")
    path = bench.write("file", made.file())
    _, kib, status = measure.once([gsym, "convert", "--quiet", path, "-o", bench.directory / "out"])
    bench.same("exit", status, 0)
    bench.same("memory below 200 MiB", kib < 200 << 10 or kib, True)
    made.exports = b"\0\2" + b"n" * 5000 + b"\0\x93\x27_b\0\x93\x27".ljust(5007, b"\0")
    made.exports = made.exports[:0x1393].ljust(0x1393, b"\0") + b"\3\0\x80\x20\0"
    told = Bench(gsym, "a name too long").expect(made.file(), {0x1000: "b"})
    if "exports of a Mach-O file ignored: damaged, or too many: 1" not in told:
        failures.append(f"a name too long: {told}")


@case
def names(gsym):
    """Names of Objective-C and Swift as they are; stabs, data and undefined symbols are no functions."""
    swift = "$s4main5ShapeC4area6heightS2i_tF"
    made = m.Maker()
    made.section("__TEXT", "__text", 0x1000, bytes(0x100), m.CODE)
    made.section("__DATA", "__data", 0x2000, bytes(0x10))
    made.symbols = [m.Symbol("-[Shape areaWithHeight:depth:]", 0x1000, m.N_SECT), m.Symbol("+[Shape(Extras) count]", 0x1010),
                    m.Symbol("_" + swift, 0x1020), m.Symbol("__Z3fooi", 0x1030), m.Symbol("_", 0x1040), m.Symbol("", 0x1050),
                    m.Symbol("_stab", 0x1060, m.N_FUN), m.Symbol("_absolute", 0x1070, m.N_ABS | m.N_EXT),
                    m.Symbol("_data", 0x2000, section=2), m.Symbol("___block_invoke", 0x1080, m.N_SECT),
                    m.Symbol("_OUTLINED_FUNCTION_0", 0x1090, m.N_SECT), m.Symbol("plain", 0x10a0)]
    expected = {0x1000: "-[Shape areaWithHeight:depth:]", 0x1010: "+[Shape(Extras) count]", 0x1020: swift, 0x1030: "foo(int)",
                0x1040: "foo(int)+0x10", 0x1060: "foo(int)+0x30", 0x1080: "__block_invoke", 0x1090: "OUTLINED_FUNCTION_0",
                0x10a0: "plain", 0x2000: "??"}
    Bench(gsym, "names").expect(made.file(), expected)


def lines(*sequences, functions):
    made = m.Maker(uuid=UUID)
    made.section("__TEXT", "__text", 0x1000, bytes(0x400), m.CODE)
    made.symbols = [m.Symbol(f"_{d.attributes['name']}", d.attributes["low_pc"]) for d in functions if "low_pc" in d.attributes]
    made.dwarf([Unit(*functions, files=("a.c", "b.h"), lines=list(sequences))])
    return made.file()


def tsv(bench, expected, *options):
    """@expected: address -> (function, file's last letters, line, flags)."""
    done = bench.run("lookup", "--format=tsv", *options, "out.gsym", stdin="".join(f"{a:#x}\n" for a in expected))
    got = {}
    for line in done.stdout.splitlines():
        word = line.split("\t")
        got.setdefault(int(word[0], 16), (word[2], word[4][-3:], int(word[5]), word[6]))
    bench.same(f"tsv {options}", got, expected)


@case
def rows_at_one_address(gsym):
    """The last counts, as llvm-symbolizer has it; atos takes the first that has a line."""
    main = Die("subprogram", name="main", low_pc=0x1000, high_pc=0x20)
    other = Die("subprogram", name="other", low_pc=0x1020, high_pc=0x20)
    data = lines(Sequence(0x1040, (0x1000, 1, 4), (0x1000, 1, 5), (0x1008, 1, 6), (0x1008, 2, 0), (0x1008, 2, 8),
                          (0x1010, 1, 0), (0x1010, 1, 9), (0x1014, 1, 10), (0x1014, 1, 0), (0x1018, 1, 0), (0x1018, 1, 11),
                          (0x101c, 1, 11), (0x101c, 1, 12), (0x1020, 1, 20), (0x1020, 1, 21), (0x1028, 1, 21),
                          (0x1028, 1, 22), (0x1028, 1, 21)),
                 functions=[main, other])
    bench = Bench(gsym, "two rows")
    expected = {0x1000: ("a.c:5", "a.c:4"), 0x1007: ("a.c:5", "a.c:4"), 0x1008: ("b.h:8", "a.c:6"), 0x1010: ("a.c:9", "a.c:9"),
                0x1014: ("a.c:0", "a.c:10"), 0x1018: ("a.c:11", "a.c:11"), 0x101c: ("a.c:12", "a.c:11"),
                0x1020: ("a.c:21", "a.c:20"), 0x1028: ("a.c:21", "a.c:21")}
    name = {a: "main" if a < 0x1020 else "other" for a in expected}
    last = {a: f"{name[a]} at /src/{both[0]}" for a, both in expected.items()}
    first = {a: f"{name[a]} (in out.gsym) ({both[1]})" for a, both in expected.items()}
    bench.expect(data, last, "--verify")
    bench.same("rows", re.search(r"line rows\s+(\d+)", bench.run("statistics", "out.gsym").stdout)[1], "13")
    tsv(bench, {a: (name[a], both[0].split(":")[0], int(both[0].split(":")[1]), "-") for a, both in expected.items()})
    bench.lookup("out.gsym", first, "--format=atos")
    bench.lookup("out.gsym", first, "--format=atos", "--merged-functions")
    bench.lookup("out.gsym", first | {0x1014: "main (in out.gsym) (a.c:10)"}, "--format=atos", "--approximate")
    done = bench.run("lookup", "--format=atos", "out.gsym", *map(hex, first))
    bench.same("arguments", done.stdout.splitlines(), list(first.values()))
    bench.run("transcode", "out.gsym", "-o", "copy.gsym")
    bench.lookup("copy.gsym", {a: text.replace("out", "copy") for a, text in first.items()}, "--format=atos")
    bench.run("convert", "--quiet", "--match-llvm", "file", "-o", "out.gsym")
    bench.lookup("out.gsym", last)


@case
def behind_the_rows(gsym):
    """Functions behind the last row, without a declaration: the line that the sequence ends with."""
    main = Die("subprogram", name="main", low_pc=0x1000, high_pc=0x20)
    outlined = [Die("subprogram", name=f"OUTLINED_FUNCTION_{i}", low_pc=0x1020 + 16 * i, high_pc=16) for i in range(2)]
    other = Die("subprogram", name="declared", low_pc=0x1040, high_pc=16, decl_file=1, decl_line=77)
    data = lines(Sequence(0x1020, (0x1000, 1, 4), (0x1010, 2, 9)), functions=[main, *outlined, other])
    bench = Bench(gsym, "behind the rows")
    bench.expect(data, {0x1010: "main at /src/b.h:9", 0x1020: "OUTLINED_FUNCTION_0 at /src/b.h:9",
                        0x103f: "OUTLINED_FUNCTION_1 at /src/b.h:9", 0x1040: "declared at /src/a.c:77"})
    tsv(bench, {0x1010: ("main", "b.h", 9, "-"), 0x1020: ("OUTLINED_FUNCTION_0", "b.h", 9, "~"),
                0x1040: ("declared", "a.c", 77, "-")})
    bench.expect(data, {0x1020: "OUTLINED_FUNCTION_0"}, "--match-llvm")


@case
def no_line_of_its_own(gsym):
    """Line 0 stays in the file; --approximate gives the nearest line before it in the same function, inlined or not."""
    tiny = Die("subprogram", name="tiny", inline=1)
    call = Die("inlined_subroutine", abstract_origin=tiny, low_pc=0x1008, high_pc=0x10, call_file=1, call_line=5)
    main = Die("subprogram", call, name="main", low_pc=0x1000, high_pc=0x28)
    data = lines(Sequence(0x1028, (0x1000, 1, 4), (0x1008, 2, 9), (0x100c, 2, 0), (0x1018, 1, 0), (0x1020, 1, 7), (0x1020, 1, 0)),
                 functions=[tiny, main])
    bench = Bench(gsym, "line 0")
    bench.expect(data, {0x1008: "tiny at /src/b.h:9\n (inlined by) main at /src/a.c:5", 0x1018: "main at /src/a.c:0"})
    tsv(bench, {0x1000: ("main", "a.c", 4, "-"), 0x100c: ("tiny", "b.h", 0, "i"), 0x1018: ("main", "a.c", 0, "-")})
    tsv(bench, {0x1000: ("main", "a.c", 4, "-"), 0x1008: ("tiny", "b.h", 9, "i"), 0x100c: ("tiny", "b.h", 9, "i~"),
                0x1018: ("main", "a.c", 4, "~"), 0x1020: ("main", "a.c", 4, "~")}, "--approximate")
    done = bench.run("lookup", "--approximate", "--format=json", "out.gsym", "100c")
    bench.same("json", done.stdout.count('"Approximate":true'), 1)
    bench.same("merged", bench.run("lookup", "--approximate", "--merged-functions", "out.gsym").returncode, 2)
    # Only so many rows are looked at: 50 of the inlined function are passed over, 100 are not.
    for count, line, flags in ((50, 4, "~"), (100, 0, "-")):
        call = Die("inlined_subroutine", abstract_origin=tiny, low_pc=0x1008, high_pc=4 * count, call_file=1, call_line=5)
        main = Die("subprogram", call, name="main", low_pc=0x1000, high_pc=0x300)
        inner = [(0x1008 + 4 * i, 2, 10 + i) for i in range(count)]
        end = 0x1008 + 4 * count
        bench = Bench(gsym, f"{count} rows")
        bench.expect(lines(Sequence(0x1300, (0x1000, 1, 4), *inner, (end, 1, 0)), functions=[tiny, main]),
                     {end: "main at /src/a.c:0"})
        tsv(bench, {end: ("main", "a.c", line, flags)}, "--approximate")
        tsv(bench, {end - 4: ("tiny", "b.h", 9 + count, "i")}, "--approximate")


@case
def thumb(gsym):
    """Bit 0 tells Thumb code in lists of starts; symbols have it in their description."""
    made = m.Maker(m.ARMV7)
    made.section("__TEXT", "__text", 0x1000, bytes(0x40), m.CODE)
    made.symbols = [m.Symbol("_one", 0x1000, desc=m.N_THUMB), m.Symbol("_two", 0x1020)]
    made.starts = m.function_starts(0, [0x1001, 0x1011, 0x1020])
    Bench(gsym, "thumb").expect(made.file(), {0x1000: "one", 0x100f: "one+0xf", 0x1010: "??", 0x1020: "two"})


def last_segment(data):
    """Where the last LC_SEGMENT_64 begins."""
    at, found = 32, None
    for _ in range(int.from_bytes(data[16:20], "little")):
        found = at if data[at] == 0x19 else found
        at += int.from_bytes(data[at + 4:at + 8], "little")
    return found


@case
def damaged(gsym):
    """One thing wrong in each, and the words for it."""
    good = program().file()
    short = good[:16] + (9999999).to_bytes(4, "little") + good[20:]
    lines = {0x1000: "main at /src/a.c:4"}
    cut = "load command ignored or cut short: damaged: 1"
    told = Bench(gsym, "more commands than bytes").expect(short, lines)
    if cut not in told:
        failures.append(f"more commands than bytes: {told}")
    long = good[:20] + (9999999).to_bytes(4, "little") + good[24:]
    Bench(gsym, "longer than the file").refuse(long, "bytes extend past the end of the file")
    zero = good[:36] + bytes(4) + good[40:]
    Bench(gsym, "a command without size").refuse(zero, "no function found")
    # A command is the last if it does not end, and of its sections those are there that do.
    made = program()
    made.extra = [(0x1b, bytes(16))]
    made.uuid = b""
    whole = made.file()
    size = int.from_bytes(whole[20:24], "little")
    at = 32 + size - 24
    for length in 0, 7, 25, 0xffffffff:
        damaged = whole[:at + 4] + length.to_bytes(4, "little") + whole[at + 8:]
        told = Bench(gsym, f"last command of {length}").expect(damaged, lines)
        if cut not in told:
            failures.append(f"last command of {length}: {told}")
    at = last_segment(good)
    for sections in 0xffffffff, int.from_bytes(good[at + 64:at + 68], "little") + 1:
        told = Bench(gsym, f"{sections} sections").expect(good[:at + 64] + sections.to_bytes(4, "little") + good[at + 68:], lines)
        if cut not in told:
            failures.append(f"{sections} sections: {told}")
    at = good.index(b"__debug_line\0")
    told = Bench(gsym, "lines outside").expect(good[:at + 48] + (0x7fffffff).to_bytes(4, "little") + good[at + 52:], {0x1000: "main"})
    if "section ignored: outside the file: 1, first: .debug_line" not in told:
        failures.append(f"lines outside: {told}")
    none = struct.pack(">7I", 0xcafebabe, 1, 0x01000007, 3, 9999999, 0, 12) + bytes(5000)
    Bench(gsym, "a slice of no bytes beyond the file").refuse(none, "a universal file without an image")
    made = program()
    made.extra = [(0x1b, b"short")]
    made.uuid = b""
    told = Bench(gsym, "a short UUID").expect(made.file(), {0x1000: "main at /src/a.c:4"})
    if cut not in told:
        failures.append(f"a short UUID: {told}")
    at = good.index(bytes([0x19, 0, 0, 0]), 32)  # LC_SEGMENT_64
    Bench(gsym, "a short segment").refuse(good[:at + 4] + bytes([16, 0, 0, 0]) + good[at + 8:], "no function found")
    made = program(dwarf=False)
    made.sections[0].size = 1 << 40  # the code is not there, but symbols are
    Bench(gsym, "a section beyond the file").expect(made.file(), {0x1000: "main", 0x1020: "helper"})
    made = program(dwarf=False)
    made.symbols = []
    Bench(gsym, "nothing").refuse(made.file(), "no function found")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], CASES))
