"""Frames of zstd, with any of the library's parameters."""
import ctypes

NUMBERS = {"level": 100, "window_log": 101, "size": 200, "checksum": 201}  # ZSTD_cParameter


def frame(data, level=3, **parameters):
    """@parameters: those of ZSTD_CCtx_setParameter()."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
    zstd.ZSTD_compressBound.restype = zstd.ZSTD_compress2.restype = ctypes.c_size_t
    context = ctypes.c_void_p(zstd.ZSTD_createCCtx())
    for name, value in {"level": level, **parameters}.items():
        zstd.ZSTD_CCtx_setParameter(context, NUMBERS[name], value)
    room = ctypes.create_string_buffer(zstd.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = zstd.ZSTD_compress2(context, room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)))
    zstd.ZSTD_freeCCtx(context)
    return room.raw[:size]


def wide(data, log):
    """The same in a frame that needs, as its header says, a window of 1 << @log bytes."""
    made = bytearray(frame(data, size=0))
    made[5] = (log - 10) << 3
    return bytes(made)
