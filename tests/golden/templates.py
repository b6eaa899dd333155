#!/usr/bin/env python3
"""Template arguments rebuilt from DWARF: one program built by clang with and without -gsimple-template-names, whose
functions have the same names then, byte for byte.

    templates.py GSYM

Linkage names and symbols, which would win, are taken out of both builds.
"""
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib import elf, peers  # noqa: E402

LINKAGE_NAME, DESCRIPTION, IMPLICIT_CONST = 0x6e, 0x5a, 0x21
TYPES = """void|const int|const int *|int *const|volatile int|const volatile int *const volatile *|int &|int &&|const int &|int[3]|int[]
const int[3][4]|int (*)[3]|int (&)[3]|int *[3]|int *const[3]|const int (*)[2]|int (*(*)[3])(int)|int (*(&)[2][3])(char)|int (*(*())[2])(int)
int(int)|int()|int(int, ...)|int (*)(int, char)|int (&)(int, ...)|void (*(*)(int))(char)|int (*const *)(int)|void (*)(int (*)(char), int (&)[3])
void (ns::A::*)(int)|int (ns::A::*)(int) const|int (ns::A::*)() volatile|int (ns::A::*)() &|int (ns::A::*)() const &&|int ns::A::*
int (ns::A::*const)(int)|int (ns::A::*ns::A::*)(char)|int (*ns::A::*)(char)|int(int) const|int() const volatile &|int *__restrict
int *const __restrict|E|EC|Alias|Array|Un|Hid|Hid (Hid::*)(Hid *, ...)|inner::H2 *|decltype(nullptr)|bool|char16_t|wchar_t|__int128|long double
_Complex float|_Complex double *|const _Complex long double|ns::Box<int, 4>::In|ns::Box<int, 4>::In *|ns::Box<ns::Box<int (*)(ns::Box<char>)>>|Outer<int>::Inner<Outer<char>> *|Pack<>|Pack<int, Pack<>>
Pack<const Pack<int> &&, int (&&)[2]>|Opaque<int>|ns::Box<int> *__restrict &|Late|unsigned char|unsigned long long|Named::Type|Named::Enum""".replace("\n", "|")
VALUES = r"""1|-1|1u|1l|1ul|-1ll|1ull|(short)-3|(unsigned short)3|true|'a'|'\n'|'\''|'\\'|(char)200|(signed char)-3|(unsigned char)'x'|(unsigned char)250
u'x'|u'\xffff'|U'\x1f600'|L'y'|(wchar_t)-1|L'\xe9'|E1|EC::B|(E)3|nullptr|&global|fn|'\x1'|'"'|'\x7f'|(char)-1|'\0'|&ns::A::x""".replace("\n", "|")
SOURCE = r"""
#define FN __attribute__((noinline))
volatile int sink;
namespace ns { inline namespace v1 {
struct A { int x; template <class T> FN int m(T t) { return sink += sizeof t; } };
template <class T, int N = 3> struct Box {
	T v;
	FN int get() { return sink += N; }
	template <class U> FN int conv(U u) { return sink += sizeof(u) + N; }
	struct In { FN int deep() { return sink += N; } };
	__attribute__((always_inline)) int inlined() { return sink += N * 2; }
	FN Box() { sink--; } FN ~Box() { sink++; }
};
} }
namespace { struct Hid { int q; }; namespace inner { struct H2 {}; } template <class T> FN int anon(T t) { return sink += sizeof t; } }
enum E { E0, E1 = -5 }; enum class EC : unsigned char { A, B = 200 }; typedef int Alias, Array[3]; union Un { int a; };
struct Named { struct Type {}; enum Enum { q }; };
int global; int fn(int x) { return x; }
template <class... T> struct Pack {}; template <class T> struct Opaque; typedef Opaque<Opaque<int> > Late;
template <class T> struct Outer { template <class U> struct Inner { template <class V> FN int f() { return ++sink; } }; };
template <> struct Outer<double> { FN int full() { return ++sink; } };
template <class T> struct Outer<T *> { FN int partial() { return ++sink; } };
template <class T> struct Op { FN int operator()(T) { return ++sink; } FN int operator<<(int) { return ++sink; } FN int operator->*(int) { return ++sink; }
	template <class U> FN int operator<<(U) { return ++sink; } template <class U> FN operator U() { return U(); }
	template <class U> FN bool operator<(U) { return ++sink; } };
template <class T> FN int one() { return ++sink; }
template <class T> __attribute__((always_inline)) inline int inlined() { sink += 1; return sink * 2; }
template <auto V> FN int val() { return ++sink; }
template <class T, T V> FN int typed() { return ++sink; }
template <class... T> FN int pack(T... t) { return sink += sizeof...(t); }
template <class A, class... T> FN int pack2(A, T... t) { return sink += sizeof...(t); }
template <int... I> FN int ints() { return sink += sizeof...(I); }
template <template <class, int> class T> FN int of_template() { return ++sink; }
template <template <class...> class... T> FN int of_templates() { return ++sink; }
template <class T> FN int local(T) { struct L { FN int run() { return one<L>(); } }; return L().run(); }
template <class T> int lambda(T t) { return [&](auto u) __attribute__((noinline)) { return sink += u; }(t); }
template <class T> static FN int internal(T) { return ++sink; }
struct Made { template <class T> FN Made(T) { ++sink; } };
int main()
{
	ns::A a; a.m(1); a.m("x"); a.m(nullptr);
	ns::Box<int> b; b.get(); b.conv(1.5f); b.conv(&b); b.inlined();
	ns::Box<ns::Box<unsigned char, 5>, -2> bb; bb.get(); bb.conv(bb.v); bb.inlined(); bb.v.inlined();
	ns::Box<int, 4>::In in; in.deep(); anon(1); anon(Hid()); anon(inner::H2());
	pack(); pack(1, 2.0, 'c', "s"); pack2(1); pack2(1, Hid()); ints<>(); ints<1, -2, 3>();
	of_template<ns::Box>(); of_templates<>(); of_templates<Pack, Opaque>();
	typed<EC, EC::A>(); typed<unsigned long, 18446744073709551615ul>(); typed<E, E0>(); typed<long, (-9223372036854775807L - 1)>();
	Op<int> o; o(1); o << 1; o ->* 1; o << "s"; (void)(long)o; (void)(ns::Box<char>)o; o < 'c';
	Outer<int>::Inner<char> oi; oi.f<long>(); Outer<double>().full(); Outer<char *>().partial();
	local(1); local('c'); lambda(1); internal(1); internal(Hid()); Made(2.5), Made("x");
	auto l = [](int q) __attribute__((noinline)) { return sink += q; }; l(3); one<decltype(l)>(); pack(l);
	struct Local { int z; } ll; one<Local>(); anon(ll); struct { int k; } un; one<decltype(un)>(); enum { ue }; one<decltype(ue)>();
	inlined<int>(); inlined<Hid>(); inlined<Pack<ns::Box<int>>>();
@USES@
}
"""
PROGRAM = SOURCE.replace("@USES@", "\n".join([f"\tone<{t}>();" for t in TYPES.split("|")] + [f"\tval<{v}>();" for v in VALUES.split("|")]))


