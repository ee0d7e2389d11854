"""Whether a key may be used: the free check and its record (spec: judge and agent, Keys).

The record lives in the state root and holds nothing of the key: it is tied to the key file's identity,
the model and the endpoint, and is stale when one of them changes.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict, dataclass

from ways.agent.keys import Key
from ways.agent.providers import provider as provider_named
from ways.agent.providers.base import NO_CREDIT, RATE_LIMITED, UNREACHABLE, VALID
from ways.agent.transport import DeadlinePassed, Transport, TransportError
from ways.core import clock, debuglog, files
from ways.core.roots import Roots
from ways.gate import paths
from ways.gate.settings import Profile

CHECK_SECONDS = 10.0
_RECHECK_SECONDS = {UNREACHABLE: 300.0, RATE_LIMITED: 300.0, NO_CREDIT: 3600.0}


@dataclass(frozen=True)
class Record:
    """The outcome of a check: of which key file, for which model at which endpoint, and when
    (seconds since the epoch)."""

    state: str
    detail: str
    checked_at: float
    key_identity: tuple[int, ...]
    model: str
    base_url: str

    def concerns(self, identity: tuple[int, ...] | None, profile: Profile) -> bool:
        """True when the key file, the model and the endpoint are still those that were checked."""
        same = (self.key_identity, self.model, self.base_url) == (identity, profile.model, profile.base_url)
        return same and identity is not None

    def usable(self) -> bool:
        """True when the key may be used."""
        return self.state == VALID

    def due(self, now: float) -> bool:
        """True when the state is one that passes by itself and its time is over."""
        wait = _RECHECK_SECONDS.get(self.state)
        return wait is not None and not 0 <= now - self.checked_at < wait


def record_file(roots: Roots, provider: str) -> str:
    """Where a provider's record stands."""
    return os.path.join(paths.agent_folder(roots), f"key-check-{provider}.json")


def load(roots: Roots, provider: str) -> Record | None:
    """The stored record, None without one or when it cannot be read as one."""
    data = files.read_bytes_or_none(record_file(roots, provider), 1 << 14)
    if data is None:
        return None
    try:
        raw = json.loads(data)
        return Record(
            state=str(raw["state"]),
            detail=str(raw["detail"]),
            checked_at=float(raw["checked_at"]),
            key_identity=tuple(int(number) for number in raw["key_identity"]),
            model=str(raw["model"]),
            base_url=str(raw["base_url"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        # A damaged record is no record: the key is checked again.
        return None


def store(roots: Roots, provider: str, record: Record) -> None:
    """Keep a record. One that cannot be kept is checked again by the next process."""
    try:
        files.make_private(paths.agent_folder(roots))
        files.write_atomic(record_file(roots, provider), json.dumps(asdict(record)).encode())
    except OSError as error:
        debuglog.note(roots.state, "agent", f"a key check cannot be recorded: {error}")


def forget(roots: Roots, provider: str) -> None:
    """Drop a record, so that the key is checked before its next use."""
    try:
        files.remove_if_there(record_file(roots, provider))
    except OSError as error:
        debuglog.note(roots.state, "agent", f"a key check cannot be forgotten: {error}")


async def check(transport: Transport, profile: Profile, key: Key) -> Record:
    """Ask the provider, for free, whether `key` may use the profile's model. Never raises for what the
    network or the provider does: that is the state `unreachable`."""
    provider = provider_named(profile.provider)
    deadline = asyncio.get_running_loop().time() + CHECK_SECONDS
    state, detail = UNREACHABLE, "no answer"
    for index, request in enumerate(provider.check_requests(profile, key.value)):
        try:
            response = await transport.send(request, deadline)
        except DeadlinePassed:
            state, detail = UNREACHABLE, f"no answer within {CHECK_SECONDS:g} s"
            break
        except TransportError as error:
            state, detail = UNREACHABLE, error.detail
            break
        finding = provider.read_check(index, response.status, response.body)
        if finding.state is not None:
            state, detail = finding.state, finding.detail
            break
    return record_now(state, detail, profile, key)


def record_now(state: str, detail: str, profile: Profile, key: Key) -> Record:
    """A record of what has just been learnt about `key`."""
    return Record(state, detail, clock.now(), key.identity, profile.model, profile.base_url)
