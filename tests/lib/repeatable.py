#!/usr/bin/env python3
"""Prints the tests of a build tree that failed and may have done so because the machine was busy, one a line.

A crash, a failed assertion and a finding of a sanitizer are not among them: they are faults however rarely they occur.
"""
import sys

import summary

FINDINGS = ("Sanitizer", "runtime error:", "Assertion `", "terminated by signal", "core dumped")


def is_repeatable(test):
    output = test.get("stdout", "") + test.get("stderr", "")
    return (test["result"] in ("FAIL", "TIMEOUT") and test.get("returncode", 0) < 128 and
            not any(finding in output for finding in FINDINGS))


def main():
    failed = [test for test in summary.logged(sys.argv[1], "testlog") if test["result"] not in summary.GOOD + ("SKIP",)]
    if all(map(is_repeatable, failed)):
        for test in failed:
            print(test["name"].rpartition(" / ")[2])


if __name__ == "__main__":
    main()
