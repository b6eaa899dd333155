"""The matrix of the corpus: which programs are built, by which compiler and linker, with which options.

A cell is one program. The full set is the product of the axes that every compiler has, and every further
option, linker and machine one at a time. The quick set has each of those that is
a way of its own at least once, by one compiler or the other.
"""
import itertools
from dataclasses import dataclass, field

LEVELS = ("O0", "O2")
VERSIONS = (2, 3, 4, 5)
COMPRESSIONS = ("none", "zlib", "zstd")
LINKERS = ("bfd", "gold", "lld")

CORE = ("main", "inlines", "split", "switches", "aliases", "statics_a", "statics_b", "sections", "lines",
        "unity", "data_only", "unused")
CORE_CXX = ("shapes", "templates", "odr_a", "odr_b")


@dataclass
class Cell:
    name: str
    compiler: str               # "gcc", "clang-14", ...: build.py knows the programs
    flags: list = field(default_factory=list)
    link: list = field(default_factory=list)
    kind: str = "native"        # native, bare (no C library), hosted (C++ library), object (one .o), windows
    after: tuple = ()           # names of build.STEPS: what happens to the linked file
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
                             quick=(wide, compression, sections) == chosen and (place + c) % 2 == 0 and
                             compiler in (compilers[0], compilers[-1]))


def linkers(compiler):
    """What each linker can take out: sections nobody needs, and bodies that are equal."""
    flags = base_flags("O2", 5) + ["-ffunction-sections"]
    for linker in LINKERS:
        use = [f"-fuse-ld={linker}"]
        yield Cell(f"{compiler}-{linker}", compiler, base_flags("O2", 4), use)
        yield Cell(f"{compiler}-gc-{linker}", compiler, flags, use + ["-Wl,--gc-sections"])
        if linker != "bfd":
            yield Cell(f"{compiler}-icf-{linker}", compiler, flags, use + ["-Wl,--icf=all"])
            yield Cell(f"{compiler}-icf4-{linker}", compiler, base_flags("O1", 4) + ["-ffunction-sections"],
                       use + ["-Wl,--icf=all", "-Wl,--gc-sections"])


def split_ways(compiler):
    """Debug data in files of its own."""
    for version in (4, 5):
        flags = base_flags("O2", version)
        for name, more, after in (("split", [], ()), ("dwp", [], ("dwp",)), ("llvm-dwp", [], ("llvm-dwp",)),
                                  ("split-sections", ["-ffunction-sections"], ())):
            yield Cell(f"{compiler}-{name}{version}", compiler, flags + ["-gsplit-dwarf"] + more, after=after)
        for name in ("dwz", "dwz-multi"):
            yield Cell(f"{compiler}-{name}{version}", compiler, flags, after=(name,))
        yield Cell(f"{compiler}-type-units{version}", compiler, flags + ["-fdebug-types-section"])


