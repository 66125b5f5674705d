#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Somebody exchanges the folder of a trace for a link to another one, before each call in turn with which a
command opens, creates, renames or removes something (exchange.c): the other folder stays as it is, and nothing
of it is written into the first one."""

import os
import shutil
import sys
import tempfile
import unittest

import harness

EXAMPLE = os.path.join(harness.SOURCE, "examples", "traces", "killed.json")
SHIM = os.path.join(harness.PROGRAMS, "libexchange.so")
NAME = "vm_4100.1782967788000.pt.trace.json"
SECRET = "not for others"
SOMEBODY = 12345
PATIENCE = 300  # calls of one command
REPAIR = ("repair", "--spool=off")  # on this machine there may be any number of spools


def of_ours():
    with open(EXAMPLE, encoding="utf-8") as file:
        return file.read()


def forms():
    """Each is written in another way."""
    text = of_ours()
    bare = '[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {}}'
    return {"in place": text, "by a copy": bare, "cut header": text[:300] + 3 * text[300:16384:7],
            "end only": '{"schemaVersion": 1, "traceEvents": ' + bare}


def closed():
    return '{"schemaVersion": 1, "traceEvents": [\n{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}\n]}\n'


class Exchange(unittest.TestCase):
    def setUp(self):
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix="gt-exchange-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.folder, self.other = (os.path.join(self.scratch, name) for name in ("all/vm_4100", "other"))

    def prepare(self, text):
        for path in (os.path.dirname(self.folder), self.other):
            shutil.rmtree(path, ignore_errors=True)
        os.makedirs(self.folder)
        os.makedirs(self.other)
        with open(os.path.join(self.scratch, "all", ".rank0.owner"), "w", encoding="utf-8"):
            pass
        for path, content in ((self.folder, text), (self.other, of_ours().replace("train", SECRET))):
            with open(os.path.join(path, NAME), "w", encoding="utf-8") as file:
                file.write(content)
            os.utime(os.path.join(path, NAME), (1, 1))  # nobody writes it any more

    def contents(self, folder):
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                found[name] = file.read()
        return found

    def exchange_each(self, text, *words, **changes):
        """The number of calls before which the folder was exchanged."""
        for at in range(1, PATIENCE):
            self.prepare(text)
            before = self.contents(self.other)
            output = harness.tool(*words, LD_PRELOAD=SHIM, EXCHANGE_AT=str(at), EXCHANGE_FOLDER=self.folder,
                                  EXCHANGE_WITH=self.other, **changes)[1]
            self.assertNotIn("not exchanged", output)
            self.assertEqual(self.contents(self.other), before, (words, at, output))
            if not os.path.islink(self.folder):
                return at - 1
            self.assertNotIn(SECRET, repr(self.contents(self.folder + ".away")), (words, at, output))
        self.fail("no end of calls")

    def path(self):
        return os.path.join(self.folder, NAME)

    def test_repair(self):
        for form, text in forms().items():
            with self.subTest(form=form):
                self.assertGreaterEqual(self.exchange_each(text, *REPAIR, self.path()), 1)

    def test_repair_of_a_folder(self):
        for form, text in forms().items():
            with self.subTest(form=form):
                self.assertGreaterEqual(self.exchange_each(text, *REPAIR, os.path.dirname(self.folder)), 1)

    def test_compress(self):
        self.assertGreaterEqual(self.exchange_each(closed(), "compress", self.path()), 4)

    @unittest.skipIf(os.geteuid(), "only root can make a link of somebody else's")
    def test_before_each_call(self):
        """Of somebody else the link is never followed, wherever it comes."""
        somebody = {"EXCHANGE_READS": "1", "EXCHANGE_OWNER": str(SOMEBODY)}
        for form, text in forms().items():
            with self.subTest(form=form):
                self.assertGreaterEqual(self.exchange_each(text, *REPAIR, os.path.dirname(self.folder), **somebody), 9)
        self.assertGreaterEqual(self.exchange_each(closed(), "compress", self.path(), **somebody), 9)

    @unittest.skipIf(os.geteuid(), "only root can make a file of somebody else's")
    def test_file_of_another_user(self):
        """It is repaired only if it is named."""
        self.prepare(of_ours())
        os.chown(self.path(), SOMEBODY, SOMEBODY)
        status, output = harness.tool("repair", self.folder)
        self.assertEqual((status, "belongs to another user" in output), (1, True), output)
        self.assertEqual(self.contents(self.folder), {NAME: of_ours()})
        status, output = harness.tool("repair", self.path())
        self.assertEqual(status, 0, output)
        self.assertEqual(harness.tool("repair", self.folder)[0], 0, "closed already")


if __name__ == "__main__":
    sys.exit(unittest.main())
