#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets: small ELF and Mach-O files of many kinds, and GSYM files converted from ELF."""
import argparse
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bad import containers  # noqa: E402
from lib import breakpad, codeview, make_macho, make_pdb, make_pe, pclntab, peers, splitfile  # noqa: E402
from lib.craft import Die, Sequence, Unit  # noqa: E402
from lib.elf import EM_MIPS  # noqa: E402
from lib.formats import FORMATS  # noqa: E402
from lib.zstd import frame  # noqa: E402

BARE = ["-nostdlib", "-static", "-no-pie", "-ffreestanding", "-fno-stack-protector", "-Wl,--build-id=sha1",
        "-fno-asynchronous-unwind-tables", "-w"]
NATIVE = {
    "dwarf2": ["-gdwarf-2", "-O2"],
    "dwarf3-64": ["-gdwarf-3", "-gdwarf64", "-O0"],
    "dwarf4-types": ["-gdwarf-4", "-O2", "-fdebug-types-section"],
    "dwarf5": ["-gdwarf-5", "-O2"],
    "dwarf5-64": ["-gdwarf-5", "-gdwarf64", "-O2"],
    "dwarf5-sections": ["-gdwarf-5", "-O2", "-ffunction-sections", "-Wl,--gc-sections"],
    "zlib": ["-gdwarf-5", "-O2", "-gz=zlib"],
    "m32": ["-gdwarf-4", "-O2", "-m32"],
    "no-debug": ["-g0", "-O2"],
}
TARGETS = {
    "powerpc64": ["--target=powerpc64-linux-gnu", "-mabi=elfv2", "-gdwarf-5"],
    "mips": ["--target=mips-linux-gnu", "-mno-abicalls", "-fno-pic", "-gdwarf-4"],
    "aarch64": ["--target=aarch64-linux-gnu", "-gdwarf-5", "-gz=zlib"],
}
# Shared libraries with stubs for calls into others: machine -> target, options of the compiler.
STUBS = {
    "x86_64": ("x86_64-linux-gnu", ["-fcf-protection=full"]), "i386": ("i386-linux-gnu", []),
    "aarch64": ("aarch64-linux-gnu", ["-mbranch-protection=standard"]), "arm": ("armv7a-linux-gnueabihf", ["-marm"]),
    "thumb": ("armv7m-linux-gnueabi", []), "riscv64": ("riscv64-linux-gnu", []),
    "loongarch64": ("loongarch64-linux-gnu", []), "s390x": ("s390x-linux-gnu", []),
    "powerpc64le": ("powerpc64le-linux-gnu", []), "powerpc64": ("powerpc64-linux-gnu", ["-mabi=elfv2"]),
    "mips": ("mips-linux-gnu", []),
}
APPLE = {
    "arm64": ["-gdwarf-5"], "x86_64": ["-gdwarf-4"], "arm64-outlined": ["-gdwarf-4", "-Oz", "-mllvm",
                                                                      "-enable-machine-outliner=always"],
}
NAMES = ["0x300580", "0X0", "300580", "ffffffff81000000", "0xffffffffffffffff", "0x10000000000000000", "00401000",
         "0x300580.json", "0x300580.raw.tsv", "status", "image.gsym", "by-name",
         "4ab8ef0c/off/ra", "4ab8ef0c/base/0x7f00//approximate/",
         "4ab8ef0cdee0f9b3900d2b90425bb328b39cfccb", "4AB8EF0C-DEE0-F9B3-900D-2B90425BB328", "xxh3-00", "..", "q"]
