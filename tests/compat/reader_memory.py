#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_tb_profiler's memory view of a folder of traces, as JSON: by worker and device the peak that it shows, and what it
draws. Run by tests/targets/test_tensors.py."""

import json
import os
import re
import sys
import tempfile

from torch_tb_profiler import io
from torch_tb_profiler.profiler.loader import RunLoader


def view(profile):
    curve = profile.get_memory_curve(time_metric="ms", memory_metric="B")
    events = profile.get_memory_events(time_metric="ms", memory_metric="B")["rows"]
    return {"views": [view.display_name for view in profile.views],
            "peaks": {device: float(re.search(r"([0-9.]+)B", text).group(1)) for device, text in
                      curve["metadata"]["peaks"].items()},
            "curve": {device: [row[1:] for row in rows] for device, rows in curve["rows"].items()},
            "events": {device: [row[1] for row in rows] for device, rows in events.items()}}


def main(folder):
    with tempfile.TemporaryDirectory() as cache:
        run = RunLoader("run", folder, io.Cache(os.path.join(cache, "c"))).load()
        print(json.dumps({worker: view(profile) for (worker, _), profile in run.profiles.items()}))


if __name__ == "__main__":
    main(sys.argv[1])
