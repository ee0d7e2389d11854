"""The life of the frozen program, as somebody without Python lives it: two real builds, served on loopback,
installed by install.sh, used through the merged settings.json, replaced, brought back, taken out again.

The builds come out of the build cache; what is not there is built first (some minutes).
`WAYS_FROZEN_ARCHIVE` names an archive to take for the older one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from installer import journal, tuf_client
from tests.e2e.session_home import Session as PlayedSession
from tests.e2e.stranger_home import FrozenReleases, Stranger, differences, fill, prompt_hook, tree
from tests.unit.installer.release_world import Releases, Server, packed
from tests.unit.installer.test_tuf_client import rewrite, role
from tests.unit.installer.test_update import mounted

pytestmark = [pytest.mark.frozen, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX archive")]

EDITED = (".bashrc", "dotfiles/claude/settings.json")
STATE, CONFIG = ".local/state/agent-ways", ".config/agent-ways"


class Session(PlayedSession):
    """A session in a stranger's home."""

    @property
    def directory(self) -> Path:
        return Path(self.home.roots.sessions) / self.id  # type: ignore[attr-defined]


@pytest.fixture
def home(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path / "A B&(c)' é")


def play(home: Stranger, project: Path) -> None:
    """One session from its start to a compaction, with what is to be shown at each event."""
    session = Session(home, project)  # type: ignore[arg-type]
    shown = [session.start(), session.prompt("please deploy this")]
    session.say("On it.", tokens=20_000)
    shown += [
        session.bash("make deploy"),
        session.bash("git commit -m wip"),
        session.edit(str(project / ".env")),
    ]
    shown += [session.task("deploy and commit"), session.subagent("a1")]
    shown.append(session.after("Bash", {"command": "make deploy"}))
    shown += [session.stop("I have deployed it."), session.start("compact"), session.prompt("deploy")]
    assert "# Ways" in shown[0] and "| team |" in shown[0], "a macro in Python ran"
    assert "DEPLOY-BODY" in shown[1] and "DEPLOY-BODY" not in shown[2]
    assert "Commits" in shown[3] and "Secrets" in shown[4]
    assert "DEPLOY-BODY" in shown[6] and "DEPLOY-BODY" in shown[10]
    assert len(home.log("way_fired")) >= 4
    shutil.rmtree(session.transcript.parent.parent)  # Claude Code's own


def test_the_whole_life(home: Stranger, frozen: FrozenReleases, server: Server) -> None:
    """Served, installed, activated, used, updated, gone back, uninstalled: the home is as it was before."""
    home.engine = True
    project = fill(home)
    before = tree(home.path)
    said = home.install("--base", server.base, "--version", frozen.old).stdout
    assert "init --yes --target" in said and home.version() == frozen.old
    assert differences(before, tree(home.path, [".local"]), [".bashrc"]).keys() == {".bashrc"}
    home.ways("init", "--yes", "--target", str(home.claude))
    play(home, project)

    assert f"Update {frozen.old} to {frozen.new}" in home.ways("update", "--check", code=1).stdout
    assert home.ways("update").stdout == f"ways is {frozen.new}.\n"
    assert home.version() == frozen.new
    play(home, project)
    assert home.ways("rollback").stdout == f"ways is {frozen.old}.\n"
    assert home.version() == frozen.old
    play(home, project)
    assert "Error" not in home.debug() and "could not" not in home.debug()
    assert (project / ".claude/ways/_template.md").is_file()

    plan = home.ways("uninstall").stdout
    assert "To do this: ways uninstall --yes" in plan and "_template.md" in plan
    done = home.ways("uninstall", "--yes")
    assert "gone from this machine" in done.stdout
    user_data = [STATE, CONFIG]
    left = differences(before, tree(home.path, user_data), EDITED)
    assert left.keys() == {".local", ".local/state", ".config"}, "the folders of what is kept for the user"
    assert os.listdir(home.runtime) == [], "nothing of the sessions is left"
    assert not [name for name in os.listdir(home.path / STATE) if name in {"receipt.json", "withdraw.sh"}]


