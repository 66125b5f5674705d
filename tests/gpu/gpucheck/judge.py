# SPDX-License-Identifier: Apache-2.0
"""The judgements: what is wrong with a run, and what a number means. No side effects."""
import statistics

OK, BAD, SKIPPED = "ok", "BAD", "skipped"
NOT_TRACED, HUNG, CRASHED, NO_TIME = "not traced", "hung", "crashed", "no time"
BASE = "no tracer"  # the level that the others are compared with
FINDINGS = {BAD, NOT_TRACED, HUNG, CRASHED}

# Upper bounds in ns.
BUCKETS = [(1_000, "< 1 us"), (10_000, "< 10 us"), (100_000, "< 100 us"), (1_000_000, "< 1 ms"),
           (1_000_000_000, "< 1 s")]


def spread(values):
    """Of ns by which something is wrong: how many, the worst, how they are distributed."""
    histogram = {}
    for value in values:
        name = next((name for bound, name in BUCKETS if abs(value) < bound), ">= 1 s")
        histogram[name] = histogram.get(name, 0) + 1
    return {"count": len(values), "worst_ns": max(values, key=abs, default=0),
            "histogram": histogram}


def count_faults(expected, found):
    """A graph's sets may run as kernels on a GPU: with graphs both are compared in one sum."""
    pairs = [(name, expected[name], found.get(name, 0))
             for name in ("kernels", "memcpys", "memsets") if name in expected]
    if expected.get("graph_launches"):
        work = sum(wanted for name, wanted, _ in pairs if name != "memcpys")
        seen = sum(number for name, _, number in pairs if name != "memcpys")
        pairs = [pair for pair in pairs if pair[0] == "memcpys"]
        pairs.append(("kernels and memsets", work, seen))
    return [f"{number} {name} in the trace, {wanted} in the program"
            for name, wanted, number in pairs if wanted != number]


def not_traced(untraced, said, mode, mode_reason, trace_count, wanted="cupti"):
    """Why a run does not count as traced in mode @wanted; empty: it does. @untraced: the command
    says so; @said: lines that it said."""
    if untraced:
        return untraced
    if trace_count == 0:
        return " | ".join(["no trace was written", *said[:2]])
    if mode != wanted:
        return f"mode {mode}: {mode_reason or 'no reason given'}"
    return ""


def time_faults(before, outside, overlapping):
    """From three lists of ns: sentences with the worst value."""
    named = {"before their call": before, "outside the program's life": outside,
             "overlapping in one lane": overlapping}
    return [f"{len(values)} GPU operations {what}, the worst by {max(values)} ns"
            for what, values in named.items() if values]


def of_ended(ended):
    """The verdict of how a program ended, and its reason; (OK, "") when it ended well."""
    if ended.timed_out:
        return HUNG, ended.how()
    if ended.status == 77:
        return SKIPPED, ended.text.strip()[-300:]
    if ended.crashed:
        return CRASHED, ended.how() or f"exit status {ended.status}"
    if ended.status:
        return BAD, ended.how()
    return OK, ""


def of_probe(ended):
    verdict, reason = of_ended(ended)
    if verdict == BAD and ended.status == 1:
        return BAD, "does not hold"
    return verdict, reason


def overhead(rows):
    """{program: {level: {best, median, added, all} or {"why": text}}} out of the single
    measurements. A level that was not traced once has no number at all; without an untraced run
    nothing is added to anything."""
    table = {}
    for row in rows:
        levels = table.setdefault(row["program"], {})
        level = levels.setdefault(row["level"], {"all": [], "why": ""})
        if row["verdict"] == OK:
            level["all"].append(row["ns_per_launch"])
        else:
            level["why"] = level["why"] or f"{row['verdict']}: {row.get('reason', '')}"
    return {program: {name: figures(level, levels) for name, level in levels.items()}
            for program, levels in table.items()}


def figures(level, levels):
    if level["why"] or not level["all"]:
        return {"why": level["why"] or "not measured"}
    base = levels.get(BASE, {"all": [], "why": ""})
    best = min(level["all"])
    result = {"best": best, "median": statistics.median(level["all"]), "all": level["all"]}
    if base["all"]:
        result["added"] = best - min(base["all"])
    return result


def is_open(row):
    """Not tried. The overhead takes what time there is: its first round is the measurement."""
    again = row["group"] == "overhead" and not row["name"].endswith(", round 1")
    return row["verdict"] == NO_TIME and not again


def exit_status(rows, finished):
    """1 when something was found, or when the check did not come to its end."""
    return 1 if not finished or any(row["verdict"] in FINDINGS for row in rows) else 0
