#!/usr/bin/env python3
"""Ids that profiles and symbol servers have for an image, as names in the mount: htlhash, Go's, GUIDs."""

import errno
import hashlib
import json
import os
import struct
import subprocess
import sys

from mount_harness import GSYM, LIMIT, MountTest, main, run, wait_until

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import craft, pclntab  # noqa: E402
from lib.craft import Die, Section, Sequence, Unit  # noqa: E402

TEXT = craft.TEXT
ADDRESS = hex(TEXT)
GO_ID = "foh3mEXu7BLZjsN9pOwG/kATcXlDEFFyYpSUXsoOy/RwWTn9M0fGVxc1nDPCbR/BzQzzMsHyS7JEeFYS3Jc"
OTHER_GO_ID = "foh3mEXu7BLZjsN9pOwG/kATcXlDEFFyYpSUXsoOz"
ID = bytes(range(0x11, 0x25))


def htlhash(path):
    with open(path, "rb") as file:
        data = file.read()
    return hashlib.sha256(data[:4096] + data[-4096:] + struct.pack(">Q", len(data))).hexdigest()[:32]


def go_note(text):
    text = text.encode()
    return Section(".note.go.buildid", struct.pack("<3I4s", 4, len(text), 4, b"Go\0\0") + text + bytes(-len(text) % 4), 7, 2)


def unit(name):
    return Unit(Die("subprogram", name=name, low_pc=TEXT, high_pc=0x10), low_pc=TEXT, high_pc=0x10,
                lines=[Sequence(TEXT + 0x10, (TEXT, 1, 7))])


