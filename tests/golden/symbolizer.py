#!/usr/bin/env python3
"""gsym under the names addr2line, llvm-addr2line and llvm-symbolizer: options, lines of input, protocols of clients on pipes.

    symbolizer.py GSYM

What it prints for real files is compared with the original programs by tests/corpus/symbolizer.py.
"""
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import make_macho, make_pe  # noqa: E402
from lib.macho_sample import program  # noqa: E402

LIMIT = 600
gsym = ""

SOURCE = """int counter[4] = {7, 8, 9, 10};
static inline __attribute__((always_inline)) int deep(int x) { return x * counter[x & 3]; }
static inline __attribute__((always_inline)) int middle(int x) { return deep(x) + 3; }
__attribute__((noinline)) int outer(int x) { return middle(x) - 1; }
int main(int argc, char **argv) { return outer(argc) + (argv == 0); }
"""
TWICE = SOURCE.replace("outer", "twice")


def must(*argv, **kwargs):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=LIMIT, check=False, **kwargs)
    if done.returncode:
        raise AssertionError(f"{argv}: status {done.returncode}: {done.stderr}")
    return done.stdout


class Client:
    """A program on two pipes, which waits for each answer before it asks again."""

    def __init__(self, argv, env, cwd):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=cwd, bufsize=0)

    def ask(self, text, end):
        """Writes @text and reads until the output ends with @end."""
        self.process.stdin.write(text.encode())
        found = b""
        while not found.endswith(end.encode()):
            if not select.select([self.process.stdout], [], [], LIMIT)[0]:
                raise AssertionError(f"no more than {found} for {text!r}")
            part = self.process.stdout.read(65536)
            if not part:
                raise AssertionError(f"it ended after {found} for {text!r}")
            found += part
        return found.decode()

    def close(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.process.stdout.close()
        return rest, self.process.wait(timeout=LIMIT)


class Symbolizer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="gsym-symbolizer-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cls.env = {**os.environ, "GSYMFS_CACHE": os.path.join(cls.dir, "cache"), "LLVM_SYMBOLIZER_OPTS": "",
                   "LLVM_ADDR2LINE_OPTS": "", "GSYMFS_MOUNT": os.path.join(cls.dir, "none")}
        os.mkdir(cls.at("bin"))
        for name in ("addr2line", "x86_64-linux-gnu-addr2line", "llvm-addr2line-22", "llvm-symbolizer", "gsym-addr2line",
                     "gsym-symbolizer"):
            os.symlink(gsym, cls.at("bin", name))
        cls.app, cls.addr = cls.compile("app", SOURCE, "outer")
        cls.second, cls.second_addr = cls.compile("second", TWICE, "twice")

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.dir, *names)

    @classmethod
    def compile(cls, name, text, function):
        pathlib.Path(cls.at(name + ".c")).write_text(text)
        must("cc", "-g", "-gno-column-info", "-O1", "-Wl,--build-id=sha1", "-o", name, name + ".c", cwd=cls.dir)
        found = re.search(rf"^([0-9a-f]+) T {function}$", must("nm", cls.at(name)), re.M)[1]
        return cls.at(name), int(found, 16)

    def run_as(self, name, *argv, text="", env=None, status=0):
        done = subprocess.run([self.at("bin", name), *map(str, argv)], input=text, capture_output=True, text=True,
                              timeout=LIMIT, env={**self.env, **(env or {})}, cwd=self.dir, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.err = done.stderr.replace(self.at("bin") + "/", "")
        return done.stdout

    def gnu(self, *argv, **kwargs):
        return self.run_as("addr2line", *argv, **kwargs)

    def llvm(self, *argv, **kwargs):
        return self.run_as("llvm-symbolizer", *argv, **kwargs)

    def lines(self, *numbers):
        return [f"{self.app}.c:{n}" for n in numbers]

    # ---- addr2line ----

    def test_gnu_options(self):
        a = f"{self.addr:x}"
        two, three, four = self.lines(2, 3, 4)
        for options, wanted in (
                ([], f"{two}\n"), (["-s"], "app.c:2\n"), (["-f"], f"deep\n{two}\n"), (["-pf"], f"deep at {two}\n"),
                (["-i"], f"{two}\n{three}\n{four}\n"), (["--inl", "--pretty"], f"{two}\n (inlined by) {three}\n (inlined by) {four}\n"),
                (["-pfia"], f"{self.addr:#018x}: deep at {two}\n (inlined by) middle at {three}\n (inlined by) outer at {four}\n"),
                (["-afC"], f"{self.addr:#018x}\ndeep\n{two}\n"), (["--fun", "--basename"], "deep\napp.c:2\n"),
                (["-b", "elf64-x86-64", "-r", "-R", "--demangle=auto"], f"{two}\n")):
            with self.subTest(options=options):
                self.assertEqual(self.gnu("-e", self.app, *options, a), wanted)
        self.assertEqual(self.gnu(f"-e{self.app}", "--", "0x" + a, "0"), f"{two}\n??:0\n")
        self.assertEqual(self.gnu("-e", self.app, "+0x" + a, f"+{self.addr}", f" ++{self.addr:#x}"), f"{two}\n{two}\n{two}\n")
        self.assertEqual(self.gnu("-fp", "--exe", self.app, "0"), "?? ??:0\n")
        shutil.copy(self.app, self.at("a.out"))
        self.addCleanup(os.unlink, self.at("a.out"))
        self.assertEqual(self.gnu(a), f"{two}\n")
        self.assertEqual(self.run_as("x86_64-linux-gnu-addr2line", a), f"{two}\n")
        self.assertEqual(self.run_as("gsym-addr2line", a), f"{two}\n")

    def test_gnu_symbols(self):
        start = int(re.search(r"^([0-9a-f]+) T main$", must("nm", self.app), re.M)[1], 16)
        out = self.gnu("-ae", self.app, "main", "main+0x4", "main + 4", "main+zz", "counter", "FUNC", "zzz", "fffffffffffffffff")
        given = [int(line, 16) for line in out.splitlines()[::2]]
        self.assertEqual(given, [start, start + 4, start + 4, start, 0xc, 0xf, 0, 2 ** 64 - 1])

    def test_section(self):
        section = re.search(r"\] \.text +\w+ +([0-9a-f]+)", must("readelf", "-SW", self.app))[1]
        offset = self.addr - int(section, 16)
        self.assertEqual(self.gnu("-e", self.app, "-j", ".text", f"{offset:x}"), self.lines(2)[0] + "\n")
        self.gnu("-e", self.app, "--section=.nope", "0", status=1)
        self.assertEqual(self.err, f"addr2line: {self.app}: cannot find section .nope\n")

    def test_gnu_errors(self):
        for argv, words in ((["-e", "nofile", "0"], "'nofile': No such file"), (["-e", "app.c", "0"], "app.c: file format not recognized"),
                            ([], "'a.out': No such file"), (["-Z"], "unknown option in '-Z'; try"),
                            (["--functoins"], "unknown option '--functoins'; did you mean '--functions'?"), (["--qqq"], "unknown option '--qqq'; try"),
                            (["--in=1", "-e", "app"], "no argument is taken by option '--in'"),
                            (["-e"], "missing argument of option 'exe'"), (["--demangle=klingon"], "unknown demangling style")):
            with self.subTest(argv=argv):
                self.assertEqual(self.gnu(*argv, status=1), "")
                self.assertIn(words, self.err)

    def test_odd_files(self):
        """What is no regular file ends at once, with the words of the originals."""
        os.mkfifo(self.at("fifo"))
        os.symlink("circle", self.at("circle"))
        loop = "Too many levels of symbolic links"
        for name, of_gnu, of_llvm in (
                ("bin", "Warning: 'bin' is a directory", "Is a directory"),
                ("fifo", "Warning: 'fifo' is not an ordinary file", "The file was not recognized as a valid object file"),
                ("circle", f"Warning: could not locate 'circle'.  reason: {loop}", loop),
                ("app/x", "Warning: could not locate 'app/x'.  reason: Not a directory", "Not a directory")):
            with self.subTest(name):
                self.assertEqual(self.gnu("-e", name, "0", status=1), "")
                self.assertEqual(self.err, f"addr2line: {of_gnu}\n")
                self.llvm("-e", name, "0", status=1)
                self.assertEqual(self.err, f"llvm-symbolizer: error: '{name}': {of_llvm}\n")
                self.assertEqual(subprocess.run([gsym, "lookup", name, "0x10"], cwd=self.dir, env=self.env, capture_output=True,
                                                timeout=LIMIT, check=False).returncode, 1)
        self.gnu("-e", self.app, "0", env={"GSYMFS_CACHE": "/proc/none"}, status=1)
        self.assertEqual(self.err, f"addr2line: {self.app}: cache directory '/proc/none': cannot create: No such file or directory\n")

    def test_response_file(self):
        pathlib.Path(self.at("inner")).write_text("-f\n")
        pathlib.Path(self.at("words")).write_text(f"-e '{self.app}'\n @inner \\{self.addr:x}")
        self.assertEqual(self.gnu("@words"), f"deep\n{self.lines(2)[0]}\n")
        self.assertEqual(self.run_as("llvm-addr2line-22", "@words"), f"deep\n{self.lines(2)[0]}\n")
        pathlib.Path(self.at("loop")).write_text("@loop")
        self.gnu("@loop", status=1)
        self.assertIn("Too many levels", self.err)

    # ---- llvm-symbolizer ----

    def stack(self, place=":0"):
        two, three, four = self.lines(2, 3, 4)
        return f"deep\n{two}{place}\nmiddle\n{three}{place}\nouter\n{four}{place}\n"

    def test_llvm_options(self):
        a = hex(self.addr)
        two = self.lines(2)[0]
        for options, wanted in (
                ([], self.stack() + "\n"), (["--functions=none", "--no-inlines"], f"{two}:0\n\n"),
                (["--no-inlines"], f"outer\n{two}:0\n\n"), (["--inlining=false", "-fs"], "outer\napp.c:2:0\n\n"),
                (["-f=short", "--no-inlines"], f"deep\n{two}:0\n\n"), (["--output-style=GNU"], self.stack("")),
                (["--output-style=GNU", "--no-inlines", "-a"], f"{a}\ndeep\n{two}\n"),
                (["--pretty-print", "--print-address", "--no-inlines"], f"{a}: outer at {two}:0\n\n"),
                (["--no-inlines", "--verbose"], f"outer\n  Filename: {two[:-2]}\n  Function start filename: {two[:-2]}\n  Function start line: 2\n"
                 f"  Function start address: {a}\n  Line: 2\n"
                 "  Column: 0\n\n"),
                (["--color=auto", "--no-debuginfod", "--cache-size=1", "--default-arch", os.uname().machine, "-demangle=false"],
                 self.stack() + "\n")):
            with self.subTest(options=options):
                self.assertEqual(self.llvm("-e", self.app, *options, a), wanted)
        self.assertEqual(self.llvm(f"-e={self.app}", "--adjust-vma=0x100", "-a", hex(self.addr + 0x100)),
                         f"{self.addr + 0x100:#x}\n{self.stack()}\n")
        self.assertEqual(self.llvm("--obj", self.app, env={"LLVM_SYMBOLIZER_OPTS": "-s --no-inlines"}, text=a), "outer\napp.c:2:0\n\n")
        self.assertEqual(self.run_as("llvm-addr2line-22", "-afie", self.app, f"{self.addr:x}"), a + "\n" + self.stack(""))
        self.assertEqual(self.run_as("gsym-symbolizer", "-e", self.app, a), self.stack() + "\n")
        for name, options, n in (("llvm-symbolizer", [], 3), ("llvm-symbolizer", ["--output-style=GNU"], 0), ("llvm-addr2line-22", ["-fi"], 0)):
            self.assertEqual(self.run_as(name, "--verbose", *options, "-e", self.app, a).count("Function start address: "), n)
        context = self.llvm("-e", self.app, "--no-inlines", "--print-source-context-lines=3", a).splitlines()[2:]
        rows = SOURCE.splitlines()
        self.assertEqual(context, [f"1  : {rows[0]}", f"2 >: {rows[1]}", f"3  : {rows[2]}", ""])

    def test_relative_address(self):
        must("cc", "-g", "-gno-column-info", "-O1", "-no-pie", "-o", "fixed", "app.c", cwd=self.dir)
        lines = must("nm", self.at("fixed"))
        address = int(re.search(r"^([0-9a-f]+) T outer$", lines, re.M)[1], 16)
        base = min(int(m, 16) for m in re.findall(r"^ +LOAD +\w+ 0x(\w+)", must("readelf", "-lW", self.at("fixed")), re.M))
        self.assertGreater(base, 0)
        self.assertEqual(self.llvm("-e", "fixed", "--relative-address", hex(address - base)), self.stack() + "\n")

    def test_llvm_lines(self):
        a, unknown = hex(self.addr), "??\n??:0:0\n\n"
        for line, wanted, words in (
                (f"CODE app {a}", self.stack() + "\n", ""), (f'"app" {a}', self.stack() + "\n", ""),
                (f"FILE:app {self.addr}", self.stack() + "\n", ""), (f"'app' {a} and more", self.stack() + "\n", ""),
                (f"app:{os.uname().machine} {a}", self.stack() + "\n", ""), (f"app {a}\r", self.stack() + "\n", ""),
                ("", unknown, ""), (" ", unknown, ""), ("app", unknown, "error: 'app': no module offset has been specified"),
                (f'"app {a}', unknown, "no input filename has been specified"),
                (f"FILE:FILE:app {a}", unknown, f"error: 'FILE:FILE:app {a}': duplicate input file specification prefix\n"),
                (f'FILE:"app {a}', unknown, "unbalanced quotes in input file name\n"),
                ("FILE:", unknown, "error: 'FILE:': must be followed by an input file\n"),
                ("BUILDID:", unknown, "error: 'BUILDID:': must be followed by a hash\n"),
                ("BUILDID:abad 1", unknown, "error: 'ABAD': could not find build ID\n"),
                ("app 1ee0", unknown, "error: 'app 1ee0': expected a number as module offset"),
                (f"nope {a}", unknown, "error: 'nope': No such file or directory"),
                (f"app.c {a}", unknown, "error: 'app.c': The file was not recognized as a valid object file"),
                ("BUILDID:zz 1", unknown, "wrong format of build-id"), ("BUILDID:00 1", unknown, "error: '00': could not find build ID"),
                ("app outer", f"outer\n{self.lines(2)[0]}:0\n\n", ""), ("app nothing+3", unknown, ""), ("app +3", unknown, ""),
                ("FRAME app 0x10", "??\n\n", ""), ("DATA app 0x1", "??\n0 0\n??:?\n\n", "")):
            with self.subTest(line=line):
                self.assertEqual(self.llvm(text=line + "\n"), wanted)
                self.assertIn(words, self.err)
                self.assertEqual(bool(words), bool(self.err))

    def test_data(self):
        place = int(re.search(r"^([0-9a-f]+) D counter$", must("nm", self.app), re.M)[1], 16)
        for addr in (place, place + 15):
            self.assertEqual(self.llvm(f"DATA app {addr:#x}"), f"counter\n{place} 16\n{self.app}.c:1\n\n")
        self.assertEqual(self.llvm(f"DATA app {place | 0xab << 56:#x}"), f"counter\n{place} 16\n{self.app}.c:1\n\n")
        self.assertNotIn("counter", self.llvm("--no-untag-addresses", f"DATA app {place | 0xab << 56:#x}"))
        self.assertNotIn("counter", self.llvm(f"DATA app {place + 16:#x}"))

    def test_json(self):
        place = int(re.search(r"^([0-9a-f]+) D counter$", must("nm", self.app), re.M)[1], 16)
        queries = [f"app {self.addr:#x}", f"DATA app {place:#x}", "FRAME app 0x10", "nope 0x10", "app outer+1", "app zzz", "app 9z"]
        found = json.loads(self.llvm("--output-style=JSON", *queries))
        self.assertEqual([frame["FunctionName"] for frame in found[0]["Symbol"]], ["deep", "middle", "outer"])
        self.assertEqual({frame["StartAddress"] for frame in found[0]["Symbol"]}, {hex(self.addr)})
        self.assertEqual(found[1]["Data"], {"Name": "counter", "Size": "0x10", "Start": hex(place)})
        self.assertEqual(found[2:4], [{"Address": "0x10", "Frame": [], "ModuleName": "app"},
                                      {"Address": "0x10", "Error": {"Message": "No such file or directory"}, "ModuleName": "nope"}])
        self.assertEqual((found[4]["SymName"], found[4]["Loc"][0]["FunctionName"], found[5]["Loc"]), ("outer", "outer", []))
        self.assertEqual(found[6]["Symbol"][0]["FunctionName"], "")
        lines = self.llvm("--output-style=JSON", text="\n".join(queries)).splitlines()
        self.assertEqual([json.loads(line) for line in lines], found)
        self.llvm("--output-style=JSON", "-e", "nope", "1", status=1)

    def test_refused(self):
        for option, words in (("--filter-markup", "use gsym filter"),
                              ("--output-style=XML", "GNU, LLVM or JSON, but got 'XML'\n"),
                              ("--functions=long", "none, short or linkage, but got 'long'\n"),
                              ("--adjust-vma=-1", "a non-negative integer, but got '-1'\n"),
                              ("--build-id=xyz", "a build ID, but got 'xyz'\n"), ("--debug-file-directory=here", "an absolute path")):
            with self.subTest(option=option):
                self.assertEqual(self.llvm("-e", self.app, option, "0", status=1), "")
                name = option.split("=")[0]
                self.assertTrue(self.err.startswith((f"llvm-symbolizer: option '{name}': not done: ", f"{name}=: expected ")), self.err)
                self.assertIn(words, self.err)
        self.llvm("-x", "--inline", "--zzzzzzzz", "-e", status=1)
        self.assertEqual(self.err, "error: unknown argument '-x'\nerror: unknown argument '--inline', did you mean '--inlines'?\n"
                         "error: unknown argument '--zzzzzzzz'\nerror: -e: missing argument\n")
        self.llvm("--build-id=00", "-e", self.app, status=1)
        self.assertEqual(self.err, "error: cannot specify both --build-id and --obj\n")
        self.llvm("-e", "nope", "0", status=1)
        self.assertEqual(self.err, "llvm-symbolizer: error: 'nope': No such file or directory\n")

    def test_errors_once(self):
        """An error is told for the first line that asks about the file."""
        asked = "nope 0\nnope 1\nnope foo\nDATA nope 0\n"
        self.assertEqual(self.llvm(text=asked), "??\n??:0:0\n\n" * 3 + "??\n0 0\n??:?\n\n")
        self.assertEqual(self.err, "llvm-symbolizer: error: 'nope': No such file or directory\n")
        self.assertEqual(self.llvm("--output-style=JSON", text=asked),
                         '{"Address":"0x0","Error":{"Message":"No such file or directory"},"ModuleName":"nope"}\n'
                         '{"Address":"0x1","ModuleName":"nope","Symbol":[]}\n{"Loc":[],"ModuleName":"nope","SymName":"foo"}\n'
                         '{"Address":"0x0","Data":{"Name":"","Size":"0x0","Start":"0x0"},"ModuleName":"nope"}\n')
        self.llvm("--build-id=abad", "0", "1")
        self.assertEqual(self.err, "llvm-symbolizer: error: 'ABAD': could not find build ID\n" * 2)

    def test_missing_pdb(self):
        """A program for Windows whose PDB is not there, and that has no DWARF, is an error, which names the PDB."""
        for dwarf in (False, True):
            program = make_pe.program(dwarf=dwarf, id=False)
            program.debug_entries([(make_pe.CODEVIEW, make_pe.codeview(path=b"C:\\b\\x.pdb\0"))])
            pathlib.Path(self.at(f"pe{dwarf}.exe")).write_bytes(program.file())
        why = "'peFalse.exe': 'C:\\b\\x.pdb': No such file or directory\n"
        self.assertEqual(self.llvm("-e", "peFalse.exe", "0x140001000", status=1), "")
        self.assertEqual(self.err, f"llvm-symbolizer: error: {why}")
        self.assertEqual(self.llvm(text="peFalse.exe 0x140001000\n" * 2), "??\n??:0:0\n\n" * 2)
        self.assertEqual(self.err, f"llvm-symbolizer: error: {why}")
        self.assertNotIn("??", self.llvm("-e", "peTrue.exe", "0x140001000"))
        self.assertNotIn("??\n", self.gnu("-fe", "peFalse.exe", "0x140001000").splitlines(True)[0])

    @unittest.skipUnless(shutil.which("dwp"), "needs dwp")
    def test_package(self):
        """The DWARF package is that of the option, whatever it is called."""
        os.mkdir(self.at("split"))
        must("cc", "-gdwarf-4", "-gsplit-dwarf", "-O1", "-o", "app", "../app.c", cwd=self.at("split"))
        must("dwp", "-e", "app", "-o", "other.dwp", cwd=self.at("split"))
        for dwo in pathlib.Path(self.at("split")).glob("*.dwo"):
            dwo.unlink()
        with_package, without = (self.llvm("-s", f"--dwp={name}", "-e", "split/app", hex(self.addr)) for name in
                                 ("split/other.dwp", "nope.dwp"))
        self.assertRegex(with_package, r"^deep\napp.c:2:\d+\nmiddle\napp.c:3:\d+\nouter\napp.c:4:\d+\n\n$")
        self.assertTrue(without.startswith("outer\n"), without)
        self.assertEqual(with_package, self.llvm("-s", f"--dwp={self.at('split/other.dwp')}", "-e", "split/app", hex(self.addr)))

    def test_help(self):
        for name, option in (("addr2line", "--section=NAME"), ("llvm-addr2line-22", "--build-id=ID"), ("llvm-symbolizer", "--build-id=ID")):
            self.assertIn(option, self.run_as(name, "--help"))
        for name, first, last in (("addr2line", r"GNU addr2line \(gsym .*\) 2\.40", "2.40"), ("llvm-addr2line-22", "llvm-addr2line", "22.1.8"),
                                  ("llvm-symbolizer", "llvm-symbolizer", "22.1.8")):
            lines = self.run_as(name, "--version").splitlines()
            self.assertRegex(lines[0], f"^{first}$")
            self.assertEqual(lines[-1].split()[-1], last)
        self.assertRegex(self.llvm("-h"), "(?s)^OVERVIEW: llvm-symbolizer\n\nUSAGE: .*\nOPTIONS:\n")
        self.assertEqual(self.llvm("--dia", "-s", "-e", self.app, "0"), "??\n??:0:0\n\n")
        self.assertEqual(self.gnu("-H"), self.gnu("-h"))
        self.assertEqual(self.gnu("-V"), self.gnu("-v"))

    def test_damaged_symbols(self):
        """Section headers and symbols with other bytes: any answer, but no crash, and no name from outside the file."""
        data = pathlib.Path(self.app).read_bytes()
        section = re.search(r"\] \.symtab +\w+ +\w+ (\w+) (\w+)", must("readelf", "-SW", self.app))
        headers, table = int.from_bytes(data[0x28:0x30], "little"), int(section[1], 16)
        damage = [(headers + 64 * i + field, value) for i in (len(data[headers:]) // 64 - 3, len(data[headers:]) // 64 - 2)
                  for field, value in ((24, 1 << 62), (32, 2 ** 64 - 1), (32, 25), (40, 2 ** 32 - 1))]
        damage += [(table + 24 * i, value) for i in range(2, int(section[2], 16) // 24, 9) for value in (2 ** 32 - 1, 2 ** 64 - 1)]
        for i, (place, value) in enumerate(damage):
            damaged = bytearray(data)
            damaged[place:place + 8] = value.to_bytes(8, "little")
            name = self.at(f"damaged{i}")
            pathlib.Path(name).write_bytes(damaged)
            self.addCleanup(os.unlink, name)
            self.llvm(text=f"DATA {name} 0x4010\nDATA {name} {2 ** 64 - 1:#x}\n{name} counter\n{name} nothing+1\n")

    def test_local_symbols_without_debug_data(self):
        """Their file is the one that the symbol table names before them; GNU's program has no line for it."""
        pathlib.Path(self.at("labels.s")).write_text(
            '.file "labels.s"\n.globl _start\n_start: nop\n.size _start, 1\nnop\nlocal: nop\n.size local, 1\nend: nop\nnop\n'
            ".data\nvalue: .long 1\n.size value, 4\n.type value, @object\n")
        must("as", "-o", "labels.o", "labels.s", cwd=self.dir)
        must("ld", "-o", "labels", "labels.o", cwd=self.dir)
        at = {name: int(addr, 16) for addr, name in re.findall(r"(\w+) \w (\w+)", must("nm", self.at("labels")))}
        for offset, name, file in ((0, "_start", "??"), (1, "??", "??"), (2, "local", "labels.s"), (3, "end", "labels.s"),
                                   (4, "end", "labels.s")):
            addr = hex(at["_start"] + offset)
            self.assertEqual(self.llvm("-e", "labels", addr), f"{name}\n{file}:0:0\n\n", addr)
            self.assertEqual(self.llvm("-e", "labels", "--no-inlines", addr), f"{name}\n{file}:0:0\n\n", addr)
            self.assertEqual(self.run_as("llvm-addr2line-22", "-e", "labels", addr), "??:0\n")
        self.assertEqual(self.gnu("-fe", "labels", hex(at["local"])), "local\nlabels.s:?\n")
        self.assertEqual(self.gnu("-fe", "labels", hex(at["_start"])), "_start\nlabels.s:?\n")

    def test_no_function(self):
        """A file in which no function is known is answered as any, and the rest of the input is read."""
        pathlib.Path(self.at("data.c")).write_text("int value = 7;\n")
        must("cc", "-c", "-o", "data.o", "data.c", cwd=self.dir)
        for words, wanted in ((["0", "0x10"], "value\n??:0:0\n\n??\n??:0:0\n\n"), (["DATA 0"], "value\n0 4\n??:?\n\n"),
                              (["none"], "??\n??:0:0\n\n")):
            self.assertEqual(self.llvm("-e", "data.o", *words), wanted)
            self.assertEqual(self.err, "")
        self.assertEqual(self.gnu("-fe", "data.o", text="0\n10\n"), "??\n??:0\n??\n??:0\n")
        self.assertEqual(self.run_as("llvm-addr2line-22", "-fe", "data.o", "20", text=""), "??\n??:0\n")

    def test_relocatable(self):
        must("cc", "-g", "-O1", "-ffunction-sections", "-c", "app.c", cwd=self.dir)
        for section, line in ((".text.outer", self.lines(2)[0]), (".text.main", self.lines(5)[0])):
            self.assertEqual(self.gnu("-e", "app.o", "-j", section, "0"), line + "\n")

    def test_versions(self):
        """The version of a symbol is part of its name in the symbol table only."""
        for argv in (("--redefine-sym", "outer=outer@V1", "app", "versioned"), ("--only-keep-debug", "versioned", "versioned.debug"),
                     ("--strip-all", "--add-gnu-debuglink=versioned.debug", "versioned", "stripped")):
            must("objcopy", *argv, cwd=self.dir)
        two = self.lines(2)[0]
        for name, wanted in (("versioned", "outer@V1"), ("stripped", "outer")):
            for _ in range(2):  # converted, and from the cache
                self.assertEqual(self.llvm("-e", name, "--no-inlines", hex(self.addr)), f"{wanted}\n{two}:0\n\n")
            self.assertIn("\nouter\n", self.gnu("-fie", name, f"{self.addr:x}"))

    def test_function_of_an_assembly_statement(self):
        """Its code has the lines of the statement, though it is within another function's."""
        text = "int f(int x)\n{\n  volatile int y = x;\n  __asm__ volatile(\".globl inner\\n.type inner,%function\\ninner: nop\\nnop\\n.size inner,.-inner\");\n" \
               "  return y + 5;\n}\nint main(int argc, char **argv) { return f(argc) + (argv == 0); }\n"
        path, addr = self.compile("statement", text, "inner")
        self.assertEqual(self.llvm("-e", path, hex(addr), hex(addr + 1)), 2 * f"inner\n{path}.c:4:0\n\n")
        self.assertEqual(self.gnu("-fe", path, f"{addr - 1:x}"), f"f\n{path}.c:3\n")

    def test_32_bit(self):
        """Such an address has 8 digits in addr2line."""
        made = subprocess.run(["cc", "-m32", "-g", "-O1", "-c", "-o", "half.o", "app.c"], cwd=self.dir, capture_output=True, check=False)
        if made.returncode:
            self.skipTest("cc makes no 32-bit objects")
        start = int(re.search(r"^([0-9a-f]+) T outer$", must("nm", self.at("half.o")), re.M)[1], 16)
        wanted = rf"^{start:#010x}\napp\.c:\d\n$"
        self.assertRegex(self.gnu("-ase", "half.o", "-j", ".text", f"{start:x}"), wanted)
        # It may be given with its sign in the other half.
        self.assertRegex(self.gnu("-ase", "half.o", "-j", ".text", f"ffffffff{start:08x}"), wanted)

    # ---- Where images are found ----

    def build_id(self, path):
        return re.search(r"Build ID: ([0-9a-f]+)", must("readelf", "-n", path))[1]

    def test_build_id(self):
        digits = self.build_id(self.app)
        place = self.at("debug", ".build-id", digits[:2])
        os.makedirs(place)
        shutil.copy(self.app, os.path.join(place, digits[2:] + ".debug"))
        directory = f"--debug-file-directory={self.at('debug')}"
        for options, text in (([f"--build-id={digits}"], hex(self.addr)), ([], f"BUILDID:{digits.upper()} {self.addr:#x}")):
            self.assertEqual(self.llvm(directory, *options, text), self.stack() + "\n")
        image = self.at("mount", digits)
        os.makedirs(image)
        must(gsym, "convert", "--quiet", self.second, "-o", os.path.join(image, "image.gsym"))
        out = self.llvm(f"--build-id={digits}", hex(self.second_addr), env={"GSYMFS_MOUNT": self.at("mount")})
        self.assertIn("\ntwice\n", out)

    def test_gsym_files(self):
        os.mkdir(self.at("gsyms"))
        must(gsym, "convert", "--quiet", self.second, "-o", self.at("gsyms", "app.gsym"))
        self.assertIn("\ntwice\n", self.llvm("-e", self.at("gsyms", "app.gsym"), hex(self.second_addr)))
        self.assertIn("\ntwice\n", self.llvm(f"--gsym-file-directory={self.at('gsyms')}", "-e", "app", hex(self.second_addr)))

    def test_gsym_beside(self):
        """NAME.gsym beside NAME is what is answered from, unless it is not wanted; GNU's program knows none."""
        shutil.copy(self.second, self.at("beside"))
        must(gsym, "convert", self.app, "-o", self.at("beside.gsym"))
        a = hex(self.addr)
        for program, options, wanted in (("llvm-symbolizer", [], self.stack() + "\n"), ("llvm-addr2line-22", ["-fi"], self.stack(""))):
            self.assertEqual(self.run_as(program, *options, "-e", "beside", a), wanted)
            self.assertIn("twice\n", self.run_as(program, *options, "--disable-gsym", "-e", "beside", hex(self.second_addr)))
            self.assertIn("twice\n", self.run_as(program, *options, "--obj=beside", "--disable-gsym", text=hex(self.second_addr) + "\n"))
        self.assertIn("second.c:2\n", self.gnu("-e", "beside", hex(self.second_addr)))
        os.unlink(self.at("beside"))
        self.llvm("-e", "beside", a, status=1)

    def stripped(self, name):
        """The program without debug data, and the file with it; LLVM's cache has a hash of the id in the name of a file."""
        must("cc", "-g", "-gno-column-info", "-O1", "-Wl,--build-id=0x127da749021c1fc1a58cba734a1f542cbe2b7ce4", "-o", name, "app.c", cwd=self.dir)
        must("objcopy", "--only-keep-debug", self.at(name), self.at(name + ".debug"))
        must("objcopy", "--strip-debug", f"--add-gnu-debuglink={self.at(name + '.debug')}", self.at(name))
        return self.at(name), self.at(name + ".debug")

    def test_debug_file_of_a_link(self):
        """It may lie beside the symbolic link that the program is opened by."""
        program, debug = self.stripped("linked")
        for name in ("real", "links"):
            os.mkdir(self.at(name))
        os.rename(program, self.at("real", "elsewhere"))
        os.rename(debug, self.at("links", "linked.debug"))
        os.symlink(self.at("real", "elsewhere"), self.at("links", "program"))
        a = hex(self.addr)
        self.assertEqual(self.llvm("-e", "real/elsewhere", a), "outer\n??:0:0\n\n")
        self.assertEqual(self.llvm("-e", "links/program", a), self.stack() + "\n")
        self.assertEqual(self.gnu("-fie", "links/program", a), self.stack(""))
        shutil.copy(self.second, self.at("links", "linked.debug"))
        self.assertEqual(self.llvm("-e", "links/program", a), "outer\n??:0:0\n\n")

    def test_debug_file_of_an_option(self):
        """--dsym-hint names bundles; --debuginfod takes what the clients of elfutils and LLVM have in their caches."""
        program, debug = self.stripped("hinted")
        build_id = re.search(r"Build ID: (\w+)", must("readelf", "-n", program))[1]
        os.makedirs(self.at("a.dSYM", "Contents", "Resources", "DWARF"))
        shutil.move(debug, self.at("a.dSYM", "Contents", "Resources", "DWARF", "hinted"))
        a, bare = hex(self.addr), "outer\n??:0:0\n\n"
        self.assertEqual(self.llvm("-e", program, a), bare)
        self.assertEqual(self.llvm("-e", program, "--dsym-hint=none", "--dsym-hint", "a.dSYM", a), self.stack() + "\n")
        places = (self.at("fetched", build_id, "debuginfo"), self.at("fetched", "llvmcache-1165050469834211050"))
        env = {"DEBUGINFOD_CACHE_PATH": self.at("fetched")}
        for place in places:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(self.at("a.dSYM", "Contents", "Resources", "DWARF", "hinted"), place)
            for words in (["-e", program, "--debuginfod"], ["--build-id=" + build_id], ["--build-id=" + build_id.upper()]):
                self.assertEqual(self.llvm(*words, a, env=env), self.stack() + "\n", words)
            self.assertEqual(self.llvm("-e", program, a, env={**env, "DEBUGINFOD_URLS": "http://localhost:1"}), self.stack() + "\n")
            self.assertEqual(self.llvm("-e", program, a, env={**env, "DEBUGINFOD_URLS": ""}), bare)
            self.assertEqual(self.llvm("-e", program, "--no-debuginfod", a, env={**env, "DEBUGINFOD_URLS": "x"}), bare)
            self.assertEqual(self.llvm("--no-debuginfod", f"BUILDID:{build_id} {a}", env=env), "??\n??:0:0\n\n")
            pathlib.Path(place).write_bytes(b"")
            self.assertEqual(self.llvm(f"BUILDID:{build_id} {a}", env=env), "??\n??:0:0\n\n")
            self.assertIn("could not find build ID", self.err)

    def test_colon_in_a_name(self):
        """FILE:ARCH is tried only where no file is called so."""
        name = self.at("with:x86_64")
        shutil.copy(self.second, name)
        self.assertIn("\ntwice\n", "\n" + self.llvm("-e", name, hex(self.second_addr)))
        self.assertIn("\ntwice\n", "\n" + self.llvm("-e", f"{self.second}:x86_64", hex(self.second_addr)))
        self.llvm("-e", f"{self.at('none')}:x86_64", "0", status=1)
        self.assertIn("No such file or directory", self.err)

    def test_architectures(self):
        """A universal file is not guessed from, and the message has what there is."""
        both = [(machine, program(machine).file()) for machine in (make_macho.X86_64, make_macho.ARM64)]
        pathlib.Path(self.at("fat")).write_bytes(make_macho.fat(both))
        for arch, why in (("", "Unknown architecture named: "), ("sun", "Unknown architecture named: sun"),
                          ("i386", "fat file does not contain i386"), ("aarch64", "fat file does not contain aarch64")):
            self.llvm(*([f"--default-arch={arch}"] if arch else []), "-e", self.at("fat"), "0x1000", status=1)
            self.assertIn(f"{why}; it holds x86_64, arm64\n", self.err)
        self.llvm("-e", self.at("fat") + ":ppc", "0x1000", status=1)
        self.assertIn("fat file does not contain ppc; it holds x86_64, arm64\n", self.err)
        self.llvm("-e", self.at("fat") + ":sun", "0x1000", status=1)
        self.assertIn("No such file or directory\n", self.err)
        self.assertIn("main\n", self.llvm("-e", self.at("fat") + ":arm64", "0x1000"))

    def test_default_arch_elsewhere(self):
        """The run-time library of a sanitizer names its machine in its own words, which only matter to a universal file."""
        for arch in ("arm64", "riscv64", "loongarch64", "powerpc64le", "s390x", "x86_64h", "unknown"):
            with self.subTest(arch=arch):
                self.assertEqual(self.llvm(f"--default-arch={arch}", "-e", self.app, hex(self.addr)), self.stack() + "\n")
                self.assertEqual(self.llvm("--default-arch", arch, text=f"CODE {self.app} {self.addr:#x}\n"), self.stack() + "\n")

    # ---- Clients on pipes ----

    def client(self, name, *argv):
        return Client([self.at("bin", name), *argv], self.env, self.dir)

    def test_perf(self):
        """perf asks for an address and then for ",", whose answer tells it where that of the address ends."""
        client = self.client("addr2line", "-e", self.app, "-a", "-i", "-f")
        end = "0x0000000000000000\n??\n??:0\n"
        self.assertEqual(client.ask(",\n", end), end)
        for _ in range(3):
            self.assertEqual(client.ask(f"{self.addr:016x}\n,\n", end), f"{self.addr:#018x}\n{self.stack('')}{end}")
        self.assertEqual(client.close(), (b"", 0))
        client = self.client("llvm-addr2line-22", "-e", self.app, "-a", "-i", "-f")
        for _ in range(3):
            self.assertEqual(client.ask(f"{self.addr:016x}\n,\n", "??\n??:0\n"), f"{self.addr:#x}\n{self.stack('')}??\n??:0\n")
        self.assertEqual(client.close(), (b"", 0))

    def test_sanitizer(self):
        """The run-time library reads until an empty line, module after module."""
        client = self.client("llvm-symbolizer", "--demangle", "--inlines", "--default-arch=x86_64")
        for _ in range(2):
            self.assertEqual(client.ask(f'CODE "{self.app}" {self.addr:#x}\n', "\n\n"), self.stack() + "\n")
            self.assertIn("\ntwice\n", client.ask(f'CODE "{self.second}" {self.second_addr:#x}\n', "\n\n"))
            self.assertEqual(client.ask('CODE "/nope" 0x1\n', "\n\n"), "??\n??:0:0\n\n")
            self.assertRegex(client.ask(f'DATA "{self.app}" 0x0\n', "\n\n"), r"^\S+\n\d+ \d+\n\?\?:\?\n\n$")
        self.assertEqual(client.close(), (b"", 0))

    def test_pieces(self):
        """A line may arrive in pieces, and the last may lack its end."""
        client = self.client("addr2line", "-e", self.app)
        line = f"{self.addr:x}\n"
        for byte in line[:-1]:
            client.process.stdin.write(byte.encode())
        self.assertEqual(client.ask("\n", "\n"), self.lines(2)[0] + "\n")
        client.process.stdin.write(line[:-1].encode())
        self.assertEqual(client.close(), (self.lines(2)[0].encode() + b"\n", 0))

    def test_many_modules(self):
        """More files than stay open."""
        names = []
        for i in range(70):
            names.append(self.at(f"copy{i}"))
            os.symlink(self.app, names[-1])
            self.addCleanup(os.unlink, names[-1])
        text = "".join(f"{name} {self.addr:#x}\n" for name in names * 2)
        self.assertEqual(self.llvm("--no-inlines", text=text), f"outer\n{self.lines(2)[0]}:0\n\n" * 140)

    def test_hostile_lines(self):
        lines = ["A" * 3_000_000, "app " + "9" * 70000, "app " + "x" * 70000 + "+1", "\0\xff\x1b[2J", "BUILDID:" + "a" * 5000 + " 1",
                 '"' * 5, "app \x1b[31m", ": 1", "CODE", "DATA ", "app:: 1"]
        self.llvm(text="\n".join(lines))
        self.assertNotIn("\x1b", self.err)
        self.gnu("-e", self.app, text="\n".join(lines))


if __name__ == "__main__":
    gsym = os.path.abspath(sys.argv.pop(1))
    unittest.main()
