#!/usr/bin/env python3
"""Changes one line of product code at a time and looks whether a test notices.

    tests/mutate.py --work DIR [--count 40] [--seed 1] [--test NAME...] FOLDER-OR-FILE...
    tests/mutate.py --work DIR --at FILE:LINE OLD NEW

Works on a copy of the tracked files in DIR/source, built in DIR/build; the tree itself is never changed, and the copy
is brought up to date and repaired at every start. Every folder gets the same number of mutants. Their places depend on
the seed and the sources only. Each is compiled, and run against the tests of its folder (the table TESTS below, unit
tests first) until one fails. A table says what became of each:

    caught      a test failed; which one
    survived    all passed: a test is missing, or the change makes no difference
    same        the compiler made the same code of it: does not count
    invalid     does not compile: does not count, another is taken in its place

The exit status is 0 if all that count were caught. Survivors need judgement: many are no defects (a limit that cannot
be reached, an optimization left out).
"""
import argparse
import fnmatch
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HANG = 30  # seconds until a wait of a mount test counts as hung; its own default is longer
SECONDS = 300  # for all tests of one mutant

# What to run for a folder, in this order: patterns of test names, the longest prefix of the path decides.
TESTS = {
    "gsym": ("cursor", "reader", "lookup", "linetab", "inline", "damage", "golden*"),
    "convert": ("finalize", "stub", "segment", "golden*", "crafted", "defects", "calls", "bad-answers",
                "bad-elf"),
    "convert/os": ("acl", "mutex", "neighbour", "mount-access", "mount-led_astray", "mount-neighbours", "mount-cache"),
    "convert/cache": ("file_state", "fs-notes", "fs-revision", "mount-cache", "mount-shared", "mount-places"),
    "convert/worker": ("fs-message", "mount-worker"),
    "convert/run": ("neighbour", "inputs", "fs-message", "mount-neighbours", "mount-led_astray", "mount-worker",
                    "mount-shared", "mount-cache", "mount-cold"),
    "convert/cli/worker": ("fs-sandbox", "mount-worker", "mount-debuginfod", "mount-neighbours"),
    "fs": ("fs-*", "mount-access", "mount-source", "mount-read"),
    "fs/call": ("mount-cold", "mount-odd", "mount-fair"),
    "fs/images": ("fs-choice", "fs-catalogue", "fs-revision", "fs-retired", "fs-kept", "fs-image_find", "fs-caller",
                  "fs-path_tree", "mount-access", "mount-source", "mount-gsym", "mount-scan", "mount-by_path", "mount-read"),
    "fs/scan": ("fs-index", "mount-scan", "mount-source", "mount-watch"),
    "fs/tree": ("fs-fixed", "mount-readonly", "mount-access", "mount-interface", "mount-read"),
}

# Rules: (name, pattern in a line of code, what to put in place of the match).
SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
         "&": "|", "|": "&", "true": "false", "false": "true"}


def successor(number):
    """The next higher number, octal stays octal."""
    return f"0{int(number, 8) + 1:o}" if re.fullmatch("0[0-7]+", number) else str(int(number) + 1)


RULES = [
    ("comparison", r"(?<= )(==|!=|<=|>=|<|>)(?= )", lambda m: SWAPS[m[1]]),
    ("logic", r"(?<= )(&&|\|\|)(?= )", lambda m: SWAPS[m[1]]),
    ("negation", r"(?<=[(&| ])!(?=[\w(])", lambda m: ""),
    ("constant", r"(?<![\w.\"%])(\d+)(?=[;,)\]} ])", lambda m: successor(m[1])),
    ("boolean", r"\b(true|false)\b", lambda m: SWAPS[m[1]]),
    ("arithmetic", r"(?<=\w )([+-])(?= [\w(])", lambda m: SWAPS[m[1]]),
    ("bits", r"(?<=[\w)] )([&|])(?= [~\w(])", lambda m: SWAPS[m[1]]),
    ("guard never", r"^(\t+(?:else )?if \()(.*)(\))$", lambda m: f"{m[1]}0 && ({m[2]}){m[3]}"),
    ("guard always", r"^(\t+(?:else )?if \()(.*)(\))$", lambda m: f"{m[1]}1 || ({m[2]}){m[3]}"),
    ("statement removed", r"^(\t+)(?:[\w>.\[\]-]+ [|&+-]?= .*|[a-z]\w*\(.*\));$", lambda m: f"{m[1]};"),
    ("error to 0", r"\breturn (-E\w+|-errno|err|-err|-1);", lambda m: "return 0;"),
    ("result reversed", r"\breturn ((?!-)(?:[^;?]* (?:==|!=|<|>|<=|>=|&&|\|\|) [^;?]*|![^;?]*));",
     lambda m: f"return !({m[1]});"),
]
# No behaviour of the product: assertions, messages, declarations.
LEFT_OUT = re.compile(r'^\s*(//|/?\*|#|invariant|static_assert|_Static_assert|log_|case |default:|struct \w+ \w+;)|"')


