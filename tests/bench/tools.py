"""Running what is measured: programs to their end, in turn with their peers, and daemons that mount something."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from lib import measure, peers

LIMIT = 900  # seconds until something counts as hung
PINNED = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


def interleave(runs, *sides):
    """Calls all sides in turn, @runs times; for each side the list of its figures, and a list of such lists if it gives tuples."""
    found = [[] for _ in sides]
    for at in range(runs):
        for mine, side in zip(found, sides):
            mine.append(side(at))
    return [list(map(list, zip(*mine))) if isinstance(mine[0], tuple) else mine for mine in found]


def until(condition, what, pause=0.005):
    """Polls until condition() is true, @pause seconds apart; its value."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise RuntimeError(f"not within {LIMIT} seconds: {what}")


class Tools:
    """Programs by name, and a directory for the run."""

    def __init__(self, build, place):
        self.place, self.build = place, build
        self.paths = {
            "gsym": f"{build}/cli/gsym",
            "gsymfs": f"{build}/fs/gsymfs",
            "spend": f"{build}/tests/bench/spend",
            "catloop": f"{build}/tests/bench/catloop",
            "nullfs": f"{build}/tests/bench/nullfs",
            "llvm-gsymutil": peers.need("llvm-gsymutil", "llvm-22"),
            "llvm-symbolizer": peers.need("llvm-symbolizer", "llvm-22"),
            "eu-addr2line": shutil.which("eu-addr2line"),
        }

    def __getitem__(self, name):
        return self.paths[name]

    def can_mount(self):
        return os.access("/dev/fuse", os.R_OK | os.W_OK) and all(os.path.exists(self[n]) for n in ("gsymfs", "nullfs", "catloop"))

    def spend(self, argv, stdin=None, times=1, stdout=None, pin=False):
        """(seconds, seconds of CPU time, peak KiB) of a program; the mean of @times runs."""
        out = f"{self.place}/spent"
        before = PINNED if pin else []
        with open(stdin or os.devnull, "rb") as asked, open(stdout or os.devnull, "wb") as answers:
            done = subprocess.run([*before, self["spend"], out, str(times), *map(str, argv)], stdin=asked, stdout=answers,
                                  stderr=subprocess.PIPE, timeout=LIMIT)
        if done.returncode != 0:
            raise RuntimeError(f"exit {done.returncode}: {' '.join(map(str, argv))}\n{done.stderr.decode(errors='replace')[-1000:]}")
        return _spent(out)

    def one_shot(self):
        """[(how a row names it, its command without "-e FILE ADDRESS")]: programs that answer addresses of an object file."""
        found = [("eu-addr2line -f -i", [self["eu-addr2line"], "-f", "-i"]), ("llvm-symbolizer", [self["llvm-symbolizer"], "-f", "-i"])]
        return [(name, command) for name, command in found if command[0]]

    def file(self, name, text):
        path = f"{self.place}/{name}"
        Path(path).write_text(text)
        return path

    def mount(self, argv, pin=False):
        return Mount(self, argv, pin)

    def gsymfs(self, source, cache, pin=False):
        return Mount(self, [self["gsymfs"], "-f", "-o", f"cache={cache},cache_free=0", source], pin)


def _spent(path):
    seconds, cpu, peak = Path(path).read_text().split()
    return float(seconds), float(cpu), int(peak)


class Mount:
    """with Mount(...) as mount: a daemon in the foreground; afterwards mount.peak is that of its largest process."""

    def __init__(self, tools, argv, pin):
        self.tools, self.peak, self.cpu = tools, 0, 0.0
        self.where = tempfile.mkdtemp(prefix="mount-", dir=tools.place)
        self._log, self._report = f"{self.where}.log", f"{self.where}.spent"
        before = PINNED if pin else []
        with open(self._log, "wb") as log:
            self._spend = subprocess.Popen([*before, tools["spend"], self._report, "1", *argv, self.where], stdout=log, stderr=log)

    def __enter__(self):
        try:
            until(lambda: os.path.ismount(self.where) or self._spend.poll() is not None, "the mount")
            if self._spend.poll() is not None:
                raise RuntimeError(f"no mount: {self.log()}")
            children = f"/proc/{self._spend.pid}/task/{self._spend.pid}/children"
            self.pid = int(until(lambda: Path(children).read_text().split(), "the daemon")[0])
        except BaseException:
            self._spend.kill()
            raise
        return self

    def log(self):
        return Path(self._log).read_text(errors="replace")

    def wait_scanned(self):
        """Until gsymfs has looked at all of its SOURCE."""
        until(lambda: "scan: " in self.log() or self._spend.poll() is not None, "the first scan")

    def used(self):
        """Seconds of CPU time of the daemon so far, without its workers."""
        return measure.cpu_of(self.pid)

    def memory(self):
        """Resident bytes that are the daemon's own, not pages of files."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return sum(int(status.split(kind)[1].split()[0]) for kind in ("RssAnon:", "RssShmem:")) << 10

    def __exit__(self, *_):
        try:
            os.kill(self.pid, signal.SIGTERM)
            self._spend.wait(timeout=LIMIT)
            _, self.cpu, self.peak = _spent(self._report)
        finally:
            if os.path.ismount(self.where):
                subprocess.run(["umount", "-l", self.where])
            os.rmdir(self.where)


def put(path, directory):
    """A directory that holds this file alone; its name in it. The daemon follows no link out of its SOURCE."""
    os.makedirs(directory, exist_ok=True)
    name = f"{directory}/{Path(path).name}"
    try:
        os.link(path, name)
    except OSError:
        shutil.copy(path, name)
    return name
