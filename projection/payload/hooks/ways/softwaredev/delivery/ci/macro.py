"""Lists the CI definitions of the project, and how GitHub workflows pin actions and limit rights."""

import os
import re
import sys

ROOT = os.environ.get("WAYS_PROJECT_DIR") or "."
WORKFLOWS = ".github/workflows"
OTHERS = (
    ".gitlab-ci.yml",
    "Jenkinsfile",
    ".circleci/config.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".buildkite/pipeline.yml",
    ".woodpecker.yml",
    ".drone.yml",
    ".travis.yml",
)
USES = re.compile(r"^\s*(?:-\s+)?uses:\s*[\"']?([\w.-]+/[\w./-]+)@([\w./-]+)", re.MULTILINE)
COMMIT = re.compile(r"[0-9a-f]{40}\Z")
MOST_CHARACTERS, MOST_FILES, SHOWN = 200_000, 40, 8


def read(name: str) -> str:
    """The beginning of a file of the project; empty when it is not there."""
    path = os.path.join(ROOT, name)
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MOST_CHARACTERS)
    except OSError:
        return ""


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def workflows() -> list:
    """The names of the GitHub workflows."""
    try:
        names = os.listdir(os.path.join(ROOT, WORKFLOWS))
    except OSError:
        return []
    return sorted(name for name in names if name.endswith((".yml", ".yaml")))[:MOST_FILES]


def listed(names: list) -> str:
    """Names, shortened."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(quoted(name, 60) for name in names[:SHOWN]) + more


def github(names: list) -> list:
    """What is worth knowing of the workflows."""
    texts = {name: read(f"{WORKFLOWS}/{name}") for name in names}
    references = [version for text in texts.values() for _action, version in USES.findall(text)]
    lines = [f"- `{WORKFLOWS}/`: {listed(names)}"]
    if references:
        pinned = sum(bool(COMMIT.match(version)) for version in references)
        lines.append(f"- Actions pinned to a commit: {pinned} of {len(references)}")
    wide = [name for name, text in texts.items() if not re.search(r"^\s*permissions:", text, re.MULTILINE)]
    if wide:
        lines.append(f"- Without `permissions:`: {listed(wide)}")
    return lines


def main() -> int:
    names = workflows()
    lines = github(names) if names else []
    lines += [f"- `{name}`" for name in OTHERS if os.path.isfile(os.path.join(ROOT, *name.split("/")))]
    if lines:
        sys.stdout.write("\n".join(["## CI in this project", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
