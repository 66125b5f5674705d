#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the matrix functions of the simulated libcublas from the toolkit's cublas_api.h, with the prototypes
that stand there: each checks its arguments and launches kernels (cublas.c).

    gen_cublas.py CUBLAS_API.h OUTPUT.c
"""
import re
import sys

WANTED = re.compile(r"cublas\w*?([gG]emm|gemv|ger[uc]?_|symv|hemv|trmv|trsv|symm|hemm|syrk|herk|syr2k|her2k|trmm|trsm)")
# as cuBLAS does it: through another exported function, of its own or of cuBLASLt
WRITTEN_BY_HAND = {"cublasSgemmEx", "cublasGemmStridedBatchedEx"}
HEAD = """/* Made by gen_cublas.py. */
#include "cublas/sim_cublas.h"

"""


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
    out = [HEAD]
    for symbol, inside in re.findall(r"cublasStatus_t\s+CUBLASWINAPI\s+(cublas\w+)\(([^;{]*?)\)\s*;", text):
        if not WANTED.match(symbol) or "Grouped" in symbol or symbol in WRITTEN_BY_HAND:
            continue
        names = [re.split(r"[\s*]", p.strip().replace("[]", ""))[-1] for p in inside.split(",")]
        sizes = [name if name in names else "1" for name in ("m", "n", "k", "batchCount")]
        old = symbol.endswith("_64")
        out.append("#ifndef SIM_CUBLAS_OLD\n" if old else "")
        # types of C++, whose functions C does not declare
        head = f"SIM_CUBLAS_EXPORT cublasStatus_t {symbol}({re.sub('__half|__nv_bfloat16', 'void', ' '.join(inside.split()))})"
        out.append(f"{head};\n{head}\n"
                   f"{{\n\treturn sim_cublas_run(handle, \"{symbol}\", {', '.join(sizes)});\n}}\n")
        out.append("#endif\n\n" if old else "\n")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("".join(out))


main()
