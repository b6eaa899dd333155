"""Ceph's gateway for S3 with a cluster of one monitor and one store in memory, as private children on loopback.

    with CephStore(directory) as ceph:
        ceph.environment, of programs that use the bucket "symbols"
"""
import hashlib
import shutil
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

from lib.store_servers import HANG, free_port

PROGRAMS = ("ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "monmaptool", "ceph", "curl")
PACKAGES = "ceph-mon ceph-osd radosgw curl"
KEY, SECRET = "KEY1", "wJalr/XUtnFEMI"


class CephStore:
    @staticmethod
    def is_installed():
        return all(shutil.which(program) for program in PROGRAMS)

    def __init__(self, directory):
        self.directory, self.children = Path(directory), []

    def config(self, fsid, first, second):
        d = self.directory
        return f"""[global]
fsid = {fsid}
mon_host = [v2:127.0.0.1:{first},v1:127.0.0.1:{second}]
mon_initial_members = z
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
# Nothing but loopback: no keys. The gateway's own default is an encrypted connection, which needs them.
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
keyring = {d}/keyring
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_objectstore = memstore
mon_allow_pool_size_one = true
mon_data_avail_crit = 1
mon_data = {d}/mon
osd_data = {d}/osd
rgw_data = {d}/rgw
run_dir = {d}/run
admin_socket = {d}/run/$name.asok
log_file = {d}/$name.log
rgw_frontends = beast endpoint=127.0.0.1:{self.port}
rgw_thread_pool_size = 16
"""

    def run(self, *words):
        done = subprocess.run([*words, "-c", self.directory / "ceph.conf"], capture_output=True, text=True, timeout=HANG)
        if done.returncode:
            raise SystemExit(f"{words[0]}: {done.stderr}")
        return done.stdout

    def start(self, *words):
        log = open(self.directory / "output", "ab")
        with log:
            self.children.append(subprocess.Popen([*words, "-f", "-c", self.directory / "ceph.conf"],
                                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def wait(self, what, ready):
        until = time.monotonic() + HANG
        while time.monotonic() < until:
            if any(child.poll() is not None for child in self.children):
                break
            if ready():
                return
            time.sleep(0.1)
        print((self.directory / "output").read_text(), file=sys.stderr)
        raise SystemExit(f"ceph: {what} does not start")

    def serves(self):
        with socket.socket() as probe:
            return (probe.connect_ex(("127.0.0.1", self.port)) == 0 and probe.getsockname() != probe.getpeername())

    def __enter__(self):
        try:
            self.start_all()
        except BaseException:
            self.stop()
            raise
        return self

    def start_all(self):
        d, fsid, first, second = self.directory, uuid.uuid4(), free_port(), free_port()
        self.port = free_port()
        for name in ("mon", "osd", "rgw", "run"):
            (d / name).mkdir(parents=True)
        (d / "keyring").touch()
        (d / "ceph.conf").write_text(self.config(fsid, first, second))
        subprocess.run(["monmaptool", "--create", "--addv", "z", f"[v2:127.0.0.1:{first},v1:127.0.0.1:{second}]", "--fsid",
                        str(fsid), d / "monmap"], check=True, capture_output=True)
        self.run("ceph-mon", "--mkfs", "-i", "z", "--monmap", d / "monmap")
        self.start("ceph-mon", "-i", "z")
        osd = str(uuid.uuid4())
        self.run("ceph", "osd", "new", osd)
        self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.start("ceph-osd", "-i", "0")
        self.run("ceph", "osd", "crush", "add", "osd.0", "1.0", "root=default", "host=localhost")
        self.wait("the store", lambda: "1 up" in self.run("ceph", "osd", "stat"))
        self.start("radosgw", "-n", "client.rgw")
        self.wait("the gateway", self.serves)
        self.run("radosgw-admin", "-n", "client.rgw", "user", "create", "--uid=team", "--display-name=team",
                 f"--access-key={KEY}", f"--secret-key={SECRET}")
        subprocess.run(["curl", "--silent", "--fail", "--noproxy", "*", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
                        f"{KEY}:{SECRET}", "-X", "PUT", "-H", f"x-amz-content-sha256: {hashlib.sha256().hexdigest()}",
                        f"http://127.0.0.1:{self.port}/symbols"], check=True)

    @property
    def environment(self):
        return {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.port}", "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}

    def stop(self):
        for child in reversed(self.children):
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def __exit__(self, *_):
        self.stop()
