"""The frozen program's larger parts, each tried once for real: the judge's agent, questions on a terminal,
the MCP server, replays, and the environment of whatever it starts."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import pexpect
import pytest
import yaml
from mcp import ClientSession, StdioServerParameters, stdio_client

from tests.e2e.judge_home import alive, wait_for
from tests.e2e.provider_server import KEY, ProviderServer
from tests.e2e.session_home import Session, write_way
from tests.frozen.conftest import FrozenHome
from ways.gate import paths as gate_paths

pytestmark = pytest.mark.frozen

BUNDLES = ("_PYI", "_MEI", "PYINSTALLER")
ENTER, SPACE = "\r", " "


def rows(text: str) -> dict[str, str]:
    """What `env` printed."""
    return {name: value for name, _, value in (line.partition("=") for line in text.splitlines())}


@pytest.fixture
def spies(home: FrozenHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs called git, gh and pager, first on the PATH, that write their environment to `<name>.env`; the
    user has loader variables of their own."""
    folder = tmp_path / "spies"
    folder.mkdir()
    for name, answer in (("git", "exit 1"), ("gh", "printf '[]\\n'"), ("pager", "cat")):
        (folder / name).write_text(f"#!/bin/sh\nenv >'{folder}/{name}.env'\n{answer}\n")
        (folder / name).chmod(0o755)
    own = {"LD_LIBRARY_PATH": "/opt/mine", "PATH": f"{folder}:{home.environment['PATH']}"}
    monkeypatch.setattr(home, "extra", {**own, "PAGER": "pager", "TERM": "xterm"})
    return folder


def check_environment(home: FrozenHome, path: Path) -> None:
    """What a child saw is what the user has."""
    seen = rows(path.read_text("utf-8"))
    assert seen["LD_LIBRARY_PATH"] == "/opt/mine" and seen["PATH"] == home.environment["PATH"]
    assert not [name for name in seen if name.startswith(BUNDLES) or name.endswith("_ORIG")], path.name
    assert not [name for name, value in seen.items() if "_internal" in value], path.name


def test_case_u06_the_git_of_a_macro_in_python(home: FrozenHome, project: Path, spies: Path) -> None:
    way = write_way(
        home.path / ".config/agent-ways/ways", "own/asks", "pattern: \\bcanary\\b\nmacro: append", "BODY"
    )
    (way.parent / "macro.py").write_text(
        "import subprocess\nsubprocess.run(['git', 'status'])\nprint('RAN')\n"
    )
    session = Session(home, project)
    session.start()
    assert "RAN" in session.prompt("canary")
    check_environment(home, spies / "git.env")


def test_case_u06_the_gh_of_an_issues_pull(home: FrozenHome, project: Path, spies: Path) -> None:
    home.ways("issues", "link", "octo/cat", cwd=project)
    home.ways("issues", "pull", cwd=project)
    check_environment(home, spies / "gh.env")


