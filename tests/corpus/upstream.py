#!/usr/bin/env python3
"""llvm-gsymutil's own test inputs, converted by gsym and judged by their own expectations.

    upstream.py DIRECTORY [--gsym PROGRAM] [--verbose]

DIRECTORY holds files of llvm/test/tools/llvm-gsymutil, also in folders (elf-*.yaml, mach*.yaml, fat-macho-*.yaml,
macho-*.test, statistics-detailed.yaml, cmdline.test); they are not part of this project. Their RUN lines are carried out with gsym in place of llvm-gsymutil, behind a front that
takes its options and words the summary as it does, and their CHECK lines are evaluated one by one. Twice: as gsym
converts by default, and with --match-llvm. Each line that does not hold must be in DEVIATIONS, with the decision
behind it, and each entry there must be of use. llvm-gsymutil itself is run alongside, for the table: inputs may be
younger than it.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib import peers  # noqa: E402

DEFAULT, MATCH = "default", "--match-llvm"
BOTH = (DEFAULT, MATCH)

VERBOSE = "gsym(1): gsym lookup has no --verbose; gsym dump prints records"
WORDS = "own words for the same news"
STUB_COUNT = "stubs are symbols of the image, and counted with them: docs/design/converter.md, Stubs"
LAST_22 = "--match-llvm is llvm-gsymutil 22, where the last function reaches to the end of all code around it"
PLT = "entries of procedure linkage tables are functions, here two: docs/design/converter.md, Stubs"
PLT_3 = PLT.replace("two", "three")
SEGMENTS = "a section of code lies outside the executable segments, which tell where code is then: CHANGELOG.md"
STUBS_22 = "--match-llvm is llvm-gsymutil 22, which has no stubs"
CALL_FLAGS = "call sites from DWARF have flags, as the callee is in the image or is not: docs/design/upstream-defects.md"
LAYOUT = "strings are stored in the order of the functions that use them, and no others: docs/design/converter.md, Determinism"

# The release of LLVM whose expectations a file has, if that is not 22, of which --match-llvm is: 24 means the development after
# release 23. Stubs of Mach-O files are named "symbol stub for: puts" there, as they are here; releases 22 and 23 have none.
RELEASES = {
    "cmdline.test": 23,
    "elf-gnu-debugdata-corrupt.yaml": "after 22",
    "elf-gnu-debugdata-no-lzma.yaml": "after 22",
    "elf-gnu-debugdata.yaml": "after 22",
    "elf-symtab-file.yaml": 23,
    "fat-macho-symtab-file.yaml": 23,
    "macho-last-symbol-section-end.yaml": "after 22",
    "macho-stubs-file.yaml": 24,
    "macho-symbol-stubs.yaml": 24,
    "statistics-detailed.yaml": 24,
}

# File -> [(pattern that the whole CHECK line matches, modes, why, what the output says instead or "")].
DEVIATIONS = {
    "cmdline.test": [
        (r"(HELP|VERSION): .*", BOTH, "gsym(1): commands instead of one list of options", ""),
    ],
    "elf-dwarf.yaml": [
        (r"ADDRV: .*", BOTH, VERBOSE, ""),
        (r'DUMP-NEXT: 0x\w+: ".+"', BOTH, LAYOUT, ""),
        (r'DUMP: FunctionInfo @ .* "_fini"', (MATCH,), SEGMENTS, r"- 0x0000000000400560\) \"_fini\""),
        (r'DUMP: FunctionInfo @ .* - \w+\) "(_init|_start|.*_tm_clones|__do_global_dtors_aux|frame_dummy)"', (DEFAULT,),
         "docs/design/converter.md, Symbols: a missing size is inferred", r"0400390 - 0x00000000004003aa\) \"_init\""),
        (r"CONVERT: Loaded 10 functions from symbol table\.|CONVERT: Pruned 1 functions, ended with 10 total", (DEFAULT,), PLT,
         r"Loaded 12 functions from symbol table\.\nPruned 1 functions, ended with 12 total\n"),
        (r"DUMP-NEXT: (NumAddresses|StrtabOffset|StrtabSize) += 0x\w+", (DEFAULT,), PLT,
         r"NumAddresses = 0x0000000c\n  StrtabOffset = 0x0000008c\n  StrtabSize   = 0x000000ba\n"),
        (r"DUMP-NEXT: \[   [1-9]\] 0x\w{4} \(0x\w{16}\)", (DEFAULT,), PLT,
         "".join(rf"\[{i:4}\] 0x{off:04x} \(0x{0x400000 + off:016x}\)\n" for i, off in enumerate(
             (0x390, 0x3c0, 0x3d0, 0x3e0, 0x410, 0x440, 0x480, 0x4a0, 0x4cd, 0x4e0, 0x550, 0x554)))),
        (r"DUMP-NEXT: \[   [0-9]\] 0x\w{8}", (DEFAULT,), PLT,
         "".join(rf"\[{i:4}\] 0x{off:08x}\n" for i, off in enumerate((*range(0x148, 0x1d8, 0x10), 0x1e8, 0x1f8, 0x208)))),
        (r'DUMP: FunctionInfo @ .* "(main|__libc_csu_init|__libc_csu_fini|_fini)"|DUMP-NEXT: (LineTable:|0x\w+ /tmp/main.cpp:\d)',
         (DEFAULT,), PLT + "; the same records elsewhere",
         r'FunctionInfo @ 0x000001c8: \[0x00000000004004cd - 0x00000000004004df\) "main"\nLineTable:\n'
         r"  0x00000000004004cd /tmp/main.cpp:1\n  0x00000000004004d8 /tmp/main.cpp:2\n  0x00000000004004dd /tmp/main.cpp:3\n"
         r'FunctionInfo @ 0x000001e8: \[0x00000000004004e0 - 0x0000000000400545\) "__libc_csu_init"\n'
         r'FunctionInfo @ 0x000001f8: \[0x0000000000400550 - 0x0000000000400552\) "__libc_csu_fini"\n'
         r'FunctionInfo @ 0x00000208: \[0x0000000000400554 - 0x000000000040055d\) "_fini"\n'),
    ],
    "elf-dwarf-icf.yaml": [
        (r"CONVERT: Loaded 8 functions from symbol table\.|CONVERT: Pruned 3 functions, ended with 7 total", (DEFAULT,), PLT_3,
         r"Loaded 11 functions from symbol table\.\nPruned 3 functions, ended with 10 total\n"),
    ],
    "elf-dwo.yaml": [
        (r"WARNING: warning: Unable to retrieve DWO .*", BOTH, WORDS,
         r"missing files that the input refers to:\n  main_split-main.dwo"),
        (r"WARNING-QUIET: warning: Unable to retrieve DWO .*", BOTH, WORDS, r"unit is in a split file that is not here: 1"),
    ],
    "elf-gnu-debugdata-corrupt.yaml": [
        (r"CONVERT: warning: unable to read the .gnu_debugdata section.*", (DEFAULT,), WORDS,
         r"section ignored: damaged: 1, first: \.gnu_debugdata"),
        (r"CONVERT: warning: unable to read the .gnu_debugdata section.*", (MATCH,),
         "--match-llvm is llvm-gsymutil 22, which does not read the section", ""),
    ],
    "elf-gnu-debugdata.yaml": [
        (r"CONVERT: Loaded \d functions from .*symbol table.", (DEFAULT,), "one count for all symbol tables",
         r"Loaded 3 functions from symbol table"),
        (r"CONVERT: Loaded \d functions from .*symbol table.|.*stripped_func_.*", (MATCH,),
         "--match-llvm is llvm-gsymutil 22, which does not read the section", ""),
    ],
    "elf-invalid-llvm-stmt-sequence.yaml": [
        (r"CONVERT: error: function DIE at 0x00000015 has .*", BOTH, WORDS,
         r"line sequence that a function names does not describe it: 1, first: \.debug_info\+0x15"),
    ],
    "elf-mangled-name-replacement.yaml": [
        (r'DUMP: "_Z10make_ftypePci"', (MATCH,),
         "llvm-gsymutil 22 names the function make_ftype; the mangled name is in its string table only", ""),
    ],
    "elf-swift-mangled-name-replacement.yaml": [
        (r'DUMP: "\$s4main10make_ftypeyyF"', (MATCH,),
         "llvm-gsymutil 22 names the function make_ftype; the mangled name is in its string table only", ""),
    ],
    "elf-symtab-file.yaml": [
        (r"MISMATCH: architecture mismatch: .*", BOTH, WORDS, r"its architecture is aarch64, that of \S+ is x86_64"),
        (r"INVALID: The file was not recognized as a valid object file", BOTH, WORDS, r"debug.yaml: not an object file"),
    ],
    "fat-macho-symtab-file.yaml": [
        (r"FAT-THIN-ERR: use --arch .*", BOTH, WORDS, r"its architecture is arm64, that of \S+ is armv7"),
        (r"MISSING-ARCH: symbol table file .*", BOTH, WORDS, r"symtab-armv7-only-fat.o: holds images for armv7, none for arm64"),
    ],
    "mach-dwarf.yaml": [
        (r"ADDRV(-NEXT)?: .*", BOTH, VERBOSE, ""),
        (r'DUMP-NEXT: (0x\w+: ".+"|\[   1\] 0x\w+ 0x\w+ /tmp/main.cpp)', BOTH, LAYOUT, r"\[   1\] 0x\w+ 0x\w+ /tmp/main.cpp"),
    ],
    "macho-gsym-merged-callsites-dsym.yaml": [
        (r"CHECK-MERGED-CALLSITES-NEXT: .* Flags\[None\] .*", (DEFAULT,), CALL_FLAGS,
         r"Flags\[InternalCall\] MatchRegex\[function3_copy1\]"),
    ],
    "macho-invalid-section-offset.yaml": [
        (r"CHECK: Loaded 0 functions from symbol table.", BOTH, WORDS, "no function found: neither DWARF nor symbols name any code"),
    ],
    "macho-last-symbol-section-end.yaml": [
        (r"ADDR-NEXT: 0x0000000100000f(b0|cf): error: .*|DUMP: FunctionInfo @ .*", (MATCH,), LAST_22, ""),
    ],
    "macho-symbol-stubs.yaml": [
        (r"CONVERT: Loaded 1 functions from symbol (table|stubs).", (DEFAULT,), STUB_COUNT,
         r"Loaded 2 functions from symbol table"),
        (r"CONVERT: Loaded 1 functions from symbol stubs.|CONVERT: Pruned 0 functions, ended with 2 total|"
         r'ADDR-NEXT: .* symbol stub for: puts.*|DUMP: .*"symbol stub for: puts"', (MATCH,), STUBS_22, ""),
        (r"ADDR-NEXT: 0x00000001000005a0: error: .*", (MATCH,), LAST_22, ""),
    ],
    "macho-stubs-file.yaml": [
        (r"PLAIN: Loaded 0 functions from symbol stubs.", BOTH, STUB_COUNT, r"Loaded 2 functions from symbol table"),
        (r"STUBS: Loaded \d functions from symbol (table|stubs).", (DEFAULT,), STUB_COUNT,
         r"Loaded 3 functions from symbol table"),
        (r"(SYMTAB|BOTH): Loaded 1 functions from symbol (table|stubs).", (DEFAULT,), STUB_COUNT,
         r"Loaded 2 functions from symbol table"),
        (r"PLAIN-ADDR: .*", (MATCH,), LAST_22, ""),
        (r"(STUBS|BOTH): Loaded 1 functions from symbol stubs.|STUBS-ADDR-NEXT: .*|BOTH-ADDR: .*", (MATCH,), STUBS_22, ""),
        (r"BADSTUBS: The file was not recognized as a valid object file", BOTH, WORDS, r"dsym.yaml: not an object file"),
        (r"NOTMACHO: .*", BOTH, "an image of another format than its DWARF is refused: gsym(1) has no --stubs-file", ""),
    ],
    "statistics-detailed.yaml": [
        (r"STATS-NEXT: .*", BOTH, "gsym statistics has figures of its own; the sizes both have are compared",
         r"file_size: 473\n  address_table: 1\n  addr_info_offsets: 8\n  file_table: 52\n  string_table: 43\n"),
    ],
}


# ---- A small FileCheck ----

class Check:
    """One CHECK line: its kind ("", NEXT, NOT, EMPTY, ...) and its text."""

    def __init__(self, kind, text):
        self.kind, self.text = kind, text
        self.regex = re.compile(self._translate(text))

    def __str__(self):
        return f"{'-' + self.kind if self.kind else ''}: {self.text}"

    @staticmethod
    def _translate(text):
        # Numbers that are remembered and computed with, [[#%x,NAME:]], are here any number.
        text = re.sub(r"\[\[#.*?\]\]", "{{[0-9a-f]+}}", text)
        parts = re.split(r"\{\{(.*?)\}\}", text)
        literal = [re.sub(r"(?:\\ )+", r"[ \\t]+", re.escape(part)) for part in parts[::2]]
        out = literal[0]
        for pattern, after in zip(parts[1::2], literal[1:]):
            out += f"(?:{pattern})" + after
        return out


def checks_of(text, prefix):
    found = re.finditer(rf"(?m)^.*?(?<![\w-]){prefix}(?:-(NEXT|NOT|EMPTY|SAME|DAG|LABEL))?:[ \t]*(.*?)[ \t]*$", text)
    return [Check(m.group(1) or "", m.group(2)) for m in found]


def failing(checks, output):
    """The checks that do not hold. After one of them the others go on from where they were; after one of the next line, behind
    that line, so that lines which differ one by one are judged one by one."""
    lines, at, bad = output.splitlines(), 0, []
    for check in checks:
        if check.kind == "NOT":
            if any(check.regex.search(line) for line in lines):
                bad.append(check)
        elif check.kind == "EMPTY":
            if at < len(lines) and not lines[at].strip():
                at += 1
            else:
                bad.append(check)
        else:
            span = lines[at:at + 1] if check.kind == "NEXT" else lines[at:]
            hit = next((i for i, line in enumerate(span) if check.regex.search(line)), None)
            if hit is None:
                bad.append(check)
                at += check.kind == "NEXT" and at < len(lines)
            else:
                at += hit + 1
    return bad


# ---- gsym behind llvm-gsymutil's options ----

class Front:
    """Takes llvm-gsymutil's command line."""

    def __init__(self, gsym, mode):
        self.gsym, self.mode = gsym, mode

    def run(self, argv):
        self.options = {"address": []}
        self.inputs = []
        self._parse(argv)
        o = self.options
        if "help" in o or "h" in o or "version" in o:
            return self._gsym("--version" if "version" in o else "--help")
        if "convert" in o:
            return self._convert()
        if "addresses-from-stdin" in o:
            return self._from_stdin()
        if "statistics" in o:
            return self._statistics()
        if o["address"]:
            merged = [f"--{k}" + (f"={o[k]}" if o[k] else "") for k in ("merged-functions", "merged-functions-filter") if k in o]
            return self._gsym("lookup", "--format=gsymutil", *merged, *self.inputs, *o["address"])
        return self._gsym("dump", *self.inputs)

    def _parse(self, argv):
        takes = ("convert", "o", "out-file", "symtab-file", "address", "segment-size", "num-threads", "output-version",
                 "callsites-yaml-file", "arch", "stubs-file", "merged-functions-filter")
        words = iter(argv)
        for word in words:
            if not word.startswith("-"):
                self.inputs.append(word)
                continue
            name, equals, value = word.lstrip("-").partition("=")
            if name in takes and not equals:
                value = next(words)
            if name == "address":
                self.options["address"].append(value)
            else:
                self.options["out-file" if name == "o" else name] = value

    def _gsym(self, *argv, stdin=None):
        done = subprocess.run([self.gsym, *argv], input=stdin, text=True, timeout=300)
        return done.returncode

    def _convert(self):
        o = self.options
        out = o.get("out-file", o["convert"] + ".gsym")
        argv = [self.gsym, "convert", "-o", out, "--progress=never"]
        argv += [f"--{k}={o[k]}" for k in ("symtab-file", "segment-size", "num-threads", "output-version",
                                          "callsites-yaml-file", "arch") if k in o]
        argv += [f"--{k}" for k in ("merged-functions", "dwarf-callsites") if k in o]
        argv += [MATCH] if self.mode == MATCH else []
        # Stubs are those of the image, which may have its DWARF and more symbols elsewhere.
        files = [f"--debug-file={o['convert']}", o["stubs-file"]] if "stubs-file" in o else [o["convert"]]
        done = subprocess.run([*argv, *files], capture_output=True, text=True, timeout=300)
        print(f"Input file: {o['convert']}")
        for part in re.split(r"(?m)^(?=input: )", done.stderr) if done.stderr.startswith("input: ") else [done.stderr]:
            if part:
                self._tell(o, out, part)
        return done.returncode

    def _tell(self, o, out, text):
        """The summary of one image in llvm-gsymutil's words, as far as it has the figures; the rest as it is."""
        named = re.search(r"(?m)^output: (.*), \d+ bytes$", text)
        out = named.group(1) if named else out
        arch = re.search(r"(?m)^input: .* \((\w+)\)$", text)
        counts = re.search(r"(?m)^functions: (\d+) from the DWARF of \d+ units, (\d+) from symbols$", text)
        written = re.search(r"(?m)^written: (\d+)(?:; the other (\d+) describe the same code)?$", text)
        print(f"Output file ({arch.group(1) if arch else '?'}): {out}")
        for what, option in (("stubs", "stubs-file"), ("table", "symtab-file")):
            if option in o:
                print(f"Using symbol {what} file: {o[option]}")
        if not (counts and written):
            print(text, end="")
            return
        if "quiet" not in o:
            print(f"Loaded {counts.group(1)} functions from DWARF.")
            print(f"Loaded {counts.group(2)} functions from symbol table.")
        print(f"Pruned {written.group(2) or 0} functions, ended with {written.group(1)} total")
        for line in text.splitlines():
            if not re.match(r"(input|output|functions|written):", line):
                print(line)

    def _from_stdin(self):
        if self.inputs or self.options["address"]:
            print("error: no input files or addresses can be specified when using the --addresses-from-stdin option.")
            return 1
        for line in sys.stdin.read().splitlines():
            address, _, path = line.partition(" ")
            sys.stdout.flush()
            self._gsym("lookup", "--format=gsymutil", path, stdin=f"{address}\n")
        return 0

    def _statistics(self):
        """gsym's figures under llvm-gsymutil's names, where both count the same."""
        names = {"file": "file_size", "address offsets": "address_table", "info offsets": "addr_info_offsets",
                 "file table": "file_table", "string table": "string_table"}
        text = subprocess.run([self.gsym, "statistics", *self.inputs], capture_output=True, text=True, timeout=300).stdout
        print(f"path: {self.inputs[0]}")
        for line in text.splitlines():
            m = re.match(r"  (\S.*?) {2,}(\d+)", line)
            if m and m.group(1) in names:
                print(f"  {names.pop(m.group(1))}: {m.group(2)}")
            elif m and m.group(1) == "functions":
                print(f"num_addresses: {m.group(2)}")
        return 0


