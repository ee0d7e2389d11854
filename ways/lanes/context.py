"""Everything one hook call knows, read once and only when asked for.

A lane that shows nothing must cost next to nothing, so settings, catalogue and transcript are
loaded on first use.
"""

from __future__ import annotations

import os

from ways.core import debuglog
from ways.core.text import match_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ways.catalogue.way import Catalogue, Way, WayRoots
    from ways.core.roots import Roots
    from ways.lanes.payload import Payload
    from ways.matching.tuning import Tuning
    from ways.session.state import Agent, Session
    from ways.session.transcript import Queue, Transcript
    from ways.session.window import Window
    from ways.settings.load import Settings

MAIN = "main"
COMPACT = "compact"


class Context:
    """One hook call: payload, roots and, on first use, the rest.

    `session` and `agent` are None when the payload's ids may not become paths: the hook then
    answers without state. `target` is the Claude Code config directory that the hook was written for.
    """

    def __init__(self, event: str, payload: Payload, roots: Roots, environ: Mapping[str, str]) -> None:
        self.lane = event
        self.payload = payload
        self.roots = roots
        self.environ = environ
        self.target = target_of(environ, roots)
        self.project = project_of(environ, payload)
        self.events: list[dict[str, str]] = []
        self.notes: list[str] = []
        self.refusal = ""  # why the host must not go on; only the lanes in dispatch.REFUSING are heard
        self._session: Session | None = None
        self._opened = False
        self._settings: Settings | None = None
        self._catalogue: Catalogue | None = None
        self._transcript: Transcript | None = None
        self._window: Window | None = None

    def note(self, message: str) -> None:
        """One line for the debug log, written when the hook ends."""
        self.notes.append(message)

    def flush_notes(self) -> None:
        """Write the collected lines."""
        for message in self.notes:
            debuglog.note(self.roots.state, self.lane, message)
        self.notes.clear()

    @property
    def session(self) -> Session | None:
        """This session's state, None without a usable id."""
        if not self._opened:
            from ways.session.state import open_session

            self._opened = True
            self._session = open_session(self.roots, self.payload.session_id)
        return self._session

    @property
    def agent_id(self) -> str:
        """`main`, or the subagent's id."""
        return self.payload.agent_id or MAIN

    @property
    def agent(self) -> Agent | None:
        """The state of the agent that this hook runs for."""
        if self.payload.agent_unusable or self.session is None:
            return None
        return self.session.agent(self.agent_id)

    def bump_epoch(self) -> None:
        """Count a prompt, command or file scan of this agent. A count that cannot be kept is noted and
        costs nothing else."""
        if self.agent is None:
            return
        try:
            self.agent.bump_epoch()
        except OSError as error:
            self.note(f"the epoch was not counted: {error}")

    @property
    def settings(self) -> Settings:
        """The settings of this user, target and project."""
        if self._settings is None:
            from ways.settings.load import load

            self._settings = load(self.roots, self.project or None, self.target)
            for diagnostic in self._settings.diagnostics:
                self.note(str(diagnostic))
        return self._settings

    @property
    def catalogue(self) -> Catalogue:
        """The ways of this project, this user and this target."""
        if self._catalogue is None:
            from ways.catalogue.cache import load

            self._catalogue = load(way_roots(self.roots, self.target, self.project), self.roots.cache)
        return self._catalogue

    @property
    def transcript(self) -> Transcript:
        """What the transcript of this agent says: token position, model, prose, queued messages."""
        return self._transcript or self.read_transcript()

    def read_transcript(self, prose: bool = False, queue: Queue | None = None) -> Transcript:
        """Read the transcript with what a lane needs beyond position and model, in the same pass."""
        from ways.session import transcript

        path = transcript.locate(
            self.payload.transcript_path, self.payload.session_id, self.payload.agent_id, self.target
        )
        self._transcript = transcript.read(
            path, sidechain=bool(self.payload.agent_id), prose=prose, queue=queue
        )
        return self._transcript

    @property
    def window(self) -> Window:
        """The context window of this agent's model, in tokens, with the source of the number."""
        if self._window is None:
            from ways.session.window import resolve

            self._window = resolve(self.transcript.model, self.environ)
        return self._window

    @property
    def tuning(self) -> Tuning:
        """The numbers of matching, with those that the settings change."""
        from ways.matching.tuning import Tuning

        numbers: dict[str, Any] = dict(self.settings.matching)
        return Tuning(**numbers)

    @property
    def position(self) -> int:
        """The token position of this agent.

        A SessionStart after a compaction may come before the row that tells what is left: what the
        transcript says then is the context of before, which is gone.
        """
        just_compacted = self.payload.event == "SessionStart" and self.payload.text("source") == COMPACT
        if just_compacted and not self.transcript.compacted:
            return 0
        return self.transcript.position

    @property
    def scope(self) -> str:
        """`agent` or `teammate`."""
        from ways.disclosure.scope import of_agent

        return of_agent(self.agent.team() if self.agent is not None else None)

    def refire_part(self, way: Way) -> float:
        """The way's cadence as a part of the window."""
        from ways.disclosure import refire

        presets = self.settings.refire_presets if way.refire else {}
        return refire.fraction(way.refire, presets)

    def is_held(self, way: Way) -> bool:
        """True while the way is inside its refire window for this agent."""
        agent = self.agent
        marker = agent.marker(way.id) if agent is not None else None
        if marker is None:
            return False
        from ways.disclosure import refire

        return refire.held(self.position, marker, self.refire_part(way), self.window.tokens)

    def log(self, event: str, **fields: object) -> None:
        """Collect an event with the fields that all share; it is appended when the hook ends."""
        from ways.telemetry.log import event as make

        common: dict[str, object] = {
            "hook": self.payload.event,
            "session": self.payload.session_id or None,
            "agent_id": self.agent_id if self.payload.session_id else None,
            "project": self.project or None,
            "config_dir": self.target,
        }
        if self._transcript is not None and self._transcript.model:
            common["model"] = self._transcript.model
        self.events.append(make(event, **{**common, **fields}))

    def flush_events(self) -> None:
        """Append the collected events to the log."""
        if self.events:
            from ways.telemetry.log import append

            append(self.roots.events, self.events)
            self.events = []


def target_of(environ: Mapping[str, str], roots: Roots) -> str:
    """The target whose hook this is: WAYS_TARGET, set by the adapter, else the projection root."""
    named = environ.get("WAYS_TARGET", "")
    return os.path.normpath(named) if named and os.path.isabs(named) else roots.projection


def project_of(environ: Mapping[str, str], payload: Payload) -> str:
    """The project: CLAUDE_PROJECT_DIR, else the payload's cwd; "" when neither is absolute."""
    for value in (environ.get("CLAUDE_PROJECT_DIR", ""), payload.cwd):
        if value:
            path = native_path(value)
            if os.path.isabs(path):
                return path
    return ""


def native_path(value: str) -> str:
    """A path as this system spells it: `/c/Users/x` becomes `c:/Users/x` on Windows (Git Bash)."""
    return match_path(value) if os.name == "nt" else value


def way_roots(roots: Roots, target: str, project: str) -> WayRoots:
    """The three roots of the catalogue."""
    from ways.catalogue.way import WayRoots

    core = os.path.join(target, "hooks", "ways")
    if not os.path.isdir(core):
        core = os.path.join(roots.app, "hooks", "ways")
    return WayRoots(project=project, user=roots.user_ways, core=core)
