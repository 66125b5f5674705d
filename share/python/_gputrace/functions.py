# SPDX-License-Identifier: Apache-2.0
"""Chosen Python functions as ranges: --python-functions=PATTERN[,PATTERN...].

A pattern is one of fnmatch's, compared with "module.qualified_name" and with the qualified name
alone. From CPython 3.12 on sys.monitoring tells which functions begin; those that are not chosen
are switched off at their first call. Before, sys.setprofile sees every call of the program.
A generator's range lasts from each resumption to the next yield."""
import fnmatch
import sys
import threading
import types

from _gputrace import library

DOMAIN = b"Python"
MAX_CODES = 1 << 20  # of functions that are remembered

HOLDS_FUNCTION = (staticmethod, classmethod, types.MethodType)

# as object has them, whatever the program's own classes say
bases_of = type.__dict__["__mro__"].__get__
names_of = type.__dict__["__dict__"].__get__


def qualified_name(code, frame):
    """As the function has it; before 3.11 looked up, since its code does not know it. Any object may
    have that name, so nothing is asked of it that code of the program would answer."""
    if hasattr(code, "co_qualname"):
        return code.co_qualname
    holders = [frame.f_globals]
    if code.co_argcount:
        first = frame.f_locals.get(code.co_varnames[0])
        kind = first if issubclass(type(first), type) else type(first)
        holders += [names_of(base) for base in bases_of(kind)]
    for holder in holders:
        function = holder.get(code.co_name)
        if type(function) in HOLDS_FUNCTION:
            function = function.__func__
        if type(function) is types.FunctionType and function.__code__ is code:
            return function.__qualname__
    return code.co_name


class Chosen:
    """The functions that the patterns choose: their names by the identity of their code."""

    def __init__(self, patterns, remember_all):
        self.patterns = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
        self.known = {}  # id of a code -> (name or None, the code, so that its id stays its own)
        self.remember_all = remember_all  # also those that no pattern chooses, which come again

    def look(self, code, frame):
        """The name of a function seen for the first time, or None."""
        qualified = qualified_name(code, frame)
        whole = "%s.%s" % (frame.f_globals.get("__name__", "?"), qualified)
        name = None
        if any(fnmatch.fnmatchcase(text, pattern) for pattern in self.patterns
               for text in (whole, qualified)):
            name = whole.encode("utf-8", "replace")
        if name or (self.remember_all and len(self.known) < MAX_CODES):
            self.known[id(code)] = (name, code)
        return name


def watch_by_monitoring(chosen, push, pop):
    """CPython 3.12 and later. Returns why it cannot be done, or None."""
    monitoring = sys.monitoring
    events = monitoring.events
    known = chosen.known
    tool = next((n for n in (4, 3, 5, 1, 0) if monitoring.get_tool(n) is None), None)
    if tool is None:
        return "other tools hold all of sys.monitoring"

    def on_start(code, _offset):
        entry = known.get(id(code))
        name = entry[0] if entry else chosen.look(code, sys._getframe(1))
        if name is None:
            return monitoring.DISABLE
        if entry is None:
            monitoring.set_local_events(tool, code, events.PY_RESUME | events.PY_RETURN
                                        | events.PY_YIELD)
        push(DOMAIN, name)
        return None

    def on_resume(code, *_):
        entry = known.get(id(code))
        if entry and entry[0]:
            push(DOMAIN, entry[0])

    def on_end(code, *_):
        entry = known.get(id(code))
        if entry and entry[0]:
            pop(DOMAIN)

    monitoring.use_tool_id(tool, "gputrace")
    for event, callback in ((events.PY_START, on_start), (events.PY_RESUME, on_resume),
                            (events.PY_THROW, on_resume), (events.PY_RETURN, on_end),
                            (events.PY_YIELD, on_end), (events.PY_UNWIND, on_end)):
        monitoring.register_callback(tool, event, callback)
    monitoring.set_events(tool, events.PY_START | events.PY_THROW | events.PY_UNWIND)
    return None


def watch_by_profile(chosen, push, pop):
    """Before 3.12: every call and return of every thread that Python's threading starts."""
    known = chosen.known

    def on_event(frame, event, _argument):
        if event == "call":
            code = frame.f_code
            entry = known.get(id(code))
            name = entry[0] if entry else chosen.look(code, frame)
            if name:
                push(DOMAIN, name)
        elif event == "return":
            entry = known.get(id(frame.f_code))
            if entry and entry[0]:
                pop(DOMAIN)

    threading.setprofile(on_event)
    sys.setprofile(on_event)


def start(patterns, tell):
    found = library.find()
    if found is None:
        tell("off: libgputrace.so is not loaded in this process")
        return
    watch = watch_by_monitoring if hasattr(sys, "monitoring") else watch_by_profile
    chosen = Chosen(patterns, watch is watch_by_profile)
    reason = watch(chosen, found.gputrace_range_push, found.gputrace_range_pop)
    tell("off: %s" % reason if reason else "on")