def special(compilers):
    """Further options, one at a time."""
    for compiler in compilers:
        flags = base_flags("O2", 5)
        clang = compiler.startswith("clang")
        lld = ["-fuse-ld=lld"]
        add = lambda name, more=(), link=(), **rest: Cell(  # noqa: E731
            f"{compiler}-{name}", compiler, flags + list(more), list(link), **rest)
        yield from linkers(compiler)
        yield from split_ways(compiler)
        yield add("lto", ["-flto"], ["-flto", "-O2", "-g"] + (lld if clang else []))
        if clang:
            yield add("thinlto", ["-flto=thin"], ["-flto=thin", "-O2"] + lld)
            yield add("simple-names", ["-gsimple-template-names"])
            yield add("bb-sections", ["-fbasic-block-sections=all"], lld)
            yield add("hosted-cold", ["-fsplit-machine-functions", "-mllvm", "-mfs-split-ehcode"], lld, kind="hosted")
            yield add("line-offsets", ["-ffunction-sections", "-mllvm", "-emit-func-debug-line-table-offsets"],
                      lld + ["-Wl,--icf=all"])
        else:
            yield add("lto-gold", ["-flto"], ["-flto", "-O2", "-g", "-fuse-ld=gold"])
            yield add("hosted-cold", ["-freorder-blocks-and-partition"], kind="hosted")
        for level in ("O1", "Os", "Og", "O3"):
            yield add(level, [f"-{level}"])
        yield add("g1", ["-g1"])
        if clang:
            yield add("gmlt", ["-gmlt"])
            yield Cell(f"{compiler}-gmlt-split", compiler, flags + ["-gsplit-dwarf", "-fsplit-dwarf-inlining"])
        yield add("prefix-map", ["-fdebug-prefix-map=@CWD@=."])
        yield add("keep-debug", after=("keep-debug",))
        yield add("stripped", link=["-rdynamic"], after=("strip",))
        yield add("static-nopie", ["-fno-pie"], ["-no-pie", "-static"])
        yield Cell(f"{compiler}-object", compiler, base_flags("O0", 5), kind="object")
        yield Cell(f"{compiler}-object4-zlib", compiler, base_flags("O0", 4) + ["-gz=zlib"], kind="object")
        for level, version in itertools.product(("O0", "O2"), (4, 5)):
            yield Cell(f"{compiler}-hosted-{level}-dwarf{version}", compiler, base_flags(level, version),
                       kind="hosted")


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
            cell = Cell(f"{name}-{level}-dwarf{version}", clang, base_flags(level, version) + extra,
                        kind="bare", target=target)
            yield _compressed(cell, COMPRESSIONS[place % 3])
        yield Cell(f"{name}-object", clang, base_flags("O0", 5) + extra, kind="object", target=target)
    for compiler in compilers:
        yield Cell(f"{compiler}-m32", compiler, base_flags("O2", 5) + ["-m32"], kind="bare")


# gcc's cross compilers as Debian names them, then the options of the machine.
MACHINES = {
    "aarch64": ("aarch64-linux-gnu", []),
    "arm": ("arm-linux-gnueabihf", ["-marm"]),
    "thumb": ("arm-linux-gnueabihf", ["-mthumb"]),
    "i686": ("i686-linux-gnu", []),
    "mips": ("mips-linux-gnu", []),
    "powerpc64": ("powerpc64-linux-gnu", []),
    "powerpc64le": ("powerpc64le-linux-gnu", []),
    "riscv64": ("riscv64-linux-gnu", []),
    "riscv64-norelax": ("riscv64-linux-gnu", ["-mno-relax"]),
    "s390x": ("s390x-linux-gnu", []),
}


def cross_gcc():
    """The same machines by gcc, with the C library's start-up files and each linker."""
    for name, (triple, extra) in MACHINES.items():
        compiler = f"{triple}-gcc"
        add = lambda what, level, version, more=(), link=(), **rest: Cell(  # noqa: E731
            f"gcc-{name}-{what}", compiler, base_flags(level, version) + extra + list(more),
            list(link) + extra, **rest)
        for level, version in itertools.product(LEVELS, VERSIONS):
            yield add(f"{level}-dwarf{version}", level, version)
        yield add("wide", "O2", 5, ["-gdwarf64"])
        yield add("zlib", "Og", 4, ["-gz=zlib"], ["-gz=zlib"])
        yield add("type-units", "Os", 5, ["-fdebug-types-section"])
        yield add("split4", "O2", 4, ["-gsplit-dwarf"])
        yield add("split5", "O2", 5, ["-gsplit-dwarf"])
        yield add("lto", "O2", 5, ["-flto"], ["-flto", "-O2", "-g"])
        yield add("dwz", "O2", 4, after=("dwz",))
        yield add("object", "O0", 5, kind="object")
        yield add("icf-gold", "O2", 4, ["-ffunction-sections"], ["-fuse-ld=gold", "-Wl,--icf=all,--gc-sections"])
        if name == "powerpc64":
            continue  # lld does not link ELFv1
        yield add("icf-lld", "O2", 5, ["-ffunction-sections"],
                  ["-fuse-ld=lld", "-Wl,--icf=all,--gc-sections", "-Wl,-z,execstack"])  # MIPS has no .note.GNU-stack


# Of Windows, as mingw calls them. Debian has no C library for ARM64: there programs have none.
WINDOWS = ("x86_64", "i686", "aarch64")


