#!/usr/bin/env python3
"""Stores in buckets of S3, on a server that checks each signature.

    store_s3.py ENGINE_DRIVER
"""
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib.s3_server import S3Server  # noqa: E402
from lib.store_servers import HANG, Driver  # noqa: E402

failures = []
REGION = "eu-test-7"
SECRET = "wJalr/XUtn+FEMI=K7MDENG:bPxRfiCY"
TOKEN = "FwoGZXIvYXdzE//+=" + "t" * 900
ENTRY = "gsymfs1/ab/ab00.gsym"


class Case:
    def __init__(self, program, server, directory, address="s3://symbols/team/a_b-1", **env):
        self.server, self.directory = server, Path(directory)
        self.env = {"AWS_ENDPOINT_URL_S3": server.endpoint, "AWS_REGION": REGION, "HOME": str(directory)}
        self.driver = Driver(program, address, env={**self.env, **env})

    def put(self, name, content, *options):
        path = self.directory / f"given{len(list(self.directory.glob('given*')))}"
        path.write_bytes(content)
        return self.driver.run("put", name, path, options=options)

    def get(self, name, *options):
        path = self.directory / "taken"
        return self.driver.run("get", name, path, options=options), path.read_bytes()


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got!r}, not {wanted!r}")


def keys(key="KEY1", secret=SECRET, token=None):
    env = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    return {**env, "AWS_SESSION_TOKEN": token} if token else env


def check_objects(program, server, directory):
    case = Case(program, server, directory, **keys())
    content = os.urandom(300000)
    reply = case.put(ENTRY, content)
    expect("put", (reply.err, bool(reply.etag), reply.now > 0), ("0", True, True))
    expect("its name", list(server.objects["symbols"]), ["team/a_b-1/" + ENTRY])
    head = case.driver.run("head", ENTRY)
    expect("head", (head.err, head.size, head.etag, head.modified > 0), ("0", 300000, reply.etag, True))
    reply, taken = case.get(ENTRY)
    expect("get", (reply.err, taken == content), ("0", True))
    expect("get what is too large", case.get(ENTRY, "--max=1000")[0].err, "EFBIG")
    large = os.urandom(3 << 20)  # is sent after "100 Continue"
    expect("put a large one", case.put("gsymfs1/aa/large.gsym", large).err, "0")
    expect("a large one arrived", server.objects["symbols"]["team/a_b-1/gsymfs1/aa/large.gsym"][0] == large, True)
    expect("put an empty one", case.put("gsymfs1/aa/empty.gsym", b"").err, "0")
    expect("get an empty one", case.get("gsymfs1/aa/empty.gsym")[1], b"")
    expect("get what is not there", case.get("gsymfs1/ab/none.gsym")[0].err, "ENOENT")
    expect("delete", case.driver.run("delete", ENTRY).err, "0")
    expect("head of what is gone", case.driver.run("head", ENTRY).err, "ENOENT")
    for bucket, operation in (("nowhere", ("head", ENTRY)), ("nowhere", ("get", ENTRY, "out")), ("nowhere", ("put", ENTRY, "out"))):
        (case.directory / "out").touch()
        words = [str(case.directory / word) if word == "out" else word for word in operation]
        reply = Case(program, server, directory, f"s3://{bucket}", **keys()).driver.run(*words)
        # The answer to HEAD has no body, and does not say what is not there.
        expect(f"no bucket: {operation[0]}", (reply.err, "NoSuchBucket" in reply.text),
               ("ENOENT", False) if operation[0] == "head" else ("EREMOTEIO", True))