def unsplit(lines):
    """Numbers of lines that begin and end a statement, parentheses and braces balanced, inside a function."""
    comment = False
    for number, line in enumerate(lines):
        begins = "/*" in line
        code = not comment and not begins and line.startswith("\t") and not LEFT_OUT.search(line)
        comment = (comment or begins) and "*/" not in line
        if code and line.count("(") == line.count(")") and not line.rstrip().endswith("\\"):
            yield number


def sites(path):
    """All (rule, line number, changed line) of a file."""
    lines = path.read_text().split("\n")
    for number in unsplit(lines):
        for name, pattern, new in RULES:
            for match in re.finditer(pattern, lines[number]):
                changed = lines[number][:match.start()] + new(match) + lines[number][match.end():]
                if changed != lines[number]:
                    yield name, number, changed


class Copy:
    """The private copy of the tree and its build."""

    def __init__(self, work, setup_options):
        self.source, self.build, self.tmp = work / "source", work / "build", work / "tmp"
        self.env = dict(os.environ, TMPDIR=str(self.tmp), MOUNT_TEST_LIMIT=str(HANG))
        for path in (self.source, self.tmp):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o755)
        self.update()
        if not (self.build / "build.ninja").exists():
            self.call("meson", "setup", *setup_options, str(self.build), str(self.source))

    def call(self, *argv):
        done = subprocess.run(argv, capture_output=True, text=True, env=self.env, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(argv)}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def update(self):
        """Makes the copy equal to the tree; what is equal keeps its time, so that it is not compiled again."""
        tracked = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                 capture_output=True, check=True).stdout.decode().split("\0")
        for name in filter(None, tracked):
            old, new = ROOT / name, self.source / name
            if not old.is_file():
                new.unlink(missing_ok=True)
                continue
            data = old.read_bytes()
            if not new.exists() or new.read_bytes() != data:
                new.parent.mkdir(parents=True, exist_ok=True)
                new.write_bytes(data)
            new.chmod(old.stat().st_mode & 0o777)

    def compile(self, *targets):
        done = subprocess.run(["ninja", "-C", str(self.build), "-j2", *targets], capture_output=True, text=True,
                              env=self.env, check=False)
        return done.returncode == 0

    def objects(self, name):
        """Targets of ninja that are compiled from a source file."""
        path = self.source / name
        commands = json.loads((self.build / "compile_commands.json").read_text())
        return [c["output"] for c in commands if (Path(c["directory"]) / c["file"]).resolve() == path.resolve()]

    def code(self, objects):
        return [hashlib.sha256((self.build / name).read_bytes()).digest() for name in objects]

    def tests(self, patterns):
        """Names of the tests that match, in the order of the patterns."""
        listed = self.call("meson", "test", "-C", str(self.build), "--list").splitlines()
        names = [line.split(" / ")[-1].strip() for line in listed if line and not line.startswith(("ninja:", "INFO"))]
        found = []
        for pattern in patterns:
            found += [n for n in fnmatch.filter(names, pattern) if n not in found]
        return found

    def run(self, names):
        """The first of the tests that fails, or None; unit tests all at once."""
        fast = [n for n in names if not n.startswith("mount-")]
        for group in [fast] * bool(fast) + [[n] for n in names if n not in fast]:
            failed = self.run_group(group)
            if failed:
                return failed
        return None

    def run_group(self, names):
        process = subprocess.Popen(["meson", "test", "-C", str(self.build), "--num-processes", "2", *names], env=self.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            output = process.communicate(timeout=SECONDS)[0]
        except subprocess.TimeoutExpired:
            return f"{names[0]} (hung)"
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)  # meson ends its tests
                process.communicate()
            self.unmount()
        if process.returncode == 0:
            return None
        failed = re.findall(r"\d+/\d+ (?:\S+ / )?(\S+) +(?:FAIL|TIMEOUT|ERROR|INTERRUPT)", output)
        return ", ".join(dict.fromkeys(failed)) or "does not link"

    def unmount(self):
        """What a killed test left."""
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            left = [line.split()[4] for line in mounts if line.split()[4].startswith(f"{self.tmp}/")]
        for path in reversed(left):
            subprocess.run(["umount", "-l", path], check=False)


