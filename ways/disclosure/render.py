"""A way's text as the agent reads it: static body and macro output (spec: disclosure, Macros)."""

from __future__ import annotations

import os

from ways.catalogue import way as model
from ways.core import text
from ways.core.record import record
from ways.disclosure import scripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.catalogue.way import Way

CUT_NOTE = "(the rest of this output was cut to fit)"
MAX_BODY_BYTES = 256 * 1024


@record
class RenderContext:
    """What rendering needs to know: limits, who asks, and whether project scripts may run. `target` is
    the config directory that `ways trust` must be told, "" for the default one."""

    project: str
    session_id: str
    agent_id: str
    sessions_root: str
    scope: str
    trusted: bool
    timeout: float
    max_chars: int
    disabled_domains: tuple[str, ...] = ()
    target: str = ""


@record
class Rendered:
    """The text and what went wrong on the way ("" when nothing did, for the debug log)."""

    text: str
    problem: str = ""


def untrusted_note(project: str, target: str = "") -> str:
    """The line shown in place of a project macro that may not run (case h27). The command in it works as
    it stands, wherever it is pasted."""
    command = f"ways trust add {_quoted(project)}"
    if target:
        command += f" --target {_quoted(target)}"
    return f"(This project's way has a macro that did not run. To allow it: {command})"


def _quoted(path: str) -> str:
    """One word of a command line, on one line."""
    path = text.printable(path).replace("\n", " ")
    if os.name == "nt":
        return f'"{path}"'
    quoted = path.replace("'", "'\\''")
    return f"'{quoted}'"


def may_run(way: Way, context: RenderContext) -> bool:
    """Project scripts run only in trusted projects; shipped ones and the user's own always may."""
    return way.root_kind != model.PROJECT or context.trusted


def script_variables(way: Way, context: RenderContext) -> dict[str, str]:
    """The WAYS_ environment of a way's scripts."""
    values = {
        "WAYS_WAY_ID": way.id,
        "WAYS_WAY_DIR": way.directory,
        "WAYS_SCOPE": context.scope,
        "WAYS_SESSION_ID": context.session_id,
        "WAYS_AGENT_ID": context.agent_id,
        "WAYS_PROJECT_DIR": context.project,
        "WAYS_SESSIONS_ROOT": context.sessions_root,
    }
    if context.disabled_domains:
        values["WAYS_DISABLED_DOMAINS"] = " ".join(context.disabled_domains)
    if way.scan_exclude:
        values["WAYS_SCAN_EXCLUDE"] = way.scan_exclude
    return values


def render(way: Way, body: str, context: RenderContext, room: int) -> Rendered:
    """The way's full text in at most `room` UTF-16 units; `body` itself fits already.

    A macro that fails, floods or sleeps leaves the static body. Its output is cut at a line to
    what is left, with a one-line note.
    """
    static = body.strip("\n")
    if not way.macro or not way.macro_file:
        return Rendered(static)
    if not may_run(way, context):
        note = untrusted_note(context.project, context.target)
        joined = f"{static}\n\n{note}"
        return Rendered(joined if text.utf16_length(joined) <= room else static)
    path = os.path.join(way.directory, way.macro_file)
    result = scripts.run(
        path, context.project, script_variables(way, context), context.timeout, context.max_chars
    )
    output = result.output.strip("\n")
    if result.code is None and not result.why.startswith("printed more"):
        return Rendered(static, f"{way.id} macro {result.why}. {result.stderr}")
    if result.code not in (0, None):
        return Rendered(static, f"{way.id} macro exited {result.code}. {result.stderr}")
    if not output.strip():
        return Rendered(static)
    gap = "\n\n" if static else ""
    dynamic = _cut_lines(output, room - text.utf16_length(static) - len(gap), result.why != "")
    if not dynamic:
        return Rendered(static, f"{way.id} macro output did not fit")
    joined = f"{dynamic}{gap}{static}" if way.macro == "prepend" else f"{static}{gap}{dynamic}"
    return Rendered(joined, f"{way.id} macro {result.why}" if result.why else "")


def _cut_lines(output: str, room: int, already_cut: bool) -> str:
    """`output` whole when it fits, else its first lines and the note; "" when not even the note fits."""
    if not already_cut and text.utf16_length(output) <= room:
        return output
    left = room - text.utf16_length(CUT_NOTE) - 1
    kept: list[str] = []
    for line in output.split("\n"):
        left -= text.utf16_length(line) + 1
        if left < 0:
            break
        kept.append(line)
    if room < text.utf16_length(CUT_NOTE):
        return ""
    return "\n".join([*kept, CUT_NOTE])
