#!/usr/bin/env python3
"""The mount given on by servers in user space: nfs-ganesha to NFSv4, and Samba, to clients without a mount of their own.

The servers are children of the test with configurations of their own, on ports of the loopback interface.
EXPORT_TEST_ANSWERS says how many answers are compared; 100 unless it is set.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import mount_harness
import nfs4
from mount_harness import LIMIT, MountTest, run, tool, wait_until

ANSWERS = int(os.environ.get("EXPORT_TEST_ANSWERS", "100"))
PATH = ":".join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


def program(name):
    return shutil.which(name, path=PATH)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end_with_parent():
    """A test that is killed cannot stop its servers."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


def answers_at(port):
    try:
        socket.create_connection(("127.0.0.1", port), LIMIT).close()
        return True
    except OSError:
        return False


class Server:
    """A child that listens on a port of its own, and its log."""

    def __init__(self, test, name):
        self.test, self.name = test, name
        self.dir = os.path.join(test.dir, name)
        self.log_path = os.path.join(test.dir, name + ".out")
        self.process = None
        os.mkdir(self.dir, 0o755)

    def run(self, *argv):
        self.port = free_port()
        self.configure()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                            preexec_fn=end_with_parent)
        self.test.addCleanup(self.stop)
        wait_until(lambda: self.process.poll() is not None or answers_at(self.port), self.name)
        if self.process.poll() is not None:
            self.test.skipTest("%s does not run here: %s" % (self.name, self.log()[-2000:]))

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def stop(self):
        """SIGTERM, on which it ends its children; then nothing of its process group is left."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(LIMIT)


class Ganesha(Server):
    """nfs-ganesha with the mount as /sym. Major64: handles do not depend on the device number of the mount."""

    def __init__(self, test):
        super().__init__(test, "ganesha")
        self.exports = os.path.join(self.dir, "exports.conf")
        self.start()

    def start(self):
        self.run(program("ganesha.nfsd"), "-F", "-f", os.path.join(self.dir, "ganesha.conf"), "-L", "STDOUT", "-p",
                 os.path.join(self.dir, "pid"), "-N", "EVENT")
        wait_until(lambda: self.log().count("NFS SERVER INITIALIZED") > 0, "ganesha")

    def write_exports(self, exported):
        with open(self.exports, "w") as file:
            if exported:
                file.write("""EXPORT {
    Export_Id = 1; Path = %s; Pseudo = /sym; Access_Type = RO; Squash = No_Root_Squash; SecType = sys;
    Protocols = 4; Transports = TCP; Filesystem_Id = 71.1; FSAL { Name = VFS; fsid_type = Major64; }
}
""" % self.test.mnt)

    def configure(self):
        self.write_exports(True)
        with open(os.path.join(self.dir, "ganesha.conf"), "w") as file:
            file.write("""NFS_CORE_PARAM {
    Protocols = 4; NFS_Port = %d; Bind_addr = 127.0.0.1; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false;
}
NFSv4 { Graceless = true; RecoveryRoot = %s; Only_Numeric_Owners = true; }
%%include "%s"
""" % (self.port, os.path.join(self.dir, "recovery"), self.exports))

    def export_again(self):
        """Lets go of the mount that has ended, and takes the new one, by two readings of the configuration."""
        for exported in (False, True):
            self.write_exports(exported)
            self.process.send_signal(signal.SIGHUP)
            wait_until(lambda: self.is_exported() == exported, "exports of ganesha")

    def is_exported(self):
        client = nfs4.Client(self.port, LIMIT)
        try:
            client.handle("sym/README")
        except nfs4.Error:
            return False
        finally:
            client.close()
        return True

    def url(self, path):
        return "nfs://127.0.0.1/sym/%s?version=4&nfsport=%d" % (path, self.port)

    def cat(self, path):
        return run("nfs-cat", self.url(path)).stdout


class Samba(Server):
    """smbd with the mount as the share sym, for guests."""

    def __init__(self, test):
        super().__init__(test, "samba")
        os.mkdir(os.path.join(self.dir, "private"), 0o700)
        self.start()

    def start(self):
        self.run(program("smbd"), "-F", "--no-process-group", "--debug-stdout", "-s", os.path.join(self.dir, "smb.conf"))

    def configure(self):
        with open(os.path.join(self.dir, "smb.conf"), "w") as file:
            file.write("""[global]
