#!/usr/bin/env python3
"""Counts that tell whether the tree keeps its shape, one "name<TAB>count" a line; with --list also what was counted.

    figures.py ROOT [--objects BUILD-DIRECTORY] [--list NAME]

Objects are those of a release build: static mutable ones are found by objdump(1). A one-use function is a static function of at
most three lines that is called in one place and only passes its arguments on. A header's includers are other files than its own
.c; a wrapped function is one of the tree for which a unit test defines __wrap_NAME(). A lock says nothing if no field of its struct
has GUARDED_BY and no comment at it says what it guards.
"""
import argparse
import os
import re
import subprocess
from collections import Counter, defaultdict

TOPS = ("gsym", "log", "work", "convert", "store", "fs", "cli")
FUNCTION = re.compile(r"^static [^=;{}]*?\b(\w+)\(([^;{}]*)\)[^;{}()]*\n\{\n(.*?)^\}", re.M | re.S)
TAG = re.compile(r"^(?:static )?(?:const )?((?:struct|enum|union)) (?:CAPABILITY\(\S+\) )?(\w+) \{", re.M)
ASSERTION = re.compile(r"\b(assert|invariant|mutex_assert_held|static_assert|_Static_assert)\(")


def sources(root):
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    yield os.path.relpath(path, root), open(path, encoding="utf-8").read()


def duplicate_tags(texts):
    places = defaultdict(list)
    for path, text in texts:
        for kind, name in TAG.findall(text):
            places[f"{kind} {name}"].append(path)
    return [f"{tag}: {' '.join(paths)}" for tag, paths in sorted(places.items()) if len(paths) > 1]


def one_use(texts):
    for path, text in texts:
        uses = Counter(re.findall(r"\b\w+\b", text))
        for name, parameters, body in FUNCTION.findall(text):
            lines = [line for line in body.splitlines() if line.strip()]
            names = re.findall(r"(\w+)\s*(?:,|$)", parameters)
            call = re.fullmatch(r"\s*(?:return )?\w+\(([^()]*)\);", body.strip()) if len(lines) == 1 else None
            if uses[name] == 2 and call and set(re.split(r",\s*", call.group(1))) <= set(names):
                yield f"{path}: {name}"


def statics_once(texts):
    """Static functions that are named in one place besides their definition, and all of them."""
    once, every = [], []
    for path, text in texts:
        uses = Counter(re.findall(r"\b\w+\b", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))
        for name, _, _ in FUNCTION.findall(text):
            every.append(name)
            if uses[name] == 2 and path.endswith(".c"):
                once.append(f"{path}: {name}")
    return once, every


def single_includer(texts):
    includers = defaultdict(set)
    for path, text in texts:
        for header in re.findall(r'^#include "([^"]+)"', text, re.M):
            if os.path.splitext(path)[0] != os.path.splitext(header)[0]:
                includers[header].add(path)
    return [f"{header}: {min(paths)}" for header, paths in sorted(includers.items()) if len(paths) == 1]


def silent_locks(texts):
    for path, text in texts:
        for name, body in re.findall(r"^struct (?:CAPABILITY\(\S+\) )?(\w+) \{\n(.*?)^\}", text, re.M | re.S):
            lock = re.search(r"(/\*(?:(?!\*/).)*\*/\n)?^\s+(?:struct mutex|pthread_mutex_t) \w+;.*(?:\n\s+\*.*|\n\s*/\*.*)*", body, re.M)
            if lock and name != "mutex" and "GUARDED_BY" not in body and "guard" not in lock.group(0):
                yield f"{path}: {name}"


def unit_tests(root, texts):
    """Lines of unit tests, lines of their meson.build, and functions of the tree that these wrap."""
    own = set(re.findall(r"^[a-z][^=;{}#]*?\b(\w+)\([^;{}]*\)[^;{}()]*\n\{", "\n".join(text for _, text in texts), re.M))
    lines, build = [], []
    for folder, _, names in os.walk(os.path.join(root, "tests", "unit")):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith((".c", ".h")):
                lines += open(path, encoding="utf-8")
            elif name == "meson.build":
                build += open(path, encoding="utf-8")
    wrapped = set(re.findall(r"\b__wrap_(\w+)\(", "".join(lines)))
    return lines, build, sorted(wrapped & own)


def mutable_objects(build):
    for folder, _, names in os.walk(build):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".o") or os.path.relpath(path, build).split(os.sep)[0] not in TOPS:
                continue
            table = subprocess.run(["objdump", "-t", path], capture_output=True, text=True).stdout
            for section, symbol in re.findall(r"^[0-9a-f]+ .{7} (\S+)\t[0-9a-f]+ (?:\.hidden )?(\S+)$", table, re.M):
                if re.fullmatch(r"\.(data|bss|tdata|tbss)(\..*)?|\*COM\*", section) and not section.startswith(".data.rel.ro"):
                    if symbol != section:
                        yield f"{os.path.relpath(path, build)}: {symbol}"


def count(root, build):
    texts = list(sources(root))
    everything = "\n".join(text for _, text in texts)
    once, statics = statics_once(texts)
    unit_lines, unit_build, wrapped = unit_tests(root, texts)
    found = {
        "product lines": everything.splitlines(),
        "product files": [path for path, _ in texts],
        "headers": [path for path, _ in texts if path.endswith(".h")],
        "headers with one includer": single_includer(texts),
        "static functions": statics,
        "static functions used once": once,
        "functions that are one call": re.findall(
            r"^[a-z][^=;{}#]*?\b(\w+)\([^;{}]*\)[^;{}()]*\n\{\n\t(?:return )?\w+\([^;]*\);\n\}", everything, re.M),
        "unit test lines": unit_lines,
        "unit test meson.build lines": unit_build,
        "own functions wrapped by unit tests": wrapped,
        "structs with a lock that says nothing": list(silent_locks(texts)),
        "duplicate tags": duplicate_tags(texts),
        "one-use functions": list(one_use(texts)),
        "assertions": [m.group(0) for m in ASSERTION.finditer(everything)],
        "mutexes with a rank": re.findall(r"^\s+struct mutex \w+", everything, re.M),
        "guarded fields": re.findall(r"\bGUARDED_BY\(&", everything),
        "functions with lock requirements": re.findall(r"\b(?:REQUIRES|EXCLUDES|ACQUIRES|RELEASES)\(&", everything),
        "includes of fs/gsymfs.h": re.findall(r'#include "fs/gsymfs.h"', everything),
    }
    if build:
        found["static mutable objects"] = sorted(set(mutable_objects(build)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root")
    parser.add_argument("--objects", metavar="BUILD-DIRECTORY")
    parser.add_argument("--list", metavar="NAME")
    args = parser.parse_args()
    for name, items in count(args.root, args.objects).items():
        print(f"{name}\t{len(items)}")
        if name == args.list:
            print("".join(f"\t{item}\n" for item in items), end="")


if __name__ == "__main__":
    main()
