"""Goals: what is wanted of a number, what it is, whether that is enough; and how much is shipped."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import projection
from ways.embedding.calibrate import PROBES_FILE

PAYLOAD = os.path.join(os.path.dirname(os.path.abspath(projection.__file__)), "payload")
LANGUAGES_WANTED, LOCALISED_WANTED = 3, 20


@dataclass(frozen=True)
class Goal:
    """One row: its name, what was measured and what is wanted as they are shown, and whether it is met."""

    name: str
    measured: str
    wanted: str
    met: bool


def at_least(name: str, value: float, least: float, shown: str = "") -> Goal:
    """A goal that is met by a number of at least `least`."""
    return Goal(name, _number(value, shown), f"at least {_plain(least)}", value >= least)


def at_most(name: str, value: float, most: float, shown: str = "") -> Goal:
    """A goal that is met by a number of at most `most`."""
    return Goal(name, _number(value, shown), f"at most {_plain(most)}", value <= most)


def _plain(value: float) -> str:
    return f"{value:g}"


def _number(value: float, shown: str) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return f"{text} ({shown})" if shown else text


def as_table(rows: list[Goal]) -> str:
    """The goals as text."""
    lines = [f"{'Goal':<46} {'measured':<44} {'wanted':<16} met"]
    for row in rows:
        lines.append(f"{row.name:<46} {row.measured:<44} {row.wanted:<16} {'yes' if row.met else 'NO'}")
    return "\n".join(lines)


def inventory(payload: str = PAYLOAD) -> list[Goal]:
    """How much is shipped: ways, scripts, checks, languages, skills, agents, commands; and the probes."""
    names = [
        (os.path.basename(folder), name)
        for folder, _folders, names in os.walk(os.path.join(payload, "hooks", "ways"))
        for name in names
    ]
    return [
        at_least("ways", sum(name == f"{folder}.md" for folder, name in names), 110),
        # The root's own macro, which prints the table of ways, is none of a way.
        at_least("macros", sum(name == "macro.py" and folder != "ways" for folder, name in names), 12),
        at_least("postchecks", sum(name == "postcheck.py" for _folder, name in names), 6),
        at_least("checks", sum(name.endswith(".check.md") for _folder, name in names), 10),
        at_least(f"ways in {LANGUAGES_WANTED} languages and more", _localised(payload), LOCALISED_WANTED),
        at_least("skills", _entries(payload, "skills"), 6),
        at_least("agents", _entries(payload, "agents"), 3),
        at_least("commands", _entries(payload, "commands"), 2),
        at_least("calibration probes", _lines(PROBES_FILE), 800),
    ]


def _localised(payload: str) -> int:
    """Ways whose locale file has enough languages beside English."""
    count = 0
    for folder, _folders, names in os.walk(os.path.join(payload, "hooks", "ways")):
        for name in names:
            if name.endswith(".locales.jsonl"):
                with open(os.path.join(folder, name), encoding="utf-8") as lines:
                    languages = {json.loads(line)["lang"] for line in lines if line.strip()}
                count += len(languages - {"en"}) >= LANGUAGES_WANTED
    return count


def _entries(payload: str, kind: str) -> int:
    folder = os.path.join(payload, kind)
    return len([name for name in os.listdir(folder) if not name.startswith(".")])


def _lines(path: str) -> int:
    with open(path, encoding="utf-8") as lines:
        return sum(1 for line in lines if line.strip())
