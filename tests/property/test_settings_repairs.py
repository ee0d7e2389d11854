"""A repair never costs a setting that held, and what emit writes reads back."""

from __future__ import annotations

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.settings import document, parsing, repairs, values
from ways.settings.editing import CannotEdit
from ways.settings.effective import SettingsFile
from ways.settings.parsing import Unreadable
from ways.settings.registry import LIST, SETTINGS, USER

NAMES = [
    "enabled",
    "enbaled",
    "ways.enabled",
    "macro",
    "macr",
    "timeout_ms",
    "timeout",
    "language",
    "languag",
    "x",
]
scalars = (
    st.booleans()
    | st.integers(0, 9_000)
    | st.sampled_from(["yes", "'5'", "de", "Off", ""])
    | st.text(max_size=4)
)
documents = st.dictionaries(
    st.sampled_from(NAMES), scalars | st.dictionaries(st.sampled_from(NAMES), scalars, max_size=3), max_size=5
)


@settings(deadline=None)
@given(documents)
def test_a_repair_takes_nothing_away(content: dict[str, object]) -> None:
    text = yaml.safe_dump(content, sort_keys=False)
    layer = parsing.parse(text.encode("utf-8"), "f", USER)
    try:
        planned = repairs.plan(SettingsFile(USER, "f", layer), text)
    except Unreadable:
        return
    faults = len(layer.diagnostics)
    for one in planned:
        try:
            text = repairs.repaired(text, one)
        except CannotEdit:
            continue
        after = parsing.parse(text.encode("utf-8"), "f", USER)
        assert {key: after.values.get(key) for key in layer.values} == layer.values
        assert len(after.diagnostics) < faults
        layer, faults = after, len(after.diagnostics)


plain = [one for one in SETTINGS if "<" not in one.key and one.kind != LIST and USER in one.scopes]


@settings(deadline=None)
@given(
    st.sampled_from(plain),
    st.integers(0, 100)
    | st.booleans()
    | st.floats(0, 1)
    | st.text(max_size=6)
    | st.lists(st.text(max_size=5), max_size=3),
)
def test_what_is_emitted_reads_back(setting: object, value: object) -> None:
    assert hasattr(setting, "key")
    try:
        checked = values.check(setting, value)  # type: ignore[arg-type]
    except values.WrongValue:
        return
    text = document.emitted({setting.key: checked}, USER)
    found, faults = document.read(text.encode("utf-8"), "f", USER)
    assert not faults
    assert {key: tuple(item) if isinstance(item, list) else item for key, item in found.items()} == {
        setting.key: checked
    }
