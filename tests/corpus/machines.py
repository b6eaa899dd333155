#!/usr/bin/env python3
"""What depends on the machine, for every machine that clang and lld know here, without a C library:

* stubs of procedure linkage tables have the names that objdump and llvm-objdump give them, also when the file is
  stripped;
* an object file has the lines of the program that lld makes of it: the linker is the second opinion on relocations.

    machines.py --gsym GSYM [MACHINE...]
"""
import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402
from lib.elf import Elf  # noqa: E402

SOURCE = """
struct node { struct node *next; int value; };
extern int external(int), another(int);
extern void third(void *);
int (*pointer)(int) = another;
static inline __attribute__((always_inline)) int twice(int x)
{
	if (__builtin_expect(x > 9, 0))
		third(&x);
	return (x + x) ^ external(x);
}
int sum(struct node *n)
{
	int total = 0;
	while (n) {
		total += twice(n->value);
		n = n->next;
	}
	return total;
}
static __attribute__((noinline)) int hidden(int a, long b)
{
	return (int)(a * b) + another(a);
}
int last(int a)
{
	int r = hidden(a, 77) - hidden(a + 1, 1L << 20);
	if (r > 5)
		r = twice(r);
	return r;
}
"""

MACHINES = {
    "x86_64": ("x86_64-linux-gnu", []), "x86_64-ibt": ("x86_64-linux-gnu", ["-fcf-protection=full"]),
    "i386": ("i386-linux-gnu", []), "aarch64": ("aarch64-linux-gnu", []),
    "aarch64-bti": ("aarch64-linux-gnu", ["-mbranch-protection=standard"]),
    "aarch64_be": ("aarch64_be-linux-gnu", []), "arm": ("armv7a-linux-gnueabihf", ["-marm"]),
    "thumb": ("armv7a-linux-gnueabihf", ["-mthumb"]), "thumb-m": ("armv7m-linux-gnueabi", []),
    "armeb": ("armebv7a-linux-gnueabi", ["-Wl,--be8"]),
    "riscv64": ("riscv64-linux-gnu", ["-mno-relax"]), "riscv64-relax": ("riscv64-linux-gnu", ["-mrelax"]),
    "riscv32": ("riscv32-linux-gnu", []), "loongarch64": ("loongarch64-linux-gnu", ["-mno-relax"]),
    "loongarch64-relax": ("loongarch64-linux-gnu", ["-mrelax"]), "s390x": ("s390x-linux-gnu", []),
    "powerpc64le": ("powerpc64le-linux-gnu", []), "powerpc64-v2": ("powerpc64-linux-gnu", ["-mabi=elfv2"]),
    "power10": ("powerpc64le-linux-gnu", ["-mcpu=power10"]),
    "mips": ("mips-linux-gnu", []), "mipsel": ("mipsel-linux-gnu", []), "mips64el": ("mips64el-linux-gnuabi64", []),
    "micromips": ("mips-linux-gnu", ["-mmicromips", "-mips32r2"]),
}
LINK = {"x86_64-ibt": ["-z", "force-ibt"], "aarch64-bti": ["-z", "force-bti", "-z", "pac-plt"], "armeb": ["--be8"]}
# lld knows stubs of these only where code is not position-independent.
NO_STUBS = ("mips", "mipsel", "mips64el", "micromips")
FORMATS = {"dwarf4": ["-gdwarf-4"], "dwarf5": ["-gdwarf-5"], "sections": ["-gdwarf-5", "-ffunction-sections"]}

_LABEL = re.compile(r"^([0-9a-f]+) <(.*)@plt>:$", re.M)
_STUB = re.compile(r'\[0x([0-9a-f]+) - 0x[0-9a-f]+\) "(.*)@plt"')


class Machine:
    def __init__(self, tools, name, directory):
        self.tools, self.name, self.directory = tools, name, Path(directory)
        self.target, self.options = MACHINES[name]

    def compile(self, label, options):
        """An object file, or None: this clang does not know the machine."""
        source, out = self.directory / "source.c", self.directory / f"{self.name}-{label}.o"
        source.write_text(SOURCE)
        try:
            peers.run([self.tools["clang"], f"--target={self.target}", *[o for o in self.options if o[:4] != "-Wl,"],
                       "-O2", "-w", "-ffreestanding", *options, "-c", source, "-o", out])
        except RuntimeError as error:
            if "clang" in str(error):
                return None
            raise
        return out

    def link(self, unlinked, label, options):
        out = self.directory / f"{self.name}-{label}"
        peers.run([self.tools["ld.lld"], *LINK.get(self.name, []), "-e", "0", *options, unlinked, "-o", out])
        return out

    def convert(self, path):
        out = self.directory / "out.gsym"
        peers.run([self.tools["gsym"], "convert", "--quiet", path, "-o", out])
        return out

    def answers(self, path, addresses):
        text = peers.run([self.tools["gsym"], "lookup", self.convert(path)],
                         stdin="".join(f"{a:#x}\n" for a in addresses))
        return text.split("\n\n")[:len(addresses)]


