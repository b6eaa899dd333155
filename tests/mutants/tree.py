"""A private copy of the tree, its build, and its tests."""
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

WAIT_LIMIT = 60  # seconds until a wait of a mount test counts as hung; its own default is longer
FUZZ_RUNS = 2000
# A mutant hangs if it takes this many times as long as without the change, and some seconds more.
SLOWER, SLACK_SECONDS = 6, 20
LINK_FREE = ("--buildtype=plain", "-Doptimization=0", "-Ddebug=false", "-Dwarning_level=0")


def with_fixtures(source, sources):
    """The text of a unit test in the tree @source, and of the fixtures that it includes."""
    texts = [p.read_text() for p in sources]
    for path in sources:
        for name in re.findall(r'^#include "(tests/unit/[\w/]+)\.h"', path.read_text(), re.MULTILINE):
            texts += [p.read_text() for p in (source / f"{name}.h", source / f"{name}.c") if p.exists()]
    return texts


class Test:
    """One test as meson knows it."""

    def __init__(self, row, outputs, source):
        self.name, self.suite = row["name"], row["suite"][0].split(":")[-1]
        self.command = [sys.executable if word.endswith("/python3") else word for word in row["cmd"]]
        self.env, self.timeout = row["env"], row["timeout"] or 30
        self.targets = [outputs[d] for d in row["depends"] if d in outputs]
        if self.suite == "fuzz":
            self.command = [re.sub(r"^-runs=\d+", f"-runs={FUZZ_RUNS}", word) for word in self.command]
        if self.suite == "mount" and self.command[-1].endswith(".py"):
            self.command = self.command + ["-f"]
        program, scripts = Path(self.command[0]).name, [word for word in self.command if word.endswith(".py")]
        self.script = (source / os.path.relpath(scripts[0], source)).read_text() if scripts else ""
        sources = list(source.glob(f"tests/unit/**/{program}.c")) if self.suite == "unit" else []
        self.sources = with_fixtures(source, sources)
        self.wing = sources[0].relative_to(source).parts[2] if sources else ""


