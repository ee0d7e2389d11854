"""What is measured of growth: more ways, longer transcripts, prompts and logs, more hooks at once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from benchmarks import lanes, payloads, scenes
from benchmarks.measure import Block, Measure, shown
from benchmarks.payloads import MIB
from benchmarks.scenes import Scene
from build import packages

WAYS = (10, 110, 1_000, 5_000)
TRANSCRIPTS = (1, 50, 500)  # MiB
LOGS = (0, 1, 32)  # MiB
AT_ONCE = (1, 8, 32)
# Room below the size at which the log is compacted, for the lines of a run.
_LOG_ROOM = 256 * 1024
_KEPT = ("ways-corpus-en.jsonl", "ways-corpus-en.bin", "ways-probes-en.bin", "embed-manifest.json")


def with_ways(scene: Scene, counts: tuple[int, ...]) -> dict[int, Scene]:
    """Homes with so many ways, their corpora built. Vectors of made-up ways are kept in the build cache."""
    found = {}
    for count in counts:
        home = scenes.beside(scene, f"ways-{count}", count)
        kept = packages.cache_folder() / "benchmarks" / f"ways-{count}"
        cache = Path(home.roots.cache)
        cache.mkdir(parents=True, mode=0o700)
        for name in _KEPT:
            if (kept / name).is_file():
                shutil.copy(kept / name, cache / name)
        scenes.must(home.command("corpus"))
        kept.mkdir(parents=True, exist_ok=True)
        for name in _KEPT:
            shutil.copy(cache / name, kept / name)
        found[count] = home
    return found


def more_ways(homes: dict[int, Scene]) -> list[Block]:
    """The file, command and prompt lanes with few and with many ways, nothing shown."""
    blocks = []
    for title, event, make in (
        ("file", "file", lambda talk, number: talk.edit(number)),
        ("command", "command", lambda talk, number: talk.bash(number)),
        ("prompt, 2 sentences", "prompt", lambda talk, number: talk.prompt(number, 2)),
    ):
        measures = []
        for count, home in homes.items():
            talk = home.talk(lanes.WARM)
            measures.append(
                Measure(
                    f"{title}, {count:,} ways",
                    lambda number, home=home, talk=talk, event=event, make=make: home.hook(
                        event, make(talk, number)
                    ),  # type: ignore[misc]
                )
            )
        blocks.append(Block(f"ways: {title}", tuple(measures)))
    return blocks


def transcript_name(size: int) -> str:
    """The session whose transcript has so many MiB."""
    return f"transcript-{size}"


def longer_transcripts(scene: Scene, sizes: tuple[int, ...]) -> list[Block]:
    """The lanes that read the transcript, with a short and a long one."""
    talks = {size: scene.talk(transcript_name(size), size * MIB) for size in sizes}
    blocks = []
    for title, event, make in (
        ("state", "state", lambda talk, number: talk.prompt(number, 1)),
        ("command", "command", lambda talk, number: talk.bash(number)),
        ("queued", "queued", lambda talk, number: talk.after_edit(number)),
    ):
        measures = tuple(
            Measure(
                f"{title}, transcript of {size} MiB",
                lambda number, talk=talk, event=event, make=make: scene.hook(event, make(talk, number)),  # type: ignore[misc]
            )
            for size, talk in talks.items()
        )
        blocks.append(Block(f"transcripts: {title}", measures))
    return blocks


def longer_prompts(scene: Scene) -> list[Block]:
    """A short prompt and a long one."""
    talk = scene.talk(lanes.WARM)
    return [
        Block(
            "prompt length",
            tuple(
                Measure(
                    f"prompt of {characters:,} characters",
                    lambda number, characters=characters: scene.hook(
                        "prompt", talk.long_prompt(number, characters)
                    ),  # type: ignore[misc]
                )
                for characters in (200, 20_000)
            ),
        )
    ]


def longer_logs(scene: Scene, folder: Path) -> list[Block]:
    """A hook that appends to the event log (it shows a way), with logs of different sizes, and when it is the
    one that has to compact the log."""
    talk = scene.talk(lanes.WARM)
    log = scene.roots.events
    ready = {}
    for size in LOGS:
        path = folder / f"events-{size}"
        payloads.write_event_log(str(path), max(0, size * MIB - (_LOG_ROOM if size == LOGS[-1] else 0)))
        ready[size] = path
    full = folder / "events-full"
    payloads.write_event_log(str(full), 33 * MIB)

    def put(path: Path) -> None:
        for name in (log, f"{log}.compacted"):
            if os.path.exists(name):
                os.unlink(name)
        if path.exists():
            shutil.copy(path, log)
        scene.forget_shown(lanes.WARM)

    def measure(name: str, path: Path) -> Measure:
        return Measure(
            name,
            lambda number: scene.hook("file", talk.edit(number, scenes.SHOWN_FILE)),
            shown,
            lambda: put(path),
        )

    measures = [measure(f"append, log of {size} MiB", path) for size, path in ready.items()]
    return [Block("event log", (*measures, measure("append that compacts 33 MiB", full)))]


def at_once(scene: Scene) -> list[Block]:
    """Hooks that run at the same time; the slowest of them counts."""
    talk = scene.talk(lanes.WARM)
    return [
        Block(
            "at once",
            tuple(
                Measure(
                    f"file, {copies} at once",
                    lambda number: scene.hook("file", talk.edit(number)),
                    copies=copies,
                )
                for copies in AT_ONCE
            ),
        ),
        Block(
            "prompts at once",
            tuple(
                Measure(
                    f"prompt, 2 sentences, {copies} at once",
                    lambda number: scene.hook("prompt", talk.prompt(number, 2)),
                    copies=copies,
                )
                for copies in AT_ONCE[:2]
            ),
        ),
    ]
