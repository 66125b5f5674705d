# SPDX-License-Identifier: Apache-2.0
"""Runs under any CPython from 3.8 on: captures stacks in many situations and compares each with what
the interpreter itself says. Prints one line per situation; exit status 1 if one was wrong.

    stacks.py PROBE_LIBRARY
"""
import asyncio
import ctypes
import dis
import functools
import gc
import os
import random
import sys
import threading
import traceback

import situations

DEPTH = 256
SIZE = 1 << 20

cdll = ctypes.CDLL(sys.argv[1])   # releases the GIL around a call
pydll = ctypes.PyDLL(sys.argv[1])  # keeps it
for library in cdll, pydll:
    library.probe_start.restype = ctypes.c_char_p
    library.probe_cost.restype = ctypes.c_double
    library.probe_capture.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32]

HAS_QUALNAME = sys.version_info >= (3, 11)
buffer = ctypes.create_string_buffer(SIZE)
failures = 0
compared = 0


def want():
    """The caller's stack, nearest first: (name, file, line), by traceback and by the frames."""
    summary = traceback.extract_stack(sys._getframe(1))
    result = []
    frame = sys._getframe(1)
    while frame:
        code = frame.f_code
        result.append((code.co_qualname if HAS_QUALNAME else code.co_name, code.co_filename,
                       frame.f_lineno))
        frame = frame.f_back
    assert [(s.filename, s.lineno) for s in reversed(summary)] == [r[1:] for r in result]
    return result


def read():
    """What the last capture delivered: all frames (kind, function, file or module, line)."""
    lines = buffer.value.decode("utf-8", "surrogateescape").splitlines()
    return [(kind, name, place, int(line))
            for kind, name, place, line in (text.split("\t") for text in lines)]


def python_part(frames):
    return [frame[1:] for frame in frames if frame[0] == "python"]


def complain(what, expected, got):
    global failures
    failures += 1
    if failures > 3:
        return
    print(f"  {what}: differs")
    if not isinstance(expected, (list, tuple)):
        print(f"    expected {expected}, got {got}")
        return
    for i in range(max(len(expected), len(got))):
        e = expected[i] if i < len(expected) else None
        g = got[i] if i < len(got) else None
        if e != g:
            print(f"    [{i}] expected {e}\n         got      {g}")
            break


def same(what, expected):
    """Compares the last capture with the stack `expected`, cut to what a capture holds."""
    global compared
    compared += 1
    frames = read()
    got = python_part(frames)
    if got != expected[:DEPTH]:
        complain(what, expected, got)
    internal = [f for f in frames if f[0] == "native"
                and os.path.basename(f[2]).startswith(("libpython", "python"))]
    if internal and len(expected) < 20:
        complain(what + ": interpreter frames left", [], internal)


def each_way(case):
    """Runs a case with the GIL released and with the GIL held."""
    @functools.wraps(case)
    def run():
        for name, library in ("released", cdll), ("held", pydll):
            case(library.probe_capture, f"{case.__name__}, GIL {name}")
    return run


@each_way
def plain(capture, what):
    got, expected = capture(buffer, SIZE, DEPTH), want()
    same(what, expected)


@each_way
def three_lines(capture, what):
    lines = []
    capture(buffer, SIZE, DEPTH)
    lines.append(python_part(read())[0][2])
    capture(buffer, SIZE, DEPTH)
    lines.append(python_part(read())[0][2])
    capture(buffer, SIZE, DEPTH); lines.append(python_part(read())[0][2])
    first = three_lines.__wrapped__.__code__.co_firstlineno
    if lines != [first + 3, first + 5, first + 7]:
        complain(what, [first + 3, first + 5, first + 7], lines)


@each_way
def in_one_expression(capture, what):
    before, _, after = (
        sys._getframe().f_lineno,
        capture(buffer, SIZE, DEPTH),
        sys._getframe().f_lineno,
    )
    got = python_part(read())[0][2]
    if (before, after) != (got - 1, got + 1):
        complain(what, (got - 1, got + 1), (before, after))


@each_way
def loops_and_branches(capture, what):
    for i in range(3):
        if i % 2:
            _, expected = capture(buffer, SIZE, DEPTH), want()
        else:
            try:
                raise ValueError
            except ValueError:
                _, expected = capture(buffer, SIZE, DEPTH), want()
            finally:
                pass
        same(what, expected)
    with threading.Lock():
        _, expected = capture(buffer, SIZE, DEPTH), want()
    same(what, expected)


class Outer:
    class Inner:
        def method(self, capture):
            return (lambda: (capture(buffer, SIZE, DEPTH), want()))()

        @property
        def value(self):
            return self.method(self.capture)

    def __getattr__(self, name):
        def nested():
            return pydll.probe_capture(buffer, SIZE, DEPTH), want()
        return nested()

    def __lt__(self, other):
        self.found = cdll.probe_capture(buffer, SIZE, DEPTH), want()
        return False


