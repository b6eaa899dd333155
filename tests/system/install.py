#!/usr/bin/env python3
"""Installs into an empty directory, uses what is there as a stranger would, uninstalls and looks for leftovers.

    install.py MESON NINJA SOURCE_DIR BUILD_DIR PREFIX [--sanitized]

A stranger's program is compiled with what pkg-config says and nothing else: the example of gsym(3), taken from the
page, and examples/roundtrip.cc.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXPECTED = ["bin/gsym", "include/gsym/gsym.h", "share/man/man1/gsym.1", "share/man/man1/gsymfs.1",
            "share/man/man3/gsym.3", "share/man/man5/gsym.5", "share/bash-completion/completions/gsym",
            "share/fish/vendor_completions.d/gsym.fish", "bin/gsym-addr2line", "bin/gsym-symbolizer",
            "libexec/gsymfs/bin/addr2line", "libexec/gsymfs/bin/llvm-addr2line", "libexec/gsymfs/bin/llvm-symbolizer",
            "bin/gsym-flamegraph", "libexec/gsymfs/flamegraph.py", "libexec/gsymfs/perf-fold.py",
            "share/man/man1/gsym-flamegraph.1", "share/man/man1/gsym-addr2line.1", "share/man/man1/gsym-symbolizer.1"]
C_FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
STANDARDS = {"cc": ("c90", "c99", "c17"), "c++": ("c++98", "c++11", "c++20")}
CXX_FLAGS = ["-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror"]


def run(*argv, **kwargs):
    """What a program prints; its failure is ours."""
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, **kwargs)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, argv))}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def example(page):
    """The C program on a manual page."""
    text = re.search(r"^\.Bd -literal\n(#include.*?)^\.Ed", page.read_text(), re.M | re.S)[1]
    return text.replace("\\e", "\\")


class PkgConfig:
    """pkg-config for what is installed below @root."""

    def __init__(self, root):
        (self.pc,) = root.rglob("gsym.pc")
        self.env = dict(os.environ, PKG_CONFIG_PATH=str(self.pc.parent), PKG_CONFIG_SYSROOT_DIR=str(root))

    def __call__(self, *options):
        return run("pkg-config", *options, "gsym", env=self.env).split()


def read_header(flags, scratch):
    """Each standard can read the header, without a warning."""
    program = scratch / "header.c"
    program.write_text("#include <gsym/gsym.h>\n#include <gsym/gsym.h>\n")
    for compiler in filter(shutil.which, STANDARDS):
        for standard in STANDARDS[compiler]:
            run(compiler, "-x", "c" if compiler == "cc" else compiler, "-std=" + standard, *C_FLAGS[1:], "-fsyntax-only", program, *flags)


def use(source, root, scratch):
    """Compiles and runs programs against the library."""
    if not shutil.which("pkg-config") or not shutil.which("cc"):
        print("SKIP: no pkg-config or no cc: no program compiled")
        return
    pkg_config = PkgConfig(root)
    env = dict(os.environ, LD_LIBRARY_PATH=str(pkg_config.pc.parent.parent))
    flags = pkg_config("--cflags", "--libs")
    if "-pthread" not in pkg_config("--static", "--libs"):
        sys.exit("pkg-config --static does not name what the library needs")
    read_header(pkg_config("--cflags"), scratch)
    sample = scratch / "sample.c"
    sample.write_text(example(source / "docs/gsym.3"))
    run("cc", *C_FLAGS, sample, "-o", scratch / "sample", *flags)
    answer = run(scratch / "sample", env=env)
    if answer != "sample at /src/sample.c:7\n":
        sys.exit("the example of gsym(3) printed " + answer)
    if not shutil.which("c++"):
        print("SKIP: no c++: examples/roundtrip.cc not compiled")
        return
    run("c++", *CXX_FLAGS, source / "examples/roundtrip.cc", "-o", scratch / "roundtrip", *flags)
    answer = run(scratch / "roundtrip", env=env)
    if answer != "square(int) at /src/shape.cc:3\n (inlined by) area(int) at /src/shape.cc:11\n":
        sys.exit("examples/roundtrip.cc printed " + answer)


def manuals(root):
    """Each page that a page refers to is there, if it is ours."""
    for page in (root / "share/man").rglob("*.*"):
        for name, section in re.findall(r"^\.Xr (gsym[\w-]*) (\d)", page.read_text(), re.M):
            if not (root / f"share/man/man{section}/{name}.{section}").exists():
                sys.exit(f"{page.name} refers to {name}({section}), which is not installed")


def symbolizers(root, scratch):
    """The program answers under its other names, through the links."""
    code = scratch / "linked.c"
    code.write_text("int main(void) { return 0; }\n")
    run("cc", "-g", "-o", scratch / "linked", code)
    env = dict(os.environ, GSYMFS_CACHE=str(scratch / "cache"))
    for link in (root / "libexec/gsymfs/bin").iterdir():
        # It names where the program is going to be, which is not below an empty directory.
        if not (root / "bin" / link.readlink().name).exists() or link.readlink().name != "gsym":
            sys.exit(f"{link.name} is a link to {link.readlink()}")
    answer = run(root / "bin/gsym-addr2line", "-fe", scratch / "linked", "main", env=env)
    if answer != f"main\n{code}:1\n":
        sys.exit(f"gsym-addr2line printed {answer}")


def main():
    meson, ninja, source, build, prefix = sys.argv[1:6]
    source, log = pathlib.Path(source), pathlib.Path(build) / "meson-logs/install-log.txt"
    real_log = log.read_bytes() if log.exists() else None
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        dest = scratch / "root"
        root = dest / prefix.lstrip("/")
        try:
            run(*meson.split(), "install", "-C", build, "--no-rebuild", "--destdir", dest)
            installed = sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir())
            missing = [path for path in EXPECTED if path not in installed]
            if missing:
                sys.exit(f"not installed: {missing}; installed is {installed}")
            manuals(root)
            if shutil.which("cc"):
                symbolizers(root, scratch)
            if "--sanitized" in sys.argv:
                print("SKIP: built with a sanitizer: no program compiled")
            else:
                use(source, dest, scratch)
            run(ninja, "-C", build, "uninstall")
            left = sorted(str(p.relative_to(dest)) for p in dest.rglob("*") if not p.is_dir() or p.is_symlink())
            if left:
                sys.exit(f"left by uninstall: {left}")
        finally:
            # A user's own "ninja uninstall" goes by this file.
            if real_log is not None:
                log.write_bytes(real_log)
            elif log.exists():
                log.unlink()
        print(f"{len(installed)} files installed and uninstalled")


main()
