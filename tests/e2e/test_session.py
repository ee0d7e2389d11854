"""A recorded session through the exact commands of the merged settings.json."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.session_home import Home, Session, write_way


def fired(home: Home, session: Session) -> list[tuple[str, str, str]]:
    return [
        (row["event"], row.get("way", ""), row.get("trigger", ""))
        for row in home.log()
        if row.get("session") == session.id
    ]


def own(project: Path, way_id: str, front: str, body: str) -> None:
    write_way(project / ".claude" / "ways", way_id, front, body)


def test_a_whole_session(home: Home, session: Session, project: Path) -> None:
    own(
        project,
        "team/deploy",
        "pattern: \\bdeploy\\b\ncommands: ^make deploy\nscope: [agent, subagent]",
        "DEPLOY-BODY",
    )
    own(project, "team/env", "files: (^|/)\\.env$", "ENV-BODY")
    own(project, "team/audit", "pattern: \\baudit\\b\nscope: subagent", "AUDIT-BODY")
    own(project, "team/full", "trigger: context-threshold\nthreshold: 75", "FULL-BODY")

    started = session.start()
    assert "# Ways" in started and "| team |" in started, "core.md and its table of ways"
    assert "| softwaredev |" not in started, "a domain that is switched off is not in the table"
    assert fired(home, session)[0][0] == "session_start"

    shown = session.prompt("please deploy this")
    assert shown == "DEPLOY-BODY"
    assert session.marker("team/deploy") == 0
    session.say("On it.", tokens=20_000)

    assert session.bash("make deploy", "Deploy it") == "", "inside its refire window"
    assert session.edit(str(project / ".env")) == "ENV-BODY"
    assert session.marker("team/env") == 20_000

    assert session.task("run an audit and deploy") == ""
    assert len(list((session.directory / "subagent-stash").iterdir())) == 1
    given = session.subagent("a1")
    assert given == "AUDIT-BODY\n\nDEPLOY-BODY", "whatever the parent has been shown"
    assert session.marker("team/deploy", "a1") == 0 and session.marker("team/audit") is None
    assert list((session.directory / "subagent-stash").iterdir()) == []

    assert session.after("Bash", {"command": "make deploy"}) == ""
    session.say("Working.", tokens=50_000)
    assert session.prompt("deploy again") == "DEPLOY-BODY", "15 % of the window has passed"
    assert session.marker("team/deploy") == 20_000 or session.marker("team/deploy") == 50_000
    session.stop("I have deployed it.")
    response = json.loads((session.directory / "response-context.json").read_text())
    assert response["text"] == "I have deployed it."

    session.say("Long.", tokens=151_000)
    assert session.prompt("go on") == "FULL-BODY"

    session.row("system", subtype="compact_boundary", compactMetadata={"postTokens": 9_000})
    assert "# Ways" in session.start("compact")
    assert session.marker("team/deploy") is None
    assert session.prompt("deploy") == "DEPLOY-BODY"

    events = fired(home, session)
    assert ("way_fired", "team/deploy", "keyword") in events
    assert ("way_suppressed", "team/deploy", "") in events
    assert ("way_redisclosed", "team/deploy", "keyword") in events
    assert ("way_fired", "team/env", "file") in events
    assert ("way_fired", "team/full", "state") in events
    lines = [line.split(": ", 1)[1] for line in home.debug().splitlines()]
    assert all("no semantic signal" in line or "engine is not there" in line for line in lines), lines
    assert sum("no semantic signal" in line for line in lines) == 2, "once, and once after the reset (h22)"


@pytest.mark.parametrize("told", [False, True])
def test_the_start_after_a_compaction_knows_that_the_context_is_gone(
    session: Session, project: Path, told: bool
) -> None:
    """Claude Code may run the hooks before it writes the row of the compaction (`told` False)."""
    own(project, "team/full", "trigger: context-threshold\nthreshold: 75", "FULL-BODY")
    own(project, "team/lock", "trigger: file-exists\npath: uv.lock", "LOCK-BODY")
    (project / "uv.lock").touch()
    session.start()
    session.say("Long.", tokens=160_000)
    assert "FULL-BODY" in session.prompt("go on")
    boundary = {"subtype": "compact_boundary", "compactMetadata": {"postTokens": 9_000}}
    if told:
        session.row("system", **boundary)
    shown = session.start("compact")
    assert "FULL-BODY" not in shown and "LOCK-BODY" in shown
    assert session.marker("team/lock") == (9_000 if told else 0)
    if not told:
        session.row("system", **boundary)
    session.say("On we go.", tokens=45_000)
    assert session.prompt("go on") == "LOCK-BODY", "15 % of the window after the compaction"


def test_the_epoch_counts_prompts_commands_and_files(home: Home, session: Session) -> None:
    session.start()
    session.prompt("hello")
    session.prompt("<task-notification>done</task-notification>")
    session.bash("ls")
    session.edit("/p/a.txt")
    session.stop()
    session.after("Bash", {"command": "ls"})
    assert (session.directory / "epoch").read_text().strip() == "4"


def test_case_h22_a_missing_engine_is_one_notice_a_session(session: Session, project: Path) -> None:
    own(project, "team/deploy", "pattern: deploy\nrefire: 0", "DEPLOY-BODY")
    session.notices = True
    session.start()
    shown = [session.prompt("deploy") for _ in range(3)]
    assert shown[0].startswith("DEPLOY-BODY\n\n(ways: matching by meaning is off")
    assert "`ways status`" in shown[0]
    assert shown[1:] == ["DEPLOY-BODY", "DEPLOY-BODY"]


def test_case_h17_envelopes_are_not_matched(session: Session, project: Path) -> None:
    own(project, "team/deploy", "pattern: deploy", "DEPLOY-BODY")
    session.start()
    for text in ("<system-reminder>deploy</system-reminder>", "  [SYSTEM NOTIFICATION] deploy"):
        assert session.prompt(text) == ""
    assert session.prompt("deploy") == "DEPLOY-BODY"


def test_case_h03_a_prompt_that_looks_like_a_flag(session: Session, project: Path) -> None:
    own(project, "team/spawn", "pattern: -spawn", "SPAWN-BODY")
    session.start()
    assert session.prompt("-spawn x") == "SPAWN-BODY"


def test_case_h02_a_japanese_prompt_under_a_latin_locale(home: Home, project: Path) -> None:
    other = Home(home.path, extra={"LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"})
    session = Session(other, project)
    own(project, "team/test", "pattern: テスト", "テスト本文")
    session.start()
    assert session.prompt("テストを直して") == "テスト本文"


def test_case_h13_fences_and_urls_do_not_fire(session: Session, project: Path) -> None:
    own(project, "team/ssh", "pattern: \\bssh\\b", "SSH-BODY")
    session.start()
    assert session.prompt("see https://x.test/ssh and\n```\nssh host\n```") == ""
    assert session.prompt("use SSH please") == "SSH-BODY", "case h15"


def test_case_h12_claudes_reply_fires_no_keyword(session: Session, project: Path) -> None:
    own(project, "team/deploy", "pattern: deploy", "DEPLOY-BODY")
    session.start()
    session.stop("Shall I deploy it?")
    assert session.prompt("yes please") == ""


def test_case_h26_what_does_not_fit_is_not_marked(home: Home, session: Session, project: Path) -> None:
    for name, size in (("a", 6_000), ("b", 6_000), ("c", 3_000)):
        own(project, f"big/{name}", "pattern: \\bgo\\b", name * size)
    session.start()
    shown = session.prompt("go")
    assert shown == "a" * 6_000 + "\n\n" + "c" * 3_000
    assert session.marker("big/b") is None
    reasons = [row for row in home.log("way_suppressed") if row["session"] == session.id]
    assert [(row["way"], row["reason"]) for row in reasons] == [("big/b", "context_cap")]
    assert session.prompt("go") == "b" * 6_000


def test_case_h27_an_unlisted_projects_scripts_do_not_run(
    home: Home, session: Session, project: Path
) -> None:
    own(project, "team/status", "pattern: \\bstatus\\b\nmacro: append", "STATUS-BODY")
    folder = project / ".claude/ways/team/status"
    (folder / "macro.sh").write_text("touch ran; echo MACRO\n")
    own(project, "team/after", "description: x", "AFTER-BODY")
    (project / ".claude/ways/team/after/postcheck.sh").write_text("touch ran; exit 0\n")
    session.start()
    shown = session.prompt("status")
    assert shown.startswith("STATUS-BODY") and "ways trust add" in shown
    assert session.after("Bash", {"command": "ls"}) == ""
    assert not (project / "ran").exists()

    home.ways("trust", "add", str(project), "--yes")
    session.start("clear")
    assert session.prompt("status") == "STATUS-BODY\n\nMACRO"
    assert session.after("Bash", {"command": "ls"}) == "AFTER-BODY"
    assert (project / "ran").exists()
    home.ways("trust", "remove", str(project))


def test_case_h20_macros_that_misbehave_leave_the_body(home: Home, session: Session, project: Path) -> None:
    scripts = {
        "sleep": "sleep 60",
        "flood": "yes flood",
        "fork": "sleep 60 &\necho kept",
        "fail": "echo no; exit 1",
    }
    for name, script in scripts.items():
        own(project, f"m/{name}", f"pattern: \\b{name}\\b\nmacro: append", f"{name.upper()}-BODY")
        (project / f".claude/ways/m/{name}/macro.sh").write_text(script + "\n")
    (home.path / ".config/agent-ways").mkdir(parents=True, exist_ok=True)
    home.ways("trust", "add", str(project), "--yes")
    session.start()
    assert session.prompt("sleep") == "SLEEP-BODY"
    flood = session.prompt("flood")
    assert flood.startswith("FLOOD-BODY") and flood.endswith("cut to fit)") and len(flood) <= 10_000
    assert session.prompt("fork") == "FORK-BODY\n\nkept"
    assert session.prompt("fail") == "FAIL-BODY"


def test_case_h05_a_hostile_subagent_type(session: Session, project: Path) -> None:
    own(project, "team/audit", "pattern: audit\nscope: subagent", "AUDIT-BODY")
    session.start()
    for kind in ("*", "../foo", "a/b", "$x", ""):
        session.task("audit", kind)
        assert session.subagent(f"a{abs(hash(kind))}", kind) == "AUDIT-BODY"


def test_defined_agents_bring_their_own_guidance(session: Session, project: Path) -> None:
    own(project, "team/audit", "pattern: audit\nscope: subagent", "AUDIT-BODY")
    agents = project / ".claude/agents/deep"
    agents.mkdir(parents=True)
    (agents / "file-name.md").write_text("---\nname: auditor\n---\nYou audit.\n")
    session.start()
    for kind in ("auditor", "file-name"):
        session.task("audit", kind)
        assert session.subagent("a1", kind) == ""
    assert not (session.directory / "subagent-stash").exists()


def test_a_teammate_gets_both_scopes_and_stays_one(session: Session, project: Path) -> None:
    own(project, "team/mates", "pattern: audit\nscope: teammate\nfiles: mates\\.txt$", "MATES-BODY")
    own(project, "team/subs", "pattern: audit\nscope: subagent", "SUBS-BODY")
    own(project, "team/agents", "files: agents\\.txt$\nscope: agent", "AGENTS-BODY")
    session.start()
    session.task("audit", team_name="reviewers", name="rev")
    assert session.subagent("t1") == "MATES-BODY\n\nSUBS-BODY"
    assert session.edit("/p/agents.txt", agent_id="t1", agent_type="general-purpose") == ""
    assert session.edit("/p/agents.txt") == "AGENTS-BODY"


def test_the_subagent_switch(home: Home, session: Session, project: Path) -> None:
    own(project, "team/audit", "pattern: audit\nscope: subagent", "AUDIT-BODY")
    own(project, "team/env", "files: env$\nscope: agent", "ENV-BODY")
    session.start()
    home.ways("session", "subagents", "off", session.id)
    session.task("audit")
    assert session.subagent("a1") == ""
    assert session.edit("/p/env", agent_id="a1", agent_type="general-purpose") == ""
    rows = [row for row in home.log("injection_suppressed") if row["session"] == session.id]
    assert {(row["switch"], row["lane"]) for row in rows} >= {("session", "task"), ("session", "file")}
    home.ways("session", "subagents", "on", session.id)
    assert session.edit("/p/env", agent_id="a1", agent_type="general-purpose") == "ENV-BODY"


def test_switched_off_in_the_project(home: Home, session: Session, project: Path) -> None:
    own(project, "team/deploy", "pattern: deploy", "DEPLOY-BODY")
    (project / ".claude/ways.yaml").write_text("enabled: false\n")
    assert session.start() == ""
    assert session.prompt("deploy") == ""
    session.stop("kept")
    assert (session.directory / "response-context.json").exists(), "upkeep goes on"
    assert not (session.directory / "epoch").exists(), "the epoch does not count while switched off"


def test_single_ways_and_prefixes_are_switched_off(session: Session, project: Path) -> None:
    for name in ("one", "two", "two/kept"):
        own(project, f"team/{name}", "pattern: deploy", f"{name}-BODY")
    (project / ".claude/ways.yaml").write_text("ways:\n  team/*: false\n  team/two/kept: true\n")
    session.start()
    assert session.prompt("deploy") == "two/kept-BODY"


def test_case_h16_queued_messages_are_one_surface(home: Home, session: Session, project: Path) -> None:
    own(project, "team/docs", "pattern: docs.*changelog", "DOCS-BODY")
    own(project, "team/blocks", "pattern: as blocks", "BLOCKS-BODY")
    session.user("before")
    session.enqueue("docs and changelog")
    session.start("resume")
    session.prompt("hello")
    assert session.after("Bash", {"command": "ls"}) == "", "a resume replays nothing"
    session.enqueue("update the docs")
    session.enqueue("<system-reminder>as blocks</system-reminder>")
    session.enqueue([{"type": "text", "text": "and the changelog"}])
    shown = session.after("Bash", {"command": "ls"})
    assert shown == "", "a pattern with a dot does not cross lines unless it says so"
    session.enqueue("the docs, then the changelog, as")
    session.enqueue([{"type": "text", "text": "blocks, as blocks"}])
    before = (session.directory / "epoch").read_text()
    assert set(session.after("Bash", {"command": "ls"}).split("\n\n")) == {"DOCS-BODY", "BLOCKS-BODY"}
    assert (session.directory / "epoch").read_text() == before
    assert session.after("Bash", {"command": "ls"}) == ""


def test_case_h10_one_session_does_not_clear_another(home: Home, session: Session, project: Path) -> None:
    own(project, "team/deploy", "pattern: deploy", "DEPLOY-BODY")
    session.start()
    session.prompt("deploy")
    other = Session(home, project)
    other.start("clear")
    for bad in ("", "..", "a/b", "x" * 300):
        payload = {**other.payload("SessionStart", source="startup"), "session_id": bad}
        other.fire(payload)
        assert other.context({**other.payload("UserPromptSubmit", prompt="deploy"), "session_id": bad}) != ""
    assert session.marker("team/deploy") is not None
    assert sorted(path.name for path in (home.path / "run").iterdir()) == ["claude-sessions"]


@pytest.mark.parametrize("name", ["a_b c.d", "ünïcode", "emoji😀"])
def test_case_h11_projects_with_odd_names(home: Home, project: Path, name: str) -> None:
    folder = project / name
    (folder / ".git").mkdir(parents=True)
    session = Session(home, folder)
    own(folder, "team/deploy", "pattern: deploy", "DEPLOY-BODY")
    session.start()
    session.say("x", tokens=31_000)
    payload = session.payload("UserPromptSubmit", prompt="deploy")
    payload["transcript_path"] = "/nonexistent/file.jsonl"  # case h23
    assert session.context(payload) == "DEPLOY-BODY"
    assert session.marker("team/deploy") == 31_000


def test_case_h24_a_working_directory_that_is_gone(home: Home, session: Session, project: Path) -> None:
    session.start()
    shutil.rmtree(project)
    write_way(home.path / ".config/agent-ways/ways", "own/gone", "pattern: gone", "GONE-BODY")
    assert session.prompt("it is gone") == "GONE-BODY"
    assert session.bash("git status") == "" and session.after("Bash", {"command": "git status"}) == ""
    assert "Error" not in "".join(line for line in home.debug().splitlines() if "FileNotFound" in line)
    shutil.rmtree(home.path / ".config/agent-ways/ways/own")


def test_case_h25_a_files_regex_matches_every_spelling(session: Session, project: Path) -> None:
    spellings = ["C:\\p\\x.env", "c:/p/x.env", "/c/p/x.env", "\\\\srv\\s\\p\\x.env", "\\\\?\\C:\\p\\x.env"]
    for index, spelling in enumerate(spellings):
        own(
            project,
            f"team/env{index}",
            f"files: /p/x\\.env$\nwhen:\n  env: [HOME]\nrefire: {index}",
            f"ENV{index}",
        )
        session.start("clear")
        assert "ENV" in session.edit(spelling), spelling


def test_case_h28_a_pattern_that_explodes_is_bounded(home: Home, session: Session, project: Path) -> None:
    own(project, "team/bad", "pattern: (a+)+$", "BAD-BODY")
    own(project, "team/good", "pattern: deploy", "GOOD-BODY")
    session.start()
    session.prompt("deploy " + "a" * 60 + "!")
    assert "regex too slow" in home.debug()


def test_case_h01_a_payload_that_comes_in_pieces_on_a_stdin_that_stays_open(
    home: Home, session: Session, project: Path
) -> None:
    """A payload longer than a pipe holds, from a slow writer, cut in strings, numbers and behind braces."""
    own(project, "team/deploy", "pattern: deploy\ncommands: deploy", "DEPLOY-BODY")
    session.start()
    payload = session.payload("PreToolUse", tool_name="Bash", tool_use_id="toolu_1")
    payload["tool_input"] = {"description": "{}" * 40_000, "command": "deploy", "timeout": 12_345}
    data = json.dumps(payload).encode()
    adapter = next(command for command, _ in session.commands(payload))
    process = subprocess.Popen(
        ["sh", "-c", adapter], env=home.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    ends = [1, 40, data.index(b"{}") + 2, 70_001, len(data) - 4, len(data)]
    for start, end in zip([0, *ends], ends, strict=False):
        process.stdin.write(data[start:end])
        process.stdin.flush()
        time.sleep(0.15)
    answer = process.stdout.read()  # stdin is still open
    process.stdin.close()
    assert process.wait() == 0
    assert json.loads(answer)["hookSpecificOutput"]["additionalContext"] == "DEPLOY-BODY", home.debug()


def test_a_torn_transcript_and_torn_state_cost_nothing(session: Session, project: Path) -> None:
    own(project, "team/deploy", "pattern: deploy\nrefire: 0.1\ncommands: deploy", "DEPLOY-BODY")
    session.start()
    session.say("x", tokens=50_000)
    with session.transcript.open("a", encoding="utf-8") as file:
        file.write('{"type": "assistant", "message": {"usage": {"input_tok')
    assert session.prompt("deploy") == "DEPLOY-BODY"
    assert session.marker("team/deploy") == 50_000
    for name in ("engagement.json", "reset.json", "response-context.json", "pending-fires.json"):
        (session.directory / name).write_text('{"team/deploy": {"fires')
    session.say("y", tokens=90_000)
    assert session.bash("deploy") == "DEPLOY-BODY"
    assert session.marker("team/deploy") == 90_000


def test_state_that_cannot_be_kept_stops_no_guidance(home: Home, session: Session, project: Path) -> None:
    own(project, "team/deploy", "pattern: deploy\ncommands: deploy\nrefire: 0", "DEPLOY-BODY")
    session.start()
    session.notices = True
    shutil.rmtree(session.directory / "notices", ignore_errors=True)
    (session.directory / "notices").write_text("no folder")
    (session.directory / "epoch").mkdir()
    assert session.prompt("deploy") == "DEPLOY-BODY"
    assert session.bash("deploy") == "DEPLOY-BODY"
    assert "the epoch was not counted" in home.debug()
    assert session.start("clear") and session.prompt("deploy").startswith("DEPLOY-BODY")
    assert (session.directory / "epoch").read_text() == "1\n", "a reset mends it"


def test_what_is_no_payload_is_answered_with_nothing(home: Home, session: Session) -> None:
    session.start()
    payload = session.payload("UserPromptSubmit", prompt="x")
    for data in (
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"prompt": 7}',
        json.dumps({**payload, "prompt": None}).encode(),
    ):
        assert session.context(payload, data) == ""
    lines = [line for line in home.debug().splitlines() if "Error" in line]
    assert lines == [], "each of these is a foreseen problem, none an accident"


def test_checks_bring_their_parent_and_then_thin_out(session: Session, project: Path) -> None:
    own(project, "team/release", "description: releases", "RELEASE-BODY")
    (project / ".claude/ways/team/release/release.check.md").write_text(
        "---\ncommands: ^make release\nthreshold: 1.0\n---\n## anchor\nANCHOR\n## check\nCHECK\n"
    )
    session.start()
    assert session.bash("make release") == "RELEASE-BODY\n\nANCHOR\n\nCHECK"
    assert session.bash("make release") == "", "0.5 × (ln 2 + 1) is below the threshold"
    for _ in range(6):
        session.prompt("hello")
    assert session.bash("make release") == "ANCHOR\n\nCHECK"


def test_case_h29_a_way_is_stamped_only_when_it_is_emitted(
    home: Home, project: Path, config: Callable[[str], None]
) -> None:
    own(project, "team/make", "commands: ^make", "MAKE-BODY")
    config("hooks:\n  tool_delivery: post\n")
    session = Session(home, project)
    session.start()
    command = {"command": "make all"}
    assert session.before("Bash", command) == ""
    assert session.marker("team/make") is None, "held back until the tool has ended"
    assert session.after("Bash", command) == "MAKE-BODY"
    assert session.after("Bash", command) == "" and session.marker("team/make") is not None
