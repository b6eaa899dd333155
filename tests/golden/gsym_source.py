#!/usr/bin/env python3
"""GSYM as what is converted: files of it, and sections of object files.

    gsym_source.py GSYM MAKE_INPUTS
"""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import breakpad, format_test, make_elf, make_macho, make_gsym, peers  # noqa: E402
from lib.make_gsym import CALLEE, INLINES, LINES, MERGED, ROWS, SITES  # noqa: E402

failures = []
BUILD_ID = bytes(range(1, 21))
UUID_IGNORED = "section with GSYM ignored: its UUID is not that of the file: 1"
DAMAGED = "section ignored: damaged: 1"


def run(*argv):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def functions(gsym, path):
    """The dump of all functions, without their places in the file."""
    status, out, told = run(gsym, "dump", path)
    if status:
        failures.append(f"gsym dump {path}: {told}")
    return re.sub(r"(FunctionInfo @ )0x[0-9a-f]+", r"\1", out[out.find("FunctionInfo @"):])


def header(gsym, path):
    return run(gsym, "dump", path)[1].split("Address Table")[0]


def convert(gsym, source, out, *options):
    status, _, told = run(gsym, "convert", "--progress=never", *options, source, "-o", out)
    return status, told


def copies(gsym, place, inputs):
    """In every version and byte order what comes out says the same."""
    for source in ("plain", "plain2", "merged", "nested"):
        for version in "1", "2":
            for order in "little", "big":
                made, out = f"{place}/made", f"{place}/out"
                if run(gsym, "transcode", f"--output-version={version}", f"--byte-order={order}", f"{inputs}/{source}.gsym",
                       "-o", made)[0]:
                    failures.append(f"{source}: cannot transcode to version {version}")
                    continue
                for wanted in "1", "2":
                    status, told = convert(gsym, made, out, f"--output-version={wanted}")
                    what = f"{source}, version {version}, {order}-endian, to {wanted}"
                    if status or functions(gsym, made) != functions(gsym, out):
                        failures.append(f"{what}: exit {status}, other functions: {told}")
                    if run(gsym, "verify", out)[0]:
                        failures.append(f"{what}: does not pass gsym verify")


def refused(gsym, place, inputs):
    long_id, bad = f"{inputs}/long_uuid.gsym", pathlib.Path(f"{place}/bad")
    status, told = convert(gsym, long_id, f"{place}/out", "--output-version=1")
    if status != 1 or "does not fit GSYM version 1" not in told:
        failures.append(f"a long UUID: exit {status}, {told}")
    for option, version in ((), "2: version 1 cannot hold them"), (("--output-version=2",), None):
        status, told = convert(gsym, long_id, f"{place}/out", *option)
        said = "version" in told if version is None else f"of GSYM version {version}" not in told
        if status or said or not run(gsym, "statistics", f"{place}/out")[1].startswith(f"{place}/out: version 2"):
            failures.append(f"a long UUID, options {option}: exit {status}, {told}")
    data = pathlib.Path(f"{inputs}/plain.gsym").read_bytes()
    bad.write_bytes(data[:40])
    status, told = convert(gsym, bad, f"{place}/out")
    if status != 1 or "bad: " not in told or "header" not in told:
        failures.append(f"half a header: exit {status}, {told}")
    for option in "--debug-file", "--symtab-file":
        status, told = convert(gsym, f"{inputs}/plain.gsym", f"{place}/out", f"{option}={inputs}/plain.gsym")
        if status != 1 or "cannot be combined with other files" not in told:
            failures.append(f"{option} with GSYM: exit {status}, {told}")


def damaged_record(gsym, place, inputs):
    """One record is skipped and counted; the others stay."""
    data = bytearray(pathlib.Path(f"{inputs}/plain.gsym").read_bytes())
    place_of = [int(x, 16) for x in re.findall(r"FunctionInfo @ (0x[0-9a-f]+)", run(gsym, "dump", f"{inputs}/plain.gsym")[1])]
    struct.pack_into("<I", data, place_of[1] + 4, 0xffffff)  # its name is past the string table
    pathlib.Path(f"{place}/bad").write_bytes(data)
    status, told = convert(gsym, f"{place}/bad", f"{place}/out")
    if status or "function skipped: damaged record of GSYM: 1" not in told or \
            functions(gsym, f"{place}/out").count("FunctionInfo @") != len(place_of) - 1:
        failures.append(f"a damaged record: exit {status}, {told}")


