"""From the bytes of a way or check file to a record (spec: the way format).

The YAML is read as events, not as objects: each scalar keeps the text that was written (`0.15`, `no`,
`007` stay what they are), each field keeps its line, a tag constructs nothing, an alias expands
nothing, and nesting is refused as soon as it is met. A field of the wrong type is dropped with a problem
that names it; only a file whose frontmatter is not a YAML mapping is Broken.
"""

from __future__ import annotations

import os

from ways.catalogue import fields as registry
from ways.catalogue.body import MAX_BYTES, body, check_sections, normalise, split
from ways.catalogue.way import ANY_SIGNAL, ATTEND, Broken, Check, Way, When
from ways.core.ids import is_session_id
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

__all__ = ["Parsed", "Problem", "Value", "body", "check_sections", "fields_of", "parse_check", "parse_way"]

MAX_FIELDS = 200
MAX_ITEMS = 500
MAX_DEPTH = 3
# Stream, document and one level more than is ever used.
_MAX_OPEN = 2 + MAX_DEPTH + 1
MAX_REGEX = 20_000
MAX_FRONTMATTER = 32 * 1024
MAX_REFIRE = 10.0
_TRUE, _FALSE = frozenset(["true", "yes", "on"]), frozenset(["false", "no", "off"])
_NULL = frozenset(["", "~", "null", "Null", "NULL"])


@record
class Problem:
    """What is wrong with one field, and where (1-based line and column of the file)."""

    field: str
    message: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.field}: {self.message}"


@record
class Value:
    """One YAML value with its place. `kind` is `scalar`, `list`, `mapping` or `other`.

    `text` is a scalar's text, `items` a list's scalars, `entries` a mapping's (key, Value) pairs.
    `other` is anything that no field takes (an alias, a tag, a list of lists), described by `text`.
    """

    kind: str
    line: int
    column: int
    text: str = ""
    items: tuple[str, ...] = ()
    entries: tuple[tuple[str, Value], ...] = ()
    absent: bool = False


@record
class Parsed:
    """The top-level fields in file order, the problems found on the way, and the unknown names."""

    values: tuple[tuple[str, Value], ...]
    problems: tuple[Problem, ...] = ()


class _Refused(Exception):
    """The frontmatter as a whole cannot be used."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def parse_way(
    data: bytes,
    way_id: str,
    path: str,
    root_kind: str,
    *,
    siblings: Collection[str] = (),
    corpus_id: str = "",
) -> Way | Broken:
    """The way in `data`. `siblings` are the file names beside it: macros and postchecks are among them.

    Never raises: a file that cannot be used is Broken, with line and column.
    """
    parsed = fields_of(data, path)
    if isinstance(parsed, Broken):
        return parsed
    read = _Reader(parsed, registry.WAY_FIELDS)
    macro = read.one_of("macro")
    trigger = read.trigger("trigger")
    return Way(
        id=way_id,
        path=path,
        root_kind=root_kind,
        description=read.text("description"),
        vocabulary=read.words("vocabulary"),
        pattern=read.regex("pattern"),
        pattern_strict=read.flag("pattern_strict"),
        commands=read.regex("commands"),
        files=read.regex("files"),
        trigger=trigger.name,
        threshold=read.number("threshold", 0.0, 0.0, 100.0, within=trigger.values),
        trigger_path=read.text("path", within=trigger.values),
        signals=trigger.signals,
        scope=read.names("scope"),
        refire=read.refire("refire"),
        when=read.when("when"),
        macro=macro,
        macro_file=script("macro", siblings) if macro else "",
        postcheck_file=script("postcheck", siblings),
        postcheck_on=read.regex("postcheck_on"),
        scan_exclude=read.regex("scan_exclude"),
        requires=read.names("requires"),
        corpus_id=corpus_id,
        unknown_fields=read.unknown(),
        problems=read.rendered_problems(),
    )


def parse_check(
    data: bytes, way_id: str, path: str, root_kind: str, *, corpus_id: str = ""
) -> Check | Broken:
    """The check in `data`, which stands beside the way `way_id`. Never raises."""
    parsed = fields_of(data, path)
    if isinstance(parsed, Broken):
        return parsed
    read = _Reader(parsed, registry.CHECK_FIELDS)
    return Check(
        id=way_id,
        path=path,
        root_kind=root_kind,
        description=read.text("description"),
        vocabulary=read.words("vocabulary"),
        commands=read.regex("commands"),
        files=read.regex("files"),
        threshold=read.number("threshold", 1.0, 0.0, 1000.0),
        scope=read.names("scope"),
        when=read.when("when"),
        corpus_id=corpus_id,
        unknown_fields=read.unknown(),
        problems=read.rendered_problems(),
    )


def script(stem: str, siblings: Collection[str]) -> str:
    """The script of that stem beside a way, "" when there is none.

    Where several are there, the one that this system runs without help is taken: the shell script on
    POSIX, PowerShell or Python on Windows.
    """
    order = (".ps1", ".py", ".sh") if os.name == "nt" else (".sh", ".py", ".ps1")
    return next((stem + ending for ending in order if stem + ending in siblings), "")


def fields_of(data: bytes, path: str) -> Parsed | Broken:
    """The fields of a file's frontmatter with their places, or why the file cannot be used."""
    if len(data) > MAX_BYTES:
        return Broken(path, f"is longer than {MAX_BYTES // 1024} KiB", 1, 1)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Broken(path, "is UTF-16; save it as UTF-8", 1, 1)
    content = normalise(data)
    front, _ = split(content)
    if front is None:
        if content.split("\n", 1)[0].rstrip() == "---":
            return Broken(path, "the frontmatter is not closed by a line ---", 1, 1)
        return Broken(path, "has no frontmatter: the first line must be ---", 1, 1)
    if len(front) > MAX_FRONTMATTER:
        return Broken(path, f"its frontmatter is longer than {MAX_FRONTMATTER // 1024} KiB", 1, 1)
    try:
        return _read_mapping(front)
    except _Refused as refused:
        # The frontmatter begins on the file's second line.
        return Broken(path, refused.message, refused.line + 1, refused.column)


