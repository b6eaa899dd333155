#!/usr/bin/env python3
"""Makes a call of a gsym command fail: there must be the right bytes, or an error that names the cause, and nothing left behind.

    commands.py [--all] [--seed N] [--table FILE] [--log FILE] GSYM LIBRARY [COMMAND...]

LIBRARY is libinject.so, built from inject.c. Each command is run once and its calls are counted; then calls fail, one in each run:
with --all each of them with each of its errors, else a sample. Every failure is followed by the same command without one, with the
same cache.
"""
import argparse
import concurrent.futures
import errno
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import inputs
from injection import CLASSES, SHORT, Injection, Tally, choose, class_of, error_name, errors_of, is_crash

LIMIT = 300  # seconds until a command counts as one that hangs
JOBS = 2
SAMPLE = 2  # occurrences of each call of each process in the short form
OTHER_NAMES = ("addr2line", "llvm-symbolizer")
SANITIZED = bool(os.environ.get("SANITIZER_LIBRARY"))


class Command:
    def __init__(self, name, *arguments, text="", roles=("command",), quick=True, partial="$^", returns_zero=False, env=None, anew=None):
        """@partial: a line that may be printed, beside those of a run without a fault, if the command fails. @returns_zero: also then,
        as the program does whose options and output it has, so that a message counts as a failure. @anew: what each run makes
        anew, in a file that may not exist before."""
        self.name, self.arguments, self.text, self.roles, self.quick = name, arguments, text, roles, quick
        self.partial, self.returns_zero, self.env = re.compile(partial.encode()), returns_zero, env or {}
        self.anew = anew and re.compile(anew.encode())


IDS = ("deadbeef00010203", "deadbeef00010204")  # of images
LOGGED = r" +#0 0x1  \(/app/.*"  # a frame that is not explained


def image_base(addresses):
    """Another than the file's own, so that answers differ where it was not read."""
    return min(int(address, 16) for address in addresses) // 0x1000 * 0x1000 - 0x5000


def make_mount(place, image, base):
    """What commands read of a mount: two images, a name that one of them has, and another that both have."""
    place.mkdir()
    (place / "q").touch()
    for number in IDS:
        (place / number).mkdir()
        shutil.copy(image, place / number / "image.gsym")
        (place / number / "status").write_text(f"image_base\t{base:#x}\n")
    for name, ids in {"one": IDS[:1], "two": IDS}.items():
        for number in ids:
            (place / "by-name" / name / number).mkdir(parents=True)


def make_more(place):
    """Files that options name, and a directory of object files."""
    (place / "tree" / "below").mkdir(parents=True)
    shutil.copy(place / "dwarf5", place / "tree" / "one")
    shutil.copy(place / "packed", place / "tree" / "below" / "two")
    (place / "sites.yaml").write_text("functions:\n  - {name: main, callsites: [{return_offset: 1, match_regex: [c]}]}\n")
    (place / "maps").write_text("7f0000000000-7f0000005000 r-xp 00000000 00:00 1 /app/made\n")


