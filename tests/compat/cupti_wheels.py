# SPDX-License-Identifier: Apache-2.0
"""CUPTI of each version from PyPI, the library and its headers, and the headers of the runtime: downloaded once
into a cache outside the source tree. Nothing of it may be passed on."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

AT_ONCE = 6
PATIENCE = 240  # seconds for all downloads; a wheel has 9 to 14 MB
PACKAGES = {11: "nvidia-cuda-cupti-cu11", 12: "nvidia-cuda-cupti-cu12", 13: "nvidia-cuda-cupti"}
RUNTIMES = {13: "nvidia-cuda-runtime"}
WANTED = re.compile(r"nvidia/.*/(lib/libcupti\.so\.[\d.]+|include/.*\.h)$")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--timeout", "15", "--retries", "1"]


def number(version):
    return tuple(int(part) for part in version.split("."))


def cache(packages):
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "gputrace-tests" / ("cupti" if packages is PACKAGES else "runtime")


def listed():
    """All versions that PyPI has, from 11.8 on; what cannot be asked is left out."""
    found = []
    for package in PACKAGES.values():
        answer = subprocess.run(PIP + ["index", "versions", package], capture_output=True, text=True,
                                timeout=60, check=False).stdout
        for line in re.findall(r"^Available versions: (.*)$", answer, re.M):
            found += [version for version in line.split(", ") if number(version) >= (11, 8)]
    return sorted(found, key=number)


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if WANTED.match(name):
                target = folder / WANTED.match(name).group(1)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))


def download(packages, version, deadline):
    """The version's folder, or None."""
    folder = cache(packages) / version
    if folder.is_dir():
        return folder
    cache(packages).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache(packages)) as scratch:
        wanted = f"{packages[number(version)[0]]}=={version}"
        try:
            subprocess.run(PIP + ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", scratch,
                                  wanted],
                           check=True, capture_output=True, timeout=max(1, deadline - time.monotonic()))
        except (subprocess.SubprocessError, OSError):
            return None
        unpack(next(pathlib.Path(scratch).glob("*.whl")), pathlib.Path(scratch, "new"))
        try:
            os.rename(pathlib.Path(scratch, "new"), folder)
        except OSError:  # another run was faster
            pass
    return folder if folder.is_dir() else None


def fetch(versions, packages=PACKAGES):
    """Each version's folder, with include/ and, of CUPTI, lib/, or None where it cannot be had."""
    deadline = time.monotonic() + PATIENCE
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(versions, pool.map(lambda version: download(packages, version, deadline), versions)))


def library(folder):
    return next((folder / "lib").glob("libcupti.so.*"))
