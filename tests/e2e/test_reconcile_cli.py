"""`ways reconcile` as a person or a script runs it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.e2e.reconcile_home import ScratchHome
from tests.unit.projection.world import times, tree


@pytest.fixture
def home(tmp_path: Path) -> ScratchHome:
    return ScratchHome(tmp_path / "home")


def test_a_fresh_home_is_served_and_a_second_run_does_nothing(home: ScratchHome) -> None:
    first = home.ways("reconcile")
    assert "link " in first.stdout and first.stderr == ""
    before, stamps = tree(home.path), times(home.path)
    second = home.ways("reconcile")
    assert second.stdout == "Nothing to do: the target is as it should be.\n"
    assert home.ways("reconcile", "--quiet").stdout == ""
    assert home.ways("reconcile", "--check").stdout == second.stdout
    assert (tree(home.path), times(home.path)) == (before, stamps)


def test_the_installed_program_finds_everything_as_it_should_be(home: ScratchHome) -> None:
    home.ways("reconcile")
    before = tree(home.path)
    program = home.path / ".claude/bin/ways"
    environ = {"HOME": str(home.path), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(home.path / "run")}
    done = subprocess.run(
        [program, "reconcile"], env=environ, capture_output=True, text=True, check=False, cwd="/"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Nothing to do: the target is as it should be.\n"
    assert tree(home.path) == before


def test_case_s19_a_dry_run_touches_nothing(home: ScratchHome) -> None:
    home.write(".claude/settings.json", '{"model": "opus"}')
    home.write(".claude/hooks/ways/own.md", "mine")
    home.write(".config/agent-ways/config.yaml", "targets: [~/.claude, ~/other]\n")
    before, stamps = tree(home.path), times(home.path)
    for arguments in (["--dry-run"], ["--dry-run", "--force"], ["--dry-run", "--mode", "copy", "--json"]):
        home.ways("reconcile", *arguments)
    home.ways("reconcile", "--check", code=3)
    home.ways("target", "plan", "~/third")
    home.ways("target", "list")
    home.ways("manifest")
    assert (tree(home.path), times(home.path)) == (before, stamps)


def test_a_dry_run_shows_the_plan_refusals_included(home: ScratchHome) -> None:
    home.write(".claude/hooks/ways/own.md", "mine")
    shown = home.ways("reconcile", "--dry-run").stdout
    assert f"refused  {home.path}/.claude/hooks/ways is a folder of yours" in shown
    assert "link     bin/ways" in shown
    assert "added UserPromptSubmit" in shown


def test_what_the_plan_does_not_name_is_not_touched(home: ScratchHome) -> None:
    home.write("documents/notes.txt", "notes")
    home.write(".claude/projects/x/session.jsonl", "{}")
    home.write(".claude/skills/mine/SKILL.md", "mine")
    home.write(".bashrc", "export A=1")
    mine = r"^(\.local|run)|^\.claude/(hooks|bin|agents|commands|settings\.json)|^\.claude/skills/ways"
    before = tree(home.path, mine)
    home.ways("reconcile")
    assert tree(home.path, mine) == before
    home.ways("reconcile", "--mode", "copy")
    assert tree(home.path, mine) == before


def test_check_tells_by_its_exit_code(home: ScratchHome) -> None:
    home.ways("reconcile", "--check", code=1)
    home.ways("reconcile")
    (home.path / ".claude/hooks/ways").unlink()
    shown = home.ways("reconcile", "--check", code=1).stdout
    assert "link     hooks/ways" in shown
    home.write(".claude/hooks/ways/own.md", "mine")
    home.ways("reconcile", "--check", code=3)
    assert home.ways("reconcile", "--check", "--quiet", code=3).stdout == ""


def test_refusals_name_every_path_and_the_next_command(home: ScratchHome) -> None:
    home.write(".config/agent-ways/config.yaml", "targets: [~/a, ~/b]\n")
    home.write("a/hooks/ways/own.md", "mine")
    home.write("a/bin/ways", "mine")
    done = home.ways("reconcile", code=3)
    for path in ("a/hooks/ways", "a/bin/ways"):
        assert f"refused: {home.path}/{path} is a" in done.stderr
    assert "--force" in done.stderr
    assert (home.path / "b/hooks/ways").is_symlink()
    home.ways("reconcile", "--force")
    backups = home.path / ".local/state/agent-ways/backups"
    assert [path.read_text() for path in backups.rglob("own.md")] == ["mine"]


def test_the_next_command_is_one_that_helps(home: ScratchHome) -> None:
    """--force moves things of the user's aside; it cannot mend a settings.json."""
    home.write(".claude/settings.json", "{// mine\n}")
    done = home.ways("reconcile", code=3)
    (line,) = done.stderr.splitlines()
    assert ".claude/settings.json:1:2: a comment" in line and "--force" not in line
    assert line.endswith("Next: put that right, then ways reconcile")


