"""Servers that hold a store of conversions, as private children on loopback, and the driver of the engines.

    with Apache(directory) as server:
        reply = Driver(program, server.url).run("get", "name", "file")
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

HANG = 600  # seconds, against hangs only
NOBODY = 65534


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A program that serves DIRECTORY/root. Not started if it is not installed: see is_installed()."""
    program = None
    package = None
    scheme = "http"

    @classmethod
    def is_installed(cls):
        return bool(shutil.which(cls.program, path=os.environ.get("PATH", "") + ":/usr/sbin"))

    def __init__(self, directory, **settings):
        self.directory, self.settings, self.process = Path(directory), settings, None
        self.root = self.directory / "root"
        (self.root / "store").mkdir(parents=True)
        (self.directory / "temp").mkdir()
        (self.directory / "log").touch()
        self.hand_over()

    def hand_over(self):
        """The server does not run as root, and owns its files."""
        if os.geteuid() == 0:
            for path in (self.directory, *self.directory.rglob("*")):
                os.chown(path, NOBODY, NOBODY)

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}/store"

    def __enter__(self):
        for _ in range(10):  # the port may be taken by then
            self.port = free_port()
            if self.start():
                return self
        print((self.directory / "log").read_text(), file=sys.stderr)
        raise SystemExit(f"{self.program} does not start")

    def start(self):
        config = self.directory / "config"
        config.write_text(self.config())
        program = shutil.which(self.program, path=os.environ.get("PATH", "") + ":/usr/sbin")
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen([program, *self.arguments(config)], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, cwd="/", **user)
        until = time.monotonic() + HANG
        while time.monotonic() < until and self.process.poll() is None:
            with socket.socket() as probe:
                # A socket can be connected to itself.
                if probe.connect_ex(("127.0.0.1", self.port)) == 0 and probe.getsockname() != probe.getpeername():
                    return True
            time.sleep(0.02)
        self.stop()
        return False

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self.process:
            self.process.wait()

    def __exit__(self, *_):
        self.stop()


class Apache(Server):
    program, package = "apache2", "apache2-bin"

    def arguments(self, config):
        return ["-f", str(config), "-D", "FOREGROUND"]

    def config(self):
        d, modules = self.directory, "/usr/lib/apache2/modules"
        return f"""
ServerRoot {d}
ServerName localhost
PidFile {d}/temp/pid
DefaultRuntimeDir {d}/temp
ErrorLog {d}/log
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dav_module {modules}/mod_dav.so
LoadModule dav_fs_module {modules}/mod_dav_fs.so
StartServers 2
ThreadsPerChild 25
MinSpareThreads 25
MaxSpareThreads 75
MaxRequestWorkers 150
Listen 127.0.0.1:{self.port}
DocumentRoot {self.root}
DavLockDB {d}/temp/lock
<Directory />
  Require all granted
</Directory>
<Location /store>
  Dav On
</Location>
"""


class Lighttpd(Server):
    program, package = "lighttpd", "lighttpd lighttpd-mod-webdav"

    @classmethod
    def is_installed(cls):
        return super().is_installed() and Path("/usr/lib/lighttpd/mod_webdav.so").exists()

    def arguments(self, config):
        return ["-D", "-f", str(config)]

    def config(self):
        return f"""
server.modules = ("mod_webdav")
server.document-root = "{self.root}"
server.bind = "127.0.0.1"
server.port = {self.port}
server.errorlog = "{self.directory}/log"
server.upload-dirs = ("{self.directory}/temp")
mimetype.assign = ("" => "application/octet-stream") # without a type there is no ETag
server.breakagelog = "{self.directory}/temp/breakage"
$HTTP["url"] =~ "^/store/" {{
  webdav.activate = "enable"
  webdav.is-readonly = "disable"
}}
"""


class Nginx(Server):
    """Settings: tls: a directory with server.pem, server.key and ca.pem."""
    program, package = "nginx", "nginx-light"

    @property
    def scheme(self):
        return "https" if "tls" in self.settings else "http"

    def arguments(self, config):
        return ["-c", str(config), "-e", f"{self.directory}/log"]

    def tls(self):
        if "tls" not in self.settings:
            return ""
        d = self.settings["tls"]
        return f"""
    ssl_certificate {d}/server.pem;
    ssl_certificate_key {d}/server.key;
    ssl_client_certificate {d}/ca.pem;
    ssl_verify_client optional;"""

    def config(self):
        d = self.directory
        temp = "\n".join(f"  {kind}_temp_path {d}/temp/{kind};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"""
daemon off;
pid {d}/temp/pid;
worker_processes 1;
events {{ worker_connections 64; }}
http {{
{temp}
  access_log off;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{self.port}{" ssl" if "tls" in self.settings else ""};{self.tls()}
    root {self.root};
    location / {{
      dav_methods PUT DELETE MKCOL;
    }}
    location /bearer/ {{
      if ($http_authorization != "Bearer the-token") {{ return 401; }}
      dav_methods PUT DELETE;
    }}
    location /basic/ {{
      auth_basic store;
      auth_basic_user_file {d}/users;
      dav_methods PUT DELETE;
    }}
    location /certified/ {{
      if ($ssl_client_verify != SUCCESS) {{ return 403; }}
      dav_methods PUT DELETE;
    }}
  }}
}}
"""


class Reply(dict):
    """Lines of the driver: .err, .size, .now, .modified, .etag, .begun and .text."""

    def __getattr__(self, name):
        value = self[name]
        return int(value) if name in ("size", "now", "modified", "begun") else value


# What LeakSanitizer says at the end of a program about a thread that has been joined, and that the kernel still lists.
OF_NO_LEAK = re.compile(r"^==\d+==Unable to get registers from thread \d+\.\n?", re.M)


class Driver:
    """tests/unit/store/transfer/engine_driver.c for one address."""

    def __init__(self, program, address, *options, env=None):
        self.program, self.address, self.options = program, address, options
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith("AWS_") and not key.lower().endswith("_proxy")}
        self.env.update(env or {})

    def start(self, *operation, options=()):
        return subprocess.Popen([self.program, *self.options, *options, self.address, *map(str, operation)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)

    @staticmethod
    def finish(process):
        """The reply of each operation."""
        out, errors = process.communicate(timeout=HANG)
        errors = OF_NO_LEAK.sub("", errors)
        if errors or process.returncode not in (0, 1):
            raise SystemExit(f"driver: {process.returncode} {out} {errors}")
        replies, reply = [], Reply()
        for line in out.splitlines():
            name, _, value = line.partition(" ")
            reply[name] = value
            if name == "text":
                replies.append(reply)
                reply = Reply()
        return replies

    def run_all(self, *operations, options=()):
        words = [word for operation in operations for word in ("--", *operation)][1:]
        return self.finish(self.start(*words, options=options))

    def run(self, *operation, options=()):
        return self.run_all(operation, options=options)[0]
