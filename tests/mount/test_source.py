#!/usr/bin/env python3
"""What lies in SOURCE: foreign, damaged, doubled, replaced and removed files."""

import errno
import os
import random
import shutil

import mount_harness
from mount_harness import MountTest, contents, run, tool, wait_until


class SourceTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.address = next(hex(start) for start, _, name in self.functions(self.path) if name.endswith("normEv"))

    def root_status(self):
        """The file status of the root: {key: [values]}."""
        found = {}
        for line in self.read("status").splitlines():
            key, value = line.split("\t", 1)
            found.setdefault(key, []).append(value)
        return found

    def wait_complete(self):
        wait_until(lambda: self.root_status()["state"] == ["complete"], "the end of the scan")

    def test_pseudo_file_systems(self):
        """A SOURCE like / holds some: they are not entered, and what an unknown id gives is not for their sake."""
        if not mount_harness.is_root():
            self.skipTest("only root can mount them")
        for name in ("proc", "sysfs"):
            os.mkdir(os.path.join(self.source, name))
            run("mount", "-t", name, name, os.path.join(self.source, name))
        os.mkdir(os.path.join(self.source, "other"))
        os.mkdir(os.path.join(self.dir, "binaries"))
        self.compile("elsewhere", where=os.path.join(self.dir, "binaries"))
        self.mount(source=os.path.join(self.dir, "binaries"), mnt=os.path.join(self.source, "other"),
                   cache=os.path.join(self.source, "cache"), log=os.path.join(self.dir, "log2"))
        daemon = self.mount(cache=os.path.join(self.source, "cache"))
        daemon.wait_scanned()
        self.wait_complete()
        status = self.root_status()
        self.assertEqual(sorted(line.replace(self.source + "/", "") for line in status["not_entered_directory"]),
                         ["cache: the cache", "other: gsymfs", "proc: proc", "sysfs: sysfs"])
        self.assertEqual(status["not_entered"], ["4"])
        self.assertErrno(errno.ENOENT, os.stat, self.image("f" * 40))
        self.assertLess(daemon.log().count("\n"), 10)

    def test_many_that_cannot_be_looked_at(self):
        """The log names some, and the number of the others."""
        switch = os.path.join(self.dir, "switch")
        with open(switch, "w"):
            pass
        for i in range(50):
            os.mkdir(os.path.join(self.source, "in%d" % i))
            shutil.copy(self.path, os.path.join(self.source, "in%d" % i, "sick"))
        daemon = self.mount(env=self.preload("sick_stat.c", '-DSWITCH="%s"' % switch))
        daemon.wait_scanned()
        self.assertEqual(daemon.log().count("/sick: cannot stat: "), 20)
        self.assertIn("scan: 30 more files and directories cannot be looked at", daemon.log())

    def test_damaged_files_are_named(self):
        """In the log once, and in the status of the root until they are repaired, renamed or removed."""
        good, where = contents(self.path), os.path.join(self.source, "d")
        os.mkdir(where)
        bad = [os.path.join(where, name) for name in ("a", "b", "c\tc")]
        for path in bad:
            with open(path, "wb") as file:
                file.write(good[:4] + bytes(100))
        daemon = self.mount("rescan=0")
        self.wait_complete()
        status = self.root_status()
        self.assertEqual((status["state"], status["source"], status["skipped"]), (["complete"], [self.source], ["3"]))
        names = [value.split(": ")[0] for value in status["skipped_file"]]
        self.assertEqual(names, [os.path.join(where, "a"), os.path.join(where, "b"), os.path.join(where, "c\\tc")])
        reasons = {value.split(": ", 1)[1] for value in status["skipped_file"]}
        self.assertEqual(len(reasons), 1)
        self.assertIn("damaged", reasons.pop())
        self.assertEqual(daemon.log().count("d/a: damaged"), 1)
        self.assertIn("skipped until it changes", daemon.log())
        self.assertEqual(len(self.read("status")), os.stat(os.path.join(self.mnt, "status")).st_size)
        # Another daemon knows the files from the index, and why they are skipped; the log has told of them.
        daemon = self.remount(daemon, "rescan=0")
        self.wait_complete()
        wait_until(lambda: " 0 opened" in daemon.log(), "the line of the scan in the log")
        self.assertEqual(self.root_status(), status)
        self.assertNotIn("'d/a'", daemon.log())
        with open(bad[0], "wb") as file:
            file.write(good)
        wait_until(lambda: self.root_status()["skipped"] == ["2"], "the repaired file")
        os.rename(bad[1], os.path.join(self.source, "e"))
        wait_until(lambda: os.path.join(self.source, "e") in self.read("status") and self.root_status()["skipped"] == ["2"],
                   "the renamed file")
        os.rename(where, os.path.join(self.source, "f"))
        wait_until(lambda: os.path.join(self.source, "f", "c") in self.read("status") and
                   self.root_status()["skipped"] == ["2"], "the renamed directory")
        shutil.rmtree(os.path.join(self.source, "f"))
        os.unlink(os.path.join(self.source, "e"))
        wait_until(lambda: self.root_status()["skipped"] == ["0"], "the removed files")
        self.assertNotIn("skipped_file", self.root_status())

    def test_garbage_behind_the_magic_of_elf_is_named(self):
        good = contents(self.path)
        garbage = {"short": good[:4], "ident": good[:10], "header": good[:20] + bytes(200), "cut": good[:64]}
        for name, data in garbage.items():
            with open(os.path.join(self.source, name), "wb") as file:
                file.write(data)
        self.mount()
        self.wait_complete()
        status = self.root_status()
        named = status["skipped_file"] + status["truncated_file"]
        self.assertEqual({value.split(": ")[0] for value in named}, {os.path.join(self.source, name) for name in garbage})

    def test_many_damaged_files_fill_no_log(self):
        for number in range(100):
            with open(os.path.join(self.source, "%03d" % number), "wb") as file:
                file.write(b"\x7fELF" + bytes(100))
        daemon = self.mount()
        self.wait_complete()
        status = self.root_status()
        self.assertEqual((status["skipped"], len(status["skipped_file"]), status["skipped_more"]), (["100"], 64, ["36"]))
        self.assertEqual(daemon.log().count("skipped until it changes"), 20)
        self.assertIn("scan: 80 more files are skipped", daemon.log())

    def test_a_private_directory_keeps_the_names_of_damaged_files(self):
        if not mount_harness.is_root():
            self.skipTest("only root can ask as another user")
        where = os.path.join(self.source, "private")
        os.mkdir(where, 0o700)
        for path in (os.path.join(where, "secret"), os.path.join(self.source, "open")):
            with open(path, "wb") as file:
                file.write(b"\x7fELF" + bytes(100))
        daemon = self.mount("allow_other")
        self.wait_complete()
        self.assertIn("secret", self.read("status"))
        seen = run("setpriv", "--reuid=65534", "--clear-groups", "cat", os.path.join(self.mnt, "status")).stdout
        self.assertIn(b"open: ", seen)
        self.assertNotIn(b"secret", seen)
        self.assertIn(b"skipped_more\t1\n", seen)

    def test_foreign_files_harm_only_themselves(self):
        good = contents(self.path)
        random.seed(2)
        junk = {
            "empty": b"",
            "text": b"hello\n",
            "elf-magic": b"\x7fELF",
            "elf-header": good[:64],
            "half": good[:len(good) // 2],
            "zeros": good[:64] + bytes(len(good)),
            "noise": bytes(random.randrange(256) for _ in range(20000)),
            "elf-noise": good[:20] + bytes(random.randrange(256) for _ in range(20000)),
            "name\n\x1b[31mwith\ttraps": b"\x7fELF\x02\x01\x01" + bytes(100),
        }
        for name, data in junk.items():
            with open(os.path.join(self.source, name), "wb") as file:
                file.write(data)
        os.mkfifo(os.path.join(self.source, "fifo"))
        os.symlink("nowhere", os.path.join(self.source, "dangling"))
        os.symlink("/etc/passwd", os.path.join(self.source, "outside"))
        os.symlink(".", os.path.join(self.source, "loop"))
        with open(os.path.join(self.source, "closed"), "wb") as file:
            file.write(good)
        os.chmod(os.path.join(self.source, "closed"), 0)
        os.mkdir(os.path.join(self.source, "closed-directory"), 0)
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertIn("geo::point::norm", self.read(self.id, self.address))
        self.assertNotIn("\x1b", daemon.log())
        self.assertNotIn("\twith", daemon.log())
        # Whatever else was found may fail, but must answer.
        for id in self.ids() - {self.id}:
            try:
                self.read(id, "0x1000")
            except OSError as error:
                self.assertIn(error.errno, (errno.EIO, errno.ENOENT))
        self.assertIn("geo::point::norm", self.read(self.id, "%016x" % int(self.address, 16)))

    def test_flipped_bits(self):
        """Copies with flipped bits, each with an id of its own: they fail or answer, and the good one stays."""
        random.seed(3)
        good = bytearray(contents(self.path))
        at = bytes(good).find(bytes.fromhex(self.id))
        for i in range(30):
            bad = bytearray(good)
            for _ in range(20):
                bad[random.randrange(64, len(bad))] ^= 1 << random.randrange(8)
            bad[at:at + 20] = b"%020d" % i
            with open(os.path.join(self.source, "bad%d" % i), "wb") as file:
                file.write(bad)
        daemon = self.mount()
        daemon.wait_scanned()
        for id in self.ids() - {self.id}:
            try:
                self.read(id, self.address)
            except OSError as error:
                self.assertIn(error.errno, (errno.EIO, errno.ENOENT, errno.EFBIG))
        self.assertIn("geo::point::norm", self.read(self.id, self.address))

    def test_debug_file_beside_a_stripped_binary(self):
        """One image, two files: the one with DWARF is converted, whichever is found first."""
        objcopy = tool("objcopy", "llvm-objcopy", "llvm-objcopy-14")
        if not objcopy:
            self.skipTest("objcopy is not installed")
        for debug_dir, binary_dir in (("a", "z"), ("z", "a")):
            top = os.path.join(self.dir, "pair-" + debug_dir)
            for name in (debug_dir, binary_dir):
                os.makedirs(os.path.join(top, name))
            debug, binary = os.path.join(top, debug_dir, "sample.debug"), os.path.join(top, binary_dir, "sample")
            run(objcopy, "--only-keep-debug", self.path, debug)
            run(objcopy, "--strip-all", self.path, binary)
            daemon = self.mount(source=top)
            self.assertIn("geo::point::norm", self.read(self.id, self.address))
            daemon.wait_scanned()
            status = self.status(self.id)
            self.assertEqual((status["source"], status["binary"]), (debug, binary))
            self.assertIn("geo::point::norm", self.read(self.id, self.address))
            self.assertEqual(set(os.listdir(os.path.join(self.mnt, "by-name"))), {"sample", "sample.debug"})
            self.assertEqual(daemon.stop(), 0)

    def test_symbols_only(self):
        run("strip", "--strip-debug", self.path)
        self.mount()
        self.assertRegex(self.read(self.id, self.address), r"geo::point::norm\(\) const at \?\?:0")
        self.assertEqual(self.status(self.id)["debug"], "symbols")

    def test_missing_split_debug_data(self):
        split = self.compile("split", flags=["-gsplit-dwarf"])
        left = [name for name in os.listdir(self.source) if name.endswith(".dwo")]
        for name in left:
            os.unlink(os.path.join(self.source, name))
        if not left:
            self.skipTest("the compiler does not split debug data")
        self.mount()
        id = mount_harness.build_id(split)
        self.assertIn("geo::point::norm", self.read(id, self.address))
        self.assertIn("split", self.status(id)["missing"])

    def replace(self, flags=("-DOTHER",)):
        """The file is replaced by one of another size with the same id."""
        new = self.compile("new", where=self.dir, flags=["-Wl,--build-id=0x" + self.id, "-g0", *flags])
        os.rename(new, self.path)

    def test_replaced_while_cold(self):
        """Found out at the conversion, at the latest: the reader waits for the new file."""
        self.mount().wait_scanned()
        self.replace()
        self.assertIn("geo::point::norm", self.read(self.id, self.address))
        self.assertIn("??:0", self.read(self.id, self.address))

    def test_replaced_and_scanned_again(self):
        daemon = self.mount("rescan=1")
        before = self.read(self.id, self.address)
        self.assertIn("sample.cpp:", before)
        inside = os.open(self.image(self.id), os.O_RDONLY)
        old = open(os.path.join(self.image(self.id), self.address))
        self.replace()
        wait_until(lambda: "??:0" in self.read(self.id, self.address), "the new file")
        self.assertEqual(old.read(), before)
        old.close()
        self.assertErrno(errno.ESTALE, os.stat, "0x0" + self.address[2:], dir_fd=inside)
        os.close(inside)
        self.assertIsNone(daemon.process.poll())

    def answer_of_root(self):
        """Of the file that the daemon has found, without a lookup of the image."""
        q = os.open(os.path.join(self.mnt, "q"), os.O_RDWR)
        try:
            os.write(q, b"%s %s\n" % (self.id.encode(), self.address.encode()))
            return mount_harness.read_all(q).decode()
        finally:
            os.close(q)

    def test_replaced_while_a_process_stays_in_its_directory(self):
        """The kernel keeps what that looks up there: of a replaced file it cannot be opened any more."""
        self.mount("rescan=0").wait_scanned()
        address, load = int(self.address, 16), 0x10000
        loaded = "base/%#x/" % load
        files = [self.address, self.address + ".json", "rva/" + self.address, "approximate/" + self.address,
                 loaded + hex(address + load), loaded + "q", "status", "info.json", "q", "q.json", "functions.tsv", "image.gsym"]
        directories = ["rva", "approximate", "sym", "base", loaded]
        top = os.open(self.image(self.id), os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, top)

        def opened(name, flags=0):
            flags |= os.O_RDWR if os.path.basename(name).startswith("q") else os.O_RDONLY
            os.close(os.open(name, flags, dir_fd=top))

        for name in files + directories:
            opened(name)
        self.assertIn("status", os.listdir(top))
        self.replace()
        wait_until(lambda: "??:0" in self.answer_of_root(), "the new file")
        for name in files + directories:
            with self.subTest(name):
                wait_until(lambda: self.is_stale(opened, name), "the end of the old version")
        self.assertErrno(errno.ESTALE, os.listdir, top)
        self.assertIn("??:0", self.read(self.id, self.address))
        self.assertIn("status", os.listdir(self.image(self.id)))

    def is_stale(self, call, *args):
        try:
            call(*args)
        except OSError as error:
            self.assertEqual(error.errno, errno.ESTALE)
            return True
        return False

    def test_opened_just_after_it_was_replaced(self):
        """The kernel repeats a walk for ESTALE only once: what it has looked up is still opened for a moment."""
        self.mount("rescan=0").wait_scanned()
        loaded = "base/0x10000/"
        left = {self.address, "rva/" + self.address, "status", "q", loaded + "q", loaded + hex(int(self.address, 16) + 0x10000)}
        copy = os.path.join(self.dir, "copy")

        def replace_and_open():
            top = os.open(self.image(self.id), os.O_RDONLY | os.O_DIRECTORY)
            for name in left:
                os.stat(name, dir_fd=top)
            shutil.copy(self.path, copy)
            os.rename(copy, self.path)
            wait_until(lambda: self.is_stale(os.listdir, top), "the new version")
            left.difference_update([name for name in left if not self.is_stale(opened, name, top)])
            os.close(top)
            return not left

        def opened(name, top):
            fd = os.open(name, os.O_RDWR if name.endswith("q") else os.O_RDONLY, dir_fd=top)
            try:
                self.assertTrue(name.endswith("q") or os.read(fd, 4096))
            finally:
                os.close(fd)

        wait_until(replace_and_open, "opening each kept name in time")

    def test_listed_while_replaced(self):
        """Never as an empty directory; replaced between opening and reading it is stale."""
        self.mount("rescan=0").wait_scanned()
        image = self.image(self.id)
        for i in range(20):
            os.utime(self.path, ns=(i, i))
            for _ in range(50):
                try:
                    self.assertIn("status", os.listdir(image))
                except OSError as error:
                    self.assertEqual(error.errno, errno.ESTALE)

    def test_rewritten_in_place_with_another_id(self):
        self.mount("rescan=1").wait_scanned()
        other = self.compile("other", where=self.dir)
        shutil.copyfile(other, self.path)
        new = mount_harness.build_id(other)
        wait_until(lambda: new in self.ids() and self.id not in self.ids(), "the new id")
        wait_until(lambda: not os.path.exists(self.image(self.id)), "the end of the old entry")
        self.assertIn("sample.cpp", self.read(new, self.address))

    def test_removed_and_back(self):
        self.mount("rescan=1")
        self.read(self.id, self.address)
        wait_until(lambda: self.status(self.id)["state"] == "ready", "the whole image")
        away = os.path.join(self.dir, "away")
        os.rename(self.path, away)
        wait_until(lambda: self.id not in self.ids(), "the end of the image")
        wait_until(lambda: not os.path.exists(self.image(self.id)), "the end of its entry")
        self.assertEqual(os.listdir(os.path.join(self.mnt, "by-name")), [])
        os.rename(away, self.path)
        wait_until(lambda: self.id in self.ids(), "the image")
        wait_until(lambda: os.path.exists(self.image(self.id)), "its entry")
        self.assertIn("geo::point::norm", self.read(self.id, self.address))
        # rename(2) sets ctime: nothing tells this file from another that took its place. The image may be a new one,
        # with a count of its own.
        converted = 'gsymfs_conversions_total{mount="%s",result="ok"} 2\n' % self.mnt
        wait_until(lambda: converted in self.read("metrics"), "the second conversion")

    def test_removed_before_its_conversion(self):
        self.mount().wait_scanned()
        os.unlink(self.path)
        self.assertErrno(errno.ENOENT, self.read, self.id, self.address)

    def test_new_file_appears(self):
        self.mount("rescan=1").wait_scanned()
        new = mount_harness.build_id(self.compile("new"))
        wait_until(lambda: new in self.ids(), "the new image")
        self.assertIn("sample.cpp", self.read(new, self.address))

    def test_mount_inside_the_source(self):
        inside = os.path.join(self.source, "mnt")
        os.mkdir(inside)
        daemon = self.mount("rescan=1", mnt=inside)
        daemon.wait_scanned()
        self.read(self.id, self.address, mnt=inside)
        os.symlink("mnt/%s/%s" % (self.id, "%016x" % int(self.address, 16)), os.path.join(self.source, "into-the-mount"))
        self.wait_scans(mnt=inside)
        self.assertEqual(self.conversions(inside), 1)

    def test_deep_and_many(self):
        deep = self.source
        for i in range(60):
            deep = os.path.join(deep, "directory%d" % i)
            os.mkdir(deep)
        shutil.copy2(self.path, os.path.join(deep, "deep"))
        for i in range(300):
            run_dir = os.path.join(self.source, "many%d" % (i % 10))
            os.makedirs(run_dir, exist_ok=True)
            with open(os.path.join(run_dir, "%d" % i), "w") as file:
                file.write("no image\n")
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertEqual(sorted(os.listdir(os.path.join(self.mnt, "by-name"))), ["deep", "sample"])
        self.assertIn("302 files", daemon.log())


if __name__ == "__main__":
    mount_harness.main()
