# SPDX-License-Identifier: Apache-2.0
#
# The table of CUDA calls against the toolkit's headers: a number that differs, or a call that
# the table lacks, fails. A toolkit newer than the table is known by its unknown calls.
#   cuda_table.py SOURCE_ROOT INCLUDE_FOLDER...
import pathlib
import re
import sys

# What no Linux program can call.
LEFT_OUT = re.compile(r"D3D|WGL|^cu64")


def enumerators(folders, header, prefix):
    for folder in folders:
        path = pathlib.Path(folder) / header
        if path.is_file():
            found = re.findall(prefix + r"(\w+)\s*=\s*(\d+)\b", path.read_text())
            return {name: int(number) for name, number in found
                    if name not in ("INVALID", "SIZE", "FORCE_INT")}
    sys.exit(f"{header} is not in {folders}")


def rows(path, pattern):
    return {name: int(number) for number, name in
            ((m[0], "_".join(m[1:])) for m in re.findall(pattern, path.read_text(), re.M))}


def compare(kind, table, toolkit, newest):
    for name, number in sorted(toolkit.items(), key=lambda item: item[1]):
        if LEFT_OUT.search(name):
            continue
        if name in table and table[name] != number:
            yield f"{kind} {name} is {table[name]} in the table, {number} in the toolkit"
        if name not in table:
            yield (f"{kind} {name} = {number} is not in the table"
                   + (" (newer than the table)" if number > newest else ""))


def main():
    root, folders = pathlib.Path(sys.argv[1]), sys.argv[2:]
    runtime = rows(root / "core/schema/cuda_runtime.def",
                   r"^GT_CUDA_(?:RUNTIME|HOOKED|HOOKED_WORDS)\((\d+), (v\d+), (\w+),")
    runtime = {"_".join((name.split("_", 1)[1], name.split("_", 1)[0])): number
               for name, number in runtime.items()}
    driver = rows(root / "core/schema/cuda_driver.def", r"^GT_CUDA_DRIVER\((\d+), (\w+),")
    complaints = list(compare("runtime", runtime, enumerators(
        folders, "cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_"), max(runtime.values())))
    complaints += compare("driver", driver, enumerators(
        folders, "cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_"), max(driver.values()))
    for complaint in complaints:
        print(complaint)
    print(f"{len(runtime)} runtime and {len(driver)} driver calls in the table")
    return bool(complaints)


sys.exit(main())
