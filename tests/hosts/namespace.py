"""A user namespace in which the kernel runs programs of foreign machines by qemu-user.

Since Linux 6.7 every user namespace has a table of interpreters (binfmt_misc) of its own: nothing is registered for
the rest of the machine, and the table goes with the last process.
"""
import ctypes
import json
import os
import sys
import traceback
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_BIND = 0x1000
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


def register(interpreter):
    """Makes the table and fills it with Debian's row for one machine."""
    row = INTERPRETERS / f"qemu-{interpreter}.conf"
    if not row.exists():
        raise Unavailable(f"{row} is missing (Debian package qemu-user-static)")
    try:
        call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        call("mount", b"binfmt_misc", bytes(TABLE), b"binfmt_misc", 0, None)
    except OSError as why:
        raise Unavailable(f"no table of interpreters in a user namespace: {why} (Linux 6.7 has it)") from None
    (TABLE / "register").write_text(row.read_text().strip())


def hide(paths):
    for path in paths:
        call("mount", b"/dev/null", path.encode(), None, MS_BIND, None)


def answer(ready, go, interpreter, hidden, function):
    """In the child: what the parent reads."""
    try:
        child_waits(ready, go)
        register(interpreter)
        hide(hidden)
    except Unavailable as why:
        return {"unavailable": str(why)}
    return {"value": function()}


def run(interpreter, hidden, function):
    """
    Calls @function in a child that runs programs by qemu's @interpreter, and returns what it did, which JSON
    can express. The devices @hidden are not there for it.
    """
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    answer_read, answer_write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            for fd in (ready_read, go_write, answer_read):
                os.close(fd)
            with open(answer_write, "w", encoding="utf-8") as out:
                json.dump(answer(ready_write, go_read, interpreter, hidden, function), out)
            sys.stdout.flush()
            status = 0
        except Exception:  # noqa: B902 - the parent sees no answer
            traceback.print_exc()
        finally:
            os._exit(status)
    for fd in (ready_write, go_read, answer_write):
        os.close(fd)
    if os.read(ready_read, 1):
        identity_map(pid)
    os.close(go_write)
    os.close(ready_read)
    with open(answer_read, encoding="utf-8") as file:
        text = file.read()
    if os.waitpid(pid, 0)[1] or not text:
        raise RuntimeError("the tests in the namespace ended early")
    got = json.loads(text)
    if "unavailable" in got:
        raise Unavailable(got["unavailable"])
    return got["value"]
