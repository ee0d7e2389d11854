"""PreToolUse Bash and PowerShell (spec: hooks, `command`)."""

from __future__ import annotations

from ways.lanes import tool
from ways.lanes.allowed import allowed
from ways.lanes.payload import PayloadProblem
from ways.lanes.scan import Surface
from ways.matching.surfaces import COMMAND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def run(context: Context) -> None:
    """Match the command, the tool's description, and what Claude said since the last human turn."""
    command = context.payload.tool_text("command")
    if not command:
        raise PayloadProblem("the tool's input has no command")
    if not allowed(context):
        return
    description = context.payload.tool_text("description")
    prose = context.read_transcript(prose=True).prose
    semantic = "\n".join(part for part in (command, description, prose) if part)
    tool.run(context, Surface(COMMAND, command, description, semantic, chunked=False))
