#!/usr/bin/env python3
"""The tools people use: each reads every kind of file as it reads a file of the same content, the shells talk to q, and what
walks over the whole tree converts nothing and waits for nobody."""

import mmap
import os
import re
import shutil
import subprocess

import mount_harness
from mount_harness import Gate, MountTest, contents, run, tool


# Command lines: {f} is the file. What they print and their status must be what they are for a copy.
READERS = [
    "cat {f}", "cat < {f}", "head -n 1 {f}", "head -c 20 {f}", "tail -n 1 {f}", "tail -c 20 {f}", "tail -c +10 {f}", "wc {f} | sed s,/.*,,",
    "wc -c < {f}", "grep -c a {f}", "grep -an . {f}", "sed -n 1p {f}", "sed s/a/b/ {f}", "mawk '{{ print NF, $1 }}' {f}",
    "gawk '{{ print NF, $1 }}' {f}", "sort {f}", "sort -r {f}", "od -c {f}", "xxd {f}", "LESSOPEN= less -fF {f} | cat", "dd if={f} bs=7 status=none",
    "dd if={f} bs=4 skip=2 count=3 status=none", "dd if={f} iflag=direct bs=4096 status=none", "tac {f}", "rev < {f}", "md5sum < {f}", "cksum < {f}",
    "cut -c 1-20 {f}", "tr a-z A-Z < {f}", "uniq {f}", "strings {f}", "base64 {f}", "split -l 1 {f} {out}-; cat {out}-*", "cp {f} {out}; cat {out}",
    "cp --reflink=auto --sparse=always {f} {out}; cat {out}", "cp -p {f} {out}; stat -c '%s %a %u %g %Y' {out}", "install -m 600 {f} {out}; cat {out}",
    "stat -c '%s %a %F' {f}", "tar cf - -C $(dirname {f}) $(basename {f}) | tar xOf -", "tar cf - -C $(dirname {f}) $(basename {f}) | wc -c",
    "rsync {f} {out}; cat {out}", "rsync -c --inplace {f} {out}; cat {out}", "curl -s file://{f}", "curl -sI file://{f} | grep Length", "gzip -c {f} | gzip -dc",
    "bash -c 'printf %s \"$(<{f})\"' | tr -d '\\0'", "zsh -c 'print -r -- \"$(<{f})\"'", "ksh -c 'print -r -- \"$(<{f})\"'",
    "bash -c 'read -r a < {f}; printf %s \"$a\"'", "while read -r a; do echo \"$a\"; done < {f}", "paste - {f} < /dev/null", "tee {out} < {f}", "nl {f}",
    "find {f} -printf '%s %m\\n'", "test -s {f} && test -f {f} && test -r {f}",
]
# Compare the file with its copy {c} themselves.
COMPARERS = ["cmp {f} {c}", "diff {f} {c}", "diff -q {c} {f}", "comm -3 {f} {c}", "cmp - {c} < {f}", "rsync -nc --out-format=%n {f} {c}"]

WALKERS = [
    "find {m}", "find {m} -ls", "find {m} -type f -size +0", "find -L {m}/by-name", "ls -lR {m}", "ls -laRi --color=always {m}", "ls -RZ {m}",
    "du -a {m}", "du -sh --apparent-size {m}", "grep -ra x {m} | wc -l", "grep -rIl nowhere {m}", "tar cf {out}.tar --ignore-failed-read -C {m} .",
    "rsync -anv {m}/ {out}-dir/", "updatedb -l no -U {m} -o {out}.db --prune-bind-mounts no --prunefs '' --prunepaths ''",
    "cp -r {m} {out}-copy", "bash -O globstar -c 'cd {m}; set -- **; echo $#'", "zsh -c 'cd {m}; print -r -- **/*(N) | wc -w'",
    "bash -c 'cd {m}; compgen -f -- by; compgen -d'", "python3 -c 'import os; print(sum(len(f) for _, _, f in os.walk(\"{m}\")))'", "stat -f {m}", "df {m}",
]

# Two addresses on descriptor 3 of q, whose answers are printed; {f} is q.
DIALOGUES = {
    "bash": "exec 3<>{f}; printf '%s\\n' {a} {b} >&3; cat <&3",
    "bash, line by line": "exec 3<>{f}; echo {a} >&3; while read -r l; do echo \"$l\"; done <&3; echo {b} >&3; while read -r l; do echo \"$l\"; done <&3",
    "bash, a pair": "{{ echo {a}; echo {b}; }} 1<>{f} 0<&1; exec 3<>{f}; printf '%s\\n' {a} {b} >&3; head -c 1000 <&3",
    "dash": "exec 3<>{f}; printf '%s\\n' {a} {b} >&3; cat <&3",
    "dash, a group": "{{ printf '%s\\n' {a} {b} >&0; cat; }} 0<>{f}",
    "zsh": "exec 3<>{f}; print -l {a} {b} >&3; cat <&3",
    "ksh": "exec 3<>{f}; print {a} >&3; print {b} >&3; cat <&3",
    "gawk": "exec 3<>{f}; printf '%s\\n' {a} {b} | gawk '{{ print > \"/dev/fd/3\" }}'; cat <&3",
    "mawk": "exec 3<>{f}; printf '%s\\n' {a} {b} | mawk '{{ print }}' >&3; mawk '{{ print }}' <&3",
    "sed": "exec 3<>{f}; printf '%s\\n' {a} {b} | sed p -n >&3; sed -n p <&3",
    "tee": "exec 3<>{f}; printf '%s\\n' {a} {b} | tee /proc/self/fd/3 >&3; cat <&3",
    "dd": "exec 3<>{f}; printf '%s\\n' {a} {b} | dd status=none >&3; dd status=none <&3",
    "python3": None,
}
# Those that a machine may not have; the others come with the shell.
OPTIONAL = ["bash", "curl", "dash", "gawk", "ksh", "less", "mawk", "rsync", "strings", "updatedb", "xxd", "zsh"]
SHELLS = {"bash": "bash", "dash": "dash", "zsh": "zsh", "ksh": "ksh"}


