"""A mount that containers share, as examples/container and examples/kubernetes do it: what reaches a reader when the daemon is
restarted, and the commands of the manifests. Mount namespaces stand for containers."""

import os
import re
import subprocess

from example_test import EXAMPLES, ExampleTest, main, run, wait_until
from mount_harness import GSYMFS, is_mounted, is_root

MANIFEST = (EXAMPLES / "kubernetes/gsymfs.yaml").read_text()
DOCKERFILE = (EXAMPLES / "container/Dockerfile").read_text()


def commands(text):
    """The command lines of a manifest, as lists of words."""
    return [[word.replace('\\"', '"') for word in re.findall(r'"((?:[^"\\]|\\.)*)"', line)] for line in re.findall(r"command: \[(.*)\]", text)]


class Reader:
    """A mount namespace with two volumes, of the directory above the mount and of the mount itself; asked line by line."""

    def __init__(self, test):
        self.above, self.itself = (os.path.join(test.dir, name) for name in ("above", "itself"))
        for path in (self.above, self.itself):
            os.mkdir(path)
        script = ('mount --rbind --make-rslave "$1" "$2" && mount --bind "$1/sym" "$3" && while read -r path; do\n'
                  'cat "$path" 2>&1; echo END; done')
        self.process = subprocess.Popen(["unshare", "-m", "--propagation", "slave", "sh", "-c", script, "sh", test.node, self.above, self.itself],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        test.addCleanup(self.end)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def cat(self, path):
        self.process.stdin.write(path + "\n")
        return "".join(iter(self.process.stdout.readline, "END\n"))


class Container(ExampleTest):
    def setUp(self):
        super().setUp()
        if not is_root():
            self.skipTest("needs root")
        self.node = os.path.join(self.dir, "node")
        os.mkdir(self.node)
        run("mount", "-t", "tmpfs", "tmpfs", self.node)
        self.addCleanup(run, "umount", "-l", self.node)
        run("mount", "--make-shared", self.node)
        self.mnt = os.path.join(self.node, "sym")
        os.mkdir(self.mnt)
        self.addCleanup(lambda: is_mounted(self.mnt) and run("umount", "-l", self.mnt))

    def test_restart(self):
        daemon = self.mount()
        reader = Reader(self)
        place = f"by-name/program/{self.symbols()['main'][0]:#x}"
        whole = self.read(*place.split("/"))
        self.assertIn("main at", whole)
        paths = [f"{reader.above}/sym/{place}", f"{reader.itself}/{place}"]
        self.assertEqual([reader.cat(path) for path in paths], [whole, whole])
        daemon.process.kill()
        daemon.process.wait()
        for path in paths:
            self.assertIn("Transport endpoint is not connected", reader.cat(path))
        self.mount()
        wait_until(lambda: reader.cat(paths[0]) == whole, "the answer through the directory above")
        self.assertIn("Transport endpoint is not connected", reader.cat(paths[1]))

    def probe(self, words):
        """The status of a probe of the manifest, asked of our mount."""
        place = dict(os.environ, PATH=os.path.dirname(GSYMFS) + os.pathsep + os.environ["PATH"])
        return subprocess.run([word.replace("/run/gsymfs", self.node) for word in words], env=place, capture_output=True).returncode

    def test_probes(self):
        found = [words for words in commands(MANIFEST) if any("--check" in word for word in words)]
        self.assertEqual(len(found), 2)
        health = ["sh", "-c", re.search(r"^HEALTHCHECK .* CMD (.*)", DOCKERFILE, re.M)[1]]
        self.assertEqual([self.probe(words) for words in (*found, health)], [1, 1, 1])
        daemon = self.mount()
        daemon.wait_scanned()
        self.assertEqual([self.probe(words) for words in (*found, health)], [0, 0, 0])

    def test_command(self):
        """That of the manifest, with the options of its ConfigMap, as the Dockerfile begins; it unmounts when it is told to end."""
        begin = commands(MANIFEST)[0]
        options = re.search(r"^  options: (.*)", MANIFEST, re.M)[1]
        changed = [word.replace("/run/gsymfs", self.node).replace("/srv/symbols", self.source) for word in begin]
        place = dict(self.environment, PATH=os.path.dirname(GSYMFS) + os.pathsep + os.environ["PATH"],
                     OPTIONS=f"{options},cache={self.dir}/cache")
        with open(os.path.join(self.dir, "container.log"), "wb") as log:
            daemon = subprocess.Popen(changed, env=place, stdout=log, stderr=log)
        self.addCleanup(daemon.kill)
        wait_until(lambda: is_mounted(self.mnt), "the mount")
        self.assertIn("main at", wait_until(lambda: self.read(self.id, hex(self.symbols()["main"][0])), "an answer"))
        daemon.terminate()
        self.assertEqual(daemon.wait(), 0)
        self.assertFalse(is_mounted(self.mnt))
        self.assertIn("exec gsymfs -f -o allow_other /srv/symbols /run/gsymfs/sym", DOCKERFILE)


if __name__ == "__main__":
    main()