def split_file(source, target):
    """What LLVM's tool of that name does: parts begin with a line "#--- NAME"."""
    os.makedirs(target, exist_ok=True)
    out = None
    for line in Path(source).read_text().splitlines(True):
        named = re.match(r"(?:#|//|;|!)\s*--- (\S+)$", line.rstrip())
        if named:
            out = open(Path(target) / named.group(1), "w", encoding="utf-8")
        elif out:
            out.write(line)
    return 0


# ---- RUN lines ----

def run_lines(text):
    """The commands, with continued ones joined."""
    parts = [m.group(1) for m in re.finditer(r"(?m)^.*?\bRUN:[ \t]*(.*)$", text)]
    out = []
    for part in parts:
        if out and out[-1].endswith("\\"):
            out[-1] = out[-1][:-1] + part
        else:
            out.append(part)
    return out


def make_tools(place, arguments, mode):
    """Programs under the names that RUN lines use. "not" and FileCheck are this script's, too."""
    place.mkdir()
    me = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).resolve()))} --tool"
    tools = {name: f"{me} {name}" for name in ("FileCheck", "not", "split-file")}
    if mode == "peer":
        tools["llvm-gsymutil"] = f"timeout 60 {arguments.peer}"
    else:
        tools["llvm-gsymutil"] = f"{me} llvm-gsymutil {mode} {shlex.quote(arguments.gsym)}"
    for name in ("yaml2obj", "llvm-objcopy", "llvm-lipo", "llc"):
        tools[name] = f"timeout 60 {peers.need(name, 'llvm-22')}"
    for name, command in tools.items():
        path = place / name
        path.write_text(f"#!/bin/sh\nexec {command} \"$@\"\n")
        path.chmod(0o755)


