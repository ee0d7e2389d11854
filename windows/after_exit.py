"""Deleting the folder of a program that is running: after it has ended (spec: installer, "ways uninstall").

Windows keeps a running executable from being deleted. A command processor of the system's own waits for this
process and deletes the folder then. Written from the documentation; it runs on Windows only.
"""

from __future__ import annotations

import os
import subprocess
import sys

_DETACHED_PROCESS = 0x00000008
_NEW_PROCESS_GROUP = 0x00000200
_NO_WINDOW = 0x08000000


def command(folder: str, pid: int) -> str:
    """The PowerShell text that waits for the process `pid`, a minute at most, and deletes `folder`.

    The path is a literal in single quotes, in which only the quote itself means anything.
    """
    literal = "'" + folder.replace("'", "''") + "'"
    return (
        f"Wait-Process -Id {pid} -Timeout 60 -ErrorAction SilentlyContinue; "
        f"Remove-Item -LiteralPath {literal} -Recurse -Force -ErrorAction SilentlyContinue"
    )


def remove_folder(folder: str) -> None:
    """Delete `folder`, with this program in it, once this process has ended. Raises OSError."""
    if sys.platform != "win32":
        raise NotImplementedError("a running program can be deleted everywhere but on Windows")
    system = os.environ.get("SYSTEMROOT", r"C:\Windows")
    shell = os.path.join(system, "System32", "WindowsPowerShell", "v1.0", "powershell.exe")
    subprocess.Popen(
        [shell, "-NoProfile", "-NonInteractive", "-Command", command(folder, os.getpid())],
        cwd=system,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=_DETACHED_PROCESS | _NEW_PROCESS_GROUP | _NO_WINDOW,
        close_fds=True,
    )
