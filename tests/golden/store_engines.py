#!/usr/bin/env python3
"""Stores on servers of WebDAV: Apache, lighttpd and nginx, each a private child. Prints what each kept.

    store_engines.py DRIVER

The driver is engine_driver, or client_driver: the same by the client of a store and its process in the sandbox.
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib.peers import skip  # noqa: E402
from lib.store_servers import HANG, Apache, Driver, Lighttpd, Nginx  # noqa: E402

failures = []
ENTRY = "gsymfs1/ab/ab00.gsym"


class Case:
    """A server with files to give and a place for what is taken."""

    def __init__(self, name, driver, server, directory):
        self.name, self.driver, self.server, self.directory = name, driver, server, Path(directory)
        self.kept = []

    def expect(self, what, got, wanted):
        if got != wanted:
            failures.append(f"{self.name}: {what}: {got!r}, not {wanted!r}")

    def file(self, content):
        path = self.directory / f"given{len(list(self.directory.glob('given*')))}"
        path.write_bytes(content)
        return path

    def put(self, name, content, *options):
        return self.driver.run("put", name, self.file(content), options=options)

    def get(self, name, *options):
        path = self.directory / "taken"
        reply = self.driver.run("get", name, path, options=options)
        return reply, path.read_bytes()

    def left(self):
        return sorted(path.name for path in (self.server.root / "store").rglob("*") if path.is_file())

    def age(self, name):
        """Apache's tag of what was written a moment ago is a weak one, which does not match."""
        if not isinstance(self.server, Apache):
            return
        path = self.server.root / "store" / name
        past = time.time() - 100
        os.utime(path, (past, past))


def check_objects(case):
    content = b"conversion " * 1000
    reply = case.put(ENTRY, content)
    case.expect("a new object", reply.err, "0")
    reply, taken = case.get(ENTRY)
    case.expect("taken", (reply.err, reply.size, reply.begun, taken), ("0", len(content), 1, content))
    reply = case.driver.run("head", ENTRY)
    case.expect("its tag is known", bool(reply.etag), True)
    case.expect("its time is near the server's", abs(reply.modified - reply.now) < 120 and reply.now > 0, True)
    case.expect("head", (reply.err, reply.size), ("0", len(content)))
    case.expect("an object that is not there", case.get("gsymfs1/ab/other.gsym")[0].err, "ENOENT")
    case.expect("head of it", case.driver.run("head", "gsymfs1/cd/other.gsym").err, "ENOENT")
    reply, taken = case.get(ENTRY, "--max=10000")
    case.expect("one that is too large", (reply.err, taken), ("EFBIG", b""))
    case.expect("delete", case.driver.run("delete", ENTRY).err, "0")
    case.expect("delete what is gone", case.driver.run("delete", ENTRY).err, "ENOENT")


def check_large(case):
    content = os.urandom(6 << 20)
    case.expect("a large object", case.put("gsymfs1/aa/large.gsym", content).err, "0")
    reply, taken = case.get("gsymfs1/aa/large.gsym", f"--max={len(content)}")
    case.expect("a large object is taken", (reply.err, taken == content), ("0", True))
    case.expect("and deleted", case.driver.run("delete", "gsymfs1/aa/large.gsym").err, "0")


def check_conditions(case):
    name = "gsymfs1/ab/ab00.lease"
    first, second = case.driver.run_all(("put", name, case.file(b"one")), ("put", name, case.file(b"two!")),
                                        options=["--absent"])
    case.expect("a lease", first.err, "0")
    case.expect("a lease that is held", second.err, "EEXIST")
    case.age(name)
    etag = case.driver.run("head", name).etag
    wrong, = case.driver.run_all(("put", name, case.file(b"wrong")), options=['--match="other"'])
    case.expect("another's lease", wrong.err, "EEXIST")
    case.kept.append("If-None-Match, If-Match")
    case.age(name)
    etag = case.driver.run("head", name).etag
    renewed, again = case.driver.run_all(("put", name, case.file(b"renewed")), ("put", name, case.file(b"late")),
                            options=[f"--match={etag}"])
    case.expect("a lease taken over", renewed.err, "0")
    case.expect("taken over with the old tag", again.err, "EEXIST")
    case.age(name)
    etag = case.driver.run("head", name).etag
    case.expect("the lease deleted", case.driver.run("delete", name).err, "0")
    gone, = case.driver.run_all(("put", name, case.file(b"none")), options=[f"--match={etag}"])
    case.expect("a lease that is gone is not taken over", gone.err in ("EEXIST", "ENOENT"), True)
    case.expect("and not made", case.driver.run("head", name).err, "ENOENT")


