#!/usr/bin/env python3
"""The rooms of the tree keep to the table in CONTRIBUTING.md.

Reads the table, then every include, and prints what does not fit: an include that points up or sideways, a folder without a
row, a row without a folder, a room with too many files, rooms or modules (x.c and x.h) that include one another in a circle,
two files of one base name, and code that asks for the kind of an object file.

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
# Base names that stand twice, and why.
SAME_NAME = {"main": "each program has one"}
# Rooms that include one another, and why.
ROOM_CIRCLES = {
    ("convert/object/pdb", "convert/object/pe"): "what PE and PDB files have of COFF",
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
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def check_includes(root, rooms, complaints):
    graph, names = defaultdict(set), defaultdict(set)
    for path in sources(root):
        room, module = os.path.dirname(path), os.path.splitext(path)[0]
        if room not in rooms:
            complaints.append(f"{path}: its folder {room} has no row in the table of rooms of CONTRIBUTING.md: add one")
            continue
        graph[module]
        names[os.path.basename(module)].add(os.path.dirname(path))
        text = open(os.path.join(root, path), encoding="utf-8").read()
        for included in INCLUDE.findall(text):
            if not os.path.exists(os.path.join(root, included)):
                complaints.append(f'{path}: #include "{included}" is not written from the root')
                continue
            other = os.path.dirname(included)
            if other not in rooms[room]:
                complaints.append(
                    f"{path}: includes {included}, but {room} may not include {other}: move the code, or add a hook"
                )
            if os.path.splitext(included)[0] != module:
                graph[module].add(os.path.splitext(included)[0])
    for name, folders in sorted(names.items()):
        if len(folders) > 1 and name not in SAME_NAME:
            complaints.append(f"files called {name} in {', '.join(sorted(folders))}")
    return graph


def check_circles(rows, graph, complaints):
    for group in circles(rows):
        if tuple(group) not in ROOM_CIRCLES:
            complaints.append("rooms include one another in a circle: " + " ".join(group))
    for group in circles(graph):
        complaints.append("modules include one another in a circle: " + " ".join(group))


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
            if kinds and named.search(line):
                complaints.append(f"{path}:{number}: names a kind of object file: ask for a trait ({table}, source_format.h)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root")
    parser.add_argument("--table", help="instead of CONTRIBUTING.md of ROOT")
    args = parser.parse_args()
    rows = read_table(args.table or os.path.join(args.root, "CONTRIBUTING.md"))
    complaints = []
    graph = check_includes(args.root, closure(rows), complaints)
    check_circles(rows, graph, complaints)
    check_rooms(args.root, rows, complaints)
    check_kinds(args.root, complaints)
    for complaint in complaints:
        print("layers:", complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
