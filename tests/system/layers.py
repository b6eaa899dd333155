#!/usr/bin/env python3
"""The rooms of the tree keep to the table in CONTRIBUTING.md.

Reads the table, then every include, and prints what does not fit: an include that points up or sideways, a folder without a
row, a room with too many files or without a meson.build, modules (x.c and x.h) that include one another in a circle, and two
files of one base name.

    layers.py ROOT [--table FILE]
"""
import argparse
import os
import re
import sys
from collections import defaultdict

FILES_MAX = 34
TOPS = ("gsym", "convert", "fs")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# Base names that stand twice, and why.
SAME_NAME = {"main": "each program has one"}
# Circles of modules that stay, and why. fs/ alone may have any, of three modules at most.
CIRCLES = {}


def read_table(path):
    """{room: rooms it may include}, in the order of the table; what is allowed is inherited."""
    text = open(path, encoding="utf-8").read()
    body = text.split("<!-- rooms -->")[1].split("<!-- end of rooms -->")[0]
    rooms = {}
    for line in body.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| `"):
            continue
        room = cells[0].strip("`")
        direct = re.findall(r"`([^`]+)`", cells[2])
        for name in direct:
            if name not in rooms:
                raise SystemExit(f"{path}: room {room} may include {name}, which stands below it or nowhere")
        rooms[room] = set(direct).union(*(rooms[name] for name in direct)) | {room}
    return rooms


def sources(root):
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def room_of(path, rooms):
    """The longest room that holds the path: sub-folders without a row belong to the room above."""
    folder = os.path.dirname(path)
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder


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
        room, module = room_of(path, rooms), os.path.splitext(path)[0]
        if not room:
            complaints.append(f"{path}: its folder has no row in the table of rooms")
            continue
        graph[module]
        names[os.path.basename(module)].add(os.path.dirname(path))
        text = open(os.path.join(root, path), encoding="utf-8").read()
        for included in INCLUDE.findall(text):
            if not os.path.exists(os.path.join(root, included)):
                complaints.append(f'{path}: #include "{included}" is not written from the root')
                continue
            other = room_of(included, rooms)
            if other not in rooms[room]:
                complaints.append(f"{path}: includes {included}, but {room} may not include {other}")
            if os.path.splitext(included)[0] != module:
                graph[module].add(os.path.splitext(included)[0])
    for name, folders in sorted(names.items()):
        if len(folders) > 1 and name not in SAME_NAME:
            complaints.append(f"files called {name} in {', '.join(sorted(folders))}")
    return graph


def check_circles(graph, complaints):
    for group in circles(graph):
        reason = CIRCLES.get(tuple(group))
        print("circle:", " ".join(group), f"({reason})" if reason else "")
        in_fs = all(module.startswith("fs/") for module in group)
        if not reason or not in_fs or len(group) > 3:
            complaints.append("modules include one another in a circle: " + " ".join(group))


def check_folders(root, rooms, complaints):
    counts = defaultdict(int)
    for path in sources(root):
        counts[os.path.dirname(path)] += 1
    for folder, count in sorted(counts.items()):
        print(f"{folder}: {count} files")
        if count > FILES_MAX:
            complaints.append(f"{folder}: {count} files; a room has at most {FILES_MAX}")
    for room in rooms:
        if not os.path.exists(os.path.join(root, room, "meson.build")):
            complaints.append(f"{room}: no meson.build")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root")
    parser.add_argument("--table", help="instead of CONTRIBUTING.md of ROOT")
    args = parser.parse_args()
    rooms = read_table(args.table or os.path.join(args.root, "CONTRIBUTING.md"))
    complaints = []
    graph = check_includes(args.root, rooms, complaints)
    check_circles(graph, complaints)
    check_folders(args.root, rooms, complaints)
    for complaint in complaints:
        print("layers:", complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
