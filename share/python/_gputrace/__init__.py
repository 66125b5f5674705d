# SPDX-License-Identifier: Apache-2.0
"""Watches a Python program for gputrace, as far as its environment asks for it."""
import sys

YES = ("1", "yes", "true", "on")


def say(environment, text):
    if environment.get("GPUTRACE_QUIET", "").lower() not in YES:
        sys.stderr.write("gputrace: %s\n" % text)


def start(environment):
    """Starts what is asked for. A reason why something cannot be had is said on stderr, once."""
    patterns = environment.get("GPUTRACE_PYTHON_FUNCTIONS", "")
    if patterns:
        from _gputrace import functions
        functions.start(patterns, lambda text: say(environment, text))
    if environment.get("GPUTRACE_PYTORCH", "").lower() in YES:
        from _gputrace import operators
        shapes = environment.get("GPUTRACE_PYTORCH_SHAPES", "").lower() in YES
        operators.start(shapes, lambda text: say(environment, text))
