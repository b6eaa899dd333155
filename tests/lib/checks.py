"""Texts that must be equal: each comparison is a line of the test's output, and the differences follow."""
import difflib
import sys

failures = []  # what was compared


def expect(what, got, expected):
    good = got == expected
    print(f"{'ok' if good else 'not ok'}: {what}")
    if not good:
        failures.append(what)
        sys.stdout.writelines(line.rstrip("\n") + "\n" for line in difflib.unified_diff(
            expected.splitlines(True), got.splitlines(True), "expected", "got"))
