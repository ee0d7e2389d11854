"""Which commands are ours, by their structure (spec: projection, "Ours is recognised").

The rule in one line: the executable is an adapter that we ever shipped, or our program with a
subcommand that only hooks use, inside this target, inside the app, or inside a home that does not
exist here. The merge adds what the base knows. Nothing here changes or opens a file; links and the
existence of homes are asked through two functions, so that the rule can be tested without a disk.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from projection import program_check
from projection.claude_settings import command_line
from projection.claude_settings.slices import HookFields, Slice, arguments

SUBCOMMANDS = frozenset({"hook", "init", "corpus"})
PROGRAM = "ways"
TARGET_OPTION = "--target"

_HOME_FORMS = re.compile(
    r"(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|%HOME%|\$USERPROFILE|\$\{USERPROFILE\}|\$env:USERPROFILE|\$\{env:USERPROFILE\})"
    r"(?=[\\/]|$)",
    re.IGNORECASE,
)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_GIT_BASH_DRIVE = re.compile(r"/([A-Za-z])(?=/)")
_EXECUTABLE_SUFFIX = re.compile(r"\.(?:exe|cmd)$", re.IGNORECASE)
_PERMISSION = re.compile(r"(?:Bash|PowerShell)\((.+?)(?::\*| \*)?\)")
# Where the app of another machine would lie below its home (spec: roots and files).
_FOREIGN_APPS = (".local/share/agent-ways", "AppData/Local/agent-ways/app")
_IN_APP = re.compile(r"(?:/current|/versions/[^/]+)?")


@dataclass(frozen=True)
class Role:
    """What a command of ours does: an adapter by its path under `hooks/`, or the program by its
    arguments. Two spellings of the same role are the same entry."""

    kind: str
    name: str


@dataclass(frozen=True)
class Recogniser:
    """`target`, `app_root` and `home` are absolute; `others` are the other recorded targets;
    `adapters` are paths under `hooks/` with `/`, of every release; `resolve` returns a path with
    its links resolved; `home_exists` says whether a home folder is on this machine."""

    target: str
    app_root: str
    home: str
    others: tuple[str, ...]
    adapters: frozenset[str]
    resolve: Callable[[str], str]
    home_exists: Callable[[str], bool]
    windows: bool = os.name == "nt"

    def role(self, fields: HookFields) -> Role | None:
        """The role of a hook entry, None when it is not ours by structure."""
        command = fields.get("command")
        if not isinstance(command, str):
            return None
        args = arguments(fields)
        if args is not None:
            return self._role(_unquote(command), args, windows=_spelt_for_windows(command))
        words = command_line.split(command)
        if not words.plain or not words.words:
            return None
        return self._role(words.words[0], words.words[1:], words.windows)

    def permission(self, entry: str) -> str:
        """Whether a permission names our own program as a whole: "own", "foreign" (under a home that
        does not exist here), or "" for every other entry."""
        found = _PERMISSION.fullmatch(entry)
        if not found:
            return ""
        words = command_line.split(found.group(1))
        # A path with blanks stands in a permission as it would be typed, quoted or not.
        single = len(words.words) == 1 and words.plain
        name = words.words[0] if single else found.group(1)
        if name == PROGRAM:
            return "own"
        for candidate in self._spellings(self._path(name, words.windows)):
            folder = self._program_folder(candidate)
            if folder:
                owner = self._folder_owner(folder)
                return owner if owner in {"own", "foreign"} else ""
        return ""

    def knowing(self, slices: Slice) -> Recogniser:
        """This recogniser, with the adapters that a slice names under this target."""
        found = set(self.adapters)
        for _, _, hook in slices.entries():
            words = (hook.command,) if hook.args is not None else command_line.split(hook.command).words
            path = self._path(words[0], _spelt_for_windows(hook.command)) if words else ""
            start = self._path(self.target, False) + "/hooks/"
            if path.startswith(start):
                found.add(path[len(start) :])
        return replace(self, adapters=frozenset(found))

    def _role(self, executable: str, args: tuple[str, ...], windows: bool) -> Role | None:
        asked = program_check.program_in(executable, args)
        if asked:
            return self._check_role(asked)
        path = self._path(executable, windows)
        for candidate in self._spellings(path):
            adapter = self._adapter(candidate)
            if adapter:
                below = "/hooks/" + adapter
                owner = self._folder_owner(candidate[: -len(below)])
                if owner == "other":
                    return None
                if owner or self._same(candidate, self._target + below):
                    return Role("adapter", adapter)
            folder = self._program_folder(candidate)
            if folder and args and args[0] in SUBCOMMANDS:
                owner = self._folder_owner(folder)
                if owner == "other":
                    return None
                named, rest = _without_target(args)
                if owner and not (named and self._is_other_target(named, windows)):
                    return Role("program", " ".join(rest))
        return None

    def _check_role(self, program: str) -> Role | None:
        """The hook that asks whether our program starts; another program's such hook is not ours."""
        for candidate in self._spellings(self._path(program, True)):
            folder = self._program_folder(candidate)
            if folder and self._folder_owner(folder) in {"own", "foreign"}:
                return Role("program", "check")
        return None

    def _is_other_target(self, spelling: str, windows: bool) -> bool:
        """True for a folder, as an argument spells it, that is another recorded target."""
        folder = self._path(_unquote(spelling), windows)
        return any(self._same(folder, self._path(other, False)) for other in self.others)

    def _spellings(self, path: str) -> list[str]:
        """The path, and the file that its links lead to."""
        if not self._on_this_machine(path):
            return [path]
        resolved = self._path(self.resolve(path), False)
        return [path] if resolved == path else [path, resolved]

    def _adapter(self, path: str) -> str:
        """The adapter's path under `hooks/` when the path could be one of ours, else ""."""
        at = path.rfind("/hooks/")
        while at >= 0:
            name = path[at + len("/hooks/") :]
            if name in self.adapters:
                return name
            at = path.rfind("/hooks/", 0, at)
        return ""

    def _program_folder(self, path: str) -> str:
        """The folder above `bin/` when the path could be our program, else ""."""
        folder, name = posixpath.split(_EXECUTABLE_SUFFIX.sub("", path))
        return folder[: -len("/bin")] if name == PROGRAM and folder.endswith("/bin") else ""

    def _folder_owner(self, folder: str) -> str:
        """Whose folder it is: "other" for another recorded target, "own" for this target or the app,
        "foreign" for one of a home that is not here, else ""."""
        if any(self._same(folder, self._path(other, False)) for other in self.others):
            return "other"
        if self._same(folder, self._target) or self._in_app(folder):
            return "own"
        return "foreign" if self._is_foreign(folder) else ""

    def _in_app(self, folder: str) -> bool:
        app = self._app
        if folder.startswith(app):
            return _IN_APP.fullmatch(folder[len(app) :]) is not None
        if not self._on_this_machine(folder):
            return False
        resolved, app = self._path(self.resolve(folder), False), self._path(self.resolve(app), False)
        return resolved.startswith(app) and _IN_APP.fullmatch(resolved[len(app) :]) is not None

    def _is_foreign(self, folder: str) -> bool:
        for place in self._places_below_home:
            if folder.endswith("/" + place):
                home = folder[: -len("/" + place)]
                return bool(home) and _is_absolute(home) and not self.home_exists(home)
        return False

    def _same(self, one: str, other: str) -> bool:
        if one == other:
            return True
        if not (self._on_this_machine(one) and self._on_this_machine(other)):
            return False
        return self._path(self.resolve(one), False) == self._path(self.resolve(other), False)

    def _on_this_machine(self, path: str) -> bool:
        """Whether a path could exist here at all, so that resolving it makes sense."""
        return bool(_DRIVE.match(path) or path.startswith("//")) if self.windows else path.startswith("/")

    def _path(self, spelling: str, windows: bool) -> str:
        """One spelling for comparing: home expanded, `/` for `\\`, no `.` or `..`, drive letter small;
        on Windows, where case does not count, all small."""
        text = spelling
        found = _HOME_FORMS.match(text)
        if found:
            rest = text[found.end() :]
            windows = windows or rest.startswith("\\")
            text = self.home + (rest.replace("\\", "/") if windows else rest)
        if windows or self.windows or _spelt_for_windows(text):
            text = text.removeprefix("\\\\?\\").replace("\\", "/")
            text = re.sub(r"^[A-Za-z]:/", lambda drive: drive.group().lower(), text)
        if self.windows:
            text = (
                _GIT_BASH_DRIVE.sub(lambda drive: drive.group(1).lower() + ":", text, count=1)
                if (_GIT_BASH_DRIVE.match(text))
                else text
            )
            text = text.lower()
        return posixpath.normpath(text) if text else ""

    @cached_property
    def _target(self) -> str:
        return self._path(self.target, False)

    @cached_property
    def _app(self) -> str:
        return self._path(self.app_root, False)

    @cached_property
    def _places_below_home(self) -> tuple[str, ...]:
        """Where, below a home, a folder of ours can lie: `.claude`, this target's place, the app's."""
        places = [".claude", *_FOREIGN_APPS]
        home = self._path(self.home, False)
        if self._target.startswith(home + "/"):
            places.append(self._target[len(home) + 1 :])
        folded = (place.lower() for place in places) if self.windows else places
        return tuple(sorted(set(folded), key=len, reverse=True))


