#!/usr/bin/env python3
"""Draws a flame graph: reads folded stacks, lines "outer;...;inner count", and prints an SVG that needs nothing else.

    flamegraph.py [TITLE] < folded > graph.svg

The width of a frame is its share of all samples; callees stand on their callers. In a browser a frame tells its name
and share under the pointer, a click makes it as wide as the picture (a click on the lowest one goes back), and the
key / marks what matches a regular expression. Frames that end with "_[i]" are inlined calls, "_[k]" is the kernel.
"""
import sys
import zlib
from xml.sax.saxutils import escape

WIDTH, ROW, MARGIN, TOP, BOTTOM, LETTER = 1200, 19, 12, 62, 14, 6.7
HUES = {"_[i]": (150, "inlined"), "_[k]": (265, "kernel"), "": (28, "function")}
SCRIPT = """{
const frames = [...document.querySelectorAll(".f")], width = %d, margin = %d;
const start = f => +f.dataset.at, size = f => +f.dataset.n, name = f => f.dataset.name;
const shown = f => name(f).replace(/_\\[[ik]\\]$/, "");
function zoom(to) {
  const scale = width / size(to);
  for (const f of frames) {
    const left = Math.max(start(f), start(to)), right = Math.min(start(f) + size(f), start(to) + size(to));
    const [box, text] = [f.querySelector("rect"), f.querySelector("text")], w = (right - left) * scale;
    f.style.display = w < 0.3 ? "none" : "";
    box.setAttribute("x", margin + (left - start(to)) * scale);
    box.setAttribute("width", Math.max(w - 0.6, 0.3));
    text.setAttribute("x", margin + (left - start(to)) * scale + 4);
    const fits = Math.floor((w - 8) / %s);
    text.textContent = fits < 3 ? "" : shown(f).length <= fits ? shown(f) : shown(f).slice(0, fits - 1) + "\\u2026";
  }
}
frames.forEach(f => f.addEventListener("click", () => zoom(f)));
addEventListener("keydown", e => {
  if (e.key !== "/") return;
  e.preventDefault();
  const what = prompt("Regular expression to mark:");
  frames.forEach(f => f.classList.toggle("hit", Boolean(what) && new RegExp(what).test(name(f))));
});
}"""
STYLE = """text { font: 11px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1c1c1c; pointer-events: none }
.title { font: bold 17px "DejaVu Sans", Helvetica, Arial, sans-serif } .note { fill: #555 }
.f { cursor: pointer } .f:hover rect { stroke: #000 } .hit rect { fill: #ff5fd2 }"""


def clean(text):
    """Text as XML may have it."""
    return escape("".join(c if c.isprintable() else "?" for c in text), {'"': "&quot;"})


def read(lines):
    """The tree of calls: {name: [samples, callees]}."""
    root = ["all", 0, {}]
    for number, line in enumerate(lines, 1):
        stack, _, count = line.strip().rpartition(" ")
        if not stack or not count.isdigit():
            sys.exit(f"line {number} is not 'a;b;c COUNT': {line.strip()}")
        node = root
        node[1] += int(count)
        for name in stack.split(";"):
            node = node[2].setdefault(name, [name, 0, {}])
            node[1] += int(count)
    return root


def place(root):
    """(depth, start, node) of all frames, callers first, without recursion: stacks can be deep."""
    todo, placed = [(0, 0, root)], []
    while todo:
        depth, at, node = todo.pop()
        placed.append((depth, at, node))
        for name in sorted(node[2]):
            todo.append((depth + 1, at, node[2][name]))
            at += node[2][name][1]
    return placed


def colour(name):
    hue = HUES[name[-4:] if name[-4:] in HUES else ""][0]
    shade = zlib.crc32(name.encode())
    return f"hsl({hue + shade % 24 - 12},{48 + shade // 24 % 20}%,{68 + shade // 480 % 10}%)"


def draw(root, title):
    placed = [(depth, at, node) for depth, at, node in place(root) if node[1] * WIDTH >= root[1] * 0.3]
    height = TOP + BOTTOM + ROW * (1 + max(depth for depth, _, _ in placed))
    scale = (WIDTH - 2 * MARGIN) / root[1]
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
           f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fbfaf7"/>'
           f'<text class="title" x="{MARGIN}" y="26">{clean(title)}</text>'
           f'<text class="note" x="{MARGIN}" y="46">{root[1]} samples</text>')
    for number, (hue, kind) in enumerate(HUES.values()):
        x = WIDTH - MARGIN - 85 * (number + 1)
        yield (f'<rect x="{x}" y="36" width="12" height="12" fill="hsl({hue},58%,73%)"/>'
               f'<text class="note" x="{x + 17}" y="46">{kind}</text>')
    for depth, at, (name, count, _) in placed:
        x, width, y = MARGIN + at * scale, count * scale, height - BOTTOM - ROW * (depth + 1)
        fits = int((width - 8) / LETTER)
        shown = name[:-4] if name[-4:] in HUES else name  # the colour says the rest
        label = "" if fits < 3 else shown if len(shown) <= fits else shown[:fits - 1] + "\u2026"
        yield (f'<g class="f" data-at="{at}" data-n="{count}" data-name="{clean(name)}">'
               f'<title>{clean(name)}: {count} samples, {100 * count / root[1]:.2f} %</title>'
               f'<rect x="{x:.2f}" y="{y}" width="{max(width - 0.6, 0.3):.2f}" height="{ROW - 1}" rx="1.5" '
               f'fill="{colour(name)}"/><text x="{x + 4:.2f}" y="{y + 13}">{clean(label)}</text></g>')
    script = SCRIPT % (WIDTH - 2 * MARGIN, MARGIN, LETTER)
    yield f"<script><![CDATA[{script}]]></script></svg>"


def main():
    if len(sys.argv) > 2 or sys.argv[1:] in (["-h"], ["--help"]):
        sys.exit("usage: flamegraph.py [TITLE] < folded > graph.svg")
    for stream in sys.stdin, sys.stdout:  # names may be any bytes
        stream.reconfigure(encoding="utf-8", errors="replace")
    root = read(sys.stdin)
    if not root[1]:
        sys.exit("flamegraph.py: no stacks on standard input")
    print("\n".join(draw(root, sys.argv[1] if len(sys.argv) == 2 else "Flame graph")))


main()
