# SPDX-License-Identifier: Apache-2.0
"""What there is time for. Rows run in the order of the table; a group that has used up its share
comes again after the others."""
import time

WRITING_SECONDS = 5  # kept for the last report and the files
LEAST_SECONDS = 3    # with less nothing is started


class Clock:
    """The time of all, and of one run."""

    def __init__(self, deadline, run_limit, now=time.monotonic):
        self.now, self.run_limit = now, run_limit
        self.began = now()
        self.end = self.began + deadline - min(WRITING_SECONDS, deadline / 10)

    def elapsed(self):
        return self.now() - self.began

    def left(self):
        return self.end - self.now()

    def is_over(self):
        return self.left() < LEAST_SECONDS

    def limit(self, wanted=None):
        """The seconds that one run may last, at most @wanted."""
        return max(0.1, min(self.left(), self.run_limit if wanted is None else wanted))


class Queue:
    """Rows in order; @shares: seconds of a group before its rest is put behind all others."""

    def __init__(self, rows, shares):
        self.first, self.later = list(rows), []
        self.shares, self.spent = shares, {}

    def __bool__(self):
        return bool(self.first or self.later)

    def next(self):
        while self.first:
            row = self.first.pop(0)
            if self.spent.get(row.group, 0) < self.shares.get(row.group, float("inf")):
                return row
            self.later.append(row)
        return self.later.pop(0)

    def used(self, row, seconds):
        self.spent[row.group] = self.spent.get(row.group, 0) + seconds