def home_exists(home: str) -> bool:
    """Whether a home folder is on this machine. A path of the other kind of system never is: on
    Windows `/Users/x` would otherwise mean `C:\\Users\\x`."""
    drive = _DRIVE.match(home) is not None or home.startswith("//")
    if (os.name == "nt") != drive:
        return False
    return os.path.isdir(home)


def _without_target(args: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The folder that `hook … --target DIR` names ("" when none is), and the other arguments: the same hook
    of the same target is the same entry, however its folder is spelt."""
    if args[:1] == ("hook",) and TARGET_OPTION in args[:-1]:
        at = args.index(TARGET_OPTION)
        return args[at + 1], args[:at] + args[at + 2 :]
    return "", args


def exact_role(fields: Mapping[str, object]) -> Role:
    """The role of an entry that only its exact spelling identifies."""
    args = fields.get("args")
    listed = "\0".join(map(str, args)) if isinstance(args, list | tuple) else ""
    return Role("exact", f"{fields.get('command')}\0{listed}")


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or _DRIVE.match(path) is not None


def _spelt_for_windows(text: str) -> bool:
    return _DRIVE.match(text) is not None or text.startswith(("\\\\", "%"))


def _unquote(text: str) -> str:
    """An exec-form command needs no quotes, but people write them."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
