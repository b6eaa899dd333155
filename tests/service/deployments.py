"""How gsymfs is deployed, a row each, and what is asked of each deployment."""
import time

MOUNT = "/mnt/sym"
NO_OPENAT2 = r"openat2_refused"
SOURCES = "/srv/one:/srv/two"
USER = 1500  # of the deployments that are not root's
OTHER = 65534
UNIT = "gsymfs@test.service"
FSTAB = f"{SOURCES} {MOUNT} fuse.gsymfs allow_other,_netdev,nofail"
SHORT_WATCHDOG = "WatchdogSec=4\n"  # so that no test waits for a minute
USER_UNIT = """[Service]
Type=notify
ExecStart=/usr/local/bin/gsymfs -f {sources} %h/sym
Restart=on-failure
RestartSec=1
"""


class Service:
    """
    gsymfs@test, with what an administrator may write into a drop-in.
    @says: a regular expression for what it tells in the file status, or, where it cannot start, in the journal.
    """
    uid, mount, heals, watched = 0, MOUNT, True, True

    def __init__(self, name, drop_in="", options="allow_other", says=r"state\s+complete", starts=True,
                 source=SOURCES):
        self.name, self.drop_in, self.options, self.says, self.starts = name, drop_in, options, says, starts
        self.source = source

    def start(self, machine):
        machine.write("/etc/gsymfs/test.conf", f"SOURCE={self.source}\nMOUNT={MOUNT}\nOPTIONS={self.options}\n")
        machine.write(f"/etc/systemd/system/{UNIT}.d/drop-in.conf", f"[Service]\n{SHORT_WATCHDOG}{self.drop_in}\n")
        return machine.sh(f"systemctl daemon-reload; systemctl start {UNIT} || journalctl -u {UNIT} -n 20")

    def stop(self, machine):
        return machine.sh(f"systemctl stop {UNIT}; systemctl reset-failed {UNIT}")

    def journal(self, machine):
        return machine.sh(f"journalctl -o cat -u {UNIT} -n 30")

    def kill(self, machine):
        machine.sh(f"systemctl kill -s KILL --kill-who=main {UNIT}")

    def hang(self, machine):
        """Stops the daemon, and waits until it is ended: meanwhile it can answer what it was asked before."""
        machine.sh(f"p=$(systemctl show -P MainPID {UNIT}); kill -STOP $p; while kill -0 $p; do sleep 0.1; done")


class UserUnit(Service):
    """A service of a user's own systemd, as gsymfs(1) has it."""
    uid, mount, watched = USER, "/home/symbols/sym", False

    def start(self, machine):
        machine.write("/home/symbols/.config/systemd/user/sym.service", USER_UNIT.format(sources=SOURCES.replace(":", " ")))
        machine.sh(f"mkdir -p {self.mount}; chown -R symbols /home/symbols; loginctl enable-linger symbols")
        for _ in range(100):
            if "running" in machine.sh("systemctl --user is-system-running", USER):
                break
            time.sleep(0.2)
        return machine.sh("systemctl --user daemon-reload; systemctl --user start sym || "
                          "systemctl --user status sym", USER)

    def stop(self, machine):
        return machine.sh("systemctl --user stop sym", USER)

    def journal(self, machine):
        return machine.sh("journalctl -o cat _UID=1500 -n 30")

    def kill(self, machine):
        machine.sh("systemctl --user kill -s KILL --kill-who=main sym", USER)


class Fstab(Service):
    """A line of fstab; nothing restarts such a daemon but the next mount."""
    heals = False

    def __init__(self, name, options, start):
        super().__init__(name)
        self.line, self.begin = FSTAB + options + " 0 0\n", start

    def start(self, machine):
        machine.write("/etc/fstab", self.line)
        return machine.sh(f"systemctl daemon-reload; {self.begin}")

    def stop(self, machine):
        done = machine.sh("systemctl stop mnt-sym.automount; umount /mnt/sym")
        machine.write("/etc/fstab", "")
        return done + machine.sh("systemctl daemon-reload")

    def journal(self, machine):
        return machine.sh("journalctl -o cat -t gsymfs -n 30")


