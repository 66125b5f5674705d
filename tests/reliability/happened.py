# SPDX-License-Identifier: Apache-2.0
"""What had happened until a process was killed, by the device's books, and what a trace of it leaves out."""

import collections
import json
import os

import harness

KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}


def truth_rows(folder):
    """Every whole line of the truth file."""
    for name in os.listdir(folder):
        if not name.startswith("truth."):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)


def work_of(events):
    """How often (correlation, kind) stands among the events of a trace."""
    return collections.Counter((event["args"]["correlation"], KINDS[event["cat"]])
                               for event in events if event["ph"] == "X" and event["cat"] in KINDS)


def calls_of(events):
    """How often (correlation, name)."""
    return collections.Counter((event["args"]["correlation"], event["name"]) for event in events
                               if event["ph"] == "X" and event["cat"] in ("cuda_runtime", "cuda_driver"))


class Happened:
    """The device's books: (correlation, kind) -> end of each operation, those whose records CUPTI had
    handed over, and the calls that had returned."""

    def __init__(self, folder):
        self.ends, self.delivered, self.calls = {}, set(), {}
        for row in truth_rows(folder):
            if row["truth"] == "op" and row["kind"] in harness.GPU_KINDS:
                self.ends[row["correlation"], row["kind"]] = row["end"]
            elif row["truth"] == "delivered":
                self.delivered.update((number, kind) for number, kind in row["work"])
            elif row["truth"] == "call" and not row["nested"]:
                self.calls[row["correlation"]] = row["name"]

    def wrong_in(self, events, has_spool=True):
        """What is wrong in a repaired trace of it, in lines. Without a spool it may end earlier."""
        work, calls = work_of(events), calls_of(events)
        recorded = {name for _, name in calls}
        returned = {number for number, name in self.calls.items() if name in recorded}
        found = {"an operation twice": [key for key, count in work.items() if count > 1],
                 "a call twice": [key for key, count in calls.items() if count > 1]}
        if has_spool:
            found["operations are missing of which it had been told"] = self.delivered - set(work)
            found["calls are missing that had returned"] = returned - {number for number, _ in calls}
        return [f"{what}: {len(rows)}: {sorted(rows)[:5]}" for what, rows in found.items() if rows]
