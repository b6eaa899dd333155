#!/usr/bin/env python3
"""GSYM that differs in one thing from the DWARF it is compared with, and all that `gsym verify --against` says of it.

    verify.py GSYM

Each case changes a program, converts the changed one, and compares its GSYM with the program as it was.
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib.craft import C99, C_PLUS_PLUS, Die, Sequence, Symbol, Unit, write  # noqa: E402

PLAIN = {
    "name": "main", "at": 0x1000, "size": 0x40, "calls": [(0x1010, 0x1020)], "call": (1, 5), "callee": "tiny", "leaf": [(0x1014, 0x1018)],
    "leaf_call": (2, 8), "rows": [(0x1000, 1, 4), (0x1010, 2, 9), (0x1018, 2, 10), (0x1020, 1, 6)], "files": ("a.c", "b.h"), "other": "other",
    "other_at": 0x1060, "end": 0x1070, "language": C99, "other_row": [(0x1060, 1, 30)], "parts": [(0x1080, 0x1088), (0x1090, 0x1098)],
    "dropped": [], "symbols": (), "linkage": None, "version": 4, "directory": "/src", "copies": (), "declared": {}}


VERSIONS = (4, 5)  # of DWARF, which list ranges in other ways


def units(changes):
    c = {**PLAIN, **changes}
    leaf, tiny = Die("subprogram", name="leaf", inline=1), Die("subprogram", name=c["callee"], inline=1)
    inner = [Die("inlined_subroutine", abstract_origin=leaf, ranges=c["leaf"], call_file=c["leaf_call"][0],
                 call_line=c["leaf_call"][1])] if c["leaf"] else []
    calls = [Die("inlined_subroutine", *inner, abstract_origin=tiny, ranges=c["calls"], call_file=c["call"][0],
                 call_line=c["call"][1])] if c["calls"] else []
    functions = [Die("subprogram", *calls, name=c["name"], low_pc=c["at"], high_pc=c["size"])]
    if c["other"]:
        functions.append(Die("subprogram", name=c["other"], **({"linkage_name": c["linkage"]} if c["linkage"] else {}),
                             **c["declared"], low_pc=c["other_at"], high_pc=0x10))
    if c["parts"]:
        functions.append(Die("subprogram", name="parts", ranges=c["parts"]))
    functions += [Die("subprogram", name=f"dropped_{low:x}", low_pc=low, high_pc=8) for low in c["dropped"]]
    body = [Die("namespace", *functions, name="ns")] if c["language"] == C_PLUS_PLUS else functions
    lines = [Sequence(c["end"], *c["rows"], *c["other_row"])] if c["rows"] else []
    made = [Unit(leaf, tiny, *body, files=c["files"], language=c["language"], lines=lines, version=c["version"], comp_dir=c["directory"])]
    for name, row in c["copies"]:   # of "other", in units before, or the last one behind
        made.insert(0 if (name, row) != c["copies"][-1] else len(made), Unit(Die("subprogram", name=name, low_pc=c["other_at"], high_pc=0x10), language=c["language"], version=c["version"],
                            lines=[Sequence(c["other_at"] + 0x10, row)]))
    return made


# What differs, the program, what is changed in it, (addresses, functions) that are compared, and what is said of them.
CASES = [
    ("the same", {}, {}, (14, 4), [
        "the same: 14"]),
    ("an inlined range more, where the DWARF has no edge", {}, {"calls": [(0x1010, 0x1020), (0x1028, 0x102c)]}, (17, 4), [
        "the same: 15",
        "DIFFERENT: number of frames: 2",
        "0x1028: DWARF: main /src/a.c:6; GSYM: tiny /src/a.c:6 < main /src/a.c:5"]),
    ("an inlined range that begins earlier", {}, {"calls": [(0x100c, 0x1020)]}, (15, 4), [
        "the same: 14",
        "DIFFERENT: number of frames: 1",
        "0x100c: DWARF: main /src/a.c:4; GSYM: tiny /src/a.c:4 < main /src/a.c:5"]),
    ("an inlined range that ends earlier", {}, {"calls": [(0x1010, 0x101c)]}, (16, 4), [
        "the same: 14",
        "DIFFERENT: number of frames: 2",
        "0x101c: DWARF: tiny /src/b.h:10 < main /src/a.c:5; GSYM: main /src/b.h:10"]),
    ("an inlined range that ends later", {}, {"calls": [(0x1010, 0x1024)]}, (16, 4), [
        "the same: 14",
        "DIFFERENT: number of frames: 2",
        "0x1020: DWARF: main /src/a.c:6; GSYM: tiny /src/a.c:6 < main /src/a.c:5"]),
    ("no inlined call", {}, {"calls": []}, (14, 4), [
        "the same: 9",
        "DIFFERENT: number of frames: 5",
        "0x1010: DWARF: tiny /src/b.h:9 < main /src/a.c:5; GSYM: main /src/b.h:9"]),
    ("no call in the call", {}, {"leaf": []}, (14, 4), [
        "the same: 12",
        "DIFFERENT: number of frames: 2",
        "0x1014: DWARF: leaf /src/b.h:9 < tiny /src/b.h:8 < main /src/a.c:5; GSYM: tiny /src/b.h:9 < main /src/a.c:5"]),
    ("a call in the call that is too long", {}, {"leaf": [(0x1014, 0x101c)]}, (16, 4), [
        "the same: 14",
        "DIFFERENT: number of frames: 2",
        "0x1018: DWARF: tiny /src/b.h:10 < main /src/a.c:5; GSYM: leaf /src/b.h:10 < tiny /src/b.h:8 < main /src/a.c:5"]),
    ("another line of the call", {}, {"call": (1, 7)}, (14, 4), [
        "the same: 9",
        "DIFFERENT: file or line of a call: 5",
        "0x1010: DWARF: tiny /src/b.h:9 < main /src/a.c:5; GSYM: tiny /src/b.h:9 < main /src/a.c:7"]),
    ("another file of the call", {}, {"call": (2, 5)}, (14, 4), [
        "the same: 9",
        "DIFFERENT: file or line of a call: 5",
        "0x1010: DWARF: tiny /src/b.h:9 < main /src/a.c:5; GSYM: tiny /src/b.h:9 < main /src/b.h:5"]),
    ("another line of the inner call", {}, {"leaf_call": (2, 9)}, (14, 4), [
        "the same: 12",
        "DIFFERENT: file or line of a call: 2",
        "0x1014: DWARF: leaf /src/b.h:9 < tiny /src/b.h:8 < main /src/a.c:5; GSYM: leaf /src/b.h:9 < tiny /src/b.h:9 < main /src/a.c:5"]),
    ("another name of the function", {}, {"name": "start"}, (14, 4), [
        "the same: 6",
        "DIFFERENT: name: 8",
        "0x1000: DWARF: main /src/a.c:4; GSYM: start /src/a.c:4"]),
    ("another name of the inlined function", {}, {"callee": "small"}, (14, 4), [
        "the same: 9",
        "DIFFERENT: name: 5",
        "0x1010: DWARF: tiny /src/b.h:9 < main /src/a.c:5; GSYM: small /src/b.h:9 < main /src/a.c:5"]),
    ("another line", {}, {"rows": [(0x1000, 1, 4), (0x1010, 2, 9), (0x1018, 2, 11), (0x1020, 1, 6)]}, (14, 4), [
        "the same: 12",
        "DIFFERENT: file or line: 2",
        "0x1018: DWARF: tiny /src/b.h:10 < main /src/a.c:5; GSYM: tiny /src/b.h:11 < main /src/a.c:5"]),
    ("another file", {}, {"rows": [(0x1000, 2, 4), (0x1010, 2, 9), (0x1018, 2, 10), (0x1020, 1, 6)]}, (14, 4), [
        "the same: 13",
        "DIFFERENT: file or line: 1",
        "0x1000: DWARF: main /src/a.c:4; GSYM: main /src/b.h:4"]),
    ("another path", {}, {"files": ("a.c", "c.h")}, (14, 4), [
        "the same: 9",
        "DIFFERENT: file or line: 5",
        "0x1010: DWARF: tiny /src/b.h:9 < main /src/a.c:5; GSYM: tiny /src/c.h:9 < main /src/a.c:5"]),
    ("a row more, where the DWARF has none", {}, {"rows": [(0x1000, 1, 4), (0x1010, 2, 9), (0x1018, 2, 10), (0x1020, 1, 6), (0x1030, 1, 7)]}, (15, 4), [
        "the same: 13",
        "DIFFERENT: file or line: 2",
        "0x1030: DWARF: main /src/a.c:6; GSYM: main /src/a.c:7"]),
    ("a row fewer", {}, {"rows": [(0x1000, 1, 4), (0x1010, 2, 9), (0x1020, 1, 6)]}, (14, 4), [
        "the same: 12",
        "DIFFERENT: file or line: 2",
        "0x1018: DWARF: tiny /src/b.h:10 < main /src/a.c:5; GSYM: tiny /src/b.h:9 < main /src/a.c:5"]),
    ("a row that is later", {}, {"rows": [(0x1000, 1, 4), (0x1010, 2, 9), (0x1018, 2, 10), (0x1021, 1, 6)]}, (15, 4), [
        "the same: 14",
        "DIFFERENT: file or line: 1",
        "0x1020: DWARF: main /src/a.c:6; GSYM: main /src/b.h:10"]),
    ("no lines in GSYM", {}, {"rows": []}, (14, 4), [
        "the same: 4",
        "DIFFERENT: file or line: 5",
        "0x1010: DWARF: tiny /src/b.h:9 < main /src/a.c:5; GSYM: tiny :0 < main /src/a.c:5",
        "DIFFERENT: GSYM has no line: 5",
        "0x1000: DWARF: main /src/a.c:4; GSYM: main :0",
        "0x1060: DWARF: other /src/a.c:30; GSYM: other :0"]),
    ("no lines in the DWARF", {"rows": []}, {"rows": [(0x1000, 1, 4), (0x1010, 2, 9), (0x1018, 2, 10), (0x1020, 1, 6)]}, (14, 4), [
        "the same: 4",
        "DIFFERENT: file or line: 5",
        "0x1010: DWARF: tiny ??:0 < main /src/a.c:5; GSYM: tiny /src/b.h:9 < main /src/a.c:5",
        "DIFFERENT: GSYM has a line the DWARF has not: 5",
        "0x1000: DWARF: main ??:0; GSYM: main /src/a.c:4",
        "0x1060: DWARF: other ??:0; GSYM: other /src/a.c:30"]),
    ("no lines in either", {"rows": []}, {}, (14, 4), [
        "the same: 14"]),
    ("a function without rows", {"declared": {"decl_file": 1, "decl_line": 29}, "end": 0x1040, "other_row": []}, {}, (14, 4), [
        "the same: 12",
        "without a line, shown by their declaration: 2"]),
    ("a function that is declared elsewhere", {"end": 0x1040, "other_row": []}, {"declared": {"decl_file": 1, "decl_line": 29}}, (14, 4), [
        "the same: 12",
        "DIFFERENT: GSYM has a line the DWARF has not: 2",
        "0x1060: DWARF: other ??:0; GSYM: other /src/a.c:29"]),
    ("a function that begins later", {}, {"other_at": 0x1062}, (12, 3), [
        "the same: 12",
        "DIFFERENT: not in GSYM: 1",
        "0x1060: DWARF: other /src/a.c:30; GSYM: nothing"]),
    ("a function that begins earlier", {}, {"other_at": 0x1050}, (12, 3), [
        "the same: 12",
        "DIFFERENT: not in GSYM: 1",
        "0x1060: DWARF: other /src/a.c:30; GSYM: nothing"]),
    ("a function that ends earlier", {}, {"size": 0x30}, (14, 4), [
        "the same: 13",
        "DIFFERENT: not in GSYM: 1",
        "0x103f: DWARF: main /src/a.c:6; GSYM: nothing"]),
    ("a function that ends later", {}, {"size": 0x50}, (14, 4), [
        "the same: 14"]),
    ("a function that is not there", {}, {"other": None}, (12, 3), [
        "the same: 12",
        "DIFFERENT: not in GSYM: 1",
        "0x1060: DWARF: other /src/a.c:30; GSYM: nothing"]),
    ("a function that the DWARF does not have", {"other": None}, {"other": "other"}, (12, 3), [
        "the same: 12"]),
    ("another part of a function", {}, {"parts": [(0x1080, 0x1088), (0x10a0, 0x10a8)]}, (12, 3), [
        "the same: 12",
        "DIFFERENT: not in GSYM: 1",
        "0x1090: DWARF: parts ??:0; GSYM: nothing"]),
    ("a part fewer", {}, {"parts": [(0x1080, 0x1088)]}, (12, 3), [
        "the same: 12",
        "DIFFERENT: not in GSYM: 1",
        "0x1090: DWARF: parts ??:0; GSYM: nothing"]),
    ("functions that the linker dropped", {"dropped": [0x0, 0x10]}, {"dropped": []}, (14, 4), [
        "the same: 14"]),
    ("outside of the code", {"dropped": [0x8000]}, {"dropped": []}, (14, 4), [
        "the same: 14"]),
    ("names in a namespace", {"language": C_PLUS_PLUS}, {}, (14, 4), [
        "the same, name qualified in GSYM: 14"]),
    ("another namespace's name", {"language": C_PLUS_PLUS}, {"name": "niam"}, (14, 4), [
        "the same, name qualified in GSYM: 6",
        "DIFFERENT: name: 8",
        "0x1000: DWARF: main /src/a.c:4; GSYM: ns::niam /src/a.c:4"]),
    ("a linkage name", {"language": C_PLUS_PLUS, "linkage": "_ZN2ns5otherEv"}, {}, (14, 4), [
        "the same: 2",
        "the same, name qualified in GSYM: 12"]),
    ("another linkage name", {"language": C_PLUS_PLUS, "linkage": "_ZN2ns5otherEv"}, {"linkage": "_ZN2ns5otherEi"}, (14, 4), [
        "the same, name qualified in GSYM: 12",
        "DIFFERENT: name: 2",
        "0x1060: DWARF: _ZN2ns5otherEv /src/a.c:30; GSYM: _ZN2ns5otherEi /src/a.c:30"]),
    ("absolute paths", {"files": ("/x/a.c", "C:\\inc\\b.h")}, {}, (14, 4), [
        "the same: 14"]),
    ("paths of Windows", {"files": ("\\\\host\\a.c", "C:/inc/b.h")}, {}, (14, 4), [
        "the same: 14"]),
    ("paths of Windows without a root directory, or without a root name", {"files": ("c:a.c", "\\b.h")}, {}, (14, 4), [
        "the same: 14"]),
    ("files of the root directory", {"files": ("/a.c", "b.h"), "directory": "/"}, {}, (14, 4), [
        "the same: 14"]),
    ("files without a directory", {"directory": ""}, {}, (14, 4), [
        "the same: 14"]),
    ("a call from no file", {"call": (0, 5)}, {}, (14, 4), [
        "the same: 14"]),
    ("a call from a file that is not there", {"call": (3, 5)}, {}, (14, 4), [
        "the same: 9",
        "DIFFERENT: number of frames: 5",
        "0x1010: DWARF: tiny /src/b.h:9 < main ??:5; GSYM: main /src/b.h:9"]),
    ("long names", {"name": "n" * 600}, {"name": "m" * 600}, (14, 4), [
        "the same: 6",
        "DIFFERENT: name: 8",
        f"0x1000: DWARF: {'n' * 600}"[:511]]),
    ("a copy of another name", {"copies": [("copy", (0x1060, 1, 30))]}, {}, (14, 4), [
        "the same: 14"]),
    ("copies on other lines", {"copies": [("other", (0x1060, 1, 31)), ("other", (0x1060, 1, 32))]}, {}, (14, 4), [
        "the same: 14"]),
    ("a copy before that is right", {"copies": [("other", (0x1060, 1, 31)), ("no", (0x1060, 1, 32))]}, {"copies": [], "other_row": [(0x1060, 1, 31)]}, (14, 4), [
        "the same: 14"]),
    ("a copy behind that is right", {"copies": [("other", (0x1060, 1, 32)), ("other", (0x1060, 1, 31))]}, {"copies": [], "other_row": [(0x1060, 1, 31)]}, (14, 4), [
        "the same: 14"]),
    ("copies of which none is right", {"copies": [("copy", (0x1060, 1, 31)), ("other", (0x1060, 1, 32))]}, {"other": "wrong", "copies": []}, (14, 4), [
        "the same: 12",
        "DIFFERENT: name: 2",
        "0x1060: DWARF: copy /src/a.c:31; GSYM: wrong /src/a.c:30"]),
    ("named by a symbol", {"symbols": (Symbol("alias", 0x1000, 0x40),)}, {}, (14, 4), [
        "the same: 6",
        "the same, named by the symbol table: 8"]),
    ("named by another symbol", {"symbols": (Symbol("alias", 0x1000, 0x40),)}, {"symbols": (Symbol("elias", 0x1000, 0x40),)}, (14, 4), [
        "the same: 6",
        "DIFFERENT: name: 8",
        "0x1000: DWARF: main /src/a.c:4; GSYM: elias /src/a.c:4"]),
]


def compare(gsym, directory, base, changed, *options):
    for name, changes in (("base", base), ("changed", {**base, **changed})):
        write(f"{directory}/{name}", units(changes), symbols=changes.get("symbols", ()))
    subprocess.run([gsym, "convert", "--quiet", "-o", "out.gsym", "changed"], cwd=directory, check=True, timeout=300)
    done = subprocess.run([gsym, "verify", "out.gsym", "--against=base", *options], cwd=directory, capture_output=True, text=True, timeout=300)
    return done.returncode, [line.strip() for line in (done.stdout + done.stderr).splitlines()[1:]]


def check_samples(gsym):
    """--max-functions: every n-th record, so that about as many are compared; how many addresses of PLAIN's four records."""
    bad = 0
    for most, wanted in ((1, 8), (2, 10), (3, 14), (4, 14), (5, 14)):
        with tempfile.TemporaryDirectory() as directory:
            _, told = compare(gsym, directory, {}, {}, f"--max-functions={most}")
        if not told[0].startswith(f"compared with base: {wanted} addresses"):
            bad += 1
            print(f"--max-functions={most}: not {wanted} addresses: {told[0]}")
    return bad


def main():
    gsym, bad = str(pathlib.Path(sys.argv[1]).resolve()), 0
    for what, base, changed, (addresses, functions), wanted in CASES:
        wanted = [f"compared with base: {addresses} addresses in {functions} functions of {1 + len(base.get('copies', ()))} units", *wanted]
        wanted_status = 1 if any("DIFFERENT" in line for line in wanted) else 0
        for version in VERSIONS:
            with tempfile.TemporaryDirectory() as directory:
                status, told = compare(gsym, directory, {**base, "version": version}, changed)
            if told != wanted or status != wanted_status:
                bad += 1
                print(f"DWARF {version}: {what}: status {status}, not {wanted_status}", *told, "wanted:", *wanted, sep="\n    ")
    print(f"{len(CASES) * len(VERSIONS)} cases, {bad} wrong")
    bad += check_samples(gsym)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
