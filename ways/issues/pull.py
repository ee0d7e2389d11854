"""Bringing a mirror up to date: one process a repository at a time, never more often than it helps."""

from __future__ import annotations

import os

from ways.agent import keys
from ways.agent.keys import KeyProblem, NoKey
from ways.core import clock
from ways.core.locking import Lock
from ways.core.record import replace
from ways.core.roots import Roots
from ways.issues import github, mirror, repository, starting
from ways.issues.github import Answer, Api, AskError
from ways.issues.mirror import Mirror

KEY_NAME = "github"
LOCK_SECONDS = 0.5
BACKOFF_SECONDS = 600.0
MOST_BACKOFF_SECONDS = 7200.0


def pull(where: Roots, name: str, api_url: str, after: float, *, wait: float = LOCK_SECONDS) -> Mirror:
    """Ask for the open issues of the repository `name` unless that was done within `after` seconds.

    A failure keeps the issues that are known and says why in `problem`. Raises LockTimeout when another
    process is at it for longer than `wait` seconds, OSError when the mirror cannot be written.
    """
    with Lock(mirror.path_of(where, name) + ".lock", wait):
        known = mirror.load(where, name)
        now = clock.now()
        if not known.is_due(now, after) if after else _is_limited(known, now):
            return known
        # Written before asking: a process that is killed while it asks is not followed by the next at once.
        known = replace(known, attempted=now)
        mirror.save(where, known)
        fresh = _asked(where, known, api_url, now)
        mirror.save(where, fresh)
        return fresh


def _is_limited(known: Mirror, now: float) -> bool:
    """True while GitHub has said that it wants no further request, which holds for a person's too."""
    return "rate limit" in known.problem and not known.is_due(now, 0.0)


def _asked(where: Roots, known: Mirror, api_url: str, now: float) -> Mirror:
    try:
        source, answer = _ask(where, known, api_url)
    except AskError as error:
        failures = known.failures + 1
        wait = error.wait or min(BACKOFF_SECONDS * 2 ** min(failures - 1, 10), MOST_BACKOFF_SECONDS)
        return replace(known, problem=str(error), failures=failures, retry_at=now + wait)
    issues = known.issues if answer.unchanged else answer.issues
    return replace(
        known,
        issues=issues,
        fetched=now,
        retry_at=0.0,
        problem="",
        failures=0,
        source=source,
        etag=answer.etag,
        complete=answer.complete,
    )


def _ask(where: Roots, known: Mirror, api_url: str) -> tuple[str, Answer]:
    """(source, answer): from `gh` where there is one that is logged in, else over REST. Raises AskError."""
    program = starting.find_gh(os.environ) if api_url == repository.DEFAULT_API else ""
    refused: AskError | None = None
    if program:
        try:
            return "gh", github.ask_gh(program, known.repository, where.home)
        except AskError as error:
            if error.transient:
                raise
            refused = error
    try:
        token = keys.read(where, KEY_NAME).value
    except NoKey:
        raise refused or AskError("there is neither gh nor a token", github.HOUR, transient=False) from None
    except KeyProblem as problem:
        raise AskError(f"the token cannot be used: {problem}", github.HOUR, transient=False) from None
    etag = known.etag if known.source == "rest" else ""
    return "rest", github.ask_rest(Api(api_url, token), known.repository, etag)
