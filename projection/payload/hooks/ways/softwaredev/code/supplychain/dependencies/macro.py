"""Names the package managers whose manifest or lockfile lies in the project's top folder."""

import os
import sys

LOCKFILES = {
    "package-lock.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "Pipfile.lock": "pipenv",
    "pdm.lock": "pdm",
    "Cargo.lock": "cargo",
    "go.sum": "go",
    "Gemfile.lock": "bundler",
    "composer.lock": "composer",
}
MANIFESTS = ("package.json", "pyproject.toml", "requirements.txt", "Cargo.toml", "go.mod", "Gemfile", "composer.json")


def report(names: set) -> list:
    """Lines about this project's package managers; none when there is nothing to say."""
    locks = [name for name in LOCKFILES if name in names]
    lines = [f"- {LOCKFILES[name]}: `{name}`" for name in locks]
    if not locks:
        lines += [f"- `{name}` without a lockfile" for name in MANIFESTS if name in names]
    managers = {LOCKFILES[name] for name in locks}
    doubled = sorted(managers & {"npm", "pnpm", "yarn", "bun"})
    if len(doubled) > 1:
        lines.append(f"- More than one JavaScript lockfile ({', '.join(doubled)}): ask which one is used.")
    return lines


def main() -> int:
    try:
        names = set(os.listdir(os.environ.get("WAYS_PROJECT_DIR") or "."))
    except OSError:
        return 0
    lines = report(names)
    if lines:
        sys.stdout.write("\n".join(["## In this project", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
