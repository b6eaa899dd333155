"""The matrix of the corpus: which programs are built, by which compiler, with which options.

A cell is one program. The quick set has every value of every axis at least once with every compiler and
level; the full set is the product.
"""
import itertools
from dataclasses import dataclass, field

LEVELS = ("O0", "O2")
VERSIONS = (2, 3, 4, 5)
COMPRESSIONS = ("none", "zlib", "zstd")

CORE = ("main", "inlines", "split", "switches", "aliases", "statics_a", "statics_b", "sections", "lines",
        "unity", "data_only", "unused")
CORE_CXX = ("shapes", "templates", "odr_a", "odr_b")


@dataclass
class Cell:
    name: str
    compiler: str               # "gcc", "clang-14", ...: build.py knows the programs
    flags: list = field(default_factory=list)
    link: list = field(default_factory=list)
    kind: str = "native"        # native, bare (no C library), hosted (C++ library), object (one .o)
    after: tuple = ()           # dwz, zstd, keep-debug, strip: what happens to the linked file
    target: str = ""            # of a bare cell; "" = the machine's own
    quick: bool = True


def base_flags(level, version, wide=False, sections=False):
    flags = ["-g", f"-gdwarf-{version}", f"-{level}"]
    if wide:
        flags.append("-gdwarf64")
    if sections:
        flags.append("-ffunction-sections")
    return flags


def _compressed(cell, how):
    """gcc 12 has no -gz=zstd: there objcopy compresses the linked file."""
    if how == "zstd" and not cell.compiler.startswith("clang-2"):
        cell.after += ("zstd",)
    elif how != "none":
        cell.flags.append(f"-gz={how}")
        cell.link.append(f"-gz={how}")
    return cell


def native(compiler, level, version, wide, compression, sections, quick):
    name = f"{compiler}-{level}-dwarf{version}"
    name += "-64" if wide else ""
    name += f"-{compression}" if compression != "none" else ""
    name += "-sections" if sections else ""
    cell = Cell(name, compiler, base_flags(level, version, wide, sections), quick=quick)
    return _compressed(cell, compression)


def matrix(compilers):
    """Every combination; the quick ones walk through the further axes while level and version vary."""
    for c, compiler in enumerate(compilers):
        for place, (level, version) in enumerate(itertools.product(LEVELS, VERSIONS)):
            turn = place + c
            chosen = (version >= 3 and turn % 2 == 1, COMPRESSIONS[turn % 3], turn % 4 >= 2)
            for wide, compression, sections in itertools.product((False, True), COMPRESSIONS, (False, True)):
                if wide and version < 3:
                    continue  # the 64-bit format begins with DWARF 3
                yield native(compiler, level, version, wide, compression, sections,
                             quick=(wide, compression, sections) == chosen)


def special(compilers):
    """Further options, one at a time."""
    for compiler in compilers:
        lld = ["-fuse-ld=lld"]
        flags = base_flags("O2", 5)
        clang = compiler.startswith("clang")
        newest = compiler in (compilers[0], compilers[-1])
        add = lambda name, more=(), link=(), **rest: Cell(  # noqa: E731
            f"{compiler}-{name}", compiler, flags + list(more), list(link), **rest)
        yield add("lto", ["-flto"], ["-flto", "-O2", "-g"] + (lld if clang else []))
        if clang:
            yield add("thinlto", ["-flto=thin"], ["-flto=thin", "-O2"] + lld, quick=newest)
            yield add("icf", ["-ffunction-sections"], lld + ["-Wl,--icf=all"], quick=newest)
        yield add("gc", ["-ffunction-sections"], ["-Wl,--gc-sections"])
        yield add("gc-lld", ["-ffunction-sections"], ["-Wl,--gc-sections"] + lld, quick=newest)
        yield add("type-units", ["-fdebug-types-section"], quick=newest)
        yield add("g1", ["-g1"], quick=newest)
        yield add("Os", ["-Os"], quick=newest)
        yield add("prefix-map", ["-fdebug-prefix-map=@CWD@=."], quick=newest)
        yield add("split-dwarf", ["-gsplit-dwarf"])
        yield Cell(f"{compiler}-split-dwarf4", compiler, base_flags("O2", 4) + ["-gsplit-dwarf"], quick=newest)
        yield add("keep-debug", after=("keep-debug",), quick=newest)
        yield add("stripped", link=["-rdynamic"], after=("strip",), quick=newest)
        yield add("static-nopie", ["-fno-pie"], ["-no-pie", "-static"], quick=newest)
        for version in (4, 5):
            yield Cell(f"{compiler}-dwarf{version}-dwz", compiler, base_flags("O2", version), after=("dwz",))
        yield Cell(f"{compiler}-object", compiler, base_flags("O0", 5), kind="object", quick=newest)
        for level, version in itertools.product(("O0", "O2"), (4, 5)):
            yield Cell(f"{compiler}-hosted-{level}-dwarf{version}", compiler, base_flags(level, version),
                       kind="hosted", quick=(level, version) == ("O2", 5) and newest)


# Byte order and width of the target, then the options it needs without an operating system.
TARGETS = {
    "i386": ("i386-linux-gnu", []),
    "x86_64-x32": ("x86_64-linux-gnux32", []),
    "aarch64": ("aarch64-linux-gnu", []),
    "aarch64_be": ("aarch64_be-linux-gnu", []),
    "arm": ("armv7-linux-gnueabihf", ["-mcpu=cortex-a15", "-marm"]),
    "thumb": ("armv7-linux-gnueabihf", ["-mcpu=cortex-a15", "-mthumb"]),
    "armeb": ("armebv7-linux-gnueabihf", ["-mcpu=cortex-a15"]),
    "riscv64": ("riscv64-linux-gnu", ["-mno-relax"]),
    "riscv32": ("riscv32-linux-gnu", ["-mno-relax"]),
    "powerpc64": ("powerpc64-linux-gnu", ["-mabi=elfv2"]),
    "powerpc64le": ("powerpc64le-linux-gnu", []),
    "powerpc": ("powerpc-linux-gnu", []),
    "mips": ("mips-linux-gnu", ["-mno-abicalls", "-fno-pic"]),
    "mips64el": ("mips64el-linux-gnuabi64", ["-mno-abicalls", "-fno-pic"]),
    "s390x": ("s390x-linux-gnu", []),
}


def cross(compilers):
    """Other byte orders and widths, built by the newest clang and lld without a C library."""
    clang = compilers[-1]
    for place, (name, (target, extra)) in enumerate(TARGETS.items()):
        for level, version in itertools.product(LEVELS, (4, 5)):
            quick = (LEVELS.index(level), version) == (place // 2 % 2, 4 + place % 2)
            cell = Cell(f"{name}-{level}-dwarf{version}", clang, base_flags(level, version) + extra,
                        kind="bare", target=target, quick=quick)
            yield _compressed(cell, COMPRESSIONS[place % 3])
    for compiler in compilers:
        yield Cell(f"{compiler}-m32", compiler, base_flags("O2", 5) + ["-m32"], kind="bare", quick=True)


def all_cells(compilers):
    """@compilers: gcc first, the newest clang last."""
    cells = [*matrix(compilers), *special(compilers), *cross(compilers)]
    names = [cell.name for cell in cells]
    assert len(names) == len(set(names)), "cell names must differ"
    return cells
