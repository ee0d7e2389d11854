"""TaskCreated: refuse a task that repeats an open issue without naming it (docs/issues.md)."""

from __future__ import annotations

from ways.core import clock
from ways.issues import mirror as mirrors
from ways.lanes.issues_pull import repository_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.issues.mirror import Issue
    from ways.lanes.context import Context


def run(context: Context) -> None:
    """Refuse when the subject is the title of an open issue and no number stands in it."""
    subject = context.payload.text("task_subject")
    if not subject.strip() or names_an_issue(subject):
        return
    repository = repository_of(context)
    mirror = mirrors.load(context.roots, repository) if repository else None
    if mirror is None or not mirror.is_fresh(clock.now()) or not context.settings.enabled:
        return
    wanted = plain(subject)
    issue = next((issue for issue in mirror.issues if plain(issue.title) == wanted), None) if wanted else None
    if issue is not None:
        context.refusal = reason(issue, repository)


def names_an_issue(subject: str) -> bool:
    """True when `#` and a number stand in it."""
    return any(part[:1].isdigit() for part in subject.split("#")[1:])


def plain(subject: str) -> str:
    """The letters and digits of a subject, words apart by one space, for comparing."""
    letters = "".join(char if char.isalnum() else " " for char in subject.casefold())
    return " ".join(letters.split())


def reason(issue: Issue, repository: str) -> str:
    """What the agent is told."""
    return (
        f"This task is the open issue #{issue.number} of {repository}. Create it again with the subject "
        f'"#{issue.number} {issue.title}", so that the task and the issue are known to be one.'
    )