def check_conditions(program, server, directory):
    case = Case(program, server, directory, **keys())
    name = "gsymfs1/ab/ab00.lease"
    first = case.put(name, b"one", "--absent")
    expect("a lease", first.err, "0")
    expect("a lease that is held", case.put(name, b"two", "--absent").err, "EEXIST")
    second = case.put(name, b"three", f"--match={first.etag}")
    expect("renewed", second.err, "0")
    expect("renewed with the old tag", case.put(name, b"four", f"--match={first.etag}").err, "EEXIST")
    expect("deleted", case.driver.run("delete", name).err, "0")
    expect("renewed when it is gone", case.put(name, b"five", f"--match={second.etag}").err, "ENOENT")
    server.faults = [(409, "ConditionalRequestConflict")]
    expect("a race", case.put(name, b"six", "--absent").err, "EAGAIN")
    expect("once more", case.put(name, b"six", "--absent").err, "0")
    server.conditions = False
    expect("no conditions", case.put(name, b"x", "--absent").err, "EOPNOTSUPP")
    server.ignores = True
    expect("conditions ignored", case.put(name, b"x", "--absent").err, "EOPNOTSUPP")
    server.conditions, server.ignores = True, False
    expect("one for what follows", case.put(name, b"six", "--absent").err, "0")
    server.bare = True
    etag = case.driver.run("head", name).etag
    for what, options, errs in (("with", [f"--match={etag}"], ["0", "EEXIST"]),
                                ("with another", ['--match="other"'], ["EEXIST"] * 2)):
        given = case.directory / "renewed"
        given.write_bytes(b"renewed")
        replies = case.driver.run_all(("put", name, given), ("put", name, given), options=options)
        # The content of the second is that of the first, and so is its tag.
        etag = case.driver.run("head", name).etag
        expect(f"tags without quotes: {what}", [reply.err for reply in replies], errs)
    server.bare = False
    runs = []
    for i in range(6):
        (case.directory / f"host{i}").write_bytes(b"host %d" % i)
        runs.append(case.driver.start("put", "gsymfs1/cd/race.lease", case.directory / f"host{i}", options=["--absent"]))
    errs = sorted(Driver.finish(run)[0].err for run in runs)
    expect("a race of hosts", errs, ["0"] + ["EEXIST"] * 5)


def check_credentials(program, server, directory):
    path = Path(directory) / ".aws" / "credentials"
    path.parent.mkdir()
    case = Case(program, server, directory)
    refused = case.put(ENTRY, b"x")
    expect("no credentials", (refused.err, "credentials" in refused.text), ("EACCES", True))
    path.write_text("# comment\n[other]\naws_access_key_id = WRONG\naws_secret_access_key=x\n\n"
                    f"[default]\r\n aws_access_key_id =  KEY1 \r\naws_secret_access_key={SECRET}\nregion = x\n"
                    f"[temporary]\naws_access_key_id=KEY2\naws_secret_access_key={SECRET}2\naws_session_token={TOKEN}\n")
    expect("from the file", case.put(ENTRY, b"x").err, "0")
    expect("from a profile", Case(program, server, directory, AWS_PROFILE="temporary").put(ENTRY, b"x").err, "0")
    expect("from no profile", Case(program, server, directory, AWS_PROFILE="none").put(ENTRY, b"x").err, "EACCES")
    path.write_text("[default]\naws_access_key_id=KEY1\naws_secret_access_key=" + "x" * 5000)
    expect("a long secret", case.put(ENTRY, b"x").err, "EACCES")
    path.unlink()
    os.mkfifo(path)  # that a process waited for would not come
    expect("a FIFO", case.put(ENTRY, b"x").err, "EACCES")
    other = Path(directory) / "other"
    other.write_text(f"[default]\naws_access_key_id=KEY1\naws_secret_access_key={SECRET}\n")
    expect("from another file", Case(program, server, directory, AWS_SHARED_CREDENTIALS_FILE=str(other)).put(ENTRY, b"x").err, "0")
    expect("a session token", Case(program, server, directory, **keys("KEY2", SECRET + "2", TOKEN)).put(ENTRY, b"x").err, "0")
    for what, env, code in (
            ("no session token", keys("KEY2", SECRET + "2"), "HTTP 400, InvalidToken"),
            ("a wrong secret", keys(secret="another-secret"), "HTTP 403, SignatureDoesNotMatch"),
            ("a wrong key", keys("NOKEY"), "HTTP 403, InvalidAccessKeyId"),
            ("a wrong region", {**keys(), "AWS_REGION": "elsewhere"}, "HTTP 403, AuthorizationHeaderMalformed")):
        reply = Case(program, server, directory, **env).put(ENTRY, b"x")
        expect(what, (reply.err, reply.text), ("EREMOTEIO" if code[5] == "4" and "400" in code else "EACCES", code))
        expect(f"{what}: no secret is shown", any(SECRET[:10] in text for text in reply.values()), False)
    server.skew = 4 * 3600
    expect("another time", Case(program, server, directory, **keys()).put(ENTRY, b"x").text, "HTTP 403, RequestTimeTooSkewed")
    server.skew = 0


