"""The six roots (spec: roots and files). The only code that computes one.

The rules of platformdirs are kept here in a form that costs no import: `Unix` rules on Linux and
macOS alike, an XDG variable that is empty or relative is ignored, `%LOCALAPPDATA%` on Windows.
`tests/unit/core/test_roots.py` checks them against platformdirs itself.
"""

from __future__ import annotations

import os
import sys

from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "agent-ways"


@record
class Roots:
    """Absolute paths of the roots. `projection` is the default Claude Code config directory;
    `sessions_note` says why the sessions root is not the usual one, "" when it is."""

    app: str
    projection: str
    config: str
    state: str
    cache: str
    sessions: str
    home: str
    sessions_note: str = ""

    @property
    def events(self) -> str:
        """The event log."""
        return os.path.join(self.state, "events.jsonl")

    @property
    def user_ways(self) -> str:
        """The user's own ways."""
        return os.path.join(self.config, "ways")


def home_directory(environ: Mapping[str, str]) -> str:
    """The user's home: HOME (USERPROFILE on Windows), else the account's, always absolute."""
    if os.name == "nt":
        home = environ.get("USERPROFILE", "") or os.path.join(
            environ.get("HOMEDRIVE", ""), environ.get("HOMEPATH", "")
        )
    else:
        home = environ.get("HOME", "")
    if not home or not os.path.isabs(home):
        home = _account_home()
    return os.path.normpath(home)


def _account_home() -> str:
    """The home that the system knows for this account; the root folder when it knows none, so that
    a path is never taken from the current directory by accident."""
    if os.name == "nt":
        home = os.path.expanduser("~")
    else:
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    return home if os.path.isabs(home) else os.path.abspath(os.sep)


def _absolute(path: str, base: str) -> str:
    """`path` from the current directory, or from `base` when that directory has been deleted (case h24)."""
    try:
        return os.path.abspath(path)
    except OSError:
        return os.path.normpath(os.path.join(base, path))


def _xdg(environ: Mapping[str, str], name: str, default: str) -> str:
    value = environ.get(name, "")
    return value if value and os.path.isabs(value) else default


def _override(environ: Mapping[str, str], name: str, default: str) -> str:
    value = environ.get(name, "")
    return _absolute(value, home_directory(environ)) if value else default


def config_directory(environ: Mapping[str, str], home: str | None = None) -> str:
    """Claude Code's config directory: CLAUDE_CONFIG_DIR when it is set and not empty, else ~/.claude.

    `~` is expanded and a relative value is taken from the current directory, as Claude Code does.
    """
    home = home_directory(environ) if home is None else home
    value = environ.get("CLAUDE_CONFIG_DIR", "")
    if not value.strip():
        return os.path.join(home, ".claude")
    if value == "~" or value.startswith(("~/", "~\\")):
        value = home + value[1:]
    return _absolute(value, home)


def resolve(environ: Mapping[str, str] | None = None) -> Roots:
    """The roots of this process. Looks at the sessions root on disk, creates nothing."""
    environ = os.environ if environ is None else environ
    home = home_directory(environ)
    if os.name == "nt":
        local = environ.get("LOCALAPPDATA", "") or os.path.join(home, "AppData", "Local")
        base = os.path.join(local, NAME)
        app, config = os.path.join(base, "app"), os.path.join(base, "config")
        state, cache = os.path.join(base, "state"), os.path.join(base, "cache", "user")
    else:
        app = os.path.join(_xdg(environ, "XDG_DATA_HOME", os.path.join(home, ".local", "share")), NAME)
        config = os.path.join(_xdg(environ, "XDG_CONFIG_HOME", os.path.join(home, ".config")), NAME)
        state = os.path.join(_xdg(environ, "XDG_STATE_HOME", os.path.join(home, ".local", "state")), NAME)
        cache = os.path.join(_xdg(environ, "XDG_CACHE_HOME", os.path.join(home, ".cache")), NAME, "user")
    if getattr(sys, "frozen", False):
        app = _app_of_program() or app
    state = _override(environ, "WAYS_STATE_ROOT", state)
    sessions, note = _sessions(environ, state, home)
    return Roots(
        app=_override(environ, "WAYS_APP_ROOT", app),
        projection=config_directory(environ, home),
        config=_override(environ, "WAYS_CONFIG_ROOT", config),
        state=state,
        cache=_override(environ, "WAYS_CACHE_ROOT", cache),
        sessions=sessions,
        home=home,
        sessions_note=note,
    )


def _app_of_program() -> str:
    """The app root whose `versions/<version>/` this frozen program runs from, "" when it runs from elsewhere
    (an archive just unpacked, a version being staged). So an app installed into another folder finds itself,
    whatever the environment of the hook says."""
    from ways.core.environment import version_folder

    versions, name = os.path.split(version_folder())
    return os.path.dirname(versions) if os.path.basename(versions) == "versions" and name[:1] != "." else ""


def _sessions(environ: Mapping[str, str], state: str, home: str) -> tuple[str, str]:
    """The sessions root and, when it is the fallback under the state root, the reason."""
    if environ.get("WAYS_SESSIONS_ROOT"):
        usual = _absolute(environ["WAYS_SESSIONS_ROOT"], home)
    elif os.name == "nt":
        local = environ.get("LOCALAPPDATA", "") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, "claude-ways", "sessions"), ""
    else:
        runtime = _xdg(environ, "XDG_RUNTIME_DIR", "")
        if runtime:
            usual = os.path.join(runtime, "claude-sessions")
            why = foreign_folder(runtime)
            if why:
                # `su` and `sudo -E` keep the variable of the user before: that folder is not ours to use.
                return os.path.join(state, "sessions"), f"{runtime}: {why}"
        else:
            usual = f"/tmp/.claude-sessions-{os.getuid()}"
    why = unsafe_folder(usual)
    if not why:
        return usual, ""
    return os.path.join(state, "sessions"), f"{usual}: {why}"


def unsafe_folder(path: str) -> str:
    """Why an existing folder must not hold private state, or "" when it may (or does not exist yet).

    Refused: a symlink, not a folder, another owner, open to group or others, or not writable, as on a
    file system that is mounted read-only in a sandbox (POSIX). On Windows the folder lies inside the
    user's own profile and is not examined.
    """
    if os.name == "nt":
        return ""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return "" if _can_be_made(path) else "cannot be made here"
    except OSError as error:
        return error.strerror or str(error)
    kind = info.st_mode & 0o170000
    if kind == 0o120000:
        return "is a symbolic link"
    if kind != 0o040000:
        return "is not a folder"
    if info.st_uid != os.getuid():
        return f"belongs to user {info.st_uid}"
    if info.st_mode & 0o022:
        return "is writable by group or others"
    return "" if os.access(path, os.W_OK | os.X_OK) else "cannot be written to"


def foreign_folder(path: str) -> str:
    """Why an existing folder is not the user's own, or "" when it is or does not exist (POSIX)."""
    try:
        owner = os.stat(path).st_uid
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    return "" if owner == os.getuid() else f"belongs to user {owner}"


def _can_be_made(path: str) -> bool:
    """True when the nearest folder above `path` that exists lets the user make folders in it."""
    parent = os.path.dirname(path)
    while parent != os.path.dirname(parent) and not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    return os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK)
