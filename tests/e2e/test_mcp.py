"""`ways mcp` over stdio, driven by the official SDK's client; a pull recorded by the wired hook."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client, types

from tests.e2e.session_home import PROGRAM, Home, Session, write_way

READ = "mcp__ways__ways_read"
SECRET = "team/deploy"


@pytest.fixture
def library(project: Path) -> Path:
    ways = project / ".claude" / "ways"
    write_way(ways, "team", "description: How this team works", "TEAM-BODY")
    write_way(
        ways, "team/deploy", "description: Deploying to production\nvocabulary: ship rollout", "DEPLOY-BODY"
    )
    write_way(ways, "team/prices", "description: Computing prices and tax\nmacro: append", "PRICES-BODY")
    write_way(ways, "team/off", "description: Deploying to the moon", "OFF-BODY")
    (project / ".claude" / "ways.yaml").write_text("ways:\n  team/off: false\n", "utf-8")
    (ways / "team/prices/macro.sh").write_text("echo SECRET >&2; touch ran\n")
    return project


def talk(
    home: Home, project: Path, use: Callable[[ClientSession], Awaitable[None]], client: str = "a test"
) -> None:
    """Start the server as a client does and use it."""
    parameters = StdioServerParameters(
        command=str(PROGRAM),
        args=["mcp"],
        env={**home.environment, "CLAUDE_PROJECT_DIR": str(project)},
        cwd=str(project),
    )

    async def run() -> None:
        with open(os.devnull, "w") as nowhere:
            async with (
                stdio_client(parameters, errlog=nowhere) as (incoming, outgoing),
                ClientSession(
                    incoming, outgoing, client_info=types.Implementation(name=client, version="1")
                ) as session,
            ):
                await session.initialize()
                await use(session)

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(run)


def text(result: Any) -> str:
    return "".join(part.text for part in result.content)


def test_tools_search_read_and_neighbors(home: Home, library: Path) -> None:
    async def use(session: ClientSession) -> None:
        listed = await session.list_tools()
        assert [tool.name for tool in listed.tools] == ["ways_search", "ways_read", "ways_neighbors"]
        assert all(tool.annotations is not None and tool.annotations.readOnlyHint for tool in listed.tools)

        found = await session.call_tool("ways_search", {"query": "deploying a rollout", "limit": 3})
        assert found.structuredContent is not None
        assert found.structuredContent["ranked_by"] == "words", "no engine in this home"
        ids = [row["id"] for row in found.structuredContent["ways"]]
        assert ids[0] == "team/deploy" and "team/off" not in ids

        read = await session.call_tool("ways_read", {"id": "team/prices"})
        assert text(read) == "PRICES-BODY\n" and not read.isError
        assert read.structuredContent is not None
        assert read.structuredContent["parents"] == ["team"]
        assert not (library / ".claude/ways/team/prices/ran").exists(), "a lookup runs no macro"

        around = await session.call_tool("ways_neighbors", {"id": "team/deploy"})
        assert around.structuredContent is not None
        assert around.structuredContent["beside"] == ["team/off", "team/prices"]

        off = await session.call_tool("ways_read", {"id": "team/off"})
        assert text(off) == "OFF-BODY\n", "what was asked for is answered"

    talk(home, library, use)
    assert not (library / ".claude/ways/team/prices/ran").exists()


@pytest.mark.parametrize(
    ("tool", "arguments", "part"),
    [
        ("ways_read", {"id": "../../etc/passwd"}, "must be the id"),
        ("ways_read", {"id": "team/deplyo"}, "near it: team/deploy"),
        ("ways_read", {"id": 5}, "must be the id"),
        ("ways_read", {}, "must be the id"),
        ("ways_read", {"id": "team", "path": "/etc"}, "not path"),
        ("ways_search", {"query": "  "}, "must be a text"),
        ("ways_search", {"query": "x", "limit": 0}, "from 1 to 20"),
        ("ways_neighbors", {"id": "a\x00b"}, "must be the id"),
        ("ways_delete", {}, "no tool"),
    ],
)
def test_bad_arguments_are_answered(
    home: Home, library: Path, tool: str, arguments: dict[str, Any], part: str
) -> None:
    async def use(session: ClientSession) -> None:
        result = await session.call_tool(tool, arguments)
        assert result.isError and part in text(result)
        assert not (await session.call_tool("ways_read", {"id": "team"})).isError, "it goes on serving"

    talk(home, library, use)


def test_a_pull_without_a_hook_is_logged_by_the_server(home: Home, library: Path) -> None:
    before = len(home.log("way_pulled"))

    async def use(session: ClientSession) -> None:
        await session.call_tool("ways_read", {"id": SECRET})
        await session.call_tool("ways_read", {"id": "team/nothing"})

    talk(home, library, use)
    (row,) = home.log("way_pulled")[before:]
    assert (row["way"], row["domain"], row["client"]) == (SECRET, "team", "a test")
    assert row["project"] == str(library) and "session" not in row


def test_a_pull_of_claude_code_is_logged_once_and_stamps_its_agent(
    home: Home, library: Path, session: Session
) -> None:
    session.start()
    session.prompt("hello")
    session.say("Hello.", tokens=31_000)
    before = len(home.log("way_pulled"))

    async def use(client: ClientSession) -> None:
        await client.call_tool("ways_read", {"id": SECRET})

    talk(home, library, use, client="claude-code")
    assert len(home.log("way_pulled")) == before, "left to the hook"
    assert session.after(READ, {"id": SECRET}, [{"type": "text", "text": "DEPLOY-BODY"}]) == ""
    (row,) = home.log("way_pulled")[before:]
    assert (row["way"], row["session"], row["agent_id"]) == (SECRET, session.id, "main")
    assert row["token_position"] == "31000"
    assert session.marker(SECRET) == 31_000

    session.after(READ, {"id": SECRET}, agent_id="a7", agent_type="general-purpose")
    assert session.marker(SECRET, "a7") is not None and session.marker(SECRET) == 31_000


def test_a_pull_counts_as_shown(home: Home, library: Path, session: Session) -> None:
    write_way(library / ".claude/ways", "team/once", "pattern: \\bquux\\b\nrefire: once", "ONCE-BODY")
    session.start()
    session.after(READ, {"id": "team/once"})
    assert session.prompt("what of quux?") == ""


@pytest.mark.parametrize("arguments", [{"id": "../x"}, {"id": "team/none"}, {"id": 5}, {}, {"id": ""}])
def test_a_pull_of_nothing_leaves_nothing(
    home: Home, library: Path, session: Session, arguments: dict[str, Any]
) -> None:
    session.start()
    before = len(home.log("way_pulled"))
    assert session.after(READ, arguments) == ""
    assert len(home.log("way_pulled")) == before
    assert not (session.directory / "ways").exists()


def test_a_hand_on_a_terminal_is_told_what_it_is(home: Home) -> None:
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn(str(PROGRAM), ["mcp"], env=home.environment, timeout=60, encoding="utf-8")
    child.expect("started by an MCP client")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 2
    assert home.ways("mcp", "--register").startswith("claude mcp add --scope user ways -- ")
