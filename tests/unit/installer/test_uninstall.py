"""Leaving: nothing deleted that is not ours, nothing before every target is free, and killed anywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from installer import project, project_files, receipt, removal, safety_net, uninstall
from installer.receipt import FOLDER, LINES, LINK, Edit, Receipt
from installer.stage import CURRENT
from installer.update_lock import update_lock
from projection import payload_manifest
from projection.reconcile import Options, reconcile
from projection.system import DryRunSystem, RealSystem, System
from projection.wants import App
from tests.unit.installer.conftest import enter
from tests.unit.installer.release_world import Releases, World
from tests.unit.installer.test_update import killed
from tests.unit.projection.world import hooks_block, tree
from ways.core import roots as core_roots
from ways.core.errors import REFUSED, UserError

ORIGINAL = '{\n  "model": "opus",\n  "hooks": {}\n}\n'


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    """Releases whose settings register one adapter."""
    folder = tmp_path_factory.mktemp("releases")
    found = Releases(folder, folder / "asked")
    found.build("1.0.0", **{"settings.json": json.dumps(hooks_block("ways/check-prompt.sh"))})
    return found


class Served(World):
    """Installed, with a served target, a link and a line outside, cache, config and state."""

    def __init__(self, base: Path, releases: Releases) -> None:
        super().__init__(base, releases)
        self.write(".claude/settings.json", ORIGINAL)
        self.write(".claude/CLAUDE.md", "mine")
        self.write(".bashrc", "alias ll='ls -l'\n")
        (self.home / "work/p/.claude").mkdir(parents=True)
        self.before = tree(self.home, r"\.local|\.cache|\.config")
        self.reconcile(RealSystem())
        for root in (self.roots.cache, self.roots.config, self.roots.state):
            Path(root).mkdir(parents=True, exist_ok=True)
        self.write(".config/agent-ways/ways/mine/mine.md", "my way")
        self.write(".cache/agent-ways/user/corpus", "x")
        self.write(".local/state/agent-ways/events.jsonl", "{}\n")
        project_files.note(
            self.roots,
            project.write_missing(project.missing_files(str(self.home / "work/p"), self.roots, [])),
        )
        self.session = Path(self.roots.sessions, "s1", "epoch")
        shutil.rmtree(self.roots.sessions, ignore_errors=True)
        self.session.parent.mkdir(mode=0o700, parents=True)
        self.session.write_text("1")
        self.socket = Path(self.environ["XDG_RUNTIME_DIR"], "agent-ways.sock")
        self.socket.write_text("")
        link = self.home / ".local/bin/ways"
        link.parent.mkdir()
        link.symlink_to(self.app / "bin/ways")
        added = 'PATH="$PATH:$HOME/.local/bin" # added by the ways installer\n'
        rc = self.home / ".bashrc"
        rc.write_text(rc.read_text() + added)
        edits = (
            Edit(FOLDER, str(link.parent)),
            Edit(LINK, str(link), str(self.app / "bin/ways")),
            Edit(LINES, str(rc), added),
        )
        receipt.save(RealSystem(), self.roots, Receipt("1.0.0", "install.sh", "now", "", edits))
        safety_net.place(RealSystem(), self.roots)

    def write(self, path: str, text: str) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def app_now(self) -> App:
        content = str(self.app / CURRENT)
        data = Path(content, payload_manifest.NAME).read_bytes()
        return App(self.roots.app, content, payload_manifest.from_json(data, "x"), "1.0.0")

    def reconcile(self, system: System) -> None:
        reconcile(system, self.roots, self.app_now, Options())

    def uninstall(self, system: System | None = None, purge: bool = False, stop: Any = list) -> Any:
        plan = uninstall.plan(DryRunSystem(), self.roots, Options(), purge, [str(self.socket)])
        uninstall.refuse(plan)
        using = system or RealSystem()
        with update_lock(self.roots, "ways uninstall"):
            done = uninstall.apply(using, self.roots, Options(), plan, stop)
        if done.exit_code == 0:
            uninstall.finish(using, self.roots, plan)
        return done


@pytest.fixture
def served(base: Path, releases: Releases, monkeypatch: pytest.MonkeyPatch) -> Served:
    found = Served(base, releases)
    enter(found, monkeypatch)
    return found


def test_the_plan_says_everything_and_changes_nothing(served: Served) -> None:
    before = tree(served.home)
    plan = uninstall.plan(DryRunSystem(), served.roots, Options())
    text = "\n".join(plan.lines())
    assert plan.changes and not plan.refusals
    assert f"Delete {served.roots.app} (the program)" in text
    assert f"Delete {served.roots.cache}" in text
    assert f"Keep {served.roots.config}" in text and f"Keep {served.roots.state}" in text
    assert f"Take back {served.home}/.local/bin/ways" in text
    assert f"Take back {served.home}/work/p/.claude/.gitignore" in text
    assert f"Remove {served.home}/.local/bin when it is empty" in text
    purge = "\n".join(uninstall.plan(DryRunSystem(), served.roots, Options(), True).lines())
    assert f"Delete {served.roots.config} (your settings, keys and your own ways)" in purge
    assert "Keep" not in purge
    assert tree(served.home) == before


def test_case_s15_everything_of_ours_goes_and_the_rest_is_byte_for_byte(served: Served) -> None:
    assert served.uninstall().exit_code == 0
    assert tree(served.home, r"\.local|\.cache|\.config") == served.before
    assert not served.app.exists()
    assert not os.path.exists(served.roots.cache)
    assert not os.path.lexists(served.home / ".local/bin")
    assert not os.path.lexists(served.roots.sessions) and not served.socket.exists()
    assert Path(served.roots.config, "ways/mine/mine.md").read_text() == "my way"
    assert Path(served.roots.state, "events.jsonl").exists()
    assert not Path(served.roots.state, "receipt.json").exists()


def test_purge_leaves_nothing_at_all(served: Served) -> None:
    assert served.uninstall(purge=True).exit_code == 0
    left = [
        path for path, what in tree(served.home).items() if what[0] != "folder" and path not in served.before
    ]
    assert left == []
    assert "agent-ways" not in "".join(tree(served.home))


def test_the_order_targets_agents_links_cache_app(served: Served) -> None:
    seen: list[tuple[bool, bool, bool]] = []

    def stop() -> Iterable[str]:
        seen.append(
            (
                (served.home / ".claude/settings.json").read_text() == ORIGINAL,
                os.path.lexists(served.home / ".local/bin/ways"),
                served.app.exists(),
            )
        )
        return ["the agent stays"]

    done = served.uninstall(stop=stop)
    assert seen == [(True, True, True)]
    assert "the agent stays" in done.notes


def test_a_target_that_cannot_be_withdrawn_from_stops_everything(served: Served) -> None:
    (served.home / ".claude/settings.json").write_text("{ broken")
    before = tree(served.home)
    with pytest.raises(UserError) as caught:
        served.uninstall()
    assert caught.value.exit_code == REFUSED
    assert "settings.json" in caught.value.message
    assert {k: v for k, v in tree(served.home).items() if "/locks" not in k} == {
        k: v for k, v in before.items() if "/locks" not in k
    }


def test_what_is_not_ours_in_the_app_root_stays(served: Served) -> None:
    (served.app / "notes.txt").write_text("somebody's")
    done = served.uninstall()
    assert "notes.txt" in done.notes[-1]
    assert os.listdir(served.app) == ["notes.txt"]


def test_a_changed_link_and_a_changed_line_are_the_users(served: Served) -> None:
    link = served.home / ".local/bin/ways"
    link.unlink()
    link.write_text("my own program")
    rc = served.home / ".bashrc"
    rc.write_text(rc.read_text().replace("added by", "ADDED by"))
    assert served.uninstall().exit_code == 0
    assert link.read_text() == "my own program"
    assert "ADDED by" in rc.read_text()


# The rules on what may be deleted


def roots_with(world: World, **paths: str) -> core_roots.Roots:
    names = ("app", "projection", "config", "state", "cache", "sessions", "home")
    values = {name: getattr(world.roots, name) for name in names}
    return core_roots.Roots(**{**values, **paths})


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("relative/agent-ways", "absolute"),
        ("{home}", "is not called"),
        ("{home}/other", "is not called"),
        ("/", "is not called"),
        ("{home}/.local/share/agent-ways-old", "is not called"),
        ("{home}/link/agent-ways", "holds the home"),
        ("{home}/file/agent-ways", "is a file"),
        ("{home}/symlink/agent-ways", "is a link"),
        ("{home}/.claude/agent-ways", "which stays"),
        ("{home}/holds/agent-ways", "which stays"),
        ("{home}/kept/agent-ways", "which stays"),
    ],
)
def test_what_must_not_be_deleted(world: World, path: str, why: str) -> None:
    home = world.home
    for folder in (
        "link",
        "file",
        "symlink",
        ".claude/agent-ways",
        "holds/agent-ways/target",
        "kept/agent-ways",
    ):
        (home / folder).mkdir(parents=True)
    (home / "file/agent-ways").write_text("x")
    (home / "symlink/agent-ways").symlink_to(home / "kept")
    outside = world.base / "outer/agent-ways"
    outside.mkdir(parents=True)
    (outside / "me").mkdir()
    roots = world.roots
    if "link/" in path and "sym" not in path:
        roots = roots_with(world, home=str(outside / "me"))
        path = str(outside)
    kept = [str(home / ".claude"), str(home / "holds/agent-ways/target"), str(home / "kept/agent-ways")]
    found = removal.fault(RealSystem(), roots, path.format(home=home), kept)
    assert why in found


def test_what_may_be_deleted(world: World) -> None:
    for path in (world.roots.app, world.roots.cache, world.roots.config, world.roots.state):
        assert removal.fault(RealSystem(), world.roots, path, []) == ""


@pytest.mark.skipif(os.name == "nt", reason="the owner of a folder is a POSIX notion here")
def test_what_is_not_a_sessions_root_or_socket_of_ours_stays(served: Served) -> None:
    other = served.base / "elsewhere"
    (other / "claude-sessions").mkdir(parents=True)
    (served.base / "linked").mkdir()
    (served.base / "linked/claude-sessions").symlink_to(other / "claude-sessions")
    holding = served.base / ".claude-sessions-0"
    (holding / "me").mkdir(parents=True)
    for path, why in (
        (other, "another name"),
        (served.base / "linked/claude-sessions", "is a link"),
        (served.roots.app, ""),
        (other / "claude-sessions", ""),
    ):
        assert why in removal.runtime_fault(RealSystem(), served.roots, str(path), [])
        assert bool(why) == bool(removal.runtime_fault(RealSystem(), served.roots, str(path), []))
    inside = roots_with(served, home=str(holding / "me"))
    assert "which stays" in removal.runtime_fault(RealSystem(), inside, str(holding), [])
    if os.geteuid() == 0:
        os.chown(holding, 12345, -1)
        assert "another user" in removal.runtime_fault(RealSystem(), served.roots, str(holding), [])


@pytest.mark.parametrize("name", ["config", "state", "cache"])
def test_roots_that_coincide_are_refused(served: Served, name: str) -> None:
    served.roots = roots_with(served, **{name: served.roots.app})
    before = tree(served.app)
    with pytest.raises(UserError, match="are not separate") as caught:
        served.uninstall()
    assert caught.value.exit_code == REFUSED
    assert tree(served.app) == before


def test_a_root_inside_another_is_refused(served: Served) -> None:
    served.roots = roots_with(served, config=os.path.join(served.roots.app, "config"))
    with pytest.raises(UserError, match="are not separate"):
        served.uninstall()
    assert served.launched() == "1.0.0"


def test_a_root_by_another_name_is_refused(served: Served) -> None:
    other = served.home / "other"
    other.mkdir()
    served.roots = roots_with(served, cache=str(other))
    with pytest.raises(UserError, match="is not called agent-ways or claude-ways"):
        served.uninstall()
    assert other.exists() and served.launched() == "1.0.0"


def test_a_target_inside_a_root_is_refused(served: Served) -> None:
    served.write(".config/agent-ways/config.yaml", f"targets: [{served.roots.cache}/target]\n")
    Path(served.roots.cache, "target").mkdir()
    with pytest.raises(UserError, match=r"which stays|lie in one another"):
        served.uninstall()
    assert served.launched() == "1.0.0"


def test_a_damaged_receipt_stops_it(served: Served) -> None:
    Path(served.roots.state, receipt.NAME).write_text("{")
    with pytest.raises(UserError, match=r"receipt\.json is damaged") as caught:
        served.uninstall()
    assert caught.value.exit_code == REFUSED
    assert served.launched() == "1.0.0"


# Deaths


@pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")
@pytest.mark.parametrize("purge", [False, True])
def test_case_u02_killed_at_every_step(
    base: Path, releases: Releases, monkeypatch: pytest.MonkeyPatch, purge: bool
) -> None:
    """Each time either the program still runs and finishes it, or the script does."""
    after, alive, by_script = 0, False, 0
    while not alive:
        after += 1
        home = Served(base, releases)
        enter(home, monkeypatch)
        alive = not killed(lambda system, home=home: home.uninstall(system, purge), after)
        user_files = {path: tree(home.home).get(path) for path in (".claude/CLAUDE.md", ".bashrc")}
        assert user_files[".claude/CLAUDE.md"] == home.before[".claude/CLAUDE.md"], after
        program = home.app / "bin/ways"
        if program.exists():
            assert home.launched() == "1.0.0", after
            assert home.uninstall(purge=purge).exit_code == 0
            assert not os.path.lexists(home.roots.sessions) and not home.socket.exists(), after
        elif home.app.exists() or not alive:
            by_script += home.app.exists()
            script = Path(home.roots.state, safety_net.WITHDRAW)
            if script.exists():
                done = subprocess.run(
                    ["sh", script], env=home.environ, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, done.stderr
        assert tree(home.home, r"\.local|\.cache|\.config") == home.before, after
        assert not home.app.exists(), after
        assert not os.path.exists(home.roots.cache), after
        if not purge:
            assert Path(home.roots.config, "ways/mine/mine.md").read_text() == "my way", after
            assert Path(home.roots.state, "events.jsonl").exists(), after
    assert after > 20
    assert by_script > 0


def test_case_s06_hooks_resolve_until_no_settings_name_them(
    base: Path, releases: Releases, monkeypatch: pytest.MonkeyPatch
) -> None:
    after, alive = 0, False
    while not alive:
        after += 1
        home = Served(base, releases)
        enter(home, monkeypatch)
        alive = not killed(lambda system, home=home: home.uninstall(system), after)
        text = (home.home / ".claude/settings.json").read_text()
        if "check-prompt" in text:
            assert os.access(home.home / ".claude/hooks/ways/check-prompt.sh", os.X_OK), after


def test_a_package_managers_program_is_left_to_it(served: Served) -> None:
    marker = served.app / "versions/1.0.0/managed-by.json"
    marker.write_text(
        '{"manager": "Homebrew", "update": "brew upgrade ways", "uninstall": "brew uninstall ways"}'
    )
    plan = uninstall.plan(DryRunSystem(), served.roots, Options())
    assert plan.lines()[-1] == "The program is Homebrew's to remove: brew uninstall ways"
    assert served.uninstall().exit_code == 0
    assert (served.home / ".claude/settings.json").read_text() == ORIGINAL
    assert served.launched() == "1.0.0"


def test_an_app_that_is_gone_already_is_no_fault(served: Served) -> None:
    shutil.rmtree(served.app)
    assert served.uninstall().exit_code == 0
    assert tree(served.home, r"\.local|\.cache|\.config") == served.before
