"""A directory with Debian's libraries of another machine, and what is needed to link with them.

The packages are downloaded by apt with a state of its own and unpacked; none is installed, and no script of theirs
runs. So apt and dpkg of this host know nothing of the other machine, and no privileges are needed.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

PACKAGES = Path(__file__).resolve().parent.parent / "packages"
ALSO = ("libc6-dev", "libcmocka-dev", "libdebuginfod1")  # the last is loaded by name
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
STAMP = ".complete"


class Unavailable(Exception):
    """What is missing; the text says what and why."""


def wanted(machine):
    """Development packages of the project's build, as tests/packages lists them."""
    names = re.findall(r"^build (lib\S+-dev)$", PACKAGES.read_text(), re.M)
    return [name for name in (*names, *ALSO) if name not in machine.missing]


def run(argv, log, what):
    with open(log, "a", encoding="utf-8") as out:
        if subprocess.run(argv, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode:
            raise Unavailable(f"{what} failed: see {log}")


def mirror():
    """(address, release) of the Debian that this host is installed from."""
    rows = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(LABEL) $(CODENAME)",
                           "Created-By: Packages"], capture_output=True, text=True).stdout
    found = re.search(r"^(\S+/debian/?) \S+ Debian (\w+)$", rows, re.M)
    if not found:
        raise Unavailable("apt knows no mirror of Debian: see sources.list(5)")
    return found.groups()


def apt(machine, state, log):
    """A function that runs apt-get for that machine, with nothing installed."""
    address, release = mirror()
    for folder in ("etc/preferences.d", "etc/apt.conf.d", "lists/partial", "cache/archives/partial", "dpkg"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "dpkg/status").touch()
    keys = f" [signed-by={KEYS}]" if Path(KEYS).exists() else ""
    (state / "etc/sources.list").write_text(f"deb{keys} {address} {release} main\n")
    options = {"Dir::Etc": state / "etc", "Dir::Etc::sourceparts": "/dev/null", "Dir::State::lists": state / "lists",
               "Dir::State::status": state / "dpkg/status", "Dir::State::extended_states": state / "extended_states",
               "Dir::Cache": state / "cache", "APT::Architecture": machine.name, "APT::Architectures::": machine.name,
               "APT::Install-Recommends": "false", "APT::Sandbox::User": "", "Acquire::Languages": "none",
               "Acquire::Retries": 3, "APT::Update::Error-Mode": "any"}
    argv = ["apt-get", "-q", "-y", *(f"-o{name}={value}" for name, value in options.items())]
    return lambda *command: run([*argv, *command], log, f"apt-get {command[0]} for {machine.name}")


def unpack(archives, root):
    """With /lib and its like as links into /usr, as Debian has them, and links that stay inside of @root."""
    for name in ("bin", "lib", "sbin"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for archive in archives:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as packed:
            done = subprocess.run(["tar", "-C", root, "-x", "--keep-directory-symlink", "--no-same-owner"], stdin=packed.stdout)
        if done.returncode or packed.returncode:
            raise Unavailable(f"cannot unpack {archive}")
    for folder, _, names in os.walk(root):
        for path in (Path(folder) / name for name in names):
            if path.is_symlink() and os.readlink(path).startswith("/"):
                target = root / os.readlink(path)[1:]
                path.unlink()
                path.symlink_to(os.path.relpath(target, folder))


def make(machine, root, log):
    """Makes @root unless it is there and complete."""
    if (root / STAMP).exists():
        return
    for tool in ("apt-get", "dpkg-deb", "tar"):
        if not shutil.which(tool):
            raise Unavailable(f"{tool} is not installed")
    state = root.with_name(root.name + ".apt")
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(state, ignore_errors=True)
    apt_get = apt(machine, state, log)
    apt_get("update")
    apt_get("--download-only", "install", *wanted(machine))
    unpack(sorted((state / "cache/archives").glob("*.deb")), root)
    shutil.rmtree(state)
    (root / STAMP).touch()
