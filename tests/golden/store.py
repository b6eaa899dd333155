#!/usr/bin/env python3
"""gsym store: keys, and a store that is a directory, a server of WebDAV, or a bucket of S3.

    store.py GSYM ELF
"""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib.s3_server import S3Server  # noqa: E402
from lib.store_servers import Lighttpd, free_port  # noqa: E402

DAY = 24 * 3600
OBJCOPY = os.environ.get("OBJCOPY", "objcopy")  # ELF may be of another machine
faults = []


def expect(what, condition, seen=""):
    if not condition:
        faults.append(f"{what}: {seen}")
        print(f"not ok: {what}: {seen}")


def run(*arguments, cwd=None, cache=None):
    environment = {**os.environ, "GSYMFS_CACHE": str(cache)} if cache else None
    return subprocess.run([os.path.abspath(sys.argv[1]), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                          cwd=cwd, env=environment)


def gsym(*arguments, cwd=None, cache=None):
    return run("store", *arguments, cwd=cwd, cache=cache)


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
    with open("/dev/full", "w") as full:
        status = subprocess.run([os.path.abspath(sys.argv[1]), "store", "keygen", directory / "lost"], stdout=full,
                                stderr=subprocess.DEVNULL, timeout=120, check=False).returncode
    expect("a key whose public one is lost", status == 1 and not (directory / "lost").exists(), status)


# ---- prune ----

def name_of(number):
    key = f"{number:064x}"
    return f"gsymfs1/{key[:2]}/{key}.gsym"


def put_file(path, blocks=1, age=0, access_age=None):
    """A file of @blocks pages, written @age days ago and read @access_age days ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 4096 * blocks)
    now = time.time()
    os.utime(path, (now - (age if access_age is None else access_age) * DAY, now - age * DAY))


def left(store):
    return {str(p.relative_to(store)) for p in store.rglob("*") if p.is_symlink() or not p.is_dir()}


def prune_by_age(store):
    options = ["--max-age=30"]
    names = [name_of(number) for number in range(4)]
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
    names = [name_of(number << 244) for number in range(6)]
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
    key = name_of(7).removesuffix(".gsym")
    stay = {f"{key}.lease": 0, "gsymfs1/00/.tmp-host-1": 0.9, "gsymfs1/00/readme": 900, "gsymfs1/notes": 900, "other/" + key + ".gsym": 900,
            "ac/" + key[-64:]: 900, f"gsymfs1/01/{key[-64:]}.gsym": 900, "gsymfs1/00/sub/x.lease": 900,
            "gsymfs1/00/.nfs0001": 900, ".tmp-host-4": 0.5}
    go = {f"{key}0.lease": 1, "gsymfs1/00/.tmp-host-2": 1.1, "gsymfs1/.tmp-host-3": 2, ".tmp-host-5": 2}
    for name, age in {**stay, **go}.items():
        put_file(store / name, age=age)
    outside = store.parent / "outside"
    put_file(outside / "00" / (key[-64:] + ".gsym"), age=900)
    (store / "gsymfs1" / "ff").symlink_to(outside / "00")
    (store / name_of(8)).symlink_to(outside / "00" / (key[-64:] + ".gsym"))
    done = gsym("prune", "--max-age=1", store)
    links = {"gsymfs1/ff", name_of(8)}
    expect("other files", done.returncode == 0 and left(store) - links == set(stay), (done, left(store) ^ set(stay)))
    expect("links", links <= left(store) and len(left(outside)) == 1, left(store))


def prune(directory):
    (directory / "age").mkdir(mode=0o700)
    prune_by_age(directory / "age")
    (directory / "size").mkdir(mode=0o700)
    prune_by_size(directory / "size")
    (directory / "others").mkdir(mode=0o700)
    prune_other_files(directory / "others")
    (directory / "empty").mkdir(mode=0o700)
    done = gsym("prune", "--max-age=1", directory / "empty")
    expect("an empty store", done.returncode == 0 and left(directory / "empty") == set(), done)
    done = gsym("prune", "--max-age=1", directory / "none")
    expect("no store", done.returncode == 1 and "No such file" in done.stderr, done)


# ---- put, get, list, verify ----

class Host:
    """A host of its own: a cache, and a directory of binaries."""

    def __init__(self, directory, name, store):
        self.cache, self.bin, self.store = directory / f"cache-{name}", directory / f"bin-{name}", store
        self.cache.mkdir(mode=0o700)
        self.bin.mkdir(mode=0o755)

    def binary(self, name="app", of=None):
        shutil.copy(of or sys.argv[2], self.bin / name)
        return self.bin / name

    def put(self, *operands):
        return gsym("put", self.store, *operands, cache=self.cache)

    def get(self, *operands):
        return gsym("get", self.store, *operands, cache=self.cache)


def make_store(directory, name="store"):
    (directory / name).mkdir(mode=0o700)
    return directory / name


def objects(store):
    return sorted(p for p in store.rglob("*") if p.is_file())


def key_of(done):
    return done.stdout.split()[0] if done.stdout else ""


def put_and_get(directory):
    """What one host has put, another gets, wherever it keeps the file."""
    store = make_store(directory)
    one, two, three = (Host(directory, name, store) for name in ("one", "two", "three"))
    done = one.put(one.binary())
    key = key_of(done)
    expect("put", done.returncode == 0 and done.stdout == f"{key}  published  {one.bin}/app\n" and not done.stderr, done)
    files = objects(store)
    expect("its name", files == [store / "gsymfs1" / key[:2] / f"{key}.gsym"], files)
    for host, what in ((one, "from the cache"), (two, "from the store")):
        done = host.put(host.binary("other-name"))
        expect(f"put again {what}", done.returncode == 0 and done.stdout == f"{key}  present  {host.bin}/other-name\n", done)
    done = gsym("list", store)
    listed = done.stdout.rstrip("\n").split("\t")
    expect("list", done.returncode == 0 and listed[:2] == [key, str(files[0].stat().st_size)] and 0 <= int(listed[2]) < 3600, done)
    done = three.get(three.binary())
    expect("get", done.returncode == 0 and not done.stderr and (three.bin / "app.gsym").exists(), done)
    expect("nothing is kept", not list(three.cache.glob("*.gsym")), list(three.cache.iterdir()))
    made = run("convert", "--quiet", f"--shared={store}", "-o", directory / "made.gsym", one.bin / "app", cache=two.cache)
    expect("convert", made.returncode == 0 and not made.stderr, made)
    expect("the same bytes", (three.bin / "app.gsym").read_bytes() == (directory / "made.gsym").read_bytes())
    expect("they are right", run("verify", f"--against={sys.argv[2]}", directory / "made.gsym").returncode == 0)
    done = gsym("verify", store)
    expect("verify", done.returncode == 0 and "1 objects verified, 0 bad" in done.stdout, done)
    done = gsym("verify", store, key)
    expect("verify a key", done.returncode == 0 and "1 objects verified, 0 bad" in done.stdout, done)
    missing = "0" * 64
    done = gsym("verify", store, missing, key)
    expect("verify a missing key", done.returncode == 1 and f"{missing}: " in done.stderr and "1 objects verified" in done.stdout, done)
    with open(three.bin / "app", "ab") as file:
        file.write(b"more")
    done = three.get(three.bin / "app")
    expect("get what is not there", done.returncode == 1 and "is not in the store" in done.stderr, done)


def converted_into_store(directory):
    store = make_store(directory)
    host = Host(directory, "host", store)
    app = host.binary()
    done = run("convert", f"--shared={store}", app, cache=host.cache)
    expect("convert", done.returncode == 0 and "published" in done.stderr and (host.bin / "app.gsym").exists(), done)
    key = objects(store)[0].name.removesuffix(".gsym")
    expect("its key", key in done.stderr, done)
    done = host.put(app)
    expect("then put", done.stdout == f"{key}  present  {app}\n", done)
    (host.bin / "text").write_text("no object file")
    done = run("convert", f"--shared={store}", host.bin / "text", cache=host.cache)
    expect("no object file", done.returncode == 1 and "is no object file" in done.stderr and not (host.bin / "text.gsym").exists(), done)


def damaged(directory):
    """Damage is found, named, and mended by a put that does not have the conversion itself."""
    store = make_store(directory)
    host, other = Host(directory, "host", store), Host(directory, "other", store)
    key = key_of(host.put(host.binary()))
    path = objects(store)[0]
    good = path.read_bytes()
    for what, bad in (("a bit", good[:99] + bytes([good[99] ^ 1]) + good[100:]), ("the end", good[:-1]), ("nothing", b""),
                      ("text", b"<html>" * 1000), ("its key", good[:-160] + bytes(32) + good[-128:]),
                      ("its size", good[:-104] + (1 << 62).to_bytes(8, "little") + good[-96:])):
        path.write_bytes(bad)
        done = gsym("verify", store)
        expect(f"verify with {what} damaged", done.returncode == 1 and f"gsym store: {key}: " in done.stderr and "1 objects verified, 1 bad" in done.stdout,
               done)
        done = other.get(other.binary())
        expect(f"get with {what} damaged", done.returncode == 1 and not list(other.bin.glob("*.gsym")), done)
    done = other.put(other.bin / "app")
    expect("put over a damaged one", done.returncode == 0 and "published" in done.stdout, done)
    expect("mended", gsym("verify", store).returncode == 0)
    second = host.binary("second")
    with open(second, "ab") as file:
        file.write(b"more")
    moved = key_of(host.put(second))
    shutil.copy(path, store / "gsymfs1" / moved[:2] / f"{moved}.gsym")
    done = gsym("verify", store)
    expect("another's object", done.returncode == 1 and f"gsym store: {moved}: the object of another key" in done.stderr and key not in done.stderr, done)


def signed(directory):
    store = make_store(directory)
    host, other = Host(directory, "host", store), Host(directory, "other", store)
    public = [gsym("keygen", directory / f"secret{i}").stdout for i in range(2)]
    (directory / "trusted").write_text(public[0])
    trusted = f"--trusted-keys={directory}/trusted"
    app = host.binary()
    other.binary()
    key = key_of(host.put(f"--sign-key={directory}/secret0", app))
    expect("signed", gsym("verify", trusted, store).returncode == 0 and other.get(trusted, other.bin / "app").returncode == 0)
    (directory / "trusted").write_text(public[1])
    for what, done in (("verify", gsym("verify", trusted, store)), ("get", other.get(trusted, other.bin / "app"))):
        expect(f"{what}: of an unknown signer", done.returncode == 1 and "signed by a key that is not in" in done.stderr, done)
    (directory / "trusted").write_text("".join(public))
    expect("one of several", gsym("verify", trusted, store, key).returncode == 0)
    for path in objects(store):
        path.unlink()
    host.put(app)
    done = gsym("verify", trusted, store)
    expect("unsigned", done.returncode == 1 and f"gsym store: {key}: not signed" in done.stderr, done)
    expect("unsigned, not demanded", gsym("verify", store).returncode == 0)
    for path in objects(store):
        path.unlink()
    by_signer(store, directory, host, public)
    (directory / "secret0").chmod(0o644)
    done = host.put(f"--sign-key={directory}/secret0", app)
    secret = (directory / "secret0").read_text().split()[1]
    expect("a secret for all", done.returncode == 1 and "chmod it to 0600" in done.stderr and secret not in done.stderr, done)


def by_signer(store, directory, host, public):
    """What a key signed is named by verify and removed by prune, and nothing else is."""
    keys = []
    for i, secret in enumerate(("secret0", "secret1", None)):
        path = host.binary(f"app{i}")
        with open(path, "ab") as file:
            file.write(b"%d" % i)
        keys.append(key_of(host.put(*([f"--sign-key={directory}/{secret}"] if secret else []), path)))
    (directory / "leaked").write_text(public[0])
    named = f"--signed-by={directory}/leaked"
    done = gsym("verify", named, store)
    expect("verify what a key signed", done.returncode == 0 and done.stdout == f"{keys[0]}\n{store}: 1 objects verified, 0 bad\n", done)
    name = f"gsymfs1/{keys[0][:2]}/{keys[0]}.gsym"
    done = gsym("prune", named, "--dry-run", store)
    expect("what would be pruned", done.returncode == 0 and done.stdout.splitlines()[0] == name and len(objects(store)) == 3, done)
    done = gsym("prune", named, store)
    expect("prune what a key signed", done.returncode == 0 and " 1 objects of " in done.stdout and " 2 of " in done.stdout, done)
    expect("what is left", {path.name.removesuffix(".gsym") for path in objects(store)} == set(keys[1:]), objects(store))
    (directory / "leaked").write_text("no key")
    for action in ("verify", "prune"):
        done = gsym(action, named, store)
        expect(f"{action} with a file of no keys", done.returncode == 1 and "leaked" in done.stderr and len(objects(store)) == 2, done)


def with_debug_file(directory):
    """What was made with a debug file is for hosts that have the same one."""
    store = make_store(directory)
    hosts = [Host(directory, name, store) for name in ("one", "two", "three")]
    made = hosts[0].bin
    subprocess.run([OBJCOPY, "--only-keep-debug", sys.argv[2], made / "app.debug"], check=True)
    subprocess.run([OBJCOPY, "--strip-debug", f"--add-gnu-debuglink={made}/app.debug", sys.argv[2], made / "app"], check=True)
    for host in hosts[1:]:
        host.binary(of=made / "app")
    shutil.copy(made / "app.debug", hosts[1].bin)
    done = hosts[0].put(made / "app")
    expect("put", done.returncode == 0 and "published" in done.stdout, done)
    done = hosts[1].get(hosts[1].bin / "app")
    expect("get with the debug file", done.returncode == 0, done)
    done = run("lookup", hosts[1].bin / "app.gsym", "0x0")
    expect("its lines", "input.c" in run("dump", hosts[1].bin / "app.gsym").stdout, done)
    done = hosts[2].get(hosts[2].bin / "app")
    expect("get without it", done.returncode == 1 and "debug files" in done.stderr, done)


def failing(directory):
    """A file that cannot be converted is published as such, so that no daemon tries."""
    store = make_store(directory)
    host, other = Host(directory, "host", store), Host(directory, "other", store)
    subprocess.run([OBJCOPY, "--only-section=.comment", "--only-section=.note.gnu.build-id", sys.argv[2], host.bin / "bad"], check=True)
    done = host.put(host.bin / "bad")
    expect("put", done.returncode == 1 and "bad: " in done.stderr and not done.stdout, done)
    reason = done.stderr.rpartition(": ")[2]
    expect("the verdict is there", len(objects(store)) == 1, objects(store))
    done = other.get(other.binary("bad", host.bin / "bad"))
    expect("get", done.returncode == 1 and reason in done.stderr and not list(other.bin.glob("*.gsym")), (done, reason))
    expect("verify", gsym("verify", store).returncode == 0)


def no_store(directory):
    host = Host(directory, "host", directory / "none")
    done = host.put(host.binary())
    expect("no directory", done.returncode == 1 and "none" in done.stderr and not done.stdout, done)
    store = make_store(directory)
    store.chmod(0o777)
    done = gsym("list", store)
    expect("a directory of all users", done.returncode == 1 and "writable by others" in done.stderr, done)


# ---- list, verify of what is no object ----

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
    expect("verify", done.returncode == 1 and all(f"gsym store: {key}: " in done.stderr for key in keys) and "2 objects verified, 2 bad" in done.stdout,
           done)
    done = gsym("verify", store, keys[1])
    expect("verify one", done.returncode == 1 and keys[0] not in done.stderr and "1 objects verified, 1 bad" in done.stdout, done)
    missing = "0" * 64
    done = gsym("verify", store, missing)
    expect("verify a missing one", done.returncode == 1 and f"gsym store: {missing}: is not in the store" in done.stderr, done)
    for key in ("0" * 63, "0" * 65, "A" * 64, "../" + "0" * 61):
        done = gsym("verify", store, key)
        expect(f"verify {key}", done.returncode == 1 and "no key" in done.stderr and not done.stdout, done)
    (store / "gsymfs1" / "00").chmod(0)
    for action in ("list", "verify") if os.geteuid() else ():
        done = gsym(action, store)
        expect(f"{action} what cannot be read", done.returncode == 1 and "Permission denied" in done.stderr and not done.stdout, done)
    (store / "gsymfs1" / "00").chmod(0o700)
    store.chmod(0o777)
    done = gsym("list", store)
    expect("a directory of all users", done.returncode == 1 and "writable by others" in done.stderr, done)
    expect("no directory", gsym("list", directory / "none").returncode == 1)


# ---- Servers ----

def on_server(directory, name, address, damage):
    """Conversions on a server. @damage: leaves the first bytes of the only object."""
    one, two = Host(directory, f"{name}-one", address), Host(directory, f"{name}-two", address)
    secret, trusted = directory / f"{name}-secret", directory / f"{name}-trusted"
    trusted.write_text(gsym("keygen", secret).stdout)
    done = one.put(f"--sign-key={secret}", one.binary())
    key = key_of(done)
    expect(f"{name}: put", done.returncode == 0 and done.stdout == f"{key}  published  {one.bin}/app\n", done)
    done = two.put(f"--trusted-keys={trusted}", two.binary("other"))
    expect(f"{name}: put again", done.returncode == 0 and done.stdout == f"{key}  present  {two.bin}/other\n", done)
    done = two.get(f"--trusted-keys={trusted}", two.binary())
    expect(f"{name}: get", done.returncode == 0 and run("verify", two.bin / "app.gsym").returncode == 0, done)
    damage()
    (two.bin / "app.gsym").unlink()
    done = two.get(two.bin / "app")
    expect(f"{name}: get a damaged one", done.returncode == 1 and not list(two.bin.glob("*.gsym")), done)
    for action in ("list", "verify"):
        done = gsym(action, address)
        expect(f"{name}: {action}", done.returncode == 2 and "is no directory" in done.stderr and not done.stdout, done)


def webdav(directory):
    if not Lighttpd.is_installed():
        print(f"skipped: WebDAV, since these are not installed: {Lighttpd.package}")
        return
    directory.chmod(0o755)
    directory.parent.chmod(0o755)
    with Lighttpd(directory / "server") as server:
        def cut():
            (path,) = (server.root / "store").rglob("*.gsym")
            path.write_bytes(path.read_bytes()[:100])

        on_server(directory, "webdav", server.url, cut)


def bucket(directory):
    with S3Server("eu-test-7", {"KEY1": ("secret", None)}, ["symbols"]) as server:
        def cut():
            ((name, entry),) = ((n, e) for n, e in server.objects["symbols"].items() if n.endswith(".gsym"))
            server.objects["symbols"][name] = (entry[0][:100], *entry[1:])

        before = dict(os.environ)
        os.environ.update(AWS_ENDPOINT_URL_S3=server.endpoint, AWS_REGION="eu-test-7", AWS_ACCESS_KEY_ID="KEY1", AWS_SECRET_ACCESS_KEY="secret",
                          HOME=str(directory))
        on_server(directory, "s3", "s3://symbols/team/gsym", cut)
        os.environ["AWS_SECRET_ACCESS_KEY"] = "another"
        app = Host(directory, "third", "s3://symbols/team/gsym")
        done = app.get(app.binary())
        expect("another secret", done.returncode == 1 and done.stderr and "another" not in done.stderr and not done.stdout, done)
        os.environ.clear()
        os.environ.update(before)


def no_server(directory):
    """Without a server the file is converted, but not published, and that is an error."""
    address = f"http://127.0.0.1:{free_port()}/store"
    host = Host(directory, "host", address)
    for done in (host.put(host.binary()), host.get(host.bin / "app")):
        expect("no server", done.returncode == 1 and done.stderr and not done.stdout, done)
    done = run("convert", f"--shared={address}", host.bin / "app", cache=host.cache)
    expect("convert without a server", done.returncode == 1 and "was not published" in done.stderr, done)
    expect("its output", run("verify", host.bin / "app.gsym").returncode == 0)
    for bad in ("ftp://host/", "http://user:word@127.0.0.1/store", "s3://"):
        done = gsym("get", bad, host.bin / "app")
        expect(bad, done.returncode == 1 and done.stderr.startswith("gsym store: ") and "user:word" not in done.stderr, done)


def usage(directory):
    for arguments, message in ((["foo"], "action 'foo': unknown"), (["prun", "x"], "did you mean 'prune'?"),
                               (["prune", "x"], "give --max-size, --max-age or --signed-by"), (["keygen"], "an operand is missing; it takes FILE"),
                               (["keygen", "a", "b"], "too many operands"), (["--dry-run", "keygen", "a"], "option '--dry-run': not for keygen"),
                               (["--sign-key=x", "get", "a", "b"], "option '--sign-key': not for get"), (["get", "a"], "it takes STORE OBJECT"),
                               (["--ca-file=x", "prune", "a"], "option '--ca-file': not for prune"),
                               (["prune", "--max-age=1", "s3://b/"], "is no directory"), (["prune", "--max-size=1X", "x"], "such as 512M or 10G"),
                               (["prune", "--max-size=-1", "x"], "such as 512M or 10G"), (["prune", "--max-size=16777216T", "x"], "such as 512M or 10G"),
                               (["prune", "--max-size=", "x"], "such as 512M or 10G")):
        done = gsym(*arguments, cwd=directory)
        expect(" ".join(arguments), done.returncode == 2 and message in done.stderr and not done.stdout, done)
    done = gsym("get", "", "x", cwd=directory)  # as of a variable that is not set: not the present directory
    expect("no address", done.returncode == 1 and "store '': expected /DIRECTORY" in done.stderr, done)
    expect("nothing was made", not list(directory.iterdir()), list(directory.iterdir()))


def main():
    with tempfile.TemporaryDirectory() as name:
        tests = (keygen, prune, put_and_get, converted_into_store, damaged, signed, with_debug_file, failing, no_store,
                 list_and_verify, webdav, bucket, no_server, usage)
        for test in tests:
            directory = pathlib.Path(name, test.__name__)
            directory.mkdir()
            before = len(faults)
            test(directory)
            if len(faults) > before:
                print(f"FAIL: {test.__name__}")
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
