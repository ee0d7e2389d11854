"""Making `ways` callable by its name, and taking that back (spec: installer, "First install"; case u08).

POSIX: a link `~/.local/bin/ways` to the app's stable program and, only when that folder is not on the PATH,
one guarded line at the end of the shell's start file. Windows: one entry of the user's `Path` in the
registry. What is to be done is planned as a list of edits, which the caller records before they are made, so
that a removal knows of them whatever happened in between. Whatever cannot be done safely is a warning that
says how to do it by hand; it is never a reason for an installation to fail.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from installer import registration, versions
from installer.receipt import FOLDER, LINES, LINK, USER_PATH, Edit
from projection.system import FileInfo, System
from ways.core.files import write_all
from ways.core.roots import Roots

MARK = "# added by the ways installer"
_MAX_RC = 4 << 20


@dataclass(frozen=True)
class PathPlan:
    """`edits` is all that will be ours (to be recorded), `missing` those of them that are still to be made;
    `warnings` are sentences for people."""

    edits: tuple[Edit, ...]
    missing: tuple[Edit, ...]
    warnings: tuple[str, ...]


def plan(system: System, roots: Roots, environ: Mapping[str, str], known: Iterable[Edit] = ()) -> PathPlan:
    """What is needed for `ways` to be found by the user's shells. `known` are the edits of an earlier run.

    Changes nothing. Raises OSError when the home cannot be looked at.
    """
    if os.name == "nt":
        return _plan_registry(roots, environ, tuple(known))
    before = tuple(known)
    link, warnings = _plan_link(system, roots)
    if link is None:
        return PathPlan(before, (), warnings)
    edits = [*_missing_folders(system, os.path.dirname(link.path)), link]
    if not on_path(os.path.dirname(link.path), environ.get("PATH", ""), roots.home):
        line, more = _plan_line(system, roots, environ, before)
        edits += line
        warnings += more
    kept = [edit for edit in before if not any(_same_place(edit, new) for new in edits)]
    missing = tuple(edit for edit in edits if not _is_made(system, edit))
    return PathPlan((*kept, *edits), missing, warnings)


def apply(system: System, plan: PathPlan) -> tuple[str, ...]:
    """Make the missing edits; sentences on those that failed."""
    failed = []
    for edit in plan.missing:
        try:
            _make(system, edit)
        except OSError as error:
            failed.append(f"{edit.path}: {error.strerror or error}{_by_hand(edit)}")
    return tuple(failed)


def news(plan: PathPlan, failed: tuple[str, ...]) -> tuple[str, ...]:
    """What the person should know of edits that were made: terminals that are open do not know them."""
    if failed or not any(edit.kind in {LINES, USER_PATH} for edit in plan.missing):
        return ()
    where = next(edit.path for edit in plan.missing if edit.kind in {LINES, USER_PATH})
    return (f"{where} has one more entry; terminals opened from now on find ways by its name",)


def withdraw(system: System, edits: Iterable[Edit]) -> tuple[str, ...]:
    """Take the edits back, the last first, each only where it is still as it was made. Sentences on what
    was left. A file or folder that we made goes when nothing else has come into it."""
    left = []
    for edit in reversed(tuple(edits)):
        try:
            note = _take_back(system, edit)
        except OSError as error:
            note = f"{edit.path}: {error.strerror or error}"
        if note:
            left.append(note)
    return tuple(left)


# The PATH


def on_path(folder: str, path: str, home: str) -> bool:
    """True when `folder` is an entry of `path` as a whole, whatever it is spelt like."""
    return any(_same_folder(folder, entry, home) for entry in path.split(os.pathsep) if entry)


def _same_folder(folder: str, entry: str, home: str) -> bool:
    if entry == "~" or entry.startswith("~/"):  # bash looks commands up in such an entry
        entry = home + entry[1:]
    if not os.path.isabs(entry):
        return False
    return os.path.normpath(entry) == os.path.normpath(folder) or os.path.realpath(entry) == os.path.realpath(
        folder
    )


# The link


def _plan_link(system: System, roots: Roots) -> tuple[Edit | None, tuple[str, ...]]:
    program = versions.program(roots.app)
    path = os.path.join(roots.home, ".local", "bin", "ways")
    for folder in (os.path.dirname(os.path.dirname(path)), os.path.dirname(path)):
        if system.kind(folder) is not None and not _is_folder(system, folder):
            return None, (f"{folder} is no folder, so no link was put there; ways is {program}",)
    found = system.kind(path)
    if found is not None and not _is_own_link(system, path, roots.app):
        return None, (f"{path} is there and is not ours, so it stays; ways is {program}",)
    return Edit(LINK, path, program), ()


def _is_folder(system: System, path: str) -> bool:
    found = system.info(path, follow=True)
    return found is not None and found.kind == "folder"


def _is_own_link(system: System, path: str, app: str) -> bool:
    """True for a link that leads into the app root, by its text or by where it ends."""
    if system.kind(path) != "link":
        return False
    text = os.path.normpath(os.path.join(os.path.dirname(path), system.read_link(path)))
    prefix = os.path.normpath(app) + os.sep
    return text.startswith(prefix) or system.real_path(path).startswith(system.real_path(app) + os.sep)


def _missing_folders(system: System, folder: str) -> list[Edit]:
    found: list[Edit] = []
    while system.kind(folder) is None:
        found.insert(0, Edit(FOLDER, folder))
        folder = os.path.dirname(folder)
    return found


# The line in the shell's start file


def start_file(environ: Mapping[str, str], home: str, platform: str) -> str:
    """The file in which the user's shell would set the PATH, "" for a shell that we do not know.

    `platform` as in ways.core.environment.platform_name: terminals on macOS start login shells.
    """
    shell = os.path.basename(environ.get("SHELL", "")).removesuffix(".exe")
    if shell == "zsh":
        folder = environ.get("ZDOTDIR", "")
        return os.path.join(folder if os.path.isabs(folder) else home, ".zshrc")
    if shell == "fish":
        config = environ.get("XDG_CONFIG_HOME", "")
        config = config if os.path.isabs(config) else os.path.join(home, ".config")
        return os.path.join(config, "fish", "config.fish")
    if shell == "bash":
        if platform != "macos":
            return os.path.join(home, ".bashrc")
        login = [os.path.join(home, name) for name in (".bash_profile", ".bash_login", ".profile")]
        return next((path for path in login if os.path.lexists(path)), login[0])
    if shell in {"sh", "dash", "ash", "ksh", "ksh93", "mksh", "busybox"}:
        return os.path.join(home, ".profile")
    return ""


def guarded_line(start: str) -> str:
    """The line for a start file: it does nothing where the folder is on the PATH, and goes behind all else,
    so that it hides no program of the user's."""
    if start.endswith(".fish"):
        return f'contains -- "$HOME/.local/bin" $PATH; or set -gx PATH $PATH "$HOME/.local/bin" {MARK}'
    return (
        'case ":$PATH:" in *":$HOME/.local/bin:"*) ;; *) PATH="$PATH:$HOME/.local/bin"; export PATH ;; esac '
        f"{MARK}"
    )


