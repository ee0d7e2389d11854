"""`ways completion`: the script that makes a shell complete `ways` (spec: command line).

click brings bash, zsh and fish; PowerShell is ours, in click's own frame.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

SHELLS = ("bash", "zsh", "fish", "powershell")
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $before = @{}
    foreach ($name in '%(complete_var)s', 'COMP_WORDS', 'COMP_CWORD') {
        $before[$name] = [Environment]::GetEnvironmentVariable($name)
    }
    try {
        $words = $commandAst.CommandElements |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
            ForEach-Object { $_.Extent.Text }
        $env:COMP_WORDS = @($words) -join "`n"
        $env:COMP_CWORD = $wordToComplete
        $env:%(complete_var)s = 'powershell_complete'
        & '%(prog_name)s' | ForEach-Object {
            $type, $value, $help = $_ -split "`t", 3
            if ($type -eq 'plain') {
                if (-not $help) { $help = $value }
                $text = $value
                if ($value -match '[\\s''"`$;|&(){}<>@#]') { $text = "'" + $value.Replace("'", "''") + "'" }
                [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $help)
            } else {
                [System.Management.Automation.CompletionCompleters]::CompleteFilename($value)
            }
        }
    } finally {
        foreach ($name in $before.Keys) {
            [Environment]::SetEnvironmentVariable($name, $before[$name])
        }
    }
}
"""
_HOW = {
    "bash": 'eval "$(ways completion bash)"     in ~/.bashrc',
    "zsh": 'eval "$(ways completion zsh)"      in ~/.zshrc, after compinit',
    "fish": "ways completion fish | source      in ~/.config/fish/config.fish",
    "powershell": "ways completion powershell | Out-String | Invoke-Expression     in $PROFILE",
}


class PowerShellComplete(ShellComplete):
    """Completion for Windows PowerShell 5.1 and PowerShell 7.

    COMP_WORDS holds the words before the cursor, one a line as they were typed; COMP_CWORD the word at it.
    """

    name: ClassVar[str] = "powershell"
    source_template: ClassVar[str] = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words between the program and the cursor, and the word at the cursor."""
        typed = os.environ.get("COMP_WORDS", "").split("\n")
        words = [word for line in typed for word in split_arg_string(line.replace("\\", "\\\\"))]
        begun = os.environ.get("COMP_CWORD", "").strip("'\"")
        return words[1:], begun

    def format_completion(self, item: CompletionItem) -> str:
        """Kind, value and help, separated by tabs. PowerShell shows no line breaks in help."""
        help_text = " ".join((item.help or "").split())
        return f"{item.type}\t{item.value}\t{help_text}"


def know_powershell() -> None:
    """Let click know the fourth shell."""
    add_completion_class(PowerShellComplete)


@click.command(
    name="completion", epilog="\b\nTo switch it on:\n" + "\n".join(f"  {line}" for line in _HOW.values())
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that makes SHELL complete `ways`."""
    from ways.cli.main import COMPLETE_VARIABLE, program

    know_powershell()
    kind: Any = get_completion_class(shell)
    click.echo(kind(program, {}, "ways", COMPLETE_VARIABLE).source())
