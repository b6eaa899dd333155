"""What was measured: rows of figures, and how they are summed up and kept."""
import json
import statistics
from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    """One measure beside one peer; of all units less is better. A figure without a peer has no ratio."""
    group: str
    measure: str
    unit: str
    ours: list
    peer: str = ""
    theirs: list = field(default_factory=list)
    chart: bool = False  # whether the chart shows it

    def ratios(self):
        """Theirs to ours: of each pair of neighbouring runs, so that what disturbs both cancels out."""
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs) if ours > 0]

    def ratio(self):
        """(median, least, greatest), or None where there is no peer."""
        found = self.ratios()
        return (statistics.median(found), min(found), max(found)) if found else None


@dataclass
class Result:
    """A run of the benchmark: the machine, versions and options by name, and the rows."""
    machine: dict
    versions: dict
    options: dict
    rows: list

    def save(self, path):
        kept = asdict(self)
        kept["rows"] = [_line(row) for row in kept["rows"]]
        text = json.dumps({name: kept[name] for name in ("machine", "versions", "options")}, indent=1)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text[:-2] + ',\n "rows": [\n  ' + ",\n  ".join(kept["rows"]) + "\n ]\n}\n")


def _line(row):
    """A row as JSON, with as many digits as mean something."""
    for side in ("ours", "theirs"):
        row[side] = [float(f"{figure:.5g}") if isinstance(figure, float) else figure for figure in row[side]]
    return json.dumps(row)


def load(path):
    with open(path, encoding="utf-8") as source:
        kept = json.load(source)
    return Result(kept["machine"], kept["versions"], kept["options"], [Row(**row) for row in kept["rows"]])


def figure(value, unit):
    """A figure with three significant digits."""
    if unit in ("bytes", "KiB"):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def ratio_text(ratio):
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def spread(row):
    """How much the ratio, or the figure where there is no peer, differs between the runs."""
    found = row.ratios() or row.ours
    if len(found) < 2 or min(found) == max(found):
        return ""
    text = ratio_text if row.theirs else lambda value: figure(value, row.unit)
    return f"{text(min(found))} to {text(max(found))}"


def cells(row):
    """A line of the table, as text."""
    ours, unit = statistics.median(row.ours), row.unit
    theirs = figure(statistics.median(row.theirs), unit) if row.theirs else ""
    ratio = row.ratio()
    return [row.group, row.measure, row.peer, figure(ours, unit), theirs, unit, ratio_text(ratio[0]) if ratio else "", spread(row)]


HEAD = ["", "measure", "peer", "gsymfs", "peer's", "unit", "ratio", "least to greatest"]


def terminal(rows):
    """The table with aligned columns."""
    lines = [HEAD, *map(cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join("  ".join(_align(cell, width, column) for column, (cell, width) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)


def _align(cell, width, column):
    return cell.rjust(width) if column in (3, 4, 6) else cell.ljust(width)


def markdown(rows):
    lines = [f"| {' | '.join(HEAD)} |", "|--|--|--|--:|--:|--|--:|--|"]
    return "\n".join(lines + [f"| {' | '.join(cells(row))} |" for row in rows])
