"""A Debian root with gsymfs as `meson install` leaves it, booted by systemd-nspawn."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

# What systemd needs for services of users, and what the questions use; libraries of the programs are added.
PACKAGES = ("systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd", "fuse3", "util-linux", "procps", "mount")
STAMP = ".complete"
BOOT_SECONDS = 120
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Unavailable(Exception):
    """Why no machine can be booted here."""


def check():
    """Raises Unavailable if something is missing."""
    if os.geteuid() != 0:
        raise Unavailable("only root can boot a machine")
    for tool in ("systemd-nspawn", "debootstrap", "nsenter", "meson", "cc", "objcopy"):
        if not shutil.which(tool):
            raise Unavailable(f"{tool} is not installed")
    if not os.access("/dev/fuse", os.W_OK):
        raise Unavailable("no /dev/fuse")


def run(*argv, **kwargs):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True, **kwargs).stdout


def library_packages(programs):
    """Packages of the libraries that @programs are linked with; dpkg may know them without the /usr of merged directories."""
    paths = {os.path.realpath(path) for program in programs
             for path in re.findall(r"(/\S+) \(0x", run("ldd", program))}
    found = subprocess.run(["dpkg-query", "-S", *paths, *(path.removeprefix("/usr") for path in paths)],
                           capture_output=True, text=True).stdout
    return {line.split(":")[0] for line in found.splitlines()}


def make_root(root, log, programs):
    """A Debian of the release of this host, made once."""
    if (root / STAMP).exists():
        return
    shutil.rmtree(root, ignore_errors=True)
    release = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M)
    wanted = ",".join(sorted({*PACKAGES, *library_packages(programs)}))
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(["debootstrap", "--variant=minbase", "--include=" + wanted,
                               release[1] if release else "stable", root], stdout=out, stderr=out)
    if done.returncode:
        raise Unavailable(f"debootstrap failed: see {log}")
    (root / STAMP).touch()


def install(build, root):
    run("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
    run("ldconfig", "-r", root)


class Machine:
    """A booted root; use it in a with statement."""

    def __init__(self, root, log):
        self.root, self.log = root, log

    def __enter__(self):
        argv = ["systemd-nspawn", "--quiet", "--boot", "--directory", self.root, "--machine", f"gsymfs-{os.getpid()}",
                "--register=no", "--private-network", "--link-journal=no"]
        if os.path.exists("/dev/autofs"):
            argv.append("--bind=/dev/autofs")
        # Without systemd here nothing makes a scope, which would have to admit the device.
        argv.append("--property=DeviceAllow=/dev/fuse rwm" if os.path.isdir("/run/systemd/system") else "--keep-unit")
        with open(self.log, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            self.wait_booted()
        except BaseException:
            self.__exit__()
            raise
        return self

    def leader(self):
        """Its process 1, a child of systemd-nspawn."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children else 0

    def wait_booted(self):
        end = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            self.pid = self.leader()
            state = self.sh("systemctl is-system-running") if self.pid else ""
            if "running" in state or "degraded" in state:
                self.sh("mknod -m 666 /dev/fuse c 10 229")  # as udev makes it
                return
            time.sleep(0.3)
        raise Unavailable(f"the machine does not boot: see {self.log}")

    def sh(self, command, uid=0):
        """What @command prints in the machine, standard error included."""
        user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
        argv = ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", *user,
                "env", "-i", PATH, "LC_ALL=C.UTF-8", f"XDG_RUNTIME_DIR=/run/user/{uid}", "sh", "-c", command]
        try:
            return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=120, errors="replace").stdout
        except subprocess.TimeoutExpired:
            return "no answer in two minutes"

    def write(self, path, text):
        path = self.root / path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)  # systemd-nspawn powers the machine off
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
