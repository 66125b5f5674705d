# SPDX-License-Identifier: Apache-2.0
#
# What libgputrace.so asks of a system and what it shows of itself.
#   shared_object.py CHECK FILE SOURCE_ROOT    CHECK: needed, versions, exports, flags, and for
#                                              the libraries that it is made of: names, circles
import pathlib
import re
import subprocess
import sys

NEWEST_GLIBC = (2, 17)
MAY_NEED = re.compile(r"(libc\.so\.6|ld-linux[-\w]*\.so\.\d+)$")
INJECTION = {
    "InitializeInjection", "InitializeInjectionNvtx", "InitializeInjectionNvtx2",
    "InitializeInjectionNvtxExtension",
}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dynamic_symbols(file):
    """(name, version or '', defined) of every dynamic symbol"""
    for line in output("nm", "-D", "--with-symbol-versions", file).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.replace("@@", "@").partition("@")
        yield name, version, kind not in "Uw"


def table_names(root):
    rows = (root / "core/schema/cuda_runtime.def").read_text()
    return set(re.findall(r"^GT_CUDA_HOOKED(?:_WORDS|_NEWER)?\(\d+, v\d+, (\w+)", rows, re.M))


def cupti_names(root):
    return set(re.findall(r"^GT_CUPTI_HOOK\((\w+)\)", (root / "preload/cupti_hooks.def").read_text(),
                          re.M))


def needed(file, root):
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", file)):
        if not MAY_NEED.match(name):
            yield f"needs {name}; only libc and ld-linux are everywhere"


def versions(file, root):
    for name, version, defined in dynamic_symbols(file):
        if defined or not version:
            continue
        number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if not version.startswith("GLIBC_") or version == "GLIBC_PRIVATE":
            yield f"needs {name} of {version}"
        elif number > NEWEST_GLIBC:
            yield f"needs {name} of {version}: core/elf/glibc_compat.def or core/guest/sys.c must cover it"


def exports(file, root):
    got = {name for name, _, defined in dynamic_symbols(file) if defined}
    hooks = table_names(root)
    if len(hooks) < 100:
        yield f"the table gave only {len(hooks)} names: this check no longer reads it right"
    hooks |= cupti_names(root)
    for name in sorted(hooks - got):
        yield f"does not export {name}, which the table says is interposed"
    if "InitializeInjection" not in got:
        yield "does not export InitializeInjection"
    for name in sorted(got - hooks - INJECTION - {"_exit", "_Exit"}):
        if not name.startswith("gputrace_"):
            yield f"exports {name}"


def flags(file, root):
    dynamic = output("readelf", "-dW", file)
    for flag in ("NODELETE", "NOW", "SYMBOLIC"):
        if not re.search(rf"\((FLAGS(_1)?|{flag}|BIND_{flag})\).*", dynamic) or flag not in dynamic:
            yield f"is not linked with {flag}"
    if "TEXTREL" in dynamic:
        yield "has text relocations"
    segments = output("readelf", "-lW", file)
    for line in segments.splitlines():
        if "GNU_STACK" in line and "E" in line.split()[-2]:
            yield "wants an executable stack"
        if line.split()[:1] == ["TLS"] and int(line.split()[5], 16) > 64:
            yield "has more than 64 bytes of thread-local storage: dlopen may find no room"


def names(file, root):
    allowed = re.compile(r"gt_|gputrace_|__x86\.|__odr_asan|_GLOBAL_OFFSET_TABLE_")
    hooks = table_names(root) | INJECTION | cupti_names(root)
    found = 0
    for line in output("nm", "--defined-only", "--extern-only", file).splitlines():
        fields = line.split()
        if len(fields) != 3:
            continue
        found += 1
        if fields[2] not in hooks and not allowed.match(fields[2]):
            yield f"defines {fields[2]}, which is neither static nor called gt_<module>_<verb>"
    if not found:
        yield "defines nothing: this check no longer reads it right"


def calls_between_files(file):
    """{object: objects that it takes a symbol from}"""
    defined, wanted = {}, {}
    for line in output("nm", "-A", file).splitlines():
        match = re.match(r".*[:/]([\w.-]+\.o):\s*[0-9a-f]*\s+([A-Z])\s+(\S+)$", line)
        if not match:
            continue
        name, kind, symbol = match.groups()
        if kind == "U":
            wanted.setdefault(name, set()).add(symbol)
        elif symbol.startswith(("gt_", "gputrace_")):
            defined[symbol] = name
    return {name: {defined[symbol] for symbol in symbols if symbol in defined} - {name}
            for name, symbols in wanted.items()}


def circles(file, root):
    """One way through: what is left when files that need no other are taken away, again and again,
    and files that no other needs."""
    edges = calls_between_files(file)
    if not any(edges.values()):
        yield "has no calls between its files: this check no longer reads it right"
    while edges:
        needed = set().union(*edges.values())
        gone = {name for name, others in edges.items() if not others & set(edges) or name not in needed}
        if not gone:
            break
        edges = {name: others - gone for name, others in edges.items() if name not in gone}
    for name, others in sorted(edges.items()):
        yield f"has a circle: {name} needs {', '.join(sorted(others & set(edges)))}"


def main():
    check, file, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    complaints = list({"needed": needed, "versions": versions, "exports": exports,
                       "flags": flags, "names": names, "circles": circles}[check](file, root))
    for complaint in complaints:
        print(f"{pathlib.Path(file).name} {complaint}")
    return bool(complaints)


sys.exit(main())