def windows(compilers):
    """PE files by mingw's gcc and by clang with lld."""
    for machine in WINDOWS:
        triple = f"{machine}-w64-mingw32"
        for what, compiler in (("gcc", f"{triple}-gcc"), ("clang", compilers[-1])):
            if (machine, what) == ("aarch64", "gcc"):
                continue  # Debian has none
            add = lambda name, level, version, more=(), link=(), **rest: Cell(  # noqa: E731
                f"windows-{what}-{machine}-{name}", compiler, base_flags(level, version) + list(more), list(link),
                kind="windows", target=triple, **rest)
            for level, version in itertools.product(("O0", "O1", "O2"), (4, 5)):
                yield add(f"{level}-dwarf{version}", level, version)
            yield add("debug-link", "O2", 5, after=("debug-link",))
            yield add("gc", "O2", 5, ["-ffunction-sections"], ["-Wl,--gc-sections"])
            yield add("lto", "O2", 5, ["-flto"], ["-flto", "-O2", "-g"])


def languages():
    """Compilers of other languages; build.LANGUAGES knows how they are called."""
    def add(name, compiler, flags):
        return Cell(name, compiler, flags, kind="language")

    for level, debug, mangling in itertools.product((0, 3), (1, 2), ("legacy", "v0")):
        yield add(f"rust-{level}-{debug}-{mangling}", "rustc",
                  [f"-Copt-level={level}", f"-Cdebuginfo={debug}"] +
                  (["-Csymbol-mangling-version=v0"] if mangling == "v0" else []))  # legacy is the default
    for split, level in itertools.product(("packed", "unpacked"), (0, 3)):
        yield add(f"rust-{split}-{level}", "rustc", [f"-Csplit-debuginfo={split}", "-g", f"-Copt-level={level}"])
    yield add("rust-lto", "rustc", ["-g", "-Copt-level=3", "-Clto=thin"])
    yield add("go", "go", [])
    yield add("go-plain", "go", ["-ldflags=-compressdwarf=false"])
    yield add("go-O0", "go", ["-gcflags=-N -l"])
    for level, version in itertools.product(("O0", "O2"), (4, 5)):
        flags = base_flags(level, version)
        yield add(f"fortran-{level}-dwarf{version}", "gfortran", flags)
        yield add(f"ada-{level}-dwarf{version}", "gnatmake", flags)
        yield add(f"gdc-{level}-dwarf{version}", "gdc", flags)
    yield add("ldc-O0", "ldc2", ["-g"])
    yield add("ldc-O2", "ldc2", ["-g", "-O2"])


# One or more of every kind, and no more than CI has time for.
QUICK = (
    "{gcc}-lto", "{gcc}-icf-gold", "{gcc}-split5", "{gcc}-dwz-multi5", "{gcc}-hosted-cold", "{gcc}-object", "{gcc}-type-units4",
    "{gcc}-m32", "{clang}-icf-lld", "{clang}-line-offsets", "{clang}-bb-sections", "{clang}-simple-names", "{clang}-llvm-dwp5",
    "{clang}-stripped", "aarch64_be-O2-dwarf5", "thumb-O0-dwarf5", "mips-O0-dwarf4", "s390x-O2-dwarf4", "rust-3-2-v0", "go",
    "fortran-O0-dwarf5", "ada-O2-dwarf4", "gdc-O2-dwarf5", "windows-gcc-x86_64-O2-dwarf5", "windows-clang-x86_64-debug-link",
    "gcc-powerpc64-O2-dwarf4", "gcc-riscv64-O2-dwarf5",
)


def all_cells(compilers):
    """@compilers: gcc first, the newest clang last."""
    further = [*special(compilers), *cross(compilers), *cross_gcc(), *windows(compilers), *languages()]
    quick = {name.format(gcc=compilers[0], clang=compilers[-1]) for name in QUICK}
    for cell in further:
        cell.quick = cell.name in quick
    cells = [*matrix(compilers), *further]
    names = [cell.name for cell in cells]
    assert len(names) == len(set(names)), "cell names must differ"
    return cells
