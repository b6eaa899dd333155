"""Putting a difference between two answers into a class.

Every address gets exactly one class, the gravest that applies; CLASSES lists them from harmless to grave.
"""
import re
from collections import defaultdict

IDENTICAL = "identical"
NEITHER = "neither knows it"
SUFFIX = "name: clone suffix"
ALIAS = "name: alias of the same address"
VERSION = "name: symbol version"
MANGLED = "name: symbolizer cannot demangle it"
LABEL = "name: label inside the function"
DIE_NAME = "name: DWARF's, symbolizer has the symbol's"
SYMBOL_NAME = "name: the symbol's, symbolizer has DWARF's"
QUALIFIED = "name: ours has the scope, too"
OTHER_NAME = "name: other"
LINE = "line"
FILE = "file"
FRAMES = "number of frames"
LINES_ONLY_OURS = "line: only ours has one"
LINES_ONLY_THEIRS = "line: only symbolizer has one"
ONLY_OURS = "only ours knows it"
STUB = "name: a stub, which symbolizer does not know"
FILE_SYMBOL = "line: only symbolizer has one, and it is 0"
PADDING = "symbolizer names what came before, or a marker"
CONTRADICTION = "callers other than its own call site"
ORPHAN_ROW = "symbolizer has a line without a function"
MISSING = "missing in ours"

CLASSES = (IDENTICAL, NEITHER, SUFFIX, VERSION, MANGLED, ALIAS, LABEL, DIE_NAME, SYMBOL_NAME, QUALIFIED, STUB, PADDING,
           FILE_SYMBOL, CONTRADICTION, ORPHAN_ROW, ONLY_OURS, LINES_ONLY_OURS, LINES_ONLY_THEIRS, OTHER_NAME, LINE,
           FILE, FRAMES, MISSING)

_SUFFIX = re.compile(r"(\.(cold|part|isra|constprop|lto_priv|localalias|llvm|clone|__uniq)(\.\d+)*|\.\d+)+$")


def without_suffix(name):
    return _SUFFIX.sub("", name)


def last_part(name):
    """What follows the last :: that is outside of template arguments and parentheses."""
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += (name[at] in ">)") - (name[at] in "<(")
        if depth == 0 and name[at - 1:at + 1] == "::":
            return name[at + 1:]
    return name


class Symbols:
    """Which names share an address, and which are labels inside a function."""

    def __init__(self, elf):
        self.starts = defaultdict(set)
        self.spans = defaultdict(set)
        for s in elf.functions() + elf.labels():
            self.starts[s.name].add(s.addr)
            if s.size:
                self.spans[s.name].add((s.addr, s.addr + s.size))

    def same_address(self, a, b):
        return bool(self.starts.get(a, set()) & self.starts.get(b, set()))

    def label_inside(self, function, label):
        """Whether @label has no size and lies inside a function of that name."""
        return label not in self.spans and any(low < at < high for at in self.starts.get(label, ())
                                               for low, high in self.spans.get(function, ()))


def _name_class(ours, theirs, die, symbols):
    """@die: the short name DWARF gives the concrete function, "" for an inlined frame."""
    if ours == theirs:
        return IDENTICAL
    if without_suffix(ours) == without_suffix(theirs):
        return SUFFIX
    if ours == theirs.split("@")[0]:
        return VERSION
    if theirs.startswith(".L"):
        return LABEL  # of the compiler: RISC-V has to keep them
    if symbols.same_address(ours, theirs):
        return ALIAS
    if symbols.label_inside(ours, theirs):
        return LABEL
    if theirs and without_suffix(ours).endswith("::" + without_suffix(theirs)):
        return QUALIFIED
    if die and last_part(ours) == die:
        return DIE_NAME
    if die and last_part(theirs) == die and symbols.starts.get(ours):
        return SYMBOL_NAME
    return OTHER_NAME


def _place_class(ours, theirs):
    if ours.file == theirs.file and ours.line == theirs.line:
        return IDENTICAL
    if not ours.file and not ours.line:
        return LINES_ONLY_THEIRS if theirs.line else FILE_SYMBOL
    if not theirs.file and not theirs.line:
        return LINES_ONLY_OURS
    return LINE if ours.file == theirs.file else FILE


def classify(ours, theirs, short, symbols):
    """@short: the symbolizer's frames with names from DWARF alone; they say whether DWARF covers the address."""
    if not ours and not theirs:
        return NEITHER
    if not covered(short) and len(ours) == 1 and ours[0].name.endswith("@plt") and not ours[0].line:
        return IDENTICAL if theirs and theirs[0].name == ours[0].name else STUB
    if not theirs:
        return ONLY_OURS
    if not ours:
        if covered(short):
            return MISSING
        return PADDING if theirs[-1].name else ORPHAN_ROW
    if len(ours) != len(theirs):
        return FRAMES
    found = [_place_class(o, t) for o, t in zip(ours, theirs)]
    for at, (o, t) in enumerate(zip(ours, theirs)):
        concrete = at == len(ours) - 1
        found.append(_name_class(o.name, t.name, short[-1].name if concrete and short else "", symbols))
    return max(found, key=CLASSES.index)


def covered(short):
    """Whether a function of the DWARF data contains the address."""
    return bool(short and short[-1].name)
