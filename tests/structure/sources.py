#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Laws that the sources keep (docs/ARCHITECTURE.md).   sources.py CHECK SOURCE_ROOT
#   includes   which folder may include which, own header first, no "../", guards, licence line
#   folders    how many files a folder has, its README
#   columns    no line of the C sources is longer than 100 columns
#   tags       a struct, union or enum tag means one thing
#   phrases    docs/GLOSSARY.md, "Words that are not used"
#   comments   every public declaration has a comment
#   subjects   commit subjects of at most 72 characters
#   words      calls and words that have no place in a guest, or in a finished file
#   headers    every header compiles alone (needs CC and CFLAGS in the environment)
#   format     clang-format has nothing to change (exit 77: not installed)
import collections
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

GUEST_CORE = {"core", "core/arch", "core/control", "core/elf", "core/guest", "core/json", "core/mpi", "core/overhead", "core/row", "core/schema",
              "core/schema/calls", "core/window"}
COLLECTORS = {f"collectors/{name}" for name in
              ("call", "cupti", "cupti/library", "cupti/memory", "cupti/records", "nvml", "nvtx", "osrt", "python", "sampler", "symbols",
               "trigger", "unwind")}
PIPELINE = {f"pipeline/{name}" for name in ("hang", "join", "output", "ranges", "recorder", "replay", "sources", "spool")}
READERS = {"readers", "readers/chrome", "readers/perfetto"}

