#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a slow disk does: the trace goes into a FIFO whose reader takes so many bytes a second.

    slow_disk.py BUILD [SPEED...] [--format chrome|perfetto] [--seconds N] [--rate 1k|10k|100k|200k|300k]

On the simulated device with virtual time; SPEED in MB/s. Prints a table: nanoseconds of a launch on the
launching thread (median), what was lost and counted, largest resident memory, and how much later than
without a tracer the program ended."""
import argparse
import os
import re
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TICK = 0.01
LOSSES = ("calls_lost_ring_full", "buffers_discarded", "records_dropped_by_cupti", "launches_without_record",
          "events_lost_disk")


class Reader(threading.Thread):
    """Reads at most so many bytes a second, keeps the end."""

    def __init__(self, path, speed):
        super().__init__(daemon=True)
        self.path, self.speed, self.tail = path, speed, b""

    def run(self):
        with open(self.path, "rb", buffering=0) as fifo:
            began, taken = time.monotonic(), 0
            while True:
                allowed = int((time.monotonic() - began) * self.speed) - taken
                if allowed <= 0:
                    time.sleep(TICK)
                    continue
                data = fifo.read(min(allowed, 1 << 20))
                if not data:
                    return
                taken += len(data)
                self.tail = (self.tail + data)[-16384:]


def run(arguments, output):
    """One run of the workload; its figures by name, and its seconds."""
    rate = {"1k": 1000, "10k": 10000, "100k": 100000, "200k": 200000, "300k": 300000}[arguments.rate]
    command = [os.path.join(ROOT, "scripts", "simcuda"), "--build=" + arguments.build, "--virtual",
               os.path.join(arguments.build, "bench", "gputrace-workload"), "rate" + arguments.rate,
               str(arguments.seconds * 10), str(rate // 10), "30"]
    environment = dict(os.environ)
    if output:
        library = os.path.join(arguments.build, "preload", "libgputrace.so")
        environment.update(LD_PRELOAD=library, CUDA_INJECTION64_PATH=library, GPUTRACE_OUTPUT=output,
                           GPUTRACE_FORMAT=arguments.format, GPUTRACE_NVTX="off")
    began = time.monotonic()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=True, timeout=300)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines()), time.monotonic() - began, done.stderr


def lost(tail, words):
    """What the ledger at the end of the stream says, else what was said."""
    found = {key: re.findall(rb'"%s": (\d+)' % key.encode(), tail) for key in (*LOSSES, "kernels_written")}
    if not any(found.values()):
        return "no ledger: " + (words.strip().splitlines() or ["the end is missing"])[-1]
    there = found.pop("kernels_written")
    losses = ", ".join(f"{key} {int(n[-1])}" for key, n in found.items() if n and int(n[-1])) or "nothing"
    return f"{losses} ({int(there[-1])} kernels are there)" if there else losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--format", default="chrome", choices=("chrome", "perfetto"))
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rate", default="100k")
    parser.add_argument("speeds", nargs="*", type=float, default=[1000, 100, 20, 5, 1])
    arguments = parser.parse_args()
    figures, plain, _ = run(arguments, None)
    print(f"no tracer: {float(figures['ns']):.0f} ns, {int(figures['rss_kib']) / 1024:.0f} MiB\n")
    print("| MB/s | ns a launch | lost, by the ledger | MiB | s later |\n| --- | --- | --- | --- | --- |")
    for speed in arguments.speeds:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "fifo")
            os.mkfifo(path)
            reader = Reader(path, speed * 1e6)
            reader.start()
            figures, seconds, words = run(arguments, path)
            reader.join(timeout=60)
            print(f"| {speed:g} | {float(figures['ns']):.0f} | {lost(reader.tail, words)} | "
                  f"{int(figures['rss_kib']) / 1024:.0f} | {seconds - plain:.1f} |", flush=True)


main()
