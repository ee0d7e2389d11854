"""How the user wants targets to be served: the `install.*` settings that the projection follows."""

from __future__ import annotations

from typing import cast

from projection.reconcile import Options
from projection.wants import Mode
from ways.core.roots import Roots


def options(roots: Roots, *, mode: str | None = None, force: bool = False) -> Options:
    """The options of a run: what the command line says, else what the settings say."""
    return Options(mode=cast("Mode | None", mode), force=force)
