"""Names the commands that run this project's tests, read from its manifests. Quiet when it finds none."""

import json
import os
import re
import sys

ROOT = os.environ.get("WAYS_PROJECT_DIR") or "."
MOST_CHARACTERS, MOST_LINES = 200_000, 8
LOCKFILES = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
# File, what it must hold (nothing: to be there is enough), and the command.
KNOWN = (
    ("pyproject.toml", r"^\[tool\.pytest", "pytest"),
    ("pytest.ini", "", "pytest"),
    ("setup.cfg", r"^\[tool:pytest\]", "pytest"),
    ("tox.ini", "", "tox"),
    ("noxfile.py", "", "nox"),
    ("Cargo.toml", "", "cargo test"),
    ("go.mod", "", "go test ./..."),
    ("mix.exs", "", "mix test"),
    (".rspec", "", "bundle exec rspec"),
    ("phpunit.xml", "", "vendor/bin/phpunit"),
    ("phpunit.xml.dist", "", "vendor/bin/phpunit"),
    ("mvnw", "", "./mvnw test"),
    ("pom.xml", "", "mvn test"),
    ("gradlew", "", "./gradlew test"),
    ("Package.swift", "", "swift test"),
    ("CMakeLists.txt", r"^\s*enable_testing\b", "ctest"),
)
TARGET = re.compile(r"^((?:unit|integration|e2e)?[-_]?tests?(?:[-_]\w{1,20})?|check)\s*(?:[\w ]*):(?!=)", re.MULTILINE)


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


def scripts(names: set) -> list:
    """The test scripts of package.json with the package manager that its lockfile names."""
    try:
        found = json.loads(read("package.json") or "{}")
    except ValueError:
        return []
    table = found.get("scripts") if isinstance(found, dict) else None
    manager = next((LOCKFILES[name] for name in LOCKFILES if name in names), "npm")
    rows = []
    for name, command in table.items() if isinstance(table, dict) else ():
        if re.match(r"(test|e2e)\b", name) and isinstance(command, str) and "no test specified" not in command:
            call = f"{manager} test" if name == "test" and manager != "bun" else f"{manager} run {name}"
            rows.append(f"- {quoted(call, 60)}, which is {quoted(command, 100)}")
    return rows


def targets() -> list:
    """Test targets of a Makefile or justfile."""
    rows = []
    for file, tool in (("Makefile", "make"), ("justfile", "just")):
        for name in list(dict.fromkeys(TARGET.findall(read(file))))[:3]:
            rows.append(f"- {quoted(f'{tool} {name}', 60)} (`{file}`)")
    return rows


def commands(names: set) -> list:
    """The commands that other manifests stand for, each once."""
    found = {}
    for file, inside, command in KNOWN:
        if file in names and (not inside or re.search(inside, read(file), re.MULTILINE)):
            found.setdefault(command, file)
    if "./mvnw test" in found:
        found.pop("mvn test", None)
    return [f"- `{command}` (`{file}`)" for command, file in found.items()]


def main() -> int:
    try:
        names = set(os.listdir(ROOT))
    except OSError:
        return 0
    lines = [*targets(), *scripts(names), *commands(names)]
    if lines:
        sys.stdout.write("\n".join(["## How tests are run here", *lines[:MOST_LINES]]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
