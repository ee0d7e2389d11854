"""How a command ends that could not do its work: one line on stderr and an exit code (spec: command line)."""

from __future__ import annotations

import os
import sys

import click

from ways.core.errors import USAGE, WRITE_FAILED, WRONG, UserError
from ways.core.text import printable


def user_error(error: UserError) -> int:
    """What is wrong, where, and the next command. Returns the exit code."""
    return _say(str(error), error.exit_code)


def usage(error: click.ClickException) -> int:
    """A wrong option, argument or command: what click says, on one line. Returns the exit code."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else _called(sys.argv[1:])
    words = " ".join(error.format_message().split()).rstrip(".")
    message = words[:1].lower() + words[1:]
    code = USAGE if isinstance(error, click.UsageError) else error.exit_code
    return _say(f"{message}  Next: {path} --help", code)


def _called(arguments: list[str]) -> str:
    """The command that was called, by its words; click does not say it for an option without its value."""
    from ways.cli.main import program

    words, command = ["ways"], program.get_command(click.Context(program), next(iter(arguments), ""))
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if command is None:
            break
        words.append(word)
        group = isinstance(command, click.Group)
        command = command.get_command(click.Context(command), following) if group else None  # type: ignore[attr-defined]
    return " ".join(words)


def unexpected(error: Exception) -> int:
    """What nobody foresaw, and the two things that a person may have done: removed the folder that the
    command was called in, or filled the disk that the output goes to. Returns the exit code."""
    if isinstance(error, FileNotFoundError) and _is_folder_gone():
        return _say("the current folder has been deleted  Next: cd ~, then the same command again", USAGE)
    if isinstance(error, OSError):
        what = error.strerror or str(error)
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{what}  Next: WAYS_DEBUG=1 shows where", WRITE_FAILED)
    return _say(f"{type(error).__name__}: {error}  Next: WAYS_DEBUG=1 shows where", WRONG)


def close_output() -> OSError | None:
    """Write out what is still buffered; the error when that cannot be done. Then nothing more can be
    written, and the interpreter has nothing left to complain about when it ends."""
    if sys.stdout is None:  # `>&-`: there never was an output
        return None
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        discard_output()
        return error if isinstance(error, OSError) else None
    return None


def discard_output() -> None:
    """Send what is still buffered nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _is_folder_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _say(text: str, code: int) -> int:
    click.echo(f"ways: {printable(text)}", err=True)
    return code
