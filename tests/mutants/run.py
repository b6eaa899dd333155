#!/usr/bin/env python3
"""Changes one line of product code at a time and looks whether a test notices.

    tests/mutants/run.py --work DIR [--count 200] [--seed 1] [--room ROOM...] [--resume FILE]
    tests/mutants/run.py --work DIR --aimed [--resume FILE]
    tests/mutants/run.py --work DIR --since COMMIT [--resume FILE]
    tests/mutants/run.py --work DIR --at FILE:LINE [OLD NEW]
    tests/mutants/run.py --report FILE...

Works on a copy of the tracked files in DIR/source, built in DIR/build; the tree itself is never changed, and the copy
is brought up to date and repaired at every start. README.md explains the outcomes and the files beside this script.
The exit status is 0 if all mutants that count were caught.
"""
import argparse
import collections
import csv
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import choice
import mutant as mutants
from report import FIELDS, report
from tree import Tree

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COUNTED = ("caught", "survived")


def rooms():
    """The rooms of the table in CONTRIBUTING.md that have sources."""
    body = (ROOT / "CONTRIBUTING.md").read_text().split("<!-- rooms -->")[1].split("<!-- end of rooms -->")[0]
    return re.findall(r"^\| `([\w/]+)` \|", body, re.M)


def room_of(name, all_rooms):
    return max((r for r in all_rooms if name.startswith(r + "/")), key=len)


def product_files():
    """C files by room."""
    all_rooms, files = rooms(), collections.defaultdict(list)
    for top in ("gsym", "log", "work", "convert", "store", "fs", "cli"):
        for path in sorted((ROOT / top).rglob("*.[ch]")):
            name = str(path.relative_to(ROOT))
            files[room_of(name, all_rooms)].append(name)
    return files


class Equivalents:
    """Changes without a difference, from equivalent.txt."""

    def __init__(self, path):
        self.known = collections.defaultdict(list)
        for row in path.read_text().splitlines():
            if row and not row.startswith("#"):
                name, function, rule, words, reason = re.fullmatch(r"(\S+) (\w+)\(\), ([a-z0 ]+?)(?: `(.*?)`)?: (.+)", row).groups()
                self.known[name, function, rule].append((words or "", reason))

    def rows(self, mutant, lines):
        """The words and reasons of the rows that fit the change of @lines."""
        rows = self.known[Path(mutant.name).name, mutant.function, mutant.rule]
        return [row for row in rows if row[0] in mutant.text(lines)]

    def reason(self, mutant, lines):
        """Why the change makes no difference, or None."""
        return next((reason for _, reason in self.rows(mutant, lines)), None)

    def unknown(self):
        """Rows whose function no file of the name has."""
        there = {(Path(n).name, m.function) for names in product_files().values() for n in names for m in mutants.mutants_of(ROOT, n)}
        for name, function, _ in self.known:
            if (name, function) not in there:
                yield f"equivalent.txt: {name} has no function {function}()"

    def loose(self):
        """Rows that fit no place of the sources any more, or now several, of which some may make a difference."""
        fits = collections.Counter()
        for name in (name for names in product_files().values() for name in names):
            lines = (ROOT / name).read_text().split("\n")
            for m in mutants.mutants_of(ROOT, name):
                fits.update((Path(name).name, m.function, m.rule, words) for words, _ in self.rows(m, lines))
        for key, rows in self.known.items():
            for places, words in ((fits[(*key, words)], words) for words, _ in rows):
                if places != 1:
                    yield "equivalent.txt: {} {}(), {} `{}`: fits {} places".format(*key, words, places)


def stratified(files, count, seed):
    """Endless mutants of each room; a room gets as many as its part of the lines, but at least three."""
    sizes = {room: sum((ROOT / n).read_text().count("\n") for n in names) for room, names in files.items()}
    order, streams = [], {}
    for room, names in sorted(files.items()):
        order += [room] * max(3, round(count * sizes[room] / sum(sizes.values())))
        found = [m for n in names if n.endswith(".c") for m in mutants.mutants_of(ROOT, n)]
        streams[room] = mutants.by_rule_in_turn(found, random.Random(f"{seed}:{room}"))
    random.Random(f"{seed}").shuffle(order)  # however early it ends, all rooms have their share
    return order[:count] if len(files) > 1 else order[:1] * count, streams


def given(place, change):
    """The mutants of --at: one, or all of the line."""
    name, line = place.rsplit(":", 1)
    number = int(line) - 1
    if not change:
        return [m for m in mutants.mutants_of(ROOT, name, tables=True) if m.line == number]
    old = (ROOT / name).read_text().split("\n")[number]
    if change[0] not in old:
        sys.exit(f"{place}: no '{change[0]}' in '{old.strip()}'")
    return [mutants.Mutant(name, number, "given", old, old.replace(change[0], change[1], 1))]


