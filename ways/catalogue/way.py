"""A way and a check as the engine sees them (spec: the way format).

Built by `ways.catalogue.frontmatter` and by the cache, trusted everywhere else. Bodies are not
held: they are read from `path` when they are shown.
"""

from __future__ import annotations

import os

from ways.core.record import record

CORE, USER, PROJECT = "core", "user", "project"
AGENT, SUBAGENT, TEAMMATE = "agent", "subagent", "teammate"
SCOPES = (AGENT, SUBAGENT, TEAMMATE)
SESSION_START, CONTEXT_THRESHOLD, FILE_EXISTS = "session-start", "context-threshold", "file-exists"


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
    """A `{name}.check.md` beside a way. `id` is the way's id: a way has at most one check."""

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


@record
class Way:
    """One way. Empty strings and tuples mean that the field is absent.

    `path` is absolute; `root_kind` one of core, user, project; `refire` a preset name or a number
    spelt as text, "" when absent; `threshold` percent of the window (for `context-threshold`);
    `problems` are messages about single fields that were dropped (a pattern that does not compile
    disables only itself); `macro_file` and `postcheck_file` are file names beside the way.
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
    scan_exclude: str = ""
    requires: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    corpus_id: str = ""

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
class Catalogue:
    """All ways of one set of roots after shadowing, in tree order, with their checks.

    `shadowed` holds (way id, path) of files hidden by a higher root.
    """

    ways: tuple[Way, ...]
    checks: tuple[Check, ...]
    broken: tuple[Broken, ...] = ()
    shadowed: tuple[tuple[str, str], ...] = ()
