"""Rows about a mount: q.tsv, address files, cat(1)."""
import os
import shutil
import subprocess
import time

from lib.elf import Elf
from result import Row
from tools import interleave, put


def _mounted(bench, name, pin=False):
    """(a mount of a directory with this file alone, the image's name in it)."""
    path = bench.inputs.path(name)
    if not path or not bench.can_mount():
        return None, None
    source = bench.fresh("source")
    put(path, source)
    return bench.tools.gsymfs(source, bench.fresh("cache"), pin), Elf(path).build_id()


def _read(path):
    with open(path, "rb") as source:
        return source.read()


def ask(path, text, piece=1 << 20, keep=os.devnull):
    """Writes @text in pieces of whole lines and reads the answers to each, a MiB at once; they go to the file @keep."""
    view, room = memoryview(text), memoryview(bytearray(1 << 20))
    fd, at = os.open(path, os.O_RDWR), 0
    with open(keep, "wb", buffering=0) as out:
        while at < len(text):
            end = text.rindex(b"\n", at, at + piece) + 1
            while at < end:
                at += os.write(fd, view[at:min(at + (1 << 20), end)])
            while n := os.readv(fd, [room]):
                out.write(room[:n])
    os.close(fd)


def _checksum(answers):
    """Without the module: the mount says whose image it is, `gsym lookup` which file it read."""
    with open(answers, "rb") as text:
        return subprocess.run("cut --complement -f8 | cksum", shell=True, stdin=text, stdout=subprocess.PIPE, check=True).stdout


def q(bench, name, addresses, how):
    """Addresses through q.tsv, a mebibyte at a time, of an image that is ready; the answers are those of `gsym lookup`."""
    mount, image = _mounted(bench, name)
    if not mount:
        return
    tools, asked = bench.tools, addresses()
    text = bench.inputs.hex(asked).encode()
    with mount:
        shutil.copy(f"{mount.where}/{image}/image.gsym", f"{tools.place}/image.gsym")
        paired = tools.file("paired", "".join(f"{a:#x} {tools.place}/image.gsym\n" for a in asked))
        answers, want = f"{tools.place}/answers", f"{tools.place}/want"
        ask(f"{mount.where}/{image}/q.tsv", text, keep=answers)
        tools.spend([tools["gsym"], "lookup", "--format=tsv", f"{tools.place}/image.gsym"], stdin=tools.file("plain", text.decode()),
                    stdout=want)
        if _checksum(answers) != _checksum(want):
            raise RuntimeError(f"{name}, {how}: q.tsv does not answer as gsym lookup does")
        os.unlink(answers)
        os.unlink(want)

        def ours(_):
            cpu, begin = mount.used() + time.process_time(), time.perf_counter()
            ask(f"{mount.where}/{image}/q.tsv", text)
            return time.perf_counter() - begin, mount.used() + time.process_time() - cpu

        (wall, cpu), theirs = interleave(
            bench.of(name, len(asked)), ours,
            lambda _: tools.spend([tools["llvm-gsymutil"], "--addresses-from-stdin"], stdin=paired)[:2])
    what = f"{name}: {len(asked):,} {how}, demangled"
    yield Row("q.tsv", f"{what}, time", "s", wall, "llvm-gsymutil, raw names", theirs[0], chart=True)
    yield Row("q.tsv", f"{what}, CPU time", "s", cpu, "llvm-gsymutil, raw names", theirs[1])


def address_files(bench, name):
    """open, fstat, read and close of address files, daemon and client on one CPU: a wake-up of another costs more than the work."""
    path = bench.inputs.path(name)
    if not path or not bench.can_mount():
        return
    tools = bench.tools
    names = tools.file("names", bench.inputs.hex(sorted(set(bench.inputs.addresses(name, bench.scaled(20000))))))
    source, cache = bench.fresh("source"), bench.fresh("cache")
    put(path, source)
    count = len(_read(names).split())

    def round_of(make, directory, ready):
        def run(_):
            with make() as mount:
                where = f"{mount.where}/{directory}"
                _read(f"{where}/{ready}")
                out = []
                for rounds in (1, 2):  # new names first, then those the kernel has cached
                    before = mount.used()
                    spent = tools.spend([tools["catloop"], where, str(rounds)], stdin=names, pin=True)
                    out.append((spent[1] + mount.used() - before) * 1e6 / rounds / count)
                return tuple(out)
        return run

    mine, theirs = interleave(bench.many(), round_of(lambda: tools.gsymfs(source, cache, pin=True), Elf(path).build_id(), "image.gsym"),
                              round_of(lambda: tools.mount([tools["nullfs"], "-f"], pin=True), "null", "0x1"))
    for at, what in enumerate(("a new address", "a repeated address")):
        yield Row("address file, CPU time", f"{name}: {what}", "us", mine[at], "null FUSE file system", theirs[at], chart=True)


def cat(bench, name):
    """cat(1) of an address that was answered before; starting the program is most of it."""
    mount, image = _mounted(bench, name, pin=True)
    if not mount:
        return
    tools, address = bench.tools, f"{bench.inputs.addresses(name, 64)[0]:#x}"

    def loop(of, path):
        def run(_):
            before = of.used()
            spent = tools.spend(["cat", path], times=200, pin=True)
            return (spent[1] + (of.used() - before) / 200) * 1e6
        return run

    with mount, tools.mount([tools["nullfs"], "-f"], pin=True) as null:
        ours = loop(mount, f"{mount.where}/{image}/{address}")
        theirs = loop(null, f"{null.where}/null/0x1")
        _read(f"{mount.where}/{image}/image.gsym")  # the whole image is converted, not only what an address needs
        ours(0), theirs(0)
        mine, others = interleave(bench.many(), ours, theirs)
    yield Row("address file, CPU time", f"{name}: cat(1), a repeated address", "us", mine, "null FUSE file system", others, chart=True)


def cold(bench):
    """The first answer of each of many small programs through one mount: CPU time of daemon, workers and cat(1)."""
    path, count = bench.inputs.path("program"), bench.scaled(500)
    if not bench.can_mount():
        return
    tools, source, build_id = bench.tools, bench.fresh("source"), bytes.fromhex(Elf(path).build_id())
    address = f"{bench.inputs.addresses('program', 64)[0]:#x}"
    os.mkdir(source)
    text, ids = _read(path), [number.to_bytes(len(build_id), "big") for number in range(1, count + 1)]
    for own in ids:
        with open(f"{source}/{own.hex()}", "wb") as out:
            out.write(text.replace(build_id, own))

    def spent(asked):
        with tools.gsymfs(source, bench.fresh("cache")) as mount:
            mount.wait_scanned()
            files = [f"{mount.where}/{own.hex()}/{address}" for own in asked]
            client = tools.spend(["sh", "-c", 'for file; do cat "$file"; done', "sh", *files])[1]
        return client + mount.cpu

    peers = tools.one_shot()
    sides = [lambda _, command=command: tools.spend([*command, "-e", path, address], times=50)[1] * 1000 for _, command in peers]
    mine, *others = interleave(bench.few(), lambda _: (spent(ids) - spent([])) / count * 1000, *sides)
    for (peer, _), theirs in zip(peers, others):
        yield Row("start-up, CPU time", f"first answer of one of {count} programs", "ms", mine, peer, theirs, chart=True)
