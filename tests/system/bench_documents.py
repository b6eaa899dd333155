#!/usr/bin/env python3
"""docs/bench.md, its chart and the figures of README.md are what tests/bench makes of the kept figures.

    bench_documents.py ROOT
"""
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tests")]

import report  # noqa: E402
import result  # noqa: E402

LABEL = 55  # characters of a measure that fit beside the bars, whichever font there is
HELP = "write it by: tests/bench/run --publish --from docs/bench.json"
SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {SVG + name for name in ("svg", "title", "desc", "style", "rect", "path", "text", "tspan")}


def stale(found):
    """Documents that are not what the program makes, among them the kept figures themselves."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as again:
        found.save(again.name)
        made = {"docs/bench.json": again.read(), **report.documents(found, ROOT)}
    return [path for path, text in made.items() if (ROOT / path).read_text(encoding="utf-8") != text]


def troubles_of_chart(path):
    """What would need another file or a program to show it, or is drawn outside."""
    svg = ElementTree.parse(path).getroot()
    width, height = float(svg.get("width")), float(svg.get("height"))
    for element in svg.iter():
        if element.tag not in ELEMENTS:
            yield f"element {element.tag}"
        for name, value in element.items():
            if name.startswith("on") or "href" in name or "url(" in value:
                yield f"{element.tag}: {name}={value}"
        if element.tag == SVG + "style" and any(word in element.text for word in ("@import", "url(", "@font-face")):
            yield "a style that loads something"
        right, bottom = (float(element.get(at, 0)) + float(element.get(size, 0)) for at, size in (("x", "width"), ("y", "height")))
        if element is not svg and not (0 <= right <= width and 0 <= bottom <= height):
            yield f"{element.tag} at {right}, {bottom} is outside"


def main():
    found = result.load(ROOT / "docs/bench.json")
    complaints = [f"{path} is not what its figures give; {HELP}" for path in stale(found)]
    complaints += [f"docs/bench.svg: {trouble}" for trouble in troubles_of_chart(ROOT / "docs/bench.svg")]
    shown = [row for row in found.rows if row.chart and row.theirs]
    text = "".join(ElementTree.parse(ROOT / "docs/bench.svg").getroot().itertext())
    complaints += [f"docs/bench.svg does not name {name}" for row in shown for name in (row.measure, row.peer.split(",")[0])
                   if name not in text]
    complaints += [f"no room in the chart for {row.measure!r}" for row in shown if len(row.measure) > LABEL]
    print("\n".join(complaints + [f"{len(found.rows)} rows, {len(shown)} of them in the chart; {len(complaints)} complaints"]))
    return 1 if complaints or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