def test_a_settings_file_that_cannot_be_written_is_one_line(home: ScratchHome) -> None:
    home.write(".claude/settings.json", "{}", 0o444)
    done = home.ways("reconcile", code=5)
    (line,) = done.stderr.splitlines()
    assert line.count("settings.json") == 1 and "left alone, because it is read-only  Next: " in line


def test_of_several_outcomes_3_wins_over_5_over_1(home: ScratchHome) -> None:
    home.write(".config/agent-ways/config.yaml", "targets: [~/a, ~/b, ~/c]\n")
    home.write("a/hooks/ways/own.md", "mine")
    home.write("b/settings.json", "{}", 0o444)
    home.ways("reconcile", code=3)
    home.ways("reconcile", "--check", code=3)
    (home.path / "a/hooks/ways/own.md").unlink()
    (home.path / "a/hooks/ways").rmdir()
    assert "read-only" in home.ways("reconcile", code=5).stderr
    (home.path / "c/bin/ways").unlink()
    home.ways("reconcile", "--check", code=5)


def test_json_has_one_row_a_target(home: ScratchHome) -> None:
    home.write(".config/agent-ways/config.yaml", "targets: [~/a, {path: ~/b, enabled: false}]\n")
    home.write("a/skills/mine/SKILL.md", "mine")
    plan = home.json("reconcile", "--dry-run")
    assert [row["path"] for row in plan["targets"]] == [str(home.path / "a"), str(home.path / "b")]
    assert plan["targets"][0]["changes"] is True
    assert plan["app"]["steps"]
    done = home.json("reconcile")
    assert [row["state"] for row in done["targets"]] == ["active", "withdrawn"]
    assert done["exit_code"] == 0
    assert home.json("reconcile")["app"]["steps"] == []


def test_case_s16_every_command_runs_in_an_awkward_home(tmp_path: Path) -> None:
    home = ScratchHome(tmp_path / "A B&(c)' é")
    home.ways("reconcile")
    for command in home.hook_commands():
        for shell in ("sh", "bash"):
            done = subprocess.run(
                [shell, "-c", command],
                input="{}",
                env={**home.environ, "DISABLE_UPDATES": "1"},
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stdout) == (0, ""), f"{command}: {done.stderr}"


@pytest.mark.parametrize("value", ["{home}/work claude", "~/work claude", "work claude"])
def test_case_s17_claude_config_dir_moves_everything(tmp_path: Path, value: str) -> None:
    home = ScratchHome(tmp_path / "home")
    home.environ["CLAUDE_CONFIG_DIR"] = value.replace("{home}", str(home.path))
    home.ways("reconcile")
    target = home.path / "work claude"
    assert (target / "hooks/ways").is_symlink()
    assert all(f'"{target}/hooks/' in command for command in home.hook_commands("work claude"))
    assert not (home.path / ".claude").exists()


def test_case_s17_an_empty_claude_config_dir_is_the_default(tmp_path: Path) -> None:
    home = ScratchHome(tmp_path / "home", CLAUDE_CONFIG_DIR="")
    home.ways("reconcile")
    assert (home.path / ".claude/hooks/ways").is_symlink()


def test_eight_at_once_come_to_the_same_end_as_one(tmp_path: Path) -> None:
    alone = ScratchHome(tmp_path / "alone" / "home")
    alone.write(".claude/settings.json", '{"model": "opus"}')
    alone.ways("reconcile")
    home = ScratchHome(tmp_path / "many" / "home")
    home.write(".claude/settings.json", '{"model": "opus"}')
    running = [
        subprocess.Popen(
            home.command("reconcile"), env=home.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(8)
    ]
    errors = [process.communicate(timeout=240)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 8, errors
    assert sorted(tree(home.path / ".claude")) == sorted(tree(alone.path / ".claude"))
    words = [shlex.split(command)[0] for command in home.hook_commands()]
    assert all(os.access(word, os.X_OK) for word in words)
    assert len(words) == len(alone.hook_commands())
    assert json.loads((home.path / ".claude/settings.json").read_text())["model"] == "opus"
    assert not [path for path in tree(home.path) if ".ways-tmp-" in path or ".staging-" in path]


def test_manifest_prints_the_projected_roots(home: ScratchHome) -> None:
    lines = home.ways("manifest").stdout.splitlines()
    assert {"bin/ways", "hooks/ways", "hooks/check-config-updates.sh"} <= set(lines)
    assert lines == sorted(lines)
    rows = home.json("manifest")["roots"]
    assert [row["path"] for row in rows] == lines
    assert all(len(file["sha256"]) == 64 for row in rows for file in row["files"])