def commands(names, addresses):
    """@addresses: of functions of each file."""
    for name in names:
        yield Command("convert " + name, "convert", "--quiet", "--num-threads=1", "-o", "out/x.gsym", name)
        yield Command("lookup " + name, "lookup", "--cache=cache", name, *addresses[name], roles=("command", "convert"),
                      quick=name in ("dwarf5", "stripped", "split", "whole.gz"))
    worker = ("command", "convert")
    where = addresses["dwarf5"]
    offset = hex(int(where[1], 16) - image_base(where))  # the last byte of a function, as a caller's too
    yield Command("segments", "convert", "--quiet", "--num-threads=1", "--segment-size=400", "-o", "out/x.gsym", "dwarf5")
    yield Command("version 2", "transcode", "--output-version=2", "-o", "out/x.gsym", "made.gsym")
    yield Command("verify", "verify", "made.gsym", "--against", "dwarf5")
    yield Command("filter", "filter", "made.gsym", text="".join(" main+0x1/0x20 %s\n" % a for a in where))
    yield Command("lookup GSYM", "lookup", "made.gsym", text="\n".join(where) + "\n")
    yield Command("addr2line", "addr2line", "-pafCie", "dwarf5", *where, roles=worker)
    yield Command("llvm-symbolizer", "llvm-symbolizer", "-e", "split", text="\n".join(addresses["split"]) + "\n", roles=worker,
                  partial=r".*:0")  # without columns
    yield Command("store put", "store", "put", "--cache=cache", "out/store", "dwarf5", roles=(*worker, "store"))
    yield Command("store get", "store", "get", "--cache=cache", "-o", "out/x.gsym", "shared", "dwarf5", roles=(*worker, "store"))
    yield Command("store list", "store", "list", "shared", roles=("command", "store"), quick=False)
    yield Command("store verify", "store", "verify", "shared", roles=("command", "store"), quick=False)
    yield Command("store keygen", "store", "keygen", "out/x.key", anew="[A-Za-z0-9+/]{43}=")
    yield Command("dump", "dump", "made.gsym")
    yield Command("statistics", "statistics", "made.gsym")
    yield Command("segment", "segment", "--segment-size=400", "-o", "out/x.gsym", "made.gsym")
    yield Command("convert --recursive", "convert", "--quiet", "--recursive", "--jobs=1", "--num-threads=1", "--output-dir=out/tree", "tree", roles=worker)
    yield Command("convert --json", "convert", "--num-threads=1", "--json-summary-file=out/x.json", "-o", "out/x.gsym", "dwarf5")
    yield Command("convert --callsites", "convert", "--quiet", "--num-threads=1", "--callsites-yaml-file=sites.yaml", "-o", "out/x.gsym", "dwarf5")
    yield Command("convert --verify", "convert", "--quiet", "--num-threads=1", "--verify", "-o", "out/x.gsym", "dwarf5")
    yield Command("convert --debug-file", "convert", "--quiet", "--num-threads=1", "--debug-file=dwarf5", "-o", "out/x.gsym", "dwarf5", quick=False)
    yield Command("lookup --addresses-from-stdin", "lookup", "--cache=cache", "--addresses-from-stdin", text=f"{where[0]} dwarf5\n{where[1]} made.gsym\n", roles=worker,
                  partial=r"\?\? at \?\?:0")
    yield Command("filter --maps", "filter", "--maps=maps", "made.gsym", text="#0 0x7f0000001010 in ??\n")
    yield Command("store prune", "store", "prune", "--dry-run", "--max-size=1", "shared", partial=r"shared: would be: .* left")
    yield Command("filter --mount", "filter", "--mount=mount", text="".join(f"    #0 0x1  (/app/x+{offset}) (BuildId: {id})\n" for id in IDS),
                  partial=LOGGED)
    names = "".join(f"    #0 0x1  (/app/{name}+{offset})\n" for name in ("one", "two", "none"))
    yield Command("filter --by-name", "filter", "--mount=mount", "--by-name", text=names, partial=LOGGED)
    images = (IDS[0], "by-name/one", "by-name/two")
    yield Command("stack --mount", "stack", "--mount=mount", text="".join(f"{image}/base/0 {offset}\n\n" for image in images))
    yield Command("llvm-symbolizer --build-id", "llvm-symbolizer", "--relative-address", f"--build-id={IDS[0]}", offset, partial=r"\?\?.*|",
                  returns_zero=True, env={"GSYMFS_MOUNT": "mount"})


# What expires by itself in a store that several hosts share: what was left by one that could not delete it.
LAPSES = re.compile(r"\.lease$|^\.claim-|^\.tmp-")


