"""Which texts a `git commit`, `gh pr` or `gh issue` command would publish: the options that give them."""

from __future__ import annotations

from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # (path, folder that git was sent to or "") -> the file's text, None when it cannot be known
    ReadText = Callable[[str, str], str | None]


@record
class Published:
    """One text and the command that would publish it (`git commit`, `gh pr`, `gh issue`)."""

    command: str
    text: str


# Options of git itself that are followed by a value.
_GIT_VALUES = frozenset(["-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"])
# `git commit`: letters whose value is the rest of the word or the next word; the rest only of the word.
_COMMIT_VALUES = "mFCct"
_COMMIT_ATTACHED = "Su"
_COMMIT_LONG = ("message", "file", "template", "trailer")
_COMMIT_LONG_OTHER = (
    *(
        "author",
        "date",
        "cleanup",
        "reuse-message",
        "reedit-message",
        "fixup",
        "squash",
        "pathspec-from-file",
    ),
)
# `gh`: letters whose value follows, by subcommand where they differ.
_GH_VALUES = "aBbFHlmprRtTA"
_GH_COMMENT_TEXT = frozenset(["close", "reopen"])
_GH_FLAGS_WITH_VALUES_IN_REVIEW = "bFR"
_GH_BODY = frozenset(["body", "b"])
_GH_FILE = frozenset(["body-file", "F", "template", "T"])


def of_git(arguments: list[str], read: ReadText) -> list[Published]:
    """What `git ARGUMENTS` would put into a commit message."""
    base = ""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] == "-C" and at + 1 < len(arguments):
            base = arguments[at + 1] if not base else f"{base}/{arguments[at + 1]}"
            at += 1
        elif arguments[at] in _GIT_VALUES:
            at += 1
        at += 1
    if at >= len(arguments) or arguments[at] != "commit":
        return []
    paragraphs: list[str] = []
    trailers: list[str] = []
    for name, value in _commit_options(arguments[at + 1 :]):
        if name == "message":
            paragraphs.append(value.strip("\n"))
        elif name == "trailer":
            trailers.append(value if ":" in value.split("=", 1)[0] else value.replace("=", ": ", 1))
        elif name in {"file", "template"}:
            paragraphs.append((read(value, base) or "").strip("\n"))
    if trailers:
        paragraphs.append("\n".join(trailers))
    message = "\n\n".join(paragraphs)
    return [Published("git commit", message)] if message.strip() else []


def _commit_options(words: list[str]) -> list[tuple[str, str]]:
    """(long name, value) of the options that give text."""
    found: list[tuple[str, str]] = []
    names = {"m": "message", "F": "file", "t": "template"}
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            break
        if word.startswith("--"):
            given, equals, value = word[2:].partition("=")
            name = _long_name(given)
            if not name:
                continue
            if not equals:
                value = next(waiting, "")
            if name in _COMMIT_LONG:
                found.append((name, value))
        elif word.startswith("-"):
            for position, letter in enumerate(word[1:], 1):
                if letter in _COMMIT_ATTACHED:
                    break
                if letter in _COMMIT_VALUES:
                    value = word[position + 1 :] or next(waiting, "")
                    if letter in names:
                        found.append((names[letter], value))
                    break
    return found


def _long_name(given: str) -> str:
    """The option with a value that `given` names or abbreviates, as git takes it; "" for any other."""
    known = (*_COMMIT_LONG, *_COMMIT_LONG_OTHER)
    if given in known:
        return given
    matching = [name for name in known if given and name.startswith(given)]
    return matching[0] if len(matching) == 1 else ""


def of_gh(arguments: list[str], read: ReadText) -> list[Published]:
    """What `gh ARGUMENTS` would put into a pull request, an issue or a comment."""
    kind = ""
    action = ""
    found: list[Published] = []
    waiting = iter(arguments)
    for word in waiting:
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            if not kind:
                kind = word
                if kind not in {"pr", "issue"}:
                    return []
            elif not action:
                action = word
            continue
        name, value = _gh_option(word, waiting, action)
        text: str | None = None
        if name in _GH_BODY or (name in {"c", "comment"} and action in _GH_COMMENT_TEXT):
            text = value
        elif name in _GH_FILE:
            text = read(value, "")
        if text:
            found.append(Published(f"gh {kind}", text))
    return found


def _gh_option(word: str, waiting: object, action: str) -> tuple[str, str]:
    """Name and value of one option; its value may be the next word."""
    values = _GH_FLAGS_WITH_VALUES_IN_REVIEW if action == "review" else _GH_VALUES
    if action in _GH_COMMENT_TEXT:
        values += "c"
    if action == "merge":
        values = values.replace("m", "").replace("r", "")
    long_values = {
        "body",
        "body-file",
        "template",
        "title",
        "repo",
        "subject",
        "base",
        "head",
        "label",
        "assignee",
    }
    long_values |= {"milestone", "project", "reviewer", "recover", "author-email", "match-head-commit"}
    if action in _GH_COMMENT_TEXT:
        long_values |= {"comment", "reason"}
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        if equals or name not in long_values:
            return name, value
        return name, next(waiting, "")  # type: ignore[call-overload]
    for position, letter in enumerate(word[1:], 1):
        if letter in values:
            value = word[position + 1 :].removeprefix("=")
            return letter, value or next(waiting, "")  # type: ignore[call-overload]
    return word[1:], ""
