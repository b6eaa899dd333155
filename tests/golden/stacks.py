#!/usr/bin/env python3
"""Stacks through folded functions of two linked libraries: the address alone gives the wrong function, the stack the right one.

Two libraries are compiled and linked with lld, which folds equal functions of the first. The addresses of a stack are return addresses
out of the disassembly. For each of the five scenarios for which call sites were proposed, gsym lookup says one name for all,
and gsym stack has to say the one that was called. Where the compiler knows the callee its DWARF says so; whom a pointer, a virtual call or a selector
means is in a list of call sites.

    stacks.py GSYM
"""
import pathlib
import platform
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402

APP, LIBRARY, NOWHERE = "aa" * 20, "bb" * 20, "cc" * 20
FLAGS = ["-O1", "-g", "-fPIC", "-shared", "-nostdlib", "-ffunction-sections", "-fno-rtti", "-fno-exceptions", "-fcf-protection=none",
         "-Wl,--icf=all", "-Wl,-Bsymbolic", "-Wl,--build-id=0x%s", "-Wl,--hash-style=gnu"]


def build(directory, name, build_id):
    """A library of one source, and where its functions and their calls are."""
    linker = peers.need("ld.lld", "lld")
    output = directory / f"{name}.so"
    flags = [flag.replace("%s", build_id) for flag in FLAGS]
    peers.run([peers.need("clang", "clang"), *flags, f"--ld-path={linker}", HERE / "stacks" / f"{name}.cc", "-o", output])
    functions = {}
    for line in peers.run(["nm", "--defined-only", output]).splitlines():
        address, kind, symbol = line.split(maxsplit=2)
        if kind in "tTwW":
            functions[symbol] = int(address, 16)
    return output, functions, returns(output)


def returns(path):
    """Return addresses of all calls, ascending."""
    found, after_call = [], False
    for line in peers.run(["objdump", "-d", "--no-show-raw-insn", path]).splitlines():
        insn = re.match(r" *([0-9a-f]+):\s+(\S+)", line)
        if insn and after_call:
            found.append(int(insn.group(1), 16))
        if insn:
            after_call = insn.group(2).startswith("call")
    return found


