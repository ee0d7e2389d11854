"""The command line: which command lives where, and how errors reach a person.

Every command is one file in this package that exports `command`; it is imported only when it is
called, so that `ways --help` stays quick.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

import click

from ways.cli import endings
from ways.core.errors import INTERRUPTED, UserError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name -> (module of ways.cli, one line for `ways --help`). Order is the order of the help screen.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Set ways up: targets, hooks, ways, judge"),
    "reconcile": ("reconcile", "Repair what ways put into every target"),
    "update": ("update", "Replace the program by a newer release"),
    "rollback": ("rollback", "Return to the version before"),
    "uninstall": ("uninstall", "Take ways out of every target and remove it"),
    "status": ("status", "Engine, model, corpus, targets and judge at a glance"),
    "doctor": ("doctor", "Run each hook and say what to fix"),
    "settings": ("settings", "List, read and change settings"),
    "target": ("target", "Claude Code config directories that ways serves"),
    "agent": ("agent", "The relevance judge: keys, models, cost"),
    "session": ("session", "What a session was shown: lists, replay, resets"),
    "context": ("context", "Tokens used and left in a session"),
    "explain": ("explain", "Why a prompt shows a way, or does not"),
    "author": ("author", "Write and test ways"),
    "tune": ("tune", "Statistics, precision, languages"),
    "corpus": ("corpus", "Rebuild embeddings and calibration"),
    "projects": ("projects", "Claude Code's project history: find, tidy up, move"),
    "audit": ("audit", "Which rule each way stands for, and what is missing"),
    "trust": ("trust", "Which projects may run their own macros"),
    "attend": ("attend", "Messages between sessions and people"),
    "issues": ("issues", "The project's open GitHub issues in its sessions"),
    "mcp": ("mcp", "Serve ways to an agent that asks for them"),
    "completion": ("completion", "Completion for bash, zsh, fish and PowerShell"),
    "demo": ("demo", "Play a sample session and explain what was shown"),
}
HIDDEN: dict[str, str] = {
    "manifest": "manifest",
    "judge-setup": "judge_setup",
    "finish-install": "finish_install",
    "sessions-root": "roots",
    "events-log-path": "roots",
    "show": "hidden",
    "scan": "hidden",
    "project-slug": "hidden",
}
# Modules that hold several hidden commands, each under its own name.
SEVERAL = frozenset({"roots", "hidden"})
# What a completion script sets when it asks for completions; click derives the name from the program's.
COMPLETE_VARIABLE = "_WAYS_COMPLETE"


class LazyGroup(click.Group):
    """A group whose commands are modules that load on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            return _load(COMMANDS[cmd_name][0], "command")
        if cmd_name in HIDDEN:
            return _load(HIDDEN[cmd_name], cmd_name if HIDDEN[cmd_name] in SEVERAL else "command")
        return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin like this, without loading one of them."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=line)
            for name, (_module, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + (click.Command.shell_complete(self, ctx, incomplete) if incomplete[:1] == "-" else [])

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
    if os.environ.get(COMPLETE_VARIABLE):
        from ways.cli.completion import know_powershell

        know_powershell()
    code = _run(arguments)
    if (failed := endings.close_output()) is not None and not isinstance(failed, BrokenPipeError):
        code = code or endings.unexpected(failed)
    return code


def _run(arguments: list[str]) -> int:
    try:
        _finish_interrupted(arguments)
        result = program.main(args=arguments, prog_name="ways", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        return endings.usage(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; nothing more was changed.", err=True)
        return INTERRUPTED
    except UserError as error:
        return endings.user_error(error)
    except BrokenPipeError:
        # The reader (`ways … | head`) has seen enough.
        endings.discard_output()
        return 0
    except Exception as error:
        if os.environ.get("WAYS_DEBUG"):
            raise
        return endings.unexpected(error)


def _finish_interrupted(arguments: list[str]) -> None:
    """Finish or undo an update that was killed, before anything else is done (spec: installer). Commands
    that replace the program do that themselves; what only looks must change nothing."""
    from ways.core.roots import resolve

    roots = resolve()
    if not os.path.lexists(os.path.join(roots.state, "update-journal.json")):
        return
    alone = {"update", "rollback", "uninstall", "finish-install", "completion"}
    looking = {"--dry-run", "--check", "--help", "-h", "--version"}
    if not arguments or arguments[0] in alone or looking.intersection(arguments):
        return
    from ways.cli.update import finish_interrupted

    finish_interrupted(roots)


def _use_utf8() -> None:
    """Standard streams are UTF-8 with replacement, whatever the locale says; on Windows the console
    understands colour until the program ends."""
    if os.name == "nt":
        import atexit

        from windows.console import understand_sequences

        atexit.register(understand_sequences())
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
