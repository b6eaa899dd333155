#!/usr/bin/env python3
"""What `gsym verify` refuses: one file for each rule of gsym(5), right but for one thing.

    strict.py GSYM

The second reader of tests/lib/strict_gsym.py refuses them, too, so that neither has a rule that the other has not.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import peers, strict_gsym  # noqa: E402
from lib.make_gsym import A_C, CALLEE, INLINES, LINES, MAIN, MERGED, Maker, ROWS, SITES, SIZE, SRC, STRINGS  # noqa: E402


def rows(*data):
    return LINES, bytes(data)


# What is wrong, the words of `gsym verify`, and what makes the file; None as words: nothing is wrong.
CASES = [
    ("all of it", None, lambda m: m.file(
        m.record((LINES, ROWS), (INLINES, m.calls(m.node(2, 4, 7, 2, flag=1), m.node(0, 2), b"\0", m.node(10, 1))),
                 (MERGED, m.merged(m.record((LINES, ROWS), name=CALLEE))), (SITES, m.site())), m.record((LINES, ROWS)))),
    ("functions of one start", None, lambda m: m.file(m.record(), m.record(size=SIZE + 1), starts=[0, 0])),
    ("records apart", None, lambda m: m.file(m.record((LINES, ROWS + b"")), m.record((LINES, bytes([0, 0, 5, 4, 0]))))),
    ("bytes behind the rows", "bytes after the end of a line table", lambda m: m.file(m.record((LINES, ROWS + b"\0")))),
    ("no row", "line table without a row", lambda m: m.file(m.record(rows(0, 2, 5, 0)))),
    ("line below 0 between rows", "outside 32 bits", lambda m: m.file(m.record(rows(0, 2, 5, 3, 0x7a, 3, 6, 4, 0)))),
    ("line below 0 behind the rows", "line outside 32 bits", lambda m: m.file(m.record(rows(0, 2, 5, 4, 3, 0x7a, 0)))),
    ("line below 0 in a special opcode", "line", lambda m: m.file(m.record(rows(0x7a, 2, 5, 4, 3, 10, 4, 0)))),
    ("first line above 32 bits", "outside 32 bits", lambda m: m.file(m.record(rows(0, 2, 0x80, 0x80, 0x80, 0x80, 0x10, 3, 0x7f, 4, 0)))),
    ("file of no row", "file index past the file table", lambda m: m.file(m.record(rows(0, 2, 5, 1, 7, 1, 1, 4, 0)))),
    ("file of a row", "file index past the file table", lambda m: m.file(m.record(rows(0, 2, 5, 1, 7, 4, 0)))),
    ("long number", "more bytes than it needs", lambda m: m.file(m.record(rows(0, 2, 0x85, 0, 4, 0)))),
    ("long signed number", "more bytes than it needs", lambda m: m.file(m.record(rows(0, 2, 5, 3, 0xff, 0x7f, 4, 0)))),
    ("row past the function", "row past the end", lambda m: m.file(m.record(rows(0, 2, 5, 2, SIZE, 0)))),
    ("deltas", "largest line delta below", lambda m: m.file(m.record(rows(2, 1, 5, 4, 0)))),
    ("bytes behind the calls", "bytes after the inlined calls", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4), end=b"\0\0"))))),
    ("two ranges of the outermost", "another range", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4), root=(2, 0, 4, 6, 6)))))),
    ("shorter outermost", "another range", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4), root=(1, 0, 11)))))),
    ("no outermost", "another range", lambda m: m.file(m.record((INLINES, b"\0")))),
    ("name of the outermost", "is not that of", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4), name=CALLEE))))),
    ("place of the outermost", "is not that of", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4), place=(1, 3)))))),
    ("no calls below", "empty list of calls", lambda m: m.file(m.record((INLINES, m.calls())))),
    ("no calls in a call", "empty list of calls", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4, flag=1), b"\0"))))),
    ("ranges that touch", "touch", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4, 6, 2)))))),
    ("ranges that descend", "descend", lambda m: m.file(m.record((INLINES, m.calls(m.node(6, 2, 2, 2)))))),
    ("flag of a node", "damaged", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4, flag=2), b"\0"))))),
    ("outside the parent", "outside those of its parent", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4, flag=1), m.node(2, 3), b"\0"))))),
    ("file of a call", "call file past", lambda m: m.file(m.record((INLINES, m.calls(m.node(2, 4, place=(2, 3))))))),
    ("bytes behind the merged", "bytes after the merged functions", lambda m: m.file(m.record((MERGED, m.merged(m.record(), end=b"\0"))))),
    ("bytes behind a merged one", "bytes after the record of a merged", lambda m: m.file(m.record((MERGED, m.merged(m.record() + b"\0"))))),
    ("size of a merged one", "not that of its holder", lambda m: m.file(m.record((MERGED, m.merged(m.record(size=8)))))),
    ("merged within merged", "merged functions of its own",
     lambda m: m.file(m.record((MERGED, m.merged(m.record((MERGED, m.merged(m.record())))))))),
    ("line of a merged one", "outside 32 bits", lambda m: m.file(m.record((MERGED, m.merged(m.record(rows(0, 2, 5, 4, 3, 0x7a, 0))))))),
    ("bytes behind the sites", "bytes after the call sites", lambda m: m.file(m.record((SITES, m.site(end=b"\0"))))),
    ("flags of a site", "unknown flags", lambda m: m.file(m.record((SITES, m.site(flags=4))))),
    ("site outside", "call site outside", lambda m: m.file(m.record((SITES, m.site(off=SIZE + 1))))),
    ("site at the end", None, lambda m: m.file(m.record((SITES, m.site(off=SIZE))))),
    ("pattern", "pattern past", lambda m: m.file(m.record((SITES, m.site(patterns=(99,)))))),
    ("order of blocks", "behind one of a higher type", lambda m: m.file(m.record((SITES, m.site()), (LINES, ROWS)))),
    ("block twice", "second block", lambda m: m.file(m.record((LINES, ROWS), (LINES, ROWS)))),
    ("unknown block", "unknown type", lambda m: m.file(m.record((9, b"1234")))),
    ("end of a record", "bytes in the end", lambda m: m.file(m.record(end=m.block(0, b"1234")))),
    ("empty name", "empty name", lambda m: m.file(m.record(name=MAIN + 4))),
    ("no name", "name 0x0", lambda m: m.file(m.record(name=0))),
    ("bytes before the records", "belong to no record", lambda m: m.file(m.record(), gap=bytes(4))),
    ("bytes between records", "belong to no record", lambda m: m.file(m.record() + bytes(4), m.record())),
    ("bytes behind the records", "belong to no record", lambda m: m.file(m.record(), tail=bytes(4))),
    ("padding behind the records", None, lambda m: m.file(m.record(), tail=b"\0")),
    ("padding", "not zero|belong to no record", lambda m: m.file(m.record((LINES, ROWS + b"")), m.record(), pad=b"x", strings=STRINGS + b"b\0")),
    ("equal functions", "is not longer", lambda m: m.file(m.record(), m.record(), starts=[0, 0])),
    ("order of sizes", "is not longer", lambda m: m.file(m.record(size=13), m.record(), starts=[0, 0])),
    ("order of addresses", "lower than", lambda m: m.file(m.record(), m.record(), starts=[0x10, 0])),
    ("last address", "end of the address space", lambda m: m.file(m.record(), base=2**64 - SIZE)),
    ("last row", "end of the address space", lambda m: m.file(m.record(rows(0, 2, 5, 2, SIZE, 0), size=0), base=2**64 - SIZE)),
    ("first string", "first string is not empty", lambda m: m.file(m.record(), strings=b"x" + STRINGS[1:])),
    ("last string", "no NUL ends", lambda m: m.file(m.record(), strings=STRINGS + b"x")),
    ("no file 0", "no entry 0", lambda m: m.file(m.record(), files=())),
    ("file 0", "entry 0", lambda m: m.file(m.record(), files=((SRC, A_C),))),
    ("string of a file", "names strings", lambda m: m.file(m.record(), files=((0, 0), (SRC, 99)))),
]
CASES_1 = [
    ("padding of the UUID", "after the UUID", lambda m: m.file(m.record(), uuid_pad=b"x")),
    ("strings behind the records", "begins", lambda m: m.file(m.record(), order=(1, 2, 4, 5, 3))),
]
CASES_2 = [
    ("usual order", None, lambda m: m.file(m.record(), order=(5, 3, 4, 2, 1))),
    ("bytes behind the tables", "after the last table", lambda m: m.file(m.record()) + b"\0"),
    ("table twice", "second one", lambda m: m.file(m.record(), twice=True)),
    ("unknown table", "unknown type", lambda m: m.file(m.record(), unknown=True)),
    ("end of the directory", "not zero", lambda m: m.file(m.record(), last=bytes(19) + b"\1")),
    ("files past the table", "file table", lambda m: m.file(m.record(), n_files=1)),
    ("alignment of files", "file table at .* not aligned", lambda m: m.file(m.record(), shift={4: 1}, strings=STRINGS + b"b\0\0")),
    ("alignment of addresses", "address offsets at .* not aligned", lambda m: m.file(m.record(), width=2, shift={1: 1})),
    ("alignment of places", "address info offsets at .* not aligned", lambda m: m.file(m.record(), shift={2: 4})),
    ("alignment of records", "function records at .* not aligned", lambda m: m.file(m.record(), shift={5: 1})),
]


def main():
    gsym, failures, n = peers.gsym_program(sys.argv[1]), [], 0
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place, "file.gsym")
        for version in (1, 2):
            for order in ("little", "big"):
                for what, words, make in CASES + (CASES_1 if version == 1 else CASES_2):
                    path.write_bytes(make(Maker(version, order)))
                    done = subprocess.run([gsym, "verify", str(path)], capture_output=True, text=True, timeout=60)
                    other, n = strict_gsym.refusal(path.read_bytes()), n + 1
                    if done.returncode != bool(words) or (words and not re.search(words, done.stderr)):
                        failures.append(f"{what}, version {version}, {order}: exit {done.returncode}: {done.stdout}{done.stderr}")
                    if (other is None) != (words is None):
                        failures.append(f"{what}, version {version}, {order}: the second reader says {other}")
    print("\n".join(failures) or f"{n} files: as expected")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
