# SPDX-License-Identifier: Apache-2.0
#
# What `gputrace run --pytorch` and `--python-functions` put first into PYTHONPATH: starts what was
# asked for, takes its own folder out of sys.path, and then is as if it had never been there: the
# sitecustomize that would have been found without it is imported in its place.
# Every Python that inherits the environment comes through here, the oldest too: no new syntax.
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
if sys.version_info >= (3, 8):
    try:
        import _gputrace
        _gputrace.start(os.environ)
    except Exception as _error:  # the program has to run in any case
        sys.stderr.write("gputrace: Python is not watched: %s\n" % (_error,))
sys.path[:] = [_path for _path in sys.path if not _path or os.path.abspath(_path) != _here]
del sys.modules["sitecustomize"]
import sitecustomize
