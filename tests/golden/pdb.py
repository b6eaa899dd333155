#!/usr/bin/env python3
"""PDB files: programs built by clang and lld, compared with llvm-symbolizer and with llvm-pdbutil's dump.

    pdb.py GSYM

Addresses are the first and last of every function, inlined call and row. What llvm-pdbutil dumps, read by
lib/pdbutil.py, is the judge: gsym has to agree with it everywhere. Where llvm-symbolizer does not, a rule of
lib/pdbutil.py explains why, from the dump.
"""
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import uuid
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import frames, pdb_programs, pdbutil, peers  # noqa: E402
from lib.format_test import convert, failures  # noqa: E402
from lib.peers import gsym_program  # noqa: E402

totals = Counter()


def image_base(program):
    data = program.read_bytes()
    at = struct.unpack_from("<I", data, 0x3c)[0]
    wide = struct.unpack_from("<H", data, at + 24)[0] == 0x20b
    return struct.unpack_from("<Q" if wide else "<I", data, at + (48 if wide else 52))[0]


def machine(program):
    data = program.read_bytes()
    return struct.unpack_from("<H", data, struct.unpack_from("<I", data, 0x3c)[0] + 4)[0]


def guid_at(program):
    """Where the GUID of a program's CodeView record is in the file."""
    return program.read_bytes().index(b"RSDS") + 4


# ---- Programs ----

def compare_symbolizer(what, dump, addresses, program):
    """Every frame of llvm-symbolizer is that of the dump, or differs by a rule."""
    tool = peers.find("llvm-symbolizer")
    text = peers.run([tool, "--output-style=JSON", "--no-demangle", "--functions=short", "--relative-address", "-e", program],
                     stdin="".join(f"{a:#x}\n" for a in addresses))
    for rva, peer in zip(addresses, frames.records(text, len(addresses), tool)):
        procs = dump.procs_at(rva)
        expected = [dump.frames(p, rva) for p in procs]
        totals["llvm-symbolizer compared"] += 1
        if peer in expected or not procs and not peer:
            totals["llvm-symbolizer equal"] += 1
            continue
        rules = next((r for r in (pdbutil.explain(dump, p, rva, peer, own) for p, own in zip(procs, expected)) if r), None)
        if rules:
            totals.update(f"rule {rule}" for rule in rules)
        else:
            failures.append(f"{what}: llvm-symbolizer at {rva:#x}: {peer}, not {expected}")


def compare_gsym(what, gsym, dump, addresses, out, base, i386):
    """The frames of the dump, where a function has the name that its public has."""
    answers = frames.gsym(gsym, out, [base + rva for rva in addresses])
    differ = []
    for rva, answer in zip(addresses, answers):
        expected = [[*frames[:-1], frames[-1]._replace(name=name)] for frames, names in
                    ((dump.frames(p, rva), dump.linkage_names(p, i386)) for p in dump.procs_at(rva)) for name in names]
        if not expected:
            continue
        totals["gsym compared"] += 1
        if answer in expected:
            totals["gsym equal"] += 1
        else:
            differ.append(f"{rva:#x} is {[str(f) for f in answer]}, not {[str(f) for f in expected[0]]}")
    if differ:
        failures.append(f"{what}: {len(differ)} of {len(addresses)} addresses differ: " + "; ".join(differ[:3]))


def compare_gsymutil(what, gsym, out, addresses):
    """llvm-gsymutil reads what was written, and answers the same."""
    chosen = addresses[::7]
    for address, own, theirs in zip(chosen, frames.gsym(gsym, out, chosen), frames.gsymutil(out, chosen)):
        totals["llvm-gsymutil compared"] += 1
        if own == theirs:
            totals["llvm-gsymutil equal"] += 1
        else:
            failures.append(f"{what}: llvm-gsymutil at {address:#x}: {theirs}, not {own}")


def check_program(gsym, what, program, pdb):
    dump = pdbutil.Dump(pdb)
    addresses = [a for a in dump.addresses() if dump.procs_at(a)]
    if dump.unknown or len(dump.procs) < 10 or len(addresses) < 200:
        failures.append(f"{what}: the dump has {len(dump.procs)} functions, {len(addresses)} addresses, unknown {dump.unknown[:2]}")
        return
    compare_symbolizer(what, dump, addresses, program)
    base, i386 = image_base(program), machine(program) == 0x14c
    for path, add in ((program, base), (pdb, 0)):
        out = program.with_name("out.gsym")
        done = convert(gsym, path, out)
        if done.returncode:
            failures.append(f"{what}: {path.name}: exit {done.returncode}: {done.stderr}")
            continue
        compare_gsym(f"{what}: {path.name}", gsym, dump, addresses, out, add, i386)
        verified = subprocess.run([gsym, "verify", str(out)], capture_output=True, text=True, timeout=600)
        if verified.returncode:
            failures.append(f"{what}: {path.name}: gsym verify: {verified.stdout}{verified.stderr}")
        if path is program:
            compare_gsymutil(what, gsym, out, [add + a for a in addresses])


def check_programs(gsym, found, directory):
    for b in pdb_programs.matrix():
        program, pdb, wrong = pdb_programs.build(found, b, directory)
        if wrong:
            failures.append(f"{b.name}: does not build: {wrong}")
        else:
            check_program(gsym, b.name, program, pdb)


# ---- How a program finds its PDB ----

def answer(gsym, path, out, address, *options):
    """The innermost frame at an address, or what convert said."""
    done = convert(gsym, path, out, *options)
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip()}"
    found = frames.gsym(gsym, out, [address])[0]
    return str(found[0]) if found else ""


