#!/usr/bin/env python3
"""sym/: functions by the names that are stored, that answers show, and that people type."""

import errno
import os
import signal
import unittest

import mount_harness
from mount_harness import Gate, MountTest, build_id, is_root, run

SOURCE = """
#define OUT __attribute__((noinline, used))
int sink;
OUT int work(int x) { return sink += x * 3; }
OUT int work(double x) { return sink += (int)(x / 3); }
extern "C" OUT int plain(int x) { return sink += x - 3; }
namespace plain_in { OUT int plain(long x) { return sink += (int)x; } }
namespace ns {
struct base { int b; };
struct S : virtual base {
	S(int x);
	OUT int m(int x) const { return sink += x ^ 3; }
	OUT S operator+(int x) const { sink += x; return *this; }
	OUT operator int() const { return sink; }
	OUT int operator/(int x) const { return sink / x; }
};
OUT S::S(int x) { b = x; sink = x; }
template <typename T> OUT T twice(T x) { sink += (int)x; return x + x; }
template int twice<int>(int);
template long twice<long>(long);
}
"""


class NamesTest(MountTest):
    def setUp(self):
        super().setUp()
        source = os.path.join(self.dir, "names.cpp")
        with open(source, "w") as file:
            file.write(SOURCE)
        self.path = self.compile("names", source=source, flags=["-fno-ipa-icf"])
        self.id = build_id(self.path)
        self.places = {name: start for start, _, name in self.functions(self.path)}

    def sym(self, name):
        return self.read(self.id, "sym", name)

    def answers(self, *stored, suffix="", offset=0):
        """Those of the functions, in the order of their addresses."""
        starts = sorted(self.places[name] for name in stored)
        return ("" if suffix.endswith((".tsv", ".json")) else "\n").join(self.read(self.id, hex(s + offset) + suffix) for s in starts)

    def test_all_spellings(self):
        self.mount()
        for names, stored in {
                ("_Z4worki", "work(int)"): ["_Z4worki"],
                ("work",): ["_Z4worki", "_Z4workd"],
                ("ns::S::m(int) const", "ns::S::m"): ["_ZNK2ns1S1mEi"],
                ("ns::S::S(int)", "ns::S::S"): ["_ZN2ns1SC1Ei", "_ZN2ns1SC2Ei"],
                ("ns::S::operator+(int) const", "ns::S::operator+"): ["_ZNK2ns1SplEi"],
                ("ns::S::operator int() const", "ns::S::operator int"): ["_ZNK2ns1ScviEv"],
                ("int ns::twice<int>(int)", "ns::twice<int>"): ["_ZN2ns5twiceIiEET_S1_"],
                ("ns::twice",): ["_ZN2ns5twiceIiEET_S1_", "_ZN2ns5twiceIlEET_S1_"],
                ("plain",): ["plain"],
                ("plain_in::plain(long)", "plain_in::plain"): ["_ZN8plain_in5plainEl"]}.items():
            for name in names:
                for suffix in ("", ".tsv", ".raw", ".raw.json", ".atos"):
                    self.assertEqual(self.sym(name + suffix), self.answers(*stored, suffix=suffix), name)
                self.assertEqual(self.sym(name + "+0x1.tsv"), self.answers(*stored, suffix=".tsv", offset=1), name)
        for name in ("ns::S", "ns", "twice<int>", "ns::twice<>", "work()", "work(int) ", "ns::S::m(int)", "work(int)+0xffffff",
                     "ns::S::operator", "_Z4work", "a" * 255):
            self.assertErrno(errno.ENOENT, self.sym, name)
        self.assertErrno(errno.ENAMETOOLONG, self.sym, "a" * 256)

    def test_as_answers_show_it(self):
        """What a tsv says is a name that can be asked for, but for slashes."""
        self.mount()
        for line in self.read(self.id, "functions.tsv").splitlines():
            start, shown = line.split("\t")[0], line.split("\t")[2]
            if "/" not in shown:
                self.assertIn(self.read(self.id, start + ".json"), self.sym(shown + ".json"), shown)
        self.assertIn("_ZNK2ns1SdvEi", self.places)
        self.assertIn("operator/", self.sym("_ZNK2ns1SdvEi"))

    def test_above_and_below(self):
        """With ra and approximate, and whatever names are printed like."""
        self.mount("demangle=no")
        self.assertEqual(self.sym("work(int)"), self.read(self.id, hex(self.places["_Z4worki"])))
        self.assertIn("_Z4worki", self.sym("work(int)"))
        at = self.places["_Z4worki"] + 1
        self.assertEqual(self.read(self.id, "ra", "sym", "work(int)+0x1"), self.read(self.id, "ra", hex(at)))
        self.assertEqual(self.read(self.id, "approximate", "sym", "work(int)+0x1"), self.read(self.id, "approximate", hex(at)))
        self.assertErrno(errno.ENOENT, self.read, self.id, "ra", "sym", "work(int)")

    def test_many_at_once(self):
        """Nobody has made an index yet, and all want one."""
        self.mount().wait_scanned()
        want = self.answers("_Z4worki", "_Z4workd")
        readers = [self.reader(self.id, "sym", name) for name in ["work", "nobody()", "work.raw", "_Z4worki"] * 8]
        found = [self.finish(reader)[1] for reader in readers]
        self.assertEqual(found[::4], [want] * 8)
        self.assertEqual(found[1::4], [""] * 8)
        self.assertEqual(set(found[3::4]), {self.answers("_Z4worki")})

    def test_interrupted(self):
        """One who waits for a conversion by a shown name."""
        gate = Gate(self)
        gate.shut()
        self.mount("worker=" + gate.worker).wait_scanned()
        reader = self.reader(self.id, "sym", "work")
        gate.wait_started()
        reader.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(reader)[0], -signal.SIGINT)
        gate.open()
        self.assertEqual(self.sym("work"), self.answers("_Z4worki", "_Z4workd"))

    @unittest.skipUnless(is_root(), "only root can make the kernel drop what it has cached")
    def test_read_again(self):
        self.mount()
        want = self.answers("_Z4worki", "_Z4workd")
        with open(os.path.join(self.image(self.id), "sym", "work")) as file:
            self.assertEqual(file.read(), want)
            with open("/proc/sys/vm/drop_caches", "w") as drop:
                drop.write("3")
            file.seek(0)
            self.assertEqual(file.read(), want)

    def test_ends_while_an_index_is_wanted(self):
        daemon = self.mount()
        daemon.wait_scanned()
        readers = [self.reader(self.id, "sym", "nobody%d()" % i) for i in range(8)]
        self.assertEqual(daemon.stop(), 0)
        for reader in readers:
            self.assertNotEqual(self.finish(reader)[0], 0)

    def test_c(self):
        """Names that are shown as they are stored."""
        source = os.path.join(self.dir, "c.c")
        with open(source, "w") as file:
            file.write("".join("int f%d(int x) { return x + %d; }\n" % (i, i) for i in range(2000)))
        path = os.path.join(self.source, "c")
        run(mount_harness.CC, "-shared", "-fPIC", "-g", "-O1", "-Wl,--build-id=sha1", source, "-o", path)
        self.mount()
        id = build_id(path)
        self.assertTrue(self.read(id, "sym", "f1999"))
        self.assertErrno(errno.ENOENT, self.read, id, "sym", "f2000")
        self.assertErrno(errno.ENOENT, self.read, id, "sym", "f1()")


if __name__ == "__main__":
    mount_harness.main()