def check_race(case):
    """Of several hosts one gets the lease; more than one where the server looks for an object before it writes."""
    name, contents = "gsymfs1/cd/race.lease", [b"host %d" % i for i in range(6)]
    paths = []
    for i, content in enumerate(contents):
        paths.append(case.directory / f"host{i}")
        paths[i].write_bytes(content)
    runs = [case.driver.start("put", name, path, options=["--absent"]) for path in paths]
    errs = [case.driver.finish(run)[0].err for run in runs]
    case.expect("winners of a race", errs.count("0") >= 1 if isinstance(case.server, Apache) else errs.count("0") == 1, True)
    case.expect("losers of a race", set(errs) - {"0", "EEXIST", "EAGAIN"}, set())
    if errs.count("0") == 1:
        case.expect("the winner's lease", case.get(name)[1], contents[errs.index("0")])
    case.driver.run("delete", name)


def check_threads(case):
    """Of the process that transfers."""
    name = "gsymfs1/cd/threads.gsym"
    replies = case.driver.run_all(*[("put", name, case.file(b"same")), ("head", name)] * 4, options=["--threads=8"])
    case.expect("by eight threads", [reply.err for reply in replies], ["0"] * 64)
    case.driver.run("delete", name)


def check_no_conditions(case):
    """Objects are replaced, and there is no lease."""
    name = "gsymfs1/ab/ab00.gsym"
    for content in (b"one", b"two"):
        replies = case.driver.run_all(*[("put", name, case.file(content))] * 2, options=["--absent"])
        case.expect("not written", [reply.err for reply in replies], ["EOPNOTSUPP"] * 2)
        case.expect("left", case.left(), [])
        case.expect("written on no condition", case.put(name, content).err, "0")
    case.expect("the last", case.get(name)[1], b"two")
    case.kept.append("no conditions")


def check_server(kind, program, title, conditions=True, **settings):
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with kind(f"{directory}/server", **settings) as server:
            case = Case(title, Driver(program, server.url), server, directory)
            if conditions:
                check_conditions(case)
                check_race(case)
            else:
                check_no_conditions(case)
            check_objects(case)
            check_large(case)
            if Path(program).name == "engine_driver":
                check_threads(case)
            print(f"{title:20} {', '.join(case.kept)}")


