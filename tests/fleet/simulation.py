#!/usr/bin/env python3
"""Simulates 1,000 hosts that share a store, with and without leases and a store at all, and draws what comes of it.

    simulation.py --program SIMULATE [--svg FILE] [--markdown FILE] [NAME=VALUE]...

NAME=VALUE are parameters of the program (simulate.c), for all of its runs.
"""

import argparse
import concurrent.futures
import math
import os
import subprocess
import sys
from html import escape

RUNS = {
    "no store": ["store=0"],
    "store without leases": ["leases=0"],
    "store with leases": [],
    "with leases, store silent from minute 80 to 100": ["down_minute=80", "down_length=20"],
}
# US dollars, as AWS lists them for S3 Standard and for a general purpose core; others: multiply.
PUT_PRICE, GET_PRICE, CORE_HOUR = 0.005 / 1000, 0.0004 / 1000, 0.04

WIDTH, LEFT, RIGHT, PANEL, TOP, GAP, BOTTOM = 960, 76, 24, 210, 96, 56, 44
COLOURS = (("#8a6a1f", "#cfae5a"), ("#8a4b9c", "#c58ad6"), ("#2563a8", "#6aa9ec"), ("#1f7a5c", "#58bd98"))
STYLE = """
  .paper { fill: #ffffff } .grid { stroke: #e3e6ea } .axis { stroke: #30363d }
  .line { fill: none; stroke-width: 1.6; stroke-linejoin: round }
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; fill: #24292f }
  .title { font-size: 18px; font-weight: 600 } .group { font-size: 13px; font-weight: 600 }
  .quiet { fill: #636c76; font-size: 11px } .end { text-anchor: end } .middle { text-anchor: middle }
%s
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .grid { stroke: #262c34 } .axis { stroke: #d7dde4 }
    text { fill: #e6edf3 } .quiet { fill: #9198a1 }
%s
  }
"""


