#!/usr/bin/env python3
"""The strictest reader of GSYM files, written from gsym(5) alone: it shares no code with libgsym or its tests.

    strict_gsym.py FILE...

It reads each byte of a file, of version 1 or 2, and refuses the file at the first one that breaks a rule of the page's
section "What verify refuses". It exists to show that `gsym verify` is no less strict.
"""
import pathlib
import sys

MOST = 2**32 - 1
TABLES = {1: "address offsets", 2: "record offsets", 3: "string table", 4: "file table", 5: "records", 6: "UUID"}


class Refused(Exception):
    pass


def demand(condition, what, at):
    if not condition:
        raise Refused(f"{what} at offset {at:#x}")


class Bytes:
    """A part of a file, read from its beginning to its end."""

    def __init__(self, data, order, at, end, what):
        demand(at <= end <= len(data), f"{what} passes the file", at)
        self.data, self.order, self.at, self.end, self.what = data, order, at, end, what

    def number(self, size):
        demand(size <= self.end - self.at, f"{self.what} is cut off", self.at)
        self.at += size
        return int.from_bytes(self.data[self.at - size:self.at], self.order)

    def part(self, size, what):
        part = Bytes(self.data, self.order, self.at, self.at + size, what)
        demand(part.end <= self.end, f"{what} passes what holds it", self.at)
        self.at = part.end
        return part

    def uleb(self, signed=False):
        first, value, shift = self.at, 0, 0
        while True:
            demand(self.at < self.end, f"{self.what}: a number is cut off", first)
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                break
        if signed and byte & 0x40:
            value -= 1 << shift
        demand((-2**63 <= value < 2**63) if signed else value < 2**64, f"{self.what}: a number has more than 64 bits", first)
        bits = value.bit_length() if not signed else (value if value >= 0 else ~value).bit_length() + 1
        demand(self.at - first == max(1, (bits + 6) // 7), f"{self.what}: a number has more bytes than it needs", first)
        return value

    def sleb(self):
        return self.uleb(signed=True)

    def finish(self):
        demand(self.at == self.end, f"{self.what}: bytes behind its end", self.at)


class File:
    def __init__(self, data):
        self.data = data
        demand(data[:4] in (b"MYSG", b"GSYM"), "no magic number", 0)
        self.order = "little" if data[:4] == b"MYSG" else "big"
        head = Bytes(data, self.order, 4, len(data), "header")
        self.version, self.offset_size, self.byte7 = head.number(2), head.number(1), head.number(1)
        demand(self.version in (1, 2), "unknown version", 4)
        demand(self.offset_size in (1, 2, 4, 8), "size of address offsets", 6)
        self.base, self.count = head.number(8), head.number(4)
        self.strp = 4 * self.version
        tables = self.version_1(head) if self.version == 1 else self.version_2(head)
        self.tables(head.at, tables)

    def version_1(self, head):
        strings, size = head.number(4), head.number(4)
        demand(self.byte7 <= 20, "size of the UUID", 7)
        demand(not any(self.data[28 + self.byte7:48]), "padding of the UUID", 28)
        head.at = 48
        records = (48 + self.count * self.offset_size + 3) // 4 * 4
        files = records + 4 * self.count
        n_files = Bytes(self.data, self.order, files, len(self.data), "file table").number(4)
        first = (strings + size + 3) // 4 * 4
        return {1: (48, self.count * self.offset_size), 2: (records, 4 * self.count), 3: (strings, size), 4: (files, 4 + 8 * n_files),
                5: (first, len(self.data) - first)}

    def version_2(self, head):
        tables = {}
        demand(self.byte7 == 0, "encoding of the strings", 7)
        while True:
            at, kind, off, size = head.at, head.number(4), head.number(8), head.number(8)
            if not kind:
                demand(not off and not size, "last entry of the directory", at)
                break
            demand(kind in TABLES, "unknown table", at)
            demand(kind not in tables, "second table of a kind", at)
            demand(size, "empty table", at)
            tables[kind] = off, size
        demand(set(tables) >= {1, 2, 3, 4, 5}, "a table is missing, directory", 20)
        demand(tables[1][1] == self.count * self.offset_size and tables[2][1] == self.count * 8, "sizes of the tables of addresses", 20)
        return tables

    def zeros(self, at, end, most, what):
        demand(end - at < most, f"{what}: bytes that belong to nothing", at)
        demand(not any(self.data[at:end]), f"{what}: padding", at)

    def tables(self, end, tables):
        for kind, (off, size) in sorted(tables.items(), key=lambda t: t[1]):
            align = {1: self.offset_size, 2: 4 * self.version, 4: 4, 5: 4}.get(kind, 1)
            demand(off >= end, f"{TABLES[kind]}: shares bytes", off)
            demand(off % align == 0, f"{TABLES[kind]}: alignment", off)
            demand(not any(self.data[end:off]), f"{TABLES[kind]}: padding before it", off)
            end = off + size
            demand(end <= len(self.data), f"{TABLES[kind]}: passes the file", off)
        demand(end == len(self.data), "bytes behind the last table", end)
        at, size = tables[3]
        self.strings = self.data[at:at + size]
        demand(size and not self.strings[0] and not self.strings[-1], "first or last byte of the strings", at)
        files = Bytes(self.data, self.order, *self.span(tables[4]), "file table")
        self.files = files.number(4)
        demand(self.files, "no file 0", files.at)
        for i in range(self.files):
            names = self.string(files), self.string(files)
            demand(i or names == (0, 0), "file 0 is not empty", files.at)
        files.finish()
        self.functions(tables)

    @staticmethod
    def span(table):
        return table[0], sum(table)

    def string(self, part):
        at, strp = part.at, part.number(self.strp)
        demand(strp < len(self.strings), f"{part.what}: string past the table", at)
        return strp

    def functions(self, tables):
        starts = Bytes(self.data, self.order, *self.span(tables[1]), "address offsets")
        places = Bytes(self.data, self.order, *self.span(tables[2]), "record offsets")
        before, known = (-1, 0), {}
        for i in range(self.count):
            start, place = self.base + starts.number(self.offset_size), places.number(4 * self.version)
            if self.version == 2:
                place += tables[5][0]
            demand(place % 4 == 0 and tables[5][0] <= place < sum(tables[5]), "place of a record", place)
            record = Bytes(self.data, self.order, place, sum(tables[5]), f"function {i}")
            size, rows = self.record(record)
            known[place] = record.at
            demand(start + max(size, rows) < 2**64, f"function {i}: passes the last address", place)
            demand((start, size) > before, f"function {i}: order", place)
            before = start, size
        end = tables[5][0]
        for place, record_end in sorted(known.items()):
            demand(place >= end, "records share bytes", place)
            self.zeros(end, place, 4, "between records")
            end = record_end
        self.zeros(end, sum(tables[5]), 4, "behind the last record")

    def record(self, c, holder=None):
        """Size of the function, and where its last row is."""
        size, name, before, rows = c.number(4), self.string(c), 0, 0
        demand(self.strings[name], f"{c.what}: no name", c.at)
        demand(holder in (None, size), f"{c.what}: another size than its holder", c.at)
        while True:
            kind, length = c.number(4), c.number(4)
            if not kind:
                demand(not length, f"{c.what}: end with content", c.at)
                return size, rows
            demand(before < kind <= (4 if holder is None or kind != 3 else 2), f"{c.what}: kind or order of blocks", c.at)
            before, block = kind, c.part(length, c.what)
            if kind == 1:
                rows = self.lines(block, size)
            elif kind == 2:
                self.inlines(block, size, name)
            elif kind == 3:
                for _ in range(block.number(4)):
                    merged = block.part(block.number(4), f"{c.what}, merged")
                    self.record(merged, holder=size)
                    merged.finish()
            else:
                self.call_sites(block, size)
            block.finish()

    def lines(self, c, size):
        low, high, line = c.sleb(), c.sleb(), c.uleb()
        demand(low <= high and high - low < 2**63, f"{c.what}: line deltas", c.at)
        address, file, rows, last = 0, 1, 0, size - 1 if size else MOST
        while True:
            demand(line <= MOST and line >= 0, f"{c.what}: line outside 32 bits", c.at)
            op = c.number(1)
            if op == 0:
                demand(rows, f"{c.what}: no row", c.at)
                return address
            if op == 1:
                file = c.uleb()
                demand(file < self.files, f"{c.what}: no such file", c.at)
                continue
            if op == 3:
                line += c.sleb()
                continue
            if op == 2:
                address += c.uleb()
            else:
                advance, delta = divmod(op - 4, high - low + 1)
                address += advance
                line += low + delta
            rows += 1
            demand(0 <= line <= MOST, f"{c.what}: line of a row", c.at)
            demand(address <= last, f"{c.what}: row past the function", c.at)
            demand(file < self.files, f"{c.what}: no such file", c.at)

    def ranges(self, c, n, base, parents):
        ranges, end = [], None
        demand(n <= (c.end - c.at) // 2, f"{c.what}: number of ranges", c.at)
        for _ in range(n):
            start, size = base + c.uleb(), c.uleb()
            demand(size and (end is None or start > end), f"{c.what}: order of ranges", c.at)
            end = start + size
            demand(any(low <= start and end <= high for low, high in parents), f"{c.what}: range outside its parent", c.at)
            ranges.append((start, end))
        return ranges

    def inlines(self, c, size, name):
        demand((c.uleb(), c.uleb(), c.uleb()) == (1, 0, size), f"{c.what}: range of the outermost node", c.at)
        flag = c.number(1)
        demand(flag <= 1 and (self.string(c), c.uleb(), c.uleb()) == (name, 0, 0), f"{c.what}: outermost node", c.at)
        around, fresh = [[(0, size)]] if flag else [], True  # ranges of the nodes around the next one
        while around:
            n = c.uleb()
            if not n:
                demand(not fresh, f"{c.what}: empty list of nodes", c.at)
                around.pop()
                continue
            ranges = self.ranges(c, n, around[-1][0][0], around[-1])
            flag = c.number(1)
            self.string(c)
            demand(flag <= 1 and c.uleb() < self.files and c.uleb() <= MOST, f"{c.what}: flag, file or line of a node", c.at)
            fresh = flag == 1
            if fresh:
                around.append(ranges)
                demand(len(around) <= 1024, f"{c.what}: nested too deep", c.at)

    def call_sites(self, c, size):
        for _ in range(c.number(4)):
            off, flags = c.number(8), c.number(1)
            demand(flags <= 3 and (not size or off <= size), f"{c.what}: offset or flags of a call site", c.at)
            for _ in range(c.number(4)):
                self.string(c)


def refusal(data):
    """None if all is right, or what is wrong."""
    try:
        File(data)
    except Refused as error:
        return str(error)
    return None


def main():
    refused = 0
    for path in sys.argv[1:]:
        what = refusal(pathlib.Path(path).read_bytes())
        refused += what is not None
        print(f"{path}: {what or 'all is right'}")
    print(f"{len(sys.argv) - 1} files, {refused} refused")
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