def _read_mapping(front: str) -> Parsed:
    """The fields of the one mapping in `front`. Raises _Refused."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Events(yaml, list(_bounded(yaml.parse(front, Loader=loader)))).document()
    except yaml.MarkedYAMLError as error:
        # What is never closed is found at the end, but stands where it was opened.
        unclosed = "end of stream" in (error.problem or "")
        mark = (error.context_mark if unclosed else None) or error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        raise _Refused(f"is not valid YAML: {what}", line, column) from error
    except yaml.reader.ReaderError as error:
        line, column = _place(front, error.position)
        raise _Refused(f"is not valid YAML: {error.reason}", line, column) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _Refused(f"is not valid YAML: {error}", 1, 1) from error


def _bounded(events: Any) -> Any:
    """The events, until there are more of them, or more levels, than any way needs.

    They are read one by one, so a parser without a limit of its own gets no further either.
    """
    depth = 0
    for count, event in enumerate(events):
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > _MAX_OPEN:
            raise _Refused("is nested too deeply", event.start_mark.line + 1, event.start_mark.column + 1)
        if count > MAX_FIELDS * MAX_ITEMS:
            raise _Refused("holds too many values", event.start_mark.line + 1, event.start_mark.column + 1)
        yield event


def _place(content: str, position: int) -> tuple[int, int]:
    """1-based line and column of a character position."""
    before = content[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


class _Events:
    """Builds values from a list of YAML events, one document, at most MAX_DEPTH deep."""

    def __init__(self, yaml: Any, events: list[Any]) -> None:
        self.yaml = yaml
        self.events = events
        self.at = 0
        self.problems: list[Problem] = []

    def take(self) -> Any:
        event = self.events[self.at]
        self.at += 1
        return event

    def document(self) -> Parsed:
        yaml = self.yaml
        self.take()  # stream start
        if isinstance(self.events[self.at], yaml.StreamEndEvent):
            return Parsed(())
        self.take()  # document start
        value = self.value(1, "frontmatter")
        self.take()  # document end
        following = self.events[self.at]
        if not isinstance(following, yaml.StreamEndEvent):
            mark = following.start_mark
            raise _Refused("holds more than one YAML document", mark.line + 1, mark.column + 1)
        if value.kind == "scalar" and value.absent:
            return Parsed((), tuple(self.problems))
        if value.kind != "mapping":
            raise _Refused("is not a mapping of fields", value.line - 1, value.column)
        return Parsed(value.entries, tuple(self.problems))

    def value(self, depth: int, name: str) -> Value:
        """The next value. Its line is that of the file, whose second line is the frontmatter's first."""
        yaml = self.yaml
        event = self.take()
        line, column = event.start_mark.line + 2, event.start_mark.column + 1
        if isinstance(event, yaml.AliasEvent):
            return Value("other", line, column, "an alias")
        tag = event.tag
        if isinstance(event, yaml.ScalarEvent):
            if tag is not None and tag not in {"!", "tag:yaml.org,2002:str"}:
                return Value("other", line, column, "a tagged value")
            plain = event.style in {None, ""}
            absent = plain and tag is None and event.value in _NULL
            return Value("scalar", line, column, "" if absent else event.value, absent=absent)
        if depth > MAX_DEPTH:
            raise _Refused(f"{name} is nested too deeply", line - 1, column)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(depth, name, line, column, tag)
        return self.mapping(depth, name, line, column, tag)

    def sequence(self, depth: int, name: str, line: int, column: int, tag: str | None) -> Value:
        items: list[str] = []
        good = tag is None
        while not isinstance(self.events[self.at], self.yaml.SequenceEndEvent):
            value = self.value(depth + 1, name)
            good = good and value.kind == "scalar"
            if not value.absent:
                items.append(value.text)
            if len(items) > MAX_ITEMS:
                raise _Refused(f"{name} has more than {MAX_ITEMS} entries", line - 1, column)
        self.take()
        if not good:
            return Value("other", line, column, "a list of something else than plain values")
        return Value("list", line, column, items=tuple(items))

    def mapping(self, depth: int, name: str, line: int, column: int, tag: str | None) -> Value:
        entries: dict[str, Value] = {}
        while not isinstance(self.events[self.at], self.yaml.MappingEndEvent):
            key = self.value(depth + 1, name)
            value = self.value(depth + 1, key.text or name)
            if key.kind != "scalar":
                self.problems.append(
                    Problem(name, "has a key that is not a plain name", key.line, key.column)
                )
            elif key.text in entries:
                self.problems.append(
                    Problem(key.text, "stands here a second time; the first one counts", key.line, key.column)
                )
            elif len(entries) >= MAX_FIELDS:
                raise _Refused(f"has more than {MAX_FIELDS} fields", key.line - 1, key.column)
            else:
                entries[key.text] = value
        self.take()
        if tag is not None:
            return Value("other", line, column, "a tagged value")
        return Value("mapping", line, column, entries=tuple(entries.items()))