def changed_since(commit):
    """The mutants of --since: all of the lines of product code that differ from those of the commit."""
    diff = subprocess.run(["git", "-C", ROOT, "diff", "--unified=0", "--no-prefix", commit, "--",
                           *(name for files in product_files().values() for name in files)],
                          check=True, capture_output=True, text=True).stdout
    of_file, chosen = [], []
    for line in diff.split("\n"):
        if line.startswith("+++ "):
            of_file = list(mutants.mutants_of(ROOT, line.removeprefix("+++ "), tables=True))
        elif place := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(place[1]) - 1, int(place[2] or 1)
            chosen += [m for m in of_file if first <= m.line < first + count]
    return chosen


class Trial:
    """One mutant in the copy of the tree."""

    def __init__(self, tree, mutant, relevance, options):
        self.seconds, only = options.seconds, options.test
        self.tree, self.mutant, self.path = tree, mutant, tree.source / mutant.name
        self.names = choice.tests_for(mutant, tree.tests, relevance)
        if only:
            self.names = [n for n in tree.tests if n in only]
        self.text = self.path.read_text()

    def change(self):
        lines = self.text.split("\n")
        assert lines[self.mutant.line] == self.mutant.old
        lines[self.mutant.line] = self.mutant.new
        self.path.write_text("\n".join(lines))
        # A compiler that outlives an interrupted run may read the restored text: that must not be kept for the changed one.
        self.tree.env["CCACHE_DISABLE"] = "1"

    def restore(self):
        self.tree.env.pop("CCACHE_DISABLE", None)
        if self.path.read_text() != self.text:
            self.path.write_text(self.text)

    def compiles(self):
        target = self.tree.object_with(self.mutant.name)
        return not target or self.tree.compile(target)

    def is_same(self):
        """Whether -O2 makes the same code. A header has no object of its own."""
        if not self.tree.commands(self.mutant.name):
            return False
        changed = self.tree.optimized_code(self.mutant.name)
        self.restore()
        before = self.tree.optimized_code(self.mutant.name)
        self.change()
        return changed == before

    def fails(self, name):
        """How the test fails because of the change, or None."""
        if not self.tree.compile(*self.tree.tests[name].targets):
            return None
        how, _ = self.tree.run(name, self.tree.limit(name))
        if how and name not in self.tree.baseline:
            self.restore()
            sound = self.tree.sound(name)
            self.change()
            if not sound:
                print(f"{name} fails without any change: left out", flush=True)
        if not how or self.tree.baseline[name] is None:
            return None
        return how if self.tree.tests[name].suite == "unit" or self.fails_again(name) else None

    def fails_again(self, name):
        """A daemon on a busy machine may fail once for other reasons than the change, which does not count."""
        self.tree.compile(*self.tree.tests[name].targets)
        if self.tree.run(name, self.tree.limit(name))[0]:
            return True
        print(f"{name} failed once, and then passed with the same change", flush=True)
        return False

    def outcome(self):
        """(outcome, the test that failed, how)."""
        try:
            self.change()
            if not self.compiles():
                return "invalid", "", ""
            begin, compared = time.monotonic(), False
            for index, name in enumerate(self.names):
                if not compared and self.tree.tests[name].suite != "unit":
                    compared = True
                    if self.is_same():
                        return "same", "", ""
                if time.monotonic() - begin > self.seconds:
                    return "survived", "", f"{len(self.names) - index} tests not run"
                if name in self.tree.baseline and self.tree.baseline[name] is None:
                    continue
                how = self.fails(name)
                if how:
                    return "caught", name, how
            return ("same", "", "") if not compared and self.is_same() else ("survived", "", "")
        finally:
            self.restore()


