"""The registry is complete, consistent and what the matcher uses."""

from __future__ import annotations

import pytest

from ways.disclosure.refire import PRESETS
from ways.gate.settings import shipped_profiles
from ways.matching.types import Tuning
from ways.settings import load, registry, values
from ways.settings.registry import BOOLEAN, SETTINGS, NotASetting, find, key_of


def test_keys_and_places_are_unique_and_described() -> None:
    assert len({setting.key for setting in SETTINGS}) == len(SETTINGS)
    assert len({(setting.file == registry.AGENT_FILE, setting.place) for setting in SETTINGS}) == len(
        SETTINGS
    )
    for setting in SETTINGS:
        assert setting.help.endswith(".") and "\n" not in setting.help and len(setting.help) <= 80, (
            setting.key
        )
        assert setting.scopes and set(setting.scopes) <= set(registry.EVERYWHERE)
        assert setting.type_text and setting.kind in values._CHECKS
        assert ("<" in setting.key) == any(part.startswith("<") for part in setting.place)


def test_every_default_is_a_value_that_may_be_set() -> None:
    for setting in SETTINGS:
        if setting.default is not None:
            assert values.check(setting, setting.default) == setting.default
            assert values.from_text(setting, values.to_text(setting.default)) == setting.default


def test_defaults_are_those_of_the_loaded_settings() -> None:
    plain = load.Settings()
    for key, (field, kind) in load._FIELDS.items():
        setting, _ = find(key)
        assert getattr(plain, field) == setting.default, key
        assert type(setting.default) is kind
    assert plain.refire_presets == PRESETS


def test_the_numbers_of_matching_are_the_matchers() -> None:
    names = {setting.key.removeprefix("matching.") for setting in SETTINGS if setting.group == "matching"}
    assert names == set(Tuning().__dict__)
    for name, default in Tuning().__dict__.items():
        assert find(f"matching.{name}")[0].default == default


def test_profile_fields_are_the_gates() -> None:
    fields = {setting.place[3] for setting in SETTINGS if setting.place[:2] == ("gate", "profiles")}
    assert fields == set(shipped_profiles()["anthropic"]) - {"extra_body"}


def test_a_project_may_set_nothing_that_reaches_beyond_it() -> None:
    allowed = {setting.group for setting in SETTINGS if registry.PROJECT in setting.scopes}
    assert allowed == {"ways", "matching", "refire_presets"}
    for setting in SETTINGS:
        if setting.file == registry.AGENT_FILE:
            assert setting.scopes == (registry.USER,)


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("ways.enabled", ("enabled",)),
        ("matching.near_miss_margin", ("near_miss_margin",)),
        ("ways.project.a/b.c", ("ways", "a/b.c")),
        ("ways.project.a/*", ("ways", "a/*")),
        ("refire_presets.daily", ("refire_presets", "daily")),
        ("gate.profiles.my.one.model", ("gate", "profiles", "my.one", "model")),
        ("gate.profiles.x.prices.input", ("gate", "profiles", "x", "prices", "input")),
    ],
)
def test_a_key_names_its_place(key: str, place: tuple[str, ...]) -> None:
    setting, found = find(key)
    assert found == place
    assert key_of(setting, found) == key


@pytest.mark.parametrize(
    "key",
    [
        "",
        "ways",
        "ways.",
        "ways.project.",
        "nonsense",
        "gate.profiles..model",
        "gate.profiles.model",
        "ways.project.<id>",
    ],
)
def test_other_keys_are_no_settings(key: str) -> None:
    with pytest.raises(NotASetting):
        find(key)


@pytest.mark.parametrize("word", ["true", "yes", "On", True])
def test_booleans_in_every_spelling(word: object) -> None:
    assert values.check(find("ways.enabled")[0], word) is True


WRONG = {
    "ways.enabled": ["maybe", 1, None, [], ""],
    "engine.threads": [0, 65, 1.5, "x", True, float("nan"), float("inf"), None],
    "matching.near_miss_margin": [-0.1, 1.1, "x", True, float("nan")],
    "language": ["", "a b", "x" * 36, "a\nb", 5, None],
    "hooks.tool_delivery": ["never", 5, None, True],
    "ways.default_scope": [[], ["agent", "x"], "x", 5, None],
    "ways.disabled_domains": [["a", 5], 5, ["x"] * 201, ["a\x1b"], None, {"a": 1}],
    "targets": [5, [5], [{}], [{"path": 5}], None],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, items in WRONG.items() for value in items])
def test_a_wrong_value_says_what_is_wanted(key: str, value: object) -> None:
    setting = find(key)[0]
    with pytest.raises(values.WrongValue, match="must be"):
        values.check(setting, value)


def test_typed_text_becomes_a_value() -> None:
    cases: dict[str, dict[str, object]] = {
        "ways.enabled": {"off": False, " TRUE ": True},
        "engine.threads": {"4": 4},
        "matching.near_miss_margin": {"0.1": 0.1, "1": 1.0},
        "ways.default_scope": {
            "agent": ("agent",),
            "agent, teammate": ("agent", "teammate"),
            "[subagent]": ("subagent",),
        },
        "ways.disabled_domains": {"": (), "a,b,a": ("a", "b")},
        "gate.mode": {"off": "off"},
    }
    for key, texts in cases.items():
        for text, value in texts.items():
            assert values.from_text(find(key)[0], text) == value
    for key, text in (("engine.threads", "4.5"), ("engine.threads", "x"), ("matching.near_miss_margin", "x")):
        with pytest.raises(values.WrongValue):
            values.from_text(find(key)[0], text)
    assert BOOLEAN == "boolean"
