#!/usr/bin/env python3
"""Each source format in SOURCE: what status says, and answers; test_truncated.py cuts the files."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import mount_harness  # noqa: E402
from mount_harness import MountTest  # noqa: E402
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


if __name__ == "__main__":
    mount_harness.main()
