"""Whose a command is, by its first word alone."""

from __future__ import annotations

import pytest

from projection.claude_settings import command_line
from projection.claude_settings.recognise import Role
from tests.unit.projection.claude_settings.helpers import APP, TARGET, recogniser

PROMPT = Role("adapter", "ways/check-prompt.sh")


def role(command: str, args: list[str] | None = None, **machine: object) -> Role | None:
    fields: dict[str, object] = {"type": "command", "command": command}
    if args is not None:
        fields["args"] = args
    return recogniser(**machine).role(fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "command",
    [
        f"{TARGET}/hooks/ways/check-prompt.sh",
        f'"{TARGET}/hooks/ways/check-prompt.sh"',
        f"'{TARGET}/hooks/ways/check-prompt.sh'",
        "~/.claude/hooks/ways/check-prompt.sh",
        "$HOME/.claude/hooks/ways/check-prompt.sh",
        "${HOME}/.claude/hooks/ways/check-prompt.sh",
        '"$HOME"/.claude/hooks/ways/check-prompt.sh',
        '"${HOME}/.claude/hooks/ways/check-prompt.sh" ',
        "  ~/.claude/hooks//ways/./check-prompt.sh\t--verbose",
        r"%USERPROFILE%\.claude\hooks\ways\check-prompt.sh",
        r'"%USERPROFILE%\.claude\hooks\ways\check-prompt.sh"',
        f"{TARGET}/hooks/ways/check-prompt.sh || true",
        f"{TARGET}/hooks/ways/check-prompt.sh 2>/dev/null; exit 0",
        f"{TARGET}/hooks/ways/check-prompt.sh # theirs to say",
        f"{APP}/hooks/ways/check-prompt.sh",
        f"{APP}/current/hooks/ways/check-prompt.sh",
        f"{APP}/versions/1.2.0/hooks/ways/check-prompt.sh",
        "/Users/x/.claude/hooks/ways/check-prompt.sh",
        '"/Users/A B/.claude/hooks/ways/check-prompt.sh"',
        r"C:\Users\x\.claude\hooks\ways\check-prompt.sh",
        r'"C:\Users\A B\.claude\hooks\ways\check-prompt.sh"',
        "C:/Users/x/.claude/hooks/ways/check-prompt.sh",
        "/c/Users/x/.claude/hooks/ways/check-prompt.sh",
        r"& 'C:\Users\x\.claude\hooks\ways\check-prompt.sh'",
    ],
)
def test_ours(command: str) -> None:
    assert role(command) == PROMPT


@pytest.mark.parametrize(
    "command",
    [
        "",
        " ",
        f"cat {TARGET}/hooks/ways/check-prompt.sh",
        f"bash {TARGET}/hooks/ways/check-prompt.sh",
        f"env VAR=x {TARGET}/hooks/ways/check-prompt.sh",
        f"VAR=x {TARGET}/hooks/ways/check-prompt.sh",
        f"timeout 5 {TARGET}/hooks/ways/check-prompt.sh",
        f"{TARGET}/hooks/ways/check-prompt.sh && say done",
        f"{TARGET}/hooks/ways/check-prompt.sh; my-script",
        f"{TARGET}/hooks/ways/check-prompt.sh | tee log",
        f"{TARGET}/hooks/ways/check-prompt.sh\nmy-script",
        f"{TARGET}/hooks/ways/check-prompt.sh `whoami`",
        f"{TARGET}/hooks/ways/check-prompt.sh $(whoami)",
        f"{TARGET}/hooks/ways/mine.sh",
        f"{TARGET}/hooks/check-prompt.sh",
        f"{TARGET}/hooks/ways/check-prompt.sh.bak",
        f"{TARGET}/hooks/ways/../ways2/check-prompt.sh",
        "/home/y/other/hooks/ways/check-prompt.sh",
        "hooks/ways/check-prompt.sh",
        "~bob/.claude/hooks/ways/check-prompt.sh",
        "/home/z/.claude/hooks/ways/check-prompt.sh",
        "/.claude/hooks/ways/check-prompt.sh",
        "/Users/x/.claude/hooks/ways/mine.sh",
        "/Users/x/claude/hooks/ways/check-prompt.sh",
        "x/.claude/hooks/ways/check-prompt.sh",
        f'"{TARGET}/hooks/ways/check-prompt.sh',
        f"{APP}-old/hooks/ways/check-prompt.sh",
        f"{APP}/backup/hooks/ways/check-prompt.sh",
        "ways hook prompt",
    ],
)
def test_the_users(command: str) -> None:
    assert role(command, homes=("/home/y", "/home/z")) is None


