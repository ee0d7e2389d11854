"""A way and a check as the engine sees them (spec: the way format).

Built by `ways.catalogue.frontmatter` and by the cache, trusted everywhere else. Bodies are not
held: they are read from `path` when they are shown.
"""

from __future__ import annotations

import os

from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ways.catalogue.patterns import Book
    from ways.catalogue.tables import Tables

CORE, USER, PROJECT = "core", "user", "project"
AGENT, SUBAGENT, TEAMMATE = "agent", "subagent", "teammate"
SCOPES = (AGENT, SUBAGENT, TEAMMATE)
SESSION_START, CONTEXT_THRESHOLD, FILE_EXISTS = "session-start", "context-threshold", "file-exists"
ATTEND = "attend"
# The signal that every message gives.
ANY_SIGNAL = "message"


def shares_scope(scope: tuple[str, ...], wanted: frozenset[str], default: tuple[str, ...]) -> bool:
    """True when the scope of a way (the default one when it is empty) names one of those that are wanted."""
    return not wanted.isdisjoint(scope or default)


@record
class When:
    """Preconditions, all of which must hold. `unknown` keys make the way not fire."""

    project: str = ""
    file_exists: tuple[str, ...] = ()
    command_exists: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    model: str = ""
    unknown: tuple[str, ...] = ()


@record
class Check:
    """A `{name}.check.md` beside a way. `id` is the way's id: a way has at most one check.

    `problems` and `unknown_fields` are as in Way.
    """

    id: str
    path: str
    root_kind: str
    description: str = ""
    vocabulary: str = ""
    commands: str = ""
    files: str = ""
    threshold: float = 1.0
    scope: tuple[str, ...] = ()
    when: When = When()
    corpus_id: str = ""
    problems: tuple[str, ...] = ()
    unknown_fields: tuple[tuple[str, int], ...] = ()

    @property
    def alias(self) -> str:
        """The text that is embedded: description and vocabulary."""
        return f"{self.description} {self.vocabulary}".strip()


@record
class Way:
    """One way. Empty strings and tuples mean that the field is absent.

    `path` is absolute; `root_kind` one of core, user, project; `refire` a preset name or a number
    spelt as text, "" when absent; `threshold` percent of the window (for `context-threshold`); `signals`
    the signals of messages (for `attend`);
    `problems` are messages about single fields that were dropped (a pattern that does not compile
    disables only itself), each beginning `line N, column N: field: `; `unknown_fields` holds name and
    line of each frontmatter field that has no meaning here; `macro_file` and `postcheck_file` are file
    names beside the way.
    """

    id: str
    path: str
    root_kind: str
    description: str = ""
    vocabulary: str = ""
    pattern: str = ""
    pattern_strict: bool = False
    commands: str = ""
    files: str = ""
    trigger: str = ""
    threshold: float = 0.0
    trigger_path: str = ""
    scope: tuple[str, ...] = ()
    refire: str = ""
    when: When = When()
    macro: str = ""
    macro_file: str = ""
    postcheck_file: str = ""
    postcheck_on: str = ""
    scan_exclude: str = ""
    requires: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    corpus_id: str = ""
    unknown_fields: tuple[tuple[str, int], ...] = ()
    signals: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        """The way's folder."""
        return os.path.dirname(self.path)

    @property
    def domain(self) -> str:
        """The first segment of the id."""
        return self.id.split("/", 1)[0]

    @property
    def parent_ids(self) -> tuple[str, ...]:
        """Ids of all possible ancestors, nearest first (they need not exist)."""
        segments = self.id.split("/")
        return tuple("/".join(segments[:count]) for count in range(len(segments) - 1, 0, -1))

    @property
    def embeddable(self) -> bool:
        """A way is embeddable when it has a description."""
        return bool(self.description)

    @property
    def alias(self) -> str:
        """The text that is embedded: description and vocabulary."""
        return f"{self.description} {self.vocabulary}".strip()


