"""SessionStart (startup), in the Windows wiring: show the notice of a newer release that the last look-up
left, and start the next look-up in the background (spec: installer, "Auto-check").

On POSIX the adapter `check-config-updates.sh` does the same without this lane.
"""

from __future__ import annotations

import os

from ways.core import files
from ways.lanes import answer, background

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context

NOTICE = "update-notice.json"  # written by installer.notice as a complete answer
_MOST_BYTES = 1 << 16
_OFF = frozenset({"", "0", "false", "no", "off"})


def run(context: Context) -> None:
    """Print the notice as it is unless updates are switched off; whether to look at all is the look-up's to
    decide."""
    if all(context.environ.get(name, "").lower() in _OFF for name in ("DISABLE_UPDATES", "CI")):
        notice = files.read_bytes_or_none(os.path.join(context.roots.state, NOTICE), _MOST_BYTES)
        if notice:
            answer.write(notice)
    answer.close_output()
    background.start(context, ["update", "--check", "--quiet"])
