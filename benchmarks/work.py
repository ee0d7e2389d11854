"""What is measured beside the hooks: reconcile and the corpus."""

from __future__ import annotations

from pathlib import Path

from benchmarks import scenes
from benchmarks.measure import Block, Call, Measure, ended_well
from benchmarks.scenes import Scene


def reconcile(scene: Scene) -> list[Block]:
    """`ways reconcile` where everything is in its place."""
    return [
        Block(
            "reconcile",
            (Measure("reconcile, nothing to change", lambda number: scene.command("reconcile"), ended_well),),
        ),
        Block("version", (Measure("ways --version", lambda number: scene.command("--version"), ended_well),)),
    ]


def corpus(scene: Scene, full_builds: int) -> list[Block]:
    """`ways corpus`: all of it, after one changed way, and when it is current. The full build is dear, so
    there are fewer of them; each is compared with the build after a change of the same round."""
    changed = Path(scene.roots.user_ways) / scenes.SHOWN / "shown.md"
    text = changed.read_text("utf-8")
    state = {"edits": 0}

    def change() -> None:
        state["edits"] += 1
        changed.write_text(f"{text}\nThe harbour keeps {state['edits']} pilots.\n", "utf-8")

    def build(number: int) -> Call:
        return scene.command("corpus")

    return [
        Block(
            "corpus, all",
            (
                Measure(
                    "corpus, full build", build, ended_well, scene.drop_corpus, rounds_at_most=full_builds
                ),
                Measure(
                    "corpus, one way changed, after a full build",
                    build,
                    ended_well,
                    change,
                    rounds_at_most=full_builds,
                ),
            ),
        ),
        Block("corpus, one", (Measure("corpus, one way changed", build, ended_well, change),)),
        Block(
            "corpus, none",
            (
                Measure(
                    "corpus --if-stale, current",
                    lambda number: scene.command("corpus", "--if-stale"),
                    ended_well,
                ),
            ),
        ),
    ]
