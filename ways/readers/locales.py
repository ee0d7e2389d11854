"""Which ways can be found in which language, and where the log says that it matters (`ways tune locale`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

_MULTI = ":multi"


@dataclass(frozen=True)
class Language:
    """One language: how many ways have an alias in it, and which have none."""

    language: str
    covered: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Use:
    """What the multilingual lane did with one way: how often it fired it, and how often the way stayed
    just below."""

    way: str
    fired: int = 0
    near: int = 0


@dataclass(frozen=True)
class Report:
    """`ways` is the number of ways with a description; `used` those that the multilingual lane met."""

    ways: int
    languages: tuple[Language, ...]
    used: tuple[Use, ...]

    def as_data(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return asdict(self)


def report(
    aliases: Mapping[str, frozenset[str]], events: Iterable[Mapping[str, str]], wanted: str = ""
) -> Report:
    """The report over `aliases` (way id → the languages of its locale file). `wanted` is a language that is
    reported even when no way has an alias in it."""
    languages = sorted(
        {language for known in aliases.values() for language in known} | ({wanted} if wanted else set())
    )
    fired: Counter[str] = Counter()
    near: Counter[str] = Counter()
    for event in events:
        way = event.get("way", "")
        if event["event"] in {"way_fired", "way_redisclosed"} and event.get("trigger", "").endswith(_MULTI):
            fired[way] += 1
        elif event["event"] in {"way_nearmiss", "way_keyword_gated"} and "prob_multi" in event:
            near[way] += 1
    used = [Use(way, fired[way], near[way]) for way in {*fired, *near} if way]
    return Report(
        len(aliases),
        tuple(_language(language, aliases) for language in languages),
        tuple(sorted(used, key=lambda use: (-use.near, -use.fired, use.way))),
    )


def _language(language: str, aliases: Mapping[str, frozenset[str]]) -> Language:
    missing = tuple(sorted(way for way, known in aliases.items() if language not in known))
    return Language(language, len(aliases) - len(missing), missing)
