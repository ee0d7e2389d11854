"""What can be known of a regex before it runs: literals that each match contains, and its risk.

Used when the catalogue is built; a hook only reads the results. Nothing here decides a match: a
literal that is missing from a text proves that the regex cannot match there, and that is all.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Sequence = list[tuple[Any, Any]]

MAX_LITERALS = 40
MIN_LENGTH = 2
# From this many iterations on, a repeat counts as unbounded.
MANY = 10

# How a search may grow with the text (see docs/decisions/regex-deadline.md).
LINEAR, QUADRATIC, POLYNOMIAL, EXPONENTIAL = 0, 1, 2, 3


def analyse(source: str) -> tuple[tuple[str, ...] | None, int]:
    """The folded literals of which each match of `source` (ignoring case) contains one, and the risk.

    None in place of the literals when none can be named. `source` must compile.
    """
    tree, _ = _parse(source)
    found = _required(list(tree))
    literals = tuple(sorted(found)) if found and min(map(len, found)) >= MIN_LENGTH else None
    return literals, _risk(list(tree))


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


def _required(sequence: Sequence) -> frozenset[str] | None:
    """The best set of literals of which a match of the sequence contains at least one."""
    candidates: list[frozenset[str]] = []
    run: list[str] = []

    def close() -> None:
        if run:
            candidates.append(frozenset(["".join(run).lower()]))
            run.clear()

    for operation, argument in sequence:
        name = str(operation)
        if name == "LITERAL" and argument < 128:
            run.append(chr(argument))
        elif name == "AT":
            # A position takes no text, so literals on both sides of it still touch.
            continue
        else:
            # A letter beyond ASCII may match in a spelling that folding does not produce; it ends the run.
            close()
            inner = _inside(name, argument)
            if inner:
                candidates.append(inner)
    close()
    return max(candidates, key=_worth, default=None)


def _inside(name: str, argument: Any) -> frozenset[str] | None:
    """The literals required by one node that holds sequences."""
    if name == "SUBPATTERN":
        return _required(list(argument[3]))
    if name == "ATOMIC_GROUP":
        return _required(list(argument))
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and argument[0] > 0:
        return _required(list(argument[2]))
    if name != "BRANCH":
        return None
    together: set[str] = set()
    for branch in argument[1]:
        required = _required(list(branch))
        if not required:
            return None
        together |= required
    return frozenset(together) if len(together) <= MAX_LITERALS else None


def _worth(literals: frozenset[str]) -> tuple[float, tuple[str, ...]]:
    """Long literals sieve better than short ones, few better than many; ties are broken by text."""
    return min(map(len, literals)) - 0.05 * len(literals), tuple(sorted(literals))


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
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
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
        for part in parts:
            more_unbounded, more_optional, more_nested = _repeats(part, within)
            unbounded += more_unbounded
            optional += more_optional
            nested = nested or more_nested
    return unbounded, optional, nested
