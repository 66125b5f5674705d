#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks .pftrace files by the rules that Perfetto's trace_processor applies when it imports them.

usage: pftrace_lint.py [--running] FILE...

--running   the file of a process that still runs or was killed: slices may be open at its end

The rules, after src/trace_processor of google/perfetto (importers/common/clock_tracker.cc, slice_tracker.cc,
gpu_tracker.cc, importers/proto/track_event_*.cc, gpu_event_parser.cc, packet_sequence_state.cc):

  wire       packets, messages and texts can be decoded
  clocks     a clock that times events is in a snapshot of its sequence together with BOOTTIME, which is the clock of
             a trace; all snapshots relate two clocks in the same way; the primary clock is in each
  interning  every iid is defined before its use in the same sequence, since the last cleared state, and is never
             defined again with other content
  tracks     a track is described before its first event, its parents too; a thread has pid and tid
  nesting    the beginnings and ends of a track's slices match
  gpu        a GPU slice has an id, a queue, a stage, a context and a kernel, and what the Compute panel asks for
  flows      an id is submitted by one call, and the slices with it begin after the call
  samples    a sample has pid, tid, mode and call stack

One line per finding: FILE: rule: what is wrong. Exit 0: nothing found, 1: findings, 2: usage. Needs nothing but
Python's standard library; shares no code with the writer.
"""

import collections
import sys

BOOTTIME = 6
CLEARED = 1
# fields of InternedData: the table of each
TABLES = {1: "category", 2: "event name", 3: "annotation name", 5: "function", 6: "frame", 7: "callstack",
          16: "build id", 17: "mapping path", 18: "source path", 19: "mapping", 23: "graphics context",
          24: "gpu specification", 29: "string", 1000: "compute kernel", 1001: "compute argument name"}
# entries of these tables refer to others: {field: table}
REFERENCES = {"frame": {2: "function", 3: "mapping", 5: "source path"}, "callstack": {2: "frame"},
              "mapping": {2: "build id", 7: "mapping path"}}
TEXTS = {"category", "event name", "annotation name", "function", "mapping path", "source path", "string",
         "compute argument name", "gpu specification"}
PANEL = {"kernel_demangled_name", "cat"}


class Broken(Exception):
    """Bytes that are no message."""


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Broken("a number has no end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & (1 << 64) - 1, at


def fields(data):
    """(number, value) of each field; bytes for messages and texts."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at:at + size], at + size
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise Broken("a field ends behind its message")
        else:
            raise Broken(f"wire type {wire}")
        yield tag >> 3, value


def message(data):
    """{number: [values]}"""
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Sequence:
    """State of one packet sequence."""

    def __init__(self):
        self.tables = collections.defaultdict(dict)
        self.clocks = {}         # id: last absolute time
        self.incremental = set()
        self.default_clock = 0
        self.default_track = 0
        self.cleared = False


