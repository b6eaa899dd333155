#!/usr/bin/env python3
"""Prints tables of time, memory and size, each beside a peer measured in the same run.

    convert   conversion against llvm-gsymutil with the same number of threads
    lookup    addresses a second in one process against llvm-gsymutil --addresses-from-stdin
    batch     a million addresses of one GSYM file, at random, sorted, and as a profile has them, against the same; CPU time
    q         the same million through q.tsv of a mounted image, on one descriptor: wall time, and CPU time of daemon and client
    first     the first answer with nothing prepared against one-shot llvm-symbolizer and eu-addr2line
    mount     reading an address file against a FUSE file system that does nothing

Every figure is the best of --runs. A ratio above 1 in the column "times" is in our favour.
"""
import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lib import measure, peers  # noqa: E402
from lib.elf import Elf  # noqa: E402
from corpus import realfiles, sample  # noqa: E402


def table(title, head, rows):
    print(f"\n## {title}\n\n| {' | '.join(head)} |\n|{'--|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")


def mib(kib):
    return f"{kib / 1024:.0f}"


class Bench:
    def __init__(self, options):
        self.options = options
        self.gsym = str(Path(options.build) / "convert/cli/gsym")
        self.gsymfs = str(Path(options.build) / "fs/gsymfs")
        self.gsymutil = peers.need("llvm-gsymutil", "llvm-22")
        self.symbolizer = peers.need("llvm-symbolizer", "llvm-22")
        self.place = tempfile.mkdtemp(prefix="gsym-bench-")
        self.inputs = [(n, p) for n, _, p in realfiles.real_files() if p and n in ("libstdc++", "python3.11d")]
        if realfiles.kernel():
            self.inputs.insert(0, ("vmlinux", realfiles.kernel()))
        self.inputs += [(Path(p).name, p) for p in options.file]

    def best(self, argv, **more):
        return measure.best(argv, self.options.runs, **more)

    def gsym_of(self, name, path):
        """Our conversion of an input, made once."""
        out = f"{self.place}/{name}.gsym"
        if not os.path.exists(out):
            peers.run([self.gsym, "convert", "--quiet", path, "-o", out])
        return out

    def convert(self):
        rows = []
        for name, path in self.inputs:
            for threads in (1, 2):
                ours, theirs = f"{self.place}/ours", f"{self.place}/theirs"
                s1, m1 = self.best([self.gsym, "convert", "--quiet", f"--num-threads={threads}", path, "-o", ours])
                s2, m2 = self.best([self.gsymutil, "--quiet", f"--num-threads={threads}", "--convert", path, "-o",
                                    theirs])
                a, b = os.path.getsize(ours), os.path.getsize(theirs)
                rows.append([name, threads, f"{s1:.3f}", f"{s2:.3f}", f"{s2 / s1:.2f}", mib(m1), mib(m2),
                             f"{m1 / m2:.2f}", a, b, f"{a / b:.3f}"])
        table("Conversion against llvm-gsymutil", ["file", "threads", "ours s", "llvm s", "times", "ours MiB",
              "llvm MiB", "memory ratio", "ours bytes", "llvm bytes", "size ratio"], rows)

    def addresses(self, path, count):
        return sample.inside_functions(path, count, 1)

    def lookup(self):
        rows = []
        for name, path in self.inputs:
            ours = self.gsym_of(name, path)
            theirs = f"{self.place}/{name}.llvm"
            peers.run([self.gsymutil, "--quiet", "--convert", path, "-o", theirs])
            addresses = self.addresses(path, 200000)
            random.Random(1).shuffle(addresses)
            plain, paired = f"{self.place}/plain", f"{self.place}/paired"
            Path(plain).write_text("".join(f"{a:#x}\n" for a in addresses))
            Path(paired).write_text("".join(f"{a:#x} {theirs}\n" for a in addresses))
            peer, _ = self.best([self.gsymutil, "--addresses-from-stdin"], stdin=paired)
            for form in ("gsymutil", "tsv", "json", "text"):
                more = [] if form == "text" else ["--no-demangle"]
                mine, _ = self.best([self.gsym, "lookup", f"--format={form}", *more, ours], stdin=plain)
                rows.append([name, form, f"{len(addresses) / mine:,.0f}", f"{len(addresses) / peer:,.0f}",
                             f"{peer / mine:.1f}"])
        table("Lookups a second in one process (200,000 random addresses)",
              ["file", "our format", "ours", "llvm-gsymutil", "times"], rows)

    def _orders(self, path, count):
        """(name, addresses): each address as likely as any other, in random order and sorted; and those of a profile, in which
        the hottest of 20,000 comes twice as often as the second and so on."""
        addresses = self.addresses(path, count)
        mixed = list(addresses)
        random.Random(1).shuffle(mixed)
        few = mixed[:20000]
        hot = random.Random(2).choices(few, weights=[1 / (i + 1) for i in range(len(few))], k=count)
        return ("random", mixed), ("sorted", addresses), ("profile", hot)

    def batch(self):
        rows = []
        plain, paired, out = (f"{self.place}/{name}" for name in ("plain", "paired", "answers"))
        for name, path in self.inputs:
            ours = self.gsym_of(name, path)
            for order, addresses in self._orders(path, 1000000):
                Path(plain).write_text("".join(f"{a:#x}\n" for a in addresses))
                Path(paired).write_text("".join(f"{a:#x} {ours}\n" for a in addresses))
                peer = measure.best_cpu([self.gsymutil, "--addresses-from-stdin"], self.options.runs, stdin=paired)
                for form in ("text", "tsv", "json"):
                    command = [self.gsym, "lookup", f"--format={form}", ours]
                    mine = measure.best_cpu(command, self.options.runs, stdin=plain)
                    with open(out, "wb") as answers, open(plain, "rb") as asked:
                        subprocess.run(command, stdin=asked, stdout=answers, check=True)
                    cat = measure.best_cpu(["cat", out], self.options.runs)
                    rows.append([name, order, form, f"{len(addresses) / mine:,.0f}", f"{len(addresses) / peer:,.0f}",
                                 f"{peer / mine:.1f}", f"{os.path.getsize(out) / 1e6:.0f}", f"{mine:.3f}", f"{cat:.3f}"])
                os.unlink(out)
        table("Addresses a second of CPU time, 1,000,000 from standard input, names demangled", ["file", "order", "format", "ours",
              "llvm-gsymutil", "times", "MB of answers", "ours s", "cat s"], rows)

    def q(self):
        """The client is this program: it does nothing but write, read and count. llvm-gsymutil reads the mount's image.gsym."""
        if not (os.access("/dev/fuse", os.R_OK | os.W_OK) and os.path.exists(self.gsymfs)):
            print("\nq: skipped, it needs /dev/fuse and gsymfs")
            return
        rows = []
        for name, path in self.inputs:
            with self._mounted(path) as (where, daemon):
                shutil.copy(f"{where}/image.gsym", f"{self.place}/image.gsym")
                for order, addresses in self._orders(path, 1000000):
                    rows += self._q_rows([name, order], addresses, where, daemon)
        table("Addresses a second, 1,000,000 through q.tsv of a mount", ["file", "order", "client", "ours", "llvm-gsymutil",
              "times", "ours CPU s", "llvm CPU s", "times"], rows)

    def _q_rows(self, head, addresses, where, daemon):
        text = "".join(f"{a:#x}\n" for a in addresses).encode()
        paired, answers, image = (f"{self.place}/{name}" for name in ("paired", "answers", "image.gsym"))
        Path(paired).write_text("".join(f"{a:#x} {image}\n" for a in addresses))
        peer = measure.best_both([self.gsymutil, "--addresses-from-stdin"], self.options.runs, stdin=paired)
        want = subprocess.run([self.gsym, "lookup", "--format=tsv", image], input=text, stdout=subprocess.PIPE, check=True).stdout
        rows = []
        for client, piece in (("write all, read", len(text)), ("1 MiB each", 1 << 20)):
            self._ask_q(f"{where}/q.tsv", text, piece, answers)
            if not self._same_answers(answers, want):
                raise RuntimeError(f"{' '.join(head)}, {client}: q.tsv does not answer as gsym lookup does")
            os.unlink(answers)
            best = [float("inf")] * 2
            for _ in range(self.options.runs):
                cpu, begin = measure.cpu_of(daemon) + time.process_time(), time.perf_counter()
                self._ask_q(f"{where}/q.tsv", text, piece)
                spent = time.perf_counter() - begin, measure.cpu_of(daemon) + time.process_time() - cpu
                best = [min(pair) for pair in zip(best, spent)]
            rows.append([*head, client, f"{len(addresses) / best[0]:,.0f}", f"{len(addresses) / peer[0]:,.0f}",
                         f"{peer[0] / best[0]:.1f}", f"{best[1]:.3f}", f"{peer[1]:.3f}", f"{peer[1] / best[1]:.1f}"])
        return rows

    @staticmethod
    def _ask_q(path, text, piece, keep=os.devnull):
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

    @staticmethod
    def _same_answers(answers, want):
        """But for the module: the mount says whose image it is, `gsym lookup` which file it read."""
        with open(answers, "rb") as mine:
            left = subprocess.run(["cut", "--complement", "-f8"], stdin=mine, stdout=subprocess.PIPE, check=True).stdout
        return left == subprocess.run(["cut", "--complement", "-f8"], input=want, stdout=subprocess.PIPE, check=True).stdout

    @contextlib.contextmanager
    def _mounted(self, path):
        """A mount of a directory with this file alone: (the image's directory, the daemon's number)."""
        with tempfile.TemporaryDirectory(prefix="q-", dir=self.place) as base:
            source, where = f"{base}/source", f"{base}/mount"
            os.mkdir(source)
            os.mkdir(where)
            self._put(path, source)
            child = subprocess.Popen([self.gsymfs, "-f", "-o", f"cache={base}/cache", source, where],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                image = f"{where}/{Elf(path).build_id()}"
                self._wait(f"{image}/image.gsym", child)
                yield image, child.pid
            finally:
                child.send_signal(signal.SIGTERM)
                child.wait(timeout=20)

    @staticmethod
    def _put(path, source):
        name = f"{source}/{Path(path).name}"
        try:
            os.link(path, name)  # the daemon follows no link out of its directory
        except OSError:
            shutil.copy(path, name)

    def first(self):
        rows = []
        for name, path in self.inputs:
            address = f"{self.addresses(path, 1)[0]:#x}"
            out = f"{self.place}/first.gsym"
            script = 'rm -f "$3"; "$1" convert --quiet "$2" -o "$3" && "$1" lookup "$3" "$4"'
            mine, _ = self.best(["sh", "-c", script, "sh", self.gsym, path, out, address])
            llvm, _ = self.best([self.symbolizer, "-e", path, address])
            eu = shutil.which("eu-addr2line")
            elf, _ = self.best([eu, "-i", "-f", "-e", path, address]) if eu else (0, 0)
            rows.append([name, f"{mine:.3f}", f"{llvm:.3f}", f"{llvm / mine:.2f}", f"{elf:.3f}" if eu else "-",
                         f"{elf / mine:.2f}" if eu else "-"])
        table("First answer, nothing prepared: convert and look up one address", ["file", "ours s",
              "llvm-symbolizer s", "times", "eu-addr2line s", "times"], rows)

    def mount(self):
        """Daemon and client on one CPU: a wake-up of another one costs more than the work."""
        catloop, nullfs = f"{self.options.build}/tests/bench/catloop", f"{self.options.build}/tests/bench/nullfs"
        if not (os.access("/dev/fuse", os.R_OK | os.W_OK) and os.path.exists(nullfs) and os.path.exists(self.gsymfs)):
            print("\nmount: skipped, it needs /dev/fuse, gsymfs and the programs of tests/bench")
            return
        name, path = self.inputs[0]
        addresses = sorted(set(self.addresses(path, 20000)))
        names = f"{self.place}/names"
        Path(names).write_text("".join(f"{a:#x}\n" for a in addresses))
        source = f"{self.place}/source"
        os.mkdir(source)
        self._put(path, source)
        cache = f"{self.place}/cache"
        mine = self._rounds([self.gsymfs, "-f", "-o", f"cache={cache}", source], Elf(path).build_id(), catloop, names,
                            f"{addresses[0]:#x}")
        null = self._rounds([nullfs, "-f"], "null", catloop, names, "0x1")
        rows = [[what, f"{m:.1f}", f"{n:.1f}", f"{m / n:.2f}"] for what, m, n in zip(("new name", "cached name"),
                                                                                     mine, null)]
        table(f"open, fstat, read, close of an address file in the mount ({name}, one CPU)",
              ["", "gsymfs us", "nullfs us", "ratio"], rows)

    def _rounds(self, daemon, directory, catloop, names, ready):
        """[us for new names, us for cached ones]: the best over --runs mounts."""
        best = [float("inf")] * 2
        for _ in range(self.options.runs):
            where = tempfile.mkdtemp(prefix="mount-", dir=self.place)
            child = subprocess.Popen(["taskset", "-c", "0", *daemon, where], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            try:
                self._wait(f"{where}/{directory}/{ready}", child)
                out = peers.run(["taskset", "-c", "0", catloop, f"{where}/{directory}", "4"],
                                stdin=Path(names).read_text()).split()
                best = [min(best[0], float(out[0])), min(best[1], *map(float, out[1:]))]
            finally:
                child.send_signal(signal.SIGTERM)
                child.wait(timeout=20)
                os.rmdir(where)
        return best

    @staticmethod
    def _wait(path, child):
        """Until an address answers, which for gsymfs includes the conversion."""
        end = time.monotonic() + 120
        while time.monotonic() < end and child.poll() is None:
            try:
                Path(path).read_bytes()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"{path} does not answer")

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=("convert", "lookup", "batch", "q", "first", "mount", []), default=[])
    parser.add_argument("--build", required=True, help="build directory with gsym and gsymfs")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--file", action="append", default=[], help="a further object file to measure")
    options = parser.parse_args()
    bench = Bench(options)
    try:
        for name in options.tables or ("convert", "lookup", "batch", "q", "first", "mount"):
            getattr(bench, name)()
    finally:
        bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
