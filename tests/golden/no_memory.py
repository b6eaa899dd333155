#!/usr/bin/env python3
"""A command that runs out of memory says so: its status is not that of success unless its output is whole.

    no_memory.py GSYM MAKE_INPUTS ELF LIBRARY [ENGINE_DRIVER]

LIBRARY (fail_malloc.c) is preloaded, and lets one allocation after the other fail, alone and with all after it. With ENGINE_DRIVER
(tests/unit/store/transfer/engine_driver.c), conversions of all formats are tried, and an engine of stores; else all other commands.

Where programs are emulated (TIMES_SLOWER in the environment, by tests/hosts/run), every TIMES_SLOWER-th allocation of a command
fails, and for the next command it is the ones after these; a line REDUCED says so.
"""
import filecmp
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import breakpad, costly, costly_pdb, macho_sample, make_macho, pclntab, splitfile  # noqa: E402
from lib.core_file import File, core_file  # noqa: E402
from lib.formats import FORMATS  # noqa: E402
from lib.peers import TIMES_SLOWER  # noqa: E402

LIMIT = 600 * TIMES_SLOWER
STEP = TIMES_SLOWER  # between allocations that fail
SHOWN = 5  # faults of a command
EMPTY = re.compile(rb": *(;|$)", re.M)  # a message whose text is missing
OTHER_NAMES = ("addr2line", "llvm-symbolizer")  # of the program
FORKED = 250  # allocations tried where a child has more than the program itself
ID = "deadbeef00010203"
LOGS = {
    "kernel": " main+0x15/0x20\n main+0x15/0x200\n ? _start+0x4/0x10\n",
    "sanitizer": f"    #0 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: {ID})\n    #1 0x5581f7f2a015  (/opt/app/plain+0x15) (BuildId: {ID})\n\n",
    "apple": "Last Exception Backtrace:\n(0x1b0a7bf50 0x104a78015)\n\nThread 0 Crashed:\n0   plain   0x0000000104a7800c 0x104a78000 + 12\n\n"
             f"Binary Images:\n0x104a78000 - 0x104a7bfff plain arm64  <{ID}> /plain\n",
    "ips": '{"app_name":"plain","bug_type":"309","incident_id":"1"}\n{"threads":[{"frames":[{"imageOffset":12,"imageIndex":0}]}],'
           f'"usedImages":[{{"base":4372004864,"uuid":"{ID}","name":"plain"}}]}}\n',
    "offsets": f"./plain(+0x100c)[0x1]\n./plain(main+0xc) [0x1]\nModule|plain|||{ID}|0x1|0x2|1\n0|0|plain||||0xc\nin [none.so+0x1]\n",
    "heap": "#1 0x1 in ??\nheap_v2/1\n@ 0x104a7800c 0x1\n104a78000-104a7b000 r-xp 0 0:0 1 /plain\n\n#0 0x104a7800c in ?? ()\n",
    "markup": f"{{{{{{module:0:x.so:elf:{ID}}}}}}}\n{{{{{{mmap:0x500000:0x1000:load:0:rx:0x1000}}}}}}\n{{{{{{pc:0x50000c}}}}}} {{{{{{symbol:_Z1fv@plt}}}}}}\n",
}
COMMANDS = [
    (("convert", "--quiet", "--num-threads=1", "-o", "out.gsym", "calls.pdb"), ""),
    (("convert", "--quiet", "--num-threads=1", "-o", "out.gsym", "moved.pdb"), ""),
    (("statistics", "plain.gsym", "merged.gsym"), ""),
    (("verify", "plain.gsym", "merged.gsym"), ""),
    (("dump", "merged.gsym"), ""),
    (("lookup", "plain.gsym", "0x100c", "0x1104"), ""),
    (("lookup", "plain.gsym"), "0x100c\n0x1104\nnonsense\n0x1080\n"),
    (("lookup", "--format=json", "plain.gsym"), "0x100c\n" * 100),
    (("lookup", "--addresses-from-stdin"), "0x100c plain.gsym\n0x1104 merged.gsym\nnonsense\n0x1104 plain.gsym\n"),
    (("lookup", "--merged-functions", "--merged-functions-filter=o", "merged.gsym", "0x1004"), ""),
    (("stack", "--all", "merged.gsym"), "0x1004\n0x1014\n\n0x1004\n"),
    (("stack", "--mount=mount"), f"{ID} 0x100c\n{ID} 0x1014\n"),
    (("transcode", "-o", "out", "--output-version=2", "plain.gsym"), ""),
    (("segment", "-o", "out", "--segment-size=300", "plain.gsym"), ""),
    (("convert", "--quiet", "--num-threads=1", "-o", "out", "elf"), ""),
    (("convert", "--num-threads=1", "--segment-size=1000", "-o", "out", "elf"), ""),
    (("verify", "elf.gsym", "--against", "elf"), ""),
    (("addr2line", "-pafCie", "elf.gsym", "main", "main+4", "0x10"), ""),
    (("llvm-symbolizer", "-a", "@words"), "elf.gsym main\nplain.gsym 0x100c\nplain.gsym nothing\nmerged.gsym 0x1004\n\n"),
    (("llvm-symbolizer", "--output-style=JSON", "--functions=short", "plain.gsym 0x100c", "DATA plain.gsym 1"), ""),
] + [(("filter", *more, "plain.gsym"), log) for log in LOGS.values() for more in ((), ("--no-demangle",))] + \
    [(("filter", "--color=always", "plain.gsym"), LOGS["sanitizer"]),
     (("filter", "--strip-prefix=auto", "--base=plain=0x104a78000", "--core=core", "plain.gsym"), "0x104a7800c\n"),
     (("filter", "--strip-prefix=auto", "--base=plain=0x104a78000", "--maps=plain.gsym", "plain.gsym"), "0x104a7800c\n"),
     (("filter", "--mount=mount"), LOGS["sanitizer"]), (("filter", "--mount=mount", "--by-name"), LOGS["sanitizer"].replace(f" (BuildId: {ID})", ""))]