class Tree:
    def __init__(self, root, work, setup_options):
        self.root, self.source, self.build, self.tmp = root, work / "source", work / "build", work / "tmp"
        self.mark = f"MUTANTS_RUN={os.getpid()}"
        name, value = self.mark.split("=")
        self.env = dict(os.environ, TMPDIR=str(self.tmp), MOUNT_TEST_LIMIT=str(WAIT_LIMIT), **{name: value})
        self.baseline = {}
        for path in (self.source, self.tmp):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o755)
        self.update()
        if not (self.build / "build.ninja").exists():
            self.call("meson", "setup", *(setup_options or LINK_FREE), str(self.build), str(self.source))
        # Also when a list of sources has changed: introspection reads what was configured last.
        if not self.compile("build.ninja") or not self.compile("cli/gsym"):
            sys.exit("the tree does not build without any change")
        self.tests = self.introspect()
        self.sanitizers = self.option("b_sanitize").replace("none", "")

    def call(self, *argv):
        done = subprocess.run(argv, capture_output=True, text=True, env=self.env, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(argv)}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def update(self):
        """Makes the copy equal to the tree; what is equal keeps its time, so that it is not compiled again."""
        listed = self.call("git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, listed.split("\0")):
            old, new = self.root / name, self.source / name
            if not old.is_file():
                new.unlink(missing_ok=True)
                continue
            data = old.read_bytes()
            if not new.exists() or new.read_bytes() != data:
                new.parent.mkdir(parents=True, exist_ok=True)
                new.write_bytes(data)
            new.chmod(old.stat().st_mode & 0o777)

    def introspect(self):
        """The tests by name, each with the targets of ninja that it needs."""
        outputs = {}
        for target in json.loads(self.call("meson", "introspect", "--targets", str(self.build))):
            outputs[target["id"]] = os.path.relpath(target["filename"][0], self.build)
        rows = json.loads(self.call("meson", "introspect", "--tests", str(self.build)))
        return {row["name"]: Test(row, outputs, self.source) for row in rows}

    def option(self, name):
        rows = json.loads(self.call("meson", "introspect", "--buildoptions", str(self.build)))
        return next(row["value"] for row in rows if row["name"] == name)

    # ---- Building ----

    def compile(self, *targets):
        done = subprocess.run(["ninja", "-C", str(self.build), "-j1", *targets], capture_output=True, text=True, env=self.env,
                              check=False)
        return done.returncode == 0

    def commands(self, name):
        """How meson compiles a source file: rows with "output" and "command"."""
        path = self.source / name
        rows = json.loads((self.build / "compile_commands.json").read_text())
        return [r for r in rows if (Path(r["directory"]) / r["file"]).resolve() == path.resolve()]

    def object_with(self, name):
        """The object of a source file, or of one that includes this header; None if there is none."""
        for path in [name, *sorted(str(p.relative_to(self.source)) for p in self.source.rglob("*.c")
                                   if name.endswith(".h") and f'"{name}"' in p.read_text(errors="replace"))]:
            rows = self.commands(path)
            if rows:
                return rows[0]["output"]
        return None

    def optimized_code(self, name):
        """The bytes of the object that -O2 makes of a file as it is, None if it does not compile."""
        words = shlex.split(self.commands(name)[0]["command"])
        out = self.tmp.parent / "optimized.o"
        words[words.index("-o") + 1] = str(out)
        keep = [w for w in words if w not in ("-O0", "-g", "-MD") and not w.startswith("-Werror")]
        for option in ("-MQ", "-MF"):
            at = keep.index(option)
            del keep[at:at + 2]
        done = subprocess.run([*keep, "-O2", "-w"], cwd=self.build, capture_output=True, env=self.env, check=False)
        return out.read_bytes() if done.returncode == 0 else None

    # ---- Running ----

    def run(self, name, limit):
        """(how it failed or None, seconds)."""
        test = self.tests[name]
        env = dict(self.env, **test.env)
        begin = time.monotonic()
        process = subprocess.Popen(test.command, env=env, cwd=self.build, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=no_core)
        try:
            output = process.communicate(timeout=limit)[0].decode(errors="replace")
            (self.tmp.parent / "last.txt").write_text(f"{name}\n{output}")
            status = process.returncode
            how = None if status in (0, 77) else "crash" if status < 0 or "died of signal" in output else "failure"
        except subprocess.TimeoutExpired:
            how = "timeout"
        finally:
            self.clean(process)
        return how, time.monotonic() - begin

    def clean(self, process):
        """Ends what the test left: its group, daemons that left the group, and their mounts."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.unmount()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                marked = int(entry.name) != os.getpid() and self.mark.encode() in (entry / "environ").read_bytes().split(b"\0")
                if marked and "ninja" not in (entry / "comm").read_text():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue
        process.communicate()
        self.unmount()
        subprocess.run(f"rm -rf --one-file-system {shlex.quote(str(self.tmp))}/*", shell=True, check=False)

    def unmount(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            left = [line.split()[4] for line in mounts if line.split()[4].startswith(f"{self.tmp}/")]
        for path in reversed(left):
            subprocess.run(["umount", "-l", path], check=False)

    def limit(self, name):
        """Seconds after which a test of a changed tree counts as hung."""
        known = self.baseline.get(name)
        return known * SLOWER + SLACK_SECONDS if known else self.tests[name].timeout * 2

    def sound(self, name):
        """Whether the test passes in the tree as it is now, which is without any change; keeps how long it took."""
        if name not in self.baseline:
            how, seconds = ("failure", 0) if not self.compile(*self.tests[name].targets) else \
                self.run(name, self.tests[name].timeout * 4)
            self.baseline[name] = None if how else seconds
        return self.baseline[name] is not None


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