def test_case_u06_the_pager_of_a_long_report(home: FrozenHome, project: Path, spies: Path) -> None:
    for _ in range(2):
        Session(home, project).start()
    child = pexpect.spawn(
        str(home.program),
        ["session", "list"],
        env=home.environment,
        cwd=str(home.path),
        encoding="utf-8",
        timeout=60,
        dimensions=(2, 120),
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    check_environment(home, spies / "pager.env")


@pytest.fixture
def provider(home: FrozenHome) -> Iterator[ProviderServer]:
    """A judge's provider on loopback, and the user's key and settings for it."""
    config = home.path / ".config/agent-ways"
    with ProviderServer() as server:
        profile = {"base_url": server.url, "timeout_ms": 10_000}
        gate = {"gate": {"engine": "anthropic", "profiles": {"anthropic": profile}}}
        (config / "agent.yaml").write_text(yaml.safe_dump(gate))
        (config / "keys").mkdir(mode=0o700, exist_ok=True)
        (config / "keys/anthropic").write_text(KEY + "\n")
        (config / "keys/anthropic").chmod(0o600)
        yield server
    (config / "agent.yaml").unlink()
    shutil.rmtree(config / "keys")


def agent_pid(home: FrozenHome) -> int:
    """The agent that the program knows of, 0 for none."""
    told = json.loads(home.ways("agent", "status", "--json"))["agent"]
    return int(told["pid"]) if told else 0


def test_a_hook_starts_the_judges_agent_and_it_judges(
    home: FrozenHome, project: Path, provider: ProviderServer
) -> None:
    for name in ("alpha", "beta"):
        front = f"description: guidance about {name}\npattern: \\bsomething\\b"
        write_way(project / ".claude" / "ways", f"team/{name}", front, f"{name.upper()}-BODY")
    assert agent_pid(home) == 0
    for _ in range(5):  # a machine that is very busy may not start it in time for the first prompt
        session = Session(home, project)
        session.start()
        shown = session.prompt("please do something with alpha")
        assert "ALPHA-BODY" in shown
        if "BETA-BODY" not in shown:
            break
    assert "BETA-BODY" not in shown, home.log("gate_fallback")
    assert [request.method for request in provider.seen].count("POST") >= 1
    pid = agent_pid(home)
    assert pid and os.path.realpath(f"/proc/{pid}/exe").endswith("/bin/ways")
    home.ways("agent", "unload")
    wait_for(lambda: not alive(pid))
    home.ways("agent", "load")
    again = agent_pid(home)
    assert again not in {0, pid} and alive(again)
    home.ways("agent", "unload")
    wait_for(lambda: not alive(again))
    assert not os.path.exists(home.path / "run" / gate_paths.SOCKET_NAME)


def test_init_asks_on_a_terminal(home: FrozenHome) -> None:
    other = home.path / "other"
    child = pexpect.spawn(
        str(home.program),
        ["init", "--dry-run", "--save-answers", str(other) + ".json"],
        env={**home.environment, "TERM": "xterm", "CLAUDE_CONFIG_DIR": str(other)},
        cwd=str(home.path),
        encoding="utf-8",
        timeout=60,
        dimensions=(60, 160),
    )
    child.expect("Which Claude Code config directories")
    child.send(ENTER)
    child.expect("In which language")
    child.send(ENTER)
    child.expect("Which kinds of guidance")
    child.send(SPACE + ENTER)
    child.expect("secret files")
    child.send("y")
    child.expect("Use such a judge")
    child.send(ENTER)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    answers = json.loads(Path(f"{other}.json").read_text())
    assert answers["secret_path_deny"] is True and answers["targets"]


def talk(home: FrozenHome, project: Path, use: Callable[[ClientSession], Awaitable[None]]) -> None:
    """Start the MCP server as a client does and use it."""
    environment = {**home.environment, "CLAUDE_PROJECT_DIR": str(project)}
    parameters = StdioServerParameters(
        command=str(home.program), args=["mcp"], env=environment, cwd=str(project)
    )

    async def run() -> None:
        with open(os.devnull, "w") as nowhere:
            async with (
                stdio_client(parameters, errlog=nowhere) as streams,
                ClientSession(*streams) as session,
            ):
                await session.initialize()
                await use(session)

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(run)


def test_the_mcp_server_answers(home: FrozenHome, project: Path) -> None:
    front = "description: Deploying to production\nvocabulary: ship rollout"
    write_way(project / ".claude" / "ways", "team/deploy", front, "DEPLOY-BODY")

    async def use(session: ClientSession) -> None:
        found = await session.call_tool("ways_search", {"query": "deploying a rollout", "limit": 3})
        assert found.structuredContent is not None
        assert found.structuredContent["ways"][0]["id"] == "team/deploy"
        read = await session.call_tool("ways_read", {"id": "team/deploy"})
        assert "DEPLOY-BODY" in str(read.content)

    talk(home, project, use)


def test_a_replay_as_a_page_and_doctor(home: FrozenHome, project: Path, tmp_path: Path) -> None:
    write_way(project / ".claude" / "ways", "team/deploy", "pattern: \\bdeploy\\b", "DEPLOY-BODY")
    session = Session(home, project)
    session.start()
    session.prompt("deploy")
    page = tmp_path / "replay.html"
    home.ways("session", "replay", session.id, "--html", str(page))
    text = page.read_text("utf-8")
    assert text.startswith("<!doctype html>") and "team/deploy" in text
    told = json.loads(home.ways("doctor", "--offline", "--json", code=1))
    faults = {one["subject"] for one in told["findings"] if one["state"] == "fault"}
    assert faults <= {"engine", "corpus"}, "this home has no engine"
    assert [one for one in told["findings"] if str(one["subject"]).startswith("hook")]
