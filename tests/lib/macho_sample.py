"""A small program as a Mach-O file of any kind, and what its addresses are."""
from . import make_macho as m
from .craft import Die, Sequence, Unit

UUID = bytes.fromhex("00112233445566778899aabbccddeeff")


def program(machine=m.ARM64, big=False, dwarf=True, base=0, **more):
    """main at 0x1000 from @base with an inlined call, helper at 0x1020 behind it."""
    text = base + 0x1000
    made = m.Maker(machine, big=big, **{"uuid": UUID, "text": base, **more})
    made.section("__TEXT", "__text", text, bytes(0x40), m.CODE)
    made.symbols = [m.Symbol("_main", text), m.Symbol("_helper", text + 0x20, m.N_SECT), m.Symbol("_other", type=m.N_EXT)]
    if dwarf:
        tiny = Die("subprogram", name="tiny", inline=1)
        main = Die("subprogram", Die("inlined_subroutine", abstract_origin=tiny, low_pc=text + 8, high_pc=8, call_file=1,
                                     call_line=5), name="main", low_pc=text, high_pc=0x20)
        helper = Die("subprogram", name="helper", low_pc=text + 0x20, high_pc=0x18)
        made.dwarf([Unit(tiny, main, helper, files=("a.c", "b.h"), lines=[
            Sequence(text + 0x38, (text, 1, 4), (text + 8, 2, 9), (text + 0x10, 1, 6), (text + 0x20, 1, 20),
                     (text + 0x30, 1, 22))])])
    return made


LINES = {0xfff: "??", 0x1000: "main at /src/a.c:4", 0x1008: "tiny at /src/b.h:9\n (inlined by) main at /src/a.c:5",
         0x101f: "main at /src/a.c:6", 0x1020: "helper at /src/a.c:20", 0x1037: "helper at /src/a.c:22", 0x1038: "??"}
NAMES = {0xfff: "??", 0x1000: "main", 0x101f: "main+0x1f", 0x1020: "helper", 0x103f: "helper+0x1f", 0x1040: "??"}
