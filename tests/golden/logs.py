#!/usr/bin/env python3
"""Logs of real programs through gsym filter: what comes out is what other tools say of the same addresses.

A program is compiled and, for the sanitizer, run. The logs of other systems are written here in their form, with addresses out of the
program's disassembly; what has to come out is made of addr2line's answers, or is what llvm-symbolizer makes of markup.

    logs.py GSYM
"""
import json
import os
import pathlib
import platform
import re
import select
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import peers  # noqa: E402

SOURCE = """#include <stdlib.h>
#define INLINED static inline __attribute__((always_inline))

__attribute__((noinline)) int at(int *list, int i)
{
	return list[i];
}

INLINED int after(int *list, int n)
{
	return at(list, n + 1) + 1;
}

INLINED int behind(int *list, int n)
{
	return after(list, n) + 1;
}

__attribute__((noinline)) int run(int n)
{
	int *list = malloc(n * sizeof(*list)), last = behind(list, n);
	free(list);
	return last;
}

int main(int argc, char **argv)
{
	(void)argv;
	return run(argc + 9) + 2;
}
"""
NAMES = ("at", "run", "main")
failures = []


def expect(what, got, expected):
    good = got == expected
    print(f"{'ok' if good else 'not ok'}: {what}")
    if not good:
        failures.append(what)
        print(f"--- expected\n{expected}--- got\n{got}---")


class Program:
    """A compiled program, its GSYM, and a stack in it: at() called by run() called by main()."""

    def __init__(self, gsym, directory, compiler, *flags):
        self.gsym, self.path, self.file = gsym, directory / "example", directory / "example.gsym"
        source = directory / "example.c"
        source.write_text(SOURCE)
        peers.run([compiler, "-g", "-O1", "-fno-omit-frame-pointer", "-fcf-protection=none", "-Wl,--build-id=sha1", *flags, source, "-o",
                   self.path], cwd=directory)
        peers.run([gsym, "convert", "--quiet", "-o", self.file, self.path])
        self.id = peers.run(["readelf", "-n", self.path]).split("Build ID: ")[1].split()[0]
        self.functions = {}
        starts = set()
        for line in peers.run(["nm", "-S", self.path]).splitlines():
            words = line.split()
            if len(words) > 2 and words[-2] in "tTwW":
                starts.add(int(words[0], 16))
            if words[-1] in NAMES and len(words) == 4:
                self.functions[words[-1]] = (int(words[0], 16), int(words[1], 16))
        self.starts = sorted(starts)
        self.base = min(int(words[2], 16) for words in map(str.split, peers.run(["readelf", "-lW", self.path]).splitlines())
                        if words and words[0] == "LOAD") & ~0xfff
        self.stack = [self.functions["at"][0] + 1, self.behind_call("run", "at"), self.behind_call("main", "run")]

    def symbol(self, number):
        """A frame as a kernel prints it, for which a function reaches to the next symbol."""
        start = self.functions[NAMES[number]][0]
        after = min(other for other in self.starts if other > start)
        return f"{NAMES[number]}+{self.stack[number] - start:#x}/{after - start:#x}"

    def behind_call(self, caller, callee):
        """Where the call returns to."""
        lines = peers.run(["objdump", "-d", "--no-show-raw-insn", self.path]).splitlines()
        start, size = self.functions[caller]
        for line, after in zip(lines, lines[1:]):
            insn = re.match(rf" *([0-9a-f]+):.*call.*<{callee}>", line)
            if insn and start <= int(insn.group(1), 16) < start + size:
                return int(after.split(":")[0], 16)
        raise RuntimeError(f"no call of {callee} in {caller}")

    def frames(self, number):
        """(function, path, line) of frame @number, innermost first, as addr2line has them."""
        address = self.stack[number] - (number > 0)
        lines = peers.run([peers.need("llvm-addr2line", "llvm"), "-fiC", "-e", self.path, f"{address:#x}"]).splitlines()
        return [(name, *place.split()[0].rsplit(":", 1)) for name, place in zip(lines[::2], lines[1::2])]

    def filter(self, log, *options):
        return peers.run([self.gsym, "filter", *options, self.file], stdin=log)

    def check(self, what, head, before, after, tail):
        """@before(number) is a frame's line, @after(number, function, path, line, inlined) what it becomes for each function."""
        log, expected = head, head
        for number in range(len(self.stack)):
            log += before(number)
            frames = self.frames(number)
            for i, (name, path, line) in enumerate(frames):
                expected += after(number, name, path, line, i + 1 < len(frames))
        expect(what, self.filter(log + tail), expected + tail)


