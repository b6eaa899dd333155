#!/usr/bin/env python3
"""Reports of crashes: of a kernel, of Apple's systems, of a sanitizer."""

import os
import pathlib
import re
import subprocess

from example_test import CC, EXAMPLES, LIMIT, ExampleTest, main, run, shown
from lib import macho_sample

LOAD = 0x104a78000
UUID = "00112233-4455-6677-8899-AABBCCDDEEFF"


WORK = "int %s(int n) { volatile int sum = 0; for (int i = 0; i < n; i++) sum += i ^ n; return sum; }\n"
SERVER = """#include <dlfcn.h>
int work(int);
int main(void)
{
	int (*more)(int) = (int (*)(int))dlsym(dlopen("./plugin.so", RTLD_NOW), "more"), sum = 0;
	for (int i = 0; i < 400; i++)
		sum += work(200000) + more(200000);
	return sum == 42;
}
"""


class LogTest(ExampleTest):
    def oops(self):
        """As 6.1 prints it, with functions of the program."""
        places = {}
        for name, (start, size) in self.symbols().items():
            line = {"checksum": 18, "main": 59}.get(name)
            if line:
                places[name] = "%s+0x%x/0x%x" % (name, self.line_address(line) - start + (name == "main"), size)
        head = "[   12.345678] "
        return "".join(head + line + "\n" for line in (
            "BUG: kernel NULL pointer dereference, address: 0000000000000010",
            "CPU: 1 PID: 742 Comm: cat Not tainted 6.1.0 #1", "RIP: 0010:" + places["checksum"], "Call Trace:", " <TASK>",
            " " + places["main"], " ? unknown+0x12/0x40", " </TASK>"))

    def place(self):
        """The directory in which commands of README run, and whose programs they find first."""
        place = os.path.join(self.dir, "bin")
        os.makedirs(place, exist_ok=True)
        return place

    def row(self, what, text="", was="", now=""):
        """Runs the first command in the row of the project's README, whose mount is ~/sym; what it prints."""
        readme = (EXAMPLES.parent / "README.md").read_text()
        command = re.search(r"^\| %s[^|]*\| `((?:[^`|]|\\\|)*)`" % re.escape(what), readme, re.M)[1].replace("\\|", "|")
        self.assertIn(was, command)
        place = self.place()
        for name in "dmesg", "Shop.ips":
            with open(os.path.join(place, name), "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\ncat <<'END'\n%sEND\n" % text if name == "dmesg" else text)
            os.chmod(file.name, 0o755)
        os.path.lexists(os.path.join(self.dir, "sym")) or os.symlink(self.mnt, os.path.join(self.dir, "sym"))
        env = dict(self.environment, HOME=self.dir, PATH=place + ":" + self.environment["PATH"])
        done = subprocess.run(["sh", "-c", command.replace(was, now)], capture_output=True, timeout=LIMIT, env=env, cwd=place,
                              check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_recording(self):
        """The files are those that perf noted: the program's, its library's and its plugin's frames are all explained."""
        self.need("perf")
        place = pathlib.Path(self.place())
        flags = ["-g", "-O1", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1"]
        for name, text in ("server", SERVER), ("lib", WORK % "work"), ("plugin", WORK % "more"):
            (place / (name + ".c")).write_text(text)
        for name in "lib", "plugin":
            run(CC, *flags, "-shared", "-fPIC", place / (name + ".c"), "-o", place / (name + ".so"))
        run(CC, *flags, place / "server.c", place / "lib.so", "-o", place / "server", "-ldl")
        record = ["perf", "record", "-N", "-q", "-e", "cpu-clock:u", "-g", "--buildid-all", "-o", "perf.data", "./server"]
        done = subprocess.run(record, cwd=place, capture_output=True, timeout=LIMIT, check=False)
        if done.returncode:
            self.skipTest("perf cannot record here: " + done.stderr.decode(errors="replace").strip()[:200])
        out, err = self.row("a recording of perf")
        for name, function in ("server", "main at .*/server.c:7"), ("lib.so", "work at .*/lib.c:1"), ("plugin.so", "more at .*/plugin.c:1"):
            lines = [line for line in out.splitlines() if line.endswith("/%s)" % name) and " _" not in line]
            self.assertGreater(len(lines), 10, err)
            self.assertEqual([line for line in lines if not re.search(r"\b" + function, line)], [], err)

    def test_addresses(self):
        os.symlink(self.program, os.path.join(self.place(), "program"))
        out, err = self.row("addresses", was="0x2a3f0", now="main")
        self.assertRegex(out, r"main at /src/program\.c:\d+")
        self.assertEqual(err, "")

    def test_kernel(self):
        os.makedirs(os.path.join(self.source, "boot"))
        os.rename(self.program, os.path.join(self.source, "boot", "vmlinux-6.1.0"))
        self.mount().wait_scanned()
        out, err = self.row("an oops of a kernel", self.oops())
        self.assertEqual(out.replace("[   12.345678] ", "").splitlines()[2:], [
            "RIP: 0010:mix (program.c:18) [inlined]", "RIP: 0010:checksum (program.c:31)", "Call Trace:", " <TASK>",
            " main (program.c:59)", " ? unknown+0x12/0x40", " </TASK>"], err)
        self.assertEqual(err, "gsym filter: 2 of 3 frames explained\n"
                         "gsym filter: vmlinux: 1 frame not explained: no function of the image has the name in the log; another build may have written it\n")

    def crash(self):
        frame = "%-4d%-28s\t0x%016x 0x%x + %d"
        frames = [("program", LOAD, 0x1008), ("program", LOAD, 0x1024), ("libdyld.dylib", 0x181234000, 0x4f4)]
        return "\n".join([
            "Process:               program [742]", "Exception Type:  EXC_BAD_ACCESS (SIGSEGV)", "",
            "Thread 0 Crashed:: Dispatch queue: com.apple.main-thread",
            *(frame % (n, name, load + at, load, at) for n, (name, load, at) in enumerate(frames)), "", "Binary Images:",
            "       0x104a78000 -        0x104a7bfff +program arm64  <%s> /opt/program" % UUID.replace("-", "").lower(),
            "       0x181234000 -        0x18123ffff libdyld.dylib arm64  <11111111222233334444555566667777> /usr/lib/libdyld.dylib",
            ""])

    def test_apple(self):
        with open(os.path.join(self.source, "apple"), "wb") as file:
            file.write(macho_sample.program(base=0x100000000).file())
        self.mount().wait_scanned()
        out, err = self.row("a crash log of iOS or macOS", self.crash())
        self.assertEqual([line.split("\t")[1] for line in out.splitlines() if "\t" in line], [
            "0x0000000104a79008 tiny (in program) (b.h:9) [inlined]", "0x0000000104a79008 main (in program) (a.c:5)",
            "0x0000000104a79024 helper (in program) (a.c:20)", "0x00000001812344f4 0x181234000 + 1268"])
        self.assertEqual([line for line in out.splitlines() if "\t" not in line],
                         [line for line in self.crash().splitlines() if "\t" not in line])
        self.assertRegex(err, r"libdyld\.dylib \(1111\w*\): 1 frame not explained: not mounted")
        self.assertNotIn("gsym filter: program", err)

    def test_sanitizer(self):
        self.need("readelf")
        checked = os.path.join(self.source, "checked")
        try:
            self.build(checked, "-O1", "-fsanitize=address", "-fno-omit-frame-pointer")
        except AssertionError:
            self.skipTest("this compiler has no address sanitizer")
        self.mount().wait_scanned()
        if "AddressSanitizer" not in run(checked, "1", "x", check=False).stderr.decode():
            self.skipTest("the address sanitizer does not run here")
        with open(os.path.join(self.place(), "server"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec "%s" 1 x\n' % checked)
        os.chmod(file.name, 0o755)
        out, err = self.row("a sanitizer's report", was="filter ./server", now='filter "%s"' % checked)
        self.assertRegex(out, r"\n    #1 0x\w+ in main /src/program\.c:\d+", err)
        out, err = self.example("asan-report.sh", self.mnt, checked, "1", "x", status=1)
        self.assertEqual(out, "")
        frames = [re.sub(r"0x[0-9a-f]+", "0x", line) for line in err.splitlines() if re.search(r" in \w+ /src/", line)]
        wanted = [re.sub(r"0x[0-9a-f]+", "0x", line) for line in shown("asan-report.sh").splitlines() if " /src/" in line]
        self.assertEqual(frames[:len(wanted)], wanted, err)
        self.example("asan-report.sh", self.mnt, self.program, "1")
        self.example("asan-report.sh", self.mnt, status=2)


if __name__ == "__main__":
    main()
