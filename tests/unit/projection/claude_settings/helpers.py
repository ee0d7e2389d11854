"""A home with a target, a state root and the slice that the tests merge."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from projection.claude_settings import merge, recognise, shape, slices, text
from projection.claude_settings.apply import SettingsOutcome, apply_settings
from projection.claude_settings.base import Base
from projection.claude_settings.context import SettingsContext
from projection.claude_settings.plan import SettingsPlan, plan_settings
from projection.claude_settings.slices import Slice
from projection.system import RealSystem, System

ADAPTERS = frozenset(
    {
        "ways/check-prompt.sh",
        "ways/check-state.sh",
        "ways/check-bash-pre.sh",
        "ways/check-file-pre.sh",
        "ways/old-adapter.sh",
        "check-config-updates.sh",
    }
)
HOME = "/home/y"
TARGET = "/home/y/.claude"
APP = "/home/y/.local/share/agent-ways"


def quote(path: str) -> str:
    """A path as one word of sh, in the double quotes that the projection uses."""
    escaped = "".join("\\" + char if char in '\\"$`' else char for char in path)
    return f'"{escaped}"'


def hook(adapter: str, target: str = TARGET, timeout: int = 10) -> dict[str, object]:
    return {"type": "command", "command": quote(f"{target}/hooks/{adapter}"), "timeout": timeout}


def block(target: str = TARGET, permissions: bool = True) -> dict[str, object]:
    """A rendered settings block in the shape of the shipped one."""
    found: dict[str, object] = {
        "hooks": {
            "UserPromptSubmit": [
                {
                    "hooks": [
                        hook("ways/check-prompt.sh", target, 15),
                        hook("ways/check-state.sh", target),
                    ]
                }
            ],
            "PreToolUse": [
                {"matcher": "Bash|PowerShell", "hooks": [hook("ways/check-bash-pre.sh", target)]},
                {"matcher": "Edit|Write", "hooks": [hook("ways/check-file-pre.sh", target)]},
            ],
        }
    }
    if permissions:
        found["permissions"] = {"allow": [f"Bash({target}/bin/ways:*)", "Bash(ways:*)"]}
    return found


def ours(target: str = TARGET, permissions: bool = True) -> Slice:
    return slices.from_block(block(target, permissions))  # type: ignore[arg-type]


def recogniser(
    target: str = TARGET,
    home: str = HOME,
    others: tuple[str, ...] = (),
    homes: tuple[str, ...] = (HOME,),
    links: dict[str, str] | None = None,
    windows: bool = False,
) -> recognise.Recogniser:
    """A recogniser of a machine that exists only here: `homes` are there, `links` lead somewhere."""
    known = links or {}

    def resolve(path: str) -> str:
        for _ in range(10):
            for link, aim in known.items():
                if path == link or path.startswith(link + "/"):
                    path = aim + path[len(link) :]
                    break
            else:
                return path
        return path

    return recognise.Recogniser(
        target=target,
        app_root=APP if not windows else r"C:\Users\y\AppData\Local\agent-ways\app",
        home=home,
        others=others,
        adapters=ADAPTERS,
        resolve=resolve,
        home_exists=lambda path: path in homes,
        windows=windows,
    )


def run(
    content: str | bytes | None,
    wanted: Slice,
    base: Base | None = None,
    using: recognise.Recogniser | None = None,
) -> merge.Merged:
    """Parse, check and merge."""
    data = content.encode() if isinstance(content, str) else content
    document = None if data is None else text.parse(data)
    if document:
        shape.check(document)
    return merge.merge(document, wanted, base, using or recogniser())


def loads(data: bytes | None) -> object:
    assert data is not None
    return json.loads(data.decode("utf-8-sig"))


@dataclass(frozen=True)
class Place:
    """A real home folder with a target in it."""

    home: str
    context: SettingsContext

    @property
    def settings(self) -> str:
        return os.path.join(self.context.target, "settings.json")

    @property
    def backups(self) -> str:
        return os.path.join(self.context.store, "settings-backups")

    def ours(self, permissions: bool = True) -> Slice:
        return ours(self.context.target, permissions)

    def write(self, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        with open(self.settings, "wb") as stream:
            stream.write(data)

    def read(self) -> bytes:
        with open(self.settings, "rb") as stream:
            return stream.read()

    def json(self) -> dict[str, object]:
        found = loads(self.read())
        assert isinstance(found, dict)
        return found

    def plan(self, wanted: Slice | None = None, system: System | None = None) -> SettingsPlan:
        chosen = self.ours() if wanted is None else wanted
        return plan_settings(system or RealSystem(), self.settings, chosen, self.context)

    def apply(self, wanted: Slice | None = None, system: System | None = None) -> SettingsOutcome:
        return apply_settings(system or RealSystem(), self.plan(wanted, system), 5.0)

    def withdraw(self, system: System | None = None) -> SettingsOutcome:
        return self.apply(slices.EMPTY, system)

    def forget_base(self) -> None:
        os.unlink(os.path.join(self.context.store, "settings-base.json"))

    def tree(self) -> dict[str, tuple[int, int, bytes]]:
        """Every file below the home with mode, mtime and content."""
        found = {}
        for folder, _, names in os.walk(self.home):
            for name in names:
                path = os.path.join(folder, name)
                about = os.lstat(path)
                content = b"" if os.path.islink(path) else open(path, "rb").read()  # noqa: SIM115
                found[path] = (about.st_mode, about.st_mtime_ns, content)
        return found


def make_place(
    folder: str,
    name: str = "home",
    target: str = ".claude",
    others: tuple[str, ...] = (),
    home_exists: Callable[[str], bool] | None = None,
) -> Place:
    home = os.path.join(folder, name)
    path = os.path.join(home, target)
    os.makedirs(path)
    state = os.path.join(home, "state")
    context = SettingsContext(
        target=path,
        key="claude-test",
        store=os.path.join(state, "projection", "claude-test"),
        locks=os.path.join(state, "locks"),
        app_root=os.path.join(home, "app"),
        home=home,
        others=others,
        adapters=ADAPTERS,
    )
    if home_exists:
        context = replace(context, home_exists=home_exists)
    return Place(home, context)
