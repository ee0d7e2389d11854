"""A session as a sequence of moments: what happened, and what every agent had in its context then.

One frame is one hook call of one agent, as far as the log can tell them apart. The log does not hold the
epoch of a fire: it is counted in the transcript where there is one, else from the hook calls in
the log (then `exact_epochs` is False and the numbers are the least that they can be), and a `check_fired`
event, which holds it, corrects the count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ways.readers import describe, forecast
from ways.readers.describe import AGAIN, FIRED, PULLED, Line
from ways.readers.forecast import Cadence
from ways.readers.growth import Growth
from ways.readers.numbers import real, whole
from ways.session.stamps import seconds_of

# Events of one hook call lie closer together than this, in seconds.
GAP = 0.5
MAIN = "main"
# The sources after which a session's state is empty (spec: hooks, `session-start`).
CLEARING = frozenset({"startup", "compact", "clear"})
_EPOCH_HOOKS = frozenset({"UserPromptSubmit", "PreToolUse"})
NO_GROWTH = Growth()


@dataclass(frozen=True)
class Frame:
    """One moment. `position` and `window` are tokens, `epoch` counts this agent's prompts and tool
    calls; `events` are the log's own, `lines` the same in words."""

    index: int
    ts: str
    seconds: float
    agent: str
    hook: str
    model: str
    position: int
    window: int
    epoch: int
    events: tuple[Mapping[str, str], ...]
    lines: tuple[Line, ...]

    @property
    def clears(self) -> bool:
        """True when the session's state was cleared here."""
        return any(is_clearing(event) for event in self.events)


@dataclass(frozen=True)
class Active:
    """One way in an agent's context. `shown_at` is the token position and `epoch` the epoch at which it was
    shown last, `distance` the epochs since, `left` the tokens until it may show again (None:
    no forecast)."""

    way: str
    trigger: str
    shown_at: int
    epoch: int
    distance: int
    fires: int
    left: int | None
    cadence: Cadence

    @property
    def forecast(self) -> str:
        """When it may show again, in words."""
        return forecast.in_words(self.cadence, self.left)


@dataclass(frozen=True)
class Call:
    """One call of the judge: tokens, US dollars (None: unknown), milliseconds."""

    ts: str
    outcome: str
    provider: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