def test_the_program_needs_a_subcommand_that_only_hooks_use() -> None:
    assert role(f"{TARGET}/bin/ways hook prompt") == Role("program", "hook prompt")
    assert role(f"{APP}/bin/ways init") == Role("program", "init")
    assert role(f'"{APP}/versions/2/bin/ways" corpus --if-stale') == Role("program", "corpus --if-stale")
    assert role(f"{TARGET}/bin/ways session dump") is None
    assert role(f"{TARGET}/bin/ways") is None
    assert role("/usr/bin/ways hook prompt") is None
    assert role(f"{TARGET}/bin/way-embed hook prompt") is None


def test_exec_form_is_read_like_shell_form() -> None:
    assert role(f"{TARGET}/hooks/ways/check-prompt.sh", []) == PROMPT
    assert role(f"{APP}/bin/ways", ["hook", "prompt"]) == Role("program", "hook prompt")
    assert role(f"{APP}/bin/ways", ["session", "dump"]) is None
    assert role("sh", [f"{TARGET}/hooks/ways/check-prompt.sh"]) is None
    spaced = "/home/A B/.claude"
    assert role(f"{spaced}/hooks/ways/check-prompt.sh", [], target=spaced, home="/home/A B") == PROMPT


def test_exec_form_of_a_windows_machine_read_here() -> None:
    exe = r"C:\Users\x\AppData\Local\agent-ways\app\bin\ways.exe"
    assert role(exe, ["hook", "prompt"]) == Role("program", "hook prompt")
    assert role(exe, ["session", "dump"]) is None
    assert role(rf'"{exe}" hook prompt') == Role("program", "hook prompt")


def test_on_windows_case_and_separators_do_not_count() -> None:
    machine = {
        "target": r"C:\Users\Y\.claude",
        "home": r"C:\Users\Y",
        "homes": ("c:/users/y", "c:/users/z"),
        "windows": True,
    }
    for command in (
        r'"C:\Users\y\.claude\hooks\ways\check-prompt.sh"',
        "/c/Users/y/.claude/hooks/ways/check-prompt.sh",
        r"%USERPROFILE%\.claude\hooks\ways\check-prompt.sh",
        "$HOME/.claude/hooks/ways/check-prompt.sh",
        r"\\?\C:\Users\Y\.claude\hooks\ways\check-prompt.sh",
        "/home/x/.claude/hooks/ways/check-prompt.sh",
        r"D:\Users\x\.claude\hooks\ways\check-prompt.sh",
    ):
        assert role(command, **machine) == PROMPT, command
    assert role(r"C:\Users\z\.claude\hooks\ways\check-prompt.sh", **machine) is None
    exe = r"C:\Users\y\AppData\Local\Agent-Ways\app\bin\WAYS.EXE"
    assert role(exe, ["hook", "stop"], **machine) == Role("program", "hook stop")


def test_another_recorded_target_is_left_even_when_its_home_is_gone() -> None:
    other = "/home/y/.claude-work/hooks/ways/check-prompt.sh"
    links = {"/home/y/.claude-work/hooks/ways": f"{APP}/hooks/ways", "/home/y/alias": "/home/y/.claude-work"}
    assert role(other, others=("/home/y/.claude-work",), links=links) is None
    assert (
        role("/home/y/alias/hooks/ways/check-prompt.sh", others=("/home/y/.claude-work",), links=links)
        is None
    )
    gone = "/mnt/stick/.claude"
    assert role(f"{gone}/hooks/ways/check-prompt.sh", others=(gone,)) is None
    assert role(f"{gone}/hooks/ways/check-prompt.sh") == PROMPT


