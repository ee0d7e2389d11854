"""SessionStart (startup), in the Windows wiring: bring the embeddings up to date, in the background.

On POSIX the adapter `corpus-refresh.sh` does the same without this lane.
"""

from __future__ import annotations

from ways.lanes import background

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def run(context: Context) -> None:
    """Start `ways corpus --if-stale --quiet`."""
    background.start(context, ["corpus", "--if-stale", "--quiet"])
