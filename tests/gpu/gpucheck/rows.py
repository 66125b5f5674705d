# SPDX-License-Identifier: Apache-2.0
"""The table of what is tried, the most valuable first. A row: name, group, what it does. Groups
have a share of the time (SHARES); what does not fit comes after all others."""
import dataclasses
import functools
import typing

from gpucheck import frameworks, live, overhead, pages, programs

# Seconds before the rest of a group is put behind the others; 540 s are for all.
SHARES = {"probes": 200, "programs": 60, "captures": 40, "commands": 60, "frameworks": 120,
          "more programs": 60, "bench": 60, "overhead": 400}

PROGRAMS = [("driver --count=5000", "run"), ("graph-static --nodes=100 --count=500", "run")]
SENSED = "driver --count=100000"
MANAGED = "managed --count=2"
MORE_PROGRAMS = [
    ("launches-static --count=5000", "run"),
    ("launches-static --count=5000 --threads=8", "run"),
    ("launches-static --count=5000", "injection alone"),
    ("copies-static --count=100", "run"),
    ("launches-shared --count=5000", "run"),
    ("graph-shared --nodes=100 --count=500", "run"),
    ("copies-shared --count=100", "run"),
]
CAPTURED = ["launches-static --count=50 --threads=2", "graph-static --nodes=10 --count=5",
            "copies-static --count=2", "driver --count=20", "launches-shared --count=50"]
COMMANDS = [
    ("attach, detach, attach again", live.attach),
    ("start and stop, twice", live.windows),
    ("a dump of the flight recorder", live.dump),
    ("hang: a kernel that runs on", live.hang),
    ("killed, and its trace closed", live.kill),
]
FRAMEWORKS = [
    ("torch_step.py", functools.partial(frameworks.counted, script="torch_step.py")),
    ("torch_graph.py", functools.partial(frameworks.counted, script="torch_graph.py")),
    ("triton_kernel.py", functools.partial(frameworks.named, script="triton_kernel.py",
                                           package="triton")),
    ("torch.profiler inside", frameworks.inside),
    ("torch.profiler inside, own", lambda session: frameworks.inside(session, "--coexist=own")),
    ("torch_two_ranks.py", frameworks.two_ranks),
    ("a step of PyTorch, recorded and not, in turns", live.step_cost),
    ("a step of PyTorch, under its profiler and not, in turns", frameworks.profiler_cost),
    ("jax_step.py", functools.partial(frameworks.at_least, script="jax_step.py", package="jax")),
]
BENCHES = [
    ("bench: buffers of CUPTI",
     ["--quick", "--repetitions=3", "--workloads=loop,loop16",
      "--levels=none,floor,floor-shared,floor-8K,floor-64K,floor-1M"], 45),
    ("bench: peers", ["--quick", "--repetitions=2", "--workloads=loop,graph", "--peers",
                      "--levels=none,floor,kernels,stacks"], 60),
]
TIMED = ["launches-static --count=50000", "driver --count=50000",
         "graph-static --nodes=100 --count=2000", "launches-static --count=20000 --threads=8",
         "launches-shared --count=50000"]
GRAPH = "graph-shared --nodes=100 --count=2000"


@dataclasses.dataclass
class Row:
    name: str
    group: str
    work: typing.Callable
    claim: str = ""


def probe_rows(claims):
    return [Row(f"probe {name}", "probes", functools.partial(programs.probe, name=name), claim)
            for name, claim in claims]


def program_rows(group, table):
    return [Row(f"{program} ({way})", group,
                functools.partial(programs.compare, program=program, way=way))
            for program, way in table]


def bench_rows():
    return [Row(name, "bench", functools.partial(overhead.bench, options=options, wanted=limit))
            for name, options, limit in BENCHES]


def overhead_rows(rounds):
    prover = overhead.Prover()
    rows = []
    for number in range(1, rounds + 1):
        for program in TIMED:
            rows.append(Row(f"overhead {program}, round {number}", "overhead", functools.partial(
                overhead.measure_round, program=program, prover=prover)))
        rows.append(Row(f"whole graphs, round {number}", "overhead", functools.partial(
            overhead.measure_graphs, program=GRAPH, prover=prover)))
    return rows


def table(claims, injected=(), rounds=5, with_overhead=True):
    """All rows. @injected: probes that misbehave on purpose, to try this check itself."""
    on_purpose = [(name, "misbehaves on purpose") for name in injected]
    rows = probe_rows(on_purpose + claims) + program_rows("programs", PROGRAMS)
    rows.append(Row(f"sensors {SENSED}", "programs", functools.partial(programs.sensors, program=SENSED)))
    rows.append(Row(f"unified memory {MANAGED}", "programs", functools.partial(pages.unified, program=MANAGED)))
    rows += [Row(f"capture {program}", "captures",
                 functools.partial(programs.capture, program=program)) for program in CAPTURED]
    rows += [Row(name, "commands", work) for name, work in COMMANDS]
    rows += [Row(name, "frameworks", work) for name, work in FRAMEWORKS]
    rows += program_rows("more programs", MORE_PROGRAMS)
    if with_overhead:
        rows += bench_rows() + overhead_rows(rounds)
    return rows
