"""`provenance.yaml` beside a way (docs/provenance.md): its fields, and the parser with file, line and key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from ways.settings.parsing import MAX_BYTES, Tree, Unreadable, read_tree

NAME = "provenance.yaml"
RELATIONS = ("implements", "supports", "interprets")
COVERAGES = ("full", "partial")
DEFAULT_REVIEW_DAYS = 365
MAX_TEXT = 2_000
MAX_ITEMS = 100
POLICY_FIELDS = {"name": True, "source": False, "section": False, "relation": False}
CONTROL_FIELDS = {"framework": True, "id": True, "title": False, "coverage": False, "claim": True}
FIELDS = ("policy", "controls", "rationale", "owner", "reviewed", "review_days", "digest")


@dataclass(frozen=True)
class Fault:
    """What is wrong in a sidecar: line (1-based, 0 for the whole file), dotted key, and what."""

    path: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


@dataclass(frozen=True)
class Policy:
    """A rule that the way rests on: its name, where it stands, and how the way relates to it."""

    name: str
    source: str = ""
    section: str = ""
    relation: str = "implements"


@dataclass(frozen=True)
class Control:
    """A control of a framework that the way helps to meet, with the claim how. `coverage` full or partial."""

    framework: str
    id: str
    claim: str
    title: str = ""
    coverage: str = "partial"

    @property
    def key(self) -> str:
        """`framework:id`, as a control is named on the command line."""
        return f"{self.framework}:{self.id}"


@dataclass(frozen=True)
class Sidecar:
    """A sidecar without its faults. `reviewed` None when it never was; `digest` is that of the way as it
    was reviewed, "" when not noted."""

    path: str
    policies: tuple[Policy, ...] = ()
    controls: tuple[Control, ...] = ()
    rationale: str = ""
    owner: str = ""
    reviewed: date | None = None
    review_days: int = DEFAULT_REVIEW_DAYS
    digest: str = ""


def parse(data: bytes, path: str) -> tuple[Sidecar, tuple[Fault, ...]]:
    """The sidecar in `data` with everything wrong in it; an entry with a fault is left out. Never raises."""
    try:
        tree = read_tree(data)
    except Unreadable as error:
        return Sidecar(path), (Fault(path, error.line, "", error.message),)
    if tree.root is None:
        return Sidecar(path), (Fault(path, 0, "", "is empty"),)
    if not isinstance(tree.root, dict):
        return Sidecar(path), (Fault(path, 1, "", "must hold keys and values"),)
    reader = _Reader(tree, path)
    return reader.sidecar(tree.root), tuple(reader.faults)


class _Reader:
    """Takes typed fields out of one document."""

    def __init__(self, tree: Tree, path: str) -> None:
        self.tree = tree
        self.path = path
        self.faults: list[Fault] = [
            Fault(path, tree.lines.get(place, 0), ".".join(place), "is there twice") for place in tree.doubled
        ]

    def wrong(self, place: tuple[str, ...], message: str) -> None:
        line = next(
            (
                self.tree.lines[place[:count]]
                for count in range(len(place), 0, -1)
                if place[:count] in self.tree.lines
            ),
            0,
        )
        self.faults.append(Fault(self.path, line, ".".join(place), message))

    def sidecar(self, root: Mapping[str, Any]) -> Sidecar:
        for name in root:
            if name not in FIELDS:
                self.wrong((name,), f"is not a field; there are {', '.join(FIELDS)}")
        policies = [
            Policy(**fields)
            for place, item in self.items(root, "policy")
            if (fields := self.entry(place, item, POLICY_FIELDS, "relation", RELATIONS)) is not None
        ]
        controls = [
            Control(**fields)
            for place, item in self.items(root, "controls")
            if (fields := self.entry(place, item, CONTROL_FIELDS, "coverage", COVERAGES)) is not None
        ]
        keys = [control.key for control in controls]
        for key in sorted({key for key in keys if keys.count(key) > 1}):
            self.wrong(("controls",), f"{key} is claimed twice")
        if not policies and not controls and not self.faults:
            self.wrong((), "names neither a policy nor a control")
        return Sidecar(
            self.path,
            tuple(policies),
            tuple(controls),
            self.text(("rationale",), root.get("rationale")),
            self.text(("owner",), root.get("owner")),
            self.day(root.get("reviewed")),
            self.days(root.get("review_days")),
            self.digest(root.get("digest")),
        )

    def items(self, root: Mapping[str, Any], name: str) -> list[tuple[tuple[str, ...], Any]]:
        value = root.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            self.wrong((name,), f"must be a list of at most {MAX_ITEMS} entries")
            return []
        return [((name, str(at)), item) for at, item in enumerate(value)]

    def entry(
        self,
        place: tuple[str, ...],
        item: Any,
        fields: Mapping[str, bool],
        choice: str,
        choices: tuple[str, ...],
    ) -> dict[str, str] | None:
        """The fields of one entry as text, None when one of them is wrong."""
        if not isinstance(item, dict):
            self.wrong(place, f"must hold {', '.join(fields)}")
            return None
        before = len(self.faults)
        for name in item:
            if name not in fields:
                self.wrong((*place, name), f"is not a field here; there are {', '.join(fields)}")
        found = {name: text for name in fields if (text := self.text((*place, name), item.get(name)))}
        for name, required in fields.items():
            if required and name not in found and len(self.faults) == before:
                self.wrong(place, f"lacks {name}")
        if choice in found and found[choice] not in choices:
            self.wrong((*place, choice), f"must be one of {', '.join(choices)}")
        return found if len(self.faults) == before else None

    def text(self, place: tuple[str, ...], value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, bool | dict | list) or not str(value).strip():
            self.wrong(place, "must be a text")
            return ""
        if len(str(value)) > MAX_TEXT:
            self.wrong(place, f"is longer than {MAX_TEXT} characters")
            return ""
        return " ".join(str(value).split())

    def day(self, value: Any) -> date | None:
        if value is None:
            return None
        if isinstance(value, str) and len(value) == 10:
            try:
                return date.fromisoformat(value)
            except ValueError:
                pass  # said below, with the place
        self.wrong(("reviewed",), "must be a date such as 2026-11-30")
        return None

    def days(self, value: Any) -> int:
        if value is None:
            return DEFAULT_REVIEW_DAYS
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 3_660:
            self.wrong(("review_days",), "must be a whole number of days from 1 to 3660")
            return DEFAULT_REVIEW_DAYS
        return value

    def digest(self, value: Any) -> str:
        if value is None:
            return ""
        text = str(value)
        if len(text) != 16 or not set(text) <= set("0123456789abcdef"):
            self.wrong(
                ("digest",), "must be the 16 hexadecimal digits that `ways audit trace` prints, in quotes"
            )
            return ""
        return text


__all__ = [
    "COVERAGES",
    "FIELDS",
    "MAX_BYTES",
    "NAME",
    "RELATIONS",
    "Control",
    "Fault",
    "Policy",
    "Sidecar",
    "parse",
]
