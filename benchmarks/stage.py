"""The homes of a run and what is measured in them, group by group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import budgets, floors, growth, lanes, scenes, work
from benchmarks.measure import Block, Call, Results, Unexpected
from benchmarks.scenes import Scene
from build import freeze

# The groups that `--only` names, in the order in which they are measured.
LANES, COLD, ADAPTER, AT_ONCE, PROMPTS = "lanes", "cold", "adapter", "at-once", "prompt-length"
TRANSCRIPTS, LOG, WAYS, RECONCILE, CORPUS = "transcripts", "event-log", "ways", "reconcile", "corpus"
SOURCE, SOURCE_COLD = "source", "source-cold"
GROUPS = (
    LANES,
    COLD,
    ADAPTER,
    AT_ONCE,
    PROMPTS,
    TRANSCRIPTS,
    LOG,
    WAYS,
    RECONCILE,
    CORPUS,
    SOURCE,
    SOURCE_COLD,
)
FROM_SOURCE = frozenset([SOURCE, SOURCE_COLD])


@dataclass(frozen=True)
class Wanted:
    """What to measure. `only` maps groups to parts of names of measures, one of which a name must have (()
    for all of the group). `engine` False: without matching by meaning, from source alone. `archive` None: a
    build of this checkout. `quick` leaves out what takes long to set up."""

    only: dict[str, tuple[str, ...]]
    quick: bool = False
    engine: bool = True
    archive: Path | None = None
    full_builds: int = 5

    @property
    def frozen(self) -> bool:
        """True when the frozen program is needed."""
        return any(group not in FROM_SOURCE for group in self.only)


class Stage:
    """Makes the homes below `folder`, and ends what was started in them."""

    def __init__(self, folder: Path, wanted: Wanted, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.wanted = wanted
        self.shipped = 0
        self._say = say
        self._scenes: list[Scene] = []
        self._packed: Path | None = None
        self._main: Scene | None = None

    def floors(self) -> dict[str, Call]:
        """F and P; P alone where the frozen program is not measured."""
        if not self.wanted.frozen:
            return {floors.P: floors.shell()}
        return {floors.F: floors.empty_program(floors.cached_empty_program()), floors.P: floors.shell()}

    def blocks(self) -> list[Block]:
        """Every block that is wanted, its homes ready."""
        main = self._frozen() if self.wanted.frozen else None
        found: list[Block] = []
        for group in GROUPS:
            if group in self.wanted.only:
                scene = self._source() if group in FROM_SOURCE else main
                assert scene is not None
                self._say(f"setting up {group}")
                found += self._parts(group, self._group(group, scene))
        return found

    def _parts(self, group: str, blocks: list[Block]) -> list[Block]:
        parts = self.wanted.only[group]
        if not parts:
            return blocks
        names = [
            block for block in blocks if any(part in one.name for part in parts for one in block.measures)
        ]
        return names

    def _group(self, group: str, scene: Scene) -> list[Block]:
        wanted = self.wanted
        if group == LANES:
            return lanes.warm(lanes.FROZEN, scene)
        if group == COLD:
            return self._cold(lanes.FROZEN, scene)
        if group == ADAPTER:
            return lanes.adapter(lanes.FROZEN, scene)
        if group == AT_ONCE:
            return growth.at_once(scene)
        if group == PROMPTS:
            return growth.longer_prompts(scene)
        if group == TRANSCRIPTS:
            sizes = growth.TRANSCRIPTS[:2] if wanted.quick else growth.TRANSCRIPTS
            blocks = growth.longer_transcripts(scene, sizes)
            lanes.begin(scene, [growth.transcript_name(size) for size in sizes])
            return blocks
        if group == LOG:
            return growth.longer_logs(scene, self.folder)
        if group == WAYS:
            return self._more_ways(scene)
        if group == RECONCILE:
            return work.reconcile(scene)
        if group == CORPUS:
            other = self._add(scenes.beside(scene, "corpus"))
            scenes.must(other.command("corpus"))
            return work.corpus(other, wanted.full_builds)
        if group == SOURCE:
            return lanes.warm(lanes.SOURCE, scene)
        return self._cold(lanes.SOURCE, scene)

    def _frozen(self) -> Scene:
        if self._main is None:
            self._packed = self.wanted.archive or freeze.cached()
            self._say(f"measuring {self._packed}")
            self._main = self._under_way(scenes.frozen(self._packed, self.folder / "frozen"), engine=True)
            self.shipped = scenes.count_ways(self._main)
        return self._main

    def _source(self) -> Scene:
        for scene in self._scenes:
            if scene.home.name == lanes.SOURCE:
                return scene
        scene = scenes.from_source(self.folder / lanes.SOURCE, self.wanted.engine)
        self.shipped = self.shipped or scenes.count_ways(scene)
        return self._under_way(scene, self.wanted.engine)

    def _under_way(self, scene: Scene, engine: bool) -> Scene:
        """The scene with a corpus, a session that is under way and its caches warm."""
        self._add(scene)
        if engine:
            scenes.must(scene.command("corpus"))
        lanes.begin(scene, resident=False)
        scenes.settle([scene], lambda each: each.talk(lanes.WARM).edit(3))
        lanes.begin(scene, resident=engine)
        return scene

    def _cold(self, kind: str, scene: Scene) -> list[Block]:
        other = self._add(scenes.beside(scene, f"{kind}-cold"))
        scenes.must(other.command("corpus"))
        scenes.settle([other], lambda each: each.talk(lanes.WARM).edit(3))
        return lanes.cold(kind, other)

    def _more_ways(self, scene: Scene) -> list[Block]:
        counts = growth.WAYS[:3] if self.wanted.quick else growth.WAYS
        self._say("building corpora of many ways: some minutes the first time")
        homes = growth.with_ways(scene, counts)
        for home in homes.values():
            self._add(home)
            lanes.begin(home, [lanes.WARM], resident=False)
        scenes.settle(list(homes.values()), lambda each: each.talk(lanes.WARM).edit(3))
        for home in homes.values():
            lanes.begin(home, [lanes.WARM])
        return growth.more_ways(homes)

    def _add(self, scene: Scene) -> Scene:
        self._scenes.append(scene)
        return scene

    def prove(self, results: Results) -> None:
        """That no hook met a fault, and that matching by meaning really ran. Raises Unexpected."""
        for scene in self._scenes:
            log = Path(scene.roots.state) / "debug.log"
            said = log.read_text("utf-8").strip() if log.exists() else ""
            if said and (self.wanted.engine or "no semantic signal" not in said):
                raise Unexpected(f"hooks in {scene.home.name} noted: {said[-1500:]}")
        for name in lanes.ANSWERED_BY_RESIDENT:
            peaks = [one.peak_kib / 1024 for one in results.rounds.get(f"{lanes.FROZEN} {name}", [])]
            if peaks and median(peaks) > lanes.IN_PROCESS_MIB:
                raise Unexpected(f"{name}: the resident did not answer, the hooks embedded themselves")

    def sizes(self) -> dict[str, float]:
        """The size of the archive and the memory of the resident."""
        found = {}
        if self._packed is not None:
            found[budgets.ARCHIVE] = scenes.archive_mb(self._packed)
        if self._main is not None and self._main.residents():
            found[budgets.RESIDENT] = self._main.resident_peak_mib()
        return found

    def end(self) -> None:
        """Stop what the hooks have started."""
        for scene in self._scenes:
            scene.stop_residents()
