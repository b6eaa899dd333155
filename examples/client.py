#!/usr/bin/env python3
"""Asks an image for many addresses through one open file: a class to copy.

    client.py MOUNT/ID ADDRESS...

Prints each frame as "address function file:line", the innermost first. The file q takes lines of addresses and gives
a line of JSON for each, of the form of "llvm-symbolizer --output-style=JSON".
"""
import json
import os
import sys


class Image:
    """with Image("/mnt/sym/93ac61ec") as image: frames, = image.ask([0x2a3f0])"""

    def __init__(self, directory):
        self._q = open(os.path.join(directory, "q.json"), "r+b", buffering=0)

    def ask(self, addresses):
        """A list of frames, the innermost first, for each address; an empty one where nothing is known."""
        answers = []
        for at in range(0, len(addresses), 100000):  # what is unanswered may take 64 megabytes
            text = "".join("%#x\n" % a for a in addresses[at:at + 100000]).encode()
            while text:
                text = text[self._q.write(text):]
            for line in self._q.readall().splitlines():
                answers.append([f for f in json.loads(line)["Symbol"] if f["FunctionName"]])
        return answers

    def close(self):
        self._q.close()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: client.py MOUNT/ID ADDRESS...")
    addresses = [int(a, 16) for a in sys.argv[2:]]
    with Image(sys.argv[1]) as image:
        for address, frames in zip(addresses, image.ask(addresses)):
            for f in frames or [{"FunctionName": "??", "FileName": "", "Line": 0}]:
                print("%#x %s %s:%d" % (address, f["FunctionName"], f["FileName"] or "??", f["Line"]))


if __name__ == "__main__":
    main()
