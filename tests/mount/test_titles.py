#!/usr/bin/env python3
"""Files that are called by their id: by-name also has the names that they, or links to their programs, tell."""

import errno
import gzip
import lzma
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import mount_harness  # noqa: E402
from mount_harness import GSYM, MountTest, build_id, run, wait_until  # noqa: E402
from lib import make_macho as m  # noqa: E402
from lib.macho_sample import program  # noqa: E402

LC_ID_DYLIB = 0xd
# The offset of the name from the command, three words, the name.
INSTALLED = struct.pack("<4I", 24, 2, 0, 0) + b"@rpath/Sample.framework/Sample\0\0"
UUID = bytes([0xd4]) * 3 + bytes(range(13))


class TitlesTest(MountTest):
    def setUp(self):
        super().setUp()
        self.made = os.path.join(self.dir, "made")
        os.mkdir(self.made)

    def store(self, path, suffix="", top=".build-id"):
        """Moves the file to where its id has it; the id."""
        id = build_id(path)
        where = os.path.join(self.source, top, id[:2])
        os.makedirs(where, exist_ok=True)
        shutil.move(path, os.path.join(where, id[2:] + suffix))
        return id

    def library(self, name="libsample.so.1", flags=(), **more):
        return self.compile("made-" + name, where=self.made, flags=["-Wl,-soname," + name, *flags], **more)

    def names(self):
        return {name for name in os.listdir(os.path.join(self.mnt, "by-name")) if len(name) < 30}

    def test_names_that_files_tell(self):
        library = self.library()
        address = next(hex(start) for start, _, name in self.functions(library) if name.endswith("normEv"))
        linked = self.compile("linked", where=self.made)
        debug = os.path.join(self.made, "tool-1.0.debug")
        run("objcopy", "--only-keep-debug", linked, debug)
        run("objcopy", "--add-gnu-debuglink=" + debug, linked)
        cached = self.library("libcached.so.2", ["-Wl,--build-id=0x" + "c4" * 20])
        os.makedirs(os.path.join(self.source, "c4" * 20))
        os.rename(cached, os.path.join(self.source, "c4" * 20, "executable"))
        self.compile("plain", flags=["-Wl,-soname,libother.so.3"])
        library, linked = self.store(library), self.store(linked)
        self.store(debug, ".debug")
        macho = os.path.join(self.source, "uuids", UUID.hex())
        os.makedirs(os.path.dirname(macho))
        with open(macho, "wb") as file:
            file.write(program(m.ARM64, uuid=UUID, base=1 << 32, extra=[(LC_ID_DYLIB, INSTALLED)]).file())
        for _ in range(2):  # the second daemon has it from the index
            daemon = self.mount()
            daemon.wait_scanned()
            self.assertEqual(self.names(), {"libsample.so.1", "tool-1.0", "libcached.so.2", "executable", "plain", "Sample"})
            self.assertEqual(self.builds("libsample.so.1"), [library])
            self.assertEqual(self.builds("tool-1.0"), [linked])
            self.assertEqual(self.builds("Sample"), [UUID.hex()])
            answer = self.read(library, address)
            self.assertIn("sample.cpp", answer)
            self.assertEqual(self.read("by-name", "libsample.so.1", address), answer)
            log = ("./libsample.so.1(+0x%x)[0x7f0000001364]\n" % (int(address, 16) + 4)).encode()
            done = run(GSYM, "filter", "--mount=" + self.mnt, "--by-name", input=log)
            self.assertIn(b"sample.cpp", done.stdout)
            daemon.stop()

    def test_links_to_programs(self):
        """The debug file has no name, and its program is not in SOURCE: the text of a link is known."""
        program = self.compile("program", where=self.made)
        id = build_id(program)
        run("objcopy", "--only-keep-debug", program, program + ".debug")
        self.store(program + ".debug", ".debug")
        link = os.path.join(self.source, ".build-id", id[:2], id[2:])
        os.symlink("../../../../../usr/bin/some-tool", link)
        os.symlink("/usr/lib/nowhere", os.path.join(self.source, ".build-id", id[:2], "00" * 19))
        self.mount("rescan=1").wait_scanned()
        self.assertEqual(self.names(), {"some-tool"})
        self.assertEqual(self.builds("some-tool"), [id])
        os.unlink(link)
        wait_until(lambda: not self.names(), "the name to go with its link")
        os.symlink("other-tool", link)
        wait_until(lambda: self.builds("other-tool") == [id], "the name of the new link")

    def test_a_name_goes_with_its_file(self):
        id = self.store(self.library())
        self.mount("rescan=0").wait_scanned()
        self.assertEqual(self.builds("libsample.so.1"), [id])
        shutil.rmtree(os.path.join(self.source, ".build-id"))
        wait_until(lambda: not self.builds("libsample.so.1"), "the name to go")
        wait_until(lambda: not os.path.exists(os.path.join(self.mnt, "by-name", "libsample.so.1")), "the directory to go")
        again = self.store(self.library("libnew.so.5"))
        wait_until(lambda: self.builds("libnew.so.5") == [again], "the new file's name")

    def test_names_of_private_directories(self):
        if not mount_harness.is_root():
            self.skipTest("only root can ask as another user")
        self.store(self.library("libsecret.so.1"), top="private")
        os.chmod(os.path.join(self.source, "private"), 0o700)
        self.store(self.library("libopen.so.1", ["-Wl,--build-id=0x" + "7a" * 20]))
        self.mount("allow_other").wait_scanned()
        self.assertEqual(self.names(), {"libsecret.so.1", "libopen.so.1"})
        other = ["setpriv", "--reuid=65534", "--clear-groups"]
        by_name = os.path.join(self.mnt, "by-name")
        self.assertEqual([n for n in run(*other, "ls", by_name).stdout.decode().split() if len(n) < 30], ["libopen.so.1"])
        self.assertIn(b"No such file", run(*other, "ls", by_name + "/libsecret.so.1", check=False).stderr)

    def test_two_builds_of_a_name(self):
        first = self.store(self.library())
        second = self.store(self.library(flags=["-Wl,--build-id=0x" + "7b" * 20]))
        self.mount().wait_scanned()
        self.assertEqual(set(self.builds("libsample.so.1")), {first, second})
        self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, "by-name", "libsample.so.1", "0x1170"))

    def test_compressed_files(self):
        """They are found as what they are when inflated, also by a kernel's log, which has '_' for '-'."""
        start, end, name = next(f for f in self.functions(self.library("some-module.ko")) if f[2].startswith("_ZN"))
        with open(os.path.join(self.made, "made-some-module.ko"), "rb") as file:
            data = file.read()
        log = ("Call Trace:\n %s+0x%x/0x%x [some_module]\n" % (name, end - start - 1, end - start)).encode()
        for ending, pack in ((".xz", lzma.compress), (".gz", gzip.compress))[:2 if mount_harness.READS_GZIP else 1]:
            path = os.path.join(self.source, "some-module.ko" + ending)
            with open(path, "wb") as file:
                file.write(pack(data))
            daemon = self.mount()
            daemon.wait_scanned()
            id, = self.builds("some-module.ko" + ending)
            self.assertEqual(self.builds("some-module.ko"), [id])
            self.assertIn("sample.cpp", self.read("by-name", "some-module.ko", hex(start)))
            done = run(GSYM, "filter", "--mount=" + self.mnt, "--by-name", input=log)
            self.assertIn(b"sample.cpp", done.stdout)
            self.assertIn(b"sample.cpp", run(GSYM, "filter", path, input=log).stdout)
            daemon.stop()
            os.unlink(path)


if __name__ == "__main__":
    mount_harness.main()
