"""A made-up event log of any size, always the same for the same numbers.

    python -m tests.unit.readers.generated FOLDER [EVENTS] [SESSIONS]

writes FOLDER/events.jsonl, for measuring the readers by hand.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from ways.core.clock import utc_iso

START = 1_790_000_000.0
PROJECTS = [f"/home/anna/work/{name}" for name in ("shop", "api", "site", "infra")]
MODELS = ["claude-sonnet-5", "claude-opus-4-6", "claude-haiku-4-5"]
DOMAINS = {
    "softwaredev": ["delivery/commits", "delivery/branches", "code/testing", "code/errors", "code/security"],
    "itops": ["incident", "incident/postmortem", "kubernetes", "terraform"],
    "data": ["sql", "pipelines", "quality/csv"],
    "meta": ["planning", "memory"],
}
WAYS = [f"{domain}/{name}" for domain, names in DOMAINS.items() for name in names]
HOOKS = ["UserPromptSubmit", "PreToolUse", "PreToolUse", "PostToolUse"]
TRIGGERS = {
    "UserPromptSubmit": ["keyword", "semantic:embedding:en", "semantic:late-interaction:en"],
    "PreToolUse": ["bash", "file"],
    "PostToolUse": ["postcheck", "bash"],
}


def lines(events: int, sessions: int, seed: int = 7) -> Iterator[dict[str, str]]:
    """`events` events over `sessions` sessions that run three at a time, in the order of the log."""
    dice = random.Random(seed)
    share = max(1, events // sessions)
    made = 0
    for number in range(sessions):
        session = f"{number:08d}-0000-4000-8000-{dice.randrange(16**12):012x}"
        project = dice.choice(PROJECTS)
        common = {
            "session": session,
            "project": project,
            "model": dice.choice(MODELS),
            "config_dir": "/home/anna/.claude",
        }
        moment = START + number * 3_600.0
        position = 12_000
        count = share if number < sessions - 1 else events - made
        made += count
        shown: set[str] = set()
        favourites = dice.sample(WAYS, 6)
        left = count
        while left > 0:
            agent = "main" if dice.random() < 0.9 else f"agent{dice.randrange(3)}"
            hook = dice.choice(HOOKS)
            moment += dice.expovariate(1 / 20.0)
            position += dice.randrange(40, 2_500)
            shared = {**common, "agent_id": agent, "hook": hook}
            if left == count:
                yield {"ts": utc_iso(moment), "event": "session_start", "source": "startup", **shared}
                left -= 1
                continue
            for step in range(min(left, dice.choice([1, 1, 2, 3]))):
                way = dice.choice(favourites if dice.random() < 0.8 else WAYS)
                stamp = utc_iso(moment + step * 0.004)
                yield {"ts": stamp, **_event(dice, way, hook, position, agent, shown), **shared}
                left -= 1
            if position > 900_000:
                position = 20_000


def _event(
    dice: random.Random, way: str, hook: str, position: int, agent: str, shown: set[str]
) -> dict[str, str]:
    trigger = dice.choice(TRIGGERS[hook])
    base = {"way": way, "domain": way.partition("/")[0], "trigger": trigger, "scope": "agent"}
    roll = dice.random()
    if roll < 0.35:
        key = f"{agent} {way}"
        name = "way_redisclosed" if key in shown else "way_fired"
        shown.add(key)
        more = {"token_position": str(position)}
        if trigger.startswith("semantic"):
            more |= {
                "fire_score": f"{0.5 + dice.random() / 2:.4f}",
                "surface": "please make the tests of this pass",
            }
        elif name == "way_fired":
            more["matched_span"] = "git commit -m"
        if way.count("/") > 1:
            more |= {
                "parent": way.rsplit("/", 1)[0],
                "tree_depth": "1",
                "epoch_distance": str(dice.randrange(9)),
            }
        return {"event": name, **base, **more}
    if roll < 0.55:
        return {
            "event": "way_suppressed",
            "kind": "way",
            "reason": "refire",
            "way": way,
            "domain": base["domain"],
        }
    if roll < 0.70:
        numbers = {"prob_en": f"{0.45 + dice.random() / 20:.4f}", "tau_s": "0.5", "margin": "0.02"}
        return {"event": "way_nearmiss", **base, "trigger": "prompt", "corpus_id": f"core:{way}", **numbers}
    if roll < 0.88:
        p_yes = dice.random()
        verdict = "pass" if p_yes >= 0.5 else dice.choice(["block", "would_block"])
        more = {"p_yes": f"{p_yes:.3f}", "threshold": "0.5", "verdict": verdict, "mode": "enforce"}
        return {
            "event": "way_judged",
            **base,
            **more,
            "engine": "anthropic",
            "judge_ms": "420",
            "candidates": "3",
        }
    if roll < 0.95:
        tokens = {
            "input_tokens": str(dice.randrange(400, 3_000)),
            "output_tokens": str(dice.randrange(4, 60)),
        }
        cost = {"cost_usd": f"{dice.random() / 500:.6f}", "cost_source": "price", "outcome": "ok"}
        return {"event": "judge_call", "provider": "anthropic", "engine": "anthropic", **tokens, **cost}
    check = {
        "check": way,
        "epoch": str(position // 9_000),
        "way_epoch": "1",
        "distance": "3",
        "fire_count": "1",
    }
    scores = {"match_score": "1", "effective_score": "1.39", "anchored": "false"}
    return {"event": "check_fired", **base, **check, **scores}


def write(path: Path, events: int, sessions: int) -> Path:
    """Write the log to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for line in lines(events, sessions):
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    return path


if __name__ == "__main__":
    folder, *numbers = sys.argv[1:]
    counts = [int(number) for number in numbers] or [200_000, 300]
    print(write(Path(folder) / "events.jsonl", counts[0], counts[1]))