class Lint:
    """The findings of one file."""

    def __init__(self, path, running=False):
        self.path, self.running = path, running
        self.found = []
        self.sequences = collections.defaultdict(Sequence)
        self.offsets = {}    # (clock, clock): difference that snapshots of a global clock give
        self.tracks = {}     # uuid: kind
        self.slices = collections.defaultdict(list)   # track: (time, order, is begin)
        self.submitted = {}  # event id: time of the call
        self.stages = []     # event id, time
        self.order = 0

    def add(self, rule, text):
        if len(self.found) < 1000:
            self.found.append(f"{self.path}: {rule}: {text}")

    def check(self):
        with open(self.path, "rb") as file:
            data = file.read()
        try:
            for number, packet in fields(data):
                if number != 1 or isinstance(packet, int):
                    raise Broken(f"field {number} of the trace is no packet")
                self.packet(message(packet))
        except Broken as error:
            if not self.running:
                self.add("wire", str(error))
        self.nesting()
        self.flows()
        return self.found

    # ---- packets ----

    def packet(self, packet):
        self.order += 1
        number = packet[10][0] if packet[10] else 0
        if not number:
            self.add("wire", "a packet without a sequence")
        sequence = self.sequences[number]
        if packet[13] and packet[13][0] & CLEARED:
            self.sequences[number] = sequence = Sequence()
            sequence.cleared = True
        elif not sequence.cleared:
            self.add("interning", f"sequence {number} begins without a cleared state")
            sequence.cleared = True
        for snapshot in packet[6]:
            self.snapshot(sequence, message(snapshot))
        for defaults in packet[59]:
            self.defaults(sequence, message(defaults))
        for data in packet[12]:
            self.interned(sequence, data)
        for track in packet[60]:
            self.track(message(track))
        time = self.time(sequence, packet)
        for event in packet[11]:
            self.event(sequence, message(event), time)
        for stage in packet[53]:
            self.stage(sequence, message(stage), time)
        for sample in packet[66]:
            self.sample(sequence, message(sample), time)

    # ---- clocks ----

    def snapshot(self, sequence, snapshot):
        at = {}
        for clock in snapshot[1]:
            clock = message(clock)
            number, value = clock[1][0], clock[2][0]
            if number in at:
                self.add("clocks", f"clock {number} is twice in a snapshot")
            at[number] = value
            if clock[3]:
                sequence.incremental.add(number)
        if BOOTTIME not in at:
            self.add("clocks", f"a snapshot of clocks {sorted(at)} without BOOTTIME: nothing relates them to the trace")
        if snapshot[2] and snapshot[2][0] not in at:
            self.add("clocks", f"the primary clock {snapshot[2][0]} is not in its snapshot")
        fixed = [number for number in at if not 64 <= number < 128]
        for number in fixed:
            offset = at[number] - at.get(BOOTTIME, at[number])
            if self.offsets.setdefault(number, offset) != offset:
                self.add("clocks", f"clock {number} jumps against BOOTTIME between two snapshots")
        sequence.clocks.update(at)

    def defaults(self, sequence, defaults):
        sequence.default_clock = defaults[58][0] if defaults[58] else 0
        for event in defaults[11]:
            sequence.default_track = message(event)[11][0]

    def time(self, sequence, packet):
        if not packet[8]:
            return None
        clock = packet[58][0] if packet[58] else sequence.default_clock or BOOTTIME
        if clock not in sequence.clocks:
            self.add("clocks", f"a packet is timed by clock {clock}, which is in no snapshot of its sequence")
            return None
        value = packet[8][0]
        if clock in sequence.incremental:
            value = sequence.clocks[clock] + signed(value)
            sequence.clocks[clock] = value
        if value < 0:
            self.add("clocks", f"time {value} is before the epoch")
        return value

    # ---- interned data ----

    def interned(self, sequence, data):
        for number, entry in fields(data):
            table = TABLES.get(number)
            if not table:
                self.add("interning", f"unknown table {number}")
                continue
            inside = message(entry)
            iid = inside[1][0] if inside[1] else 0
            if not iid:
                self.add("interning", f"a {table} without an iid")
            if sequence.tables[table].setdefault(iid, entry) != entry:
                self.add("interning", f"{table} {iid} is defined again with other content")
            if table in TEXTS and inside[2]:
                self.text(inside[2][0], table)
            for field, other in REFERENCES.get(table, {}).items():
                for value in inside[field]:
                    self.use(sequence, other, value)
            if table == "compute kernel":
                for argument in inside[5]:
                    self.argument(sequence, argument)

    def text(self, data, what):
        try:
            data.decode()
        except UnicodeDecodeError:
            self.add("wire", f"a {what} is not UTF-8: {data[:40]!r}")

    def use(self, sequence, table, iid):
        """The entry; None, and a finding, when there is none."""
        entry = sequence.tables[table].get(iid)
        if entry is None:
            self.add("interning", f"{table} {iid} is used before it is defined")
        return entry

    def argument(self, sequence, data):
        """Name of a compute argument."""
        inside = message(data)
        name = b""
        if inside[1]:
            entry = self.use(sequence, "compute argument name", inside[1][0])
            name = message(entry)[2][0] if entry else b""
        if inside[7]:
            self.use(sequence, "string", inside[7][0])
        if not any(inside[number] for number in (3, 4, 5, 6, 7)):
            self.add("gpu", f"argument {name.decode()} has no value")
        return name.decode()

    # ---- tracks and their events ----

    def track(self, track):
        uuid = track[1][0] if track[1] else 0
        if not uuid:
            self.add("tracks", "a track without a uuid")
        kind = "other"
        if track[4]:
            kind, inside = "thread", message(track[4][0])
            if not inside[1] or not inside[2]:
                self.add("tracks", f"thread track {uuid} without pid and tid")
        elif track[3]:
            kind = "process"
            if not message(track[3][0])[1]:
                self.add("tracks", f"process track {uuid} without a pid")
        elif track[8]:
            kind = "counter"
        if self.tracks.setdefault(uuid, kind) != kind:
            self.add("tracks", f"track {uuid} is described as {kind} and before as {self.tracks[uuid]}")
        if track[5] and track[5][0] and track[5][0] not in self.tracks:
            self.add("tracks", f"the parent {track[5][0]} of track {uuid} is not described")

    def event(self, sequence, event, time):
        track = event[11][0] if event[11] else sequence.default_track
        kind = event[9][0] if event[9] else 0
        if time is None:
            self.add("clocks", "an event without a time")
            return
        if track not in self.tracks:
            self.add("tracks", f"an event on track {track}, which is not described")
        if (self.tracks.get(track) == "counter") != (kind == 4):
            self.add("tracks", f"an event of type {kind} on a track of kind {self.tracks.get(track)}")
        if kind in (1, 2):
            self.slices[track].append((time, self.order, kind == 1))
        for number, table in ((3, "category"), (10, "event name"), (56, "callstack")):
            for iid in event[number]:
                self.use(sequence, table, iid)
        if kind in (1, 3) and not event[10] and not event[23]:
            self.add("tracks", "a slice or instant without a name")
        for annotation in event[4]:
            inside = message(annotation)
            if inside[1]:
                self.use(sequence, "annotation name", inside[1][0])
            if inside[17]:
                self.use(sequence, "string", inside[17][0])
            if not inside[1] and not inside[10]:
                self.add("tracks", "an annotation without a name")
        for correlation in event[3000]:
            for identity in message(correlation)[1]:
                if self.submitted.setdefault(identity, time) != time:
                    self.add("flows", f"id {identity} is submitted by two calls")

    def nesting(self):
        for track, marks in self.slices.items():
            depth = 0
            for time, _, begins in sorted(marks):
                depth += 1 if begins else -1
                if depth < 0:
                    self.add("nesting", f"track {track}: an end at {time} without a beginning")
                    depth = 0
            if depth and not self.running:
                self.add("nesting", f"track {track}: {depth} slices have no end")

    # ---- GPU work ----

    def stage(self, sequence, stage, time):
        if time is None:
            self.add("clocks", "a GPU slice without a time")
            return
        names = set()
        for number, table in ((13, "gpu specification"), (14, "gpu specification"), (5, "graphics context"),
                              (19, "compute kernel")):
            entry = self.use(sequence, table, stage[number][0]) if stage[number] else None
            if not stage[number]:
                self.add("gpu", f"a slice without a {table} (field {number})")
            if entry and number == 19:
                names |= {self.argument(sequence, argument) for argument in message(entry)[5]}
            if entry and number == 14 and message(entry)[4] == [2]:
                names.add("is compute")
        for launch in stage[21]:
            for argument in message(launch)[3]:
                names.add(self.argument(sequence, argument))
        if "is compute" in names and not PANEL <= names:
            self.add("gpu", f"a kernel without {', '.join(sorted(PANEL - names))}")
        if stage[1]:
            self.stages.append((stage[1][0], time))
        else:
            self.add("gpu", "a slice without an event id")

    def flows(self):
        early = 0
        for identity, time in self.stages:
            early += identity in self.submitted and time < self.submitted[identity]
        if early:
            self.add("flows", f"{early} GPU slices begin before the call that submits them")

    def sample(self, sequence, sample, time):
        if time is None or not sample[2] or not sample[3]:
            self.add("samples", "a sample without time, pid or tid")
        if not sample[5] or not sample[5][0]:
            self.add("samples", "a sample of an unknown mode")
        for iid in sample[4]:
            self.use(sequence, "callstack", iid)


def main(words):
    running = "--running" in words
    paths = [word for word in words if word != "--running"]
    if not paths or any(path.startswith("--") for path in paths):
        print(__doc__, file=sys.stderr)
        return 2
    found = [line for path in paths for line in Lint(path, running).check()]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
