#!/usr/bin/env python3
"""Reports of crashes: of a kernel, of Apple's systems, of a sanitizer."""

import os
import re
import subprocess

from example_test import EXAMPLES, LIMIT, ExampleTest, main, run, shown
from lib import macho_sample

LOAD = 0x104a78000
UUID = "00112233-4455-6677-8899-AABBCCDDEEFF"


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

    def row(self, what, text):
        """Runs the first command in the row of the project's README, whose mount is ~/sym; what it prints."""
        readme = (EXAMPLES.parent / "README.md").read_text()
        command = re.search(r"^\| %s[^|]*\| `([^`]*)`" % re.escape(what), readme, re.M)[1].replace("\\|", "|")
        place = os.path.join(self.dir, "bin")
        os.makedirs(place, exist_ok=True)
        for name in "dmesg", "Shop.ips":
            with open(os.path.join(place, name), "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\ncat <<'END'\n%sEND\n" % text if name == "dmesg" else text)
            os.chmod(file.name, 0o755)
        os.path.lexists(os.path.join(self.dir, "sym")) or os.symlink(self.mnt, os.path.join(self.dir, "sym"))
        env = dict(self.environment, HOME=self.dir, PATH=place + ":" + self.environment["PATH"])
        done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=LIMIT, env=env, cwd=place, check=True, text=True)
        return done.stdout, done.stderr

    def test_kernel(self):
        os.makedirs(os.path.join(self.source, "boot"))
        os.rename(self.program, os.path.join(self.source, "boot", "vmlinux-6.1.0"))
        self.mount().wait_scanned()
        out, err = self.row("an oops of a kernel", self.oops())
        self.assertEqual(out.replace("[   12.345678] ", "").splitlines()[2:], [
            "RIP: 0010:mix (program.c:18) [inlined]", "RIP: 0010:checksum (program.c:31)", "Call Trace:", " <TASK>",
            " main (program.c:59)", " ? unknown+0x12/0x40", " </TASK>"], err)
        self.assertEqual(err, "gsym filter: 2 of 3 frames explained\n"
                         "gsym filter: vmlinux: 1 frame not explained: not in a function of the image; another build may have written the log\n")

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
        out, err = self.example("asan-report.sh", self.mnt, checked, "1", "x", status=1)
        self.assertEqual(out, "")
        frames = [re.sub(r"0x[0-9a-f]+", "0x", line) for line in err.splitlines() if re.search(r" in \w+ /src/", line)]
        wanted = [re.sub(r"0x[0-9a-f]+", "0x", line) for line in shown("asan-report.sh").splitlines() if " /src/" in line]
        self.assertEqual(frames[:len(wanted)], wanted, err)
        self.example("asan-report.sh", self.mnt, self.program, "1")
        self.example("asan-report.sh", self.mnt, status=2)


if __name__ == "__main__":
    main()
