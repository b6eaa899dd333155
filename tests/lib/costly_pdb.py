"""Small PDB files that ask for much work: many functions, calls or modules share one long list or name.

Each function takes the size @n and gives the file. All hold the function "honest" in a section of its own.
"""
from lib import craft_pdb as m

HONEST = 0x40000000
TEXT_SIZE = 0x20000000


def pdb(symbols, parts=(), ids=(), types=(), names=None, more=(), **members):
    honest = m.Module("honest.obj", [m.proc("honest", 0, 0x10, section=2)], contribution=(2, 0, 0x10))
    costly = m.Module("costly.obj", symbols, list(parts), contribution=(1, 0, TEXT_SIZE))
    members.setdefault("sections", [m.Section(".text", 0x1000, TEXT_SIZE), m.Section(".more", HONEST, 0x1000)])
    return m.Pdb([honest, costly, *more], names or m.Names(), list(types), list(ids), msf={"page": 0x1000}, **members).file()


def files():
    names = m.Names()
    table, (a, b) = m.files(names, "/src/a.cc", "/src/b.h")
    return names, table, a, b


def rows(n):
    return [(4 * i, i % 1000 + 1) for i in range(n)]


def shared_lines(n):
    """n functions that overlap one another in code with n rows."""
    names, table, a, _ = files()
    return pdb([m.proc(f"f{i}", i, 4 * n - i) for i in range(n)], [table, m.lines(0, 4 * n, (a, rows(n)))], names=names)


def same_code(n):
    """n functions with the same code of n rows, as identical code that was folded."""
    names, table, a, _ = files()
    return pdb([m.proc(f"f{i}", 0, 4 * n) for i in range(n)], [table, m.lines(0, 4 * n, (a, rows(n)))], names=names)


def nested_calls(n):
    """Calls in each other, 200 deep, all of which have the whole function, whose n rows change the place that they are called from."""
    names, table, a, b = files()
    notes = [(m.DELTA, 0), (m.LENGTH, 4 * n)]
    item = m.site(0x1000, notes)
    for _ in range(199):
        item = m.site(0x1000, notes, item)
    return pdb([m.proc("f", 0, 4 * n, item)], [table, m.lines(0, 4 * n, (a, rows(n))), m.inlinees((0x1000, b, 5))], [m.func_id("tiny")], names=names)


