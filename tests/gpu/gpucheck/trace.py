# SPDX-License-Identifier: Apache-2.0
"""One trace against what its program said it did: counts, links, time stamps, losses."""
import collections
import decimal
import json

GPU_CATEGORIES = {"kernel": "kernels", "gpu_memcpy": "memcpys", "gpu_memset": "memsets",
                  "gpu_graph": "graphs"}
API_CATEGORIES = {"cuda_runtime", "cuda_driver"}
LOSSES = ("calls_lost_ring_full", "calls_lost_no_thread", "records_dropped_by_cupti",
          "records_unknown_kind", "records_insane", "unreadable_bytes", "buffers_discarded",
          "gpu_ops_without_call", "launches_without_record", "times_reversed", "gpu_before_launch",
          "kernels_untimed", "memcpys_untimed", "memsets_untimed", "graphs_untimed", "events_lost_disk",
          "events_lost_before_file", "events_lost_memory", "events_lost_at_kill")


def sensors_of(events):
    """[number, least, most] of the values of each counter of a GPU, as --nvml records them."""
    found = {}
    for event in events:
        if event["ph"] != "C" or event["name"] == "tracer cost" or event["pid"] >= 64:
            continue
        for series, value in event["args"].items():
            row = found.setdefault(f"GPU {event['pid']} {event['name']}: {series}", [0, value, value])
            row[:] = row[0] + 1, min(row[1], value), max(row[2], value)
    return found


class Trace:
    """The events of a closed trace file, sorted into what the checks ask for."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as text:
            content = json.load(text)
        self.path = str(path)
        self.metadata = content.get("metadata", {})
        self.cupti_version = content.get("cupti_version", 0)
        self.driver_version = content.get("cuda_driver_version", 0)
        self.runtime_version = content.get("cuda_runtime_version", 0)
        self.base_ns = content["baseTimeNanoseconds"]
        self.devices = content.get("deviceProperties", [])
        self.ledger = content.get("ledger", {})
        slices = [event for event in content["traceEvents"] if event["ph"] == "X"]
        self.operations = [event for event in slices if event["cat"] in GPU_CATEGORIES]
        self.pages = [event for event in content["traceEvents"] if event.get("cat") == "unified_memory"]
        self.notes = [f"{event['name']} {event['args']}" for event in content["traceEvents"]
                      if event["ph"] == "i" and event.get("cat") == "gputrace"][:40]
        self.sensors = sensors_of(content["traceEvents"])
        self.calls = {event["args"]["correlation"]: event for event in slices
                      if event["cat"] in API_CATEGORIES and "correlation" in event["args"]}

    def counts(self):
        found = collections.Counter(GPU_CATEGORIES[event["cat"]] for event in self.operations)
        return {name: found.get(name, 0) for name in GPU_CATEGORIES.values()}

    def kernels_named(self, part):
        return sum(1 for event in self.operations
                   if event["cat"] == "kernel" and part in event["name"])

    # Each of the following returns sentences; none is good.

    def unlinked(self):
        lost = [event for event in self.operations
                if event["args"].get("correlation") not in self.calls]
        return [f"{len(lost)} GPU operations without the call that asked for them"] if lost else []

    def time_errors(self, began_ns, ended_ns):
        """By how many ns operations begin before their call, lie outside the program's life, or
        overlap the next one of their lane: three lists."""
        before, outside, overlapping = [], [], []
        lanes = collections.defaultdict(list)
        for event in self.operations:
            call = self.calls.get(event["args"].get("correlation"))
            start = nanoseconds(event["ts"])
            end = start + nanoseconds(event["dur"])
            if call is not None:
                before.append(nanoseconds(call["ts"]) - start)
            outside.append(max(began_ns - start - self.base_ns, end + self.base_ns - ended_ns))
            lanes[event["pid"], event["tid"]].append((start, end))
        for spans in lanes.values():
            spans.sort()
            overlapping += [a[1] - b[0] for a, b in zip(spans, spans[1:])]
        return tuple([value for value in values if value > 0]
                     for values in (before, outside, overlapping))

    def without_stack(self):
        bare = sum(1 for event in self.operations if "launched by" not in event["args"])
        return [f"{bare} GPU operations without a stack"] if bare else []

    def losses(self):
        return [f"{name}: {self.ledger[name]}" for name in LOSSES if self.ledger.get(name)]


def nanoseconds(microseconds):
    """Exact for the 3 decimals of the format; the product of two floats is not."""
    return round(decimal.Decimal(repr(microseconds)) * 1000)
