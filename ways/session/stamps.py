"""Timestamps of transcript rows as numbers, without the datetime module's import."""

from __future__ import annotations


def seconds_of(stamp: object) -> float | None:
    """Seconds since the epoch of an ISO 8601 time (`2026-11-30T20:45:00.123Z`, also with an offset or
    without a fraction); None for anything else. A time without a zone counts as UTC."""
    if not isinstance(stamp, str) or not 19 <= len(stamp) <= 40 or not stamp.isascii():
        return None
    if stamp[4] != "-" or stamp[7] != "-" or stamp[10] not in "Tt " or stamp[13] != ":" or stamp[16] != ":":
        return None
    fields = (stamp[0:4], stamp[5:7], stamp[8:10], stamp[11:13], stamp[14:16], stamp[17:19])
    if not all(field.isdigit() for field in fields):
        return None
    year, month, day, hour, minute, second = map(int, fields)
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute <= 59 and second <= 60):
        return None
    rest = stamp[19:]
    fraction = 0.0
    if rest.startswith("."):
        digits = 1
        while digits < len(rest) and rest[digits].isdigit():
            digits += 1
        if digits == 1:
            return None
        fraction, rest = float(f"0{rest[:digits]}"), rest[digits:]
    offset = _offset(rest)
    if offset is None:
        return None
    return _days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second + fraction - offset


def _offset(zone: str) -> int | None:
    """Seconds east of UTC."""
    if zone in {"", "Z", "z"}:
        return 0
    digits = zone[1:].replace(":", "")
    if zone[0] not in "+-" or len(digits) != 4 or not digits.isdigit():
        return None
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return seconds if zone[0] == "+" else -seconds


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar (Hinnant's days-from-civil)."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146097 + day_of_era - 719468
