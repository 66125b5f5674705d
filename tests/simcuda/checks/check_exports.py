#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares names, symbol versions and sonames of the simulated libraries with the real ones. The simulated
runtime also has some calls of later toolkits (tests/simcuda/gen_entries.py).

usage: check_exports.py SIMULATED_DIR TOOLKIT_DIR
"""
import pathlib
import re
import subprocess
import sys

PAIRS = [
    ('libcudart.so.13', 'lib64/libcudart.so.13'),
    ('libcupti.so.13', 'lib64/libcupti.so.13'),
    ('libcupti.so.13', 'extras/CUPTI/lib64/libcupti.so.13'),
    ('libcuda.so.1', 'lib64/stubs/libcuda.so'),
]
SKIP = 77
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import gen_entries  # noqa: E402


def exports(path):
    out = subprocess.run(['nm', '-D', '--defined-only', '--with-symbol-versions', str(path)],
                         check=True, capture_output=True, text=True).stdout
    return {m.group(1) for m in re.finditer(r' [TtWV] (\S+)$', out, re.M)} - {'_init', '_fini'}


def soname(path):
    out = subprocess.run(['readelf', '-d', str(path)], check=True, capture_output=True, text=True).stdout
    found = re.search(r'SONAME.*\[(.*)\]', out)
    return found.group(1) if found else None


def newer_calls():
    """Of toolkits after the one that is built with."""
    return {re.sub(r'_v\d+$', '', name) for name in gen_entries.NEWER}


def compare(ours, real):
    """The number of differences, each printed."""
    mine, theirs = exports(ours), exports(real)
    mine -= {name for name in mine - theirs if name.partition('@')[0] in newer_calls()}
    for name in sorted(theirs - mine):
        print(f'{ours.name}: lacks {name}')
    for name in sorted(mine - theirs):
        print(f'{ours.name}: has {name}, which {real} has not')
    if soname(ours) != soname(real):
        print(f'{ours.name}: soname {soname(ours)}, not {soname(real)}')
    print(f'{ours.name}: {len(mine & theirs)} names and versions as in {real}')
    return len(mine ^ theirs) + (soname(ours) != soname(real))


def main(simulated, toolkit):
    pairs = [(pathlib.Path(simulated, ours), pathlib.Path(toolkit, real)) for ours, real in PAIRS]
    pairs = [(ours, real) for ours, real in pairs if real.exists()]
    if not pairs:
        print('no real library to compare with')
        return SKIP
    return 1 if sum(compare(ours, real) for ours, real in pairs) else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