class Result:
    def __init__(self, done, place, anew):
        def same_each_time(data):
            return anew.sub(b"*", data) if anew else data
        self.status, self.output = done.returncode, same_each_time(done.stdout)
        self.messages = done.stderr.decode(errors="replace")
        self.files = {str(p.relative_to(place)): same_each_time(p.read_bytes()) for p in sorted((place / "out").rglob("*"))
                      if p.is_file() and not LAPSES.search(p.name)}
        self.kept = {p.name for p in (place / "cache").iterdir()} if (place / "cache").is_dir() else set()

    def same(self, other):
        return (self.status, self.lines, self.files) == (other.status, other.lines, other.files)

    @property
    def lines(self):
        """Of standard output; that the store had a conversion already is no difference, nor how many seconds ago it was made."""
        return re.sub(rb"^(\w+\t\d+)\t\d+$", rb"\1", self.output.replace(b"  present  ", b"  published  "), flags=re.M).splitlines()


class Bench:
    """A directory in which one command is run at a time."""

    def __init__(self, gsym, library, made, place):
        self.gsym, self.place = gsym, Path(place)
        for path in made.iterdir():
            (self.place / path.name).symlink_to(path)
        for name in OTHER_NAMES:
            (self.place / name).symlink_to(gsym)
        self.injection = Injection(self.place / "inject", library)

    def clear(self):
        for name in ("out", "cache"):
            shutil.rmtree(self.place / name, ignore_errors=True)
        (self.place / "out" / "store").mkdir(parents=True, mode=0o700)
        os.chmod(self.place / "out" / "store", 0o700)

    def run(self, command):
        first, *rest = command.arguments
        program = [self.place / first] if first in OTHER_NAMES else [self.gsym, first]
        environment = self.injection.environment(GSYMFS_CACHE=str(self.place / "cache"),
                                                 ASAN_OPTIONS="exitcode=77:detect_leaks=0:allocator_may_return_null=1", UBSAN_OPTIONS="halt_on_error=1:exitcode=77", **command.env)
        process = subprocess.run([*program, *rest], input=command.text.encode(), capture_output=True, cwd=self.place, env=environment,
                                 timeout=LIMIT, check=False)
        return Result(process, self.place, command.anew)

    def judge(self, command, whole, error):
        """(outcome, what) of a run with one fault, and of the next."""
        try:
            got = self.run(command)
        except subprocess.TimeoutExpired:
            return "hangs", "no end"
        finally:
            self.injection.disarm()
        if not self.injection.injected:
            return None, ""
        if is_crash(got.status):
            return "crashes", "status %d: %s" % (got.status, got.messages[-1500:])
        failed = got.status or (command.returns_zero and got.messages)
        if not failed and not got.same(whole):
            files = [n for n in sorted({*got.files, *whole.files}) if got.files.get(n) != whole.files.get(n)]
            return "wrong", "status 0, and other output %r, files %s: %s" % (got.output[-100:], files, got.messages[-300:])
        if failed and not got.messages:
            return "wrong", "status %d without a message" % got.status
        if failed and any(line not in whole.lines and not command.partial.fullmatch(line) for line in got.lines):
            return "wrong", "status %d, and other output: %r: %s" % (got.status, got.output[-200:], got.messages[-200:])
        more = [name for name in got.files if got.files[name] != whole.files.get(name)] + sorted(got.kept - whole.kept)
        if more and self.injection.records()[0][1] != "unlinkat":  # which leaves what it cannot delete
            return "left behind", "%s (status %d: %s)" % (more, got.status, got.messages[-200:])
        outcome, messages = "clean errors" if failed else "right", got.messages
        if failed and not names_cause(messages, error):
            return "unnamed", messages[-300:]
        if command.anew and not failed:
            self.clear()
        again = self.run(command)
        if not again.same(whole):
            return "remembered", "then status %d: %s" % (again.status, again.messages[-300:])
        return outcome, messages

    def check(self, command, settings, tally, log):
        self.clear()
        self.injection.count()
        whole = self.run(command)
        calls, sites = self.injection.counted()
        if whole.status:
            tally.fail("%s: without a fault: status %d: %s" % (command.name, whole.status, whole.messages))
            return
        rng = random.Random(settings.seed ^ zlib.crc32(command.name.encode()))
        for role in command.roles:
            for call, n in choose(calls, sites, role, rng, None if settings.all else SAMPLE):
                if SANITIZED and call in CLASSES["memory"][0][:4]:
                    continue
                errors = errors_of(call)
                for error in errors if settings.all else [rng.choice(errors)]:
                    self.once(command, whole, (role, call, n, error), tally, log)

    def once(self, command, whole, fault, tally, log):
        role, call, n, error = fault
        self.clear()
        self.injection.arm(role, call, n, error)
        outcome, what = self.judge(command, whole, error)
        if outcome:
            line = "%s: %s" % (command.name, self.injection.describe([self.gsym] if outcome not in ("right", "clean errors") else []))
            tally.add(role, call, outcome, "%s: %s" % (line, what.strip()))
            log.write("%s\t%s\t%s\n" % (outcome, line, what.strip().replace("\n", "\\n")))


