"""Layers, fallbacks, diagnostics and the cache of parsed files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from projection import targets as projection_targets
from ways.core.roots import Roots
from ways.settings import load as load_module
from ways.settings import parsing, target_file
from ways.settings.load import Settings, layer_of, load

REPOSITORY = str(Path(__file__).parents[3])


def write(path: Path | str, text: str | bytes, *, settled: bool = True) -> str:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if settled:
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return str(path)


def user(roots: Roots, text: str | bytes, **more: bool) -> Settings:
    write(Path(roots.config) / "config.yaml", text, **more)
    return load(roots)


def test_no_file_is_the_defaults_and_touches_nothing(roots: Roots, tmp_path: Path) -> None:
    assert load(roots, str(tmp_path / "project"), str(tmp_path / "claude")) == Settings()
    assert os.listdir(tmp_path) == []


def test_a_whole_user_file(roots: Roots) -> None:
    found = user(
        roots,
        "\ufeff# mine\r\nenabled: false\r\nsubagents: off\r\ndefault_scope: [agent, teammate]\r\n"
        "disabled_domains: [ea]\r\nsemantic_fire_probability: 0.6\r\n"
        "refire_presets: {rare: 0.5, daily: 2}\r\n"
        "language: no\r\nmacro: {timeout_ms: 100}\r\nengine:\r\n  threads: 2\r\n  resident: no\r\n"
        "hooks: {tool_delivery: post}\r\ninstall: {mode: copy, secret_path_deny: yes}\r\n"
        "targets:\r\n  - path: ~/x\r\n  - /y\r\n",
    )
    assert found.diagnostics == ()
    assert (found.enabled, found.subagents, found.default_scope) == (False, False, ("agent", "teammate"))
    assert found.disabled_domains == ("ea",) and found.matching == {"semantic_fire_probability": 0.6}
    assert found.refire_presets == {"once": 1.0, "rare": 0.5, "normal": 0.15, "frequent": 0.05, "daily": 2.0}
    assert (found.language, found.macro_timeout_ms, found.macro_max_chars) == ("no", 100, 8_000)
    assert (found.engine_threads, found.engine_resident, found.tool_delivery) == (2, False, "post")
    assert (found.install_mode, found.install_secret_path_deny) == ("copy", True)


def test_layers_go_over_each_other(roots: Roots, tmp_path: Path) -> None:
    target, project = tmp_path / "claude", tmp_path / "project"
    target.mkdir()
    key = target_file.target_key(os.path.realpath(target))
    write(
        Path(roots.config) / "config.yaml",
        "enabled: false\ndisabled_domains: [a, b]\nlanguage: de\nnear_miss_margin: 0.1",
    )
    write(
        Path(roots.config) / "targets" / key / "config.yaml",
        "enabled: true\nlanguage: fr\nnear_miss_margin: 0.2\nrefire_presets: {rare: 0.9}",
    )
    write(
        project / ".claude" / "ways.yaml", "disabled_domains: [c]\nnear_miss_margin: 0.3\nways: {x/y: false}"
    )
    user_only, with_target = load(roots), load(roots, None, str(target))
    everything = load(roots, str(project), str(target))
    assert (user_only.enabled, user_only.language, user_only.matching) == (
        False,
        "de",
        {"near_miss_margin": 0.1},
    )
    assert (with_target.enabled, with_target.language, with_target.disabled_domains) == (
        True,
        "fr",
        ("a", "b"),
    )
    assert (everything.enabled, everything.language, everything.disabled_domains) == (True, "fr", ("c",))
    assert everything.matching == {"near_miss_margin": 0.3} and everything.refire_presets["rare"] == 0.9
    assert everything.project_ways == {"x/y": False}
    assert load(roots, str(tmp_path / "other"), str(tmp_path / "other")) == user_only


def test_a_targets_own_file_can_be_named(roots: Roots, tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "claude")
    write(Path(roots.config) / "config.yaml", f"targets:\n  - path: {tmp_path}/link\n    config: work.yaml\n")
    write(Path(roots.config) / "work.yaml", "enabled: false")
    assert load(roots, None, str(tmp_path / "claude")).enabled is False
    assert load(roots, None, str(tmp_path / "another")).enabled is True


@pytest.mark.parametrize("folder", ["/home/x/.claude", "/a b/Ünï", "/", "/x/" + "y" * 80, "/x/---"])
def test_the_key_of_a_target_is_the_one_that_the_projection_uses(folder: str) -> None:
    assert target_file.target_key(folder) == projection_targets.target_key(folder)


def messages(found: Settings) -> list[str]:
    return [f"{item.line}:{item.key}" for item in found.diagnostics]


def test_a_wrong_section_falls_back_and_the_rest_counts(roots: Roots) -> None:
    found = user(
        roots,
        "enabled: perhaps\nsubagents: false\nmacro:\n  timeout_ms: 200\n  max_chars: many\n"
        "refire_presets: {rare: 11, once: 0.5}\nengine: [1]\ndisabled_domains: {a: 1}\nlanguage: de\n"
        "nonsense: 1\n"
        "install: {colour: red, mode: copy}\nhooks:\nways: {a: false}\nsubject:\n",
    )
    assert (found.enabled, found.subagents, found.macro_timeout_ms, found.macro_max_chars) == (
        True,
        False,
        5_000,
        8_000,
    )
    assert found.refire_presets == load_module.REFIRE_PRESETS and found.engine_threads == 1
    assert found.disabled_domains == () and found.language == "de" and found.install_mode == "copy"
    assert messages(found) == [
        "1:enabled",
        "5:macro.max_chars",
        "6:refire_presets.rare",
        "7:engine",
        "8:disabled_domains",
        "10:nonsense",
        "11:install.colour",
        "13:ways",
        "14:subject",
    ]
    assert (
        str(found.diagnostics[0])
        == f"{roots.config}/config.yaml:1: enabled: must be true or false, not 'perhaps'"
    )


def project(roots: Roots, tmp_path: Path, text: str) -> Settings:
    write(tmp_path / "p" / ".claude" / "ways.yaml", text)
    return load(roots, str(tmp_path / "p"))


def test_a_project_cannot_reach_beyond_itself(roots: Roots, tmp_path: Path) -> None:
    keys = [
        "targets: [/x]",
        "macro: {timeout_ms: 60000}",
        "gate: {mode: off}",
        "install: {auto_update: true}",
        "keys: {a: b}",
        "engine: {threads: 64}",
        "hooks: {tool_delivery: post}",
        "language: de",
        "trusted: true",
    ]
    found = project(roots, tmp_path, "\n".join(keys) + "\nenabled: false\n")
    assert found == Settings(enabled=False, diagnostics=found.diagnostics)
    assert len(found.diagnostics) == len(keys)


def test_one_wrong_switch_leaves_the_others(roots: Roots, tmp_path: Path) -> None:
    found = project(
        roots,
        tmp_path,
        "ways:\n  a/b: false\n  c: {enabled: off}\n  d: {enabled: x}\n  e: 5\n  f/*: false\n  f/g: true\n",
    )
    assert found.project_ways == {"a/b": False, "c": False, "f/*": False, "f/g": True}
    assert messages(found) == ["4:ways.d", "5:ways.e"]


def test_the_nearest_switch_wins() -> None:
    found = Settings(
        project_ways={"a/*": False, "a/b/*": True, "a/b/c": False, "z": False}, disabled_domains=("ea",)
    )
    uses = {
        way: found.uses_way(way)
        for way in ("a", "a/x", "a/b", "a/b/d", "a/b/c", "a/b/c/d", "z", "z/y", "ea/x", "ea", "eab")
    }
    assert uses == {
        "a": True,
        "a/x": False,
        "a/b": False,
        "a/b/d": True,
        "a/b/c": False,
        "a/b/c/d": True,
        "z": False,
        "z/y": True,
        "ea/x": False,
        "ea": False,
        "eab": True,
    }


HOSTILE = {
    "not yaml": (b"a: [1", 1),
    "tab": (b"enabled: true\n\tx: 1", 2),
    "list": (b"- a", 1),
    "word": (b"hello", 1),
    "two documents": (b"a: 1\n---\nb: 2", 2),
    "latin-1": b"# caf\xe9".join([b"\n", b""]),
    "deep": (b"[" * 3_000, 0),
    "brackets": (b"[" * 30_000, 0),
    "deep keys": (b"".join(b" " * n + b"a:\n" for n in range(100)), 0),
    "large": (b"a: " + b"x" * 100_000, 0),
    "tag": (b"enabled: !!python/object/apply:os.system ['touch pwned']", 1),
    "loop": (b"a: &x [*x]", 0),
    "laughs": (
        b"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
        b"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]",
        0,
    ),
    "odd key": (b"? [a]\n: 1", 1),
    "nul": (b"a: \0", 0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_a_diagnostic_and_nothing_more(roots: Roots, tmp_path: Path, name: str) -> None:
    case = HOSTILE[name]
    data, line = case if isinstance(case, tuple) else (case, 2)
    path = write(tmp_path / "p" / ".claude" / "ways.yaml", data)
    for _ in range(2):
        found = load(roots, str(tmp_path / "p"))
        assert found == Settings(diagnostics=found.diagnostics)
        assert len(found.diagnostics) == 1 and found.diagnostics[0].file == path
        assert not line or found.diagnostics[0].line == line
    assert Path(path).read_bytes() == data and not Path("pwned").exists()


def test_a_doubled_key_is_named_and_not_guessed(roots: Roots) -> None:
    found = user(
        roots,
        "enabled: false\nsubagents: false\nenabled: true\nmacro:\n  timeout_ms: 200\n  timeout_ms: 300\n",
    )
    assert (found.enabled, found.subagents, found.macro_timeout_ms) == (True, False, 5_000)
    assert messages(found) == ["3:enabled", "6:macro.timeout_ms"]


@pytest.mark.parametrize("kind", ["folder", "fifo", "dangling"])
def test_what_is_no_file_counts_as_absent(roots: Roots, kind: str) -> None:
    path = Path(roots.config) / "config.yaml"
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere")
    assert load(roots) == Settings()


def test_the_second_load_parses_nothing(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "enabled: false\ndefault_scope: [agent]\nrefire_presets: {daily: 2}\nnear_miss_margin: 0\nwrong: 1\n"
    )
    first = user(roots, text)
    monkeypatch.setattr(parsing, "parse", lambda *_: pytest.fail("parsed again"))
    assert load(roots) == first and len(first.diagnostics) == 1 and first.enabled is False


@pytest.mark.parametrize("change", ["size", "time", "inode"])
def test_a_changed_file_is_parsed_again(roots: Roots, change: str) -> None:
    assert user(roots, "enabled: false\n").enabled is False
    path = Path(roots.config) / "config.yaml"
    if change == "size":
        write(path, "enabled: false\nsubagents: false\n")
    elif change == "time":
        path.write_text("enabled: true \n")
        os.utime(path, (1_700_000_001, 1_700_000_001))
    else:
        write(path.with_name("new"), "enabled: true \n")
        os.replace(path.with_name("new"), path)
    found = load(roots)
    assert found.enabled is (change != "size") and found.subagents is (change != "size")


def test_a_file_that_was_just_written_is_not_cached_yet(roots: Roots) -> None:
    user(roots, "enabled: false\n", settled=False)
    assert not os.path.exists(roots.cache)
    user(roots, "enabled: false\n")
    assert os.path.exists(roots.cache)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff" * 20, b'{"key": 1}', "values", "rows", "types"])
def test_a_damaged_cache_is_not_believed(roots: Roots, damage: bytes | str) -> None:
    assert user(roots, "enabled: false\nwrong: 1\n").enabled is False
    (cache,) = (Path(roots.cache) / "settings").iterdir()
    if isinstance(damage, bytes):
        cache.write_bytes(damage)
    elif damage == "values":
        cache.write_bytes(cache.read_bytes().replace(b'"values":{"ways.enabled":false}', b'"values":5'))
    elif damage == "rows":
        cache.write_bytes(cache.read_bytes().replace(b'"diagnostics":[[2', b'"diagnostics":[["x"'))
    else:
        cache.write_bytes(
            cache.read_bytes().replace(b'"ways.enabled":false', b'"ways.enabled":"x","matching.a":"b"')
        )
        assert load(roots).enabled is True, "a value of a wrong type is left out"
        return
    assert load(roots).enabled is False and len(load(roots).diagnostics) == 1


def test_an_unwritable_cache_only_costs_time(roots: Roots) -> None:
    Path(roots.cache).write_text("a file")
    assert user(roots, "enabled: false\n").enabled is False
    assert load(roots).enabled is False
    assert "cannot be kept" in (Path(roots.state) / "debug.log").read_text()


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="needs a file that may not be read")
def test_an_unreadable_file_is_a_diagnostic(roots: Roots) -> None:
    path = Path(write(Path(roots.config) / "config.yaml", "enabled: false"))
    path.chmod(0)
    assert "cannot be read" in str(load(roots).diagnostics[0])


def test_loading_never_rewrites(roots: Roots) -> None:
    text = b"enabled:    false   # why\n\n\n'language':   \"de\"\n"
    user(roots, text)
    path = Path(roots.config) / "config.yaml"
    assert path.read_bytes() == text and os.listdir(roots.config) == ["config.yaml"]


def test_a_cached_load_needs_neither_yaml_nor_the_registry(roots: Roots) -> None:
    user(roots, "enabled: false\n")
    code = (
        f"import sys; sys.path.insert(0, {REPOSITORY!r})\n"
        "from ways.core.roots import Roots\nfrom ways.settings.load import load\n"
        f"print(load(Roots(**{roots.__dict__!r})).enabled)\n"
        "heavy = ['yaml', 'json', 're', 'dataclasses', 'typing', 'enum', 'ways.settings.registry']\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["False", "[]"]


def test_agent_yaml_is_linted_by_the_same_registry(tmp_path: Path) -> None:
    good = b"gate:\n  mode: off\n  engine: x\n  profiles:\n    x: {provider: anthropic, prices: {input: 1}}\n"
    layer = parsing.parse(good, "agent.yaml", "user", agent=True)
    assert layer.diagnostics == () and layer.values["gate.mode"] == "off"
    assert layer.values["gate.profiles.x.prices.input"] == 1.0
    bad = b"gate:\n  mode: maybe\n  profiles:\n    x: {turns: 9}\nenabled: true\n"
    lines = [item.line for item in parsing.parse(bad, "agent.yaml", "user", agent=True).diagnostics]
    assert lines == [2, 4, 5]


def test_a_layer_is_none_without_a_file(roots: Roots) -> None:
    assert layer_of(roots, "/nowhere/a\0b", "user") is None
