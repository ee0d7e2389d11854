"""`gate:` in agent.yaml: what is taken, and what turns the gate off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ways.core import clock, roots
from ways.core.roots import Roots
from ways.gate import hook_settings, settings
from ways.gate.settings import ConfigError, is_loopback, parse, parse_text


@pytest.fixture
def home(tmp_path: Path) -> Roots:
    names = {
        f"WAYS_{name.upper()}_ROOT": str(tmp_path / name) for name in ("app", "config", "state", "cache")
    }
    resolved = roots.resolve({**names, "HOME": str(tmp_path)})
    Path(resolved.config).mkdir()
    return resolved


def test_without_a_file_the_shipped_profiles_hold(home: Roots) -> None:
    gate = settings.load(home.config)
    assert (gate.mode, gate.engine, gate.concurrency) == ("enforce", "anthropic", 4)
    assert set(gate.profiles) == {"anthropic", "openrouter"}
    for profile in gate.profiles.values():
        assert (profile.threshold, profile.turns, profile.max_candidates) == (0.3, 1, 8)
        assert (profile.timeout_ms, profile.temperature) == (2000, 0)
        assert profile.base_url.startswith("https://")
        assert profile.price_input is not None
        assert profile.price_output is not None


@pytest.mark.parametrize(
    "text", ["", "\n", "# only a comment\n", "gate:\n", "gate: {}\n", "other: 1\n", "\ufeffgate:\n"]
)
def test_an_empty_section_is_the_default(text: str) -> None:
    assert parse_text(text.encode()) == parse({})


def test_a_bare_off_is_off() -> None:
    # YAML 1.1 reads it as false.
    assert parse_text(b"gate:\n  mode: off\n").mode == "off"
    assert parse_text(b"gate:\n  mode: 'off'\n").mode == "off"
    with pytest.raises(ConfigError):
        parse_text(b"gate:\n  mode: on\n")


def test_fields_override_and_profiles_are_added() -> None:
    gate = parse(
        {
            "engine": "mine",
            "profiles": {
                "anthropic": {"threshold": 0.5},
                "mine": {"provider": "openrouter", "model": "a/b", "base_url": "https://gw.example/x/"},
                "empty": None,
            }
            | {"empty": {"provider": "anthropic"}},
        }
    )
    assert gate.profiles["anthropic"].threshold == 0.5
    assert gate.profiles["anthropic"].model == "claude-haiku-4-5"
    assert (gate.profile.name, gate.profile.provider, gate.profile.model) == ("mine", "openrouter", "a/b")
    assert gate.profile.base_url == "https://gw.example/x"
    assert gate.profiles["empty"].model == "claude-haiku-4-5"


def test_prices_and_temperature() -> None:
    def profile(**fields: Any) -> settings.Profile:
        return parse({"profiles": {"anthropic": fields}}).profile

    assert (profile(prices=[2, 3.5]).price_input, profile(prices=[2, 3.5]).price_output) == (2.0, 3.5)
    assert profile(prices=None).price_input is None
    assert profile(temperature=None).temperature is None
    assert profile(temperature="none").temperature is None
    assert profile(extra_body={"thinking": {"type": "disabled"}}).extra_body == {
        "thinking": {"type": "disabled"}
    }


@pytest.mark.parametrize(
    "gate, key",
    [
        ("text", "gate"),
        ({1: 2}, "gate"),
        ({"modes": "off"}, "gate.modes"),
        ({"mode": "Enforce"}, "gate.mode"),
        ({"mode": True}, "gate.mode"),
        ({"engine": 3}, "gate.engine"),
        ({"concurrency": 0}, "gate.concurrency"),
        ({"concurrency": True}, "gate.concurrency"),
        ({"profiles": []}, "gate.profiles"),
        ({"profiles": {"x y": {"provider": "anthropic"}}}, "gate.profiles.x y"),
        ({"profiles": {"new": {"model": "m"}}}, "gate.profiles.new.provider"),
        ({"profiles": {"anthropic": {"treshold": 1}}}, "gate.profiles.anthropic.treshold"),
        ({"profiles": {"anthropic": {"provider": "other"}}}, "gate.profiles.anthropic.provider"),
        ({"profiles": {"anthropic": {"threshold": 1.1}}}, "gate.profiles.anthropic.threshold"),
        ({"profiles": {"anthropic": {"threshold": float("nan")}}}, "gate.profiles.anthropic.threshold"),
        ({"profiles": {"anthropic": {"turns": 3}}}, "gate.profiles.anthropic.turns"),
        ({"profiles": {"anthropic": {"timeout_ms": 60000}}}, "gate.profiles.anthropic.timeout_ms"),
        ({"profiles": {"anthropic": {"max_candidates": 2.5}}}, "gate.profiles.anthropic.max_candidates"),
        ({"profiles": {"anthropic": {"model": ""}}}, "gate.profiles.anthropic.model"),
        ({"profiles": {"openrouter": {"model": "noslash"}}}, "gate.profiles.openrouter.model"),
        ({"profiles": {"anthropic": {"prices": {"input": 1}}}}, "gate.profiles.anthropic.prices"),
        ({"profiles": {"anthropic": {"prices": [1, -1]}}}, "gate.profiles.anthropic.prices"),
        (
            {"profiles": {"anthropic": {"extra_body": {"messages": []}}}},
            "gate.profiles.anthropic.extra_body.messages",
        ),
    ],
)
def test_every_mistake_is_an_error_with_its_key(gate: object, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(gate)
    assert ".".join(caught.value.key) == key


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "http://127.0.0.1.example.com",
        "http://localhost.example.com",
        "http://10.0.0.1",
        "ftp://127.0.0.1",
        "https://",
        "https://user:secret@example.com",
        "https://example.com/?x=1",
        "https://example.com/#f",
        "example.com",
        "https://a b",
        "file:///etc/passwd",
        7,
    ],
)
def test_a_key_is_sent_over_https_or_to_this_machine_only(url: object) -> None:
    with pytest.raises(ConfigError):
        parse({"profiles": {"anthropic": {"base_url": url}}})


@pytest.mark.parametrize(
    "url", ["https://gw.example", "http://127.0.0.1:80/x", "http://localhost", "http://[::1]:1"]
)
def test_usable_urls(url: str) -> None:
    assert parse({"profiles": {"anthropic": {"base_url": url}}}).profile.base_url == url


@pytest.mark.parametrize("authority", ["127.0.0.1", "127.9.9.9:80", "localhost:1", "[::1]:1", "[::1]"])
def test_loopback(authority: str) -> None:
    assert is_loopback(authority)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["mode", "engine", "profiles", "anthropic", "base_url", "prices", "x"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_document_is_settings_or_an_error(document: object) -> None:
    text = yaml.safe_dump({"gate": document})
    try:
        gate = parse_text(text.encode())
    except ConfigError as error:
        assert "\n" not in str(error)
        return
    assert gate.engine in gate.profiles


@given(st.binary(max_size=80))
def test_any_bytes_are_settings_or_an_error(data: bytes) -> None:
    try:
        parse_text(data)
    except ConfigError as error:
        assert str(error).startswith("agent.yaml")


def test_a_file_that_is_too_large_or_cannot_be_read(home: Roots) -> None:
    path = Path(home.config, "agent.yaml")
    path.write_bytes(b"#" * (settings.MAX_FILE + 1))
    with pytest.raises(ConfigError, match="larger than"):
        settings.load(home.config)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        settings.load(home.config)


# The cached parse


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files were changed long enough ago for their parse to be kept."""
    now = clock.now_ns
    monkeypatch.setattr(clock, "now_ns", lambda: now() + 10_000_000_000)


