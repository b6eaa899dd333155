#!/usr/bin/env python3
"""The rooms of the tree keep to the table in CONTRIBUTING.md.

Reads the table, then every include and every use of another file's function or object, and prints what does not fit: an
include or a use that points up or sideways, a folder without a row, a row without a folder, a room with too many files, rooms
or modules (x.c and x.h) that include or use one another in a circle, two files of one base name or two structs of one tag,
and code that asks for the kind of an object file.

Uses are found in the text, without a build: of a name that stands at the left margin of one .c file, and is declared in a
header that both files include. So a circle is found that a shared header hides.

    layers.py ROOT [--table FILE]
"""
import argparse
import os
import re
import sys
from collections import defaultdict

FILES_MAX = 40
WINGS = ("gsym", "log", "work", "convert", "store", "fs", "cli")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)", re.S)
FUNCTION = re.compile(r"^(?!static\b|typedef\b)[A-Za-z_][^;{}()]*?\b(\w+)\s*\([^;{}]*\{$", re.M)
OBJECT = re.compile(r"^(?!static\b|extern\b|typedef\b)(?:\w+[\s*]+)+?(\w+)(?:\[[^\]]*\])*\s*[=;]", re.M)
DECLARED = re.compile(r"\b(\w+)\s*\(|^extern [^;(]*?\b(\w+)(?:\[[^\]]*\])*;", re.M)
WORD = re.compile(r"(?<![\w.>])(?<!struct )(?<!enum )[A-Za-z_]\w*")
TAG = re.compile(r"^(?:static )?(?:const )?((?:struct|enum|union) (?:CAPABILITY\(\S+\) )?\w+) \{", re.M)
# Base names that stand twice, and why.
SAME_NAME = {"main": "each program has one"}
# Rooms that include one another, and why.
ROOM_CIRCLES = {
}
# Modules whose table has rows from rooms above, and why.
TABLES = {
    "convert/object/object_open": "the table of source formats: a row for each reader",
    "log/engine/filter": "the table of reports that are held: a row for each",
    "log/engine/line_frames": "the table of log formats: a row for each",
}

def read_table(path):
    """{room: rooms that its row names}, in the order of the table."""
    text = open(path, encoding="utf-8").read()
    body = text.split("<!-- rooms -->")[1].split("<!-- end of rooms -->")[0]
    rows = {}
    for line in body.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            rows[cells[0].strip("`")] = set(re.findall(r"`([^`]+)`", cells[2]))
    for room, named in rows.items():
        for name in sorted(named - set(rows)):
            raise SystemExit(f"{path}: room {room} may include {name}, which has no row")
    return rows


def closure(rows):
    """{room: rooms it may include}: what is allowed is inherited."""
    rooms = {room: {room} | named for room, named in rows.items()}
    changed = True
    while changed:
        changed = False
        for room, allowed in rooms.items():
            more = allowed.union(*(rooms[name] for name in allowed))
            changed = changed or more != allowed
            rooms[room] = more
    return rooms


