"""The kinds of hosts that gsymfs is built for and run on here, under Debian's names."""
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXIT_0 = b"\xb8\x01\0\0\0\x31\xdb\xcd\x80"  # mov $1, %eax; xor %ebx, %ebx; int $0x80


@dataclass(frozen=True)
class Machine:
    name: str
    why: str
    triplet: str           # of Debian's cross compiler; that of libraries, but for i386
    loader: str            # the program interpreter, below /lib
    filter: str            # its name for tests/unit/work/sandbox/check_call_filter.c
    interpreter: str = ""  # qemu's name; without one the kernel of an x86-64 host runs its programs itself
    missing: tuple = ()    # packages of tests/packages that Debian has not for it
    is_32: bool = False
    is_big: bool = False   # byte order

    @property
    def multiarch(self):
        return self.triplet.replace("i686", "i386")

    @property
    def packages(self):
        """What the host of the tests needs."""
        return [f"gcc-{self.triplet}"] + (["qemu-user-static"] if self.interpreter else [])

    @property
    def is_refused(self):
        """Whether the kernel has to run its programs itself, and does not."""
        return not self.interpreter and not runs_i386()

    @property
    def cross_file(self):
        return HERE / "cross" / f"{self.name}.ini"


def runs_i386():
    """Whether a program of 32 bits can be executed: of one segment, that only exits."""
    base, headers = 0x8048000, 52 + 32
    header = struct.pack("<16s2H5I6H", b"\x7fELF\x01\x01\x01", 2, 3, 1, base + headers, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    size = headers + len(EXIT_0)
    segment = struct.pack("<8I", 1, 0, base, base, size, size, 5, 4096)
    with tempfile.TemporaryDirectory(prefix="gsymfs-hosts-") as place:
        program = Path(place) / "program"
        program.write_bytes(header + segment + EXIT_0)
        program.chmod(0o700)
        try:
            return subprocess.run([program], check=False).returncode == 0
        except OSError:
            return False


MACHINES = {machine.name: machine for machine in (
    Machine("arm64", "most hosts that are not x86-64", "aarch64-linux-gnu", "ld-linux-aarch64.so.1", "aarch64", "aarch64"),
    Machine("s390x", "big endian", "s390x-linux-gnu", "ld64.so.1", "s390x", "s390x", is_big=True),
    Machine("i386", "32 bits, run by the kernel itself: seccomp and Landlock, too", "i686-linux-gnu", "ld-linux.so.2", "x86",
            missing=("libisal-dev",), is_32=True),
    Machine("armhf", "32 bits, and 64-bit integers that must be aligned", "arm-linux-gnueabihf", "ld-linux-armhf.so.3", "arm", "arm",
            is_32=True),
)}
