#!/usr/bin/env python3
"""Mach-O files: programs and libraries for Apple's targets, in every way that LLVM's tools can make them here.

For each of them
  dsym      every row and instruction of the dSYM bundle's DWARF, as compare.py does it: llvm-symbolizer, llvm-gsymutil's
            conversion, and llvm-gsymutil reading ours; accept.txt has the differences ("macho:NAME")
  beside    the linked file, which finds its dSYM: as the dSYM alone, and stubs as llvm-objdump names them
  symbols   the linked file alone: names by its symbol table, as llvm-nm tells it; and as compare.py does it (":alone")
  stripped  the same after llvm-strip: exported symbols keep their names, others leave nothing behind
  packed    the dSYM with sections compressed in the older way: the same GSYM
and then folded functions (as folded.py), and fat files against their slices.
"""
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import frames, peers  # noqa: E402
from lib.macho import MachO  # noqa: E402
from corpus import accept, arguments, build, compare, folded, macho_build  # noqa: E402

STEP = {183: 4, 40: 2}  # bytes from one place where an instruction may begin to the next, by machine; else 1
STUB = "symbol stub for: "


def code_addresses(image):
    step = STEP.get(image.machine, 1)
    return [a for s in image.code_sections() for a in range(s.addr, s.addr + s.size, step)]


class Report:
    """Counts and faults of one program."""

    def __init__(self, name):
        self.name, self.counts, self.faults, self.result = name, {}, [], None

    def check(self, what, addresses, ours, wanted):
        """@ours and @wanted: something printable for each address."""
        bad = [(a, o, w) for a, o, w in zip(addresses, ours, wanted) if o != w]
        before = self.counts.get(what, (0, 0))
        self.counts[what] = (before[0] + len(addresses), before[1] + len(bad))
        for address, mine, right in bad[:5]:
            self.faults.append(f"{self.name}: {what}: {address:#x}: {mine}, not {right}")

    def row(self):
        return f"{self.name:24}" + "".join(
            f" {what} {total - bad}/{total}" for what, (total, bad) in self.counts.items())


def convert(gsym, path, out, *options):
    peers.run([gsym, "convert", "--quiet", *options, path, "-o", out])
    return out


def names_of(records):
    """The concrete function of each answer, "" where there is none."""
    return [r[-1].name if r else "" for r in records]


# ---- What the tables of symbols say ----

def nm_symbols(tools, path):
    """(address, name) of the defined ones, by llvm-nm."""
    out = peers.run([tools.nm, "--defined-only", "-n", path])
    found = [re.match(r"([0-9a-f]+) \S (.*)", line) for line in out.splitlines()]
    return [(int(m[1], 16), m[2].removeprefix("_")) for m in found if m]


def stub_names(tools, path):
    """address of a stub -> its name as llvm-objdump puts it beside calls."""
    image, found = MachO.read(path), {}
    out = peers.run([tools.objdump, "--macho", "--indirect-symbols", path])
    sizes = {s.name: s.reserved2 for s in image.stubs()}
    size = 0
    for line in out.splitlines():
        title = re.match(r"Indirect symbols for \(\S+?,(\S+)\)", line)
        if title:
            size = sizes.get(title[1], 0)
        entry = re.match(r"0x([0-9a-f]+)\s+\d+ (\S+)", line)
        if entry and size:
            for byte in range(size):
                found[int(entry[1], 16) + byte] = STUB + entry[2].removeprefix("_")
    return found


def called_stubs(tools, path):
    """The same of stubs that are called somewhere, as the disassembly shows them."""
    out = peers.run([tools.objdump, "--macho", "-d", path])
    return {int(m[1], 16): STUB + m[2].removeprefix("_")
            for m in re.finditer(r"\s0x([0-9a-f]+) (?:;|##) symbol stub for: (\S+)", out)}


def expected_names(tools, path, exported_only=False):
    """For each byte where code may begin, the names that are right there; (addresses, sets)."""
    image = MachO.read(path)
    known = {}
    there = set(nm_symbols(tools, path))
    for s in image.symbols:
        if (s.addr, s.name) not in there:
            raise RuntimeError(f"{path}: llvm-nm does not tell {s.name} at {s.addr:#x}")
        if s.exported or not exported_only:
            for byte in range(s.addr, s.addr + s.size):
                known.setdefault(byte, set()).add(s.name)
    for byte, name in stub_names(tools, path).items():
        known[byte] = {name}
    addresses = code_addresses(image)
    return addresses, [known.get(a, {""}) for a in addresses]


def check_names(report, what, gsym, path, addresses, expected, place):
    out = convert(gsym, path, f"{place}/{what}.gsym")
    ours = names_of(frames.gsym(gsym, out, addresses))
    report.check(what, addresses, ours, [o if o in e else "/".join(sorted(e)) for o, e in zip(ours, expected)])