def test_purged_nothing_at_all_is_left(home: Stranger, frozen: FrozenReleases, server: Server) -> None:
    """Also with the newer one installed over the older, and without any PATH edit in between."""
    project = fill(home)
    before = tree(home.path)
    home.install("--base", server.base, "--version", frozen.old, "--no-path")
    assert differences(before, tree(home.path, [".local"])).keys() == set(), "no start file is touched"
    home.install("--base", server.base, "--activate", str(home.claude), code=1)  # it lacks the engine here
    assert home.version() == frozen.new
    refused = home.install("--base", server.base, "--version", frozen.old, code=3)
    assert "--allow-downgrade" in refused.stderr and home.version() == frozen.new
    again = home.install("--base", server.base)
    assert "is there already" in again.stdout
    assert (home.path / ".bashrc").read_bytes().count(b"added by the ways installer") == 1
    play(home, project)
    home.ways("uninstall", "--yes", "--purge")
    assert differences(before, tree(home.path), EDITED) == {}
    assert os.listdir(home.runtime) == []


# Deaths


def killed_at(home: Stranger, step: str, *command: str) -> None:
    """Start a command and kill it with SIGKILL as soon as the journal names this step."""
    path = Path(journal.path(home.roots))
    child = subprocess.Popen(
        [home.program, *command],
        env=home.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while child.poll() is None and time.monotonic() < deadline:
        try:
            if json.loads(path.read_bytes())["step"] == step:
                break
        except (OSError, ValueError):
            pass
        time.sleep(0.0005)
    child.send_signal(signal.SIGKILL)
    assert child.wait() in {-signal.SIGKILL, 0}, "the step may have been too short to be met"


def test_case_u02_killed_in_its_steps_it_recovers(installed: Stranger, frozen: FrozenReleases) -> None:
    """Update, rollback and removal of the frozen program. (Every change of theirs, one by one, is tried with
    smaller programs in tests/unit/installer.)"""
    home, old, new = installed, frozen.old, frozen.new
    steps = [
        ("stage", ("update",), {old}),
        ("probe", ("update",), {old}),
        ("confirm", ("update",), {new}),
        ("confirm", ("rollback",), {old}),
        ("reconcile", ("update",), {new}),
        ("reconcile", ("rollback",), {old}),
        ("switch", ("update",), {old, new}),
    ]
    for step, command, ends in steps:
        killed_at(home, step, *command)
        assert home.version() in {old, new}, (step, command)
        assert "additionalContext" in prompt_hook(home, f"{step}-{command[0]}").stdout
        said = home.ways("target", "list").stderr
        assert home.version() in ends and home.leftovers() == [], (step, command, said)
        assert not Path(journal.path(home.roots)).exists()
        assert home.ways("target", "list").stderr == ""
        assert "additionalContext" in prompt_hook(home, f"{step}-{command[0]}-after").stdout
    for step in ("withdraw", "cache", "app"):
        killed_at(home, step, "uninstall", "--yes")
        if not home.program.exists():
            break
        assert home.version() in {old, new}
    if home.program.exists():
        # By its path: the link in ~/.local/bin is taken back before the program is deleted.
        subprocess.run([home.program, "uninstall", "--yes"], env=home.environment, check=True)
    elif home.app.exists():
        subprocess.run(["sh", Path(home.roots.state, "withdraw.sh")], env=home.environment, check=True)
    assert not home.app.exists()
    assert (home.claude / "settings.json").read_text() == '{"model": "opus"}\n'


def test_case_u03_a_dead_lock_and_a_recycled_number_block_nobody(
    installed: Stranger, frozen: FrozenReleases
) -> None:
    locks = Path(installed.roots.state, "locks")
    locks.mkdir(mode=0o700, exist_ok=True)
    record = {"pid": os.getpid(), "start": "another", "command": "ways update", "host": os.uname().nodename}
    (locks / "update.holder.json").write_text(json.dumps({**record, "since": "long ago"}))
    (locks / "update.lock").touch()
    assert installed.ways("update").stdout == f"ways is {frozen.new}.\n"


def test_case_u04_a_newest_version_that_crashes(
    installed: Stranger, frozen: FrozenReleases, tmp_path: Path
) -> None:
    """Before the switch it never becomes current; after it the script goes back without its help."""
    home, world = installed, Releases(tmp_path / "releases", tmp_path / "asked")
    trust(home, world)
    world.publish(
        world.build("7.0.0", broken="#!/bin/sh\nkill -SEGV $$\n"),
        world.build("8.0.0", first="case $0 in */.probe-*|*/.staging-*) ;; *) kill -SEGV $$ ;; esac"),
    )
    before = tree(home.app, [f"versions/{frozen.old}/.in-use.lock"])
    for version, said in (("7.0.0", "does not work here"), ("8.0.0", "is active again")):
        done = home.ways("update", "--version", version, "--from", str(world.repository), code=1)
        assert said in done.stderr and home.version() == frozen.old
    left = differences(before, tree(home.app, [f"versions/{frozen.old}/.in-use.lock", "versions/8.0.0"]))
    assert left == {}
    home.ways("update", "--version", frozen.new, code=6)
    trust(home, frozen.root)
    home.ways("update")
    program = home.app / "versions" / frozen.new / "bin" / "ways"
    program.unlink()
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    dead = prompt_hook(home)
    assert (dead.returncode, dead.stdout) == (0, ""), "a hook of it disturbs nobody"
    done = subprocess.run(
        ["sh", home.app / "rollback.sh"], env=home.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"ways is {frozen.old} again (it was {frozen.new}).\n")
    assert home.version() == frozen.old and "additionalContext" in prompt_hook(home, "after").stdout


def trust(home: Stranger, who: Releases | bytes) -> None:
    """Let the installed program carry the keys of this repository."""
    root = who if isinstance(who, bytes) else who.root
    (home.app / "current" / tuf_client.ROOT_NAME).write_bytes(root)
    shutil.rmtree(Path(home.roots.state, "tuf"), ignore_errors=True)


# Disks


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """A tmpfs at `tmp_path/disk`; called with other options it is mounted anew with those."""
    place = tmp_path / "disk"
    if os.geteuid() != 0 or not mounted(place, "size=700m"):
        pytest.skip("needs the right to mount a tmpfs")
    yield lambda options: void(
        subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True, capture_output=True)
    )
    subprocess.run(["umount", "-l", str(place)], check=False)