MANGLED = """
_Z2biDB37_ _Z2nxPDoFiiE _Z2ntIXtl1PLi2ELi3EEEEii _Z2pkIJiiiEEiDpT_ _Z3pk2IJiiiEQgtsZT_Li1EEiDpT_ _ZN1QIiE1mITk3BigEEiT_
_ZNH1S3barERKS_i _ZNH1S3fooIRS_EEiOT_i _ZNK3$_0clIiEEDaT_ _ZNK1xMUlTyT_E_clIiEEDaS_ _ZW3foo1fv _ZNW1m1n1S1fEv _Z1fv.part.0.cold
_ZZ1fvENKUliE12_clEi _ZN1aUt_1fEv _ZTVN10__cxxabiv117__class_type_infoE _ZThn16_N1S1fEv _ZTc0_n24_h8_n4_N1S1fEv _ZGVZ1fvE1x_2
_ZN1ScvT_IiEEv _ZcvT_IT_IiEEv _Z1fIXadL_Z1gvEEEvv _Z1fIXcv1aIiELi1EEEvv _Z1fIXfpLi1ELi2EEEvv _Z1fIiEDTcmfp_fp0_ET_ _Z1fI1AEvDTcldtfp_1gEE
_Z1fIXtlA3_iLi1EdxLi2ELi3EEEEvv _Z1fIXnwLi1E_iilLi1EEEEvv _Z1fIXfLplT_ELi1EEEvv _Z1fIXrqXT_ERT_XiEEEvv _Z1fITtTyETnDaTpTyEvv _Z1fDv4_f
_Z1fPU3AS1i _Z1fPVKM1AFivE _Z1fA3_A4_KPi _Z1fILDnEEvv _Z1fILd3ff0000000000000EEvv _Z1fIXsZT_EJicEEvv _ZDC1a1bE _ZNSt3__112basic_stringIcE
_ZL1fB5cxx11v _ZN12_GLOBAL__N_11fEv _Z1fIJEEvDpFvP1APFvS1_S1_ET_E _ZNSaIcED2Ev _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc
?foo@@YAHH@Z ??0S@ns@@QEAA@XZ ?f@S@@QEBAXP6AHH@Z@Z ?x@@3HA ??_C@_03A@abc?$AA@ ??_R1A@?0A@EA@B@@8 ?x@?1??f@@YAXXZ@3HA ??$f@$00$1?g@@YAXXZ@@YAXXZ
?f@@YAXV?$a@H@b@@0P6AX00@Z@Z ??_7S@@6B@ ?f@S@@$4PPPPPPPM@A@AEXXZ ??@0123456789abcdef0123456789abcdef@ ??__Ex@@YAXXZ ??BS@@QEAAHXZ ?f@@$$FYAXXZ
___Z1fv_block_invoke_2 _RNvMs_Cs4_1aNtB2_1b1c _ZN4core3fmt5write17h0123456789abcdefE _D3std5stdio7writelnFAyaZv ._Z1fv _Z1fv@plt
""".split()

CALLSITES = {
    "all.yaml": """# every key
functions:
  - name: work
    callsites:
      - return_offset: 0x18
        match_regex: ["^f[0-9]+$", 'it''s', plain]
        flags: [InternalCall, ExternalCall]
      - match_regex: []
        return_offset: 5
      - {return_offset: 39, match_regex: [a], flags: }
  - callsites: []
    name: folded
  - name: work
    callsites: ~
""",
    "all.json": '{"functions": [{"name": "work", "callsites": [{"return_offset": "0x8", "match_regex": ["\\\\[.* a\\\\]",'
                ' "\\u00e9"], "flags": ["ExternalCall"]}]}, {"name": "other"}]}\n',
    "texts.yaml": "functions:\n- name: |-\n    work\n  callsites:\n  - return_offset: 1\n    match_regex:\n    - >-\n"
                  "      a\n      b\n    - \"c\\\n      d\\x41\"\n    flags:\n    - InternalCall\n",
    "refused.yaml": "functions: &a\n- name: !!str work\n  callsites: *a\n",
    "broken.yaml": "functions:\n- name: work\n  callsites:\n  - return_offset: 010\n    match_regex: [[a], {b: c}]\n",
}


def build(argv):
    """True when the tool is there and knows the options."""
    if not shutil.which(argv[0]):
        return False
    return subprocess.run([str(a) for a in argv], capture_output=True).returncode == 0


