"""What the macros say about a project: tests, CI, versions, containers, notebooks, secret files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.payload import shipped
from tests.unit.payload.runs import git, needs_git, run_macro

TESTING = shipped.WAYS / "softwaredev/code/testing/macro.py"
CI = shipped.WAYS / "softwaredev/delivery/ci/macro.py"
RELEASE = shipped.WAYS / "softwaredev/delivery/release/macro.py"
CONTAINERS = shipped.WAYS / "softwaredev/environment/containers/macro.py"
NOTEBOOKS = shipped.WAYS / "data/notebooks/macro.py"
SECRETS = shipped.WAYS / "softwaredev/code/security/secrets/macro.py"


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_how_tests_are_run(project: Path, tmp_path: Path) -> None:
    write(
        project, "package.json", json.dumps({"scripts": {"test": "vitest", "test:e2e": "pw", "build": "x"}})
    )
    write(project, "pnpm-lock.yaml", "")
    write(project, "pyproject.toml", "[tool.pytest.ini_options]\n")
    write(project, "Makefile", "all: a\ntest-unit: all\n\tpytest\ncheck:\n\tx\ntest := 3\nlatest:\n")
    write(project, "pom.xml", "<project/>")
    write(project, "mvnw", "")
    assert run_macro(TESTING, project, tmp_path).splitlines() == [
        "## How tests are run here",
        "- `make test-unit` (`Makefile`)",
        "- `make check` (`Makefile`)",
        "- `pnpm test`, which is `vitest`",
        "- `pnpm run test:e2e`, which is `pw`",
        "- `pytest` (`pyproject.toml`)",
        "- `./mvnw test` (`mvnw`)",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'),
        ("package.json", '{"scripts": ["test"]}'),
        ("package.json", "{"),
        ("pyproject.toml", "[project]\n"),
        ("Makefile", "latest: x\n"),
        ("CMakeLists.txt", "project(x)\n"),
    ],
)
def test_a_project_without_tests_has_no_command(project: Path, tmp_path: Path, name: str, text: str) -> None:
    write(project, name, text)
    assert run_macro(TESTING, project, tmp_path) == ""


def test_the_ci_macro_counts_pins_and_missing_permissions(project: Path, tmp_path: Path) -> None:
    sha = "0123456789" * 4
    write(
        project,
        ".github/workflows/ci.yml",
        f"permissions:\n  contents: read\njobs:\n  a:\n    steps:\n      - uses: actions/checkout@{sha}\n"
        "      - uses: actions/setup-python@v5\n      - uses: ./local\n",
    )
    write(project, ".github/workflows/nightly.yaml", "jobs: {}\n")
    write(project, ".gitlab-ci.yml", "test:\n")
    assert run_macro(CI, project, tmp_path).splitlines() == [
        "## CI in this project",
        "- `.github/workflows/`: `ci.yml`, `nightly.yaml`",
        "- Actions pinned to a commit: 1 of 2",
        "- Without `permissions:`: `nightly.yaml`",
        "- `.gitlab-ci.yml`",
    ]


@needs_git
def test_the_release_macro_shows_tags_changes_and_versions(repository: Path, tmp_path: Path) -> None:
    assert run_macro(RELEASE, repository, tmp_path) == ""
    git(repository, "tag", "v1.2.0")
    for number in range(8):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"Change {number}")
    write(repository, "pyproject.toml", '[project]\nname = "x"\nversion = "1.2.0"\n')
    write(repository, "package.json", '{"version": 3}')
    lines = run_macro(RELEASE, repository, tmp_path).splitlines()
    assert lines[0] == "## Versions here"
    assert lines[1].startswith("- Last tags: `v1.2.0` (20")
    assert lines[2:5] == ["- Commits since: 8", "  - `Change 7`", "  - `Change 6`"]
    assert lines[8:] == ["  - `Change 2`", "- `pyproject.toml` says `1.2.0`"]


def test_the_container_macro_reads_services_and_base_images(project: Path, tmp_path: Path) -> None:
    write(
        project,
        "compose.yaml",
        "name: shop\nservices:\n  web:   # front\n    build: .\n    environment:\n      image: no\n"
        "  db:\n    image: 'postgres:17'  # pinned\nvolumes:\n  data:\n",
    )
    write(
        project,
        "Dockerfile",
        "FROM --platform=linux/amd64 python:3.12 AS build\nRUN x\nFROM build\nFROM alpine\n",
    )
    assert run_macro(CONTAINERS, project, tmp_path).splitlines() == [
        "## Containers in this project",
        "- `compose.yaml`: `web`, `db` (`postgres:17`)",
        "- `Dockerfile` builds on `python:3.12`, `alpine`",
        "- There is no `.dockerignore`.",
    ]
    write(project, ".dockerignore", ".git\n")
    assert "dockerignore" not in run_macro(CONTAINERS, project, tmp_path)


def notebook(*cells: tuple[int | None, list[object]]) -> str:
    code = [
        {"cell_type": "code", "execution_count": count, "outputs": outputs, "source": [], "metadata": {}}
        for count, outputs in cells
    ]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": []}, *code], "nbformat": 4})


@needs_git
def test_the_notebook_macro_names_outputs_and_disorder(repository: Path, tmp_path: Path) -> None:
    write(repository, "clean.ipynb", notebook((None, []), (None, [])))
    write(repository, "a/full.ipynb", notebook((1, [{"output_type": "stream"}]), (2, [])))
    write(repository, "mixed.ipynb", notebook((4, []), (2, [])))
    write(repository, "broken.ipynb", "{")
    write(repository, "list.ipynb", "[]")
    git(repository, "add", ".")
    write(repository, "loose.ipynb", notebook((1, [{"output_type": "stream"}])))
    assert run_macro(NOTEBOOKS, repository, tmp_path).splitlines() == [
        "## Notebooks in this project",
        "- With outputs, under git: `a/full.ipynb`",
        "- Last run out of order: `mixed.ipynb`",
    ]


@needs_git
def test_the_secret_macro_names_files_and_no_values(repository: Path, tmp_path: Path) -> None:
    pem = "-----BEGIN {} KEY-----\nMIIsecretvalue\n"
    write(repository, ".env", "TOKEN=secretvalue\n")
    write(repository, "api/.env.example", "TOKEN=\n")
    write(repository, "certs/public.pem", pem.format("PUBLIC"))
    write(repository, "tests/fixtures/server.key", pem.format("PRIVATE"))
    git(repository, "add", "-f", ".")
    write(repository, "deploy.pem", pem.format("RSA PRIVATE"))
    write(repository, "web/.env.local", "TOKEN=secretvalue\n")
    write(repository, "ignored/.env", "TOKEN=secretvalue\n")
    write(repository, ".gitignore", "ignored/\n")
    text = run_macro(SECRETS, repository, tmp_path)
    assert text.splitlines() == [
        "## Secret files in this project",
        "- Under git: `.env`. Real values in them count as leaked.",
        "- Not ignored, so `git add .` would take them: `deploy.pem`, `web/.env.local`",
    ]


@needs_git
@pytest.mark.skipif(os.name == "nt", reason="the hook below is a shell script")
def test_no_macro_runs_a_program_that_the_repository_names(repository: Path, tmp_path: Path) -> None:
    witness = tmp_path / "was-run"
    hook = tmp_path / "monitor.sh"
    hook.write_text(f"#!/bin/sh\ntouch '{witness}'\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(hook))
    for macro in shipped.scripts("macro.py"):
        run_macro(macro, repository, tmp_path)
    assert not witness.exists()
    subprocess.run(["git", "-C", str(repository), "status"], check=True, capture_output=True)
    assert witness.exists(), "the repository's setting does reach git"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_a_manifest_that_is_a_pipe_is_not_waited_for(project: Path, tmp_path: Path) -> None:
    for name in ("package.json", "pyproject.toml", "Makefile", "compose.yaml", "Dockerfile"):
        os.mkfifo(project / name)
    for macro in (TESTING, RELEASE, CONTAINERS):
        assert "pyproject" not in run_macro(macro, project, tmp_path)


@needs_git
def test_a_broken_repository_gets_silence(repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "HEAD").write_text("nonsense")
    for macro in (RELEASE, NOTEBOOKS, SECRETS):
        assert run_macro(macro, repository, tmp_path) == ""
