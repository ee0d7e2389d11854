"""Lists the newest decision records of the project and the next number. Quiet when there are none."""

import os
import re
import sys

FOLDERS = ("docs/adr", "docs/adrs", "docs/decisions", "doc/adr", "adr", "decisions", "docs/architecture/decisions", "docs/rfcs")
NUMBER = re.compile(r"^(?:adr-?)?(\d{1,5})[-_. ]", re.IGNORECASE)
NEWEST = 5


def records(folder: str) -> list:
    """Names of the decision records in a folder, sorted; empty when it cannot be read."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(name for name in names if name.endswith((".md", ".rst", ".adoc")) and not name.startswith("."))


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def describe(folder: str, names: list) -> str:
    """The folder, its newest records, and the next number when they are numbered."""
    numbers = [match.group(1) for match in map(NUMBER.match, names) if match]
    text = f"## Decision records here\n- `{folder}/` holds {len(names)}: " + ", ".join(quoted(n, 70) for n in names[-NEWEST:])
    if numbers:
        largest = max(numbers, key=int)
        text += f"\n- Next number: {str(int(largest) + 1).zfill(len(largest))}"
    return text


def main() -> int:
    root = os.environ.get("WAYS_PROJECT_DIR") or "."
    for folder in FOLDERS:
        names = records(os.path.join(root, folder))
        if names:
            sys.stdout.write(describe(folder, names) + "\n")
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
