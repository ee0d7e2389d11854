"""Whether the issues can be had at all, and asking for them in the background, off the hook's time."""

from __future__ import annotations

import os
import sys

from ways.core import environment, files
from ways.core.clock import now as clock_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ways.core.roots import Roots

# A start that is under way is not repeated by the hooks that follow it at once.
START_SECONDS = 15.0


def token_file(where: Roots) -> str:
    """The stored token. Hooks look whether it is there and never read it."""
    return os.path.join(where.config, "keys", "github")


def find_gh(environ: Mapping[str, str]) -> str:
    """The absolute path of `gh`, "" when it is not installed. Relative entries of PATH, which would be taken
    from a project's folder, are passed over."""
    names = ("gh.exe", "gh.cmd") if os.name == "nt" else ("gh",)
    for folder in environ.get("PATH", "").split(os.pathsep):
        if not os.path.isabs(folder):
            continue
        for name in names:
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
    return ""


def can_ask(where: Roots, environ: Mapping[str, str], is_default_api: bool) -> bool:
    """True when there is `gh`, or a token."""
    return os.path.lexists(token_file(where)) or (is_default_api and bool(find_gh(environ)))


def program() -> tuple[list[str], str]:
    """Command line and folder of our own program. Raises OSError when it has gone (an update)."""
    executable = sys.executable or ""
    if not os.path.isfile(executable):
        raise FileNotFoundError(2, "our own program is not there", executable)
    if getattr(sys, "frozen", False):
        return [executable], os.path.dirname(executable)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [executable, "-m", "ways.entry"], package


def start(where: Roots, project: str, environ: Mapping[str, str], path: str, changed: bool = False) -> bool:
    """Start `ways issues pull --background` for a project unless that was done a moment ago. `path` is the
    mirror's; `changed` asks although the mirror is young. Raises OSError.
    """
    from ways.core.local_socket import spawn_detached

    stamp = path + ".started"
    try:
        if 0 <= clock_now() - os.stat(stamp).st_mtime < START_SECONDS:
            return False
    except FileNotFoundError:
        files.make_private(os.path.dirname(stamp))
    files.write_atomic(stamp, b"")
    command, folder = program()
    command += ["issues", "pull", "--background", "--project", project, *(["--changed"] if changed else [])]
    values = environment.child_environment(environ)
    values["WAYS_CONFIG_ROOT"], values["WAYS_STATE_ROOT"] = where.config, where.state
    values["WAYS_CACHE_ROOT"] = where.cache
    spawn_detached(command, values, folder)
    return True
