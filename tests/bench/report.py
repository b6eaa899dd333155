"""The documents that are made from a run: docs/bench.md, docs/bench.svg, and the figures in README.md."""
import re
from pathlib import Path

import chart
import result

TEMPLATE = Path(__file__).resolve().parent / "bench.md.in"
BLOCK = re.compile(r"(<!-- bench -->\n).*?(<!-- end of bench -->)", re.S)
# The rows that README.md shows: group, how the measure begins, and the peer.
README_ROWS = [
    ("first answer", "vmlinux", "eu-addr2line"), ("first answer", "vmlinux", "llvm-symbolizer"),
    ("first answer", "ceph-osd", "eu-addr2line"), ("first answer", "ceph-osd", "llvm-symbolizer"),
    ("conversion", "vmlinux: time", ""), ("conversion", "vmlinux: memory", ""),
    ("conversion", "ceph-osd: time", ""), ("conversion", "ceph-osd: memory", ""),
    ("q.tsv", r"vmlinux: [\d,]+ random, demangled, time", ""), ("q.tsv", r"ceph-osd: [\d,]+ random, demangled, time", ""),
    ("coverage", r"[\d,]+ points, converting vmlinux: time", ""),
    ("coverage", r"[\d,]+ points, converting vmlinux: memory", ""),
]


def caption(found):
    about = f"{found.machine['processor']}, {found.machine['processors for this run']} processors"
    return about + (", a quick run: figures are rough" if found.options["quick"] else "")


def _pairs(entries):
    return "\n".join(f"| {name} | {value} |" for name, value in entries.items())


def _markdown(found):
    runs = (f"There were {found.options['runs']} of each, fewer of what takes half a minute and more of what is short; "
            f"together they took {found.options['minutes']:g} minutes.")
    if found.options["quick"]:
        runs += "\nThis was a quick run, with a tenth of the addresses and images, so figures are rough."
    parts = {"runs": runs, "table": result.markdown(found.rows),
             "machine": _pairs({**found.machine, **found.versions})}
    return re.sub(r"@(\w+)@", lambda name: parts[name[1]], TEMPLATE.read_text(encoding="utf-8"))


def _readme_rows(found):
    for group, measure, peer in README_ROWS:
        yield from (row for row in found.rows if row.theirs and row.group == group and re.match(measure, row.measure) and
                    row.peer.startswith(peer))


def _readme_block(found):
    lines = ["| | gsymfs | peer | ratio |", "|--|--:|--|--:|"]
    for row in _readme_rows(found):
        _, measure, peer, ours, theirs, unit, ratio, _ = result.cells(row)
        lines.append(f"| {row.group}: {measure} | {ours} {unit} | {theirs} {unit}, {peer} | {ratio} |")
    return "\n".join(lines) + "\n"


def documents(found, root):
    """{path from the root: text} of all that a run changes, but for the figures themselves."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    return {
        "docs/bench.md": _markdown(found),
        "docs/bench.svg": chart.svg(found.rows, caption(found)),
        "README.md": BLOCK.sub(lambda marks: marks[1] + _readme_block(found) + marks[2], readme),
    }


def publish(found, root):
    """Keeps the figures, and makes the documents of what was kept, which is rounded."""
    kept = root / "docs/bench.json"
    found.save(kept)
    for path, text in documents(result.load(kept), root).items():
        (root / path).write_text(text, encoding="utf-8")
