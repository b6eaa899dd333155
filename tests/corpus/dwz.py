#!/usr/bin/env python3
"""Real debug files, packed by dwz: thousands of small units that refer to one another, and take turns with a few tables
of abbreviations. Each converts to the same bytes as before.

    dwz.py --gsym GSYM
"""
import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import realfiles  # noqa: E402


def run(*argv):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, argv))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsym", required=True, help="the gsym program")
    options = parser.parse_args()
    if not shutil.which("dwz"):
        print("SKIP: no dwz")
        return 77
    failed = tried = 0
    with tempfile.TemporaryDirectory() as place:
        for name, package, path in realfiles.real_files():
            if not path:
                print(f"SKIP: {name}: package {package} is not installed")
                continue
            plain, packed = Path(place) / "plain", Path(place) / "packed"
            run("objcopy", "--decompress-debug-sections", path, plain)
            shutil.copy(plain, packed)
            if subprocess.run(["dwz", packed], stderr=subprocess.DEVNULL, check=False).returncode:
                print(f"SKIP: {name}: dwz cannot pack it")
                continue
            tried += 1
            said = run(options.gsym, "convert", "-o", f"{packed}.gsym", packed)
            run(options.gsym, "convert", "-o", f"{plain}.gsym", plain)
            same = Path(f"{plain}.gsym").read_bytes() == Path(f"{packed}.gsym").read_bytes()
            failed += not same
            print(f"{'ok' if same else 'FAIL'} {name}: {plain.stat().st_size} bytes, packed {packed.stat().st_size}")
            if not same:
                print(said)
    return 1 if failed else 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