def run_file(path, arguments, mode, place):
    """Runs a file. Gives the CHECK lines that do not hold, how many there are, what failed, and outputs by prefix."""
    make_tools(place / "bin", arguments, mode)
    scratch = place / f"{path.name}.tmp"
    report = place / "report"
    report.touch()
    environment = dict(os.environ, PATH=f"{place / 'bin'}:{os.environ['PATH']}", UPSTREAM_REPORT=str(report), LC_ALL="C")
    troubles = []
    for line in run_lines(path.read_text()):
        for name, value in (("%s", path), ("%S", path.parent), ("%/t", scratch), ("%t", scratch), ("%p", path.parent)):
            line = line.replace(name, str(value))
        done = subprocess.run(["sh", "-c", line], cwd=place, env=environment, capture_output=True, text=True, timeout=300)
        if done.returncode:
            troubles.append(f"exit {done.returncode}: {line.replace(str(place), '')}: {done.stderr.strip()[-300:]}")
    seen = [line.split("\t", 2) for line in report.read_text().splitlines()]
    bad = [prefix + text for what, prefix, text in seen if what == "bad"]
    outputs = {p.suffix[1:]: p.read_text() for p in place.glob("report.*")}
    return bad, len(seen), troubles, outputs


def file_check(argv):
    """FileCheck: what fails goes into a report, and the command itself succeeds."""
    prefix = "CHECK"
    source = None
    words = iter(argv)
    for word in words:
        if word.startswith("--check-prefix"):
            prefix = word.partition("=")[2] or next(words)
        elif not word.startswith("-"):
            source = word
    checks = checks_of(Path(source).read_text(), prefix)
    output = sys.stdin.read()
    bad = failing(checks, output)
    with open(os.environ["UPSTREAM_REPORT"] + "." + prefix, "a", encoding="utf-8") as copy:
        copy.write(output)
    with open(os.environ["UPSTREAM_REPORT"], "a", encoding="utf-8") as report:
        for check in checks:
            report.write(f"{'bad' if check in bad else 'ok'}\t{prefix}\t{check}\n")
    return 0