def rva(p, number):
    return p.stack[number] - p.base


def sanitizer(gsym, directory):
    """What the sanitizer says of itself when it symbolizes is what we make of what it says when it does not."""
    try:
        p = Program(gsym, directory, "gcc", "-fsanitize=address")
    except RuntimeError as error:
        print(f"SKIP: no address sanitizer: {str(error).splitlines()[0]}")
        return
    logs = []
    for symbolize in "01":
        environment = dict(os.environ, ASAN_OPTIONS=f"symbolize={symbolize}:detect_leaks=0:color=never")
        logs.append(subprocess.run([p.path], env=environment, capture_output=True, text=True, timeout=300).stderr)
    raw, told = logs
    got = p.filter(raw)

    def frames(log):
        """Functions and positions; of other modules just that they are there. Frames are numbered differently."""
        found = re.findall(r"^ +#\d+ 0x[0-9a-f]+ in (at|after|behind|run|main) (\S+:\d+)", log, flags=re.M)
        return [(name, re.sub(r".*/", "", place)) for name, place in found]

    expect("a sanitizer's frames", "\n".join(map(str, frames(got))), "\n".join(map(str, frames(told))))
    expect("at least two stacks of them", str(len(frames(got)) >= 6), "True")
    expect("a sanitizer's summary", re.search(r"SUMMARY.* (\S+) in (\S+)", got).groups(), re.search(r"SUMMARY.* (\S+) in (\S+)", told).groups())
    changed = [line for line in raw.splitlines() if line not in got.splitlines()]
    expect("all else in it", [line for line in changed if not re.search(r"\(\S*/example\+0x", line)], [])


def written(p):
    p.check("an Apple report", "Thread 0 Crashed:\n",
            lambda n: f"{n}   example          {p.stack[n] - p.base + 0x100000000:#018x} 0x100000000 + {rva(p, n)}\n",
            lambda n, name, path, line, inlined: f"{n}   example          {p.stack[n] - p.base + 0x100000000:#018x} {name} (in example) "
            f"({os.path.basename(path)}:{line}){' [inlined]' * inlined}\n",
            f"\nBinary Images:\n0x100000000 - 0x10000ffff example x86_64  <{p.id}> /tmp/example\n\n")

    for module in ("", f" [example {p.id}]"):
        p.check(f"a kernel's trace{module and ' of a module'}",
                f"CPU: 0 PID: 1 Comm: init Not tainted 6.1.0 #1 {p.id}\nCall Trace:\n <TASK>\n",
                lambda n: f"[  1.000000] {'RIP: 0010:' if n == 0 else ' '}{p.symbol(n)}{module}\n",
                lambda n, name, path, line, inlined: f"[  1.000000] {'RIP: 0010:' if n == 0 else ' '}{name} ({path}:{line})"
                f"{' [inlined]' if inlined else module}\n", " </TASK>\n")
    p.check("a tombstone", "backtrace:\n",
            lambda n: f"      #{n:02d} pc {p.stack[n] - (n > 0):016x}  /system/bin/example ({NAMES[n]}+1) (BuildId: {p.id})\n",
            lambda n, name, path, line, inlined: f"      #{n:02d} pc {p.stack[n] - (n > 0):016x}  /system/bin/example ({name} {path}:{line})"
            f"{'' if inlined else f' (BuildId: {p.id})'}\n", "\n")
    p.check("systemd-coredump", f"Module example with build-id {p.id}\nStack trace of thread 1:\n",
            lambda n: f"#{n}  {rva(p, n) + 0x555500000000:#018x} n/a (example + {rva(p, n):#x})\n",
            lambda n, name, path, line, inlined: f"#{n}  {rva(p, n) + 0x555500000000:#018x} {name} at {path}:{line}"
            f"{'' if inlined else f' (example + {rva(p, n):#x})'}\n", "ELF object binary architecture: AMD x86-64\n")
    text = {n: " (inlined by) ".join(f"{name} at {path}:{line}" for name, path, line in p.frames(n)) for n in range(3)}
    expect("ids and addresses", p.filter("".join(f"#{n} {p.id} {p.stack[n]:#x} x\n" for n in range(3))),
           "".join(f"#{n} {p.id} {p.stack[n]:#x} {text[n]} x\n" for n in range(3)))
    expect("an id and an offset", p.filter(f"at {p.id.upper()}+{rva(p, 0):#x}.\n"), f"at {p.id.upper()}+{rva(p, 0):#x} {text[0]}.\n")


