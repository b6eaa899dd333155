"""Rows about one file: the first answer, conversion, start-up, batches of `gsym lookup`."""
import os
import shutil

from lib.elf import Elf
from result import Row
from tools import interleave, put

MIB = 1 << 10  # KiB in one


def first(bench, name):
    """From a daemon that runs and knows the file, to the end of cat(1); the peers start, answer and end."""
    path = bench.inputs.path(name)
    if not path or not bench.can_mount():
        return
    tools, build_id = bench.tools, Elf(path).build_id()
    source, cache = bench.fresh("source"), bench.fresh("cache")
    put(path, source)
    asked = [f"{a:#x}" for a in bench.inputs.addresses(name, 64)]

    def ours(at):
        shutil.rmtree(cache, ignore_errors=True)
        with tools.gsymfs(source, cache) as mount:
            mount.wait_scanned()
            return tools.spend(["cat", f"{mount.where}/{build_id}/{asked[at]}"])[0] * 1000

    peers = tools.one_shot()
    sides = [lambda at, command=command: tools.spend([*command, "-e", path, asked[at]])[0] * 1000 for _, command in peers]
    ours(0)  # the file is in the page cache from here on
    mine, *others = interleave(bench.few(), ours, *sides)
    for (peer, _), theirs in zip(peers, others):
        yield Row("first answer", name, "ms", mine, peer, theirs, chart=True)


def convert(bench, name):
    """gsym convert beside llvm-gsymutil --convert, with two threads each."""
    path = bench.inputs.path(name)
    if not path:
        return
    tools, out = bench.tools, (f"{bench.tools.place}/ours", f"{bench.tools.place}/theirs")
    times = 20 if name == "program" else 1

    def side(argv, result):
        def run(_):
            seconds, cpu, peak = tools.spend([*argv, path, "-o", result], times=times)
            return seconds, cpu, peak / MIB, os.path.getsize(result)
        return run

    mine, theirs = interleave(
        bench.slow() if name in bench.inputs.cxx else bench.few(),
        side([tools["gsym"], "convert", "--quiet", "--num-threads=2"], out[0]),
        side([tools["llvm-gsymutil"], "--quiet", "--num-threads=2", "--convert"], out[1]))
    scale, unit = (1000, "ms") if name == "program" else (1, "s")
    for column, what in enumerate(("time", "CPU time", "memory", "size of the result")):
        by, of = (scale, unit) if column < 2 else (1, "MiB") if column == 2 else (1, "bytes")
        yield Row("conversion", f"{name}: {what}", of, [v * by for v in mine[column]], "llvm-gsymutil",
                  [v * by for v in theirs[column]], chart=column == 0 or (column != 1 and name == "vmlinux") or
                  (column == 2 and name in bench.inputs.cxx))


def startup(bench, name):
    """One address of a GSYM file, asked by a program that starts for it."""
    image = bench.gsym_of(name)
    if not image:
        return
    tools, address = bench.tools, f"{bench.inputs.addresses(name, 64)[0]:#x}"
    mine, theirs = interleave(
        bench.many(),
        lambda _: tools.spend([tools["gsym"], "lookup", image, address], times=50)[1] * 1000,
        lambda _: tools.spend([tools["llvm-gsymutil"], f"--address={address}", image], times=50)[1] * 1000)
    yield Row("start-up, CPU time", f"one address of {name}'s GSYM", "ms", mine, "llvm-gsymutil --address", theirs, chart=True)


def _text(bench, image, addresses):
    """Files with what to ask: ours, llvm-gsymutil's, which has the GSYM file in each line."""
    return (bench.tools.file("plain", bench.inputs.hex(addresses)),
            bench.tools.file("paired", "".join(f"{a:#x} {image}\n" for a in addresses)))


def batch(bench, name, addresses, how, forms, chart=True):
    """CPU time of `gsym lookup` with addresses on standard input beside llvm-gsymutil, which prints names as they are stored."""
    image = bench.gsym_of(name)
    if not image:
        return
    tools, asked = bench.tools, addresses()
    plain, paired = _text(bench, image, asked)
    sides = [lambda _, form=form: tools.spend([tools["gsym"], "lookup", *form, image], stdin=plain)[1] for form in forms]
    *ours, theirs = interleave(bench.of(name, len(asked)), *sides,
                               lambda _: tools.spend([tools["llvm-gsymutil"], "--addresses-from-stdin"], stdin=paired)[1])
    for form, mine in zip(forms, ours):
        kind = form[0].removeprefix("--format=")
        names = "" if "--no-demangle" in form else ", demangled"
        yield Row("batch, CPU time", f"{name}: {len(asked):,} {how}, {kind}{names}", "s", mine, "llvm-gsymutil, raw names", theirs,
                  chart=chart)


def batch_object(bench, name):
    """The same, demangled, beside llvm-symbolizer, which reads the object file."""
    image = bench.gsym_of(name)
    if not image:
        return
    tools, asked = bench.tools, bench.inputs.addresses(name, bench.scaled(200000))
    plain = tools.file("plain", bench.inputs.hex(asked))
    mine, theirs = interleave(
        min(bench.slow(), 2),
        lambda _: tools.spend([tools["gsym"], "lookup", "--format=text", image], stdin=plain)[1],
        lambda _: tools.spend([tools["llvm-symbolizer"], "-f", "-i", "-e", bench.inputs.path(name)], stdin=plain)[1])
    yield Row("batch, CPU time", f"{name}: {len(asked):,} random, text, demangled", "s", mine, "llvm-symbolizer", theirs, chart=True)
