"""Checking and spelling the values of settings."""

from __future__ import annotations

from ways.settings.registry import (
    BOOLEAN,
    CHOICE,
    CHOICES,
    INTEGER,
    LIST,
    MAX_TEXT,
    NUMBER,
    TEXT,
    WORDS,
    Setting,
)

# YAML 1.1 reads these words as booleans and YAML 1.2 as text; people write both.
_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})


class WrongValue(ValueError):
    """The value is not what the setting takes; the text says what it takes."""


def check(setting: Setting, value: object) -> object:
    """The value in its one form (list settings as tuples). Raises WrongValue."""
    checked = _CHECKS[setting.kind](setting, value)
    if checked is None:
        raise WrongValue(f"must be {setting.type_text}")
    return checked


def from_text(setting: Setting, text: str) -> object:
    """The value that somebody typed on a command line; lists are comma-separated. Raises WrongValue."""
    text = text.strip()
    if setting.kind in {CHOICES, WORDS}:
        return check(setting, [part.strip() for part in text.strip("[]").split(",") if part.strip()])
    if setting.kind == INTEGER:
        return check(setting, int(text) if is_whole(text) else text)
    if setting.kind == NUMBER:
        try:
            return check(setting, float(text))
        except ValueError as error:
            raise WrongValue(f"must be {setting.type_text}") from error
    return check(setting, text)


def to_text(value: object) -> str:
    """A value as it is shown and typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(to_text(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def is_whole(text: str) -> bool:
    """True for decimal digits with or without a sign, at most 12 of them."""
    digits = text[1:] if text[:1] in {"-", "+"} else text
    return digits.isascii() and digits.isdigit() and len(digits) <= 12


def _boolean(_setting: Setting, value: object) -> object:
    if isinstance(value, bool):
        return value
    word = value.lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def _number(setting: Setting, value: object) -> object:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not setting.low <= value <= setting.high
    ):
        return None
    return float(value)


def _integer(setting: Setting, value: object) -> object:
    number = _number(setting, value)
    return int(number) if isinstance(number, float) and number.is_integer() else None


def _text(setting: Setting, value: object) -> object:
    limit = int(setting.high) or MAX_TEXT
    if not isinstance(value, str) or not 0 < len(value) <= limit or not value.isprintable() or " " in value:
        return None
    return value


def _choice(setting: Setting, value: object) -> object:
    if value is False and "off" in setting.choices:
        return "off"
    return value if isinstance(value, str) and value in setting.choices else None


def _choices(setting: Setting, value: object) -> object:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not setting.low <= len(names) <= setting.high:
        return None
    if not all(isinstance(name, str) and name in setting.choices for name in names):
        return None
    return tuple(dict.fromkeys(names))


def _words(setting: Setting, value: object) -> object:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or len(words) > setting.high:
        return None
    if not all(isinstance(word, str) and 0 < len(word) <= MAX_TEXT and word.isprintable() for word in words):
        return None
    return tuple(dict.fromkeys(words))


def _list(setting: Setting, value: object) -> object:
    """Entries are checked by their owner (`ways target`); here only their outline is."""
    if not isinstance(value, list | tuple) or len(value) > setting.high:
        return None
    rows = tuple({"path": row} if isinstance(row, str) else row for row in value)
    return rows if all(isinstance(row, dict) and isinstance(row.get("path"), str) for row in rows) else None


_CHECKS = {
    BOOLEAN: _boolean,
    NUMBER: _number,
    INTEGER: _integer,
    TEXT: _text,
    CHOICE: _choice,
    CHOICES: _choices,
    WORDS: _words,
    LIST: _list,
}
