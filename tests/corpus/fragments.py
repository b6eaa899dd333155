#!/usr/bin/env python3
"""What is answered before a conversion is over: the same, byte for byte, as what is answered after it.

compare_fragments asks for all functions of a file. It is run on installed debug files, and on programs of many
units made so that units have to do with each other: functions that several units define and the linker keeps once,
static ones of one name, bodies that the linker folds, aliases, functions without debug data, units that do not list
their code, all or some of them, debug data packed by dwz, stripped off, compressed, split.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from corpus import build, realfiles  # noqa: E402

UNITS = 12

UNIT = """
#include "shared.h"
extern volatile int sink;
static __attribute__((noinline)) int same(int a) { sink = a; return a + 1; }
static __attribute__((noinline)) int local(int a) { sink += a * @N@; return a ^ @N@; }
int body_@N@(int a) { return kept<long>(a) + kept<short>(a) + paired<@N@ / 2>(a) + inlined(a) + same(a) + local(a); }
int twin_@N@(int a) { sink = a; sink = a + 2; return a; }
extern "C" int c_name_@N@(int a) { return a - sink; }
extern "C" int other_@N@(int) __attribute__((alias("c_name_@N@")));
struct made_@N@ { made_@N@(int); virtual ~made_@N@(); int of; };
made_@N@::made_@N@(int a) : of(a) { sink = a; }
made_@N@::~made_@N@() { sink = @N@; }
"""

SHARED = """
template <typename T> __attribute__((noinline)) int kept(T a) { volatile T b = a; return b + (int)sizeof(T); }
template <int pair> __attribute__((noinline)) int paired(int a)
{
  return
    a + 1;
}
static inline int inlined(int a) { volatile int b = a * 3; b++; return b; }
"""

ASSEMBLY = """
	.text
	.globl bare, labelled
	.type bare, @function
bare:	nop
inner:	nop
	ret
	.size bare, . - bare
labelled:
	nop
	ret
	.section .note.GNU-stack,"",@progbits
"""


class Program(NamedTuple):
    name: str
    cxx: str
    flags: list
    link: list
    least: int  # per cent of its functions that must be in fragments
    after: list = []
    odd: str = ""  # compiler of every second unit, if it is another one


def programs(compilers):
    gcc, clang = compilers["gcc"][1], compilers[list(compilers)[-1]][1]
    apart = ["-ffunction-sections"]
    yield Program("gcc", gcc, [], [], 80)
    yield Program("gcc, sections", gcc, ["-gdwarf-4", *apart], ["-Wl,--gc-sections"], 80)
    yield Program("gcc, gold folds", gcc, apart, ["-fuse-ld=gold", "-Wl,--icf=all"], 30)
    yield Program("gcc, lld folds", gcc, apart, ["-fuse-ld=lld", "-Wl,--icf=all"], 30)
    yield Program("gcc, compressed", gcc, ["-gz"], ["-Wl,--compress-debug-sections=zlib"], 80)
    yield Program("gcc, stripped", gcc, [], [], 50,
                  [["objcopy", "--only-keep-debug", "program", "program.debug"],
                   ["strip", "-R", ".comment", "program"],
                   ["objcopy", "--add-gnu-debuglink=program.debug", "program"]])
    yield Program("gcc, dwz", gcc, [], [], 80, [["dwz", "program"]])
    yield Program("gcc, split", gcc, ["-gsplit-dwarf"], [], 0)
    yield Program("gcc, lto", gcc, ["-flto", "-flto-partition=1to1"], [], 0)
    if clang.startswith("clang"):
        yield Program("clang", clang, [], [], 80)
        yield Program("clang 4, lld folds", clang, ["-gdwarf-4", *apart], ["-fuse-ld=lld", "-Wl,--icf=all"], 30)
        yield Program("gcc and clang", gcc, apart, [], 50, odd=clang)
        yield Program("gcc and clang, compressed", gcc, apart, ["-Wl,--compress-debug-sections=zlib"], 0, odd=clang)
        yield Program("clang, lists", clang, ["-gdwarf-aranges"], ["-fuse-ld=lld"], 30)


def make(builder, program, place):
    (place / "shared.h").write_text(SHARED)
    (place / "bare.s").write_text(ASSEMBLY)
    calls = []
    for n in range(UNITS):
        (place / f"unit_{n}.cc").write_text(UNIT.replace("@N@", str(n)))
        calls.append(f"int body_{n}(int); int twin_{n}(int); int r_{n}(int a) {{ return body_{n}(a) + twin_{n}(a); }}")
    (place / "main.cc").write_text("volatile int sink;\n" + "\n".join(calls) + "\nint main(int n, char **) { return " +
                                   " + ".join(f"r_{n}(n)" for n in range(UNITS)) + "; }\n")
    flags = ["-g", "-O2", "-w", *program.flags]
    units = [f"unit_{n}.cc" for n in range(UNITS)]
    build.run([program.cxx, *flags, "-c", "main.cc", *units[::2]], place)
    build.run([program.odd or program.cxx, *flags, "-c", *units[1::2]], place)
    build.run([program.cxx, "-c", "bare.s"], place)
    build.run([program.cxx, *flags, f"-B{builder.tools}", *program.link, "main.o", "bare.o",
               *[f"unit_{n}.o" for n in range(UNITS)], "-o", "program"], place)
    for step in program.after:
        build.run(step, place)
    return place / "program"


def compare(tool, name, path, least, *how):
    """(text, whether it is as it should be); @how: addresses asked at once, and how often"""
    done = subprocess.run([tool, path, *how], capture_output=True, text=True)
    found = re.search(r"(\d+) of (\d+) functions", done.stdout)
    if done.returncode or not found:
        return f"{name}: {done.stdout}{done.stderr}", False
    share = 100 * int(found[1]) // int(found[2])
    if share < least:
        return f"{name}: only {share} % of {found[2]} functions in fragments, expected {least}", False
    return f"{name}: {found[1]} of {found[2]} functions in fragments, all answers alike", True


def all_of(*results):
    return "\n".join(text for text, _ in results), all(good for _, good in results)


def check_file(tool, name, path, least, calls):
    """Many addresses at once, which a fragment can seldom answer early; and one at a time, which it often can.

    Each is asked of a conversion of its own; and more of them of one that only makes fragments.
    """
    return all_of(compare(tool, name, path, least, "64", calls),
                  compare(tool, f"{name}, one by one", path, 0, "1", calls),
                  compare(tool, f"{name}, served", path, 0, "1", str(10 * int(calls)), "served"))


def check_program(tool, builder, program):
    with tempfile.TemporaryDirectory(prefix="gsym-fragments-") as place:
        try:
            path = make(builder, program, Path(place))
        except build.Unavailable as why:
            return f"{program.name}: not made: {why}", True
        return all_of(compare(tool, program.name, path, program.least, "4"),
                      compare(tool, f"{program.name}, one by one", path, program.least, "1"),
                      compare(tool, f"{program.name}, served", path, program.least, "1", "1000000", "served"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", help="compare_fragments")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gsym-fragments-") as tools, ThreadPoolExecutor(2) as pool:
        builder = build.Builder(tools)
        jobs = [pool.submit(check_program, args.tool, builder, p) for p in programs(builder.compilers)]
        jobs += [pool.submit(check_file, args.tool, name, path, 40, "30")
                 for name, _, path in realfiles.real_files() if path]
        if realfiles.kernel():
            jobs.append(pool.submit(check_file, args.tool, "kernel", realfiles.kernel(), 10, "10"))
        results = [job.result() for job in jobs]
    print("\n".join(text for text, _ in results))
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
