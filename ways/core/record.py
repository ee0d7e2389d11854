"""Frozen records for the hook's path.

`dataclasses` costs 7 ms to import and about 1 ms for each decorated class, which is more than a
whole hook may cost. `record` gives the same thing to the type checker and to the reader (declared
fields, keyword or positional construction, equality, immutability) for a few microseconds a class.
Off the hook's path use the real `dataclasses.dataclass(frozen=True)`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_: object) -> object:
        return lambda function: function


_REQUIRED = object()


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Make `cls` an immutable record of its annotated fields, in order, with their class defaults.

    Defaults are shared between instances, so they must be immutable (tuples, not lists).
    Raises TypeError when an instance is made with a missing, doubled or unknown field.
    """
    cls.__record__ = tuple(cls.__dict__.get("__annotations__", {}))  # type: ignore[attr-defined]  # noqa: RUF063 - inspect costs more than a hook
    for name, method in _METHODS:
        setattr(cls, name, method)
    return cls


# One set of methods for all records: making them anew for each class would cost a hook half a millisecond.


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    cls = type(self)
    names = cls.__record__
    values = self.__dict__
    if args:
        if len(args) > len(names):
            raise TypeError(f"{cls.__name__} takes {len(names)} fields, {len(args)} were given")
        values.update(zip(names, args, strict=False))
    for name in kwargs:
        if name not in names or name in values:
            raise TypeError(f"{cls.__name__} got an unknown or doubled field {name!r}")
    values.update(kwargs)
    if len(values) < len(names):
        for name in names:
            if name not in values:
                default = getattr(cls, name, _REQUIRED)
                if default is _REQUIRED:
                    raise TypeError(f"{cls.__name__} needs the field {name!r}")
                values[name] = default


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise AttributeError(f"{type(self).__name__} is immutable")


def _eq(self: Any, other: Any) -> bool:
    return type(self) is type(other) and self.__dict__ == other.__dict__


def _hash(self: Any) -> int:
    return hash((type(self), *(self.__dict__[name] for name in type(self).__record__)))


def _repr(self: Any) -> str:
    inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in type(self).__record__)
    return f"{type(self).__name__}({inside})"


_METHODS = (
    ("__init__", _init),
    ("__setattr__", _refuse),
    ("__delattr__", _refuse),
    ("__eq__", _eq),
    ("__hash__", _hash),
    ("__repr__", _repr),
)


def replace(instance: T, **changes: Any) -> T:
    """A copy of a record with some fields changed. Raises TypeError for an unknown field."""
    return type(instance)(**{**instance.__dict__, **changes})