def make_elf(place):
    place.mkdir(parents=True, exist_ok=True)
    source = HERE / "seed.c"
    for compiler in ("gcc", "clang"):
        for name, flags in NATIVE.items():
            build([compiler, *BARE, *flags, source, "-o", place / f"{compiler}-{name}"])
        build([compiler, "-w", "-g", "-O2", "-c", source, "-o", place / f"{compiler}-object"])
    clang, lld = peers.find("clang") or "clang", peers.find("ld.lld") or "ld.lld"
    for name, (target, flags) in STUBS.items():
        unlinked = place / f"object-{name}"
        if build([clang, f"--target={target}", "-O2", "-w", "-ffreestanding", "-fPIC", "-g", *flags, "-c",
                  HERE / "seed_stubs.c", "-o", unlinked]):
            build([lld, "-shared", "-z", "notext", "--build-id=sha1", unlinked, "-o", place / f"stubs-{name}"])
    for name, flags in TARGETS.items():
        unlinked = place / "unlinked.o"
        if build([clang, "-O2", "-ffreestanding", *flags, "-c", source, "-o", unlinked]):
            build([lld, "--build-id=sha1", unlinked, "-o", place / name])
            unlinked.unlink()
    if (place / "gcc-dwarf5").exists():
        build(["dwz", "-o", place / "dwz", place / "gcc-dwarf5"])
        build(["objcopy", "--compress-debug-sections=zstd", place / "gcc-dwarf5", place / "zstd"])


def hand_made(machine, big, filetype):
    """What no tool at hand makes: every table that the reader knows, for any machine and byte order."""
    base = 0 if filetype == make_macho.MH_OBJECT else 0x4000
    made = make_macho.Maker(machine, filetype, big, bytes(range(16)), text=base, old_exports=big)
    text = base + 0x1000
    made.section("__TEXT", "__text", text, bytes(0x40), make_macho.CODE)
    made.section("__TEXT", "__stubs", text + 0x40, bytes(24), make_macho.STUBS, reserved1=0, reserved2=12)
    made.symbols = [make_macho.Symbol("_main", text), make_macho.Symbol("-[Class method:]", text + 0x20, make_macho.N_SECT),
                    make_macho.Symbol("_puts", type=make_macho.N_EXT), make_macho.Symbol("_main", text, make_macho.N_FUN)]
    made.indirect = [2, 0x80000000]
    made.starts = make_macho.function_starts(base, [text, text + 0x10, text + 0x20])
    made.exports = make_macho.trie({"_main": text - base, "_malloc": text + 0x10 - base, "_far": b"\x08\1_else\0"})
    tiny = Die("subprogram", name="tiny", inline=1)
    main = Die("subprogram", Die("inlined_subroutine", abstract_origin=tiny, low_pc=text + 8, high_pc=8, call_file=1,
                                 call_line=5), name="main", ranges=[(text, text + 0x10), (text + 0x18, text + 0x20)])
    made.dwarf([Unit(tiny, main, files=("a.c", "b.h"), lines=[
        Sequence(text + 0x30, (text, 1, 4), (text + 8, 2, 9), (text + 0x10, 1, 6), (text + 0x20, 1, 0))])])
    return made.file()


def make_golang(place):
    place.mkdir(parents=True, exist_ok=True)
    for version in (*pclntab.OLD, pclntab.GO116, pclntab.GO118, pclntab.GO120):
        (place / f"le64-{version}").write_bytes(pclntab.program(pclntab.sample(version)))
        (place / f"be32-{version}").write_bytes(pclntab.program(pclntab.sample(version, 4, wide=False, big=True), EM_MIPS))
    for version in (pclntab.GO113, pclntab.GO120):
        (place / f"relocated-{version}").write_bytes(pclntab.program(pclntab.sample(version), relocated=True))
    texts = [(0, 32, pclntab.TEXT), (32, 48, pclntab.TEXT + 0x10000)]
    (place / "texts").write_bytes(pclntab.program(pclntab.sample(pclntab.GO120), texts=texts))
    (place / "searched").write_bytes(pclntab.program(pclntab.sample(pclntab.GO120), section=".x"))


