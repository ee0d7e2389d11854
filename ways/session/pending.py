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

FILE_NAME = "pending-fires.json"
_MAX_BYTES = 1 << 20


def path_of(agent_directory: str) -> str:
    """Where an agent's intention is kept."""
    return os.path.join(agent_directory, FILE_NAME)


def write(agent_directory: str, intention: dict[str, Any]) -> None:
    """Keep the intention. Raises OSError."""
    files.write_atomic(path_of(agent_directory), jsontext.dump_bytes(intention))


def read(agent_directory: str) -> dict[str, Any] | None:
    """The intention that a dead hook left, {} when it is damaged, None when there is none."""
    data = files.read_bytes_or_none(path_of(agent_directory), _MAX_BYTES)
    return None if data is None else jsontext.object_or_empty(data)


def clear(agent_directory: str) -> None:
    """The recording is complete. Raises OSError."""
    files.remove_if_there(path_of(agent_directory))
