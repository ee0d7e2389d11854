"""PreToolUse Bash and PowerShell: keep links to Claude Code sessions out of what is published.

Denies a `git commit`, `gh pr` or `gh issue` command whose text carries such a link as a trailer or footer.
It is a guard and no guidance, so it has a switch of its own (`hooks.session_links`) and does not follow
`ways.enabled`.
"""

from __future__ import annotations

from ways.lanes import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context

_QUOTING = str.maketrans("", "", "'\"\\`^\n")
ALLOW = "allow"
MAX_LINE = 300


def run(context: Context) -> None:
    """Deny the command with a reason that shows the line, or answer nothing."""
    command = context.payload.tool_text("command")
    if not may_publish(command) or context.settings.session_links == ALLOW:
        return
    from ways.commandline.effects import published
    from ways.commandline.session_links import offending_line

    cwd = context.payload.cwd or context.project
    for text in published(command, cwd, context.roots.home, context.payload.tool_name == "PowerShell"):
        line = offending_line(text.text)
        if line:
            answer.write(answer.denial(context.payload.event, reason(text.command, line)))
            return


def may_publish(command: str) -> bool:
    """False for nearly every command, by a look at its letters alone."""
    letters = command.translate(_QUOTING)
    return ("git" in letters and "commit" in letters) or (
        "gh" in letters and ("pr" in letters or "issue" in letters)
    )


def reason(command: str, line: str) -> str:
    """What the agent is told."""
    from ways.core.text import cut_utf16, printable

    return (
        f"This {command} would publish a link to a Claude Code session, which others should not get:\n\n"
        f"    {cut_utf16(printable(line), MAX_LINE)}\n\n"
        "Run the same command again without that line. Nothing else about it needs to change. "
        "(The user can allow such links: ways settings set hooks.session_links allow)"
    )
