# SPDX-License-Identifier: Apache-2.0
"""The value of LD_PRELOAD. In a build with a sanitizer the tracer and the simulated device need its
runtime, which must be the first library of every process: tests/meson.build names it."""
import os

# The last records get enough time on a busy machine.
PATIENT = {"GPUTRACE_EXIT_TIMEOUT": "60000"}

RUNTIMES = os.environ.get("GT_TEST_RUNTIMES", "")  # separated by blanks


def with_tracer(library):
    """The value for a traced program."""
    return ":".join([*RUNTIMES.split(), str(library)])


def without_tracer():
    """Variables for an untraced program on the simulated device. ThreadSanitizer's runtime crashes in
    programs that are not linked with it; those of such a build are."""
    if not RUNTIMES or "tsan" in RUNTIMES:
        return {}
    return {"LD_PRELOAD": ":".join(RUNTIMES.split())}
