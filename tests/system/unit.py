#!/usr/bin/env python3
"""The service as systemd reads it, and no setting in it that would hide the mount.

    unit.py UNIT EXAMPLE_CONF
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Each gives the service a mount namespace of its own, which nothing mounted there leaves.
HIDING = ("PrivateTmp", "PrivateDevices", "PrivateMounts", "ProtectSystem", "ProtectHome", "ProtectKernelTunables",
          "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "ProtectProc", "ReadOnlyPaths", "InaccessiblePaths",
          "ReadWritePaths", "BindPaths", "BindReadOnlyPaths", "TemporaryFileSystem", "RootDirectory", "DynamicUser",
          "MountFlags", "MountAPIVFS", "PrivateUsers")


def main():
    unit, example = map(pathlib.Path, sys.argv[1:3])
    text = unit.read_text()
    settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
    faults = [f"{name} hides the mount" for name in HIDING if settings.get(name, "no") not in ("no", "false")]
    if settings.get("Type") != "notify":
        faults.append("Type is not notify")
    names = set(re.findall(r"\$\{(\w+)\}", settings.get("ExecStart", "")))
    told = set(re.findall(r"^(\w+)=", example.read_text(), re.M))
    if names != told:
        faults.append(f"{example.name} sets {sorted(told)}, the service uses {sorted(names)}")
    if shutil.which("systemd-analyze"):
        with tempfile.TemporaryDirectory() as directory:
            # The program is not installed where the unit says; any other will do.
            copy = os.path.join(directory, unit.name.replace("@", "@test"))
            with open(copy, "w", encoding="utf-8") as file:
                file.write(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.M))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True,
                                  timeout=300, check=False)
            said = [line for line in (done.stdout + done.stderr).splitlines() if "gsymfs" in line]
            if done.returncode and not said:
                print("SKIP: systemd-analyze does not run here:", done.stderr.strip()[:200])
            faults += said
    else:
        print("SKIP: no systemd-analyze")
    print("\n".join(faults) or "good")
    sys.exit(bool(faults))


main()