def make_pe_files(place):
    """Every table by hand, for each machine; mingw's where it is."""
    place.mkdir(parents=True, exist_ok=True)
    m = make_pe
    for name, machine in (("i386", m.I386), ("amd64", m.AMD64), ("arm64", m.ARM64), ("arm", m.ARMNT)):
        made = m.program(machine)
        made.exports({"exported": 0x1010, "helper_function": 0x1020, "forwarded": "other.dll.name"})
        slots = made.imports(["imported", 7, "another"])
        code = bytearray(made.sections[0].data)
        code[0x60:0x66] = b"\xff\x25" + struct.pack("<I", slots[0] - 0x1066 if made.wide else made.base + slots[0])
        made.sections[0].data = bytes(code)
        if machine == m.AMD64:
            made.unwind([(0x1000, 0x1010), (0x1010, 0x1018, 0), (0x1020, 0x1038)])
        elif machine != m.I386:
            rva = made.next_rva()
            made.directories[m.EXCEPTION] = (made.add(".pdata", struct.pack("<5I", 0x1000, 13, 0x1020, rva + 16, 5)), 16)
        (place / name).write_bytes(made.file())
    (place / "symbols").write_bytes(m.program(dwarf=False).file())
    gcc = peers.find("x86_64-w64-mingw32-gcc", ())
    if gcc:
        (place / "mingw.c").write_text("int f(int a) { return a * 3; }\nint start(int a) { return f(a) + 1; }\n")
        subprocess.run([gcc, "-g", "-O1", "-nostdlib", "-Wl,-e,start,--build-id", "-o", place / "mingw", place / "mingw.c"], check=False)
        (place / "mingw.c").unlink()


def make_pdb_files(place):
    """Every table by hand, in the smallest blocks; lld's where it is."""
    place.mkdir(parents=True, exist_ok=True)
    m = make_pdb
    publics = [("main", 1, 0), ("?f@@YAXXZ", 1, 0x20), ("label", 1, 0x30, 0), ("data", 2, 0, 0), ("removed", 1, 0x50)]
    more = {"block": 512, "publics": publics, "modules": [m.Module("x.obj", struct.pack("<I", 4)), m.Module()],
            "named": {"/names": b"\xfe\xef\xfe\xef" + bytes(12), "/LinkInfo": b""}}
    omap = {"omap": [(0, 0), (0x5000, 0x1040), (0x5020, 0x1000), (0x5050, 0)],
            "back": [(0x1000, 0x5020), (0x1010, 0x5000), (0x1018, 0x5000), (0x1030, 0), (0x1040, 0x5000)], "original": [(".text", 0x5000, 0x80, m.CODE)]}
    for name, files in (("plain", {}), ("scattered", {"scatter": True}), ("moved", omap), ("moved forth", {**omap, "back": None}),
                        ("i386", {"machine": make_pe.I386}), ("fastlink", {"features": (m.VC140, m.FASTLINK)}), ("types", {"program": False})):
        (place / name).write_bytes(m.Pdb(**more, **files).file())
    many = [m.Module(f"directory/of/module/{i}.obj", bytes(4)) for i in range(40)]
    (place / "modules").write_bytes(m.Pdb(block=512, modules=many, scatter=True).file())
    link_pdb(place, "lld", "int f(int a) { return a * 3; }\nint start(int a) { return f(a) + 1; }\n")


def codeview_modules(offs):
    """Two modules with every record that the reader knows; @offs: of their files, and of the name of the second."""
    c = codeview
    small = b"".join((b"\6", c.signed(2), b"\3", c.number(4), b"\x0b", c.number(1 << 5 | 2), b"\5", c.number(8), b"\6", c.signed(-1),
                      b"\3\2\4\2\0"))
    long = b"".join((b"\1\4\7\1\x08\0\3\1\x08\1\x09\1\x0a", c.signed(-1), b"\x0d\4\x0c\3\2\x0c", c.number(4), c.number(4), b"\0"))
    first = c.FIRST_TYPE
    nested = c.site(first + 2, long, c.block(c.site(first + 3, b"\3\5\4\1", second=True)))
    one = c.symbols(c.procedure("main", 0, 0x20, c.site(first + 1, small, nested), c.site(0x80000000, b"\3\x10\4\4")),
                    c.procedure("ns::same", 0, 0x20, kind=c.S_LPROC32), c.separated(0x40, 8, 0, c.site(first + 4, b"\3\1\4\4\2\1\3\1")),
                    c.thunk("imported", 0x50, 6), c.trampoline(0x58, 5, 0))
    lines = c.lines(0, 0x20, (0, [(0, 3), (4, 4), (8, 0xfeefee)]), (8, [(6, 9), (0x10, 0xf00f00), (0x18, 12)])) + \
        c.lines(0, 0x20, (0, [(0, 30)])) + c.lines(0x40, 0x10, (0, [(0, 5), (4, 6)]), columns=True) + \
        c.lines(0x60, 0x10, (8, [(0, 1), (2, 2)]))
    starts = c.inlinees(*((first + i, 8 * (i % 2), 10 * i) for i in range(1, 5))) + c.inlinees((0x80000000, 8, 70), files=[0, 8])
    two = c.symbols(c.procedure("other", 0x70, 8))
    return [make_pdb.Module("a.obj", one, c13=lines + starts + c.imports(offs[2], 0x80000007) + c.checksums(*offs[:2])),
            make_pdb.Module("B.obj", two, b"c11 ", c.exports((0x80000007, first + 5)))]


