"""`ways agent …` and `ways judge-setup` as a person uses them, at a real terminal where it matters."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
import yaml

from tests.e2e.judge_home import Home, home, wait_for
from tests.e2e.provider_server import KEY
from ways.agent import keycheck
from ways.cli.main import main
from ways.telemetry import log

OTHER = "sk-other-0123456789abcdefghijklmnop-NEXT"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Home]:
    """A user with settings, and no key yet."""
    with home(tmp_path) as user:
        key_file(user).unlink()
        yield user


def key_file(user: Home, provider: str = "anthropic") -> Path:
    return Path(user.roots.config, "keys", provider)


def ways(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """One command, without a terminal. In this process: a new one costs most of a second."""
    output, errors, former = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = main(list(arguments))
    finally:
        sys.stdin = former
    return subprocess.CompletedProcess(arguments, code, output.getvalue(), errors.getvalue())


def test_a_key_from_standard_input_is_checked_and_stored_for_the_user_alone(user: Home) -> None:
    done = ways("agent", "key", "add", "--stdin", stdin=f"  {KEY}\n")
    assert (done.returncode, done.stdout) == (0, "anthropic: valid for claude-haiku-4-5\n")
    assert key_file(user).read_text() == KEY + "\n"
    assert key_file(user).stat().st_mode & 0o777 == 0o600
    assert key_file(user).parent.stat().st_mode & 0o777 == 0o700
    assert [seen.path for seen in user.server.seen] == ["/v1/models/claude-haiku-4-5"]
    # The agent takes the check for its own.
    assert user.judge().blocked == {"code/beta"}
    assert len(user.server.gets) == 1


def test_a_key_from_a_file(user: Home) -> None:
    source = user.folder / "key.txt"
    source.write_text(KEY)
    assert ways("agent", "key", "add", "openrouter", "--file", str(source)).returncode == 0
    assert key_file(user, "openrouter").read_text() == KEY + "\n"


def test_a_key_typed_at_a_terminal_is_not_shown(user: Home) -> None:
    child = pexpect.spawn(sys.executable, ["-m", "ways", "agent", "key", "add"], encoding="utf-8", timeout=30)
    child.expect("Key for anthropic")
    child.waitnoecho()
    child.sendline(KEY)
    child.expect("valid for claude-haiku-4-5")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert KEY not in str(child.before) + str(child.after)
    assert key_file(user).read_text() == KEY + "\n"


def test_without_a_terminal_nothing_is_asked(user: Home) -> None:
    done = ways("agent", "key", "add")
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    assert not key_file(user).exists()


@pytest.mark.parametrize(
    "text", ["", "short", "two words here", "sk-\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", "k" * 5000]
)
def test_what_is_not_a_key_is_refused_without_repeating_it(user: Home, text: str) -> None:
    done = ways("agent", "key", "add", "--stdin", stdin=text)
    assert done.returncode == 2
    assert "this is not a key" in done.stderr
    assert not text or text not in done.stderr + done.stdout
    assert not key_file(user).exists()
    assert user.server.seen == []


def test_an_invalid_key_is_not_stored(user: Home) -> None:
    user.server.check = 401
    done = ways("agent", "key", "add", "--stdin", stdin=KEY)
    assert done.returncode == 6
    assert "says that the key is invalid (HTTP 401); nothing was stored" in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert not key_file(user).exists()


@pytest.mark.parametrize(
    "status, state",
    [(402, "no_credit"), (404, "model_unavailable"), (429, "rate_limited"), (503, "unreachable")],
)
def test_a_key_that_could_not_be_found_valid_is_stored_and_not_used(
    user: Home, status: int, state: str
) -> None:
    user.server.check = status
    done = ways("agent", "key", "add", "--stdin", stdin=KEY)
    assert done.returncode == 0
    assert done.stdout == f"anthropic: {state} for claude-haiku-4-5 (HTTP {status})\n"
    assert "not used before a check finds it valid" in done.stderr
    user.judge()
    assert user.reasons() == [f"key_unverified: {state}"]
    user.server.check = 200
    assert ways("agent", "key", "check").returncode == 0
    assert user.judge().blocked == {"code/beta"}


def test_a_second_key_is_rotated_in_not_added(user: Home) -> None:
    ways("agent", "key", "add", "--stdin", stdin=KEY)
    refused = ways("agent", "key", "add", "--stdin", stdin=OTHER)
    assert refused.returncode == 3
    assert "ways agent key rotate anthropic" in refused.stderr
    assert key_file(user).read_text() == KEY + "\n"

    user.server.check = 401
    failed = ways("agent", "key", "rotate", "--stdin", stdin=OTHER)
    assert failed.returncode == 6
    assert "the former key is kept" in failed.stderr
    assert key_file(user).read_text() == KEY + "\n"

    user.server.check = 200
    assert ways("agent", "key", "rotate", "--stdin", stdin=OTHER).returncode == 0
    assert key_file(user).read_text() == OTHER + "\n"
    user.judge()
    assert user.server.posts[-1].headers["x-api-key"] == OTHER


def test_check_says_what_is_wrong(user: Home) -> None:
    none = ways("agent", "key", "check")
    assert none.returncode == 1
    assert "there is no key for anthropic  Next: ways agent key add anthropic" in none.stderr
    user.store_key(mode=0o644)
    loose = ways("agent", "key", "check")
    assert loose.returncode == 3
    assert "has mode 0644 and needs 0600" in loose.stderr
    user.store_key()
    user.server.check = 401
    done = ways("agent", "key", "check", "--json")
    assert done.returncode == 6
    assert json.loads(done.stdout)["state"] == "invalid"


def test_remove_leaves_nothing_behind(user: Home) -> None:
    ways("agent", "key", "add", "--stdin", stdin=KEY)
    assert Path(keycheck.record_file(user.roots, "anthropic")).exists()
    assert ways("agent", "key", "remove").returncode == 0
    assert not key_file(user).parent.exists()
    assert not Path(keycheck.record_file(user.roots, "anthropic")).exists()
    assert user.judge().events == ()
    again = ways("agent", "key", "remove")
    assert again.returncode == 1
    assert "there is no key for anthropic" in again.stderr


def test_status_shows_at_most_the_last_four_characters(user: Home) -> None:
    assert "No key is stored" in ways("agent", "key", "status").stdout
    ways("agent", "key", "add", "--stdin", stdin=KEY)
    user.store_key("openrouter", "short-key-12", mode=0o640)
    done = ways("agent", "key", "status")
    first, second = done.stdout.splitlines()
    assert first.startswith("anthropic  …LAST  valid, checked ")
    assert second.startswith("openrouter    ")
    assert "has mode 0640 and needs 0600" in second
    for text in (
        done.stdout,
        ways("agent", "key", "status", "--json").stdout,
        ways("agent", "status").stdout,
    ):
        assert KEY[:-4] not in text
        assert "short-key" not in text
    user.store_key("openrouter", "short-key-12")
    assert "openrouter  …  unchecked" in ways("agent", "key", "status").stdout


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_key_is_refused_where_the_modes_cannot_be_set(user: Home, what: str) -> None:
    """A file system without modes (a mounted Windows disk) takes chmod and keeps 0777. None can be
    mounted here, so the child's chmod does nothing, and its umask leaves everything open."""
    code = (
        "import os, sys\n"
        "os.umask(0)\n"
        f"keep = {'os.chmod' if what == 'folder' else 'os.fchmod'}\n"
        "nothing = lambda *_, **__: None\n"
        f"os.{'chmod' if what == 'folder' else 'fchmod'} = nothing\n"
        "make = os.open\n"
        "wide = lambda flags, mode: 0o666 if flags & os.O_CREAT else mode\n"
        "os.open = lambda path, flags, mode=0o777, **more: make(path, flags, wide(flags, mode), **more)\n"
        "from ways.entry import main\n"
        "sys.exit(main(['agent', 'key', 'add', '--stdin']))\n"
    )
    if what == "folder":
        key_file(user).parent.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", code], input=KEY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "a key is stored only where nobody else can read it" in done.stderr
    assert not key_file(user).exists()
    assert list(key_file(user).parent.iterdir()) == []


