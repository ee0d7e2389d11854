"""What can be known of a regex before it runs: literals that each match contains, where a match can begin
relative to them, and its risk.

Used when the catalogue is built; a hook only reads the results. Nothing here decides a match: a
literal that is missing from a text proves that the regex cannot match there, and that is all.
"""

from __future__ import annotations

from math import inf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Sequence = list[tuple[Any, Any]]
    # Literals with the greatest distance from the beginning of a match to the literal's.
    Leads = dict[str, float]

MAX_LITERALS = 40
MIN_LENGTH = 2
# A lead beyond this is as good as none: too many places to try.
MAX_LEAD = 64
# From this many iterations on, a repeat counts as unbounded.
MANY = 10

_REPEATS = frozenset(["MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"])

# How a search may grow with the text (see docs/decisions/regex-deadline.md).
LINEAR, QUADRATIC, POLYNOMIAL, EXPONENTIAL = 0, 1, 2, 3


def analyse(source: str) -> tuple[tuple[str, ...] | None, int, tuple[tuple[str, int], ...] | None]:
    """What is known of `source`, which must compile: the sieve, the risk, and the starts.

    The sieve: folded literals of which each match (ignoring case) contains one, None when none can be named.
    The starts: (literal, lead) pairs such that each match contains one of the literals at most `lead`
    characters behind its own beginning; None when none can be named.
    """
    tree, _ = _parse(source)
    found = _required(list(tree))
    sieve = max(found, key=_worth, default=None)
    bounded = [leads for leads in found if max(leads.values()) <= MAX_LEAD]
    starts = max(bounded, key=_worth, default=None)
    return (
        tuple(sorted(sieve)) if sieve else None,
        _risk(list(tree)),
        tuple((literal, int(lead)) for literal, lead in sorted(starts.items())) if starts else None,
    )


def code(source: str) -> tuple[Any, ...] | None:
    """The arguments of `_sre.compile` for `source`, the code packed into bytes; None if they cannot be had.

    They hold for one interpreter only: the reader compares `sys.hexversion` and `_sre.MAGIC`.
    """
    from array import array
    from importlib import import_module

    try:
        compiler = import_module("re._compiler")
        tree, flags = _parse(source)
        words = compiler._code(tree, flags)
        groups = tree.state.groupdict
        names: list[str | None] = [None] * tree.state.groups
        for name, number in groups.items():
            names[number] = name
        packed = array("I", [int(word) for word in words])
        if packed.itemsize != 4:
            return None
        return (
            source,
            int(flags | tree.state.flags),
            packed.tobytes(),
            tree.state.groups - 1,
            dict(groups),
            tuple(names),
        )
    except (ImportError, AttributeError, TypeError, ValueError):
        # Another interpreter keeps its compiler elsewhere; `re.compile` remains.
        return None


def _parse(source: str) -> tuple[Any, int]:
    """The syntax tree of `source`, and the flags it was parsed with."""
    import re
    import warnings
    from importlib import import_module

    flags = int(re.IGNORECASE)
    with warnings.catch_warnings():
        # A warning about a regex belongs to lint; on a hook's standard error it would be noise.
        warnings.simplefilter("ignore")
        return import_module("re._parser").parse(source, flags), flags


def _required(sequence: Sequence) -> list[Leads]:
    """Sets of literals, of each of which a match of the sequence contains at least one, with their leads."""
    candidates: list[Leads] = []
    run: list[str] = []
    before = run_start = 0.0

    def close() -> None:
        literal = "".join(run).lower()
        if len(literal) >= MIN_LENGTH:
            candidates.append({literal: run_start})
        run.clear()

    for operation, argument in sequence:
        name = str(operation)
        if name == "LITERAL" and argument < 128:
            if not run:
                run_start = before
            run.append(chr(argument))
        elif name != "AT":
            # A letter beyond ASCII may match in a spelling that folding does not produce, so it ends the run;
            # a position takes no text, so literals on both sides of it still touch.
            close()
            for leads in _inside(name, argument):
                candidates.append({literal: before + lead for literal, lead in leads.items()})
        before += _width(name, argument)
    close()
    return candidates


