"""`ways target`: the list, and what follows from changing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.reconcile_home import ScratchHome
from tests.unit.projection.world import tree

CONFIG = ".config/agent-ways/config.yaml"


@pytest.fixture
def home(tmp_path: Path) -> ScratchHome:
    return ScratchHome(tmp_path / "home")


def states(home: ScratchHome) -> dict[str, str]:
    return {Path(row["path"]).name: row["state"] for row in home.json("target", "list")}


def test_list_shows_the_implicit_default(home: ScratchHome) -> None:
    [row] = home.json("target", "list")
    assert set(row) == {"path", "key", "enabled", "observe", "state", "config"}
    assert (row["path"], row["enabled"], row["state"]) == (str(home.path / ".claude"), True, "pending")
    assert row["key"] in home.ways("target", "list").stdout


def test_add_writes_the_list_down_with_the_default_in_it(home: ScratchHome) -> None:
    home.write(CONFIG, "# mine\nlanguage: en\n")
    shown = home.ways("target", "add", "~/work claude").stdout
    assert "link     hooks/ways" in shown and "added" in shown
    assert states(home) == {".claude": "pending", "work claude": "active"}
    assert (home.path / CONFIG).read_text().startswith("# mine\nlanguage: en\n")
    assert not (home.path / ".claude").exists()
    home.ways("reconcile")
    assert states(home) == {".claude": "active", "work claude": "active"}


def test_add_stops_before_anything_when_something_of_the_users_is_in_the_way(home: ScratchHome) -> None:
    home.write("other/skills/ways-authoring/SKILL.md", "mine")
    home.write("other/hooks/ways/own.md", "mine")
    before = tree(home.path / "other")
    done = home.ways("target", "add", "~/other", code=3)
    assert f"{home.path}/other/hooks/ways is a folder of yours" in done.stderr
    assert tree(home.path / "other") == before
    assert not (home.path / CONFIG).exists()


def test_a_target_inside_another_is_refused(home: ScratchHome) -> None:
    assert "inside the target" in home.ways("target", "add", "~/.claude/inner", code=3).stderr
    assert "inside" in home.ways("target", "add", "~", code=3).stderr
    assert not (home.path / CONFIG).exists()


def test_plan_changes_nothing_and_tells_by_its_exit_code(home: ScratchHome) -> None:
    home.write("other/bin/ways", "mine")
    before = tree(home.path)
    assert "refused  " in home.ways("target", "plan", "~/other", code=3).stdout
    plan = home.json("target", "plan", "~/fresh")
    assert plan["roots"]["hooks/ways"] == "link"
    assert plan["settings"]["added"]
    assert tree(home.path) == before


def test_case_s07_disable_enable_and_remove_one_of_two(home: ScratchHome) -> None:
    home.write("a/settings.json", '{"model": "a"}\n')
    before = tree(home.path / "a")
    home.ways("target", "add", "~/a")
    home.ways("target", "add", "~/b")
    served, other = tree(home.path / "a"), tree(home.path / "b")
    key = next(row["key"] for row in home.json("target", "list") if row["path"].endswith("/a"))
    home.ways("target", "disable", key)
    assert tree(home.path / "a") == before
    assert states(home)["a"] == "withdrawn"
    home.ways("target", "enable", str(home.path / "x/../a/"))
    assert tree(home.path / "a") == served
    home.ways("target", "remove", "~/a")
    assert tree(home.path / "a") == before
    assert "a" not in states(home)
    assert tree(home.path / "b") == other


def test_no_apply_only_records(home: ScratchHome) -> None:
    home.ways("target", "add", "~/a", "--no-apply", "--no-observe")
    assert not (home.path / "a").exists()
    row = next(row for row in home.json("target", "list") if row["path"].endswith("/a"))
    assert (row["state"], row["observe"], row["enabled"]) == ("pending", False, True)
    home.ways("reconcile")
    served = tree(home.path / "a")
    home.ways("target", "disable", "~/a", "--no-apply")
    assert tree(home.path / "a") == served
    assert states(home)["a"] == "pending"
    home.ways("target", "remove", "~/a", "--no-apply")
    assert tree(home.path / "a") == served
    assert states(home)["a"] == "stale"


def test_remove_keeps_the_entry_when_withdrawing_fails(home: ScratchHome) -> None:
    home.ways("target", "add", "~/a")
    home.write("a/settings.json", "{ broken")
    before = tree(home.path / "a")
    assert "settings.json:1:3" in home.ways("target", "remove", "~/a", code=3).stderr
    assert tree(home.path / "a") == before
    assert states(home)["a"] == "refused"


@pytest.mark.parametrize("command", ["enable", "disable", "remove"])
def test_what_is_not_listed_is_named(home: ScratchHome, command: str) -> None:
    done = home.ways("target", command, "~/nowhere", code=1)
    assert "~/nowhere is not in the list of targets" in done.stderr
    assert "Next: ways target list" in done.stderr


def test_drift_and_interruption_show_as_states(home: ScratchHome) -> None:
    home.ways("reconcile")
    (home.path / ".claude/hooks/ways").unlink()
    assert states(home) == {".claude": "stale"}
    [record] = (home.path / ".local/state/agent-ways/projection").glob("*/record.json")
    record.write_text(record.read_text().replace('"phase": "done"', '"phase": "applying"'))
    assert states(home) == {".claude": "partial"}
    home.ways("reconcile")
    assert states(home) == {".claude": "active"}
