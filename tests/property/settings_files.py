"""Settings files as people, editors and programs leave them: any layout, any spelling."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

from projection.claude_settings.base import Base, Permissions, Written
from tests.unit.projection.claude_settings.helpers import APP, TARGET, hook

EVENTS = ["UserPromptSubmit", "PreToolUse", "Stop", "Odd/ev~nt"]
MATCHERS = [None, "", "*", "Bash", "Bash|PowerShell", "Edit|Write"]
OUR_SPELLINGS = [
    f'"{TARGET}/hooks/ways/check-prompt.sh"',
    "~/.claude/hooks/ways/check-prompt.sh",
    "$HOME/.claude/hooks/ways/check-state.sh",
    "/Users/x/.claude/hooks/ways/check-bash-pre.sh",
    r'"C:\Users\x\.claude\hooks\ways\check-file-pre.sh"',
    f"{APP}/hooks/ways/old-adapter.sh",
    f"{TARGET}/bin/ways hook prompt",
]
USER_COMMANDS = [
    "mine",
    f"cat {TARGET}/hooks/ways/check-prompt.sh",
    f"env A=1 {TARGET}/hooks/ways/check-prompt.sh",
    f"{TARGET}/bin/ways session dump",
    "/home/y/.claude-work/hooks/ways/check-prompt.sh",
    'say "schön 😀"',
    f"{TARGET}/hooks/ways/mine.sh",
]
USER_PERMISSIONS = ["Read(./.env)", "Bash(git:*)", "Bash(ways context:*)", "WebFetch", "Bash(git:*)"]
BLANKS = ["", "", " ", "\n", "\t", "\r\n  ", "\n    "]
OUR_PERMISSIONS = ["Bash(ways:*)", f"Bash({TARGET}/bin/ways:*)", "Bash(/Users/x/.claude/bin/ways:*)"]


class Spelt(float):
    """A number that is written in a way of its own."""

    def __new__(cls, spelling: str) -> Spelt:
        found = super().__new__(cls, spelling)
        found.spelling = spelling  # type: ignore[attr-defined]
        return found

    def __repr__(self) -> str:
        return str(self.spelling)  # type: ignore[attr-defined]


numbers = st.sampled_from(["1.0", "1e3", "0", "-0", "12345678901234567890123", "1E+2", "0.10"]).map(Spelt)
words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
scalars = st.one_of(st.none(), st.booleans(), numbers, words, st.just("\ud800"))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=5,
)
extras = st.dictionaries(st.sampled_from(["timeout", "async", "own", "if"]), numbers, max_size=2)


def hooks(commands: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda command, more: {"type": "command", "command": command, **more},
        st.sampled_from(commands),
        extras,
    )


def groups(commands: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    def build(matcher: str | None, listed: list[Any], note: bool) -> dict[str, Any]:
        group: dict[str, Any] = {} if matcher is None else {"matcher": matcher}
        return {**group, "hooks": listed, **({"note": 1} if note else {})}

    return st.builds(build, st.sampled_from(MATCHERS), st.lists(hooks(commands), max_size=3), st.booleans())


def documents(with_ours: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Whole documents; with `with_ours` they also hold entries of ours in every spelling."""
    commands = USER_COMMANDS + (OUR_SPELLINGS if with_ours else [])
    entries = USER_PERMISSIONS + (OUR_PERMISSIONS if with_ours else [])
    lists = st.lists(st.sampled_from(entries), max_size=4)
    return st.builds(
        lambda other, parts: {**other, **parts},
        st.dictionaries(words.filter(lambda key: key not in {"hooks", "permissions"}), values, max_size=3),
        st.fixed_dictionaries(
            {},
            optional={
                "hooks": st.dictionaries(
                    st.sampled_from(EVENTS), st.lists(groups(commands), max_size=3), max_size=3
                ),
                "permissions": st.fixed_dictionaries(
                    {}, optional={"allow": lists, "deny": lists, "x": values}
                ),
            },
        ),
    )


