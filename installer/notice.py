"""Looking for a newer release in the background, and the notice of one (spec: installer, "Auto-check").

The adapter `check-config-updates.sh` prints `{state}/update-notice.json` at session start as it is, so the
file is a complete hook answer or is not there. It is written by `ways update --check --quiet`, which that
adapter starts for the next session; no hook waits for it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from installer import tuf_client, update, versions
from installer.switching import NOTICE
from projection.system import System
from ways.core import clock, files
from ways.core.errors import UserError
from ways.core.roots import Roots
from ways.settings.load import Settings

STAMP = "update-check.json"
SECONDS_BETWEEN = 3600.0
_NO = frozenset({"", "0", "false", "no", "off"})


def is_wanted(environ: Mapping[str, str], settings: Settings) -> bool:
    """False when the user, the environment or a trial run of ours switches the look-up off."""
    if not settings.install_auto_check:
        return False
    names = ("DISABLE_UPDATES", "CI", "WAYS_SAMPLE", "WAYS_PROBE")
    return all(environ.get(name, "").lower() in _NO for name in names)


def look(system: System, roots: Roots, environ: Mapping[str, str], settings: Settings) -> str:
    """Look for a newer release unless that was done within the hour, and keep the notice true. The newer
    version, "" for none. Call it under the update lock. Raises UserError, OSError.
    """
    if not is_wanted(environ, settings) or update.is_development(system, roots):
        remove(roots)
        return ""
    try:
        update.refuse_managed(system, roots)
        base = update.release_base(system, roots, "", environ)
        root = tuf_client.trusted_root(roots)
    except UserError:
        # Another program updates it, or there is no place to look at: nothing to say at every session.
        remove(roots)
        return ""
    at, known = _stamp(roots)
    now = clock.now()
    if not 0 <= now - at < SECONDS_BETWEEN:
        # Before asking: a network that is not there is not tried at every session either.
        _write_stamp(roots, now, known)
        newest = update.newest(update.available(roots, base, root), settings.install_channel)
        known = newest.version if newest is not None else ""
        _write_stamp(roots, now, known)
    current = versions.look(system, roots).current
    if not _is_newer(known, current):
        remove(roots)
        return ""
    write(roots, known, current)
    return known


def _is_newer(version: str, current: str) -> bool:
    one, other = versions.order(version), versions.order(current)
    return one is not None and other is not None and one > other


def write(roots: Roots, version: str, current: str) -> None:
    """Write the notice: one line that the user sees, and nothing for the model. Raises OSError."""
    text = f"ways {version} is available (installed: {current}). To update: ways update"
    data = json.dumps({"systemMessage": text}) + "\n"
    path = os.path.join(roots.state, NOTICE)
    if files.read_bytes_or_none(path, 1 << 16) != data.encode():
        files.make_private(roots.state)
        files.write_atomic(path, data.encode())


def remove(roots: Roots) -> None:
    """No notice. Raises OSError."""
    files.remove_if_there(os.path.join(roots.state, NOTICE))


def _stamp(roots: Roots) -> tuple[float, str]:
    """When it was looked last (seconds since 1970) and what was newest then."""
    data = files.read_bytes_or_none(os.path.join(roots.state, STAMP), 1 << 16)
    try:
        found = json.loads(data or b"{}")
        return float(found["at"]), str(found["newest"])
    except (ValueError, KeyError, TypeError):
        return 0.0, ""


def _write_stamp(roots: Roots, at: float, newest: str) -> None:
    files.make_private(roots.state)
    data = json.dumps({"at": at, "newest": newest}) + "\n"
    files.write_atomic(os.path.join(roots.state, STAMP), data.encode())
