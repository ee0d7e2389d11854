"""Whether anything is served: installing is not activating (spec: installer, First install)."""

from __future__ import annotations

from projection.records import load_all
from projection.system import System
from projection.target_store import listed_targets
from ways.core.roots import Roots


def is_in_use(system: System, roots: Roots) -> bool:
    """True when a config directory is served, or was listed: then an installation is also an update of it."""
    if any(target.enabled for target in listed_targets(system, roots) or ()):
        return True
    return bool(load_all(system, roots))
