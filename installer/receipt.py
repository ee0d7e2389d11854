"""The receipt in the state root: what was installed, how, and what was edited (spec: installer).

The installers write it, updates and rollbacks add to its history, `ways uninstall` undoes what it names.
`{state}/receipt.json`:

    {"schema": 1, "version": "1.2.3", "method": "install.sh", "installed": "<UTC>", "base": "https://…/",
     "edits": [{"kind": "link", "path": "/home/u/.local/bin/ways", "text": "<where it points>"},
               {"kind": "lines", "path": "/home/u/.bashrc", "text": "<the bytes that were added>",
                "created": false},
               {"kind": "folder", "path": "/home/u/.local/bin"}],
     "history": [{"at": "<UTC>", "operation": "update", "before": "1.2.3", "after": "1.3.0"}]}

`base` holds no credentials. The edits are in the order they were made, by installer/path_edit.py, which also
takes them back. An edit of kind `folder` is a folder that the installer made; `created` says that the file
with the lines was made too.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace

from projection.system import System
from ways.core import clock
from ways.core.errors import REFUSED, UserError
from ways.core.roots import Roots

NAME = "receipt.json"
SCHEMA = 1
LINK, LINES, FOLDER, USER_PATH = "link", "lines", "folder", "user path"
MOST_HISTORY = 50


@dataclass(frozen=True)
class Edit:
    """One thing outside the roots that an installer made: a link, lines added to a file, a folder, or (on
    Windows) an entry in the user's PATH."""

    kind: str
    path: str
    text: str = ""
    created: bool = False


@dataclass(frozen=True)
class Event:
    """One change of the installed version."""

    at: str
    operation: str
    before: str
    after: str


@dataclass(frozen=True)
class Receipt:
    """The receipt; an empty one where none was written (a source install, or a state root that is lost)."""

    version: str = ""
    method: str = ""
    installed: str = ""
    base: str = ""
    edits: tuple[Edit, ...] = ()
    history: tuple[Event, ...] = ()


def path(roots: Roots) -> str:
    """Where the receipt lies."""
    return os.path.join(roots.state, NAME)


def load(system: System, roots: Roots) -> Receipt:
    """The receipt; an empty one when there is none. Raises UserError (exit 3) when it is damaged: what was
    edited outside the roots is then not known."""
    where = path(roots)
    if not system.exists(where):
        return Receipt()
    try:
        found = json.loads(system.read_bytes(where, 1 << 22))
        if found["schema"] != SCHEMA:
            raise ValueError(f"its schema is {found['schema']}, and this version knows {SCHEMA}")
        version, method, installed, base = (
            str(found.get(name, "")) for name in ("version", "method", "installed", "base")
        )
        edits = tuple(_edit(row) for row in found.get("edits", ()))
        history = tuple(
            Event(*(str(row[name]) for name in ("at", "operation", "before", "after")))
            for row in found.get("history", ())
        )
        return Receipt(version, method, installed, base, edits, history)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{where} is damaged: {error}", f"move {where} away", REFUSED) from error


def _edit(row: dict[str, object]) -> Edit:
    edit = Edit(str(row["kind"]), str(row["path"]), str(row.get("text", "")), bool(row.get("created", False)))
    if edit.kind != USER_PATH and not os.path.isabs(edit.path):
        raise ValueError(f"{edit.path} is not an absolute path")
    return edit


def save(system: System, roots: Roots, receipt: Receipt) -> None:
    """Write the receipt. Raises OSError."""
    system.make_folders(roots.state, 0o700)
    data = json.dumps({"schema": SCHEMA, **asdict(receipt)}, indent=1, ensure_ascii=False) + "\n"
    system.write_atomic(path(roots), data.encode("utf-8", "surrogateescape"), 0o600, durable=True)


def note(system: System, roots: Roots, operation: str, before: str, after: str) -> None:
    """Add a change of version to the history. A damaged receipt is left as it is. Raises OSError."""
    try:
        there = load(system, roots)
    except UserError:
        return
    event = Event(clock.utc_iso(), operation, before, after)
    if there.version == after and there.history and there.history[-1].after == after:
        return  # the same change, noted by a run that died after it
    history = (*there.history, event)[-MOST_HISTORY:]
    save(system, roots, replace(there, version=after, history=history))