def check_read_only(program):
    """A part of the server without WebDAV can be read."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with Apache(f"{directory}/server") as server:
            (server.root / "fixed").mkdir()
            (server.root / "fixed/entry").write_bytes(b"content")
            case = Case("read only", Driver(program, server.url.replace("/store", "/fixed")), server, directory)
            reply, taken = case.get("entry")
            case.expect("get", (reply.err, taken), ("0", b"content"))
            case.expect("put", case.put("other", b"x").err, "EACCES")
            case.expect("put on a condition", case.put("other", b"x", "--absent").err, "EACCES")
            case.expect("delete", case.driver.run("delete", "entry").err, "EACCES")


# ---- Secrets and certificates ----

def openssl(directory, *words):
    subprocess.run(["openssl", *words], cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificates(directory):
    """An authority, and certificates of a server and of a client."""
    for name in ("ca", "other"):
        openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN=test authority {name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "2", "-extfile", "names", "-out", f"{name}.pem")
    for path in directory.iterdir():
        path.chmod(0o644)


class Patient(Driver):
    """Repeats what timed out: the first handshake of a process may, on a busy machine and with sanitizers."""

    def run(self, *operation, options=()):
        end = time.monotonic() + HANG
        reply = super().run(*operation, options=options)
        while reply.err == "ETIMEDOUT" and time.monotonic() < end:
            reply = super().run(*operation, options=options)
        return reply


def check_tls(program):
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        keys = Path(directory) / "keys"
        keys.mkdir()
        make_certificates(keys)
        with Nginx(f"{directory}/server", tls=keys) as server:
            case = Case("TLS", Patient(program, server.url, f"--ca={keys}/ca.pem"), server, directory)
            check_objects(case)
            plain = Patient(program, server.url)
            refused = plain.run("head", ENTRY)
            case.expect("without the authority", (refused.err, "certificate" in refused.text), ("EHOSTUNREACH", True))
            other = plain.run("head", ENTRY, options=[f"--ca={keys}/other.pem"])
            case.expect("with another authority", other.err, "EHOSTUNREACH")
            (server.root / "certified").mkdir()
            (server.root / "certified/entry").write_bytes(b"content")
            case.driver.address = server.url.replace("/store", "/certified")
            case.expect("without a certificate", case.get("entry")[0].err, "EACCES")
            reply, taken = case.get("entry", f"--cert={keys}/client.pem", f"--key={keys}/client.key")
            case.expect("with a certificate", (reply.err, taken), ("0", b"content"))


def check_secrets(program):
    """Tokens and passwords from files, which may change; and none of them in what is shown."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with Nginx(f"{directory}/server") as server:
            for part in ("bearer", "basic"):
                (server.root / part).mkdir()
                (server.root / part / "entry").write_bytes(b"content")
            (server.directory / "users").write_text("host:{PLAIN}the-password\n")
            secret = Path(directory) / "secret"
            case = Case("secrets", Driver(program, server.url.replace("/store", "/bearer")), server, directory)
            for token, wanted in (("wrong-token", "EACCES"), ("the-token", "0"), ("", "EACCES"), ("with\x01byte", "EACCES")):
                secret.write_text(token + "\n")
                reply, _ = case.get("entry", f"--bearer={secret}")
                case.expect(f"token '{token}'", reply.err, wanted)
                case.expect("the token is not shown", bool(token) and token in reply.text, False)
            secret.unlink()
            case.expect("no file with a token", case.get("entry", f"--bearer={secret}")[0].err, "EACCES")
            os.mkfifo(secret)  # that an engine waited for would not answer
            case.expect("a FIFO for a token", case.get("entry", f"--bearer={secret}")[0].err, "EACCES")
            secret.unlink()
            case.driver.address = server.url.replace("/store", "/basic")
            case.expect("without a password", case.get("entry")[0].err, "EACCES")
            for password, wanted in (("wrong-password", "EACCES"), ("the-password", "0")):
                secret.write_text(f"machine 127.0.0.1 login host password {password}\n")
                reply, _ = case.get("entry", f"--netrc={secret}")
                case.expect(f"password '{password}'", reply.err, wanted)
                case.expect("the password is not shown", password in reply.text, False)
    for address in ("http://host:the-password@127.0.0.1/store", "ftp://127.0.0.1/", "https:///store", "http://a/b?c"):
        reply = Driver(program, address).run("head", "entry")
        if reply.get("open") != "EINVAL" or "the-password" in reply.text:
            failures.append(f"secrets: {address} is not refused: {reply}")


def main():
    program = os.path.abspath(sys.argv[1])
    missing = [kind.package for kind in (Apache, Lighttpd, Nginx) if not kind.is_installed()]
    if missing:
        skip(f"not installed: Debian packages {' '.join(missing)}")
    check_server(Apache, program, "Apache")
    check_server(Lighttpd, program, "lighttpd")
    check_server(Nginx, program, "nginx", conditions=False)
    check_read_only(program)
    check_tls(program)
    check_secrets(program)
    print("\n".join(failures) or "stores on servers: as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
