"""The hook that asks whether the program starts, on Windows: ours by its structure."""

from __future__ import annotations

import pytest

from projection import program_check
from tests.unit.projection.claude_settings.helpers import recogniser

CMD = r"C:\Windows\System32\cmd.exe"
TARGET = r"C:\Users\y\.claude"
APP = r"C:\Users\y\AppData\Local\agent-ways\app"


def fields(program: str, command: str = CMD) -> dict[str, object]:
    asking = program_check.arguments(program)
    assert asking is not None
    return {"type": "command", "command": command, "args": list(asking)}


@pytest.mark.parametrize(
    ("program", "ours"),
    [
        (APP + r"\bin\ways.exe", True),
        (APP.upper() + r"\bin\ways.exe", True),
        (APP + r"\versions\1.0.0\bin\ways.exe", True),
        (r"D:\old\AppData\Local\agent-ways\app\bin\ways.exe", True),
        (r"C:\tools\bin\ways.exe", False),
        (APP + r"\bin\other.exe", False),
    ],
)
def test_it_is_ours_by_the_program_that_it_asks(program: str, ours: bool) -> None:
    using = recogniser(target=TARGET, home=r"C:\Users\y", windows=True)
    assert (using.role(fields(program)) is not None) is ours


def test_another_shell_or_line_is_the_users() -> None:
    using = recogniser(target=TARGET, home=r"C:\Users\y", windows=True)
    mine = fields(APP + r"\bin\ways.exe")
    assert using.role({**mine, "command": r"C:\tools\run.exe"}) is None
    assert using.role({**mine, "args": ["/c", APP + r"\bin\ways.exe", "status"]}) is None
