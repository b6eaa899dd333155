"""Stores that people have, each in a private directory, for fleet.py."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid

import store_servers
from s3_server import S3Server
from store_servers import free_port

LIMIT = 240


class Store:
    """One store; subclasses say what is started."""

    has_port = can_be_killed = True
    program = None
    options = ()  # of the daemon
    env = {}

    def __init__(self, place):
        self.place = place
        self.port = 0
        os.makedirs(place)
        os.chmod(place, 0o755)

    @classmethod
    def is_installed(cls):
        return shutil.which(cls.program, path=os.environ["PATH"] + ":/usr/sbin") is not None

    def stop_server(self):
        """Ends what takes requests at once; start() brings it back with what was stored."""
        self.stop()


class HttpStore(Store):
    """A server of store_servers.py."""

    kind = None

    @classmethod
    def is_installed(cls):
        return cls.kind.is_installed()

    def __init__(self, place):
        super().__init__(place)
        self.server = self.kind(pathlib.Path(place) / "server")
        self.port = 0

    def start(self):
        if self.port:
            if not self.server.start():
                raise RuntimeError("%s does not start again" % self.kind.program)
            return
        self.server.__enter__()
        self.port = self.server.port

    def address(self, port):
        """Of the store, or of a proxy before it at @port."""
        return "http://127.0.0.1:%d/store" % (port or self.port)

    def signal_all(self, sig):
        parent = self.server.process.pid
        found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False).stdout.split()
        for pid in [parent, *map(int, found)]:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass

    def pause(self):
        self.signal_all(signal.SIGSTOP)

    def stop(self):
        if self.server.process and self.server.process.poll() is None:
            self.signal_all(signal.SIGCONT)
            self.signal_all(signal.SIGKILL)
        self.server.stop()


class Apache(HttpStore):
    kind = store_servers.Apache


class Lighttpd(HttpStore):
    kind = store_servers.Lighttpd


class Nginx(HttpStore):
    kind = store_servers.Nginx


class Directory(Store):
    """A directory of this machine; when it is to be full, a file system of its own."""

    has_port = False

    def __init__(self, place):
        super().__init__(place)
        self.files = os.path.join(place, "files")
        os.mkdir(self.files, 0o700)

    @classmethod
    def is_installed(cls):
        return True

    def start(self):
        pass

    def address(self, port):
        return self.files

    def fill(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", self.files], check=True)

    def stop(self):
        if os.path.ismount(self.files):
            subprocess.run(["umount", "-l", self.files], check=True)


class Ceph(Store):
    """A cluster of one machine that keeps its objects in memory: one of each daemon, without keys between them."""

    CONFIG = """