def make_codeview(place):
    """Every record by hand; what clang inlines, linked by lld."""
    place.mkdir(parents=True, exist_ok=True)
    c, m = codeview, make_pdb
    names, offs = c.names("/src/a.c", "C:\\src\\b.h", "b.obj")
    types = c.table(c.structure("ns::S"), c.union("U"), c.enumeration("E"), c.structure("New", c.LF_STRUCTURE2))
    first = c.FIRST_TYPE
    ids = c.table(c.string("space"), c.function("in_scope", first), *(c.function("member", first + i, c.LF_MFUNC_ID) for i in range(4)))
    made = {"block": 512, "named": {"/names": names}, "types": types, "ids": ids, "modules": codeview_modules(offs),
            "publics": [("assembly", 1, 0x60), ("_main", 1, 0)]}
    omap = {"omap": [(0, 0), (0x5000, 0x1040), (0x5008, 0x1000), (0x5018, 0)],
            "back": [(0x1000, 0x5020), (0x1010, 0x5000), (0x1018, 0x5000), (0x1030, 0), (0x1040, 0x5000)], "original": [(".text", 0x5000, 0x80, m.CODE)]}
    for name, more in (("plain", {}), ("scattered", {"scatter": True}), ("moved", omap), ("moved forth", {**omap, "back": None})):
        (place / name).write_bytes(m.Pdb(**made, **more).file())
    link_pdb(place, "inlined", """static inline __attribute__((always_inline)) int f(int a) { return a * 3; }
static inline __attribute__((always_inline)) int g(int a) { int b = f(a);\nif (b > 4) b += f(b);\nreturn b; }
int start(int a) { return g(a) + g(f(a)); }
""")


def link_pdb(place, name, text):
    """A PDB file by clang and lld, where these are."""
    clang, lld = peers.find("clang"), peers.find("lld-link")
    if not clang or not lld:
        return
    source, linked = place / f"{name}.c", place / f"{name}.exe"
    source.write_text(text)
    subprocess.run([clang, "--target=x86_64-pc-windows-msvc", "-g", "-gcodeview", "-O1", "-c", source, "-o", place / f"{name}.obj"], check=False)
    subprocess.run([lld, "/debug", "/nodefaultlib", "/entry:start", "/subsystem:console", f"/out:{linked}", f"/pdb:{place}/{name}",
                    place / f"{name}.obj"], check=False)
    for suffix in ("c", "obj", "exe"):
        (place / f"{name}.{suffix}").unlink(missing_ok=True)


def make_macho_files(place):
    """By hand everywhere, and by clang and lld where these are."""
    place.mkdir(parents=True, exist_ok=True)
    m = make_macho
    files = {}
    for name, machine, big in (("arm64", m.ARM64, False), ("ppc", m.PPC, True), ("ppc64", m.PPC64, True),
                               ("armv7", m.ARMV7, False), ("i386", m.I386, False)):
        for kind, filetype in (("dylib", m.MH_DYLIB), ("object", m.MH_OBJECT)):
            files[f"hand-{name}-{kind}"] = data = hand_made(machine, big, filetype)
            (place / f"hand-{name}-{kind}").write_bytes(data)
    slices = [(m.ARM64, files["hand-arm64-dylib"]), (m.PPC, files["hand-ppc-dylib"]), (m.I386, files["hand-i386-object"])]
    for name, wide in (("fat", False), ("fat64", True)):
        (place / f"hand-{name}").write_bytes(m.fat(slices, wide))
        for number, (_, damage) in enumerate(list(containers.fat_damages())[::6]):
            hostile = containers.Fat(wide)
            damage(hostile)
            (place / f"hostile-{name}-{number:02}").write_bytes(hostile.data())
    clang, linker = peers.find("clang") or "clang", peers.find("ld64.lld") or "ld64.lld"
    dsymutil, lipo = peers.find("dsymutil") or "dsymutil", peers.find("llvm-lipo") or "llvm-lipo"
    for name, flags in APPLE.items():
        arch = name.partition("-")[0]
        unlinked, linked = place / f"object-{name}", place / f"dylib-{name}"
        if build([clang, f"--target={arch}-apple-macos12", "-O2", "-g", "-w", "-ffreestanding", "-fno-stack-protector", *flags,
                  "-c", HERE / "seed_stubs.c", "-o", unlinked]) and \
           build([linker, "-arch", arch, "-platform_version", "macos", "12.0", "12.0", "-dylib", "-undefined",
                  "dynamic_lookup", "-o", linked, unlinked]):
            build([dsymutil, "-f", linked, "-o", place / f"dsym-{name}"])
    if (place / "dsym-arm64").exists() and (place / "dsym-x86_64").exists():
        build([lipo, "-create", place / "dsym-arm64", place / "dsym-x86_64", "-output", place / "fat-dsym"])


