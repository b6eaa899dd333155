"""Answers of the different tools in one shape: a list of Frame, innermost first, [] for "not known"."""
import json
import re
from typing import NamedTuple

from . import peers


class Frame(NamedTuple):
    name: str
    file: str
    line: int

    def __str__(self):
        return f"{self.name or '??'} at {self.file or '??'}:{self.line}"


def _from_json(text):
    frames = [Frame(s.get("FunctionName") or "", s.get("FileName") or "", s.get("Line") or 0)
              for s in json.loads(text).get("Symbol", [])]
    known = any(f.name not in ("", "??") or f.file not in ("", "??") for f in frames)
    return frames if known else []


def _addresses(addresses):
    return "".join(f"{a:#x}\n" for a in addresses)


def records(output, count, who):
    lines = [line for line in output.split("\n") if line]
    if len(lines) != count:
        raise RuntimeError(f"{who} gave {len(lines)} records for {count} addresses")
    return [_from_json(line) for line in lines]


def symbolizer(path, addresses, functions="linkage", demangle=False):
    """Frames by llvm-symbolizer from the object file @path."""
    tool = peers.need("llvm-symbolizer", "llvm-22")
    out = peers.run([tool, "--output-style=JSON", "--demangle" if demangle else "--no-demangle",
                     f"--functions={functions}", "-e", path],
                    stdin=_addresses(addresses))
    return records(out, len(addresses), tool)


def gsym(program, gsym_file, addresses, demangle=False):
    """Frames by `gsym lookup` from a GSYM file."""
    out = peers.run([program, "lookup", "--format=json", *([] if demangle else ["--no-demangle"]), gsym_file],
                    stdin=_addresses(addresses))
    return records(out, len(addresses), program)


_PLACE = re.compile(r"^(?P<file>.*?):(?P<line>\d+)(?::\d+)?(?: \(.*\))?$")


def elfutils(path, addresses):
    """
    Frames by eu-addr2line from the object file @path, which may be a relocatable one, and whether they are sound:
    the second is where the first line says that the first was inlined, and none is told twice.
    """
    tool = peers.need("eu-addr2line", "elfutils")
    out = peers.run([tool, "-a", "-f", "-i", "-e", path], stdin=_addresses(addresses), timeout=1800,
                    check=False)  # its status says whether it knew every address
    records = re.split(r"^0x[0-9a-f]{16}\n", out, flags=re.MULTILINE)[1:]
    if len(records) != len(addresses):
        raise RuntimeError(f"{tool} gave {len(records)} records for {len(addresses)} addresses")
    return [_elfutils_record(r.splitlines()) for r in records]


def _elfutils_record(lines):
    """Lines by twos: a function and its place. The first may be "A inlined at B:1:2 in C"."""
    frames = []
    called_at = lines[0].split(" inlined at ")[1].rsplit(" in ")[0] if " inlined at " in lines[0] else None
    for name, place in zip(lines[::2], lines[1::2]):
        name = name.split(" inlined at ")[0]
        found = _PLACE.match(place)
        file = found["file"] if found and found["file"] != "??" else ""
        frames.append(Frame("" if name == "??" else name, file, int(found["line"]) if file else 0))
    known = any(f.name or f.file for f in frames)
    sound = lines[3:4] == [called_at] if called_at else len(frames) == 1
    return frames if known else [], sound and not any(a == b for a, b in zip(frames, frames[1:]))


_FRAME = re.compile(r"^(?P<name>.*?)(?: \+ \d+)?(?: @ (?P<file>.*):(?P<line>\d+))?(?: \[inlined\])?$")
_FIRST = re.compile(r"^0x[0-9a-f]{16}: ")


def gsymutil(gsym_file, addresses):
    """Frames by llvm-gsymutil from a GSYM file, whoever wrote it."""
    tool = peers.need("llvm-gsymutil", "llvm-22")
    out = peers.run([tool, "--addresses-from-stdin"],
                    stdin="".join(f"{a:#x} {gsym_file}\n" for a in addresses))
    records = out.split("\n\n")
    if records[-1].strip() == "":
        records.pop()
    if len(records) != len(addresses):
        raise RuntimeError(f"{tool} gave {len(records)} records for {len(addresses)} addresses")
    return [gsymutil_record(r) for r in records]


def gsymutil_record(text):
    text = _FIRST.sub("", text.strip("\n"))
    if text.startswith("error: "):
        return []
    frames = []
    for line in text.split("\n"):
        found = _FRAME.match(line.strip())
        frames.append(Frame(found["name"], found["file"] or "", int(found["line"] or 0)))
    return frames


def convert_with_gsymutil(path, out):
    """llvm-gsymutil's own conversion of @path, one thread so that its output is repeatable."""
    tool = peers.need("llvm-gsymutil", "llvm-22")
    peers.run([tool, "--quiet", "--num-threads=1", "--convert", path, "-o", out])


_RANGE = re.compile(r"^( *)(?:FunctionInfo @ 0x[0-9a-f]+: )?((?:\[0x[0-9a-f]+ - 0x[0-9a-f]+\) ?)+)")
_ROW = re.compile(r"^  0x([0-9a-f]{16}) ")
_PAIR = re.compile(r"\[0x([0-9a-f]+) - 0x([0-9a-f]+)\)")


def tables(gsym_file, gsym=None):
    """What the dump of a GSYM file holds: (function ranges, row addresses, inline ranges).

    By llvm-gsymutil, or in the same words by our program.
    """
    dump = [gsym, "dump", gsym_file] if gsym else [peers.need("llvm-gsymutil", "llvm-22"), gsym_file]
    functions, rows, inlines = [], [], []
    for line in peers.run(dump).split("\n"):
        row = _ROW.match(line)
        if row:
            rows.append(int(row[1], 16))
            continue
        ranges = _RANGE.match(line)
        if not ranges:
            continue
        into = functions if line.startswith("FunctionInfo") else inlines if ranges[1] else None
        if into is not None:
            into += [(int(a, 16), int(b, 16)) for a, b in _PAIR.findall(ranges[2])]
    return functions, rows, inlines