class Mutant:
    def __init__(self, name, line, rule, old, new):
        self.name, self.line, self.rule, self.old, self.new = name, line, rule, old, new

    def attempt(self, copy, tests):
        """(outcome, the test that failed or None). The file is restored whatever happens."""
        path, objects = copy.source / self.name, copy.objects(self.name)
        text = path.read_text()
        if not objects or not copy.compile(*objects):
            sys.exit(f"{self.name}: cannot be compiled without any change")
        before = copy.code(objects)
        lines = text.split("\n")
        assert lines[self.line] == self.old
        lines[self.line] = self.new
        try:
            path.write_text("\n".join(lines))
            if not copy.compile(*objects):
                return "invalid", None
            if copy.code(objects) == before:
                return "same", None
            failed = copy.run(tests)
            return ("caught", failed) if failed else ("survived", None)
        finally:
            path.write_text(text)


def report(number, mutant, outcome, failed, seconds):
    print(f"{number:3}  {outcome:8}  {seconds:4.0f} s  {mutant.name}:{mutant.line + 1}  {mutant.rule}"
          f"{': ' + failed if failed else ''}")
    print(f"       - {mutant.old.strip()}\n       + {mutant.new.strip()}", flush=True)


def files_below(place):
    """C files of a folder and the folders in it, or the file."""
    path = ROOT / place
    return [path] if path.is_file() else sorted(path.rglob("*.c"))


def choose(place, chance):
    """Mutants of one folder in random order, so that each rule is as likely as the other."""
    by_rule = {}
    for path in files_below(place):
        name = str(path.relative_to(ROOT))
        lines = path.read_text().split("\n")
        for rule, line, new in sites(path):
            by_rule.setdefault(rule, []).append(Mutant(name, line, rule, lines[line], new))
    for mutants in by_rule.values():
        chance.shuffle(mutants)
    while by_rule:
        rule = chance.choice(sorted(by_rule))
        yield by_rule[rule].pop()
        if not by_rule[rule]:
            del by_rule[rule]


def tests_for(copy, name, chosen):
    prefixes = [p for p in TESTS if name.startswith(p + "/")]
    patterns = chosen or TESTS[max(prefixes, key=len)]
    return copy.tests(patterns)


def plan(options):
    """(mutant or None at the end of a folder's share) lists by folder, with how many of each must count."""
    share, rest = divmod(options.count, len(options.places))
    for index, place in enumerate(options.places):
        chance = random.Random(f"{options.seed}:{place}")
        yield choose(place, chance), share + (index < rest)


def given(options):
    """The one mutant of --at."""
    name, line = options.at.rsplit(":", 1)
    number = int(line) - 1
    old = (ROOT / name).read_text().split("\n")[number]
    if options.places[0] not in old:
        sys.exit(f"{options.at}: no '{options.places[0]}' in '{old.strip()}'")
    return Mutant(name, number, "given", old, old.replace(options.places[0], options.places[1], 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="directory of the copy; kept for the next time")
    parser.add_argument("--count", type=int, default=40, help="mutants that count")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--test", action="append", help="run these tests (pattern) instead of those of the folder")
    parser.add_argument("--at", metavar="FILE:LINE", help="one mutant: OLD becomes NEW in that line")
    parser.add_argument("--list", action="store_true", help="show the mutants, try none")
    parser.add_argument("--setup", action="append", default=["--buildtype=debugoptimized"], help="option for meson setup")
    parser.add_argument("places", nargs="+", metavar="FOLDER-OR-FILE", help="or OLD NEW with --at")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    plans = [(iter([given(options)]), 1)] if options.at else list(plan(options))
    if options.list:
        for mutants, wanted in plans:
            for _, mutant in zip(range(wanted), mutants):
                report(0, mutant, "", None, 0)
        return 0
    copy = Copy(options.work.resolve(), options.setup)
    if not copy.compile():
        sys.exit("the tree does not build")
    counts, number, sound = {"caught": 0, "survived": 0, "same": 0, "invalid": 0}, 0, {}
    for mutants, wanted in plans:
        while wanted > 0:
            mutant = next(mutants, None)
            if not mutant:
                break
            tests = tests_for(copy, mutant.name, options.test)
            for name in tests:
                if name not in sound:
                    sound[name] = not copy.run_group([name])
                    if not sound[name]:
                        print(f"{name} fails without any change: left out", flush=True)
            begin = time.monotonic()
            outcome, failed = mutant.attempt(copy, [n for n in tests if sound[n]])
            number += 1
            counts[outcome] += 1
            wanted -= outcome in ("caught", "survived")
            report(number, mutant, outcome, failed, time.monotonic() - begin)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
