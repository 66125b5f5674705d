# SPDX-License-Identifier: Apache-2.0
"""Runs under any CPython from 3.8 on, without the tracer: how share/python accesses a program's objects,
and when it notices a new module. Exit status 0: success.

    watching.py SHARE_PYTHON
"""
import builtins
import importlib
import importlib.util
import os
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
from _gputrace import functions, operators  # noqa: E402


class Proxy:
    """Like werkzeug's request outside of a request: every attribute access raises."""

    def __getattribute__(self, name):
        raise RuntimeError("asked for " + name)


class Meta(type):
    """A class with its own attribute access."""

    def __getattribute__(cls, name):
        if name in ("__mro__", "__dict__"):
            raise RuntimeError("asked for " + name)
        return type.__getattribute__(cls, name)


class Model(metaclass=Meta):
    def method(self):
        pass

    @classmethod
    def made(cls):
        pass

    held = Proxy()


def make(name):
    """A function with the same name as the global below."""
    names = {}
    exec("def %s(first):\n  return 1" % name, globals(), names)
    return names[name]


hidden = Proxy()
bound = Model().method


def watched_functions():
    pushed = []
    chosen_names = ["__main__.hidden", "__main__.Model.method", "__main__.Model.made"]
    by_monitoring = hasattr(sys, "monitoring")
    watch = functions.watch_by_monitoring if by_monitoring else functions.watch_by_profile
    chosen = functions.Chosen("__main__.hidden,__main__.Model.*", not by_monitoring)
    ask = make("hidden")
    assert watch(chosen, lambda domain, name: pushed.append(name.decode()), lambda domain: 0) is None
    ask(Proxy())
    bound()
    Model.made()
    exec("def other():\n  pass\nother()", {"__name__": "elsewhere"})
    sys.setprofile(None)
    assert pushed == chosen_names, pushed
    if by_monitoring:
        assert all(name for name, _ in chosen.known.values()), "codes that nobody chose are kept"


def write(folder, name, text):
    with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
        file.write(text)
    importlib.invalidate_caches()


def watched_module(name, folder):
    """Looked for and not found, found and not loaded, loaded with an error, loaded, loaded again."""
    ready, failed = [], []
    builtins.tries = 0
    sys.meta_path.insert(0, operators.Finder(name, ready.append, lambda: failed.append(name)))
    assert importlib.util.find_spec(name) is None
    write(folder, name, "import builtins\nbuiltins.tries += 1\nassert builtins.tries > 1\n")
    for _ in range(2):
        assert importlib.util.find_spec(name).origin == os.path.join(folder, name + ".py")
    try:
        importlib.import_module(name)
    except AssertionError:
        pass
    assert (builtins.tries, failed, ready) == (1, [name], [])
    module = importlib.import_module(name)
    assert ready == [module] and failed == [name]
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    assert module.__spec__.loader is module.__loader__
    importlib.reload(module)
    assert (builtins.tries, ready) == (3, [module])


class Asking:
    """A finder that calls all finders again, as import hooks do."""

    def __init__(self, name):
        self.name = name
        self.asks = False

    def find_spec(self, name, _path=None, _target=None):
        if name != self.name or self.asks or name in sys.modules:
            return None
        self.asks = True
        try:
            return importlib.util.find_spec(name)
        finally:
            self.asks = False


with tempfile.TemporaryDirectory() as place:
    sys.path.insert(0, place)
    watched_module("plain_module", place)
    sys.meta_path.insert(0, Asking("asked_module"))
    watched_module("asked_module", place)
watched_functions()
