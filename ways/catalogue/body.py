"""The text of a way or check: what stands after the frontmatter, unchanged apart from line endings."""

from __future__ import annotations

from ways.core import files, text

MAX_BYTES = 256 * 1024
FENCE = "---"


def body(path: str) -> str:
    """The body of the way or check at `path`, with `\\n` line endings. Raises OSError.

    A file without frontmatter is all body. At most 256 KiB are read; what a longer file holds beyond
    that was refused when the catalogue was built.
    """
    return split(normalise(files.read_bytes(path, MAX_BYTES)))[1]


def normalise(data: bytes) -> str:
    """UTF-8 text without BOM, line endings made `\\n`, undecodable bytes and NUL replaced."""
    return text.clean(text.decode(data)).replace("\r\n", "\n").replace("\r", "\n")


def split(content: str) -> tuple[str | None, str]:
    """The frontmatter (None when there is none or it is never closed) and the body.

    The frontmatter lies between a first line `---` and the next line `---`; later ones belong to the body.
    """
    first, newline, rest = content.partition("\n")
    if first.rstrip() != FENCE or not newline:
        return None, content
    start = 0
    while start <= len(rest):
        end = rest.find("\n", start)
        line = rest[start:] if end < 0 else rest[start:end]
        if line.rstrip() == FENCE and line.startswith(FENCE):
            return rest[:start], "" if end < 0 else rest[end + 1 :]
        if end < 0:
            break
        start = end + 1
    return None, content


def check_sections(content: str) -> tuple[str, str]:
    """The `## anchor` and `## check` sections of a check's body, without their headings.

    A section that is missing is "". A body without either heading is all check.
    """
    sections: dict[str, list[str]] = {}
    lines: list[str] | None = None
    fence = ""
    for line in content.split("\n"):
        opening = line.lstrip()[:3]
        if opening in {"```", "~~~"}:
            fence = "" if fence == opening else fence or opening
        heading = line[3:].strip().lower() if line.startswith("## ") and not fence else ""
        if heading in {"anchor", "check"}:
            lines = sections.setdefault(heading, [])
        elif lines is not None:
            lines.append(line)
    if not sections:
        return "", content.strip()
    anchor, check = ("\n".join(sections.get(name, [])).strip() for name in ("anchor", "check"))
    return anchor, check
