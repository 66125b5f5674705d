# SPDX-License-Identifier: Apache-2.0
"""What LD_PRELOAD has to hold. In a build with a sanitizer the tracer and the simulated device need
its runtime, and that wants to be the first library of every process: tests/meson.build names it."""
import os

# The last records have the time that they need on a busy machine.
PATIENT = {"GPUTRACE_EXIT_TIMEOUT": "60000"}

RUNTIMES = os.environ.get("GT_TEST_RUNTIMES", "")  # with blanks between


def with_tracer(library):
    """The value for a traced program."""
    return ":".join([*RUNTIMES.split(), str(library)])


def without_tracer():
    """Variables for a program on the simulated device alone. ThreadSanitizer's runtime crashes in a
    program that has nothing to sanitize; the other programs of such a build are linked with it."""
    if not RUNTIMES or "tsan" in RUNTIMES:
        return {}
    return {"LD_PRELOAD": ":".join(RUNTIMES.split())}
