"""GSYM files of both versions and byte orders by hand, also such as break a rule of gsym(5)."""

LINES, INLINES, MERGED, SITES = 1, 2, 3, 4
STRINGS = b"\0main\0/src\0a.c\0callee\0"
MAIN, SRC, A_C, CALLEE = 1, 6, 11, 15
ROWS = bytes([0, 2, 5, 0x04, 0x1e, 0])  # as in gsym(5): rows at 0, line 5, and 8, line 7
SIZE = 12


class Maker:
    def __init__(self, version, order):
        self.version, self.order, self.strp = version, order, 4 * version

    def number(self, value, size=4):
        return value.to_bytes(size, self.order)

    def string(self, strp):
        return self.number(strp, self.strp)

    def block(self, kind, data):
        return self.number(kind) + self.number(len(data)) + data

    def record(self, *blocks, size=SIZE, name=MAIN, end=bytes(8)):
        return self.number(size) + self.string(name) + b"".join(self.block(*block) for block in blocks) + end

    def calls(self, *nodes, root=(1, 0, SIZE), name=MAIN, place=(0, 0), flag=1, end=b"\0"):
        """@nodes: bytes of each, with the ends of their lists."""
        return bytes(root) + bytes([flag]) + self.string(name) + bytes(place) + b"".join(nodes) + end

    def node(self, *ranges, flag=0, name=CALLEE, place=(1, 3)):
        return bytes([len(ranges) // 2, *ranges, flag]) + self.string(name) + bytes(place)

    def merged(self, *records, count=None, end=b""):
        return self.number(len(records) if count is None else count) + b"".join(self.number(len(r)) + r for r in records) + end

    def site(self, off=8, flags=0, patterns=(CALLEE,), end=b""):
        return self.number(1) + self.number(off, 8) + bytes([flags]) + self.number(len(patterns)) + b"".join(map(self.string, patterns)) + end

    def file(self, *records, starts=None, strings=STRINGS, files=((0, 0), (SRC, A_C)), base=0x1000, pad=b"\0", gap=b"", uuid_pad=b"\0", tail=b"",
             n_files=None, twice=False, unknown=False, last=bytes(20), shift={}, width=1, order=(1, 2, 4, 3, 5)):
        """
        @gap: in front of the records; @pad: what padding is made of; @shift: of tables from their places; @twice, @unknown: entries of the
        directory more.
        """
        starts = starts or [0x10 * i for i in range(len(records))]
        tables = {1: b"".join(self.number(start, width) for start in starts), 3: strings,
                  4: self.number(len(files) if n_files is None else n_files) + b"".join(self.string(s) for file in files for s in file)}
        whole, places = gap, []
        for record in records:
            whole += pad * (-len(whole) % 4)
            places.append(len(whole))
            whole += record
        tables[5] = whole + tail
        entries = 20 * (6 + twice + unknown)
        at, offs, body = (48, {}, b"") if self.version == 1 else (20 + entries, {}, b"")
        for kind in order:
            fill = -(at + len(body)) % {1: width, 2: self.strp, 3: 1}.get(kind, 4) + shift.get(kind, 0)
            body += pad * fill
            offs[kind] = at + len(body)
            body += tables.get(kind, bytes(self.strp * len(records)))
        base_of_records = offs[5] if self.version == 1 else 0
        infos = b"".join(self.number(base_of_records + place, self.strp) for place in places)
        body = body[:offs[2] - at] + infos + body[offs[2] - at + len(infos):]
        tables[2] = infos
        head = self.number(0x4753594d) + self.number(self.version, 2) + bytes([width, 19 if self.version == 1 else 0])
        head += self.number(base, 8) + self.number(len(records))
        if self.version == 1:
            return head + self.number(offs[3]) + self.number(len(strings)) + bytes(range(1, 20)) + uuid_pad + body
        kinds = [*order, *([1] if twice else [])]
        head += b"".join(self.number(kind) + self.number(offs[kind], 8) + self.number(len(tables[kind]), 8) for kind in kinds)
        return head + (self.number(9) + self.number(at, 8) + self.number(1, 8) if unknown else b"") + last + body
