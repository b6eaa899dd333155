"""Ways to damage a file. Each function takes bytes and a random.Random and gives bytes; the seed decides all."""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib.elf import SHT_NOBITS, Elf  # noqa: E402
from lib.macho import FAT, MachO, slices  # noqa: E402

EDGES = (0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, 1 << 40,
         (1 << 63) - 1, 1 << 63, (1 << 64) - 16, (1 << 64) - 1)


def truncate(data, chance):
    return data[:chance.randrange(len(data))]


def flip_bits(data, chance):
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16, 64))):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def flip_header(data, chance):
    """Bit flips where they hurt most: the first bytes and the last, where ELF keeps its tables."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 2, 4))):
        place = chance.choice((chance.randrange(min(256, len(out))), -1 - chance.randrange(min(2048, len(out)))))
        out[place] ^= 1 << chance.randrange(8)
    return bytes(out)


def splice(data, chance):
    out = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        size = chance.randrange(1, min(512, len(out)))
        source = chance.randrange(len(out) - size + 1)
        target = chance.randrange(len(out) - size + 1)
        out[target:target + size] = out[source:source + size]
    return bytes(out)


def write_edges(data, chance):
    out = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        width = chance.choice((1, 2, 4, 8))
        at = chance.randrange(len(out) - width)
        value = chance.choice(EDGES + (len(data), len(data) - 1)) & (1 << 8 * width) - 1
        out[at:at + width] = value.to_bytes(width, chance.choice(("little", "big")))
    return bytes(out)


def insert_noise(data, chance):
    at = chance.randrange(len(data))
    return data[:at] + chance.randbytes(chance.randrange(1, 300)) + data[at:]


def random_file(data, chance):
    """Nothing but noise, mostly behind the magic and the first fields of the original."""
    keep = chance.choice((0, 4, 6, 16, 20, 24, 48, 64))
    return data[:keep] + chance.randbytes(chance.randrange(4096))


RANDOM = (truncate, flip_bits, flip_header, splice, write_edges, insert_noise, random_file)


def random_damage(data, chance):
    """(name of the kind, damaged bytes)."""
    kind = chance.choice(RANDOM)
    return kind.__name__, kind(data, chance)


def _put(data, at, form, value):
    out = bytearray(data)
    struct.pack_into(form, out, at, value & (1 << 8 * struct.calcsize(form)) - 1)
    return bytes(out)


class Fields:
    """Where an ELF file's header fields lie (gABI chapter 4, figures 4-3 and 4-8)."""

    def __init__(self, path):
        self.elf = elf = Elf(path)
        self.data, self.order, wide = elf.data, elf.order, elf.wide
        self.shoff = elf._get("Q", 40) if wide else elf._get("I", 32)
        self.entsize = elf._get("H", 58 if wide else 46)
        word = "Q" if wide else "I"
        self.header = {"e_type": (16, "H"), "e_machine": (18, "H")}
        self.header |= ({"e_phoff": (32, "Q"), "e_shoff": (40, "Q"), "e_phentsize": (54, "H"), "e_phnum": (56, "H"),
                         "e_shentsize": (58, "H"), "e_shnum": (60, "H"), "e_shstrndx": (62, "H")} if wide else
                        {"e_phoff": (28, "I"), "e_shoff": (32, "I"), "e_phentsize": (42, "H"), "e_phnum": (44, "H"),
                         "e_shentsize": (46, "H"), "e_shnum": (48, "H"), "e_shstrndx": (50, "H")})
        self.section = ({"sh_name": (0, "I"), "sh_type": (4, "I"), "sh_flags": (8, word), "sh_offset": (24, word),
                         "sh_size": (32, word), "sh_link": (40, "I"), "sh_entsize": (56, word)} if wide else
                        {"sh_name": (0, "I"), "sh_type": (4, "I"), "sh_flags": (8, word), "sh_offset": (16, word),
                         "sh_size": (20, word), "sh_link": (24, "I"), "sh_entsize": (36, word)})

    def put_header(self, field, value):
        at, form = self.header[field]
        return _put(self.data, at, self.order + form, value)

    def put_section(self, index, field, value):
        at, form = self.section[field]
        return _put(self.data, self.shoff + index * self.entsize + at, self.order + form, value)

    def put_content(self, section, content):
        return self.data[:section.offset] + content + self.data[section.offset + len(content):]


def crafted_elf(path):
    """[(name, damaged bytes, whether the conversion must still succeed)], one thing wrong in each."""
    fields = Fields(path)
    cases = []
    for field in fields.header:
        cases += [(f"{field}={value:#x}", fields.put_header(field, value), False) for value in EDGES]
    for index, section in enumerate(fields.elf.sections):
        spare = section.name.startswith(".debug_")
        for field in fields.section:
            values = (0, 1, section.size // 2, len(fields.data), 0x7fffffff, 0xffffffff, (1 << 63) - 1,
                      (1 << 64) - 1)
            cases += [(f"{section.name or index}.{field}={value:#x}", fields.put_section(index, field, value),
                       spare and field != "sh_flags") for value in values]
        if section.type != SHT_NOBITS and section.size:
            for what, content in _contents(fields.data[section.offset:section.offset + section.size]):
                cases.append((f"{section.name or index}:{what}", fields.put_content(section, content), spare))
    return cases


