"""Orders for the preloaded library: which call of which process fails, and what it did. See inject.h, whose layout this is."""

import errno
import mmap
import os
import re
import signal
import struct
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROLES = ("other", "command", "convert", "zygote", "scan", "store", "daemon", "fetch")
CALLS = re.findall(r"\bX\((\w+)\)", (HERE / "inject.c").read_text(encoding="utf-8").split("#define CALLS(X)")[1].split("enum call")[0])
N_CALLS, N_ROLES, N_RECORDS, N_SITES, SHORT = 96, 8, 64, 8192, 1000
RECORD, SITE = struct.Struct("=7Q80s"), struct.Struct("=5Q")
SEEN_AT = 8 * 8
RECORDS_AT = SEEN_AT + 8 * N_CALLS * N_ROLES
SITES_AT = RECORDS_AT + RECORD.size * N_RECORDS
SIZE = SITES_AT + SITE.size * N_SITES
EVERY = 2 ** 63  # the last occurrence, where all from the first on fail

CLASSES = {  # of calls: the calls, and the errors that the kernel may give for them
    "memory": (("malloc", "calloc", "realloc", "posix_memalign", "mmap", "mremap", "memfd_create"), (errno.ENOMEM,)),
    "open": (("open", "openat", "openat2", "fopen", "opendir", "fdopendir", "fdopen"), (errno.EMFILE, errno.EIO, errno.ESTALE, errno.EINTR, errno.ENOMEM)),
    "read": (("read", "pread"), (errno.EIO, errno.EBADMSG, errno.EINTR, SHORT)),
    "write": (("write", "pwrite", "writev"), (errno.ENOSPC, errno.EBADMSG, errno.EINTR, SHORT)),
    "room": (("ftruncate", "posix_fallocate", "copy_file_range"), (errno.ENOSPC, errno.EIO, errno.EINTR)),
    "sync": (("fsync", "fdatasync"), (errno.EIO, errno.ENOSPC)),
    "look": (("fstat", "stat", "lstat", "fstatat", "statx", "fstatfs", "fstatvfs", "lseek", "readdir", "readlink", "preadv2"), (errno.EIO, errno.ENOMEM)),
    "name": (("rename", "renameat", "renameat2", "linkat", "unlinkat", "mkdir", "mkdirat", "mkostemp", "symlinkat", "utimensat", "fchmod", "flock"),
             (errno.ENOSPC, errno.EIO)),
    "descriptor": (("socketpair", "socket", "pipe", "eventfd", "signalfd", "inotify_init1", "pidfd_open", "dup", "fcntl_dup"),
                   (errno.EMFILE, errno.ENOMEM)),
    "message": (("sendmsg", "recvmsg", "send", "sendto", "inotify_add_watch"), (errno.ENOMEM, errno.ENOBUFS)),
    "process": (("fork", "clone", "posix_spawn", "pthread_create"), (errno.EAGAIN, errno.ENOMEM)),
    "wait": (("poll", "ppoll", "waitpid", "wait4", "waitid"), (errno.EINTR,)),
}


def errors_of(call):
    return next(errors for calls, errors in CLASSES.values() if call in calls)


def class_of(call):
    return next(name for name, (calls, _) in CLASSES.items() if call in calls)


def error_name(error):
    return "short" if error == SHORT else errno.errorcode[error]


def line_of(program, address):
    """Function, file and line."""
    done = subprocess.run(["addr2line", "-sfe", program, hex(address)], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split())


