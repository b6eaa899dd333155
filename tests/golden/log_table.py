#!/usr/bin/env python3
"""The tables of docs/logs.md are what gsym filter does.

A row of the first three has the lines of a log, and those that are others afterwards; a row of the last has a line, and what standard error
says of it. The image is plain.gsym of the transcripts, and for lines that need segments a small ELF file with the same functions.

    log_table.py GSYM MAKE_INPUTS
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402

# Two builds of one name, and two functions of one.
TWICE = "MODULE Linux x86_64 {}0 twice\nFUNC 10 10 0 work\n"
NO_LINES = "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F1 nolines\nFUNC 10 10 0 work\n"
MANY = "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 many\nFUNC 10 10 0 ns::work(int)\nFUNC 20 10 0 ns::work(char)\n"


def elf(kind=3):
    """A shared object, or with kind 2 a program that cannot move, whose code, one page, is at 0x1000: main() and _start()."""
    strings, names = b"\0main\0_start\0", b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1000, 0x20) + \
        struct.pack("<IBBHQQ", 6, 0x12, 0, 1, 0x1100, 0x10)
    text = 0x1000
    places = [text, text + 0x1000]
    for part in (symbols, strings, names):
        places.append(places[-1] + len(part))
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", kind, 62, 1, 0x1000, 64, places[4], 0, 64, 56, 2, 64, 5, 4)
    loads = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, 0x200, 0x200, 0x1000) + \
        struct.pack("<IIQQQQQQ", 1, 5, text, 0x1000, 0x1000, 0x1000, 0x1000, 0x1000)
    sections = bytes(64)
    for name, kind, flags, address, where, size, link, info, align, entry in (
            (1, 1, 6, 0x1000, text, 0x1000, 0, 0, 16, 0), (7, 2, 0, 0, places[1], len(symbols), 3, 1, 8, 24),
            (15, 3, 0, 0, places[2], len(strings), 0, 0, 1, 0), (23, 3, 0, 0, places[3], len(names), 0, 0, 1, 0)):
        sections += struct.pack("<IIQQQQIIQQ", name, kind, flags, address, where, size, link, info, align, entry)
    return (header + loads).ljust(text, b"\0") + b"\x90" * 0x1000 + symbols + strings + names + sections


class Images:
    def __init__(self, gsym, make_inputs, directory):
        self.gsym, self.directory = gsym, pathlib.Path(directory)
        peers.run([make_inputs, directory])
        for place, number in (("elf", 3), ("fixed", 2)):
            (self.directory / place).mkdir()
            (self.directory / place / "plain").write_bytes(elf(number))
        plain, kernel = self.directory / "plain.gsym", self.directory / "vmlinux-6.1.0-13-amd64.gsym"
        shutil.copy(plain, kernel)
        self.files = {"one": [plain], "elf": [self.directory / "elf" / "plain"],
                      "fixed": [self.directory / "fixed" / "plain"], "several": [plain, kernel]}
        for place, name, text in (("1", "twice", TWICE.format("01" * 16)), ("2", "twice", TWICE.format("02" * 16)), ("1", "many", MANY), ("1", "nolines", NO_LINES)):
            sym = self.directory / place / f"{name}.sym"
            sym.parent.mkdir(exist_ok=True)
            sym.write_text(text)
            peers.run([gsym, "convert", "--quiet", "-o", sym.with_suffix(".gsym"), sym])
            self.files["several"].append(sym.with_suffix(".gsym"))

    def tell(self, lines, kind):
        """The lines of a log afterwards, and what standard error says."""
        done = subprocess.run([self.gsym, "filter", "--strip-prefix=/src/app", *self.files[kind]], input="\n".join(lines) + "\n", capture_output=True,
                              text=True, timeout=300, env=dict(os.environ, XDG_CACHE_HOME=str(self.directory / "cache")), check=True)
        return done.stdout.splitlines(), done.stderr.splitlines()


# What is said of all frames: those that the log has told whole are neither explained nor not.
SUMMARIES = (
    (("[nowhere+0x15]", "[plain+0x15]", "[plain+0x15] main at main.cc:12"), "1 of 2 frames explained; of 1 more the log has all that is known"),
    (("C  [nolines+0x15]  work+0x5", "C  [nolines+0x15]"), "1 of 1 frames explained; of 1 more the log has all that is known"),
    (("[plain+0x15] main at main.cc:12",), "0 of 0 frames explained; of 1 more the log has all that is known"),
)


# Kernel frames in the log of a program, which is the only file.
KERNEL = ("CPU: 0 PID: 1 Comm: cat Not tainted 5.10.0 #1", "            1025 Shape::move+0x5 (/opt/plain)", "  ffffffff81000015 vfs_read+0x15 ([kernel.kallsyms])")
# What is said among other things.
TOLD = (
    ("one", KERNEL, "kernel: 1 frame not explained: give vmlinux of 5.10.0"),
    ("fixed", ('  Binary file "/opt/plain" [0x1800]',), "plain: 1 frame not explained: not in a function of the image, which has no debug data; give the file that has it"),
)


def lines_of(cell):
    """The code in a cell of a table, one piece a line."""
    lines = []
    for piece in cell.strip().split("<br>"):
        code = re.fullmatch(r"`` (.*) ``|`(.*)`|", piece)
        lines.append((code.group(1) or code.group(2) or "").replace("\\|", "|"))
    return lines


def rows(text, heading):
    """The cells of the table after a heading."""
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in table]


def main():
    gsym = peers.gsym_program(sys.argv[1])
    text = (HERE.parent.parent / "docs" / "logs.md").read_text()
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        images = Images(gsym, pathlib.Path(sys.argv[2]).resolve(), directory)
        for heading, kind in (("Formats", "one"), ("Formats that need the program", "elf"),
                              ("Programs that cannot move", "fixed")):
            for name, before, after in rows(text, heading):
                lines = lines_of(before)
                got = [line for line in images.tell(lines, kind)[0] if line not in lines]
                good = got == lines_of(after)
                failed += not good
                print(f"{'ok' if good else 'not ok'}: {name.strip()}{'' if good else f': {got}'}")
        for line, reason in rows(text, "Reasons"):
            got = [said for said in images.tell(lines_of(line), "several")[1] if "frames explained" not in said]
            good = got == lines_of(reason)
            failed += not good
            print(f"{'ok' if good else 'not ok'}: {reason.strip()}{'' if good else f': {got}'}")
        for kind, lines, reason in TOLD:
            got = images.tell(lines, kind)[1]
            failed += f"gsym filter: {reason}" not in got
            print(f"{'ok' if f'gsym filter: {reason}' in got else 'not ok'}: {reason}: {got}")
        for lines, summary in SUMMARIES:
            got = images.tell(lines, "several")[1][0]
            failed += got != f"gsym filter: {summary}"
            print(f"{'ok' if got == f'gsym filter: {summary}' else 'not ok'}: {summary}: {got}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