SITES = """
functions:
  - name: work
    callsites: [{return_offset: 3, match_regex: [a, b], flags: [InternalCall]}, {return_offset: 2, match_regex: []}]
  - {name: main, callsites: [{return_offset: 1, match_regex: [c]}]}
"""
CONVERT = ("convert", "--quiet", "--num-threads=1", "-o", "out")
CONVERSIONS = [(CONVERT + tuple(words.split()), "") for words in (
    *("sample" + row.ending for row in FORMATS), "calls.sym", "parents.sym", "--output-version=2 calls.sym", "go", "go12",
    "fat --arch=arm64", "--debug-file=macho stripped", "split", "packed", "elf.xz", "--callsites-yaml-file=sites.yaml elf", "--merged-functions elf", "--match-llvm elf",
    "--debug-file=elf bare")]


def failures(numbers):
    """Each of these allocations fails alone, and with all after it."""
    return [str(n) + more for n in numbers for more in ("", "-")]


class Bench:
    def __init__(self, gsym, library, place):
        self.gsym, self.library, self.place = gsym, library, Path(place)

    def run(self, arguments, text, failing=None, **more):
        """(status, output, messages, allocations) of a command. @failing: which allocation. @more: in the environment."""
        read, write = os.pipe()
        environment = dict(os.environ, LD_PRELOAD=self.library, FAIL_MALLOC_FD=str(write), LC_ALL="C", **more)
        if failing is not None:
            environment["FAIL_MALLOC"] = failing
        for old in self.place.glob("out*"):
            old.unlink()
        with os.fdopen(read) as report:
            try:
                program = [self.place / arguments[0]] if (self.place / arguments[0]).is_symlink() else [self.gsym, arguments[0]]
                done = subprocess.run([*program, *arguments[1:]], input=text.encode(), capture_output=True, cwd=self.place, env=environment,
                                      pass_fds=(write,), timeout=LIMIT, check=False)
            finally:
                os.close(write)
            count = report.read()
        return done.returncode, done.stdout, done.stderr, int(count.split()[0]) if count else 0

    def files(self):
        return {path.name: path.read_bytes() for path in self.place.glob("out*")}

    def check(self, number, arguments, text):
        """Command @number: the number of runs that failed as they should, and what was wrong with others."""
        status, *whole, count = self.run(arguments, text)
        files, wrong, failed = self.files(), [], 0
        if status:
            return 0, [f"without a failure: status {status}: {whole[1].decode()}"]
        count = max(count, FORKED) if "--against" in arguments else count
        for failing in failures(range(number % STEP, count, STEP)):
            status, output, messages, _ = self.run(arguments, text, failing)
            failed += status == 1
            if status == 0 and ([output, messages] != whole or self.files() != files):
                wrong.append(f"allocation {failing} failed: status 0, and other output: {(output + messages).decode(errors='replace')[-200:]!r}")
            elif status == 1 and (not messages or EMPTY.search(messages)):
                wrong.append(f"allocation {failing} failed: status 1 without a cause: {messages.decode(errors='replace')[-200:]!r}")
            elif status not in (0, 1):
                wrong.append(f"allocation {failing} failed: status {status}: {messages.decode(errors='replace')[-200:]!r}")
        return failed, wrong