def tool(argv):
    if argv[0] == "FileCheck":
        return file_check(argv[1:])
    if argv[0] == "not":
        return 0 if subprocess.run(argv[1:]).returncode else 1
    if argv[0] == "split-file":
        return split_file(argv[1], argv[2])
    return Front(argv[2], argv[1]).run(argv[3:])


# ---- Judging ----

def judge(name, mode, bad, outputs, used):
    """The lines that nothing in DEVIATIONS explains, or where the output does not say what it should instead."""
    left = []
    for line in bad:
        for entry in DEVIATIONS.get(name, ()):
            prefix = max((p for p in outputs if line.startswith(p)), key=len)
            if mode in entry[1] and re.fullmatch(entry[0], line) and re.search(entry[3], outputs[prefix]):
                used.add((name, entry[0], mode))
                break
        else:
            left.append(line)
    return left


def lacks(path):
    """What the file requires and gsym has not: to have been built without a library."""
    found = re.findall(r"(?m)\bREQUIRES:[ \t]*(!\w+)", path.read_text())
    return ", ".join(found)


def check_file(path, arguments, used):
    good = True
    if lacks(path):
        print(f"{path.name} (of LLVM {RELEASES.get(path.name, 22)}): left out, it requires {lacks(path)}")
        return True
    modes = [*BOTH, *(["peer"] if arguments.peer else [])]
    for mode in modes:
        with tempfile.TemporaryDirectory() as place:
            bad, total, troubles, outputs = run_file(path, arguments, mode, Path(place))
        left = judge(path.name, mode, bad, outputs, used) if mode != "peer" else []
        print(f"{path.name} (of LLVM {RELEASES.get(path.name, 22)}) {mode}: {total - len(bad)} of {total} lines hold"
              + (f", {len(bad) - len(left)} deviate as told" if mode != "peer" else ""))
        if arguments.verbose:
            print("".join(f"    {line}\n" for line in bad), end="")
        for line in left:
            print(f"  not ok: {line}")
        if mode != "peer":
            for trouble in troubles:
                print(f"  not ok: {trouble}")
            good = good and not left and not troubles and total > 0
    return good


