"""Lists the newest migration files of the project, so that the next one gets the right number."""

import os
import sys

FOLDERS = ("migrations", "alembic/versions", "db/migrate", "db/migrations", "prisma/migrations")
SKIPPED = {"node_modules", "venv", ".venv", "vendor", "dist", "build", "site-packages"}
MOST_FOLDERS, DEPTH, NEWEST = 1500, 5, 4


def migration_folders(root: str) -> list:
    """Folders that hold migrations, relative to the project; the walk is bounded in depth and number."""
    found, seen = [], 0
    for folder, names, _ in os.walk(root):
        seen += 1
        relative = os.path.relpath(folder, root).replace(os.sep, "/")
        depth = 0 if relative == "." else relative.count("/") + 1
        if seen > MOST_FOLDERS:
            break
        if f"/{relative}".endswith(tuple(f"/{name}" for name in FOLDERS)):
            found.append(relative)
        names[:] = [] if depth >= DEPTH else sorted(n for n in names if n not in SKIPPED and not n.startswith("."))
    return found


def newest(folder: str) -> list:
    """The last few entries of a folder by name, which is how migrations are numbered."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    kept = sorted(name for name in names if name[:1] not in "._" and not name.endswith((".pyc", ".toml")))
    return kept[-NEWEST:]


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def main() -> int:
    root = os.environ.get("WAYS_PROJECT_DIR") or "."
    rows = [(folder, newest(os.path.join(root, folder))) for folder in migration_folders(root)[:4]]
    lines = [f"- {quoted(folder + '/', 120)}: {', '.join(quoted(name, 80) for name in names)}" for folder, names in rows if names]
    if lines:
        sys.stdout.write("\n".join(["## Newest migrations here", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
