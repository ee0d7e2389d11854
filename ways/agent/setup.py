"""Setting the judge up: what a person is told, and the two keys that are written to `agent.yaml`.

`ways judge-setup` and `ways init` share it. Planning is apart from asking: a plan is plain data.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass

from ways.core import errors, files
from ways.core.errors import UserError
from ways.core.locking import Lock, LockTimeout
from ways.core.roots import Roots
from ways.gate import settings
from ways.gate.settings import ConfigError, Profile

EXPLANATION = """\
The relevance judge is a model at a provider of your choice. Before ways are shown for a prompt, it is
asked which of them the prompt really calls for; the others are held back.

What leaves this machine, for each prompt with matching ways: your prompt's last 1,200 characters, and
the path and description of at most {max_candidates} ways. No session id, no project path, no file
contents, no bodies of ways. It goes to {base_url}.

What it costs: about 700 tokens a judged prompt; `ways agent cost` shows the sum. When the judge cannot
be asked within {seconds:g} s, the ways are shown as without it. `ways agent key remove` ends it."""

_LOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Choice:
    """What was chosen: an engine profile and a mode."""

    engine: str
    mode: str


def explanation(profile: Profile) -> str:
    """What a person should know before a key is asked for."""
    return EXPLANATION.format(
        max_candidates=profile.max_candidates,
        base_url=profile.base_url,
        seconds=profile.timeout_ms / 1000 + 1.5,
    )


def write_choice(roots: Roots, choice: Choice) -> bool:
    """Set `gate.engine` and `gate.mode` in `agent.yaml`, keeping everything else as it stands: comments,
    order and quoting. False when they say so already. Raises UserError, leaving the file as it was.
    """
    path = settings.path_of(roots.config)
    try:
        files.make_private(roots.config)
        with Lock(f"{path}.lock", _LOCK_SECONDS):
            before = files.read_bytes_or_none(path)
            after = changed(before or b"", choice)
            if after == before:
                return False
            mode = os.stat(path).st_mode & 0o777 if before is not None else 0o600
            files.write_atomic(os.path.realpath(path), after, mode)
    except (OSError, LockTimeout) as error:
        raise UserError(f"{path} cannot be written: {error}", "", errors.WRITE_FAILED) from error
    return True


def changed(before: bytes, choice: Choice) -> bytes:
    """The file's bytes with the choice in it. Raises UserError when the file is broken: it is not ours to
    repair."""
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    try:
        current = settings.parse_text(before)
    except ConfigError as error:
        raise UserError(str(error), "ways settings lint", errors.REFUSED) from error
    if (current.engine, current.mode) == (choice.engine, choice.mode) and before.strip():
        return before
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    document = yaml.load(before.decode("utf-8-sig"))
    document = CommentedMap() if document is None else document
    if document.get("gate") is None:
        document["gate"] = CommentedMap()
    for name, value in (("mode", choice.mode), ("engine", choice.engine)):
        if document["gate"].get(name) != value:
            document["gate"][name] = value
    stream = io.BytesIO()
    yaml.dump(document, stream)
    written = stream.getvalue()
    parsed = settings.parse_text(written)
    if (parsed.engine, parsed.mode) != (choice.engine, choice.mode):
        raise UserError("agent.yaml cannot be changed as asked", "ways settings lint", errors.WRITE_FAILED)
    return written
