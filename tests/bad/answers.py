#!/usr/bin/env python3
"""What damage must not change: answers that do not depend on the damaged bytes are those of the undamaged file.

A program of several units is damaged in one place that is known: a section that says nothing of functions, the line
tables, one unit, the symbols. A reader that loses its way without a crash gives wrong answers for what is sound; a
reader that guesses instead of saying that something is damaged gives other answers without a note. Of the undamaged
program no warning may be told.
"""
import argparse
import random
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402
from lib.elf import SHT_NOBITS, Elf  # noqa: E402

UNITS = ("first", "second", "third")
SOURCE = """
static inline __attribute__((always_inline)) int {0}_inline(int x)
{{
	volatile int y = x * 3;
	return y + 1;
}}
__attribute__((noinline)) int {0}_one(int x)
{{
	volatile int y = {0}_inline(x);
	return y - 2;
}}
__attribute__((noinline, cold)) void {0}_cold(int x)
{{
	volatile int y = x;
	(void)y;
}}
__attribute__((noinline)) int {0}_two(int x)
{{
	if (x > 1000) {{
		{0}_cold(x);
		{0}_cold(x + 1);
	}}
	return {0}_one(x + 1) * {0}_inline(x);
}}
"""
MAIN = "int first_two(int);\nint main(int n, char **v)\n{\n\t(void)v;\n\treturn first_two(n);\n}\n"
TOLD = b"warnings of the input"  # of the summary of a conversion
# Sections that no answer is made of.
UNUSED = re.compile(r"\.(comment|debug_(aranges|frame|loc|loclists|(gnu_)?pub(names|types)|macro|macinfo|types|gdb_scripts)|eh_frame"
                    r"(_hdr)?|gnu\.hash|hash|data|rodata|init_array|fini_array|interp|note\.(ABI-tag|gnu\.property))$")
LINES, FILES = re.compile(r"\.debug_line$"), re.compile(r"\.debug_line_str$")
SYMBOLS = re.compile(r"\.(symtab|strtab|dynsym|dynstr)$")


class Program:
    """An undamaged file, and what it answers."""

    def __init__(self, gsym, path):
        self.gsym, self.path, self.data, self.elf = gsym, path, path.read_bytes(), Elf(path)
        functions = [f for f in self.elf.functions() if f.size and f.name.split("_")[0] in (*UNITS, "main")]
        self.addresses = sorted({a for f in functions for a in range(f.addr, f.addr + f.size)})
        done, self.answers = self.ask(path)
        self.note = done.stderr
        self.unit_of = {a: frames[-1][1] for a, frames in self.answers.items()}

    def ask(self, path):
        """The conversion, and {address: frames of (function, file, line)}; None where it fails."""
        out = path.with_suffix(".gsym")
        done = subprocess.run([self.gsym, "convert", path, "-o", out], capture_output=True, timeout=600, check=False)
        if done.returncode:
            return done, None
        lines = peers.run([self.gsym, "lookup", "--format=tsv", out], stdin="".join(f"{a:#x}\n" for a in self.addresses))
        answers = {}
        for line in lines.splitlines():
            address, _, function, _, file, number = line.split("\t")[:6]
            answers.setdefault(int(address, 16), []).append((function, file, number))
        return done, answers

    def sections(self, names):
        return [s for s in self.elf.sections if names.match(s.name) and s.type != SHT_NOBITS and s.size]

    def put(self, offset, content):
        return self.data[:offset] + content + self.data[offset + len(content):]


def contents(size, seed):
    """(name, bytes)."""
    yield "zeros", bytes(size)
    yield "ones", b"\xff" * size
    yield "noise", random.Random(seed).randbytes(size)


# What must stay, as functions of the frames of an answer.
def everything(frames):
    return frames


def names(frames):
    return [f[0] for f in frames]


def outermost_name(frames):
    return frames[-1][0]


def outermost_place(frames):
    return frames[-1][1:]


