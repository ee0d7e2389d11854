"""The guard against published session links, through the merged settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.session_home import Home, Session

LINK = "https://claude.ai/code/session_01SBzqph11q7ZSHA5QEGgtu5"


def denials(session: Session, tool: str, command: object) -> list[str]:
    """The reasons of the hooks that deny this tool call; every hook must exit 0."""
    payload = session.payload(
        "PreToolUse", tool_name=tool, tool_input={"command": command}, tool_use_id="toolu_1"
    )
    found = []
    for ran in session.fire(payload):
        output = json.loads(ran.stdout)["hookSpecificOutput"] if ran.stdout.strip() else {}
        if "permissionDecision" in output:
            assert output["hookEventName"] == "PreToolUse" and output["permissionDecision"] == "deny"
            assert ran.stdout.isascii()
            found.append(output["permissionDecisionReason"])
    return found


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        ("Bash", f"git commit -m \"$(cat <<'EOF'\nfix: é 猫\n\nClaude-Session: {LINK}\nEOF\n)\""),
        ("Bash", f'gh pr create --title x --body "Text\n\n[Claude Code]({LINK})"'),
        ("PowerShell", f"git commit -m @'\nfix\n\nClaude-Session: {LINK}\n'@"),
    ],
)
def test_the_command_is_denied_with_the_line(session: Session, tool: str, command: str) -> None:
    reasons = denials(session, tool, command)
    assert len(reasons) == 1
    assert LINK in reasons[0] and "without that line" in reasons[0]


def test_a_message_file_is_read_from_the_sessions_folder(session: Session, project: Path) -> None:
    (project / "message").write_text(f"fix\n\nClaude-Session: {LINK}\n", "utf-8")
    assert len(denials(session, "Bash", "git commit -F message")) == 1


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m fix",
        f"git commit -m 'docs: what {LINK} is good for'",
        f"echo {LINK}",
        "git commit -m '" + "\\" * 5000,
        "git commit " + "$(" * 4000,
        "git commit -m \0",
        "",
        17,
        None,
        ["git", "commit"],
    ],
    ids=range(10),
)
def test_nothing_else_is_denied(session: Session, command: object) -> None:
    assert denials(session, "Bash", command) == []


def test_a_user_may_allow_links(home: Home, session: Session, config: Callable[[str], None]) -> None:
    command = f"git commit -m 'fix\n\nClaude-Session: {LINK}'"
    config("hooks:\n  session_links: allow\n")
    assert denials(session, "Bash", command) == []
    config("enabled: false\n")
    assert len(denials(session, "Bash", command)) == 1, "a guard, not guidance"


def test_a_project_may_not(session: Session, project: Path) -> None:
    (project / ".claude").mkdir(exist_ok=True)
    (project / ".claude/ways.yaml").write_text("hooks:\n  session_links: allow\n", "utf-8")
    assert len(denials(session, "Bash", f"git commit -m 'fix\n\nClaude-Session: {LINK}'")) == 1
