"""The shipped hooks block as it is rendered for one target."""

from __future__ import annotations

import json
import ntpath
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projection
from projection import program_check
from projection.claude_settings.slices import from_block
from projection.payload_manifest import PayloadManifest, compute
from projection.system import RealSystem
from projection.targets import make_target
from projection.wants import App
from projection.wiring import WINDOWS_ARGUMENTS, load_template, quoted, render
from ways.core.errors import UserError

PAYLOAD = os.path.join(os.path.dirname(projection.__file__), "payload")
APP = App("/home/u/.local/share/agent-ways", "/app/content", PayloadManifest(()), "1")
TARGET = make_target(RealSystem(), "/home/u/my claude", "/home/u")


def template() -> dict[str, object]:
    return load_template(APP, Path(PAYLOAD, "settings.json").read_bytes())


def commands(platform: str) -> list[dict[str, object]]:
    block = render(template(), TARGET, APP, platform)
    from_block(block)  # what Claude Code would accept
    return [hook for groups in block["hooks"].values() for group in groups for hook in group["hooks"]]


def test_every_adapter_of_the_template_is_shipped_and_known_for_windows() -> None:
    shipped = {file.path: file for file in compute(PAYLOAD).files}
    for hook in commands("linux"):
        adapter = shlex.split(str(hook["command"]))[0].split("/hooks/", 1)[1]
        assert shipped[f"hooks/{adapter}"].executable
        assert adapter in WINDOWS_ARGUMENTS


def test_posix_commands_are_quoted_absolute_and_name_the_target() -> None:
    found = commands("linux")
    assert all(str(hook["command"]).startswith('"/home/u/my claude/hooks/') for hook in found)
    assert all("args" not in hook for hook in found)


def test_windows_commands_are_exec_form_of_the_apps_own_program() -> None:
    found = commands("windows")
    assert len(found) == len(commands("linux"))
    names = [ntpath.basename(str(hook["command"])) for hook in found]
    assert names.count("cmd.exe") == 1
    arguments = [hook["args"] for hook, name in zip(found, names, strict=True) if name == "ways.exe"]
    assert len(arguments) == len(found) - 1
    for lane in ("prompt", "corpus-refresh", "update-notice"):
        assert ["hook", lane, "--target", "/home/u/my claude"] in arguments
    assert all(
        isinstance(one, list) and (one[0] != "hook" or one[2:] == ["--target", TARGET.path])
        for one in arguments
    )


def test_on_windows_the_systems_own_shell_asks_whether_the_program_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SYSTEMROOT", "D:\\Win")
    [hook] = [one for one in commands("windows") if str(one["command"]).endswith("cmd.exe")]
    assert hook["command"] == "D:\\Win\\System32\\cmd.exe"
    args = hook["args"]
    assert isinstance(args, list)
    program = APP.stable("bin/ways.exe")
    assert program_check.program_in(str(hook["command"]), tuple(args)) == program
    # As the words reach cmd: what has a blank is quoted, the rest is as it is.
    line = subprocess.list2cmdline(args)
    assert line.startswith(f'/d /v:off /c if 1==1 {program} --noop >nul 2>nul || echo "The ways hooks')
    assert line.endswith('repairs this." & exit 0')


@pytest.mark.parametrize(
    ("program", "written"),
    [
        (r"C:\Users\u\bin\ways.exe", True),
        (r"C:\A B&(c)' é\bin\ways.exe", True),
        (r"C:\A&B\bin\ways.exe", False),
        (r"C:\100%\my bin\ways.exe", False),
        (r"C:\USERS\U~1\bin\ways.exe", True),
    ],
)
def test_a_path_that_cmd_would_read_otherwise_gets_no_such_hook(program: str, written: bool) -> None:
    assert (program_check.arguments(program) is not None) is written


def test_another_hook_of_cmd_is_not_the_check() -> None:
    ours = program_check.arguments("C:\\x\\bin\\ways.exe")
    assert ours is not None
    assert program_check.program_in("C:\\Windows\\System32\\cmd.exe", ours) == "C:\\x\\bin\\ways.exe"
    assert program_check.program_in("C:\\Windows\\System32\\cmd.exe", ("/c", "dir")) == ""
    assert program_check.program_in("C:\\x\\other.exe", ours) == ""
    assert program_check.program_in("cmd.exe", None) == ""


def test_the_dispatcher_takes_the_target_where_the_wiring_puts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from ways.lanes import dispatch

    seen: list[tuple[str, str]] = []

    def lane(name: str, _descriptor: int, environ: dict[str, str], _where: object) -> None:
        seen.append((name, environ["WAYS_TARGET"]))

    monkeypatch.setattr(dispatch, "_run", lane)
    for hook in commands("windows"):
        arguments = hook["args"]
        assert isinstance(arguments, list)
        if arguments[0] == "hook":  # not `init`, nor the system's shell
            assert dispatch.main(arguments[1:], 0, {"HOME": "/home/u"}) == 0
    assert {"prompt", "session-start", "stop"} <= {name for name, _ in seen} <= set(dispatch.LANES)
    assert {target for _, target in seen} == {TARGET.path}


def test_timeouts_are_those_of_the_specification() -> None:
    seconds = {
        str(hook["command"]).rsplit("/", 1)[1].strip('"'): hook["timeout"] for hook in commands("linux")
    }
    assert seconds["check-prompt.sh"] == seconds["check-queued.sh"] == 15
    assert seconds["check-file-pre.sh"] == seconds["check-state.sh"] == 10
    assert seconds["init-project.sh"] == seconds["corpus-refresh.sh"] == 30
    assert all(hook["timeout"] for hook in commands("windows"))


@pytest.mark.parametrize("command", ["/usr/bin/evil", "{adapters}/x.sh"])
def test_a_template_that_names_something_else_is_damaged(command: str) -> None:
    block = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}
    with pytest.raises(UserError, match="does not begin with"):
        render(block, TARGET, APP, "linux")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"hooks": []}'])
def test_a_damaged_template_names_its_file(data: bytes) -> None:
    with pytest.raises(UserError, match="is damaged"):
        load_template(APP, data)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=20))
def test_case_s16_any_path_is_one_word_of_a_shell(path: str) -> None:
    done = subprocess.run(["sh", "-c", f"printf %s {quoted(path)}"], capture_output=True, check=True)
    assert done.stdout.decode() == path


def test_the_template_is_json_with_hooks_only() -> None:
    assert set(json.loads(Path(PAYLOAD, "settings.json").read_bytes())) == {"hooks"}
