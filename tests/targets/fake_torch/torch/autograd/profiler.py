# SPDX-License-Identifier: Apache-2.0
import contextlib
import ctypes
import threading

import torch

NVTX, KINETO = "NVTX", "KINETO"
active = threading.local()  # the thread's profiler
library = ctypes.PyDLL(None)  # in PyTorch the NVTX headers lead to the same place


def _enable_profiler(config, _activities):
    if getattr(active, "config", None):
        raise RuntimeError("Profiler is already enabled on this thread")
    active.config = config


def _disable_profiler():
    if not getattr(active, "config", None):
        raise RuntimeError("Can't disable profiler when it's not running")
    active.config = None


def _run_on_profiler_start():
    raise RuntimeError("the program's hooks for its own profilers ran")


class emit_nvtx:
    def __init__(self, enabled=True, record_shapes=False):
        self.record_shapes = record_shapes

    def __enter__(self):
        torch.cuda.synchronize()
        _run_on_profiler_start()
        _enable_profiler((NVTX, self.record_shapes), set())


class profile:
    def __enter__(self):
        _enable_profiler((KINETO, False), set())

    def __exit__(self, *_):
        _disable_profiler()


@contextlib.contextmanager
def operator(name):
    """Tells NVTX of an operator while the thread's profiler is that one."""
    state, shapes = getattr(active, "config", None) or (None, False)
    if state == NVTX and hasattr(library, "gputrace_range_push"):
        library.gputrace_range_push(None, (name if shapes else name.split(", sizes")[0]).encode())
        try:
            yield
        finally:
            library.gputrace_range_pop(None)
    else:
        yield
