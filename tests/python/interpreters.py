# SPDX-License-Identifier: Apache-2.0
"""Finds the CPythons on this machine."""
import glob
import json
import os
import shutil
import subprocess
import sys

PLACES = ["/usr/bin/python3*", "/usr/local/bin/python3*", "/opt/python/*/bin/python3*",
          os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")),
                       "versions/*/bin/python3*"),
          os.path.join(os.path.expanduser("~"), ".local/share/uv/python/*/bin/python3*")]

OLDEST, NEWEST = [3, 8], [3, 14]

QUESTION = """
import json, platform, sys
import ctypes
print(json.dumps({"implementation": platform.python_implementation(),
                  "version": list(sys.version_info[:3]), "executable": sys.executable,
                  "debug": hasattr(sys, "gettotalrefcount"),
                  "free_threaded": "t" in getattr(sys, "abiflags", "")}))
"""


WHERE = """
import os, sys, sysconfig
get = sysconfig.get_config_var
for folder in (get("LIBDIR"), os.path.join(get("LIBDIR") or "", get("MULTIARCH") or "")):
    path = os.path.join(folder or "", get("INSTSONAME") or "")
    if get("INSTSONAME") and ".so" in path and os.path.exists(path):
        print(path, sys.base_prefix, sep=chr(10))
        break
"""


def ask(path):
    """What the interpreter at path says about itself; None: it is none, or has no ctypes."""
    try:
        result = subprocess.run([path, "-I", "-S", "-c", QUESTION], capture_output=True, text=True,
                                timeout=60, check=False)
        return json.loads(result.stdout) if result.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def is_supported(about):
    return (about["implementation"] == "CPython" and not about["debug"]
            and not about["free_threaded"] and OLDEST <= about["version"][:2] <= NEWEST)


def shared_library(about):
    """[path of libpython, its home], or [] where the interpreter has none."""
    return subprocess.run([about["path"], "-c", WHERE], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def find():
    """Every interpreter, each once, oldest first. GPUTRACE_TEST_PYTHONS adds paths (colons)."""
    paths = [sys.executable, shutil.which("python3") or sys.executable]
    paths += filter(None, os.environ.get("GPUTRACE_TEST_PYTHONS", "").split(":"))
    for pattern in PLACES:
        paths += glob.glob(pattern)
    found = {}
    for path in paths:
        real = os.path.realpath(path)
        if real in found or real.endswith("config") or not os.access(real, os.X_OK):
            continue
        about = ask(path)
        if about:
            found[real] = dict(about, path=path)
    return sorted(found.values(), key=lambda about: about["version"])