def _plan_line(
    system: System, roots: Roots, environ: Mapping[str, str], known: tuple[Edit, ...]
) -> tuple[list[Edit], tuple[str, ...]]:
    from ways.core.environment import platform_name

    path = start_file(environ, roots.home, platform_name())
    if not path:
        shell = os.path.basename(environ.get("SHELL", "")) or "your shell"
        return [], (f"{roots.home}/.local/bin is not on the PATH of {shell}; add it in its start file",)
    line = guarded_line(path)
    earlier = next((edit for edit in known if edit.kind == LINES and edit.path == path), None)
    found = system.info(path, follow=True)
    if found is None:
        # A dangling link is filled where its folder exists.
        place = system.real_path(path)
        edit = Edit(LINES, path, line + "\n", created=True)
        return [*_missing_folders(system, os.path.dirname(place)), edit], ()
    why = _unfit(path, found)
    if why:
        return [], (f"{path} {why}, so it stays as it is; to find ways by its name, add: {line}",)
    text = system.read_bytes(path, _MAX_RC)
    if has_line(text, line):
        return [earlier or Edit(LINES, path, line + "\n")], ()
    # A last line without its newline gets one first; it is part of what we add, and goes again with it.
    ending = "\n" if text and not text.endswith(b"\n") else ""
    return [Edit(LINES, path, ending + line + "\n")], ()


def _unfit(path: str, found: FileInfo) -> str:
    """Why a start file is left alone, "" when a line may be added."""
    if found.kind == "folder":
        return "is a folder"
    if found.kind != "file":
        return "is no ordinary file"
    if found.size > _MAX_RC:
        return "is too large to be a start file"
    # Root may write anything; a file without any write bit is meant to stay as it is all the same.
    if not found.mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        return "is read-only"
    return ""


