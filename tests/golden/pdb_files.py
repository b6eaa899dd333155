#!/usr/bin/env python3
"""PDB files written by hand: publics, moved code, blocks in any order, PE files that they belong to, refused and damaged ones.

    pdb_files.py GSYM
"""
import itertools
import pathlib
import struct
import subprocess
import sys
import tempfile
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import format_test, make_pdb as m, make_pe  # noqa: E402
from lib.format_test import failures, run  # noqa: E402

PUBLICS = [("start", 1, 0), ("?f@@YAXXZ", 1, 0x20), ("label", 1, 0x30, 0), ("data", 2, 0, 0), ("beyond", 1, 0x90), ("nowhere", 7, 0)]
NAMES = {0xfff: [], 0x1000: ["start"], 0x101f: ["start"], 0x1020: ["?f@@YAXXZ"], 0x1030: ["label"], 0x107f: ["label"], 0x1080: [],
         0x2000: []}
STORE = f"x.pdb/{m.GUID.hex.upper()}1/x.pdb"


def convert(gsym, path, *options):
    return format_test.convert(gsym, path, f"{path}.gsym", *options)


def compare(gsym, what, path, expected, base=0, options=()):
    return format_test.compare(gsym, what, path, expected, base, options, show=format_test.names)


def refuse(gsym, what, path, why, options=()):
    done = convert(gsym, path, *options)
    if done.returncode != 1 or why not in done.stderr:
        failures.append(f"{what}: exit {done.returncode}, without '{why}': {done.stderr}")


