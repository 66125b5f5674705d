# SPDX-License-Identifier: Apache-2.0
"""Jobs of several ranks whose collectives, clocks and faults are known."""

import random

import generate

MS = 1_000_000  # ns
BASE = generate.BASE
LATE = 5  # the rank that is slowed
BYTES = 64 << 20


class Rank:
    """What one rank did, in ns of the true time, and how its clock shows it."""

    def __init__(self, number, host, ahead, drift):
        self.number, self.host, self.ahead, self.drift = number, host, ahead, drift
        self.events, self.metadata = [], {}
        self.now = 0
        self.correlation = 0

    def shown(self, t):
        return round(t + self.ahead + self.drift * t)

    def slice(self, make, name, start, end, **more):
        begin, stop = self.shown(start), self.shown(end)
        self.correlation += 1
        event = make(name, begin / 1000, (stop - begin) / 1000, self.correlation, **more)
        event["ts"], event["dur"] = f"{begin / 1000:.3f}", f"{(stop - begin) / 1000:.3f}"
        event["ts"], event["dur"] = float(event["ts"]), float(event["dur"])
        self.events.append(event)

    def range(self, name, start, end):
        begin, stop = self.shown(start), self.shown(end)
        self.events.append(
            generate.range_(name, round(begin / 1000, 3), round((stop - begin) / 1000, 3))
        )

    def trace(self, world):
        return generate.trace(
            self.events,
            {
                "distributedInfo": {
                    "backend": "nccl",
                    "rank": self.number,
                    "world_size": world,
                },
                "metadata": {"hostname": self.host, **self.metadata},
                "baseTimeNanoseconds": BASE,
            },
        )


def all_reduce(name, ts, dur, correlation):
    del name
    return generate.kernel(
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        ts,
        dur,
        correlation,
        **{
            "Collective name": "allreduce",
            "In msg nelems": BYTES // 4,
            "Out msg nelems": BYTES // 4,
            "dtype": "Float",
        },
    )


def mpi_call(name, ts, dur, tid=4100, **args):
    return dict(generate.range_(name, ts, dur, tid=tid), cat="library", args=args)


def mpi_all_reduce(rank, ranks, step):
    """Of step @step, on the host."""
    return lambda name, ts, dur, correlation: mpi_call(
        "MPI_Allreduce", ts, dur, **{"sent bytes": BYTES, "received bytes": BYTES, "Group size": ranks,
                                     "Process Group Name": "0x6d70695f776f726c", "Rank": rank, "Seq": step + 1})


def compute(rank, chooser, fault, extra):
    """A step up to its collective: loading, host (@extra: in this step, on all), kernels."""
    hit = rank.number == LATE and fault
    load = 3 * MS * (2 if hit == "data" else 1)
    host = 1 * MS * (4 if hit == "host" else 1) + extra
    kernels = 13 if hit == "work" else 10
    slow = 1.3 if hit == "gpu" else 1
    rank.range("load_data", rank.now, rank.now + load)
    t = rank.now + load + host
    for i in range(kernels):
        dur = 500_000 * slow * (1 + 0.02 * chooser.gauss(0, 1))
        rank.slice(generate.kernel, f"gemm_{i % 3}", t, t + dur)
        t += dur
    return t


def job(fault=None, ranks=8, steps=40, seed=1, ahead=4 * MS, drift=30e-6, jitter=1500, mpi=False):
    """The ranks, and all rounds: lists of (rank, arrival, end) in true ns."""
    chooser = random.Random(seed)
    members = [
        Rank(n, "a" if n < ranks // 2 else "b", *((0, 0) if n < ranks // 2 else (ahead, drift)))
        for n in range(ranks)
    ]
    rounds = []
    for step in range(steps):
        begun = [rank.now for rank in members]
        extra = chooser.random() * 3 * MS
        came = [compute(rank, chooser, fault, extra) for rank in members]
        over = max(came) + 2 * MS * (3 if fault == "network" else 1)
        ends = [over + jitter * chooser.gauss(0, 1) for _ in members]
        rounds.append(list(zip(range(ranks), came, ends)))
        for rank, start, end in zip(members, came, ends):
            rank.slice(mpi_all_reduce(rank.number, ranks, step) if mpi else all_reduce, "", start, end)
            rank.now = end + 5000 + chooser.random() * 2000
        for rank, start in zip(members, begun):
            rank.range(f"ProfilerStep#{step}", start, rank.now - 1000)
    return members, rounds
