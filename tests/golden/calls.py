#!/usr/bin/env python3
"""Call sites of what compilers make: those of a disassembly, each with its callee's name and whether it is here.

    calls.py GSYM
"""
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402

FUNCTIONS = {"leaf", "through", "tail", "last", "main"}
WAYS = [("gcc", "-gdwarf-4"), ("gcc", "-gdwarf-5"), ("clang", "-gdwarf-4"), ("clang", "-ggdb", "-gdwarf-4"),
        ("clang", "-gdwarf-5")]


def calls_of(program):
    """Function -> {return offset: callee, or None for an indirect call}."""
    found, start, name, pending = {}, 0, None, False
    for line in peers.run(["objdump", "-d", "--no-show-raw-insn", program]).splitlines():
        head = re.match(r"([0-9a-f]+) <(\S+)>:$", line)
        insn = re.match(r" *([0-9a-f]+):\s+(?:\S+ +)*?(call|\S+)\b(.*)", line)
        if (head or insn) and pending is not False:
            found[name][int((head or insn).group(1), 16) - start] = pending
            pending = False
        if head:
            start, name = int(head.group(1), 16), head.group(2)
        elif insn and insn.group(2) == "call" and name in FUNCTIONS:
            callee = re.search(r"<([^+>@]+)(?:@plt)?>", insn.group(3))
            found.setdefault(name, {})
            pending = callee.group(1) if callee and "*" not in insn.group(3) else None
    return found


def sites_of(gsym, program, out):
    """The same of our conversion, with the flags."""
    subprocess.run([gsym, "convert", "--quiet", "--dwarf-callsites", "-o", out, program], check=True)
    found, name = {}, None
    for line in peers.run([gsym, "dump", out]).splitlines():
        head = re.match(r'FunctionInfo @ .* "(.*)"$', line)
        site = re.match(r"  0x([0-9a-f]+) Flags\[(.*?)\](?: MatchRegex\[(.*)\])?$", line)
        if head:
            name = head.group(1)
        elif site and name in FUNCTIONS:
            found.setdefault(name, {})[int(site.group(1), 16)] = (site.group(3), site.group(2))
    return found


def expected(calls):
    def site(callee):
        return (callee, "None" if callee is None else "InternalCall" if callee in FUNCTIONS else "ExternalCall")
    return {name: {off: site(callee) for off, callee in sites.items()} for name, sites in calls.items()}


def main():
    gsym = peers.gsym_program(sys.argv[1])
    if platform.machine() != "x86_64":
        peers.skip("the disassembly is read for x86-64 only")
    failed = done = 0
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        for compiler, *flags in WAYS:
            path = peers.find(compiler)
            if not path:
                print(f"SKIP: {compiler} is not installed")
                continue
            program = directory / "program"
            peers.run([path, "-O2", "-fno-stack-protector", "-fcf-protection=none", *flags, HERE / "calls.c", "-o", program])
            want, got = expected(calls_of(program)), sites_of(gsym, program, directory / "gsym")
            if compiler == "clang":
                want.pop("last")  # clang tells of no call to a function that does not return
            count = sum(len(sites) for sites in want.values())
            print(f"{'ok' if want == got and count else 'not ok'}: {compiler} {' '.join(flags)}, {count} calls")
            done += 1
            if want != got or not count:
                failed += 1
                print(f"  disassembly: {want}\n  call sites:  {got}")
    if not done:
        peers.skip("no compiler")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
