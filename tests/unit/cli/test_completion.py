"""Completion scripts, each run by its shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ways.cli.completion import SHELLS

PROGRAM = Path(sys.executable).parent


def ran(shell: str, *arguments: str, **more: str) -> str:
    environ = {**os.environ, "PATH": f"{PROGRAM}{os.pathsep}{os.environ['PATH']}", **more}
    done = subprocess.run(
        [shell, *arguments], env=environ, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def script(shell: str) -> str:
    return ran("ways", "completion", shell)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_the_program_and_the_protocol(shell: str) -> None:
    text = script(shell)
    assert f"{shell}_complete" in text and "_WAYS_COMPLETE" in text and "ways" in text
    assert "%(" not in text


def test_bash_completes_commands_and_settings() -> None:
    needs("bash")
    ask = """
eval "$(ways completion bash)"
complete -p ways >/dev/null || exit 9
for words in "ways pro" "ways settings set ways.en" "ways completion z"; do
    COMP_WORDS=($words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
    _ways_completion ways
    echo "${COMPREPLY[*]}"
done
"""
    assert ran("bash", "--norc", "-c", ask).splitlines() == ["projects", "ways.enabled", "zsh"]


def test_zsh_completes_commands(tmp_path: Path) -> None:
    needs("zsh")
    ask = """
autoload -U compinit; compinit -u -d "$1/dump"
eval "$(ways completion zsh)"
[[ ${_comps[ways]} == _ways_completion ]] || exit 9
_describe() { print -r -- "${completions_with_descriptions[@]}" }
compadd() { print -r -- "${completions[@]}" }
words=(ways pro); CURRENT=2
_ways_completion
"""
    assert ran("zsh", "-f", "-c", ask, "zsh", str(tmp_path)).startswith("projects:Claude Code")


def test_fish_completes_commands(tmp_path: Path) -> None:
    needs("fish")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    ask = "ways completion fish | source; complete -C 'ways pro'; complete -C 'ways completion pow'"
    lines = ran("fish", "--no-config", "-c", ask, **home).splitlines()
    assert [line.split("\t")[0] for line in lines] == ["projects", "powershell"]


def test_powershell_completes_commands() -> None:
    shell = next((name for name in ("pwsh", "powershell") if shutil.which(name)), "pwsh")
    needs(shell)
    ask = (
        "ways completion powershell | Out-String | Invoke-Expression; "
        "(TabExpansion2 -inputScript 'ways pro' -cursorColumn 8).CompletionMatches.CompletionText"
    )
    assert ran(shell, "-NoProfile", "-Command", ask).split() == ["projects"]


@pytest.mark.parametrize(
    ("words", "begun", "values"),
    [
        (["ways"], "pro", ["projects"]),
        (["ways", "settings", "get"], "ways.en", ["ways.enabled"]),
        (["ways", "completion"], "'pow", ["powershell"]),
        (["ways", "trust", "'a b'"], "zzz", []),
    ],
)
def test_what_the_powershell_script_is_answered(words: list[str], begun: str, values: list[str]) -> None:
    out = ran(
        "ways",
        _WAYS_COMPLETE="powershell_complete",
        COMP_WORDS="\n".join(words),
        COMP_CWORD=begun,
    )
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert [row[1] for row in rows] == values
    assert all(row[0] == "plain" and len(row) == 3 for row in rows)


def test_the_powershell_script_parses() -> None:
    """No PowerShell here: at least its grammar is checked, by the tree-sitter one where it is installed."""
    tree_sitter = pytest.importorskip("tree_sitter")
    grammar = pytest.importorskip("tree_sitter_powershell")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    tree = parser.parse(script("powershell").encode("utf-8"))
    assert not tree.root_node.has_error, tree.root_node