def test_a_keys_folder_that_is_a_link_is_refused(user: Home) -> None:
    key_file(user).parent.rmdir()
    elsewhere = user.folder / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    key_file(user).parent.symlink_to(elsewhere)
    done = ways("agent", "key", "add", "--stdin", stdin=KEY)
    assert done.returncode == 3
    assert "is a symbolic link" in done.stderr
    assert list(elsewhere.iterdir()) == []
    assert elsewhere.stat().st_mode & 0o777 == 0o755


def test_agent_status_before_and_after(user: Home) -> None:
    before = ways("agent", "status")
    assert before.returncode == 0
    assert "nothing is sent and no way is judged" in before.stdout
    assert "not running" in before.stdout
    ways("agent", "key", "add", "--stdin", stdin=KEY)
    user.judge()
    user.server.behaviour = 529
    user.judge()
    data = json.loads(ways("agent", "status", "--json").stdout)
    assert data["key"]["state"] == "valid"
    agent = data["agent"]
    assert agent["pid"] == user.pid()
    assert (agent["requests"], agent["verdicts"], agent["queue"]) == (2, 1, 0)
    assert agent["fallbacks"] == {"provider_529": 1}
    assert set(agent["latency_ms"]) == {"p50", "p90", "p99"}
    assert data["last_day"] == {"verdicts": {"pass": 1, "block": 1}, "fallbacks": {"provider_529": 1}}
    text = ways("agent", "status").stdout
    assert "provider_529 1" in text
    assert "block 1, pass 1" in text


