#!/usr/bin/env python3
"""The files q: addresses written, answers read on the same descriptor."""

import errno
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import mount_harness
from mount_harness import GSYM, Gate, MountTest, build_id, contents, run, tool, wait_until

UNKNOWN = "?? at ??:0\n"


class Tape:
    """A descriptor of a q."""

    def __init__(self, path, flags=os.O_RDWR):
        self.fd = os.open(path, flags)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        os.close(self.fd)

    def write(self, text):
        data = text.encode() if isinstance(text, str) else text
        while data:
            data = data[os.write(self.fd, data):]

    def read(self, size=1 << 20):
        """All there is."""
        return mount_harness.read_all(self.fd, size).decode()

    def ask(self, text):
        self.write(text)
        return self.read()


class BatchTest(MountTest):
    def setUp(self):
        super().setUp()
        self.path = self.compile()
        self.id = build_id(self.path)
        self.start, self.end = next(f[:2] for f in self.functions(self.path) if f[2].endswith("normEv"))

    def q(self, *parts, flags=os.O_RDWR):
        return Tape(os.path.join(self.mnt, *parts), flags)

    def addresses(self, n, seed=1):
        """Some that functions cover, and some that none does."""
        spans = self.functions(self.path)
        pick = random.Random(seed)
        return [0 if pick.random() < 0.05 else pick.randrange(*pick.choice(spans)[:2]) for _ in range(n)]

    def record(self, address, id=None, suffix=""):
        try:
            return self.read(id or self.id, hex(address) + suffix)
        except FileNotFoundError:
            return UNKNOWN

    # ---- Answers ----

    def test_same_as_files(self):
        self.mount()
        addresses = self.addresses(300)
        with self.q(self.id, "q") as q:
            got = q.ask("".join("0x%x\n" % a for a in addresses))
        self.assertEqual(got, "".join(self.record(a) + "\n" for a in addresses))

    def test_formats(self):
        self.mount()
        known = [a for a in self.addresses(50) if a]
        for suffix in (".tsv", ".json", ".raw.tsv", ".raw.json"):
            with self.q(self.id, "q" + suffix) as q:
                got = q.ask("".join("%x\n" % a for a in known))
            self.assertEqual(got, "".join(self.record(a, suffix=suffix) for a in known), suffix)
        for suffix in (".raw", ".atos", ".raw.atos"):
            with self.q(self.id, "q" + suffix) as q:
                got = q.ask("".join("%x\n" % a for a in known))
            self.assertEqual(got, "".join(self.record(a, suffix=suffix) + "\n" for a in known), suffix)
        for name in ("q.txt", "q.", "qq", "Q", "q.json.raw", "q.raw.raw"):
            self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, self.id, name))
            self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, name))

    def test_each_line_has_its_record(self):
        """Whatever it says."""
        self.mount()
        lines = [hex(self.start), "", "nonsense", "0x", "-1", "0x1ffffffffffffffff", "  %x\t\r" % self.start, "\0\1",
                 "0x" + "0" * 5000, hex(self.start)]
        with self.q(self.id, "q") as q:
            records = q.ask("\n".join(lines) + "\n").split("\n\n")
        good = self.record(self.start).rstrip("\n")
        bad = UNKNOWN.rstrip("\n")
        self.assertEqual(records, [good] + [bad] * 5 + [good] + [bad] * 2 + [good, ""])
        with self.q(self.id, "q.json") as q:
            answers = [json.loads(line) for line in q.ask("\n".join(lines) + "\n").splitlines()]
        self.assertEqual(len(answers), len(lines))

    def test_root(self):
        other = self.compile("other")
        self.mount()
        ids = {self.id: self.path, build_id(other): other}
        wanted, lines = [], []
        for id, path in sorted(ids.items()):
            for start, end, _ in self.functions(path)[:20]:
                lines += ["%s 0x%x" % (id, start), "%s\t%x " % (id.upper(), end - 1), "%s %x" % (id[:12], start)]
                wanted += [self.record(start, id), self.record(end - 1, id), self.record(start, id)]
        lines += ["0011223344556677 0x10", "x 0x10", self.id, self.id + " z", "", "0x10"]
        wanted += [UNKNOWN] * 6
        order = list(range(len(lines)))
        random.Random(3).shuffle(order)
        with self.q("q") as q:
            got = q.ask("".join(lines[i] + "\n" for i in order))
        self.assertEqual(got, "".join(wanted[i] + "\n" for i in order))

    def test_places(self):
        """q combines with what lies above it."""
        self.mount()
        load = 0x7f0000000000
        want = self.record(self.start + 4) + "\n"
        for parts, address in ((("base", hex(load)), load + self.start + 4), (("rva",), self.start + 4),
                               (("ra",), self.start + 5), (("base", hex(load), "ra"), load + self.start + 5)):
            with self.q(self.id, *parts, "q") as q:
                self.assertEqual(q.ask("0x%x\n" % address), want, parts)
            self.assertEqual(os.stat(os.path.join(self.mnt, self.id, *parts, "q")).st_mode, 0o100666)
        with self.q(self.id, "base", hex(load), "q") as q:
            self.assertEqual(q.ask("1\n"), UNKNOWN + "\n")
        self.assertErrno(errno.ENOENT, os.stat, os.path.join(self.mnt, self.id, "base", "q"))

    def test_places_in_lines(self):
        """A line of the root's q may name a directory of an image as a path does."""
        other = self.compile("other")
        ids = {self.id: self.path, build_id(other): other}
        self.mount().wait_scanned()
        asked, wanted = [], []
        places = ["", "/", "/rva", "/off", "/ra", "/off/ra", "/ra/off", "/base/0x7f0000000000", "/base/7f0000000000/ra",
                  "/approximate", "/rva//approximate/ra/"]
        for id, path in sorted(ids.items()):
            for start, end, _ in self.functions(path)[:10]:
                for place in places:
                    number = start + 0x7f0000000000 * ("base" in place) + ("ra" in place.split("/"))
                    asked.append("%s%s 0x%x" % (id[:20], place, number))
                    wanted.append(self.read(*filter(None, (id + place).split("/")), hex(number) + ".tsv"))
        for bad in ("/base", "/sym", "/rva/off", "/ra/ra", "/status", "/x", "/base/x", "/.."):
            asked.append("%s%s 0x%x" % (self.id, bad, self.start))
            wanted.append("")
        asked += ["/ra 0x10", "0011223344556677/ra 0x10"]
        wanted += ["", ""]
        order = list(range(len(asked))) * 3
        random.Random(7).shuffle(order)
        with self.q("q.tsv") as q:
            got = q.ask("".join(asked[i] + "\n" for i in order)).splitlines()
        at = 0
        for i in order:
            n = wanted[i].count("\n") or 1
            if wanted[i]:
                self.assertEqual("".join(line + "\n" for line in got[at:at + n]), wanted[i], asked[i])
            else:
                self.assertEqual(got[at].split("\t")[2], "??", asked[i])
            at += n
        self.assertEqual(at, len(got))

    def test_places_in_stacks(self):
        """gsym stack reads the lines that the root's q reads, each of them here a stack of its own; and names of files."""
        self.mount().wait_scanned()
        asked = []
        for place in ("", "/", "/rva", "/off", "/ra", "/off/ra", "/ra/off", "/base/0x7f0000000000", "/approximate", "/rva//approximate/ra/",
                      "/base", "/sym", "/rva/off", "/x"):
            for start, _, _ in self.functions(self.path)[:10]:
                number = start + 0x7f0000000000 * ("base" in place) + ("ra" in place.split("/"))
                asked.append("%s 0x%x" % (place, number))
        with self.q("q.tsv") as q:
            wanted = q.ask("".join(self.id + line + "\n" for line in asked))
        for image in (self.id, self.id.upper(), "by-name/" + os.path.basename(self.path)):
            stacks = "".join(image + line + "\n\n" for line in asked)
            got = run(GSYM, "stack", "--format=tsv", "--mount", self.mnt, input=stacks.encode()).stdout.decode()
            # What was asked, and the module of what is unknown, are as given.
            columns = [[line.split("\t")[first:] for line in text.splitlines()] for text, first in ((got, 3), (wanted, 0))]
            known = [[line[:7] + line[8:] if line[2] != "??" else line[2] for line in lines] for lines in columns]
            self.assertEqual(known[0], known[1])
            self.assertIn("??", known[0])

    # ---- Offsets, writes and reads ----

    def test_cut_anywhere(self):
        self.mount()
        text = "".join("%x\n" % a for a in self.addresses(30))
        with self.q(self.id, "q") as q:
            whole = q.ask(text)
        pick = random.Random(5)
        for _ in range(20):
            with self.q(self.id, "q") as q:
                at = 0
                while at < len(text):
                    n = pick.randrange(1, 40)
                    q.write(text[at:at + n])
                    at += n
                self.assertEqual(q.read(pick.choice((1, 7, 100, 4096))), whole)

    def test_last_line_without_newline(self):
        self.mount()
        with self.q(self.id, "q") as q:
            self.assertEqual(q.ask("%x" % self.start), self.record(self.start) + "\n")
            self.assertEqual(q.read(), "")
            self.assertEqual(q.ask("%x\n0" % self.start), self.record(self.start) + "\n" + UNKNOWN + "\n")

    def test_blank_lines(self):
        """Each is a line without an address, also the first one."""
        self.mount().wait_scanned()
        for parts, line in (("q",), "%s %x" % (self.id, self.start)), ((self.id, "q"), "%x" % self.start):
            known, blank = self.record(self.start) + "\n", UNKNOWN + "\n"
            with self.q(*parts) as q:
                self.assertEqual(q.ask("\n%s\n \t\n\n  %s \n" % (line, line)), blank + known + blank + blank + known)

    def test_question_and_answer(self):
        """What is not read is not lost when more is written."""
        self.mount()
        record = self.record(self.start) + "\n"
        with self.q(self.id, "q") as q:
            for _ in range(5):
                self.assertEqual(q.ask("%x\n" % self.start), record)
            q.write("%x\n%x\n" % (self.start, self.start))
            self.assertEqual(os.read(q.fd, 3).decode(), record[:3])
            q.write("0\n")
            self.assertEqual(q.read(), record[3:] + record + UNKNOWN + "\n")

    def test_seek(self):
        self.mount()
        record = self.record(self.start) + "\n"
        with self.q(self.id, "q") as q:
            text = "%x\n" % self.start
            self.assertEqual(q.ask(text), record)
            self.assertEqual(os.lseek(q.fd, 0, os.SEEK_SET), 0)
            self.assertEqual(q.read(), record)
            for _ in range(2):
                self.assertEqual(mount_harness.pread_all(q.fd, 1000, 0).decode(), record)
            self.assertEqual(mount_harness.pread_all(q.fd, 1000, 4).decode(), record[4:])
            self.assertEqual(os.pread(q.fd, 1000, len(record)), b"")
            self.assertEqual(os.pread(q.fd, 1000, 10 ** 12), b"")

    def test_python_files(self):
        self.mount()
        record = self.record(self.start) + "\n"
        with open(os.path.join(self.mnt, self.id, "q"), "r+") as q:
            q.write("%x\n%x\n" % (self.start, self.start))
            q.flush()
            self.assertEqual(q.readline(), record.splitlines(True)[0])
            q.seek(0)
            self.assertEqual(q.read(), record + record)
        with open(os.path.join(self.mnt, self.id, "q"), "r+b", buffering=0) as q:
            q.write(b"%x\n" % self.start)
            self.assertEqual(q.readall().decode(), record)

    def test_python_questions(self):
        """Each from the beginning of the file, as one does with a scratch file."""
        self.mount()
        with open(os.path.join(self.mnt, self.id, "q"), "r+") as q:
            for text, want in (("%x\n" % self.start, self.record(self.start)), ("0\n", UNKNOWN)) * 2:
                q.seek(0)
                q.write(text)
                q.seek(0)
                self.assertEqual(q.read(), want + "\n")

    def test_append(self):
        mount_harness.skip_if_files_are_limited(self)
        self.mount()
        record = self.record(self.start) + "\n"
        with self.q(self.id, "q", flags=os.O_RDWR | os.O_APPEND | os.O_TRUNC) as q:
            for _ in range(3):
                self.assertEqual(q.ask("%x\n" % self.start), record)

    def test_one_direction(self):
        """Who can only read is told how it is done, and writing what is never read does no harm."""
        self.mount()
        for q in ("q", os.path.join(self.id, "q")):
            self.assertIn("exec 3<>q", self.read(q))
            with open(os.path.join(self.mnt, q), "r+b", buffering=0) as file:
                self.assertEqual(file.read(), b"")
        for path in (os.path.join(self.mnt, self.id, "q"), os.path.join(self.mnt, "q")):
            with open(path, "w") as q:
                q.write("0x10\n")
            with open(path, "a") as q:
                q.write("0x10\n")
            self.assertErrno(errno.EROFS, os.chmod, path, 0o600)
            self.assertErrno(errno.EROFS, os.utime, path)
            self.assertErrno(errno.EROFS, os.unlink, path)
            os.truncate(path, 0)
        self.assertEqual(self.conversions(), 0)

    def test_shells(self):
        self.mount()
        want = self.record(self.start) + "\n" + UNKNOWN + "\n"
        script = "exec 3<>'%s'; printf '%%s\\n' 0x%x 0x0 >&3; cat <&3; printf '0x0\\n' >&3; read -r line <&3; echo \"<$line>\""
        for shell in ("bash", "dash", "zsh", "ksh"):
            if not tool(shell):
                print("skipped: no %s" % shell)
                continue
            got = run(shell, "-c", script % (os.path.join(self.mnt, self.id, "q"), self.start)).stdout.decode()
            self.assertEqual(got, want + "<%s>\n" % UNKNOWN.strip(), shell)
        heads = "exec 3<>'%s'; printf '0x0\\n0x%x\\n' >&3; head -1 <&3; head -1 <&3; head -1 <&3"
        got = run("bash", "-c", heads % (os.path.join(self.mnt, self.id, "q"), self.start)).stdout.decode()
        self.assertEqual(got, UNKNOWN + "\n" + self.record(self.start).splitlines(True)[0])

    # ---- Much, and many ----

    def test_much(self):
        """More than one write or read takes, in order."""
        self.mount()
        addresses = self.addresses(50) * 4000
        text = "".join("%x\n" % a for a in addresses)
        with self.q(self.id, "q.tsv") as q:
            got = q.ask(text)
        lines = iter(got.splitlines())
        with self.q(self.id, "q.tsv") as q:
            few = q.ask("".join("%x\n" % a for a in addresses[:50]))
        self.assertEqual(got, few * 4000)
        del lines

    def test_looks_far_ahead(self):
        """Input of which much is looked at in advance, and a few lines of it at a time: one line is no address."""
        self.mount()
        lines = ["%x\n" % a for a in self.addresses(40000, seed=2)]
        lines[30000] = "what?\n"
        with self.q(self.id, "q.tsv") as q:
            got = q.ask("".join(lines))
        with self.q(self.id, "q.tsv") as q:
            want = "".join(q.ask("".join(lines[i:i + 500])) for i in range(0, len(lines), 500))
        self.assertEqual(got, want)

    def test_made_while_read(self):
        """Answers for the next read are made when one has its own, but not of a line that may go on."""
        self.mount()
        record, lines, size = self.record(self.start, suffix=".json"), 40000, 64 << 10
        key = 'gsymfs_batch_addresses_total{'

        def made():
            return len(record) * next(int(line.split()[1]) for line in self.read("metrics").splitlines() if line.startswith(key))
        with self.q(self.id, "q.json") as q:
            q.write("%x\n" % self.start * lines)
            read = grown = starved = 0
            while grown <= starved and (part := os.read(q.fd, size)):
                before = there if read else made()
                read += len(part)
                end = time.monotonic() + 0.5
                while (there := made()) < read + size and time.monotonic() < end:
                    pass
                grown += there > before
                starved += there < read + size  # the next read has to make answers
            self.assertGreater(grown, starved, "answers were made by reads that needed them only")
            self.assertEqual(q.read(), (record * lines)[read:])
            q.write("%x\n%x" % (self.start, self.start // 16))
            self.assertEqual(os.read(q.fd, len(record)).decode(), record)
            q.write("%x\n" % (self.start % 16))
            self.assertEqual(q.read(), record)

    def test_threads(self):
        """However many answer, and in whatever order the lines are: those of one thread."""
        addresses = self.addresses(20000, seed=4)
        orders = [addresses, sorted(addresses), [self.start] * 15000 + addresses[:100]]
        found = []
        for threads in (1, 2, 5):
            daemon = self.mount("batch_threads=%d" % threads)
            for order in orders:
                with self.q(self.id, "q.json") as q:
                    q.write("".join("%x\n" % a for a in order[:10000]))
                    part = os.read(q.fd, 5000).decode()
                    q.write("".join("%x\n" % a for a in order[10000:]))
                    found.append(part + q.read())
                    self.assertEqual(len(found[-1].splitlines()), len(order))
            self.assertEqual(daemon.stop(), 0)
        self.assertEqual(found[3:6], found[:3])
        self.assertEqual(found[6:], found[:3])

    def test_bounded(self):
        """A writer who never reads is stopped, and nobody else is."""
        self.mount()
        block = ("%x\n" % self.start).encode() * 100000
        written = 0
        with self.q(self.id, "q") as q:
            with self.assertRaises(OSError) as caught:
                while written < 1 << 30:
                    written += os.write(q.fd, block)
            self.assertEqual(caught.exception.errno, errno.ENOSPC)
            self.assertLess(written, 100 << 20)
            self.assertEqual(self.record(self.start)[:3], "geo")
            record = self.record(self.start) + "\n"
            self.assertEqual(mount_harness.pread_all(q.fd, len(record), os.lseek(q.fd, 0, os.SEEK_CUR)).decode(), record)

    def test_many_at_once(self):
        self.mount()
        addresses = self.addresses(200)
        text = "".join("%x\n" % a for a in addresses)
        with self.q(self.id, "q") as q:
            want = q.ask(text)
        wrong = []

        def work():
            with self.q(self.id, "q") as q:
                for _ in range(10):
                    if q.ask(text) != want:
                        wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(mount_harness.LIMIT)
        self.assertEqual(wrong, [])

    def test_one_description_many_threads(self):
        """Nothing but chaos is promised, but the daemon lives."""
        self.mount()
        end = time.monotonic() + 1
        with self.q(self.id, "q") as q:
            def work(n):
                pick = random.Random(n)
                while time.monotonic() < end:
                    if pick.random() < 0.5:
                        os.pwrite(q.fd, b"%x\n" % self.start * pick.randrange(1, 50), pick.randrange(5000))
                    else:
                        os.pread(q.fd, pick.randrange(1, 5000), pick.randrange(5000))
            threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(mount_harness.LIMIT)
                self.assertFalse(thread.is_alive(), "a read hangs")
        with self.q(self.id, "q") as q:
            self.assertEqual(q.ask("%x\n" % self.start), self.record(self.start) + "\n")

    # ---- Conversions ----

    def test_opening_converts_nothing(self):
        self.mount()
        self.assertIn("q", os.listdir(self.mnt))
        self.assertIn("q", os.listdir(self.image(self.id)))
        with self.q(self.id, "q") as q, self.q("q") as root:
            self.assertEqual(q.read() + root.read(), "")
            q.write("0x10\n")
            self.assertEqual(self.conversions(), 0)
        self.assertEqual(self.status(self.id)["state"], "cold")

    def test_waits_for_the_conversion_and_can_be_interrupted(self):
        gate = Gate(self)
        gate.shut()
        daemon = self.mount("worker=" + gate.worker)
        daemon.wait_scanned()
        with self.q("q") as q:
            q.write("x 1\n%s %x\n" % (self.id, self.start))
            # What comes before the line that waits is there at once.
            self.assertEqual(os.read(q.fd, 1000).decode(), UNKNOWN + "\n")
            old = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
            reader = threading.get_ident()

            def interrupt():
                daemon.wait_calls(self.id)
                signal.pthread_kill(reader, signal.SIGALRM)
            interrupting = threading.Thread(target=interrupt)
            try:
                with self.assertRaises(TimeoutError):
                    interrupting.start()
                    os.read(q.fd, 1000)
            finally:
                interrupting.join(mount_harness.LIMIT)
                signal.signal(signal.SIGALRM, old)
            gate.open()
            self.assertEqual(q.read(), self.record(self.start) + "\n")

    def test_reader_that_goes_away(self):
        """A client dies, or closes the handle, while a read of it waits: nothing of it stays, and others get their answers."""
        gate = Gate(self)
        gate.shut()
        daemon = self.mount("worker=" + gate.worker)
        daemon.wait_scanned()
        script = "import os, sys, threading\nfd = os.open(sys.argv[1], os.O_RDWR)\nos.write(fd, sys.argv[2].encode())\n" \
                 "reading = threading.Thread(target=lambda: print(os.read(fd, 1000).decode(), end='', flush=True))\n" \
                 "reading.start()\nsys.stdin.readline()\nos.close(fd)\nprint('closed', flush=True)\nreading.join()"
        path = os.path.join(self.mnt, self.id, "q")

        def begin():
            child = subprocess.Popen([sys.executable, "-c", script, path, "%x\n" % self.start], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
            self.processes.append(child)
            return child

        def open_files():
            return re.search(r"(?m)^gsymfs_open_files\{.*\} (\d+)$", self.read("metrics"))[1]
        before = open_files()
        dies, closes = begin(), begin()
        daemon.wait_calls(self.id, 2)
        dies.kill()
        dies.wait(mount_harness.LIMIT)
        wait_until(lambda: ", 1 calls wait" in daemon.state(), "the end of the call of the client that died")
        closes.stdin.write("\n")
        closes.stdin.flush()
        self.assertEqual(closes.stdout.readline(), "closed\n")
        daemon.wait_calls(self.id, 1)  # the read goes on: the kernel has the file until then
        gate.open()
        self.assertEqual(closes.communicate(timeout=mount_harness.LIMIT)[0], self.record(self.start) + "\n")
        wait_until(lambda: open_files() == before, "all files closed")
        with self.q(self.id, "q") as q:
            q.write("%x\n" % self.start)
            self.assertEqual(q.read(), self.record(self.start) + "\n")

    def test_images_are_converted_side_by_side(self):
        others = [self.compile("other%d" % i) for i in range(3)]
        gate = Gate(self)
        gate.shut()
        self.mount("worker=" + gate.worker, "jobs=3").wait_scanned()
        lines = "".join("%s 0\n" % build_id(path) for path in [self.path] + others)
        with self.q("q") as q:
            q.write(lines)
            reader = threading.Thread(target=lambda: self.assertEqual(q.read(), (UNKNOWN + "\n") * 4))
            reader.start()
            try:
                gate.wait_started(3)
            finally:
                gate.open()
                reader.join(mount_harness.LIMIT)

    def test_bad_image(self):
        """Fails in its own q, is unknown in the root's, and nobody waits."""
        bad = os.path.join(self.source, "bad")
        data = bytearray(contents(self.path))
        data[0x28:0x30] = b"\xff" * 8  # section headers past the end of the file
        id = self.id
        with open(bad, "wb") as file:
            file.write(data)
        os.unlink(self.path)
        good = self.compile("good")
        self.mount().wait_scanned()
        if not os.path.isdir(self.image(id)):
            self.skipTest("the damaged file has no id")
        with self.q("q") as q:
            start = self.functions(good)[0][0]
            got = q.ask("%s 10\n%s %x\n" % (id, build_id(good), start))
        self.assertEqual(got, UNKNOWN + "\n" + self.record(start, build_id(good)) + "\n")

    def test_fault_of_the_machine(self):
        """It is no answer: the read fails where the line comes, and answers when the fault is over."""
        worker = os.path.join(self.dir, "worker")
        with open(worker, "w") as script:
            script.write('#!/bin/sh\n[ "$2" = zygote ] && exit 1\n[ "$2" = convert ] && [ -e "%s/killed" ] && kill -9 $$\n'
                         'exec "%s" "$@"\n' % (self.dir, os.path.realpath(mount_harness.GSYM)))
        os.chmod(worker, 0o755)
        other = build_id(self.compile("other", flags=["-O0"]))
        self.mount("worker=" + worker).wait_scanned()
        known = self.record(self.start)
        with open(os.path.join(self.dir, "killed"), "w"):
            pass
        with self.q("q") as q:
            q.write("%s 0x%x\n%s 0x1\n%s 0x%x\n" % (self.id, self.start, other, self.id, self.start))
            self.assertEqual(mount_harness.read_some(q.fd, len(known) + 1).decode(), known + "\n")
            for _ in range(5):  # also more often than a worker may crash
                self.assertErrno(errno.EIO, os.read, q.fd, 4096)
            self.assertEqual(self.status(other)["state"], "failed")
            os.unlink(os.path.join(self.dir, "killed"))

            def first_bytes():
                try:
                    return os.read(q.fd, 4096)
                except OSError as error:
                    self.assertEqual(error.errno, errno.EIO)
            first = wait_until(first_bytes, "another conversion").decode()
            self.assertEqual(first + q.read(), UNKNOWN + "\n" + known + "\n")

    def test_replaced_image(self):
        """A descriptor that stays open answers from the file that is there now."""
        self.mount("rescan=1").wait_scanned()
        record = self.record(self.start) + "\n"
        with self.q(self.id, "q") as q:
            self.assertEqual(q.ask("%x\n" % self.start), record)
            inode = os.stat(self.image(self.id)).st_ino
            shutil.copy(self.path, self.path + ".new")
            run("objcopy", "--add-section", ".x=/dev/null", self.path + ".new")
            os.rename(self.path + ".new", self.path)
            wait_until(lambda: os.stat(self.image(self.id)).st_ino != inode, "the new revision")
            self.assertEqual(q.ask("%x\n" % self.start), record)

    def test_others(self):
        """Answers go to those who may read the image, through whichever file they ask."""
        if not mount_harness.is_root() or not tool("setpriv"):
            self.skipTest("needs root and setpriv")
        secret = self.compile("secret")
        os.chmod(secret, 0o600)
        shared = self.compile("shared")
        os.chmod(shared, 0o640)
        os.chown(shared, 0, 4711)
        self.mount("allow_other").wait_scanned()
        start = self.functions(secret)[0][0]
        script = "exec 3<>\"$1\" || exit 7; shift; printf '%s\\n' \"$@\" >&3; cat <&3"

        def ask(path, *lines, groups="--clear-groups"):
            return run("setpriv", "--reuid=65534", "--regid=65534", groups, "sh", "-c", script, "sh",
                       os.path.join(self.mnt, path), *lines, check=False)
        open_line = "%s %x" % (self.id, self.start)
        lines = [open_line] + ["%s %x" % (build_id(path), start) for path in (secret, shared)]
        known = self.record(start, build_id(shared)) + "\n"
        want = self.record(self.start) + "\n" + (UNKNOWN + "\n") * 2
        self.assertEqual(ask("q", *lines).stdout.decode(), want)
        want = self.record(self.start) + "\n" + UNKNOWN + "\n" + known
        self.assertEqual(ask("q", *lines, groups="--groups=4711").stdout.decode(), want)
        self.assertEqual(ask(build_id(secret) + "/q", hex(start)).returncode, 2 if tool("dash") else 7)
        self.assertEqual(ask(build_id(shared) + "/q", hex(start), groups="--groups=4711").stdout.decode(), known)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.mnt, build_id(secret), "q")).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.mnt, build_id(shared), "q")).st_mode), 0o660)

    def test_far_ahead(self):
        """Reading where nothing is yet makes no answers that nobody reads."""
        daemon = self.mount()
        with self.q(self.id, "q.json") as q:
            q.write("%x\n" % self.start * 500000)
            for off in (1 << 30, 1 << 40, (1 << 63) - (1 << 20)):
                self.assertErrno(errno.ESPIPE, os.pread, q.fd, 1, off)
            self.assertTrue(os.read(q.fd, 10).startswith(b"{"))
        with open("/proc/%d/status" % daemon.process.pid) as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        if os.environ.get("BUILD_KIND") != "sanitize":
            self.assertLess(peak, 100 * 1024)

    def test_memory_is_given_back(self):
        """
        That of the input, the answers and the caches of each q. What allocators keep has a limit, at which a daemon that
        leaks does not come to rest: its least size of some rounds is that of the rounds before, and less than half a
        MiB a round more. Each of the three is larger than that.
        """
        sanitizer = os.environ.get("ASAN_OPTIONS", "")
        daemon = self.mount(env=dict(os.environ, ASAN_OPTIONS=sanitizer + ":quarantine_size_mb=1"))
        text = "%x\n" % self.start * 400000  # some MiB, whose answers are more than is kept of them
        rounds, sizes = 8, []

        def resident():
            with open("/proc/%d/status" % daemon.process.pid) as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

        def rests():
            return len(sizes) >= 2 * rounds and min(sizes[-rounds:]) < min(sizes[-2 * rounds:-rounds]) + rounds * 512
        while not rests() and len(sizes) < 64:
            with self.q(self.id, "q.json") as q:
                q.write(text)
                self.assertEqual(len(mount_harness.pread_all(q.fd, 8 << 20, len(text))), 8 << 20)
            sizes.append(resident())
        self.assertTrue(rests(), sizes)


if __name__ == "__main__":
    mount_harness.main()
