"""What a lane hands to the gate and what it gets back."""

from __future__ import annotations

from ways.core.record import record
from ways.core.roots import Roots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROMPT, QUEUED = "prompt", "queued"
ENFORCE, SHADOW, OFF = "enforce", "shadow", "off"
MODES = (ENFORCE, SHADOW, OFF)


@record
class GateHit:
    """A way that would be shown. `strict`: it fired on `pattern_strict`, so it is never judged.
    `ancestors`: ids of all possible ancestors (they need not exist)."""

    id: str
    description: str = ""
    strict: bool = False
    ancestors: tuple[str, ...] = ()
    trigger: str = ""


@record
class GateRequest:
    """One scan to be judged: the ordered hits, the prompt and Claude's last reply ("" when unknown).

    The fields below `last_reply` are for events only: they never leave the machine.
    """

    roots: Roots
    surface: str
    hits: tuple[GateHit, ...]
    prompt: str
    last_reply: str = ""
    session: str = ""
    project: str = ""
    agent_id: str = ""
    model: str = ""
    scope: str = ""
    hook: str = ""
    config_dir: str = ""


@record
class GateOutcome:
    """`blocked`: ids that must not be shown. `would_block`: ids that shadow mode would have blocked;
    they are shown. `events`: event records to append, in order."""

    blocked: frozenset[str] = frozenset()
    would_block: frozenset[str] = frozenset()
    events: tuple[Mapping[str, str], ...] = ()


NOTHING = GateOutcome()