def test_load_and_unload(user: Home) -> None:
    pid = json.loads(ways("agent", "load", "--json").stdout)["pid"]
    assert pid == user.pid()
    assert json.loads(ways("agent", "load", "--json").stdout)["pid"] == pid
    assert json.loads(ways("agent", "unload", "--json").stdout) == {"stopped": True}
    assert user.pid() == 0
    assert ways("agent", "unload").stdout == "No agent is running.\n"
    # Quiet success.
    assert ways("agent", "load").stdout == ""


def test_models_lists_what_the_provider_offers(user: Home) -> None:
    user.store_key()
    user.store_key("openrouter")
    assert json.loads(ways("agent", "models", "--json").stdout) == [
        {"id": "model-1", "name": "Model 1", "price_input": None, "price_output": None}
    ]
    user.configure("openrouter")
    (row,) = json.loads(ways("agent", "models", "openrouter", "--json").stdout)
    assert (row["id"], row["price_input"], row["price_output"]) == ("author/model", 1.0, 5.0)
    assert "author/model" in ways("agent", "models").stdout
    user.server.check = 500
    failed = ways("agent", "models")
    assert failed.returncode == 6
    assert "answered HTTP 500" in failed.stderr


def test_serve_is_the_agent(user: Home) -> None:
    process = subprocess.Popen([sys.executable, "-m", "ways", "agent", "serve", "--idle-seconds", "30"])
    wait_for(lambda: user.pid() == process.pid)
    assert ways("agent", "unload").returncode == 0
    assert process.wait(20) == 0


def calls(user: Home) -> None:
    """Five calls on three days, in two sessions and projects, one of unknown cost; and other lines."""
    rows = [
        ("2026-10-31T23:59:59.000Z", "s1", "/p/one", "0.001"),
        ("2026-11-01T00:00:00.000Z", "s1", "/p/one", "0.002"),
        ("2026-11-01T12:00:00.000Z", "s2", "/p/two", None),
        ("2026-11-02T12:00:00.000Z", "s2", "/p/two", "0.004"),
        ("2026-11-02T13:00:00.000Z", "s2", "/p/two", "0"),
    ]
    for moment, session, project, cost in rows:
        event = log.event(
            "judge_call",
            session=session,
            project=project,
            cost_usd=cost,
            cost_source="price" if cost else "unknown",
            outcome="ok" if cost != "0" else "failed",
            input_tokens=100,
            output_tokens=10,
        )
        log.append(user.roots.events, [{**event, "ts": moment}])
    with open(user.roots.events, "ab") as file:
        file.write(
            b'{"event": "judge_call", "ts": 7}\nnot json\n{"event":"way_fired","ts":"2026-11-02"}\n{"torn'
        )


@pytest.mark.parametrize(
    "arguments, groups, dollars, unknown",
    [
        ([], ["2026-10-31", "2026-11-01", "2026-11-02"], 0.007, 1),
        (["--by", "month"], ["2026-10", "2026-11"], 0.007, 1),
        (["--by", "session"], ["s1", "s2"], 0.007, 1),
        (["--by", "project"], ["/p/one", "/p/two"], 0.007, 1),
        (["--since", "2026-11-01"], ["2026-11-01", "2026-11-02"], 0.006, 1),
        (["--since", "2026-11-02T12:30"], ["2026-11-02"], 0.0, 0),
        (["--project", "/p/one"], ["2026-10-31", "2026-11-01"], 0.003, 0),
        (["--project", "/p/none"], [], 0.0, 0),
    ],
)
def test_cost(user: Home, arguments: list[str], groups: list[str], dollars: float, unknown: int) -> None:
    calls(user)
    data = json.loads(ways("agent", "cost", "--json", *arguments).stdout)
    rows = [row["group"] for row in data["rows"] if row["group"][:2] not in {"7", "(n"}]
    assert rows == groups
    assert data["total"]["cost_usd"] == pytest.approx(dollars)
    assert data["total"]["unknown_cost"] == unknown + sum(
        row["group"][:2] in {"7", "(n"} for row in data["rows"]
    )


