"""The user's word on which repository a project belongs to: `{config}/issues.json`."""

from __future__ import annotations

import os

from ways.core import files, jsontext
from ways.core.errors import REFUSED, WRITE_FAILED, UserError
from ways.core.locking import Lock, LockTimeout
from ways.core.roots import Roots
from ways.issues import repository

LOCK_SECONDS = 5.0


def save(where: Roots, project: str, value: str) -> None:
    """Link a project to `owner/name`, switch it off ("off"), or forget it (""). Raises UserError."""
    path = repository.links_file(where)
    data = files.read_bytes_or_none(path)
    if data is not None and data.strip() and not isinstance(jsontext.loads_or_none(data), dict):
        raise UserError(f"{path} is not a JSON object", "repair or remove it", REFUSED)
    try:
        files.make_private(where.config)
        with Lock(path + ".lock", LOCK_SECONDS):
            rows = jsontext.object_or_empty(files.read_bytes_or_none(path))
            rows.pop(project, None)
            if value:
                rows[project] = value
            files.write_atomic(path, jsontext.dump_bytes(rows))
    except (OSError, LockTimeout) as error:
        raise UserError(f"{path} cannot be written: {error}", "ways status", WRITE_FAILED) from error


def project_of(folder: str) -> str:
    """The folder that a link stands for: the top of the repository, else the folder itself."""
    place = os.path.abspath(folder)
    return repository.top_of(place) or place
