# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators as NVTX ranges, without a change of the program: --pytorch.

Nothing happens unless the program imports torch. Then PyTorch's own NVTX profiler is switched on for
each thread, as torch.autograd.profiler.emit_nvtx does, but without initialising CUDA: that would
break programs that fork afterwards. It makes way for a profiler that the program itself starts on
the thread, and comes back after it."""
import atexit
import sys
import threading


class Finder:
    """Stands in sys.meta_path and waits until torch is loaded, which may be long after it was looked
    for, and not at the first try. It stays there, since another thread may be going through the list."""

    def __init__(self, name, ready, failed):
        self.name = name  # None: loaded
        self.ready = ready
        self.failed = failed
        self.thread = threading.local()

    def find_spec(self, name, path=None, target=None):
        """As the others find it."""
        if name != self.name or getattr(self.thread, "asks", False):
            return None
        self.thread.asks = True
        try:
            spec = self.ask_others(name, path, target)
        finally:
            self.thread.asks = False
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader, self)
        return spec

    @staticmethod
    def ask_others(name, path, target):
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                return spec
        return None

    def loaded(self, module):
        if self.name is not None:
            self.name = None
            self.ready(module)


class Loader:
    """Loads a module by its true loader, which takes this one's place, and tells how it went."""

    def __init__(self, loader, finder):
        self.loader = loader
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        try:
            self.loader.exec_module(module)
        except BaseException:
            self.finder.failed()
            raise
        self.finder.loaded(module)


class Operators:
    """The switch of each thread, and what keeps it out of the way of the program's profilers."""

    def __init__(self, torch, shapes, tell):
        self.profiler = torch.autograd.profiler
        self.own_enable = self.profiler._enable_profiler
        self.own_disable = self.profiler._disable_profiler
        self.shapes = shapes
        self.tell = tell
        self.thread = threading.local()
        self.refused = False

    def config(self):
        """emit_nvtx knows how this version's configuration is made; it is not entered."""
        emit = self.profiler.emit_nvtx(record_shapes=self.shapes)
        made = []
        kept, self.profiler._enable_profiler = (self.profiler._enable_profiler,
                                                lambda config, *_: made.append(config))
        torch_cuda = sys.modules["torch"].cuda
        synchronize, torch_cuda.synchronize = torch_cuda.synchronize, lambda *_: None
        start = getattr(self.profiler, "_run_on_profiler_start", None)
        if start:
            self.profiler._run_on_profiler_start = lambda: None
        try:
            emit.__enter__()
        finally:
            self.profiler._enable_profiler = kept
            torch_cuda.synchronize = synchronize
            if start:
                self.profiler._run_on_profiler_start = start
        return made[0]

    def switch_on(self):
        if self.refused or getattr(self.thread, "on", False):
            return
        try:
            self.own_enable(self.profile, set())
            self.thread.on = True
        except Exception as error:
            self.refused = True
            self.tell("off: PyTorch refuses: %s" % (str(error).splitlines() or ["?"])[0])

    def switch_off(self):
        if getattr(self.thread, "on", False):
            self.thread.on = False
            self.own_disable()

    def install(self):
        self.profile = self.config()
        self.profiler._enable_profiler = self.enable_theirs
        self.profiler._disable_profiler = self.disable_theirs
        self.follow_threads()
        atexit.register(self.switch_off)
        self.switch_on()
        if not self.refused:
            self.tell("on")

    def enable_theirs(self, *arguments, **named):
        self.switch_off()
        return self.own_enable(*arguments, **named)

    def disable_theirs(self, *arguments, **named):
        try:
            return self.own_disable(*arguments, **named)
        finally:
            self.switch_on()

    def follow_threads(self):
        """The switch is a thread's own; PyTorch hands it on to its threads, Python does not."""
        bootstrap = getattr(threading.Thread, "_bootstrap_inner", None)
        if bootstrap is None:
            return

        def watched(thread):
            self.switch_on()
            bootstrap(thread)
            self.switch_off()

        threading.Thread._bootstrap_inner = watched


def start(shapes, tell):
    def ready(torch):
        try:
            Operators(torch, shapes, tell).install()
        except Exception as error:
            tell("off: this PyTorch is not known: %r" % (error,))

    def failed():
        tell("off: torch could not be imported")

    if "torch" in sys.modules:
        ready(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, Finder("torch", ready, failed))
