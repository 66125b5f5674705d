#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check, and `run` of its bundle: starts the package gpucheck."""
import sys

from gpucheck.main import main

sys.exit(main())
