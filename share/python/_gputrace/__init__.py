# SPDX-License-Identifier: Apache-2.0
"""Watches a Python program for gputrace, as far as its environment asks for it."""

YES = ("1", "yes", "true", "on")


def tell(option, state):
    """See library.tell. ctypes is imported when there is something to tell, not before."""
    try:
        from _gputrace import library
    except ImportError:  # a Python without ctypes; the program's own errors go on
        return
    library.tell(option, state)


def functions_of(environment):
    """The patterns of the functions to watch: those asked for, and that of --capture-range=python:..."""
    asked = [environment.get("GPUTRACE_PYTHON_FUNCTIONS", "")]
    kind, _, pattern = environment.get("GPUTRACE_CAPTURE_RANGE", "").partition(":")
    if kind == "python":
        asked += [pattern, "*." + pattern]  # as core/window/capture_range.h compares it
    return ",".join(text for text in asked if text)


def is_left_out(environment):
    """This process is none of --ranks. The library knows, which is not loaded for the answer of every Python."""
    if not environment.get("GPUTRACE_RANKS"):
        return False
    try:
        from _gputrace import library
    except ImportError:
        return False
    return library.is_left_out()


def start(environment):
    """Starts what is asked for. What came of it stands in the trace."""
    patterns = functions_of(environment)
    if (patterns or environment.get("GPUTRACE_PYTORCH")) and is_left_out(environment):
        return
    if patterns:
        from _gputrace import functions
        functions.start(patterns, lambda state: tell("python-functions", state))
    if environment.get("GPUTRACE_PYTORCH", "").lower() in YES:
        from _gputrace import operators
        shapes = environment.get("GPUTRACE_PYTORCH_SHAPES", "").lower() in YES
        operators.start(shapes, lambda state: tell("pytorch", state))
