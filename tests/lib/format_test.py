"""What tests of one source format share: a file is converted, and answers are compared with what they must be."""
import subprocess

from . import frames, peers

failures = []  # a line each


def convert(gsym, path, out, *options, limits=()):
    """@limits: a command in front, see peers.limited()."""
    return subprocess.run([*limits, gsym, "convert", *map(str, options), str(path), "-o", str(out)], capture_output=True, text=True,
                          timeout=600)


def show(answer):
    return [f"{f.name} {f.file}:{f.line}" if f.file else f.name for f in answer]


def names(answer):
    return [f.name for f in answer]


def compare(gsym, what, path, expected, base=0, options=(), show=show, limits=()):
    """@expected: address from @base -> frames as @show has them. Returns the conversion."""
    out = f"{path}.gsym"
    done = convert(gsym, path, out, *options, limits=limits)
    if done.returncode:
        failures.append(f"{what}: exit {done.returncode}: {done.stderr}")
        return done
    for (address, wanted), answer in zip(expected.items(), frames.gsym(gsym, out, [base + address for address in expected])):
        if show(answer) != wanted:
            failures.append(f"{what}: {address:#x} is {show(answer)}, not {wanted}")
    return done


def run(arguments, checks):
    """Status of a test that is called with the program and, if not all are wanted, names of @checks."""
    gsym, *wanted = arguments
    for check in checks:
        if not wanted or check.__name__ in wanted:
            check(peers.gsym_program(gsym))
    print("\n".join(failures) or "all as expected")
    return bool(failures)
