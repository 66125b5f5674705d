#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the features of the call side cost, in processor time, interleaved: --python-functions under every
CPython, --stack-lane, --pytorch where GPUTRACE_TEST_TORCH names a Python that has it. On the simulated
device. What the replay of a graph costs: gputrace bench --workloads=graph.

    features.py BUILD [functions|lane|pytorch ...]
"""
import glob
import os
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(SOURCE, "tests", "python"))
import interpreters  # noqa: E402


def simcuda(*words):
    return [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, "--virtual",
            "--kernel-ns=100", *words]


def run(command, *options, form="null"):
    """(numbers that it prints, bytes of its trace, processor seconds); options None: untraced"""
    with tempfile.TemporaryDirectory() as folder:
        if options != (None,):
            command = [os.path.join(SOURCE, "scripts", "gputrace"), "run", "--quiet",
                       "--format=" + form, "--output=" + folder, *options, "--", *command]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = subprocess.run(simcuda(*command), env=dict(os.environ, GPUTRACE_BUILD=BUILD),
                              capture_output=True, text=True, check=True, timeout=300).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = sum(os.path.getsize(path) for path in glob.glob(folder + "/*.json"))
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [float(word) for word in text.split() if word[0].isdigit()], size, seconds


def interleave(rows, rounds):
    """rows: name -> (command, options). name -> list of what run() gives"""
    results = {name: [] for name in rows}
    for _ in range(rounds):
        for name, (command, options, form) in rows.items():
            results[name].append(run(command, *options, form=form))
    return results


def functions():
    print("| CPython | untraced | chosen | not chosen | builtin |\n| --- | --- | --- | --- | --- |")
    for about in filter(interpreters.is_supported, interpreters.find()):
        program = [about["path"], os.path.join(HERE, "function_loop.py")]
        found = interleave({"bare": (program, (None,), ""),
                            "on": (program, ("--python-functions=chosen", "--ring-size=64M"), "null")}, 3)
        least = {name: [min(numbers[i] for numbers, _, _ in runs) for i in range(3)]
                 for name, runs in found.items()}
        print("| %s | %.0f, builtin %.0f | %.0f | %.0f | %.0f |" % (
            ".".join(map(str, about["version"])), least["bare"][1], least["bare"][2], *least["on"]),
            flush=True)


def lane():
    launches = 100000
    program = [os.path.join(BUILD, "bench", "gputrace-workload"), "loop", "20", str(launches // 20), "36"]
    found = interleave({"without": (program, ("--ring-size=64M",), "chrome"),
                        "with": (program, ("--ring-size=64M", "--stack-lane"), "chrome")}, 3)
    for name, runs in found.items():
        print("| %s --stack-lane | %.0f bytes a launch | %.0f ns of processor time a launch |" % (
            name, statistics.median(size for _, size, _ in runs) / launches,
            min(seconds for _, _, seconds in runs) / launches * 1e9))


def pytorch():
    python = os.environ.get("GPUTRACE_TEST_TORCH")
    if not python:
        print("GPUTRACE_TEST_TORCH names no Python with PyTorch")
        return
    cupti = glob.glob(subprocess.run(simcuda("--print-path"), capture_output=True, text=True,
                                     check=True).stdout.strip() + "/libcupti.so.13")[0]
    program = [python, os.path.join(HERE, "torch_loop.py")]
    on = ("--pytorch", "--ring-size=64M", "--cupti=" + cupti)
    found = interleave({"untraced": (program, (None,), ""),
                        "--pytorch": (program, on, "null"),
                        "--pytorch --pytorch-shapes": (program, (*on, "--pytorch-shapes"), "null"),
                        "torch.profiler": (program + ["--profiler"], (None,), ""),
                        "torch.profiler, shapes": (program + ["--profiler-shapes"], (None,), "")}, 2)
    for name, runs in found.items():
        print("| %s | %.0f | %.0f |" % (name, min(n[0] for n, _, _ in runs),
                                        statistics.median(n[1] for n, _, _ in runs)), flush=True)


for part in sys.argv[2:] or ("functions", "lane", "pytorch"):
    print("\n" + part)
    globals()[part]()
