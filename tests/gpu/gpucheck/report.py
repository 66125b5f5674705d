# SPDX-License-Identifier: Apache-2.0
"""The report, as JSON and as text, whole after each row: written beside and renamed."""
import contextlib
import json
import os
import pathlib
import tarfile

from gpucheck import judge

NAME = "gpu-check-report"
MOST_FILE = 15 << 20  # of one file that leaves the machine
MOST_STACKS = 8       # hung programs whose stacks stay in the report
NOT_REACHED = "not reached"


class Report:
    """rows: dicts with name, group, verdict, reason, seconds and what the row adds."""

    def __init__(self, folder, name=NAME):
        self.base = pathlib.Path(folder) / name
        self.machine, self.rows, self.planned = {}, [], []
        self.ended = ""  # how; empty: it is under way
        self.seconds = 0.0
        self.unwritten = ""  # why the files are not of now
        self.base.parent.mkdir(parents=True, exist_ok=True)

    def plan(self, names):
        self.planned = list(names)

    def add(self, row):
        if row.get("stacks") and sum(1 for one in self.rows if "stacks" in one) >= MOST_STACKS:
            row["stacks"] = "left out: enough others are here"
        self.rows.append(row)
        self.write()

    def content(self):
        done = {row["name"] for row in self.rows}
        return {"schema": 1, "ended": self.ended or "under way, or killed",
                "seconds": round(self.seconds, 1), "machine": self.machine, "rows": self.rows,
                NOT_REACHED: [name for name in self.planned if name not in done],
                "overhead": judge.overhead(single_levels(self.rows)),
                "bad": sum(1 for row in self.rows if row["verdict"] in judge.FINDINGS)}

    def write(self):
        """A full disk does not end the check: what it finds is printed, too."""
        content = self.content()
        self.unwritten = ""
        try:
            replace(f"{self.base}.json", json.dumps(content, indent=1, default=str))
            replace(f"{self.base}.txt", format_text(content))
        except OSError as error:
            self.unwritten = f"{error.filename or self.base}: {error.strerror}"

    def finish(self, how):
        self.ended = how
        self.write()
        return format_text(self.content())


def single_levels(rows):
    return [level for row in rows for level in row.get("levels", [])]


def replace(path, text):
    """A reader finds the old file or the new one, never half of one."""
    part = f"{path}.{os.getpid()}.part"  # another check may write there, too
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def pack_captures(folder, out):
    """The captured buffers as one file; what would make it too large is left out. Returns names."""
    files = sorted(pathlib.Path(folder).glob("*"), key=lambda path: path.stat().st_size)
    path, left_out, size = pathlib.Path(out) / "gpu-check-captures.tar.gz", [], 0
    if not files:
        return [], []
    with tarfile.open(f"{path}.part", "w:gz") as archive:
        for file in files:
            size += file.stat().st_size  # as if it could not be compressed
            if size > MOST_FILE:
                left_out.append(file.name)
            else:
                archive.add(file, file.name)
    os.replace(f"{path}.part", path)
    return [path.name], left_out


def format_text(content):
    lines = ["gputrace checked on a CUDA device", "", f"ended: {content['ended']}",
             f"seconds: {content['seconds']}"]
    lines += [f"{name}: {value}" for name, value in content["machine"].items()]
    group = None
    for row in content["rows"]:
        if row["group"] != group:
            group = row["group"]
            lines += ["", group, ""]
        lines += format_row(row)
    lines += format_overhead(content["overhead"])
    if content[NOT_REACHED]:
        lines += ["", "Not reached: " + ", ".join(content[NOT_REACHED])]
    counts = {}
    for row in content["rows"]:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    summary = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    lines += ["", f"{content['bad']} findings ({summary})"]
    return "\n".join(lines) + "\n"


def format_row(row):
    head = f"{row['verdict']:10} {row['seconds']:5.1f} s  {row['name']}"
    found = ", ".join(f"{number} {name}" for name, number in row.get("found", {}).items())
    lines = [f"{head}: {row['claim']}" if row.get("claim") else head]
    lines += [f"           {line}" for part in (row.get("reason", ""), row.get("seen", ""), found)
              for line in part.splitlines()]
    lines += [f"           - {fault}" for fault in row.get("faults", [])]
    for name, spread in row.get("times", {}).items():
        if spread["count"]:
            lines.append(f"           {name}: worst {spread['worst_ns']} ns, {spread['histogram']}")
    lines += [f"           | {line}" for line in row.get("stacks", "").splitlines()[:60]]
    return lines


def format_overhead(table):
    if not table:
        return []
    lines = ["", "Host time per launch, ns, best of the rounds (added to the untraced run)", ""]
    for program, levels in table.items():
        lines.append(program)
        for name, value in levels.items():
            if "why" in value:
                lines.append(f"    {name:30} - {value['why']}")
            else:
                added = f" ({value['added']:+.1f})" if "added" in value else ""
                lines.append(f"    {name:30} {value['best']:9.1f}{added}")
    return lines
