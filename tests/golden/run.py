#!/usr/bin/env python3
"""Runs the transcripts in cases/ and compares what they print.

A transcript is a list of commands, each on a line that begins with "$ ", followed by what it prints (standard
output and standard error together) and, unless its status is 0, the status in brackets. Lines that begin with
"#" are comments. Commands run one after the other in a directory that holds the input files; "gsym" is the
program under test, $ELF an object file with debug data, and $FOUND a folder of small crafted ones.

    run.py GSYM MAKE_INPUTS ELF [--update] [CASE...]

With --update the transcripts are rewritten to what the commands print now.
"""
import argparse
import difflib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).parent / "cases"


def run_command(command, directory, environment):
    """What a command prints, and its status. One that hangs is ended with all that it started."""
    with subprocess.Popen(["sh", "-c", command], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as running:
        try:
            output = running.communicate(timeout=300)[0]
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            output = running.communicate()[0] + b"[hangs]\n"
    lines = output.decode("utf-8", "backslashreplace").splitlines()
    if running.returncode:
        lines.append(f"[{running.returncode}]")
    return lines


def replay(text, directory, environment):
    """The transcript as it would read today."""
    out = []
    for line in text.splitlines():
        if line.startswith("#") or (not line and not out):
            out.append(line)
        elif line.startswith("$ "):
            out.append(line)
            out += run_command(line[2:], directory, environment)
    return "\n".join(out) + "\n"


def run_case(path, arguments):
    expected = path.read_text()
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([arguments.make_inputs, directory], check=True)
        program = pathlib.Path(directory) / ".bin"
        program.mkdir()
        (program / "gsym").symlink_to(arguments.gsym)
        environment = dict(os.environ, PATH=f"{program}:{os.environ['PATH']}", LC_ALL="C", ELF=str(arguments.elf),
                           FOUND=str(CASES.parent.parent / "fuzz" / "found" / "elf"))
        got = replay(expected, directory, environment)
    if got == expected:
        return True
    if arguments.update:
        path.write_text(got)
        print(f"updated {path.name}")
        return True
    print(f"not ok: {path.name}")
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), got.splitlines(True), "expected", "got"))
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gsym", type=pathlib.Path)
    parser.add_argument("make_inputs", type=pathlib.Path)
    parser.add_argument("elf", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", help="names of transcripts; all of them when none is given")
    parser.add_argument("--update", action="store_true", help="rewrite the transcripts")
    arguments = parser.parse_intermixed_args()
    for name in ("gsym", "make_inputs", "elf"):
        setattr(arguments, name, getattr(arguments, name).resolve())
    paths = [CASES / f"{name}.t" for name in arguments.cases] or sorted(CASES.glob("*.t"))
    bad = [path for path in paths if not run_case(path, arguments)]
    print(f"{len(paths) - len(bad)} of {len(paths)} transcripts as expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
