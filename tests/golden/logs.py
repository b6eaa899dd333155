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
from lib.checks import expect, failures  # noqa: E402

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
        return peers.run([self.gsym, "filter", "--strip-prefix=none", *options, self.file], stdin=log)

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
        return peers.run([p.gsym, "filter", "--strip-prefix=none", *(files[name] for name in names)], stdin=log)

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


def stackwalk(p):
    """minidump_stackwalk's JSON, with what it has no symbols for; return addresses are in the call there."""
    def frame(n, **more):
        return {"file": None, "frame": n, "function": None, "function_offset": None, "inlines": None, "line": None, "missing_symbols": True,
                "module": "example", "module_offset": f"{rva(p, n) - (n > 0):#018x}", "trust": "cfi", **more}

    frames = [frame(n) for n in range(3)]
    report = {"crash_info": {"crashing_thread": 0}, "crashing_thread": {"frames": frames, "threads_index": 0},
              "modules": [{"base_addr": "0x1", "debug_id": p.id, "filename": "example"}], "status": "OK",
              "threads": [{"frames": frames}, {"frames": [frame(0, function="known"), frame(1, module=None), frame(2, module="other")]}]}
    expected = json.loads(json.dumps(report))
    for found in [expected["crashing_thread"], expected["threads"][0]]:
        for n, one in enumerate(found["frames"]):
            *inlined, (name, path, line) = p.frames(n)
            one.update(function=name, file=path, line=int(line),
                       function_offset=f"{p.stack[n] - (n > 0) - p.functions[NAMES[n]][0]:#018x}",
                       inlines=[{"file": path, "function": name, "line": int(line)} for name, path, line in inlined] or None)
    for indent in (None, 2):
        expect("a minidump in JSON", json.loads(p.filter(json.dumps(report, indent=indent) + "\n")), expected)


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
    with subprocess.Popen([p.gsym, "filter", "--strip-prefix=none", p.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        for text in ("hello\n", line):
            running.stdin.write(text.encode())
            running.stdin.flush()
            got = ""
            while not got.endswith("\n") and select.select([running.stdout], [], [], 300)[0]:
                got += os.read(running.stdout.fileno(), 4096).decode() or "[the end]\n"
            expect(f"{text.split()[0]} while the log goes on", got.startswith(text.rstrip()), True)
        running.stdin.close()


UNWINDS = """#include <execinfo.h>
#include <stdlib.h>
#include <unistd.h>

static inline __attribute__((always_inline)) void show(void)
{
	void *frames[20];
	backtrace_symbols_fd(frames, backtrace(frames, 20), 1);
}

__attribute__((noinline)) void leaf(int kind)
{
	if (kind == 1)
		show();
	if (kind == 2)
		pause();
	if (kind == 3)
		*(volatile int *)0 = 1;
	if (kind == 4)
		*(volatile char *)malloc(1 << 20) = 1;
	__asm__ volatile("");
}

__attribute__((noinline)) int work(int kind)
{
	leaf(kind);
	return kind + 1;
}

int main(int argc, char **argv)
{
	(void)argc;
	return work(atoi(argv[1]));
}
"""


class Unwound:
    """A program without symbols whose stack others print, and its GSYM: leaf() called by work() called by main()."""

    def __init__(self, gsym, directory, *flags):
        self.gsym, self.directory = gsym, directory
        self.path, self.named, self.file = directory / "unwound", directory / "named", directory / "unwound.gsym"
        source = directory / "unwound.c"
        source.write_text(UNWINDS)
        peers.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fcf-protection=none", "-Wl,--build-id=sha1", *flags[:-1], source, "-o", self.named, *flags[-1:]])
        peers.run(["strip", "-o", self.path, self.named])
        peers.run([gsym, "convert", "--quiet", "-o", self.file, self.named])

    def run(self, kind, *before, **environment):
        found = subprocess.run([*before, self.path, str(kind)], env=dict(os.environ, **environment), capture_output=True, text=True,
                               timeout=300, cwd=self.directory)
        return found.stdout + found.stderr

    def text(self, address):
        """What addr2line says of an address, as the filter writes it."""
        lines = peers.run([peers.need("llvm-addr2line", "llvm"), "-fiC", "-e", self.named, f"{address:#x}"]).splitlines()
        return " (inlined by) ".join(f"{name} at {place.split()[0]}" for name, place in zip(lines[::2], lines[1::2]))

    def filter(self, log, *options):
        return peers.run([self.gsym, "filter", "--strip-prefix=none", "--quiet", *options, self.file], stdin=log)

    def check(self, what, log, address_of, *options):
        """The functions' frames in the log are those three, with what addr2line says of @address_of(line, number of the frame)."""
        frames = []
        for line, after in zip(log.splitlines(), self.filter(log, *options).splitlines()):
            if line != after and " _start" not in after:
                frames.append((line, after))
        expect(f"{what}: frames", len(frames), 3)
        for number, (line, after) in enumerate(frames):
            expect(f"{what}: frame {number}", self.text(address_of(line, number)) in after, True)


def find_tool(name):
    if not shutil.which(name):
        print(f"SKIP: no {name}")
    return shutil.which(name)


def load_address(pid, path):
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith(str(path)):
            return int(line.split("-")[0], 16)
    raise RuntimeError(f"{path} is not mapped")


def first_hex(line):
    return int(re.search(r"0x([0-9a-fA-F]+)", line).group(1), 16)


def waiting(p):
    """A process that others unwind: its stack in memory, and what tells where it is."""
    process = subprocess.Popen([p.path, "2"])
    try:
        for _ in range(3000):
            if pathlib.Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "S":
                break
            select.select([], [], [], 0.01)
        base = load_address(process.pid, p.path)
        maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        (p.directory / "maps").write_text(maps)
        logs = {}
        if find_tool("eu-stack"):
            for option in ("-l", "-m", "-b"):
                found = subprocess.run(["eu-stack", option, "-p", str(process.pid)], capture_output=True, text=True, timeout=300)
                logs[f"eu-stack {option}"] = found.stdout
        core = p.directory / "core.file"
        other = p.directory / "other" / p.path.name
        other.parent.mkdir(exist_ok=True)
        peers.run(["gcc", "-g", "-O0", "-Wl,--build-id=sha1", p.directory / "unwound.c", "-o", other])
        if find_tool("gdb"):
            found = subprocess.run(["gdb", "-nx", "-batch", "-p", str(process.pid), "-ex", "bt", "-ex", f"generate-core-file {core}"],
                                   capture_output=True, text=True, timeout=300)
            logs["gdb"] = found.stdout
        for what, log in logs.items():
            if "#1" not in log:
                print(f"SKIP: {what} cannot attach")
                continue
            log = "".join(line + "\n" for line in log.splitlines() if not re.search("libc|pause", line))

            def address(line, number):
                return first_hex(line) - base - 1
            if what == "eu-stack -b":
                p.check(what, log, lambda line, number: int(line.split("+0x")[1], 16))
                continue
            p.check(f"{what} and a process", log, address, f"--pid={process.pid}")
            p.check(f"{what} and a file", log, address, f"--maps={p.directory / 'maps'}")
            p.check(f"{what} and a load address", log, address, f"--base=unwound={base:#x}")
            if core.exists():
                p.check(f"{what} and a core file", log, address, f"--core={core}")
                for option in (f"--core={core}", f"--pid={process.pid}"):
                    expect(f"{what} and {option[2:6]} of another build", peers.run([p.gsym, "filter", "--strip-prefix=none", option, other], stdin=log), log)
            else:
                print("SKIP: no core file")
            expect(f"{what} and nothing", p.filter(log), log)
    finally:
        process.kill()
        process.wait()


def segfaults(p, directory):
    """As Linux tells of them: the file's segments say where the code is. Older ones name the mapping of the code alone."""
    page = 0x1000
    off, addr, size = next((int(words[1], 16), int(words[2], 16), int(words[4], 16))
                           for words in map(str.split, peers.run(["readelf", "-lW", p.named]).splitlines())
                           if words and words[0] == "LOAD" and words[-2] == "E")
    work = next(int(line.split()[0], 16) for line in peers.run(["nm", p.named]).splitlines() if line.endswith(" work"))
    start, extent = 0x7f51c0000000, -(-(addr % page + size) // page) * page
    ip = start + work - addr // page * page
    for what, place, expected in (("a segmentation fault", f"{work - addr + off:x},{start:x}+{extent:x}", True),
                                  ("a segmentation fault of older kernels", f"{start:x}+{extent:x}", True),
                                  ("a segmentation fault in another mapping", f"{start:x}+{extent + page:x}", False)):
        log = f"x[1]: segfault at 0 ip {ip:016x} sp 0000000000000000 error 4 in named[{place}] likely on CPU 0\n"
        got = peers.run([p.gsym, "filter", "--strip-prefix=none", "--quiet", p.named], stdin=log, env=dict(os.environ, XDG_CACHE_HOME=str(directory / "cache")))
        text = f"] {p.text(work)} likely"
        expect(what, got, log.replace("] likely", text) if expected else log)


PROFILED = """#include <time.h>
namespace ns {
template <class T> struct Work {
	__attribute__((noinline)) long run(T n, char const *) { volatile T x = 0; for (T i = 0; i < n; i++) x = x + i; return x; }
};
}
__attribute__((noinline)) long work(long n) { ns::Work<long> w; return w.run(n, "") + 2; }
int main() { long sum = 0; while (clock() < CLOCKS_PER_SEC / 4) sum += work(10000); return sum == 3; }
"""


def profiled(gsym, directory):
    """What perf knows by symbols of a whole program it knows by offsets of a stripped one, and we say the same of both."""
    if not find_tool("perf") or not find_tool("g++"):
        return
    source = directory / "profiled.cc"
    source.write_text(PROFILED)
    (directory / "named").mkdir()
    named, stripped = directory / "named" / "profiled", directory / "profiled"
    peers.run(["g++", "-g", "-O1", "-fno-omit-frame-pointer", source, "-o", named])
    peers.run(["strip", "-o", stripped, named])
    environment = dict(os.environ, XDG_CACHE_HOME=str(directory / "cache"), PERF_BUILDID_DIR=str(directory / "none"))
    for what, program in (("symbols", named), ("a stripped program", stripped)):
        data = directory / "perf.data"
        recorded = subprocess.run(["perf", "record", "-q", "-g", "-e", "cpu-clock", "-o", data, program], capture_output=True, text=True,
                                  timeout=300, env=environment)
        log = peers.run(["perf", "script", "-i", data, "--show-mmap-events"], check=False, env=environment)
        lines = [line for line in log.splitlines() if f"({program})" in line]
        if recorded.returncode or not lines:
            print(f"SKIP: perf cannot record: {recorded.stderr.strip()[:200]}")
            return
        got = peers.run([gsym, "filter", "--strip-prefix=none", "--quiet", named], stdin=log, env=environment)
        found = {tuple(line.split(" ", 1)[1].split(" (/")[0] for line in stack.splitlines() if "profiled.cc:" in line)
                 for stack in re.sub("\t +", "", got).split("\n\n")}
        stacks = {tuple(re.sub(":[0-9]+$", "", frame) for frame in stack) for stack in found}
        functions = tuple(f"{name} at {source}" for name in ("ns::Work<long>::run(long, char const*)", "work(long)", "main"))
        expect(f"perf and {what}", functions in stacks, True)


def unwound(gsym, directory):
    """Programs that print stacks of others, as they are on this machine."""
    p = Unwound(gsym, directory, "-pie", "-fPIE", "-lc")
    p.check("backtrace_symbols()", p.run(1), lambda line, number: first_hex(line) - 1)
    waiting(p)
    segfaults(p, directory)
    if find_tool("valgrind"):
        log = p.run(3, "valgrind", "-q")
        log = "".join(line + "\n" for line in log.splitlines() if re.search(" (at|by) ", line))
        log = "".join(log.splitlines(keepends=True)[:3])
        p.check("Valgrind", log, lambda line, number: first_hex(line) - 0x108000, "--base=unwound=0x108000")
    fixed = directory / "fixed"
    fixed.mkdir()
    p = Unwound(gsym, fixed, "-no-pie", "-fno-pie", "-lc")
    p.check("backtrace_symbols() at a fixed address", p.run(1), lambda line, number: first_hex(line) - 1)


def heap_files(gsym, directory):
    """Of tcmalloc and jemalloc, with their own lists of mappings."""
    for library, environment in (("tcmalloc", {"HEAPPROFILE": str(directory / "heap")}),
                                 ("jemalloc", {"MALLOC_CONF": f"prof:true,prof_final:true,lg_prof_sample:8,prof_prefix:{directory / 'heap'}"})):
        place = directory / library
        place.mkdir()
        try:
            p = Unwound(gsym, place, "-pie", "-fPIE", f"-l{library}")
        except RuntimeError:
            print(f"SKIP: no {library}")
            continue
        p.run(4, **environment)
        files = list(directory.glob("heap.*heap"))
        if not files:
            print(f"SKIP: {library} writes no heap files")
            continue
        log = max((path.read_text() for path in files), key=len)
        base = next(int(line.split("-")[0], 16) for line in log.splitlines() if line.endswith(str(p.path)))
        before = [line for line in log.splitlines() if "@ 0x" in line]
        after = [line for line in p.filter(log).splitlines() if "@ 0x" in line]
        changed = [(a, b) for a, b in zip(before, after) if a != b and "leaf" in b]
        expect(f"a heap file of {library}", bool(changed), True)
        for line, text in changed[:1]:
            named = [address for address in re.findall(r"0x[0-9a-f]+", line) if f"{address} leaf" in text]
            expect(f"{library}: its frames", p.text(int(named[0], 16) - base - 1) in text, True)
        for path in files:
            path.unlink()


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
            stackwalk(p)
            unnamed(p, directory / kind)
            markup(p, directory / kind)
        follows(p)
        for kind, check in (("unwound", unwound), ("heaps", heap_files), ("profiled", profiled)):
            (directory / kind).mkdir()
            check(gsym, directory / kind)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
