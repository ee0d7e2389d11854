"""What is measured of the hooks: every lane, warm and cold, and the adapter around them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from benchmarks import scenes, texts
from benchmarks.measure import Block, Call, Measure, Sample, shown, silent
from benchmarks.payloads import Talk
from benchmarks.scenes import Scene

# Sessions that are under way.
WARM, STOPPING, ANSWERED = "warm", "stopping", "answered"
FROZEN, SOURCE = "frozen", "source"
# A prompt that was meant by the embedding; nothing else of a hook takes so much memory.
IN_PROCESS_MIB = 40.0
ANSWERED_BY_RESIDENT = (
    "command, nothing shown",
    "prompt, 1 sentence",
    "prompt, 2 sentences",
    "prompt, 8 sentences",
    "task",
)


def one(measure: Measure) -> Block:
    """A block of its own: the floors run just before it."""
    return Block(measure.name, (measure,))


def warm(kind: str, scene: Scene) -> list[Block]:
    """Every lane in a session that is under way, with the catalogue cached and the resident up."""
    no_op = Measure(f"{kind} no-op", lambda number: scene.command("--noop"))
    return [
        one(measure)
        for measure in (no_op, *_quiet(kind, scene), *_showing(kind, scene), *_others(kind, scene))
    ]


def _lane(kind: str, scene: Scene, name: str, event: str, payload: Callable[[int], bytes]) -> Measure:
    """A lane that shows nothing."""
    return Measure(f"{kind} {name}", lambda number: scene.hook(event, payload(number)))


def _quiet(kind: str, scene: Scene) -> list[Measure]:
    """Nothing to show, nothing to do."""
    talk = scene.talk(WARM)
    # Sessions of their own: what Claude has said last becomes part of what a prompt is matched by.
    stopping, answered = scene.talk(STOPPING), scene.talk(ANSWERED)
    scene.session(ANSWERED).record_response(texts.sentences(1, 8))
    rows: tuple[tuple[str, str, Callable[[int], bytes]], ...] = (
        ("file, nothing shown", "file", talk.edit),
        ("command, nothing shown", "command", talk.bash),
        ("state, steady", "state", lambda number: talk.prompt(number, 1)),
        ("post-tool, nothing to do", "post-tool", talk.after_edit),
        ("queued, nothing to do", "queued", talk.after_edit),
        ("stop", "stop", stopping.stop),
        ("tasks-active", "tasks-active", lambda number: talk.task_create()),
        ("prompt, 1 sentence", "prompt", lambda number: talk.prompt(number, 1)),
        ("prompt, 2 sentences", "prompt", lambda number: talk.prompt(number, 2)),
        ("prompt, 8 sentences", "prompt", lambda number: talk.prompt(number, 8)),
        ("prompt, 2 sentences after an answer of 8", "prompt", lambda number: answered.prompt(number, 2)),
    )
    return [_lane(kind, scene, *row) for row in rows]


def _showing(kind: str, scene: Scene) -> list[Measure]:
    """Ways are shown, and recorded as shown."""
    talk = scene.talk(WARM)

    def forget() -> None:
        scene.forget_shown(WARM)

    def leave_stash() -> None:
        scene.drop_stashes(WARM)
        scene.leave_stash(WARM)

    file = _lane(
        kind, scene, "file, one way shown", "file", lambda number: talk.edit(number, scenes.SHOWN_FILE)
    )
    command = _lane(
        kind,
        scene,
        "command, one way shown",
        "command",
        lambda number: talk.bash(number, scenes.SHOWN_COMMAND),
    )
    subagent = _lane(
        kind,
        scene,
        "subagent-start, three ways",
        "subagent-start",
        lambda number: talk.subagent(f"agent-{number}"),
    )
    return [
        replace(file, check=shown, prepare=forget),
        replace(command, check=shown, prepare=forget),
        replace(subagent, check=three_shown, prepare=leave_stash),
    ]


def _others(kind: str, scene: Scene) -> list[Measure]:
    """The lanes that have no budget."""
    talk = scene.talk(WARM)
    task = _lane(kind, scene, "task", "task", talk.task)

    def start(number: int) -> bytes:
        return scene.talk(f"start-{number}", 0).start("startup")

    return [
        replace(task, after=lambda: scene.drop_stashes(WARM)),
        _lane(kind, scene, "session-start", "session-start", start),
        _lane(kind, scene, "session-link", "session-link", talk.bash),
        _lane(kind, scene, "attend-drain", "attend-drain", talk.stop),
        _lane(kind, scene, "issues-pull", "issues-pull", lambda number: talk.prompt(number, 1)),
        _lane(kind, scene, "issues-task-created", "issues-task-created", lambda number: talk.task_created()),
    ]


def three_shown(sample: Sample) -> str:
    """What is wrong with a run that must show the three ways of the stash."""
    if wrong := shown(sample):
        return wrong
    text = json.loads(sample.stdout)["hookSpecificOutput"]["additionalContext"]
    titles = [texts.heading(number) for number in (1, 2, 3)]
    return "" if all(title in text for title in titles) else "did not show the three ways"


def cold(kind: str, scene: Scene) -> list[Block]:
    """The first hook of a session, with no resident running: without a cached catalogue, and with one."""

    def talk(number: int) -> Talk:
        return scene.talk(f"cold-{number}", 0)

    def forget_all() -> None:
        scene.stop_residents()
        scene.drop_catalogues()

    def cache_catalogue() -> None:
        scene.stop_residents()
        scenes.must(scene.hook("file", talk(0).edit(0)))

    def lane(
        name: str,
        event: str,
        payload: Callable[[int], bytes],
        check: Callable[[Sample], str] = silent,
        prepare: Callable[[], None] = forget_all,
    ) -> Block:
        def call(number: int) -> Call:
            return scene.hook(event, payload(number))

        return one(Measure(f"{kind} {name}", call, check, prepare, scene.stop_residents))

    def prompt(sentences: int) -> Callable[[int], bytes]:
        return lambda number: talk(number).prompt(number, sentences)

    return [
        lane("file, nothing shown, cold", "file", lambda number: talk(number).edit(number)),
        lane(
            "command, nothing shown, cold", "command", lambda number: talk(number).bash(number), embedded_here
        ),
        lane("prompt, 2 sentences, cold", "prompt", prompt(2), embedded_here),
        lane("prompt, 8 sentences, cold", "prompt", prompt(8), embedded_here),
        lane("prompt, 2 sentences, no resident", "prompt", prompt(2), embedded_here, cache_catalogue),
        lane("prompt, 8 sentences, no resident", "prompt", prompt(8), embedded_here, cache_catalogue),
        lane("state, first of a session, cold", "state", lambda number: talk(number).start("startup"), shown),
    ]


def embedded_here(sample: Sample) -> str:
    """What is wrong with a run that must embed in its own process and show nothing."""
    if wrong := silent(sample):
        return wrong
    peak = sample.peak_kib / 1024
    return "" if peak > IN_PROCESS_MIB else f"did not load the model: its peak is {peak:.0f} MiB"


def adapter(kind: str, scene: Scene) -> list[Block]:
    """The command of settings.json against the program alone; and the adapter around a program that does
    nothing, which is what it costs itself."""
    talk = scene.talk(WARM)
    hollow = hollow_target(scene)
    true = shutil.which("true", path="/usr/bin:/bin") or "/bin/true"

    def whole(number: int) -> Call:
        return scene.adapter("check-file-pre.sh", talk.edit(number))

    def alone(number: int) -> Call:
        return scene.hook("file", talk.edit(number))

    def around_nothing(number: int) -> Call:
        script = hollow / "hooks" / "ways" / "check-file-pre.sh"
        shell = scene.adapter("check-file-pre.sh", talk.edit(number))
        return Call((*shell.arguments[:-1], f'"{script}"'), shell.environment, shell.folder, shell.stdin)

    return [
        Block(
            f"{kind} adapter",
            (
                Measure(f"{kind} file lane alone", alone),
                Measure(f"{kind} file lane as in settings.json", whole),
                Measure(f"{kind} true alone", lambda number: Call((true,), scene.environment, "/")),
                Measure(f"{kind} adapter around true", around_nothing),
            ),
        )
    ]


def hollow_target(scene: Scene) -> Path:
    """A config directory with the same adapters, whose program is `true`."""
    target = scene.home / "hollow"
    if not target.exists():
        (target / "bin").mkdir(parents=True)
        (target / "bin" / "ways").symlink_to(shutil.which("true", path="/usr/bin:/bin") or "/bin/true")
        (target / "hooks").mkdir()
        (target / "hooks" / "ways").symlink_to((scene.target / "hooks" / "ways").resolve())
    return target


def begin(scene: Scene, names: Iterable[str] = (WARM, STOPPING, ANSWERED), resident: bool = True) -> None:
    """Play the beginning of sessions, until nothing new is shown, and wait for the resident."""
    for name in names:
        talk = scene.talk(name)
        for event, payload in (
            ("session-start", talk.start("startup")),
            ("state", talk.start("startup")),
            ("state", talk.prompt(1, 1)),
            ("queued", talk.after_edit(1)),
            ("prompt", talk.prompt(2, 2)),
        ):
            scenes.must(scene.hook(event, payload))
    if resident:
        scene.wait_for_resident()
