# SPDX-License-Identifier: Apache-2.0
"""Compares the offsets that the tracer believes in with the headers of each CPython on this machine.

    test_layout.py PROBE_LIBRARY
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import interpreters

HERE = pathlib.Path(__file__).parent
PROBE = sys.argv.pop(1)

BELIEVED = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.probe_start.restype = library.probe_layout.restype = ctypes.c_char_p
why = library.probe_start()
sys.exit(why.decode()) if why else print(library.probe_layout().decode(), end="")
"""


def table(text):
    return dict(line.split() for line in text.splitlines())


def by_headers(about, folder):
    """None: its headers are not installed."""
    include = subprocess.run([about["path"], "-c",
                              "import sysconfig; print(sysconfig.get_path('include'))"],
                             capture_output=True, text=True, check=True).stdout.strip()
    if not (pathlib.Path(include) / "internal").is_dir():
        return None
    program = pathlib.Path(folder) / "layout"
    # Debian's pyconfig.h includes another one by its path from the folder above
    subprocess.run(["cc", "-w", f"-I{include}", f"-I{include}/internal", f"-I{include}/..", "-o", program,
                    HERE / "layout_probe.c"], check=True)
    return table(subprocess.run([program], capture_output=True, text=True, check=True).stdout)


class Layout(unittest.TestCase):
    def test_every_interpreter(self):
        for about in filter(interpreters.is_supported, interpreters.find()):
            with self.subTest(about["path"]), tempfile.TemporaryDirectory() as folder:
                headers = by_headers(about, folder)
                version = ".".join(map(str, about["version"]))
                if not headers:
                    print(f"CPython {version}: no headers")
                    continue
                result = subprocess.run([about["path"], "-c", BELIEVED, PROBE],
                                        capture_output=True, text=True, check=True)
                believed = table(result.stdout)
                self.assertEqual({name: believed[name] for name in headers}, headers)
                print(f"CPython {version}: {len(headers)} offsets")


if __name__ == "__main__":
    unittest.main()