def test_links_are_resolved() -> None:
    links = {TARGET: "/home/y/dotfiles/claude", "/home/y/bin/prompt": f"{TARGET}/hooks/ways/check-prompt.sh"}
    assert role("/home/y/dotfiles/claude/hooks/ways/check-prompt.sh", links=links) == PROMPT
    assert role("/home/y/bin/prompt", links=links) == PROMPT
    links = {f"{TARGET}/hooks/ways": f"{APP}/hooks/ways", f"{APP}/hooks": "/srv/ways/hooks"}
    assert role("/srv/ways/hooks/ways/check-prompt.sh", links=links) == PROMPT
    links = {"/home/y/.local/bin/ways": f"{APP}/bin/ways"}
    assert role("/home/y/.local/bin/ways hook prompt", links=links) == Role("program", "hook prompt")


def test_a_target_that_is_no_dot_claude_knows_its_own_place_in_another_home() -> None:
    machine = {"target": "/home/y/work/claude"}
    assert role("/Users/x/work/claude/hooks/ways/check-prompt.sh", **machine) == PROMPT
    assert role("/Users/x/.claude/hooks/ways/check-prompt.sh", **machine) == PROMPT
    assert role("/Users/x/play/claude/hooks/ways/check-prompt.sh", **machine) is None


@pytest.mark.parametrize(
    ("entry", "where"),
    [
        ("Bash(ways:*)", "own"),
        ("Bash(ways *)", "own"),
        ("Bash(ways)", "own"),
        (f"Bash({TARGET}/bin/ways:*)", "own"),
        ("Bash(~/.claude/bin/ways:*)", "own"),
        (f"PowerShell({APP}/bin/ways:*)", "own"),
        ("Bash(/Users/x/.claude/bin/ways:*)", "foreign"),
        ("Bash(/Users/A B/.claude/bin/ways:*)", "foreign"),
        ("Bash(ways context:*)", ""),
        ("Bash(ways2:*)", ""),
        (f"Bash(cat {TARGET}/bin/ways:*)", ""),
        ("Read(ways)", ""),
        ("Bash", ""),
        ("Bash(/usr/bin/ways:*)", ""),
        ("Read(./.env)", ""),
    ],
)
def test_permissions_that_name_our_program(entry: str, where: str) -> None:
    assert recogniser().permission(entry) == where


def test_a_command_made_to_be_slow_is_read_at_once() -> None:
    slow = f"{TARGET}/hooks/ways/check-prompt.sh " + ">a1" * 5000 + "("
    assert role(slow) is None
    assert role("a" * 100_000) is None


@pytest.mark.parametrize(
    ("command", "words", "plain"),
    [
        ('a \'b c\' "d\\"e" f\\ g', ("a", "b c", 'd"e', "f g"), True),
        ("a 2>&1 >/dev/null", ("a",), True),
        ("a <<EOF\nx\nEOF", ("a",), False),
        ("a 'b", ("a",), False),
        ('a "b', ("a",), False),
        ("(a)", (), False),
        ("a &", ("a",), True),
        ("a || exit 0", ("a",), True),
        ("a || exit 00x", ("a",), False),
        ("a ; true-ish", ("a",), False),
        ("a\\", ("a\\",), True),
    ],
)
def test_words(command: str, words: tuple[str, ...], plain: bool) -> None:
    found = command_line.split(command)
    assert (found.words, found.plain) == (words, plain)


@pytest.mark.parametrize(
    "target",
    [TARGET, "~/.claude", f'"{TARGET}/"', "/Users/gone/.claude", r"C:\Users\x\.claude", "/home/y/moved"],
)
def test_the_same_hook_of_the_program_is_one_entry_however_its_target_is_spelt(target: str) -> None:
    program = f"{APP}/bin/ways"
    assert role(program, ["hook", "prompt", "--target", target]) == Role("program", "hook prompt")
    assert role(program, ["hook", "prompt"]) == Role("program", "hook prompt")


@pytest.mark.parametrize("spelling", ["/home/y/.claude-work", "~/.claude-work", "$HOME/.claude-work/"])
def test_a_hook_of_the_program_for_another_recorded_target_is_left(spelling: str) -> None:
    program, others = f"{APP}/bin/ways", ("/home/y/.claude-work",)
    assert role(program, ["hook", "prompt", "--target", spelling], others=others) is None
    assert role(f'"{program}" hook prompt --target "{spelling}"', others=others) is None
    assert role(program, ["hook", "prompt", "--target", TARGET], others=others) is not None


def test_a_target_without_a_folder_behind_it_is_an_argument_like_any_other() -> None:
    assert role(f"{APP}/bin/ways", ["hook", "prompt", "--target"]) == Role("program", "hook prompt --target")
