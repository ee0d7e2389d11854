"""The cap on provider calls in flight, across all sessions (spec: judge and agent, Agent)."""

from __future__ import annotations

import asyncio
from collections import deque

# Waiting requests a slot. Beyond it a request would only wait for its deadline.
QUEUE_PER_SLOT = 16


class Busy(Exception):
    """So many requests wait already that one more could not be served in time."""


class Slots:
    """First come, first served; `limit` is given with each request, because settings may change."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def queue(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    async def acquire(self, limit: int) -> None:
        """Take a slot, waiting for one. Raises Busy at once when too many wait already."""
        if self.in_flight < limit and not self._waiting:
            self.in_flight += 1
            return
        if len(self._waiting) >= limit * QUEUE_PER_SLOT:
            raise Busy
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The slot was handed over just as the wait was given up: hand it on.
                self.release(limit)
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def release(self, limit: int) -> None:
        """Give a slot back; the longest waiting request gets it."""
        self.in_flight -= 1
        while self._waiting and self.in_flight < limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)
