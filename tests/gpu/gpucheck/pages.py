# SPDX-License-Identifier: Apache-2.0
"""The row of --unified-memory: what became of a program's managed memory, by its addresses."""
import collections
import json

from gpucheck import judge, programs

KINDS = ("migration HtoD", "migration DtoH", "CPU page fault", "GPU page faults")
COLUMNS = {"To GPU (B)": "migration HtoD", "To CPU (B)": "migration DtoH"}  # of `gputrace memory`
ENDS = {"migration HtoD": ("CPU", "GPU 0"), "migration DtoH": ("GPU 0", "CPU")}
ALLOCATES = "allocate_managed"


def seen(events, report):
    """Of the events by their name: how many in the memory, and their bytes; how many elsewhere, and astray."""
    first, end = report["address"], report["address"] + report["bytes"]
    count, size, elsewhere, astray = (collections.Counter() for _ in range(4))
    for event in events:
        args = event["args"]
        if not first <= args.get("address", 0) < end:
            elsewhere[event["name"]] += 1
            continue
        count[event["name"]] += 1
        size[event["name"]] += args.get("bytes", 0)
        ends = (args.get("from"), args.get("to"))
        if event["name"] in ENDS and ends != ENDS[event["name"]]:
            astray[f"{event['name']} from {ends[0]} to {ends[1]}"] += 1
    return {"count": dict(count), "bytes": dict(size), "elsewhere": dict(elsewhere), "astray": dict(astray)}


def faults_of(found, report, is_real):
    """What is wrong with the events. On a device that computes, each page came to the kernel."""
    faults = [f"no {kind} in the program's managed memory" for kind in KINDS if not found["count"].get(kind)]
    faults += [f"{number} {kind} elsewhere" for kind, number in found["elsewhere"].items()]
    faults += [f"{number} {what}" for what, number in found["astray"].items()]
    if is_real and report["counted"] != report["pages"]:
        faults.append(f"the kernel counted {report['counted']} pages up instead of {report['pages']}")
    return faults


def table_faults(answer, found):
    """What is wrong with the table of `gputrace memory`: the line that allocated has all bytes."""
    if answer.status:
        return [f"gputrace memory: {answer.how()}"]
    rows = json.loads(answer.out).get("memory_unified", [])
    named = [row for row in rows if (row["Allocated By"] or "").startswith(ALLOCATES)]
    if len(named) != 1 or len(rows) != 1:
        return [f"gputrace memory has {len(rows)} rows of unified memory, {len(named)} of {ALLOCATES}"]
    return [f"{named[0][column]} B '{column}' in gputrace memory, {found['bytes'].get(kind, 0)} in the trace"
            for column, kind in COLUMNS.items() if named[0][column] != found["bytes"].get(kind, 0)]


def unified(session, program):
    """Migrations to and fro and faults of both sides, under the product."""
    bad = programs.unable(session.bare(program))
    if bad:
        return bad
    path = session.capture_file(program)
    run = session.traced(program, "--unified-memory", *programs.counting(session),
                         asked=("memory", "--format=json"), GPUTRACE_CAPTURE_BUFFERS=str(path))
    found = seen(run.traces[0].pages, run.report) if run.traces and run.report else {}

    def extra(run):
        return faults_of(found, run.report, session.preflight["device"] == "real") + \
            table_faults(run.answer, found)
    return programs.judged(run, run.report, extra) | {"pages": found}
