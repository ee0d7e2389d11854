"""The words of a hook's shell command, as far as telling whose it is needs them.

Only the first word says whose a command is (spec: projection, "Ours is recognised"). It is read the
way sh reads it or, when it is spelt as a Windows path, the way PowerShell and cmd do. A command that goes
on after the simple one (`ours && theirs`) was composed by the user and is never taken for ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WINDOWS_START = re.compile(
    r"""\s*(?:&\s*)?["']?(?:[A-Za-z]:[\\/]|\\\\|%[A-Za-z]+%|\$\{?env:[A-Za-z]+\}?[\\/])""", re.IGNORECASE
)
_HARMLESS_TAIL = re.compile(
    r"""(?: \s++
          | [0-9]?>>?&?\s*+[^\s;|&<>()]++      # a redirection
          | <\s*+[^\s;|&<>()]++
          | (?:\|\||;)\s*+(?:true|:|exit\s++0)(?![^\s;|&])
          | ;\s*$ | &\s*$
          | \#.*
        )*+""",
    re.VERBOSE,
)
_OPERATORS = ";|&<>()\n"


@dataclass(frozen=True)
class Words:
    """A command's words with quotes removed. `plain` is False when more than one simple command
    stands there, or when a word is computed by the shell; `windows` when it is spelt for Windows."""

    words: tuple[str, ...]
    plain: bool
    windows: bool


def split(command: str) -> Words:
    """The words of the first simple command. Never raises; what cannot be read is not plain."""
    windows = _WINDOWS_START.match(command) is not None
    start = 0
    if windows:
        call = re.match(r"\s*&\s*", command)
        start = call.end() if call else 0
    words: list[str] = []
    at = start
    while True:
        while at < len(command) and command[at] in " \t\r":
            at += 1
        if at == len(command):
            return Words(tuple(words), True, windows)
        if command[at] in _OPERATORS or (command[at] == "#" and words):
            break
        word, at = _windows_word(command, at) if windows else _posix_word(command, at)
        if word is None:
            return Words(tuple(words), False, windows)
        # `2>/dev/null`: the digit belongs to the redirection.
        if word.isdigit() and command[at : at + 1] in {"<", ">"} and command[at - 1] == word[-1]:
            at -= len(word)
            break
        words.append(word)
    tail = command[at:].strip()
    return Words(tuple(words), _HARMLESS_TAIL.fullmatch(tail) is not None, windows)


def _posix_word(command: str, at: int) -> tuple[str | None, int]:
    parts: list[str] = []
    while at < len(command) and command[at] not in " \t\r" and command[at] not in _OPERATORS:
        char = command[at]
        if char == "'":
            end = command.find("'", at + 1)
            if end < 0:
                return None, at
            parts.append(command[at + 1 : end])
            at = end + 1
        elif char == '"':
            text, at = _double_quoted(command, at + 1)
            if text is None:
                return None, at
            parts.append(text)
        elif char == "\\" and at + 1 < len(command):
            parts.append("" if command[at + 1] == "\n" else command[at + 1])
            at += 2
        elif char == "`" or command.startswith("$(", at):
            return None, at
        else:
            parts.append(char)
            at += 1
    return "".join(parts), at


def _double_quoted(command: str, at: int) -> tuple[str | None, int]:
    parts: list[str] = []
    while at < len(command):
        char = command[at]
        if char == '"':
            return "".join(parts), at + 1
        if char == "\\" and command[at + 1 : at + 2] in {"$", "`", '"', "\\", "\n"}:
            parts.append(command[at + 1].replace("\n", ""))
            at += 2
        elif char == "`" or command.startswith("$(", at):
            return None, at
        else:
            parts.append(char)
            at += 1
    return None, at


def _windows_word(command: str, at: int) -> tuple[str | None, int]:
    """A backslash is a separator here; quotes group and are removed."""
    parts: list[str] = []
    while at < len(command) and command[at] not in " \t\r" and command[at] not in _OPERATORS:
        char = command[at]
        if char in "\"'":
            end = command.find(char, at + 1)
            if end < 0:
                return None, at
            parts.append(command[at + 1 : end])
            at = end + 1
        else:
            parts.append(char)
            at += 1
    return "".join(parts), at
