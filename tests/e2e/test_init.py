"""`ways init`: on a terminal, with flags, replayed, interrupted, and off a terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.session_home import PROGRAM, Home, Session, tree

if sys.platform == "win32":
    pytest.skip("the terminal tests need a pty", allow_module_level=True)
import pexpect

ENTER, DOWN, SPACE, CTRL_C = "\r", "\x1b[B", " ", "\x03"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with a config directory of the user's, without the engine."""
    home = Home(tmp_path / "home")
    home.claude.mkdir()
    (home.claude / "settings.json").write_text('{\n    "model": "opus"\n}\n')
    return home


def terminal(home: Home, *arguments: str) -> pexpect.spawn[str]:
    return pexpect.spawn(
        str(PROGRAM),
        ["init", *arguments],
        env={**home.environment, "TERM": "xterm"},
        cwd=str(home.path),
        encoding="utf-8",
        timeout=60,
        dimensions=(60, 120),
    )


def test_flags_set_everything_up_and_doctor_is_asked(home: Home) -> None:
    out = home.ways(
        "init", "--target", str(home.claude), "--without-domain", "ea", "--language", "en", code=1
    )
    assert '+    "hooks": {' in out, "the plan is shown as a diff"
    assert "Not everything works yet" in out, "the engine is missing in this home"
    assert "claude mcp add --scope user ways -- " in out, "offered, and never done unasked"
    config = (home.path / ".config/agent-ways/config.yaml").read_text()
    assert "ea" in config and str(home.claude) in config
    assert json.loads((home.claude / "settings.json").read_text())["model"] == "opus"
    session = Session(home, home.path)
    assert "# Ways" in session.start()


def test_a_second_run_starts_from_the_present_state(home: Home) -> None:
    home.ways("init", "--target", str(home.claude), "--without-domain", "ea", code=1)
    before = (home.claude / "settings.json").read_bytes()
    out = home.ways("init", "--target", str(home.claude), code=1)
    assert "Set ways.disabled_domains" not in out and "added" not in out
    assert (home.claude / "settings.json").read_bytes() == before


@pytest.mark.parametrize("listed", [False, True])
def test_case_s07_one_target_more_leaves_the_others_served(home: Home, listed: bool) -> None:
    if listed:
        home.ways("target", "add", str(home.claude))
    else:
        home.ways("reconcile")  # the implicit default, which no list names
    before = (home.claude / "settings.json").read_bytes()
    home.ways("init", "--target", str(home.path / "work"), code=1)
    assert (home.claude / "settings.json").read_bytes() == before
    rows = json.loads(home.ways("target", "list", "--json"))
    assert [(row["path"], row["state"]) for row in rows] == [
        (str(home.claude), "active"),
        (str(home.path / "work"), "active"),
    ]


def test_case_s07_a_target_that_is_not_found_by_itself_stays_ticked(home: Home) -> None:
    odd = home.path / "somewhere" / "odd"
    home.ways("target", "add", str(home.claude))
    home.ways("target", "add", str(odd))
    child = terminal(home, "--dry-run")
    child.expect("served now")
    for question in ("Which Claude Code", "In which language", "Which kinds", "Add rules", "such a judge"):
        child.expect(question)
        child.send(ENTER)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "disabled" not in (child.before or "") and str(odd) in (child.before or "")


def test_case_s07_a_target_that_is_chosen_no_more_is_withdrawn(home: Home, tmp_path: Path) -> None:
    original = (home.claude / "settings.json").read_bytes()
    home.ways("reconcile")
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"targets": [str(home.path / "work")]}))
    home.ways("init", "--answers", str(answers), code=1)
    assert (home.claude / "settings.json").read_bytes() == original
    states = [row["state"] for row in json.loads(home.ways("target", "list", "--json"))]
    assert sorted(states) == ["active", "withdrawn"]


def test_dry_run_touches_nothing(home: Home) -> None:
    before = tree(home.path)
    out = home.ways("init", "--target", str(home.claude), "--secret-deny", "--dry-run")
    assert "Set install.secret_path_deny: true" in out and "Read(~/.ssh/**)" in out
    assert tree(home.path) == before


def test_answers_are_kept_and_replayed_without_the_key(home: Home, tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    home.ways(
        "init", "--target", "~/.claude", "--language", "de", "--dry-run", "--save-answers", str(answers)
    )
    document = json.loads(answers.read_text())
    assert document["targets"] == ["~/.claude"] and "key" not in document
    out = home.ways("init", "--answers", str(answers), "--dry-run")
    assert 'Set language: "de"' in out


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"targets": "x"}', '{"colour": 1}', '{"judge": "oracle"}', "\xff"]
)
def test_answers_that_cannot_be_used_name_the_place(home: Home, tmp_path: Path, text: str) -> None:
    answers = tmp_path / "answers.json"
    answers.write_bytes(text.encode("latin-1"))
    before = tree(home.path)
    home.ways("init", "--answers", str(answers), code=2)
    assert tree(home.path) == before


