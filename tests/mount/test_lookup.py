"""gsym lookup of an object file and a mount: what either has converted is there for both."""

import glob
import os
import subprocess

from mount_harness import GSYM, LIMIT, SampleTest, build_id, contents, main


class LookupTest(SampleTest):
    def entries(self):
        return {name: os.stat(os.path.join(self.cache, name)).st_ino
                for name in os.listdir(self.cache) if name.endswith(".gsym")}

    def lookup(self):
        done = subprocess.run([GSYM, "lookup", "--cache=" + self.cache, self.path, self.address],
                              capture_output=True, timeout=LIMIT, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def ask(self, mnt=None):
        return contents(os.path.join(mnt or self.mnt, self.id, self.address))

    def test_converted_by_the_mount(self):
        self.mount()
        answer = self.ask()
        entries = self.entries()
        self.assertEqual(len(entries), 1)
        self.assertEqual(self.lookup(), answer)
        self.assertEqual(self.entries(), entries)

    def test_converted_by_the_command(self):
        answer = self.lookup()
        entries = self.entries()
        self.assertEqual(len(entries), 1)
        self.mount()
        self.assertEqual(self.ask(), answer)
        self.assertEqual(self.entries(), entries)
        status = contents(os.path.join(self.mnt, self.id, "status")).decode()
        self.assertIn("\nconversions\t0\n", status)

    def test_mounts_of_other_directories(self):
        """What was made of the file alone does not depend on SOURCE."""
        self.mount()
        answer = self.ask()
        entries = self.entries()
        os.mkdir(os.path.join(self.dir, "above"))
        self.mount(source=self.dir, mnt=os.path.join(self.dir, "above"), log=self.log_path + "2")
        self.assertEqual(self.ask(os.path.join(self.dir, "above")), answer)
        self.assertEqual(self.entries(), entries)

    def test_neighbours_keep_apart(self):
        """A mount refuses what only the user may read; the command does not. Neither takes the other's entry."""
        os.unlink(self.path)
        self.path = self.compile(flags=["-gsplit-dwarf", "-dumpdir", self.source + "/"])
        (dwo,) = glob.glob(os.path.join(self.source, "*.dwo"))
        os.chmod(self.path, 0o755)
        os.chmod(dwo, 0o600)
        self.id = build_id(self.path)
        self.address = self.find_address()
        self.assertIn(b"(inlined by)", self.lookup())
        self.mount()
        self.assertNotIn(b"(inlined by)", self.ask())
        self.assertIn(b"(inlined by)", self.lookup())
        self.assertEqual(len(self.entries()), 2)


if __name__ == "__main__":
    main()