def units(program):
    """(offset of the unit's content in the file, its size, offset of its header in the section) by .debug_info."""
    info = next(s for s in program.elf.sections if s.name == ".debug_info")
    at = info.offset
    while at < info.offset + info.size:
        length, version = struct.unpack_from(program.elf.order + "IH", program.data, at)
        header = 12 if version >= 5 else 11
        yield at + header, length + 4 - header
        at += length + 4


def cases(program):
    """(name, damaged bytes, what must stay of each answer, of which addresses, whether a difference must be told)."""
    everywhere = program.addresses
    for section in program.sections(UNUSED):
        for what, content in contents(section.size, section.name):
            yield f"{section.name}:{what}", program.put(section.offset, content), everything, everywhere, False
    for section in program.sections(LINES):  # inlined calls go with the files that they name
        for what, content in contents(section.size, section.name):
            yield f"{section.name}:{what}", program.put(section.offset, content), outermost_name, everywhere, True
    for section in program.sections(FILES):
        for what, content in contents(section.size, section.name):
            yield f"{section.name}:{what}", program.put(section.offset, content), names, everywhere, False
    for section in program.sections(SYMBOLS):
        for what, content in contents(section.size, section.name):
            yield f"{section.name}:{what}", program.put(section.offset, content), outermost_place, everywhere, False
    for number, (offset, size) in enumerate(units(program)):
        mine = program.unit_files[number]
        others = [a for a in everywhere if program.unit_of[a] != mine]
        for what, content in contents(size, f"unit {number}"):
            damaged = program.put(offset, content)
            yield f"unit {number}:{what}", damaged, everything, others, True
            yield f"unit {number}:{what}, symbols", damaged, outermost_name, everywhere, False


def check(program, place, case):
    name, data, what, addresses, must_tell = case
    with tempfile.TemporaryDirectory(dir=place) as private:
        path = Path(private) / "program"
        path.write_bytes(data)
        done, answers = program.ask(path)
    if answers is None:
        return f"{name}: not converted: {done.stderr.decode(errors='replace').strip()}"
    for address in addresses:
        want, got = program.answers[address], answers.get(address, [("", "", "")])
        if what(want) != what(got):
            return f"{name}: {address:#x}: {what.__name__} {what(got)}, not {what(want)}"
    if must_tell and answers != program.answers and TOLD not in done.stderr:
        return f"{name}: other answers, and no word of it: {done.stderr.decode(errors='replace')}"
    return None


def build(compiler, flags, place):
    """A program of one file a unit, or None."""
    directory = Path(tempfile.mkdtemp(dir=place))
    sources = []
    for unit in UNITS:
        sources.append(directory / f"{unit}.c")
        sources[-1].write_text(SOURCE.format(unit) + (MAIN if unit == UNITS[-1] else ""))
    path = directory / "program"
    done = subprocess.run([compiler, *flags, "-O2", "-g", *sources, "-o", path], capture_output=True, check=False)
    return path if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    gsym = peers.gsym_program(options.gsym)
    compilers = [c for c in ("gcc", peers.find("clang")) if c and peers.find(c)]
    faults, count = [], 0
    with tempfile.TemporaryDirectory(prefix="gsym-bad-") as place:
        for compiler in compilers:
            for version in (4, 5):
                path = build(compiler, [f"-gdwarf-{version}"], place)
                if not path:
                    continue
                program = Program(gsym, path)
                program.unit_files = [str(path.parent / f"{unit}.c") for unit in UNITS]
                for file in program.unit_files:
                    assert file in program.unit_of.values(), (file, set(program.unit_of.values()))
                made = list(cases(program))
                count += len(made)
                with ThreadPoolExecutor(options.jobs) as pool:
                    found = pool.map(lambda case, p=program: check(p, place, case), made)
                faults += [f"{Path(compiler).name}, DWARF {version}: {fault}" for fault in found if fault]
                if TOLD in program.note:
                    faults.append(f"{Path(compiler).name}, DWARF {version}: undamaged: {program.note.decode()}")
    if not count:
        peers.skip("no compiler for the programs to damage")
    for fault in faults:
        print("FAIL " + fault.replace("\n", "; "))
    print(f"{count} damaged programs, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