# clang before 16 wrote enumerators by name.
ENUMERATORS = {"<EC, EC::A>": "<EC, (EC)0>", "<E, E0>": "<E, (E)0>", "<E1>": "<(E)-5>", "<EC::B>": "<(EC)200>"}


def uleb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 0x7f) << shift, shift + 7
        if byte < 0x80:
            return value, at


def without_linkage_names(path):
    """Makes them descriptions, which nobody reads, and takes the symbol table away."""
    data = bytearray(path.read_bytes())
    headers, = struct.unpack_from("<Q", data, 40)
    for i, section in enumerate(elf.Elf(path).sections):
        if section.type == elf.SHT_SYMTAB:
            struct.pack_into("<I", data, headers + 64 * i + 4, elf.SHT_PROGBITS)
        if section.name != ".debug_abbrev":
            continue
        at, end = section.offset, section.offset + section.size
        while at < end:
            code, at = uleb(data, at)
            if not code:
                continue
            at = uleb(data, at)[1] + 1
            attribute = form = None
            while attribute != 0 or form != 0:
                place = at
                attribute, at = uleb(data, at)
                form, at = uleb(data, at)
                if form == IMPLICIT_CONST:
                    at = uleb(data, at)[1]
                if attribute == LINKAGE_NAME:
                    data[place] = DESCRIPTION
    path.write_bytes(data)


def functions(gsym, clang, directory, *options):
    """The functions and inlined calls of the program, as `gsym dump` prints them."""
    source, image, out = (Path(directory) / name for name in ("t.cc", "t", "t.gsym"))
    source.write_text(PROGRAM)
    subprocess.run([clang, "-std=c++20", "-O1", "-g", "-w", *options, source, "-o", image], check=True)
    without_linkage_names(image)
    subprocess.run([gsym, "convert", "--quiet", "-o", out, image], check=True, timeout=120)
    told = subprocess.run([gsym, "dump", out], check=True, capture_output=True, text=True).stdout
    return re.sub(r"FunctionInfo @ \w+: ", "", told[told.index("FunctionInfo"):]).splitlines()


def main():
    gsym, clang = peers.gsym_program(sys.argv[1]), peers.need("clang++", "clang")
    with tempfile.TemporaryDirectory() as directory:
        whole = functions(gsym, clang, directory, "-gno-simple-template-names")
        rebuilt = functions(gsym, clang, directory, "-gsimple-template-names")
    for name, value in ENUMERATORS.items():
        whole = [line.replace(name, value) for line in whole]
    bad = [f"stored: {a}\nrebuilt: {b}" for a, b in zip(whole, rebuilt) if a != b]
    names = sum(line.startswith("[") for line in whole)
    if bad or len(whole) != len(rebuilt) or names < 150:
        print("\n".join(bad))
        sys.exit(f"{len(bad)} lines differ; {names} functions, {len(whole)} lines and {len(rebuilt)}")


if __name__ == "__main__":
    main()
