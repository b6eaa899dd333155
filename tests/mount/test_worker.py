#!/usr/bin/env python3
"""Workers: their cage, their limits, and what a worker that turned hostile can do (nothing)."""

import concurrent.futures
import errno
import os
import re
import shutil
import signal
import subprocess
import unittest
from unittest import mock

import mount_harness
from mount_harness import BAD_WORKER, GSYM, MountTest, Relay, run, wait_until, within_limit


class WorkerTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)

    def mount_bad(self, act, *options):
        env = dict(os.environ, BAD_WORKER_ACT=act, GSYM=os.path.realpath(GSYM))
        return self.mount("worker=" + BAD_WORKER, *options, env=env)

    def harm(self, act, want, *options):
        """One reader of a mount whose worker misbehaves; the status after it."""
        daemon = self.mount_bad(act, *options)
        daemon.wait_scanned()
        within_limit(lambda: self.assertErrno(want, self.read, self.id, "0x1000"), "the end of the worker that is to " + act)
        status = self.status(self.id)
        self.assertNotIn("\x1b", daemon.log())
        self.assertIsNone(daemon.process.poll())
        fds = "/proc/%d/fd" % daemon.process.pid
        self.assertLess(len(os.listdir(fds)), 40)
        self.assertEqual(daemon.stop(), 0)
        for name in os.listdir(self.cache):
            self.assertTrue(name.startswith("index-") or name.endswith(".failed"), name)
            if name.endswith(".failed"):
                os.unlink(os.path.join(self.cache, name))
        return status

    def test_where_it_is_searched(self):
        """Beside the daemon, in ../bin, in ../libexec/gsymfs, in ../cli: the first that can be executed; or none."""
        places = ["gsym", "../bin/gsym", "../libexec/gsymfs/gsym", "../cli/gsym"]
        for i in range(len(places) + 1):
            home = os.path.join(self.dir, "home%d" % i, "sbin")
            os.makedirs(home)
            daemon = shutil.copy(mount_harness.GSYMFS, home)
            for at, place in enumerate(places):
                path = os.path.normpath(os.path.join(home, place))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if at < i:
                    os.mknod(path, 0o644)  # cannot be executed, which is passed by
                else:
                    os.symlink(os.path.realpath(GSYM) if at == i else "/bin/true", path)
            command = [daemon, "-f", "-o", "cache=" + self.cache, self.source, self.mnt]
            if i == len(places):
                done = run(*command, check=False)
                self.assertIn(b"cannot find the gsym program 'gsym': set -o worker=PATH", done.stderr + done.stdout)
                continue
            log = os.path.join(self.dir, "log%d" % i)
            with open(log, "wb") as out:
                process = subprocess.Popen(command, stdout=out, stderr=out)
            self.processes.append(process)
            wait_until(lambda: process.poll() is not None or b"scan: " in mount_harness.contents(log), "the scan")
            self.assertIsNone(process.poll(), mount_harness.contents(log))
            self.assertIn(self.id, os.listdir(self.mnt))
            process.terminate()
            process.wait(mount_harness.LIMIT)

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_worker_is_named(self):
        """SIGUSR1 says which process an image waits for."""
        daemon = self.mount_bad("hang")
        self.reader(self.id, "0x1000")
        wait_until(lambda: self.status(self.id)["state"].startswith("converting"), "the conversion")

        def worker():
            return re.search(r"state: %s: converting, 0%%, worker (\d+), 1 calls wait\n" % self.id, daemon.state())
        pid = int(wait_until(worker, "the worker")[1])
        self.assertEqual(run("ps", "-o", "ppid=", "-p", pid).stdout.strip(), b"%d" % daemon.process.pid)

    def zygote(self, daemon):
        """The process that forks the workers of @daemon, if there is one."""
        return run("pgrep", "-P", daemon.process.pid, "-f", "worker zygote", check=False).stdout.strip()

    def converted(self, id):
        """Converts an image in a worker that is forked; the machine must let the zygote answer within a second."""
        os.stat(os.path.join(self.image(id), "image.gsym"))
        if self.is_too_busy():
            self.skipTest("the machine is too busy to fork within a second")
        return self.zygote(self.daemons[-1])

    @unittest.skipUnless(mount_harness.is_root() and shutil.which("unshare"), "only root can hide /proc")
    def test_without_proc(self):
        """Messages name what is missing, not what follows from it."""
        for command in ("'%s' lookup '%s' 0x1" % (os.path.realpath(GSYM), self.path),
                        "'%s' '%s' '%s'" % (os.path.realpath(mount_harness.GSYMFS), self.source, self.mnt)):
            done = run("unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && XDG_CACHE_HOME='%s' %s" % (self.cache, command), check=False)
            self.assertRegex(done.stderr.decode(), "/proc is not mounted")

    def test_workers_are_forked(self):
        """All by one process, which may end at any moment."""
        ids = [mount_harness.build_id(self.compile("more%d" % i)) for i in range(4)]
        daemon = self.mount()
        daemon.wait_scanned()
        first = self.converted(ids[0])
        self.assertTrue(first)
        self.assertEqual(self.converted(ids[1]), first)
        self.assertNotIn("cannot fork a worker", daemon.log())
        os.kill(int(first), signal.SIGKILL)
        for id in ids[2:]:
            last = self.converted(id)
        self.assertNotIn(last, (b"", first))
        self.assertEqual(daemon.log().count("cannot fork a worker"), 1)

    def test_workers_inherit_nothing(self):
        """Neither the connection to the kernel nor what wakes threads of the daemon: only the socket and standard error."""
        daemon = self.mount()
        daemon.wait_scanned()
        fds = "/proc/%d/fd" % int(self.converted(self.id))
        links = {int(fd): os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)}
        self.assertEqual([link for fd, link in links.items() if fd > 2 and not link.startswith("socket:")], [], links)

    def test_upgrade_under_a_mount(self):
        """The daemon goes on with the worker that it began with, whatever is installed in its place."""
        mine, other = os.path.join(self.dir, "gsym"), mount_harness.build_id(self.compile("other"))
        shutil.copy(GSYM, mine)
        daemon = self.mount("worker=" + mine)
        daemon.wait_scanned()
        self.assertTrue(self.converted(self.id))
        os.rename(shutil.copy("/bin/true", mine + ".new"), mine)
        os.kill(int(self.zygote(daemon)), signal.SIGKILL)  # as after as many conversions as one may fork
        self.converted(other)
        later = mount_harness.build_id(self.compile("later"))
        wait_until(lambda: later in self.ids(), "a scan with a new worker")
        self.assertTrue(self.converted(later))
        self.assertNotIn("is not the gsym program", daemon.log())

    def test_workers_die_first(self):
        """Of this process and those it starts the kernel ends a worker where memory is short."""
        daemon = self.mount()
        daemon.wait_scanned()
        def score(pid):
            return int(mount_harness.contents("/proc/%d/oom_score_adj" % int(pid)))
        self.assertGreater(score(self.converted(self.id)), score(daemon.process.pid))

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_killed_for_memory(self):
        """The reason says so, and it counts as a crash, not as a failure of the file."""
        daemon = self.mount_bad("hang", "threads=1")
        daemon.wait_scanned()
        reader = self.reader(self.id, "0x1000")
        worker = wait_until(lambda: re.search(r"converting, .*, worker (\d+)", daemon.state()), "the worker")
        os.kill(int(worker[1]), signal.SIGKILL)
        self.assertIn("Input/output error", self.finish(reader)[2])
        self.assertIn("memory", self.status(self.id)["reason"])
        self.assertRegex(self.read("metrics"), r'conversions_total\{.*result="crashed"\} 1\n')

    def test_memory_of_the_control_group(self):
        """No conversion may use more than it allows, since the kernel would kill the worker, or the daemon."""
        if "sanitize" in os.environ.get("BUILD_KIND", ""):
            self.skipTest("sanitizers need more memory than any limit allows")
        group = self.control_group(32 << 20)
        script = os.path.join(self.dir, "limited")
        with open(script, "w") as file:
            file.write('#!/bin/sh\necho $$ >"%s/cgroup.procs" || exit 1\nexec "%s" "$@"\n' % (group, mount_harness.GSYMFS))
        os.chmod(script, 0o755)
        with mock.patch.object(mount_harness, "GSYMFS", script):
            daemon = self.mount("threads=1")
        daemon.wait_scanned()
        self.assertIn("a conversion may use %d bytes" % (24 << 20), daemon.log())
        self.assertTrue(self.converted(self.id))
        self.assertEqual(daemon.stop(), 0)

    def control_group(self, limit):
        """A new control group with a limit of memory, or a skip."""
        for parent, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            group = os.path.join(parent, "gsymfs-test-%d" % os.getpid())
            try:
                os.mkdir(group)
                self.addCleanup(os.rmdir, group)
                with open(os.path.join(group, file), "w") as limits:
                    limits.write(str(limit))
                return group
            except OSError:
                continue
        self.skipTest("no control group of memory can be made")

    def test_zygote_is_replaced_between_workers(self):
        """Not while it forks those that others asked for: each would be started in 3 ms, not forked."""
        content, id = mount_harness.contents(self.path), bytes.fromhex(self.id)
        ids = [os.urandom(len(id)) for _ in range(400)]
        for other in ids:
            with open(os.path.join(self.source, other.hex()), "wb") as file:
                file.write(content.replace(id, other))
        daemon = self.mount("jobs=16", "threads=1")
        daemon.wait_scanned()
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            list(pool.map(lambda other: os.stat(os.path.join(self.image(other.hex()), "image.gsym")), ids))
        self.assertEqual(daemon.log().count("converted"), len(ids))
        if not self.is_too_busy():  # when such a zygote is ended, other requests to it fail, too
            self.assertNotIn("cannot fork a worker", daemon.log())

    def cold_images(self, count):
        """Ids of programs that nothing was asked of."""
        return [mount_harness.build_id(self.compile("cold%d" % i)) for i in range(count)]

    def ask_cold(self, ids):
        """Asks all of @ids at the same time. A start may take a minute; waiting for one that long is a hang."""
        with concurrent.futures.ThreadPoolExecutor(len(ids)) as pool:
            list(pool.map(lambda id: os.stat(os.path.join(self.image(id), "image.gsym")), ids, timeout=55))

    def test_zygote_that_is_stopped(self):
        """It delays the first of its workers for a second, and is ended."""
        ids = self.cold_images(6)
        daemon = self.mount("jobs=2", "threads=1")
        daemon.wait_scanned()
        zygote = int(wait_until(lambda: self.zygote(daemon), "the zygote"))
        os.kill(zygote, signal.SIGSTOP)
        self.addCleanup(lambda: self.zygote(daemon) == b"%d" % zygote and os.kill(zygote, signal.SIGCONT))
        self.ask_cold(ids)
        self.assertNotEqual(self.zygote(daemon), b"%d" % zygote)
        self.assertFalse(os.path.exists("/proc/%d" % zygote))
        self.assertNotIn("cannot convert", daemon.log())

    def children(self, daemon):
        """[(process ID, state)] of what the daemon has started, but for its worker of scans."""
        lines = run("ps", "-o", "pid=,state=,args=", "--ppid", daemon.process.pid, check=False).stdout.decode().split("\n")
        return [line.split()[:2] for line in lines if line and "worker scan" not in line]

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_workers_that_say_nothing(self):
        """Ended or stopped before the daemon knows of them: they are replaced, and leave no process."""
        ids = self.cold_images(3)
        for act in ("fork-dead", "fork-dead-and-die", "fork-stopped", "fork-stopped-and-stop"):
            with self.subTest(act):
                daemon = self.mount_bad(act, "jobs=2", "threads=1")
                daemon.wait_scanned()
                self.ask_cold(ids)
                self.assertIn("cannot fork a worker", daemon.log())
                self.assertNotIn("cannot convert", daemon.log())
                left = self.children(daemon)
                self.assertEqual([state for _, state in left if state in "TtZ"], [])
                self.assertLessEqual(len(left), 1)
                self.assertEqual(daemon.stop(), 0)
                for name in os.listdir(self.cache):
                    os.unlink(os.path.join(self.cache, name))

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_crash_replaces_the_zygote(self):
        """No two attempts at the same addresses."""
        daemon = self.mount_bad("crash", "jobs=1")  # each thread that converts starts one when it begins
        daemon.wait_scanned()
        self.assertErrno(errno.EIO, self.read, self.id, "0x1000")
        self.assertEqual(self.zygote(daemon), b"")
        self.assertNotRegex(daemon.log(), "cannot fork a worker: (?!no answer in time)")

    @unittest.skipIf("sanitize" in os.environ.get("BUILD_KIND", ""), "sanitizers do without the sandbox")
    def test_zygote_is_in_its_sandbox(self):
        daemon = self.mount()
        daemon.wait_scanned()
        path = "/proc/%s/" % self.converted(self.id).decode()
        status = self.process(path)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["CapPrm"], "0" * 16)
        if not mount_harness.is_root():
            self.assertRaises(OSError, os.listdir, path + "fd")
            return
        self.assertEqual(status["Uid"].split(), ["65534"] * 4)
        self.assertFalse(os.path.exists(path + "root/etc"))
        open_files = [os.readlink(path + "fd/" + fd) for fd in os.listdir(path + "fd") if int(fd) > 2]
        self.assertRegex(" ".join(open_files), r"\Asocket:\S+\Z")

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_hostile_workers(self):
        for act in ("nothing", "status-3", "crash", "short-message", "long-message", "unknown-type", "wrong-size",
                    "no-end-of-text", "progress-beyond-end", "twice-done", "empty-output", "size-lie", "noise-output"):
            with self.subTest(act):
                status = self.harm(act, errno.EIO)
                self.assertTrue(status["reason"])
                self.assertEqual(status["state"], "cold")

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_hostile_words(self):
        status = self.harm("escapes", errno.EIO)
        self.assertEqual(status["state"], "failed")
        self.assertIn(".debug_info+0x12", status["reason"])
        self.assertNotIn("forged", status)
        self.assertEqual(self.harm("warnings", errno.EIO)["state"], "failed")
        self.assertIn("protocol", self.harm("descriptors", errno.EIO)["reason"])

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_crashes_are_not_tried_for_ever(self):
        self.mount_bad("crash").wait_scanned()
        for _ in range(6):
            self.assertErrno(errno.EIO, self.read, self.id, "0x1000")
        status = self.status(self.id)
        self.assertEqual((status["state"], status["conversions"]), ("failed", "3"))

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_files_asked_for(self):
        """Twenty thousand questions for what lies elsewhere: no file, and the daemon answers all."""
        self.assertEqual(self.harm("ask-much", errno.EIO)["reason"], "no way out")

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_reported_limits(self):
        status = self.harm("memory", errno.EFBIG)
        self.assertEqual(status["state"], "failed")
        self.assertIn("convert_memory", status["reason"])
        self.assertEqual(self.harm("disk", errno.ENOSPC)["state"], "failed")
        # The daemon finds room: the conversions of others still go to the disk.
        self.assertNotIn("conversions are kept in memory", self.daemons[-1].log())

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_memory_of_the_machine(self):
        """What it has not, it may have a second later."""
        self.mount_bad("machine-memory").wait_scanned()

        def tried_twice():
            self.assertErrno(errno.EIO, self.read, self.id, "0x1000")
            status = self.status(self.id)
            self.assertNotIn("convert_memory", status["reason"])
            return status["conversions"] == "2"
        wait_until(tried_twice, "another conversion")

    @unittest.skipUnless(BAD_WORKER, "the hostile worker was not built")
    def test_time_limit(self):
        for act in ("hang", "burn"):
            status = self.harm(act, errno.EFBIG, "convert_time=1", "threads=1")
            self.assertEqual(status["state"], "failed")
            self.assertIn("convert_time=1", status["reason"])

    def test_memory_limit(self):
        """A real worker that may allocate next to nothing says so, or dies of it; nobody waits for ever."""
        if "sanitize" in os.environ.get("BUILD_KIND", ""):
            self.skipTest("sanitizers need more memory than any limit allows")
        big = self.compile("big", flags=["-static-libstdc++"])
        self.mount("convert_memory=64K", "threads=1").wait_scanned()
        id = mount_harness.build_id(big)
        with self.assertRaises(OSError) as caught:
            os.stat(os.path.join(self.image(id), "image.gsym"))
        self.assertIn(caught.exception.errno, (errno.EFBIG, errno.EIO))
        self.assertTrue(self.status(id)["reason"])

    def live_worker(self):
        """(daemon, directory in /proc) of a scan worker that is in its sandbox and waits for its first file."""
        relay = Relay(self)
        relay.hold(1)
        daemon = self.mount("worker=" + relay.worker)
        relay.wait_asked(1)
        between = run("pgrep", "-P", daemon.process.pid, "-f", "worker scan").stdout.strip()
        worker = wait_until(lambda: run("pgrep", "-P", between.decode(), check=False).stdout.strip(), "the worker")
        path = "/proc/%s/" % worker.decode().split()[0]
        wait_until(lambda: self.process(path).get("NoNewPrivs") == "1", "no new privileges")
        if os.environ.get("HAVE_SECCOMP", "1") and "Seccomp" in self.process(path):
            wait_until(lambda: self.process(path)["Seccomp"] == "2", "the filter of system calls")
        return daemon, path

    @staticmethod
    def process(path):
        with open(path + "status") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    @unittest.skipIf("sanitize" in os.environ.get("BUILD_KIND", ""), "sanitizers do without the sandbox")
    def test_sandbox(self):
        """The scan worker at work, seen from outside."""
        _, path = self.live_worker()
        with open(path + "limits") as file:
            limits = file.read()
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        self.assertRegex(limits, r"Max file size +0 +0 ")
        self.assertRegex(limits, r"Max data size +\d+ +\d+ ")
        open_files = [os.readlink(path + "fd/" + fd) for fd in os.listdir(path + "fd") if int(fd) > 2]
        self.assertEqual([name for name in open_files if not name.startswith("socket:")], [])

    @unittest.skipIf("sanitize" in os.environ.get("BUILD_KIND", ""), "sanitizers do without the sandbox")
    @unittest.skipUnless(mount_harness.is_root(), "only root has what is taken away")
    def test_worker_of_root(self):
        """It has neither root's user nor any capability, and sees neither network nor files."""
        daemon, path = self.live_worker()
        status = self.process(path)
        self.assertEqual(status["Uid"].split(), ["65534"] * 4)
        self.assertEqual(status["Gid"].split(), ["65534"] * 4)
        self.assertEqual(status.get("Groups", "").split(), [])
        self.assertEqual({status[sets] for sets in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}, {"0" * 16})
        self.assertRaises(OSError, os.listdir, path + "root/")
        self.assertFalse(os.path.exists(path + "root/etc"))
        self.assertEqual(os.readlink(path + "root"), os.readlink(path + "cwd"))
        for space in ("user", "net", "ipc"):
            if run("unshare", "--" + space, "true", check=False).returncode == 0:
                self.assertNotEqual(os.readlink(path + "ns/" + space), os.readlink("/proc/self/ns/" + space))
        self.assertIsNone(daemon.process.poll())

    def test_refuses_people(self):
        done = run(GSYM, "worker", "convert", "1", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"gsymfs", done.stderr)


if __name__ == "__main__":
    mount_harness.main()
