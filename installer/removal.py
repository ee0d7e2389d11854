"""Which folders `ways uninstall` may delete (spec: installer, "ways uninstall").

A deleted path is absolute, named `agent-ways` or `claude-ways`, and has nothing to do with what is kept: it
is not the home and does not hold it; it is not a target or a kept root, holds none and lies in none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from projection.system import System
from ways.core.roots import Roots

NAMES = frozenset({"agent-ways", "claude-ways"})
# Windows puts every root below one folder of that name; the cache root has a part of its own in it.
_BELOW = frozenset({"app", "config", "state", "user", "sessions"})
# The sessions root on POSIX, and sockets with their folders under /tmp (roots.py, gate and embedding paths).
_SOCKET = re.compile(r"agent-ways\.sock(\.lock)?")
_RUNTIME = re.compile(
    rf"claude-sessions|\.claude-sessions-\d+|\.agent-ways(-embed)?-\d+(-[0-9a-f]+)?|{_SOCKET.pattern}"
)


def fault(system: System, roots: Roots, path: str, kept: Iterable[str]) -> str:
    """Why `path` must not be deleted, "" when it may. `kept` are targets and roots that stay."""
    if not os.path.isabs(path):
        return f"{path} is not an absolute path"
    if not is_named(path):
        return f"{path} is not called {' or '.join(sorted(NAMES))}"
    kind = system.kind(path)
    if kind is None:
        return ""
    if kind != "folder":
        return f"{path} is a {kind}, not a folder"
    real, home = system.real_path(path), system.real_path(roots.home)
    if is_same_or_below(home, real):
        return f"{path} is or holds the home folder"
    for other in kept:
        there = system.real_path(other)
        if is_same_or_below(real, there) or is_same_or_below(there, real):
            return f"{path} and {other}, which stays, are one or lie in one another"
    return ""


def runtime_fault(system: System, roots: Roots, path: str, kept: Iterable[str]) -> str:
    """Why something of running sessions must stay: the sessions root, a socket, the folder of one. "" when it
    may go. Those have names of their own, and some lie in folders that everybody may write to."""
    name = os.path.basename(path)
    found = system.info(path)
    if found is None:
        return ""
    if not os.path.isabs(path) or not (_RUNTIME.fullmatch(name) or is_named(path)):
        return f"{path} has another name than ways gives it"
    if found.kind not in ({"other", "file"} if _SOCKET.fullmatch(name) else {"folder"}):
        return f"{path} is a {found.kind}"
    if os.name != "nt" and found.uid != os.getuid():
        return f"{path} belongs to another user"
    real = system.real_path(path)
    for other in (roots.home, *kept):
        if is_same_or_below(system.real_path(other), real):
            return f"{path} holds {other}, which stays"
    return ""


def is_named(path: str) -> bool:
    """True when a path's last part is our name, or a root's own part directly below it."""
    parts = os.path.normpath(path).replace("\\", "/").split("/")
    if parts[-1] in NAMES:
        return True
    inside = len(parts) > 1 and parts[-2] in NAMES
    return (inside and parts[-1] in _BELOW) or parts[-3:] == ["agent-ways", "cache", "user"]


def is_same_or_below(path: str, folder: str) -> bool:
    """True when `path` is `folder` or lies in it (both resolved)."""
    return path == folder or path.startswith(folder.rstrip("/\\") + os.sep)


def coinciding(system: System, places: Mapping[str, str]) -> str:
    """Two roots that are one folder or lie in one another, as a sentence; "" when there are none."""
    real = [(name, system.real_path(path)) for name, path in places.items()]
    for index, (name, one) in enumerate(real):
        for other, two in real[index + 1 :]:
            if is_same_or_below(one, two) or is_same_or_below(two, one):
                return f"the {name} root {places[name]} and the {other} root {places[other]} are not separate"
    return ""
