# SPDX-License-Identifier: Apache-2.0
"""What the machine has: looked up before anything is measured. Starts no CUDA but in children."""
import glob
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import shutil
import sys

from gpucheck import places, process, runs

SKIP = 77
VARIABLES = re.compile(r"(CUDA|NVIDIA|CUPTI|GPUTRACE|NVTX|LD_|TEARDOWN_CUPTI|KINETO)")
CUPTI_NAMES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8")
PACKAGES = ("torch", "triton", "jax", "jaxlib", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti")
TOOLS = ("nvidia-smi", "nsys", "ncu", "cuda-gdb", "gdb")
USUAL_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib",
                 "/lib64")
SMI = "name,driver_version,memory.total,compute_mode,mig.mode.current,persistence_mode"


def text_of(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def glibc():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
    except (ValueError, OSError, AttributeError):
        return "unknown"


def older(version, needed):
    """True when glibc @version is older than @needed; false when either is not known."""
    numbers = [re.findall(r"\d+", text or "") for text in (version, needed)]
    return all(numbers) and [int(n) for n in numbers[0]] < [int(n) for n in numbers[1]]


def loader_paths(name):
    """Where the loader finds @name: LD_LIBRARY_PATH, then its cache and the usual folders."""
    folders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    cache = shutil.which("ldconfig", path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
    found = [f"{folder}/{name}" for folder in folders]
    if cache:
        listing = process.run([cache, "-p"], runs.clean_environment(), 5).out
        found += re.findall(rf"^\s*{re.escape(name)} .*=> (\S+)", listing, re.M)
    found += [f"{folder}/{name}" for folder in USUAL_FOLDERS]
    return [path for path in dict.fromkeys(found) if os.path.exists(path)]


def cupti_files():
    """Every CUPTI of the machine, those that the loader finds first."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folders = [f"{home}/lib64", f"{home}/extras/CUPTI/lib64", "/usr/local/cuda*/lib64",
               "/usr/local/cuda*/extras/CUPTI/lib64", "/opt/nvidia/hpc_sdk/*/*/cuda/*/lib64",
               *(f"{path}/nvidia/*/lib" for path in sys.path if path)]
    found = [path for name in CUPTI_NAMES for path in loader_paths(name)]
    for name in CUPTI_NAMES:
        found += [path for folder in folders for path in sorted(glob.glob(f"{folder}/{name}"))]
    return list(dict.fromkeys(os.path.realpath(path) for path in found))


def packages():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def gpu():
    if not shutil.which("nvidia-smi"):
        return "nvidia-smi is not here"
    ended = process.run(["nvidia-smi", f"--query-gpu={SMI}", "--format=csv,noheader"],
                        runs.clean_environment(), 10)
    return ended.out.strip() or ended.how() or "nvidia-smi says nothing"


def manifest():
    try:
        return json.loads(places.MANIFEST.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def look():
    """All that can be said without a CUDA context."""
    cpu = re.search(r"model name\s*: (.*)", text_of("/proc/cpuinfo"))
    drivers = [os.path.realpath(path) for path in loader_paths("libcuda.so.1")]
    simulated = bool(drivers) and is_simulated(drivers[0])
    return {"device": "SIMULATED (tests/simcuda)" if simulated else "real", "gpu": gpu(),
            "libcuda": drivers, "driver": text_of("/proc/driver/nvidia/version").split("\n")[0],
            "driver parameters": [line for line in text_of("/proc/driver/nvidia/params").split("\n")
                                  if "Profiling" in line],
            "cupti": cupti_files(), "bundled cupti": bundled_cupti(),
            "cpu": cpu.group(1) if cpu else "unknown", "cores": len(os.sched_getaffinity(0)),
            "memory": text_of("/proc/meminfo").split("\n")[0], "kernel": platform.release(),
            "glibc": glibc(), "python": platform.python_version(),
            "packages": packages(), "tools": {tool: shutil.which(tool) for tool in TOOLS},
            "ptrace_scope": text_of("/proc/sys/kernel/yama/ptrace_scope"),
            "root": os.geteuid() == 0,
            "environment": {name: value for name, value in sorted(os.environ.items())
                            if VARIABLES.match(name)},
            "bundle": {key: value for key, value in manifest().items() if key != "files"}}


def is_simulated(driver):
    with open(driver, "rb") as file:
        return b"SIMCUDA_" in file.read()


def bundled_cupti():
    found = sorted(str(path) for path in places.BUNDLED_CUPTI.glob("libcupti.so.*"))
    return found[0] if found else ""


def obstacles(found, needs):
    """Sentences about what keeps the bundle's programs from running here; none: nothing known."""
    return [f"{name} needs glibc {needed}, the machine has {found['glibc']}"
            for name, needed in sorted(needs.items()) if older(found["glibc"], needed)]


def refusal(found, hung):
    """Why nothing can be checked when the first program fails, and the exit status: a machine
    without a GPU is no finding, one on which the programs cannot run or hang is."""
    if hung:
        return f"the first CUDA program hangs: {found['first program']}", 1
    if found["obstacles"]:
        return "; ".join(found["obstacles"]), 1
    return f"no usable GPU here: {found['first program']}", SKIP


def choose_cupti(found, trial):
    """The libcupti for all runs, and why; ("", why) leaves it to the program.
    @trial(path) is true when a program traced with that library, "" for none, is traced."""
    if os.environ.get("GPUTRACE_CUPTI"):
        return os.environ["GPUTRACE_CUPTI"], "GPUTRACE_CUPTI was set"
    if trial(""):
        return "", "the tracer finds one by itself"
    for path in [*found["cupti"], found["bundled cupti"]]:
        if path and trial(path):
            kind = "the bundle's" if path == found["bundled cupti"] else "the machine's"
            return path, f"the tracer finds none by itself; {kind} is used"
    return "", "no libcupti of this machine or the bundle works"