@dataclass(frozen=True)
class Timeline:
    """Everything a view of one session needs. `growth` is the main agent's, for the chart of tokens."""

    session: str
    project: str
    model: str
    window: int
    window_source: str
    exact_epochs: bool
    frames: tuple[Frame, ...]
    calls: tuple[Call, ...] = ()
    growth: Growth = NO_GROWTH
    cadence_of: Callable[[str], Cadence] = field(
        default=lambda _way: Cadence(None), repr=False, compare=False
    )

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents, in the order in which they appear."""
        return tuple(dict.fromkeys(frame.agent for frame in self.frames))


def is_clearing(event: Mapping[str, str]) -> bool:
    """True for the start of a session that empties its state. Old lines without a source count."""
    return event["event"] == "session_start" and event.get("source", "startup") in CLEARING


def build(
    session: str,
    events: Sequence[Mapping[str, str]],
    *,
    growths: Mapping[str, Growth],
    window_of: Callable[[str], tuple[int, str]],
    cadence_of: Callable[[str], Cadence],
) -> Timeline:
    """The timeline of a session's events, which are in order of time.

    `growths` are by agent; `window_of` gives (tokens, source) of a model id, `cadence_of` a way's cadence.
    """
    models: dict[str, str] = {}
    counter = _Epochs(growths)
    positions: dict[str, int] = {}
    frames: list[Frame] = []
    for group in _groups(events):
        first, last = group[0], group[-1]
        agent = first.get("agent_id") or MAIN
        seconds = seconds_of(first.get("ts")) or (frames[-1].seconds if frames else 0.0)
        for event in group:
            models[agent] = event.get("model") or models.get(agent, "")
        hook = first.get("hook", "")
        if any(is_clearing(event) for event in group):
            counter.clear(seconds)
            positions.clear()
        epoch = counter.at(agent, hook, seconds_of(last.get("ts")) or seconds, group)
        position = _position(group, growths.get(agent, NO_GROWTH), seconds, positions.get(agent, 0))
        positions[agent] = position
        window = window_of(models[agent])[0]
        lines = tuple(describe.describe(event) for event in group)
        frames.append(
            Frame(
                len(frames),
                first.get("ts", ""),
                seconds,
                agent,
                hook,
                models[agent],
                position,
                window,
                epoch,
                tuple(group),
                lines,
            )
        )
    model = models.get(MAIN, "") or next(iter(models.values()), "")
    window, source = window_of(model)
    project = next((event["project"] for event in reversed(events) if event.get("project")), "")
    return Timeline(
        session=session,
        project=project,
        model=model,
        window=window,
        window_source=source,
        exact_epochs=bool(growths.get(MAIN, NO_GROWTH).path),
        frames=tuple(frames),
        calls=tuple(_calls(events)),
        growth=growths.get(MAIN, NO_GROWTH),
        cadence_of=cadence_of,
    )


def active_at(timeline: Timeline, index: int) -> list[Active]:
    """What the agent of frame `index` had in its context after that frame, shown last first."""
    if not 0 <= index < len(timeline.frames):
        return []
    shown = _Shown()
    for frame in timeline.frames[: index + 1]:
        shown.take(frame)
    return shown.active(timeline.frames[index], timeline.cadence_of)


def states(timeline: Timeline) -> Iterator[tuple[Frame, list[Active]]]:
    """Every frame with what its agent then had in its context: as active_at, in one pass."""
    shown = _Shown()
    for frame in timeline.frames:
        shown.take(frame)
        yield frame, shown.active(frame, timeline.cadence_of)


class _Shown:
    """Who was shown what, up to one frame: per agent, in the order of the last showing."""

    def __init__(self) -> None:
        self._agents: dict[str, dict[str, tuple[str, int, int, int]]] = {}

    def take(self, frame: Frame) -> None:
        if frame.clears:
            self._agents.clear()
        mine = self._agents.setdefault(frame.agent, {})
        for event, line in zip(frame.events, frame.lines, strict=True):
            if line.kind in {FIRED, AGAIN, PULLED} and line.way:
                position = whole(event, "token_position")
                fires = mine.pop(line.way, ("", 0, 0, 0))[3] + 1
                at = frame.position if position is None else position
                mine[line.way] = (line.trigger or line.kind, at, frame.epoch, fires)

    def active(self, frame: Frame, cadence_of: Callable[[str], Cadence]) -> list[Active]:
        found = []
        for way, (trigger, at, epoch, fires) in reversed(self._agents.get(frame.agent, {}).items()):
            cadence = cadence_of(way)
            left = forecast.tokens_left(cadence, frame.position, at, frame.window)
            distance = max(0, frame.epoch - epoch)
            found.append(Active(way, trigger, at, epoch, distance, fires, left, cadence))
        return found


class _Epochs:
    """The epoch of each agent over time, as well as it can be known."""

    def __init__(self, growths: Mapping[str, Growth]) -> None:
        self._growths = growths
        self._cleared = 0.0
        self._counted: dict[str, int] = {}
        self._least: dict[str, tuple[int, int]] = {}

    def clear(self, seconds: float) -> None:
        self._cleared = seconds
        self._counted.clear()
        self._least.clear()

    def at(self, agent: str, hook: str, seconds: float, group: Sequence[Mapping[str, str]]) -> int:
        growth = self._growths.get(agent, NO_GROWTH)
        if growth.path:
            # The row of a prompt is written after its hooks have run, that of a tool call before.
            own = hook == "UserPromptSubmit"
            count = growth.epochs_between(self._cleared, seconds) + own
        else:
            self._counted[agent] = self._counted.get(agent, 0) + (hook in _EPOCH_HOOKS)
            count = self._counted[agent]
        known = [epoch for event in group if (epoch := whole(event, "epoch")) is not None]
        if known:
            self._least[agent] = (max(known), count)
        base, at_count = self._least.get(agent, (count, count))
        return max(0, base + count - at_count)


def _groups(events: Sequence[Mapping[str, str]]) -> Iterator[list[Mapping[str, str]]]:
    """The events of one hook call together."""
    group: list[Mapping[str, str]] = []
    key: tuple[str, str] = ("", "")
    last = 0.0
    for event in events:
        moment = seconds_of(event.get("ts"))
        own = (event.get("agent_id") or MAIN, event.get("hook", ""))
        apart = moment is not None and abs(moment - last) > GAP
        if group and (own != key or apart):
            yield group
            group = []
        group.append(event)
        key, last = own, last if moment is None else moment
    if group:
        yield group


def _position(group: Sequence[Mapping[str, str]], growth: Growth, seconds: float, before: int) -> int:
    logged = [position for event in group if (position := whole(event, "token_position")) is not None]
    if logged:
        return logged[-1]
    known = growth.tokens_at(seconds)
    return before if known is None else known


def _calls(events: Sequence[Mapping[str, str]]) -> Iterator[Call]:
    for event in events:
        if event["event"] != "judge_call":
            continue
        names = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
        cost = real(event, "cost_usd")
        yield Call(
            event.get("ts", ""),
            event.get("outcome", ""),
            event.get("provider", ""),
            sum(whole(event, name) or 0 for name in names),
            whole(event, "output_tokens") or 0,
            cost if cost is not None and cost >= 0 else None,
        )
