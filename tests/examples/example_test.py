"""A mount over tests/examples/program.c, and the outputs that examples/README.md shows."""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "mount")]

from mount_harness import CC, GSYM, LIMIT, MountTest, build_id, main, run, tool, wait_until  # noqa: E402,F401

EXAMPLES = pathlib.Path(os.environ.get("EXAMPLES", HERE.parents[1] / "examples"))


def shown(name):
    """The output that the README shows for an example: the lines of its console block that are no commands."""
    section = re.search(r"^### `%s`\n(.*?)(?=^### |\Z)" % re.escape(name), (EXAMPLES / "README.md").read_text(), re.M | re.S)
    block = re.search(r"^```console\n(.*?)^```", section[1], re.M | re.S)[1]
    return "".join(line for line in block.splitlines(True) if not line.startswith("$ "))


def masked(text):
    """Without what another compiler or another run changes: addresses, ids, sizes and counts. Numbers of lines stay."""
    text = re.sub(r"\b[0-9a-f]{40}\b", "ID", text)
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    return re.sub(r"(?<![:\w.#])\d+(?![\w.])", "N", re.sub(r"(?m)(?<=\S) +|^ +", " ", text))


class ExampleTest(MountTest):
    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.source, "program")
        self.build(self.program, "-O2", "-fno-omit-frame-pointer")
        self.id = build_id(self.program)
        self.environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(self.dir, "xdg"),
                                PATH=os.path.dirname(GSYM) + os.pathsep + os.environ["PATH"])

    def build(self, out, *flags, source=HERE / "program.c"):
        run(CC, "-g", "-Wl,--build-id=sha1", "-ffile-prefix-map=%s=/src" % HERE, *flags, source, "-o", out)

    def example(self, name, *args, text="", status=0):
        """What an example prints on standard output and standard error, which must be nothing if it succeeds."""
        data = text.encode() if isinstance(text, str) else text
        done = subprocess.run([str(EXAMPLES / name), *map(str, args)], input=data, capture_output=True,
                              timeout=LIMIT, env=self.environment)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, err)
        return out, err

    def symbols(self):
        """Address and size of each function of the program."""
        table = self.read(self.id, "functions.tsv").splitlines()
        return {f[2]: (int(f[0], 16), int(f[1])) for f in (line.split("\t") for line in table)}

    def line_address(self, line):
        """Where a line of the program begins."""
        rows = (row.split("\t") for row in self.read(self.id, "lines.tsv").splitlines())
        return next(int(row[0], 16) for row in rows if row[3] == str(line))

    def need(self, *names):
        found = tool(*names)
        if not found:
            self.skipTest("needs " + " or ".join(names))
        return found

    def assertShown(self, name, output):
        self.assertEqual(masked(output).rstrip("\n"), masked(shown(name)).rstrip("\n"), output)
