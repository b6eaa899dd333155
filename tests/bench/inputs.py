"""What is measured: files that Debian packages install, and a program of 20 KB that is built for the run."""
import glob
import os
import random
import subprocess
from pathlib import Path

from corpus import realfiles, sample
from lib.elf import Elf

PROGRAM = Path(__file__).resolve().parent.parent / "examples/program.c"
CXX_PACKAGES = {"ceph-osd": "ceph-osd-dbg", "workbench": "connectome-workbench-dbg"}


def _module():
    """One of the kernel's large modules, or None."""
    kernel = realfiles.kernel()
    release = kernel.split("vmlinux-")[-1] if kernel else "*"
    found = [path for name in ("btrfs", "xfs", "ext4", "nfsd")
             for path in glob.glob(f"/usr/lib/debug/lib/modules/{release}/kernel/fs/{name}/{name}.ko")]
    return found[0] if found else None


def _largest_of(package):
    """The largest debug file that a package has installed, or None."""
    done = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
    found = [path for path in done.stdout.split() if path.endswith(".debug") and os.path.isfile(path)]
    return max(found, key=os.path.getsize) if found else None


class Inputs:
    """Object files by name; what is not installed is missing."""

    def __init__(self, named, place):
        """@named: ["NAME=PATH" or "PATH"], further large C++ files, or inputs of these names; @place: for what is made."""
        self._addresses = {}
        real = {name: path for name, _, path in realfiles.real_files()}
        self.paths = {"program": self._program(place), "module": _module(), "libc": real["libc"],
                      "libstdc++": real["libstdc++"], "vmlinux": realfiles.kernel()}
        self.cxx = {name: _largest_of(package) for name, package in CXX_PACKAGES.items()}
        for text in named:
            name, path = text.split("=", 1) if "=" in text else (Path(text).stem, text)
            (self.paths if name in self.paths else self.cxx)[name] = path
        self.cxx = {name: path for name, path in self.cxx.items() if path}
        self.paths.update(self.cxx)

    def _program(self, place):
        out = f"{place}/program"
        subprocess.run(["cc", "-g", "-O2", "-Wl,--build-id=sha1", str(PROGRAM), "-o", out], check=True)
        return out

    def path(self, name):
        """The file, or None after telling that it is missing."""
        path = self.paths.get(name)
        if not path:
            print(f"skipped: no {name}; tests/packages, kinds data and bench, names what has it")
        return path

    def addresses(self, name, count):
        """Random addresses in functions, each byte of code as likely as any other, in random order."""
        key = name, count
        if key not in self._addresses:
            found = sample.inside_functions(self.paths[name], count, 1)
            random.Random(1).shuffle(found)
            self._addresses[key] = found
        return self._addresses[key]

    def spread(self, name, count):
        """As many addresses of each function as of any other, in random order."""
        spans = sorted({(s.addr, s.addr + s.size) for s in Elf(self.paths[name]).functions() if s.size})
        chance = random.Random(3)
        found = [chance.randrange(*spans[i % len(spans)]) for i in range(count)]
        chance.shuffle(found)
        return found

    def profile(self, name, count):
        """Addresses of a profile: the hottest of 20,000 comes twice as often as the second, three times as often as the third."""
        few = self.addresses(name, count)[:20000]
        return random.Random(2).choices(few, weights=[1 / (i + 1) for i in range(len(few))], k=count)

    @staticmethod
    def hex(addresses):
        return "".join(f"{a:#x}\n" for a in addresses)


def debug_bytes(path):
    """Bytes of the sections of debug data, decompressed."""
    elf = Elf(path)
    return sum(elf.decompressed_size(s) for s in elf.sections if s.name.startswith((".debug_", ".zdebug_")))
