"""The installation's entry in Windows' list of installed apps; on other systems there is no such list.

Whoever makes a version the current one registers it: the entry names the version. The receipt has it as an
edit of its own kind, so that a removal takes it back with the rest (installer/path_edit.py).
"""

from __future__ import annotations

import os

from installer import versions
from installer.receipt import Edit
from projection import payload_manifest
from projection.system import System
from ways.core.errors import UserError
from ways.core.roots import Roots

ENTRY = "uninstall entry"


def edit(roots: Roots) -> tuple[Edit, ...]:
    """The edit that a receipt names; none off Windows."""
    return (Edit(ENTRY, roots.app),) if os.name == "nt" else ()


def register(system: System, roots: Roots, version: str) -> str:
    """Write the entry, or bring it up to date; a complaint, "" when all is well or there is nothing to do."""
    if os.name != "nt" or not system.changes_disk:
        return ""
    from windows import uninstall_entry

    try:
        values = uninstall_entry.values(roots.app, version, shipped_kilobytes(system, roots, version))
        uninstall_entry.write(values)
    except (OSError, UserError) as error:
        return f"ways is not in the list of installed apps: {error}"
    return ""


def shipped_kilobytes(system: System, roots: Roots, version: str) -> int:
    """The size of a version's files in KiB. Raises OSError, UserError when its manifest cannot be read."""
    path = os.path.join(versions.folder(roots, version), payload_manifest.NAME)
    files = payload_manifest.from_json(system.read_bytes(path), path).files
    return sum(file.size for file in files) // 1024


def unregister(roots_app: str) -> None:
    """Remove the entry when it is that of this app root. Raises OSError."""
    from windows import uninstall_entry

    uninstall_entry.remove(roots_app)
