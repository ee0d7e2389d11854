"""From what somebody types to the inboxes it means."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ways.attend import inbox
from ways.attend.peers import Peer, groups_of
from ways.core.errors import USAGE, WRONG, UserError
from ways.core.text import printable

SHORTEST_ID = 6
PEOPLE = frozenset({"person", "user", "me"})


@dataclass(frozen=True)
class Recipient:
    """One inbox: its key and what its owner is called."""

    key: str
    name: str


def resolve(address: str, peers: Sequence[Peer], sender: str) -> list[Recipient]:
    """The inboxes of an address: `@group`, `person`, a name, a session id or its beginning, a project's path.

    The sender (a session id, "" for the person) is left out of a group. Raises UserError.
    """
    if address in PEOPLE:
        return [Recipient(inbox.PERSON, "person")]
    if address.startswith("@"):
        members = [peer for peer in peers if address[1:] in groups_of(peer) and peer.session != sender]
        if not members:
            raise UserError(f"nobody else is in the group {printable(address)}", "ways attend peers", WRONG)
        return [Recipient(peer.session, peer.name) for peer in members]
    found = [peer for peer in peers if peer.session == address] or [
        peer for peer in peers if peer.name == address and peer.session != sender
    ]
    if not found and len(address) >= SHORTEST_ID:
        found = [peer for peer in peers if peer.session.startswith(address)]
    if not found and os.path.isabs(address):
        found = [
            peer for peer in peers if peer.project == os.path.normpath(address) and peer.session != sender
        ]
    if not found:
        raise UserError(f"no session is called {printable(address)!r}", "ways attend peers", WRONG)
    if len(found) > 1:
        ids = ", ".join(peer.session[:13] for peer in found[:6])
        raise UserError(
            f"{printable(address)!r} are {len(found)} sessions: {ids}", "ways attend send SESSION TEXT", USAGE
        )
    return [Recipient(found[0].session, found[0].name)]
