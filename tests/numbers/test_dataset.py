#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gputrace export --parquet` and --arrow, read by others: DuckDB, Dask, pyarrow (scripts/setup --compat, or a Python that
has them in GPUTRACE_PYTHON), against what the commands say of the same traces."""

import json
import os
import subprocess
import sys
from unittest import mock

import cases
import rank_traces

EXAMPLES = os.path.join(cases.ROOT, "examples")
CAUSES = {"several": "no single one", "not known": "no single one"}


def python_with(*modules):
    found = os.environ.get("GPUTRACE_PYTHON") or os.path.join(cases.ROOT, ".venv", "bin", "python")
    if not os.path.exists(found):
        raise cases.Skip("no .venv; scripts/setup --compat makes it")
    done = subprocess.run([found, "-c", "import " + ", ".join(modules)], capture_output=True, check=False)
    if done.returncode:
        raise cases.Skip(f"{found} has not all of {', '.join(modules)}; scripts/setup --compat installs them")
    return found


def export(form, python, *inputs, expect=0):
    """Where the dataset is, and what was said."""
    target = os.path.join(cases.folder(), "dataset")
    return target, run_export(form, python, target, *inputs, expect=expect)


def run_export(form, python, target, *inputs, expect=0):
    with mock.patch.dict(os.environ, GPUTRACE_PYTHON=python):
        return cases.run("export", f"--{form}={target}", *inputs, expect=expect)[1]


def job(fault):
    where = cases.folder()
    for rank in rank_traces.job(fault, steps=10)[0]:
        cases.write(rank.trace(8), f"rank{rank.number}.json", where)
    return where


def ask(python, code, *words):
    """What a program in that Python prints, from JSON."""
    done = subprocess.run([python, "-c", code, *words], capture_output=True, text=True, timeout=250, check=False)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def late(where):
    """The table of `gputrace ranks`, by rank."""
    rows = {}
    for row in cases.tables("ranks", where)["rank_late"]:
        rows[int(row["Rank"].split()[1])] = {
            "collectives": row["Collectives"], "was_last": row["Was Last"], "cost": row["Cost Others (ns)"],
            "waited": row["Waited (ns)"], "late": row["Late (ns)"], "cause": CAUSES.get(row["Cause"], row["Cause"])}
    return rows


def check_late(found, where):
    expected = late(where)
    assert [row["rank"] for row in found][0] == rank_traces.LATE, found
    assert {row.pop("rank"): row for row in found} == expected, (found, expected)


def test_stragglers_in_sql():
    python = python_with("pyarrow.parquet", "duckdb")
    for fault in ("gpu", "data"):
        where = job(fault)
        target, said = export("parquet", python, where)
        assert not said, said
        check_late(ask(python, """
import duckdb, json, os, sys
os.chdir(sys.argv[1])
rows = duckdb.sql(open(sys.argv[2]).read())
print(json.dumps([dict(zip(rows.columns, row)) for row in rows.fetchall()]))
""", target, os.path.join(EXAMPLES, "stragglers.sql")), where)


def test_stragglers_in_dask():
    python = python_with("pyarrow.parquet", "dask.dataframe", "distributed")
    where = job("host")
    target, _ = export("parquet", python, where)
    done = subprocess.run([python, os.path.join(EXAMPLES, "stragglers_dask.py"), target], capture_output=True, text=True,
                          timeout=250, check=False)
    assert not done.returncode, done.stderr
    check_late(json.loads(done.stdout), where)


SUMS = """
import json, sys
import pyarrow.dataset as ds
def table(name):
    return ds.dataset(sys.argv[1] + "/" + name, format=sys.argv[2], partitioning="hive").to_table()
