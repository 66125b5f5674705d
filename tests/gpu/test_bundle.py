#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rehearsal of the one run on a GPU machine: the bundle on the simulated device, in a root that
has libc, sh and python3 only. A probe hangs, one crashes, a library of the command is missing: the
report is there all the same and says so."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPUTRACE_BUILD", ROOT / "build"))
SIMULATED = BUILD / "tests" / "simcuda" / "130000"
LEFT_OUT = shutil.ignore_patterns("test", "tests", "__pycache__", "idlelib", "tkinter",
                                  "*-packages", "config-*", "ensurepip", "lib2to3")
# A process of its own name spaces: what is mounted and what is left running ends with it.
ENTER = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
MOUNT = ('{ mount -t proc proc "$1/proc" || mount --rbind /proc "$1/proc"; } 2>/dev/null &&'
         ' mount --rbind /dev "$1/dev" && root=$1 && shift && exec chroot "$root" "$@"')


def libraries_of(path):
    """Of a program or extension: the loader and all libraries."""
    listing = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+)(?= \()", listing)


def put(root, path):
    """The file at its own path below @root."""
    to = root / str(path).lstrip("/")
    to.parent.mkdir(parents=True, exist_ok=True)
    if not to.exists():
        shutil.copy(path, to)


def put_python(root):
    program = os.path.realpath(sys.executable)
    library = os.path.dirname(os.__file__)
    shutil.copytree(library, root / library.lstrip("/"), ignore=LEFT_OUT, symlinks=True)
    for path in [program, "/bin/sh", *pathlib.Path(library).rglob("*.so")]:
        for needed in libraries_of(path):
            put(root, needed)
    put(root, program)
    put(root, "/bin/sh")
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    if not (root / "usr/bin/python3").exists():
        (root / "usr/bin/python3").symlink_to(program)


def may_enter():
    """Empty: a root can be entered here; else why not."""
    with tempfile.TemporaryDirectory(prefix="gputrace-root-") as folder:
        root = pathlib.Path(folder)
        for path in ("/bin/true", *libraries_of("/bin/true")):
            put(root, path)
        (root / "proc").mkdir()
        (root / "dev").mkdir()
        try:
            done = subprocess.run([*ENTER, "sh", "-c", MOUNT, "sh", folder, "/bin/true"],
                                  check=False, capture_output=True, text=True, timeout=60)
        except OSError as error:
            return str(error)
    return done.stderr.strip() or f"exit status {done.returncode}" if done.returncode else ""


def make(folder, *options):
    return subprocess.run([sys.executable, str(ROOT / "tests/gpu/check.py"), f"--bundle={folder}", *options],
                          capture_output=True, text=True, check=False,
                          env=os.environ | {"GPUTRACE_BUILD": str(BUILD)})


class TestChoice(unittest.TestCase):
    def test_a_file_that_is_no_cupti(self):
        with tempfile.TemporaryDirectory() as top:
            for name in ("/etc/passwd", f"{top}/libcupti.so.13", sys.executable):
                made = make(f"{top}/bundle", f"--cupti={name}")
                self.assertEqual(made.returncode, 1)
                self.assertEqual(len(made.stderr.splitlines()), 1, made.stderr)
                self.assertIn(name, made.stderr)
            self.assertEqual(os.listdir(top), [])


class TestBundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = may_enter()
        if why:
            raise unittest.SkipTest(f"user name spaces are not allowed here: {why}")
        cls.folder = tempfile.TemporaryDirectory(prefix="gputrace-bundle-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name) / "root"
        cls.bundle = cls.root / "bundle"
        for name in ("proc", "dev", "tmp", "out"):
            (cls.root / name).mkdir(parents=True)
        put_python(cls.root)
        made = make(cls.bundle)
        if made.returncode:
            raise AssertionError(made.stdout + made.stderr)
        cls.put_device()

    @classmethod
    def put_device(cls):
        """The simulated driver and CUPTI, where a machine has its own. NVIDIA's runtime asks
        NVIDIA's driver for more than the simulated one has: it gives place, too."""
        cls.device = cls.root / "usr/lib/x86_64-linux-gnu"
        cls.device.mkdir(parents=True, exist_ok=True)
        for name in ("libcuda.so.1", "libcupti.so.13", "libnvidia-ml.so.1"):
            shutil.copy(SIMULATED / name, cls.device / name)
        shutil.copy(SIMULATED / "libcudart.so.13", cls.bundle / "build/tests/gpu/libcudart.so.13")
        for path in cls.bundle.rglob("*"):  # as some ways to carry it leave them
            if path.is_file():
                path.chmod(0o644)

    def run_there(self, *options):
        """(exit status, what it said, report or None)"""
        out = self.root / "out"
        for path in out.iterdir():
            path.unlink()
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "GPUTRACE_EXIT_TIMEOUT": "60000",
                       "SIMCUDA_CUPTI_VERSION": "130000"}
        done = subprocess.run([*ENTER, "sh", "-c", MOUNT, "sh", str(self.root), "/bin/sh",
                               "/bundle/run", "/out", "--deadline=280", "--run-limit=25",
                               "--rounds=1", *options],
                              capture_output=True, text=True, check=False, env=environment,
                              timeout=400, stdin=subprocess.DEVNULL)
        report = out / "gpu-check-report.json"
        said = done.stdout + done.stderr
        self.assertTrue(report.exists(), said)
        return done.returncode, said, json.loads(report.read_text(encoding="utf-8"))

    def rows(self, report):
        return {row["name"]: row for row in report["rows"]}

    def test_hang_and_crash(self):
        status, said, report = self.run_there("--inject", "--only=on-purpose",
                                              "--only=flush-delivers", "--only=inside-injection",
                                              "--only=driver",
                                              "--only=copies-shared")
        rows = self.rows(report)
        self.assertEqual(status, 1, said)
        self.assertEqual((report["ended"], report["not reached"]), ("complete", []))
        self.assertEqual(rows["probe hang-on-purpose"]["verdict"], "hung")
        self.assertRegex(rows["probe hang-on-purpose"]["stacks"], r"process \d+: .*hang-on-purpose")
        self.assertEqual(rows["probe crash-on-purpose"]["verdict"], "crashed")
        self.assertIn("SIGSEGV", rows["probe crash-on-purpose"]["reason"])
        others = {name: row["reason"] for name, row in rows.items()
                  if "on-purpose" not in name and row["verdict"] != "ok"}
        self.assertEqual(others, {})
        self.assertEqual(rows["driver --count=5000 (run)"]["metadata"]["mode"], "cupti")
        self.assertEqual(report["machine"]["idle context"], "open to the end")
        self.check_files()

    def check_files(self):
        """Little of it leaves the machine: few files, small ones, plain names."""
        files = [path for path in (self.root / "out").rglob("*")]
        self.assertEqual(sorted(path.name for path in files),
                         ["gpu-check-captures.tar.gz", "gpu-check-report.json",
                          "gpu-check-report.txt"])
        for path in files:
            self.assertRegex(path.name, r"^[A-Za-z0-9._-]+$")
            self.assertLess(path.stat().st_size, 16 << 20)

    def test_missing_library(self):
        library = next((self.bundle / "lib").glob("libdw.so*"))
        aside = self.root / "aside"
        library.rename(aside)
        try:
            status, said, report = self.run_there("--only=driver")
        finally:
            aside.rename(library)
        rows = self.rows(report)
        self.assertEqual(status, 1, said)
        self.assertEqual(report["ended"], "complete")
        for name in ("driver --count=5000 (run)", "capture driver --count=20"):
            self.assertEqual(rows[name]["verdict"], "not traced")
            self.assertIn("libdw", rows[name]["reason"])
        levels = report["overhead"]["driver --count=50000"]
        self.assertIn("best", levels.pop("no tracer"))
        self.assertGreater(len(levels), 2)
        for level in levels.values():
            self.assertRegex(level["why"], "not traced: .*libdw")
            self.assertNotIn("best", level)

    def test_no_gpu(self):
        driver, aside = self.device / "libcuda.so.1", self.root / "aside"
        driver.rename(aside)
        try:
            status, said, report = self.run_there()
        finally:
            aside.rename(driver)
        self.assertEqual(status, 77, said)
        self.assertIn("no usable GPU here", report["ended"])
        self.assertIn("libcuda.so.1", report["ended"])


if __name__ == "__main__":
    unittest.main()