def test_something_of_the_users_in_the_way_is_refused(home: Home) -> None:
    (home.claude / "hooks/ways").mkdir(parents=True)
    (home.claude / "hooks/ways/mine.txt").write_text("mine")
    before = tree(home.path)
    home.ways("init", "--target", str(home.claude), code=3)
    assert tree(home.path) == before


def test_off_a_terminal_only_the_project_is_touched(home: Home) -> None:
    project = home.path / "p"
    (project / ".git").mkdir(parents=True)
    home.ways("init", "--quiet", cwd=project)
    before = tree(home.path)
    assert sorted(path for path in before if path.startswith("p/.claude")) == [
        "p/.claude",
        "p/.claude/.gitignore",
        "p/.claude/ways",
        "p/.claude/ways/_template.md",
    ]
    assert home.ways("init", "--yes", cwd=project) == "Nothing to do here.\n"
    assert home.ways("init", "--quiet") == "", "the home is no project"
    assert tree(home.path) == before


def test_asked_on_a_terminal_and_agreed(home: Home) -> None:
    child = terminal(home)
    child.expect("Which Claude Code config directories")
    child.expect("the default")
    child.send(ENTER)
    child.expect("In which language")
    child.send(ENTER)
    child.expect("Which kinds of guidance")
    child.send(SPACE + ENTER)  # the first domain is left out
    child.expect("secret files")
    child.send("y")
    child.expect("leave this machine")
    child.expect("Use such a judge")
    child.send(ENTER)
    child.expect("Apply this plan")
    child.send("y")
    child.expect("say what to do|Everything works")
    child.expect(pexpect.EOF)
    config = (home.path / ".config/agent-ways/config.yaml").read_text()
    assert "collaboration" in config and "secret_path_deny: true" in config
    settings = json.loads((home.claude / "settings.json").read_text())
    assert "Read(~/.ssh/**)" in settings["permissions"]["deny"] and settings["model"] == "opus"


@pytest.mark.parametrize("after", range(6))
def test_ctrl_c_at_any_question_changes_nothing(home: Home, after: int) -> None:
    questions = [
        "config directories",
        "which language",
        "kinds of guidance",
        "secret files",
        "such a judge",
        "Apply",
    ]
    before = tree(home.path)
    child = terminal(home)
    for index, question in enumerate(questions):
        child.expect(question)
        if index == after:
            child.send(CTRL_C)
            break
        child.send("n" if question == "secret files" else ENTER)
    child.expect("nothing more was changed")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert tree(home.path) == before


def test_saying_no_to_the_plan_changes_nothing(home: Home) -> None:
    before = tree(home.path)
    child = terminal(home, "--target", str(home.claude))
    child.expect("Apply this plan")
    child.send("n")
    child.expect("Nothing was changed")
    child.expect(pexpect.EOF)
    assert tree(home.path) == before


def test_only_what_the_plan_names_changes(home: Home) -> None:
    """Nothing under the home changes outside the target's named places and the program's own roots."""
    (home.claude / "skills/mine").mkdir(parents=True)
    (home.claude / "skills/mine/SKILL.md").write_text("mine")
    (home.path / ".bashrc").write_text("# mine\n")
    before = tree(home.path)
    home.ways("init", "--target", str(home.claude), code=1)
    after = tree(home.path)
    own = (
        ".local/share/agent-ways",
        ".local/state/agent-ways",
        ".config/agent-ways",
        ".cache/agent-ways",
        "run/",
    )
    parents = {".local", ".local/share", ".local/state", ".config", ".cache"}
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    outside = {path for path in changed if not path.startswith(own) and path not in parents}
    allowed = ("hooks", "bin", "skills/", "agents", "commands", "settings.json")
    assert all(path.startswith(tuple(f".claude/{name}" for name in allowed)) for path in outside), outside
    assert {path: before[path] for path in before} == {path: after[path] for path in before} | {
        ".claude/settings.json": before[".claude/settings.json"]
    }


def test_uninstall_gives_the_original_bytes_back(home: Home) -> None:
    before = {path: what for path, what in tree(home.path).items() if path.startswith(".claude")}
    home.ways("init", "--target", str(home.claude), code=1)
    assert "To do this: ways uninstall --yes" in home.ways("uninstall")
    home.ways("uninstall", "--yes")
    after = {path: what for path, what in tree(home.path).items() if path.startswith(".claude")}
    assert after == before
