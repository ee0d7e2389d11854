"""Masks what people paste: fenced code blocks and URLs (spec: matching, surfaces; case h13).

For the keyword channel only. Each masked character becomes a space, line breaks stay, so every position
and the case of the rest are kept.
"""

from __future__ import annotations

_WINDOW = 512


def mask(text: str) -> str:
    """`text` with fenced code blocks (also unclosed ones, to the end) and `http(s)://…` blanked."""
    if "```" in text or "~~~" in text:
        text = _mask_fences(text)
    return _mask_urls(text) if "://" in text else text


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _mask_fences(text: str) -> str:
    """Blanks fences line by line. Three backticks within a line open one too: people paste that way."""
    out: list[str] = []
    fence, inline = "", False
    for line in text.split("\n"):
        live = 0
        if fence:
            live = _closing_end(line, fence, inline)
            if live < 0:
                out.append(" " * len(line))
                continue
            fence = ""
        masked, fence, inline = _mask_line(line, live)
        out.append(masked)
    return "\n".join(out)


def _mask_line(line: str, live: int) -> tuple[str, str, bool]:
    """The line with what is fenced in it blanked, from position `live` on; the run that a block opened here
    is closed by, "" when none was opened; and whether text stands before that run."""
    out = [" " * live]
    done = live
    while True:
        at = _next_run(line, done)
        if at < 0:
            return "".join((*out, line[done:])), "", False
        run = _run(line, at)
        end = line.find(run, at + len(run)) if run[0] == "`" else -1
        if end < 0:
            out += (line[done:at], " " * (len(line) - at))
            return "".join(out), run, bool(line[:at].strip())
        out += (line[done:at], " " * (end + len(run) - at))
        done = end + len(run)


def _next_run(line: str, start: int) -> int:
    """Where the next fence begins: backticks anywhere, tildes only as the first thing in a line."""
    if start == 0 and line.lstrip().startswith("~~~"):
        return len(line) - len(line.lstrip())
    return line.find("```", start)


def _run(line: str, at: int) -> str:
    """The whole run of the same character from `at` on."""
    end = at
    while line.startswith(line[at], end):
        end += 1
    return line[at:end]


def _closing_end(line: str, fence: str, inline: bool) -> int:
    """Where live text begins again in a line that closes the block, -1 in one that does not.

    A block closes at a run as long as the opening one (or longer) that begins a line and has nothing or
    white space behind it; one that was opened within a line closes at any such run.
    """
    at = line.find(fence) if inline else len(line) - len(line.lstrip())
    if at < 0 or not line.startswith(fence, at):
        return -1
    end = at + len(_run(line, at))
    return end if inline or not line[end : end + 1].strip() else -1


def _mask_urls(text: str) -> str:
    out: list[str] = []
    done = 0
    at = text.find("://")
    while at >= 0:
        start = _scheme_start(text, at)
        if start < done:
            at = text.find("://", at + 3)
            continue
        end = _space_after(text, at)
        out += (text[done:start], " " * (end - start))
        done = end
        at = text.find("://", end)
    return "".join((*out, text[done:])) if out else text


def _scheme_start(text: str, at: int) -> int:
    """Where `http` or `https` before `://` begins, -1 when neither stands there."""
    for length in (5, 4):
        if at >= length and text[at - length : at].lower() == "https"[:length]:
            return at - length
    return -1


def _space_after(text: str, at: int) -> int:
    """The position of the first white space from `at` on, or the end."""
    while at < len(text):
        # In windows: cutting off the whole rest for each URL would be quadratic.
        window = text[at : at + _WINDOW]
        word = window.split(None, 1)[0] if not window[0].isspace() else ""
        if len(word) < len(window):
            return at + len(word)
        at += len(window)
    return at
