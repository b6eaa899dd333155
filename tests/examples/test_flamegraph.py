#!/usr/bin/env python3
"""The flame graph: what is drawn, and what a browser makes of it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

from example_test import EXAMPLES, LIMIT, main
import browser

STACKS = """# event: cycles:u
# seconds: 12.34
app;main;parse<int>;lex_[i] 600
app;main;parse<char>;lex_[i];read_[k] 200
app;main;run;[libx.so];[libx.so];[libx.so] 150
app;main;run;run2;operator<;T<a, b<c> >::f 49
app;main;tiny;deep 1
"""
NARROW = "".join("app;f%d 1000\n" % n for n in range(9)) + "".join("app;small;tiny%d;inside%d 1\n" % (n, n) for n in range(30))
HOSTILE = ["</script><img src=x onerror='document.hacked=1'>", "]]><script>document.hacked=1</script>", "__proto__", "constructor",
           "\"/><script xmlns=\"http://www.w3.org/2000/svg\">document.hacked=1</script>", "a\u2028b", "\\u003cb\\", "${document.hacked=1}",
           "<!--<script>", "&lt&gt", "$&$'$`", "DATA", "SIZES", "\x01\x1b[2J"]


def graph(text, *arguments, status=0):
    done = subprocess.run([sys.executable, str(EXAMPLES / "flamegraph.py"), *arguments], input=text.encode(), capture_output=True,
                          timeout=LIMIT, check=False)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode() if not status else done.stderr.decode()


def rectangles(svg):
    """{name: (width, tooltip, colour)} of the frames."""
    found = {}
    for g in xml.dom.minidom.parseString(svg).getElementsByTagName("g"):
        if g.getAttribute("class") == "f":
            (box,) = g.getElementsByTagName("rect")
            tooltip = g.getElementsByTagName("title")[0].firstChild.data
            found[g.getAttribute("data-name")] = float(box.getAttribute("width")), tooltip, box.getAttribute("fill")
    return found


class PictureTest(unittest.TestCase):
    def test_what_is_drawn(self):
        svg = graph(STACKS, "A <title>")
        self.assertIn("A &lt;title&gt;", svg)
        self.assertIn("1,000 samples \u00b7 cycles:u \u00b7 12.3 s", svg)
        frames = rectangles(svg)
        self.assertEqual(set(frames), {"all", "app", "main", "parse<int>", "parse<char>", "lex_[i]", "read_[k]", "run", "run2",
                                       "operator<", "T<a, b<c> >::f", "[libx.so]", "tiny", "deep"})
        self.assertAlmostEqual(frames["parse<int>"][0], 0.6 * frames["all"][0], delta=1)
        self.assertEqual(frames["parse<int>"][1], "parse<int>: 600 samples, 60.00 %")
        self.assertEqual(svg.count('data-name="[libx.so]"'), 1)  # a tower of three
        for kind in "function", "inlined", "kernel", "unknown":
            self.assertIn(">%s</text>" % kind, svg)

    def test_folded_templates(self):
        frames = rectangles(graph(STACKS, "--fold-templates"))
        self.assertEqual(frames["parse<>"][1], "parse<>: 800 samples, 80.00 %")
        self.assertLess({"operator<", "T<>::f"}, set(frames))
        names = {"a->b<c>": "a->b<>", "f<g<int>, h>(x<y>)": "f<>(x<>)", "operator<< <int>": "operator<< <>", "a<b": "a<b", "a>b": "a>b",
                 "operator->": "operator->", "f<(a->b)>": "f<>", "operator<=><x>": "operator<=><>"}
        self.assertEqual(set(rectangles(graph("".join(name + " 1\n" for name in names), "--fold-templates"))) - {"all"},
                         set(names.values()))

    def test_comparison(self):
        with tempfile.NamedTemporaryFile("w", suffix=".folded") as before:
            before.write("a;grows 10\na;shrinks 80\na;same 10\na;gone 100\n")
            before.flush()
            svg = graph("a;grows 30\na;shrinks 10\na;same 2\n", "--before=" + before.name)
        frames = rectangles(svg)
        self.assertRegex(frames["grows"][2], r"hsl\(6,")
        self.assertRegex(frames["shrinks"][2], r"hsl\(214,")
        self.assertEqual(frames["a"][2], "hsl(222,10%,88%)")
        self.assertEqual(frames["grows"][1], "grows: 30 samples, 71.43 %, before 5.00 %")
        self.assertNotIn("gone", frames)
        self.assertIn("before 200 samples \u00b7 50.0 % of them in frames that are gone", svg)

    def test_picture_for_a_document(self):
        svg = graph(STACKS, "--static")
        self.assertNotIn("script", svg)
        self.assertEqual(re.findall("<title>.*?</title>", svg), re.findall("<title>.*?</title>", graph(STACKS)))

    def test_bad_input(self):
        self.assertEqual(graph("", status=1), "flamegraph.py: standard input: no stacks\n")
        self.assertEqual(graph("a;b 1\nno count\n", status=1),
                         "flamegraph.py: standard input: line 2 is not 'a;b;c COUNT': no count\n")
        self.assertEqual(graph("a 1\n", "--before=/nowhere", status=1), "flamegraph.py: /nowhere: No such file or directory\n")
        self.assertIn("usage:", graph("a 1\n", "--nothing", status=2))
        for width in "nan", "inf", "-1", "1173":  # the widest frame has 1172
            self.assertIn("--min-width must be from 0 to 1172", graph("a 1\n", "--min-width=" + width, status=2))
        self.assertEqual(set(rectangles(graph("a 1\na;b 1\n", "--min-width=1172"))), {"all", "a"})
        graph("a %d\n" % (10 ** 15 - 1))
        for count in 10 ** 15, 10 ** 400:
            self.assertIn("line 1 is not", graph("a %d\n" % count, status=1))
        self.assertIn("line 1 is not", graph("a " + "9" * 5000 + "\n", status=1))

    def test_hostile_names(self):
        svg = graph("".join("app;%s 5\n" % name for name in HOSTILE), HOSTILE[0])
        tree = xml.dom.minidom.parseString(svg)
        self.assertEqual(len(tree.getElementsByTagName("script")), 1)
        self.assertEqual(len(tree.getElementsByTagName("img")), 0)

    def test_deep_stacks(self):
        svg = graph(";".join("f%d" % n for n in range(3000)) + " 1\n")
        self.assertEqual(len(rectangles(svg)), 3001)


@unittest.skipUnless(browser.program(), "needs " + " or ".join(browser.PROGRAMS))
class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory(prefix="gsymfs-browser-")
        cls.page = browser.Browser(os.path.join(cls.dir.name, "home"))

    @classmethod
    def tearDownClass(cls):
        cls.page.stop()
        cls.dir.cleanup()

    def tearDown(self):
        self.assertEqual(self.page.errors, [])

    def open(self, text, *arguments):
        path = os.path.join(self.dir.name, "graph.svg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(graph(text, *arguments))
        self.page.open(path)

    def frames(self, condition="true"):
        """{name: (left, top, width) on the screen}"""
        return json.loads(self.page.evaluate(
            "JSON.stringify(Object.fromEntries([...document.querySelectorAll('.f')].filter(f => %s).map(f => { const b ="
            " f.querySelector('rect').getBoundingClientRect(); return [f.dataset.name, [b.x, b.y, b.width]]; })))" % condition))

    def text(self, name):
        return self.page.evaluate("document.querySelector('.%s').textContent" % name)

    def middle(self, name):
        left, top, width = self.frames()[name]
        return left + width / 2, top + 8

    def click(self, name):
        self.page.click(*self.middle(name))

    def is_hidden(self, name):
        return self.page.evaluate("document.querySelector('.%s').hidden" % name)

    def press(self, name):
        box = self.page.evaluate("(b => [b.x + b.width / 2, b.y + b.height / 2].join())(document.querySelector('.%s')"
                                 ".getBoundingClientRect())" % name)
        self.page.click(*map(float, box.split(",")))

    def search(self, text):
        self.page.key("/")
        self.page.evaluate("document.activeElement.select()")
        self.page.type(text)

    def test_details(self):
        self.open(STACKS)
        self.page.point(*self.middle("run"))
        self.assertEqual(self.text("detail"), "19.90 %, 199 samples, itself 0.00 %: run")
        self.page.point(*self.middle("lex_[i]"))
        self.assertIn(": lex (inlined)", self.text("detail"))
        self.page.point(5, 200)
        self.assertEqual(self.text("detail"), "")
        self.assertIn("Esc: back", self.text("foot"))

    def test_zoom(self):
        self.open(NARROW)
        self.assertTrue(self.is_hidden("reset"))
        all_width = self.frames()["all"][2]
        self.assertNotIn("tiny7", self.frames())
        self.click("small")
        self.assertIn("inside7", self.frames())
        self.assertAlmostEqual(self.frames()["small"][2], all_width, delta=2)
        self.assertNotIn("f1", self.frames())
        self.assertFalse(self.is_hidden("reset"))
        self.page.point(*self.middle("inside7"))
        self.assertEqual(self.text("detail"), "0.01 %, 1 sample, itself 0.01 %, 3.33 % of what is shown: inside7")
        self.press("reset")
        self.assertIn("f1", self.frames())
        self.assertNotIn("inside7", self.frames())
        self.assertTrue(self.is_hidden("reset"))
        self.click("f3")
        self.assertAlmostEqual(self.frames()["f3"][2], all_width, delta=2)
        self.page.key("Escape")
        self.assertIn("f1", self.frames())
        self.click("f3")
        self.click("app")  # below it
        self.assertIn("f1", self.frames())

    def test_search(self):
        self.open(STACKS)
        self.search("LEX|parse<c")
        self.assertEqual(self.text("result"), "matched: 80.00 %")  # what is within another match counts once
        self.assertEqual(set(self.frames("f.classList.contains('hit')")), {"lex_[i]", "parse<char>"})
        self.search("(")
        self.assertEqual(self.text("result"), "not a regular expression")
        self.assertEqual(self.frames("f.classList.contains('hit')"), {})
        self.search("x\\.so")
        self.assertEqual(self.text("result"), "matched: 15.00 %")
        self.click("run")
        self.assertEqual(self.text("result"), "matched: 75.38 % here")
        self.page.key("Escape")
        self.assertEqual((self.text("result"), self.is_hidden("reset")), ("", False))
        self.page.key("Escape")
        self.assertTrue(self.is_hidden("reset"))
        self.page.key("t")  # not in the field any more
        self.assertIn("parse<>", self.frames())

    def test_folding(self):
        self.open(STACKS)
        self.click("parse<int>")
        self.page.key("t")
        frames = self.frames()
        self.assertAlmostEqual(frames["parse<>"][2], frames["all"][2], delta=1)
        self.page.point(*self.middle("parse<>"))
        self.assertIn("80.00 %, 800 samples", self.text("detail"))
        self.page.key("Escape")
        self.assertLess({"operator<", "T<>::f"}, set(self.frames()))
        self.press("folding")
        self.assertLess({"parse<int>", "parse<char>"}, set(self.frames()))
        self.open("a;b 1\n")
        self.assertTrue(self.is_hidden("folding"))

    def test_script_draws_what_the_picture_shows(self):
        for arguments in (), ("--fold-templates",):
            self.open(STACKS, *arguments)
            self.page.ask("Emulation.setDeviceMetricsOverride", width=1200, height=600, deviceScaleFactor=1, mobile=False)
            drawn, shown = self.frames(), rectangles(graph(STACKS, *arguments))
            self.page.ask("Emulation.setDeviceMetricsOverride", width=1000, height=600, deviceScaleFactor=1, mobile=False)
            self.assertEqual(set(drawn), set(shown))
            fills = json.loads(self.page.evaluate("JSON.stringify(Object.fromEntries([...document.querySelectorAll('.f')].map("
                                                  "f => [f.dataset.name, f.querySelector('rect').getAttribute('fill')])))"))
            self.assertEqual(fills, {name: frame[2] for name, frame in shown.items()})

    def test_comparison(self):
        path = os.path.join(self.dir.name, "before.folded")
        with open(path, "w", encoding="utf-8") as file:
            file.write("a;grows 10\na;shrinks 80\n")
        self.open("a;grows 30\na;shrinks 10\n", "--before=" + path)
        self.page.point(*self.middle("shrinks"))
        self.assertIn("before 88.89 % (\u221263.89): shrinks", self.text("detail"))
        self.assertRegex(self.page.evaluate("document.querySelector('[data-name=grows] rect').getAttribute('fill')"), r"^hsl\(6,")

    def test_hostile_names(self):
        self.open("".join("app;%s 5\n" % name for name in HOSTILE), HOSTILE[0])
        self.page.point(*self.middle("constructor"))
        self.page.key("t")
        self.search("script|hacked")
        shown = {re.sub("[\u2028\x01\x1b]", "?", name) for name in HOSTILE}
        self.page.key("Escape")
        self.page.key("t")
        drawn = {re.sub("[\u2028\x01\x1b]", "?", name) for name in self.frames()}
        self.assertEqual(drawn, shown | {"all", "app"})
        self.assertEqual(self.page.evaluate("String(document.hacked) + document.getElementsByTagNameNS('*', 'img').length +"
                                            " document.getElementsByTagNameNS('*', 'script').length"), "undefined01")

    def test_dark(self):
        colours = set()
        self.open(STACKS)
        for dark in True, False:
            self.page.dark(dark)
            colours.add(self.page.evaluate("getComputedStyle(document.querySelector('.bg')).fill"))
        self.assertEqual(colours, {"rgb(26, 28, 33)", "rgb(252, 252, 250)"})


if __name__ == "__main__":
    main()