@pytest.mark.usefixtures("settled")
def test_the_parse_is_kept_until_the_file_changes(home: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(home.config, "agent.yaml")
    path.write_text("gate: {mode: shadow}\n")
    first = hook_settings.load(home)
    assert (first.mode, first.engine, first.provider) == ("shadow", "anthropic", "anthropic")
    with monkeypatch.context() as patch:
        patch.setattr(settings, "load", lambda _: pytest.fail("parsed again"))
        assert hook_settings.load(home) == first
    path.write_text("gate: {mode: enforce}\n")
    assert hook_settings.load(home).mode == "enforce"
    path.unlink()
    assert hook_settings.load(home).mode == "enforce"
    path.write_text("gate: [\n")
    broken = hook_settings.load(home)
    assert broken.error
    assert hook_settings.load(home) == broken


def test_a_file_that_has_just_changed_is_parsed_each_time(home: Roots) -> None:
    Path(home.config, "agent.yaml").write_text("gate: {mode: shadow}\n")
    assert hook_settings.load(home).mode == "shadow"
    assert not Path(home.cache, "gate.json").exists()


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize(
    "damage",
    [
        lambda stored: b"",
        lambda stored: b"{torn",
        lambda stored: b"[]",
        lambda stored: json.dumps({"key": stored["key"]}).encode(),
        lambda stored: json.dumps({**stored, "settings": {}}).encode(),
        lambda stored: json.dumps({**stored, "settings": {"mode": "on"}}).encode(),
        lambda stored: json.dumps({**stored, "settings": {**stored["settings"], "mode": "on"}}).encode(),
        lambda stored: json.dumps({**stored, "settings": {**stored["settings"], "threshold": "x"}}).encode(),
        lambda stored: json.dumps(
            {**stored, "settings": {**stored["settings"], "timeout_ms": 10**9}}
        ).encode(),
        lambda stored: json.dumps({**stored, "settings": {**stored["settings"], "more": 1}}).encode(),
    ],
)
def test_a_damaged_cache_is_parsed_anew(home: Roots, damage: Any) -> None:
    Path(home.config, "agent.yaml").write_text("gate: {mode: shadow}\n")
    good = hook_settings.load(home)
    cache = Path(home.cache, "gate.json")
    cache.write_bytes(damage(json.loads(cache.read_bytes())))
    assert hook_settings.load(home) == good


@pytest.mark.usefixtures("settled")
def test_the_cache_does_not_say_where_a_key_is_sent(home: Roots) -> None:
    Path(home.config, "agent.yaml").write_text("gate: {mode: shadow}\n")
    hook_settings.load(home)
    stored = json.loads(Path(home.cache, "gate.json").read_bytes())
    assert "https" not in json.dumps(stored["settings"])


@pytest.mark.usefixtures("settled")
def test_a_cache_that_cannot_be_written_changes_nothing(home: Roots) -> None:
    Path(home.config, "agent.yaml").write_text("gate: {mode: shadow}\n")
    Path(home.cache).write_text("not a folder")
    assert hook_settings.load(home).mode == "shadow"
    assert "cannot be kept" in Path(home.state, "debug.log").read_text()