# The law (docs/ARCHITECTURE.md): what each folder may include besides itself. No circles.
MAY_INCLUDE = {
    "core/elf": set(),
    "core/arch": set(),
    "core/guest": {"core/arch"},
    "core/mpi": set(),
    "core/schema/calls": {"core/guest"},
    "core/schema": {"core/guest", "core/mpi", "core/schema/calls"},
    "core/overhead": set(),
    "core/row": {"core/guest"},
    "core/window": {"core/guest"},
    "core": {"core/elf", "core/guest", "core/row", "core/schema", "core/window"},
    "core/control": {"core", "core/guest"},
    "core/json": {"core", "core/guest", "core/schema"},
    "collectors/python": GUEST_CORE,
    "collectors/symbols": GUEST_CORE,
    "collectors/trigger": GUEST_CORE,
    "collectors/unwind": GUEST_CORE,
    "collectors/call": GUEST_CORE | {"collectors/python", "collectors/unwind"},
    "collectors/cupti/library": GUEST_CORE,
    "collectors/cupti/memory": GUEST_CORE,
    "collectors/cupti/records": GUEST_CORE | {"collectors/cupti/library", "collectors/symbols"},
    "collectors/cupti": GUEST_CORE | {"collectors/call", "collectors/cupti/library", "collectors/cupti/memory",
                                      "collectors/cupti/records", "collectors/symbols", "collectors/trigger"},
    "collectors/nvml": GUEST_CORE,
    "collectors/nvtx": GUEST_CORE | {"collectors/call", "collectors/cupti", "collectors/trigger"},
    "collectors/osrt": GUEST_CORE | {"collectors/call", "collectors/python", "collectors/sampler", "collectors/unwind"},
    "collectors/sampler": GUEST_CORE | {"collectors/call", "collectors/python", "collectors/unwind"},
    "writers": GUEST_CORE,
    "writers/chrome": GUEST_CORE | {"writers"},
    "writers/perfetto": GUEST_CORE | {"writers"},
    "pipeline/spool": GUEST_CORE | {"collectors/call", "collectors/cupti", "collectors/cupti/records", "collectors/symbols"},
    "pipeline/recorder": GUEST_CORE,
    "pipeline/output": GUEST_CORE | {"collectors/call", "pipeline/recorder", "pipeline/spool", "writers"},
    "pipeline/ranges": GUEST_CORE | {"collectors/nvtx", "pipeline/output"},
    "pipeline/join": GUEST_CORE | {"collectors/cupti", "collectors/cupti/library", "pipeline/output", "pipeline/ranges"},
    "pipeline/sources": GUEST_CORE | COLLECTORS | {"pipeline/join", "pipeline/output", "pipeline/ranges",
                                                   "pipeline/recorder", "pipeline/spool"},
    "pipeline/hang": GUEST_CORE | {"collectors/call", "collectors/cupti/library", "collectors/sampler",
                                   "collectors/symbols", "collectors/unwind", "pipeline/join", "pipeline/ranges", "pipeline/output",
                                   "pipeline/sources", "writers"},
    "pipeline/replay": GUEST_CORE | COLLECTORS | {"pipeline/join", "pipeline/output", "pipeline/ranges",
                                                  "pipeline/recorder", "pipeline/sources", "pipeline/spool"},
    "pipeline": GUEST_CORE | COLLECTORS | PIPELINE | {"writers"},
    "preload": GUEST_CORE | COLLECTORS | PIPELINE | {"pipeline"},
    "preload/libraries": GUEST_CORE,
    "preload/mpi": GUEST_CORE,
    "preload/nccl": GUEST_CORE,
    "preload/solvers": GUEST_CORE | {"preload/libraries"},
    "preload/osrt": GUEST_CORE,
    "preload/torch": GUEST_CORE,
    "readers": GUEST_CORE,
    "readers/chrome": GUEST_CORE | {"readers"},
    "readers/perfetto": GUEST_CORE | {"readers"},
    "trace/code_name": set(),
    "trace/file": GUEST_CORE | READERS,
    "trace": GUEST_CORE | READERS | {"trace/code_name", "trace/file"},
    "trace/load": GUEST_CORE | READERS | {"trace", "trace/code_name", "trace/file"},
    "analysis/reduce": {"readers"},
    "analysis/table": GUEST_CORE | READERS | {"trace"},
    "analysis": GUEST_CORE | READERS | {"trace", "analysis/reduce", "analysis/table"},
    "analysis/gaps": GUEST_CORE | READERS | {"trace", "analysis", "analysis/table"},
    "analysis/stacks": GUEST_CORE | READERS | {"trace", "analysis", "analysis/gaps", "analysis/table"},
    "analysis/holes": GUEST_CORE | READERS | {"trace", "analysis/table"},
    "analysis/diff": GUEST_CORE | READERS | {"trace", "analysis", "analysis/table"},
    "analysis/ranks": GUEST_CORE | READERS | {"trace", "analysis", "analysis/reduce", "analysis/table"},
    "analysis/findings": GUEST_CORE | READERS | {"trace", "analysis", "analysis/gaps", "analysis/ranks", "analysis/table", "analysis/usage"},
    "analysis/report": GUEST_CORE | READERS | {"trace", "analysis", "analysis/findings", "analysis/gaps", "analysis/holes", "analysis/ranks",
                                               "analysis/stacks", "analysis/table", "analysis/usage"},
    "analysis/memory": GUEST_CORE | READERS | {"trace", "analysis", "analysis/table"},
    "analysis/usage": GUEST_CORE | READERS | {"trace", "analysis", "analysis/gaps", "analysis/table"},
    "analysis/verify": GUEST_CORE | READERS,
    "recover": GUEST_CORE | READERS | {"trace", "trace/file", "writers", "writers/chrome", "writers/perfetto"},
    "transform/job": GUEST_CORE | READERS | {"trace", "trace/file", "transform"},
    "transform": GUEST_CORE | READERS | {"trace", "trace/file", "analysis", "analysis/holes", "analysis/table", "recover", "writers"},
    "transform/arrow": GUEST_CORE | READERS | {"trace", "trace/file", "analysis", "analysis/gaps", "analysis/ranks", "analysis/table"},
    "cli/run": GUEST_CORE | READERS | {"trace", "recover", "writers", "cli/control"},
    "cli/control": GUEST_CORE | READERS | {"analysis/table", "cli", "recover"},
    "cli/attach": {"cli", "core/elf", "core/window"},
    "cli/bench": GUEST_CORE | READERS | {"analysis/table"},
    "cli": GUEST_CORE | READERS | {"trace", "analysis", "analysis/holes", "analysis/table", "recover", "transform"},
    "cli/reduce": GUEST_CORE | READERS | {"trace", "trace/file", "analysis", "analysis/gaps", "analysis/holes", "analysis/ranks", "analysis/table", "cli"},
    "cli/commands": GUEST_CORE | READERS | {"trace", "trace/file", "analysis", "analysis/diff", "analysis/findings", "analysis/gaps", "analysis/holes",
                                            "analysis/memory", "analysis/ranks", "analysis/report", "analysis/stacks", "analysis/table", "analysis/usage", "analysis/verify",
                                            "recover", "transform", "transform/job", "writers",
                                            "cli", "cli/attach", "cli/bench", "cli/control", "cli/reduce", "cli/run"},
    "bench": GUEST_CORE | COLLECTORS,
}
# The composition of all parts of the pipeline, and who starts, turns and replays one: no part knows it.
COMPOSITION = "pipeline/pipeline.h"
COMPOSERS = {"pipeline/attachment.c", "pipeline/dump.c", "pipeline/pipeline.c", "pipeline/replay.c", "pipeline/turn.c",
             "pipeline/verbs.c", "pipeline/verbs_dump.c", "pipeline/verbs_hang.c", "pipeline/verbs_set.c",
             "pipeline/verbs_window.c", "preload/start.c",
             "tests/unit/spool_template.h", "tests/unit/test_turn.c"}
