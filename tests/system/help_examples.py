#!/usr/bin/env python3
"""The examples that the commands' --help ends with: there are some of each command, and they work.

    help_examples.py GSYM

They are run by the shell, in a directory with a program, its debug file, its GSYM file and some input. Those of a
mount need one and are only parsed.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

gsym = os.path.abspath(sys.argv[1])
faults = []

SOURCE = "int main(int argc, char **argv) { return argc > 1 || !argv; }\n"


def shell(command, directory, *flags):
    path = f"{os.path.dirname(gsym)}:{os.environ['PATH']}"
    home = os.path.join(directory, "home")
    return subprocess.run(["sh", *flags, "-c", command], cwd=directory, capture_output=True, text=True, timeout=300,
                          check=False, env=dict(os.environ, PATH=path, HOME=home, XDG_CACHE_HOME=home))


def must(command, directory):
    done = shell(command, directory, "-e")
    if done.returncode:
        raise AssertionError(f"{command}: status {done.returncode}: {done.stderr}")
    return done.stdout


def prepare(directory):
    """Makes app, whose main() is at 0x1170, app.debug and app.gsym, and the files that are read."""
    pathlib.Path(directory, "app.c").write_text(SOURCE)
    must("mkdir home; cc -g -O1 -no-pie -Wl,-Ttext=0x1170,--build-id app.c -nostartfiles -Wl,-e,main -o app", directory)
    must("objcopy --only-keep-debug app app.debug; gsym convert --quiet -o app.gsym app", directory)
    must("echo 0x1170 > addresses; mkdir build; cp app build", directory)
    ident = re.search(r"Build ID: ([0-9a-f]+)", must("readelf -n app", directory))[1]
    pathlib.Path(directory, "stacks").write_text(f"{ident} 0x1170\n")


def check(command, example, directory):
    if not os.environ.get("HAVE_STORE", "1") and (command == "store" or "--shared" in example):
        return  # refused by this build
    done = shell(example, directory, "-n" if "/mnt/" in example else "-e")
    # Messages, not the summary of a conversion; the program prints nothing that filter could explain.
    if done.returncode or re.search(r"^gsym( \w+)?:(?! no frames found)", done.stderr, re.M):
        faults.append(f"gsym {command}: '{example}': status {done.returncode}: {done.stderr}")
    if "| less" not in example and "/mnt/" not in example and command == "lookup" and "main" not in done.stdout:
        faults.append(f"gsym {command}: '{example}': printed {done.stdout!r}")


def examples_of(command):
    text = subprocess.run([gsym, "help", command], capture_output=True, text=True, timeout=600, check=True).stdout
    return re.findall(r"^  (.*gsym .*)$", text.partition("\nExamples:\n")[2], re.M)


def main():
    listing = subprocess.run([gsym, "help"], capture_output=True, text=True, timeout=600, check=True).stdout
    commands = re.findall(r"^  (\w+)  ", listing, re.M)
    examples = 0
    with tempfile.TemporaryDirectory(prefix="gsym-help-") as directory:
        prepare(directory)
        for command in commands:
            found = examples_of(command)
            if not found:
                faults.append(f"gsym {command}: --help has no examples")
            for example in found:
                check(command, example, directory)
            examples += len(found)
    print(f"{examples} examples of {len(commands)} commands")
    sys.exit("\n".join(faults) or 0)


main()
