"""Files of a SOURCE of which two versions exist: with the same id and the same functions, and other answers."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import inputs

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib.formats import FORMATS  # noqa: E402

LESS_LINES = b"\n" * 40  # in front of the other version's source
FUNCTIONS = 600  # of the large one, each with a call inlined into it
MOST = 12  # addresses of each file that are asked for
UUID_SIZE_AT, UUID_AT = 7, 28  # in the header of a GSYM file
# Names for others of the same length: the other version of what has no source.
RENAMED = ((b"main", b"maid"), (b"first", b"fifth"))


class Image:
    """A file of SOURCE."""

    def __init__(self, path, id, versions, answers, has_end):
        """@answers: of each version, by address. @has_end: a part of the file without its end, the section headers of an ELF file, is
        none; a part of another may look like a smaller one."""
        self.path, self.id, self.versions, self.answers, self.has_end = path, id, versions, answers, has_end
        self.probe = next(a for a in answers[0] if answers[0][a] != answers[1][a])
        self.lock = threading.Lock()
        self.steady = True  # nothing changes at the moment, so its answer must be there
        self.changes = 0
        path.write_bytes(versions[0])


def large_source():
    functions = "".join(f"static inline __attribute__((always_inline)) int inner{n}(int x) {{ return x * {n} + x; }}\n"
                        f"int outer{n}(int x) {{ return x > {n} ? inner{n}(x) : x - {n}; }}\n" for n in range(FUNCTIONS))
    return functions + "int main(int argc, char **argv) { return outer1(argc) + (argv == 0); }\n"


def built(place, name, source, *flags):
    (place / "a.c").write_bytes(source)
    subprocess.run(["cc", *inputs.FLAGS, *flags, "-o", name, "a.c"], cwd=place, check=True)
    return (place / name).read_bytes()


def build_id(data):
    """Of an ELF file for gcc's --build-id=sha1."""
    at = data.index(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0") + 16
    return data[at:at + 20]


def compiled(place, source, *flags):
    """Both versions of a program, with the id of the first."""
    versions = [built(place, name, before + source, *flags) for name, before in (("one", b""), ("two", LESS_LINES))]
    own = [build_id(data) for data in versions]
    return versions[0], versions[1].replace(own[1], own[0])


def renamed(data):
    other = data
    for name, new in RENAMED:
        other = other.replace(name, new)
    return data, other


def kinds(place):
    """(versions, whether such a file has an end, how many of it) of some kinds, each read by another part of the converter."""
    small = inputs.SOURCE.encode()
    yield compiled(place, small, "-gdwarf-5"), True, 3
    yield compiled(place, small, "-gdwarf-4", "-gz=zlib"), True, 2
    yield compiled(place, large_source().encode(), "-gdwarf-5"), True, 2
    yield renamed(built(place, "bare", small, "-g0")), True, 1
    yield renamed(inputs.foreign()), False, 1
    for row in FORMATS:
        yield renamed(row.make()), row.reader == "elf", 1


def answers_of(gsym, place, data):
    """(id in the mount, {address: answer}) of a version."""
    path = place / "x"
    path.write_bytes(data)
    rng = random.Random(1)
    addresses = [a for start, end in inputs.functions(gsym, path) for a in range(start, min(end, start + 64))]
    converted = place / "x.gsym"
    subprocess.run([gsym, "convert", "--quiet", path, "-o", converted], check=True, capture_output=True)
    header = converted.read_bytes()[:64]
    id = header[UUID_AT:UUID_AT + header[UUID_SIZE_AT]].hex()
    return id, {hex(a): subprocess.run([gsym, "lookup", converted, hex(a)], check=True, capture_output=True).stdout
                for a in sorted(rng.sample(addresses, min(MOST, len(addresses))))}


def make(gsym, place, source):
    """Images in @source, each of an id of its own."""
    images = []
    for versions, has_end, count in kinds(place):
        ids, answers = zip(*(answers_of(gsym, place, data) for data in versions))
        assert ids[0] == ids[1] and answers[0].keys() == answers[1].keys()
        own = bytes.fromhex(ids[0])
        for n in range(count):
            id = own if count == 1 else own[:-4] + n.to_bytes(4, "big")
            images.append(Image(source / f"image{len(images)}", id.hex(), [data.replace(own, id) for data in versions], answers, has_end))
    assert len({image.id for image in images}) == len(images)
    return images
