# SPDX-License-Identifier: Apache-2.0


def synchronize():
    raise RuntimeError("CUDA is initialised, which a program that forks does not survive")
