"""The rows of `ways target list`, for commands that only look."""

from __future__ import annotations

from typing import Any

from ways.core.roots import Roots


def rows(roots: Roots) -> list[dict[str, Any]]:
    """Every listed target with its path, whether it is enabled, and its state. Nothing is written.

    Raises UserError when the list or the payload cannot be read.
    """
    from installer.stage import prepare
    from projection import preferences, target_commands
    from projection.system import DryRunSystem

    system = DryRunSystem()
    return target_commands.rows(system, roots, prepare(system, roots), preferences.options(roots))
