#!/usr/bin/env python3
"""gsym store: keys, and a store that is a directory.

    store.py GSYM
"""
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import time

DAY = 24 * 3600
faults = []


def expect(what, condition, seen=""):
    if not condition:
        faults.append(f"{what}: {seen}")
        print(f"not ok: {what}: {seen}")


def gsym(*arguments, cwd=None):
    return subprocess.run([os.path.abspath(sys.argv[1]), "store", *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


def keygen(directory):
    """The secret key is for its owner alone, and never overwritten."""
    secret = directory / "secret"
    old = os.umask(0)
    done = gsym("keygen", secret)
    os.umask(old)
    expect("keygen", done.returncode == 0 and not done.stderr, done)
    expect("public key", re.fullmatch(r"gsymfs-public-1 [A-Za-z0-9+/]{43}=\n", done.stdout), done.stdout)
    expect("mode of the secret key", stat.S_IMODE(secret.stat().st_mode) == 0o600, oct(secret.stat().st_mode))
    text = secret.read_text()
    expect("secret key", re.fullmatch(r"gsymfs-secret-1 [A-Za-z0-9+/]{43}=\n", text), "no such line")
    again = gsym("keygen", secret)
    expect("keygen over a key", again.returncode == 1 and "File exists" in again.stderr and not again.stdout, again)
    expect("the key after that", secret.read_text() == text)
    expect("another key", gsym("keygen", directory / "other").stdout != done.stdout)


# ---- prune ----

def name_of(number, layout):
    key = f"{number:064x}"
    return f"ac/{key}" if layout == "bazel" else f"gsymfs1/{key[:2]}/{key}.gsym"


def put_file(path, blocks=1, age=0, access_age=None):
    """A file of @blocks pages, written @age days ago and read @access_age days ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 4096 * blocks)
    now = time.time()
    os.utime(path, (now - (age if access_age is None else access_age) * DAY, now - age * DAY))


def left(store):
    return {str(p.relative_to(store)) for p in store.rglob("*") if p.is_symlink() or not p.is_dir()}


def prune_by_age(store, layout):
    options = [f"--layout={layout}", "--max-age=30"]
    names = [name_of(number, layout) for number in range(4)]
    put_file(store / names[0], age=40)
    put_file(store / names[1], age=40, access_age=2)
    put_file(store / names[2], age=29)
    put_file(store / names[3], age=400, access_age=35)
    dry = gsym("prune", *options, "--dry-run", store)
    expect("dry run", dry.returncode == 0 and dry.stdout.splitlines()[:-1] == [names[0], names[3]] and "would be: 2 objects" in dry.stdout, dry)
    expect("after a dry run", left(store) == set(names), left(store))
    done = gsym("prune", *options, store)
    expect("prune by age", done.returncode == 0 and " 2 objects of 8192 bytes removed, 2 of 8192 left" in done.stdout, done)
    expect("what is left", left(store) == {names[1], names[2]}, left(store))
    again = gsym("prune", *options, store)
    expect("prune again", again.returncode == 0 and " 0 objects of 0 bytes removed" in again.stdout, again)


def prune_by_size(store):
    """The least recently used go first, whatever their size."""
    names = [name_of(number << 244, "gsymfs") for number in range(6)]
    for age, name in enumerate(names):
        put_file(store / name, blocks=1 + age, age=age)
    done = gsym("prune", "--max-size=24K", store)  # of 84 KiB; 4 + 8 + 12 fit
    expect("prune by size", done.returncode == 0 and left(store) == set(names[:3]), (done, left(store)))
    done = gsym("prune", "--max-size=24575", store)
    expect("prune below a size", done.returncode == 0 and left(store) == set(names[:2]), (done, left(store)))
    gsym("prune", "--max-size=0", store)
    expect("prune all", left(store) == set(), left(store))


def prune_other_files(store):
    """Leases that may be held, files that are written, and what is none of the store's, stay."""
    key = name_of(7, "gsymfs").removesuffix(".gsym")
    stay = {f"{key}.lease": 0, "gsymfs1/00/.tmp-host-1": 0.9, "gsymfs1/00/readme": 900, "gsymfs1/notes": 900, "other/" + key + ".gsym": 900,
            name_of(1, "bazel"): 900, f"gsymfs1/01/{key[-64:]}.gsym": 900, "gsymfs1/00/sub/x.lease": 900,
            "gsymfs1/00/.nfs0001": 900, ".tmp-host-4": 0.5}
    go = {f"{key}0.lease": 1, "gsymfs1/00/.tmp-host-2": 1.1, "gsymfs1/.tmp-host-3": 2, "gsymfs1/00/.claim-1": 2, ".tmp-host-5": 2}
    for name, age in {**stay, **go}.items():
        put_file(store / name, age=age)
    outside = store.parent / "outside"
    put_file(outside / "00" / (key[-64:] + ".gsym"), age=900)
    (store / "gsymfs1" / "ff").symlink_to(outside / "00")
    (store / name_of(8, "gsymfs")).symlink_to(outside / "00" / (key[-64:] + ".gsym"))
    done = gsym("prune", "--max-age=1", store)
    links = {"gsymfs1/ff", name_of(8, "gsymfs")}
    expect("other files", done.returncode == 0 and left(store) - links == set(stay), (done, left(store) ^ set(stay)))
    expect("links", links <= left(store) and len(left(outside)) == 1, left(store))


def prune(directory):
    for layout in ("gsymfs", "bazel"):
        (directory / layout).mkdir(mode=0o700)
        prune_by_age(directory / layout, layout)
    (directory / "size").mkdir(mode=0o700)
    prune_by_size(directory / "size")
    (directory / "others").mkdir(mode=0o700)
    prune_other_files(directory / "others")
    (directory / "empty").mkdir(mode=0o700)
    done = gsym("prune", "--max-age=1", directory / "empty")
    expect("an empty store", done.returncode == 0 and left(directory / "empty") == set(), done)
    done = gsym("prune", "--max-age=1", directory / "none")
    expect("no store", done.returncode == 1 and "No such file" in done.stderr, done)


# ---- list, verify ----

def list_and_verify(directory):
    """What is no object is listed, and found to be bad; other files are not the store's."""
    store = directory / "store"
    store.mkdir(mode=0o700)
    done = gsym("list", store)
    expect("list nothing", done.returncode == 0 and not done.stdout, done)
    expect("verify nothing", "0 objects verified, 0 bad" in gsym("verify", store).stdout)
    keys = [f"{number:064x}" for number in (3, 4)]
    for key in keys:
        put_file(store / "gsymfs1" / key[:2] / f"{key}.gsym", age=1)
    put_file(store / "gsymfs1" / "00" / f"{keys[0]}.lease")
    put_file(store / "gsymfs1" / "00" / "notes")
    done = gsym("list", store)
    rows = sorted(line.split("\t") for line in done.stdout.splitlines())
    expect("list", done.returncode == 0 and [row[:2] for row in rows] == [[key, "4096"] for key in keys], done)
    expect("ages", all(DAY <= int(row[2]) < DAY + 3600 for row in rows), rows)
    done = gsym("verify", store)
    expect("verify", done.returncode == 1 and all(f"gsym: {key}: " in done.stderr for key in keys) and "2 objects verified, 2 bad" in done.stdout,
           done)
    done = gsym("verify", store, keys[1])
    expect("verify one", done.returncode == 1 and keys[0] not in done.stderr and "1 objects verified, 1 bad" in done.stdout, done)
    missing = "0" * 64
    done = gsym("verify", store, missing)
    expect("verify a missing one", done.returncode == 1 and f"gsym: {missing}: is not in the store" in done.stderr, done)
    for key in ("0" * 63, "0" * 65, "A" * 64, "../" + "0" * 61):
        done = gsym("verify", store, key)
        expect(f"verify {key}", done.returncode == 1 and "no key" in done.stderr and not done.stdout, done)
    store.chmod(0o777)
    done = gsym("list", store)
    expect("a directory of all users", done.returncode == 1 and "writable by others" in done.stderr, done)
    expect("no directory", gsym("list", directory / "none").returncode == 1)


def usage(directory):
    for arguments, message in ((["foo"], "action 'foo': unknown"), (["prun", "x"], "did you mean 'prune'?"),
                               (["prune", "x"], "give --max-size, --max-age or both"), (["keygen"], "an operand is missing; it takes FILE"),
                               (["keygen", "a", "b"], "too many operands"), (["--dry-run", "keygen", "a"], "option '--dry-run': not for keygen"),
                               (["prune", "--max-age=1", "s3://b/"], "is no directory"), (["prune", "--max-size=1X", "x"], "is no size"),
                               (["prune", "--max-size=-1", "x"], "is no size"), (["prune", "--max-size=16777216T", "x"], "is no size"),
                               (["prune", "--max-size=", "x"], "is no size")):
        done = gsym(*arguments, cwd=directory)
        expect(" ".join(arguments), done.returncode == 2 and message in done.stderr and not done.stdout, done)
    expect("nothing was made", not list(directory.iterdir()), list(directory.iterdir()))


def main():
    with tempfile.TemporaryDirectory() as name:
        for test in (keygen, prune, list_and_verify, usage):
            directory = pathlib.Path(name, test.__name__)
            directory.mkdir()
            test(directory)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