def check_finding(gsym, found, directory):
    b = pdb_programs.Build("finding", level="-O1")
    program, pdb, wrong = pdb_programs.build(found, b, directory, more=["/export:input"])
    if wrong:
        failures.append(f"finding: does not build: {wrong}")
        return
    dump = pdbutil.Dump(pdb)
    proc = next(p for p in dump.procs if p.name == "chosen")
    address = image_base(program) + proc.rva
    full = str(dump.frames(proc, proc.rva)[0]._replace(name="?chosen@@YAHH@Z"))
    out = directory / "out.gsym"
    place = directory / "elsewhere"

    def expect(what, wanted, *options):
        got = answer(gsym, program, out, address, *options)
        if got != wanted:
            failures.append(f"PDB {what}: {got!r}, not {wanted!r}")

    whole, text, at = pdb.read_bytes(), program.read_bytes(), guid_at(program)
    info = f"{uuid.UUID(bytes_le=text[at:at + 16]).hex.upper()}1"
    expect("beside the program", full)
    pdb.unlink()
    missing = answer(gsym, program, out, address)
    if missing == full or "chosen" in missing:
        failures.append(f"PDB missing: {missing}")
    place.mkdir()
    for name in ("x.pdb", f"x.pdb/{info}/x.pdb"):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(whole)
        expect(f"below a debug directory as {name}", full, f"--debug-dir={place}")
        path.unlink()
        if path.parent != place:
            shutil.rmtree(place / "x.pdb")
    pdb.write_bytes(whole)
    program.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1:])
    expect("with another GUID", missing)
    program.write_bytes(text[:at + 16] + struct.pack("<I", 77) + text[at + 20:])
    expect("with another age", missing)
    program.write_bytes(text)
    b.debug = False
    check_publics(gsym, *pdb_programs.build(found, b, directory)[:2], out)


def check_publics(gsym, program, pdb, out):
    """A PDB without private symbols: the names that its publics have."""
    dump = pdbutil.Dump(pdb)
    base = image_base(program)
    code = [(dump.rva(section, off), name) for section, off, name, flags in dump.publics if "function" in flags]
    if dump.procs or len(code) < 10:
        failures.append(f"publics: {len(dump.procs)} functions, {len(code)} publics")
    for path, add in ((program, base), (pdb, 0)):
        done = convert(gsym, path, out)
        if done.returncode:
            failures.append(f"publics of {path.name}: exit {done.returncode}: {done.stderr}")
            continue
        answers = frames.gsym(gsym, out, [add + rva for rva, _ in code])
        for (rva, _), got in zip(code, answers):
            names = {name for other, name in code if other == rva}
            totals["publics compared"] += 1
            if len(got) == 1 and got[0].name in names:
                totals["publics equal"] += 1
            else:
                failures.append(f"publics of {path.name}: {rva:#x} is {got}, not {names}")


# ---- Alone ----

def check_alone(gsym, found, directory):
    """A PDB without its program: link-time addresses are as good as relative ones, others are unknown."""
    for machine, base, other in (("x86_64", 0x140000000, 0x7ff612340000), ("i386", 0x400000, 0x7ffe0000)):
        program, pdb, wrong = pdb_programs.build(found, pdb_programs.Build("alone", machine=machine), directory)
        if wrong:
            failures.append(f"alone, {machine}: does not build: {wrong}")
            continue
        rva = next(p for p in pdbutil.Dump(pdb).procs if p.name == "chosen").rva
        addresses = [f"{a + rva:#x}" for a in (0, base, image_base(program), other)]
        for operands, lines in ((addresses, ""), ([], "\n".join(addresses))):
            done = subprocess.run([gsym, "lookup", str(pdb), *operands], input=lines, capture_output=True, text=True, timeout=600)
            told = done.stdout.split("\n\n") if lines else done.stdout.splitlines()
            if not ("chosen" in told[0] and told[0].strip() == told[1].strip() == told[2].strip() and "??" in told[3]):
                failures.append(f"alone, {machine}: {addresses} are {told}")


# ---- Refused ----

def check_refused(gsym, directory):
    files = {"portable PDB": b"BSJB\1\0\1\0\0\0\0\0\x0c\0\0\0PDB v1.0\0\0\0\0" + bytes(4096),
             "MSFZ": b"Microsoft MSFZ Container\r\n\x1aALD\0\0" + bytes(4096),
             "2.00": b"Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0" + bytes(4096)}
    for name, data in files.items():
        path = directory / "refused.pdb"
        path.write_bytes(data)
        done = convert(gsym, path, directory / "refused.gsym")
        if done.returncode != 1 or name.lower() not in done.stderr.lower():
            failures.append(f"{name}: exit {done.returncode}: {done.stderr}")


def main():
    gsym = gsym_program(sys.argv[1])
    found, missing = pdb_programs.tools()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        pdb_programs.write_sources(directory)
        check_refused(gsym, directory)
        if not missing:
            check_programs(gsym, found, directory)
            check_finding(gsym, found, directory)
            check_alone(gsym, found, directory)
    for name, count in sorted(totals.items()):
        if name.endswith(" compared"):
            who = name[:-len(" compared")]
            print(f"{who}: {count:,} compared, {totals[who + ' equal']:,} equal")
        elif name.startswith("rule "):
            print(f"llvm-symbolizer differs by the {name}: {count:,}")
    print("\n".join(failures))
    if not failures and missing:
        peers.skip(f"not installed: {', '.join(missing)} (Debian packages clang, lld, llvm)")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
