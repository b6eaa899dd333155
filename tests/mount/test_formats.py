#!/usr/bin/env python3
"""Each source format in SOURCE: what status says, and answers; test_truncated.py cuts the files."""

import os
import re
import sys
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import mount_harness  # noqa: E402
from mount_harness import MountTest, contents  # noqa: E402
from lib.formats import FORMATS  # noqa: E402


class FormatsTest(MountTest):
    def test_samples(self):
        for row in FORMATS:
            self.add_file("sample" + row.ending, data=row.make())
        self.mount().wait_scanned()
        self.assertEqual(self.ids(), {row.id for row in FORMATS})
        for row in FORMATS:
            self.assertEqual(self.status(row.id)["kind"], row.word)
            for address, answer in row.answers.items():
                self.assertEqual(self.read(row.id, hex(address)).strip(), answer, row.reader)

    def convert_all(self, *raised):
        """The words in status of the formats that a daemon converts whose readers @raised have another revision."""
        programs, other = {}, {}
        for name, path in (("gsymfs", mount_harness.GSYMFS), ("gsym", mount_harness.GSYM)):
            data = contents(path)
            for reader in raised:
                self.assertEqual(len(re.findall(rb"%s=\d+\0" % reader.encode(), data)), 1, reader)
                data = re.sub(rb"%s=\d+\0" % reader.encode(), lambda m: m[0][:-2] + bytes([m[0][-2] ^ 1, 0]), data)
                other[reader] = re.search(rb"%s=(\d+)\0" % reader.encode(), data)[1].decode()
            programs[name] = os.path.join(self.dir, name)
            if os.path.exists(programs[name]):
                os.unlink(programs[name])
            with open(programs[name], "wb") as file:
                file.write(data)
            os.chmod(programs[name], 0o755)
        with mock.patch.object(mount_harness, "GSYMFS", programs["gsymfs"]):
            daemon = self.mount("worker=" + programs["gsym"])
        daemon.wait_scanned()
        made = set()
        for row in FORMATS:
            for address, answer in row.answers.items():
                self.assertEqual(self.read(row.id, hex(address)).strip(), answer, row.reader)
            if int(self.status(row.id)["conversions"]):
                made.add(row.word)
        for reader in raised:
            self.assertRegex(self.read("metrics"), r'converter_revision\{.*reader="%s"\} %s\n' % (reader, other[reader]))
        self.assertEqual(daemon.stop(), 0)
        return made

    def test_upgrade(self):
        """After an upgrade those files are converted again whose readers changed."""
        for row in FORMATS:
            self.add_file("sample" + row.ending, data=row.make())
        self.assertEqual(self.convert_all(), {row.word for row in FORMATS})
        self.assertEqual(self.convert_all(), set())
        for reader, words in {"elf": {"elf"}, "macho": {"mach-o"}, "breakpad": {"breakpad"}, "pdb": {"pe", "pdb"},
                              "go": {"elf", "mach-o", "pe", "pdb"}, "common": {row.word for row in FORMATS}}.items():
            with self.subTest(reader):
                self.assertEqual(self.convert_all(reader), words)
                self.assertEqual(self.convert_all(), set())


if __name__ == "__main__":
    mount_harness.main()
