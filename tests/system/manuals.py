#!/usr/bin/env python3
"""The manual pages: clean for mandoc and man, complete, and right about the one record that gsym(5) spells out.

    manuals.py DOCS_DIR GSYM [GSYMFS]
"""
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

faults = []


def run(*argv):
    """Standard output and standard error of a program."""
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=300, check=False)
    return done.stdout, done.stderr


def lint(page):
    if shutil.which("mandoc"):
        faults.extend("".join(run("mandoc", "-Tlint", "-W", "warning", page)).splitlines())
    else:
        print("SKIP: no mandoc")
    if shutil.which("man"):
        faults.extend(run("man", "--warnings", "-E", "UTF-8", "-l", page)[1].splitlines())
    else:
        print("SKIP: no man")


def command_options_agree(page, command, printed):
    """The options of a command are those of its --help, with the same choices."""
    section = re.search(rf"^\.Ss gsym {command}\n(.*?)(?=^\.S[sh] )", page.read_text(), re.M | re.S)
    told = dict(re.findall(r"^\.It (?:Fl \w [^,\n]*, )?Fl -([a-z-]+)(?: Ns = Ns ([^\n]*))?$", section[1] if section else "", re.M))
    table = dict(re.findall(r"^ +(?:-\w, )?--([a-z-]+)(?:=(\S+))?", printed, re.M))
    for common in ("help", "version"):
        table.pop(common)
    faults.extend(f"{page.name}: {command} has no option --{name}" for name in sorted(told.keys() - table.keys()))
    faults.extend(f"{page.name}: {command}: --{name} is missing" for name in sorted(table.keys() - told.keys()))
    for name in table.keys() & told.keys():
        choices = table[name].split("|")
        if len(choices) > 1:
            listed = re.findall(r"Cm (\w+)", told[name]) or re.findall(r"^\.It Cm (\w+)$", section[1], re.M)
            if choices != listed:
                faults.append(f"{page.name}: {command} --{name} takes {listed}, --help: {choices}")
        elif bool(table[name]) != bool(told[name]):
            faults.append(f"{page.name}: {command} --{name}: argument is '{told[name]}', --help: '{table[name]}'")


def symbolizer_options_agree(docs, gsym):
    """The pages of the program under its other names have the options of its --help."""
    with tempfile.TemporaryDirectory() as directory:
        for name in ("gsym-addr2line", "gsym-symbolizer"):
            program, page = pathlib.Path(directory, name), docs / f"{name}.1"
            program.symlink_to(pathlib.Path(gsym).resolve())
            told = {m for line in re.findall(r"^\.It (.*)$", page.read_text(), re.M) for m in re.findall(r"(?:Fl|,) -([a-z-]+)", line)}
            table = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", run(program, "--help")[0], re.M))
            faults.extend(f"{page.name}: no option --{option}" for option in sorted(told - table))
            faults.extend(f"{page.name}: --{option} is missing" for option in sorted(table - told))


def daemon_options_agree(page, printed):
    """The list of -o options is that of --help: names and their order, arguments, choices and defaults."""
    table = re.findall(r"^ +-o (\w+)(?:=(\S+))? +(.*)$", printed, re.M)
    text = page.read_text()
    text = text[text.index('.Bl -tag -width "convert_memory=size"'):text.index(".Ss The tree")]
    items = re.findall(r"^\.It Cm (\w+)(?: Ns = Ns ([^\n]*))?\n(.*?)(?=^\.(?:It Cm|El))", text, re.M | re.S)
    if [row[0] for row in table] != [item[0] for item in items]:
        faults.append(f"{page.name}: options {[item[0] for item in items]}, --help: {[row[0] for row in table]}")
        return
    for (name, argument, explanation), (_, in_page, paragraph) in zip(table, items):
        form = in_page.replace("Cm ", "").replace(" ", "") if "|" in argument else in_page.split()[1:2]
        if form != (argument if "|" in argument else argument.lower().split(":")[:1] if argument else []):
            faults.append(f"{page.name}: {name}={in_page}, --help: {argument}")
        default = re.search(r"\(default ([^ ()]+)\)$", explanation)
        in_page = re.search(r"The default is\n?(?:\.(?:Cm|Pa))? (\S+?)(?: ?[.:])?$", paragraph, re.M)
        if (default and default[1]) != (in_page and in_page[1]):
            faults.append(f"{page.name}: default of {name} is {in_page and in_page[1]}, --help: {default and default[1]}")


def record_of(page):
    """The bytes behind "One record", without the words beside them."""
    text = re.search(r"^\.Ss One record\n.*?\n\.Bd[^\n]*\n(.*?)^\.Ed", page.read_text(), re.M | re.S)[1]
    return bytes.fromhex("".join(re.match(r"\s*((?:[0-9a-f]{2}\s+)+)", line)[1] for line in text.splitlines()))


def record_is_right(page, gsym):
    strings = b"\0example\0dir\0name.c\0"
    files = struct.pack("<5I", 2, 0, 0, 9, 13)
    tables = 48 + 4 + 4  # header, one address of a byte and padding, its record's offset
    strings_at = tables + len(files)
    record_at = (strings_at + len(strings) + 3) & ~3
    header = struct.pack("<IHBBQIII20x", 0x4753594D, 1, 1, 0, 0x1000, 1, strings_at, len(strings))
    data = header + struct.pack("<B3xI", 0, record_at) + files + strings
    data = data.ljust(record_at, b"\0") + record_of(page)
    with tempfile.NamedTemporaryFile(suffix=".gsym") as file:
        file.write(data)
        file.flush()
        out, err = run(gsym, "lookup", file.name, "0x1007", "0x1008", "0x100b", "0x100c")
    expected = "example at dir/name.c:5\nexample at dir/name.c:7\nexample at dir/name.c:7\n?? at ??:0\n"
    if out != expected:
        faults.append(f"the record of {page.name} gives:\n{out}{err}")


def main():
    docs, gsym = pathlib.Path(sys.argv[1]), sys.argv[2]
    pages = sorted(docs.glob("*.[1-8]"))
    for page in pages:
        lint(page)
    commands = re.findall(r"^  (\w+) ", run(gsym, "--help")[0], re.M)
    for command in commands:
        command_options_agree(docs / "gsym.1", command, run(gsym, command, "--help")[0])
    symbolizer_options_agree(docs, gsym)
    if len(sys.argv) > 3:
        daemon_options_agree(docs / "gsymfs.1", run(sys.argv[3], "--help")[0])
    functions = set(re.findall(r"\b(gsym_\w+)\(", (docs.parent / "gsym/gsym.h").read_text()))
    told = set(re.findall(r"^\.F[no] (gsym_\w+)", (docs / "gsym.3").read_text(), re.M))
    faults.extend(f"gsym.3 does not tell of {name}" for name in sorted(functions - told))
    record_is_right(docs / "gsym.5", gsym)
    print("\n".join(faults) if faults else f"{len(pages)} pages, {len(commands)} commands: good")
    sys.exit(len(pages) < 4 or len(commands) < 5 or bool(faults))


main()
