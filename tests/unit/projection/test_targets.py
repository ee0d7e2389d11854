"""One folder, one key; and the list of targets in config.yaml, read and written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from projection.system import DryRunSystem, RealSystem
from projection.target_store import listed_targets, load_targets, save_targets
from projection.targets import Target, find, make_target, merged, placement_fault
from tests.unit.projection.world import World
from ways.core import roots as core_roots
from ways.core.errors import REFUSED, UserError

CONFIG = ".config/agent-ways/config.yaml"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "w")


def of(world: World, spelling: str) -> Target:
    return make_target(RealSystem(), spelling, str(world.home))


def test_every_spelling_of_a_folder_has_one_key(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.home / "real/inner").mkdir(parents=True)
    (world.home / "link").symlink_to("real")
    (world.home / "deep").symlink_to("real/inner")
    monkeypatch.chdir(world.home)
    spellings = [
        "~/real",
        "~/real/",
        "~/link",
        "real",
        "./real/.",
        "~/nothing/../real",
        f"/{world.home}/real",
    ]
    assert len({of(world, spelling).key for spelling in spellings}) == 1
    # `deep/..` is `real`, whatever the text says.
    assert of(world, "~/deep/..").folder == str(world.home / "real")
    assert of(world, "~/deep/..").path == str(world.home / "real")


def test_a_key_is_readable_and_lasts_when_the_folder_is_made(world: World) -> None:
    before = of(world, "~/My Claude (work)/.claude-é")
    (world.home / "My Claude (work)/.claude-é").mkdir(parents=True)
    assert of(world, "~/My Claude (work)/.claude-é") == before
    assert before.key.startswith("claude-")
    assert len(before.key.rsplit("-", 1)[1]) == 8


@pytest.mark.parametrize("spelling", ["", "  ", "a\0b", "/tmp/\udcff"])
def test_what_cannot_be_a_target(world: World, spelling: str) -> None:
    with pytest.raises(UserError) as caught:
        of(world, spelling)
    assert caught.value.exit_code == REFUSED


def test_one_of_two_spellings_enabled_is_enough(world: World) -> None:
    off = make_target(RealSystem(), "~/x", str(world.home), enabled=False)
    on = make_target(RealSystem(), "~/x/", str(world.home))
    [both] = merged([off, on])
    assert both.enabled
    assert both.path == off.path


def test_placement(world: World) -> None:
    outer, inner = of(world, "~/a"), of(world, "~/a/b")
    assert "inside the target" in placement_fault(inner, [outer, inner], world.roots)
    assert placement_fault(outer, [outer, inner], world.roots) == ""
    assert placement_fault(of(world, "~/ab"), [outer], world.roots) == ""
    assert "state root" in placement_fault(of(world, world.roots.state), [], world.roots)


def test_find_takes_a_key_or_any_spelling(world: World) -> None:
    target = of(world, "~/a")
    for wanted in (target.key, "~/a", str(world.home / "x/../a/")):
        assert find([target], wanted, RealSystem(), str(world.home)) == target
    assert find([target], "~/b", RealSystem(), str(world.home)) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "~/.claude"),
        ("", "~/.claude"),
        ("   ", "~/.claude"),
        ("~/work claude", "~/work claude"),
        ("relative/dir", "cwd/relative/dir"),
        ("{home}/x/../y/", "~/y"),
    ],
)
def test_case_s17_claude_config_dir_in_every_form(
    world: World, value: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.home / "cwd").mkdir()
    monkeypatch.chdir(world.home / "cwd")
    environ = {"HOME": str(world.home)}
    if value is not None:
        environ["CLAUDE_CONFIG_DIR"] = value.replace("{home}", str(world.home))
    roots = core_roots.resolve(environ)
    [target] = load_targets(RealSystem(), roots)
    assert target.path == str(world.home / expected.removeprefix("~/"))
    world.roots = roots
    world.reconcile()
    assert (Path(target.path) / "hooks/ways/check-prompt.sh").exists()
    assert (Path(target.path) / "settings.json").exists()
    assert world.unresolved(os.path.relpath(target.path, world.home)) == []
    default = world.home / ".claude"
    assert default.exists() is (expected == "~/.claude")


def test_without_a_key_the_default_target_with_an_empty_list_none(world: World) -> None:
    assert [target.path for target in load_targets(RealSystem(), world.roots)] == [str(world.target())]
    world.write(CONFIG, "language: de\n")
    assert listed_targets(RealSystem(), world.roots) is None
    world.write(CONFIG, "targets: []\n")
    assert load_targets(RealSystem(), world.roots) == ()


def test_rows_may_be_paths_or_entries(world: World) -> None:
    world.write(
        CONFIG, "targets:\n- ~/a\n- path: ~/b\n  enabled: false\n  observe: false\n  config: ~/c.yaml\n"
    )
    first, second = load_targets(RealSystem(), world.roots)
    assert (first.path, first.enabled, first.observe, first.config) == (str(world.home / "a"), True, True, "")
    assert (second.enabled, second.observe, second.config) == (False, False, "~/c.yaml")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\ntargets: x\n", ":2: targets must be a list"),
        ("targets:\n  - 3\n", ":2: targets[0] must be"),
        ("targets:\n  - path: ~/a\n    enabled: maybe\n", "targets[0].enabled must be true or false"),
        ("targets:\n  - path: ~/a\n    colour: red\n", "targets[0].colour is not known"),
        ("targets:\n  - enabled: true\n", "targets[0].path must be"),
        ("targets: [\n", "config.yaml:"),
        ("- targets\n", "must hold keys and values"),
    ],
)
def test_a_damaged_list_names_file_line_and_key(world: World, text: str, place: str) -> None:
    world.write(CONFIG, text)
    with pytest.raises(UserError) as caught:
        load_targets(RealSystem(), world.roots)
    assert place in str(caught.value)
    assert caught.value.exit_code == REFUSED


COMMENTED = """\
# Top comment
language:   de   # odd spacing stays

