"""`ways projects` from the outside, on real files and processes."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.projects.conftest import History
from ways.cli.main import main
from ways.projects import moves

A, B, C = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "abc")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["projects", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> object:
    return json.loads(run(capsys, *arguments, "--json")[1])


def test_list_names_folders_and_the_missing(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    history.session(str(tmp_path / "here"), A, days=1)
    history.session("/gone/x", B, days=9, beside=True)
    rows = data(capsys, "list")
    assert [(row["folder"], row["exists"], row["sessions"]) for row in rows] == [  # type: ignore[attr-defined]
        (str(tmp_path / "here"), True, 1),
        ("/gone/x", False, 1),
    ]
    code, out, _ = run(capsys, "list")
    assert code == 0 and "/gone/x (missing)" in out


def test_no_history_at_all(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    history.root.rmdir()
    assert run(capsys, "list") == (0, "There is no history.\n", "")
    assert run(capsys, "cleanup") == (0, "Nothing to do.\n", "")


def test_search_finds_people_and_claude_but_no_tool_results(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    path = history.session("/w/p", A, prompts=("where is the Grüße parser",))
    with path.open("a", encoding="utf-8") as file:
        result = [{"type": "tool_result", "content": "Grüße"}, {"type": "text", "text": "Grüße"}]
        file.write(json.dumps({"type": "user", "message": {"content": result}}) + "\n")
        file.write('{"type": "user", "message"')
    rows = data(capsys, "search", "grüsse parser".replace("ss", "ß"))
    assert [(row["role"], row["session"]) for row in rows] == [("user", A), ("assistant", A)]  # type: ignore[attr-defined]
    assert run(capsys, "search", "PARSER", "--limit", "1")[1].count("\n") == 1
    assert run(capsys, "search", "nowhere") == (1, "Nothing was found.\n", "")
    assert run(capsys, "search", " ")[0] == 2


def test_escape_codes_in_a_transcript_do_not_reach_the_terminal(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.session("/w/p", A, prompts=("needle \x1b[31mred",))
    assert "\x1b" not in run(capsys, "search", "needle")[1]
    assert "\x1b" not in run(capsys, "show", A)[1]


def test_show_a_session_and_a_project(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    history.session("/w/p", A, prompts=("first", "second"))
    row = data(capsys, "show", A[:8])
    assert isinstance(row, dict)
    assert (row["human_turns"], row["answers"], row["title"]) == (2, 2, "A title")
    assert row["tokens"] == {"input_tokens": 10, "output_tokens": 14, "cache_read_input_tokens": 200}
    assert row["models"] == {"claude-x": 2} and row["first_prompt"] == "first"
    assert f"claude --resume {A}" in run(capsys, "show", A)[1]
    assert "first" in run(capsys, "show", "p")[1]
    assert run(capsys, "show", "nothing")[0] == 2


def test_stats_add_up(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    history.session("/w/p", A, prompts=("one", "two"))
    history.session("/w/p", B)
    (row,) = data(capsys, "stats")  # type: ignore[misc]
    assert (row["sessions"], row["human_turns"], row["answers"]) == (2, 3, 3)
    assert row["tokens"]["output_tokens"] == 21
    assert run(capsys, "stats", "--project", "/nowhere")[0] == 2


def test_cleanup_plans_first_and_can_be_undone(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    history.session("/w/p", A, beside=True)
    history.session("/w/p", B, days=3)
    history.session("/w/q", C)
    (history.root / "-w-p" / "memory").mkdir()
    (history.root / "-w-p" / "memory" / "MEMORY.md").write_text("keep\n")
    before = history.tree()

    code, out, _ = run(capsys, "cleanup")
    assert code == 0 and "2 sessions" in out and "--yes" in out
    assert history.tree() == before and not history.state.exists()

    code, out, _ = run(capsys, "cleanup", "--yes")
    assert code == 0
    assert set(history.tree()) == {f"-w-p/{B}.jsonl", "-w-p/memory/MEMORY.md"}
    assert not (history.root / "-w-q").exists(), "a folder in which nothing is left"
    batch = out.split()[-1]
    assert batch in run(capsys, "restore")[1]
    assert run(capsys, "restore", batch)[0] == 0
    assert history.tree() == before
    assert run(capsys, "restore") == (0, "The trash is empty.\n", "")
    assert run(capsys, "restore", batch)[0] == 2


def test_cleanup_of_one_project_and_of_empty_sessions(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.session("/w/p", A, prompts=())
    history.session("/w/p", B)
    history.session("/w/q", C, prompts=())
    code, _, _ = run(capsys, "cleanup", "--empty", "--project", "/w/p", "--yes")
    assert code == 0
    assert set(history.tree()) == {f"-w-p/{B}.jsonl", f"-w-q/{C}.jsonl"}


def test_orphans_go_only_when_asked(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    path = history.session("/w/p", A, beside=True)
    path.unlink()
    for folder in (history.root / "-w-p" / A, history.root / "-w-p" / A / "subagents"):
        history.age(folder, 200)
    assert run(capsys, "cleanup") == (0, "Nothing to do.\n", "")
    assert run(capsys, "cleanup", "--orphans", "--yes")[0] == 0
    assert history.tree() == {}


def test_links_are_neither_followed_nor_moved(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / f"{A}.jsonl").write_text("{}\n")
    history.age(outside / f"{A}.jsonl", 300)
    (history.root / "-linked").symlink_to(outside)
    inside = history.session("/w/p", B)
    (inside.parent / f"{C}.jsonl").symlink_to(outside / f"{A}.jsonl")
    (inside.parent / B).symlink_to(outside)
    assert run(capsys, "cleanup", "--yes", "--orphans")[0] == 0
    assert sorted(path.name for path in outside.iterdir()) == [f"{A}.jsonl"]
    assert (history.root / "-linked").is_symlink() and (inside.parent / f"{C}.jsonl").is_symlink()
    assert not inside.exists()


def test_a_projects_folder_that_is_a_link_itself(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    history.session("/w/p", A)
    history.root.rename(tmp_path / "dotfiles")
    history.root.symlink_to(tmp_path / "dotfiles")
    assert run(capsys, "cleanup", "--yes")[0] == 0
    assert history.root.is_symlink() and history.tree() == {}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_session_that_a_process_has_open_is_left_alone(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    path = history.session("/w/p", A)
    code = "import sys, time; f = open(sys.argv[1]); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        code_, out, err = run(capsys, "cleanup", "--yes")
        process.kill()
    assert (code_, out) == (3, "Nothing to do.\n") and "held open" in err
    assert path.exists()
    assert run(capsys, "cleanup", "--yes")[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_session_named_on_a_command_line_is_left_alone(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.session("/w/p", A)
    with subprocess.Popen([sys.executable, "-c", "input()", "--resume", A], stdin=subprocess.PIPE) as process:
        while A.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
            time.sleep(0.01)
        assert run(capsys, "cleanup", "--yes")[0] == 3
        process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_folder_in_which_claude_runs_is_left_alone(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    project = tmp_path / "here"
    project.mkdir()
    history.session(str(project), A)
    (tmp_path / "claude.py").write_text("input()\n")
    claude = tmp_path / "bin" / "claude"
    claude.parent.mkdir()
    claude.symlink_to("/bin/sleep")
    with subprocess.Popen([claude, "60"], cwd=project) as process:
        while Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[0] != os.fsencode(claude):
            time.sleep(0.01)
        code, _, err = run(capsys, "cleanup", "--yes")
        process.kill()
    assert code == 3 and "in which Claude Code runs" in err


def test_claude_codes_own_record_of_a_running_session_counts(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.session("/w/p", A)
    folder = history.config / "sessions"
    folder.mkdir()
    (folder / "1.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": A, "cwd": "/elsewhere"}))
    (folder / "2.json").write_text("damaged")
    assert run(capsys, "cleanup", "--yes")[0] == 3
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    (folder / "1.json").write_text(json.dumps({"pid": ended.pid, "sessionId": A}))
    assert run(capsys, "cleanup", "--yes")[0] == 0


def test_without_proc_a_day_must_have_passed(history: History, tmp_path: Path) -> None:
    from ways.projects import history as reading
    from ways.projects import live

    history.session("/w/p", A, days=0.5)
    history.session("/w/q", B, days=2)
    blind = live.running(str(history.config), proc=str(tmp_path / "no-proc"))
    found = {one.sessions[0].id: one.sessions[0] for one in reading.read(str(history.root))}
    assert "in the last day" in live.why_live(found[A], blind, str(tmp_path / "sessions"))
    assert live.why_live(found[B], blind, str(tmp_path / "sessions")) == ""


def test_a_recent_hook_counts(history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    history.session("/w/p", A)
    (tmp_path / "sessions" / A).mkdir(parents=True)
    code, _, err = run(capsys, "cleanup", "--yes", "--older-than", "0")
    assert code == 3 and "ran a hook" in err


def test_a_move_that_fails_puts_everything_back(
    history: History, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (A, B, C):
        history.session("/w/p", name, beside=True)
    before = history.tree()
    real, calls = os.rename, []

    def failing(source: str, target: str) -> None:
        calls.append(source)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, "No space left on device", source)
        real(source, target)

    monkeypatch.setattr(moves.os, "rename", failing)
    code, _, err = run(capsys, "cleanup", "--yes")
    assert code == 5 and "No space left" in err and "nothing was moved" in err
    assert history.tree() == before
    assert moves.batches(str(history.state)) == []


def test_a_trash_on_another_file_system(
    history: History, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    history.session("/w/p", A, beside=True)
    before = history.tree()
    real = os.rename

    def crossing(source: str, target: str) -> None:
        if not target.endswith((".jsonl", A)) or source.endswith(".part"):
            real(source, target)
            return
        raise OSError(errno.EXDEV, "Invalid cross-device link", source)

    monkeypatch.setattr(moves.os, "rename", crossing)
    code, out, _ = run(capsys, "cleanup", "--yes")
    assert code == 0 and history.tree() == {}
    assert run(capsys, "restore", out.split()[-1])[0] == 0
    assert history.tree() == before


def test_a_process_that_dies_between_two_moves_can_be_undone(history: History) -> None:
    for name in (A, B):
        history.session("/w/p", name)
    before = history.tree()
    code = """
