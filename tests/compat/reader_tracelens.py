#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TraceLens: every GPU operation hangs under its call, the NCCL table, the fused file.

TraceLens is on no package index (what PyPI calls "tracelens" is another program). TRACELENS=FOLDER
names a checkout of github.com/AMD-AGI/TraceLens; its requirements must be in .venv.
"""

import os
import sys

CHECKOUT = os.environ.get("TRACELENS", "")
if not CHECKOUT:
    print("skipped: TraceLens is on no package index; set TRACELENS to a checkout of it")
    sys.exit(77)
sys.path.insert(0, CHECKOUT)

from TraceLens import NcclAnalyser, TraceFuse  # noqa: E402
from TraceLens.Trace2Tree.trace_to_tree import TraceToTree  # noqa: E402
from TraceLens.util import DataLoader  # noqa: E402

import traces  # noqa: E402


def check_links(path, events):
    tree = TraceToTree(DataLoader.load_data(path)["traceEvents"])
    tree.build_tree(add_python_func=False)
    work = [e for e in tree.events if e.get("cat") in traces.GPU]
    assert len(work) == len(traces.of(events, *traces.GPU)), len(work)
    loose = [e["name"] for e in work if e.get("parent") is None]
    assert not loose, f"{len(loose)} of {len(work)} GPU operations hang under no call"


def main(folder):
    truth = traces.load(folder)
    paths = [path for path, _ in truth.values()]
    for path, events in truth.values():
        check_links(path, events)
    collectives = sum(1 for _, events in truth.values() for e in traces.of(events, "kernel")
                      if e["name"].startswith("nccl"))
    if collectives:
        table = NcclAnalyser(paths, len(paths)).build_df_long()
        assert len(table) == collectives, (len(table), collectives)
        assert table["Collective name"].notna().all() and table["dtype"].notna().all(), table
    fused = TraceFuse(paths).merge_and_save(os.path.join(os.path.dirname(folder), "fused.json"))
    assert os.path.getsize(fused) > 0
    print(f"TraceLens: {len(paths)} ranks, all linked")


if __name__ == "__main__":
    main(sys.argv[1])
