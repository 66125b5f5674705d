#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal, and in a pipe with COLUMNS or --width: no line is longer than it is wide, rows stay apart, and
what is left out is said. Elsewhere nothing of that."""
import json
import re
import shlex
import subprocess
import unittest

from harness import CLI, ROOT, RunTest, environment
from terminal import Terminal

TRACES = ROOT / "examples" / "traces"


def shown(*words, columns=80, env=None):
    """What a command writes on a terminal of that many columns."""
    terminal = Terminal(columns)
    surroundings = environment(TERM="xterm")
    surroundings.pop("COLUMNS", None)
    line = f"{shlex.join(map(str, (CLI, *words)))} 2>/dev/null; echo ended $?"
    with subprocess.Popen(["sh", "-c", line], stdin=subprocess.DEVNULL, stdout=terminal.other,
                          env={**surroundings, **(env or {})}):
        text = terminal.read(rb"ended \d+\r\n$").decode().replace("\r\n", "\n")
    terminal.close()
    text, status = text.rsplit("ended ", 1)
    if int(status):
        raise AssertionError(f"{words}: {status}{text}")
    return text


def plain(text):
    return re.sub(r"\033\[\d*m", "", text)


def trace_of_stacks(path):
    """Two call stacks, long and alike at first."""
    inner = ["launch_axpy(CUstream_st*, float*) (/opt/bin/streams+0x2505)", "step(Job&) (/opt/bin/streams+0x3000)"]
    outer = [f"worker(Pool&) (/opt/bin/streams+0x{i}000)" for i in range(4, 9)] + ["main (/opt/bin/streams+0x9952)"]
    stacks = [inner + outer, inner + ["eval(Model const&) (/opt/bin/streams+0x7777)"] + outer]
    events = []
    for i, frames in enumerate(stacks, 1):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": i * 10,
                       "dur": 1, "args": {"correlation": i, "stack": i, "frames": frames}})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": i * 10 + 2, "dur": i,
                       "args": {"device": 0, "stream": 7, "correlation": i}})
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")


def trace_of_long_words(path):
    """A slow kernel and a synchronous copy under names without a blank, in a function of a long path."""
    name = "kernel_of_one_word_" + "and_more_of_it_" * 6
    place = f"/opt/{'deep/' * 12}train.py(12): step"
    events = [{"ph": "X", "cat": "python_function", "name": place, "pid": 100, "tid": 100, "ts": 0, "dur": 1000}]
    for i in range(1, 10):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpy" if i % 2 else "cudaLaunchKernel", "pid": 100, "tid": 100,
                       "ts": i * 100, "dur": 80, "args": {"correlation": i}})
        events.append({"ph": "X", "cat": "gpu_memcpy" if i % 2 else "kernel", "name": "Memcpy HtoD (Pageable -> Device)" if i % 2 else name,
                       "pid": 0, "tid": 7, "ts": i * 100 + 20, "dur": 30, "args": {"device": 0, "stream": 7, "correlation": i}})
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")


class TestTables(RunTest):
    def check_width(self, text, columns):
        for line in plain(text).splitlines():
            self.assertLessEqual(len(line), columns, line)

    def test_they_fit_the_terminal(self):
        for columns in (70, 80, 100, 132):
            for words in (("stats", "--by=line", TRACES / "train.json.gz"), ("stats", "--by=kernel", TRACES / "train.json.gz"),
                          ("gaps", TRACES / "slow-loader.json.gz"),
                          ("diff", TRACES / "train.json.gz", TRACES / "slow-kernel.json.gz")):
                with self.subTest(words=words, columns=columns):
                    tables = [line for line in plain(shown(*words, columns=columns)).splitlines()
                              if line.startswith("  ")]
                    self.assertGreater(len(tables), 2)
                    self.check_width("\n".join(tables), columns)

    def test_sentences_fit_narrow_terminals(self):
        """Also a word that is wider than a line, and nothing of it is lost."""
        trace = self.scratch / "long.json"
        trace_of_long_words(trace)
        for words in (("analyze", TRACES / "train.json.gz"), ("analyze", trace), ("gaps", trace), ("stats", trace)):
            whole = subprocess.run([CLI, *words, "--width=0"], capture_output=True, text=True, check=True).stdout
            for columns in (40, 47, 60):
                text = subprocess.run([CLI, *words, f"--width={columns}"], capture_output=True, text=True, check=True).stdout
                self.check_width(text, columns)
                if words[0] == "analyze":
                    self.assertIn("".join(whole.split())[:400], "".join(text.split()))

    def test_help_fits_narrow_terminals(self):
        listed = subprocess.run([CLI, "--help"], capture_output=True, text=True, check=True, env=environment(COLUMNS="100")).stdout
        commands = re.findall(r"^  (\w+)", listed, re.M)
        self.assertGreater(len(commands), 20)
        for columns in (40, 60, 80):
            for words in ([], *([command] for command in commands)):
                text = subprocess.run([CLI, "help", *words], capture_output=True, text=True, check=True,
                                      env=environment(COLUMNS=str(columns))).stdout
                prose, _, examples = text.partition("\nexamples:")
                whole = [line for line in prose.splitlines() if re.search(r"[|]|^ *\S+$", line)]  # one word: a choice, a list
                lines = [line for line in prose.splitlines() if line not in whole]
                self.check_width("\n".join(lines + re.findall(r"^  #.*", examples, re.M)), columns)

    def test_stacks_fit_and_stay_apart(self):
        trace = self.scratch / "stacks.json"
        trace_of_stacks(trace)
        text = plain(shown("stats", "--by=stack", trace, columns=100))
        self.check_width(text, 100)
        names = [line.split("launch_axpy", 1)[1] for line in text.splitlines() if "launch_axpy" in line]
        self.assertEqual(len(set(names)), 2, text)
        self.assertIn("eval (streams+0x7777)", text)

    def test_what_is_left_out_is_said(self):
        text = plain(shown("stats", "--by=line", TRACES / "train.json.gz"))
        said = re.search(r"^  no room for (.*)$", text, re.M).group(1).split(", ")
        header = text.splitlines()[1].split()
        self.assertEqual(said, ["median", "min", "max", "stddev"])
        self.assertEqual(header[:2] + header[-1:], ["share", "total", "name"])
        self.assertFalse(set(said) & set(header))
        self.assertNotIn("no room", shown("stats", "--by=line", TRACES / "train.json.gz", columns=200))

    def test_both_sides_of_a_comparison_stay(self):
        text = plain(shown("diff", TRACES / "train.json.gz", TRACES / "slow-kernel.json.gz", columns=80))
        self.assertEqual(len(re.findall(r"  A +B +(?:noise +)?name$", text, re.M)), 4, text)

    def test_the_variable_counts_more(self):
        words = ("stats", "--by=line", TRACES / "train.json.gz")
        self.assertEqual(shown(*words, columns=80, env={"COLUMNS": "132"}), shown(*words, columns=132))
        self.assertEqual(shown(*words, columns=80, env={"COLUMNS": "wide"}), shown(*words, columns=80))

    def test_in_pipes_a_width_must_be_told(self):
        words = [str(CLI), "stats", "--by=line", str(TRACES / "train.json.gz")]

        def piped(*more, **variables):
            return subprocess.run([*words, *more], capture_output=True, text=True, check=True,
                                  env=environment(**variables)).stdout

        self.check_width(piped(COLUMNS="80"), 80)
        self.assertEqual(piped(COLUMNS="80"), plain(shown(*words[1:], columns=80)))
        self.assertEqual(piped("--width=80", COLUMNS="132"), piped(COLUMNS="80"))
        self.assertEqual(piped("--width=0", COLUMNS="80"), piped(COLUMNS=""))
        self.assertIn("stddev", piped(COLUMNS="").splitlines()[1])

    def test_colours_end_with_their_line(self):
        for line in shown("stats", "--by=line", TRACES / "train.json.gz").splitlines():
            self.assertFalse(line.startswith("\033[0m"), repr(line))
            self.assertEqual(line.count("\033[") % 2, 0, repr(line))


if __name__ == "__main__":
    unittest.main()
