#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lint of .pftrace files finds nothing in what the writer makes, and the right error in each kind of broken file; GPU
slices carry what Perfetto's Compute panel and queries ask for."""

import os
import struct
import subprocess
import sys

import files

CLI = sys.argv[2]
sys.path.insert(0, os.path.join(files.ROOT, "tests", "lint"))
import pftrace_lint  # noqa: E402

SNAPSHOT, TIMESTAMP, SEQUENCE, EVENT, INTERNED, STAGE, TRACK = 6, 8, 10, 11, 12, 53, 60
HOST, GPU = 1, 2


def convert(path):
    target = os.path.join(files.folder(), "same.pftrace")
    done = subprocess.run([CLI, "convert", path, target], stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return target


GOOD = convert(files.make(files.folder(), 20, sync=1, devices=2)[0])


# ---- packets as lists of [number, value], to be changed and written again ----

def packed(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def encode(fields):
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += packed(number << 3) + packed(value)
        elif isinstance(value, float):
            out += packed(number << 3 | 1) + bytes(8)
        else:
            data = encode(value) if isinstance(value, list) else value
            out += packed(number << 3 | 2) + packed(len(data)) + data
    return bytes(out)


def decode(data):
    return [[number, value] for number, value in pftrace_lint.fields(data)]


def packets():
    return [[1, decode(packet)] for _, packet in decode(files.read(GOOD))]


def get(fields, number):
    """The value of a field; messages become lists in place, so that they can be changed."""
    for field in fields:
        if field[0] == number:
            if isinstance(field[1], bytes):
                field[1] = decode(field[1])
            return field[1]
    return None


def first(trace, number, sequence=None, where=lambda packet: True):
    for _, packet in trace:
        if any(field == [SEQUENCE, sequence] for field in packet) or sequence is None:
            if get(packet, number) is not None and where(packet):
                return packet
    raise AssertionError(f"no packet with field {number}")


def drop(fields, number):
    fields[:] = [field for field in fields if field[0] != number]


def found(change):
    """Rules that the changed file breaks."""
    trace = packets()
    change(trace)
    path = os.path.join(files.folder(), "broken.pftrace")
    with open(path, "wb") as file:
        file.write(encode(trace))
    return {line.split(": ")[1] for line in pftrace_lint.Lint(path).check()}


# ---- tests ----

def good_files():
    assert pftrace_lint.Lint(GOOD).check() == []
    for settings in ({"hostile": 1, "devices": 3}, {"few": 1}, {"full": 1, "rank": 1, "world": 4}):
        converted = convert(files.make(files.folder(), 30, **settings)[0])
        written, _ = files.make(files.folder(), 30, perfetto=1, **settings)
        for path in (converted, written):
            assert pftrace_lint.Lint(path).check() == [], (settings, path)


def killed():
    """A file that ends anywhere has no finding but what its end lacks."""
    data = files.read(GOOD)
    path = os.path.join(files.folder(), "killed.pftrace")
    for size in range(len(data) // 3, len(data), len(data) // 7):
        with open(path, "wb") as file:
            file.write(data[:size])
        assert pftrace_lint.Lint(path, running=True).check() == [], size
        assert {line.split(": ")[1] for line in pftrace_lint.Lint(path).check()} <= {"wire", "nesting"}


def clocks():
    def without(number):
        def change(trace):
            for sequence in (HOST, GPU):
                snapshot = get(first(trace, SNAPSHOT, sequence), SNAPSHOT)
                snapshot[:] = [field for field in snapshot if field[0] != 1 or decode(field[1])[0] != [1, number]]
        return change

    def jump(trace):
        snapshot = get(first(trace, SNAPSHOT, GPU), SNAPSHOT)
        for field in snapshot:
            if field[0] == 1 and decode(field[1])[0] == [1, 1]:
                field[1] = [[1, 1], [2, 5]]

    assert "clocks" in found(without(6))
    assert "clocks" in found(without(64))
    assert "clocks" in found(without(1))
    assert "clocks" in found(jump)


def interning():
    def late(trace):
        at = next(i for i, (_, packet) in enumerate(trace) if get(packet, INTERNED) and i > 4)
        trace.append(trace.pop(at))

    def twice(trace):
        table = get(first(trace, INTERNED, HOST), INTERNED)
        table.append([2, [[1, 1], [2, b"one"]]])
        table.append([2, [[1, 1], [2, b"other"]]])

    def not_text(trace):
        get(first(trace, INTERNED, HOST), INTERNED).append([2, [[1, 999999], [2, b"\xff"]]])

    def no_state(trace):
        for _, packet in trace:
            drop(packet, 13)

    assert "interning" in found(late)
    assert "interning" in found(twice)
    assert "wire" in found(not_text)
    assert "interning" in found(no_state)


def tracks_and_nesting():
    def is_end(packet):
        return get(get(packet, EVENT), 9) == 2

    def no_end(trace):
        drop(first(trace, EVENT, HOST, is_end), EVENT)

    def no_track(trace):
        for _, packet in trace:
            drop(packet, TRACK)

    def no_begin(trace):
        drop(first(trace, EVENT, HOST, lambda packet: get(get(packet, EVENT), 9) == 1), EVENT)

    assert found(no_end) == {"nesting"}
    assert found(no_begin) == {"nesting"}
    assert found(no_track) == {"tracks"}


def gpu_and_flows():
    def without(number):
        return lambda trace: drop(get(first(trace, STAGE, GPU), STAGE), number)

    def early(trace):
        at = next(i for i, (_, packet) in enumerate(trace) if get(packet, STAGE) and i > 50)
        for field in trace[at][1]:
            if field[0] == TIMESTAMP:
                field[1] = field[1] - 10 ** 10 & (1 << 64) - 1

    for number in (1, 5, 13, 14, 19):
        assert "gpu" in found(without(number)), number
    assert "flows" in found(early)


def argument_names(path):
    """[{argument: value}] of each kernel, texts resolved."""
    names, texts, kernels, found_kernels = {}, {}, {}, []
    stages = {}

    def arguments(data):
        out = {}
        for argument in data:
            fields = dict(decode(argument))
            value = next(fields[number] for number in (3, 4, 5, 6, 7) if number in fields)
            out[names[fields[1]]] = texts[value] if 7 in fields else value
        return out

    for _, packet in decode(files.read(path)):
        packet = decode(packet)
        if [SEQUENCE, GPU] not in packet:
            continue
        for number, data in packet:
            if number == INTERNED:
                for table, entry in decode(data):
                    fields = dict(decode(entry))
                    if table == 1001:
                        names[fields[1]] = fields[2].decode()
                    elif table == 29:
                        texts[fields[1]] = fields[2].decode()
                    elif table == 24:
                        stages[fields[1]] = fields
                    elif table == 1000:
                        kernels[fields[1]] = arguments([v for n, v in decode(entry) if n == 5])
                        kernels[fields[1]]["arch"] = fields.get(4, b"").decode()
            elif number == STAGE:
                fields = dict(decode(data))
                if stages[fields[14]].get(4) == 2:
                    own = arguments([v for n, v in decode(fields.get(21, b"")) if n == 3])
                    found_kernels.append({**kernels[fields[19]], **own, "event": fields[1], "submission_id": fields[10],
                                          "stage": stages[fields[14]][2].decode()})
    return found_kernels


def what_the_panel_asks_for():
    kernels = argument_names(files.make(files.folder(), 20, perfetto=1)[0])
    assert len(kernels) > 20
    for kernel in kernels:
        assert kernel["kernel_demangled_name"] == kernel["stage"], kernel
        assert kernel["submission_id"] == kernel["event"] and kernel["cat"] == b"kernel", kernel
        assert kernel["arch"].startswith("sm_"), kernel
        blocks = kernel["launch.grid_size.x"] * kernel["launch.grid_size.y"] * kernel["launch.grid_size.z"]
        assert kernel["grid_size"] == blocks and kernel["thread_count"] == blocks * kernel["workgroup_size"], kernel
    full = [kernel for kernel in kernels if "occupancy_limit_registers" in kernel]
    assert full and all(kernel["occupancy_limit_warps"] == 8 for kernel in full)
    for kernel in full:
        waves, of_blocks = (struct.unpack("<d", kernel[name])[0] for name in
                            ("waves_per_multiprocessor", "blocks_per_multiprocessor"))
        assert abs(waves * kernel["resident_blocks_per_multiprocessor"] - of_blocks) < 1e-5, kernel
    with_stack = [kernel for kernel in kernels if "stack" in kernel]
    assert with_stack and all(" (" in kernel["launched_by"] for kernel in with_stack), kernels[0]


files.main([good_files, killed, clocks, interning, tracks_and_nesting, gpu_and_flows, what_the_panel_asks_for])
