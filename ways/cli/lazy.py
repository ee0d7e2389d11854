"""A group whose commands are modules of this package that are imported when they are called."""

from __future__ import annotations

import importlib
from typing import Any

import click


class LazyCommands(click.Group):
    """`modules` maps a name to (module of ways.cli that exports `command`, one line for the help)."""

    def __init__(self, *arguments: Any, modules: dict[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order in which they were given."""
        return [*self.modules, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of the command."""
        if cmd_name not in self.modules:
            return super().get_command(ctx, cmd_name)
        found = importlib.import_module(f"ways.cli.{self.modules[cmd_name][0]}").command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line a command, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_module, line) in self.modules.items()])
