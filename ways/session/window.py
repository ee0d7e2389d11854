"""The size of a model's context window and where the number comes from (spec: disclosure, Refire)."""

from __future__ import annotations

import os

from ways.core import files, jsontext
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENV_OVERRIDE, MODEL_TABLE, DEFAULT = "env_override", "model_table", "default"
WITHOUT_1M = 200_000
WITH_1M = 1_000_000
_TABLE_FILE = "windows.json"
_TABLE_BYTES = 1 << 20
_MAX_MODEL = 400


@record
class Window:
    """`tokens` of the window, and its `source`: env_override, model_table or default."""

    tokens: int
    source: str


def resolve(model: str, environ: Mapping[str, str]) -> Window:
    """The window of the model with this id ("" when unknown)."""
    forced = environ.get("CLAUDE_CONTEXT_WINDOW", "").strip()
    if forced.isascii() and forced.isdigit() and 0 < len(forced) <= 12 and int(forced) > 0:
        return Window(int(forced), ENV_OVERRIDE)
    if environ.get("CLAUDE_CODE_DISABLE_1M_CONTEXT", "").strip() == "1":
        return Window(WITHOUT_1M, ENV_OVERRIDE)
    name = model.strip().lower()[:_MAX_MODEL]
    if "[1m]" in name:
        return Window(WITH_1M, MODEL_TABLE)
    return from_table(name, load_table())


def from_table(name: str, table: Mapping[str, object]) -> Window:
    """The entry of the table that `name` (in lower case) contains as a delimited component, the longest
    when several do; entries of `equal` must be the whole name."""
    equal, windows = table.get("equal"), table.get("windows")
    tokens = _tokens(equal.get(name)) if isinstance(equal, dict) else 0
    if not tokens and isinstance(windows, dict):
        for component in sorted(windows, key=len, reverse=True):
            if _contains(name, component):
                tokens = _tokens(windows[component])
                break
    if tokens:
        return Window(tokens, MODEL_TABLE)
    return Window(_tokens(table.get("default")) or WITHOUT_1M, DEFAULT)


def load_table() -> dict[str, object]:
    """The shipped table; {} when the file is missing or damaged (then every model has the default)."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), _TABLE_FILE)
    return jsontext.object_or_empty(files.read_bytes_or_none(path, _TABLE_BYTES))


def _tokens(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _contains(name: str, component: str) -> bool:
    """True when `component` stands in `name` with no letter or digit on either side."""
    at = name.find(component)
    while at >= 0:
        end = at + len(component)
        if not (at and name[at - 1].isalnum()) and not name[end : end + 1].isalnum():
            return True
        at = name.find(component, at + 1)
    return False
