# SPDX-License-Identifier: Apache-2.0
"""Where the threads of a hung program are: by a debugger where there is one, and by /proc."""
import os
import pathlib
import shutil
import subprocess
import time

MOST_TEXT = 16384  # of one program
DEBUGGERS = ("cuda-gdb", "gdb")
DEBUGGER_SECONDS = 10
FILES = ("wchan", "syscall", "stack")  # the last for root only


def read(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        return f"({error.strerror})"


def session_of(pid):
    """The processes of the session that @pid leads."""
    members = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        fields = read(folder / "stat").rpartition(")")[2].split()
        if len(fields) > 3 and fields[3] == str(pid):
            members.append(int(folder.name))
    return sorted(members)


def thread(folder):
    state = [line for line in read(folder / "status").splitlines()
             if line.startswith(("State:", "SigBlk:"))]
    lines = [f"thread {folder.name} ({read(folder / 'comm')}) {' '.join(state)}"]
    for name in FILES:
        lines += [f"  {name}: {line}" for line in read(folder / name).splitlines()]
    return lines


def by_proc(pid):
    folder = pathlib.Path("/proc") / str(pid)
    lines = [f"process {pid}: {read(folder / 'cmdline').replace(chr(0), ' ')[:200]}"]
    for task in sorted(folder.glob("task/*"), key=lambda path: int(path.name)):
        lines += thread(task)
    return lines


def by_debugger(pid, seconds):
    program = next(filter(None, map(shutil.which, DEBUGGERS)), None)
    if not program or seconds < 1:
        return []
    try:
        done = subprocess.run([program, "-p", str(pid), "-batch", "-ex", "thread apply all bt 40"],
                              capture_output=True, text=True, errors="replace", check=False,
                              timeout=seconds, stdin=subprocess.DEVNULL,
                              env=os.environ | {"DEBUGINFOD_URLS": ""})
        return [f"{program}:", *done.stdout.splitlines()]
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"{program}: {error}"]


def of_session(pid):
    """The stacks of all threads of all processes of a session, as text."""
    members = session_of(pid)
    lines = [line for member in members for line in by_proc(member)]
    end = time.monotonic() + DEBUGGER_SECONDS
    for member in reversed(members):  # the program rather than what started it
        lines += by_debugger(member, end - time.monotonic())
    return "\n".join(lines)[:MOST_TEXT]
