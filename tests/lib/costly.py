"""Small ELF files that ask for much work: many entries share one long list, table or string.

Each function takes the size @n and gives the file. What n entries share grows with n, too, so that a reader which
follows each of them takes n * n steps. All but shared_names() hold a second, harmless part: the function "honest" at
HONEST, with a row and a symbol.
"""
import struct

from lib import codeview, make_pdb, pclntab
from lib.craft import C_PLUS_PLUS, C99, Die, Dwarf, Section, Sequence, Symbol, Unit, cstring, layout, symbol_section, uleb

TEXT = 0x100000
HONEST = 0x80000
TEXT_SIZE = 0x1000


def honest():
    return Unit(Die("subprogram", name="honest", low_pc=HONEST, high_pc=0x10), name="honest.c", files=("honest.c",),
                language=C99, lines=[Sequence(HONEST + 0x10, (HONEST, 1, 7))])


def elf(dwarf, symbols=(), **more):
    """@dwarf: names of sections without ".debug_", and their bytes."""
    sections = [Section(".text", b"", 8, 6, 0)]
    sections += [Section(f".debug_{name}", bytes(data)) for name, data in {**dwarf, **more}.items() if data]
    table, names = symbol_section([Symbol("honest", HONEST, 0x10), *symbols])
    sections.append(Section(".symtab", table, 2, 0, 0, len(sections) + 2, 1, 24))
    sections.append(Section(".strtab", names, 3))
    return code(layout(sections, 62))


def code(image):
    """Gives the first section, .text, its size: its bytes are not in the file."""
    image = bytearray(image)
    headers = struct.unpack_from("<Q", image, 40)[0]
    struct.pack_into("<Q", image, headers + 64 + 32, 2 * TEXT)
    return bytes(image)


def parts(units):
    d = Dwarf(units)
    return {name: getattr(d, name) for name in ("info", "abbrev", "line", "ranges")}


def shared_functions(n):
    """n functions that share a list of n ranges."""
    ranges = [(TEXT + 4 * i, TEXT + 4 * i + 2) for i in range(n)]
    return elf(parts([honest(), Unit(*(Die("subprogram", name=f"f{i}", ranges=ranges) for i in range(n)), language=C99)]))


def shared_ranges(n):
    """A function of n ranges into which n calls are inlined, all with the function's own list."""
    ranges = [(TEXT + 4 * i, TEXT + 4 * i + 2) for i in range(n)]
    abstract = Die("subprogram", name="callee", inline=1)
    calls = [Die("inlined_subroutine", abstract_origin=abstract, ranges=ranges, call_file=1, call_line=1)
             for _ in range(n)]
    return elf(parts([honest(), Unit(abstract, Die("subprogram", *calls, name="caller", ranges=ranges), language=C99)]))


