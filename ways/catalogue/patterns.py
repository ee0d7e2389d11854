"""Regexes of ways: compiled case-insensitively, sieved by literals, run under one deadline (spec: the
way format, "A pattern must not be able to hang a hook"; docs/decisions/regex-deadline.md).
"""

from __future__ import annotations

import marshal
import os
import time

from ways.catalogue.sieve import LONG_TEXT, Sieve
from ways.core.checksum import SIZE, checksum
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, TypeVar

    T = TypeVar("T")

DEADLINE_SECONDS = 0.25
COMPILE_SECONDS = 0.1
MAX_TEXT = 1 << 18
# Where no timer can interrupt a search: the longest text that a regex of each risk is run on
# (linear, quadratic, polynomial, exponential).
_UNTIMED_LIMITS = (MAX_TEXT, 5_000, 500, 16)
# Arming a timer on Windows costs an import of ctypes; these are too cheap to need one.
_CHEAP_TEXT = 2_000


def problem(source: str) -> str:
    """Why `source` cannot be used as a regex, "" when it can. Takes at most COMPILE_SECONDS of CPU time."""
    import re
    import warnings  # noqa: F401 - an import must not be what the deadline interrupts

    try:
        # Processor time, because the answer is kept: a busy machine must not make a good regex bad.
        with Deadline(COMPILE_SECONDS, processor=True) as deadline:
            deadline.call(_compile, source)
    except re.error as error:
        place = f" at position {error.pos}" if error.pos is not None else ""
        return f"does not compile: {error.msg}{place}"
    except DeadlinePassed:
        return f"does not compile within {COMPILE_SECONDS:g} s"
    except (RecursionError, OverflowError, MemoryError, ValueError) as error:
        return f"does not compile: {str(error) or type(error).__name__}"
    return ""


class BadPattern(ValueError):
    """A regex that does not compile."""


def _compile(source: str) -> Any:
    """The compiled regex. Raises re.error and what problem() lists."""
    import re
    import warnings

    with warnings.catch_warnings():
        # A warning about a regex belongs to lint; on a hook's standard error it would be noise.
        warnings.simplefilter("ignore")
        return re.compile(source, re.IGNORECASE)


@record
class Row:
    """What the catalogue knows of one regex (ways.catalogue.literals.analyse), and where its compiled code
    lies (length 0: nowhere)."""

    literals: tuple[str, ...] | None
    risk: int
    starts: tuple[tuple[str, int], ...] | None = None
    offset: int = 0
    length: int = 0


class Book:
    """The regexes of a catalogue: a Row for each source, and the bytes that hold compiled code."""

    def __init__(self, rows: Mapping[str, tuple[Any, ...]], data: bytes = b"") -> None:
        self.rows = rows
        self.data = data

    def row(self, source: str) -> Row:
        """The row of `source`; of a regex that the catalogue does not hold, it is worked out.

        Raises BadPattern.
        """
        known = self.rows.get(source)
        if known is not None:
            return Row(*known)
        why = problem(source)
        if why:
            raise BadPattern(why)
        from ways.catalogue.literals import analyse

        return Row(*analyse(source))

    def compiled(self, source: str, row: Row) -> Any:
        """The compiled regex, of a source that compiles."""
        ready = unpack(self.data[row.offset : row.offset + row.length]) if row.length else None
        if ready is not None and ready[0] == source:
            import _sre  # type: ignore[import-not-found,unused-ignore]

            try:
                return _sre.compile(*ready)
            except (RuntimeError, TypeError, ValueError, OverflowError):
                # Code that this interpreter refuses: the source says the same.
                return _compile(source)
        return _compile(source)


def pack(arguments: tuple[Any, ...]) -> bytes:
    """Arguments of `_sre.compile`, as `literals.code` gives them, compressed, behind a checksum."""
    from zlib import compress

    body = compress(marshal.dumps(arguments), 1)
    return checksum(body) + body


def unpack(packed: bytes) -> tuple[Any, ...] | None:
    """The arguments for `_sre.compile`, None when the bytes are damaged."""
    body = packed[SIZE:]
    if not body or checksum(body) != packed[:SIZE]:
        return None
    from zlib import decompress

    source, flags, words, groups, index, names = marshal.loads(decompress(body))
    return source, flags, memoryview(words).cast("I").tolist(), groups, index, names


class DeadlinePassed(Exception):
    """The time for regexes is used up."""


