"""Core files of 64-bit little-endian ELF: the files that were mapped (NT_FILE), and segments of memory."""
import struct
from collections import namedtuple

PT_LOAD, PT_NOTE = 1, 4
NT_FILE = 0x46494c45
HEADER_SIZE, SEGMENT_SIZE = 64, 56

File = namedtuple("File", "start end page path")  # @page: offset in the file, in pages
Segment = namedtuple("Segment", "type flags off addr file_size size", defaults=(0, 0, 0, 0, 0))


def files_note(files, page_size=1):
    """The content of a PT_NOTE segment."""
    data = struct.pack("<QQ", len(files), page_size) + b"".join(struct.pack("<QQQ", *file[:3]) for file in files)
    data += b"".join(file.path.encode() + b"\0" for file in files)
    return struct.pack("<III", 5, len(data), NT_FILE) + b"CORE\0\0\0\0" + data


def core_file(files, segments=()):
    """Of these files; @segments come before that of the note, which is the end of the core file."""
    note = files_note(files)
    n = len(segments) + 1
    note_segment = Segment(PT_NOTE, off=HEADER_SIZE + n * SEGMENT_SIZE, file_size=len(note))
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, HEADER_SIZE, 0, 0, HEADER_SIZE, SEGMENT_SIZE, n, 0, 0, 0)
    return header + b"".join(struct.pack("<IIQQQQQQ", s.type, s.flags, s.off, s.addr, 0, s.file_size, s.size, 4)
                             for s in (*segments, note_segment)) + note
