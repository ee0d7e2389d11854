"""What the requests of one agent process share."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field

from ways.agent import keycheck
from ways.agent.slots import Slots
from ways.agent.stats import Stats
from ways.agent.transport import Transport
from ways.core.roots import Roots
from ways.gate import settings
from ways.gate.settings import GateSettings


class SettingsCache:
    """`agent.yaml`, parsed again only when the file has changed."""

    def __init__(self, config_root: str) -> None:
        self._root = config_root
        self._key: tuple[int, ...] | None = None
        self._value: GateSettings | None = None

    def current(self) -> GateSettings:
        """The settings as the file says them now. Raises ways.gate.settings.ConfigError."""
        key = self._identity()
        if self._value is None or key != self._key:
            self._value = settings.load(self._root)
            self._key = key
        return self._value

    def _identity(self) -> tuple[int, ...]:
        try:
            info = os.stat(settings.path_of(self._root))
        except OSError as error:
            return (error.errno or 0,)
        return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


@dataclass
class AgentState:
    """One agent's roots, connections, settings, slots, counts and running key checks."""

    roots: Roots
    transport: Transport
    settings: SettingsCache
    slots: Slots = field(default_factory=Slots)
    stats: Stats = field(default_factory=Stats)
    checks: dict[str, asyncio.Task[keycheck.Record]] = field(default_factory=dict)
    stopping: bool = False
