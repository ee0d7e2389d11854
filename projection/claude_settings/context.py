"""What a settings merge knows of its surroundings: the target, the machine, the state root."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from projection.claude_settings.recognise import Recogniser, home_exists
from projection.claude_settings.slices import Slice
from projection.system import System


@dataclass(frozen=True)
class SettingsContext:
    """`target` is the config directory whose settings these are, `key` its name for messages, `store`
    its folder in the state root, `locks` the folder of lock files; all absolute. `others` are the
    other recorded targets (enabled or not), `adapters` the paths under `hooks/` (with `/`) of every
    adapter that any release shipped."""

    target: str
    key: str
    store: str
    locks: str
    app_root: str
    home: str
    others: tuple[str, ...] = ()
    adapters: frozenset[str] = frozenset()
    release: str = ""
    home_exists: Callable[[str], bool] = home_exists
    windows: bool = os.name == "nt"

    def recogniser(self, system: System, ours: Slice) -> Recogniser:
        """The recogniser of this target, which also knows the adapters that `ours` names."""
        plain = Recogniser(
            target=self.target,
            app_root=self.app_root,
            home=self.home,
            others=self.others,
            adapters=self.adapters,
            # One plan asks for the same few paths again and again.
            resolve=cache(system.real_path),
            home_exists=self.home_exists,
            windows=self.windows,
        )
        return plain.knowing(ours)