def main():
    if sys.argv[1:2] == ["--tool"]:
        return tool(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", default=os.environ.get("UPSTREAM_TESTS"))
    parser.add_argument("--gsym")
    parser.add_argument("--verbose", action="store_true", help="list the lines that do not hold, explained ones too")
    arguments = parser.parse_args()
    if not arguments.directory:
        peers.skip("no directory with llvm-gsymutil's test inputs given (argument or $UPSTREAM_TESTS)")
    arguments.gsym = peers.gsym_program(arguments.gsym)
    arguments.peer = peers.find("llvm-gsymutil")
    peers.need("yaml2obj", "llvm-22")
    paths = [p for p in sorted(Path(arguments.directory).resolve().rglob("*")) if NAMES.fullmatch(p.name)]
    if not paths:
        peers.skip(f"{arguments.directory} holds none of llvm-gsymutil's test inputs")
    used = set()
    good = all([check_file(path, arguments, used) for path in paths])
    for name in sorted({p.name for p in paths} & set(DEVIATIONS)):
        for entry in DEVIATIONS[name]:
            for mode in entry[1]:
                if (name, entry[0], mode) not in used:
                    print(f"not ok: {name} {mode}: nothing deviates as in {entry[0]!r}: take it out of the table")
                    good = False
    print(f"{len(paths)} files: {'as expected' if good else 'FAILED'}")
    return 0 if good else 1


NAMES = re.compile(r"statistics-detailed\.yaml|cmdline\.test|(elf|mach|fat-macho|macho)-.*\.yaml|macho-.*\.test")

if __name__ == "__main__":
    sys.exit(main())
