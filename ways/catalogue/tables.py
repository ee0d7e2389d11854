"""Which ways and checks a text can match at all, without building or compiling any of them."""

from __future__ import annotations

import marshal

from ways.catalogue.sieve import Sieve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeVar

    from ways.catalogue.patterns import Book

    T = TypeVar("T")


class Tables:
    """The part of a catalogue that a hook reads first.

    `fields` maps `pattern`, `commands`, `files`, `postcheck_on`, `check.commands` and `check.files` to
    marshalled (index, literals) pairs in tree order; `lists` maps `trigger` to (index, way id, trigger, row)
    and `postcheck` to (index, whether the way has a `postcheck_on`).
    `scopes` holds the scope of each way that names one, by index. `ids` and `book` give the ways' ids and the
    regexes when they are wanted.
    """

    def __init__(
        self,
        ids: Callable[[], tuple[str, ...]],
        fields: Mapping[str, bytes],
        lists: Mapping[str, tuple[Any, ...]],
        book: Callable[[], tuple[dict[str, tuple[Any, ...]], bytes]],
        scopes: Mapping[int, tuple[str, ...]],
    ) -> None:
        self.lists = lists
        self.scopes = scopes
        self._ids = ids
        self._fields = fields
        self._make_book = book
        self._positions: dict[str, int] | None = None
        self._book: Book | None = None

    @property
    def book(self) -> Book:
        """The regexes."""
        if self._book is None:
            from ways.catalogue.patterns import Book

            self._book = Book(*self._make_book())
        return self._book

    def index_of(self, way_id: str) -> int | None:
        """The way's position in tree order, None when there is no such way."""
        if self._positions is None:
            self._positions = {known: index for index, known in enumerate(self._ids())}
        return self._positions.get(way_id)

    def possible(self, field: str, text: str) -> list[int]:
        """Indices of the ways or checks whose regex in `field` may match `text`."""
        packed = self._fields.get(field)
        if packed is None:
            return []
        sieve = Sieve(text)
        return [
            index
            for index, literals in marshal.loads(packed)
            if literals is None or sieve.holds_one(literals)
        ]


class Lazy:
    """A sequence whose records are made from their rows when they are first asked for. `early` holds the rows
    that are known without asking for all of them."""

    def __init__(
        self,
        count: int,
        rows: Callable[[], tuple[bytes, ...]],
        make: Callable[[bytes], Any],
        early: Mapping[int, bytes] | None = None,
    ) -> None:
        self._source = rows
        self._rows: tuple[bytes, ...] | None = None
        self._early = {} if early is None else early
        self._make = make
        self._made: list[Any] = [None] * count

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        item = self._made[index]
        if item is None:
            item = self._made[index] = self._make(self._row(index))
        return item

    def _row(self, index: int) -> bytes:
        row = self._early.get(index)
        if row is not None:
            return row
        if self._rows is None:
            self._rows = self._source()
        return self._rows[index]

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self._made)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Lazy, tuple)) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
