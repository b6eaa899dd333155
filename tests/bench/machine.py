"""What a run was made on and with: lines of text by name."""
import os
import platform
import re
import subprocess
from pathlib import Path


def _first(pattern, text, missing="unknown"):
    found = re.search(pattern, text, re.M)
    return found[1].strip() if found else missing


def _output(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, errors="replace").stdout
    except OSError:
        return ""


def _memory():
    kib = int(_first(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), "0"))
    return f"{kib / (1 << 20):.0f} GiB"


def machine():
    cpus = Path("/proc/cpuinfo").read_text()
    release = Path("/etc/os-release")
    hypervisor = _first(r"^Hypervisor vendor:\s*(.*)$", _output("lscpu"), "")
    return {
        "processor": _first(r"^model name\s*: (.*)$", cpus, platform.processor() or platform.machine()) +
                     (f", virtual machine ({hypervisor})" if hypervisor else ""),
        "processors for this run": str(len(os.sched_getaffinity(0))),
        "L3 cache": _first(r"^L3 cache:\s*(.*)$", _output("lscpu")),
        "memory": _memory(),
        "kernel": platform.release(),
        "system": _first(r'^PRETTY_NAME="?([^"\n]*)', release.read_text() if release.exists() else ""),
        "load before the run": f"{os.getloadavg()[0]:.1f}",
    }


def versions(tools, build):
    """@tools: {name: path}; @build: gsymfs's build directory, whose compiler is told."""
    log = Path(build) / "meson-logs/meson-log.txt"
    compiler = _first(r"^C compiler for the host machine: (.*)$", log.read_text(errors="replace") if log.exists() else "")
    found = {"gsymfs": _first(r"^\S+ (.*)$", _output(tools["gsym"], "--version"))}
    kind = _first(r'"name": "buildtype", "value": "(\w+)"', _output("meson", "introspect", "--buildoptions", str(build)))
    found["built by"] = f"{_first(r'[(](.*? [0-9.]+) ', compiler)}, {kind}"  # "ccache gcc (gcc 12.2.0 "gcc (Debian..."
    for name in ("llvm-gsymutil", "llvm-symbolizer", "eu-addr2line"):
        if tools.get(name):
            found[name] = _first(r"(\d+\.\d+[.\d]*)", _output(tools[name], "--version"))
    return found