# ---- The checks of one program ----

def is_exported(tools, path, exported):
    """Names that stay: "exported" alone is what the trie has, and hidden ones are not in it."""
    out = peers.run([tools.objdump, "--macho", "--exports-trie", path])
    listed = {m[1].removeprefix("_") for m in re.finditer(r"^0x[0-9A-Fa-f]+\s+(\S+)", out, re.MULTILINE)}
    return [s & listed or {n for n in s if n.startswith(STUB)} or {""} for s in exported]


def check_linked(report, tools, gsym, linked, dsym, place):
    alone = Path(macho_build.move_away(linked))
    addresses, expected = expected_names(tools, alone)
    check_names(report, "symbols", gsym, alone, addresses, expected, place)
    called = called_stubs(tools, alone)
    if called:
        out = f"{place}/symbols.gsym"
        report.check("calls", sorted(called), names_of(frames.gsym(gsym, out, sorted(called))),
                     [called[a] for a in sorted(called)])
    addresses, exported = expected_names(tools, alone, exported_only=True)
    exported = is_exported(tools, alone, exported)
    build.run([tools.strip, alone], place)
    if not MachO.read(alone).symbols:
        check_names(report, "stripped", gsym, alone, addresses, exported, place)
    if dsym:
        check_beside(report, tools, gsym, linked, dsym, place)


def check_beside(report, tools, gsym, linked, dsym, place):
    addresses = code_addresses(MachO.read(linked))
    from_linked = frames.gsym(gsym, convert(gsym, linked, f"{place}/beside.gsym"), addresses)
    from_dsym = frames.gsym(gsym, convert(gsym, dsym, f"{place}/dsym.gsym"), addresses)
    stubs = stub_names(tools, linked)
    wanted = [[frames.Frame(stubs[a], "", 0)] if a in stubs else d for a, d in zip(addresses, from_dsym)]
    report.check("beside", addresses, from_linked, wanted)
    packed = place / "packed"
    macho_build.compress(dsym, packed)
    report.check("packed", [0], [Path(convert(gsym, packed, f"{place}/packed.gsym")).read_bytes()],
                 [Path(f"{place}/dsym.gsym").read_bytes()])


def check_cell(tools, gsym, cell, options):
    report = Report(cell.name)
    with tempfile.TemporaryDirectory(prefix="gsym-macho-") as place:
        place = Path(place)
        if cell.linked:
            linked, dsym = tools.make(cell, place)
            check_linked(report, tools, gsym, linked, dsym, place)
            files = {"": dsym} if dsym else {}
            files[":alone"] = macho_build.move_away(linked)
        else:
            files = {f":{path.stem}": path for path in tools.compile(cell, place, cell.sources)}
        for part, path in files.items():
            name = f"macho:{cell.name}{part}"
            result = compare.compare(gsym, name, str(path), options)
            report.result = [*(report.result or []), result]
    return report


# ---- Fat files ----

def check_fat(tools, gsym, place):
    """Each slice gives what the thin file gives, with its dSYM and without; so do the slices all at once."""
    report = Report("fat")
    thin, bundles = {}, {}
    for cell in macho_build.each_arch():
        inner = place / cell.arch
        inner.mkdir()
        thin[cell.arch], bundles[cell.arch] = tools.make(cell, inner)
    fat = place / "library"
    bundle = place / "library.dSYM/Contents/Resources/DWARF/library"
    bundle.parent.mkdir(parents=True)
    for wide in ([], ["-fat64"]):
        build.run([tools.lipo, "-create", *wide, *thin.values(), "-output", fat], place)
        build.run([tools.lipo, "-create", *wide, *bundles.values(), "-output", bundle], place)
        convert(gsym, fat, place / "all")
        for arch in thin:
            wanted = Path(convert(gsym, thin[arch], place / "thin.gsym")).read_bytes()
            got = [Path(convert(gsym, fat, place / "one.gsym", f"--arch={arch}")).read_bytes(),
                   (place / f"all.{arch}").read_bytes()]
            report.check("slices", [0, 0], got, [wanted] * 2)
            check_slice(report, tools, gsym, fat, arch, place / "one.gsym")
            wanted = Path(convert(gsym, bundles[arch], place / "thin.gsym")).read_bytes()
            got = Path(convert(gsym, bundle, place / "one.gsym", f"--arch={arch}")).read_bytes()
            report.check("bundles", [0], [got], [wanted])
    for arch, words in (("ppc", ["holds images for", *thin]), ("arm64e", ["holds images for"])):
        done = subprocess.run([gsym, "convert", f"--arch={arch}", fat, "-o", place / "none"], capture_output=True, text=True)
        report.check("refused", [0], [done.returncode == 1 and all(w in done.stderr for w in words)], [True])
    return report


