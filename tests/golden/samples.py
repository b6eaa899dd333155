#!/usr/bin/env python3
"""Logs of real programs, stored in samples/ (README.md there tells how they were made), through gsym filter.

Their images are the .sym files beside them: functions, lines and inlined calls of the programs. Each log comes out as the .out file of its
name. Filtered again it stays as it is, as a log does with programs of other names, and 100 lines of another build, where the summary tells why.

    samples.py GSYM [--update]
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402
from lib.checks import expect, failures  # noqa: E402

# Where programs were loaded, if neither the log nor its frames tell.
OPTIONS = {"valgrind": ["--base=demo=0x108000"]}


def told(gsym, log, files, options):
    """The log, and what standard error says, after each other."""
    found = subprocess.run([gsym, "filter", *options, *files], input=log, capture_output=True, text=True, timeout=300)
    return found.stdout, found.stderr


def another_build(gsym, image):
    """100 frames of it: none is explained, and the summary tells why. By its id, and as a kernel by sizes of its functions."""
    id = "0123456789abcdef" * 2
    logs = {f"{image.stem} ({id}): 100 frames not explained: of another build: the log is of {id}":
            "".join(f"    #{n} {0x559f5a01c000 + n:#x}  (/src/{image.stem}+{0x2379 + n:#x}) (BuildId: {id})\n" for n in range(100)),
            f"{image.stem} ({id}): 100 frames not explained: of another build: the log is of {id}, ":
            "".join(f"      #{n % 100:02} pc {0x2379 + n:016x}  /src/{image.stem} (BuildId: {id})\n" for n in range(100)),
            "is of another build: _start, too, has": "".join(f" {('main', '_start')[n % 2]}+{n % 16 + 1:#x}/{0x300 + n:#x}\n" for n in range(100))}
    for reason, log in logs.items():
        got, summary = told(gsym, log, [image], [])
        expect("100 lines of another build", got, log)
        expect("the reason", f"{reason in summary} {'0 of 100 frames explained' in summary}", "True True")


def main():
    gsym, update = peers.gsym_program(sys.argv[1]), "--update" in sys.argv[2:]
    samples = HERE / "samples"
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        (directory / "other").mkdir()
        files, others = [], []
        for sym in sorted(samples.glob("*.sym")):
            files.append(directory / f"{sym.stem}.gsym")
            peers.run([gsym, "convert", "--quiet", "-o", files[-1], sym])
            header, functions = sym.read_text().split("\n", 1)
            other = directory / "other" / sym.name
            other.write_text(f"{header} of another name\n{functions}")
            others.append(other.with_suffix(".gsym"))
            peers.run([gsym, "convert", "--quiet", "-o", others[-1].with_name("unlike-" + others[-1].name), other])
        others = [other.with_name("unlike-" + other.name) for other in others]
        another_build(gsym, directory / "demo.gsym")
        for path in sorted(samples.glob("*.log")):
            log, options = path.read_text(), OPTIONS.get(path.stem, [])
            got, summary = told(gsym, log, files, options)
            out = path.with_suffix(".out")
            if update:
                out.write_text(got + "--\n" + summary)
            expect(path.stem, got + "--\n" + summary, out.read_text())
            expect(f"{path.stem} again", told(gsym, got, files, options)[0], got)
            if path.stem != "eu-stack-b":  # its frames have ids
                expect(f"{path.stem}, of programs of other names", told(gsym, log, others, options)[0], log)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