class OtherIdsTest(MountTest):
    def put(self, name, go_id=GO_ID, build_id=ID, function="work", padding=0):
        """An ELF file of at least @padding bytes."""
        more = [go_note(go_id)] if go_id else []
        path = os.path.join(self.source, name)
        craft.write(path, [unit(function)], build_id=build_id, more=[*more, Section(".pad", bytes(padding))])
        return path

    def assertWork(self, *parts, function="work"):
        self.assertIn(function + " at ", self.read(*parts))

    def assertNone(self, name):
        self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, name))

    def test_htlhash(self):
        ids = {size: ID[:-1] + bytes([size % 251]) for size in (0, 4000, 100000)}
        for size, id in ids.items():
            self.put("file%d" % size, build_id=id, go_id=None, padding=size)
        self.mount().wait_scanned()
        for size, id in ids.items():
            id = id.hex()
            name = htlhash(os.path.join(self.source, "file%d" % size))
            self.assertEqual(os.readlink(os.path.join(self.mnt, name)), id)
            self.assertWork(name.upper(), ADDRESS)
            self.assertEqual(json.loads(self.read(id, "info.json"))["htlhash"], [name])
            self.assertEqual(self.status(name)["htlhash"], name)
            self.assertNone(name[:-1])
            self.assertNotIn(name, os.listdir(self.mnt))

    def test_private_copies(self):
        """Paths and ids of files that others may not reach are not told; equal ids are told once."""
        self.put("public")
        self.put("copy")
        os.mkdir(os.path.join(self.source, "private"), 0o700)
        secret = self.put("private/secret", padding=5000)
        self.mount("rescan=1").wait_scanned()
        lines = self.read(ID.hex(), "status")
        info = json.loads(self.read(ID.hex(), "info.json"))
        self.assertNotIn("secret", lines + json.dumps(info))
        self.assertNotIn(htlhash(secret), lines)
        self.assertEqual((info["also_more"], len(info["also"])), (1, 1))
        self.assertEqual(info["htlhash"], [htlhash(os.path.join(self.source, "public"))])
        self.assertEqual(info["go_build_id"], [GO_ID])
        os.chmod(os.path.join(self.source, "private"), 0o755)
        self.wait_scans()
        self.assertIn("secret", self.read(ID.hex(), "status"))

    def test_files_of_an_image(self):
        """A program and its debug file are two files, each with a hash; so is a copy, which has the same."""
        program = self.compile()
        debug = program + ".debug"
        run("objcopy", "--only-keep-debug", program, debug)
        run("strip", "--strip-debug", program)
        run("cp", program, program + "2")
        self.mount().wait_scanned()
        (id,) = self.ids()
        names = {htlhash(program), htlhash(debug)}
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertEqual(os.readlink(os.path.join(self.mnt, name)), id)
        self.assertEqual(set(self.status(id)["htlhash"]), names)

    def test_file_changes(self):
        path = self.put("file", build_id=b"")
        daemon = self.mount()
        daemon.wait_scanned()
        old = htlhash(path)
        self.assertWork(old, ADDRESS)
        self.assertWork(GO_ID.replace("/", "_"), ADDRESS)
        self.put("new", go_id=OTHER_GO_ID, build_id=b"", function="other")
        os.rename(path[:-4] + "new", path)

        def there(name):
            return os.path.lexists(os.path.join(self.mnt, name))
        gone = (old, GO_ID.replace("/", "_"))
        wait_until(lambda: there(htlhash(path)) and not any(map(there, gone)), "the ids of the new file alone")
        self.assertWork(htlhash(path), ADDRESS, function="other")
        self.assertWork(OTHER_GO_ID.replace("/", "_"), ADDRESS, function="other")
        daemon.stop()
        self.mount().wait_scanned()  # what is known of the files was kept
        self.assertWork(htlhash(path), ADDRESS, function="other")
        self.assertWork(OTHER_GO_ID.replace("/", "%2F"), ADDRESS, function="other")

    def test_go(self):
        self.put("gnu")
        self.put("only", go_id=OTHER_GO_ID, build_id=b"", function="only")
        self.put("redacted", go_id="redacted", build_id=ID[::-1])
        self.mount().wait_scanned()
        for slash in "_", "%2F", "%2f":
            self.assertWork(GO_ID.replace("/", slash), ADDRESS)
            self.assertWork(OTHER_GO_ID.replace("/", slash), ADDRESS, function="only")
        self.assertEqual(os.readlink(os.path.join(self.mnt, GO_ID.replace("/", "_"))), ID.hex())
        self.assertEqual(json.loads(self.read(ID.hex(), "info.json"))["go_build_id"], [GO_ID])
        self.assertNotIn("go_build_id", self.status(ID[::-1].hex()))
        self.assertNone("redacted")
        self.assertNone(GO_ID.replace("/", "_")[:-1])

    def test_debug_data_of_go(self):
        """Status tells what a stripped program is answered from."""
        path = os.path.join(self.source, "stripped")
        with open(path, "wb") as file:
            file.write(pclntab.program(pclntab.sample()))
        daemon = self.mount()
        daemon.wait_scanned()
        id, = self.builds("stripped")
        self.assertEqual(self.status(id)["debug"], "go")
        self.assertIn(" at ", self.read(id, hex(pclntab.TEXT)))
        daemon.stop()
        self.mount().wait_scanned()  # from the index
        self.assertEqual(self.status(id)["debug"], "go")

    def test_ids_of_several_images(self):
        """An id that is not of one image alone names none."""
        self.put("a")
        self.put("b", build_id=ID[::-1])
        self.mount().wait_scanned()
        self.assertNone(GO_ID.replace("/", "_"))
        self.assertWork(ID.hex(), ADDRESS)

    def test_guids(self):
        sym = "MODULE windows x86_64 3844DBB920174967BE7AA4A2C20430FA2 app.pdb\nFUNC 1000 10 0 work\n1000 10 7 1\nFILE 1 a.c\n"
        with open(os.path.join(self.source, "app.sym"), "w") as file:
            file.write(sym)
        self.mount().wait_scanned()
        dashed = "3844DBB9-2017-4967-BE7A-A4A2C20430FA"
        for name in (dashed, "{%s}" % dashed, dashed.lower() + "-2", "{%s}-2" % dashed, "3844dbb920174967be7aa4a2c20430fa2",
                     "{3844DBB920174967BE7AA4A2C20430FA}"):
            self.assertEqual(os.readlink(os.path.join(self.mnt, name)), "3844dbb920174967be7aa4a2c20430fa")
            self.assertIn("work", self.read(name, "0x1000"))
        self.assertNone(dashed + "-")
        self.assertNone("{" + dashed)
        done = subprocess.run([GSYM, "stack", "--mount=" + self.mnt], input=b"{%s} 0x1000\n" % dashed.encode(),
                              capture_output=True, timeout=LIMIT, check=False)
        self.assertIn(b"work", done.stdout, done.stderr)

    def test_batches_and_logs(self):
        path = self.put("app")
        self.mount().wait_scanned()
        for id in htlhash(path), GO_ID.replace("/", "_"):
            with open(os.path.join(self.mnt, "q"), "r+b", buffering=0) as q:
                q.write(("%s %s\n" % (id, ADDRESS)).encode())
                self.assertIn(b"work at ", q.readall())
        log = "    #0 0x55c8ec9c41aa  (/bin/app+%s) (BuildId: %s)\n" % (ADDRESS, htlhash(path))
        done = subprocess.run([GSYM, "filter", "--mount=" + self.mnt], input=log.encode(), capture_output=True, timeout=LIMIT,
                              check=False)
        self.assertIn(b"work", done.stdout)


if __name__ == "__main__":
    main()
