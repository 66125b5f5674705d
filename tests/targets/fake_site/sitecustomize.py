# SPDX-License-Identifier: Apache-2.0
"""A sitecustomize that was there before gputrace's."""
import sys

sys.was_customized = getattr(sys, "was_customized", 0) + 1
