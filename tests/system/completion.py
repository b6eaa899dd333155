#!/usr/bin/env python3
"""Completion of command lines, as the shells do it.

    completion.py SYSTEM_DIR BIN_DIR...

Programs are taken from BIN_DIR. bash and fish are asked what they would offer; zsh which of some files, with its own
functions for these replaced.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

system, bins = sys.argv[1], sys.argv[2:]
SYMBOLIZERS = ("gsym-addr2line", "gsym-symbolizer")
environment = dict(os.environ, PATH=":".join([*bins, os.environ["PATH"]]), LC_ALL="C.UTF-8")
names = tempfile.TemporaryDirectory()  # of the program under its other names
for symbolizer in SYMBOLIZERS:
    os.symlink(os.path.abspath(shutil.which("gsym", path=environment["PATH"])), os.path.join(names.name, symbolizer))
environment["PATH"] += ":" + names.name
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
compopt() { [[ $* != "-o default" ]] || mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]#=}")
	[[ $* != "-o dirnames" ]] || mapfile -t COMPREPLY < <(compgen -d -- "${COMP_WORDS[COMP_CWORD]#=}"); }
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
function=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" "$1" "${!#}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash(*words, cwd=None):
    """What bash offers for the last of @words; "=" and ":" are words of their own there."""
    file = "gsym-addr2line" if words[0] in SYMBOLIZERS else words[0]
    done = run("bash", "-c", BASH, "bash", os.path.abspath(os.path.join(system, "bash", file)), *words, cwd=cwd)
    if done.stderr:
        faults.append(f"bash, {words}: {done.stderr}")
    return set(done.stdout.split())


def fish(line, cwd=None):
    """What fish offers for a line, as a set of words."""
    files = " ".join(f"source {os.path.abspath(system)}/fish/{name}.fish;" for name in ("gsym", "gsymfs", "gsym-addr2line"))
    done = run("fish", "--no-config", "-c", f"{files} complete -C '{line}'", cwd=cwd)
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


def check_symbolizers(shell, complete):
    """Their options, too, are those of --help, of which some take an argument only after "="."""
    for program in SYMBOLIZERS:
        offers = {offer.rstrip("=") for offer in complete(program, "--")}
        expect(f"{shell}: {program} --", offers, options(program))


def choices(*argv):
    """(option, [words]) for each option whose --help lists words to choose from."""
    found = re.findall(r"^ +(?:-\w, )?(?:-o )?(--[a-z-]+|[a-z_]+)=(\w+(?:\|\w+)+)", run(*argv, "--help").stdout, re.M)
    return [(option, words.split("|")) for option, words in found]


IMAGES = {"app": b"\x7fELF\2\1\1\0", "fat": b"\xca\xfe\xba\xbe", "app.sym": b"MODULE Linux", "thin": b"\xcf\xfa\xed\xfe\7"}
CONVERTED = {"app.gsym": b"MYSG\1\0", "other.gsym": b"GSYM\0\1"}
BOTH = {*IMAGES, *CONVERTED}
# Words, and what the last one can be.
OPERANDS = {
    ("gsym", "convert", ""): BOTH, ("gsym", "convert", "ap"): {"app", "app.gsym", "app.sym"},
    ("gsym", "convert", "--quiet", ""): BOTH, ("gsym", "convert", "-o", "out", ""): BOTH, ("gsym", "convert", "app", ""): set(),
    ("gsym", "lookup", ""): BOTH, ("gsym", "lookup", "app", ""): set(), ("gsym", "lookup", "--approximate", "app", "ma"): set(),
    ("gsym", "dump", ""): BOTH, ("gsym", "dump", "app.gsym", ""): BOTH, ("gsym", "segment", ""): set(CONVERTED),
    ("gsym", "segment", "app.gsym", ""): set(), ("gsym", "filter", ""): BOTH, ("gsym", "stack", "app.gsym", ""): BOTH,
    ("gsym", "store", "put", "apps", ""): BOTH,
}
STORE_ACTIONS = ["keygen", "get", "put", "list", "verify", "prune"]


def make_files(directory):
    """Files, of which some can be converted and some are converted, and what is neither."""
    for name, content in {**IMAGES, **CONVERTED, "text": b"just words", "empty": b""}.items():
        with open(os.path.join(directory, name), "wb") as file:
            file.write(content)
    os.mkdir(os.path.join(directory, "apps"))
    os.mkfifo(os.path.join(directory, "appipe"))


def check_operands(shell, complete, directories=True):
    """@complete gives what is offered in a directory. Directories always are, where files are at all."""
    with tempfile.TemporaryDirectory() as directory:
        make_files(directory)
        for words, wanted in OPERANDS.items():
            found = {name.rstrip("/") for name in complete(directory, words)}
            expect(f"{shell}: {' '.join(words)}", found, wanted | {"apps"} if wanted and directories else wanted)


def check_option_files(shell, complete):
    with tempfile.TemporaryDirectory() as directory:
        make_files(directory)
        for option, wanted in (("--debug-file", BOTH | {"apps"}), ("--output-dir", {"apps"}), ("--callsites-yaml-file", None)):
            found = {name.rpartition("=")[2].rstrip("/") for name in complete(directory, ("gsym", "convert", option + "="))}
            expect(f"{shell}: gsym convert {option}=", found, wanted or {"text", "app", "apps"}, exactly=wanted is not None)


ZSH = """
setopt nullglob
words=("${@[3,-1]}") CURRENT=$#words PREFIX=${words[-1]}
_files() { local pattern='*' ; [[ $1 == -g ]] && pattern=$2; eval "print -l -- ${(b)${PREFIX##*=}}$pattern" }
_directories() { print -l -- *(/) }
_describe() { : }
compset() { : }
compadd() { while [[ $1 == -* && $1 != -- ]]; do shift $(( $1 == -S ? 2 : 1 )); done; shift; print -l -- "$@" }
complete_it() { source $1 }
cd $2 && complete_it $1
"""


def zsh(directory, words):
    done = run("zsh", "-fc", ZSH, "zsh", os.path.abspath(os.path.join(system, "zsh/_gsym")), directory, *words)
    if done.stderr:
        faults.append(f"zsh, {words}: {done.stderr}")
    return set(done.stdout.split())


def check_zsh():
    syntax("zsh", "zsh/_gsym", "zsh/_gsymfs", "zsh/_gsym-addr2line")
    check_operands("zsh", zsh, directories=False)
    expect("zsh: gsym store", zsh(names.name, ("gsym", "store", "")), STORE_ACTIONS)
    expect("zsh: gsym stack --format=", zsh(names.name, ("gsym", "stack", "--format=")), ["text", "tsv", "json", "atos", "gsymutil"])
    check_option_files("zsh", lambda directory, words: zsh(directory, words) | ({"apps"} if words[2] == "--debug-file=" else set()))


def check_bash():
    syntax("bash", "bash/gsym", "bash/gsymfs", "bash/gsym-addr2line")
    expect("gsym con", bash("gsym", "con"), ["convert"])
    expect("gsym", bash("gsym", ""), ["convert", "lookup", "dump", "verify", "--help", "--version"], exactly=False)
    expect("gsym convert --out", bash("gsym", "convert", "--out"), ["--out-file=", "--output-dir=", "--output-version="])
    check_every_option("bash", bash)
    check_operands("bash", lambda directory, words: bash(*words, cwd=directory))
    check_option_files("bash", lambda directory, words: bash(*words[:-1], words[-1][:-1], "=", cwd=directory))
    check_every_choice()
    check_symbolizers("bash", bash)
    expect("gsym-symbolizer --no-in", bash("gsym-symbolizer", "--no-in"), ["--no-inlines"])
    expect("gsym convert --merged", bash("gsym", "convert", "--merged"), ["--merged-functions"])
    expect("gsym convert --progress=", bash("gsym", "convert", "--progress", "="), ["auto", "always", "never"])
    expect("gsym store", bash("gsym", "store", ""), STORE_ACTIONS)
    expect("gsym store p", bash("gsym", "store", "p"), ["put", "prune"])
    expect("gsym stack --format=", bash("gsym", "stack", "--format", "="), ["text", "tsv", "json", "atos", "gsymutil"])
    expect("gsym lookup --format=t", bash("gsym", "lookup", "--format", "=", "t"), ["text", "tsv"])
    if not shutil.which("gsymfs", path=environment["PATH"]):
        return
    expect("gsymfs -", bash("gsymfs", "-"), ["-f", "-d", "-s", "-o", "-h", "-V", "--help", "--version"], exactly=False)
    expect("gsymfs --ca", bash("gsymfs", "--ca"), ["--cache=", "--cache_size=", "--cache_free="])
    expect("gsymfs --unknown=p", bash("gsymfs", "--unknown", "=", "p"), ["print"])
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
    syntax("fish", "fish/gsym.fish", "fish/gsymfs.fish", "fish/gsym-addr2line.fish")
    expect("fish: gsym con", fish("gsym con"), ["convert"])
    expect("fish: gsym convert --out", fish("gsym convert --out"), ["--out-file="], exactly=False)
    check_every_option("fish", lambda *words: fish(" ".join(words)))
    check_operands("fish", lambda directory, words: fish(" ".join(words), cwd=directory))
    check_option_files("fish", lambda directory, words: fish(" ".join(words), cwd=directory))
    check_symbolizers("fish", lambda *words: fish(" ".join(words)))
    expect("fish: gsym lookup --format=t", fish("gsym lookup --format=t"), ["--format=text", "--format=tsv"],
           exactly=False)
    expect("fish: gsym store p", fish("gsym store p"), ["put", "prune"], exactly=False)
    expect("fish: gsym stack --format=", fish("gsym stack --format="), ["--format=text", "--format=tsv", "--format=json", "--format=atos", "--format=gsymutil"])
    if shutil.which("gsymfs", path=environment["PATH"]):
        expect("fish: gsymfs --", fish("gsymfs --"), ["--help", "--version"], exactly=False)
        expect("fish: gsymfs --unknown=", fish("gsymfs --unknown="), ["--unknown=enoent", "--unknown=print"])
        expect("fish: gsymfs -o jobs=1,unknown=p", fish("gsymfs -o jobs=1,unknown=p"), ["jobs=1,unknown=print"])


checks = {"bash": check_bash, "zsh": check_zsh, "fish": check_fish}
missing = [shell for shell in checks if not shutil.which(shell)]
for shell, check in checks.items():
    if shell in missing:
        print(f"SKIP: no {shell}")
    else:
        check()
print("\n".join(faults) or "good")
sys.exit(1 if faults else 77 if len(missing) == len(checks) else 0)