def refused(calls, error):
    return f"SystemCallFilter=~{calls}\nSystemCallErrorNumber={error}"


# The filters of containers before Docker 20.10.10 and systemd 248 answer EPERM to calls that they do not know.
DEPLOYMENTS = [
    Service("the unit"),
    Service("the unit, User=", "User=symbols\nAmbientCapabilities=CAP_SYS_ADMIN\nCacheDirectory=symbols",
            "allow_other,cache=/var/cache/symbols"),
    Service("SOURCE=/", source="/", says=r"(?s)^state\s+complete.*not_entered_directory\s+/proc: proc\n"),
    UserUnit("a user's unit"),
    Fstab("fstab", "", "mount /mnt/sym"),
    Fstab("automount", ",noauto,x-systemd.automount", "systemctl start mnt-sym.automount"),
    Service("LoadCredential=", "LoadCredential=aws:/etc/gsymfs/test.conf\nEnvironment=AWS_SHARED_CREDENTIALS_FILE=%d/aws"),
    Service("RestrictSUIDSGID=yes", "RestrictSUIDSGID=yes", says=NO_OPENAT2),
    Service("openat2: ENOSYS", refused("openat2", "ENOSYS"), says=NO_OPENAT2),
    Service("openat2: EPERM", refused("openat2", "EPERM"), says=NO_OPENAT2),
    Service("clone3: ENOSYS", refused("clone3", "ENOSYS")),
    Service("clone3: EPERM", refused("clone3", "EPERM"), says="refuses clone3", starts=False),
    Service("openat2, pidfd_open, close_range: EPERM", refused("openat2 pidfd_open close_range", "EPERM"), says=NO_OPENAT2),
    Service("no Landlock", refused("landlock_create_ruleset landlock_add_rule landlock_restrict_self", "EPERM"),
            says=r"sandbox\s+user, user_namespace, network_namespace, root_directory, seccomp\n"),
    Service("Landlock: killed", refused("landlock_create_ruleset", "kill"), says="a filter forbids", starts=False),
    Service("no namespaces", "RestrictNamespaces=yes", says=r"sandbox\s+user, root_directory, (landlock, )?seccomp\n"),
    Service("no user namespaces, no Landlock",
            "RestrictNamespaces=net ipc\n" + refused("landlock_create_ruleset", "ENOSYS")),
]


class Question:
    """What a command prints, with {m} for the mount and the addresses of the samples."""

    def __init__(self, name, command, expected, uid=None):
        self.name, self.command, self.expected, self.uid = name, command, expected, uid


HERE = "findmnt -n {m} >/dev/null || echo nothing is mounted; "
QUESTIONS = [
    Question("line", "cat {m}/by-name/one/0x{one}", r"^one at /\S+/one\.c:1$"),
    Question("debug file", "cat {m}/by-name/two/0x{two}", r"^two at /\S+/two\.c:1$"),
    Question("link", "cat {m}/by-name/latest/0x{one}", r"^one at "),
    Question("by-path", "cat {m}/by-path/srv/one/one/0x{one}", r"^one at "),
    Question("batch", "exec 3<>{m}/by-name/one/q; echo 0x{one} >&3; cat <&3", r"^one at \S+\n\n$"),
    Question("log", "exec 3<>{m}/log; echo '#0 0x1 (/srv/one/one+0x{one}) (BuildId: {id})' >&3; cat <&3", r"one\.c:1"),
    Question("no such", HERE + "cat {m}/by-name/one/0x3", r"^cat: .*: No such file"),
    Question("status", "cat {m}/by-name/two/status", r"state\s+ready"),
    Question("metrics", "cat {m}/metrics", r"gsymfs_\w+"),
    Question("0600", HERE + "cat {m}/by-name/secret/0x{one}", r"^cat: .*: (Permission denied|No such file)", OTHER),
]