def put_pair(path, main, other):
    """Both files in one, as neighbours.c takes them."""
    if main.exists() and other.exists():
        data = main.read_bytes()
        path.write_bytes(struct.pack("<I", len(data)) + data + other.read_bytes())


def member(name, data):
    """One of a static library (ar(5))."""
    return b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name, 0, 0, 0, b"644", len(data)) + data + b"\n" * (len(data) & 1)


def make_macho_pairs(place, work):
    """A binary without a dSYM, and the object that it names: alone, in a library, in one for two machines."""
    m = make_macho
    unlinked = hand_made(m.ARM64, False, m.MH_OBJECT)
    long = b"#1/20".ljust(16) + b"%-12d%-6d%-6d%-8s%-10d`\n" % (0, 0, 0, b"644", 20 + len(unlinked)) + b"long_name.o".ljust(20, b"\0")
    library = b"!<arch>\n" + member(b"/", bytes(4)) + member(b"//", b"long_name.o/\n") + member(b"other.o/", unlinked[:99]) + \
        member(b"x.o/", unlinked) + member(b"/0", unlinked) + long + unlinked
    others = {"object": ("x.o", unlinked), "library": ("l.a(x.o)", library), "long-name": ("l.a(long_name.o)", library),
              "fat-library": ("l.a(x.o)", m.fat([(m.X86_64, b"!<arch>\n"), (m.ARM64, library)])),
              "bundle": ("", hand_made(m.ARM64, False, m.MH_DSYM))}
    for name, (path, other) in others.items():
        made = m.Maker(uuid=bytes(range(16)), text=0x4000)
        made.section("__TEXT", "__text", 0x5000, bytes(0x40), m.CODE)
        made.symbols = [m.Symbol("_main", 0x5000)]
        if path:
            made.symbols += [m.Symbol(path, 0, 0x66, 0), m.Symbol("_main", 0x5000, m.N_FUN), m.Symbol("", 0x20, m.N_FUN, 0)]
        (work / "main").write_bytes(made.file())
        (work / "other").write_bytes(other)
        put_pair(place / f"macho-{name}", work / "main", work / "other")


def make_pe_pairs(place, work):
    """Programs and their PDB files: with debug data of their own, and without even symbols."""
    publics = [("main", 1, 0), ("?f@@YAXXZ", 1, 0x20), ("label", 1, 0x30, 0), ("data", 2, 0, 0)]
    for name, own in (("bare", False), ("dwarf", True)):
        made = make_pe.program(dwarf=own, symbols=own)
        made.unwind([(0x1000, 0x1010), (0x1020, 0x1038)])
        (work / "x.exe").write_bytes(made.file())
        (work / "x.pdb").write_bytes(make_pdb.Pdb(publics=publics, block=512, modules=[make_pdb.Module("x.obj", bytes(4))]).file())
        put_pair(place / f"pdb-{name}", work / "x.exe", work / "x.pdb")


