# SPDX-License-Identifier: Apache-2.0
"""The terminal of a test."""
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

PATIENCE = 100


class Terminal:
    """A pseudo terminal. Its other end stays open until all was read: what is unread may go with the last
    one who can write."""

    def __init__(self, columns=80):
        self.master, self.other = pty.openpty()
        fcntl.ioctl(self.other, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
        self.shown = b""

    def read(self, pattern=None, seconds=PATIENCE):
        """What has come so far, or, at the latest after so many seconds, what came until it holds the
        pattern."""
        until = time.monotonic() + (seconds if pattern else 0)
        while not (pattern and re.search(pattern, self.shown)):
            wait = max(0, until - time.monotonic())
            if not select.select([self.master], [], [], wait)[0]:
                break
            self.shown += os.read(self.master, 65536)
        return self.shown

    def close(self):
        os.close(self.master)
        os.close(self.other)
