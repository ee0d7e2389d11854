"""Where the active version lies (spec: roots and files, "current")."""

from __future__ import annotations

import os

LINK = "current"
VERSIONS = "versions"
NAME_SUFFIX = ".txt"
_MOST_BYTES = 256


def folder(app: str) -> str:
    """The active version's folder as it is reached: `{app}/current`. On a Windows volume that takes no
    junctions there is no such link, and `current.txt` names the version."""
    link = os.path.join(app, LINK)
    if os.name == "nt" and not os.path.isdir(link):
        named = version_named(app, LINK)
        if named:
            return os.path.join(app, VERSIONS, named)
    return link


def program(app: str) -> str:
    """The program by the name that stays the same from version to version; where there is no such name, the
    active version's own."""
    stable = os.path.join(app, "bin", "ways.exe" if os.name == "nt" else "ways")
    if os.name == "nt" and not os.path.isfile(stable):
        named = version_named(app, LINK)
        own = os.path.join(app, VERSIONS, named, "bin", "ways.exe") if named else ""
        if own and os.path.isfile(own):
            return own
    return stable


def version_named(app: str, link: str) -> str:
    """The version in the file beside a link (`current.txt`), "" when there is none or it is no folder's
    name."""
    try:
        with open(os.path.join(app, link + NAME_SUFFIX), "rb") as file:
            name = file.read(_MOST_BYTES).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return "" if not name or name.startswith(".") or any(mark in name for mark in '/\\:"%') else name
