# SPDX-License-Identifier: Apache-2.0
"""What happened before a process was killed, according to the device's truth file, and what its trace lacks."""

import collections

import harness

KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}

Call = collections.namedtuple("Call", "name tid end")


def work_of(events):
    """The number of GPU operations in a trace by (correlation, kind)."""
    return collections.Counter((event["args"]["correlation"], KINDS[event["cat"]])
                               for event in events if event["ph"] == "X" and event["cat"] in KINDS)


def call_events(events):
    return [event for event in events
            if event["ph"] == "X" and event["cat"] in ("cuda_runtime", "cuda_driver")]


def calls_of(events):
    """The number of calls in a trace by (correlation, name)."""
    return collections.Counter((event["args"]["correlation"], event["name"]) for event in call_events(events))


def without_caller(events, function):
    """Launches, and GPU work whose launch had returned, without the function in their stack."""
    events = [event for event in events if event["ph"] == "X"]
    frames = {event["args"]["stack"]: event["args"]["frames"] for event in events if "frames" in event["args"]}
    knows = {stack for stack, lines in frames.items() if any(line.startswith(function + " (") for line in lines)}
    launches = {event["args"]["correlation"] for event in call_events(events) if event["name"] in harness.LAUNCHES}
    return [event for event in events if (event["cat"] in KINDS or event["name"] in harness.LAUNCHES)
            and event["args"]["correlation"] in launches and event["args"].get("stack") not in knows]


class Happened:
    """From the truth file: the end of each operation by (correlation, kind), the operations whose records
    CUPTI had delivered, and the calls that had returned, by correlation."""

    def __init__(self, folder, hooks=False):
        self.hooks = hooks
        self.launches = tuple(name for name in harness.LAUNCHES if name.startswith("cuda") or not hooks)
        self.ends, self.delivered, self.calls = {}, set(), {}
        for row in harness.truth_rows(folder):
            if row["truth"] == "op" and row["kind"] in harness.GPU_KINDS:
                self.ends[row["correlation"], row["kind"]] = row["end"]
            elif row["truth"] == "delivered":
                self.delivered.update((number, kind) for number, kind in row["work"])
            elif row["truth"] == "call" and not row["nested"]:
                self.calls[row["correlation"]] = Call(row["name"], row["tid"], row["end"])

    def missing_calls(self, events, until=None):
        """Calls that had returned (before a time) and are missing. Names that do not occur at all may not be
        recorded by the options."""
        seen = call_events(events)
        names = {event["name"] for event in seen}.union(self.launches)
        wanted = {number: call for number, call in self.calls.items()
                  if call.name in names and (until is None or call.end < until)}
        if self.hooks:
            return self.missing_of_hooks(wanted.values(), seen)
        numbers = {event["args"]["correlation"] for event in seen}
        return [number for number in wanted if number not in numbers]

    def missing_of_hooks(self, wanted, seen):
        """Hooks assign other ids, so calls are counted by name and thread; and they record a call after the
        device has reported it, so the latest one of each thread may be missing."""
        latest = {call.tid: call for call in sorted(self.calls.values(), key=lambda call: call.end)}
        wanted = collections.Counter((call.name, call.tid) for call in wanted if call != latest[call.tid])
        there = collections.Counter((event["name"], event["tid"]) for event in seen)
        return list((wanted - there).elements())

    def wrong_in(self, events, has_spool=True, counted=0):
        """Errors in its repaired trace, as lines. Without a spool the trace may end earlier. @counted: the calls
        that the ledger says were left out."""
        work, calls = work_of(events), calls_of(events)
        found = {"an operation twice": [key for key, count in work.items() if count > 1],
                 "a call twice": [key for key, count in calls.items() if count > 1]}
        if has_spool:
            found["operations are missing of which it had been told"] = self.delivered - set(work)
            missing = self.missing_calls(events)
            found[f"calls are missing that had returned, {counted} in the ledger"] = missing if len(missing) > counted else ()
        return [f"{what}: {len(rows)}: {sorted(rows)[:5]}" for what, rows in found.items() if rows]