@record
class Broken:
    """A file that no lane can use, with the reason and where (1-based; 0 when unknown)."""

    path: str
    message: str
    line: int = 0
    column: int = 0


@record
class WayRoots:
    """Where ways come from: the project's directory (not its folder of ways), the user's folder of ways,
    and the core folder of ways. "" where there is none."""

    project: str = ""
    user: str = ""
    core: str = ""

    @property
    def project_ways(self) -> str:
        """The project's folder of ways, "" without a project."""
        return os.path.join(self.project, ".claude", "ways") if self.project else ""

    @property
    def folders(self) -> tuple[tuple[str, str], ...]:
        """(kind, folder) of each root there is, highest first."""
        pairs = ((PROJECT, self.project_ways), (USER, self.user), (CORE, self.core))
        return tuple((kind, folder) for kind, folder in pairs if folder)


@record
class Catalogue:
    """All ways of one set of roots after shadowing, in tree order, with their checks.

    `ways` and `checks` behave as tuples; a catalogue from the cache makes each record when it is first
    asked for. `shadowed` holds (way id, path) of files hidden by a higher root. `tables` narrows
    the ways and checks that a text can match; None when the catalogue was put together by hand.
    """

    ways: Sequence[Way]
    checks: Sequence[Check]
    broken: tuple[Broken, ...] = ()
    shadowed: tuple[tuple[str, str], ...] = ()
    tables: Tables | None = None

    @property
    def book(self) -> Book | None:
        """What is known of the regexes, for `ways.catalogue.patterns.Searcher`."""
        return None if self.tables is None else self.tables.book

    def find(self, way_id: str) -> Way | None:
        """The way of that id, None when there is none."""
        if self.tables is not None:
            index = self.tables.index_of(way_id)
            return None if index is None else self.ways[index]
        return next((way for way in self.ways if way.id == way_id), None)

    def may_match(
        self, field: str, text: str, in_scope: Callable[[tuple[str, ...]], bool] = lambda _scope: True
    ) -> list[Way]:
        """The ways, in tree order, whose regex in `field` (`pattern`, `commands`, `files`) may match `text`
        and of whose scope `in_scope` is true.

        No regex runs: a way is left out only when it has no such field or when `text` lacks a literal
        that each match of its regex contains.
        """
        if self.tables is not None:
            possible = self.tables.possible(field, text)
            scopes = self.tables.scopes if possible else {}
            return [self.ways[index] for index in possible if in_scope(scopes.get(index, ()))]
        return [way for way in self.ways if getattr(way, field) and in_scope(way.scope)]

    def checks_that_may_match(self, field: str, text: str) -> list[Check]:
        """As may_match, for the regexes of checks (`commands`, `files`)."""
        if self.tables is not None:
            return [self.checks[index] for index in self.tables.possible(f"check.{field}", text)]
        return [check for check in self.checks if getattr(check, field)]

    def with_trigger(self, wanted: Callable[[str, str], bool] = lambda _id, _trigger: True) -> list[Way]:
        """The ways with a trigger of their own (state or message) of whose id and trigger `wanted` is true,
        in tree order."""
        if self.tables is not None:
            rows = self.tables.lists["trigger"]
            return [self.ways[index] for index, way_id, trigger, _row in rows if wanted(way_id, trigger)]
        return [way for way in self.ways if way.trigger and wanted(way.id, way.trigger)]

    def with_postcheck(self, call: str) -> list[Way]:
        """The ways that have a postcheck beside them, in tree order, but for those whose `postcheck_on`
        cannot match `call`. No regex runs."""
        if self.tables is None:
            return [way for way in self.ways if way.postcheck_file]
        possible = self.tables.possible("postcheck_on", call)
        rows = self.tables.lists["postcheck"]
        return [self.ways[index] for index, chooses in rows if not chooses or index in possible]