kernels, gaps = table("kernels"), table("gaps")
print(json.dumps({
    "kernels": {row["name"]: [row["dur_sum"], row["dur_count"]] for row in
                kernels.group_by("name").aggregate([("dur", "sum"), ("dur", "count")]).to_pylist()},
    "gaps": {row["cause"]: row["dur_sum"] for row in gaps.group_by("cause").aggregate([("dur", "sum")]).to_pylist()},
    "ranges": table("ranges").num_rows, "ranks": sorted(set(kernels["rank"].to_pylist())),
    "drift": max(abs(stop - start - dur) / dur for start, stop, dur in
                 zip(*(kernels[name].to_pylist() for name in ("start", "stop", "dur")))),
    "first": min(kernels["start"].to_pylist())}))
"""


def check_sums(python, where):
    kernels = {row["Name"]: [row["Total Time (ns)"], row["Instances"]]
               for row in cases.tables("stats", "--report=cuda_gpu_kern_sum", where)["cuda_gpu_kern_sum"]}
    causes = {}
    for row in cases.tables("gaps", "--min=0", where)["gpu_idle_causes"]:
        causes[row["Cause"]] = causes.get(row["Cause"], 0) + row["Idle Time (ns)"]
    for form in ("parquet", "arrow"):
        target, _ = export(form, python, where)
        sums = ask(python, SUMS, target, form)
        assert sums["kernels"] == kernels, (sums, kernels)
        assert sums["gaps"] == {cause: ns for cause, ns in causes.items() if cause in sums["gaps"]}, (sums, causes)
        assert sums["gaps"] and sums["drift"] < 1e-4, sums
    return sums


def test_sums_are_those_of_the_commands():
    python = python_with("pyarrow.parquet")
    sums = check_sums(python, job("work"))
    assert sums["ranges"] == 8 * 10 * 2 and sums["ranks"] == list(range(8)), sums
    assert sums["first"] >= rank_traces.BASE, sums


def test_sums_of_a_public_trace():
    python = python_with("pyarrow.parquet")
    traces = sorted(cases.public(), key=os.path.getsize)
    sums = check_sums(python, traces[len(traces) // 3])
    assert len(sums["gaps"]) > 2, sums


def test_tables_without_files():
    python = python_with("pyarrow", "pandas")
    module = os.path.join(os.path.dirname(os.path.dirname(cases.CLI)), "transform")
    rows = ask(python, """
import json, sys
sys.path.insert(0, sys.argv[1])
import gputrace_dataset, pyarrow
job = gputrace_dataset.open(sys.argv[2])
stream = job.stream("kernels", 0)
del job
print(json.dumps([pyarrow.RecordBatchReader.from_stream(stream).read_all().num_rows,
    len(gputrace_dataset.open(sys.argv[2]).table("kernels").to_pandas())]))
""", module, job(None))
    assert rows == [10 * 11, 8 * 10 * 11], rows


def test_a_single_trace_and_files_that_are_none():
    python = python_with("pyarrow.parquet")
    where = job(None)
    good, bad = os.path.join(where, "rank1.json"), os.path.join(where, "bad.json")
    with open(bad, "w", encoding="utf-8") as file:
        file.write('{"nothing": 1}\n')
    target, said = export("parquet", python, good, bad, expect=1)
    assert "bad.json" in said, said
    assert os.listdir(os.path.join(target, "kernels")) == ["rank=1"]
    assert "exists" in run_export("parquet", python, target, good, expect=1)
    assert not os.path.exists(export("parquet", python, bad, expect=1)[0])


def test_no_pyarrow():
    without = os.path.join(cases.folder(), "python")
    with open(without, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    os.chmod(without, 0o755)
    for python, line in ((without, "pip install pyarrow"), ("/nowhere/python", "/nowhere/python: No such file")):
        target, said = export("parquet", python, job(None), expect=1)
        assert line in said and "GPUTRACE_PYTHON" in said, said
        assert len(said.splitlines()) == 1, said
        assert not os.path.exists(target)


def test_options():
    assert "not both" in cases.run("export", "--parquet=a", "--arrow=b", "x.json", expect=2)[1]


if __name__ == "__main__":
    cases.main([test for name, test in list(globals().items()) if name.startswith("test_")])
