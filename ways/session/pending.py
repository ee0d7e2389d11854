"""The fires that are about to be printed: how a record survives a kill (spec: disclosure, admission).

"A fire is recorded even if the process dies right after printing; if it dies before printing nothing
has been recorded." A recording is several files, so it cannot be one step with the printing. Under
the agent's admission lock a hook therefore writes what it will record into one file, prints, records,
and removes the file. A hook that holds the lock and finds the file knows that its writer is dead,
and finishes the recording. docs/decisions/recording-a-fire.md has the argument.
"""

from __future__ import annotations

import os

from ways.core import files, jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ways.session.state import Agent

FILE_NAME = "pending-fires.json"
_MAX_BYTES = 1 << 20


def _path(agent: Agent) -> str:
    return os.path.join(agent.directory, FILE_NAME)


def write(agent: Agent, intention: dict[str, Any]) -> None:
    """Keep what the agent's hook is about to print and record. Raises OSError."""
    agent.session.write(_path(agent), jsontext.dump_bytes(intention))


def read(agent: Agent) -> dict[str, Any] | None:
    """The intention that a dead hook left, {} when it is damaged, None when there is none."""
    data = files.read_bytes_or_none(_path(agent), _MAX_BYTES)
    return None if data is None else jsontext.object_or_empty(data)


def clear(agent: Agent) -> None:
    """The recording is complete. Raises OSError."""
    files.remove_if_there(_path(agent))
