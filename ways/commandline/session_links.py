"""Whether a text carries a link to a Claude Code session as a trailer or a footer.

Claude Code on the web and under remote control ends commit messages with `Claude-Session: <link>` and the
bodies of pull requests with the link, alone or behind a label. A link that a sentence speaks of, an example
in a code block or a quotation is none of the two. docs/decisions/session-links.md has the rules and their
reasons.
"""

from __future__ import annotations

import re

_ID = r"(?:sessions?[/_-][\w$({.-]*\w[\w)}-]*|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\$[\w({][\w)}:-]*)"
_LINK = re.compile(
    rf"(?:https?://)?(?:[\w-]+\.)*claude\.(?:ai|com)/code/({_ID})[^\s)\]>\"'*_`,;]*", re.IGNORECASE
)
_MARK = "\u27c2"  # stands for the link while the rest of its line is looked at
_TRAILER = re.compile(
    r"[ >*_-]{0,3}claude[- ](?:code[- ])?session(?:[- ](?:url|link|id))?[*_]*\s*[:=]\s*"
    r"[*_<\[(]*(?:\u27c2|\$)",
    re.IGNORECASE,
)
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*\s*:\s")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATTRIBUTION = re.compile(r"\W*(?:co-authored-by\s*:|generated (?:with|by)\b).*", re.IGNORECASE)
_RULE = re.compile(r"[\s*_=-]*")
_HTML = re.compile(r"<!--|-->|</?[a-z][^>]*>", re.IGNORECASE)
_ANCHOR = re.compile(r"<a\s[^>]*?\u27c2[^>]*>", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"(?:sessions?[/_-])?(?:[x.*0_-]+|id|xxx\w*|your\w*)", re.IGNORECASE)
_REAL = re.compile(r"[A-Za-z0-9]{16,}")
# A footer says nothing but where the text comes from.
_FOOTER_WORDS = frozenset(
    [
        *("claude", "code", "ai", "agent", "session", "sessions", "link", "url", "id", "transcript", "chat"),
        *("conversation", "generated", "created", "made", "written", "authored", "opened", "see", "view"),
        *("with", "by", "via", "in", "from", "using", "the", "this", "a", "on", "at", "of", "here"),
        *("web", "open", "full", "remote"),
    ]
)


def offending_line(text: str) -> str:
    """The first line that is a session link as a trailer or footer, "" when there is none."""
    paragraphs = _paragraphs(text)
    tail = len(paragraphs)
    while tail and all(_is_closing(line) for line in paragraphs[tail - 1].lines):
        tail -= 1
    for number, paragraph in enumerate(paragraphs):
        for position, line in enumerate(paragraph.lines):
            if not _LINK.search(line) and not _TRAILER.match(line):
                continue
            if _is_placeholder(line):
                continue
            closes = all(_is_closing(later) for later in paragraph.lines[position:])
            in_tail = number >= tail or (number == tail - 1 and closes)
            if _is_trailer(line) and closes:
                if in_tail or (_has_real_link(line) and not paragraph.introduced):
                    return line.strip()
            elif in_tail and number >= tail and _is_footer(line):
                return line.strip()
    return ""


class _Paragraph:
    """Lines without a blank one between them; `introduced` when the line before ends in a colon."""

    def __init__(self, introduced: bool) -> None:
        self.lines: list[str] = []
        self.introduced = introduced


def _paragraphs(text: str) -> list[_Paragraph]:
    """The paragraphs of a text; code blocks and quotations stand as a line that is no footer."""
    # A backslash and an `n` that were meant as a line break publish the link all the same.
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\\n", "\n")
    lines = _dedented(text.split("\n"))
    found: list[_Paragraph] = []
    fence = ""
    before = ""
    open_paragraph = False
    for line in lines:
        mark = _FENCE.match(line)
        if mark:
            if not fence:
                fence = mark[1]
            elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            line = "(code)"
        elif fence or line.startswith(("    ", "\t", "> ")):
            line = "(code)" if line.strip() else line
        if not line.strip():
            open_paragraph = False
            continue
        if not open_paragraph:
            found.append(_Paragraph(before.rstrip().endswith(":")))
            open_paragraph = True
        found[-1].lines.append(line)
        before = line
    return found


def _dedented(lines: list[str]) -> list[str]:
    """The lines without the indentation that all of them (the first apart) have in common."""
    widths = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    width = min(widths, default=0)
    return lines[:1] + [line[width:] for line in lines[1:]]


def _marked(line: str) -> str:
    return _LINK.sub(_MARK, line)


def _is_placeholder(line: str) -> bool:
    found = _LINK.findall(line)
    return bool(found) and all(_PLACEHOLDER.fullmatch(identity) for identity in found)


def _has_real_link(line: str) -> bool:
    return any(_REAL.search(identity) for identity in _LINK.findall(line))


def _is_trailer(line: str) -> bool:
    """`Claude-Session: <link>` or any other trailer whose value is the link and nothing else."""
    marked = _marked(line)
    if _TRAILER.match(marked):
        after = marked.partition(_MARK)[2]
        return not any(character.isalnum() for character in after)
    key = _KEY.match(marked)
    if not key or _MARK not in marked:
        return False
    return not any(character.isalnum() for character in marked[key.end() :].replace(_MARK, ""))


def _is_footer(line: str) -> bool:
    """A line with the link in which every word only says where the text comes from."""
    marked = _ANCHOR.sub(_MARK, _marked(line))
    if _MARK not in marked:
        return False
    return all(word.lower() in _FOOTER_WORDS for word in re.findall(r"[^\W_]+", _HTML.sub(" ", marked)))


def _is_closing(line: str) -> bool:
    """What may stand at the end of a message: trailers, footers, attribution, rules, closing tags."""
    if _ATTRIBUTION.fullmatch(line) or _RULE.fullmatch(_HTML.sub("", line)):
        return True
    if _LINK.search(line):
        return _is_trailer(line) or _is_footer(line)
    if _TRAILER.match(_marked(line)):
        return _is_trailer(line)
    return bool(_KEY.match(line)) and "-" in line.split(":", 1)[0]