def has_line(text: bytes, line: str) -> bool:
    """True when `line` is one of the lines of `text`, alone and whole."""
    return line.encode() in text.splitlines()


# Making and taking back


def _same_place(one: Edit, other: Edit) -> bool:
    return one.kind == other.kind and one.path == other.path


def _is_made(system: System, edit: Edit) -> bool:
    if edit.kind == FOLDER:
        return _is_folder(system, edit.path)
    if edit.kind == LINK:
        return system.kind(edit.path) == "link" and system.read_link(edit.path) == edit.text
    return system.exists(edit.path) and has_line(system.read_bytes(edit.path, _MAX_RC), edit.text.strip("\n"))


def _make(system: System, edit: Edit) -> None:
    if edit.kind == FOLDER:
        system.make_folders(edit.path)
    elif edit.kind == LINK:
        system.make_folders(os.path.dirname(edit.path))
        system.symlink(edit.text, edit.path)
    elif edit.kind == LINES:
        _append(system, edit)
    else:
        from windows import path_registry

        path_registry.add(path_registry.user_environment(), edit.text, os.environ)


def _append(system: System, edit: Edit) -> None:
    """One write at the file's end: the file stays itself (inode, owner, mode, attributes, links to it)."""
    data = edit.text.encode()
    if not system.changes_disk:
        before = system.read_bytes(edit.path) if system.exists(edit.path) else b""
        system.write_atomic(system.real_path(edit.path), before + data)
        return
    descriptor = os.open(
        edit.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644
    )
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _take_back(system: System, edit: Edit) -> str:
    if edit.kind == FOLDER:
        if (
            _is_folder(system, edit.path)
            and system.kind(edit.path) == "folder"
            and not system.names(edit.path)
        ):
            system.rmdir(edit.path)
    elif edit.kind == LINK:
        if system.kind(edit.path) == "link" and system.read_link(edit.path) == edit.text:
            system.remove(edit.path)
    elif edit.kind == LINES:
        return _take_lines(system, edit)
    elif edit.kind == USER_PATH:
        from windows import path_registry

        return path_registry.remove(path_registry.user_environment(), edit.text)
    elif edit.kind == registration.ENTRY:
        registration.unregister(edit.path)
    return ""


def _take_lines(system: System, edit: Edit) -> str:
    found = system.info(edit.path, follow=True)
    if found is None or found.kind != "file":
        return ""
    text = system.read_bytes(edit.path)
    rest = without_lines(text, edit.text.encode("utf-8", "surrogateescape"))
    if rest == text:
        return ""
    why = _unfit(edit.path, found)
    if why:
        return f"{edit.path} {why}; the line with `{MARK}` in it stays"
    if edit.created and not rest:
        system.remove(system.real_path(edit.path))
        return ""
    # Beside the real file, so that a start file that is a link stays one.
    owner = (found.uid, found.gid) if os.name != "nt" else None
    system.write_atomic(system.real_path(edit.path), rest, found.mode, owner)
    return ""


def without_lines(text: bytes, added: bytes) -> bytes:
    """`text` without the lines that were added. A newline that was added before them goes with them only at
    the end of the file: elsewhere it would join two lines that are not ours."""
    if not added:
        return text
    if text.endswith(added) and (added.startswith(b"\n") or _starts_line(text, len(text) - len(added))):
        return text[: -len(added)]
    lines = added.lstrip(b"\n")
    at = text.find(lines)
    while at >= 0:
        if _starts_line(text, at):
            return text[:at] + text[at + len(lines) :]
        at = text.find(lines, at + 1)
    return text


def _starts_line(text: bytes, at: int) -> bool:
    return at == 0 or text[at - 1 : at] == b"\n"


def _by_hand(edit: Edit) -> str:
    return f"; to find ways by its name, add to it: {edit.text.strip()}" if edit.kind == LINES else ""


# Windows


def _plan_registry(roots: Roots, environ: Mapping[str, str], known: tuple[Edit, ...]) -> PathPlan:
    from windows import path_registry

    folder = os.path.join(roots.app, "bin")
    wanted = path_registry.plan_add(path_registry.user_environment(), folder, environ)
    if wanted.warning:
        return PathPlan(known, (), (wanted.warning,))
    edit = Edit(USER_PATH, path_registry.VALUE, folder)
    if not wanted.changes and edit not in known:
        return PathPlan(known, (), ())  # an entry that the user had before us stays theirs
    kept = tuple(one for one in known if one != edit)
    return PathPlan((*kept, edit), (edit,) if wanted.changes else (), ())
