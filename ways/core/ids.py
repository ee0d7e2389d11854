"""Which ids may become paths (spec: roots and files, "A session id … becomes a path only after")."""

from __future__ import annotations

_ID_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_DEVICE_NAMES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{stem}{digit}" for stem in ("com", "lpt") for digit in "0123456789¹²³"]
)
MAX_ID = 128
MAX_WAY_ID = 512


def is_session_id(value: object) -> bool:
    """True for 1 to 128 characters of `A-Z a-z 0-9 . _ -`, not starting with a dot.

    The same rule holds for agent ids. Windows device names and a final dot are refused too, because
    the directory they name is not the one that was asked for.
    """
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_ID:
        return False
    return value[0] != "." and value[-1] != "." and _ID_CHARACTERS.issuperset(value) and not is_device(value)


def is_device(segment: str) -> bool:
    """True for a reserved Windows device name, with or without an extension."""
    return segment.split(".", 1)[0].rstrip(" ").lower() in _DEVICE_NAMES


def is_way_id(value: object) -> bool:
    """True when every segment of the way id may be a directory name on every platform."""
    if not isinstance(value, str) or not value or len(value) > MAX_WAY_ID:
        return False
    return all(is_way_segment(segment) for segment in value.split("/"))


def is_way_segment(segment: str) -> bool:
    """True for one usable segment: not empty, `.` or `..`, no separator, colon, NUL or control
    character, not a device name, and no trailing dot or space (Windows drops those)."""
    if not segment or segment in {".", ".."} or len(segment) > 255 or segment[-1] in ". ":
        return False
    if any(character in '/\\:*?"<>|' or ord(character) < 32 for character in segment):
        return False
    return not is_device(segment)
