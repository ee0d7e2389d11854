"""Text as it reaches us and as it leaves: bytes, surrogates, lengths, cuts and paths."""

from __future__ import annotations

# U+202A..U+202E and U+2066..U+2069, spelt by number: the characters themselves would reorder this line.
_REORDERING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
# Control characters but newline and tab.
_NOT_PRINTED = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *_REORDERING))


def decode(data: bytes) -> str:
    """UTF-8 with replacement, a leading BOM dropped. Never the locale's codec (spec: hooks)."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    return data.decode("utf-8", "replace")


def clean(text: str) -> str:
    """`text` with lone surrogates and NUL replaced by U+FFFD, so that it can be encoded anywhere."""
    if text.isascii():
        return text.replace("\0", "�") if "\0" in text else text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "�")


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, the unit of Claude Code's 10,000-character limit."""
    return len(text) if text.isascii() else len(text) + sum(character > "￿" for character in text)


def cut_bytes(text: str, limit: int) -> str:
    """The longest prefix of `text` whose UTF-8 form has at most `limit` bytes."""
    data = clean(text).encode("utf-8")
    return data[:limit].decode("utf-8", "ignore") if len(data) > limit else data.decode("utf-8")


def cut_utf16(text: str, limit: int) -> str:
    """The longest prefix of `text` with at most `limit` UTF-16 units (never half a pair)."""
    if utf16_length(text) <= limit:
        return text
    used = 0
    for index, character in enumerate(text):
        used += 2 if character > "￿" else 1
        if used > limit:
            return text[:index]
    return text


def snippet(text: str, limit: int = 120) -> str:
    """One line of at most `limit` characters, for events and tables."""
    line = " ".join(clean(text[: limit * 8]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def printable(text: str) -> str:
    """`text` without control characters (terminal escapes included) and without the marks that
    reorder text on a terminal, except newline and tab."""
    text = clean(text)
    return text if text.isascii() and text.isprintable() else text.translate(_NOT_PRINTED)


def match_path(path: str) -> str:
    """A path in the one spelling that `files:` and globs are matched on (spec: hooks, case h25).

    Backslashes become `/`; `\\\\?\\` and `\\\\?\\UNC\\` prefixes go; a drive is `c:/…` in lower case,
    whether it was written `C:\\`, `c:/` or `/c/`. A POSIX path without backslashes is left alone
    but for a leading single-letter folder, which reads as a drive only when the process is on
    Windows.
    """
    import os

    if len(path) < 2:
        return path
    windows_like = path[1] == ":" or path.startswith("\\\\") or (os.name == "nt" and "\\" in path)
    if windows_like or (os.name == "nt" and path[0] == "/"):
        path = path.replace("\\", "/")
        if path.upper().startswith("//?/UNC/"):
            path = "//" + path[8:]
        elif path.startswith(("//?/", "//./")):
            path = path[4:]
        if os.name == "nt" and path[0] == "/" and path[1:2].isalpha() and path[2:3] in {"/", ""}:
            path = f"{path[1]}:{path[2:] or '/'}"
        if len(path) > 1 and path[1] == ":":
            path = path[0].lower() + path[1:]
    return path
