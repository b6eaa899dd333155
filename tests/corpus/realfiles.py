"""Debug files that Debian packages install, found by the build ids of what they belong to."""
import glob
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib.elf import Elf  # noqa: E402


def _by_build_id(pattern):
    """The separate debug file of the first existing file that matches @pattern."""
    for path in sorted(glob.glob(pattern)):
        build_id = Elf(os.path.realpath(path)).build_id()
        debug = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug" if build_id else ""
        if os.path.exists(debug):
            return debug
    return None


def _newest(pattern):
    found = [p for p in glob.glob(pattern) if os.path.isfile(p)]
    return max(found, key=os.path.getmtime) if found else None


def _multiarch():
    done = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True)
    return done.stdout.strip() or "*"


def real_files():
    """[(name, Debian package, path or None)]: from C with assembly over C++ to a large interpreter."""
    libs = f"/lib/{_multiarch()}"
    return [
        ("libc", "libc6-dbg", _by_build_id(f"{libs}/libc.so.6")),
        ("libm", "libc6-dbg", _by_build_id(f"{libs}/libm.so.6")),
        ("ld.so", "libc6-dbg", _by_build_id("/lib*/ld-linux*.so.*")),
        ("libstdc++", "libstdc++6-12-dbg", _newest(f"/usr{libs}/debug/libstdc++.so.6*")),
        ("python3.11", "python3.11-dbg", _by_build_id("/usr/bin/python3.11")),
        ("python3.11d", "python3.11-dbg", _newest("/usr/bin/python3.11d")),
    ]


def kernel():
    """The newest installed vmlinux with debug data, or None."""
    return _newest("/usr/lib/debug/boot/vmlinux-*") or _newest("/usr/lib/debug/lib/modules/*/vmlinux")
