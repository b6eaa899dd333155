"""Wall time and peak memory of a child process, as the kernel reports them."""
import os
import subprocess
import time


def once(argv, stdin=None, stdout=subprocess.DEVNULL, env=None):
    """(seconds, peak resident KiB, exit status) of one run; @stdin is a path or None."""
    source = open(stdin, "rb") if stdin else subprocess.DEVNULL
    begin = time.perf_counter()
    child = subprocess.Popen([str(a) for a in argv], stdin=source, stdout=stdout,
                             stderr=subprocess.DEVNULL, env=env,
                             preexec_fn=lambda: None)  # fork(): vfork() would pass our own peak on
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if stdin:
        source.close()
    return seconds, usage.ru_maxrss, child.returncode


def best(argv, runs=5, **options):
    """(least seconds, least peak KiB) of @runs runs; a run that fails raises."""
    results = []
    for _ in range(runs):
        seconds, peak, status = once(argv, **options)
        if status != 0:
            raise RuntimeError(f"exit {status}: {' '.join(str(a) for a in argv)}")
        results.append((seconds, peak))
    return min(r[0] for r in results), min(r[1] for r in results)


def best_both(argv, runs=5, stdin=None):
    """(least wall seconds, least seconds of CPU time, user's and system's) of @runs runs."""
    least = [float("inf")] * 2
    for _ in range(runs):
        with open(stdin or os.devnull, "rb") as source:
            begin = time.perf_counter()
            child = subprocess.Popen([str(a) for a in argv], stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"exit {child.returncode}: {' '.join(str(a) for a in argv)}")
        least = [min(least[0], wall), min(least[1], usage.ru_utime + usage.ru_stime)]
    return tuple(least)


def best_cpu(argv, runs=5, stdin=None):
    """Least seconds of CPU time of @runs runs: other programs disturb it less than wall time."""
    return best_both(argv, runs, stdin)[1]


def cpu_of(pid):
    """Seconds of CPU time that a running process, all of its threads, has had."""
    return time.clock_gettime(~pid << 3 | 2)  # its clock, as clock_getcpuclockid(3) gives it
