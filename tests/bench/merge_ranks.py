#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What putting the ranks of a job together costs: merge_ranks.py CLI [RANKS EVENTS]...

For each pair, 1024 10000 and 64 100000 unless others are given: writes the traces, eight ranks to a host of its own clock, plain and
packed, and prints for each command its rate over the plain bytes and its largest resident memory, which is never less than this
script's. cat and gzip -dc read the same. Ten million events are 1.9 GB; TMPDIR says where.
"""
import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time

KERNELS = ["void gemm_kernel<float, 128, 64>(float const*, float const*, float*, int)",
           "softmax_warp_forward<float, 8>(float*, float const*, int)", "layer_norm_kernel(float const*, float*, int, float)",
           "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"]
PER_HOST = 8
BASE = 1782967788000000000
START = 5000000000000  # ns, of the first call
PERIOD = 12000  # ns, from launch to launch


def us(ns):
    return "%d.%03d" % (ns // 1000, ns % 1000)


def header(rank, ranks):
    return """{
"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150121545728, "computeMajor": 9, "computeMinor": 0, "numSms": 132}],
"distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d},
"metadata": {"gputrace_version": "0.1.0", "hostname": "n%d", "boot": "b%d", "pid": %d, "clock_first_monotonic_ns": 5000000000, "clock_first_realtime_ns": "%d"},
"displayTimeUnit": "ns",
"baseTimeNanoseconds": %d,
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": %d, "tid": 0, "ts": 5000000000.000, "args": {"name": "train"}}""" % (
        rank, ranks, rank // PER_HOST, rank // PER_HOST, 4100 + rank % PER_HOST, BASE + START, BASE, 4100 + rank % PER_HOST)


def launch(rank, index):
    """A call, its kernel and their arrow, on the clock of the rank's host: up to 5 ms off."""
    shift = rank // PER_HOST * 7919 % 10000 * 1000 - 5000000 if rank >= PER_HOST else 0
    name, pid, corr = KERNELS[index % len(KERNELS)], 4100 + rank % PER_HOST, index + 1
    call = START + index * PERIOD + shift
    late = (rank * 131 + index * 37) % 400 if index % 4 == 3 else 0  # ns, that a rank comes later to a collective
    begin, end = call + 4000 + late, call + 4000 + 2000 + index * 53 % 4000
    return (
        ',\n{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": %d, "tid": %d, "ts": %s, "dur": %s, '
        '"args": {"cbid": 211, "correlation": %d, "stack": %d}}'
        ',\n{"ph": "s", "id": %d, "pid": %d, "tid": %d, "ts": %s, "cat": "ac2g", "name": "ac2g"}'
        ',\n{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7, "ts": %s, "dur": %s, '
        '"args": {"device": 0, "context": 1, "stream": 7, "correlation": %d, "grid": [%d, 1, 1], "block": [256, 1, 1], "stack": %d}}'
        ',\n{"ph": "f", "bp": "e", "id": %d, "pid": 0, "tid": 7, "ts": %s, "cat": "ac2g", "name": "ac2g"}' % (
            pid, pid, us(call), us(2900 + index * 37 % 1800), corr, index % 50 + 1, corr, pid, pid, us(call), name, us(begin),
            us(end - begin), corr, index % 4096 + 1, index % 50 + 1, corr, us(begin)))


def write(folder, packed, ranks, events):
    for rank in range(ranks):
        text = "".join([header(rank, ranks), *(launch(rank, index) for index in range(events // 4)),
                        '\n], "traceName": "rank%d.json"}\n' % rank]).encode("ascii")
        with open(os.path.join(folder, "rank%d.json" % rank), "wb") as file:
            file.write(text)
        with gzip.open(os.path.join(packed, "rank%d.json.gz" % rank), "wb", 1) as file:
            file.write(text)


def generate(*of):
    """In a process of its own: what is started later inherits the largest size of this one as its own."""
    child = os.fork()
    if not child:
        write(*of)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("no traces could be written")
    return sum(entry.stat().st_size for entry in os.scandir(of[0]))


def run(words, size, label):
    began = time.monotonic()
    with open(os.devnull, "wb") as null:
        child = subprocess.Popen(words, stdout=null, stderr=subprocess.PIPE)
        said = child.stderr.read().decode().strip().splitlines()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    print("%-34s %7.1f s %7.0f MB/s %6.0f MiB  %s" % (label, seconds, size / seconds / 1e6, usage.ru_maxrss / 1024,
                                                     "" if child.returncode == 0 else "exit %d: %s" % (child.returncode, said[-1:])),
          flush=True)
    return said


def measure(cli, ranks, events):
    with tempfile.TemporaryDirectory() as top:
        folder, packed = os.path.join(top, "plain"), os.path.join(top, "packed")
        os.mkdir(folder)
        os.mkdir(packed)
        size = generate(folder, packed, ranks, events)
        print("%d ranks of %d events: %d bytes, %d packed" % (
            ranks, events, size, sum(entry.stat().st_size for entry in os.scandir(packed))), flush=True)
        run(["sh", "-c", "cat %s/*" % folder], size, "cat")
        run(["sh", "-c", "gzip -dc %s/*" % packed], size, "gzip -dc")
        said = run([cli, "merge", folder], size, "merge")
        print("   ", *said, sep="\n    ")
        run([cli, "merge", packed], size, "merge, packed")
        run([cli, "merge", "--output=%s" % os.path.join(top, "all.zip"), folder], size, "merge, FILE.zip")
        if os.path.exists(os.path.join(top, "all.zip")):
            print("    %d bytes" % os.path.getsize(os.path.join(top, "all.zip")))
        run([cli, "ranks", folder], size, "ranks")


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))  # as shells have it
    numbers = [int(word) for word in sys.argv[2:]] or [1024, 10000, 64, 100000]
    for ranks, events in zip(numbers[::2], numbers[1::2]):
        measure(sys.argv[1], ranks, events)


main()