class ToolsTest(MountTest):
    def setUp(self):
        super().setUp()
        path = self.compile()
        self.id = mount_harness.build_id(path)
        functions = self.functions(path)
        self.a, self.b = ("0x%x" % next(f for f in functions if word in f[2])[0] for word in ("norm", "sample"))
        self.out = os.path.join(self.dir, "out")
        self.skipped = set()

    def lacks(self, command):
        """Whether a program of the command is not installed, which is noted."""
        missing = {name for name in OPTIONAL if re.search(r"\b%s\b" % name, command) and not tool(name)}
        self.skipped |= missing
        return bool(missing)

    def sh(self, command):
        """(status, output); None when a program is missing."""
        if self.lacks(command):
            return None
        done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=mount_harness.LIMIT,
                              cwd=self.dir, stdin=subprocess.DEVNULL)
        for name in os.listdir(self.dir):
            if name.startswith("out"):
                path = os.path.join(self.dir, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def say_skipped(self):
        for name in sorted(self.skipped):
            print("skipped: %s is not installed" % name)

    def python(self, path, data):
        """Ways of reading that Python offers."""
        with open(path, "rb") as file:
            self.assertEqual(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:], data)
            file.seek(3)
            self.assertEqual(file.read(5), data[3:8])
            self.assertEqual(os.pread(file.fileno(), 7, 2), data[2:9])
            self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_END), len(data))
            target = os.memfd_create("copy")
            self.assertEqual(os.sendfile(target, file.fileno(), 0, len(data) + 100), len(data))
            self.assertEqual(os.pread(target, len(data) + 1, 0), data)
            os.close(target)
        self.assertEqual(os.stat(path).st_size, len(data))

    def read_all(self, lines, path):
        """What each command prints of the file, errors and status included."""
        end = "-- end of a command --"
        script = "\n".join("{ %s; } 2>&1; echo %s $?; rm -f %s*" % (line.format(f=path, out=self.out), end, self.out)
                           for line in lines)
        return re.split(end + r" (?=\d)", self.sh(script)[1].replace(os.path.dirname(path), "HERE"))

    def test_readers(self):
        self.mount()
        run("cat", os.path.join(self.image(self.id), self.a))
        wrong = []
        copies = os.path.join(self.dir, "copies")
        os.mkdir(copies)
        for name in (self.a, self.a + ".json", "status", "info.json", "image.gsym", "functions.tsv"):
            path, copy = os.path.join(self.image(self.id), name), os.path.join(copies, name)
            data = contents(path)
            with open(copy, "wb") as file:
                file.write(data)
            shutil.copystat(path, copy)
            if name not in ("status", "info.json"):  # not mapped: they are read past the page cache
                self.python(path, data)
            lines = [line for line in READERS if not self.lacks(line)]
            for line, ours, theirs in zip(lines, *(self.read_all(lines, f) for f in (path, copy))):
                if ours != theirs:
                    wrong.append("%s: %s: %r, not %r" % (name, line, ours, theirs))
            for line in COMPARERS:
                said = self.sh(line.format(f=path, c=copy))
                if said and said != (0, "", ""):
                    wrong.append("%s: %s: %r" % (name, line, said))
        self.say_skipped()
        self.assertEqual(wrong, [])

    def test_dialogues(self):
        self.mount()
        answers = [self.read(self.id, a) for a in (self.a, self.b)]
        expected = "".join(a + "\n" for a in answers)
        f = os.path.join(self.image(self.id), "q")
        for name, script in DIALOGUES.items():
            with self.subTest(name):
                shell = SHELLS.get(name.split(",")[0], "sh")
                if not script:
                    script = "python3 -c 'f = open(\"{f}\", \"r+\"); f.write(\"{a}\\n{b}\\n\"); f.flush(); print(f.read(), end=\"\")'"
                if not tool(shell):
                    self.skipped.add(shell)
                    continue
                said = self.sh("%s -c '%s'" % (shell, script.format(f=f, a=self.a, b=self.b).replace("'", "'\\''")))
                if said:
                    self.assertEqual(said, (0, expected, ""))
        self.say_skipped()

    def test_walkers(self):
        """One image is converted, one is not, and of the third the conversion is stuck."""
        ready, cold, stuck = self.id, *(mount_harness.build_id(self.compile(name)) for name in ("cold", "stuck"))
        gate = Gate(self)
        self.mount("worker=" + gate.worker).wait_scanned()
        run("cat", os.path.join(self.image(ready), self.a))
        gate.shut()
        reader = self.reader(stuck, "0x1")
        gate.wait_started(2)
        before = self.conversions()
        for line in WALKERS:
            with self.subTest(line):
                said = self.sh(line.format(m=self.mnt, out=self.out))
                if said:
                    self.assertEqual(said[2], "")
                self.assertIn(said[0] if said else 0, (0, 1))  # grep: found nothing
        self.assertEqual(self.conversions(), before)
        self.assertEqual(len(gate.started()), 2)
        self.assertIsNone(reader.poll())
        gate.open()
        self.finish(reader)
        self.assertEqual(self.status(cold)["conversions"], "0")
        self.say_skipped()


if __name__ == "__main__":
    mount_harness.main()
