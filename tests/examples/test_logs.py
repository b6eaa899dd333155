#!/usr/bin/env python3
"""Reports of crashes: of a kernel, of Apple's systems, of a sanitizer."""

import os
import re

from example_test import ExampleTest, main, run, shown
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

    def test_kernel(self):
        self.need("readelf")
        self.mount().wait_scanned()
        oops = self.oops()
        for _ in range(2):
            self.assertShown("kernel-oops.sh", self.example("kernel-oops.sh", self.program, text=oops)[0])
        with_id = oops.replace("6.1.0 #1", "6.1.0 #1 " + self.id)
        out, _ = self.example("kernel-oops.sh", self.mnt, text=with_id)
        self.assertIn("main (/src/program.c:59)", out)
        self.example("kernel-oops.sh", os.path.join(self.dir, "nothing"), status=1)
        self.example("kernel-oops.sh", status=2)

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
        out, err = self.example("apple-crash.sh", self.mnt, text=self.crash())
        self.assertShown("apple-crash.sh", out)
        self.assertRegex(err, r"no symbols of libdyld\.dylib, UUID 1111")
        self.assertNotIn("of program", err)
        json = '{"usedImages" : [{\n "uuid" : "%s", "name" : "program"\n},{"uuid":"%s"}]}\n'
        _, err = self.example("apple-crash.sh", self.mnt, text=json % (UUID, UUID[::-1]))
        self.assertEqual((err.count("\n"), UUID[::-1] in err), (1, True), err)
        self.example("apple-crash.sh", self.mnt, text=self.crash().replace("00112233", "00112234"), status=1)
        self.example("apple-crash.sh", self.source, status=2)

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
