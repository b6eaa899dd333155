#!/usr/bin/env python3
"""The same text as llvm-gsymutil: dumps and lookups of a file of ours and of one that it wrote.

    peer.py GSYM MAKE_INPUTS ELF
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lib import peers  # noqa: E402


def output(*argv, stdin=None):
    done = subprocess.run([str(a) for a in argv], input=stdin, capture_output=True, text=True, timeout=300)
    return done.stdout


def starts(dump):
    """Addresses at, within and behind the functions of a dump; the fourth byte is where calls return in inputs."""
    for line in dump.splitlines():
        if line.startswith("FunctionInfo @ "):
            low, high = (int(word.strip("[),"), 16) for word in line.split(": ", 1)[1].split(") ")[0].split(" - "))
            yield from {low, low + 1, low + 4, low + 8, (low + high) // 2, high - 1, high}


def compare(what, ours, theirs):
    same = ours == theirs
    print(f"{'ok' if same else 'not ok'}: {what}, {len(ours.splitlines())} lines")
    if not same:
        pairs = zip(ours.splitlines(), theirs.splitlines())
        print(next((f"  ours:   {a}\n  theirs: {b}" for a, b in pairs if a != b), "  one ends before the other"))
    return same


def compare_file(gsym, peer, path):
    dump = output(peer, path)
    ok = compare(f"dump of {path.name}", output(gsym, "dump", path), dump)
    addresses = sorted(set(starts(dump)))
    ours = output(gsym, "lookup", "--format=gsymutil", path, stdin="".join(f"{a:#x}\n" for a in addresses))
    theirs = output(peer, "--addresses-from-stdin", stdin="".join(f"{a:#x} {path}\n" for a in addresses))
    ok &= compare(f"lookups in {path.name}, from standard input", ours, theirs)
    ours = output(gsym, "lookup", "--format=gsymutil", "--addresses-from-stdin", stdin="".join(f"{a:#x} {path}\n" for a in addresses))
    ok &= compare(f"lookups in {path.name}, from standard input with files", ours, theirs)
    some = addresses[:200]
    ours = output(gsym, "lookup", "--format=gsymutil", path, *(f"{a:#x}" for a in some))
    theirs = output(peer, path, *(f"--address={a:#x}" for a in some))
    ok &= compare(f"lookups in {path.name}, from arguments", ours, theirs)
    return ok & compare_merged(gsym, peer, path, addresses)


def compare_merged(gsym, peer, path, addresses):
    """Addresses that llvm finds: of others it says nothing."""
    given = [f"{a:#x}" for a in addresses]
    found = [a for a, line in zip(given, output(gsym, "lookup", path, *given, "--format=json").splitlines())
             if '"Source"' in line]
    ok = True
    for options in ((), ("--merged-functions-filter=one|main",), ("--merged-functions-filter=_b$",
                                                                 "--merged-functions-filter=^f_")):
        ours = output(gsym, "lookup", "--format=gsymutil", "--merged-functions", *options, path,
                      stdin="".join(f"{a}\n" for a in found))
        theirs = output(peer, "--addresses-from-stdin", "--merged-functions", *options,
                        stdin="".join(f"{a} {path}\n" for a in found))
        ok &= compare(f"merged functions in {path.name} {' '.join(options)}", ours, theirs)
    return ok


CALLSITES = """functions:
  - name: work
    callsites:
      - return_offset: 0x3
        match_regex: ["^f[0-9]+$", 'it''s', plain]
        flags: [InternalCall, ExternalCall]
      - match_regex: []
        return_offset: 2
        flags: [ExternalCall]
  - {name: main, callsites: [{return_offset: 1, match_regex: [work, ""], flags: []}]}
  - name: main
  - callsites: [{return_offset: 0x01, match_regex: [again], flags: [InternalCall]}]
    name: main
"""


def compare_listed(gsym, peer, elf, directory):
    """Call sites that a file lists: the same from both, whoever reads them."""
    listed = directory / "sites.yaml"
    listed.write_text(CALLSITES)
    ours, theirs = directory / "listed.gsym", directory / "listed.theirs.gsym"
    peers.run([gsym, "convert", "--quiet", f"--callsites-yaml-file={listed}", "-o", ours, elf])
    peers.run([peer, "--num-threads=1", f"--convert={elf}", f"--out-file={theirs}", f"--callsites-yaml-file={listed}"])
    def sites(*argv):
        return "".join(line + "\n" for line in output(*argv).splitlines() if " Flags[" in line)
    ok = compare("call sites from a file, both dumped by ours", sites(gsym, "dump", ours), sites(gsym, "dump", theirs))
    return ok & compare_file(gsym, peer, ours)


def main():
    gsym, make_inputs, elf = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    peer = peers.need("llvm-gsymutil", "llvm-22")
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        subprocess.run([make_inputs, directory], check=True)
        theirs = directory / "theirs.gsym"
        subprocess.run([peer, f"--convert={elf}", f"--out-file={theirs}"], check=True, capture_output=True)
        paths = [directory / "plain.gsym", directory / "merged.gsym", theirs]
        results = [compare_file(gsym, peer, path) for path in paths]
        results.append(compare_listed(gsym, peer, elf, directory))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
