"""Shows the services of the compose file and the images that Dockerfiles build on. Reads files only."""

import os
import re
import sys

ROOT = os.environ.get("WAYS_PROJECT_DIR") or "."
COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
DOCKERFILE = re.compile(r"(Dockerfile|Containerfile)(\.[\w-]+)?\Z")
FROM = re.compile(r"^FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE | re.MULTILINE)
KEY = re.compile(r"^( +)([\w.-]+):\s*(.*)")
MOST_CHARACTERS, SHOWN, MOST_FILES = 200_000, 12, 5


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


def services(text: str) -> dict:
    """The names below `services:`, each with its image where it states one."""
    block = re.search(r"^services:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n|[ \t]*\n|#.*\n)*)", text + "\n", re.MULTILINE)
    found, depth, inner, current = {}, 0, 0, ""
    for line in block.group(1).splitlines() if block else ():
        key = KEY.match(line)
        if key is None:
            continue
        indent, name, value = len(key.group(1)), key.group(2), key.group(3)
        depth = depth or indent
        if indent == depth:
            current, inner = name, 0
            found[current] = ""
            continue
        inner = inner or indent
        if current and indent == inner and name == "image":
            found[current] = value.split(" #")[0].strip("\"' ")
    return found


def compose_lines(names: list) -> list:
    """A line for each compose file that lists services."""
    lines = []
    for name in names:
        table = services(read(name))
        shown = [
            quoted(one, 40) + (f" ({quoted(image, 60)})" if image else "")
            for one, image in list(table.items())[:SHOWN]
        ]
        if shown:
            more = f" and {len(table) - SHOWN} more" if len(table) > SHOWN else ""
            lines.append(f"- `{name}`: {', '.join(shown)}{more}")
    return lines


def dockerfile_lines(names: list) -> list:
    """A line for each Dockerfile with its base images; stages that it names itself are no base."""
    lines = []
    for name in names[:MOST_FILES]:
        rows = FROM.findall(read(name))
        stages = {stage.lower() for _image, stage in rows if stage}
        images = list(dict.fromkeys(image for image, _stage in rows if image.lower() not in stages))
        if images:
            lines.append(f"- {quoted(name, 60)} builds on {', '.join(quoted(image, 80) for image in images[:4])}")
    return lines


def main() -> int:
    try:
        names = sorted(os.listdir(ROOT))
    except OSError:
        return 0
    dockerfiles = [name for name in names if DOCKERFILE.match(name)]
    lines = compose_lines([name for name in COMPOSE if name in names]) + dockerfile_lines(dockerfiles)
    if dockerfiles and ".dockerignore" not in names:
        lines.append("- There is no `.dockerignore`.")
    if lines:
        sys.stdout.write("\n".join(["## Containers in this project", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
