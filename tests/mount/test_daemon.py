#!/usr/bin/env python3
"""The program gsymfs: its options, its start, its end."""

import errno
import glob
import os
import pty
import pwd
import re
import signal
import socket
import subprocess
import time

import mount_harness
from mount_harness import GSYM, GSYMFS, LIMIT, MountTest, run, wait_until

PATIENCE = 1  # seconds for the first scan before the command that mounts ends (fs/starter.c)


class DaemonTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)

    def options(self, *more):
        return ",".join(["worker=" + GSYM, "cache=" + self.cache] + list(more))

    def refused(self, *argv, status=2):
        done = run(GSYMFS, *argv, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertFalse(mount_harness.is_mounted(self.mnt))
        return done.stderr.decode()

    def test_help_and_version(self):
        for option in ("--help", "-h"):
            self.assertIn("Usage: gsymfs", run(GSYMFS, option).stdout.decode())
        for option in ("--version", "-V"):
            self.assertRegex(run(GSYMFS, option).stdout.decode(), 
                             r"^gsymfs \d+\.\d+\.\d+\nsandbox of workers: .*Landlock.*seccomp\nconverter: common=")

    def sick_fuse(self, how):
        """The environment of a daemon that has trouble with /dev/fuse, and a file that it depends on."""
        switch = os.path.join(self.dir, "switch")
        return self.preload("sick_fuse.c", '-DSWITCH="%s"' % switch, SICK_FUSE=how), switch

    def test_no_memory_for_requests(self):
        """A shortage ends; the mount does not."""
        environment, switch = self.sick_fuse("short")
        self.compile()
        with open(switch, "w"):
            pass
        for options in ([], ["-s"]):
            daemon = self.mount(env=environment, switches=options)
            daemon.wait_scanned()
            readers = [self.reader(id, "status") for id in sorted(self.ids())]
            for reader in readers:
                self.assertEqual(self.finish(reader)[0], 0)
            self.assertIn("cannot read a request: ", daemon.log())
            self.assertIsNone(daemon.process.poll())
            self.assertEqual(daemon.stop(), 0)

    def test_connection_that_fails(self):
        """Without INIT there is no mount, and the exit status says so."""
        for how, words in (("lost", "INIT is lost"), ("old", "cannot be initialised")):
            environment, _ = self.sick_fuse(how)
            for options in (["-f"], ["-f", "-s"], []):
                done = run(GSYMFS, *options, "-o", "cache=%s,worker=%s" % (self.cache, mount_harness.GSYM), self.source,
                           self.mnt, check=False, env=environment)
                self.assertEqual(done.returncode, 1, (how, options))
                if options:
                    self.assertIn(words, done.stderr.decode())
                    self.assertNotIn("serving", done.stderr.decode())
                wait_until(lambda: not mount_harness.is_mounted(self.mnt), "the end of the mount")

    def abort(self):
        """Aborts the connection of the mount, or skips the test: it takes root."""
        control = os.path.join(self.dir, "fusectl")
        os.makedirs(control, exist_ok=True)
        if run("mount", "-t", "fusectl", "fusectl", control, check=False).returncode:
            self.skipTest("fusectl cannot be mounted")
        try:
            with open("%s/%d/abort" % (control, os.minor(os.lstat(self.mnt).st_dev)), "w") as file:
                file.write("1")
        finally:
            run("umount", control)

    def test_aborted_connection(self):
        """A message, a status that a service manager notices, and no dead mount; an unmount is none of these."""
        for options in ([], ["-s"]):
            daemon = self.mount(switches=options)
            self.abort()
            self.assertEqual(daemon.process.wait(mount_harness.LIMIT), 1)
            self.assertIn("connection to the kernel was aborted", daemon.log())
            self.assertFalse(mount_harness.is_mounted(self.mnt))
        daemon = self.mount()
        run("umount", self.mnt)
        self.assertEqual(daemon.process.wait(mount_harness.LIMIT), 0)
        self.assertNotIn("aborted", daemon.log())

    def test_forced_unmount_of_a_mount_in_use(self):
        daemon = self.mount()
        used = os.open(os.path.join(self.mnt, "status"), os.O_RDONLY)
        self.addCleanup(os.close, used)
        if run("umount", "-f", self.mnt, check=False).returncode == 0:
            self.skipTest("the kernel unmounts what is in use")
        self.assertEqual(daemon.process.wait(mount_harness.LIMIT), 1)
        self.assertIn("connection to the kernel was aborted", daemon.log())
        self.assertFalse(mount_harness.is_mounted(self.mnt))

    def test_start_at_once_after_a_kill(self):
        """The next daemon finds the mount while the kernel still ends the killed one."""
        self.compile()
        daemon = self.mount()
        for _ in range(20):
            daemon.process.kill()
            daemon = self.mount()

    def test_signal_before_the_connection(self):
        """It ends the daemon as at any other time."""
        environment, _ = self.sick_fuse("ended")
        for options in ([], ["-s"]):
            done = run(GSYMFS, "-f", *options, "-o", "cache=%s,worker=%s" % (self.cache, mount_harness.GSYM), self.source, self.mnt,
                       check=False, env=environment)
            self.assertEqual((done.returncode, b"initialised" in done.stderr), (0, False), done.stderr)

    def test_few_descriptors(self):
        """What is lacking is said, by the daemon as by the command."""
        self.compile()
        for command in ([GSYMFS, "-f", "-o", "cache=%s,worker=%s" % (self.cache, mount_harness.GSYM), self.source, self.mnt],
                        [mount_harness.GSYM, "lookup", "--cache=" + self.cache, os.path.join(self.source, "sample"), "0x1"]):
            done = run("sh", "-c", 'ulimit -n 12; exec "$@"', "sh", *command, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("Too many open files", done.stderr.decode())

    def test_bad_options_name_themselves(self):
        for option, allowed in (("unknown=maybe", "enoent or print"), ("demangle=perhaps", "yes or no"),
                                ("jobs=0", "1 to 64"), ("jobs=1x", "1 to 64"), ("cache_size=much", "a number of bytes"),
                                ("convert_memory=-1", "a number of bytes"), ("convert_time=0", "seconds"),
                                ("rescan=soon", "seconds"), ("approximate=1", "yes or no"), ("merged=", "yes, no or mark"), ("merged=mar", "yes, no or mark"), ("merged=yes|no", "yes, no or mark"), ("watch=on", "yes or no"),
                                ("cache_size=0", "a number of bytes"), ("cache=", "directory"), ("debug_dirs=relative", "absolute directories"), ("convert_time=1h", "seconds"),
                                ("max_read=abc", "a number of bytes"), ("max_read=", "a number of bytes"),
                                ("max_read=-1", "a number of bytes"), ("fsname=", "a name"), ("clone_fd", "allowed"),
                                ("fd=5", "allowed"), ("blkdev", "allowed"), ("threads=", "1 to 256"), ("worker=", "path")):
            words = self.refused("-o", option, self.source, self.mnt)
            self.assertIn(option.split("=")[0], words)
            self.assertIn(allowed, words)
        words = self.refused("-o", "no_such_option=1", self.source, self.mnt)
        self.assertIn("no_such_option=1", words)
        self.assertIn("cache_size=", words)
        self.assertIn("-x", self.refused("-x", self.source, self.mnt))
        self.assertIn("MOUNT", self.refused(self.source))
        self.assertIn("SOURCE", self.refused())
        self.assertIn("operand 'SOURCE'", self.refused("", self.mnt))
        self.assertIn("operand 'MOUNT'", self.refused(self.source, ""))
        self.assertIn("extra operand 'third'", self.refused(*[self.source] * 17, "third"))

    def test_every_option_refuses_bad_values(self):
        """Each option of --help names itself, the value, and what is allowed."""
        options = re.findall(r"^ +-o (\w+)=(\S+)", run(GSYMFS, "--help").stdout.decode(), re.M)
        self.assertGreater(len(options), 14)
        for name, argument in options:
            value = "a://b" if argument.startswith(("DIR", "STORE")) else "" if argument in ("PATH", "FILE") else "-"
            words = self.refused("-o", "%s=%s" % (name, value.replace(":", "\\:")), self.source, self.mnt)
            self.assertRegex(words, "^gsymfs: option '%s': invalid value '%s'; allowed is .+\n$" % (name, value))

    def test_options_by_themselves(self):
        """--name=value is -o name=value, for libfuse's options, too."""
        for option, words in (("--jobs=0", "option 'jobs': invalid value '0'"), ("--cache", "'--cache': missing argument"),
                              ("--cach=x", "did you mean 'cache'"), ("--worker=" + "x" * 5000, "'--worker': too long")):
            self.assertIn(words, self.refused(option, self.source, self.mnt))
        self.mount(switches=["--demangle=no", "--cache-size=1G", "--cache_free=0", "--fsname=by-itself", "--max-read=131072", "--nofail"])
        self.assertIn("_Z", self.read(self.id, "functions.tsv"))
        self.assertIn("by-itself", self.mount_options())

    def test_remounting(self):
        self.assertIn("unmount it", self.refused("-o", "rw,remount,ro", self.source, self.mnt))

    def test_cache_of_a_user_who_mounts(self):
        """By fstab's "user": mount.fuse3 says that the home is root's."""
        user = pwd.getpwnam("nobody")
        if not mount_harness.is_root():
            self.skipTest("only root can ask as another user")
        try:
            run(GSYMFS, "--version", user=user.pw_uid)
        except PermissionError:
            self.skipTest("%s is closed to others" % GSYMFS)
        env = {"HOME": "/root", "PATH": os.environ["PATH"]}
        said = run(GSYMFS, self.source, self.mnt, user=user.pw_uid, env=env, check=False).stderr.decode()
        self.assertIn("'%s/.cache/gsymfs'" % user.pw_dir, said)

    def test_bad_places(self):
        nowhere = os.path.join(self.dir, "nowhere")
        self.assertIn(nowhere, self.refused("-o", self.options(), nowhere, self.mnt, status=1))
        self.assertIn(nowhere, self.refused("-o", self.options(), self.source, nowhere, status=1))
        self.assertIn("not a directory", self.refused("-o", self.options(), self.path, self.mnt, status=1))
        self.assertIn("not a directory", self.refused("-o", self.options(), self.source, self.path, status=1))
        self.assertIn("hidden by the mount", self.refused("-o", self.options(), self.source, self.source, status=1))
        self.assertIn("hidden by the mount", self.refused("-o", self.options(), self.source, self.dir, status=1))
        killed = os.path.join(self.dir, "killed")
        with open(killed, "w") as file:
            file.write("#!/bin/sh\nkill -KILL $$\n")
        os.chmod(killed, 0o755)
        for worker, words in ((nowhere, "cannot find"), ("/bin/true", "is not the gsym program"),
                              (killed, "killed by signal 9"), (self.source, "cannot start")):
            self.assertIn(words, self.refused("-o", "worker=%s,cache=%s" % (worker, self.cache), self.source, self.mnt,
                                              status=1))

    def test_generic_mount_options(self):
        """What mount(8) and fstab add."""
        self.mount("rw,nosuid,nodev,noexec,noatime,_netdev,nofail,x-systemd.automount,user,defaults,max_read=131072")
        self.assertIn("state", self.status(self.id))

    def test_every_option_of_mount(self):
        """One after the other, as mount(8) hands them on."""
        for option in ("rw", "ro", "exec", "noexec", "suid", "nosuid", "dev", "nodev", "sync", "async", "dirsync", "atime",
                       "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime", "nostrictatime",
                       "lazytime", "nolazytime", "silent", "loud", "mand", "nomand", "iversion", "noiversion", "user",
                       "nouser", "users", "owner", "group", "_netdev", "nofail", "auto", "noauto", "defaults",
                       "comment=systemd", "x-systemd.requires=/", "X-mount.mkdir"):
            done = run(GSYMFS, "-o", option, self.source, os.path.join(self.dir, "nowhere"), check=False)
            self.assertEqual(done.returncode, 1, (option, done.stderr))
            self.assertIn(b"nowhere", done.stderr)

    def test_mount_helper(self):
        """mount -t fuse.gsymfs, and a line of fstab; the type names the program, which is not installed here."""
        if not mount_harness.is_root() or not os.path.exists("/sbin/mount.fuse3"):
            self.skipTest("mount.fuse3 is not installed, or only root may mount")
        type = "fuse." + os.path.realpath(GSYMFS)
        fstab = os.path.join(self.dir, "fstab")
        with open(fstab, "w") as file:
            file.write("%s %s %s noauto,_netdev,x-systemd.automount,allow_other,%s 0 0\n" %
                       (self.source, self.mnt, type, self.options()))
        for argv in (["mount", "-t", type, "-o", "ro,user,nofail," + self.options(), self.source, self.mnt],
                     ["mount", "-T", fstab, self.mnt]):
            run(*argv)
            self.assertIn(" fuse.gsymfs " + self.source + " ", self.mount_options())
            self.assertIn("state", self.status(self.id))
            run("umount", self.mnt)
            self.assertFalse(mount_harness.is_mounted(self.mnt))

    def mount_options(self):
        with open("/proc/self/mountinfo") as mounts:
            line = next(line for line in mounts if line.split()[4] == self.mnt)
        return line

    def test_allow_other_is_paired(self):
        if not mount_harness.is_root():
            self.skipTest("allow_other may need root or user_allow_other")
        self.mount("allow_other")
        line = self.mount_options()
        self.assertIn("allow_other", line)
        self.assertIn("default_permissions", line)
        self.assertIn(" fuse.gsymfs " + self.source + " ", line)
        os.chmod(self.path, 0o600)
        self.remount(self.daemons[-1], "allow_other")
        cat = ["cat", os.path.join(self.image(self.id), "status")]
        self.assertEqual(run(*cat).returncode, 0)
        done = run(*cat, check=False, user=65534, group=65534, extra_groups=[])
        self.assertIn(b"Permission denied", done.stderr)

    def test_daemonizes_when_mounted(self):
        notify = os.path.join(self.dir, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service:
            service.bind(notify)
            service.settimeout(LIMIT)
            env = dict(os.environ, NOTIFY_SOCKET=notify)
            run(GSYMFS, "-o", self.options(), self.source, self.mnt, env=env)
            self.assertTrue(mount_harness.is_mounted(self.mnt))
            self.assertIn("state", self.status(self.id))
            self.assertEqual(service.recv(100), b"READY=1")
            mount_harness.lazy_unmount(self.mnt)
            self.assertEqual(service.recv(100), b"STOPPING=1")

    def in_background(self, *options, **kwargs):
        """Starts a daemon that leaves us; the names it shows at once, and how long it took."""
        start = time.monotonic()
        run(GSYMFS, "-o", self.options(*options), self.source, self.mnt, **kwargs)
        seconds = time.monotonic() - start
        try:
            return set(os.listdir(self.mnt)) - mount_harness.NO_IMAGES, seconds
        finally:
            mount_harness.lazy_unmount(self.mnt)

    def assertListed(self, **kwargs):
        """The image is listed when the command ends, unless the machine is so busy that the first scan took longer than
        the daemon waits for it: then once more."""
        def listed():
            shown, seconds = self.in_background(**kwargs)
            if seconds < PATIENCE:
                self.assertEqual(shown, {self.id})
            return shown
        self.assertEqual(wait_until(listed, "a scan that is waited for"), {self.id})

    def test_listed_at_once(self):
        """Who comes after the command that mounts sees what is in SOURCE."""
        self.assertListed()

    def test_long_walk_is_not_waited_for(self):
        relay = mount_harness.Relay(self)
        relay.hold(1)
        shown, seconds = self.in_background("worker=" + relay.worker)
        self.assertEqual(shown, set())
        self.assertGreater(seconds, PATIENCE)

    def test_without_standard_streams(self):
        """Descriptors 0 to 2 are not taken by others, which would be lost when the daemon turns them to nothing."""
        def close_all():
            for fd in range(3):
                os.close(fd)
        self.assertListed(preexec_fn=close_all)

    def test_journal(self):
        """Where standard error is the journal's, lines begin with their priority; elsewhere they do not."""
        nowhere = os.path.join(self.dir, "nowhere")
        with open(os.path.join(self.dir, "journal"), "w+b", buffering=0) as journal:
            st = os.fstat(journal.fileno())
            for stream, start in (("%d:%d" % (st.st_dev, st.st_ino), b"<3>gsymfs: error: "), ("1:2", b"gsymfs: error: ")):
                journal.seek(0)
                subprocess.run([GSYMFS, "-f", "-o", "", nowhere, self.mnt], stderr=journal, timeout=LIMIT,
                               env=dict(os.environ, JOURNAL_STREAM=stream))
                journal.seek(0)
                self.assertEqual(journal.read(len(start)), start)

    def check(self, mnt=None):
        """The exit status of --check, and what it says."""
        done = run(GSYMFS, "--check", mnt or self.mnt, check=False)
        return done.returncode, done.stderr.decode()

    def test_check(self):
        """A probe: what is not well, and an end in time where the daemon has none."""
        self.assertEqual(run(GSYMFS, "--check", check=False).returncode, 2)
        self.assertEqual(self.check(), (1, "gsymfs: %s: gsymfs is not mounted there\n" % self.mnt))
        relay = mount_harness.Relay(self)
        relay.hold(1)
        daemon = self.mount("worker=" + relay.worker, "watch=no", "rescan=1")
        self.assertEqual(self.check(), (3, "gsymfs: %s: the first scan is not complete\n" % self.mnt))
        relay.release(1)
        daemon.wait_scanned()
        wait_until(lambda: self.check() == (0, ""), "a daemon that is well")
        os.rename(relay.worker, relay.worker + "~")
        # One that was just started finds no script either, and gives no answer.
        missing = (4, "gsymfs: %s: worker: cannot be started: No such file or directory\n" % self.mnt)
        wait_until(lambda: self.check() == missing, "a scan that can start no worker")
        self.assertRegex(daemon.log(), "error: (cannot start the worker|the worker) ")
        os.rename(relay.worker + "~", relay.worker)
        wait_until(lambda: self.check() == (0, ""), "a scan that can start one again")
        daemon.process.send_signal(signal.SIGSTOP)
        self.assertEqual(self.check(), (1, "gsymfs: %s: no answer within 10 seconds\n" % self.mnt))
        daemon.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.check(), (0, ""))
        daemon.stop(signal.SIGKILL)
        self.assertEqual(self.check()[0], 1)

    def test_watchdog(self):
        """It is fed while the mount answers, with what systemctl status shows."""
        notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(notified.close)
        notified.bind(os.path.join(self.dir, "notify"))
        notified.settimeout(LIMIT)
        daemon = self.mount(env=dict(os.environ, NOTIFY_SOCKET=notified.getsockname(), WATCHDOG_USEC="200000"))
        for _ in range(3):
            wait_until(lambda: notified.recv(1000) == b"WATCHDOG=1\nSTATUS=serving", "a notification")
        self.assertEqual(daemon.stop(), 0)

    def test_events_in_the_journal(self):
        """A line for each conversion has a priority of its own."""
        with open(os.path.join(self.dir, "journal"), "w+b") as journal:
            st = os.fstat(journal.fileno())
            daemon = self.mount(env=dict(os.environ, JOURNAL_STREAM="%d:%d" % (st.st_dev, st.st_ino)), log=journal.name)
            self.assertErrno(errno.ENOENT, self.read, self.id, "0x1")
            self.assertEqual(daemon.stop(), 0)
            self.assertRegex(daemon.log(), "(?m)^<7>gsymfs: converted ")
            self.assertRegex(daemon.log(), "(?m)^<6>gsymfs: ends after ")

    def test_signals_end_it_cleanly(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            daemon = self.mount()
            daemon.wait_scanned()
            self.assertErrno(errno.ENOENT, self.read, self.id, "0x1")
            self.assertEqual(daemon.stop(sig), 0)
            self.assertFalse(mount_harness.is_mounted(self.mnt))
            self.assertRegex(daemon.log(), r"ends after \d+ s: 1 lookups, 0 lines of q, 0 addresses in logs; [01] conversions "
                             r"in \d+\.\d s, 0 of them failed, 0 crashed; [01] images from the cache\n")

    def test_hangup(self):
        """It scans again; where the daemon runs on a terminal, which is closed, it ends."""
        daemon = self.mount("rescan=0", "watch=no")
        daemon.wait_scanned()
        later = mount_harness.build_id(self.compile("later"))
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: later in self.ids(), "the scan")
        self.assertEqual(daemon.stop(), 0)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        on_terminal = subprocess.Popen([GSYMFS, "-f", "-o", "cache=%s,worker=%s" % (self.cache, mount_harness.GSYM),
                                        self.source, self.mnt], stdin=theirs, stdout=theirs, stderr=theirs)
        self.processes.append(on_terminal)
        os.close(theirs)
        wait_until(lambda: mount_harness.is_mounted(self.mnt), "the mount")
        on_terminal.send_signal(signal.SIGHUP)
        self.assertEqual(on_terminal.wait(LIMIT), 0)

    def test_state_on_demand(self):
        """SIGUSR1 writes to the log what the daemon is at, and changes nothing."""
        gate = mount_harness.Gate(self)
        gate.shut()
        busy, waiting = self.id, mount_harness.build_id(self.compile("waiting"))
        daemon = self.mount("worker=" + gate.worker, "jobs=1")
        daemon.wait_scanned()
        readers = [self.reader(busy, "0x1000")]
        gate.wait_started()
        readers += [self.reader(waiting, "0x1000"), self.reader(waiting, "0x1001")]
        wait_until(lambda: self.status(waiting)["state"] == "queued", "the queue")
        daemon.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: "state: open files" in daemon.log(), "the state")
        log = daemon.log()
        self.assertIn("state: 2 images: 0 cold, 0 opening, 1 queued, 1 converting, 0 ready, 0 failed\n", log)
        self.assertIn("state: %s: converting, 1 calls wait\n" % busy, log)
        self.assertRegex(log, "state: %s: queued, [12] calls wait\n" % waiting)
        self.assertIn("state: scan: all of the source was seen, 0 calls wait for it\n", log)
        self.assertRegex(log, r"state: cache '.*': \d+ of 10737418240 bytes\n")
        gate.open()
        for reader in readers:
            self.finish(reader)
        for _ in range(100):
            daemon.process.send_signal(signal.SIGUSR1)
        self.assertEqual(self.status(busy)["state"], "ready")
        self.assertEqual(daemon.stop(), 0)
        self.assertIn("2 images: 0 cold, 0 opening, 0 queued, 0 converting, 2 ready, 0 failed", daemon.log())

    def test_ends_with_a_busy_directory(self):
        daemon = self.mount()
        daemon.wait_scanned()
        held = os.open(self.image(self.id), os.O_RDONLY)
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(mount_harness.is_mounted(self.mnt))
        self.assertErrno(errno.ENOTCONN, os.listdir, held)
        os.close(held)

    def test_unmount_ends_it(self):
        daemon = self.mount()
        daemon.wait_scanned()
        mount_harness.lazy_unmount(self.mnt)
        self.assertEqual(daemon.process.wait(LIMIT), 0)

    def test_signals_at_any_moment(self):
        """A signal while the daemon starts is not lost, and the daemon never waits for itself."""
        inside = os.path.join(self.source, "mnt")
        os.mkdir(inside)
        for i in range(15):
            daemon = self.mount(mnt=inside)
            time.sleep(i * 0.002)  # another moment of its start each time
            self.assertEqual(daemon.stop(), 0)

    def test_ends_during_the_scan(self):
        for i in range(200):
            os.link(self.path, os.path.join(self.source, "link%d" % i))
        daemon = self.mount()
        self.assertEqual(daemon.stop(), 0)

    def test_dead_mount_is_detached(self):
        for _ in range(2):
            daemon = self.mount()
            daemon.wait_scanned()
            daemon.process.kill()
            daemon.process.wait(LIMIT)
        self.mount()
        self.assertIn("state", self.status(self.id))

    def test_mounted_once(self):
        daemon = self.mount()
        daemon.wait_scanned()
        done = run(GSYMFS, "-o", self.options(), self.source, self.mnt + "/.", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("gsymfs is mounted there already; unmount it first: fusermount3 -u '%s'" % self.mnt,
                      done.stderr.decode())
        self.assertIn("state", self.status(self.id))
        daemon.stop()
        self.mount()

    def test_single_thread(self):
        done = subprocess.Popen([GSYMFS, "-s", "-f", "-o", self.options(), self.source, self.mnt],
                                stderr=subprocess.DEVNULL)
        self.processes.append(done)
        wait_until(lambda: mount_harness.is_mounted(self.mnt), "the mount")
        self.assertIn("state", self.status(self.id))
        threads = [mount_harness.contents(path).strip() for path in glob.glob("/proc/%d/task/*/comm" % done.pid)]
        self.assertIn(b"gsymfs", threads)
        self.assertNotIn(b"fuse", threads)
        done.terminate()
        self.assertEqual(done.wait(LIMIT), 0)

    def test_no_descriptor_or_process_is_left(self):
        daemon = self.mount()
        daemon.wait_scanned()
        fds = "/proc/%d/fd" % daemon.process.pid
        before = len(os.listdir(fds))
        ids = [mount_harness.build_id(self.compile("more%d" % i)) for i in range(5)]
        self.remount(daemon)
        daemon = self.daemons[-1]
        daemon.wait_scanned()
        fds = "/proc/%d/fd" % daemon.process.pid
        for id in ids:
            os.stat(os.path.join(self.image(id), "image.gsym"))
            self.status(id)
        # One more than before: the socket of the process that forks workers.
        wait_until(lambda: len(os.listdir(fds)) <= before + 1, "the descriptors")
        if self.is_too_busy():
            self.skipTest("the machine is too busy to fork within a second")
        wait_until(lambda: re.match(r"\A\S*gsym worker zygote \d+\Z", self.children(daemon)), "no other process")
        zygote = int(run("pgrep", "-P", daemon.process.pid).stdout)
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(os.path.exists("/proc/%d" % zygote))

    @staticmethod
    def children(daemon):
        return run("ps", "--ppid", daemon.process.pid, "-o", "args=", check=False).stdout.decode().strip()


if __name__ == "__main__":
    mount_harness.main()
