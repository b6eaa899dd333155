#!/usr/bin/env python3
"""Feeds damaged files to the gsym program: it must refuse or repair, never crash, hang or eat the memory.

Every command on every file must end by itself within the time and memory limit, with exit status 0 or 1, without
a sanitizer report, and with a message that names the file when it fails. Names in a hostile file reach no terminal
as they are: nothing printed has control characters. What `gsym convert` writes from a damaged object file must pass
`gsym verify`, and a failed conversion must leave nothing behind. A GSYM file that passes `gsym verify` must answer.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402
from bad import damage  # noqa: E402

SECONDS = 120  # until a command counts as hung
MEMORY_MIB = 1024
REPORTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:", "WARNING: ThreadSanitizer",
           "MemorySanitizer", "Assertion")
ADDRESSES = ("0x0", "0x401000", "0x401010", "0x10010000", "0x10010200", "0xffffffffffffffff")
CONTROL = re.compile(rb"[\0-\x08\x0b-\x1f\x7f]")  # all but tab and newline


def damaged_answers(text):
    """What is wrong with answers in JSON: one object for each address, in the order of the addresses."""
    try:
        found = [json.loads(line)["Address"] for line in text.splitlines()]
    except (ValueError, KeyError) as error:
        return f"no JSON: {error}"
    return None if [int(a, 16) for a in found] == [int(a, 16) for a in ADDRESSES] else f"answers for {found}"


class Runner:
    def __init__(self, gsym, sanitized):
        self.gsym = gsym
        self.limit = [] if sanitized else peers.limited(memory_mib=MEMORY_MIB)
        common = f"exitcode=99:allocator_may_return_null=1:max_allocation_size_mb={MEMORY_MIB}"
        self.env = dict(os.environ, ASAN_OPTIONS=f"{common}:hard_rss_limit_mb={2 * MEMORY_MIB}",
                        LSAN_OPTIONS="exitcode=99", UBSAN_OPTIONS="exitcode=99:halt_on_error=1")

    def run(self, *arguments):
        """(exit status, fault or None)."""
        return self.run_and_read(arguments, "")[:2]

    def lookup(self, path):
        """The same, of both a format for people and one for programs."""
        stdin = "\n".join(ADDRESSES)
        status, fault, _ = self.run_and_read(("lookup", path), stdin)
        if fault or status:
            return status, fault
        status, fault, answers = self.run_and_read(("lookup", "--format=json", path), stdin)
        return status, fault or damaged_answers(answers)

    def run_and_read(self, arguments, stdin):
        try:
            done = subprocess.run([*self.limit, self.gsym, *arguments], input=stdin.encode(), capture_output=True,
                                  env=self.env, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return None, f"ran longer than {SECONDS} s", b""
        return *self.judge(done, arguments), done.stdout

    def judge(self, done, arguments):
        words = done.stderr.decode(errors="replace")
        for report in REPORTS:
            if report in words:
                return done.returncode, words[words.index(report):][:1500]
        if done.returncode < 0:
            return done.returncode, f"ended by signal {-done.returncode}"
        if done.returncode not in (0, 1):
            return done.returncode, f"exit status {done.returncode}: {words[:300]}"
        if done.returncode == 1 and not any(f": {argument}" in words for argument in arguments):
            return 1, f"failed without a message about the file: {words[:300]}"
        control = CONTROL.search(done.stdout + done.stderr)
        if control:
            return done.returncode, f"prints {control[0]}"
        return done.returncode, None

    def elf(self, path, must_convert):
        """Converts a damaged object file and checks what comes out."""
        out = f"{path}.gsym"
        status, fault = self.run("convert", "--quiet", path, "-o", out)
        if fault:
            return f"convert: {fault}"
        if status != 0:
            left = [p.name for p in Path(path).parent.glob(Path(path).name + ".*")]
            if left:
                return f"convert failed and left {left}"
            return "convert: must still succeed, but failed" if must_convert else None
        for status, fault in (self.run("verify", out), self.lookup(out)):
            if fault or status != 0:
                return f"what was converted: {fault or f'exit status {status}'}"
        return None

    def macho(self, path, must_convert):
        """The same; a file may hold several images, of which each becomes a file."""
        out = Path(f"{path}.gsym")
        status, fault = self.run("convert", "--quiet", path, "-o", str(out))
        if fault:
            return f"convert: {fault}"
        made = [p for p in out.parent.iterdir() if p.name.startswith(out.name)]
        if status == 0 and not made:
            return "convert succeeded and wrote nothing"
        if status and out in made:
            return "convert failed and left a file"
        if status and must_convert:
            return "convert: must still succeed, but failed"
        for one in made:
            for status, fault in (self.run("verify", str(one)), self.lookup(str(one))):
                if fault or status != 0:
                    return f"{one.name}: {fault or f'exit status {status}'}"
        return None

    def gsym_file(self, path, _):
        """Reads a damaged GSYM file in every way, and converts it."""
        statuses = {}
        for command in ("lookup", "dump", "verify", "statistics"):
            statuses[command], fault = self.lookup(path) if command == "lookup" else self.run(command, path)
            if fault:
                return f"{command}: {fault}"
        if statuses["verify"] == 0 and any(statuses.values()):
            return f"passes verify, but: {statuses}"
        return self.elf(path, False)


def random_cases(originals, count, seed):
    """[(name, bytes, must convert)]: @count of them, the originals in turn."""
    for number in range(count):
        original = originals[number % len(originals)]
        kind, data = damage.random_damage(Path(original).read_bytes(), random.Random(f"{seed}:{number}"))
        yield f"{Path(original).name}:{number}:{kind}", data, False


def crafted_cases(originals, kind, count, seed):
    """An even sample of the crafted cases; @count 0 = all."""
    cases = []
    for original in originals:
        made = (damage.crafted_elf(original) if kind == "elf" else
                damage.crafted_macho(original) if kind in ("macho", "fat") else
                damage.crafted_breakpad(original) if kind == "breakpad" else
                damage.crafted_gsym(Path(original).read_bytes()))
        cases += [(f"{Path(original).name}:{name}", data, must) for name, data, must in made]
    if count and count < len(cases):
        random.Random(seed).shuffle(cases)
        cases = cases[:count]
    return cases


def make_originals(gsym, seeds, kind, place):
    """Paths of undamaged files of @kind: plain, compressed, big-endian and 32-bit."""
    if kind == "breakpad":
        return sorted(str(p) for p in (Path(seeds) / "breakpad").iterdir())
    if kind in ("macho", "fat"):
        return sorted(str(p) for p in (Path(seeds) / "macho").iterdir()
                      if ("fat" in p.name) == (kind == "fat") and not p.name.startswith("hostile-"))
    wanted = ("gcc-dwarf5", "clang-dwarf5", "gcc-zlib", "zstd", "powerpc64", "mips", "gcc-m32", "gcc-dwarf2", "dwz",
              "gcc-object", "stubs-x86_64", "stubs-powerpc64le", "stubs-arm", "object-riscv64")
    elves = [p for p in (Path(seeds) / "elf" / name for name in wanted) if p.exists()]
    if kind == "elf" or not elves:
        return [str(p) for p in elves]
    out = []
    for path in elves[:8]:
        version = 1 + len(out) % 2
        target = f"{place}/{path.name}.v{version}.gsym"
        peers.run([gsym, "convert", "--quiet", f"--output-version={version}", path, "-o", target])
        out.append(target)
    return out


def check(runner, kind, case, place):
    name, data, must_convert = case
    with tempfile.TemporaryDirectory(dir=place) as private:
        path = f"{private}/input"
        Path(path).write_bytes(data)
        run = {"elf": runner.elf, "macho": runner.macho, "fat": runner.macho, "breakpad": runner.elf, "gsym": runner.gsym_file}[kind]
        return name, data, run(path, must_convert)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsym", help="the gsym program")
    parser.add_argument("--kind", choices=("elf", "macho", "fat", "breakpad", "gsym"), required=True)
    parser.add_argument("--seeds", required=True, help="directory that tests/fuzz/make_seeds.py made")
    parser.add_argument("--count", type=int, default=60, help="random damage; 0 = none")
    parser.add_argument("--crafted", type=int, default=60, help="files with one thing wrong; 0 = all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sanitized", action="store_true", help="the program is built with a sanitizer")
    parser.add_argument("--keep", default="bad-found", help="directory for the files that caused a fault")
    options = parser.parse_args()
    runner = Runner(peers.gsym_program(options.gsym), options.sanitized)
    with tempfile.TemporaryDirectory(prefix="gsym-bad-") as place:
        originals = make_originals(runner.gsym, options.seeds, options.kind, place)
        if not originals:
            peers.skip("no compiler has made a seed")
        cases = [*random_cases(originals, options.count, options.seed),
                 *crafted_cases(originals, options.kind, options.crafted, options.seed)]
        with ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda case: check(runner, options.kind, case, place), cases))
    faults = [r for r in results if r[2]]
    for number, (name, data, fault) in enumerate(faults):
        Path(options.keep).mkdir(parents=True, exist_ok=True)
        kept = Path(options.keep) / f"{options.kind}-{number}"
        kept.write_bytes(data)
        print(f"FAIL {name}: {fault}\n     kept as {kept}")
    print(f"{len(cases)} damaged {options.kind} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