def check_slice(report, tools, gsym, fat, arch, out):
    """It has the UUID that llvm-objdump tells, and where DWARF has a function the answers of llvm-symbolizer."""
    told = peers.run([tools.objdump, "--macho", "--private-headers", f"--arch={arch}", fat])
    uuid = re.search(r"\buuid ([0-9A-F-]+)", told)[1].replace("-", "").lower()
    report.check("uuids", [0], [uuid in peers.run([gsym, "dump", out]).replace("-", "").lower()], [True])
    image = next(i for i in MachO.all_of(fat) if i.uuid.hex() == uuid)
    addresses = code_addresses(image)
    theirs = frames.symbolizer(f"{fat}:{arch}", addresses)
    known = [(a, o, t) for a, o, t in zip(addresses, frames.gsym(gsym, out, addresses), theirs) if t and t[0].line]
    report.check("symbolizer", *zip(*known))


# ---- Folded functions ----

def folded_kinds():
    for arch in ("arm64", "x86_64"):
        for version in (4, 5):
            yield f"{arch} {version}", arch, [f"-gdwarf-{version}"]
            yield f"{arch} {version}, offsets", arch, [f"-gdwarf-{version}", *macho_build.OFFSETS]


def check_folded(tools, gsym, name, arch, flags):
    result = folded.Check(folded.Kind(name, "clang", flags, "lld"))
    with tempfile.TemporaryDirectory(prefix="gsym-macho-") as place:
        place = Path(place)
        cell = macho_build.Cell(name, arch, ("-g", "-O2", *flags), tuple(macho_build.FOLDED))
        objects = tools.compile(cell, place, cell.sources)
        _, dsym = tools.link(cell, place, objects, "folded", ["-dylib", "--icf=all", "--keep-icf-stabs"])
        _, plain = tools.link(cell, place, objects, "plain", ["-dylib"])
        folded.check_files(gsym, result, dsym, plain, place,
                           lambda path: {folded.Function(s.name, s.addr, s.size) for s in MachO.read(path).symbols})
    return result


def read_arguments():
    parser = arguments.parser(__doc__, 4000, "a dSYM")
    parser.add_argument("--full", action="store_true", help="all programs, not a few")
    parser.add_argument("--only", default="", help="only programs with this in their name")
    return parser.parse_args()


def attempt(check, *words):
    try:
        return check(*words), None
    except build.Unavailable as why:
        return None, str(why)


def run_cells(pool, tools, gsym, options):
    """(faults, programs)."""
    chosen = [c for c in macho_build.cells() if (options.full or c.quick) and options.only in c.name]
    outcomes = list(pool.map(lambda c: attempt(check_cell, tools, gsym, c, options), chosen))
    rules = accept.load(HERE / "accept.txt")
    results = [r for report, _ in outcomes if report for r in report.result or []]
    verdicts = [compare.Verdict(rules, result) for result in results]
    compare.print_table(verdicts)
    compare.print_classes(results)
    compare.print_examples(results, options.examples)
    faults = [f for v in verdicts for f in v.faults]
    for cell, (report, why) in zip(chosen, outcomes):
        print(report.row() if report else f"skipped: {cell.name}: {why}")
        faults += report.faults if report else []
    return faults, len([1 for report, _ in outcomes if report])


def run_folded(pool, tools, gsym, options):
    kinds = [k for k in folded_kinds() if (options.full or k[0].startswith("arm64 5")) and options.only in f"folded {k[0]}"]
    faults, seen = [], 0
    for (name, _, _), (result, why) in zip(kinds, pool.map(lambda k: attempt(check_folded, tools, gsym, *k), kinds)):
        if not result:
            print(f"skipped: folded {name}: {why}")
            continue
        seen += 1
        print(f"folded {name:20} {result.functions} functions, {result.addresses} addresses, {len(result.faults)} faults")
        faults += result.faults if result.addresses else [f"{name}: nothing was folded"]
    return faults, seen


def main():
    options = read_arguments()
    gsym = peers.gsym_program(options.gsym)
    for tool in ("llvm-symbolizer", "llvm-gsymutil"):
        peers.need(tool, "llvm-22")
    tools = macho_build.Tools()
    with ThreadPoolExecutor(options.jobs) as pool:
        faults, programs = run_cells(pool, tools, gsym, options)
        more, seen = run_folded(pool, tools, gsym, options)
    faults += more
    if options.only in "fat":
        with tempfile.TemporaryDirectory(prefix="gsym-macho-") as place:
            report, why = attempt(check_fat, tools, gsym, Path(place))
        print(report.row() if report else f"skipped: fat: {why}")
        faults += report.faults if report else []
        seen += report is not None
    for fault in faults:
        print(f"FAIL {fault}")
    if not programs + seen:
        peers.skip("these tools build nothing for Apple's targets")
    print(f"{programs + seen} programs, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