# What a message may say instead of the text of an errno.
SAYINGS = {SHORT: (), errno.ENOMEM: ("memory",), errno.EAGAIN: (os.strerror(errno.EBUSY),), errno.EBADMSG: (os.strerror(errno.EIO),),
           errno.ESTALE: (os.strerror(errno.EIO), "changed since it was scanned")}
# A process that cannot speak any more can only end, and its client says so; the dynamic linker gives no reason in one case; a store
# tells its hosts of "Remote I/O error" whatever it was, and its command that there was none to give; libdwarf does not say, or crashes.
UNSPOKEN = ("exited without a result", "try again", "has ended", "no answer", "is not the gsym program", "Remote I/O error",
            "cannot start a thread", "Permission denied", "was not published",
            "libdwarf cannot read", "comparison by libdwarf: killed", "cannot create shared object descriptor")

EMPTY = re.compile(r": *(;|$)", re.M)  # a message whose text is missing


def names_cause(messages, error):
    if EMPTY.search(messages):
        return False
    return error == SHORT or any(text in messages for text in (os.strerror(error), *SAYINGS.get(error, ()), *UNSPOKEN))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--log", metavar="FILE", default=os.devnull)
    parser.add_argument("gsym")
    parser.add_argument("library")
    parser.add_argument("only", nargs="*")
    settings = parser.parse_args()
    gsym, library = os.path.realpath(settings.gsym), os.path.realpath(settings.library)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="gsym-faults-") as directory, open(settings.log, "w", encoding="utf-8", buffering=1) as log:
        made = Path(directory) / "made"
        made.mkdir()
        names = inputs.make(made)
        addresses = {name: [hex(a) for start, end in inputs.functions(gsym, made / name) for a in (start, end - 1)][:6] for name in names}
        subprocess.run([gsym, "convert", "--quiet", "-o", made / "made.gsym", made / "dwarf5"], check=True)
        make_mount(made / "mount", made / "made.gsym", image_base(addresses["dwarf5"]))
        make_more(made)
        wanted = [c for c in commands(names, addresses) if (c.name in settings.only if settings.only else settings.all or c.quick)]
        if os.environ.get("HAVE_STORE", "1"):
            (made / "shared").mkdir(mode=0o700)
            subprocess.run([gsym, "store", "put", f"--cache={directory}/cache", made / "shared", made / "dwarf5"], check=True)
        else:
            wanted = [c for c in wanted if not c.name.startswith("store ")]

        def work(command):
            with tempfile.TemporaryDirectory(dir=directory) as place:
                Bench(gsym, library, made, place).check(command, settings, tally, log)
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(work, wanted))
    return tally.finish(settings.table)


if __name__ == "__main__":
    sys.exit(main())
