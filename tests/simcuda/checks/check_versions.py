#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks cuGetProcAddress for every function in every version, and compares with the headers. Also what
CUDA 12 had otherwise, and the simulated NVML.

usage: check_versions.py SIMULATED_DIR INCLUDE_DIR
"""
import collections
import ctypes
import os
import pathlib
import re
import sys
import unittest

SIMULATED, INCLUDE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
LEGACY, PER_THREAD = 1, 2
FOUND, UNKNOWN, TOO_OLD = 0, 1, 2


def header(name):
    return (INCLUDE / name).read_text()


def typedefs():
    """name -> the versions that cudaTypedefs.h has, without those of per-thread streams."""
    found = collections.defaultdict(set)
    for name, version in re.findall(r'\*PFN_(\w+?)_v(\d+)\)', header('cudaTypedefs.h')):
        found[name].add(int(version))
    return found


class Versions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = ctypes.CDLL(str(SIMULATED / 'libcuda.so.1'))
        cls.newest = int(re.search(r'define CUDA_VERSION (\d+)', header('cuda.h')).group(1))

    def ask(self, name, version, flags=LEGACY):
        address, status = ctypes.c_void_p(), ctypes.c_int(-1)
        result = self.driver.cuGetProcAddress_v2(name.encode(), ctypes.byref(address), version,
                                                 ctypes.c_uint64(flags), ctypes.byref(status))
        self.assertEqual(result, 0, name)
        return address.value, status.value

    def export(self, name):
        return ctypes.cast(getattr(self.driver, name), ctypes.c_void_p).value

    def exports_of(self, name):
        versions = [name + suffix for suffix in ('', '_v2', '_v3', '_v4')]
        return [self.export(v) for v in versions if hasattr(self.driver, v)]

    def test_each_version_begins_when_the_typedefs_say(self):
        listed = typedefs()
        self.assertGreater(len([v for v in listed.values() if len(v) > 1]), 80)
        for name, versions in listed.items():
            before, status = self.ask(name, min(versions) - 10)
            self.assertEqual((before, status), (None, TOO_OLD), name)
            for version in sorted(versions):
                address, status = self.ask(name, version)
                self.assertEqual(status, FOUND, name)
                self.assertNotEqual(address, before, f'{name} of {version}')
                self.assertIn(address, self.exports_of(name))
                before = address

    def test_the_newest_is_the_one_that_cuda_h_means(self):
        meant = re.findall(r'^ *#define (cu[A-Z]\w+) +(?:__CUDA_API_PT(?:DS|SZ)\()?(cu\w+)\)?$',
                           header('cuda.h'), re.M)
        meant = [(name, export) for name, export in meant # that one is inline
                 if name != export and not export.endswith('_ptsz')]
        self.assertGreater(len(meant), 60)
        for name, export in meant:
            self.assertEqual(self.ask(name, self.newest), (self.export(export), FOUND), name)

    def test_per_thread_variants(self):
        variants = re.findall(r'__CUDA_API_PT(DS|SZ)\((cu\w+?)(?:_v\d)?\)', header('cuda.h'))
        self.assertGreater(len(variants), 80)
        for suffix, name in variants:
            address, status = self.ask(name, self.newest, PER_THREAD)
            exports = [f'{name}{version}_pt{suffix.lower()}' for version in ('_v3', '_v2', '')]
            there = [self.export(export) for export in exports if hasattr(self.driver, export)]
            self.assertEqual((address, status), (there[0], FOUND), name)
        # one without a variant of its own is the ordinary one
        self.assertEqual(self.ask('cuCtxGetCurrent', self.newest, PER_THREAD),
                         (self.export('cuCtxGetCurrent'), FOUND))

    def test_what_there_is_not(self):
        for name in ('', 'cuNothing', 'cuMemAlloc_v2', 'cuMem', 'zzz'):
            self.assertEqual(self.ask(name, self.newest), (None, UNKNOWN), name)
        address = ctypes.c_void_p()
        first = self.driver.cuGetProcAddress
        self.assertEqual(first(b'cuNothing', ctypes.byref(address), self.newest, ctypes.c_uint64(0)), 500)
        self.assertEqual(first(b'cuInit', ctypes.byref(address), self.newest, ctypes.c_uint64(0)), 0)
        self.assertEqual(first(b'cuInit', ctypes.byref(address), 99000, ctypes.c_uint64(0)), 1)


class Runtime12(unittest.TestCase):
    """What CUDA 13 changed is as it was in libcudart.so.12."""
    @classmethod
    def setUpClass(cls):
        ctypes.CDLL(str(SIMULATED / 'libcuda.so.1'), ctypes.RTLD_GLOBAL)
        cls.runtime = ctypes.CDLL(str(SIMULATED / 'libcudart.so.12'))

    def test_pointer_attributes_are_shorter(self):
        room = ctypes.create_string_buffer(b'\xaa' * 96, 96)
        self.assertEqual(self.runtime.cudaPointerGetAttributes(room, ctypes.c_void_p(4096)), 0)
        self.assertEqual(room.raw[24:], b'\xaa' * 72)
        self.assertNotEqual(room.raw[:24], b'\xaa' * 24)

    def test_properties_lie_elsewhere(self):
        room = ctypes.create_string_buffer(1032)
        self.assertEqual(self.runtime.cudaGetDeviceProperties_v2(room, 0), 0)
        numbers = memoryview(room.raw[:]).cast('i')
        self.assertTrue(room.raw.startswith(b'NVIDIA H200\0'))
        self.assertEqual((numbers[308 // 4], numbers[360 // 4], numbers[364 // 4]), (32, 9, 0))


class Nvml(unittest.TestCase):
    def test_it_counts_and_finds_devices(self):
        os.environ['SIMCUDA_DEVICES'] = '3'
        nvml = ctypes.CDLL(str(SIMULATED / 'libnvidia-ml.so.1'))
        count, index, device = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_void_p()
        self.assertEqual(nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)), 1) # not initialised
        self.assertEqual(nvml.nvmlInit_v2(), 0)
        self.assertEqual((nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)), count.value), (0, 3))
        find = nvml.nvmlDeviceGetHandleByPciBusId_v2
        self.assertEqual(find(b'0000:12:00.0', ctypes.byref(device)), 0)
        self.assertEqual((nvml.nvmlDeviceGetIndex(device, ctypes.byref(index)), index.value), (0, 2))
        self.assertEqual(find(b'0000:13:00.0', ctypes.byref(device)), 6)
        self.assertEqual(nvml.nvmlDeviceGetHandleByIndex_v2(3, ctypes.byref(device)), 2)
        self.assertEqual((nvml.nvmlShutdown(), nvml.nvmlShutdown()), (0, 1))


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
