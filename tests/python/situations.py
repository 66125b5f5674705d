# SPDX-License-Identifier: Apache-2.0
"""Python in places where it is seldom thought of: run(here) calls here(what) from each of them; here
compares the stack that the tracer sees with the interpreter's own. Any CPython from 3.8 on."""
import asyncio
import contextlib
import ctypes
import functools
import gc
import os
import re
import signal
import sys
import threading
import weakref


def spread_over_lines(here):
    """One statement, several lines: the one that executes counts."""
    def two(*values):
        return values

    two(1,
        here("second line of a call"),
        here("third line of a call"))
    two(
        1
    ).__class__(
        [here("chained call")]
    )
    result = (1 +
              (here("operand") or 2) +
              3)
    result = {
        "a": result,
        "b": here("value of a dict"),
    }
    assert (
        here("assert")
        or True
    )
    with contextlib.suppress(
            ValueError
    ):
        here("body of with")
    for _ in (
            1,
            2,
    ):
        here("body of for")
    if (here("condition") or
            here("second condition") or
            True):
        pass
    return f"{here('f-string')}" \
           f"{here('second line of an f-string')}"


def decorated(here):
    def plain(function):
        @functools.wraps(function)
        def wrapper(*arguments):
            return function(*arguments)
        return wrapper

    def with_argument(_):
        here("decorator expression")
        return plain

    @plain
    @with_argument(
        1
    )
    @functools.lru_cache(None)
    def function():
        here("decorated three times")

    function()


def classes(here):
    """Bodies of classes, and every method that the interpreter calls by itself."""
    class Meta(type):
        def __new__(mcs, *arguments):
            here("metaclass")
            return type.__new__(mcs, *arguments)

    class Base(metaclass=Meta):
        here("body of a class")
        found = [here("comprehension in a class") for _ in range(1)]

        def __init_subclass__(cls):
            here("__init_subclass__")

        def __init__(self):
            here("__init__")

        def __call__(self):
            here("__call__")

        def __enter__(self):
            here("__enter__")

        def __exit__(self, *_):
            here("__exit__")

        def __getitem__(self, _):
            here("__getitem__")

        def __iter__(self):
            here("__iter__")
            return iter([1])

        def __add__(self, _):
            here("__add__")

        def __eq__(self, _):
            here("__eq__")
            return True

        def __del__(self):
            here("__del__")

    class Derived(Base):
        @classmethod
        def make(cls, value=here("default argument")):
            return cls()

    thing = Derived.make()
    thing()
    with thing:
        thing[0]
    list(thing)
    thing + thing
    thing in [Derived()]
    reference = weakref.ref(thing, lambda _: here("callback of a weak reference"))
    del thing
    gc.collect()
    return reference


def constructors(here):
    """From the third call or so on, newer interpreters call __init__ without C in between."""
    class Small:
        def __init__(self):
            here("__init__ that is called often")

    for _ in range(100):
        Small()


def called_by_c(here):
    list(filter(lambda _: here("filter"), [1]))
    sorted([2, 1], key=lambda x: here("key of sorted") or x)
    re.sub("a", lambda _: here("re.sub") or "", "a")
    functools.reduce(lambda *_: here("reduce"), [1, 2])
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        lambda *_: here("qsort") or 0)
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare)
    old = signal.signal(signal.SIGUSR1, lambda *_: here("signal handler"))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, old)
    timer = threading.Timer(0, lambda: here("timer"))
    timer.start()
    timer.join()


def exceptions(here):
    try:
        try:
            raise ValueError
        except ValueError:
            here("except")
            raise
        finally:
            here("finally, with an exception")
    except ValueError as error:
        here(repr(error))
    else:
        here("never")
    finally:
        here("finally")


def generators(here):
    def inner():
        try:
            yield here("generator")
        except ValueError:
            yield here("generator that something was thrown into")
        finally:
            here("generator that is closed")

    def outer():
        yield from inner()

    generator = outer()
    next(generator)
    generator.throw(ValueError())
    generator.close()
    generator = outer()
    next(generator)
    del generator


def coroutines(here):
    class Manager:
        async def __aenter__(self):
            await asyncio.sleep(0)
            here("__aenter__")

        async def __aexit__(self, *_):
            here("__aexit__")

    async def numbers():
        for i in range(2):
            here("asynchronous generator")
            yield i
            await asyncio.sleep(0)

    async def main():
        async with Manager():
            here("async with")
        async for _ in numbers():
            here("async for")
        [here("asynchronous comprehension") async for _ in numbers()]
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, here, "executor")
        loop.call_soon(here, "call_soon")
        await asyncio.sleep(0)

    asyncio.run(main())


def while_watched(here):
    """A debugger, a profiler of the program's own."""
    sys.settrace(lambda *_: lambda *_: None)
    here("under settrace")
    sys.settrace(None)
    sys.setprofile(lambda *_: None)
    here("under setprofile")
    sys.setprofile(None)


NEWER = {
    (3, 10): """
match [1, 2]:
    case [1, *_] if here("guard of a case") or True:
        here("case")
""",
    (3, 11): """
try:
    raise ExceptionGroup("both", [ValueError()])
except* ValueError:
    here("except*")
""",
    (3, 12): """
def generic[T](x: T):
    here("generic function")
generic(1)
type Late = here("type that is evaluated late") or int
Late.__value__
""",
}


def newer_syntax(here):
    for version, source in NEWER.items():
        if sys.version_info >= version:
            exec(compile(source, "<since %d.%d>" % version, "exec"), {"here": here})


def far_lines(here):
    source = "def far():\n" + "\n" * 70000 + "  here('line 70002')\n" + "\n" * 200 + "  here('203 on')\nfar()\n"
    exec(compile(source, "far.py", "exec"), {"here": here})
    source = "x = (" + "1,\n" * 300 + "here('inside'),\n" * 3 + "1)\n"
    exec(compile(source, "tuple.py", "exec"), {"here": here})


def file_names_of_their_own(here):
    """The file name of a code object may be of a type derived from str."""
    class Name(str):
        pass

    codes = [compile("here('derived file name')\n", Name(name), "exec")
             for name in ("derived.py", "größe.py", "名前.py", "𝔘.py")]
    for code in codes:
        exec(code, {"here": here})


def greenlets(here):
    """Stacks that are switched under the thread; where the package is installed."""
    try:
        import greenlet
    except ImportError:
        return

    def first():
        here("greenlet")
        other.switch()
        here("greenlet again")

    def second():
        here("other greenlet")
        one.switch()

    one, other = greenlet.greenlet(first), greenlet.greenlet(second)
    one.switch()
    here("back in the main greenlet")


def run(here):
    for situation in (spread_over_lines, decorated, classes, constructors, called_by_c, exceptions,
                      generators, coroutines, while_watched, newer_syntax, far_lines,
                      file_names_of_their_own, greenlets):
        situation(here)
