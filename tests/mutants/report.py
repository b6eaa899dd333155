"""Outcomes of mutants as tables in Markdown."""
import collections
import csv
import datetime

FIELDS = ("key", "kind", "room", "file", "line", "rule", "outcome", "test", "how", "seconds", "old", "new")


def read(paths):
    """The last row of each mutant, by kind and key."""
    rows = {}
    for path in paths:
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t", fieldnames=FIELDS):
                rows[row["kind"], row["key"]] = row
    return list(rows.values())


RESULTS = ("date", "mutants", "room", "count", "caught", "same code", "listed", "survivors")


def by_room(rows, rooms):
    """Rows of RESULTS but for the first two: a row a room, and one of all."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[row["room"]][row["outcome"]] += 1
        counts["all"][row["outcome"]] += 1
    for room in [*rooms, "all"]:
        c = counts[room]
        if sum(c.values()):
            yield room, c["caught"] + c["survived"], c["caught"], c["same"], c["listed"], c["survived"]


def table(rows, rooms):
    yield "| room | mutants | caught | equivalent: same code, listed | survivors |"
    yield "|--|--|--|--|--|"
    for room, count, caught, same, listed, survived in by_room(rows, rooms):
        yield f"| {room if room == 'all' else f'`{room}`'} | {count} | {caught} | {same}, {listed} | {survived} |"


def write_results(path, kind, rows, rooms):
    """Replaces the rows of @kind in the table of the last runs."""
    kept = path.read_text().splitlines()[1:] if path.exists() else []
    kept = [line for line in kept if line.split("\t")[1] != kind]
    new = ["\t".join(map(str, (datetime.date.today(), kind, *row))) for row in by_room(rows, rooms)]
    path.write_text("\n".join(["\t".join(RESULTS), *kept, *new, ""]))


def report(paths, rooms, results=None):
    rows = read(paths)
    for kind in ("random", "aimed", "recent"):
        of_kind = [row for row in rows if row["kind"] == kind]
        if not of_kind:
            continue
        if results:
            write_results(results, kind, of_kind, rooms)
        print(f"{kind.capitalize()} mutants:\n")
        print("\n".join(table(of_kind, rooms)))
        how = collections.Counter(row["how"] for row in of_kind if row["outcome"] == "caught")
        print("\nCaught by " + ", ".join(f"{name}: {n}" for name, n in how.most_common()) + ".\n")
        for row in of_kind:
            if row["outcome"] == "survived":
                print(f"* {row['file']}:{row['line']} ({row['rule']}): `{row['old']}` became `{row['new']}` {row['how']}")
        print()
    return 1 if any(row["outcome"] == "survived" for row in rows) else 0
