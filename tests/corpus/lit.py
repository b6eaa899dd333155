#!/usr/bin/env python3
"""LLVM's own tests of llvm-symbolizer and llvm-addr2line, run by lit and judged by FileCheck, with our program of these names.

    lit.py [DIRECTORY] [--gsym PROGRAM] [--only PATTERN] [--verbose]

DIRECTORY ($LLVM_SOURCE) holds llvm/test of LLVM 22, with tools/llvm-symbolizer and DebugInfo; it is not part of this project.
Without one, Debian's source package is downloaded (200 MB) and unpacked as far as it is needed, where apt-get has a line deb-src
for it. Each test there that runs one of the two programs is run twice, with the original and with ours; nothing else differs.
A test that the original passes must pass with ours or be in lit.txt, with the reason; a line there whose test passes is a failure,
too.
"""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402

FOLDERS = ("tools/llvm-symbolizer", "DebugInfo")
SUFFIXES = {".ll", ".c", ".test", ".txt", ".s", ".mir", ".yaml"}
PACKAGE = "llvm-toolchain-22"

# What LLVM's own configuration takes from a build of LLVM, here from the installed tools.
CONFIGURATION = """
import lit.formats, lit.llvm
lit.llvm.initialize(lit_config, config)
config.name = "LLVM"
config.test_format = lit.formats.ShTest(False)
config.suffixes = {suffixes!r}
config.excludes = ["Inputs"]
config.test_source_root = {source!r}
config.test_exec_root = {scratch!r}
config.llvm_tools_dir = {tools!r}
config.environment["PATH"] = {path!r}
config.environment["GSYMFS_CACHE"] = {cache!r}
config.targets = frozenset({targets!r})
config.root.targets = config.targets
config.have_dia_sdk = True
config.available_features.update({features!r})
config.substitutions += [("%llc_dwarf", "llc"), ("%python", {python!r}),
                         ("%errc_ENOENT", "'No such file or directory'"), ("%errc_EISDIR", "'Is a directory'")]
"""
MAIN = "import sys; sys.path.insert(0, sys.argv.pop(1)); maps = {sys.argv.pop(1): sys.argv.pop(1)}; import lit.main; " \
       "lit.main.main({'config_map': maps})"


def targets_of(llc):
    """The back ends of the installed LLVM, by the names that tests have for them."""
    names = {"x86-64": "X86", "aarch64": "AArch64", "arm": "ARM", "riscv64": "RISCV", "ppc64": "PowerPC", "wasm32": "WebAssembly",
             "csky": "CSKY", "mips": "Mips", "sparc": "Sparc", "systemz": "SystemZ", "loongarch64": "LoongArch",
             "bpfel": "BPF", "hexagon": "Hexagon", "msp430": "MSP430", "nvptx": "NVPTX", "amdgcn": "AMDGPU"}
    return sorted({names[name] for name in re.findall(r"(?m)^    (\S+) +- ", peers.run([llc, "--version"])) if name in names})


def run_lit(arguments, tests, ours, place):
    """The result of each test, by the path below llvm/test."""
    place.mkdir()
    targets = targets_of(arguments.tools / "llc")
    features = [*(f"{target.lower()}-registered-target" for target in targets), "zlib", "zstd", "object-emission", "x86_64-linux"]
    path = os.pathsep.join([*([str(ours)] if ours else []), str(arguments.tools), os.environ["PATH"]])
    (place / "lit.cfg.py").write_text(CONFIGURATION.format(
        suffixes=sorted(SUFFIXES), source=str(arguments.tests), scratch=str(place / "out"), tools=str(arguments.tools), path=path, cache=str(place / "cache"),
        targets=targets, features=features, python=sys.executable), encoding="utf-8")
    subprocess.run([sys.executable, "-c", MAIN, arguments.tools.parent / "utils/lit", arguments.tests / "lit.cfg.py", place / "lit.cfg.py",
                    "-v" if arguments.verbose and ours else "-q", "--ignore-fail", f"--output={place / 'results.json'}", *tests],
                   check=True, stdout=None if arguments.verbose and ours else subprocess.DEVNULL)
    results = json.loads((place / "results.json").read_text(encoding="utf-8"))["tests"]
    return {result["name"].partition(" :: ")[2]: result["code"] for result in results}


