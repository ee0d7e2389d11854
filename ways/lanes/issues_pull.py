"""SessionStart, UserPromptSubmit, PostToolUse Bash: the open issues of the project (docs/issues.md).

The hook only reads a mirror and says what the session does not know of it yet. Asking GitHub is another
process, started here at most every ten minutes, and after a `gh issue` command.
"""

from __future__ import annotations

import os

from ways.core import clock
from ways.issues import mirror as mirrors
from ways.issues import repository as repositories
from ways.lanes import answer
from ways.lanes.session_start import CLEARING_SOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.issues.mirror import Mirror
    from ways.lanes.context import Context

_QUOTING = str.maketrans("", "", "'\"\\`^")


def run(context: Context) -> None:
    """Refresh the mirror in the background when it is due, and tell the session what is new in it."""
    payload = context.payload
    changed = payload.event == "PostToolUse"
    if payload.agent_id or (changed and not changes_issues(payload.tool_text("command"))):
        return
    if payload.event == "SessionStart" and context.session is not None:
        source = payload.text("source")
        if source in CLEARING_SOURCES:
            # Hooks of one event run at once: whichever comes first clears, so nothing is told and forgotten.
            context.session.reset(source, clock.now())
    repository = repository_of(context)
    if not repository:
        return
    mirror = mirrors.load(context.roots, repository)
    _refresh(context, mirror, changed)
    if not changed:
        _tell(context, mirror)


def changes_issues(command: str) -> bool:
    """True for a command that may have been `gh issue …`."""
    words = command.translate(_QUOTING).split()
    return "issue" in words and any(word.rpartition("/")[2] in {"gh", "gh.exe"} for word in words)


def repository_of(context: Context) -> str:
    """The repository whose issues this project mirrors, "" for none."""
    if not context.project:
        return ""
    linked = os.path.lexists(repositories.links_file(context.roots))
    if not linked and not repositories.top_of(context.project):
        return ""
    if not context.settings.issues_mirror:
        return ""
    return repositories.of(context.project, context.roots, context.settings.issues_api_url)


def _refresh(context: Context, mirror: Mirror, changed: bool) -> None:
    from ways.issues import starting

    after = mirrors.CHANGED_SECONDS if changed else mirrors.REFRESH_SECONDS
    trial = context.environ.get("WAYS_SAMPLE") or context.environ.get("WAYS_PROBE")
    if trial or not mirror.is_due(clock.now(), after):
        return
    default = context.settings.issues_api_url == repositories.DEFAULT_API
    if not starting.can_ask(context.roots, context.environ, default):
        return
    path = mirrors.path_of(context.roots, mirror.repository)
    try:
        starting.start(context.roots, context.project, context.environ, path, changed)
    except OSError as error:
        context.note(f"the issues of {mirror.repository} cannot be asked for: {error}")


def _tell(context: Context, mirror: Mirror) -> None:
    from ways.issues import shown
    from ways.lanes.allowed import allowed

    now = clock.now()
    session = context.session
    if session is None or not mirror.is_fresh(now):
        return
    before = shown.known(session, mirror.repository)
    text = shown.all_of(mirror, now) if before is None else shown.changes(mirror, before)
    if not text or not allowed(context):
        return
    if answer.write(answer.context(context.payload.event, text)):
        shown.record(session, mirror)