class Deadline:
    """A limit, in seconds, on calls into code that a Python thread cannot otherwise stop.

    The clock on the wall counts, or with `processor` the CPU time (not on Windows, which has no such timer).

    CPython's regex engine looks for pending signals while it backtracks, so a timer signal whose handler
    raises ends even `(a+)+$`. `armed` is False where there is no such timer (outside the main
    thread): then the limit is only looked at between calls. Leaving restores the former handler and timer.
    """

    def __init__(self, seconds: float, processor: bool = False) -> None:
        self.seconds = seconds
        self.processor = processor
        self.passed = False
        self.armed = False
        self._guarded = False
        self._end = 0.0
        self._disarm: Callable[[], None] | None = None

    def __enter__(self) -> Deadline:
        self._end = self._now() + self.seconds
        self._disarm = _arm(self.seconds, self._fire, self.processor)
        self.armed = self._disarm is not None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._disarm is not None:
            self._disarm()
            self._disarm = None
            self.armed = False

    def call(self, function: Callable[[str], T], argument: str) -> T:
        """`function(argument)`. Raises DeadlinePassed when the time is or runs out."""
        if self.passed or self._now() >= self._end:
            self.passed = True
            raise DeadlinePassed
        try:
            self._guarded = True
            result = function(argument)
            self._guarded = False
        finally:
            self._guarded = False
        return result

    def _now(self) -> float:
        return time.process_time() if self.processor else time.monotonic()

    def _fire(self, _signal: int, _frame: object) -> None:
        # The timer repeats, so a signal that arrives just before `_guarded` is set is not the last one.
        self.passed = True
        if self._guarded:
            raise DeadlinePassed


def _arm(seconds: float, handler: Callable[[int, Any], None], processor: bool) -> Callable[[], None] | None:
    """Have `handler` called in this thread after `seconds` and again every 10 ms; gives back what ends
    that. None when this thread or platform has no such timer."""
    if os.name == "nt":
        from windows import regex_timer

        return regex_timer.arm(seconds, handler)
    import _signal as signals  # type: ignore[import-not-found,unused-ignore]

    number, timer = signals.SIGALRM, signals.ITIMER_REAL
    if processor:
        number, timer = signals.SIGVTALRM, signals.ITIMER_VIRTUAL
    try:
        former = signals.signal(number, handler)
    except ValueError:
        # Only the main thread may set handlers.
        return None
    started = time.monotonic()
    left, interval = signals.setitimer(timer, seconds, 0.01)

    def disarm() -> None:
        signals.setitimer(timer, 0.0)
        signals.signal(number, signals.SIG_DFL if former is None else former)
        if left > 0.0:
            rest = max(left - (time.monotonic() - started), 0.001)
            signals.setitimer(timer, rest, interval)

    return disarm


class Searcher:
    """All regex searches of one scan, under one deadline; a context manager.

    `slow` holds the source of the regex that used up the time, "" otherwise, and `skipped` how many
    searches were not made, for the debug log. The clock starts at the first search that really runs.
    """

    def __init__(self, book: Book | None = None, seconds: float = DEADLINE_SECONDS) -> None:
        self.slow = ""
        self.skipped = 0
        self._book = Book({}) if book is None else book
        self._deadline = Deadline(seconds)
        self._running = False
        self._sieve = Sieve("")
        self._compiled: dict[str, Any] = {}

    def __enter__(self) -> Searcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running:
            self._running = False
            self._deadline.__exit__(kind, error, trace)

    def search(self, source: str, text: str) -> tuple[int, int] | None:
        """Start and end of the first match of `source` in `text`, None when there is none.

        None too when the deadline has passed, or when the regex does not compile. Only the first
        256 Ki characters of a text are searched.
        """
        if self._deadline.passed:
            self.skipped += 1
            return None
        text = text[:MAX_TEXT]
        if self._sieve.text is not text:
            self._sieve = Sieve(text)
        try:
            row = self._book.row(source)
            if row.literals is not None and not self._sieve.holds_one(row.literals):
                return None
            return self._run(source, row, self._sieve)
        except DeadlinePassed:
            self.slow = self.slow or source
        except (BadPattern, RecursionError, MemoryError, RuntimeError, OverflowError):
            # Only a way made by hand brings a regex that does not compile; the rest is a search that ran
            # out of memory. Neither may end the scan.
            self.slow = self.slow or source
        self.skipped += 1
        return None

    def _run(self, source: str, row: Row, sieve: Sieve) -> tuple[int, int] | None:
        length = len(sieve.text)
        if not self._running and not (os.name == "nt" and row.risk < 2 and length <= _CHEAP_TEXT):
            self._deadline.__enter__()
            self._running = True
        if not self._deadline.armed and length > _UNTIMED_LIMITS[row.risk]:
            raise DeadlinePassed
        compiled = self._compiled.get(source)
        if compiled is None:
            # Not under the deadline: the code is ready, or its compilation was measured (problem).
            compiled = self._compiled[source] = self._book.compiled(source, row)
        places = sieve.places(row.starts) if row.starts is not None and length > LONG_TEXT else None

        def first(text: str) -> Any:
            if places is None:
                return compiled.search(text)
            # As `search` does, but only where a match can begin.
            return next(filter(None, map(partial_match(compiled, text), places)), None)

        match = self._deadline.call(first, sieve.text) if self._running else first(sieve.text)
        return None if match is None else match.span()


def partial_match(compiled: Any, text: str) -> Callable[[int], Any]:
    """`compiled.match` at a position of `text`; `^` and what looks back still see the whole text."""
    return lambda place: compiled.match(text, place)