def crafted_macho(path):
    """The same for a Mach-O file, or for the header and each slice of a fat one. Nothing must still succeed: a symbol or a
    section less may be the last."""
    data = Path(path).read_bytes()
    cases = []
    if data[:4] in FAT:
        width = 4 if data[3] == 0xbe else 8
        cases += [(f"fat offset {at}={value:#x}", _put(data, at, ">I", value), False)
                  for at in range(0, 8 + 3 * (12 + 2 * width), 4) for value in (*EDGES[:11], len(data))]
    for start, size in slices(data):
        thin = MachO(data[start:start + size])
        end = (32 if thin.wide else 28) + struct.unpack_from(thin.order + "I", thin.data, 20)[0]
        cases += [(f"{start:#x}+{at:#x}={value:#x}", _put(data, start + at, thin.order + "I", value), False)
                  for at in range(0, end, 4) for value in (0, 1, 0x7fffffff, 0xffffffff, size, size - 1)]
        parts = [(f"{s.name}", s.offset, s.size) for s in thin.sections if s.offset and s.offset + s.size <= size]
        if thin.symtab:
            off, count, strings, bytes_of_strings = thin.symtab
            parts += [("symbols", off, count * (16 if thin.wide else 12)), ("strings", strings, bytes_of_strings)]
        if thin.starts:
            parts.append(("starts", *thin.starts))
        for name, at, length in parts:
            for what, content in _contents(data[start + at:start + at + length]) if length else ():
                cases.append((f"{name}:{what}", data[:start + at] + content + data[start + at + length:], False))
    return cases


def _contents(old):
    size = len(old)
    yield "zeros", bytes(size)
    yield "ones", b"\xff" * size
    yield "leb", b"\x80" * size
    yield "head-ones", (b"\xff" * 8 + old[8:])[:size]
    yield "head-zeros", (bytes(8) + old[8:])[:size]
    yield "tail-ones", old[:size // 2] + b"\xff" * (size - size // 2)
    yield "tail-zeros", old[:size // 2] + bytes(size - size // 2)
    yield "shifted", (b"\0" + old)[:size]
    yield "reversed", old[::-1]
    yield "first-byte-repeated", old[:1] * size


def crafted_breakpad(path):
    """The same for Breakpad's text symbols: a field of a line wrong, a line missing, twice, elsewhere or cut."""
    lines = Path(path).read_text().splitlines(keepends=True)
    words = ("", "0", "1", "-1", "zz", "7fffffff", "ffffffff", "100000000", "8000000000000000", "ffffffffffffffff",
             "10000000000000000", "x" * 70000, "\0", "\r")
    cases = []

    def add(name, made):
        cases.append((name, "".join(made).encode(), False))

    for at, line in enumerate(lines):
        head, rest = lines[:at], lines[at + 1:]
        fields = line.rstrip("\n").split(" ")
        for number in range(len(fields)):
            for word in words:
                changed = " ".join(fields[:number] + [word] + fields[number + 1:])
                add(f"line {at} field {number}={word[:20]!r}", [*head, changed + "\n", *rest])
        add(f"line {at} missing", head + rest)
        add(f"line {at} twice", [*head, line, line, *rest])
        add(f"line {at} at the end", [*head, *rest, line])
        add(f"line {at} cut", [*head, line[:len(line) // 2]])
        add(f"line {at} a thousand times", [*head, *[line] * 1000, *rest])
    return cases


def crafted_gsym(data):
    """The same for a GSYM file: header fields of gsym(5), then every aligned word of the tables behind it."""
    order = "<" if data[:4] == b"MYSG" else ">"
    version = struct.unpack_from(order + "H", data, 4)[0]
    places = [(0, "I"), (4, "H"), (6, "B"), (7, "B"), (8, "Q"), (16, "I")]
    if version == 1:
        places += [(20, "I"), (24, "I")]
    else:
        for at in range(20, 160, 20):
            places += [(at, "I"), (at + 4, "Q"), (at + 12, "Q")]
    places += [(at, "I") for at in range(48 if version == 1 else 160, min(len(data) - 4, 1200), 4)]
    places = [(at, form) for at, form in places if at + struct.calcsize(form) <= len(data)]
    return [(f"offset {at}={value:#x}", _put(data, at, order + form, value), False)
            for at, form in places for value in (0, 1, 0x80, len(data), 0x7fffffff, (1 << 64) - 1)]