GUEST = ("core", "collectors", "writers", "pipeline", "preload")  # runs inside somebody's process
MOST_FILES = 40  # of one folder
MOST_LINES = 15  # of its README
MOST_COLUMNS = 100
MOST_SUBJECT = 72
VENDOR = re.compile(r"(cuda|cupti|driver_types|generated_cuda|nvtx|nvml|nccl)")
# cli/run/trial.c is doctor's trial run: it asks the driver as a program would.
MAY_SEE_VENDOR = {"collectors", "preload", "tests", "bench", "cli/run/trial.c"}

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
    ("collectors/cupti/records/overheads.c", "free"): "CUPTI mallocs what a record of a full command buffer tells",
    ("collectors/cupti/records/translate.c", "free"): "CUPTI mallocs a device's name and leaves it to us",
    ("collectors/symbols/demangle.c", "free"): "__cxa_demangle mallocs; drain thread",
    ("preload/start.c", "strerror"): "said once, when the session cannot start",
}

# Headers that are the end of another one and never included by themselves.
PARTS = {"collectors/unwind/x86_64.h"}

UNDOCUMENTED = set()

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|for now|placeholder|not implemented)\b", re.I)
PRIVATE = re.compile(r"(/home/[a-z]|(?<!self)(?<!%[du])(?<!PID)(?<!\})/root\b)")


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


def folder_of(path):
    return str(path.parent)


def circles():
    """Folders that may include each other, directly or by way of others."""
    order, rest = [], {folder: set(others) for folder, others in MAY_INCLUDE.items()}
    while rest:
        free = [folder for folder, others in rest.items() if not others & set(rest)]
        if not free:
            yield f"tests/structure/sources.py: a circle in the law: {', '.join(sorted(rest))}"
            return
        order += free
        for folder in free:
            del rest[folder]


def own_form(root, path, text):
    """The licence, the guard, the own header first."""
    if "SPDX-License-Identifier: Apache-2.0" not in text.split("\n", 1)[0]:
        yield f"{path}: the first line is not the licence"
    if path.suffix == ".h" and folder_of(path) in MAY_INCLUDE:
        guard = "GT_" + re.sub(r"\W", "_", str(path)).upper()
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            yield f"{path}: the guard is not {guard}"
    names = re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', text, re.M)
    own = str(path.with_suffix(".h"))
    if path.suffix == ".c" and own in names and names[0] != own:
        yield f"{path}: does not include {own} first"


def may_see_vendor(path):
    return path.parts[0] in MAY_SEE_VENDOR or str(path) in MAY_SEE_VENDOR


def includes(root):
    yield from circles()
    for path in tracked(root, "*.c", "*.h", "*.def"):
        text, folder = (root / path).read_text(), folder_of(path)
        if path.suffix != ".def":
            yield from own_form(root, path, text)
        if path.parts[0] not in ("tests", "examples") and folder not in MAY_INCLUDE:
            yield f"{path}: {folder}/ is not in the law"
            continue
        for kind, name in re.findall(r'^\s*#\s*include\s+(["<])([^">]+)[">]', text, re.M):
            if ".." in pathlib.PurePath(name).parts:
                yield f"{path}: includes {name}"
            other = folder_of(pathlib.PurePath(name))
            if kind == '"' and folder in MAY_INCLUDE and other not in MAY_INCLUDE[folder] | {folder}:
                yield f"{path}: {folder}/ may not include {name}"
            if name == COMPOSITION and str(path) not in COMPOSERS:
                yield f"{path}: {name} is for {', '.join(sorted(COMPOSERS))}"
            if kind == "<" and VENDOR.match(name) and not may_see_vendor(path):
                yield f"{path}: {folder}/ may not know {name}"


def folders(root):
    files = collections.Counter(folder_of(path) for path in tracked(root))
    for folder in MAY_INCLUDE:
        if files[folder] > MOST_FILES:
            yield f"{folder}/ has {files[folder]} files: more than {MOST_FILES}"
        readme = root / folder / "README.md"
        if not readme.is_file():
            yield f"{folder}/ has no README.md"
        elif len(readme.read_text().splitlines()) > MOST_LINES:
            yield f"{folder}/README.md has more than {MOST_LINES} lines"


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