@each_way
def methods_and_lambdas(capture, what):
    same(what, Outer.Inner().method(capture)[1])
    inner = Outer.Inner()
    inner.capture = capture
    same(what + ", property", inner.value[1])
    same(what + ", __getattr__", Outer().anything[1])
    a, b = Outer(), Outer()
    sorted([a, b])
    same(what + ", __lt__ in sorted", (getattr(b, "__dict__").get("found") or a.found)[1])


def count_down(n, then):
    return then() if n == 0 else count_down(n - 1, then)


@each_way
def recursion(capture, what):
    for n in 1, 20, 200:
        same(f"{what}, {n} deep", count_down(n, lambda: (capture(buffer, SIZE, DEPTH), want()))[1])


@each_way
def through_c(capture, what):
    """Each of these enters the evaluation loop again."""
    then = lambda *_: (capture(buffer, SIZE, DEPTH), want())
    same(what + ", map", next(map(then, [0]))[1])
    same(what + ", max", max([0], key=lambda x: (setattr(plain, "got", then()), 0)[1]) or plain.got[1])
    same(what + ", partial", functools.partial(count_down, 3)(then)[1])
    same(what + ", reduce", functools.reduce(lambda a, b: count_down(2, then), [0, 1])[1])
    found = []
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: (found.append(then()), 0)[1])
    cdll.probe_call(callback)
    same(what + ", callback of C", found[0][1])


@each_way
def generators(capture, what):
    def numbers():
        got, expected = capture(buffer, SIZE, DEPTH), want()
        yield expected
        yield from more()

    def more():
        got, expected = capture(buffer, SIZE, DEPTH), want()
        yield expected

    for expected in numbers():
        same(what, expected)
    same(what + ", list", list(numbers())[1])
    same(what + ", expression", list(x for x in [0] for y in more() for x in [y])[0])
    same(what + ", comprehension", [(capture(buffer, SIZE, DEPTH), want()) for _ in [0]][0][1])


@each_way
def coroutines(capture, what):
    async def inner():
        await asyncio.sleep(0)
        return capture(buffer, SIZE, DEPTH), want()

    async def outer():
        same(what, (await inner())[1])
        same(what + ", gather", (await asyncio.gather(inner()))[0][1])
        async for expected in items():
            same(what + ", async generator", expected)

    async def items():
        await asyncio.sleep(0)
        yield (capture(buffer, SIZE, DEPTH), want())[1]

    asyncio.run(outer())


@each_way
def compiled_source(capture, what):
    names = {"capture": lambda: None, "want": want, "library": capture, "buffer": buffer,
             "SIZE": SIZE, "DEPTH": DEPTH}
    source = "\n" * 70000 + "def far():\n    x = 1\n    return library(buffer, SIZE, DEPTH), want()\n"
    exec(compile(source, "<far away>", "exec"), names)
    same(what + ", line 70003", names["far"]()[1])
    # many different sources under one name: code objects at reused addresses
    for i in range(200):
        source = "\n" * (i % 7) + "result = (\n" + "\n" * (i * 5 % 11) + \
            "library(buffer, SIZE, DEPTH), want())\n"
        exec(compile(source, "<exec>", "exec"), names)
        same(what + ", exec", names["result"][1])
        gc.collect(0)
    names["result"] = eval("(library(buffer, SIZE, DEPTH), want())", names)
    same(what + ", eval", names["result"][1])


@each_way
def unicode_names(capture, what):
    for name in "größe", "имя", "名前", "𝔘𝔫𝔦":
        names = {"want": want, "library": capture, "buffer": buffer, "SIZE": SIZE, "DEPTH": DEPTH}
        source = f"class {name}:\n  def {name}(self):\n    return library(buffer, SIZE, DEPTH), want()\n"
        exec(compile(source, f"/tmp/{name}.py", "exec"), names)
        cls = [value for key, value in names.items() if isinstance(value, type)][0]
        same(what, getattr(cls(), [key for key in vars(cls) if key[0] != "_"][0])()[1])


@each_way
def long_function(capture, what):
    """A line table that is decoded far in."""
    names = {"want": want, "library": capture, "buffer": buffer, "SIZE": SIZE, "DEPTH": DEPTH}
    source = "def long():\n    x = 0\n" + "    x += (1 +\n\n  2)\n" * 3000 + \
        "    return library(buffer, SIZE, DEPTH), want()\n"
    exec(compile(source, "<long>", "exec"), names)
    same(what, names["long"]()[1])


