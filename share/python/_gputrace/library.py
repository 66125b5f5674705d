# SPDX-License-Identifier: Apache-2.0
"""libgputrace.so as it is loaded in this process."""
import ctypes
import os
import sys

from _gputrace import YES


def find():
    """The library with its functions, or None."""
    for name in (None, os.environ.get("CUDA_INJECTION64_PATH")):
        try:
            library = ctypes.PyDLL(name)
            library.gputrace_range_push.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
            library.gputrace_range_pop.argtypes = (ctypes.c_char_p,)
            library.gputrace_is_left_out.argtypes = ()
            library.gputrace_framework_state.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
            return library
        except (OSError, AttributeError):
            pass
    return None


def is_left_out():
    """By --ranks; a library that cannot be found leaves nobody out."""
    library = find()
    return library is not None and bool(library.gputrace_is_left_out())


def tell(option, state):
    """Puts into the trace what became of an option: "on", or "off: " and why."""
    library = find()
    if library is not None:
        library.gputrace_framework_state(option.encode(), state.encode("utf-8", "replace"))
    elif os.environ.get("GPUTRACE_VERBOSE", "").lower() in YES:
        sys.stderr.write("gputrace: %s: %s\n" % (option, state))
