"""A user with a judge: roots of their own, a key, settings that point to a test server, and the agent.

`Home.judge` is what a prompt hook does: ask the gate, append its events. The agent is a real process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.e2e.provider_server import KEY, ProviderServer
from ways.core import roots
from ways.core.roots import Roots
from ways.gate import client, link
from ways.gate.fallback import Fallback
from ways.gate.types import GateHit, GateOutcome, GateRequest
from ways.telemetry import log, reading

ALPHA = GateHit("code/alpha", "guidance about alpha", ancestors=("code",), trigger="keyword")
BETA = GateHit("code/beta", "guidance about beta", ancestors=("code",), trigger="keyword")
PROMPT = "please do something with alpha"


@dataclass
class Home:
    """The user's folders and what tests do with them."""

    folder: Path
    roots: Roots
    server: ProviderServer
    socket: str
    # Machines that run tests are slow at times; tests of deadlines set their own.
    profile: dict[str, object] = field(default_factory=lambda: {"timeout_ms": 8000})

    def configure(self, engine: str = "anthropic", **gate: object) -> None:
        """Write agent.yaml: `gate` holds top keys; profile fields come from `self.profile`."""
        fields = {"base_url": self.server.url, **self.profile}
        section = {"engine": engine, "profiles": {engine: fields}, **gate}
        Path(self.roots.config, "agent.yaml").write_text(yaml.safe_dump({"gate": section}))

    def store_key(self, provider: str = "anthropic", key: str = KEY, mode: int = 0o600) -> Path:
        """Put a key file where the agent finds it."""
        folder = Path(self.roots.config, "keys")
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / provider
        path.write_text(key + "\n")
        path.chmod(mode)
        return path

    def judge(
        self, prompt: str = PROMPT, hits: tuple[GateHit, ...] = (ALPHA, BETA), **fields: str
    ) -> GateOutcome:
        """One prompt: the gate's outcome, its events appended to the log."""
        given = {"session": "session-1", "project": "/home/u/project", "agent_id": "main", **fields}
        outcome = client.judge(GateRequest(self.roots, "prompt", hits, prompt, **given))
        log.append(self.roots.events, list(outcome.events))
        return outcome

    def logged(self, name: str) -> list[dict[str, str]]:
        """The logged events of one name, in order."""
        return [event for event in reading.read(self.roots.events) if event["event"] == name]

    def reasons(self) -> list[str]:
        """The logged fallback reasons, in order."""
        return [event["reason"] for event in self.logged("gate_fallback")]

    def pid(self) -> int:
        """The process id of the agent that listens, 0 when none does."""
        try:
            return int(link.ask(self.roots, {"op": "ping"}, 5, start=False)["pid"])
        except Fallback:
            return 0

    def agents(self) -> list[int]:
        """All living agents of this home, by the socket in their environment."""
        wanted = f"WAYS_AGENT_SOCK={self.socket}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or not alive(int(entry.name)):
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"ways.agent" in words and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def stop_agent(self) -> None:
        """End every agent of this home, whatever state it is in, those just starting included."""
        for pid in self.agents():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not self.agents())


def alive(pid: int) -> bool:
    """True while a process runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_for(condition: object, seconds: float = 20.0) -> None:
    """Wait until `condition()` holds; fail when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.02)


@contextmanager
def home(folder: Path, **server: object) -> Iterator[Home]:
    """A home in `folder`, with a running provider; the environment is restored at the end."""
    before = dict(os.environ)
    for name in ("config", "state", "cache", "app"):
        (folder / name).mkdir(mode=0o700)
        os.environ[f"WAYS_{name.upper()}_ROOT"] = str(folder / name)
    (folder / "run").mkdir(mode=0o700)
    socket = str(folder / "run" / "agent.sock")
    os.environ["WAYS_AGENT_SOCK"] = socket
    with ProviderServer(**server) as provider:  # type: ignore[arg-type]
        user = Home(folder, roots.resolve(), provider, socket)
        user.configure()
        user.store_key()
        try:
            yield user
        finally:
            user.stop_agent()
            os.environ.clear()
            os.environ.update(before)