@each_way
def destructors(capture, what):
    class Dying:
        def __del__(self):
            found.append((capture(buffer, SIZE, DEPTH), want()))
            captured.append(buffer.value)

    def holder():
        dying = Dying()
        return 0

    found, captured = [], []
    holder()
    same(what, found[0][1])


@each_way
def threads(capture, what):
    found = []
    def work():
        found.append((capture(buffer, SIZE, DEPTH), want()))
    def deeper():
        count_down(30, work)
    for target in work, deeper:
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
        same(what, found.pop()[1])


def other_threads_busy():
    """The same with threads that run Python all the time."""
    stop = False
    def spin():
        while not stop:
            count_down(50, lambda: exec("x = 1", {}))
    spinners = [threading.Thread(target=spin) for _ in range(2)]
    for spinner in spinners:
        spinner.start()
    try:
        for i in range(300):
            capture = cdll.probe_capture
            _, expected = count_down(i % 20, lambda: (capture(buffer, SIZE, DEPTH), want()))
            same("other threads busy", expected)
    finally:
        stop = True
        for spinner in spinners:
            spinner.join()


@each_way
def very_deep(capture, what):
    """10 000 frames: as many as fit, the nearest ones."""
    found = []
    def work():
        sys.setrecursionlimit(20000)
        found.append(count_down(10000, lambda: (capture(buffer, SIZE, DEPTH), want())))
    old = sys.getrecursionlimit()
    threading.stack_size(512 << 20)
    sys.setrecursionlimit(20000)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    threading.stack_size(0)
    sys.setrecursionlimit(old)
    same(what, found[0][1])


@each_way
def small_depth(capture, what):
    _, expected = count_down(30, lambda: (capture(buffer, SIZE, 8), want()))
    frames = python_part(read())
    if frames != expected[:8]:
        complain(what, expected[:8], frames)


def thread_without_state():
    """A thread that Python did not make: nothing of Python on it, before and after a callback."""
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    entry = ctypes.cast(cdll.probe_thread, ctypes.c_void_p)
    libc.pthread_create(ctypes.byref(thread), None, entry, buffer)
    libc.pthread_join(thread, None)
    if not buffer.value or python_part(read()):
        complain("thread without a state", "native frames only", buffer.value)


def has_loop_names():
    """An interpreter (3.14 on) that was built with a function for each instruction and stripped has
    evaluation loops without names: there is nothing to tell them by on the native stack."""
    loops, groups = ctypes.c_uint32(), ctypes.c_uint32()
    cdll.probe_count(ctypes.byref(loops), ctypes.byref(groups))
    return loops.value > 0 or sys.version_info < (3, 14)


def odd_situations():
    for library in cdll, pydll:
        def here(what):
            _, expected = library.probe_capture(buffer, SIZE, DEPTH), want()
            same(what, expected)
        situations.run(here)


def loops_fit_groups():
    """Where nothing was cut, native evaluation loops and groups of Python frames are as many."""
    loops, groups = ctypes.c_uint32(), ctypes.c_uint32()
    cdll.probe_capture(buffer, SIZE, DEPTH)
    for n in range(5):
        count_down(n, lambda: cdll.probe_count(ctypes.byref(loops), ctypes.byref(groups)))
        if not has_loop_names():
            continue
        if loops.value != groups.value or not loops.value:
            complain("loops and groups", loops.value, groups.value)


