"""The postchecks that look at a repository or at what a tool printed: when they ask, and when they do not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.payload import shipped
from tests.unit.payload.runs import bash, git, needs_git, postcheck

MIGRATIONS = "data/migrations"
DEPENDENCIES = "softwaredev/code/supplychain/dependencies"
SECRETS = "softwaredev/code/security/secrets"
HISTORY = "softwaredev/delivery/history"
TERRAFORM = "itops/terraform"
ASKS, SILENT = 0, 1
BROKEN: list[object] = [
    b"",
    b"{",
    b"[]",
    b"\xff",
    {},
    {"tool_input": 3, "tool_name": "Edit"},
    {"tool_input": {"command": None, "file_path": 4}, "tool_name": "Edit"},
    {"tool_input": {"command": "git commit; git push; terraform plan"}, "tool_response": ["x"], "cwd": 3},
    {"tool_input": {"command": "git commit; git push; terraform plan"}, "tool_response": None, "error": {}},
]


@pytest.mark.parametrize("way", [path.parent for path in shipped.scripts("postcheck.py")], ids=shipped.way_id)
def test_every_postcheck_takes_any_payload(way: Path) -> None:
    for payload in BROKEN:
        assert postcheck(str(way), payload) == SILENT


@pytest.mark.parametrize("path", shipped.scripts("postcheck.py"), ids=shipped.way_id)
def test_every_postcheck_says_for_which_calls_it_is_worth_starting(path: Path) -> None:
    (way,) = [one for one in shipped.ways() if one.id == shipped.way_id(path)]
    assert way.postcheck_on.startswith("^(")


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def edit(path: Path, tool: str = "Edit") -> dict[str, Any]:
    return {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": {"file_path": str(path)}}


@needs_git
def test_a_migration_that_main_has_is_not_edited(repository: Path) -> None:
    path = write(repository, "app/migrations/0007_price.py", "a = 1\n")
    assert postcheck(MIGRATIONS, edit(path, "Write")) == SILENT, "it is new"
    git(repository, "switch", "-q", "-c", "topic")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "A migration")
    write(repository, "app/migrations/0007_price.py", "a = 2\n")
    assert postcheck(MIGRATIONS, edit(path)) == SILENT, "only the topic has it"
    git(repository, "commit", "-q", "-a", "-m", "Better")
    git(repository, "branch", "-f", "main")
    assert postcheck(MIGRATIONS, edit(path)) == SILENT, "nothing differs from main"
    write(repository, "app/migrations/0007_price.py", "a = 3\n")
    assert postcheck(MIGRATIONS, edit(path)) == ASKS
    assert postcheck(MIGRATIONS, edit(path, "Read")) == SILENT
    assert postcheck(MIGRATIONS, edit(Path("app/migrations/0007_price.py"))) == SILENT, "of which folder?"


@needs_git
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("db/migrate/20260102030405_add.rb", ASKS),
        ("prisma/migrations/20260102_init/migration.sql", ASKS),
        ("alembic/versions/1a2b3c4d5e6f_add.py", ASKS),
        ("db/migrations/V3__add.sql", ASKS),
        ("app/migrations/__init__.py", SILENT),
        ("app/migrations/helpers.py", SILENT),
        ("docs/migrations/2026.md", SILENT),
    ],
)
def test_which_files_are_migrations(repository: Path, name: str, wanted: int) -> None:
    path = write(repository, name, "one\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "x")
    path.write_text("two\n", "utf-8")
    assert postcheck(MIGRATIONS, edit(path)) == wanted


def commit(folder: Path, command: str = "git add -A && git commit -m x") -> dict[str, Any]:
    """Commit everything, and the payload of that call with what git has printed."""
    git(folder, "add", "-A")
    done = subprocess.run(
        [
            "git",
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "-C",
            str(folder),
            "commit",
            "-m",
            "x",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
    )
    return bash(command, done.stdout, cwd=str(folder))


def manifest(**fields: object) -> str:
    return json.dumps({"name": "shop", **fields})


@needs_git
def test_dependencies_without_their_lockfile(repository: Path) -> None:
    write(repository, "web/package.json", manifest(dependencies={"a": "1"}))
    assert postcheck(DEPENDENCIES, commit(repository)) == SILENT, "there is no lockfile"
    write(repository, "web/package-lock.json", "{}")
    assert postcheck(DEPENDENCIES, commit(repository)) == SILENT
    write(repository, "web/package.json", manifest(dependencies={"a": "1"}, scripts={"test": "x"}))
    assert postcheck(DEPENDENCIES, commit(repository)) == SILENT, "a script is no dependency"
    write(repository, "web/package.json", manifest(dependencies={"a": "2"}))
    payload = commit(repository)
    assert postcheck(DEPENDENCIES, payload) == ASKS
    assert postcheck(DEPENDENCIES, {**payload, "tool_input": {"command": "git log"}}) == SILENT
    assert postcheck(DEPENDENCIES, {**payload, "cwd": str(repository / "web")}) == ASKS
    write(repository, "web/package.json", manifest(dependencies={"a": "3"}))
    write(repository, "web/package-lock.json", '{"a": 3}')
    assert postcheck(DEPENDENCIES, commit(repository)) == SILENT, "the lockfile came along"
    write(repository, "web/package.json", "{")
    assert postcheck(DEPENDENCIES, commit(repository)) == SILENT


@needs_git
@pytest.mark.parametrize(
    ("name", "lockfile", "before", "after", "wanted"),
    [
        (
            "pyproject.toml",
            "uv.lock",
            "[project]\ndependencies = ['a']",
            "[project]\ndependencies = ['b']",
            ASKS,
        ),
        (
            "pyproject.toml",
            "uv.lock",
            "[tool.ruff]\nline-length = 80",
            "[tool.ruff]\nline-length = 90",
            SILENT,
        ),
        ("Cargo.toml", "Cargo.lock", "[dependencies]\na = '1'", "[dependencies]\na = '1'\nb = '2'", ASKS),
        ("Cargo.toml", "Cargo.lock", "[package]\nname = 'a'", "[package]\nname = 'b'", SILENT),
    ],
)
def test_other_managers(
    repository: Path, name: str, lockfile: str, before: str, after: str, wanted: int
) -> None:
    write(repository, name, f"{before}\n")
    write(repository, lockfile, "")
    commit(repository)
    write(repository, name, f"{after}\n")
    assert postcheck(DEPENDENCIES, commit(repository)) == wanted


@needs_git
@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (".env", "API_TOKEN=sk1234567890\n", ASKS),
        ("web/.env.local", 'export DB_PASSWORD="hunter2hunter2"\n', ASKS),
        (".env", "API_TOKEN=\nDB_PASSWORD=${PASSWORD}\nPORT=8080\nSECRET=<yours>\n", SILENT),
        (".env", "API_KEY=your-key-here\n", SILENT),
        (".env.example", "API_TOKEN=sk1234567890\n", SILENT),
        ("deploy.pem", "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", ASKS),
        ("id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", ASKS),
        ("ca.pem", "-----BEGIN CERTIFICATE-----\nx\n", SILENT),
        ("tests/server.key", "-----BEGIN PRIVATE KEY-----\nx\n", SILENT),
        ("src/token.py", "API_TOKEN=sk1234567890\n", SILENT),
    ],
)
def test_a_committed_secret(repository: Path, name: str, text: str, wanted: int) -> None:
    write(repository, name, text)
    assert postcheck(SECRETS, commit(repository)) == wanted


@needs_git
def test_removing_a_secret_asks_for_nothing(repository: Path) -> None:
    path = write(repository, ".env", "API_TOKEN=sk1234567890\n")
    commit(repository)
    path.unlink()
    assert postcheck(SECRETS, commit(repository)) == SILENT


@needs_git
def test_a_push_that_git_really_refuses(repository: Path, tmp_path: Path) -> None:
    remote, other = tmp_path / "remote.git", tmp_path / "other"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    git(repository, "push", "-q", str(remote), "main")
    git(tmp_path, "clone", "-q", str(remote), str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "Theirs")
    git(other, "push", "-q", str(remote), "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Ours")
    done = subprocess.run(
        ["git", "-C", str(repository), "push", str(remote), "main"],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    assert done.returncode != 0
    payload = {
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "git push origin main"},
        "error": f"Exit code 1\n{done.stderr}",
    }
    assert postcheck(HISTORY, payload) == ASKS
    assert postcheck(HISTORY, {**payload, "tool_input": {"command": "cat push.log"}}) == SILENT
    assert postcheck(HISTORY, {**payload, "error": "Exit code 128\nfatal: no such remote"}) == SILENT
    assert postcheck(HISTORY, bash("git push", "   1a2b3c4..5d6e7f8  main -> main")) == SILENT


@pytest.mark.parametrize(
    ("command", "output", "wanted"),
    [
        ("terraform plan -out=p", "Plan: 1 to add, 0 to change, 2 to destroy.", ASKS),
        ("cd live && TF_LOG= tofu plan", "\x1b[1mPlan:\x1b[0m 1 to add, 0 to change, 1 to destroy.", ASKS),
        ("terraform plan", "  # aws_db_instance.main must be replaced", ASKS),
        ("terraform plan", "Plan: 3 to add, 1 to change, 0 to destroy.", SILENT),
        ("terraform plan", "No changes. Your infrastructure matches the configuration.", SILENT),
        ("cat plan.txt", "Plan: 1 to add, 0 to change, 2 to destroy.", SILENT),
        ("terraform validate", "Plan: 1 to add, 0 to change, 2 to destroy.", SILENT),
    ],
)
def test_a_plan_that_destroys(command: str, output: str, wanted: int) -> None:
    assert postcheck(TERRAFORM, bash(command, output)) == wanted
