#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which rank makes the others wait, and why: the table rank_late of `gputrace ranks`, as a Dask job.

gputrace export --parquet=dataset gputrace-out/run
stragglers_dask.py dataset [ADDRESS]     ADDRESS: of a Dask scheduler; without one, two processes of this machine
"""

import json
import os
import sys

import dask.dataframe
from dask.distributed import Client, LocalCluster

CAUSES = {"gpu": "slower GPU", "work": "more GPU work", "data": "loading data", "host": "host", "network": "network"}


def table(folder, name):
    return dask.dataframe.read_parquet(os.path.join(folder, name))


def cause(row):
    if row["late"] <= 0:
        return "-"
    most = max(CAUSES, key=lambda part: row[part])
    return CAUSES[most] if row[most] * 2 >= row["late"] else "no single one"


def stragglers(folder):
    """A row a process, the one that cost the others most first. Only sums leave the workers."""
    met, blamed = table(folder, "collectives"), table(folder, "blames")
    met["rank"] = met["rank"].astype("int64")
    met["is_last"] = met["is_last"].astype("int64")
    met = met.groupby(["rank", "process"]).agg({"round": "count", "is_last": "sum", "waited": "sum"})
    blamed = blamed.groupby("process")[["cost", "late", *CAUSES]].sum()
    met, blamed = dask.compute(met, blamed)
    met = met.rename(columns={"round": "collectives", "is_last": "was_last"}).reset_index()
    rows = met.merge(blamed, on="process", how="left").fillna(0)
    rows["cause"] = rows.apply(cause, axis=1)
    rows = rows.astype({part: "int64" for part in ("cost", "late", *CAUSES)})
    rows = rows.sort_values(["cost", "rank"], ascending=[False, True])
    return rows[["rank", "collectives", "was_last", "cost", "waited", "late", "cause"]]


def main(folder, address=None):
    cluster = address or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster):
        print(json.dumps(stragglers(folder).to_dict("records"), indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
