"""What the command and file lanes share: bump, scan, checks, show now or after the tool."""

from __future__ import annotations

from ways.lanes import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context
    from ways.lanes.scan import Surface
    from ways.lanes.showing import Showing


def run(context: Context, surface: Surface) -> None:
    """Bump the epoch, scan the surface, then show its ways and the checks that are due."""
    context.bump_epoch()
    reading = scan.read(context, surface)
    wanted = scan.showings(reading, surface)
    if reading.checks or reading.lanes:
        from ways.lanes import checks

        wanted.extend(checks.due(context, reading, wanted))
    if wanted and not _hold(context, wanted):
        from ways.lanes import show

        show.deliver(context, show.prepare(context, wanted, context.scope))


def _hold(context: Context, wanted: list[Showing]) -> bool:
    """Keep the matches for the tool's end where that is how context arrives. False: show now."""
    from ways.lanes import delivery

    if context.session is None or not delivery.after_tool(context):
        return False
    from ways.lanes import holding
    from ways.session import held

    return held.hold(context.session, context.payload.tool_use_id, holding.document_of(wanted))