def void(_value: object) -> None:
    """Nothing, for a lambda."""


def used(place: Path) -> tuple[int, int]:
    """Bytes and names in use on a file system."""
    facts = os.statvfs(place)
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize, facts.f_files - facts.f_ffree


def test_case_u02_u05_a_full_disk_and_a_temporary_folder_that_runs_nothing(
    tmp_path: Path, small: Callable[[str], None], frozen: FrozenReleases, server: Server
) -> None:
    """Too little room by the list; too little although the list says enough; then enough, with no /tmp."""
    disk = tmp_path / "disk"
    home = Stranger(disk / "user" / "home")
    home.install("--base", server.base, "--version", frozen.old)
    home.claude.mkdir()
    home.ways("target", "add", str(home.claude))
    size, names = used(disk)
    small(f"size={size + (60 << 20)}")
    done = home.ways("update", code=5)
    assert "MB free, and this update needs" in done.stderr
    small(f"size=700m,nr_inodes={names + 60}")
    done = home.ways("update", code=5)
    assert "No space left" in done.stderr, done.stderr
    assert home.version() == frozen.old and home.leftovers() == []
    assert "additionalContext" in prompt_hook(home).stdout
    small("size=700m,nr_inodes=100000")
    assert mounted(tmp_path / "noexec", "size=4m,noexec")
    try:
        done = home.ways("update", TMPDIR=str(tmp_path / "noexec"))
        assert done.stdout == f"ways is {frozen.new}.\n"
    finally:
        subprocess.run(["umount", "-l", str(tmp_path / "noexec")], check=False)
    assert home.version() == frozen.new and "additionalContext" in prompt_hook(home, "after").stdout


# Hooks while it happens


