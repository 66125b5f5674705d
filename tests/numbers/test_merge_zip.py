#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`merge --output=FILE.zip`: the traces as they are, and a manifest by which Perfetto's reader puts them on one
line (https://perfetto.dev/docs/reference/perfetto-manifest); `--ranks` and `--host`."""

import gzip
import json
import os
import struct
import zipfile

import cases
import generate
import rank_traces
import reference

CLOCKS = ("REALTIME", "REALTIME_COARSE", "MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW", "BOOTTIME")


def written(members, pack=()):
    where = cases.folder()
    for rank in members:
        trace = rank.trace(len(members))
        trace["metadata"].update(pid=100 + rank.number, gputrace_version="0.1.0")
        shown = [event["ts"] for event in rank.events]
        trace["metadata"]["clock_first_realtime_ns"] = str(generate.BASE + round(min(shown) * 1000))
        trace["metadata"]["clock_last_realtime_ns"] = str(generate.BASE + round(max(shown) * 1000))
        cases.write(trace, f"rank{rank.number}.json" + (".gz" if rank.number in pack else ""), where)
    return where


def check_headers(path):
    """What Perfetto's zip reader takes: it goes from one local header to the next (zip_reader.cc)."""
    with open(path, "rb") as file:
        data = file.read()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            signature, version, flags, method = struct.unpack_from("<IHHH", data, info.header_offset)
            assert (signature, method) == (0x04034B50, zipfile.ZIP_DEFLATED), info
            assert version <= 20 and flags & ~0x8 == 0, (info, version, flags)
            assert info.filename.isascii()
            behind = info.header_offset + 30 + len(info.filename) + info.compress_size
            assert struct.unpack_from("<IIII", data, behind) == (
                0x08074B50, info.CRC, info.compress_size, info.file_size), info


def check_manifest(manifest, names):
    """The conditions under which Perfetto refuses one."""
    (body,) = manifest.values()
    assert list(manifest) == ["perfetto_manifest"] and body["version"] == 1
    assert set(body) <= {"version", "trace_time", "files", "attributes"}
    assert [entry["path"] for entry in body["files"]] == names
    for entry in body["files"]:
        assert set(entry) <= {"path", "machine", "clocks"}, entry
        assert entry["machine"]["name"], entry
        if "clocks" in entry:
            clocks = entry["clocks"]
            assert isinstance(clocks["offset_ns"], int), entry
            assert clocks["sync_to"]["file"] in names and clocks["sync_to"]["file"] != entry["path"]
            for of in (clocks, clocks["sync_to"]):
                assert of.get("clock", "REALTIME") in CLOCKS, entry
    assert all(isinstance(value, (int, str)) for value in body["attributes"].values())
    return body


def zipped(where, *options, expect=0):
    path = os.path.join(cases.folder(), "all.zip")
    _, said = cases.run("merge", f"--output={path}", *options, where, expect=expect)
    check_headers(path)
    with zipfile.ZipFile(path) as archive:
        first, *names = archive.namelist()
        assert first == "perfetto_manifest.json"
        assert archive.read(first).startswith(b'{"perfetto_manifest"')  # told by its content
        members = {name: archive.read(name) for name in names}
        return check_manifest(json.loads(archive.read(first)), names), members, said


def plain(where, name):
    path = os.path.join(where, name)
    if os.path.exists(path):
        with open(path, "rb") as file:
            return file.read()
    with gzip.open(path + ".gz") as file:
        return file.read()


def test_traces_stay_as_they_are():
    where = written(rank_traces.job(ranks=4, steps=4)[0], pack=(1, 3))
    body, members, _ = zipped(where)
    assert list(members) == [f"rank{r}.json" for r in range(4)]
    for name, data in members.items():
        assert data == plain(where, name), name
    machines = [entry["machine"]["name"] for entry in body["files"]]
    assert machines == [f"rank {r} on {'ab'[r > 1]} pid {100 + r}" for r in range(4)], machines


def test_one_line():
    """With the offsets the ends of each collective meet, within what is said of the error."""
    for base in (0, 3):
        members, _ = rank_traces.job(steps=60)
        where = written(members)
        if base:  # headers of different bases, as of different quarters
            for rank in range(8):
                trace = json.loads(plain(where, f"rank{rank}.json"))
                trace["baseTimeNanoseconds"] += rank * base
                for event in trace["traceEvents"]:
                    event["ts"] = round(event["ts"] - rank * base / 1000, 3)
                cases.write(trace, f"rank{rank}.json", where)
        body, files, said = zipped(where)
        assert body["files"][0].get("clocks") is None
        offsets = {e["path"]: e.get("clocks", {"offset_ns": 0})["offset_ns"] for e in body["files"]}
        ends = [
            [
                reference.ns(event["ts"]) + reference.ns(event["dur"]) + offsets[name]
                for event in json.loads(data)["traceEvents"]
                if event["name"].startswith("nccl")
            ]
            for name, data in files.items()
        ]
        error = body["attributes"]["gputrace.clock_error_ns"]
        assert 0 < error < 60_000 and "related to that of the first by collectives" in said, (error, said)
        for together in zip(*ends):
            assert max(together) - min(together) < 2 * error + 10_000, (together, error)


def test_both_formats():
    """A .pftrace shows CLOCK_REALTIME, a JSON what is left without its base."""
    where = written(rank_traces.job(ranks=2, steps=4, drift=0, ahead=0)[0])
    cases.run("convert", os.path.join(where, "rank1.json"), os.path.join(where, "rank1.pftrace"))
    os.remove(os.path.join(where, "rank1.json"))
    _, second = zipped(where)[0]["files"]
    assert second["clocks"]["clock"] == "REALTIME" and second["clocks"]["sync_to"] == {"file": "rank0.json"}
    assert abs(second["clocks"]["offset_ns"] + generate.BASE) < 20_000, second
    cases.run("convert", os.path.join(where, "rank0.json"), os.path.join(where, "rank0.pftrace"))
    os.remove(os.path.join(where, "rank0.json"))
    _, second = zipped(where)[0]["files"]
    assert second["clocks"]["sync_to"] == {"file": "rank0.pftrace", "clock": "REALTIME"}
    assert abs(second["clocks"]["offset_ns"]) < 20_000, second


def test_names():
    """Two files of one name in two folders; a name that is not ASCII; one that JSON would mind."""
    one, other = written(rank_traces.job(ranks=2, steps=2)[0]), cases.folder()
    os.rename(os.path.join(one, "rank1.json"), os.path.join(other, "rank0.json"))
    path = os.path.join(cases.folder(), "all.zip")
    cases.run("merge", f"--output={path}", os.path.join(one, "rank0.json"), os.path.join(other, "rank0.json"))
    check_headers(path)
    assert zipfile.ZipFile(path).namelist()[1:] == ["rank0.json", "2_rank0.json"]
    where = written(rank_traces.job(ranks=1, steps=1)[0])
    os.rename(os.path.join(where, "rank0.json"), os.path.join(where, 'rän"k\\.json'))
    assert list(zipped(where)[1]) == ["r__n_k_.json"]


def test_names_that_are_ours():
    """Files called as two of one name would be, or as the manifest."""
    paths = []
    for name in ("rank0.json", "2_rank0.json", "rank0.json", "perfetto_manifest.json"):
        where = written(rank_traces.job(ranks=1, steps=1)[0])
        paths.append(os.path.join(where, name))
        os.rename(os.path.join(where, "rank0.json"), paths[-1])
    zip_path = os.path.join(cases.folder(), "all.zip")
    cases.run("merge", f"--output={zip_path}", *paths)
    check_headers(zip_path)
    first, *names = zipfile.ZipFile(zip_path).namelist()
    assert first == "perfetto_manifest.json" and first not in names, names
    assert len(set(names)) == 4, names


def test_one_pid_in_two_containers():
    """Perfetto would take two processes of one pid on one machine for one."""
    found = rank_traces.job(ranks=2, steps=2)[0]
    where = cases.folder()
    for rank in found:
        trace = rank.trace(1)
        trace["metadata"].update(pid=7, hostname="a")
        trace["distributedInfo"] = {"rank": 0, "world_size": 1}
        cases.write(trace, f"p{rank.number}.json", where)
    machines = [entry["machine"]["name"] for entry in zipped(where)[0]["files"]]
    assert machines == ["rank 0 on a pid 7 (0)", "rank 0 on a pid 7 (1)"], machines


def test_a_file_that_was_cut():
    """It is said of each form; what is left of it is in the zip, as it is."""
    for form in ("json", "json.gz", "pftrace"):
        where = written(rank_traces.job(ranks=2, steps=20)[0])
        path, plain_path = os.path.join(where, f"rank1.{form}"), os.path.join(where, "rank1.json")
        if form == "pftrace":
            cases.run("convert", plain_path, path)
        with open(path if form == "pftrace" else plain_path, "rb") as file:
            data = file.read()
        os.remove(plain_path)
        data = gzip.compress(data) if form == "json.gz" else data
        with open(path, "wb") as file:
            file.write(data[: len(data) * 2 // 3])
        _, members, said = zipped(where)
        assert f"gputrace: {path}: the file was cut; it is in the zip as it is\n" in said, (form, said)
        if form != "json.gz":
            assert members[f"rank1.{form}"] == data[: len(data) * 2 // 3]
    for text in ('"} ] }', "a\\\\", 'a\\"]}'):  # brackets and quotes that are text
        where = written(rank_traces.job(ranks=1, steps=1)[0])
        trace = json.loads(plain(where, "rank0.json"))
        trace["traceEvents"][0]["name"] = text
        cases.write(trace, "rank0.json", where)
        assert "cut" not in zipped(where)[2], text


def test_a_pftrace_that_was_not_cut():
    """Of one process, and of several: these are cut where the last one has no end."""
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for whole in ("golden/traces-of-0.1/closed.pftrace", "fuzz/corpus_pftrace/merged.pftrace"):
        whole = os.path.join(tests, whole)
        assert "cut" not in zipped(whole)[2], whole
        cut = os.path.join(cases.folder(), "cut.pftrace")
        with open(whole, "rb") as source, open(cut, "wb") as file:
            file.write(source.read()[:-10])
        assert f"gputrace: {cut}: the file was cut; it is in the zip as it is\n" in zipped(cut)[2]


def test_the_way_back():
    """No command reads a zip, and each says what to do; the traces in it are as before."""
    where = written(rank_traces.job(ranks=2, steps=2)[0])
    path, again = os.path.join(cases.folder(), "all.zip"), cases.folder()
    cases.run("merge", f"--output={path}", where)
    _, said = cases.run("stats", path, expect=1)
    assert said.startswith(f"gputrace: {path}:1: offset 0: a zip: unpack it"), said
    with zipfile.ZipFile(path) as archive:
        archive.extractall(again)
    assert cases.run("stats", again)[0].replace(again, where) == cases.run("stats", where)[0]


def test_an_output_that_exists_stays():
    where = written(rank_traces.job(ranks=2, steps=1)[0])
    path = os.path.join(cases.folder(), "all.zip")
    cases.run("merge", f"--output={path}", where)
    _, said = cases.run("merge", f"--output={path}", where, expect=1)
    assert "exists" in said, said


def test_what_is_no_trace_is_left_out():
    where = written(rank_traces.job(ranks=2, steps=1)[0])
    cases.write({"a": 1}, "a.json", where)
    _, members, said = zipped(where, expect=1)
    assert list(members) == ["rank0.json", "rank1.json"] and "a.json" in said and "left out" in said, said


def ranks_of(*options):
    out, _ = cases.run("merge", *options)
    return sorted({
        event["args"]["rank"]
        for event in json.loads(out)["traceEvents"]
        if event["name"] == "process_labels"
    })


def test_some_ranks_and_hosts():
    where = written(rank_traces.job(steps=4)[0])
    assert ranks_of("--ranks=1,5-6", where) == [1, 5, 6]
    assert ranks_of("--host=b*", where) == [4, 5, 6, 7]
    assert ranks_of("--host=?", "--ranks=0-4", where) == [0, 1, 2, 3, 4]
    assert list(zipped(where, "--ranks=2,7")[1]) == ["rank2.json", "rank7.json"]
    for options in (["--ranks=8-9"], ["--host=c"]):
        _, said = cases.run("merge", *options, where, expect=1)
        assert said == "gputrace: none of the traces is of these ranks and hosts\n", said
    _, said = cases.run("merge", "--ranks=3-1", where, expect=2)
    assert "it takes ranks and spans between commas" in said, said


if __name__ == "__main__":
    cases.main([test for name, test in list(globals().items()) if name.startswith("test_")])