def damaged_file(gsym, place, inputs):
    """A file whose strings are not there costs the lines or the calls that are in it, and no function."""
    data = bytearray(pathlib.Path(f"{inputs}/plain.gsym").read_bytes())
    count, width = struct.unpack_from("<I", data, 16)[0], data[6]
    files = ((48 + count * width + 3) & ~3) + 4 * count
    n_files = struct.unpack_from("<I", data, files)[0]
    whole = functions(gsym, f"{inputs}/plain.gsym").count("FunctionInfo @")
    struct.pack_into("<II", data, files + 4 + 8 * (n_files - 1), 0xffffff, 0xffffff)
    pathlib.Path(f"{place}/bad").write_bytes(data)
    status, told = convert(gsym, f"{place}/bad", f"{place}/out")
    left = functions(gsym, f"{place}/out").count("FunctionInfo @") if not status else 0
    if status or left != whole or "part of a function left out: damaged block of GSYM: 2" not in told:
        failures.append(f"a damaged file: exit {status}, {left} of {whole} functions, {told}")


def damaged_blocks(gsym, place):
    """A block that is damaged is left out alone, and of merged functions the one that is; what comes behind a cut is not there."""
    for version in (1, 2):
        m = make_gsym.Maker(version, "little")
        lines, calls, merged, sites = ((LINES, ROWS), (INLINES, m.calls(m.node(2, 4))), (MERGED, m.merged(m.record(name=CALLEE))),
                                       (SITES, m.site()))
        told_of = {"/src/a.c:5": "lines", "called from /src/a.c:3": "calls", '"callee"': "merged", "CallSites": "sites"}
        for what, blocks, lost, left in (
                ("all", [lines, calls, merged, sites], 0, "lines calls merged sites"),
                ("lines", [(LINES, b"\0\2\5\1\7\4\0"), calls, merged, sites], 1, "calls merged sites"),
                ("calls", [lines, (INLINES, m.calls(m.node(2, 40))), merged, sites], 1, "lines merged sites"),
                ("count of merged", [lines, calls, (MERGED, m.merged(count=9)), sites], 1, "lines calls sites"),
                ("a merged one", [lines, calls, (MERGED, m.merged(m.record(name=99), m.record(name=CALLEE))), sites], 1,
                 "lines calls merged sites"),
                ("sites", [lines, calls, merged, (SITES, m.site(patterns=(99,)))], 1, "lines calls merged"),
                ("all of them", [(LINES, b""), (INLINES, b"\1"), (MERGED, b"\1"), (SITES, b"\1")], 4, ""),
                ("a second one", [lines, (LINES, ROWS), calls], 1, "lines"),
                ("the end", [lines, calls, 99], 1, "lines calls")):
            end = m.number(3) + m.number(1000) if blocks[-1] == 99 else bytes(8)
            pathlib.Path(f"{place}/bad").write_bytes(m.file(m.record(*(b for b in blocks if b != 99), end=end)))
            status, told = convert(gsym, f"{place}/bad", f"{place}/out", f"--output-version={version}")
            dump = functions(gsym, f"{place}/out") if not status else ""
            got = " ".join(word for mark, word in told_of.items() if mark in dump)
            counted = re.search("damaged block of GSYM: ([0-9]+)", told)
            if status or got != left or (int(counted[1]) if counted else 0) != lost:
                failures.append(f"damaged block, version {version}: {what}: exit {status}, {got} are left\n{dump}{told}")
            failures.extend(format_test.faults(gsym, f"{place}/out"))