def test_cost_as_a_table(user: Home) -> None:
    assert ways("agent", "cost").stdout == "No call of the judge is on record.\n"
    calls(user)
    text = ways("agent", "cost", "--since", "2026-11-01").stdout
    assert "2026-11-01" in text
    assert "total" in text
    assert "0.0060" in text
    wrong = ways("agent", "cost", "--since", "yesterday")
    assert wrong.returncode == 2
    assert "'yesterday' is not a time" in wrong.stderr


def test_judge_setup_by_flags(user: Home) -> None:
    path = Path(user.roots.config, "agent.yaml")
    path.write_text(
        "# my judge\ngate:\n  profiles:\n"
        f"    openrouter: {{base_url: '{user.server.url}'}}  # here\n  concurrency: 2\nother: 'kept'\n"
    )
    path.chmod(0o640)
    done = ways("judge-setup", "--engine", "openrouter", "--mode", "shadow", "--stdin", stdin=KEY)
    assert (done.returncode, done.stderr) == (0, "")
    text = path.read_text()
    assert text.startswith("# my judge\ngate:\n")
    assert "# here" in text
    assert "other: 'kept'" in text
    gate = yaml.safe_load(text)["gate"]
    assert (gate["engine"], gate["mode"], gate["concurrency"]) == ("openrouter", "shadow", 2)
    assert path.stat().st_mode & 0o777 == 0o640
    assert key_file(user, "openrouter").read_text() == KEY + "\n"
    # Again, keeping the key: nothing changes.
    before = path.stat()
    assert ways("judge-setup", "--engine", "openrouter", "--mode", "shadow", "--yes").returncode == 0
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_judge_setup_at_a_terminal_explains_before_it_asks_for_the_key(user: Home) -> None:
    child = pexpect.spawn(sys.executable, ["-m", "ways", "judge-setup"], encoding="utf-8", timeout=30)
    child.expect("Judge")
    child.sendline("")
    child.expect("What leaves this machine")
    child.expect("Mode")
    child.sendline("shadow")
    child.expect("Key for anthropic")
    child.waitnoecho()
    child.sendline(KEY)
    child.expect("anthropic: valid")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    gate = yaml.safe_load(Path(user.roots.config, "agent.yaml").read_text())["gate"]
    assert gate["mode"] == "shadow"


def test_interrupting_judge_setup_changes_nothing(user: Home) -> None:
    path = Path(user.roots.config, "agent.yaml")
    before = path.read_bytes()
    child = pexpect.spawn(sys.executable, ["-m", "ways", "judge-setup"], encoding="utf-8", timeout=30)
    for question, answer in (("Judge", ""), ("Mode", "shadow")):
        child.expect(question)
        child.sendline(answer)
    child.expect("Key for anthropic")
    child.waitnoecho()
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert path.read_bytes() == before
    assert not key_file(user).exists()


def test_broken_settings_are_named_and_left_alone(user: Home) -> None:
    path = Path(user.roots.config, "agent.yaml")
    path.write_text("gate:\n  mode: nope\n")
    for arguments in (["agent", "status"], ["agent", "key", "status"], ["judge-setup", "--yes"]):
        done = ways(*arguments)
        assert done.returncode == 1
        assert "agent.yaml line 2: gate.mode: 'nope' is not one of enforce, shadow, off" in done.stderr
        assert done.stderr.count("\n") == 1
    assert path.read_text() == "gate:\n  mode: nope\n"


def test_a_command_does_not_start_an_agent_to_ask_for_its_status(user: Home) -> None:
    os.mkdir(user.socket)
    done = ways("agent", "status")
    assert done.returncode == 1
    assert "agent_untrusted" in done.stderr
    assert os.path.isdir(user.socket)
    os.rmdir(user.socket)
    assert "not running" in ways("agent", "status").stdout
