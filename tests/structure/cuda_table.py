# SPDX-License-Identifier: Apache-2.0
#
# The table of CUDA calls against headers of CUPTI.
#   cuda_table.py SOURCE_ROOT INCLUDE_FOLDER...        those of the toolkit: a call that has another
#                                                      number or none in the table fails
#   cuda_table.py SOURCE_ROOT --all INCLUDE_FOLDER...  those of many versions: a number to which none of
#                                                      them gives the table's name, or of which the
#                                                      table has no name, fails
import collections
import pathlib
import re
import sys

# What no Linux program can call.
LEFT_OUT = re.compile(r"D3D|WGL|^cu64")
# A name that a version withholds: others may tell it.
NAMELESS = re.compile(r"(cuda|reserved)\d+(_v\d+)?$")
HEADERS = {"runtime": ("cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_"),
           "driver": ("cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_")}


def enumerators(folders, header, prefix):
    for folder in folders:
        path = pathlib.Path(folder) / header
        if path.is_file():
            found = re.findall(prefix + r"(\w+)\s*=\s*(\d+)\b", path.read_text())
            return {name: int(number) for name, number in found
                    if name not in ("INVALID", "SIZE", "FORCE_INT")}
    sys.exit(f"{header} is not in {folders}")


def rows(path, pattern):
    return {"_".join(part for part in row[1:] if part): int(row[0])
            for row in re.findall(pattern, path.read_text(), re.M)}


def table(root):
    """By kind, the enumerator of each row and its number."""
    runtime = rows(root / "core/schema/cuda_runtime.def",
                   r"^GT_CUDA_(?:RUNTIME|RUNTIME_NEWER|HOOKED|HOOKED_WORDS|HOOKED_NEWER)\((\d+), (v\d+), (\w+),")
    driver = rows(root / "core/schema/cuda_driver.def",
                  r"^GT_CUDA_(?:DRIVER|DRIVER_NEWER)\((\d+), (?:v\d+, )?(\w+),")
    return {"runtime": {"_".join(reversed(name.split("_", 1))): number for name, number in runtime.items()},
            "driver": driver}


def compare(kind, known, folders):
    toolkit, numbers = enumerators(folders, *HEADERS[kind]), set(known.values())
    for name, number in sorted(toolkit.items(), key=lambda item: item[1]):
        if LEFT_OUT.search(name) or NAMELESS.match(name):
            continue
        if known.get(name, number) != number:
            yield f"{kind} {name} is {known[name]} in the table, {number} in the toolkit"
        if number not in numbers:
            yield (f"{kind} {name} = {number} is not in the table"
                   + (" (newer than the table)" if number > max(numbers) else ""))


def compare_all(kind, known, folders):
    names = collections.defaultdict(set)
    for folder in folders:
        for name, number in enumerators([folder], *HEADERS[kind]).items():
            if not NAMELESS.match(name):
                names[number].add(name)
    numbers = {number: name for name, number in known.items()}
    for number, name in sorted(numbers.items()):
        if name not in names[number]:
            yield f"{kind} {number} is {name} in the table, {sorted(names[number])} in the headers"
    for number in sorted(set(names) - set(numbers)):
        if names[number] and not any(LEFT_OUT.search(name) for name in names[number]):
            yield f"{kind} {number} is not in the table, {sorted(names[number])} in the headers"


def main():
    known, folders = table(pathlib.Path(sys.argv[1])), sys.argv[2:]
    check = compare
    if folders[0] == "--all":
        check, folders = compare_all, folders[1:]
    complaints = [complaint for kind in known for complaint in check(kind, known[kind], folders)]
    for complaint in complaints:
        print(complaint)
    print(", ".join(f"{len(known[kind])} {kind} calls in the table" for kind in known))
    return bool(complaints)


sys.exit(main())
