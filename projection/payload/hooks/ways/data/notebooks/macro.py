"""Names the notebooks under git that hold outputs or were run out of order. Quiet outside git."""

import json
import os
import subprocess
import sys

ROOT = os.environ.get("WAYS_PROJECT_DIR") or "."
MOST_FILES, MOST_BYTES, SHOWN = 40, 8_000_000, 6


def git(*arguments: str) -> str:
    """What a read-only git command prints; empty when it fails or there is no git."""
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", GIT_NO_LAZY_FETCH="1", LC_ALL="C")
    project = os.environ.get("WAYS_PROJECT_DIR") or "."
    try:
        done = subprocess.run(
            ["git", "-C", project, "-c", "core.fsmonitor=false", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").rstrip() if done.returncode == 0 else ""


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def code_cells(name: str, left: int) -> tuple:
    """(the code cells of a notebook, its size in bytes); none when it is too large or is no notebook."""
    path = os.path.join(ROOT, *name.split("/"))
    try:
        size = os.path.getsize(path)
        if size > left or not os.path.isfile(path):
            return [], 0
        with open(path, encoding="utf-8", errors="replace") as file:
            notebook = json.load(file)
    except (OSError, ValueError, RecursionError):
        return [], 0
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    rows = cells if isinstance(cells, list) else []
    return [cell for cell in rows if isinstance(cell, dict) and cell.get("cell_type") == "code"], size


def out_of_order(cells: list) -> bool:
    """The numbers of the executions do not rise from top to bottom."""
    counts = [cell["execution_count"] for cell in cells if isinstance(cell.get("execution_count"), int)]
    return counts != sorted(counts)


def listed(names: list) -> str:
    """Names, shortened."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(quoted(name, 80) for name in names[:SHOWN]) + more


def main() -> int:
    names = [name for name in git("ls-files", "-z", "--", "*.ipynb").split("\0") if name][:MOST_FILES]
    left, with_outputs, disordered = MOST_BYTES, [], []
    for name in names:
        cells, size = code_cells(name, left)
        left -= size
        if any(cell.get("outputs") for cell in cells):
            with_outputs.append(name)
        if out_of_order(cells):
            disordered.append(name)
    lines = []
    if with_outputs:
        lines.append(f"- With outputs, under git: {listed(with_outputs)}")
    if disordered:
        lines.append(f"- Last run out of order: {listed(disordered)}")
    if lines:
        sys.stdout.write("\n".join(["## Notebooks in this project", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