def _block(picked: list[Any], allow: list[str], deny: list[str]) -> dict[str, Any]:
    events: dict[str, Any] = {}
    seen = set()
    for event, matcher, adapters, timeout in picked:
        occasion = (event, matcher or "*")
        fresh = [name for name in adapters if (occasion, name) not in seen]
        seen.update((occasion, name) for name in fresh)
        if fresh:
            group: dict[str, Any] = {} if matcher is None else {"matcher": matcher}
            group["hooks"] = [hook(name, timeout=timeout) for name in fresh]
            events.setdefault(event, []).append(group)
    return {"hooks": events, "permissions": {"allow": allow, "deny": deny}}


our_blocks = st.builds(
    _block,
    st.lists(
        st.tuples(
            st.sampled_from(EVENTS),
            st.sampled_from(MATCHERS),
            st.lists(
                st.sampled_from(["ways/check-prompt.sh", "ways/check-state.sh", "ways/check-bash-pre.sh"]),
                min_size=1,
                max_size=2,
                unique=True,
            ),
            st.sampled_from([10, 15]),
        ),
        max_size=4,
    ),
    st.lists(st.sampled_from(OUR_PERMISSIONS[:2]), max_size=2, unique=True),
    st.lists(st.sampled_from(["Read(./.env)", "Read(./keys/**)"]), max_size=2, unique=True),
)


@st.composite
def spelt(draw: st.DrawFn, document: Any) -> bytes:
    """A document as bytes in some layout: indentation, line ends, BOM, blanks anywhere, escapes."""
    layout = draw(st.sampled_from(["two", "four", "tab", "minified", "spaced", "wild"]))
    if layout == "wild":
        # One draw for the whole layout: a draw for each blank would cost most of the run.
        dice = random.Random(draw(st.integers(0, 2**32)))
        text = _wild(document, lambda: dice.choice(BLANKS), lambda: dice.random() < 0.5)
        text = dice.choice(BLANKS) + text + dice.choice(BLANKS)
    else:
        indent: Any = {"two": 2, "four": 4, "tab": "\t"}.get(layout)
        separators = (",", ":") if layout == "minified" else None
        escaped = draw(st.booleans())
        text = json.dumps(document, indent=indent, separators=separators, ensure_ascii=escaped)
        text += draw(st.sampled_from(["", "\n", "\n\n", " "]))
    if draw(st.booleans()):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    bom = "\ufeff" if draw(st.integers(0, 4)) == 0 else ""
    return (bom + text).replace("\ud800", "\\ud800").encode("utf-8")


def _wild(value: Any, blank: Any, escape: Any) -> str:
    if isinstance(value, dict):
        members = (
            blank()
            + json.dumps(key, ensure_ascii=escape())
            + blank()
            + ":"
            + blank()
            + _wild(item, blank, escape)
            for key, item in value.items()
        )
        return "{" + f"{blank()},".join(members) + blank() + "}"
    if isinstance(value, list):
        return (
            "[" + ",".join(blank() + _wild(item, blank, escape) + blank() for item in value) + blank() + "]"
        )
    return json.dumps(value, ensure_ascii=escape())


def bases() -> st.SearchStrategy[Base]:
    """Bases that have nothing to do with the file they are used with."""
    written = st.builds(
        Written, st.sampled_from(EVENTS), st.sampled_from(MATCHERS), hooks(OUR_SPELLINGS + USER_COMMANDS)
    )
    entries = st.lists(st.sampled_from(OUR_PERMISSIONS + USER_PERMISSIONS), max_size=3, unique=True).map(
        tuple
    )
    places = [
        "",
        "hooks",
        "permissions",
        "permissions/allow",
        "permissions/x",
        *(f"hooks/{e}" for e in EVENTS),
    ]
    return st.builds(
        Base,
        target=st.just(""),
        created=st.booleans(),
        hooks=st.lists(written, max_size=3).map(tuple),
        hooks_user_had=st.lists(written, max_size=1).map(tuple),
        permissions=st.dictionaries(
            st.sampled_from(["allow", "deny"]), st.builds(Permissions, entries, entries), max_size=2
        ),
        had_empty=st.dictionaries(st.sampled_from(places), st.sampled_from(BLANKS), max_size=4),
    )


def files(with_ours: bool = True) -> st.SearchStrategy[bytes]:
    """The bytes of a settings file."""
    return documents(with_ours).flatmap(spelt)
