"""JSON for the hook's path, on the interpreter's own C scanner and encoder.

`import json` pulls in `re` and costs more than a whole hook; the accelerator module `_json` alone costs a
fraction of a millisecond. An interpreter without it (or with another signature) gets the real
`json` module, with the same results; `tests/unit/core/test_jsontext.py` compares the two.
"""

from __future__ import annotations

from ways.core.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"


class _Options:
    """What the C scanner reads from its context (the attributes of json.JSONDecoder)."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> object:
        raise ValueError(f"{name} is not JSON")


def _accelerated() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[Any], str]] | None:
    try:
        import _json

        scan = _json.make_scanner(_Options)  # type: ignore[arg-type,unused-ignore]
        encode = _json.make_encoder(
            None, _refuse, _json.encode_basestring_ascii, None, ":", ",", False, False, False
        )
        if scan('{"a":[1]}', 0) != ({"a": [1]}, 9) or "".join(encode({"a": [1]}, 0)) != '{"a":[1]}':
            return None
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return scan, lambda value: "".join(encode(value, 0))


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not JSON")


def _portable() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[Any], str]]:
    import json

    decoder = json.JSONDecoder(strict=False, parse_constant=_Options.parse_constant)
    encoder = json.JSONEncoder(check_circular=False, allow_nan=False, separators=(",", ":"), default=_refuse)
    return decoder.scan_once, encoder.encode  # type: ignore[attr-defined]


_scan, _encode = _accelerated() or _portable()


def loads(source: str | bytes) -> Any:
    """The one JSON value in `source` (bytes are read as UTF-8 with replacement, a BOM is dropped).

    Control characters inside strings are tolerated. Raises ValueError for anything that is not
    exactly one value, NaN and Infinity included, and for nesting or digits beyond the interpreter's
    limits.
    """
    if isinstance(source, bytes):
        source = (source[3:] if source.startswith(b"\xef\xbb\xbf") else source).decode("utf-8", "replace")
    source = source.strip(_SPACE)
    value, end = _value_at_start(source)
    if end != len(source):
        raise ValueError(f"more text after the JSON value at character {end}")
    return value


def first_value(source: str) -> Any:
    """The JSON value at the beginning of `source`, whatever follows it. Raises ValueError as loads does."""
    return _value_at_start(source.lstrip(_SPACE))[0]


def _value_at_start(source: str) -> tuple[Any, int]:
    """The value at the very beginning of `source`, and where it ends. Raises ValueError."""
    try:
        return _scan(source, 0)
    except StopIteration as error:
        raise ValueError(f"no JSON value at character {error.value}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except SystemError:
        # Up to Python 3.11 the C scanner takes its error class from `json.decoder`, and fails without an
        # error of its own while nobody has imported that module, which a hook does not.
        raise ValueError("the JSON is broken or cut off") from None


def loads_or_none(source: str | bytes | None) -> Any:
    """As loads, None when there is no source or it is not JSON."""
    if source is None:
        return None
    try:
        return loads(source)
    except ValueError:
        return None


def object_or_empty(source: str | bytes | None) -> dict[str, Any]:
    """The JSON object in `source`, {} for anything else: how a damaged state file is read."""
    value = loads_or_none(source)
    return value if isinstance(value, dict) else {}


def dumps(value: Any) -> str:
    """Compact ASCII-escaped JSON. Raises TypeError or ValueError for what JSON cannot hold (NaN too)."""
    return _encode(value)


def dump_bytes(value: Any) -> bytes:
    """As dumps, with a final newline, for a file."""
    return dumps(value).encode("ascii") + b"\n"


def clean_tree(value: Any) -> Any:
    """The same document with lone surrogates and NUL replaced in every string, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): clean_tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_tree(item) for item in value]
    return value
