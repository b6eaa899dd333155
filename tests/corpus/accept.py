"""The list of differences that are understood: accept.txt.

A line is `program pattern | covered or outside | class | at most | why`; "at most" is a count, a share such as
0.5% of the program's addresses in that part, or "any". The first line that matches counts. A class that no
line accepts may not occur at all.
"""
from fnmatch import fnmatchcase
from typing import NamedTuple

from . import classify

HARMLESS = (classify.IDENTICAL, classify.NEITHER)


class Rule(NamedTuple):
    pattern: str
    part: str
    kind: str
    most: str
    why: str

    def allows(self, count, total):
        if self.most == "any":
            return True
        if self.most.endswith("%"):
            return count <= float(self.most[:-1]) / 100 * total
        return count <= int(self.most)


def load(path):
    rules = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = [field.strip() for field in line.split("|")]
            if len(fields) != 5 or fields[2] not in classify.CLASSES or not fields[4]:
                raise ValueError(f"{path}:{number}: want 'program | part | class | at most | why'")
            rules.append(Rule(*fields))
    return rules


def judge(rules, program, part, counts):
    """[(class, words about it)] of the classes that occur more often than accepted."""
    total = sum(counts.values())
    faults = []
    for kind, count in counts.items():
        if kind in HARMLESS:
            continue
        rule = next((r for r in rules if r.kind == kind and r.part in (part, "*") and
                     fnmatchcase(program, r.pattern)), None)
        if rule is None:
            faults.append((kind, f"{program}: {part}: {count} of '{kind}', which nothing accepts"))
        elif not rule.allows(count, total):
            faults.append((kind, f"{program}: {part}: {count} of '{kind}' in {total}, accepted are {rule.most}"))
    return faults
