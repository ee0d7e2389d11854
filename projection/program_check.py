"""The hook that says, on Windows, that the program is missing or does not start.

The program cannot say so itself, and there a hook names no adapter; so the system's own command processor
asks it. Its arguments are handed over one by one: what has a blank in it is quoted on the way, nothing else
is, and that is how the command processor reads them. A path that it would read otherwise gets no such hook.
"""

from __future__ import annotations

import ntpath
from collections.abc import Mapping

# /d: no AutoRun. /v:off: `!` is a letter. The `if` keeps a quoted path from being the first thing on the
# line, whose quotes would be taken off.
HEAD = ("/d", "/v:off", "/c", "if", "1==1")
TEXT = (
    "The ways hooks are set up here, but the ways program was not found or does not start, so no guidance "
    "will be shown in this session. Tell the user once, in one sentence, that running the ways installer "
    "again repairs this."
)
TAIL = ("--noop", ">nul", "2>nul", "||", "echo", TEXT, "&", "exit", "0")
_SHELL = "cmd.exe"
_NEVER = frozenset('%"\r\n')
_ONLY_QUOTED = frozenset("&|<>^()@,;=`'!+[]{}")


def arguments(program: str) -> tuple[str, ...] | None:
    """The command processor's arguments for this program; None when it would read the path as another."""
    if _NEVER.intersection(program) or (" " not in program and _ONLY_QUOTED.intersection(program)):
        return None
    return (*HEAD, program, *TAIL)


def shell(environ: Mapping[str, str]) -> str:
    """The command processor by its full path: a bare name would be looked for in the project first."""
    known = {name.upper(): value for name, value in environ.items()}
    return ntpath.join(known.get("SYSTEMROOT") or r"C:\Windows", "System32", _SHELL)


def program_in(command: str, args: tuple[str, ...] | None) -> str:
    """The program that a hook of this kind asks, "" for any other hook."""
    if args is None or ntpath.basename(command.strip('"')).lower() != _SHELL:
        return ""
    at = len(HEAD)
    right = args[:at] == HEAD and args[at + 1 : at + 2] == TAIL[:1]
    return args[at] if right else ""
