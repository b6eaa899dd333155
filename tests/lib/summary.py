#!/usr/bin/env python3
"""Adds up what the trees of tests/run built and tested; the last line is "N passed, N failed"."""
import json
import sys
from collections import Counter
from pathlib import Path

GOOD = ("OK", "EXPECTEDFAIL")


def results(build):
    """(tree, test, outcome, output) of everything that ran."""
    for built in sorted(Path(build).glob("*.built")):
        yield built.stem, "builds without a warning", built.read_text().strip(), ""
        for log in sorted((built.with_suffix("") / "meson-logs").glob("testlog*.json")):
            for line in log.read_text().splitlines():
                test = json.loads(line)
                yield built.stem, test["name"], test["result"], test.get("stdout", "")


def reason(output):
    """Why a test was skipped: its line SKIP, or its last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("SKIP:")]
    return (told or lines or ["no reason given"])[-1].removeprefix("SKIP:").strip()


def main():
    counts = Counter()
    for tree, name, outcome, output in results(sys.argv[1]):
        kind = "passed" if outcome in GOOD else "skipped" if outcome == "SKIP" else "failed"
        counts[kind] += 1
        if kind == "skipped":
            print(f"skipped: {tree}: {name}: {reason(output)}")
        elif kind == "failed":
            print(f"failed: {tree}: {name}: {outcome}")
    if not counts:
        counts["failed"] = 1
        print("failed: nothing was built")
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
