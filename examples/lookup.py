#!/usr/bin/env python3
"""Looks addresses up in a GSYM file with libgsym, through ctypes; no mount and no compiler is needed.

    lookup.py FILE.gsym ADDRESS...

Prints the frames of each address, the innermost first. The exit status is 1 if one is in no function.
"""
import ctypes
import sys

if __name__ == "__main__" and len(sys.argv) < 3:
    sys.exit("usage: lookup.py FILE.gsym ADDRESS...")
lib = ctypes.CDLL("libgsym.so.0")
ENOENT = 2


class Diag(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 512)]


class Frame(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dir", ctypes.c_char_p), ("base", ctypes.c_char_p),
                ("offset", ctypes.c_uint64), ("line", ctypes.c_uint32), ("inlined", ctypes.c_bool),
                ("approximate", ctypes.c_bool)]


class Answer(ctypes.Structure):
    _fields_ = [("frames", ctypes.POINTER(Frame)), ("n_frames", ctypes.c_size_t), ("cap_frames", ctypes.c_size_t),
                ("func_start", ctypes.c_uint64), ("func_size", ctypes.c_uint64), ("func_index", ctypes.c_uint32),
                ("n_merged", ctypes.c_uint32), ("has_rows", ctypes.c_bool)]


lib.gsym_lookup.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(Answer), ctypes.POINTER(Diag))
lib.gsym_reader_close.argtypes = (ctypes.c_void_p,)
lib.gsym_demangle.argtypes = (ctypes.c_char_p, ctypes.c_uint, ctypes.c_char_p, ctypes.c_size_t)
lib.gsym_path.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
lib.gsym_demangle.restype = lib.gsym_path.restype = ctypes.c_size_t


class Reader:
    """A GSYM file. Threads may share it."""

    def __init__(self, path):
        self.reader, diag = ctypes.c_void_p(), Diag()
        if lib.gsym_reader_open(path.encode(), ctypes.byref(self.reader), ctypes.byref(diag)):
            raise OSError(diag.text.decode(errors="replace"))

    def close(self):
        lib.gsym_reader_close(self.reader)

    def lookup(self, address):
        """Frames as (function, file, line), the innermost first; none where there is no function."""
        answer, diag = Answer(), Diag()
        try:
            err = lib.gsym_lookup(self.reader, address, ctypes.byref(answer), ctypes.byref(diag))
            if err not in (0, -ENOENT):
                raise OSError(diag.text.decode(errors="replace"))
            return [(text(lib.gsym_demangle, f.name, 0), text(lib.gsym_path, f.dir, f.base) or "??", f.line)
                    for f in answer.frames[:answer.n_frames]]
        finally:
            lib.gsym_answer_deinit(ctypes.byref(answer))


def text(function, *args):
    """What a function writes to a buffer of any size."""
    size = function(*args, None, 0) + 1
    buf = ctypes.create_string_buffer(size)
    function(*args, buf, size)
    return buf.value.decode(errors="backslashreplace")


def main():
    reader, missing = Reader(sys.argv[1]), False
    for address in sys.argv[2:]:
        frames = reader.lookup(int(address, 16))
        missing |= not frames
        for function, file, line in frames or [("??", "??", 0)]:
            print(f"{address} {function} at {file}:{line}")
    reader.close()
    sys.exit(missing)


if __name__ == "__main__":
    main()