def unnamed(p, directory):
    """Logs without ids: the file of the module's name is meant, whatever others there are, and none if two are called so."""
    kinds = {
        "a sanitizer": lambda n, name: f"    #{n} {p.stack[n] - (n > 0):#x}  (/usr/bin/{name}+{rva(p, n) - (n > 0):#x})\n",
        "LLVM's programs": lambda n, name: f" #{n} {p.stack[n]:#018x} f(int) (/usr/bin/{name}+{rva(p, n):#x})\n",
        "systemd-coredump": lambda n, name: f"#{n}  {p.stack[n]:#018x} n/a ({name} + {rva(p, n):#x})\n",
        "Android": lambda n, name: f"      #{n:02d} pc {p.stack[n] - (n > 0):016x}  /data/app/base.apk!{name} (f+1)\n",
        "a module": lambda n, name: f"[    1.0]  {p.symbol(n)} [{name.replace('-', '_')}]\n",
        "a kernel": lambda n, name: f"[    1.0]  {p.symbol(n)}\n",
    }
    files = {}
    for name in ("my-example.gsym", "my-example.debug.gsym", "vmlinux-6.1.gsym", "other.gsym", "again/my-example.gsym", "my-example.ko.gsym"):
        files[name] = directory / name
        files[name].parent.mkdir(exist_ok=True)
        shutil.copy(p.file, files[name])

    def told(log, *names):
        return peers.run([p.gsym, "filter", *(files[name] for name in names)], stdin=log)

    other = peers.run([p.gsym, "convert", "--quiet", "-o", files["again/my-example.gsym"], make_other(directory)])
    expect("another build", other, "")
    for kind, frame in kinds.items():
        log = "".join(frame(n, "my-example") for n in range(3))
        places = [f"{os.path.basename(path)}:{line}" for n in range(3) for _, path, line in p.frames(n)]
        choices = {"a kernel": [("my-example.gsym",), ("vmlinux-6.1.gsym", "other.gsym"), ("other.gsym", "vmlinux-6.1.gsym")],
                   "a module": [("my-example.ko.gsym",), ("other.gsym", "my-example.ko.gsym"), ("vmlinux-6.1.gsym", "my-example.gsym")]}
        for names in choices.get(kind, [("my-example.gsym",), ("other.gsym", "my-example.gsym"), ("my-example.debug.gsym", "other.gsym"),
                                        ("my-example.debug.gsym", "my-example.gsym")]):
            expect(f"{kind} without ids, {names}", re.findall(r"example\.c:\d+", told(log, *names)), places)
        nobody = [("my-example.ko.gsym",), ("other.gsym", "my-example.gsym")] if kind == "a kernel" else \
                 [("other.gsym",), ("my-example.gsym", "again/my-example.gsym"), ("again/my-example.gsym", "other.gsym", "my-example.gsym")]
        for names in nobody:
            expect(f"{kind} without ids, of nobody, {names}", told(log, *names), log)


def make_other(directory):
    path = directory / "again" / "built"
    (directory / "again.c").write_text("int at(int a) { return a; }\nint main(void) { return at(1); }\n")
    peers.run(["gcc", "-g", "-O1", "-Wl,--build-id=sha1", directory / "again.c", "-o", path])
    return path


