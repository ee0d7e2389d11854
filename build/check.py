"""Everything that must hold before a change lands: lint, types, tests.

    python3 build/check.py

Sets up `.venv` with the test tools first, so it works on a fresh clone. Arguments are passed on to
pytest.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build import from_source


def main(arguments: list[str]) -> int:
    """Run the checks in order; the exit code of the first that fails, else 0."""
    from_source.install(["release", "test"])
    python = str(from_source.python())
    steps = [
        [python, "-m", "ruff", "check", "."],
        [python, "-m", "ruff", "format", "--check", "."],
        [python, "-m", "mypy"],
        [python, "build/engine.py"],
        [python, "build/model.py"],
        [python, "-m", "pytest", "-n", "2", "--durations", "15", *arguments],
    ]
    for step in steps:
        code = from_source.run(step)
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