server role = standalone server
map to guest = bad user
smb ports = %d
bind interfaces only = yes
interfaces = 127.0.0.1/8
disable netbios = yes
disable spoolss = yes
load printers = no
printing = bsd
printcap name = /dev/null
private dir = %s/private
lock directory = %s
state directory = %s
cache directory = %s
pid directory = %s
ncalrpc dir = %s/ncalrpc
log file = %s/log
[sym]
path = %s
read only = yes
guest ok = yes
force user = nobody
oplocks = no
""" % ((self.port,) + (self.dir,) * 7 + (self.test.mnt,)))

    def client(self, *commands):
        done = run("smbclient", "-s", os.path.join(self.dir, "smb.conf"), "-N", "-t", str(LIMIT), "-p", str(self.port),
                   "//127.0.0.1/sym", "-c", ";".join(commands))
        return done.stdout

    def fetch(self, paths, where):
        """Copies files into the directory @where, as 0, 1, 2 and so on."""
        self.client(*("get %s %s" % (path.replace("/", "\\"), os.path.join(where, str(i))) for i, path in enumerate(paths)))
        return [mount_harness.contents(os.path.join(where, str(i))) for i in range(len(paths))]


class ExportTest(MountTest):
    NEEDED = ()

    def setUp(self):
        if not mount_harness.is_root():
            self.skipTest("servers open files by handle, and as their users, only as root")
        missing = [name for name in self.NEEDED if not program(name)]
        if missing:
            self.skipTest("not installed: " + ", ".join(missing))
        super().setUp()
        paths = [self.compile()] + [self.compile_other("other%d" % i) for i in range(3)]
        self.objects = {mount_harness.build_id(path): path for path in paths}
        self.daemon = self.serve()

    def serve(self):
        daemon = self.mount("allow_other")
        daemon.wait_scanned()
        return daemon

    def restart(self):
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon = self.serve()

    def names(self):
        """Names of answers of all images, in several formats and places."""
        names = []
        self.contents(self.others())  # or answers may be of fragments, whose handles the next daemon does not know
        per_image = ANSWERS // len(self.objects) + 1
        forms = ("%#x", "%016x", "%#x.json", "rva/%#x", "off/%#x.tsv", "%#x.raw")
        for id, path in sorted(self.objects.items()):
            inside = [a for start, end, _ in self.functions(path) for a in range(start, end)]
            named = [os.path.join(id, form % a) for form in forms for a in inside if os.path.exists(
                os.path.join(self.mnt, id, form % a))]
            names += named[::max(1, len(named) // per_image)][:per_image]
        self.assertGreaterEqual(len(names), ANSWERS)
        return names[:ANSWERS]

    def expect_first(self, fetch):
        """What makes the daemon convert is asked through the server, which waits: a file, and an address."""
        by_file, by_address = sorted(self.objects.items())[:2]
        name = os.path.join(by_file[0], "image.gsym")
        self.assertEqual(fetch(name), self.contents([name])[0])
        name = os.path.join(by_address[0], "%#x" % self.functions(by_address[1])[0][0])
        self.assertEqual(fetch(name), self.contents([name])[0])
        self.assertEqual(self.conversions(), 2)

    def assertUntouched(self):
        """Nothing was converted, and no conversion was opened, which means to read all of it."""
        self.assertEqual(self.conversions(), 0)
        self.assertEqual({self.status(id)["state"] for id in self.objects}, {"cold"})

    def others(self):
        """Other files whose content does not change."""
        return ["README"] + [os.path.join(id, name) for id in sorted(self.objects)
                             for name in ("image.gsym", "functions.tsv", "lines.tsv", "files.tsv")]

    def contents(self, names):
        return [mount_harness.contents(os.path.join(self.mnt, name)) for name in names]


class NfsTest(ExportTest):
    NEEDED = ("ganesha.nfsd", "nfs-cat", "nfs-ls")

    def setUp(self):
        super().setUp()
        self.ganesha = Ganesha(self)

    def listing(self):
        return run("nfs-ls", "-R", self.ganesha.url("")).stdout.decode()

    def test_listing_converts_nothing(self):
        listing = self.listing()
        for id in self.objects:
            self.assertIn(id, listing)
        self.assertIn("info.json", listing)
        self.assertEqual(self.conversions(), 0)
        name = next(iter(self.objects)) + "/image.gsym"
        self.assertEqual(self.ganesha.cat(name), self.contents([name])[0])
        self.listing()
        self.assertEqual(self.conversions(), 1)
        self.restart()
        self.ganesha.export_again()
        self.listing()
        self.assertUntouched()

    def expect_all(self, names):
        for name, data in zip(names, self.contents(names)):
            self.assertEqual(self.ganesha.cat(name), data, name)

    def test_answers(self):
        self.expect_first(self.ganesha.cat)
        names = self.names() + self.others()
        self.expect_all(names)
        self.restart()
        self.ganesha.export_again()
        self.expect_all(names)
        self.ganesha.stop()
        self.ganesha.start()
        self.expect_all(names[:10])

    def read_all(self, handles):
        client = nfs4.Client(self.ganesha.port, LIMIT)
        try:
            found = []
            for handle in handles:
                found.append(client.read(handle))
                self.assertEqual(client.size(handle), len(found[-1]))
            return found
        finally:
            client.close()

    def test_handles(self):
        """What a client knows by handle, it still has after the kernel, the daemon and the server have forgotten it."""
        names = self.names()[:20] + self.others()
        want = self.contents(names)
        client = nfs4.Client(self.ganesha.port, LIMIT)
        directory = client.handle("sym/" + sorted(self.objects)[0])
        inside = client.handle_in(directory, "status")
        handles = [client.handle("sym/" + name) for name in names]
        symbol = client.handle("sym/%s/sym/_ZNK3geo5point4normEv" % sorted(self.objects)[0])
        client.close()
        self.assertEqual(self.read_all(handles), want)
        with open("/proc/sys/vm/drop_caches", "w") as drop:
            drop.write("2")
        self.assertEqual(self.read_all(handles), want)
        self.restart()
        self.ganesha.export_again()
        self.assertEqual(self.read_all(handles), want)
        self.ganesha.stop()
        self.restart()
        self.ganesha.start()
        self.assertEqual(self.read_all(handles), want)
        client = nfs4.Client(self.ganesha.port, LIMIT)
        self.assertEqual(client.handle_in(directory, "status"), inside)
        with self.assertRaises(nfs4.Error) as caught:
            client.read(symbol)
        self.assertEqual(caught.exception.status, nfs4.STALE)
        client.close()
        self.assertEqual(self.conversions(), 0)


class SambaTest(ExportTest):
    NEEDED = ("smbd", "smbclient")

    def setUp(self):
        super().setUp()
        self.samba = Samba(self)
        self.where = os.path.join(self.dir, "fetched")
        os.mkdir(self.where)

    def listing(self):
        return self.samba.client("recurse", "ls").decode()

    def test_listing_converts_nothing(self):
        listing = self.listing()
        for id in self.objects:
            self.assertIn(id, listing)
        self.assertIn("info.json", listing)
        self.assertEqual(self.conversions(), 0)
        name = next(iter(self.objects)) + "/image.gsym"
        self.assertEqual(self.samba.fetch([name], self.where), self.contents([name]))
        self.assertIn("image.gsym", self.listing())
        self.assertEqual(self.conversions(), 1)
        self.restart()
        self.listing()
        self.assertUntouched()

    def test_answers(self):
        self.expect_first(lambda name: self.samba.fetch([name], self.where)[0])
        names = self.names() + self.others()
        for _ in range(2):
            for i in range(0, len(names), 100):
                part = names[i:i + 100]
                self.assertEqual(self.samba.fetch(part, self.where), self.contents(part))
            self.restart()


if __name__ == "__main__":
    mount_harness.main()
