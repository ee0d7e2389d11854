"""Which file holds a target's own settings (spec: roots and files; projection, Targets)."""

from __future__ import annotations

import os


def path_of(config_root: str, target: str, home: str, rows: object) -> str:
    """The settings file of the target (a Claude Code config directory), "" when there cannot be one.

    `rows` are the entries of the user's `targets:` as parsed; one may name a file as `config`. Else
    it is `{config}/targets/<key>/config.yaml`, looked for only when there is a `targets` folder.
    """
    folder = ""
    for row in rows if isinstance(rows, list | tuple) else ():
        config = row.get("config") if isinstance(row, dict) else None
        if isinstance(config, str) and config:
            folder = folder or os.path.realpath(target)
            if os.path.realpath(_expanded(str(row.get("path")), home)) == folder:
                return os.path.join(config_root, _expanded(config, home))
    targets = os.path.join(config_root, "targets")
    if not os.path.isdir(targets):
        return ""
    return os.path.join(targets, target_key(folder or os.path.realpath(target)), "config.yaml")


def target_key(folder: str) -> str:
    """A readable name of a resolved folder with 8 hex digits of its path: `claude-1a2b3c4d`."""
    try:
        # hashlib loads OpenSSL, which costs more than the rest of the hook.
        from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256

    name = os.path.basename(folder)
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
    word = "-".join(part for part in words.split("-") if part).lower()[:40]
    digest = sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{word or 'target'}-{digest}"


def _expanded(spelling: str, home: str) -> str:
    return home + spelling[1:] if spelling == "~" or spelling.startswith(("~/", "~\\")) else spelling
