"""Every setting: key, type, range, default, help, where it may be set and where it stands (spec: settings).

Parsing, lint, help, completion and the reference page derive from this one table. Keys of the `ways.` and
`matching.` groups stand at the top level of their files; other groups are nested.
"""

from __future__ import annotations

from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

USER, TARGET, PROJECT = "user", "target", "project"
CONFIG_FILE, AGENT_FILE, PROJECT_FILE = "config.yaml", "agent.yaml", "ways.yaml"
BOOLEAN, INTEGER, NUMBER, TEXT, CHOICE, CHOICES, WORDS, LIST = (
    "boolean",
    "integer",
    "number",
    "text",
    "choice",
    "choices",
    "words",
    "list",
)
EVERYWHERE = (USER, TARGET, PROJECT)
OWN = (USER, TARGET)
MAX_TEXT = 1_000
MAX_WORDS = 200


@record
class Setting:
    """One setting. `key` is dotted; a part in angle brackets stands for a name.

    `place` is the path inside the file (config.yaml, agent.yaml, the project's ways.yaml). `low` and
    `high` bound numbers and the length of lists; `choices` are the words of `choice` and `choices`.
    """

    key: str
    kind: str
    default: object
    help: str
    details: str
    scopes: tuple[str, ...]
    place: tuple[str, ...]
    file: str = CONFIG_FILE
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The first part of the key."""
        return self.key.split(".", 1)[0]

    @property
    def type_text(self) -> str:
        """The type and range in words, for help and errors."""
        if self.kind == BOOLEAN:
            return "true or false"
        if self.kind == INTEGER:
            return f"a whole number from {self.low:g} to {self.high:g}"
        if self.kind == NUMBER:
            return f"a number from {self.low:g} to {self.high:g}"
        if self.kind == CHOICE:
            return f"one of {', '.join(self.choices)}"
        if self.kind == CHOICES:
            return f"one or several of {', '.join(self.choices)}"
        return {TEXT: "a word", WORDS: "a list of words", LIST: "a list of entries with `path`"}[self.kind]


def _probability(name: str, default: float, help_text: str, details: str) -> Setting:
    return Setting(
        f"matching.{name}", NUMBER, default, help_text, details, EVERYWHERE, (name,), low=0.0, high=1.0
    )


def _count(name: str, default: int, high: int, help_text: str) -> Setting:
    details = (
        "A number of the late-interaction stage. Change it only together with a measurement of the probes."
    )
    return Setting(
        f"matching.{name}", INTEGER, default, help_text, details, EVERYWHERE, (name,), low=1, high=high
    )


def _gate(name: str, kind: str, default: object, help_text: str, details: str, **more: object) -> Setting:
    place = ("gate", *name.split("."))
    return Setting(f"gate.{name}", kind, default, help_text, details, (USER,), place, AGENT_FILE, **more)  # type: ignore[arg-type]


_LATE = "Part of the late-interaction stage, which decides alone when a text has two sentences or more."
_PROFILE = "A field of one engine profile; a field that is absent keeps the shipped profile's value."

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "ways.enabled",
        BOOLEAN,
        True,
        "Whether ways are shown at all.",
        "Switches every lane that injects off. Session upkeep goes on, so that switching on again "
        "starts clean.",
        EVERYWHERE,
        ("enabled",),
    ),
    Setting(
        "ways.subagents",
        BOOLEAN,
        True,
        "Whether ways are shown to subagents.",
        "Switches every lane off that would inject into a subagent. `ways session subagents off` "
        "does the same for one "
        "session.",
        EVERYWHERE,
        ("subagents",),
    ),
    Setting(
        "ways.default_scope",
        CHOICES,
        ("agent",),
        "The scope of a way that names none.",
        "A name or a list. `subagent` reaches a subagent through the Task prompt that starts it.",
        EVERYWHERE,
        ("default_scope",),
        choices=("agent", "subagent", "teammate"),
        low=1,
        high=3,
    ),
    Setting(
        "ways.disabled_domains",
        WORDS,
        (),
        "Domains whose ways are not used.",
        "A domain is the first part of a way's id. The ways stay in the corpus, so switching a "
        "domain on again needs "
        "no rebuild. The list of a higher layer replaces the one below.",
        EVERYWHERE,
        ("disabled_domains",),
        high=MAX_WORDS,
    ),
    Setting(
        "ways.project.<id>",
        BOOLEAN,
        True,
        "Whether one way, or all below a prefix, is used in this project.",
        "Stands in the project's .claude/ways.yaml as `ways: {<id>: false}`; `<prefix>/*` names all "
        "below it, and an "
        "entry for the way itself wins.",
        (PROJECT,),
        ("ways", "<id>"),
        PROJECT_FILE,
    ),
    _probability(
        "semantic_fire_probability",
        0.5,
        "The probability from which a way fires on meaning.",
        "Compared with the calibrated probability that the text is about the way.",
    ),
    _probability(
        "keyword_floor_probability",
        0.15,
        "The probability that a keyword hit needs besides.",
        "A hit of a way's pattern below it is not shown. `pattern_strict` ways are exempt.",
    ),
    _probability(
        "parent_threshold_multiplier",
        0.8,
        "How much easier a way fires below one that was shown.",
        "The firing probability of a way with a shown ancestor is multiplied by this.",
    ),
    _probability(
        "parent_boost_floor",
        0.30,
        "The lowest firing probability after that multiplication.",
        "Keeps a chain of ancestors from making everything fire.",
    ),
    _probability(
        "near_miss_margin",
        0.05,
        "How far below the firing probability still counts as a near miss.",
        "Near misses are logged for tuning and change nothing else.",
    ),
    _count("late_max_chunks", 12, 64, "The most sentences of one text that are compared."),
    _count("late_min_chunk", 12, 1_000, "The shortest sentence that is compared, in characters."),
    _count("late_ways_per_chunk", 8, 100, "How many ways share one sentence."),
    Setting(
        "matching.late_temperature",
        NUMBER,
        0.08,
        "How sharply a sentence decides between ways.",
        _LATE,
        EVERYWHERE,
        ("late_temperature",),
        low=0.001,
        high=10.0,
    ),
    _probability("late_share_gate", 0.15, "The share of a text that admits a way.", _LATE),
    _probability("late_peak_gate", 0.50, "The similarity to one sentence that admits a way.", _LATE),
    _count("late_confirmed", 6, 100, "The most ways that are confirmed for one text."),
    _count("late_body_chunks", 8, 100, "The most parts of a way's body that are compared."),
    _probability("late_confirm_gate", 0.35, "The similarity to the way's own body that confirms it.", _LATE),
    Setting(
        "refire_presets.<name>",
        NUMBER,
        None,
        "The part of the context window after which a way shows again.",
        "Presets that `refire:` names: once 1.0, rare 0.4, normal 0.15, frequent 0.05, and any further name.",
        EVERYWHERE,
        ("refire_presets", "<name>"),
        low=0.0,
        high=10.0,
    ),
    Setting(
        "language",
        TEXT,
        "en",
        "The language in which prompts are written.",
        "Anything but `en` switches the multilingual model on when it is installed (`ways tune "
        "language --install`).",
        OWN,
        ("language",),
        high=35,
    ),
    Setting(
        "macro.timeout_ms",
        INTEGER,
        5_000,
        "How long a macro or postcheck may run, in milliseconds.",
        "Its process group is ended when the time is over, and the way is shown without it.",
        OWN,
        ("macro", "timeout_ms"),
        low=100,
        high=60_000,
    ),
    Setting(
        "macro.max_chars",
        INTEGER,
        8_000,
        "How much of a macro's output is shown, in characters.",
        "Longer output is cut at a line, with a note.",
        OWN,
        ("macro", "max_chars"),
        low=0,
        high=10_000,
    ),
    Setting(
        "engine.threads",
        INTEGER,
        1,
        "Threads of the embedding engine.",
        "One is fastest on a busy machine: the engine's threads wait for each other.",
        (USER,),
        ("engine", "threads"),
        low=1,
        high=64,
    ),
    Setting(
        "engine.resident",
        BOOLEAN,
        True,
        "Whether the embedding engine stays loaded between prompts.",
        "Costs memory while it stays and saves loading the model at the next prompt.",
        (USER,),
        ("engine", "resident"),
    ),
    Setting(
        "engine.idle_minutes",
        INTEGER,
        10,
        "Minutes without use after which the engine leaves.",
        "Only with engine.resident.",
        (USER,),
        ("engine", "idle_minutes"),
        low=1,
        high=1_440,
    ),
    Setting(
        "hooks.tool_delivery",
        CHOICE,
        "auto",
        "When a way that a tool call matched is delivered.",
        "`pre` before the tool runs, `post` with its result, `auto` before it except for versions of "
        "Claude Code known "
        "to drop context there.",
        OWN,
        ("hooks", "tool_delivery"),
        choices=("pre", "post", "auto"),
    ),
    Setting(
        "hooks.session_links",
        CHOICE,
        "deny",
        "What a commit, pull request or issue that ends in a session link meets.",
        "`deny` refuses a git commit, gh pr or gh issue command whose text ends in a Claude Code session "
        "link; `allow` looks at nothing.",
        OWN,
        ("hooks", "session_links"),
        choices=("deny", "allow"),
    ),
    Setting(
        "attend.deliver",
        BOOLEAN,
        True,
        "Whether an agent gets other sessions' messages at the end of its turn.",
        "Switched off, messages wait until `ways attend inbox` shows them.",
        OWN,
        ("attend", "deliver"),
    ),
    Setting(
        "issues.mirror",
        BOOLEAN,
        True,
        "Whether an agent is told of the project's open GitHub issues.",
        "They are fetched in the background with `gh` or a stored token; without either nothing is fetched. "
        "`ways issues link --off` switches one project off.",
        OWN,
        ("issues", "mirror"),
    ),
    Setting(
        "issues.api_url",
        TEXT,
        "https://api.github.com",
        "Where GitHub's REST API is.",
        "For GitHub Enterprise, for example https://github.example.com/api/v3. A project cannot set it: the "
        "token is sent there. With another address than the default `gh` is not used.",
        (USER,),
        ("issues", "api_url"),
        high=200,
    ),
    Setting(
        "install.secret_path_deny",
        BOOLEAN,
        False,
        "Whether reading well-known secret files is denied to the agent.",
        "Adds entries to `permissions.deny` of each target; switching it off removes them again.",
        OWN,
        ("install", "secret_path_deny"),
    ),
    Setting(
        "install.mode",
        CHOICE,
        "link",
        "Whether targets get links into the program or copies.",
        "Copies suit folders that are synchronised to other machines.",
        OWN,
        ("install", "mode"),
        choices=("link", "copy"),
    ),
    Setting(
        "install.channel",
        CHOICE,
        "stable",
        "Which releases `ways update` looks at.",
        "",
        (USER,),
        ("install", "channel"),
        choices=("stable", "beta"),
    ),
    Setting(
        "install.auto_check",
        BOOLEAN,
        True,
        "Whether a newer release is looked for at session start.",
        "At most hourly, in the background. DISABLE_UPDATES=1 and CI switch it off as well.",
        (USER,),
        ("install", "auto_check"),
    ),
    Setting(
        "install.auto_update",
        BOOLEAN,
        False,
        "Whether a newer release is installed without asking.",
        "",
        (USER,),
        ("install", "auto_update"),
    ),
    Setting(
        "targets",
        LIST,
        None,
        "The Claude Code config directories that get the hooks.",
        "Managed by `ways target`. Without the key there is one target, the default config directory.",
        (USER,),
        ("targets",),
        high=100,
    ),
    _gate(
        "mode",
        CHOICE,
        "enforce",
        "What the judge's verdict does.",
        "`enforce` keeps a blocked way back, `shadow` only logs it, `off` asks nothing. Without a "
        "key nothing is asked.",
        choices=("enforce", "shadow", "off"),
    ),
    _gate(
        "engine",
        TEXT,
        "anthropic",
        "The engine profile that judges.",
        "One of the profiles' names.",
        high=100,
    ),
    _gate(
        "concurrency",
        INTEGER,
        4,
        "Provider calls at the same time, over all sessions.",
        "Further requests wait, each within its own deadline.",
        low=1,
        high=32,
    ),
    _gate(
        "profiles.<name>.provider",
        CHOICE,
        None,
        "The provider.",
        _PROFILE,
        choices=("anthropic", "openrouter"),
    ),
    _gate("profiles.<name>.base_url", TEXT, None, "Where requests are sent.", _PROFILE, high=200),
    _gate("profiles.<name>.model", TEXT, None, "The model that judges.", _PROFILE, high=200),
    _gate(
        "profiles.<name>.threshold", NUMBER, None, "The probability that passes.", _PROFILE, low=0.0, high=1.0
    ),
    _gate("profiles.<name>.turns", INTEGER, None, "How many turns are sent.", _PROFILE, low=1, high=2),
    _gate("profiles.<name>.max_candidates", INTEGER, None, "Ways judged at once.", _PROFILE, low=1, high=24),
    _gate(
        "profiles.<name>.timeout_ms",
        INTEGER,
        None,
        "The deadline in milliseconds.",
        _PROFILE,
        low=100,
        high=10_000,
    ),
    _gate(
        "profiles.<name>.temperature", NUMBER, None, "The model's temperature.", _PROFILE, low=0.0, high=2.0
    ),
    _gate(
        "profiles.<name>.prices.input",
        NUMBER,
        None,
        "US dollars for a million tokens sent.",
        _PROFILE,
        high=100_000.0,
    ),
    _gate(
        "profiles.<name>.prices.output",
        NUMBER,
        None,
        "US dollars for a million tokens answered.",
        _PROFILE,
        high=100_000.0,
    ),
)


class NotASetting(LookupError):
    """No setting has this key; the text is the key."""


def find(key: str) -> tuple[Setting, tuple[str, ...]]:
    """The setting that a dotted key names and its path inside the file. Raises NotASetting.

    A name may hold dots: `ways.project.a/b.c` is the way `a/b.c`.
    """
    for setting in SETTINGS:
        if setting.key == key:
            if "<" not in key:
                return setting, setting.place
            continue
        head, bracket, rest = setting.key.partition("<")
        tail = rest.partition(">")[2]
        if not bracket or not key.startswith(head) or not key.endswith(tail):
            continue
        name = key[len(head) : len(key) - len(tail)]
        if name and (not tail or len(key) > len(head) + len(tail)):
            return setting, tuple(name if part.startswith("<") else part for part in setting.place)
    raise NotASetting(key)


def at_place(place: tuple[str, ...], files: Iterable[str]) -> Setting | None:
    """The setting that stands at this path in one of these kinds of file, None when there is none."""
    wanted = tuple(files)
    for setting in SETTINGS:
        if len(setting.place) == len(place) and setting.file in wanted and _fits(setting.place, place):
            return setting
    return None


def _fits(pattern: tuple[str, ...], place: tuple[str, ...]) -> bool:
    return all(want == part or want.startswith("<") for want, part in zip(pattern, place, strict=True))


def key_of(setting: Setting, place: tuple[str, ...]) -> str:
    """The dotted key of the setting at this path: `<name>` is filled in from the path."""
    for pattern, part in zip(setting.place, place, strict=True):
        if pattern.startswith("<"):
            return setting.key.replace(pattern, part)
    return setting.key
