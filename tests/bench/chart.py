"""The ratios of a run as a picture: a bar for each peer of a measure, from the line of equal speed, on a logarithmic scale."""
import math
from html import escape
from itertools import groupby

WIDTH, LABELS, RIGHT = 960, 400, 190
LANE, ROW_GAP, GROUP, TOP, BOTTOM = 17, 7, 30, 86, 46
TICKS = [n * 10.0 ** power for power in range(-3, 5) for n in (1, 2, 5)]
# One colour a peer, for a light and a dark background; both can be distinguished without colour by the name after each bar.
COLOURS = {"llvm-gsymutil": ("#2563a8", "#6aa9ec"), "llvm-symbolizer": ("#8a4b9c", "#c58ad6"),
           "eu-addr2line": ("#1f7a5c", "#58bd98"), "null FUSE file system": ("#8a6a1f", "#cfae5a")}
STYLE = """
  .paper { fill: #ffffff } .grid { stroke: #e3e6ea } .one { stroke: #30363d; stroke-width: 1.5 } .range { stroke: #30363d; stroke-opacity: .55 }
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; fill: #24292f }
  .title { font-size: 18px; font-weight: 600 } .group { font-size: 13px; font-weight: 600 } .value { font-weight: 600 }
  .quiet { fill: #636c76; font-size: 11px } .end { text-anchor: end } .middle { text-anchor: middle }
%s
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .grid { stroke: #262c34 } .one { stroke: #d7dde4 } .range { stroke: #d7dde4 }
    text { fill: #e6edf3 } .quiet { fill: #9198a1 }
%s
  }
"""


def _class(peer):
    return next((f"peer{at}" for at, name in enumerate(COLOURS) if peer.startswith(name)), "peer0")


def _style():
    light, dark = ("\n".join(f"    .peer{at} {{ fill: {pair[shade]} }}" for at, pair in enumerate(COLOURS.values())) for shade in (0, 1))
    return STYLE % (light, dark)


class _Scale:
    """Ratios to places on the picture."""

    def __init__(self, rows):
        edges = [edge for row in rows for edge in row.ratio()] + [1.0]
        self.low = max((t for t in TICKS if t <= min(edges)), default=TICKS[0])
        self.high = min((t for t in TICKS if t >= max(edges) and t > self.low), default=TICKS[-1])
        self.ticks = [t for t in TICKS if self.low <= t <= self.high]

    def at(self, ratio):
        ratio = min(max(ratio, self.low), self.high)
        return LABELS + (WIDTH - LABELS - RIGHT) * math.log(ratio / self.low) / math.log(self.high / self.low)


def _times(ratio):
    return f"{ratio:.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 2 else f"{ratio:.2f}x"


def _bar(row, scale, y):
    median, least, greatest = row.ratio()
    one, end, middle = scale.at(1), scale.at(median), y + LANE / 2
    first, last = min(one, end), max(one, end)
    text = max(one, end, scale.at(greatest)) + 7
    peer = row.peer.split(",")[0]
    yield (f'<rect class="{_class(row.peer)}" x="{first:.1f}" y="{y + 2:.1f}" width="{max(last - first, 1):.1f}" height="{LANE - 4}" rx="1.5"/>')
    if least != greatest:
        low, high = scale.at(least), scale.at(greatest)
        yield (f'<path class="range" d="M{low:.1f} {middle:.1f}H{high:.1f}M{low:.1f} {middle - 3:.1f}v6M{high:.1f} {middle - 3:.1f}v6"/>')
    yield (f'<text x="{text:.1f}" y="{middle + 4:.1f}"><tspan class="value">{_times(median)}</tspan> '
           f'<tspan class="quiet">{escape(peer)}</tspan></text>')


def _body(rows, scale):
    """(lines of SVG, height) of all groups."""
    lines, y = [], TOP
    for group, of_group in groupby(rows, lambda row: row.group):
        lines.append(f'<text class="group" x="24" y="{y + 19}">{escape(group)}</text>')
        y += GROUP
        for measure, lanes in groupby(of_group, lambda row: row.measure):
            lines.append(f'<text class="end" x="{LABELS - 14}" y="{y + LANE / 2 + 4}">{escape(measure)}</text>')
            for row in lanes:
                lines += _bar(row, scale, y)
                y += LANE
            y += ROW_GAP
    return lines, y


def svg(rows, caption):
    """The picture of those rows that have a peer and are meant for it; @caption: a line below the title."""
    rows = [row for row in rows if row.chart and row.theirs]
    scale = _Scale(rows)
    bars, bottom = _body(rows, scale)
    grid = []
    for tick in scale.ticks:
        x, kind = scale.at(tick), "one" if tick == 1 else "grid"
        grid.append(f'<path class="{kind}" d="M{x:.1f} {TOP - 6}V{bottom}"/>')
        grid += [f'<text class="quiet middle" x="{x:.1f}" y="{y}">{tick:g}x</text>' for y in (TOP - 12, bottom + 16)]
    height = bottom + BOTTOM
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        "<title>gsymfs beside other tools</title>",
        f"<desc>How many times the time, memory or size of gsymfs a peer needs, for each measure. {escape(caption)}</desc>",
        f"<style>{_style()}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',
        '<text class="title" x="24" y="32">Time, memory and size that others need, as multiples of gsymfs</text>',
        f'<text class="quiet" x="24" y="50">{escape(caption)}</text>',
        *grid, *bars,
        f'<text class="quiet" x="24" y="{bottom + 34}">Logarithmic scale; right of 1x gsymfs needs less. '
        "A thin line: the least and the greatest ratio of the runs.</text>",
        "</svg>", ""])
