"""Programs as processes of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# For PYTHONPATH: the package that is tested, wherever another one is installed, and the tests.
THIS_TREE = os.pathsep.join(str(Path(__file__).parents[1] / part) for part in ("src", "."))
# Put before a command that is to be interrupted. What a shell starts in the background ignores Ctrl-C, and so does all
# that it starts in turn: a test suite that runs there would otherwise fail.
HEARING_CTRL_C = [
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
]
