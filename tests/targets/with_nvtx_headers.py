# SPDX-License-Identifier: Apache-2.0
"""Builds nvtx_client.c against the NVTX of a package of the package index and runs it.

    with_nvtx_headers.py FOLDER REQUIREMENT SOURCE_ROOT CUDA_HOME "CC ARGUMENT..." RUNNER ARGUMENT...

REQUIREMENT: for example nvidia-nvtx-cu12==12.1.105; followed by /2, the program is linked to the
libnvToolsExt.so.1 of that package, as with NVTX 2. Exit 77 (skipped) with the reason if the package
cannot be installed.
"""

import os
import subprocess
import sys

import packages


def main():
    folder, requirement, source, cuda, compiler = sys.argv[1:6]
    requirement, _, version = requirement.partition("/")
    folder = packages.get(folder, requirement)
    header = min(folder.rglob("nvToolsExt.h"), key=lambda path: len(path.parts))
    include = header.parent if version else next(folder.rglob("nvtx3/nvToolsExt.h")).parent.parent
    program = folder / ("client" + version)
    command = [*compiler.split(), "-O1", "-I", source, "-I", include, "-isystem", cuda + "/include",
               source + "/tests/targets/nvtx_client.c", "-o", program]
    if version:
        library = next(folder.rglob("libnvToolsExt.so.1"))
        command += ["-DGT_NVTX_2", library, "-Wl,-rpath," + str(library.parent)]
    elif list(include.rglob("nvToolsExtPayload.h")):  # not the toolkit's
        command.append("-DGT_NVTX_PAYLOAD")
    libraries = [path for path in (cuda + "/lib64", cuda + "/lib") if os.path.isdir(path)]
    command += ["-L" + libraries[0], "-lcudart", "-lpthread", "-ldl"]
    subprocess.run(command, check=True)
    sys.exit(subprocess.run([sys.executable, *sys.argv[6:], "--", program], check=False).returncode)


main()