def columns(root):
    for path in tracked(root, "*.c", "*.h", "*.def"):
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            if len(line.expandtabs(8)) > MOST_COLUMNS:
                yield f"{path}:{number}: more than {MOST_COLUMNS} columns"


def tags(root):
    """Wherever a tag is defined: after typedef, inside another struct or a macro, in a table."""
    where = collections.defaultdict(set)
    for path in tracked(root, "*.c", "*.h", "*.def"):
        if path.parts[0] in ("tests", "examples"):
            continue
        for tag in re.findall(r"\b(?:struct|union|enum)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?"
                              r"(\w+)[\s\\]*\{", code_only((root / path).read_text())):
            where[tag].add(str(path))
    for tag, paths in sorted(where.items()):
        if len(paths) > 1:
            yield f"{tag} is defined in {', '.join(sorted(paths))}"


# Between two words of a phrase: blanks, or the end of a line of a paragraph, comment or literal.
GAP = r'(?:[ \t]+|[ \t]*(?:\\n)?"?[ \t]*\n[ \t]*(?:\*(?!/)|//|[#>"])?[ \t]*)'


def phrases(root):
    glossary = (root / "docs" / "GLOSSARY.md").read_text().split("## Words that are not used", 1)
    rows = re.findall(r"^\| (`.*?) \|", glossary[-1], re.M)
    banned = [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row)]
    if len(banned) < 5:
        yield "docs/GLOSSARY.md: no phrases found: this check no longer reads it right"
    pattern = re.compile(r"\b(" + "|".join(GAP.join(map(re.escape, phrase.split()))
                                           for phrase in banned) + r")\b", re.I)
    for path in tracked(root, "*.c", "*.h", "*.def", "*.in", "*.cu", "*.py", "*.md", "scripts/*"):
        if str(path) == "docs/GLOSSARY.md":
            continue
        text = (root / path).read_text()
        for match in pattern.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            phrase = " ".join(re.findall(r"\w+", match[0]))
            yield f"{path}:{number}: '{phrase}': docs/GLOSSARY.md has a better word"


def is_declaration(line):
    """The first line of a function, struct, enum or variable of a header, at its left edge; a
    macro may stand before it."""
    return bool(re.match(r"([A-Z][A-Z_]+ )?[a-z_]\w* ?\**.*[\w(){;,=\\]$", line)) and not re.match(
        r"(struct|enum|union) \w+;$", line)


def comments(root):
    """A declaration is covered by a comment above it, with nothing but declarations between: not
    the end of another one, and no directive."""
    for path in tracked(root, "*.h"):
        if folder_of(path) not in MAY_INCLUDE or str(path) in UNDOCUMENTED:
            continue
        covered, inside = False, False
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            if inside or line.startswith("/*"):
                inside = "*/" not in line
                covered = True
            elif not line or line[0] in "}#":
                covered = False
            elif is_declaration(line) and not covered and "/*" not in line:
                yield f"{path}:{number}: no comment: {line.strip()[:60]}"


def subjects(root):
    """Since the commit that brought this check."""
    def git(*words):
        return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True,
                              check=False).stdout.splitlines()
    first = git("log", "--format=%H", "-Sdef subjects(root)", "--", "tests/structure/sources.py")
    if not first:
        print("no history here")
        sys.exit(77)
    for subject in git("log", "--format=%s", f"{first[-1]}..HEAD"):
        if len(subject) > MOST_SUBJECT:
            yield f"more than {MOST_SUBJECT} characters: {subject}"


def anchors(text):
    """What a link into a page of Markdown can name: its headings, as web pages make anchors of them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
    yield from re.findall(r'<a name="([^"]+)"', text)


def links(root):
    for path in tracked(root, "*.md"):
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            for target in re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", line):
                name, _, anchor = target.partition("#")
                page = (root / path).parent / name if name else root / path
                if not page.exists():
                    yield f"{path}:{number}: {target}: there is no such file"
                elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text()):
                    yield f"{path}:{number}: {target}: the page has no such heading"


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
             if folder_of(path) in MAY_INCLUDE and str(path) not in PARTS]
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
    complaints = list({"includes": includes, "folders": folders, "columns": columns,
                       "tags": tags, "phrases": phrases, "comments": comments,
                       "subjects": subjects, "words": words, "headers": headers,
                       "format": formatting, "links": links}[check](root))
    for complaint in complaints:
        print(complaint)
    return bool(complaints)


sys.exit(main())
