"""Two scripts that need no program of ours: for a version that does not start, and for an app that is gone.

`{app}/rollback.sh` goes back to the version before; `{state}/withdraw.sh` takes the hooks out of every
target from the records in the state root. Both are copies, so that nothing in the app has to work.
"""

from __future__ import annotations

import os

import windows
from projection.system import System
from ways.core.roots import Roots

ROLLBACK, WITHDRAW = "rollback.sh", "withdraw.sh"
ROLLBACK_WINDOWS = "rollback.ps1"
_HERE = os.path.dirname(os.path.abspath(__file__))


def place(system: System, roots: Roots) -> None:
    """Put both in place, or bring them up to date; nothing is written when they are. Raises OSError.

    On Windows it is `{app}/rollback.ps1` alone: a hook there names the program itself.
    """
    if os.name == "nt":
        _copy(system, os.path.join(os.path.dirname(windows.__file__), ROLLBACK_WINDOWS), roots.app)
        return
    for folder, name, mode in ((roots.app, ROLLBACK, 0o755), (roots.state, WITHDRAW, 0o700)):
        data = system.read_bytes(os.path.join(_HERE, name))
        if name == WITHDRAW:
            quoted = "'" + roots.app.replace("'", "'\\''") + "'"
            data = data.replace(b"installed=''", b"installed=" + os.fsencode(quoted), 1)
        path = os.path.join(folder, name)
        if system.kind(path) == "file" and system.read_bytes(path) == data:
            continue
        system.make_folders(folder, 0o755 if folder == roots.app else 0o700)
        system.write_atomic(path, data, mode)


def _copy(system: System, source: str, folder: str) -> None:
    path = os.path.join(folder, os.path.basename(source))
    data = system.read_bytes(source)
    if system.kind(path) != "file" or system.read_bytes(path) != data:
        system.write_atomic(path, data)
