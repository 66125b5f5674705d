#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runtimes that a program brings with it: by RPATH, as pip's packages do, and inside of libraries.

usage: check_wheels.py SIMCUDA_SCRIPT BUILD_DIR TOOLKIT_DIR COMPILER...
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT, BUILD, TOOLKIT, *COMPILER = sys.argv[1:]
VERSION = 'int cudaRuntimeGetVersion(int *version);\n'
DECOY = VERSION + 'int cudaRuntimeGetVersion(int *version) { *version = 1; return 0; }\n'
PROGRAM = '#include <stdio.h>\n' + VERSION + '''
int main(void)
{
	int version = 0;

	cudaRuntimeGetVersion(&version);
	printf("%d\\n", version);
	return 0;
}
'''
CARRIER = '''int cudaMalloc(void **address, unsigned long bytes);
int allocate(void);
int allocate(void) { void *address; return cudaMalloc(&address, 64); }
'''


class Wheels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.lib = self.root / 'lib' / 'site-packages' / 'nvidia' / 'cuda_runtime' / 'lib'
        self.lib.mkdir(parents=True)

    def compile(self, name, text, *options):
        source = self.root / (pathlib.Path(name).name + '.c')
        source.write_text(text)
        subprocess.run([*COMPILER, '-o', str(name), str(source), *options], check=True)

    def simcuda(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if k != 'SIMCUDA_CUPTI_VERSION'}
        return subprocess.run([SCRIPT, f'--build={BUILD}', *arguments], capture_output=True, text=True,
                              env=environment, timeout=60, check=False)

    def test_the_simulated_runtime_comes_before_one_by_rpath(self):
        decoy, program = self.lib / 'libcudart.so.13', self.root / 'program'
        self.compile(decoy, DECOY, '-shared', '-fPIC', '-Wl,-soname,libcudart.so.13')
        self.compile(program, PROGRAM, str(decoy), f'-Wl,--disable-new-dtags,-rpath,{self.lib}')
        before = {path: path.stat().st_mtime_ns for path in self.lib.iterdir()}
        self.assertEqual(self.simcuda(str(program)).stdout, '1\n')
        self.assertEqual(self.simcuda(f'--wheels={self.root}', str(program)).stdout, '13000\n')
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.lib.iterdir()}, before)

    def test_the_packages_choose_the_cupti(self):
        command = ['sh', '-c', 'echo $SIMCUDA_CUPTI_VERSION']
        (self.lib / 'libcupti.so.12').touch()
        self.assertEqual(self.simcuda(f'--wheels={self.root}', *command).stdout, '26\n')
        self.assertEqual(self.simcuda('--cupti=22', f'--wheels={self.root}', *command).stdout, '22\n')
        (self.lib / 'libcudart.so.13').touch()
        self.assertEqual(self.simcuda(f'--wheels={self.root}', *command).stdout, '130000\n')

    def test_what_is_no_environment(self):
        for folder in (self.root / 'nothing', self.root):
            done = self.simcuda(f'--wheels={folder}', 'true')
            self.assertEqual(done.returncode, 2)
            self.assertIn('--wheels: no ', done.stderr)

    def test_a_static_runtime_in_a_library_is_named(self):
        archive = pathlib.Path(TOOLKIT, 'lib64', 'libcudart_static.a')
        if not archive.exists():
            self.skipTest('no static runtime in the toolkit')
        carrier = self.root / 'libcarrier.so'
        self.compile(carrier, CARRIER, '-shared', '-fPIC', str(archive), '-ldl', '-lpthread', '-lrt')
        call = f'import ctypes\nlib = ctypes.CDLL("{carrier}")\nprint(lib.allocate() != 0, lib.allocate() != 0)'
        done = self.simcuda(sys.executable, '-c', call)
        self.assertEqual((done.returncode, done.stdout), (0, 'True True\n'))
        self.assertEqual(done.stderr, f"simcuda: {carrier} has NVIDIA's static CUDA runtime inside, which "
                                      "runs on NVIDIA's driver only: its CUDA calls fail\n")


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0]])