def nested_ranges(n):
    """The same, each call in the one before, as deep as entries may nest."""
    ranges = [(TEXT + 4 * i, TEXT + 4 * i + 2) for i in range(n)]
    abstract = Die("subprogram", name="callee", inline=1)
    calls = []
    for _ in range(n // 250 + 1):
        inner = []
        for _ in range(250):
            inner = [Die("inlined_subroutine", *inner, abstract_origin=abstract, ranges=ranges, call_file=1, call_line=1)]
        calls += inner
    function = Die("subprogram", *calls, name="caller", low_pc=TEXT, high_pc=4 * n)
    return elf(parts([honest(), Unit(abstract, function, language=C99)]))


def overlapping_ranges(n):
    """A function of n ranges that overlap, with n calls that share a list of n ranges in all of them."""
    ranges = [(TEXT + 4 * i, TEXT + 4 * i + 2) for i in range(n)]
    abstract = Die("subprogram", name="callee", inline=1)
    calls = [Die("inlined_subroutine", abstract_origin=abstract, ranges=ranges, call_file=1, call_line=1)
             for _ in range(n)]
    wholes = [(TEXT, TEXT + 8 * n - i) for i in range(n)]
    return elf(parts([honest(), Unit(abstract, Die("subprogram", *calls, name="caller", ranges=wholes), language=C99)]))


def overlapping_functions(n):
    """n functions that all end at one address, each with a part of the n rows there and of the n inlined calls."""
    abstract = Die("subprogram", name="callee", inline=1)
    functions = [Die("subprogram", Die("inlined_subroutine", abstract_origin=abstract, low_pc=TEXT + n, high_pc=1,
                                       call_file=1, call_line=1),
                     name=f"f{i}", low_pc=TEXT + i, high_pc=2 * n - i) for i in range(n)]
    rows = [(TEXT + 2 * i, 1, i % 50 + 1) for i in range(n)]
    return elf(parts([honest(), Unit(abstract, *functions, language=C99, lines=[Sequence(TEXT + 2 * n, *rows)])]))


def shared_abbreviations(n):
    """n units whose abbreviations begin one entry apart in one long table."""
    d = parts([honest()])
    start = len(d["abbrev"])
    for i in range(n):
        d["info"] += struct.pack("<IHIB", 7 + len(uleb(i + 1)) + 1, 4, len(d["abbrev"]), 8) + uleb(i + 1) + b"\x0c"
        d["abbrev"] += uleb(i + 1) + bytes([0x11, 0, 0x13, 0x0b, 0, 0])
    d["abbrev"] += b"\0"
    assert start
    return elf(d)


def shared_lines(n, tables=2):
    """n units with a function each, which name @tables line tables of n rows in turn."""
    offsets = []
    d = parts([honest()])
    for i in range(tables):
        program = b"\0\x09\2" + struct.pack("<Q", TEXT) + b"".join(b"\2\1\3" + bytes([1 + k % 2 * 0x7e]) + b"\1" for k in range(n))
        program += b"\2\1\0\1\1"
        prologue = struct.pack("BBBbBB", 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
        prologue += b"\0" + cstring(f"{i}.c") + b"\0\0\0\0"
        offsets.append(len(d["line"]))
        d["line"] += struct.pack("<IHI", 6 + len(prologue) + len(program), 4, len(prologue)) + prologue + program
    start = len(d["abbrev"])
    d["abbrev"] += bytes([1, 0x11, 1, 0x10, 0x17, 0, 0, 2, 0x2e, 0, 3, 8, 0x11, 1, 0x12, 6, 0, 0, 0])
    for i in range(n):
        body = b"\1" + struct.pack("<I", offsets[i % tables]) + b"\2" + cstring(f"f{i}") + struct.pack("<QI", TEXT + i % 7, n)
        body = struct.pack("<HIB", 4, start, 8) + body + b"\0"
        d["info"] += struct.pack("<I", len(body)) + body
    return elf(d)


def strings(d, n, attributes, body, count=None):
    """Units with n functions whose names begin at each byte of one long string of .debug_str."""
    start = len(d["abbrev"])
    d["abbrev"] += bytes([1, 0x11, 1, 0x13, 0x0b, 0, 0]) + attributes + b"\0"
    body = struct.pack("<HIB", 4, start, 8) + b"\1" + bytes([C_PLUS_PLUS]) + body + b"\0"
    d["info"] += struct.pack("<I", len(body)) + body
    return elf(d, str=b"s" * (4 * n if count is None else count) + b"\0")


def shared_strings(n):
    """n functions, named from each byte of one long string on."""
    functions = b"".join(b"\2" + struct.pack("<IQI", i, TEXT + 4 * i, 4) for i in range(n))
    return strings(parts([honest()]), n, bytes([2, 0x2e, 0, 3, 0x0e, 0x11, 1, 0x12, 6, 0, 0]), functions)


def shared_scope(n):
    """n functions in a namespace with a long name."""
    functions = b"".join(b"\3" + cstring(f"f{i}") + struct.pack("<QI", TEXT + 4 * i, 4) for i in range(n))
    return strings(parts([honest()]), n, bytes([2, 0x39, 1, 3, 0x0e, 0, 0, 3, 0x2e, 0, 3, 8, 0x11, 1, 0x12, 6, 0, 0]),
                   b"\2" + struct.pack("<I", 0) + functions + b"\0", count=min(8 * n, 32000))


def shared_arguments(n):
    """n functions of a template; its argument has the same argument twice, which has another twice, and so on."""
    types = [Die("class_type", name="t")]
    while len(types) < 200:
        types.append(Die("class_type", *(Die("template_type_parameter", type=types[-1]) for _ in range(2)), name="t"))
    functions = [Die("subprogram", Die("template_type_parameter", type=types[-1]), name=f"f{i}", low_pc=TEXT + 4 * i, high_pc=4)
                 for i in range(n)]
    return elf(parts([honest(), Unit(*types, *functions, language=C_PLUS_PLUS)]))


def shared_template(n):
    """n functions in a class with n template arguments."""
    types = [Die("class_type", name=f"argument{i}") for i in range(n)]
    functions = [Die("subprogram", name=f"f{i}", low_pc=TEXT + 4 * i, high_pc=4) for i in range(n)]
    template = Die("class_type", *(Die("template_type_parameter", type=t) for t in types), *functions, name="t")
    return elf(parts([honest(), Unit(*types, template, language=C_PLUS_PLUS)]))


def shared_directory(n):
    """A row in each of n files, all below one compilation directory with a long name."""
    unit = Unit(Die("subprogram", name="f", low_pc=TEXT, high_pc=n), language=C99, comp_dir="/" + "d" * min(8 * n, 15000),
                files=[f"{i}/a.c" for i in range(n)], lines=[Sequence(TEXT + n, *((TEXT + i, i + 1, 1) for i in range(n)))])
    return elf(parts([honest(), unit]))


def refused_paths(n):
    """n functions with the same 50 n rows, in turn in 3,000 files below one directory of 15 KB: most paths are more than the unit can pay for."""
    files, rows = 3000, 50 * n
    tables = b"/" + b"d" * 15000 + b"\0\0" + b"".join(b"f%d\0\1\0\0" % i for i in range(files)) + b"\0"
    head = bytes([1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + tables
    program = b"\0\x09\2" + struct.pack("<Q", TEXT) + b"".join(b"\4" + uleb(1 + i % files) + b"\x20" for i in range(rows)) + b"\0\1\1"
    body = struct.pack("<HI", 4, len(head)) + head + program
    functions = [Die("subprogram", name=f"f{i}", low_pc=TEXT + i, high_pc=rows - n) for i in range(n)]
    return elf(parts([Unit(*functions, language=C99, table=struct.pack("<I", len(body)) + body)]))


def shared_names(n):
    """n symbols, named from each byte of one long string on."""
    names = b"\0" + b"n" * (6 * n) + b"\0"
    table = bytearray(24)
    for i in range(n):
        table += struct.pack("<IBBHQQ", 1 + i, 0x12, 0, 1, TEXT + 4 * i, 4)
    sections = [Section(".text", b"", 8, 6, 0), Section(".symtab", bytes(table), 2, 0, 0, 3, 1, 24), Section(".strtab", names, 3)]
    return code(layout(sections, 62))


def go_program(names, values, entries, end, trees=b"\0", more=(), files=(0,), paths=b"/a/b.go\0"):
    """
    A program with Go's function table whose functions share one entry, which follows their table, or use one of @more after it:
    the offsets of name, files, lines and calls. @files: the offsets of paths.
    """
    t = pclntab.Table(pclntab.GO120, [], [], pclntab.TEXT + end)
    index = t.u32(*entries)
    for name, *places, calls in ((1, 1, *values[1:]), *more):
        index += t.u32(0, name, 0, 0, 0, *places, 3, 0, 1) + bytes(3) + b"\4" + t.u32(0, 0, calls) + t.u32(-1, -1, -1, 0)
    parts, places = b"", []
    for part in (names, t.u32(*files), paths, values[0], index):
        parts += bytes(-len(parts) % 8)
        places.append(72 + len(parts))
        parts += part
    t.names_off, t.trees = places[0], trees
    t.bytes = t.u32(pclntab.MAGIC[t.version]) + bytes([0, 0, 1, 8]) + t.words(len(entries) // 2, len(files), pclntab.TEXT, *places) + parts
    return pclntab.program(t)


def shared_entry(n):
    return [word for i in range(n) for word in (16 * i, 8 * n + 4)] + [16 * n]


def go_shared_values(n):
    """n functions of Go with the same n lines."""
    return go_program(b"\0main.a\0", (b"\0" + b"\2\1\1\1" * n + b"\0", 1, 0), shared_entry(n), 16 * n)


def go_nested_calls(n):
    """Code that enters and leaves 200 inlined calls in each other, n times."""
    calls = pclntab.values([(i + 1, i - 1) for i in range(200)])[:-1]
    calls += (uleb(397) + b"\1" + uleb(398) + b"\1") * n + b"\0"
    tree = b"".join(struct.pack("<IIII", 0, 1, i, 1) for i in range(200))
    return go_program(b"\0main.a\0", (b"\0\2\4\0" + calls, 1, 4), [0, 12, 200 + 2 * n], 200 + 2 * n, tree)


def pdb(items, c13=b"", ids=b"", modules=1, size=0x10000, **more):
    """A PDB file of modules with the same symbols and lines."""
    strings, _ = codeview.names("/src/a.c")
    module = make_pdb.Module("a.obj", codeview.symbols(*items), c13=c13 + codeview.checksums(1))
    return make_pdb.Pdb(named={"/names": strings}, ids=ids, modules=[module] * modules,
                        **{"sections": [(".text", 0x1000, size, make_pdb.CODE)], **more}).file()


def pdb_shared_lines(n):
    """n functions at one place, which has n lines."""
    lines = codeview.lines(0, n, (0, [(i, i + 1) for i in range(n)]))
    return pdb([codeview.procedure(f"f{i}", 0, n) for i in range(n)], lines)


def pdb_shared_contributions(n):
    """n functions with the last byte of n contributions to a section."""
    lines = b"".join(codeview.lines(i, n - i, (0, [(0, i + 1)])) for i in range(n))
    return pdb([codeview.procedure(f"f{i}", n - 1, 1) for i in range(n)], lines)


def pdb_item():
    return codeview.table(codeview.function("callee"))


def pdb_nested_calls(n):
    """A function of n parts that are 200 inlined calls deep."""
    outer = b"\3\1\4" + codeview.number(2 * n)
    calls = b"".join(codeview.site(codeview.FIRST_TYPE, b"\3" + codeview.number(2 * i + 1) + b"\4\1" + b"\3\1\4\1" * 999)
                     for i in range(0, n, 1000))
    for _ in range(199):
        calls = codeview.site(codeview.FIRST_TYPE, outer, calls)
    return pdb([codeview.procedure("f", 0, 2 * n + 2, calls)], ids=pdb_item())


def pdb_overlapping_calls(n):
    """n inlined calls side by side, each of which has all of a function with n lines."""
    lines = codeview.lines(0, 2 * n, (0, [(2 * i, i + 1) for i in range(n)]))
    whole = codeview.site(codeview.FIRST_TYPE, b"\3\0\4" + codeview.number(2 * n))
    return pdb([codeview.procedure("f", 0, 2 * n, *[whole] * n)], lines, pdb_item())


def pdb_shared_scope(n):
    """n functions in a scope whose name has n bytes."""
    items = [codeview.string("s" * n)] + [codeview.function(f"f{i}", codeview.FIRST_TYPE) for i in range(n)]
    calls = [codeview.site(codeview.FIRST_TYPE + 1 + i, b"\3\1\4\1") for i in range(n)]
    return pdb([codeview.procedure("f", 0, 4, *calls)], ids=codeview.table(*items))


def pdb_shared_stream(n):
    """n modules that claim one stream of n functions."""
    return pdb([codeview.procedure(f"f{i}", 16 * i, 16) for i in range(n)], modules=n, size=16 * n)


def pdb_scattered_functions(n):
    """n functions of code that was moved in n pieces."""
    omap = [(0x1000 + 16 * i, 0x100000 + 32 * (i * 7 % n)) for i in range(n)]
    return pdb([codeview.procedure(f"f{i}", 0, 16 * n) for i in range(n)], omap=omap, original=[(".text", 0x1000, 16 * n, make_pdb.CODE)],
               sections=[(".text", 0x100000, 32 * n, make_pdb.CODE)])


ALL = [shared_functions, shared_ranges, nested_ranges, overlapping_ranges, overlapping_functions, shared_abbreviations, shared_lines, shared_strings,
       shared_scope, shared_arguments, shared_template, shared_directory, shared_names]