def prepare(place, gsym, make_inputs, elf):
    subprocess.run([make_inputs, "."], cwd=place, check=True)
    shutil.copy(elf, place / "elf")
    (place / "calls.pdb").write_bytes(costly.pdb_overlapping_calls(8))
    (place / "moved.pdb").write_bytes(costly_pdb.scattered(8))
    subprocess.run([gsym, "convert", "--quiet", "-o", "elf.gsym", "elf"], cwd=place, check=True)
    for name in OTHER_NAMES:
        (place / name).symlink_to(gsym)
    (place / "words").write_text("--functions --no-inlines")
    # What filter and stack read of a mount: the image, its base, and which images have the file's name.
    (place / "core").write_bytes(core_file([File(0x104a78000, 0x104a7b000, 0, "/plain")]))
    image = place / "mount" / ID
    image.mkdir(parents=True)
    shutil.copy(place / "plain.gsym", image / "image.gsym")
    (image / "status").write_text("image_base\t0x1000\n")
    (place / "mount" / "q").touch()
    (place / "mount" / "by-name" / "plain" / ID).mkdir(parents=True)
    assert filecmp.cmp(place / "plain.gsym", image / "image.gsym")


def prepare_formats(place):
    for row in FORMATS:
        row.write(place)
    (place / "calls.sym").write_text(breakpad.INLINED)
    (place / "parents.sym").write_text(breakpad.PARENTS)
    (place / "go").write_bytes(pclntab.program(pclntab.sample()))
    (place / "go12").write_bytes(pclntab.program(pclntab.sample(pclntab.GO12)))
    (place / "macho").write_bytes(macho_sample.program().file())
    (place / "stripped").write_bytes(macho_sample.program(dwarf=False).file())
    (place / "fat").write_bytes(make_macho.fat([(make_macho.X86_64, macho_sample.program(make_macho.X86_64).file()),
                                                (make_macho.ARM64, macho_sample.program().file())]))
    splitfile.make_skeletons(place / "split", b"12345678", [("one.dwo", str(place)), ("two.dwo", str(place))])
    for number, name in enumerate(("one", "two")):
        splitfile.make_dwo(place / f"{name}.dwo", number, name)
    for options, out in ((["--compress-debug-sections=zlib"], "packed"), (["--strip-debug"], "bare")):
        subprocess.run([os.environ.get("OBJCOPY", "objcopy"), *options, "elf", out], cwd=place, check=True)
    (place / "elf.xz").write_bytes(lzma.compress((place / "elf").read_bytes()))
    (place / "sites.yaml").write_text(SITES)


def check_engine(bench):
    """An engine whose server is not there, and whose allocations fail: it says what is wrong, and is not ended by a signal."""
    arguments, bad = ("engine_driver", "http://127.0.0.1:1/store", "head", "gsymfs1/a"), 0
    own = {"FAIL_MALLOC_OWN": "1"}  # not thousands in libraries
    *_, count = bench.run(arguments, "", **own)
    for failing in failures(range(count)):
        status, output, messages, _ = bench.run(arguments, "", failing, **own)
        if status < 0 or (status == 0 and b"err 0" in output):
            bad += 1
            print(f"    allocation {failing} failed: status {status}: {(output + messages).decode(errors='replace')[-200:]!r}")
    print(f"{'not ok' if bad or not count else 'ok'}: an engine: {count} allocations")
    return bad or not count


def main():
    gsym, make_inputs, elf, library, *driver = (str(Path(a).absolute()) for a in sys.argv[1:])
    bad = False
    with tempfile.TemporaryDirectory(prefix="gsym-memory-") as place:
        prepare(Path(place), gsym, make_inputs, elf)
        bench = Bench(gsym, library, place)
        if STEP > 1:
            print(f"REDUCED: one allocation of {STEP} fails in each command, in the next command the ones after these")
        if driver:
            prepare_formats(Path(place))
            Path(place, "engine_driver").symlink_to(driver[0])
            bad |= check_engine(bench)
        for number, (arguments, text) in enumerate(CONVERSIONS if driver else COMMANDS):
            failed, wrong = bench.check(number, arguments, text)
            good = failed and not wrong
            print(f"{'ok' if good else 'not ok'}: {' '.join(arguments)}: {failed} runs failed")
            for line in wrong[:SHOWN]:
                print(f"    {line}")
            if wrong[SHOWN:]:
                print(f"    and {len(wrong) - SHOWN} more")
            bad |= not good
    return bad


if __name__ == "__main__":
    sys.exit(main())
