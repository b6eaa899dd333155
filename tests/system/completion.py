#!/usr/bin/env python3
"""Completion of command lines, as the shells do it.

    completion.py SYSTEM_DIR BIN_DIR...

Programs are taken from BIN_DIR. bash and fish are asked what they would offer; zsh only whether it can read the files.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

system, bins = sys.argv[1], sys.argv[2:]
environment = dict(os.environ, PATH=":".join([*bins, os.environ["PATH"]]), LC_ALL="C.UTF-8")
faults = []


def run(*argv, **kwargs):
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300, check=False, **kwargs)


def syntax(shell, *files):
    for file in files:
        done = run(shell, "-n", os.path.join(system, file))
        if done.returncode or done.stderr:
            faults.append(f"{shell} -n {file}: {done.stderr}")


BASH = """
source "$1"
compopt() { :; }
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"_${1}" "$1" "${!#}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash(*words):
    """What bash offers for the last of @words; "=" and ":" are words of their own there."""
    done = run("bash", "-c", BASH, "bash", os.path.join(system, "bash", words[0]), *words)
    if done.stderr:
        faults.append(f"bash, {words}: {done.stderr}")
    return set(done.stdout.split())


def fish(line):
    """What fish offers for a line, as a set of words."""
    files = " ".join(f"source {system}/fish/{name}.fish;" for name in ("gsym", "gsymfs"))
    done = run("fish", "--no-config", "-c", f"{files} complete -C '{line}'")
    if done.stderr:
        faults.append(f"fish, {line}: {done.stderr}")
    return {offer.split("\t")[0] for offer in done.stdout.splitlines()}


def expect(what, found, wanted, exactly=True):
    if found != set(wanted) and (exactly or not found >= set(wanted)):
        faults.append(f"{what}: offers {sorted(found)}, not {sorted(wanted)}")


def options(*argv):
    """Options that the help of a command lists."""
    return re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", run(*argv, "--help").stdout, re.M)


def check_every_option(shell, complete):
    """@complete gives what is offered for a command line with an option begun."""
    for command in re.findall(r"^  (\w+) ", run("gsym", "--help").stdout, re.M):
        offers = {offer.rstrip("=") for offer in complete("gsym", command, "--")}
        expect(f"{shell}: gsym {command} --", offers, options("gsym", command))


def check_every_choice():
    """The words that an option takes are those of --help, for each option of each command and of gsymfs."""
    commands = re.findall(r"^  (\w+) ", run("gsym", "--help").stdout, re.M)
    listed = [("gsym", command, *choice) for command in commands for choice in choices("gsym", command)]
    expect("gsym: options with choices", {option for _, _, option, _ in listed}, ["--format", "--progress"], exactly=False)
    for program, command, option, words in listed:
        expect(f"{program} {command} {option}=", bash(program, command, option, "="), words)
    if shutil.which("gsymfs", path=environment["PATH"]):
        for option, words in choices("gsymfs"):
            expect(f"gsymfs -o {option}=", bash("gsymfs", "-o", option, "="), words)


def choices(*argv):
    """(option, [words]) for each option whose --help lists words to choose from."""
    found = re.findall(r"^ +(?:-\w, )?(?:-o )?(--[a-z-]+|[a-z_]+)=(\w+(?:\|\w+)+)", run(*argv, "--help").stdout, re.M)
    return [(option, words.split("|")) for option, words in found]


def check_bash():
    syntax("bash", "bash/gsym", "bash/gsymfs")
    expect("gsym con", bash("gsym", "con"), ["convert"])
    expect("gsym", bash("gsym", ""), ["convert", "lookup", "dump", "verify", "--help", "--version"], exactly=False)
    expect("gsym convert --out", bash("gsym", "convert", "--out"), ["--out-file=", "--output-version="])
    check_every_option("bash", bash)
    check_every_choice()
    expect("gsym convert --merged", bash("gsym", "convert", "--merged"), ["--merged-functions"])
    expect("gsym convert --progress=", bash("gsym", "convert", "--progress", "="), ["auto", "always", "never"])
    expect("gsym stack --format=", bash("gsym", "stack", "--format", "="), ["text", "tsv", "json"])
    expect("gsym lookup --format=t", bash("gsym", "lookup", "--format", "=", "t"), ["text", "tsv"])
    if not shutil.which("gsymfs", path=environment["PATH"]):
        return
    expect("gsymfs -", bash("gsymfs", "-"), ["-f", "-d", "-s", "-o", "-h", "-V", "--help", "--version"])
    expect("gsymfs -o ca", bash("gsymfs", "-o", "ca"), ["cache=", "cache_size=", "cache_free="])
    expect("gsymfs -o jobs=1,ca", bash("gsymfs", "-o", "jobs", "=", "1,ca"), ["1,cache=", "1,cache_size=", "1,cache_free="])
    expect("gsymfs -o unknown=", bash("gsymfs", "-o", "unknown", "="), ["enoent", "print"])
    expect("gsymfs -o jobs=1,unknown=p", bash("gsymfs", "-o", "jobs", "=", "1,unknown", "=", "p"), ["print"])
    expect("gsymfs -o debug_dirs=/us:/us", bash("gsymfs", "-o", "debug_dirs", "=", "/us", ":", "/us"), ["/usr"])
    expect("gsymfs -o jobs=1 --v", bash("gsymfs", "-o", "jobs", "=", "1", "--v"), ["--version"])
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "source"))
        expect("gsymfs DIR/so", bash("gsymfs", os.path.join(directory, "so")), [os.path.join(directory, "source")])


def check_fish():
    syntax("fish", "fish/gsym.fish", "fish/gsymfs.fish")
    expect("fish: gsym con", fish("gsym con"), ["convert"])
    expect("fish: gsym convert --out", fish("gsym convert --out"), ["--out-file="], exactly=False)
    check_every_option("fish", lambda *words: fish(" ".join(words)))
    expect("fish: gsym lookup --format=t", fish("gsym lookup --format=t"), ["--format=text", "--format=tsv"],
           exactly=False)
    expect("fish: gsym stack --format=", fish("gsym stack --format="), ["--format=text", "--format=tsv", "--format=json"])
    if shutil.which("gsymfs", path=environment["PATH"]):
        expect("fish: gsymfs --", fish("gsymfs --"), ["--help", "--version"], exactly=False)
        expect("fish: gsymfs -o jobs=1,unknown=p", fish("gsymfs -o jobs=1,unknown=p"), ["jobs=1,unknown=print"])


checks = {"bash": check_bash, "zsh": lambda: syntax("zsh", "zsh/_gsym", "zsh/_gsymfs"), "fish": check_fish}
missing = [shell for shell in checks if not shutil.which(shell)]
for shell, check in checks.items():
    if shell in missing:
        print(f"SKIP: no {shell}")
    else:
        check()
print("\n".join(faults) or "good")
sys.exit(1 if faults else 77 if len(missing) == len(checks) else 0)