class Injection:
    """The file that the library maps."""

    def __init__(self, path, library):
        self.path, self.library = str(path), str(library)
        with open(path, "wb") as file:
            file.truncate(SIZE)
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), SIZE)

    def environment(self, **more):
        first = [os.environ["SANITIZER_LIBRARY"]] if os.environ.get("SANITIZER_LIBRARY") else []
        return dict(os.environ, LD_PRELOAD=":".join([*first, self.library]), INJECT=self.path, LC_ALL="C", **more)

    def word(self, i, value=None):
        if value is not None:
            self.map[8 * i:8 * i + 8] = struct.pack("=Q", value)
        return struct.unpack("=Q", self.map[8 * i:8 * i + 8])[0]

    def clear(self):
        self.word(0, 0)
        self.word(6, 0)
        self.map[56:SIZE] = bytes(SIZE - 56)

    def arm(self, role, call, first, error, last=None):
        """Calls from number @first to @last fail in processes of @role, counted from now on."""
        self.clear()
        for i, value in enumerate((ROLES.index(role), CALLS.index(call), first, first if last is None else last, error), 1):
            self.word(i, value)
        self.word(0, 1)

    def disarm(self):
        self.word(0, 0)

    def count(self):
        """Calls and the places that make them are counted from now on."""
        self.clear()
        self.word(6, 1)

    def counted(self):
        """({(role, call): calls}, [(role, call, first occurrence of a place)])."""
        self.word(6, 0)
        seen = struct.unpack("=%dQ" % (N_ROLES * N_CALLS), self.map[SEEN_AT:RECORDS_AT])
        calls = {(role, call): seen[r * N_CALLS + c] for r, role in enumerate(ROLES) for c, call in enumerate(CALLS) if seen[r * N_CALLS + c]}
        sites = [(ROLES[role], CALLS[call], first)
                 for key, _, role, call, first in SITE.iter_unpack(self.map[SITES_AT:SIZE]) if key]
        return calls, sorted(sites)

    @property
    def injected(self):
        return self.word(7)

    def records(self):
        """(role, call, occurrence, error, object, offset, offset of its caller or 0) of each fault since the order."""
        found = RECORD.iter_unpack(self.map[RECORDS_AT:RECORDS_AT + RECORD.size * min(self.injected, N_RECORDS)])
        return [(ROLES[role], CALLS[call], n, error, name.split(b"\0")[0].decode(), site, caller)
                for _, role, call, n, error, site, caller, name in found]

    def describe(self, programs=()):
        """What was injected first, and where: a line for a report. @programs: paths of those whose lines are known."""
        for role, call, n, error, name, *sites in self.records()[:1]:
            where = "%s+0x%x" % (name, sites[0])
            for program in programs:
                if os.path.basename(program) == name:
                    found = [line_of(program, site - 1) for site in sites if site]
                    where = next((line for line in found if line and not line.startswith("__wrap_")), where)
            return "%s: %s %d: %s at %s" % (role, call, n, error_name(error), where)
        return "nothing"


def choose(calls, sites, role, rng, most):
    """[(call, occurrence)] of @role to fail. @most: of a call; None: every one. Each place that calls comes before further
    calls of places that are tried already."""
    chosen = []
    for (of, call), n in sorted(calls.items()):
        if of != role or not any(call in names for names, _ in CLASSES.values()):
            continue
        if most is None or n <= most:
            chosen += [(call, i + 1) for i in range(n)]
            continue
        firsts = [first for r, c, first in sites if (r, c) == (role, call)]
        picked = set(rng.sample(firsts, min(len(firsts), most)))
        while len(picked) < most:
            picked.add(rng.randrange(n) + 1)
        chosen += [(call, i) for i in sorted(picked)]
    return chosen


class Tally:
    """What came of the faults, by process and class of call."""

    COLUMNS = ("injections", "right", "clean errors", "wrong", "wrong ENOENT", "unnamed", "remembered", "left behind", "crashes", "hangs")
    BAD = COLUMNS[3:]

    def __init__(self):
        self.rows, self.complaints = {}, []

    def add(self, role, call, outcome, what=""):
        row = self.rows.setdefault((role, class_of(call)), dict.fromkeys(self.COLUMNS, 0))
        row["injections"] += 1
        row[outcome] += 1
        if outcome in self.BAD:
            self.complaints.append("%s: %s" % (outcome, what))
            print("not ok: %s: %s" % (outcome, what), flush=True)

    def fail(self, what):
        self.complaints.append(what)
        print("not ok: " + what, flush=True)

    def table(self):
        lines = ["| process | class | " + " | ".join(self.COLUMNS) + " |", "|--" * (2 + len(self.COLUMNS)) + "|"]
        for (role, name), row in sorted(self.rows.items()):
            lines.append("| %s | %s | %s |" % (role, name, " | ".join(str(row[c]) for c in self.COLUMNS)))
        total = [sum(row[c] for row in self.rows.values()) for c in self.COLUMNS]
        return "\n".join(lines + ["| all | | %s |" % " | ".join(map(str, total))])

    def finish(self, path):
        """Prints the table, and writes it to @path if there is one. The exit status."""
        print(self.table())
        if path:
            Path(path).write_text(self.table() + "\n", encoding="utf-8")
        return 1 if self.complaints else 0


def is_crash(status):
    """As subprocess or a shell tell it; 77 is the sanitizers', as commands.py sets it."""
    return status in (77, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE, -signal.SIGSYS, -signal.SIGTRAP) or \
        128 < status < 160
