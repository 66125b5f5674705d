# SPDX-License-Identifier: Apache-2.0
"""What the traces of a folder really hold, by Python's own json: the readers are compared with it."""

import glob
import json
import os

GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def load(folder):
    """{rank: (path, events)} of every trace of the folder."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.pt.trace.json"))):
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        found[trace["distributedInfo"]["rank"]] = (path, trace["traceEvents"])
    assert found, f"no trace in {folder}"
    return found


def of(events, *categories):
    """The slices of these categories."""
    return [e for e in events if e["ph"] == "X" and e["cat"] in categories]


def extent(events):
    """(start, end) of all slices that the program made."""
    spans = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["cat"] != "User_Annotation"]
    return min(start for start, _ in spans), max(end for _, end in spans)


def steps(events):
    """(start, end) of each ProfilerStep, in order."""
    spans = [(e["ts"], e["ts"] + e["dur"]) for e in of(events, "user_annotation")
             if e["name"].startswith("ProfilerStep#")]
    return sorted(spans)
