"""Where a command was called: its project, with the settings and ways that hold there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ways.core.errors import USAGE, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ways.catalogue.way import Catalogue, Way
    from ways.core.roots import Roots
    from ways.matching.candidates import Rules
    from ways.matching.types import Tuning
    from ways.settings.load import Settings


@dataclass(frozen=True)
class Place:
    """The roots and the project ("" when there is none); settings and catalogue are read on first use."""

    roots: Roots
    project: str

    @cached_property
    def settings(self) -> Settings:
        """The settings of this user and project, for the default target."""
        from ways.settings.load import load

        return load(self.roots, self.project or None, self.roots.projection)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The ways that a session in this project would see."""
        from ways.catalogue.cache import load
        from ways.lanes.context import way_roots

        return load(way_roots(self.roots, self.roots.projection, self.project), self.roots.cache)

    @property
    def tuning(self) -> Tuning:
        """The numbers of matching, as the settings have them."""
        from ways.matching.types import Tuning

        values: dict[str, Any] = dict(self.settings.matching)
        return Tuning(**values)

    def way(self, way_id: str) -> Way:
        """The way of that id. Raises UserError with near names when there is none."""
        from difflib import get_close_matches

        found = self.catalogue.find(way_id)
        if found is not None:
            return found
        known = [way.id for way in self.catalogue.ways]
        last = {name.rsplit("/", 1)[-1]: name for name in known}
        near = get_close_matches(way_id, known, 3) or [
            last[name] for name in get_close_matches(way_id.rsplit("/", 1)[-1], last, 3)
        ]
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise UserError(f"there is no way {way_id!r} here{hint}", "ways author tree", USAGE)

    def rules(self, scope: str, shown: Callable[[str], bool] = lambda way_id: False) -> Rules:
        """What a way must satisfy to be a candidate for an agent of that scope; `shown` tells which ways it
        was shown already."""
        from ways.catalogue.preconditions import Context, holds
        from ways.matching import candidates

        facts = Context(self.project, self.roots.home)
        return candidates.Rules(
            scopes=frozenset([scope]),
            precondition=lambda item: holds(item.when, facts),
            shown=shown,
            default_scope=self.settings.default_scope,
            switches=candidates.Switches(
                frozenset(self.settings.disabled_domains), self.settings.project_ways
            ),
        )


def here(roots: Roots) -> Place:
    """The place of this process."""
    return Place(roots, current_project(os.environ, current_folder()))


def current_folder() -> str:
    """The current folder, "" when it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def current_project(environ: Mapping[str, str], folder: str) -> str:
    """The project that the command was called for: CLAUDE_PROJECT_DIR, else the nearest folder at or
    above the current one, below the home, that has ways of its own; "" when there is none. `folder` is
    "" when the current folder is gone."""
    from ways.embedding.projects import ways_folder

    named = environ.get("CLAUDE_PROJECT_DIR", "")
    if named and os.path.isabs(named):
        return named
    if not folder:
        return ""
    home = os.path.realpath(os.path.expanduser("~"))
    here = os.path.realpath(folder)
    while here != home and here != os.path.dirname(here):
        if os.path.isdir(ways_folder(here)):
            return here
        here = os.path.dirname(here)
    return ""