def lines_of(code):
    """The line of each instruction, by the interpreter's own reading of the table; 0: none."""
    lines = [0] * (len(code.co_code) // 2)
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            lines[start // 2:end // 2] = [line or 0] * (end // 2 - start // 2)
        return lines, code.co_linetable
    starts = list(dis.findlinestarts(code)) + [(len(code.co_code), 0)]
    lines = [code.co_firstlineno] * len(lines)
    for (start, line), (end, _) in zip(starts, starts[1:]):
        lines[start // 2:end // 2] = [line] * (end // 2 - start // 2)
    return lines, code.co_lnotab


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield from codes_in(constant)


def every_line():
    """The line of every instruction of every function that is loaded."""
    global compared
    functions = {value.__code__ for value in gc.get_objects() if hasattr(value, "__code__")}
    for code in {inner for outer in functions if isinstance(outer, type(main.__code__))
                 for inner in codes_in(outer)}:
        lines, table = lines_of(code)
        got = (ctypes.c_uint32 * len(lines))()
        cdll.probe_lines(table, ctypes.c_size_t(len(table)), code.co_firstlineno, len(lines), got)
        compared += len(lines)
        if list(got) != lines:
            complain(f"line table of {code}", lines, list(got))


def subinterpreters():
    """Nothing breaks in one; where the interpreter says which state is a thread's, its line is there."""
    try:
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        number = interpreters.create()
    except (ImportError, RuntimeError):
        return
    source = f"""
import ctypes
library = ctypes.CDLL({sys.argv[1]!r})
library.probe_capture(ctypes.c_void_p({ctypes.addressof(buffer)}), ctypes.c_size_t({SIZE}), {DEPTH})
"""
    buffer.value = b""
    try:
        interpreters.run_string(number, source)
    except Exception:  # ctypes cannot be imported there
        buffer.value = b""
    interpreters.destroy(number)
    if not buffer.value:
        return
    frames = [frame for frame in python_part(read()) if "importlib" not in frame[1]]
    if sys.version_info >= (3, 12) and (not frames or frames[0][2] != 4):
        complain("subinterpreter", "line 4 of <script>", frames)
    if sys.version_info < (3, 12) and frames and "subinterpreters" not in frames[0][0]:
        complain("subinterpreter", "the frames of the main one", frames)


def no_system_calls():
    for n in 1, 30:
        status = count_down(n, lambda: cdll.probe_without_system_calls(1000))
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 77:
            print("no seccomp: system calls not watched")
        elif status:
            complain("no system calls", 0, status)


def forked_child():
    child = os.fork()
    if child == 0:
        got, expected = cdll.probe_capture(buffer, SIZE, DEPTH), want()
        same("forked child", expected)
        os._exit(1 if failures else 0)
    if os.waitpid(child, 0)[1] != 0:
        complain("forked child", "status 0", "another")


def random_program():
    """Frames and code objects at reused addresses: the same few names in sources that differ, each way to be called."""
    choice = random.Random(19)

    def make():
        lines = ["" if choice.random() < 0.3 else "    pass" for _ in range(choice.randrange(6))]
        source = "\n".join(["def f(then):"] + lines + ["    return then()"] + ["    pass"] * (6 - len(lines)))
        names = {}
        exec(compile(source, "<random>", "exec"), names)
        return names["f"]

    def generator(then):
        yield then()

    def raising(then):
        try:
            raise KeyError
        except KeyError:
            return then()

    async def coroutine(then):
        return then()

    ways = [lambda f, then: f(then), lambda f, then: next(generator(lambda: f(then))),
            lambda f, then: raising(lambda: f(then)), lambda f, then: asyncio_less(coroutine(lambda: f(then))),
            lambda f, then: count_down(choice.randrange(9), lambda: f(then)), lambda f, then: next(map(f, [then]))]
    function = make()
    for i in range(400):
        if choice.random() < 0.5:
            function = make()
        library = choice.choice((cdll, pydll))
        way = choice.choice(ways)
        for _ in range(choice.randrange(1, 4)):
            same(f"random {i}", way(function, lambda: (library.probe_capture(buffer, SIZE, DEPTH), want()))[1])


def asyncio_less(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value


def merged_order():
    """The frames of C code stand between the Python frames that they lie between."""
    found = []
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(
        lambda: found.append((cdll.probe_capture(buffer, SIZE, DEPTH), want())) or 0)
    cdll.probe_call(callback)
    order = [name for kind, name, place, line in read()
             if name == "probe_call" or (kind == "python" and place == __file__)]
    expected = ["merged_order.<locals>.<lambda>" if HAS_QUALNAME else "<lambda>", "probe_call",
                "merged_order"]
    if not has_loop_names():
        expected.append(expected.pop(1))
    if [name for name in order if name in expected][:3] != expected:
        complain("order of frames", expected, order)


def main():
    why = cdll.probe_start()
    if why:
        print(f"refused: {why.decode()}")
        return 3
    if cdll.probe_version() >> 16 != sys.hexversion >> 16:
        print(f"version {cdll.probe_version():x} is not {sys.hexversion:x}")
        return 1
    for case in (plain, three_lines, in_one_expression, loops_and_branches, methods_and_lambdas,
                 recursion, through_c, generators, coroutines, compiled_source, unicode_names,
                 long_function, destructors, threads, other_threads_busy, very_deep, small_depth,
                 thread_without_state, odd_situations, loops_fit_groups, merged_order, every_line,
                 random_program, subinterpreters, no_system_calls, forked_child):
        case()
        if failures:
            print(f"wrong: {case.__name__}")
            return 1
    counts = (ctypes.c_uint64 * 4)()
    cdll.probe_counts(counts)
    if any(counts[:3]):
        print(f"broken {counts[0]}, foreign {counts[1]}, refused {counts[2]}")
        return 1
    if cdll.probe_differences():
        print(f"{cdll.probe_differences()} stacks differ from those of a thread that knows no frame")
        return 1
    print(f"{compared} stacks and lines compared, {counts[3]} code objects")
    return 0


if __name__ == "__main__":
    sys.exit(main())