def make_package_pairs(place, work):
    """Packages by hand, in both versions of the index, and some whose index is hostile."""
    splitfile.make_skeletons(work / "main", containers.ID, [("missing.dwo", "/nowhere")] * containers.UNITS)
    damages = list(containers.package_damages())[::12]
    for version in (2, 5):
        for number, damage in enumerate((None, *(damage for _, damage in damages))):
            package = containers.Package(version)
            if damage:
                damage(package)
            (work / "dwp").write_bytes(package.data())
            put_pair(place / f"package{version}-{number:02}", work / "main", work / "dwp")


def make_pairs(place, work):
    place.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    make_macho_pairs(place, work)
    make_pe_pairs(place, work)
    make_package_pairs(place, work)
    source = HERE / "seed.c"
    dwp = peers.find("llvm-dwp") or "llvm-dwp"
    for compiler, version in (("gcc", 4), ("gcc", 5), ("clang", 4), ("clang", 5)):
        name = f"{compiler}{version}"
        main, dwo = work / name, work / f"{name}.dwo"
        build([compiler, *BARE, "-O2", f"-gdwarf-{version}", "-gsplit-dwarf", "-c", source, "-o", work / f"{name}.o"])
        build([compiler, *BARE, work / f"{name}.o", "-o", main])
        put_pair(place / f"{name}.dwo", main, dwo)
        pack = ["dwp"] if version == 4 else ["timeout", "10", dwp]
        if compiler == "clang" or version == 4:  # llvm-dwp does not end on those of gcc, version 5
            build([*pack, dwo, "-o", work / f"{name}.dwp"])
            put_pair(place / f"{name}.dwp", main, work / f"{name}.dwp")
    whole, debug = work / "whole", work / "whole.debug"
    if build(["gcc", *BARE, "-O2", "-g", source, "-o", whole]):
        build(["objcopy", "--only-keep-debug", whole, debug])
        shutil.copy(whole, work / "twin")
        build(["dwz", "-m", work / "shared", whole, work / "twin"])
        put_pair(place / "dwz", whole, work / "shared")
        build(["strip", whole])
        put_pair(place / "debug", whole, debug)
    shutil.rmtree(work)


def make_gsym(gsym, elf, place):
    place.mkdir(parents=True, exist_ok=True)
    for path in sorted(elf.iterdir()):
        for version in (1, 2):
            build([gsym, "convert", "--quiet", f"--output-version={version}", path, "-o",
                   place / f"{path.name}.v{version}"])


def make_names(place, names):
    place.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        (place / f"{number:02}").write_text(name)


def make_callsites(place):
    place.mkdir(parents=True, exist_ok=True)
    for name, text in CALLSITES.items():
        (place / name).write_text(text)


def make_filter(place):
    """The logs of the transcript, the table and the samples, of the program that the target has. main() adds GSYM files."""
    place.mkdir(parents=True, exist_ok=True)
    tests = Path(__file__).parent.parent
    transcript = (tests / "golden" / "cases" / "filter.t").read_text()
    for number, row in enumerate(re.findall(r"^\|.*\|$", (tests.parent / "docs" / "logs.md").read_text(), flags=re.M)):
        before = row.replace("\\|", "\0").split("|")[1:-1][-2].replace("\0", "|").strip()
        (place / f"row-{number:02}").write_text(before.replace("<br>", "\n").replace("`", "") + "\n")
    for path in (tests / "golden" / "samples").glob("*.log"):
        (place / f"sample-{path.stem}").write_text(path.read_text().replace("demo", "plain"))
    for number, part in enumerate(transcript.split("\n$ gsym filter")[:-1]):
        log = part.rpartition(">log; cat log\n")[2]
        (place / f"log-{number:02}").write_text(log)


def make_breakpad(place):
    place.mkdir(parents=True, exist_ok=True)
    (place / "whole").write_text(breakpad.WHOLE)
    (place / "inlined").write_text(breakpad.INLINED)
    (place / "old").write_text(breakpad.OLD_INLINED)
    (place / "parents").write_text(breakpad.PARENTS)