def sources(root):
    for top in WINGS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def circles(graph):
    """Strongly connected components of more than one module (Tarjan)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
                on_stack.remove(group[-1])
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10000)
    for node in sorted(set(graph).union(*graph.values())):
        if node not in index:
            visit(node)
    return found


class Tree:
    """The sources: what each includes, with and without detours, and which names each defines, declares and uses."""

    def __init__(self, root):
        self.texts = {path: open(os.path.join(root, path), encoding="utf-8").read() for path in sources(root)}
        self.includes = {path: INCLUDE.findall(text) for path, text in self.texts.items()}
        self.code = {path: DIRECTIVE.sub("", COMMENT.sub(" ", text)) for path, text in self.texts.items()}
        self.defines, self.declares = defaultdict(set), defaultdict(set)
        for path, text in self.code.items():
            if path.endswith(".c"):
                text = ATTRIBUTE.sub("", text)
                for name in FUNCTION.findall(text) + OBJECT.findall(text):
                    self.defines[name].add(path)
            else:
                for names in DECLARED.findall(text):
                    self.declares[names[0] or names[1]].add(path)

    def visible(self, path):
        """Headers that @path includes, itself or through others."""
        seen, todo = set(), [path]
        while todo:
            for header in self.includes.get(todo.pop(), ()):
                if header not in seen:
                    seen.add(header)
                    todo.append(header)
        return seen

    def uses(self):
        """[(path, name, path of its definition)]"""
        headers = {path: self.visible(path) for path in self.code if path.endswith(".c")}
        for path, seen in headers.items():
            for name in sorted(set(WORD.findall(self.code[path])) & self.declares.keys() & self.defines.keys()):
                shared = self.declares[name] & seen
                if path in self.defines[name] or not shared:
                    continue
                for other in sorted(self.defines[name]):
                    if shared & headers[other]:
                        yield path, name, other


def module_of(path):
    return os.path.splitext(path)[0]


def check_includes(tree, root, rooms, complaints):
    """The modules that each module includes."""
    graph = defaultdict(dict)
    for path, includes in tree.includes.items():
        room, module = os.path.dirname(path), module_of(path)
        if room not in rooms:
            complaints.append(f"{path}: its folder {room} has no row in the table of rooms of CONTRIBUTING.md: add one")
            continue
        for included in includes:
            if not os.path.exists(os.path.join(root, included)):
                complaints.append(f'{path}: #include "{included}" is not written from the root')
                continue
            other = os.path.dirname(included)
            if other not in rooms[room]:
                complaints.append(
                    f"{path}: includes {included}, but {room} may not include {other}: move the code, or add a hook"
                )
            if module_of(included) != module:
                graph[module][module_of(included)] = f"{path} includes {included}"
    return graph


def check_uses(tree, rooms, complaints):
    """The modules whose functions and objects each module uses."""
    graph = defaultdict(dict)
    for path, name, other in tree.uses():
        room, there = os.path.dirname(path), os.path.dirname(other)
        module = module_of(path)
        if room in rooms and there not in rooms[room]:
            if module not in TABLES:
                complaints.append(
                    f"{path}: uses {name} of {other}, but {room} may not include {there}: move the code, or add a hook"
                )
            continue
        graph[module].setdefault(module_of(other), f"{path} uses {name} of {other}")
    return graph


def check_names(tree, complaints):
    folders, tags = defaultdict(set), defaultdict(list)
    for path, text in tree.code.items():
        folders[os.path.basename(module_of(path))].add(os.path.dirname(path))
        for tag in TAG.findall(text):
            tags[tag].append(path)
    for name, found in sorted(folders.items()):
        if len(found) > 1 and name not in SAME_NAME:
            complaints.append(f"files called {name} in {', '.join(sorted(found))}")
    for tag, paths in sorted(tags.items()):
        if len(paths) > 1:
            complaints.append(f"{tag} in {', '.join(paths)}: a tag is used once in the tree")


def shortest_circle(graph, group):
    """The edges of a shortest circle in a strongly connected @group."""
    best = None
    for start in group:
        came, todo = {start: None}, [start]
        while todo and (best is None or len(came) <= len(group)):
            node = todo.pop(0)
            for other in sorted(graph[node]):
                if other == start:
                    path = [(node, other)]
                    while came[node] is not None:
                        path.append((came[node], node))
                        node = came[node]
                    best = path[::-1] if best is None or len(path) < len(best) else best
                    todo = []
                    break
                if other in group and other not in came:
                    came[other] = node
                    todo.append(other)
    return [graph[a][b] for a, b in best]


def check_circles(rows, includes, uses, complaints):
    for group in circles(defaultdict(set, rows)):
        if tuple(group) not in ROOM_CIRCLES:
            complaints.append("rooms include one another in a circle: " + " ".join(group))
    for verb, graph in (("include", includes), ("use", uses)):
        for group in circles(graph):
            why = "; ".join(shortest_circle(graph, group))
            complaints.append(f"modules {verb} one another in a circle: {' '.join(group)}: {why}")


def check_rooms(root, rows, complaints):
    counts = defaultdict(int)
    for path in sources(root):
        counts[os.path.dirname(path)] += 1
    for room in rows:
        print(f"{room}: {counts[room]} files")
        if not counts[room]:
            complaints.append(f"{room}: has a row in the table of rooms, and no file")
        if counts[room] > FILES_MAX:
            complaints.append(f"{room}: {counts[room]} files; above {FILES_MAX} a room is two: divide it by subject")


def check_kinds(root, complaints):
    """Only the list of kinds and a format's own row name a kind of object file: others ask for traits."""
    table = "work/types/image_kind.h"
    text = open(os.path.join(root, table), encoding="utf-8").read()
    kinds = re.findall(r"^\tX\((\w+), \w+, ", text, re.M)
    if not kinds:
        complaints.append(f"{table}: no rows of IMAGE_KINDS")
    named = re.compile(rf"(?<!\.kind = )\bIMAGE_(?:{'|'.join(kinds)})\b")
    for path in sources(root):
        for number, line in enumerate(open(os.path.join(root, path), encoding="utf-8"), 1):
            if path != table.replace(".h", ".c") and kinds and named.search(line):
                complaints.append(f"{path}:{number}: names a kind of object file: ask for a trait ({table}, source_format.h)")


def check_revisions(root, complaints):
    """Each folder of the converter stands at the revision that its changes raise."""
    table = "work/types/convert_revision.c"
    text = open(os.path.join(root, table), encoding="utf-8").read()
    named = [re.sub(r" \(.*?\)", "", name)
             for line in re.findall(r"^\t/\* (?:None, .*: )?(.*) \*/$", text, re.M) for name in line.split(", ")]
    named = [name if name == "convert" else f"convert/{name}" for name in named]
    rooms = {os.path.dirname(path) for path in sources(root) if path.startswith("convert/")}
    for room in sorted(rooms ^ set(named)):
        complaints.append(f"{table}: {room}: a folder of the converter needs the revision that its changes raise, once")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root")
    parser.add_argument("--table", help="instead of CONTRIBUTING.md of ROOT")
    args = parser.parse_args()
    rows = read_table(args.table or os.path.join(args.root, "CONTRIBUTING.md"))
    complaints = []
    tree = Tree(args.root)
    rooms = closure(rows)
    includes = check_includes(tree, args.root, rooms, complaints)
    check_circles(rows, includes, check_uses(tree, rooms, complaints), complaints)
    check_names(tree, complaints)
    check_rooms(args.root, rows, complaints)
    check_kinds(args.root, complaints)
    check_revisions(args.root, complaints)
    for complaint in complaints:
        print("layers:", complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
