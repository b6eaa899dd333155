#!/usr/bin/env python3
"""Every test that the table in docs/design/upstream-defects.md names exists.

    defects.py UPSTREAM-DEFECTS.MD
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from golden import crafted  # noqa: E402


def rows(text):
    section = text.split("\n## Known defects", 1)[1].split("\n## ", 1)[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return table[1:]


def missing(words, cases, programs):
    """The tests of a row's last column that do not exist, and how many it names."""
    named = [("case", n) for m in re.finditer(r"\bcases? (\w+(?:, \w+)*)", words) for n in m.group(1).split(", ")]
    named += [("unit", n) for n in re.findall(r"`(\w+)`", words)]
    named += [("file", n) for n in re.findall(r"\b\w+\.(?:t|py)\b", words)]
    there = {"case": lambda n: n in cases, "unit": lambda n: any((HERE.parent / "unit").rglob(f"check_{n}.c")),
             "file": lambda n: n in programs}
    return [f"{kind} {name}" for kind, name in named if not there[kind](name)], len(named)


def main():
    cases = {function.__name__ for function in crafted.CASES}
    programs = {path.name for path in HERE.parent.rglob("*") if path.suffix in (".py", ".t")}
    bad = 0
    table = rows(pathlib.Path(sys.argv[1]).read_text())
    for row in table:
        gone, named = missing(row[-1], cases, programs)
        if gone or (not named and row[-1] != "none") or len(row) != 3:
            print(f"not ok: {row[0]}: {', '.join(gone) or 'no test'}")
            bad += 1
    print(f"{len(table)} defects, {bad} without the tests that are named")
    return 1 if bad or len(table) < 29 else 0


if __name__ == "__main__":
    sys.exit(main())
