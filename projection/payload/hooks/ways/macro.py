"""Prints the ways that exist here as a table: one row a domain, the ways' names, at most 4,000 characters.

Names come from folders, and a project's folders are written by strangers: a name that is not made of
plain letters, digits, dots, dashes and underscores is left out.
"""

import os
import re
import sys

LIMIT = 3900
MOST_FOLDERS = 5000
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}\Z")


def user_root(environ) -> str:
    """The folder of the user's own ways."""
    if environ.get("WAYS_CONFIG_ROOT"):
        return os.path.join(environ["WAYS_CONFIG_ROOT"], "ways")
    if os.name == "nt":
        return os.path.join(environ.get("LOCALAPPDATA", ""), "agent-ways", "config", "ways")
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "agent-ways", "ways")


def ids_under(root: str, follow: bool) -> set:
    """The ids of the ways under a root; links are followed once each, or not at all."""
    found, seen = set(), set()
    for folder, names, files in os.walk(root, followlinks=follow):
        real = os.path.realpath(folder)
        if real in seen or len(seen) >= MOST_FOLDERS:
            names[:] = []
            continue
        seen.add(real)
        names[:] = [name for name in names if PLAIN.match(name) and not name.startswith("_")]
        if folder != root and os.path.basename(folder) + ".md" in files:
            found.add(os.path.relpath(folder, root).replace(os.sep, "/"))
    return found


def table(ids: set) -> str:
    """The rows, each cut to an equal share of the limit when all names together are too long."""
    domains = {}
    for way in sorted(ids):
        domain, _, rest = way.partition("/")
        domains.setdefault(domain, []).append(rest.rpartition("/")[2] or domain)
    rows = {domain: ", ".join(dict.fromkeys(names)) for domain, names in domains.items()}
    room = LIMIT // max(len(rows), 1) - 70
    lines = ["## Available ways", "", "| Domain | Ways |", "|---|---|"]
    for domain, text in rows.items():
        if sum(map(len, rows.values())) > LIMIT - 100 * len(rows) and len(text) > max(room, 0):
            kept = text[: max(room, 0)].rpartition(", ")[0]
            left = text.count(", ") + 1 - (kept.count(", ") + 1 if kept else 0)
            text = f"{kept}{', ' if kept else ''}and {left} more"
        lines.append(f"| {domain} | {text} |")
        if sum(map(len, lines)) > LIMIT - 100:
            lines[-1] = "| and more | `ways author tree` lists all |"
            break
    return "\n".join(lines) + "\n"


def main() -> int:
    environ = os.environ
    core = environ.get("WAYS_WAY_DIR") or os.path.dirname(os.path.abspath(__file__))
    ids = ids_under(core, True) | ids_under(user_root(environ), True)
    if environ.get("WAYS_PROJECT_DIR"):
        ids |= ids_under(os.path.join(environ["WAYS_PROJECT_DIR"], ".claude", "ways"), False)
    off = set(environ.get("WAYS_DISABLED_DOMAINS", "").split())
    ids = {way for way in ids if way.partition("/")[0] not in off}
    if ids:
        sys.stdout.write(table(ids))
    return 0


if __name__ == "__main__":
    sys.exit(main())
