"""The mirror of a repository's open issues: `{cache}/issues/<owner>@<name>.json`."""

from __future__ import annotations

import os

from ways.core import files, jsontext, text
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.core.roots import Roots

FORMAT = 1
REFRESH_SECONDS = 600.0
# After a `gh issue` command the mirror is stale at once; a script of many such commands is one reason.
CHANGED_SECONDS = 20.0
# Older issues are not shown: they say what was, not what is.
SHOWN_SECONDS = 86400.0
MAX_TITLE = 256
_MAX_BYTES = 4 << 20


@record
class Issue:
    """One open issue."""

    number: int
    title: str
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()


@record
class Mirror:
    """What is known of a repository's open issues. Times are in seconds since 1970, 0 for never.

    `fetched` is when `issues` were true, `attempted` when they were last asked for, `retry_at` the moment
    before which they are not asked for again, `problem` why the last attempt failed ("" when it did not),
    `etag` what GitHub calls this state of a list that fits on one page, `complete` false when there are more
    issues than are mirrored.
    """

    repository: str
    issues: tuple[Issue, ...] = ()
    fetched: float = 0.0
    attempted: float = 0.0
    retry_at: float = 0.0
    problem: str = ""
    failures: int = 0
    source: str = ""
    etag: str = ""
    complete: bool = True

    def is_due(self, now: float, after: float = REFRESH_SECONDS) -> bool:
        """True when the issues should be asked for again. A clock that was set back does not hold it up."""
        if now < self.retry_at < now + 2 * 86400.0:
            return False
        return not 0 <= now - self.attempted < after

    def is_fresh(self, now: float) -> bool:
        """True when the issues may be shown."""
        return 0 <= now - self.fetched < SHOWN_SECONDS


def path_of(where: Roots, repository: str) -> str:
    """The file of a repository's mirror. `repository` must be `owner/name` (repository.is_repository)."""
    return os.path.join(where.cache, "issues", f"{repository.replace('/', '@').lower()}.json")


def load(where: Roots, repository: str) -> Mirror:
    """The mirror; an empty one when there is none or it is damaged."""
    row = jsontext.object_or_empty(files.read_bytes_or_none(path_of(where, repository), _MAX_BYTES))
    if row.get("format") != FORMAT or row.get("repository") != repository:
        return Mirror(repository)
    rows = row.get("issues")
    return Mirror(
        repository,
        tuple(issue for issue in map(issue_of, rows) if issue is not None) if isinstance(rows, list) else (),
        fetched=_number(row.get("fetched")),
        attempted=_number(row.get("attempted")),
        retry_at=_number(row.get("retry_at")),
        problem=_string(row.get("problem")),
        failures=int(_number(row.get("failures"))),
        source=_string(row.get("source")),
        etag=_string(row.get("etag")),
        complete=row.get("complete") is True,
    )


def save(where: Roots, mirror: Mirror) -> None:
    """Write the mirror (0600 in a folder 0700). Raises OSError."""
    row = {**mirror.__dict__, "format": FORMAT, "issues": [_row(issue) for issue in mirror.issues]}
    path = path_of(where, mirror.repository)
    files.make_private(os.path.dirname(path))
    files.write_atomic(path, jsontext.dump_bytes(jsontext.clean_tree(row)))


def issue_of(row: object) -> Issue | None:
    """The issue in a JSON object of ours, of `gh issue list` or of GitHub's API; None for anything else and
    for a pull request, which the API lists among the issues."""
    if not isinstance(row, dict) or row.get("pull_request"):
        return None
    number, title = row.get("number"), row.get("title")
    if type(number) is not int or number < 1 or not isinstance(title, str) or not title.strip():
        return None
    labels, assignees = _names(row.get("labels"), "name"), _names(row.get("assignees"), "login")
    return Issue(number, _line(title, MAX_TITLE), labels, assignees)


def _names(rows: object, key: str) -> tuple[str, ...]:
    """The names in a list of strings or of objects that have one under `key`."""
    found = (
        [row.get(key) if isinstance(row, dict) else row for row in rows[:20]]
        if isinstance(rows, list)
        else []
    )
    return tuple(_line(name, 50) for name in found if isinstance(name, str) and name)


def _line(value: str, limit: int) -> str:
    """One printable line: whoever opens an issue writes its title."""
    return text.snippet(text.printable(value.replace("\n", " ")), limit)


def _row(issue: Issue) -> dict[str, object]:
    return {**issue.__dict__, "labels": list(issue.labels), "assignees": list(issue.assignees)}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
