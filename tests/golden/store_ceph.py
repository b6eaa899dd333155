#!/usr/bin/env python3
"""Stores in a bucket of Ceph's gateway, which checks signatures by its own code.

    store_ceph.py DRIVER
"""
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib.ceph_store import PACKAGES, CephStore  # noqa: E402
from lib.peers import skip  # noqa: E402
from lib.store_servers import Driver  # noqa: E402

failures = []
ENTRY = "gsymfs1/ab/ab00.gsym"


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got!r}, not {wanted!r}")


def errs(replies):
    return [reply.err for reply in replies]


def check_objects(driver, directory):
    given, taken = directory / "given", directory / "taken"
    given.write_bytes(os.urandom(3 << 20))
    put, head, get, none, deleted, gone = driver.run_all(
        ("put", ENTRY, given), ("head", ENTRY), ("get", ENTRY, taken), ("head", "none"), ("delete", ENTRY),
        ("head", ENTRY), options=[f"--max={4 << 20}"])
    expect("objects", errs((put, head, get, none, deleted, gone)), ["0", "0", "0", "ENOENT", "0", "ENOENT"])
    expect("what is taken", (get.size, taken.read_bytes() == given.read_bytes()), (3 << 20, True))
    expect("its tag", bool(put.etag) and put.etag == head.etag == get.etag, True)
    expect("times", abs(head.modified - put.now) < 60 and put.modified == put.now, True)


def check_conditions(driver, directory):
    name, given = "gsymfs1/ab/ab00.lease", directory / "lease"
    given.write_bytes(b"lease")
    expect("a lease", errs(driver.run_all(*[("put", name, given)] * 2, options=["--absent"])), ["0", "EEXIST"])
    etag = driver.run("head", name).etag
    given.write_bytes(b"renewed")
    expect("another's lease", driver.run("put", name, given, options=['--match="0123"']).err, "EEXIST")
    expect("renewed", errs(driver.run_all(*[("put", name, given)] * 2, options=[f"--match={etag}"])), ["0", "EEXIST"])
    expect("deleted", errs(driver.run_all(("delete", name), ("head", name))), ["0", "ENOENT"])
    words = [word for i in range(50) for word in ("--", "put", f"gsymfs1/cd/{i}.lease", given)][1:]
    runs = [driver.start(*words, options=["--absent"]) for _ in range(3)]
    leases = list(zip(*[errs(Driver.finish(run)) for run in runs]))
    expect("leases of three hosts", [sorted(lease) for lease in leases], [["0", "EEXIST", "EEXIST"]] * 50)


def check_refusals(driver, program, environment):
    wrong = Driver(program, driver.address, env={**environment, "AWS_SECRET_ACCESS_KEY": "wrong"})
    reply = wrong.run("get", ENTRY, "/dev/null")
    expect("a wrong secret", (reply.err, reply.text), ("EACCES", "HTTP 403, SignatureDoesNotMatch"))
    other = Driver(program, "s3://nowhere", env=environment)
    expect("no bucket", other.run("put", ENTRY, __file__).text, "HTTP 404, NoSuchBucket")


def main():
    program = os.path.abspath(sys.argv[1])
    if not CephStore.is_installed():
        skip(f"not installed: Debian packages {PACKAGES}")
    with tempfile.TemporaryDirectory() as directory, CephStore(f"{directory}/ceph") as ceph:
        driver = Driver(program, "s3://symbols/team/x", env=ceph.environment)
        check_objects(driver, Path(directory))
        check_conditions(driver, Path(directory))
        check_refusals(driver, program, ceph.environment)
    print("\n".join(failures) or "stores on Ceph: as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
