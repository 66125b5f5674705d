#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks trace files against the format (docs/FORMAT.md), rule by rule.

usage: trace_lint.py [--running] [--foreign-rows] [--merged] FILE...

--running       the file of a process that still runs or was killed: the array form, of which the
                last line may be missing its end (a repaired file says so itself)
--foreign-rows  allow rows that no metadata event names
--merged        what `gputrace merge` wrote: commas end the lines of events

One line per finding: FILE:LINE: rule: what is wrong. Exit 0: nothing found, 1: findings, 2: usage.
Needs nothing but Python's standard library; shares no code with the writer.
"""

import collections
import decimal
import json
import re
import sys

HEADER_KEYS = ["schemaVersion", "deviceProperties", "distributedInfo", "cupti_version",
               "cuda_runtime_version", "cuda_driver_version", "metadata", "displayTimeUnit",
               "baseTimeNanoseconds", "traceEvents"]
OPTIONAL_HEADER_KEYS = {"cupti_version", "cuda_runtime_version", "cuda_driver_version"}
METADATA_NAMES = {"process_name": "name", "process_labels": "labels",
                  "process_sort_index": "sort_index", "thread_name": "name",
                  "thread_sort_index": "sort_index"}
GPU_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_graph"}
STREAM_CATEGORIES = GPU_CATEGORIES | {"cuda_sync"}
GPU_ROWS = STREAM_CATEGORIES | {"gpu_user_annotation"}
API_CATEGORIES = {"cuda_runtime", "cuda_driver"}
CATEGORIES = GPU_ROWS | API_CATEGORIES | {
    "user_annotation", "overhead", "gputrace", "ac2g", "cpu_op", "python_function",
    "cpu_instant_event", "call_stack", "cpu_sample", "library", "osrt", "User_Annotation"}
OPERATIONS = API_CATEGORIES | GPU_CATEGORIES   # may name an operator
EXTERNAL = OPERATIONS | {"cpu_op", "user_annotation", "gpu_user_annotation"}
NAME = re.compile(r"^[^/]+\.pt\.trace\.json$")
BAD_NAME = re.compile(r"Trace-\d{8}T\d{6}|Profile-\d{8}T\d{6}|\.chrome\.json|-recording\.json")
COPY = re.compile(r"^Memcpy (HtoD|DtoH|HtoA|AtoH|AtoA|AtoD|DtoA|DtoD|HtoH|PtoP|Unknown) "
                  r"\([A-Za-z ]+ -> [A-Za-z ]+\)$")
NUMBER = r"-?\d+\.\d{3}"
TIME = re.compile(r'"(ts|dur)": ([^,}]*)')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
ESCAPE = re.compile(r'\\(.)(?:(?<=u)(....))?')
LIMIT = 2 ** 53


def nanoseconds(microseconds):
    """Exact: a time of 2^42 us, 51 days after the base, times 1000 as a float may be off by one."""
    return round(decimal.Decimal(repr(microseconds)) * 1000)


def short_frame(frame):
    """As "launched by" has it: without folders and without the offset of a function that has a name."""
    if not frame.endswith(")") or " (" not in frame:
        return frame.rsplit("/", 1)[-1]
    function, place = frame[:-1].rsplit(" (", 1)
    return f"{function} ({re.sub(r'[+]0x[0-9a-f]+$', '', place.rsplit('/', 1)[-1])})"


class Lint:
    """The findings of one file."""

    def __init__(self, path, running=False, foreign_rows=False, merged=False):
        self.path = path
        self.running = running
        self.foreign_rows = foreign_rows
        self.merged = merged
        self.findings = []
        self.events = []       # (line number, event)
        self.header = {}
        self.ledger = None
        self.missed_end = False
        self.few = False  # written with --details=few: no arrows, no launch configurations
        self.unfinished = running  # running, or repaired after it died: what comes last may be missing

    def say(self, line, rule, text):
        self.findings.append(f"{self.path}:{line}: {rule}: {text}")

    # ---- bytes and lines ----

    def load(self):
        with open(self.path, "rb") as file:
            data = file.read()
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            self.say(data.count(b"\n", 0, error.start) + 1, "utf-8", str(error))
            text = data.decode("utf-8", "replace")
        name = self.path.rsplit("/", 1)[-1]
        if not NAME.match(name) or BAD_NAME.search(name):
            self.say(0, "file name", name)
        lines = text.split("\n")
        if not re.search(r'"rank":\s+\d', text[:65536]):
            self.say(1, "header", '"rank": without a blank and a number behind it')
        if self.running:
            self.load_array(text, lines)
        else:
            self.load_object(text, lines)

    def load_array(self, text, lines):
        """The first line is `[` and the padded event; `]` behind the last batch."""
        if not text.startswith('[{"'):
            self.say(1, "array form", "does not begin with [{\"")
            return
        end = len(lines)
        if lines[-1] == "" and lines[-2:-1] == ["]"]:
            end -= 2
        else:
            self.missed_end = True
        self.take_event(1, lines[0][1:])
        first = self.events[0][1] if self.events else {}
        args = first.get("args", {})
        self.header = args.get("header", {})
        self.check_header(1, self.header, HEADER_KEYS[:-1])
        if "pad" in args and len(lines[0].encode()) != 16383:
            self.say(1, "block", f"the first line has {len(lines[0].encode()) + 1} bytes, not 16384")
        if first.get("name") != "process_name":
            self.say(1, "first event", "is not process_name")
        for number, line in enumerate(lines[1:end], 2):
            if number == end and self.missed_end and not self.is_whole(line):
                continue
            self.take_line(number, line)

    @staticmethod
    def is_whole(line):
        try:
            json.loads(line.lstrip(","))
            return True
        except ValueError:
            return False

    def load_object(self, text, lines):
        try:
            pairs = json.loads(text, object_pairs_hook=list)
            whole = json.loads(text)
        except ValueError as error:
            self.say(getattr(error, "lineno", 0), "json", str(error))
            return
        if not isinstance(whole, dict):
            self.say(1, "object form", "the file is not an object")
            return
        keys = [key for key, _ in pairs]
        if keys[-1:] != ["traceName"]:
            self.say(len(lines), "footer", "traceName is not the last key")
        self.header = {key: whole[key] for key in keys[:keys.index("traceEvents") + 1]
                       if key != "traceEvents"} if "traceEvents" in keys else {}
        self.check_header(1, whole, HEADER_KEYS)
        self.ledger = whole.get("ledger")
        self.unfinished = "repaired" in whole
        if not self.unfinished and not isinstance(self.ledger, dict):
            self.say(len(lines), "ledger", "missing")
        try:
            start = next(i for i, line in enumerate(lines) if line.startswith('"traceEvents": ['))
            end = next(i for i in range(len(lines) - 1, 0, -1) if lines[i].startswith("], "))
        except StopIteration:
            self.say(1, "lines", "traceEvents and the footer do not stand on lines of their own")
            return
        if len(whole.get("traceEvents", ())) != end - start - 1:
            self.say(start + 1, "lines", "not one event per line")
        if self.merged:
            for number in range(start + 1, end - 1):
                if not lines[number].endswith("},"):
                    self.say(number + 1, "lines", "does not end with an event and a comma")
            lines = [*lines[:start + 1], *(line.removesuffix(",") for line in lines[start + 1:end])]
            lines[start + 2:] = ["," + line for line in lines[start + 2:]]
        self.take_event(start + 2, lines[start + 1].rstrip(" "))
        for number in range(start + 2, end):
            self.take_line(number + 1, lines[number])

    def take_line(self, number, line):
        if not line.startswith(",{"):
            self.say(number, "lines", "does not begin with a comma and an event: " + line[:60])
            return
        self.take_event(number, line[1:])

    def take_event(self, number, text):
        try:
            event = json.loads(text)
        except ValueError as error:
            self.say(number, "json", f"{error}: {text[:80]}")
            return
        if not isinstance(event, dict):
            self.say(number, "event", "not an object")
            return
        self.check_text(number, text)
        self.events.append((number, event))

    def check_text(self, number, text):
        """What a parsed event no longer shows: how numbers and strings are spelled."""
        bare = STRING.sub(lambda m: m.group(0) if m.group(0) in ('"ts"', '"dur"') else '""', text)
        for key, value in TIME.findall(bare):
            if not re.fullmatch(NUMBER, value):
                self.say(number, "numbers", f"{key} is {value}, not three decimals")
        for kind, code in ESCAPE.findall(text):
            if kind not in '"\\u' or (kind == "u" and int(code, 16) > 0x1f):
                self.say(number, "escapes", f"\\{kind}{code}")

    # ---- header ----

    def check_header(self, line, header, wanted):
        self.few = "details=few" in header.get("metadata", {}).get("options", "")
        keys = [key for key in header if key in HEADER_KEYS]
        for key in wanted:
            if key not in header and key not in OPTIONAL_HEADER_KEYS:
                self.say(line, "header", f"{key} is missing")
        if keys != [key for key in HEADER_KEYS if key in keys]:
            self.say(line, "header", f"keys in another order: {keys}")
        for key in ("samples", "stackFrames", "systemTraceEvents"):
            if key in header:
                self.say(line, "header", f"{key} is forbidden")
        info = header.get("distributedInfo", {})
        if not isinstance(info.get("rank"), int) or not isinstance(info.get("world_size"), int):
            self.say(line, "header", "distributedInfo without rank and world_size")
        elif not 0 <= info["rank"] < max(info["world_size"], 1):
            self.say(line, "header", f"rank {info['rank']} of {info['world_size']}")
        if header.get("displayTimeUnit") not in ("ms", "ns"):
            self.say(line, "header", "displayTimeUnit is neither ms nor ns")
        base = header.get("baseTimeNanoseconds")
        if not isinstance(base, int) or base < 0:
            self.say(line, "header", "baseTimeNanoseconds is not an integer")
        for index, device in enumerate(header.get("deviceProperties", ())):
            if device.get("id") != index:
                self.say(line, "header", f"deviceProperties[{index}] has id {device.get('id')}")
            for key in ("name", "totalGlobalMem", "computeMajor", "computeMinor"):
                if key not in device:
                    self.say(line, "header", f"deviceProperties[{index}] has no {key}")

    # ---- events, one by one ----

    def check_events(self):
        for number, event in self.events:
            self.check_event(number, event)

    def check_event(self, number, event):
        phase = event.get("ph")
        if phase not in ("X", "M", "i", "C", "s", "f"):
            self.say(number, "ph", repr(phase))
            return
        if not isinstance(event.get("name"), str) or not event["name"]:
            self.say(number, "name", repr(event.get("name")))
        for key in ("pid", "tid"):
            value = event.get(key)
            if type(value) is not int or not 0 <= value < 2 ** 32:
                self.say(number, key, repr(value))
        if not isinstance(event.get("ts"), (int, float)) or event["ts"] < 0:
            self.say(number, "ts", repr(event.get("ts")))
        if "args" in event and not isinstance(event["args"], dict):
            self.say(number, "args", "not an object")
            event["args"] = {}
        self.check_numbers(number, event)
        if phase != "M" and event.get("cat") not in CATEGORIES:
            self.say(number, "cat", repr(event.get("cat")))
        getattr(self, "check_" + {"X": "slice", "M": "metadata", "i": "instant", "C": "counter",
                                  "s": "arrow", "f": "arrow"}[phase])(number, event)

    def check_numbers(self, number, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                if key != "baseTimeNanoseconds":
                    self.check_numbers(number, inner)
        elif isinstance(value, list):
            for inner in value:
                self.check_numbers(number, inner)
        elif isinstance(value, int) and not -LIMIT < value < LIMIT:
            self.say(number, "numbers", f"{value} is 2^53 or more")

    def check_slice(self, number, event):
        if not isinstance(event.get("dur"), (int, float)) or event["dur"] < 0:
            self.say(number, "dur", repr(event.get("dur")))
        args = event.get("args")
        if args is None:
            self.say(number, "args", "missing")
            args = {}
        category = event.get("cat")
        if category not in STREAM_CATEGORIES:
            for key in ("stream", "device"):
                if key in args:
                    self.say(number, "args", f"{key} on {category}")
        if category in GPU_ROWS:
            self.check_gpu_slice(number, event, args, category)
        elif event.get("pid", 64) < 64:
            self.say(number, "pid", f"host row on pid {event['pid']}, a GPU's")
        if category not in EXTERNAL and "External id" in args:
            self.say(number, "External id", f"on {category}")
        if "frames" in args and "stack" not in args:
            self.say(number, "frames", "without stack")
        if "launched by" in args:
            self.check_launched_by(number, args)

    def check_gpu_slice(self, number, event, args, category):
        if event.get("pid", 0) >= 64:
            self.say(number, "pid", f"GPU row on pid {event['pid']}")
        if category == "gpu_user_annotation":
            return
        for key in ("device", "context", "stream", "correlation"):
            if type(args.get(key)) is not int:
                self.say(number, "args", f"{key} is {args.get(key)!r} on {category}")
        if args.get("device") != event.get("pid"):
            self.say(number, "args", "device is not the pid")
        if category == "kernel" and not self.few:
            self.check_kernel(number, args)
        if category in ("gpu_memcpy", "gpu_memset"):
            for key in ("bytes",) if self.few else ("bytes", "memory bandwidth (GB/s)"):
                if not isinstance(args.get(key), (int, float)):
                    self.say(number, "args", f"{key} is {args.get(key)!r}")
        if category == "gpu_memcpy" and not COPY.match(event["name"]):
            self.say(number, "name", event["name"])
        if category == "gpu_memset" and not event["name"].startswith("Memset ("):
            self.say(number, "name", event["name"])
        if category == "gpu_graph" and not re.match(r"Graph \d+$", event["name"]):
            self.say(number, "name", event["name"])
        if category == "cuda_sync":
            if args.get("cuda_sync_kind") != event["name"]:
                self.say(number, "args", "cuda_sync_kind is not the name")

    def check_kernel(self, number, args):
        for key in ("grid", "block"):
            value = args.get(key)
            if not isinstance(value, list) or len(value) != 3 or \
                    any(type(v) is not int for v in value):
                self.say(number, "args", f"{key} is {value!r}")
        for key in ("registers per thread", "shared memory"):
            if type(args.get(key)) is not int:
                self.say(number, "args", f"{key} is {args.get(key)!r}")
        if "blocks per SM" in args and not args["blocks per SM"] > 0:
            self.say(number, "args", "blocks per SM is not above 0")
        if args.get("est. achieved occupancy %", 0) < 0:
            self.say(number, "args", "est. achieved occupancy % is negative")

    def check_launched_by(self, number, args):
        text = args["launched by"]
        cut = text.endswith(" < ...")
        body = text[:-6] if cut else text
        if len(body.encode()) > 400 + 2 or not body:
            self.say(number, "launched by", f"{len(body.encode())} bytes")
        if "stack" not in args:
            self.say(number, "launched by", "without stack")

    def check_metadata(self, number, event):
        key = METADATA_NAMES.get(event.get("name"))
        if key is None:
            self.say(number, "metadata", f"{event.get('name')!r} is not one of the five names")
        elif key not in event.get("args", {}):
            self.say(number, "metadata", f"{event['name']} without {key}")

    def check_instant(self, number, event):
        if event.get("s") not in ("t", "p", "g"):
            self.say(number, "instant", f"scope {event.get('s')!r}")

    def check_counter(self, number, event):
        values = event.get("args", {})
        if not values or any(not isinstance(v, (int, float)) for v in values.values()):
            self.say(number, "counter", repr(values))

    def check_arrow(self, number, event):
        if event.get("cat") != "ac2g" or event.get("name") != "ac2g":
            self.say(number, "arrow", "cat and name must be ac2g")
        if type(event.get("id")) is not int:
            self.say(number, "arrow", f"id {event.get('id')!r}")
        if (event["ph"] == "f") != (event.get("bp") == "e"):
            self.say(number, "arrow", "bp")

    # ---- events together ----

    def check_arrows(self):
        starts = collections.defaultdict(list)
        calls = collections.defaultdict(list)
        places = collections.defaultdict(list)
        for number, event in self.events:
            correlation = event.get("args", {}).get("correlation")
            if event.get("ph") == "s":
                starts[event.get("id")].append((number, event))
            elif event.get("cat") in API_CATEGORIES and correlation is not None:
                calls[correlation].append((number, event))
            elif event.get("cat") in GPU_CATEGORIES:
                places[(event["pid"], event["tid"], event["ts"])].append(correlation)
        for correlation, found in calls.items():
            if len(found) > 1:
                self.say(found[1][0], "correlation", f"{correlation} on {len(found)} calls")
        self.check_arrow_starts(starts, calls)
        self.check_arrow_ends(starts, places)

    @staticmethod
    def call_of(ident):
        """The correlation id of an arrow's call, which is part of the id of an arrow to all but its first operation."""
        return (ident - (1 << 52)) >> 20 if ident >= 1 << 52 else ident

    def check_arrow_starts(self, starts, calls):
        for ident, found in starts.items():
            if len(found) > 1:
                self.say(found[1][0], "arrow", f"id {ident} starts {len(found)} times")
            number, start = found[0]
            call = calls.get(self.call_of(ident), [(0, None)])[0][1]
            if call is None:
                if not self.unfinished:
                    self.say(number, "arrow", f"id {ident} has no call")
            elif (call["pid"], call["tid"], call["ts"]) != (start["pid"], start["tid"], start["ts"]):
                self.say(number, "arrow", f"id {ident} does not start at its call")

    def check_arrow_ends(self, starts, places):
        ends = collections.Counter()
        for number, event in self.events:
            if event.get("ph") != "f":
                continue
            ends[event["id"]] += 1
            if self.call_of(event["id"]) not in places.get((event["pid"], event["tid"], event["ts"]), ()):
                self.say(number, "arrow", f"id {event['id']} does not end at a GPU slice of its own")
            if event["id"] not in starts:
                self.say(number, "arrow", f"id {event['id']} has no start")
        for ident, found in starts.items():
            if not ends[ident] and not self.unfinished:
                self.say(found[0][0], "arrow", f"id {ident} has no end")

    @staticmethod
    def may_nest(outer, inner):
        """A stream's row has work inside shadows of ranges, nothing else inside each other."""
        if outer.get("cat") in GPU_CATEGORIES:
            return False
        return inner.get("cat") not in GPU_CATEGORIES or outer.get("cat") == "gpu_user_annotation"

    def check_rows(self):
        """No two slices of one row overlap partly; GPU work is not even inside other work."""
        rows = collections.defaultdict(list)
        for number, event in self.events:
            if event.get("ph") == "X" and isinstance(event.get("dur"), (int, float)):
                start = nanoseconds(event["ts"])
                rows[(event["pid"], event["tid"])].append(
                    (start, -(start + nanoseconds(event["dur"])), number, event))
        for row, slices in rows.items():
            slices.sort(key=lambda s: s[:3])
            open_ends = []
            for start, minus_end, number, event in slices:
                while open_ends and open_ends[-1][0] <= start:
                    open_ends.pop()
                if open_ends and -minus_end > open_ends[-1][0]:
                    self.say(number, "overlap", f"partly overlaps line {open_ends[-1][1]} on row {row}")
                if open_ends and not self.may_nest(open_ends[-1][2], event):
                    self.say(number, "overlap", f"lies inside line {open_ends[-1][1]} on row {row}")
                open_ends.append((-minus_end, number, event))

    def check_names(self):
        """Each row and process has its name before its first event."""
        named = set()
        for number, event in self.events:
            if event.get("name") in ("thread_name", "process_name") and event["ph"] == "M":
                named.add((event["pid"], event["tid"] if event["name"] == "thread_name" else None))
            elif event.get("ph") == "X" and not self.foreign_rows:
                for key in ((event["pid"], None), (event["pid"], event["tid"])):
                    if key not in named:
                        named.add(key)
                        self.say(number, "names", f"pid {key[0]} tid {key[1]} has no name yet")

    def check_stacks(self):
        """The frames of a stack stand on the first slice that uses it."""
        framed = {}
        for number, event in self.events:
            args = event.get("args", {})
            for key, frames in (("stack", "frames"), ("created stack", "created frames"),
                                ("forward stack", "forward frames")):
                if key not in args:
                    continue
                if frames in args:
                    before = framed.setdefault(args[key], args[frames])
                    if before != args[frames]:
                        self.say(number, "frames", f"stack {args[key]} has other frames than before")
                elif args[key] not in framed:
                    self.say(number, "frames", f"stack {args[key]} is used before its frames")
            if "launched by" in args and args.get("stack") in framed:
                self.check_chosen(number, args["launched by"], framed[args["stack"]])

    def check_chosen(self, number, line, frames):
        """"launched by" has frames of the stack in their order, each without folders; the last one may be cut."""
        cut = line.endswith(" < ...")
        left, chosen = line.removesuffix(" < ..."), 0
        for frame in frames:
            short = short_frame(frame)
            if left == short or left.startswith(short + " < "):
                left, chosen = left[len(short) + 3:], chosen + 1
            elif cut and left and len(left.encode()) > 150 and short.startswith(left):
                left, chosen = "", chosen + 1
        if left or chosen > 8 or cut and chosen == len(frames) and len(line.encode()) < 150 or \
                not cut and chosen < len(frames):
            self.say(number, "launched by", f"{line!r} is not of the frames of its stack")

    def check_operators(self):
        """External id: each operator has its own, calls and GPU work name exactly one."""
        operators = collections.Counter(
            event["args"].get("External id") for _, event in self.events
            if event.get("cat") == "cpu_op")
        for number, event in self.events:
            if event.get("cat") == "cpu_op" and operators[event["args"].get("External id")] != 1:
                self.say(number, "External id", "of two operators")
            if event.get("cat") in OPERATIONS and "External id" in event.get("args", {}) and \
                    not operators[event["args"]["External id"]] and not self.unfinished:
                self.say(number, "External id", f"{event['args']['External id']} is no operator")

    def check_end(self):
        if self.unfinished or not self.events:
            return
        number, last = self.events[-1]
        if last.get("name") != "Record Window End":
            self.say(number, "last event", f"is {last.get('name')!r}, not Record Window End")

    def check_ledger(self):
        if not self.ledger:
            return
        counts = collections.Counter()
        for _, event in self.events:
            counts[event.get("cat") if event.get("ph") == "X" else event.get("ph")] += 1
            counts["samples"] += event.get("cat") == "cpu_sample"
            counts["marks"] += event.get("ph") == "i" and event.get("cat") == "user_annotation"
            counts["notes"] += (event.get("ph") == "i" and event.get("cat") == "gputrace"
                                and event.get("name") != "Record Window End")
        for key, have in (("calls_written", counts["cuda_runtime"] + counts["cuda_driver"]),
                          ("kernels_written", counts["kernel"]),
                          ("memcpys_written", counts["gpu_memcpy"]),
                          ("memsets_written", counts["gpu_memset"]),
                          ("graphs_written", counts["gpu_graph"]),
                          ("syncs_written", counts["cuda_sync"]),
                          ("overheads_written", counts["overhead"]),
                          ("stack_lane_slices_written", counts["call_stack"]),
                          ("samples_written", counts["samples"]),
                          ("ranges_written",
                           counts["user_annotation"] + counts["cpu_op"] + counts["library"] + counts["osrt"] + counts["marks"]),
                          ("range_shadows_written", counts["gpu_user_annotation"]),
                          ("counters_written", counts["C"]),
                          ("notes_written", counts["notes"]),
                          ("names_written", counts["M"]),
                          ("arrows_written", counts["s"])):
            if key in self.ledger and self.ledger[key] != have:
                self.say(0, "ledger", f"{key} is {self.ledger[key]}, the file has {have}")

    def run(self):
        self.load()
        self.check_events()
        if not self.findings:
            for check in (self.check_arrows, self.check_rows, self.check_names, self.check_stacks,
                          self.check_operators, self.check_end, self.check_ledger):
                check()
        return self.findings


def main(arguments):
    options = {"--running": False, "--foreign-rows": False, "--merged": False}
    paths = []
    for argument in arguments:
        if argument in options:
            options[argument] = True
        elif argument.startswith("-"):
            print(__doc__, file=sys.stderr)
            return 2
        else:
            paths.append(argument)
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    found = False
    for path in paths:
        for line in Lint(path, *options.values()).run():
            print(line)
            found = True
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