_NOTHING: Mapping[str, Value] = {}


@record
class Trigger:
    """A way's trigger: its name ("" for none), the values given with it, and the signals of `attend`."""

    name: str = ""
    values: Mapping[str, Value] = _NOTHING
    signals: tuple[str, ...] = ()


class _Reader:
    """Takes typed fields out of Parsed, collecting a problem for each that has the wrong type."""

    def __init__(self, parsed: Parsed, known: dict[str, registry.Field]) -> None:
        self.values = dict(parsed.values)
        self.known = known
        self.problems = list(parsed.problems)

    def value(self, name: str) -> Value | None:
        value = self.values.get(name)
        return None if value is None or value.absent else value

    def wrong(self, name: str, value: Value, message: str) -> None:
        self.problems.append(Problem(name, message, value.line, value.column))

    def unknown(self) -> tuple[tuple[str, int], ...]:
        return tuple(
            (name[:100], value.line) for name, value in self.values.items() if name not in self.known
        )

    def rendered_problems(self) -> tuple[str, ...]:
        return tuple(str(problem) for problem in self.problems)

    def text(self, name: str, kind: str = "a string", within: Mapping[str, Value] = _NOTHING) -> str:
        value = self.value(name) or within.get(name)
        if value is None:
            return ""
        if value.kind != "scalar":
            self.wrong(name, value, f"must be {kind}, not {_described(value)}")
            return ""
        return value.text.strip()

    def words(self, name: str) -> str:
        value = self.value(name)
        if value is not None and value.kind == "list":
            return " ".join(" ".join(value.items).split())
        return " ".join(self.text(name, "a string or a list of strings").split())

    def regex(self, name: str) -> str:
        from ways.catalogue import patterns

        value = self.value(name)
        if value is None:
            return ""
        if value.kind != "scalar":
            self.wrong(name, value, f"must be a regex, not {_described(value)}")
            return ""
        # A block scalar ends in a line break that nobody means to match.
        source = value.text.strip("\n")
        why = (
            patterns.problem(source) if len(source) <= MAX_REGEX else f"is longer than {MAX_REGEX} characters"
        )
        if why:
            self.wrong(name, value, why)
            return ""
        return source

    def flag(self, name: str) -> bool:
        value = self.value(name)
        if value is None:
            return False
        word = value.text.strip().lower() if value.kind == "scalar" else ""
        if word not in _TRUE and word not in _FALSE:
            self.wrong(name, value, "must be true or false")
        return word in _TRUE

    def number(
        self, name: str, default: float, low: float, high: float, within: Mapping[str, Value] = _NOTHING
    ) -> float:
        """The number of a field, or of the same name in the mapping `within`."""
        value = self.value(name) or within.get(name)
        if value is None:
            return default
        number = _number(value.text.strip().removesuffix("%")) if value.kind == "scalar" else None
        if number is None or not low <= number <= high:
            self.wrong(name, value, f"must be a number from {low:g} to {high:g}")
            return default
        return number

    def one_of(self, name: str) -> str:
        value = self.value(name)
        if value is None:
            return ""
        choices = self.known[name].choices
        word = value.text.strip() if value.kind == "scalar" else ""
        if word not in choices:
            self.wrong(name, value, f"must be one of {', '.join(choices)}")
            return ""
        return word

    def trigger(self, name: str) -> Trigger:
        """The trigger: a name, or a mapping with `type` and what belongs to it. Nothing when it is wrong."""
        value = self.value(name)
        if value is None:
            return Trigger()
        entries = dict(value.entries) if value.kind == "mapping" else {"type": value}
        for key, inner in entries.items():
            if key not in registry.TRIGGER:
                self.wrong(f"{name}.{key[:60]}", inner, f"is none of {', '.join(registry.TRIGGER)}")
        kind = entries.get("type", value)
        choices = self.known[name].choices
        word = kind.text.strip() if kind.kind == "scalar" else ""
        if word not in choices:
            where = f"{name}.type" if value.kind == "mapping" else name
            self.wrong(where, kind, f"must be one of {', '.join(choices)}")
            return Trigger()
        values = {key: inner for key, inner in entries.items() if not inner.absent}
        return Trigger(word, values, self.signals(name, values) if word == ATTEND else ())

    def signals(self, name: str, values: Mapping[str, Value]) -> tuple[str, ...]:
        """The signals of an `attend` trigger; every message when none are given, none when all are wrong."""
        value = values.get("signals")
        if value is None:
            return (ANY_SIGNAL,)
        items = self.items(f"{name}.signals", value, split_commas=True)
        for item in items:
            if not is_session_id(item):
                self.wrong(f"{name}.signals", value, f"{item[:60]!r} has more than letters, digits, . _ -")
        return tuple(dict.fromkeys(item for item in items if is_session_id(item)))

    def names(self, name: str) -> tuple[str, ...]:
        value = self.value(name)
        if value is None:
            return ()
        items = self.items(name, value, split_commas=bool(self.known[name].choices))
        choices = self.known[name].choices
        for item in items:
            if choices and item not in choices:
                self.wrong(name, value, f"{item[:60]!r} is none of {', '.join(choices)}")
        return tuple(dict.fromkeys(item for item in items if not choices or item in choices))

    def items(self, name: str, value: Value, split_commas: bool) -> list[str]:
        """A list's entries, or a string as the only entry (several where commas cannot belong to one)."""
        if value.kind == "list":
            items = list(value.items)
        elif value.kind == "scalar":
            items = value.text.split(",") if split_commas else [value.text]
        else:
            self.wrong(name, value, f"must be a list of names, not {_described(value)}")
            return []
        return [item.strip() for item in items if item.strip()]

    def refire(self, name: str) -> str:
        word = self.text(name, "a number or the name of a preset")
        number = _number(word) if word else None
        if word and number is None and not word.replace("_", "").replace("-", "").isalpha():
            self.wrong(name, self.values[name], "must be a number from 0 to 10 or the name of a preset")
            return ""
        if number is not None and not 0.0 <= number <= MAX_REFIRE:
            self.wrong(name, self.values[name], "must be a number from 0 to 10")
            return ""
        return word

    def when(self, name: str) -> When:
        """The preconditions. What cannot be understood goes to `unknown`, so that the way does not fire."""
        value = self.value(name)
        if value is None:
            return When()
        if value.kind != "mapping":
            self.wrong(name, value, f"must be a mapping, not {_described(value)}")
            return When(unknown=(name,))
        found: dict[str, Any] = {}
        unknown: list[str] = []
        for key, inner in value.entries:
            field = registry.WHEN.get(key)
            if field is None:
                self.wrong(f"{name}.{key[:60]}", inner, "is not a known precondition, so the way never fires")
                unknown.append(key[:60])
                continue
            items = self.items(f"{name}.{key}", inner, split_commas=False)
            if not items or (field.kind == registry.TEXT and len(items) > 1):
                self.wrong(f"{name}.{key}", inner, "needs a value, so the way never fires")
                unknown.append(key)
                continue
            if field.choices and not set(items) <= set(field.choices):
                self.wrong(f"{name}.{key}", inner, f"knows only {', '.join(field.choices)}")
            found[key] = items[0] if field.kind == registry.TEXT else tuple(items)
        return When(**found, unknown=tuple(unknown))


def _described(value: Value) -> str:
    names = {"scalar": "a string", "list": "a list", "mapping": "a mapping"}
    return names.get(value.kind, value.text)


def _number(text: str) -> float | None:
    """A finite number, None for anything else (`nan` and `inf` included)."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number - number == 0.0 else None