class Place(tempfile.TemporaryDirectory):
    def write(self, name, data):
        path = pathlib.Path(self.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


def expect(gsym, what, data, expected):
    with Place() as name:
        path = pathlib.Path(name, "x.pdb")
        path.write_bytes(data)
        compare(gsym, what, path, expected)


def check_containers(gsym):
    """Blocks of any size, in any order; a list of streams that needs several of them."""
    modules = [m.Module(f"module {i}", bytes(4)) for i in range(300)]
    for block, scatter in itertools.product((512, 4096, 32768), (False, True)):
        data = m.Pdb(publics=PUBLICS, modules=modules, block=block, scatter=scatter).file()
        expect(gsym, f"blocks of {block}, scattered {scatter}", data, NAMES)


def check_names(gsym):
    names = {"_cdecl": "cdecl", "_std@8": "std", "@fast@12": "fast", "vector@@16": "vector", "?f@@YAXXZ": "?f@@YAXXZ"}
    publics = [(name, 1, 16 * i) for i, name in enumerate(names)]
    for machine, plain in ((make_pe.I386, names.values()), (make_pe.AMD64, names)):
        expect(gsym, f"names of machine {machine:#x}", m.Pdb(publics=publics, machine=machine).file(),
               {0x1000 + 16 * i: [name] for i, name in enumerate(plain)})


def check_demangled(gsym):
    """Publics as llvm-undname prints them, found by the name alone; as they are stored on request."""
    def lookup(*argv):
        return subprocess.run([gsym, "lookup", *argv], capture_output=True, text=True, timeout=300).stdout.splitlines()

    if "LLVM" not in subprocess.run([gsym, "--version"], capture_output=True, text=True, check=True).stdout:
        print("SKIP: built without LLVM's demangler: Microsoft's names stay mangled")
        return
    with Place() as name:
        path = pathlib.Path(name, "x.pdb")
        path.write_bytes(m.Pdb(publics=[("start", 1, 0), ("?f@ns@@YAHPEBD@Z", 1, 0x20)]).file())
        convert(gsym, path)
        file = f"{path}.gsym"
        for argv, expected in (([file, "0x1020"], "int __cdecl ns::f(char const *) at ??:0"), (["--no-demangle", file, "0x1020"], "?f@ns@@YAHPEBD@Z at ??:0"),
                               ([file, "ns::f"], "int __cdecl ns::f(char const *) at ??:0")):
            if lookup(*argv)[:1] != [expected]:
                failures.append(f"gsym lookup {argv}: {lookup(*argv)}, not {expected}")


def check_moved(gsym):
    """Publics count in sections that were moved: in parts, some of which are gone, and others are beyond what headers say."""
    publics = [("a", 1, 0), ("b", 1, 0x20), ("c", 1, 0x40), ("gone", 1, 0x50), ("far", 1, 0x60)]
    omap = [(0x5000, 0x1040), (0x5020, 0x1000), (0x5030, 0x1060), (0x5050, 0), (0x5060, 0x1070)]
    original = [(".text", 0x5000, 0x80, m.CODE)]
    expected = {0x1000: ["b"], 0x1040: ["a"], 0x105f: ["a"], 0x1060: ["a"], 0x1070: ["far"], 0x1010: ["b"]}
    expect(gsym, "moved", m.Pdb(publics=publics, omap=omap, original=original).file(), expected)
    moved = {0x3000: ["a"], 0x300f: ["a"], 0x3010: [], 0x9000: ["b"], 0x905f: ["b"], 0x9060: [], 0x1000: []}
    omap = [(0x1000, 0x3000), (0x1010, 0x9000), (0x1070, 0x80000000)]
    made = m.Pdb(publics=[("a", 1, 0), ("b", 1, 0x10), ("gone", 1, 0x74)], omap=omap)
    expect(gsym, "headers that were left", made.file(), moved)
    with Place() as name:
        path = pathlib.Path(name, "x.pdb")
        path.write_bytes(m.Pdb(publics=publics, omap=[(0x1010, 0x2000), (0x1000, 0x3000)]).file())
        refuse(gsym, "OMAP out of order", path, "address maps of the PDB are damaged")


def program(**more):
    made = make_pe.program(dwarf=False, symbols=False, **more)
    made.unwind([(0x1000, 0x1010), (0x1020, 0x1028)])
    return made


def check_pairs(gsym):
    """Sizes by the program's unwind data; the file beside it, named, in a directory, in a symbol store."""
    expected = {0x1000: ["start"], 0x100f: ["start"], 0x1010: [], 0x1027: ["?f@@YAXXZ"], 0x1028: [], 0x1030: ["label"]}
    made = program()
    for name, options in (("x.pdb", ()), ("y.pdb", ("--debug-file", "y.pdb")), ("z/x.pdb", ("--debug-dir", "z")),
                          (f"s/{STORE}", ("--debug-dir", "s")), (STORE, ())):
        place = Place()
        with place:
            path = place.write("x.exe", made.file())
            place.write(name, m.Pdb(publics=PUBLICS).file())
            options = [str(pathlib.Path(place.name, o)) if not o.startswith("-") else o for o in options]
            done = compare(gsym, f"a pair, {name}", path, expected, made.base, options)
            if "missing" in done.stderr:
                failures.append(f"a pair, {name}: {done.stderr}")


def check_shown(gsym):
    """The symbolizer prints names of a PDB file with their scopes, as LLVM's does."""
    place = Place()
    with place:
        made = program()
        path = place.write("x.exe", made.file())
        place.write("x.pdb", m.Pdb(publics=[("ns::f<a::b>", 1, 0)]).file())
        tool = pathlib.Path(place.name, "gsym-symbolizer")
        tool.symlink_to(gsym)
        for options in ("-f", "--functions=short"):
            done = subprocess.run([tool, options, "-e", path, hex(made.base + 0x1000)], capture_output=True, text=True)
            if done.stdout.splitlines()[:1] != ["ns::f<a::b>"]:
                failures.append(f"shown with {options}: {done.stdout}{done.stderr}")


def check_hybrids(gsym):
    """Programs with code for two machines name one that can load them, PDB files both."""
    for machine, both in ((make_pe.AMD64, 0xa641), (make_pe.ARM64, 0xa64e)):
        place, made = Place(), make_pe.program(machine, dwarf=False, symbols=False)
        with place:
            path, pdb = place.write("x.exe", made.file()), place.write("y.pdb", m.Pdb(publics=PUBLICS, machine=both).file())
            compare(gsym, f"machine {both:#x}", path, NAMES, made.base, ("--debug-file", pdb))


def check_foreign(gsym):
    """What belongs to another program is not used, and refused where it is named."""
    for what, made, why in (("GUID", m.Pdb(guid=uuid.uuid4(), publics=PUBLICS), "its build id is not that of"),
                            ("age", m.Pdb(age=2, publics=PUBLICS), "its age, 2, is not that which"),
                            ("machine", m.Pdb(machine=make_pe.ARM64, publics=PUBLICS), "its architecture is aarch64")):
        place = Place()
        with place:
            path, pdb = place.write("x.exe", program().file()), place.write("x.pdb", made.file())
            refuse(gsym, f"another {what}, named", path, why, ("--debug-file", pdb))
            if what != "machine":
                refuse(gsym, f"another {what}", path, why if what == "age" else f"its debug file {STORE} was not found")
    place = Place()
    with place:
        path = place.write("x.exe", make_pe.program(dwarf=False).file())
        damaged = m.Pdb(publics=PUBLICS, omap=[(2, 1), (1, 1)], original=[]).file()
        pdb = place.write("x.pdb", damaged)
        done = compare(gsym, "a damaged one beside", path, make_pe.NAMES, make_pe.program().base)
        if "section ignored: damaged: 1, first: PDB" not in done.stderr or STORE not in done.stderr:
            failures.append(f"a damaged one beside: {done.stderr}")
        path = place.write("x.exe", program().file())
        refuse(gsym, "a damaged one beside a stripped program", path, f"the debug file is not used: {pdb}: section headers or address maps of the PDB are damaged")
        refuse(gsym, "a damaged one, named", path, "address maps of the PDB are damaged", ("--debug-file", pdb))


def check_told(gsym):
    """The summary says why a PDB file beside a program with symbols is not used; the first reason counts, and none where another one fits."""
    fast = m.Pdb(features=(m.VC140, m.FASTLINK)).file()
    for what, files, why in (("another age", {"x.pdb": m.Pdb(age=2).file()}, "its age, 2, is not that which"),
                             ("FASTLINK", {"x.pdb": fast}, "x.pdb: a PDB linked with /DEBUG:FASTLINK"),
                             ("both", {"x.pdb": m.Pdb(age=2).file(), STORE: fast}, "its age, 2, is not that which"),
                             ("one that fits", {"x.pdb": fast, STORE: m.Pdb(publics=PUBLICS).file()}, None)):
        # A file and a directory cannot have one name: the store is elsewhere.
        with Place() as name:
            place = pathlib.Path(name)
            path = place / "x.exe"
            path.write_bytes(make_pe.program(dwarf=False).file())
            for to, data in files.items():
                at = place / ("store" if to == STORE else ".") / to
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(data)
            done = compare(gsym, what, path, {0x1000: make_pe.NAMES[0x1000]}, make_pe.program().base, ("--debug-dir", str(place / "store")))
            if why not in done.stderr if why else "missing files" in done.stderr:
                failures.append(f"told of {what}: {done.stderr}")


def check_refused(gsym):
    whole = m.Pdb(publics=PUBLICS).file()
    place = Place()
    with place:
        for why, data in (("/DEBUG:FASTLINK", m.Pdb(features=(m.VC140, m.FASTLINK)).file()),
                          ("a portable PDB", b"BSJB" + bytes(60)), ("(MSFZ)", b"Microsoft MSFZ Container\r\n" + bytes(60)),
                          ("version 2.00", b"Microsoft C/C++ program database 2.00\r\n" + bytes(60)),
                          ("a PDB of version 19970604", m.Pdb(version=19970604).file()),
                          ("a PDB of types alone", m.Pdb(program=False).file()), ("truncated: ", whole[:-1])):
            refuse(gsym, why, place.write("x.pdb", data), why)


def patched(data, off, form, *values):
    data = bytearray(data)
    struct.pack_into(form, data, off, *values)
    return bytes(data)


def check_damaged(gsym):
    """Each ends with an answer or a message, soon."""
    whole = m.Pdb(publics=PUBLICS, block=512, modules=[m.Module("x" * 100, bytes(4))]).file()
    blocks, at = len(whole) // 512, struct.unpack_from("<I", whole, 0x34)[0] * 512
    directory = struct.unpack_from("<I", whole, at)[0] * 512
    info, dbi = (struct.unpack_from("<I", whole, directory + 4 + 4 * 9 + 4 * i)[0] * 512 for i in (0, 1))
    huge = 0xfffffffe
    cases = {f"block size {n:#x}": patched(whole, 0x20, "<I", n) for n in (0, 1, 511, 1536, 0x80000000, huge)}
    cases |= {f"{n:#x} bytes of directory": patched(whole, 0x2c, "<I", n) for n in (0, 3, 8, 100000, huge, 0xffffffff)}
    cases |= {f"list of the directory at {n:#x}": patched(whole, 0x34, "<I", n) for n in (0, blocks - 1, blocks, huge)}
    cases |= {f"directory at {n:#x}": patched(whole, at, "<I", n) for n in (0, at // 512, blocks, huge)}
    cases |= {f"{n:#x} streams": patched(whole, directory, "<I", n) for n in (0, 1, 3, 200, huge, 0xffffffff)}
    cases |= {f"stream {i} of {n:#x} bytes": patched(whole, directory + 4 + 4 * i, "<I", n)
              for i in range(9) for n in (0, 1, 27, 63, 0x8000, huge, 0xffffffff)}
    cases |= {f"all streams at block {n:#x}": patched(whole, directory + 40, "<9I", *[n] * 9) for n in (0, 4, directory // 512, blocks, huge)}
    cases |= {f"{n:#x} at {off} of the PDB stream": patched(whole, info + off, "<I", n)
              for off in range(0, 60, 4) for n in (0, 0x7fffffff, 0xffffffff)}
    cases |= {f"{n:#x} at {off} of the DBI stream": patched(whole, dbi + off, "<I", n)
              for off in range(0, 64 + 172 + 26, 4) for n in (0, 3, 0x7fffffff, 0xffffffff)}
    place = Place()
    with place:
        for what, data in cases.items():
            done = convert(gsym, place.write("x.pdb", data))
            if done.returncode not in (0, 1):
                failures.append(f"{what}: exit {done.returncode}: {done.stderr}")


def check_repeated(gsym):
    """A list of publics that names one of them often costs no more than the names of a file of that size."""
    long = "n" * 60000
    made = m.Pdb(publics=[(long, 1, 0), ("b", 1, 8)] + [("c", 1, 16)] * 200000)
    made.publics = [made.publics[0]] * 100000
    made._publics = lambda: (made.stream(struct.pack("<6II", 0, 400000, 0, 0, 0, 0, 2) + bytes(400000)), made.stream(m.public(long, 1, 0)))
    place = Place()
    with place:
        done = convert(gsym, place.write("x.pdb", made.file()))
        if done.returncode or "names ignored" not in done.stderr:
            failures.append(f"one public, many times: exit {done.returncode}: {done.stderr}")


CHECKS = (check_containers, check_names, check_demangled, check_moved, check_pairs, check_shown, check_hybrids, check_foreign, check_told, check_refused, check_damaged,
          check_repeated)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], CHECKS))
