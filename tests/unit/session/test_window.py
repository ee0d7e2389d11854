"""The context window and its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ways.session import window
from ways.session.window import Window, from_table, resolve

TABLE = "model_table"


@pytest.mark.parametrize("value", ["1000", " 123456 ", "200000"])
def test_the_environment_wins(value: str) -> None:
    environ = {"CLAUDE_CONTEXT_WINDOW": value, "CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}
    assert resolve("claude-sonnet-5[1m]", environ) == Window(int(value), "env_override")


@pytest.mark.parametrize("value", ["", "x", "-5", "0", "1e6", "1_000", "9" * 40, "٣"])
def test_what_does_not_parse_is_passed_over(value: str) -> None:
    assert resolve("claude-opus-5", {"CLAUDE_CONTEXT_WINDOW": value}) == Window(1_000_000, TABLE)


def test_the_large_window_can_be_switched_off() -> None:
    assert resolve("claude-opus-5[1m]", {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}) == Window(
        200_000, "env_override"
    )
    assert resolve("claude-opus-5", {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "0"}) == Window(1_000_000, TABLE)


@pytest.mark.parametrize(
    ("model", "tokens", "source"),
    [
        ("claude-fable-5", 1_000_000, TABLE),
        ("claude-mythos-5", 1_000_000, TABLE),
        ("claude-sonnet-5", 1_000_000, TABLE),
        ("claude-sonnet-5-20261001", 1_000_000, TABLE),
        ("claude-sonnet-55", 200_000, "default"),
        ("xclaude-sonnet-5", 200_000, "default"),
        ("claude-opus-4-7", 1_000_000, TABLE),
        ("claude-opus-4-8@20261001", 1_000_000, TABLE),
        ("claude-opus-5", 1_000_000, TABLE),
        ("claude-opus-5-5", 1_000_000, TABLE),
        ("claude-opus-4-1-20250805", 200_000, TABLE),
        ("claude-opus-4-10", 200_000, "default"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, TABLE),
        ("anthropic/claude-haiku-4-5", 200_000, TABLE),
        ("vertex:claude-opus-4-6@x", 200_000, TABLE),
        ("claude-sonnet-4-5[1m]", 1_000_000, TABLE),
        ("Claude-Opus-5", 1_000_000, TABLE),
        ("opus", 1_000_000, TABLE),
        ("sonnet", 1_000_000, TABLE),
        ("my-opus", 200_000, "default"),
        ("opusplan", 200_000, "default"),
        ("gpt-9", 200_000, "default"),
        ("", 200_000, "default"),
        ("x" * 5000, 200_000, "default"),
    ],
)
def test_models(model: str, tokens: int, source: str) -> None:
    assert resolve(model, {}) == Window(tokens, source)


def test_the_shipped_table_is_well_formed() -> None:
    path = Path(window.__file__).with_name("windows.json")
    table = json.loads(path.read_text("utf-8"))
    assert set(table) == {"default", "windows", "equal"}
    assert table == window.load_table()
    assert all(
        isinstance(tokens, int) and tokens > 0 for tokens in (table["windows"] | table["equal"]).values()
    )
    assert all(name == name.lower() for name in table["windows"] | table["equal"])


@pytest.mark.parametrize("table", [{}, {"windows": []}, {"windows": {"a": "x"}, "equal": 5, "default": -1}])
def test_a_damaged_table_means_the_default(table: dict[str, object]) -> None:
    assert from_table("a", table) == Window(200_000, "default")