import os, sys
from ways.projects import moves
real, count = os.rename, 0
def dying(source, target):
    global count
    count += 1
    if count == 2:
        os.kill(os.getpid(), 9)
    real(source, target)
moves.os.rename = dying
from ways.cli.main import main
main(["projects", "cleanup", "--yes"])
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -9
    assert len(history.tree()) == 1
    (batch,) = moves.batches(str(history.state))
    moves.restore(str(history.state), batch.id)
    assert history.tree() == before


def test_a_session_that_changed_since_the_plan_is_refused(history: History) -> None:
    from ways.core.errors import REFUSED, UserError

    path = history.session("/w/p", A)
    folder = moves.new_batch(str(history.state), moves.CLEANUP, str(history.root))
    move = moves.move_of(str(path), os.path.join(folder, "x.jsonl"), 1)
    os.utime(path)
    with pytest.raises(UserError) as caught:
        moves.apply(str(history.state), moves.CLEANUP, str(history.root), folder, [move])
    assert caught.value.exit_code == REFUSED and path.exists()


def test_a_path_outside_is_refused(history: History, tmp_path: Path) -> None:
    from ways.core.errors import REFUSED, UserError

    (tmp_path / "mine.txt").write_text("mine")
    folder = moves.new_batch(str(history.state), moves.CLEANUP, str(history.root))
    for source in (tmp_path / "mine.txt", history.root, history.root / ".." / ".." / "mine.txt"):
        move = moves.move_of(str(source), os.path.join(folder, "x"), 1)
        with pytest.raises(UserError) as caught:
            moves.apply(str(history.state), moves.CLEANUP, str(history.root), folder, [move])
        assert caught.value.exit_code == REFUSED
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_restore_never_overwrites(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    path = history.session("/w/p", A)
    batch = run(capsys, "cleanup", "--yes")[1].split()[-1]
    path.parent.mkdir()
    path.write_text("newer\n")
    code, _, err = run(capsys, "restore", batch)
    assert code == 3 and "is there again" in err and path.read_text() == "newer\n"


def test_emptying_the_trash_deletes_only_old_batches(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.session("/w/p", A)
    assert run(capsys, "cleanup", "--yes")[0] == 0
    assert run(capsys, "cleanup", "--empty-trash", "--yes")[1] == "Nothing in the trash is that old.\n"
    code, out, _ = run(capsys, "cleanup", "--empty-trash", "--older-than", "0d")
    assert code == 0 and "Would delete" in out and len(moves.batches(str(history.state))) == 1
    assert run(capsys, "cleanup", "--empty-trash", "--older-than", "0d", "--yes")[0] == 0
    assert moves.batches(str(history.state)) == []


def test_hygiene_names_what_is_wrong(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "p").mkdir()
    good = history.session(str(tmp_path / "p"), A)
    assert run(capsys, "hygiene", "--check") == (0, "Everything is in order.\n", "")
    with good.open("ab") as file:
        file.write(b'not json\n{"type": "us')
    history.session("/gone", B, prompts=())
    history.session("/gone", A)
    (good.parent / "notes.txt").write_text("mine")
    (good.parent / "link").symlink_to("/")
    (good.parent / C).mkdir()
    good.chmod(0o644)
    found = data(capsys, "hygiene")
    kinds = {row["kind"] for row in found}  # type: ignore[attr-defined]
    assert kinds == {"torn", "broken", "empty", "missing-folder", "foreign", "link", "orphan", "readable"} - (
        {"readable"} if os.name == "nt" else set()
    )
    assert run(capsys, "hygiene", "--check")[0] == 1


def test_relocate_follows_a_moved_project(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from ways.projects.slug import slug_of

    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    history.session(old, A, beside=True)
    history.session(f"{old}/sub", B)
    history.session(f"{old}-2", C)
    (history.root / slug_of(old) / "memory").mkdir()
    (history.root / slug_of(old) / "memory" / "MEMORY.md").write_text("keep\n")
    before = history.tree()
    assert run(capsys, "relocate", old, new)[0] == 2, "the new folder is not there"
    (tmp_path / "new").mkdir()
    code, out, _ = run(capsys, "relocate", old, new)
    assert code == 0 and "2 sessions" in out and history.tree() == before
    code, out, _ = run(capsys, "relocate", old, new, "--yes")
    assert code == 0
    assert set(history.tree()) == {
        f"{slug_of(new)}/{A}.jsonl",
        f"{slug_of(new)}/{A}/subagents/agent-1.jsonl",
        f"{slug_of(new)}/memory/MEMORY.md",
        f"{slug_of(new)}-sub/{B}.jsonl",
        f"{slug_of(old)}-2/{C}.jsonl",
    }
    assert run(capsys, "restore", out.split()[-1])[0] == 0
    assert history.tree() == before


def test_relocate_leaves_others_that_share_the_slug(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from ways.projects.slug import slug_of

    old, twin, new = str(tmp_path / "a-b"), str(tmp_path / "a_b"), str(tmp_path / "new")
    (tmp_path / "new").mkdir()
    history.session(old, A)
    history.session(twin, B)
    assert run(capsys, "relocate", old, new, "--yes")[0] == 0
    assert set(history.tree()) == {f"{slug_of(new)}/{A}.jsonl", f"{slug_of(old)}/{B}.jsonl"}
    (tmp_path / "a_b").mkdir()
    assert run(capsys, "relocate", twin, new, "--yes")[0] == 3, "the old folder is still there"


def test_many_sessions(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(300):
        history.session(f"/w/p{number % 20}", f"{number:08d}-0000-4000-8000-000000000000", days=100 + number)
    before = time.process_time()
    assert len(data(capsys, "list")) == 20  # type: ignore[arg-type]
    assert run(capsys, "search", "nothing at all")[0] == 1
    assert run(capsys, "cleanup")[0] == 0
    # Never a measure of speed: only that nothing is quadratic or starts a process a session.
    assert time.process_time() - before < 60
