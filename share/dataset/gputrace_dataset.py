# SPDX-License-Identifier: Apache-2.0
"""Traces as Arrow tables: one way for `gputrace export --parquet`, for pandas and for others.

    import gputrace_dataset
    job = gputrace_dataset.open("gputrace-out/run")
    job.table("kernels")              # a pyarrow.Table of all ranks
    job.table("kernels").to_pandas()  # a frame
    job.stream("kernels", 0)          # of one process, for all that takes __arrow_c_stream__: polars, duckdb

The tables and columns are those of docs/DATASET.md. The C side fills Arrow's C data interface (libgputrace-arrow.so,
beside this file); nothing is copied or parsed on the way. One thread at a time.
"""

import argparse
import ctypes
import os
import shutil
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = "libgputrace-arrow.so"
SAID = 1 << 16  # bytes of what is said of inputs


class CStream(ctypes.Structure):
    """struct ArrowArrayStream"""

    _fields_ = [(name, ctypes.c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private")]


def library():
    lib = ctypes.CDLL(os.path.join(HERE, LIBRARY))
    lib.gt_arrow_open.restype = ctypes.c_void_p
    lib.gt_arrow_open.argtypes = (ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    lib.gt_arrow_processes.restype = ctypes.c_size_t
    lib.gt_arrow_processes.argtypes = (ctypes.c_void_p,)
    lib.gt_arrow_left_out.restype = ctypes.c_size_t
    lib.gt_arrow_left_out.argtypes = (ctypes.c_void_p,)
    lib.gt_arrow_rank.restype = ctypes.c_int64
    lib.gt_arrow_rank.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    lib.gt_arrow_table_name.restype = ctypes.c_char_p
    lib.gt_arrow_table_name.argtypes = (ctypes.c_size_t,)
    lib.gt_arrow_stream.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(CStream))
    lib.gt_arrow_close.argtypes = (ctypes.c_void_p,)
    return lib


class Stream:
    """A table of one process, to be read once."""

    def __init__(self, job, number, process):
        self._job, self._c = job, CStream()
        error = job.lib.gt_arrow_stream(job.handle, process, number, ctypes.byref(self._c))
        if error:
            raise OSError(error, os.strerror(error))

    def __arrow_c_stream__(self, requested_schema=None):
        del requested_schema
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self._c), b"arrow_array_stream", None)

    def reader(self):
        """As a pyarrow.RecordBatchReader, which takes the stream over."""
        import pyarrow

        return pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(self._c))  # since pyarrow 1; public names vary

    def __del__(self):
        if self._c.release:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._c.release)(ctypes.addressof(self._c))


class Job:
    """The traces of a job."""

    def __init__(self, *inputs):
        self.lib, self.handle = library(), None
        words = (ctypes.c_char_p * len(inputs))(*(os.fsencode(word) for word in inputs))
        said = ctypes.create_string_buffer(SAID)
        self.handle = self.lib.gt_arrow_open(words, len(inputs), said, SAID)
        self.said = said.value.decode(errors="replace").splitlines()
        if not self.handle:
            raise ValueError("\n".join(self.said) or "no traces")
        self.left_out = self.lib.gt_arrow_left_out(self.handle)  # files that are no trace
        self.ranks = [self.lib.gt_arrow_rank(self.handle, i) for i in range(self.lib.gt_arrow_processes(self.handle))]
        self.tables, name = [], self.lib.gt_arrow_table_name(0)
        while name:
            self.tables.append(name.decode())
            name = self.lib.gt_arrow_table_name(len(self.tables))

    def stream(self, name, process):
        return Stream(self, self.tables.index(name), process)

    def table(self, name):
        """All processes, with the column rank."""
        import pyarrow

        parts = []
        for process, rank in enumerate(self.ranks):
            part = self.stream(name, process).reader().read_all()
            parts.append(part.append_column("rank", pyarrow.repeat(pyarrow.scalar(rank, pyarrow.int64()), len(part))))
        return pyarrow.concat_tables(parts)

    def __del__(self):
        if self.handle:
            self.lib.gt_arrow_close(self.handle)


def open(*inputs):  # pylint: disable=redefined-builtin
    """The traces, or those of folders, as one job."""
    return Job(*inputs)


# ---- a dataset in files ----


def write_parquet(reader, path):
    from pyarrow import parquet

    with parquet.ParquetWriter(path, reader.schema, compression="zstd") as file:
        for batch in reader:
            file.write_batch(batch)


def write_arrow(reader, path):
    import pyarrow

    with pyarrow.OSFile(path, "wb") as out, pyarrow.ipc.new_file(out, reader.schema) as file:
        for batch in reader:
            file.write_batch(batch)


FORMS = {"parquet": write_parquet, "arrow": write_arrow}


def write(job, folder, form):
    """FOLDER/TABLE/rank=N/process-M.FORM of each process; a process without rows has a file with the columns."""
    for name in job.tables:
        for process, rank in enumerate(job.ranks):
            part = os.path.join(folder, name, f"rank={rank}")
            os.makedirs(part, exist_ok=True)
            FORMS[form](job.stream(name, process).reader(), os.path.join(part, f"process-{process}.{form}"))


def complain(line):
    print(f"gputrace export: {line}", file=sys.stderr)
    return 1


def missing(error):
    return complain(
        f"{sys.executable} has no {error.name}, which writes such files: {sys.executable} -m pip install pyarrow, "
        "or name a Python that has it in GPUTRACE_PYTHON"
    )


def end_by_signal(number, frame):
    del frame
    sys.exit(128 + number)


def export(job, folder, form):
    os.mkdir(folder)
    try:
        write(job, folder, form)
    except BaseException:  # nothing half written stays
        shutil.rmtree(folder, ignore_errors=True)
        raise


def main():
    parser = argparse.ArgumentParser(description="What gputrace export --parquet and --arrow start.")
    parser.add_argument("form", choices=sorted(FORMS))
    parser.add_argument("folder")
    parser.add_argument("inputs", nargs="+")
    args = parser.parse_args()
    try:
        import pyarrow  # noqa: F401
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        return missing(error)
    try:
        signal.signal(signal.SIGTERM, end_by_signal)
        job = open(*args.inputs)
        for line in job.said:
            complain(line)
        export(job, args.folder, args.form)
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}" if error.filename else error)
    except ValueError as error:
        return complain(error)
    except KeyboardInterrupt:
        return 130
    return 1 if job.left_out else 0


if __name__ == "__main__":
    sys.exit(main())