def ips(p):
    """A report in JSON stays JSON, with frames that say more."""
    frames = [{"imageOffset": rva(p, n), "imageIndex": 1} for n in range(3)]
    report = {"threads": [{"frames": frames}, {"frames": frames[:1]}],
              "usedImages": [{"uuid": "ff" * 16, "name": "\\\"}{"}, {"base": 1 << 32, "uuid": p.id, "name": "example"}]}
    header = json.dumps({"bug_type": "309", "incident_id": "X"}) + "\n"

    def told(n):
        functions = p.frames(n)
        return [(name, os.path.basename(path), int(line), i + 1 < len(functions)) for i, (name, path, line) in enumerate(functions)]

    for indent in (None, 2):
        got = p.filter(header + json.dumps(report, indent=indent) + "\n")
        first, _, body = got.partition("\n")
        found = json.loads(body)
        threads = [[(f["symbol"], f["sourceFile"], f["sourceLine"], f.get("inline", False)) for f in thread["frames"]]
                   for thread in found["threads"]]
        expect("a report in JSON", (first + "\n", threads, found["usedImages"]),
               (header, [told(0) + told(1) + told(2), told(0)], report["usedImages"]))


def markup(p, directory):
    """But for columns, which GSYM does not have, what llvm-symbolizer makes of it."""
    load = 0x7f0000000000
    elements = [f"{{{{{{module:0:example:elf:{p.id}}}}}}}", f"{{{{{{mmap:{load:#x}:0x10000:load:0:rx:{p.base:#x}}}}}}}"]
    for n, address in enumerate(p.stack):
        elements.append(f"{{{{{{bt:{n}:{address - p.base + load:#x}{':pc' * (n == 0)}}}}}}}")
    for n in (10, 100, 12345, 1234567):
        elements.append(f"{{{{{{bt:{n}:{p.stack[1] - p.base + load:#x}}}}}}}")
    elements.append(f"pc {{{{{{pc:{p.stack[0] - p.base + load:#x}}}}}}}, {{{{{{symbol:_ZN1f3oneEv}}}}}}")
    place = directory / "ids" / ".build-id" / p.id[:2]
    place.mkdir(parents=True)
    (place / f"{p.id[2:]}.debug").symlink_to(p.path)
    log = "\n".join(elements) + "\n"
    theirs = peers.run([peers.need("llvm-symbolizer", "llvm"), "--filter-markup", "--color=never",
                        f"--debug-file-directory={directory / 'ids'}"], stdin=log, timeout=300)
    theirs = re.sub(r"(:\d+):\d+ \(", r"\1 (", theirs)
    expect("markup", p.filter(log).split("\n", 2)[2], theirs.split("\n", 1)[1])


def follows(p):
    """A line that is no frame comes out at once, a stack when nothing follows for a moment."""
    line = f"#0 {p.id} {p.stack[0]:#x}\n"
    with subprocess.Popen([p.gsym, "filter", p.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        for text in ("hello\n", line):
            running.stdin.write(text.encode())
            running.stdin.flush()
            got = ""
            while not got.endswith("\n") and select.select([running.stdout], [], [], 300)[0]:
                got += os.read(running.stdout.fileno(), 4096).decode() or "[the end]\n"
            expect(f"{text.split()[0]} while the log goes on", got.startswith(text.rstrip()), True)
        running.stdin.close()


def main():
    gsym = peers.gsym_program(sys.argv[1])
    if platform.machine() != "x86_64":
        peers.skip("the disassembly is read for x86-64 only")
    peers.need("gcc", "gcc")
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        for kind in ("asan", "pie", "fixed"):
            (directory / kind).mkdir()
        sanitizer(gsym, directory / "asan")
        for kind, flags in (("pie", ["-pie", "-fPIE"]), ("fixed", ["-no-pie", "-fno-pie"])):
            p = Program(gsym, directory / kind, "gcc", *flags)
            written(p)
            ips(p)
            unnamed(p, directory / kind)
            markup(p, directory / kind)
        follows(p)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
