# SPDX-License-Identifier: Apache-2.0
#
# Laws that the sources keep (docs/ARCHITECTURE.md).   sources.py CHECK SOURCE_ROOT
#   includes   which folder may include which, own header first, no "../", guards, licence line
#   words      calls and words that have no place in a guest, or in a finished file
#   headers    every header compiles alone (needs CC and CFLAGS in the environment)
#   format     clang-format has nothing to change (exit 77: not installed)
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

MAY_INCLUDE = {
    "core": {"core"},
    "collectors": {"core", "collectors"},
    "writers": {"core", "writers"},
    "preload": {"core", "collectors", "writers", "preload"},
    "analysis": {"core", "analysis"},
    "cli": {"core", "writers", "analysis", "cli"},
    "bench": {"core", "collectors", "bench"},
}
GUEST = {"core", "collectors", "writers", "preload"}  # what runs inside somebody's process
VENDOR = re.compile(r"(cuda|cupti|driver_types|generated_cuda|nvtx|nvml|nccl)")
# cli/trial.c is doctor's trial run: it asks the driver as a program would.
MAY_SEE_VENDOR = {"collectors", "preload", "tests", "bench", "cli/trial.c"}

# A guest does not end the process, wait, print, or use the program's allocator.
BANNED_CALLS = """
    exit _exit quick_exit abort assert sleep usleep nanosleep raise signal system popen
    printf fprintf vprintf vfprintf puts fputs putchar perror fopen fclose fread fwrite fflush fgets
    sprintf vsprintf strcpy strcat strtok gets atoi atol atof alloca strerror setlocale
    malloc calloc realloc free strdup strndup asprintf vasprintf posix_memalign aligned_alloc
    getenv getpwuid getaddrinfo fork vfork
""".split()
# (file, call): why it may.
EXCEPTIONS = {
    ("collectors/cupti_translate.c", "free"): "CUPTI mallocs a device's name and leaves it to us",
    ("collectors/demangle.c", "free"): "__cxa_demangle mallocs; drain thread",
    ("preload/output.c", "strerror"): "said once, when no trace can be written",
    ("preload/session.c", "strerror"): "said once, when the session cannot start",
}

# Headers that are the end of another one and never included by themselves.
PARTS = {"collectors/unwind_x86_64.h"}

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|for now|placeholder|not implemented)\b", re.I)
PRIVATE = re.compile(r"(/home/[a-z]|/root\b)")


def tracked(root, *patterns):
    names = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others",
                            "--exclude-standard", *patterns],
                           capture_output=True, text=True)
    if names.returncode:  # a source archive has no history
        return sorted(p.relative_to(root) for pattern in patterns for p in root.rglob(pattern)
                      if not p.parts[len(root.parts)].startswith("build"))
    return sorted(pathlib.Path(name) for name in names.stdout.splitlines()
                  if (root / name).is_file())


def code_only(text):
    """The text without comments and string literals, line by line as before."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text,
                  flags=re.S)


def includes(root):
    for path in tracked(root, "*.c", "*.h"):
        text = (root / path).read_text()
        folder = path.parts[0]
        if "SPDX-License-Identifier: Apache-2.0" not in text.split("\n", 1)[0]:
            yield f"{path}: the first line is not the licence"
        if path.suffix == ".h" and folder in MAY_INCLUDE:
            guard = "GT_" + re.sub(r"\W", "_", str(path)).upper()
            if f"#ifndef {guard}\n#define {guard}\n" not in text:
                yield f"{path}: the guard is not {guard}"
        found = re.findall(r'^\s*#\s*include\s+(["<])([^">]+)[">]', text, re.M)
        own = str(path.with_suffix(".h"))
        names = [name for _, name in found]
        if path.suffix == ".c" and own in names and names[0] != own:
            yield f"{path}: does not include {own} first"
        for kind, name in found:
            if ".." in pathlib.PurePath(name).parts:
                yield f"{path}: includes {name}"
            other = name.split("/")[0]
            if kind == '"' and folder in MAY_INCLUDE and other not in MAY_INCLUDE[folder]:
                yield f"{path}: {folder}/ may not include {name}"
            if (kind == "<" and VENDOR.match(name) and folder not in MAY_SEE_VENDOR
                    and str(path) not in MAY_SEE_VENDOR):
                yield f"{path}: {folder}/ may not know {name}"


def words(root):
    call = re.compile(r"(?<![\w.>])(" + "|".join(BANNED_CALLS) + r")\s*\(")
    for path in tracked(root, "*.c", "*.h", "*.def"):
        if path.parts[0] not in GUEST:
            continue
        for number, line in enumerate(code_only((root / path).read_text()).splitlines(), 1):
            for name in call.findall(line):
                if (str(path), name) not in EXCEPTIONS and not line.startswith("extern"):
                    yield f"{path}:{number}: a guest does not call {name}"
    own = pathlib.Path(__file__).resolve()
    for path in tracked(root):
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            continue
        if (root / path).resolve() == own or path.parts[:2] == ("tests", "golden"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if UNFINISHED.search(line):
                yield f"{path}:{number}: unfinished: {line.strip()[:60]}"
            if PRIVATE.search(line):
                yield f"{path}:{number}: a path of one machine: {line.strip()[:60]}"


def headers(root):
    compiler = shlex.split(os.environ["CC"]) + shlex.split(os.environ["CFLAGS"])

    def compile_alone(path):
        run = subprocess.run(
            compiler + ["-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
                        "-I", root, "-x", "c", "-"],
            input=f'#include "{path}"\n#include "{path}"\n', capture_output=True, text=True,
            check=False)
        return f"{path}: does not compile alone\n{run.stderr}" if run.returncode else None

    alone = [path for path in tracked(root, "*.h")
             if path.parts[0] in MAY_INCLUDE and str(path) not in PARTS]
    if len(alone) < 20:
        yield f"only {len(alone)} headers found: this check no longer finds them"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from filter(None, pool.map(compile_alone, alone))


def formatting(root):
    program = shutil.which("clang-format-14")
    if not program:
        print("clang-format-14 is not installed")
        sys.exit(77)
    files = [str(root / path) for path in tracked(root, "*.c", "*.h")]
    run = subprocess.run([program, "--dry-run", "-Werror", *files], capture_output=True, text=True,
                         check=False)
    for line in run.stderr.splitlines():
        if "error:" in line:
            yield line


def main():
    check, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    complaints = list({"includes": includes, "words": words, "headers": headers,
                       "format": formatting}[check](root))
    for complaint in complaints:
        print(complaint)
    return bool(complaints)


sys.exit(main())