def annotations(n):
    """n rows of a call, each with a call inside of it of which each row has another place."""
    names, table, a, b = files()
    notes = [(m.BOTH, 2, i % 2 * 2 - 1) for i in range(n)] + [(m.LENGTH, 2)]
    item = m.site(0x1000, notes)
    for _ in range(7):
        item = m.site(0x1000, notes, item)
    return pdb([m.proc("f", 0, 2 * n + 8, item)], [table, m.lines(0, 2 * n + 8, (a, rows(n // 2))), m.inlinees((0x1000, b, 500))],
               [m.func_id("tiny")], names=names)


def siblings(n):
    """n calls beside one another which all have the same code."""
    names, table, a, b = files()
    return pdb([m.proc("f", 0, 4 * n, *[m.site(0x1000, [(m.DELTA, 0), (m.LENGTH, 4 * n)]) for _ in range(n)])],
               [table, m.lines(0, 4 * n, (a, rows(n))), m.inlinees((0x1000, b, 5))], [m.func_id("tiny")], names=names)


def separate_calls(n):
    """n functions that share the code of n rows, with a call of n rows' code in each."""
    names, table, a, b = files()
    return pdb([m.proc(f"f{i}", i, 4 * n, m.site(0x1000, [(m.DELTA, 0), (m.LENGTH, 4 * n)])) for i in range(n)],
               [table, m.lines(0, 4 * n, (a, rows(n))), m.inlinees((0x1000, b, 5))], [m.func_id("tiny")], names=names)


def shared_stream(n):
    """n modules with one stream of n functions."""
    names, table, a, _ = files()
    count = min(n, 0xfff0)
    data = m.Module("shared.obj", [m.proc(f"f{i}", 16 * i, 16) for i in range(n)], [table, m.lines(0, 16 * n, (a, rows(n)))],
                    contribution=(1, 0, 16 * n))
    stream = 5 + 4 + 1   # after the fixed ones, names, headers, publics and that of honest
    _, own, parts = data.bytes()
    more = [m.Module(f"m{i}", [], stream=stream + 1, symbol_bytes=own, c13_bytes=parts, contribution=(1, 16 * i, 16)) for i in range(count)]
    return pdb([m.proc("g", TEXT_SIZE - 16, 16)], names=names, more=[data, *more])


def shared_class(n):
    """n inlined functions of one class with a long name."""
    names, table, a, b = files()
    sites = [m.site(0x1000 + i, [(m.DELTA, 4 * i), (m.LENGTH, 4)]) for i in range(n)]
    return pdb([m.proc("f", 0, 4 * n, *sites)], [table, m.inlinees(*((0x1000 + i, b, 5) for i in range(n)))],
               [m.mfunc_id(f"g{i}", 0x1000) for i in range(n)], [m.structure("c" * min(8 * n, 60000))], names)


def shared_scope(n):
    """n inlined functions of one namespace with a long name."""
    names, table, a, b = files()
    sites = [m.site(0x1001 + i, [(m.DELTA, 4 * i), (m.LENGTH, 4)]) for i in range(n)]
    return pdb([m.proc("f", 0, 4 * n, *sites)], [table, m.inlinees(*((0x1001 + i, b, 5) for i in range(n)))],
               [m.string_id("s" * min(8 * n, 60000)), *(m.func_id(f"g{i}", 0x1000) for i in range(n))], (), names)


def shared_file_names(n):
    """n files, named from each byte of one long string on."""
    names = m.Names()
    start = names.add("/" + "n" * 8 * n)
    entries = b"".join(m.files(start + i, "", checksum=b"")[0][1] for i in range(n))
    lines = m.lines(0, 4 * n, *((8 * i, [(4 * i, i + 1)]) for i in range(n)))
    return pdb([m.proc("f", 0, 4 * n)], [(m.CHECKSUMS, entries), lines], names=names)


def scattered(n):
    """n functions, each of all the code, which OMAP scatters into n pieces."""
    pairs = [(0x1000 + 16 * i, 0x1000 + 16 * (i * 7919 % n)) for i in range(n)]
    names, table, a, _ = files()
    text = m.Section(".text", 0x1000, TEXT_SIZE)
    sections = [text, m.Section(".more", HONEST, 0x1000)]
    return pdb([m.proc(f"f{i}", i, 16 * n - i) for i in range(n)], [table, m.lines(0, 16 * n, (a, rows(n)))], names=names,
               original=sections, omap_from=[*pairs, (HONEST, HONEST)], omap_to=[*sorted((b, a) for a, b in pairs), (HONEST, HONEST)])


def imported_ids(n):
    """n modules that have their ids from one another, in a circle."""
    names = m.Names()
    ids = [0x80000000 | i for i in range(64)]
    more = [m.Module(f"m{i}.obj", [m.proc(f"f{i}", 64 * i, 64, *[m.site(0x80000000 | k, [(m.DELTA, k), (m.LENGTH, 1)]) for k in range(8)])],
                     [m.imports(names, (f"m{(i + 1) % n}.obj", ids)), m.exports(*((k, k) for k in ids))], contribution=(1, 64 * i, 64))
            for i in range(n)]
    return pdb([m.proc("g", TEXT_SIZE - 16, 16)], names=names, more=more)


def many_blocks(n):
    """n contributions that all begin at the first byte, each one byte longer."""
    names, table, a, b = files()
    return pdb([m.proc("f", 0, n)], [table, *(m.lines(0, i + 1, ((a, b)[i % 2], [(0, i + 1)])) for i in range(n))], names=names)


def publics(n):
    """n publics at one address."""
    return pdb([m.proc("f", 0, 16)], publics=[(f"p{i}", 0x100) for i in range(n)])


def trampolines(n):
    """n jumps of the linker at one address, each named by what begins there: another of them."""
    return pdb([m.trampoline(0x10, 5, 0x10)] * n)


ALL = {shared_lines: 1000, same_code: 1000, nested_calls: 1000, annotations: 2000, siblings: 1500, separate_calls: 2000, shared_stream: 1000,
       shared_class: 2000, shared_scope: 2000, shared_file_names: 2000, scattered: 1000, imported_ids: 250, many_blocks: 2000, publics: 4000,
       trampolines: 8000}
