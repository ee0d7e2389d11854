"""`when:` preconditions (spec: the way format). Facts are looked up when a way asks for them, once."""

from __future__ import annotations

import os

from ways.core.environment import platform_name
from ways.core.text import match_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ways.catalogue.way import When


class Context:
    """What preconditions are held against.

    `project` is the project's directory ("" when unknown), `model` the id of the agent's model or a function
    that finds it (called at most once, and only when a way asks).
    """

    def __init__(
        self,
        project: str,
        home: str,
        model: str | Callable[[], str] = "",
        environ: Mapping[str, str] | None = None,
        platform: str | None = None,
    ) -> None:
        self.project = project
        self.home = home
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.platform = platform_name() if platform is None else platform
        self._model = model
        self._files: dict[str, bool] = {}
        self._commands: dict[str, bool] = {}
        self._spellings: tuple[str, ...] | None = None

    @property
    def model(self) -> str:
        """The model's id, "" when it is not known."""
        if not isinstance(self._model, str):
            self._model = self._model()
        return self._model

    @property
    def project_spellings(self) -> tuple[str, ...]:
        """The project's path as given and with links resolved, `/`-separated."""
        if self._spellings is None:
            paths = (self.project, os.path.realpath(self.project)) if self.project else ()
            self._spellings = tuple(dict.fromkeys(_folded(match_path(path)) for path in paths))
        return self._spellings

    def has_file(self, pattern: str) -> bool:
        """True when the glob matches something in the project."""
        if pattern not in self._files:
            from ways.catalogue.globs import file_exists

            self._files[pattern] = file_exists(self.project, pattern)
        return self._files[pattern]

    def has_command(self, name: str) -> bool:
        """True when an executable of that name is on PATH."""
        if name not in self._commands:
            self._commands[name] = find_command(name, self.environ, self.platform) != ""
        return self._commands[name]


def holds(when: When, context: Context) -> bool:
    """True when every precondition holds. An unknown key never holds. Cheap facts are asked for first."""
    if when.unknown:
        return False
    if when.os and context.platform not in when.os:
        return False
    if any(name not in context.environ for name in when.env):
        return False
    if when.project and not _project_matches(when.project, context):
        return False
    if not all(context.has_file(pattern) for pattern in when.file_exists):
        return False
    if not all(context.has_command(name) for name in when.command_exists):
        return False
    if not when.model:
        return True
    from ways.catalogue.globs import matches

    return matches(context.model.lower(), when.model.lower())


def _project_matches(pattern: str, context: Context) -> bool:
    """`~` is the home, with links resolved or not; `*` crosses `/`; a final slash is ignored."""
    if pattern == "~" or pattern.startswith(("~/", "~\\")):
        homes = dict.fromkeys((context.home, os.path.realpath(context.home)))
        patterns = [_escaped(match_path(home)) + pattern[1:] for home in homes]
    else:
        patterns = [pattern]
    from ways.catalogue.globs import matches

    wanted = [_folded(match_path(spelling)) for spelling in patterns]
    return any(
        matches(path.rstrip("/") or "/", glob.rstrip("/") or "/")
        for path in context.project_spellings
        for glob in wanted
    )


def _escaped(path: str) -> str:
    """A path as a glob that matches just it: a home may hold `[`."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)


def _folded(path: str) -> str:
    """Windows paths match in any case."""
    return path.lower() if os.name == "nt" else path


def find_command(name: str, environ: Mapping[str, str], platform: str | None = None) -> str:
    """The executable that `name` stands for on PATH, "" when there is none. It holds no separator."""
    if not name or any(sign in name for sign in "/\\:\0"):
        return ""
    windows = (platform_name() if platform is None else platform) == "windows"
    endings = [""]
    if windows:
        known = environ.get("PATHEXT", "") or ".COM;.EXE;.BAT;.CMD"
        endings = [*(ending for ending in known.split(";") if ending), ""]
        if not name.lower().endswith(tuple(ending.lower() for ending in endings if ending)):
            endings.remove("")
    for folder in environ.get("PATH", "").split(";" if windows else os.pathsep):
        for ending in endings:
            path = os.path.join(folder, name + ending)
            if folder and os.path.isfile(path) and (windows or os.access(path, os.X_OK)):
                return path
    return ""
