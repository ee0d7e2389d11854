"""Settings that keep every hook from running."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.session_home import Home
from ways.cli.hooks_off import managed_settings, switched_off
from ways.core.roots import resolve


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize(
    "place",
    ["target/settings.json", "p/.claude/settings.json", "p/.claude/settings.local.json", "managed.json"],
)
def test_all_hooks_switched_off_is_found_in_each_file(tmp_path: Path, place: str) -> None:
    arguments = (str(tmp_path / "target"), str(tmp_path / "p"), str(tmp_path / "managed.json"))
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    for text, expected in (
        ('{"disableAllHooks": true}', [(str(path), "disableAllHooks")]),
        ('{"disableAllHooks": false}', []),
        ('{"disableAllHooks": "true"}', []),
        ("[]", []),
        ("{broken", []),
    ):
        path.write_text(text)
        assert switched_off(*arguments) == expected


def test_only_the_administrator_can_allow_his_hooks_only(tmp_path: Path) -> None:
    text = json.dumps({"allowManagedHooksOnly": True})
    managed = tmp_path / "managed.json"
    (tmp_path / "settings.json").write_text(text)
    assert switched_off(str(tmp_path), "", str(managed)) == []
    managed.write_text(text)
    assert switched_off(str(tmp_path), "", str(managed)) == [(str(managed), "allowManagedHooksOnly")]
    assert managed_settings("darwin") != managed_settings("linux") != managed_settings("win32")


def test_doctor_says_that_no_hook_runs(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.claude.mkdir()
    (home.claude / "settings.json").write_text('{"disableAllHooks": true}')
    home.ways("reconcile")
    out = home.ways("doctor", "--no-hooks", code=1)
    assert f"{home.claude}/settings.json sets disableAllHooks" in out
    assert "Next: ways doctor" not in out, "what helps against a missing engine is something else"
    assert "Next: python3 build/from_source.py" in out


def test_doctor_says_which_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ways.cli import doctor

    roots = resolve({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    (tmp_path / "run").mkdir(mode=0o700)

    def usage(place: str) -> _Usage:
        return _Usage(100, 100, 0) if place.endswith("run") else _Usage(100, 50, 50)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    [finding] = doctor._roots(roots)
    assert (finding.subject, finding.state) == ("sessions", doctor.FAULT)
    assert f"{tmp_path}/run/claude-sessions is full" in finding.message
