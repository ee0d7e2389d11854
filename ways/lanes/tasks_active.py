"""PreToolUse TaskCreate: write the dormant marker (spec: hooks, `tasks-active`)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def run(context: Context) -> None:
    """Write `tasks-active`; nothing reads it yet."""
    if context.session is not None:
        context.session.mark_tasks_active()