def deep_calls(gsym, place):
    """Calls nested deeper than is read, as LLVM writes them, end there, in lookups of the file and in what is converted of it."""
    for depth in (1024, 1025, 5000):
        m = make_gsym.Maker(1, "little")
        chain = m.node(0, 12, flag=1) * (depth - 1) + m.node(0, 12) + bytes(depth - 1) + m.node(0, 4)
        pathlib.Path(f"{place}/deep").write_bytes(m.file(m.record((LINES, ROWS), (INLINES, m.calls(chain)))))
        status, told = convert(gsym, f"{place}/deep", f"{place}/out")
        if status or ("inlined call dropped: nested too deep: 1," in told) != (depth > 1024):
            failures.append(f"calls nested {depth} deep: exit {status}, {told}")
        for path in "deep", "out":
            status, out, told = run(gsym, "lookup", f"{place}/{path}", "0x1009")
            if status or len(out.splitlines()) != 1025 or not out.startswith("callee at /src/a.c:7\n"):
                failures.append(f"calls nested {depth} deep, {path}: exit {status}, {len(out.splitlines())} frames, {told}")
        if (run(gsym, "verify", f"{place}/deep")[0] == 0) != (depth == 1024):
            failures.append(f"calls nested {depth} deep: gsym verify")


def shared_records(gsym, place):
    """A hundred thousand addresses that share one record of as many rows do not become as many records."""
    count = 100000
    strings, files = b"\0a.c\0f\0", struct.pack("<5I", 2, 0, 0, 0, 1)
    lines = b"\0\1\1" + b"\x10" * count + b"\0"
    record = struct.pack("<IIII", 1 << 20, 5, 1, len(lines)) + lines + bytes(8)
    at = 48 + 8 * count + len(files)
    head = struct.pack("<IHBBQIII20s", 0x4753594d, 1, 4, 16, 0x1000, count, at + len(record), len(strings), BUILD_ID)
    addresses = b"".join(struct.pack("<I", i) for i in range(count))
    path = pathlib.Path(f"{place}/shared")
    path.write_bytes(head + addresses + struct.pack("<I", at) * count + files + record + strings)
    status, told = convert(gsym, path, f"{place}/out")
    size = pathlib.Path(f"{place}/out").stat().st_size if not status else 0
    if status or size > 20 * path.stat().st_size or "damaged record of GSYM" not in told:
        failures.append(f"records that share their bytes: exit {status}, {size} bytes, {told}")


def text_gsym(gsym, place, build_id, version="1"):
    """GSYM of one function at 0x1000, as bytes."""
    sym, out = f"{place}/text.sym", f"{place}/text.gsym"
    breakpad.write(sym, [breakpad.Function(0x1000, 0x1010, "from_gsym", [(0x1000, "g.c", 9)], [])], build_id=build_id.hex())
    status, told = convert(gsym, sym, out, f"--output-version={version}")
    if status:
        failures.append(f"making GSYM: {told}")
    return pathlib.Path(out).read_bytes()


def elf(section):
    e = make_elf.Maker(make_elf.EM_X86_64)
    e.add(".text", make_elf.CODE, 0x1000, bytes([0xc3] * 0x100))
    e.add(".note.gnu.build-id", make_elf.SHF_ALLOC, 0x2000, struct.pack("<III", 4, len(BUILD_ID), 3) + b"GNU\0" + BUILD_ID, 7)
    e.add(".gsym", 0, 0, section)
    e.add_symbols(".symtab", [("from_symtab", 0x1000, 0x10, make_elf.STT_FUNC, ".text")])
    return e.file()


def embedded(gsym, place, what, data, answer, warning=None):
    path, out = f"{place}/object", f"{place}/out"
    pathlib.Path(path).write_bytes(data)
    status, told = convert(gsym, path, out)
    got = run(gsym, "lookup", out, "0x1004")[1].strip() if not status else told
    if got != answer:
        failures.append(f"{what}: {got!r}, not {answer!r}")
    if ("ignored:" in told) if not warning else (warning not in told):
        failures.append(f"{what}: {told}")