def simulate(program, parameters):
    """(heading, rows of minutes, the sums), as dictionaries."""
    done = subprocess.run([program, *parameters], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    rows = [dict(zip(lines[0], line)) for line in lines[1:]]
    return [{k: float(v) for k, v in row.items()} for row in rows[:-1]], {k: float(v) for k, v in rows[-1].items() if k != "minute"}


def log_panel(y, title, unit, runs, column, low, high):
    """A panel with a logarithmic scale from @low to @high."""
    minutes = max(row["minute"] for rows, _ in runs.values() for row in rows)

    def x_of(minute):
        return LEFT + (WIDTH - LEFT - RIGHT) * minute / minutes

    def y_of(value):
        value = min(max(value, low), high)
        return y + PANEL - PANEL * math.log(value / low) / math.log(high / low)

    yield f'<text class="group" x="{LEFT}" y="{y - 10}">{escape(title)}</text>'
    tick = low
    while tick <= high * 1.001:
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(tick):.1f}" y2="{y_of(tick):.1f}"/>'
        yield f'<text class="quiet end" x="{LEFT - 8}" y="{y_of(tick) + 4:.1f}">{tick:,.0f}{unit}</text>'
        tick *= 10
    for hour in range(int(minutes // 60) + 1):
        yield f'<line class="grid" x1="{x_of(60 * hour):.1f}" x2="{x_of(60 * hour):.1f}" y1="{y}" y2="{y + PANEL}"/>'
        text = "start" if not hour else f"release {hour}" if 60 * hour < minutes else ""
        yield f'<text class="quiet middle" x="{x_of(60 * hour):.1f}" y="{y + PANEL + 16}">{text}</text>'
    for at, (rows, _) in enumerate(runs.values()):
        points = " ".join(f'{x_of(row["minute"]):.1f},{y_of(row[column]):.1f}' for row in rows)
        yield f'<polyline class="line c{at}" points="{points}"/>'


def draw(runs):
    height = TOP + 3 * PANEL + 2 * GAP + BOTTOM
    light, dark = ("\n".join(f"    .c{at} {{ stroke: {pair[shade]} }}" for at, pair in enumerate(COLOURS)) for shade in (0, 1))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t d">',
             '<title id="t">Hosts that share a store, simulated</title>',
             '<desc id="d">Conversions, requests and waiting times by minute, for each way to share</desc>',
             f"<style>{STYLE % (light, dark)}</style>", f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
             f'<text class="title" x="{LEFT}" y="32">1,000 hosts, 100,000 images, a release of 5,000 an hour (simulated)</text>']
    at_x = LEFT
    for at, name in enumerate(runs):
        parts.append(f'<line class="line c{at}" x1="{at_x}" x2="{at_x + 22}" y1="54" y2="54"/>')
        parts.append(f'<text x="{at_x + 28}" y="58">{escape(name)}</text>')
        at_x += 60 + 6.1 * len(name)
    parts += log_panel(TOP, "Conversions in a minute, all hosts", "", runs, "conversions", 10, 100000)
    parts += log_panel(TOP + PANEL + GAP, "Requests in a minute, GET and HEAD and PUT", "", runs, "requests", 100, 100000)
    parts += log_panel(TOP + 2 * (PANEL + GAP), "Wait for an image that a host does not have, 99th percentile", " ms", runs,
                       "wait_p99_ms", 10, 100000)
    return "\n".join(parts + ["</svg>", ""])


def warm_minutes(rows, part):
    """Minutes after a release until less than 1 - @part of the uses of new images needed a conversion; the mean."""
    found = []
    for release in range(60, int(rows[-1]["minute"]) - 58, 60):
        hour = [row for row in rows if release < row["minute"] <= release + 60]
        total, seen = sum(row["conversions"] for row in hour), 0
        for row in hour:
            seen += row["conversions"]
            if seen >= part * total:
                found.append(row["minute"] - release)
                break
    return sum(found) / len(found) if found else 0


def table(runs):
    """The sums, as Markdown."""
    def line(name, value):
        return f"| {name} | " + " | ".join(value(rows, sums) for rows, sums in runs.values()) + " |"

    return "\n".join([
        "| | " + " | ".join(runs) + " |", "|--|" + "--|" * len(runs),
        line("first uses of an image on a host", lambda r, s: f"{s['first_uses']:,.0f}"),
        line("conversions", lambda r, s: f"{s['conversions']:,.0f}"),
        line("of an image that another host had converted or was converting", lambda r, s: f"{s['duplicates']:,.0f}"),
        line("core hours of conversion", lambda r, s: f"{s['converting_s'] * 2 / 3600:,.0f}"),
        line("requests: GET, HEAD, PUT, DELETE", lambda r, s: ", ".join(f"{s[k]:,.0f}" for k in ("get", "head", "put", "delete"))),
        line("received, sent (GiB)", lambda r, s: f"{s['mib_in'] / 1024:,.0f}, {s['mib_out'] / 1024:,.0f}"),
        line("minutes until half, 9 of 10 of a release's conversions were made",
             lambda r, s: f"{warm_minutes(r, 0.5):.0f}, {warm_minutes(r, 0.9):.0f}"),
        line("wait for an image, median and 99 % (ms)", lambda r, s: f"{s['wait_p50_ms']:,.0f}, {s['wait_p99_ms']:,.0f}"),
        line("dollars for requests; for cores",
             lambda r, s: f"{(s['put'] + s['delete']) * PUT_PRICE + (s['get'] + s['head']) * GET_PRICE:.2f}; "
                          f"{s['converting_s'] * 2 / 3600 * CORE_HOUR:.2f}"),
    ]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--svg", metavar="FILE")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {name: pool.submit(simulate, options.program, options.parameters + more) for name, more in RUNS.items()}
        runs = {name: job.result() for name, job in jobs.items()}
    for rows, _ in runs.values():
        for row in rows:
            row["requests"] = row["get"] + row["head"] + row["put"]
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(draw(runs))
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(table(runs))
    else:
        print(table(runs), end="")


if __name__ == "__main__":
    main()
