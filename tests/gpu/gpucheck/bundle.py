# SPDX-License-Identifier: Apache-2.0
"""The bundle: a folder with the layout of the source tree and its build, in which the command and
the programs find their libraries by themselves. Nothing is set for the programs that are traced."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from gpucheck import places

MOST_BYTES = 60 << 20
# Come with the machine, and must fit its kernel and driver; libcudart is the toolkit's.
OTHERS = re.compile(
    r"(ld-linux|libc\.|libm\.|libpthread|libdl|librt|libcuda\.|libcudart|linux-vdso)")
PROGRAMS = ("driver", "managed", "probes", "libprobe-injection.so", "launches-shared", "launches-static",
            "graph-shared", "graph-static", "copies-shared", "copies-static")
BENCH = ("gputrace-workload", "libgputrace-workload.so", "libgputrace-floor.so")

RUN = """#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks gputrace on the GPU of this machine in nine minutes: run OUT [OPTION...]
# OUT gets gpu-check-report.txt, gpu-check-report.json and gpu-check-captures.tar.gz.
set -u
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
here=$(cd "$here" && pwd) || exit 2
[ $# -gt 0 ] || { echo "usage: run OUT [OPTION...]" >&2; exit 2; }
out=$1
shift
if ! command -v python3 >/dev/null; then
	echo "gpu-check: python3 is not on this machine: nothing was checked" >&2
	mkdir -p "$out" && echo "python3 is not on this machine" >"$out/gpu-check-report.txt"
	exit 2
fi
PYTHONDONTWRITEBYTECODE=1 GPUTRACE_BUILD=$here/build
export PYTHONDONTWRITEBYTECODE GPUTRACE_BUILD
exec python3 "$here/tests/gpu/check.py" --out "$out" "$@"
"""


def needed_glibc(path):
    """The newest symbol version of glibc that a file asks for."""
    listing = subprocess.run(["readelf", "-VW", str(path)], capture_output=True, text=True,
                             check=False).stdout
    versions = re.findall(r"GLIBC_(\d+\.\d+)", listing)
    return max(versions, key=lambda text: [int(n) for n in text.split(".")], default="")


def libraries_of(path):
    """{soname: file} of all that a program loads, but for what the machine or the toolkit has."""
    listing = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=True).stdout
    needed = {name: file for name, file in re.findall(r"(\S+) => (/\S+|not found)", listing)
              if not OTHERS.match(name)}
    missing = [name for name, file in needed.items() if file == "not found"]
    if missing:
        sys.exit(f"gpu-check: {path} needs {', '.join(missing)}, which is not here")
    return needed


def of_toolkit(name):
    """A library of the toolkit, not a simulated one that LD_LIBRARY_PATH may name; or None."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    for folder in (f"{home}/lib64", f"{home}/lib", f"{home}/extras/CUPTI/lib64", "/usr/local/lib"):
        path = pathlib.Path(folder) / name
        if path.exists():
            return path.resolve()
    return None


def choose_cupti(given):
    """The file to carry along, or None."""
    if given == "none":
        return None
    if not given:
        return of_toolkit("libcupti.so.13")
    path = pathlib.Path(given).resolve()
    if not path.name.startswith("libcupti.so") or not is_elf(path):
        sys.exit(f"gpu-check: --cupti={given} is not a libcupti.so.*: name the library, or none")
    return path


def is_elf(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError as error:
        sys.exit(f"gpu-check: {path}: {error.strerror}")


def contents(cupti):
    """[(file, its place in the bundle)]"""
    source, build = places.ROOT, places.BUILD
    if not (build / "tests" / "gpu" / "gputrace-cli-bundled").exists():
        sys.exit(f"gpu-check: {build} is not built: ninja -C build gpu-programs")
    cudart = of_toolkit("libcudart.so.13")
    if not cudart:
        sys.exit("gpu-check: the toolkit has no libcudart.so.13")
    cli = build / "tests" / "gpu" / "gputrace-cli-bundled"
    files = [(build / "preload" / "libgputrace.so", "build/preload/libgputrace.so"),
             (build / "preload" / "libgputrace-libraries.so", "build/preload/libgputrace-libraries.so"),
             (build / "preload" / "libgputrace-nccl-profiler.so", "build/preload/libgputrace-nccl-profiler.so"),
             (build / "preload" / "libgputrace-cublas.so", "build/preload/libgputrace-cublas.so"),
             (build / "preload" / "libgputrace-cufft.so", "build/preload/libgputrace-cufft.so"),
             (build / "preload" / "libgputrace-cudnn.so", "build/preload/libgputrace-cudnn.so"),
             (build / "preload" / "libgputrace-cusparse.so", "build/preload/libgputrace-cusparse.so"),
             (build / "preload" / "libgputrace-cusolver.so", "build/preload/libgputrace-cusolver.so"),
             (build / "preload" / "libgputrace-osrt.so", "build/preload/libgputrace-osrt.so"),
             (build / "preload" / "libgputrace-torch.so", "build/preload/libgputrace-torch.so"),
             (build / "cli" / "gputrace-launcher", "build/cli/gputrace-launcher"),
             (cli, "build/cli/gputrace-cli"), (cudart, "build/tests/gpu/libcudart.so.13")]
    files += [(build / "bench" / name, f"build/bench/{name}") for name in BENCH]
    files += [(build / "tests" / "gpu" / name, f"build/tests/gpu/{name}") for name in PROGRAMS]
    files += [(pathlib.Path(path), f"lib/{name}") for name, path in libraries_of(cli).items()]
    for program in PROGRAMS:
        files += [(pathlib.Path(path), f"build/tests/gpu/{name}")
                  for name, path in libraries_of(build / "tests" / "gpu" / program).items()]
    for folder in ("share/python", "tests/gpu"):
        files += [(path, str(path.relative_to(source)))
                  for path in sorted((source / folder).rglob("*.py"))]
    if cupti:
        files.append((cupti, f"lib/cupti/{cupti.name}"))
    return list(dict.fromkeys(files))


def version_of_source():
    words = ["git", "-C", str(places.ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def make(folder, cupti):
    folder = pathlib.Path(folder)
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"gpu-check: {folder} is not empty")
    files = contents(choose_cupti(cupti))
    missing = [str(path) for path, _ in files if not path.exists()]
    if missing:
        sys.exit(f"gpu-check: not built: {', '.join(missing)} (ninja -C build gpu-programs)")
    for path, place in files:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / place)
        if place.startswith(("build/tests", "build/cli", "build/bench")):
            strip(folder / place)
    (folder / "run").write_text(RUN, encoding="utf-8")
    (folder / "run").chmod(0o755)
    needs = {place: needed_glibc(folder / place) for _, place in files
             if place.startswith("build/")}
    manifest = {"source": version_of_source(), "needs_glibc": needs,
                "files": [place for _, place in files]}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        sys.exit(f"gpu-check: the bundle has {size} bytes, more than {MOST_BYTES}")
    print(f"{folder}: {len(files) + 2} files, {size / (1 << 20):.1f} MiB; on the GPU machine: "
          f"{folder.name}/run OUT")
    return 0


def strip(path):
    """Debug sections are of no use there. The programs keep their symbols, which stacks show."""
    subprocess.run(["strip", "--strip-debug", str(path)], capture_output=True, check=False)
