"""Programs with a PDB, built by clang and lld without any SDK: sources, and the ways to build them."""
import subprocess
from dataclasses import dataclass

from . import peers

SOURCES = {
    "util.h": """
#pragma once
#define NOINLINE __attribute__((noinline))
#define INLINE __attribute__((always_inline)) inline
extern "C" int input(int);
extern int counter;
namespace util {
INLINE int half(int x) { return x / 2 + input(x); }
INLINE int twice(int x)
{
	int r = half(x);
#include "twice.inc"
	if (r > 17)
		r += half(r + 1);
	return r * 2 + counter;
}
namespace detail {
template <int N> struct Deep {
	static INLINE int go(int x)
	{
		counter += N;
		return Deep<N - 1>::go(x + N) + twice(x);
	}
};
template <> struct Deep<0> {
	static INLINE int go(int x) { return half(x); }
};
}
}
""",
    "twice.inc": """
	counter += r;
	r ^= input(r);
""",
    "shapes.h": """
#pragma once
#include "util.h"
namespace shapes {
struct Base {
	virtual int area(int) = 0;
	int scale;
};
template <class T, int K> struct Box : Base {
	T side;
	Box(T s) : side(s) { scale = K; }
	struct Iterator {
		T at;
		INLINE bool next(T end)
		{
			at += util::twice(K);
			return at < end;
		}
	};
	NOINLINE int area(int factor) override
	{
		Iterator it{side};
		int sum = 0;
		while (it.next(T(factor)))
			sum += util::detail::Deep<3>::go(int(it.at));
		return sum * scale;
	}
};
}
""",
    "body.inc": """
	sum += util::half(sum);
	counter ^= sum;
	if (sum > 3)
		sum = input(sum);
""",
    "a.cpp": """
#include "shapes.h"
int counter;
extern "C" int other(int);
namespace {
NOINLINE int anonymous(int x)
{
	int sum = x;
#include "body.inc"
	return sum * 3;
}
template <class F> INLINE int apply(F f, int n)
{
	int r = 0;
	for (int i = 0; i < n; i++)
		r += f(i);
	return r;
}
}
template <int N> NOINLINE int many(int x)
{
	shapes::Box<long, N> box(x + N);
	shapes::Base *base = &box;
	return base->area(x) + many<N - 1>(x);
}
template <> NOINLINE int many<0>(int x) { return util::half(x); }
static NOINLINE int same_a(int x) { return input(x + 1) * 5; }
static NOINLINE int same_b(int x) { return input(x + 1) * 5; }
__attribute__((cold, noinline, noreturn)) void failed(int x)
{
	for (;;)
		counter = input(x) + input(counter);
}
int checked(int x)
{
	if (__builtin_expect(x < 0, 0)) {
		counter = util::twice(input(x) + input(counter));
		counter += input(counter + x) * input(3);
		failed(x + counter);
	}
	return util::twice(x);
}
NOINLINE int chosen(int x)
{
	switch (x & 7) {
	case 0: return input(1);
	case 1: return util::half(2);
	case 2: return input(33) + counter;
	case 3: return util::twice(4);
	case 5: return input(counter);
	default: return x;
	}
}
extern "C" int start(int *v)
{
	shapes::Box<int, 2> a(v[0]);
	shapes::Box<short, 5> b(static_cast<short>(v[1]));
	shapes::Base *both[] = {&a, &b};
	int r = both[v[2] & 1]->area(v[3]) + many<6>(v[5]);
	auto lambda = [&](int i) {
		auto inner = [=](int j) { return util::half(i + j) + v[j & 3]; };
		return inner(i) + apply(inner, i);
	};
	r += apply(lambda, v[4]) + anonymous(r) + same_a(r) + same_b(r);
	return r + checked(r) + chosen(r) + other(r);
}
""",
    "b.c": """
static __attribute__((noinline)) int local(int x)
{
	int r = x;
	for (int i = 0; i < x; i++)
		r = r * 31 + i;
	return r;
}
volatile int device;
__attribute__((noinline)) int input(int x)
{
	device = x;
	return device;
}
int other(int x)
{
	int a[4];
	for (int i = 0; i < 4; i++)
		a[i] = local(x + i);
	return a[x & 3] + input(a[1]);
}
int _purecall(void)
{
	return 0;
}
void *memset(void *to, int c, __SIZE_TYPE__ n)
{
	for (volatile char *p = to; n--; p++)
		*p = (char)c;
	return to;
}
void *memcpy(void *to, const void *from, __SIZE_TYPE__ n)
{
	volatile char *p = to;
	for (const char *q = from; n--;)
		*p++ = *q++;
	return to;
}
"""}
COMMON = ["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-stack-protector", "-fno-builtin",
          "-fno-asynchronous-unwind-tables"]


@dataclass
class Build:
    name: str
    machine: str = "x86_64"
    level: str = "-O2"
    compile: tuple = ()
    link: tuple = ()
    mingw: bool = False
    debug: bool = True     # of the compiler; the linker writes a PDB in any case


def matrix():
    for machine in ("x86_64", "i686", "aarch64"):
        for level in ("-O0", "-O1", "-O2"):
            yield Build(f"{machine} {level}", machine, level)
        yield Build(f"{machine} LTO", machine, "-O2", ("-flto",))
    yield Build("columns", compile=("-gcolumn-info",))
    yield Build("identical code folded", compile=("-ffunction-sections",), link=("/opt:icf", "/opt:ref"))
    yield Build("cold code split", compile=("-mllvm", "-hot-cold-split=true", "-mllvm", "-hotcoldsplit-threshold=1"))
    yield Build("types hashed, reproducible", level="-O1", compile=("-gcodeview-ghash",), link=("/debug:ghash", "/brepro"))
    yield Build("mingw x86_64", mingw=True)
    yield Build("mingw i686", "i686", "-O1", mingw=True)


def tools():
    """({program: path}, [what is missing]) of what every build and comparison needs."""
    found = {name: peers.find(name) for name in ("clang", "lld-link", "ld.lld", "llvm-symbolizer", "llvm-pdbutil")}
    missing = [name for name, path in found.items() if not path]
    return found, missing


def write_sources(directory):
    for name, text in SOURCES.items():
        (directory / name).write_text(text)


def _run(argv, directory):
    done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, timeout=600)
    return None if done.returncode == 0 else done.stderr


def build(found, b, directory, sources=("a.cpp", "b.c"), more=()):
    """(program, PDB, None) in @directory, which has the sources; (None, None, why) where it does not work."""
    target = f"{b.machine}-{'w64-mingw32' if b.mingw else 'pc-windows-msvc'}"
    objects = []
    for source in sources:
        out = f"{source}.o"
        debug = ["-g", "-gcodeview"] if b.debug else []
        wrong = _run([found["clang"], f"--target={target}", *COMMON, *debug, b.level, *b.compile, "-c", source, "-o", out], directory)
        if wrong:
            return None, None, wrong
        objects.append(out)
    if b.mingw:
        wrong = _run([found["clang"], f"--target={target}", f"-fuse-ld={found['ld.lld']}", "-nostdlib", *objects, "-Wl,-e,start",
                      "-Wl,--pdb=x.pdb", *b.link, "-o", "x.exe", *more], directory)
    else:
        wrong = _run([found["lld-link"], "/nodefaultlib", "/subsystem:console", "/entry:start", "/debug", *objects, "/out:x.exe",
                      "/pdb:x.pdb", "/pdbaltpath:x.pdb", *b.link, *more], directory)
    return (None, None, wrong) if wrong else (directory / "x.exe", directory / "x.pdb", None)
