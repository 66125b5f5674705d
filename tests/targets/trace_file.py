# SPDX-License-Identifier: Apache-2.0
"""A finished trace for the target tests: its slices by kind, times in whole nanoseconds."""

import glob
import json
import os
from decimal import Decimal

GPU = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset", "gpu_graph": "graph"}


def nanoseconds(microseconds):
    """"12.345" (a Decimal) -> 12345, exactly."""
    return int(microseconds * 1000)


def frame_function(frame):
    """The function of the first frame of "launched by": text before " (module)"."""
    first = frame.split(" < ")[0]
    return first[: first.rfind(" (")] if first.endswith(")") and " (" in first else first


class Trace:
    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as file:
            self.root = json.load(file, parse_float=Decimal)
        self.events = self.root["traceEvents"]
        self.base = self.root["baseTimeNanoseconds"]
        self.ledger = self.root["ledger"]
        self.slices = [e for e in self.events if e["ph"] == "X"]
        self.gpu = [e for e in self.slices if e["cat"] in GPU]
        self.calls = [e for e in self.slices if e["cat"] in ("cuda_runtime", "cuda_driver")]

    def start(self, event):
        return self.base + nanoseconds(Decimal(event["ts"]))

    def duration(self, event):
        return nanoseconds(Decimal(event["dur"]))


def find(folder):
    """All trace files below @folder."""
    return sorted(glob.glob(os.path.join(folder, "**", "*.pt.trace.json"), recursive=True))
