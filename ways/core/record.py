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
    names = tuple(cls.__dict__.get("__annotations__", {}))  # noqa: RUF063 - inspect costs more than a hook
    defaults = {name: cls.__dict__.get(name, _REQUIRED) for name in names}
    count = len(names)
    known = frozenset(names)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > count:
            raise TypeError(f"{cls.__name__} takes {count} fields, {len(args)} were given")
        values = self.__dict__
        for name, value in zip(names, args, strict=False):
            values[name] = value
        for name in kwargs:
            if name not in known or name in values:
                raise TypeError(f"{cls.__name__} got an unknown or doubled field {name!r}")
        values.update(kwargs)
        if len(values) < count:
            for name in names:
                if name not in values:
                    default = defaults[name]
                    if default is _REQUIRED:
                        raise TypeError(f"{cls.__name__} needs the field {name!r}")
                    values[name] = default

    def __setattr__(self: Any, name: str, value: Any) -> None:
        raise AttributeError(f"{cls.__name__} is immutable")

    def __delattr__(self: Any, name: str) -> None:
        raise AttributeError(f"{cls.__name__} is immutable")

    def __eq__(self: Any, other: Any) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self: Any) -> int:
        return hash((cls, *(self.__dict__[name] for name in names)))

    def __repr__(self: Any) -> str:
        inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in names)
        return f"{cls.__name__}({inside})"

    for method in (__init__, __setattr__, __delattr__, __eq__, __hash__, __repr__):
        setattr(cls, method.__name__, method)
    return cls


def replace(instance: T, **changes: Any) -> T:
    """A copy of a record with some fields changed. Raises TypeError for an unknown field."""
    return type(instance)(**{**instance.__dict__, **changes})