def unpacked(place):
    """The source package's tests, unpacked in @place."""
    found = subprocess.run(["apt-get", "source", "--download-only", "--tar-only", PACKAGE], cwd=place, capture_output=True, text=True,
                           check=False)
    archives = list(place.glob(f"{PACKAGE}_*.orig.tar.xz"))
    if found.returncode or not archives:
        peers.skip(f"the source package {PACKAGE} cannot be had, and no directory is given (argument or $LLVM_SOURCE): "
                   f"{(found.stderr.strip().splitlines() or ['?'])[-1]}")
    peers.run(["tar", "-xf", archives[0], "-C", place, "--strip-components=1", "--wildcards",
               *(f"*/llvm/test/{name}" for name in (*FOLDERS, "lit.cfg.py"))])
    return place


def find_tests(arguments):
    """The tests that run one of the two programs."""
    return [path for folder in FOLDERS for path in sorted((arguments.tests / folder).rglob("*"))
            if path.suffix in SUFFIXES and "Inputs" not in path.parts
            and re.search(r"RUN:.*\bllvm-(symbolizer|addr2line)\b", path.read_text(errors="replace"))
            and re.search(arguments.only, str(path))]


def expected_failures():
    """(pattern of names, reason) of each row of lit.txt."""
    rows = [line.split(None, 1) for line in (HERE / "lit.txt").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return [(pattern, reason) for pattern, reason in rows]


def judge(theirs, ours, rows):
    """Prints the table; the number of tests whose result is not expected."""
    passed = sorted(name for name, code in theirs.items() if code == "PASS")
    wrong, reasons = [], {}
    for name in passed:
        reason = next((reason for pattern, reason in rows if fnmatch.fnmatch(name, pattern)), None)
        if ours[name] == "PASS" and reason:
            wrong.append(f"{name}: passes: take it out of lit.txt")
        elif ours[name] != "PASS" and not reason:
            wrong.append(f"{name}: {ours[name]}")
        elif reason:
            reasons.setdefault(reason, []).append(name)
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4}  {reason}")
        print("".join(f"        {name}\n" for name in names), end="")
    n_ours = sum(ours[name] == "PASS" for name in passed)
    print(f"{len(theirs)} tests, the original passes {len(passed)}, ours {n_ours} of these; {sum(map(len, reasons.values()))} fail as lit.txt says")
    print("".join(f"not ok: {line}\n" for line in wrong), end="")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", default=os.environ.get("LLVM_SOURCE"), type=Path)
    parser.add_argument("--gsym")
    parser.add_argument("--only", default="", help="tests whose path has this regular expression")
    parser.add_argument("--verbose", action="store_true", help="print what lit says of each test with ours that fails")
    arguments = parser.parse_args()
    gsym = peers.gsym_program(arguments.gsym)
    arguments.tools = Path(peers.need("llc", "llvm-22")).resolve().parent
    if peers.version_of(arguments.tools / "llvm-symbolizer") != 22 or not (arguments.tools / "FileCheck").exists():
        peers.skip("LLVM 22 with FileCheck and lit is not installed (Debian packages llvm-22 and llvm-22-tools)")
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        arguments.tests = ((arguments.directory or unpacked(place)) / "llvm/test").resolve()
        tests = find_tests(arguments)
        if not tests:
            peers.skip(f"{arguments.tests} holds none of the tests of llvm-symbolizer")
        (place / "bin").mkdir()
        for name in ("llvm-symbolizer", "llvm-addr2line"):
            (place / "bin" / name).symlink_to(gsym)
        theirs = run_lit(arguments, tests, None, place / "theirs")
        ours = run_lit(arguments, tests, place / "bin", place / "ours")
    return 1 if judge(theirs, ours, expected_failures()) else 0


if __name__ == "__main__":
    sys.exit(main())
