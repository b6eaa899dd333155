#!/usr/bin/env python3
"""What a reader of the mounted tree sees: addresses, names, sizes, errors."""

import errno
import json
import mmap
import os
import random
import re
import stat

import mount_harness
from mount_harness import CC, GSYM, MountTest, run, tool, wait_until


class ReadTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = mount_harness.build_id(self.path)
        self.all_functions = self.functions(self.path)

    def address_of(self, name):
        return next(start for start, end, n in self.all_functions if name in n and not n.endswith("@plt"))

    def addresses(self, count=200):
        everywhere = [a for start, end, _ in self.all_functions for a in range(start, max(end, start + 1))]
        random.seed(1)
        return sorted(random.sample(everywhere, min(count, len(everywhere))))

    def test_addresses_equal_gsym_lookup(self):
        self.mount()
        gsym = os.path.join(self.dir, "functions.gsym")
        for suffix, format in (("", "text"), (".tsv", "tsv"), (".json", "json")):
            for address in self.addresses():
                theirs = run(GSYM, "lookup", "--format=" + format, gsym, hex(address)).stdout.decode().strip("\n")
                ours = self.read(self.id, hex(address) + suffix)
                self.assertTrue(ours.endswith("\n"))
                if format == "text":
                    self.assertEqual(ours.strip("\n"), theirs)
                elif format == "json":
                    ours, theirs = json.loads(ours), json.loads(theirs)
                    self.assertEqual(ours["Symbol"], theirs["Symbol"])
                    self.assertEqual(ours["ModuleName"], self.path)
                else:
                    columns = [line.split("\t") for line in ours.splitlines()]
                    self.assertEqual([c[:7] for c in columns], [l.split("\t")[:7] for l in theirs.splitlines()])

    def test_addresses_equal_llvm_addr2line(self):
        addr2line = tool("llvm-addr2line-22", "llvm-addr2line", "llvm-addr2line-14")
        if not addr2line:
            self.skipTest("llvm-addr2line is not installed")
        self.mount()
        # Inside functions with line information; code of the C library's start files has none.
        names = ("norm", "entry_sample")
        named = [f for f in self.all_functions if not f[2].endswith("@plt")]  # llvm-addr2line knows no such stubs
        for start, end, name in named:
            if not any(n in name for n in names):
                continue
            for address in range(start, end):
                theirs = run(addr2line, "-pfiC", "-e", self.path, hex(address)).stdout.decode()
                theirs = "\n".join(l.split(" (discriminator")[0] for l in theirs.splitlines()) + "\n"
                self.assertEqual(self.read(self.id, hex(address)), theirs)

    def test_spellings_of_an_address(self):
        self.mount()
        address = self.address_of("norm")
        want = self.read(self.id, hex(address))
        self.assertIn("geo::point::norm() const", want)
        spellings = ["0X%x" % address, "0x%X" % address, "0x%08x" % address, "%016x" % address, "%08x" % address,
                     "0x" + "0" * 40 + "%x" % address]
        for name in spellings:
            self.assertEqual(self.read(self.id, name), want, name)
        for name in ("0x", "x1000", "0x10000000000000000", "0x1g", "-1", "+1000", " 1000", "0x1000.xml", "0x1000.",
                     "deadbee", "0x1000.json.raw", "0x1000.rawjson"):
            self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.image(self.id), name))
        self.assertErrno(errno.ENAMETOOLONG, os.stat, os.path.join(self.image(self.id), "0x" + "0" * 254))

    def test_raw_names(self):
        self.mount()
        name = hex(self.address_of("norm"))
        self.assertIn("_ZNK3geo5point4normEv", self.read(self.id, name + ".raw"))
        self.assertIn("geo::point::norm", self.read(self.id, name))
        self.assertIn("_ZNK3geo5point4normEv", self.read(self.id, name + ".raw.json"))

    def test_demangle_no(self):
        self.mount("demangle=no")
        self.assertIn("_ZNK3geo5point4normEv", self.read(self.id, hex(self.address_of("norm"))))

    def build_ada(self, language):
        """A program whose debug data says so; C has no other names for the same functions."""
        source, assembly = (os.path.join(self.dir, "ada" + suffix) for suffix in (".c", ".s"))
        with open(source, "w") as file:
            file.write("int pack__inner__proc(int x) { return x + 1; }\nint _ada_hello(int x) { return x + 2; }\n")
        run(CC, "-g", "-O1", "-fPIC", "-dA", "-S", source, "-o", assembly)
        with open(assembly) as file:
            text, n = re.subn(r"(\.byte\s+)0x[0-9a-f]+(.*DW_AT_language)", r"\g<1>%#x\2" % language, file.read())
        self.assertEqual(n, 1)
        with open(assembly, "w") as file:
            file.write(text)
        path = os.path.join(self.source, "ada%d" % language)
        run(CC, "-shared", "-nostdlib", "-Wl,--build-id=sha1", assembly, "-o", path)
        return mount_harness.build_id(path), {name: start for start, _, name in self.functions(path)}

    def test_ada(self):
        """Its names do not say that they are mangled, but its units say that they are Ada's."""
        ada95, c99 = 0x0d, 0x0c
        (ada, names), (c, _) = self.build_ada(ada95), self.build_ada(c99)
        self.mount()
        place = "%#x" % names["pack__inner__proc"]
        self.assertEqual(self.read(ada, place), "pack.inner.proc at %s/ada.c:1\n" % self.dir)
        self.assertEqual(self.read(ada, "%#x" % names["_ada_hello"]), "hello at %s/ada.c:2\n" % self.dir)
        self.assertTrue(self.read(ada, place + ".raw").startswith("pack__inner__proc at "))
        self.assertTrue(self.read(c, place).startswith("pack__inner__proc at "))
        self.assertIn("\tpack.inner.proc\t", self.read(ada, "functions.tsv"))
        self.assertEqual(self.read(ada, "sym", "pack.inner.proc"), self.read(ada, place))
        self.assertEqual(self.read(ada, "sym", "hello"), self.read(ada, "sym", "_ada_hello"))
        self.assertErrno(errno.ENOENT, self.read, c, "sym", "pack.inner.proc")
        with open(os.path.join(self.mnt, "q.tsv"), "r+") as q:
            q.write("%s %s\n%s %s\n" % (ada, place, c, place))
            q.flush()
            self.assertEqual([line.split("\t")[2] for line in q], ["pack.inner.proc", "pack__inner__proc"])
        with open(os.path.join(self.mnt, "log"), "r+") as log:
            log.write("%s %s\n%s %s\n%s %s\n" % (ada, place, c, place, ada, place))
            log.flush()
            self.assertEqual([line.split()[2] for line in log], ["pack.inner.proc", "pack__inner__proc", "pack.inner.proc"])
        self.assertEqual(self.status(ada)["language"], "Ada")
        self.assertEqual(json.loads(self.read(ada, "info.json"))["language"], ["Ada"])
        self.assertNotIn("language", self.status(c))

    def test_unknown_address(self):
        self.mount()
        self.assertErrno(errno.ENOENT, self.read, self.id, "0x1")
        self.assertErrno(errno.ENOENT, self.read, self.id, "0xffffffffffffffff")

    def test_unknown_print(self):
        self.mount("unknown=print")
        self.assertEqual(self.read(self.id, "0x1"), "?? at ??:0\n")
        self.assertErrno(errno.ENOENT, self.read, self.id, "nothing")

    def test_sizes_are_exact(self):
        self.mount()
        inside = self.address_of("norm") + 4
        path = os.path.join(self.image(self.id), hex(inside))
        size = os.stat(path).st_size
        text = self.read(self.id, hex(inside)).encode()
        self.assertEqual(size, len(text))
        self.assertEqual(run("wc", "-c", path).stdout.split()[0], b"%d" % size)
        copy = os.path.join(self.dir, "copy")
        run("cp", path, copy)
        run("cmp", path, copy)
        run("tar", "-cf", copy + ".tar", "-C", self.image(self.id), hex(inside))
        self.assertEqual(run("tar", "-xOf", copy + ".tar").stdout, text)
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            self.assertEqual(mapped[:], text)
        with open(path, "rb", buffering=0) as file:
            self.assertEqual(os.pread(file.fileno(), 5, 3), text[3:8])
            self.assertEqual(os.pread(file.fileno(), 5, size + 10), b"")
            with open(copy, "wb") as out:
                os.sendfile(out.fileno(), file.fileno(), 0, size)
        run("cmp", path, copy)
        self.assertEqual(run("tail", "-n1", path).stdout.decode(), text.decode().splitlines()[-1] + "\n")

    def test_image_gsym(self):
        self.mount()
        path = os.path.join(self.image(self.id), "image.gsym")
        self.assertNotIn("image.gsym", os.listdir(self.image(self.id)))
        run("cmp", path, os.path.join(self.dir, "functions.gsym"))
        self.assertIn("image.gsym", os.listdir(self.image(self.id)))
        run(GSYM, "verify", path)
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            self.assertEqual(len(mapped), os.stat(path).st_size)

    def test_spellings_of_an_id(self):
        self.mount().wait_scanned()
        for alias in (self.id.upper(), self.id[:8], self.id[:39], self.id[:9].upper()):
            self.assertEqual(os.readlink(self.image(alias)), self.id)
            self.assertEqual(os.lstat(self.image(alias)).st_size, len(self.id))
            self.assertTrue(os.path.isdir(self.image(alias)))
        for wrong in (self.id[:7], self.id + "00", self.id[:38] + "zz", "0" * 40, "info.json"):
            self.assertErrno(errno.ENOENT, os.lstat, self.image(wrong))
        self.assertEqual(sorted(os.listdir(self.mnt)), sorted([self.id, *mount_harness.NO_IMAGES]))

    def test_as_build_id_directories_have_it(self):
        """xx/yyyy, with or without .debug; the directory lists nothing, and is there only if it may lead somewhere."""
        self.mount().wait_scanned()
        first, rest = self.id[:2], self.id[2:]
        for name in (rest, rest + ".debug"):
            self.assertEqual(os.readlink(os.path.join(self.mnt, first, name)), "../" + self.id)
            self.assertIn("id\t" + self.id, self.read(first, name, "status"))
        for name in (rest[:-1], rest[:10], rest + "00", rest.upper(), ".debug", "status", rest + ".debug.debug"):
            self.assertErrno(errno.ENOENT, os.lstat, os.path.join(self.mnt, first, name))
        self.assertEqual(os.listdir(os.path.join(self.mnt, first)), [])
        self.assertNotIn(first, os.listdir(self.mnt))
        other = "%02x" % (int(first, 16) ^ 1)
        self.assertErrno(errno.ENOENT, os.lstat, os.path.join(self.mnt, other))

    def test_uuid_with_dashes(self):
        uuid = "12345678-9abc-def0-1234-56789abcdef0"
        self.compile("uuid", flags=["-Wl,--build-id=0x" + uuid.replace("-", "")])
        self.mount()
        self.assertEqual(os.readlink(self.image(uuid)), uuid.replace("-", ""))
        self.assertEqual(os.readlink(self.image(uuid.upper())), uuid.replace("-", ""))

    def test_ambiguous_prefix(self):
        for last in "12":
            self.compile("same" + last, flags=["-Wl,--build-id=0xaaaaaaaaaaaaaaa" + last])
        self.mount()
        self.assertErrno(errno.ENOENT, os.lstat, self.image("aaaaaaaa"))
        self.assertTrue(os.path.isdir(self.image("aaaaaaaaaaaaaaa1")))

    def test_image_without_id(self):
        self.compile("plain", flags=["-Wl,--build-id=none"])
        self.mount().wait_scanned()
        (name,) = [n for n in os.listdir(self.mnt) if n.startswith("xxh3-")]
        self.assertEqual(len(name), 5 + 32)
        self.assertEqual(self.status(name)["state"], "cold")
        self.assertEqual(os.readlink(self.image(name[:13])), name)

    def test_by_name(self):
        other = self.compile("other")
        os.mkdir(os.path.join(self.source, "below"))
        os.link(other, os.path.join(self.source, "below", "sample"))
        os.symlink("other", os.path.join(self.source, "a-link"))
        self.mount().wait_scanned()
        ids = {"sample": {self.id, mount_harness.build_id(other)}, "other": {mount_harness.build_id(other)},
               "a-link": {mount_harness.build_id(other)}}
        top = os.path.join(self.mnt, "by-name")
        self.assertEqual({n: set(self.builds(n)) for n in os.listdir(top)}, ids)
        for id in ids["sample"]:
            self.assertEqual(os.readlink(os.path.join(top, "sample", id)), "../../" + id)
        self.assertErrno(errno.ENOENT, os.lstat, os.path.join(top, "other", self.id))
        self.assertErrno(errno.ENOENT, os.lstat, os.path.join(top, "nobody"))
        self.assertIn("geo", self.read("by-name", "sample", self.id, hex(self.address_of("norm"))))

    def test_address_by_name(self):
        """Of the only image of that name; the kernel does not keep it, because another may come at any time."""
        self.mount().wait_scanned()
        path = os.path.join(self.mnt, "by-name", "sample", hex(self.address_of("norm")))
        self.assertIn("geo", mount_harness.contents(path).decode())
        os.mkdir(os.path.join(self.source, "below"))
        os.rename(self.compile("other"), os.path.join(self.source, "below", "sample"))
        wait_until(lambda: len(self.builds("sample")) == 2, "the second image of that name")
        self.assertErrno(errno.ENOENT, os.stat, path)
        os.unlink(os.path.join(self.source, "below", "sample"))
        wait_until(lambda: len(self.builds("sample")) == 1, "the name to be of one image again")
        self.assertIn("geo", mount_harness.contents(path).decode())

    def test_listing_by_name(self):
        """All that the image has and its id, where one build has the name; else the ids alone."""
        os.mkdir(os.path.join(self.source, "below"))
        self.mount().wait_scanned()
        directory = os.path.join(self.mnt, "by-name", "sample")
        self.read(self.id, "functions.tsv")
        listed = os.listdir(directory)
        self.assertEqual(sorted(listed), sorted(os.listdir(os.path.join(self.mnt, self.id)) + [self.id]))
        for name in listed:
            here, there = os.path.join(directory, name), os.path.join(self.mnt, "" if name == self.id else self.id, name)
            self.assertTrue(os.path.samefile(here, there), name)
            self.assertEqual(os.path.islink(here), os.path.isdir(there), name)
        self.assertIn("geo", self.read("by-name", "sample", "ra", hex(self.address_of("norm") + 1)))
        os.rename(self.compile("other"), os.path.join(self.source, "below", "sample"))
        wait_until(lambda: len(os.listdir(directory)) == 2, "the second image of that name")
        self.assertEqual(sorted(os.listdir(directory)), self.builds("sample"))
        self.assertErrno(errno.ENOENT, os.stat, os.path.join(directory, "status"))

    def test_owner_mode_and_time(self):
        os.chmod(self.path, 0o4750)
        os.utime(self.path, (1, 1234567890))
        self.mount()
        name = hex(self.address_of("norm"))
        for path, mode in ((self.image(self.id), 0o550 | stat.S_IFDIR),
                           (os.path.join(self.image(self.id), name), 0o440 | stat.S_IFREG),
                           (os.path.join(self.image(self.id), "status"), 0o440 | stat.S_IFREG)):
            st = os.stat(path)
            self.assertEqual(oct(st.st_mode), oct(mode), path)
            self.assertEqual((st.st_uid, st.st_gid), (os.stat(self.path).st_uid, os.stat(self.path).st_gid))
            self.assertEqual(st.st_mtime, 1234567890)

    def test_closed_directory_closes_its_files(self):
        closed = os.path.join(self.source, "closed")
        os.mkdir(closed, 0o700)
        os.rename(self.path, os.path.join(closed, "sample"))
        self.mount()
        self.assertEqual(stat.S_IMODE(os.stat(self.image(self.id)).st_mode), 0o500)

    def test_nothing_can_be_changed(self):
        self.mount()
        image = self.image(self.id)
        status = os.path.join(image, "status")
        name = os.path.join(image, hex(self.address_of("norm")))
        new = os.path.join(image, "new")
        for call in (lambda: open(new, "w"), lambda: os.mkdir(new), lambda: os.unlink(status),
                     lambda: os.rmdir(image), lambda: os.symlink("x", new), lambda: os.rename(status, new),
                     lambda: os.link(status, new), lambda: os.chmod(status, 0o777), lambda: os.utime(name),
                     lambda: os.truncate(name, 0), lambda: open(name, "r+"), lambda: os.mkfifo(new),
                     lambda: os.setxattr(status, "user.x", b"1")):
            with self.assertRaises(OSError) as caught:
                call()
            self.assertIn(caught.exception.errno, (errno.EROFS, errno.EACCES, errno.EPERM))
        self.assertIn("state", self.status(self.id))

    def test_status(self):
        self.mount()
        before = self.status(self.id)
        self.assertEqual((before["state"], before["conversions"]), ("cold", "0"))
        self.assertEqual((before["source"], before["debug"]), (self.path, "dwarf"))
        self.read(self.id, hex(self.address_of("norm")))
        after = self.status(self.id)
        self.assertEqual((after["state"], after["conversions"]), ("ready", "1"))
        self.assertEqual(int(after["bytes"]), os.stat(os.path.join(self.image(self.id), "image.gsym")).st_size)
        self.assertEqual(int(after["functions"]), len(self.functions(self.path, stubs=True)))
        path = os.path.join(self.image(self.id), "status")
        self.assertEqual(os.stat(path).st_size, len(mount_harness.contents(path)))

    def test_many_names_are_forgotten(self):
        self.mount()
        addresses = self.addresses(2000)
        want = [self.read(self.id, hex(a)) for a in addresses]
        if mount_harness.is_root():
            with open("/proc/sys/vm/drop_caches", "w") as drop:
                drop.write("2")
        self.assertEqual([self.read(self.id, "%016x" % a) for a in addresses], want)


if __name__ == "__main__":
    mount_harness.main()
