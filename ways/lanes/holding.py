"""Matches that wait for the end of their tool call, as data and back (setting `hooks.tool_delivery`)."""

from __future__ import annotations

from ways.lanes.rules import is_switched_on
from ways.lanes.showing import Showing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ways.lanes.context import Context


def document_of(wanted: Iterable[Showing]) -> dict[str, object]:
    """Showings as plain data, to be kept until the tool has ended."""
    return {
        "showings": [
            {
                "way": showing.way.id,
                "trigger": showing.trigger,
                "boosted_by": showing.boosted_by,
                "check": showing.check is not None,
                "fields": [list(pair) for pair in showing.fields],
                "text": showing.text,
            }
            for showing in wanted
            if showing.way is not None
        ]
    }


def take(context: Context) -> list[Showing]:
    """What the tool lanes kept for this tool call, once (setting `hooks.tool_delivery`)."""
    if context.session is None or not context.payload.tool_use_id:
        return []
    from ways.session import held

    document = held.take(context.session, context.payload.tool_use_id)
    rows = document.get("showings") if document is not None else None
    found: list[Showing] = []
    for row in rows if isinstance(rows, list) else []:
        way = context.catalogue.find(str(row.get("way", ""))) if isinstance(row, dict) else None
        if way is None or not is_switched_on(context, way):
            continue
        check = None
        if row.get("check"):
            check = next((item for item in context.catalogue.checks if item.id == way.id), None)
            if check is None:
                continue
        pairs = row.get("fields")
        fields = tuple((str(p[0]), p[1]) for p in pairs if len(p) == 2) if isinstance(pairs, list) else ()
        found.append(
            Showing(
                way=way,
                trigger=str(row.get("trigger", "")),
                boosted_by=str(row.get("boosted_by", "")),
                check=check,
                fields=fields,
                text=str(row.get("text", "")) if check is not None else "",
            )
        )
    return found
