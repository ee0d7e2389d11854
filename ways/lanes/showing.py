"""What a lane wants to show. Apart from `ways.lanes.show`, which a hook loads when there is something."""

from __future__ import annotations

from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.catalogue.way import Check, Way


@record
class Showing:
    """One thing that a lane wants to show: a way, a check (`check` set, `way` its parent), core.md
    (`core`, `way` None) or a notice (`way` None, nothing is recorded). `once` ways do not ride the
    cadence: they show while unmarked. `fields` are the event's own; `text` is filled by `prepare`."""

    way: Way | None
    trigger: str = ""
    boosted_by: str = ""
    once: bool = False
    ignore_refire: bool = False
    check: Check | None = None
    core: bool = False
    fields: tuple[tuple[str, object], ...] = ()
    text: str = ""
    shown_before: bool = False
