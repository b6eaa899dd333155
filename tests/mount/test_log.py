#!/usr/bin/env python3
"""The file log: any log written, read back with its addresses explained."""

import os
import random
import re
import shutil
import threading

import mount_harness
from mount_harness import CC, GSYM, Gate, MountTest, build_id, contents, run, tool
from test_batch import Tape


class LogTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.other = self.compile("other")
        self.ids = {build_id(p): p for p in (self.path, self.other)}

    def log(self):
        return Tape(os.path.join(self.mnt, "log"))

    def lines(self):
        """Frames of several formats that lie in our images, and lines that are none."""
        found = []
        for id, path in self.ids.items():
            found += ["%s!geo::point::norm+0x1" % id, "%s`geo::point::norm() const + 1" % id]
            for i, (start, end, _) in enumerate(self.functions(path)):
                at = start + (end - start) // 2
                found += [
                    "#%d 0x%x (%s+0x%x) (BuildId: %s)" % (i, 0x7f0000000000 + at, path, at, id),
                    "      #%02d pc %016x  %s (BuildId: %s)" % (i, at, path, id),
                    "%s+0x%x" % (id, at), "%s 0x%x" % (id, at), "nothing to see here: 0x%x" % at]
        return found

    def converted(self):
        """What gsym filter makes files out of."""
        files = []
        for id, path in self.ids.items():
            files.append(os.path.join(self.dir, id + ".gsym"))
            run(GSYM, "convert", "--quiet", "--merged-functions", path, "-o", files[-1])
        return files

    def filtered(self, text):
        return run(GSYM, "filter", *self.converted(), input=text.encode()).stdout.decode()

    def test_fixed(self):
        """A program that cannot move is where it was linked, also for lines that have its name and no offset."""
        fixed = os.path.join(self.source, "fixed")
        run(CC, "-g", "-no-pie", "-x", "c", "-", "-o", fixed, input=b"int work(int x)\n{\n\treturn x;\n}\nint main(void) { return work(0); }\n")
        start = next(start for start, _, name in self.functions(fixed) if name == "work")
        self.mount().wait_scanned()
        for line, want in ((f" 1# {start + 2:#018x} in ./fixed", f" 1# {start + 2:#018x} work at .*:2 in ./fixed"),
                           (f"#1  {start + 2:#018x} in ?? () from /opt/fixed", "#1  0x[0-9a-f]* in work at .*:2 from /opt/fixed"),
                           (f"==9==    by {start + 1:#x}: ??? (in /opt/fixed)", r"==9==    by 0x[0-9a-f]*: work at .*:2 \(in /opt/fixed\)"),
                           (f"==9==    by {start + 1:#x}: ??? (in /opt/sample)", r"==9==    by 0x[0-9a-f]*: \?\?\? \(in /opt/sample\)")):
            with self.log() as log:
                self.assertRegex(log.ask(line + "\n"), f"^{want}\n$")

    def test_same_as_filter(self):
        text = "\n".join(self.lines()) + "\n"
        want = self.filtered(text)
        self.assertRegex(want, "geo::point::norm\\+0x1 geo::point::norm\\(\\) const at ")
        self.mount()
        with self.log() as log:
            self.assertEqual(log.ask(text), want)
        pick = random.Random(3)
        for _ in range(10):
            with self.log() as log:
                at = 0
                while at < len(text):
                    n = pick.randrange(1, 3000)
                    log.write(text[at:at + n])
                    at += n
                self.assertEqual(log.read(pick.choice((1, 100, 1 << 20))), want)

    def test_programs_with_a_mount(self):
        """gsym filter and gsym stack find their images in the tree, and convert them by that."""
        text = "\n".join(self.lines()) + "\n"
        want = self.filtered(text)
        self.mount()
        got = run(GSYM, "filter", "--mount", self.mnt, input=text.encode()).stdout.decode()
        self.assertEqual(got, want)
        id, path = next(iter(self.ids.items()))
        start, end, name = self.functions(path)[0]
        stack = "%s 0x%x\n%s 0x%x\n%s 0x1\n" % (id, start, id.upper(), start + 1, "00" * 20)
        got = run(GSYM, "stack", "--format=tsv", "--mount", self.mnt, input=stack.encode()).stdout.decode().split("\n")
        self.assertEqual([line.split("\t")[1] for line in got if "\ti\t" not in line and line], ["0", "1", "2"])
        self.assertEqual([line.split("\t")[11] for line in got if "\ti\t" not in line and line], [name, name, "??"])
        text = "[nowhere+0x1]\n%s+0x1\n" % ("01" * 20)
        told = run(GSYM, "filter", "--mount", self.mnt, input=text.encode())
        self.assertEqual(told.stdout.decode(), text)
        self.assertIn("nowhere: 1 frame not explained: the log has no id; give --by-name", told.stderr.decode())
        self.assertIn("1 frame not explained: not mounted; add the file with this id to SOURCE", told.stderr.decode())
        told = run(GSYM, "filter", "--by-name", "--mount", self.mnt, input=text.encode())
        self.assertIn("nowhere: 1 frame not explained: the log has no id, and nothing has this name; add the file", told.stderr.decode())
        for where, words in ((self.mnt + "/none", "No such file"), (self.source, "no gsymfs is mounted there")):
            for command in ("filter", "stack"):
                failed = run(GSYM, command, "--mount", where, input=b"", check=False)
                self.assertEqual(failed.returncode, 1)
                self.assertIn(words, failed.stderr.decode())

    def test_by_name(self):
        """A log without ids: images are found by name if just one has it; by gsym filter only if it is asked for so."""
        start = next(start for start, _, name in self.functions(self.path) if "norm" in name)
        frame = "    #0 0x7f0000000010  (/elsewhere/sample+0x%x)%s\n"
        text = frame % (start, "")
        files = self.converted()
        self.mount().wait_scanned()

        def found(text, *options):
            return run(GSYM, "filter", "--mount", self.mnt, *options, input=text.encode()).stdout.decode()

        want = run(GSYM, "filter", files[0], input=(frame % (start, " (BuildId: %s)" % build_id(self.path))).encode()).stdout.decode()
        self.assertNotIn("elsewhere", want)
        self.assertEqual(found(text), text)
        self.assertEqual(found(text * 3, "--by-name"), want * 3)
        unwound = "/elsewhere/sample(+0x%x)[0x7f0000000010]\n" % (start + 1)
        fault = "sample[1]: segfault at 0 ip 0 sp 0 error 4 in sample[%x,7f0000000000+1000]\n" % start
        with self.log() as log:
            self.assertEqual(log.ask(text), want)
            self.assertRegex(log.ask(unwound), "norm.* at /.*sample")
            self.assertRegex(log.ask(fault), "norm.* at /.*sample")
        self.assertRegex(found(fault, "--by-name"), "norm.* at /.*sample")
        another = frame % (start, " (BuildId: %s)" % ("ab" * 20))
        self.assertEqual(found(another, "--by-name"), another)
        os.mkdir(os.path.join(self.source, "older"))
        self.compile("sample", where=os.path.join(self.source, "older"), flags=("-DOLDER", "-O1"))
        mount_harness.wait_until(lambda: len(self.builds("sample")) == 2, "a second sample")
        self.assertEqual(found(text, "--by-name"), text)
        with self.log() as log:
            self.assertEqual(log.ask(text + unwound + fault), text + unwound + fault)
        failed = run(GSYM, "filter", "--by-name", files[0], input=b"", check=False)
        self.assertEqual(failed.returncode, 2)

    def test_releases(self):
        """Kernels, and modules of one name, are chosen by the release that the log tells and their paths have."""
        for release, name in (("6.1.0-13-amd64", "older"), ("6.12.1", "newer")):
            place = os.path.join(self.source, "lib", "modules", release)
            os.makedirs(os.path.join(place, "kernel"))
            for file, prefix in (("vmlinux", "core"), (os.path.join("kernel", "my-mod.ko"), "mod")):
                source = os.path.join(self.dir, "%s.c" % name)
                with open(source, "w") as out:
                    out.write("int %s_one(int a) { return a * 3; }\nint _start(int a) { return %s_one(a); }\n" % (prefix, prefix))
                run(CC, "-O0", "-g", "-nostdlib", "-shared", "-o", os.path.join(place, file), source)
        path = os.path.join(self.source, "lib", "modules", "6.12.1")
        size = {name: end - start for file in ("vmlinux", "kernel/my-mod.ko")
                for start, end, name in self.functions(os.path.join(path, file))}
        trace = "CPU: 0 PID: 1 Comm: cat Not tainted %s #1\n core_one+0x5/0x{:x}\n mod_one+0x5/0x{:x} [my_mod]\n".format(
            size["core_one"], size["mod_one"])
        self.mount().wait_scanned()
        both = run(GSYM, "filter", "--by-name", "--mount", self.mnt, input=(trace % "6.1.0-13-amd64" + trace % "6.12.1").encode()).stdout.decode()
        self.assertEqual(re.findall(r"(core_one|mod_one) \((?:.*/)?(older|newer)\.c:1\)", both),
                         [("core_one", "older"), ("mod_one", "older"), ("core_one", "newer"), ("mod_one", "newer")])
        text = trace % "5.10.0"
        done = run(GSYM, "filter", "--by-name", "--mount", self.mnt, input=text.encode())
        self.assertEqual(done.stdout.decode(), text)
        self.assertRegex(done.stderr.decode(), "vmlinux: 1 frame not explained: of another build: the log is of 5.10.0, the file of 6.1")
        done = run(GSYM, "filter", os.path.join(path, "kernel", "my-mod.ko"), os.path.join(path, "vmlinux"), input=text.encode())
        self.assertEqual(done.stdout.decode(), text)
        self.assertRegex(done.stderr.decode(), "my_mod: 1 frame not explained: of another build: the log is of 5.10.0, the file of 6.12.1;")
        # A kernel is known by what it has, whatever its file is called.
        kernel = os.path.join(self.dir, "0123.debug")
        run(CC, "-g", "-nostdlib", "-shared", "-Wl,--build-id", "-x", "c", "-", "-o", kernel, input=b"int start_kernel(int a) { return a; }\n")
        done = run(GSYM, "filter", kernel, input=text.replace(" #1", " #1 " + "01" * 20).encode())
        self.assertIn("the log is of %s, the file of %s;" % ("01" * 20, build_id(kernel)), done.stderr.decode())
        # A stack of bpftrace does not say of which module its functions are.
        stack = "        mod_one+5\n        core_one+5\n        nobody+5\n"
        files = [os.path.join(path, "vmlinux"), os.path.join(path, "kernel", "my-mod.ko")]
        shutil.copy(files[1], os.path.join(self.dir, "copy.ko"))
        for more, want in (((), ["mod_one (", "core_one (", "nobody+5"]), ((os.path.join(self.dir, "copy.ko"),), ["mod_one+5", "core_one (", "nobody+5"])):
            done = run(GSYM, "filter", *files, *more, input=stack.encode()).stdout.decode()
            self.assertEqual([line.strip()[:len(start)] for line, start in zip(done.splitlines(), want)], want)
        # Over a mount those of the release are tried: that of the log, else of the kernel with the name.
        for release, want in (("6.1.0-13-amd64", "older"), ("6.12.1", "newer"), ("5.10.0", None)):
            log = "CPU: 0 PID: 1 Comm: cat Not tainted %s #1\n" % release + stack
            done = run(GSYM, "filter", "--by-name", "--mount", self.mnt, input=log.encode()).stdout.decode()
            self.assertEqual(re.findall(r"(\w+_one) \((?:.*/)?(older|newer)\.c:1\)", done), [("mod_one", want), ("core_one", want)] if want else [])
        os.remove(os.path.join(self.source, "lib", "modules", "6.1.0-13-amd64", "vmlinux"))
        mount_harness.wait_until(lambda: len(self.builds("vmlinux")) == 1, "one kernel")
        done = run(GSYM, "filter", "--by-name", "--mount", self.mnt, input=stack.encode()).stdout.decode()
        self.assertEqual(re.findall(r"(\w+_one) \((?:.*/)?(older|newer)\.c:1\)", done), [("mod_one", "newer"), ("core_one", "newer")])

    def test_paths(self):
        """Of several builds of a name the log means the one that is where the log says."""
        for place in ("a", "b"):
            os.makedirs(os.path.join(self.source, "srv", place))
            self.compile("plugin.so", where=os.path.join(self.source, "srv", place), flags=("-DPLACE_" + place, "-O1" if place == "a" else "-O2"))
        paths = {place: os.path.join(self.source, "srv", place, "plugin.so") for place in ("a", "b")}
        start = {place: next(start for start, _, name in self.functions(path) if "norm" in name) for place, path in paths.items()}
        text = "/srv/a/plugin.so(+0x%x) [0x1]\n%s(+0x%x) [0x1]\n" % (start["a"] + 1, paths["b"], start["b"] + 1)
        other = "/opt/plugin.so(+0x%x) [0x1]\n" % start["a"]
        self.mount().wait_scanned()
        done = run(GSYM, "filter", "--by-name", "--mount", self.mnt, input=(text + other).encode())
        self.assertEqual(done.stdout.decode().count(" geo::point::norm() const at "), 2, done.stdout)
        self.assertIn("2 of 3 frames explained", done.stderr.decode())
        self.assertIn("several builds have this name", done.stderr.decode())
        with self.log() as log:
            self.assertRegex(log.ask(text + other), r"\A/srv/a/plugin.so.* geo::point::norm.*\n.*/srv/b/plugin.so\S* \[0x1\]\n/opt/\S* \[0x1\]\n\Z")
        done = run(GSYM, "filter", paths["a"], paths["b"], input=(text + other).encode())
        self.assertIn("2 of 3 frames explained", done.stderr.decode())

    def test_shell(self):
        text = self.lines()[0] + "\n"
        self.mount()
        script = "exec 3<>\"$1\"; cat >&3; cat <&3"
        got = run("sh", "-c", script, "sh", os.path.join(self.mnt, "log"), input=text.encode()).stdout.decode()
        self.assertEqual(got, self.filtered(text))

    def test_bytes_it_does_not_know(self):
        """Come back as they are."""
        self.mount()
        random.seed(11)
        junk = bytes(random.randrange(256) for _ in range(300000))
        with self.log() as log:
            log.write(junk)
            found = b""
            while True:
                piece = os.read(log.fd, 70000)
                if not piece:
                    break
                found += piece
        self.assertEqual(found, junk)
        with self.log() as log:
            self.assertEqual(log.ask("no newline"), "no newline")
            self.assertEqual(log.ask("\n\n"), "\n\n")

    def test_looking_converts_nothing(self):
        self.mount()
        self.assertIn("log", os.listdir(self.mnt))
        self.assertIn("exec 3<>q", self.read("log"))
        with open(os.path.join(self.mnt, "log"), "w") as log:
            log.write(self.lines()[0])
        self.assertEqual(self.conversions(), 0)

    def conversions(self, mnt=None):
        return sum(int(self.status(id, mnt)["conversions"]) for id in self.ids)

    def test_conversions_side_by_side(self):
        gate = Gate(self)
        text = "".join("#%d 0x7f0000001000 (%s+0x%x) (BuildId: %s)\n" % (i, path, self.functions(path)[0][0], id)
                       for i, (id, path) in enumerate(self.ids.items()))
        want = self.filtered(text)
        self.assertNotEqual(want, text)
        gate.shut()
        self.mount("worker=" + gate.worker, "jobs=2").wait_scanned()
        found = []
        with self.log() as log:
            log.write(text)
            reader = threading.Thread(target=lambda: found.append(log.read()))
            reader.start()
            try:
                gate.wait_started(2)
            finally:
                gate.open()
                reader.join(mount_harness.LIMIT)
        self.assertEqual(found, [want])

    def test_stack_across_many_images(self):
        """More than a call waits for when it waits for one."""
        paths = [self.compile("lib%d" % i) for i in range(12)]
        places, names = "", ""
        for i, path in enumerate(paths):
            start, end, _ = next(f for f in self.functions(path) if f[2].endswith("normEv"))
            places += "#%d 0x%x (%s+0x%x) (BuildId: %s)\n" % (i, 0x7f0000000000 + start, path, start + 4, build_id(path))
            names += " _ZNK3geo5point4normEv+0x4/0x%x [lib%d %s]\n" % (end - start, i, build_id(path))
        self.mount("jobs=1").wait_scanned()
        with self.log() as log:
            self.assertEqual(log.ask(places).count("geo::point::norm() const"), len(paths))
            self.assertEqual(log.ask("Call Trace:\n" + names).count("geo::point::norm() const"), len(paths))
            other_build = re.sub("/0x", "/0x1", names)
            self.assertEqual(log.ask(other_build), other_build)

    def test_bad_image(self):
        """Its lines stay as they are, the others are explained."""
        data = bytearray(contents(self.path))
        data[0x28:0x30] = b"\xff" * 8
        with open(self.path, "wb") as file:
            file.write(data)
        bad, good = self.ids
        start = self.functions(self.other)[0][0]
        text = "%s 0x10\n%s 0x%x\n" % (bad, good, start)
        del self.ids[bad]
        self.mount().wait_scanned()
        with self.log() as log:
            self.assertEqual(log.ask(text), self.filtered(text))

    def test_others(self):
        """Who may not read an image learns nothing of it."""
        if not mount_harness.is_root() or not tool("setpriv"):
            self.skipTest("needs root and setpriv")
        os.chmod(self.path, 0o600)
        secret, known = self.ids
        text = "%s 0x%x\n%s 0x%x\n" % (secret, self.functions(self.path)[0][0], known, self.functions(self.other)[0][0])
        self.mount("allow_other").wait_scanned()
        script = "exec 3<>\"$1\"; cat >&3; cat <&3"
        got = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", script, "sh",
                  os.path.join(self.mnt, "log"), input=text.encode()).stdout.decode()
        del self.ids[secret]
        self.assertEqual(got, self.filtered(text))

    def test_memory(self):
        """A log of any length needs no more than its parts."""
        daemon = self.mount()
        block = "\n".join(self.lines()) + "\n"
        block *= (1 << 20) // len(block) + 1
        with self.log() as log:
            for _ in range(30):
                log.ask(block)
        with open("/proc/%d/status" % daemon.process.pid) as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        if os.environ.get("BUILD_KIND") != "sanitize":
            self.assertLess(peak, 300 * 1024)


if __name__ == "__main__":
    mount_harness.main()
