"""The folder name under which Claude Code keeps a project's history."""

from __future__ import annotations

MAX_SLUG = 200


def slug_of(folder: str) -> str:
    """The slug of an absolute folder: every character that is no ASCII letter or digit becomes a dash.

    Several folders can share a slug (`a-b` and `a/b`). Claude Code shortens a slug of more than 200
    characters and adds a hash of its own, so for such a folder this is only the beginning (`is_slug_of`).
    """
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in folder)


def is_slug_of(slug: str, folder: str) -> bool:
    """True when the history of `folder` may be kept under `slug`."""
    whole = slug_of(folder)
    return slug == whole or (len(whole) > MAX_SLUG and slug.startswith(f"{whole[:MAX_SLUG]}-"))