def deflated(data, level, strategy=zlib.Z_DEFAULT_STRATEGY):
    """In zlib's format, with a flush between its halves."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 15, 9, strategy)
    half = len(data) // 2
    return packer.compress(data[:half]) + packer.flush(zlib.Z_FULL_FLUSH) + packer.compress(data[half:]) + packer.flush()


def make_compressed(place):
    """Each kind of block that the formats have. In front are the format and the two steps of inflater.c."""
    place.mkdir(parents=True, exist_ok=True)
    text = (HERE / "make_seeds.py").read_bytes()[:6000]
    noise = b"".join((i * i * 2654435761 % (1 << 32)).to_bytes(4, "little") for i in range(200))
    mixed = text + noise + bytes(1500)
    zipped = {"stored": deflated(mixed, 0), "fixed": deflated(mixed, 9, zlib.Z_FIXED), "huffman": deflated(mixed, 9, zlib.Z_HUFFMAN_ONLY),
              "dynamic": deflated(mixed, 9), "runs": deflated(bytes(20000), 9), "empty": zlib.compress(b"")}
    frames = {"raw": frame(noise), "runs": frame(bytes(20000)), "fast": frame(mixed, -5, checksum=1), "slow": frame(mixed, 19, size=0),
              "two": frame(text, checksum=1) + b"\x50\x2a\x4d\x18\3\0\0\0abc" + frame(mixed, 1, size=0), "empty": frame(b"")}
    for number, (kind, files) in enumerate((("zstd", frames), ("zlib", zipped))):
        for name, data in files.items():
            (place / f"{kind}-{name}").write_bytes(bytes([number, 0x61, 2]) + data)


def make_objects(place):
    """Payloads with trailers (store_object.h). The hash is none: store_object.c mends it."""
    place.mkdir(parents=True, exist_ok=True)
    text = (HERE / "make_seeds.py").read_bytes()[:3000]

    def write(name, stored, size, kind=1, flags=1, signature=bytes(96)):
        trailer = signature + bytes(range(32)) + bytes(16) + struct.pack("<QQIII", len(stored), size, kind, flags, 1)
        (place / name).write_bytes(stored + trailer + bytes(76) + b"gsymobj1")

    write("plain", text, len(text), flags=0)
    write("failure", b"converter: not supported\n", 25, kind=2, flags=0)
    write("empty", b"", 0, flags=0)
    write("signed", frame(text, checksum=1), len(text), signature=bytes(range(1, 97)))
    write("runs", frame(bytes(200000)), 200000)
    write("fast", frame(text, -5), len(text))
    write("unsized", frame(text, 3, size=0), len(text))
    write("two", frame(text) + frame(text), 2 * len(text))
    write("skippable", b"\x50\x2a\x4d\x18\3\0\0\0abc" + frame(text), len(text))
    write("large", frame(bytes(300000)), 300000)


def unpack_kept(out):
    """What the fuzzer found beyond the seeds (tests/fuzz/run --keep)."""
    for archive in sorted((HERE / "kept").glob("*.tar.xz")):
        place = out / f"kept-{archive.name.removesuffix('.tar.xz')}"
        place.mkdir()
        with tarfile.open(archive) as tar:
            for member in tar:
                (place / Path(member.name).name).write_bytes(tar.extractfile(member).read())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gsym", help="the gsym program, for seeds that are GSYM files")
    parser.add_argument("--out", required=True, help="directory for the seeds")
    parser.add_argument("--stamp", help="file to write at the end, for build systems")
    options = parser.parse_args()
    out = Path(options.out).absolute()
    shutil.rmtree(out, ignore_errors=True)
    for row in FORMATS:
        (out / row.reader).mkdir(parents=True)
        row.write(out / row.reader)
    make_elf(out / "elf")
    make_golang(out / "golang")
    make_macho_files(out / "macho")
    make_pe_files(out / "pe")
    make_pdb_files(out / "pdb")
    make_codeview(out / "codeview")
    make_pairs(out / "pair", out / "work")
    make_names(out / "name", NAMES)
    make_names(out / "mangled", MANGLED)
    make_callsites(out / "callsites")
    make_objects(out / "object")
    make_breakpad(out / "breakpad")
    make_compressed(out / "compressed")
    make_filter(out / "filter")
    unpack_kept(out)
    if options.gsym:
        make_gsym(str(Path(options.gsym).absolute()), out / "elf", out / "gsym")
        for path in sorted((out / "gsym").iterdir())[:8]:
            shutil.copy(path, out / "filter" / f"gsym-{path.name}")
    if options.stamp:
        Path(options.stamp).write_text("\n".join(sorted(str(p.relative_to(out)) for p in out.rglob("*"))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
