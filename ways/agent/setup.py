"""Setting the judge up: what a person is told, and the two keys that are written to `agent.yaml`."""

from __future__ import annotations

from dataclasses import dataclass

from ways.core import errors
from ways.core.errors import UserError
from ways.core.roots import Roots
from ways.gate import settings
from ways.gate.settings import ConfigError, Profile
from ways.settings import writer

EXPLANATION = """\
The relevance judge is a model at a provider of your choice. Before ways are shown for a prompt, it is
asked which of them the prompt really calls for; the others are held back.

What leaves this machine, for each prompt with matching ways: your prompt's last 1,200 characters{reply},
and the path and description of at most {max_candidates} ways. No session id, no project path, no file
contents, no bodies of ways. It goes to {base_url}.

What it costs: roughly a thousand tokens a judged prompt; `ways agent cost` shows the sum. When the judge
cannot be asked within {seconds:g} s, the ways are shown as without it. `ways agent key remove` ends it."""


@dataclass(frozen=True)
class Choice:
    """What was chosen: an engine profile and a mode."""

    engine: str
    mode: str


def explanation(profile: Profile) -> str:
    """What a person should know before a key is asked for."""
    return EXPLANATION.format(
        max_candidates=profile.max_candidates,
        reply=", Claude's last reply cut likewise" if profile.turns > 1 else "",
        base_url=profile.base_url,
        seconds=profile.timeout_ms / 1000 + 1.5,
    )


def write_choice(roots: Roots, choice: Choice) -> bool:
    """Set `gate.engine` and `gate.mode` in `agent.yaml`, keeping everything else as it stands. False when
    they hold already. Raises UserError, leaving the file as it was: a broken one is not ours to repair.
    """
    try:
        current = settings.load(roots.config)
    except ConfigError as error:
        raise UserError(str(error), "ways settings lint", errors.REFUSED) from error
    if (current.engine, current.mode) == (choice.engine, choice.mode):
        return False
    changes = {"gate.engine": choice.engine, "gate.mode": choice.mode}
    return writer.set_values(settings.path_of(roots.config), changes, state_root=roots.state)
