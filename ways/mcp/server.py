"""The three tools over stdio, on the official SDK. Imported by `ways mcp` alone.

Standard output belongs to the protocol; whatever else would be said goes to the debug log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from ways.mcp import lookup
from ways.mcp.lookup import BadRequest, Library

NAME = "ways"
INSTRUCTIONS = (
    "Short pieces of guidance of this user, team and project. Search before work that may have a house rule: "
    "a commit, a migration, a deployment, a document. Read what is found before you act on it."
)
_ID = {
    "type": "string",
    "description": "The way's id, as ways_search gives it.",
    "minLength": 1,
    "maxLength": 512,
}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": lookup.MAX_RESULTS}


def tools() -> list[types.Tool]:
    """The tools as a client sees them."""
    only_reads = types.ToolAnnotations(readOnlyHint=True, idempotentHint=True, openWorldHint=False)
    return [
        types.Tool(
            name="ways_search",
            description="Find guidance about a subject. Gives ids and descriptions, the best first.",
            inputSchema=_schema(
                {
                    "query": {
                        "type": "string",
                        "description": "What you are about to do, in a sentence.",
                        "minLength": 1,
                        "maxLength": lookup.MAX_QUERY,
                    },
                    "limit": _LIMIT,
                },
                "query",
            ),
            annotations=only_reads,
        ),
        types.Tool(
            name="ways_read",
            description="Read one piece of guidance in full.",
            inputSchema=_schema({"id": _ID}, "id"),
            annotations=only_reads,
        ),
        types.Tool(
            name="ways_neighbors",
            description="List the guidance around one: above, below, beside, and nearest in meaning.",
            inputSchema=_schema({"id": _ID, "limit": _LIMIT}, "id"),
            annotations=only_reads,
        ),
    ]


def _schema(properties: dict[str, Any], required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [required],
        "additionalProperties": False,
    }


def answer(library: Library, name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    """The answer of one tool. Raises BadRequest."""
    allowed = next((tool.inputSchema["properties"] for tool in tools() if tool.name == name), None)
    if allowed is None:
        raise BadRequest(f"there is no tool {name!r}")
    unknown = sorted(set(arguments) - set(allowed))
    if unknown:
        raise BadRequest(f"{name} takes {', '.join(allowed)}, not {', '.join(unknown)[:200]}")
    if name == "ways_search":
        return lookup.search(library, arguments.get("query"), arguments.get("limit"))
    if name == "ways_read":
        return lookup.read(library, arguments.get("id"))
    return lookup.neighbors(library, arguments.get("id"), arguments.get("limit"))


def build(library: Library, version: str, pulled: Callable[[str, str], None]) -> Server[Any, Any]:
    """The server. `pulled(way_id, client)` is called after each way that was read."""
    server: Server[Any, Any] = Server(NAME, version=version, instructions=INSTRUCTIONS)

    async def call(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        try:
            # In a thread: the engine may take a second, and a ping must be answered meanwhile.
            found = await anyio.to_thread.run_sync(answer, library, name, arguments)
        except BadRequest as error:
            return _result(str(error), wrong=True)
        if name == "ways_read":
            client = server.request_context.session.client_params
            who = client.clientInfo.name if client is not None else ""
            await anyio.to_thread.run_sync(pulled, str(found["id"]), who)
        return _result(lookup.as_text(found), found)

    async def listed() -> list[types.Tool]:
        return tools()

    server.list_tools()(listed)  # type: ignore[no-untyped-call]
    # What is wrong with the arguments is said in our words, with the next step.
    server.call_tool(validate_input=False)(call)
    return server


def _result(text: str, found: dict[str, object] | None = None, wrong: bool = False) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structuredContent=found, isError=wrong
    )


def serve(library: Library, version: str, pulled: Callable[[str, str], None]) -> None:
    """Serve standard input and output until the client closes them."""
    server = build(library, version, pulled)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)
