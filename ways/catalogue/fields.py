"""The registry of frontmatter fields (spec: the way format); parsing, lint and reference derive from it."""

from __future__ import annotations

from ways.core.record import record

TEXT, WORDS, REGEX, FLAG, NUMBER, NAMES, REFIRE, MAPPING, ONE_OF = (
    "string",
    "string or list",
    "regex",
    "bool",
    "number",
    "list",
    "number or preset name",
    "mapping",
    "name",
)


@record
class Field:
    """One field: its name, kind of value, allowed names for kind `name`, whether a way or a check may
    have it, and what it means."""

    name: str
    kind: str
    meaning: str
    choices: tuple[str, ...] = ()
    in_way: bool = True
    in_check: bool = False


FIELDS = (
    Field(
        "description",
        TEXT,
        "what the way is for; with the vocabulary it is embedded, and the judge sees it",
        in_check=True,
    ),
    Field("vocabulary", WORDS, "words a user would say, separated by spaces", in_check=True),
    Field("pattern", REGEX, "matched on prompts, queued messages, tasks and a Bash tool's description"),
    Field(
        "pattern_strict", FLAG, "the pattern skips the keyword floor and the mask; the way is never judged"
    ),
    Field("commands", REGEX, "matched on the Bash command", in_check=True),
    Field("files", REGEX, "matched on the path of the edited file", in_check=True),
    Field(
        "trigger",
        ONE_OF,
        "a state trigger, or a message: a name, or a mapping with `type` and what belongs to it",
        choices=("session-start", "context-threshold", "file-exists", "attend"),
    ),
    Field(
        "threshold",
        NUMBER,
        "percent of the context window for context-threshold; in a check the effective score needed",
        in_check=True,
    ),
    Field("path", TEXT, "for file-exists: a glob relative to the project"),
    Field(
        "scope",
        NAMES,
        "where it may inject; absent means ways.default_scope",
        choices=("agent", "subagent", "teammate"),
        in_check=True,
    ),
    Field("refire", REFIRE, "how soon it may be shown again, as a fraction of the context window"),
    Field("when", MAPPING, "preconditions, all of which must hold", in_check=True),
    Field("macro", ONE_OF, "run the macro beside the file", choices=("prepend", "append")),
    Field(
        "postcheck_on",
        REGEX,
        "run the postcheck only where this matches the tool's name, a space, and its command or path",
    ),
    Field("scan_exclude", REGEX, "passed to the macro as WAYS_SCAN_EXCLUDE"),
    Field("requires", NAMES, "permissions that the guidance needs"),
)

WHEN_FIELDS = (
    Field("project", TEXT, "glob on the project's path; * crosses /, ~ is the home"),
    Field("file_exists", NAMES, "globs relative to the project that must all match"),
    Field("command_exists", NAMES, "executables that must all be on PATH"),
    Field("os", NAMES, "the operating system is one of these", choices=("linux", "macos", "windows")),
    Field("env", NAMES, "environment variables that must all be set"),
    Field("model", TEXT, "glob on the id of the agent's model"),
)

TRIGGER_FIELDS = (
    Field("type", ONE_OF, "the trigger's name"),
    Field("signals", NAMES, "for attend: the signals of messages; absent means every message"),
    Field("threshold", NUMBER, "for context-threshold: as the field threshold"),
    Field("path", TEXT, "for file-exists: as the field path"),
)

WAY_FIELDS = {field.name: field for field in FIELDS if field.in_way}
CHECK_FIELDS = {field.name: field for field in FIELDS if field.in_check}
WHEN = {field.name: field for field in WHEN_FIELDS}
TRIGGER = {field.name: field for field in TRIGGER_FIELDS}


def nearest(name: str, known: dict[str, Field]) -> str:
    """The known field whose name is closest to `name`, "" when none is close. For lint; not for hooks."""
    from difflib import get_close_matches

    folded = name.lower().replace("-", "_").strip()
    close = get_close_matches(folded, list(known), n=1, cutoff=0.6)
    return close[0] if close else ""
