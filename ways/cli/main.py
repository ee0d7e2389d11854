"""The command line: which command lives where, and how errors reach a person.

Every command is one file in this package that exports `command`; it is imported only when it is
called, so that `ways --help` stays quick.
"""

from __future__ import annotations

import importlib
import os
import sys

import click

from ways.core.errors import INTERRUPTED, WRONG, UserError

# name -> (module of ways.cli, one line for `ways --help`). Order is the order of the help screen.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Set ways up: targets, hooks, ways, judge"),
    "reconcile": ("reconcile", "Repair what ways put into every target"),
    "uninstall": ("uninstall", "Take ways out of every target and remove it"),
    "status": ("status", "Engine, model, corpus, targets and judge at a glance"),
    "doctor": ("doctor", "Run each hook and say what to fix"),
    "settings": ("settings", "List, read and change settings"),
    "target": ("target", "Claude Code config directories that ways serves"),
    "agent": ("agent", "The relevance judge: keys, models, cost"),
    "session": ("session", "What this session has been shown, and resets"),
    "author": ("author", "Write and test ways"),
    "tune": ("tune", "Language and precision"),
    "corpus": ("corpus", "Rebuild embeddings and calibration"),
    "trust": ("trust", "Which projects may run their own macros"),
    "demo": ("demo", "Play a sample session and explain what was shown"),
}
HIDDEN: dict[str, str] = {
    "manifest": "manifest",
    "judge-setup": "judge_setup",
    "sessions-root": "roots",
    "events-log-path": "roots",
}


class LazyGroup(click.Group):
    """A group whose commands are modules that load on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            return _load(COMMANDS[cmd_name][0], "command")
        if cmd_name in HIDDEN:
            return _load(HIDDEN[cmd_name], "command" if HIDDEN[cmd_name] != "roots" else cmd_name)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_module, line) in COMMANDS.items()])


def _load(module: str, name: str) -> click.Command:
    found = getattr(importlib.import_module(f"ways.cli.{module}"), name.replace("-", "_"))
    assert isinstance(found, click.Command)
    return found


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from ways.cli.version import text

        click.echo(text(as_json="--json" in sys.argv))
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=False,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    callback=_version,
    expose_value=False,
    help="Version, commit, build kind, Python and engine.",
)
@click.option("--json", is_flag=True, hidden=True, expose_value=False)
def program() -> None:
    """Short pieces of guidance in front of a coding agent at the moment they matter."""


def main(arguments: list[str]) -> int:
    """Run the command line. Returns the exit code; never shows a traceback unless WAYS_DEBUG is set."""
    _use_utf8()
    try:
        result = program.main(args=arguments, prog_name="ways", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; nothing more was changed.", err=True)
        return INTERRUPTED
    except UserError as error:
        return fail(error)
    except BrokenPipeError:
        # The reader (`ways … | head`) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:
        if os.environ.get("WAYS_DEBUG"):
            raise
        click.echo(f"ways: {type(error).__name__}: {error}  Next: WAYS_DEBUG=1 shows where", err=True)
        return WRONG


def fail(error: UserError) -> int:
    """Print what is wrong, where and the next command, on one line. Returns the exit code."""
    from ways.core.text import printable

    click.echo(f"ways: {printable(str(error))}", err=True)
    return error.exit_code


def _use_utf8() -> None:
    """Standard streams are UTF-8 with replacement, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
