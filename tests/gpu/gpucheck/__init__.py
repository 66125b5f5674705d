# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check: what needs a real GPU. rows.py is the table of what is tried, plan.py decides
what there is time for, judge.py holds the judgements, report.py what is written after each row."""