class Stacks:
    def __init__(self, gsym, directory):
        self.gsym, self.directory, self.failed, self.done = gsym, directory, 0, 0
        self.app, self.functions, self.returns = build(directory, "app", APP)
        _, self.of_library, self.library_returns = build(directory, "library", LIBRARY)
        sites = directory / "sites.yaml"
        sites.write_text("functions:\n" + "".join(self.sites()))
        self.convert("app", ["--callsites-yaml-file", sites])
        self.convert("library", [])

    def convert(self, name, options):
        peers.run([self.gsym, "convert", "--quiet", "--merged-functions", "--dwarf-callsites", *options, "-o",
                   self.directory / f"{name}.gsym", self.directory / f"{name}.so"])

    def sites(self):
        """What no compiler knows: whom each() calls back, which method a virtual call means, a selector. And what the linker
        drops with the addresses of a folded function."""
        for function, pattern, flags in (("calls_second", "second", "InternalCall"),
                                         ("enumerate", "third", "InternalCall"), ("measure", r"^_ZN.*6border", ""),
                                         ("send", r"\\[.* walk\\]", "")):
            offset = self.call(function) - self.functions[function]
            yield (f"  - name: {function}\n    callsites:\n      - return_offset: {offset:#x}\n"
                   f"        match_regex: [\"{pattern}\"]\n        flags: [{flags}]\n")

    def call(self, function):
        """Where the first call of a function returns to."""
        return min(at for at in self.returns if at > self.functions[function])

    def call_of_library(self, function):
        return min(at for at in self.library_returns if at > self.of_library[function])

    def run(self, *arguments, stdin=None):
        return peers.run([self.gsym, *arguments], stdin=stdin)

    def default(self, address):
        """The name that the address alone gives."""
        line = self.run("lookup", "--mark-merged", self.directory / "app.gsym", f"{address - 1:#x}")
        return re.match(r"(.*?)( \[merged (\d+)\])? at ", line).group(1, 3)

    def check(self, what, stack, frame, expected, options=()):
        """Of the @frame of a stack, given as (id, address), the names have to be those expected, and their position the function's own."""
        text = "".join(f"{image} {address:#x}\n" for image, address in stack)
        answer = self.run("stack", *options, self.directory / "app.gsym", self.directory / "library.gsym", stdin=text)
        frames = re.split(r"^#(?=\d+ )", answer, flags=re.M)[1:]
        names = re.findall(r"^(?:or|\d+) +(.*?)(?: \[merged \d+\])? at .*app\.cc:(\d+)$", frames[frame], flags=re.M)
        first, merged = self.default(stack[frame][1])
        lines = {name: self.line_of(name) for name, _ in names}
        good = [name for name, _ in names] == expected and merged and all(int(line) == lines[name] for name, line in names)
        if good and first in expected and len(expected) == 1:
            print(f"not ok: {what}: right by its address already, which shows nothing")
            good = False
        print(f"{'ok' if good else 'not ok'}: {what}: {first} [merged {merged}] by its address, {' or '.join(n for n, _ in names)} in its stack")
        self.done += 1
        if not good:
            self.failed += 1
            print(f"  expected {expected}, lines {lines}\n{text}{answer}")

    def line_of(self, name):
        """Where its body is in the source: behind the line with its definition and the brace."""
        plain = {"-[Cat feed]": "cat_feed", "-[Dog walk]": "dog_walk"}.get(name, re.sub(r"\(.*", "", name))
        lines = (HERE / "stacks" / "app.cc").read_text().splitlines()
        heads = [i for i, line in enumerate(lines) if re.search(rf"int {re.escape(plain)}\(", line) and not line.endswith(";")]
        return heads[-1] + 3 if heads else 0


def scenarios(s):
    outside = (LIBRARY, s.of_library["outside"])
    folded = (APP, s.call("second"))
    direct = (APP, s.call("direct"))
    s.check("direct call", [outside, folded, direct], 1, ["second"])
    deeper = [outside, folded, (APP, s.call("calls_second")), (APP, s.call("deep"))]
    s.check("direct calls of folded functions, inner", deeper, 1, ["second"])
    s.check("direct calls of folded functions, outer", deeper, 2, ["calls_second"])
    across = (LIBRARY, s.call_of_library("across"))
    s.check("call across libraries", [outside, folded, across], 1, ["third"])
    each, enumerate_ = (LIBRARY, s.call_of_library("each")), (APP, s.call("enumerate"))
    s.check("through a library", [outside, folded, each, enumerate_], 1, ["third"])
    s.check("through an unknown library", [outside, folded, (NOWHERE, 0x1234), enumerate_], 1, ["third"])
    method = (APP, s.call("_ZN6Square4areaEi"))
    borders = ["Circle::border(int)", "Square::border(int)"]
    s.check("virtual call", [outside, method, (APP, s.call("measure"))], 1, borders, ["--all"])
    s.check("virtual call, one shown", [outside, method, (APP, s.call("measure"))], 1, borders[:1])
    implementation = (APP, s.call("-[Cat feed]"))
    s.check("selector", [outside, implementation, (APP, s.call("send"))], 1, ["-[Dog walk]"])
    s.check("no caller", [outside, folded], 1, ["first", "second", "third"], ["--all"])


def main():
    gsym = peers.gsym_program(sys.argv[1])
    if platform.machine() != "x86_64":
        peers.skip("the disassembly is read for x86-64 only")
    with tempfile.TemporaryDirectory() as directory:
        s = Stacks(gsym, pathlib.Path(directory))
        scenarios(s)
    print(f"{s.done - s.failed} of {s.done} stacks as expected")
    return 1 if s.failed else 0


if __name__ == "__main__":
    sys.exit(main())
