#!/usr/bin/env python3
"""functions.tsv, lines.tsv and files.tsv: whole, of the right size, in any piece, and never made by looking around."""

import os
import random
import subprocess
import threading

import mount_harness
from mount_harness import MountTest, build_id, contents, run

NAMES = ("functions.tsv", "lines.tsv", "files.tsv")


class TablesTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = build_id(self.path)

    def rows(self, name, id=None):
        return [line.split("\t") for line in self.read(id or self.id, name).splitlines()]

    def test_functions(self):
        """What the dump has, and what an address of each says."""
        self.mount()
        rows = self.rows("functions.tsv")
        self.assertEqual([(int(r[0], 16), int(r[0], 16) + int(r[1]), r[5]) for r in rows],
                         self.functions(self.path, stubs=True))
        for address, _, name, file, line, _ in rows:
            answer = self.read(self.id, address + ".tsv").splitlines()[-1].split("\t")
            self.assertEqual(name, answer[2])
        rows = [row for row in rows if row[5].endswith("normEv")]
        self.assertEqual(rows[0][2], "geo::point::norm() const")
        self.assertTrue(rows[0][3].endswith("sample.cpp") and int(rows[0][4]) > 0)

    def test_lines(self):
        """Every row is what an address in it says."""
        self.mount()
        rows = self.rows("lines.tsv")
        self.assertGreater(len(rows), 10)
        for address, size, file, line in rows:
            if int(size) == 0 or file == "??":
                continue
            for at in (int(address, 16), int(address, 16) + int(size) - 1):
                answer = self.read(self.id, hex(at) + ".tsv").splitlines()[0].split("\t")
                self.assertEqual((answer[4], answer[5]), (file, line))

    def test_files(self):
        self.mount()
        rows = self.rows("files.tsv")
        self.assertEqual([row[0] for row in rows], [str(i) for i in range(len(rows))])
        self.assertEqual(rows[0][1], "??")
        files = {row[1] for row in rows[1:]}
        self.assertEqual(files, {row[2] for row in self.rows("lines.tsv")} - {"??"} | files)
        self.assertTrue(any(f.endswith("sample.cpp") for f in files))

    def test_names_as_stored(self):
        self.mount("demangle=no")
        for row in self.rows("functions.tsv"):
            self.assertEqual(row[2], row[5])

    def test_sizes(self):
        """Exact, before anything is read; nothing is listed before it is converted."""
        daemon = self.mount()
        self.assertFalse(set(NAMES) & set(os.listdir(self.image(self.id))))
        for name in NAMES:
            size = os.stat(os.path.join(self.image(self.id), name)).st_size
            self.assertEqual(size, len(contents(os.path.join(self.image(self.id), name))))
            self.assertEqual(int(run("wc", "-c", os.path.join(self.image(self.id), name)).stdout.split()[0]), size)
        self.assertLessEqual(set(NAMES), set(os.listdir(self.image(self.id))))
        self.assertEqual(self.conversions(), 1)
        self.remount(daemon)
        self.assertFalse(set(NAMES) & set(os.listdir(self.image(self.id))))
        os.stat(os.path.join(self.image(self.id), NAMES[0]))
        self.assertLessEqual(set(NAMES), set(os.listdir(self.image(self.id))))
        run("ls", "-l", self.image(self.id))
        run("tar", "cf", os.path.join(self.dir, "all.tar"), "-C", self.mnt, self.id)
        self.assertEqual(self.conversions(), 0)

    def test_any_piece(self):
        """Of a table of many pieces, in any order, by several readers, and mapped."""
        path = os.path.join(self.source, "many")
        with open(os.path.join(self.dir, "many.c"), "w") as source:
            for i in range(6000):
                source.write("int a_function_with_a_rather_long_name_%d(int x) {\n x += %d;\n return x * x;\n}\n" % (i, i))
        run(mount_harness.CC, "-g", "-shared", "-fPIC", "-Wl,--build-id=sha1", source.name, "-o", path)
        id = build_id(path)
        self.mount()
        for name in ("functions.tsv", "lines.tsv"):
            whole = contents(os.path.join(self.mnt, id, name))
            self.assertGreater(len(whole), 300000)
            self.assertTrue(whole.endswith(b"\n"))
            pick = random.Random(7)
            wrong = []

            def work():
                fd = os.open(os.path.join(self.mnt, id, name), os.O_RDONLY)
                for _ in range(40):
                    at, n = pick.randrange(len(whole) + 10), pick.choice((1, 100, 5000, 200000))
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    if mount_harness.pread_all(fd, n, at) != whole[at:at + n]:
                        wrong.append((at, n))
                os.close(fd)
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(mount_harness.LIMIT)
            self.assertEqual(wrong, [])
            run("cmp", os.path.join(self.mnt, id, name), os.path.join(self.mnt, id, name))
        got = run("awk", "-F\t", '$3 ~ /name_17\\(?/ { print $5 }', os.path.join(self.mnt, id, "functions.tsv")).stdout
        self.assertIn(b"69\n", got)

    def test_interrupted(self):
        """Many who want to know a size at once, some of whom go away."""
        self.mount()
        os.stat(os.path.join(self.image(self.id), "image.gsym"))
        waiting = [subprocess.Popen(["stat", os.path.join(self.image(self.id), n)], stdout=subprocess.DEVNULL)
                   for n in NAMES * 10]
        for process in waiting[::3]:
            process.terminate()
        for process in waiting:
            process.wait(mount_harness.LIMIT)
        self.assertTrue(self.rows("functions.tsv"))


if __name__ == "__main__":
    mount_harness.main()