class Session:
    """What was tried, in this run and in earlier ones that --resume continues."""

    def __init__(self, tree, options):
        self.tree, self.options, self.known = tree, options, Equivalents(HERE / "equivalent.txt")
        self.rooms, self.done, self.relevance = rooms(), {}, choice.Relevance(tree.tests)
        if options.resume and options.resume.exists():
            with options.resume.open(encoding="utf-8") as file:
                self.done = {row["key"]: row for row in csv.DictReader(file, delimiter="\t", fieldnames=FIELDS)}

    def take(self, mutant):
        """The outcome of a mutant, tried unless it is known."""
        lines = (ROOT / mutant.name).read_text().split("\n")
        key = mutant.key(lines)
        row = self.done.get(key)
        reason = self.known.reason(mutant, lines)
        if reason and (not row or row["outcome"] != "caught"):
            outcome, test, how, seconds = "listed", "", reason, 0
        elif row and not (self.options.again and row["outcome"] == "survived"):
            return row["outcome"]
        else:
            begin = time.monotonic()
            outcome, test, how = Trial(self.tree, mutant, self.relevance, self.options).outcome()
            seconds = time.monotonic() - begin
            if test and self.tree.sanitizers:
                test = f"{test} ({self.tree.sanitizers})"
        kind = row["kind"] if row else "aimed" if self.options.aimed else "recent" if self.options.since else "random"
        self.keep(dict(zip(FIELDS, (key, kind, room_of(mutant.name, self.rooms), mutant.name, mutant.line + 1, mutant.rule,
                                    outcome, test, how, round(seconds), mutant.old.strip(), mutant.new.strip()))))
        return outcome

    def keep(self, row):
        print("{outcome:8}  {seconds:4} s  {file}:{line}  {rule}: {test} {how}\n       - {old}\n       + {new}".format(**row), flush=True)
        self.done[row["key"]] = row
        if self.options.resume:
            with self.options.resume.open("a", encoding="utf-8") as file:
                csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n").writerow(row)


def part_of(items, part):
    """The items of part K of N, in turn: for runs beside one another."""
    which, parts = map(int, part.split("/"))
    return items[which - 1::parts]


def try_random(session, options):
    files = product_files()
    if options.room:
        files = {room: files[room] for room in options.room}
    order, streams = stratified(files, options.count, options.seed)
    chosen = part_of(sorted(files, key=lambda room: (-len(files[room]), room)), options.part)
    for room in order:
        if room not in chosen:
            continue
        for mutant in streams[room]:
            if session.take(mutant) in COUNTED:
                break


def try_again(session):
    """The survivors of the table, wherever their lines are now."""
    survivors = [row for row in session.done.values() if row["outcome"] == "survived"]
    for row in survivors:
        lines = (ROOT / row["file"]).read_text().split("\n")
        for mutant in mutants.mutants_of(ROOT, row["file"], tables=True):
            if mutant.key(lines) == row["key"]:
                session.take(mutant)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="directory of the copy; kept for the next time")
    parser.add_argument("--count", type=int, default=200, help="mutants that count")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--room", action="append", help="only this room of CONTRIBUTING.md")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="of N runs beside one another this is the K-th")
    parser.add_argument("--aimed", action="store_true", help="the mutants that aimed.txt asks for")
    parser.add_argument("--since", metavar="COMMIT", help="all mutants of the lines that were changed since the commit")
    parser.add_argument("--at", metavar="FILE:LINE", help="all mutants of one line, or one: OLD becomes NEW")
    parser.add_argument("--test", action="append", help="run this test instead of those of the room")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="the table of outcomes: read, continued, appended to")
    parser.add_argument("--again", action="store_true", help="with --resume: try the survivors of the table once more, and no others")
    parser.add_argument("--list", action="store_true", help="with --aimed, --since or --at: show the mutants, try none")
    parser.add_argument("--seconds", type=int, default=600, help="of tests for one mutant; those left then are not run")
    parser.add_argument("--setup", action="append", help="option for meson setup")
    parser.add_argument("--report", nargs="+", type=Path, metavar="FILE", help="print tables of outcomes as Markdown")
    parser.add_argument("--results", type=Path, metavar="FILE", help="with --report: write the figures there, too (tests/results)")
    parser.add_argument("--check", action="store_true",
                        help="only tell which functions of equivalent.txt there are no longer, and which rooms have no tests")
    parser.add_argument("change", nargs="*", metavar="OLD NEW", help="with --at")
    options = parser.parse_args()
    if options.report:
        return report(options.report, rooms(), options.results)
    if options.check:
        unknown = list(Equivalents(HERE / "equivalent.txt").unknown())
        unknown += [f"choice.py: no tests for {room}" for room in product_files() if not choice.prefixes(room + "/")]
        print("\n".join(unknown))
        return bool(unknown)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    chosen = None
    if options.at:
        chosen = given(options.at, options.change)
    elif options.aimed:
        names = [name for files in product_files().values() for name in files]
        chosen = part_of(list(mutants.aimed_mutants(ROOT, names, HERE / "aimed.txt", options.seed)), options.part)
    elif options.since:
        chosen = part_of(changed_since(options.since), options.part)
    if options.list:
        for m in chosen or []:
            print(f"{m.name}:{m.line + 1}  {m.rule}\n       - {m.old.strip()}\n       + {m.new.strip()}")
        return 0
    session = Session(Tree(ROOT, options.work.resolve(), options.setup), options)
    for row in session.known.loose():
        print(row, flush=True)
    if options.again:
        try_again(session)
        chosen = []
    elif chosen is None:
        try_random(session, options)
    for m in chosen or []:
        session.take(m)
    return 1 if any(row["outcome"] == "survived" for row in session.done.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