def test_two_hundred_hooks_across_the_switches_all_succeed(
    installed: Stranger, frozen: FrozenReleases
) -> None:
    outcomes: list[subprocess.CompletedProcess[str]] = []
    stop = threading.Event()

    def hooks(who: str) -> None:
        count = 0
        while not stop.is_set() or len(outcomes) < 200:
            count += 1
            outcomes.append(prompt_hook(installed, f"{who}-{count}"))

    threads = [threading.Thread(target=hooks, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    try:
        installed.ways("update")
        installed.ways("rollback")
        installed.ways("update")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(outcomes) >= 200
    wrong = [
        (one.returncode, one.stdout[:200], one.stderr)
        for one in outcomes
        if one.returncode != 0 or one.stderr or "additionalContext" not in one.stdout
    ]
    assert wrong == []
    assert installed.version() == frozen.new


def test_a_version_stays_while_somebody_runs_it(installed: Stranger, frozen: FrozenReleases) -> None:
    """A program of a version that is neither current nor the one before: it goes when that has ended."""
    home = installed
    home.ways("update")
    third = "0.0.1"
    shutil.copytree(home.app / "versions" / frozen.old, home.app / "versions" / third)
    running = subprocess.Popen(
        [home.app / "versions" / third / "bin/ways", "mcp"],
        env=home.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert running.stdin is not None and running.stdout is not None
    hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    running.stdin.write(json.dumps(message).encode() + b"\n")
    running.stdin.flush()
    assert json.loads(running.stdout.readline())["result"]["serverInfo"]["name"] == "ways"
    done = home.ways("rollback")
    assert f"version {third} stays as long as a process runs from it" in done.stdout
    assert running.poll() is None
    running.stdin.close()
    assert running.wait(60) == 0
    home.ways("rollback")
    assert sorted(os.listdir(home.app / "versions")) == [frozen.old, frozen.new]


# Attacks


def test_case_u09_attacks_on_the_metadata_are_refused(installed: Stranger, tmp_path: Path) -> None:
    """By the frozen program, whose client checks signatures without a compiled library."""
    home, good = installed, Releases(tmp_path / "good", tmp_path / "asked")
    trust(home, good)
    good.add("1.0.0")
    good.add("1.1.0")
    told = home.ways("update", "--check", "--from", str(good.repository), code=1)
    assert "to 1.1.0" in told.stdout
    other = Releases(tmp_path / "other", tmp_path / "asked")
    other.add("9.9.9")

    def spoilt(name: str, part: str, change: Callable[[Any], None], *signers: Any) -> Path:
        place = tmp_path / name
        shutil.copytree(good.repository, place)
        rewrite(role(place, part), change, *signers)
        return place

    def expire(signed: Any) -> None:
        signed.expires = good.now - timedelta(days=400)

    def refused(repository: Path, *said: str) -> None:
        for arguments in (("update",), ("update", "--dry-run")):
            done = home.ways(*arguments, "--from", str(repository), code=6)
            assert any(words in done.stderr for words in said), (repository, done.stderr)

    targets = good.keys["targets"]
    refused(other.repository, "is not signed by the keys")
    refused(spoilt("expired", "timestamp", expire, good.online), "has expired")
    refused(spoilt("old list", "targets", expire, *targets[:2]), "has expired")
    refused(spoilt("one key", "targets", lambda _: None, targets[0]), "is not signed by the keys")

    before = tmp_path / "before"
    shutil.copytree(good.repository, before)
    good.add("1.2.0")
    # The list is seen, and kept; the archive is not what was signed.
    archive = next((good.repository / "targets").glob("*ways-1.2.0-*"))
    whole = archive.read_bytes()
    for data in (whole + b"x", whole[:-10], b"x" * len(whole)):
        archive.write_bytes(data)
        refused_archive = home.ways("update", "--from", str(good.repository), code=6).stderr
        assert "signed" in refused_archive or "ended after" in refused_archive, refused_archive
    refused(before, "older than one that was seen before")
    mixed = tmp_path / "mixed"
    shutil.copytree(good.repository, mixed)
    role(mixed, "snapshot").write_bytes(role(before, "snapshot").read_bytes())
    shutil.rmtree(Path(home.roots.state, "tuf"))
    refused(mixed, "older than", "cannot be verified", "mixture")
    assert home.leftovers() == [] and "additionalContext" in prompt_hook(home).stdout


def test_case_u09_hostile_archives_are_refused(installed: Stranger, tmp_path: Path) -> None:
    """Signed by the right keys, and still nothing leaves the version's folder."""
    import tarfile

    home, world = installed, Releases(tmp_path / "releases", tmp_path / "asked")
    trust(home, world)
    plain = world.build("5.0.0")
    link, hard = tarfile.TarInfo(), tarfile.TarInfo()
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    hard.type, hard.linkname = tarfile.LNKTYPE, "ways-5.0.0/bin/ways"
    hostile: dict[str, dict[str, Any]] = {
        "5.0.1": {"ways-5.0.1/../../../../evil": b"x"},
        "5.0.2": {"/tmp/evil": b"x"},
        "5.0.3": {"ways-5.0.3/lib": link, "ways-5.0.3/lib/evil": b"x"},
        "5.0.4": {"ways-5.0.4/evil": hard},
        "5.0.5": {"elsewhere/evil": b"x"},
    }
    world.publish(*(packed(rows, Path(str(plain).replace("5.0.0", name))) for name, rows in hostile.items()))
    before = tree(
        home.path, [".local/state", f".local/share/agent-ways/versions/{home.version()}/.in-use.lock"]
    )
    for name in hostile:
        done = home.ways("update", "--version", name, "--from", str(world.repository), code=6)
        assert "nothing was unpacked" in done.stderr, done.stderr
    left = [path for path in differences(before, tree(home.path, [".local/state"])) if ".in-use" not in path]
    assert all(path.startswith(".cache") for path in left), left
    assert not list(tmp_path.rglob("evil"))
