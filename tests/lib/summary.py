#!/usr/bin/env python3
"""Adds up what the trees of tests/run built and tested; the last line is "N passed, N failed"."""
import json
import sys
from collections import Counter
from pathlib import Path

GOOD = ("OK", "EXPECTEDFAIL")
REPEATS = 3  # of a test that failed, as in tests/run


def logged(tree, base):
    """What meson noted of the tests of a build tree in the logs of that name."""
    for log in sorted((Path(tree) / "meson-logs").glob(base + "*.json")):
        for line in log.read_text().splitlines():
            yield json.loads(line)


def passed_repeatedly(tree):
    """The tests that failed at first, and passed each time when they ran again with nothing beside them."""
    outcomes = {}
    for test in logged(tree, "repeated"):
        outcomes.setdefault(test["name"], []).append(test["result"])
    return {name for name, found in outcomes.items() if all(result in GOOD for result in found)}


def results(build):
    """(tree, test, outcome, output) of everything that ran."""
    for built in sorted(Path(build).glob("*.built")):
        tree = built.with_suffix("")
        outcome, _, output = built.read_text().strip().partition("\n")
        yield built.stem, "builds without a warning", outcome, output
        if outcome == "SKIP":  # its logs, if there are any, are of an earlier run
            continue
        unstable = passed_repeatedly(tree)
        for test in logged(tree, "testlog"):
            again = test["result"] not in GOOD and test["name"] in unstable
            yield built.stem, test["name"], "UNSTABLE" if again else test["result"], test.get("stdout", "")


def reason(output):
    """Why a test was skipped: its line SKIP, or its last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("SKIP:")]
    return (told or lines or ["no reason given"])[-1].removeprefix("SKIP:").strip()


def main():
    counts = Counter()
    for tree, name, outcome, output in results(sys.argv[1]):
        kind = "passed" if outcome in GOOD + ("UNSTABLE",) else "skipped" if outcome == "SKIP" else "failed"
        counts[kind] += 1
        if outcome == "UNSTABLE":
            print(f"unstable: {tree}: {name}: failed once and passed {REPEATS} times alone: see its log above")
        if kind == "skipped":
            print(f"skipped: {tree}: {name}: {reason(output)}")
        elif kind == "failed":
            print(f"failed: {tree}: {name}: {outcome}")
    if not counts["passed"] and not counts["failed"]:
        counts["failed"] = 1
        print("failed: nothing was built")
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