def check_rotation(program, server, directory):
    """Keys that change while a process runs."""
    path = Path(directory) / "rotated"
    path.write_text(f"[default]\naws_access_key_id=KEY1\naws_secret_access_key={SECRET}\n")
    case = Case(program, server, directory, AWS_SHARED_CREDENTIALS_FILE=str(path))
    fifo = Path(directory) / "fifo"
    os.mkfifo(fifo)
    # The driver opens the file for writing, which waits until the test opens it for reading.
    before = len(server.log)
    process = case.driver.start("head", ENTRY, "--", "get", ENTRY, fifo, "--", "head", ENTRY)
    until = time.monotonic() + HANG
    while len(server.log) == before and time.monotonic() < until:
        time.sleep(0.01)
    path.write_text(f"[default]\naws_access_key_id=KEY2\naws_secret_access_key={SECRET}2\naws_session_token={TOKEN}\n")
    with open(fifo, "rb"):
        Driver.finish(process)
    used = [headers["Authorization"].split("Credential=")[1].split("/")[0] for _, path, headers in server.log[before:]]
    expect("keys of three requests", used, ["KEY1", "KEY2", "KEY2"])


def check_faults(program, server, directory):
    case = Case(program, server, directory, **keys())
    for status, code, err in ((503, "SlowDown", "EREMOTEIO"), (500, "InternalError", "EREMOTEIO"), (403, "AccessDenied", "EACCES"),
                              (429, "TooMany", "EREMOTEIO"), (400, "Odd<b>", "EREMOTEIO"), (301, "PermanentRedirect", "EREMOTEIO")):
        for operation in (lambda: case.get(ENTRY)[0], lambda: case.put(ENTRY, b"x"),
                          lambda: case.driver.run("head", ENTRY), lambda: case.driver.run("delete", ENTRY)):
            server.faults = [(status, code)]
            reply = operation()
            expect(f"HTTP {status}", (reply.err, str(status) in reply.text), (err, True))
    server.faults = []
    case = Case(program, server, directory, **{**keys(), "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"})
    for what, operation in (("get", lambda: case.get(ENTRY)[0]), ("put", lambda: case.put(ENTRY, b"x")),
                            ("head", lambda: case.driver.run("head", ENTRY)), ("delete", lambda: case.driver.run("delete", ENTRY)),
                            ("conditional put", lambda: case.put(ENTRY, b"x", "--absent"))):
        expect(f"{what} without a server", operation().err, "EHOSTUNREACH")


def check_addresses(program, server, directory):
    for address, env in (("s3://", {}), ("s3:///x", {}), ("s3://b?x/y", {}), ("s3://bucket/a b", {}), ("s3://bucket/../x", {}),
                         ("s3://bucket/a//b", {}), ("s3://bucket", {"AWS_REGION": "a/b"}),
                         ("s3://bucket", {"AWS_ENDPOINT_URL_S3": "ftp://host"}),
                         ("s3://bucket", {"AWS_ENDPOINT_URL_S3": "http://user:pass@host"})):
        reply = Case(program, server, directory, address, **{**keys(), **env}).driver.run("head", "x")
        expect(f"address {address} {env}", reply.get("open"), "EINVAL")
    case = Case(program, server, directory, "s3://symbols", **keys())
    expect("no prefix", (case.put("x", b"x").err, "x" in server.objects["symbols"]), ("0", True))
    case = Case(program, server, directory, "s3://symbols/p//", **{**keys(), "AWS_ENDPOINT_URL_S3": "",
                                                                  "AWS_ENDPOINT_URL": server.endpoint + "/"})
    expect("slashes at the ends", (case.put("x", b"x").err, "p/x" in server.objects["symbols"]), ("0", True))


def main():
    program = os.path.abspath(sys.argv[1])
    with S3Server(REGION, {"KEY1": (SECRET, None), "KEY2": (SECRET + "2", TOKEN)}, ["symbols"]) as server:
        for check in (check_objects, check_conditions, check_credentials, check_rotation, check_faults,
                      check_addresses):
            with tempfile.TemporaryDirectory() as directory:
                check(program, server, directory)
    print("\n".join(failures) or f"{len(server.log)} signed requests: as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
