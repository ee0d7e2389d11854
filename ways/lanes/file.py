"""PreToolUse Edit, Write and NotebookEdit (spec: hooks, `file`)."""

from __future__ import annotations

from ways.core.text import match_path
from ways.lanes import tool
from ways.lanes.allowed import allowed
from ways.lanes.payload import PayloadProblem
from ways.lanes.scan import Surface
from ways.matching.surfaces import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def run(context: Context) -> None:
    """Match the path of the edited file, with `/` separators on every system (case h25)."""
    path = context.payload.tool_text("notebook_path", "file_path")
    if not path:
        raise PayloadProblem("the tool's input has no path")
    if allowed(context):
        tool.run(context, Surface(FILE, match_path(path)))
