"""Outcomes of mutants as tables in Markdown."""
import collections
import csv

FIELDS = ("key", "kind", "room", "file", "line", "rule", "outcome", "test", "how", "seconds", "old", "new")


def read(paths):
    """The last row of each mutant, by kind and key."""
    rows = {}
    for path in paths:
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t", fieldnames=FIELDS):
                rows[row["kind"], row["key"]] = row
    return list(rows.values())


def table(rows, rooms):
    """By room: mutants that count, caught, equivalent (same object, listed), survivors."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[row["room"]][row["outcome"]] += 1
        counts["all"][row["outcome"]] += 1
    yield "| room | mutants | caught | equivalent: same code, listed | survivors |"
    yield "|--|--|--|--|--|"
    for room in [*rooms, "all"]:
        c = counts[room]
        if sum(c.values()):
            name = room if room == "all" else f"`{room}`"
            yield f"| {name} | {c['caught'] + c['survived']} | {c['caught']} | {c['same']}, {c['listed']} | {c['survived']} |"


def report(paths, rooms):
    rows = read(paths)
    for kind in ("random", "aimed", "recent"):
        of_kind = [row for row in rows if row["kind"] == kind]
        if not of_kind:
            continue
        print(f"{kind.capitalize()} mutants:\n")
        print("\n".join(table(of_kind, rooms)))
        how = collections.Counter(row["how"] for row in of_kind if row["outcome"] == "caught")
        print("\nCaught by " + ", ".join(f"{name}: {n}" for name, n in how.most_common()) + ".\n")
        for row in of_kind:
            if row["outcome"] == "survived":
                print(f"* {row['file']}:{row['line']} ({row['rule']}): `{row['old']}` became `{row['new']}` {row['how']}")
        print()
    return 1 if any(row["outcome"] == "survived" for row in rows) else 0
