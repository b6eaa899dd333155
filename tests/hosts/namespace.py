"""A user namespace in which the kernel runs programs of foreign machines by qemu-user.

Since Linux 6.7 every user namespace has a table of interpreters (binfmt_misc) of its own: nothing is registered for
the rest of the machine, and the table goes with the last process.
"""
import ctypes
import os
import sys
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
TABLE = Path("/proc/sys/fs/binfmt_misc")
INTERPRETERS = Path("/usr/lib/binfmt.d")
ALL_IDS = 4294967295

libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """The kernel or a package is missing; the text says which."""


def call(name, *arguments):
    if getattr(libc, name)(*arguments):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), name)


def identity_map(pid):
    """Every user is itself there; without privileges only the caller is, as root."""
    privileged = os.geteuid() == 0
    if not privileged:
        Path(f"/proc/{pid}/setgroups").write_text("deny")
    for kind, own in (("uid_map", os.geteuid()), ("gid_map", os.getegid())):
        Path(f"/proc/{pid}/{kind}").write_text(f"0 0 {ALL_IDS}" if privileged else f"0 {own} 1")


def child_waits(ready, go):
    try:
        call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    except OSError as why:
        raise Unavailable(f"no user namespace: {why}") from None
    os.write(ready, b".")
    os.close(ready)
    os.read(go, 1)  # its map is written by the parent, which still has the privileges


def register(interpreters):
    """Makes the table and fills it with those of Debian's rows that are asked for."""
    try:
        call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        call("mount", b"binfmt_misc", bytes(TABLE), b"binfmt_misc", 0, None)
    except OSError as why:
        raise Unavailable(f"no table of interpreters in a user namespace: {why} (Linux 6.7 has it)") from None
    for name in interpreters:
        row = INTERPRETERS / f"qemu-{name}.conf"
        if not row.exists():
            raise Unavailable(f"{row} is missing (Debian package qemu-user-static)")
        (TABLE / "register").write_text(row.read_text().strip())


def enter(interpreters):
    """
    Forks: the parent waits, and exits as the child does, which returns from here inside the namespace. So
    standard output and the exit status are those of one program.
    """
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(ready_read)
        os.close(go_write)
        child_waits(ready_write, go_read)
        os.close(go_read)
        return register(interpreters)
    os.close(ready_write)
    os.close(go_read)
    if os.read(ready_read, 1):
        identity_map(pid)
    os.close(go_write)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xff)
