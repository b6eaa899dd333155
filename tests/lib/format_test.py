"""What tests of one source format share: a file is converted, and answers are compared with what they must be."""
import pathlib
import subprocess

from . import frames, peers, strict_gsym

failures = []  # a line each
READ_TWICE = 2 << 20  # bytes of a GSYM file that the second reader takes no more than seconds for


def faults(gsym, path):
    """What `gsym verify` and the second reader have to say of a GSYM file: a line each."""
    done = subprocess.run([gsym, "verify", str(path)], capture_output=True, text=True, timeout=600)
    if done.stderr.endswith("No such file or directory\n"):
        return []  # there are no functions, or several files
    data = pathlib.Path(path).read_bytes()
    other = strict_gsym.refusal(data) if len(data) < READ_TWICE else None
    return [f"gsym verify: {done.stdout}{done.stderr}"] * bool(done.returncode) + [f"{path}: {other}"] * bool(other)


def convert(gsym, path, out, *options, limits=()):
    """@limits: a command in front, see peers.limited(). What is made has no fault."""
    done = subprocess.run([*limits, gsym, "convert", *map(str, options), str(path), "-o", str(out)], capture_output=True, text=True,
                          timeout=600)
    if not done.returncode:
        failures.extend(f"{path} {' '.join(map(str, options))}: {fault}" for fault in faults(gsym, out))
    return done


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