def labels(machine, path):
    """What the disassemblers call the stubs: address -> name."""
    cross = machine.target.replace("i386", "i686").replace("armv7a", "arm").replace("powerpc64le", "powerpc64")
    found = {}
    for tool in (machine.tools["llvm-objdump"], machine.tools["objdump"], shutil.which(f"{cross}-objdump")):
        if tool:
            text = peers.run([tool, "-d", "--no-show-raw-insn", path], check=False)
            found.update({int(a, 16): name for a, name in _LABEL.findall(text)})
    return found


def compare_stubs(machine):
    """(stubs compared, stubs of ours, differences)"""
    unlinked = machine.compile("pic", ["-g", "-fPIC"])
    if not unlinked:
        return None
    linked = machine.link(unlinked, "shared", ["-shared", "-z", "notext"])
    stripped = machine.directory / f"{machine.name}-stripped"
    peers.run([machine.tools["llvm-objcopy"], "--strip-all", linked, stripped])
    theirs, wrong, most = labels(machine, linked), [], 0
    for path in (linked, stripped):
        ours = {int(a, 16): name for a, name in
                _STUB.findall(peers.run([machine.tools["gsym"], "dump", machine.convert(path)]))}
        most = max(most, len(ours))
        wrong += [f"{path.name}: {a:#x} is {ours.get(a)}@plt, not {name}@plt" for a, name in theirs.items()
                  if ours.get(a) != name and not split_label(machine.name, a, name, ours)]
        if machine.name not in NO_STUBS and path == stripped:
            missing = {"external", "another", "third"} - set(ours.values())
            wrong += [f"{path.name}: no stub of {name}" for name in sorted(missing)]
    return len(theirs), most, wrong


def split_label(name, address, label, ours):
    """llvm-objdump puts the label of some stubs behind their first instruction, a landing pad."""
    return name in ("x86_64-ibt", "thumb") and ours.get(address - 4) == label


def compare_lines(machine, label, options):
    """(addresses compared, differences)"""
    unlinked = machine.compile(label, options)
    if not unlinked:
        return None
    linked = machine.link(unlinked, label, ["--unresolved-symbols=ignore-all", "--no-relax", "--noinhibit-exec"])
    before, after, compared, wrong = Elf(str(unlinked)), Elf(str(linked)), 0, []
    there = {s.name: s for s in after.functions()}
    layout, at = {}, 0
    for number, s in enumerate(before.sections):  # as gsym lays object files out: in order, aligned
        if s.flags & 2:
            align = max(s.align, 1)
            at = (at + align - 1) // align * align
            layout[number], at = at, at + s.size
    for f in before.functions():
        other = there.get(f.name)
        if not other or not f.size or other.size != f.size:
            continue
        offsets = range(f.size)
        here = machine.answers(unlinked, [layout[f.section] + f.addr + o for o in offsets])
        linked_answers = machine.answers(linked, [other.addr + o for o in offsets])
        compared += f.size
        wrong += [f"{unlinked.name}: {f.name}+{o:#x} is {x!r}, linked {y!r}"
                  for o, x, y in zip(offsets, here, linked_answers) if x != y or "source.c" not in x]
    return compared, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gsym")
    parser.add_argument("machines", nargs="*")
    options = parser.parse_args()
    tools = {name: peers.need(name, package) for name, package in
             (("clang", "clang"), ("ld.lld", "lld"), ("llvm-objcopy", "llvm"))}
    tools.update({name: peers.find(name) for name in ("llvm-objdump", "objdump")})
    tools["gsym"] = peers.gsym_program(options.gsym)
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        for name in options.machines or MACHINES:
            machine = Machine(tools, name, directory)
            stubs = compare_stubs(machine)
            if not stubs:
                print(f"{name}: skipped, {tools['clang']} does not know it")
                continue
            lines = [compare_lines(machine, label, flags) for label, flags in FORMATS.items()]
            wrong = stubs[2] + [w for line in lines for w in line[1]]
            print(f"{name}: {stubs[1]} stubs, {stubs[0]} labelled; {sum(line[0] for line in lines)} addresses; "
                  f"{len(wrong)} differences")
            print("".join(f"    {w}\n" for w in wrong[:8]), end="")
            failures += len(wrong) + (not all(line[0] for line in lines))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
