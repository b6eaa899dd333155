"""The kinds of hosts that gsymfs is built for and run on here, under Debian's names."""
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Machine:
    name: str
    why: str
    triplet: str           # of Debian's cross compiler; that of libraries, but for i386
    loader: str            # the program interpreter, below /lib
    filter: str            # its name for tests/unit/convert/check_call_filter.c
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
    def cross_file(self):
        return HERE / "cross" / f"{self.name}.ini"


MACHINES = {machine.name: machine for machine in (
    Machine("arm64", "most hosts that are not x86-64", "aarch64-linux-gnu", "ld-linux-aarch64.so.1", "aarch64", "aarch64"),
    Machine("s390x", "big endian", "s390x-linux-gnu", "ld64.so.1", "s390x", "s390x", is_big=True),
    Machine("i386", "32 bits, run by the kernel itself: seccomp and Landlock, too", "i686-linux-gnu", "ld-linux.so.2", "x86",
            missing=("libisal-dev",), is_32=True),
    Machine("armhf", "32 bits, and 64-bit integers that must be aligned", "arm-linux-gnueabihf", "ld-linux-armhf.so.3", "arm", "arm",
            is_32=True),
)}