def sections(gsym, place):
    whole, other = text_gsym(gsym, place, BUILD_ID), text_gsym(gsym, place, bytes(range(40, 60)))
    second = text_gsym(gsym, place, BUILD_ID, "2")
    good, symbol = "from_gsym at g.c:9", "from_symtab+0x4 at ??:0"
    embedded(gsym, place, "in ELF", elf(whole), good)
    embedded(gsym, place, "version 2 in ELF", elf(second), good)
    embedded(gsym, place, "of another build", elf(other), symbol, UUID_IGNORED)
    embedded(gsym, place, "damaged", elf(whole[:30]), symbol, DAMAGED)
    embedded(gsym, place, "no GSYM", elf(b"hello, world"), symbol, DAMAGED)
    # The string table of version 1 behind the section: its place counts from the header.
    size = struct.unpack_from("<I", whole, 24)[0]
    at = struct.unpack_from("<I", whole, 20)[0]
    plain = elf(whole)
    apart = bytearray(plain)
    start = plain.index(whole)
    strings = whole[at:at + size]
    apart[start + at:start + at + size] = bytes(size)
    struct.pack_into("<I", apart, start + 20, len(plain) - start)
    embedded(gsym, place, "string table elsewhere in the file", bytes(apart) + strings, good)
    embedded(gsym, place, "string table past the file", bytes(apart) + strings[:-4], symbol, DAMAGED)
    for segment in "__GSYM", "__DWARF", "__TEXT":
        m = make_macho.Maker(uuid=BUILD_ID[:16])
        m.section("__TEXT", "__text", 0x1000, bytes(0x40), make_macho.CODE)
        m.section(segment, "__gsym", 0x8000 if segment != "__TEXT" else 0x1100, text_gsym(gsym, place, BUILD_ID[:16]))
        embedded(gsym, place, f"{segment} in Mach-O", m.file(), good)


def past_the_end(gsym, place, inputs):
    """A function that passes the end of the address space is left out: what remains has no fault."""
    data = bytearray(pathlib.Path(inputs, "plain.gsym").read_bytes())
    count, = struct.unpack_from("<I", data, 16)
    last = int.from_bytes(data[48 + data[6] * (count - 1):48 + data[6] * count], "little")
    struct.pack_into("<Q", data, 8, 2**64 - last - 2)
    pathlib.Path(f"{place}/past").write_bytes(data)
    status, told = convert(gsym, f"{place}/past", f"{place}/out")
    if status or "function skipped: damaged record of GSYM: 1" not in told:
        failures.append(f"a function past the end: exit {status}, {told}")
    status, found, told = run(gsym, "verify", f"{place}/out")
    if status or f"{count - 1} functions, 0 faults" not in found:
        failures.append(f"a function past the end: verify says {found}{told}")


def theirs(gsym, place):
    """What llvm-gsymutil makes, and its GSYM for the program it was made of."""
    gsymutil = peers.find("llvm-gsymutil")
    if not gsymutil:
        print("llvm-gsymutil is not installed: its files are not read")
        return
    sources, binary, made = f"{place}/p.c", f"{place}/p", f"{place}/theirs"
    pathlib.Path(sources).write_text("static inline __attribute__((always_inline)) int sq(int x) { return x * x; }\n"
                                     "int f(int x) { return sq(x) + 1; }\nint main(int n, char **v) { return f(n) + !v; }\n")
    if run("cc", "-g", "-O1", "-Wl,--build-id=sha1", sources, "-o", binary)[0]:
        print("cc does not work: llvm-gsymutil's files are not read")
        return
    run("timeout", "300", gsymutil, "--quiet", "--convert", binary, "-o", made)
    for options in ([made], [f"--debug-file={made}", binary]):
        status, told = convert(gsym, options[-1], f"{place}/out", *options[:-1])
        if status or functions(gsym, made) != functions(gsym, f"{place}/out") or \
                header(gsym, f"{place}/out").count("UUID") != header(gsym, made).count("UUID"):
            failures.append(f"llvm-gsymutil's own, {options}: exit {status}, {told}")
    pathlib.Path(f"{place}/other").write_bytes(text_gsym(gsym, place, bytes(range(20))))
    status, told = convert(gsym, binary, f"{place}/out", f"--debug-file={place}/other")
    if status != 1 or "its build id is not that of" not in told:
        failures.append(f"GSYM of another build: exit {status}, {told}")


def main():
    gsym, make_inputs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        inputs = pathlib.Path(place) / "inputs"
        inputs.mkdir()
        subprocess.run([make_inputs, inputs], check=True)
        copies(gsym, place, inputs)
        refused(gsym, place, inputs)
        damaged_record(gsym, place, inputs)
        damaged_file(gsym, place, inputs)
        damaged_blocks(gsym, place)
        deep_calls(gsym, place)
        shared_records(gsym, place)
        sections(gsym, place)
        past_the_end(gsym, place, inputs)
        theirs(gsym, place)
    for failure in failures:
        print("FAIL", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
