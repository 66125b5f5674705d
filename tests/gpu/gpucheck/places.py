# SPDX-License-Identifier: Apache-2.0
"""Where the parts are: in a source tree with its build, or in a bundle, which mirrors both."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("GPUTRACE_BUILD", ROOT / "build")).resolve()
PROGRAMS = BUILD / "tests" / "gpu"
SCRIPTS = ROOT / "tests" / "gpu" / "programs"
LIBRARY = BUILD / "preload" / "libgputrace.so"
LAUNCHER = BUILD / "cli" / "gputrace-launcher"
MANIFEST = ROOT / "manifest.json"  # of a bundle
BUNDLED_CUPTI = ROOT / "lib" / "cupti"

GPUTRACE = [str(LAUNCHER), f"--source={ROOT}"]