def _inside(name: str, argument: Any) -> list[Leads]:
    """The sets of required literals of one node that holds sequences."""
    if name == "SUBPATTERN":
        return _required(list(argument[3]))
    if name == "ATOMIC_GROUP":
        return _required(list(argument))
    if name in _REPEATS and argument[0] > 0:
        return _required(list(argument[2]))
    return _of_branches(argument[1]) if name == "BRANCH" else []


def _of_branches(branches: Any) -> list[Leads]:
    """One literal set that serves all branches: the best of each, and the best that begins near."""
    all_candidates = [_required(list(branch)) for branch in branches]
    near = [[leads for leads in each if max(leads.values()) <= MAX_LEAD] for each in all_candidates]
    found = []
    for choice in (all_candidates, near):
        if not all(choice):
            continue
        together: Leads = {}
        for candidates in choice:
            for literal, lead in max(candidates, key=_worth).items():
                together[literal] = max(lead, together.get(literal, 0.0))
        if len(together) <= MAX_LITERALS and together not in found:
            found.append(together)
    return found


def _width(name: str, argument: Any) -> float:
    """The greatest number of characters that one node can take."""
    if name in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
        return 1.0
    if name in {"AT", "ASSERT", "ASSERT_NOT"}:
        return 0.0
    if name == "SUBPATTERN":
        return _widths(argument[3])
    if name == "ATOMIC_GROUP":
        return _widths(argument)
    if name == "BRANCH":
        return max((_widths(branch) for branch in argument[1]), default=0.0)
    if name in _REPEATS:
        each = _widths(argument[2])
        return each * int(argument[1]) if each and int(argument[1]) <= MAX_LEAD else each and inf
    return inf


def _widths(sequence: Any) -> float:
    return sum(_width(str(operation), argument) for operation, argument in list(sequence))


def _worth(leads: Leads) -> tuple[float, tuple[str, ...]]:
    """Long literals sieve better than short ones, few better than many; ties are broken by text."""
    return min(map(len, leads)) - 0.05 * len(leads), tuple(sorted(leads))


def _risk(sequence: Sequence) -> int:
    """How the time of a failing search may grow with the length of the text."""
    unbounded, optional, nested = _repeats(sequence, inside=False)
    if nested or optional > MANY:
        return EXPONENTIAL
    if unbounded > 1:
        return POLYNOMIAL
    return QUADRATIC if unbounded else LINEAR


def _repeats(sequence: Sequence, inside: bool) -> tuple[int, int, bool]:
    """Unbounded repeats, optional parts, and whether a choice stands inside an unbounded repeat."""
    unbounded, optional, nested = 0, 0, False
    for operation, argument in sequence:
        name = str(operation)
        parts: list[Sequence] = []
        within = inside
        if name in _REPEATS:
            low, high, body = argument
            varies = int(high) != int(low)
            many = int(high) >= MANY
            nested = nested or (inside and varies)
            unbounded += varies and many
            optional += varies and not many
            within = inside or many
            parts = [list(body)]
        elif name == "BRANCH":
            nested = nested or inside
            parts = [list(branch) for branch in argument[1]]
        elif name == "SUBPATTERN":
            parts = [list(argument[3])]
        elif name in {"ASSERT", "ASSERT_NOT"}:
            parts = [list(argument[1])]
        elif name == "ATOMIC_GROUP":
            parts = [list(argument)]
        elif name == "GROUPREF_EXISTS":
            parts = [list(part) for part in argument[1:] if part is not None]
        elif name == "GROUPREF":
            nested = nested or inside
        found = [_repeats(part, within) for part in parts]
        # Alternatives are tried one after another: their costs add up, they do not multiply.
        unbounded += max((each[0] for each in found), default=0)
        optional += max((each[1] for each in found), default=0)
        nested = nested or any(each[2] for each in found)
    return unbounded, optional, nested
