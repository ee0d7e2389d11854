"""Time, in one place so that a test can replace it."""

from __future__ import annotations

import time


def now() -> float:
    """Seconds since the epoch."""
    return time.time()


def now_ns() -> int:
    """Nanoseconds since the epoch."""
    return time.time_ns()


def utc_iso(seconds: float | None = None) -> str:
    """UTC ISO 8601 with milliseconds and `Z`, the `ts` of every event (spec: telemetry)."""
    moment = now() if seconds is None else seconds
    whole = int(moment // 1)
    millis = int((moment - whole) * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{millis:03d}Z"


def utc_stamp(seconds: float | None = None) -> str:
    """UTC as `20261130T204500Z`, for names of folders and backups."""
    moment = now() if seconds is None else seconds
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(int(moment)))