targets:
  # the main one
  - path: "~/a"      # quoted
    enabled: true
  - ~/b

# about domains
disabled_domains: [ea,   it]
"""


def test_writing_the_list_touches_only_the_list(world: World) -> None:
    world.write(CONFIG, COMMENTED)
    system = RealSystem()
    a, b = load_targets(system, world.roots)
    off = make_target(system, "~/a", str(world.home), enabled=False)
    new = make_target(system, "~/c d", str(world.home))
    save_targets(system, world.roots, (off, b, new))
    text = (world.home / CONFIG).read_text()
    head, rest = COMMENTED.split("targets:")
    tail = rest[rest.index("\n# about domains") :]
    assert text.startswith(
        head + 'targets:\n  # the main one\n  - path: "~/a"      # quoted\n    enabled: false\n'
    )
    assert text.endswith(tail)
    assert load_targets(system, world.roots) == (off, b, new)
    save_targets(system, world.roots, (a, b))
    assert (world.home / CONFIG).read_text() == COMMENTED
    save_targets(system, world.roots, ())
    assert load_targets(system, world.roots) == ()
    assert (world.home / CONFIG).read_text().endswith(tail)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "language: de",
        "# only a comment\n",
        "{language: de}\n",
        "targets:\n",
        "x: &t [~/a]\ntargets: *t\n",
    ],
)
def test_the_list_is_added_to_any_file(world: World, text: str) -> None:
    world.write(CONFIG, text, 0o640)
    wanted = (of(world, "~/a"), of(world, "~/b"))
    save_targets(RealSystem(), world.roots, wanted)
    assert load_targets(RealSystem(), world.roots) == wanted
    after = (world.home / CONFIG).read_text()
    others = {name: value for name, value in (yaml.safe_load(text) or {}).items() if name != "targets"}
    assert {name: value for name, value in yaml.safe_load(after).items() if name != "targets"} == others
    assert text.count("#") == after.count("#")
    assert os.stat(world.home / CONFIG).st_mode & 0o777 == 0o640
    save_targets(RealSystem(), world.roots, wanted)
    assert (world.home / CONFIG).read_text() == after


def test_crlf_stays_and_a_dry_run_writes_nothing(world: World) -> None:
    file = world.home / CONFIG
    file.parent.mkdir(parents=True)
    file.write_bytes(b"language: de\r\ntargets:\r\n  - ~/a\r\n")
    wanted = (of(world, "~/a"), of(world, "~/b"))
    save_targets(DryRunSystem(), world.roots, wanted)
    assert b"~/b" not in file.read_bytes()
    save_targets(RealSystem(), world.roots, wanted)
    data = file.read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n") > 3
    assert load_targets(RealSystem(), world.roots) == wanted