[global]
fsid = @FSID@
mon host = [v1:127.0.0.1:@MON@]
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
osd pool default pg num = 8
osd objectstore = memstore
memstore device bytes = 2147483648
osd crush chooseleaf type = 0
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = @PLACE@/run
admin socket = @PLACE@/run/$name.$pid.asok
log file = @PLACE@/log/$name.log
pid file = @PLACE@/run/$name.pid
crash dir = @PLACE@/crash
mon data = @PLACE@/mon
mgr data = @PLACE@/mgr
osd data = @PLACE@/osd
mds data = @PLACE@/mds
rgw data = @PLACE@/rgw
rgw frontends = beast endpoint=127.0.0.1:@PORT@
"""

    def __init__(self, place):
        super().__init__(place)
        self.cluster = []

    def run(self, *argv):
        environment = dict(os.environ, CEPH_CONF=os.path.join(self.place, "ceph.conf"))
        return subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, cwd=self.place, timeout=LIMIT).stdout

    def spawn(self, *argv):
        environment = dict(os.environ, CEPH_CONF=os.path.join(self.place, "ceph.conf"))
        with open(os.path.join(self.place, "server.log"), "ab") as log:
            process = subprocess.Popen([*argv, "-f"], env=environment, stdout=log, stderr=log, cwd=self.place)
        self.cluster.append(process)
        return process

    def wait_for(self, *argv, text):
        end = time.monotonic() + LIMIT
        while True:
            try:
                if text in self.run(*argv):
                    return
            except subprocess.CalledProcessError:  # a monitor that is still electing itself refuses
                pass
            if time.monotonic() > end:
                raise RuntimeError("%s: no %s" % (" ".join(argv), text))
            time.sleep(0.2)

    def start_cluster(self):
        for name in ("run", "log", "crash", "mon", "mgr", "osd", "mds", "rgw"):
            os.makedirs(os.path.join(self.place, name), exist_ok=True)
        self.port, mon, fsid = free_port(), free_port(), str(uuid.uuid4())
        text = self.CONFIG.replace("@PLACE@", self.place).replace("@PORT@", str(self.port)).replace("@MON@", str(mon))
        with open(os.path.join(self.place, "ceph.conf"), "w", encoding="utf-8") as file:
            file.write(text.replace("@FSID@", fsid))
        self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", "[v1:127.0.0.1:%d]" % mon, "monmap")
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", "monmap")
        self.spawn("ceph-mon", "-i", "a")
        self.wait_for("ceph", "mon", "stat", text="quorum 0")
        self.spawn("ceph-mgr", "-i", "x")
        self.run("ceph", "osd", "new", str(uuid.uuid4()), "0")
        identity = json.loads(self.run("ceph", "osd", "dump", "-f", "json"))["osds"][0]["uuid"]
        self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", identity)
        self.spawn("ceph-osd", "-i", "0")
        self.wait_for("ceph", "osd", "stat", text="1 up")

    def stop(self):
        for process in reversed(self.cluster):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(LIMIT)
        self.cluster.clear()


class S3:
    """The bucket, and the keys of who may use it."""

    KEY, SECRET, REGION = "TESTKEY", "TESTSECRET", "us-east-1"

    @property
    def env(self):
        return {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:%d" % self.reached_at, "AWS_ACCESS_KEY_ID": self.KEY,
                "AWS_SECRET_ACCESS_KEY": self.SECRET, "AWS_REGION": self.REGION}

    def address(self, port):
        self.reached_at = port or self.port
        return "s3://symbols/prod"


class TestS3(S3, Store):
    """The server of the tests, which verifies signatures. A thread of this program: it cannot be killed."""

    can_be_killed = False

    @classmethod
    def is_installed(cls):
        return True

    def start(self):
        self.server = S3Server(self.REGION, {self.KEY: (self.SECRET, None)}, ["symbols"])
        self.server.__enter__()
        self.port = self.server.server_address[1]

    def stop(self):
        self.server.__exit__()


class Radosgw(S3, Ceph):
    """Ceph's S3, which verifies signatures."""

    program = "radosgw"
    EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    def start(self):
        if not self.cluster:
            self.start_cluster()
        self.gateway = self.spawn("radosgw", "-n", "client.rgw.a")
        self.wait_for("curl", "-s", "--retry", "100", "--retry-connrefused", "--retry-delay", "1", "http://127.0.0.1:%d/" % self.port,
                      text="ListAllMyBucketsResult")
        users = self.run("radosgw-admin", "-n", "client.rgw.a", "user", "list")
        if "gsym" not in users:
            self.run("radosgw-admin", "-n", "client.rgw.a", "user", "create", "--uid=gsym", "--display-name=gsym",
                     "--access-key=" + self.KEY, "--secret-key=" + self.SECRET)
            self.request("PUT", "symbols")
            # With the first object the gateway makes pools, for two seconds.
            self.request("PUT", "symbols/first")
            self.request("DELETE", "symbols/first")

    def request(self, method, path):
        self.run("curl", "-sf", "--aws-sigv4", "aws:amz:%s:s3" % self.REGION, "--user", self.KEY + ":" + self.SECRET, "-H",
                 "x-amz-content-sha256: " + self.EMPTY, "-X", method, "--data", "", "http://127.0.0.1:%d/%s" % (self.port, path))

    def pause(self):
        self.gateway.send_signal(signal.SIGSTOP)

    def stop_server(self):
        self.gateway.kill()
        self.gateway.wait(LIMIT)
        self.cluster.remove(self.gateway)


class CephFs(Ceph):
    """A directory on CephFS: each host has a mount of its own, as on machines of their own."""

    program = "ceph-fuse"
    has_port = False
    MOUNTS = 2

    def start(self):
        self.mounts = []
        self.start_cluster()
        self.spawn("ceph-mds", "-i", "a")
        self.run("ceph", "osd", "pool", "create", "meta")
        self.run("ceph", "osd", "pool", "create", "data")
        self.run("ceph", "fs", "new", "symbols", "meta", "data")
        self.wait_for("ceph", "mds", "stat", text="up:active")
        self.mounts = [os.path.join(self.place, "fs%d" % n) for n in range(self.MOUNTS)]
        for path in self.mounts:
            os.mkdir(path)
            self.spawn("ceph-fuse", "--client-die-on-failed-remount=false", path)
            end = time.monotonic() + LIMIT
            while not os.path.ismount(path):
                if time.monotonic() > end:
                    raise RuntimeError("%s is not mounted" % path)
                time.sleep(0.1)
        os.makedirs(os.path.join(self.mounts[0], "files"), mode=0o700)
        self.port, self.turn = 0, 0

    def address(self, port):
        self.turn += 1
        return os.path.join(self.mounts[self.turn % self.MOUNTS], "files")

    def stop(self):
        for path in self.mounts:
            subprocess.run(["umount", "-l", path], check=False, capture_output=True)
        super().stop()


KINDS = {"directory": Directory, "apache2": Apache, "lighttpd": Lighttpd, "nginx": Nginx, "S3 of the tests": TestS3, "radosgw": Radosgw,
         "cephfs": CephFs}
