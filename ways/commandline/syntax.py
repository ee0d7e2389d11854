"""What a command line is made of, whichever shell it is written for. Built by `posix` and `powershell`."""

from __future__ import annotations

from ways.core.record import record

TEXT, VARIABLE, OUTPUT, OUTPUT_FILE = "text", "variable", "output", "output-file"


class TooLong(Exception):
    """The text is longer, or nested deeper, than what is looked at."""


@record
class Part:
    """A piece of a word. `text` is the text itself, a variable's name, or the source of what is not read;
    `script` holds the commands whose output stands here (`$(…)`) or in a file (`<(…)`)."""

    kind: str
    text: str
    script: tuple[Command, ...] = ()


class Word:
    """One word; parts that follow each other belong together. Mutable: the body of a here-document comes
    after the word that announces it."""

    def __init__(self, *parts: Part) -> None:
        self.parts = list(parts)

    def add(self, text: str) -> None:
        """Append plain text."""
        if self.parts and self.parts[-1].kind == TEXT:
            text = self.parts.pop().text + text
        self.parts.append(Part(TEXT, text))

    @property
    def plain(self) -> str | None:
        """The text, when it is nothing but text."""
        return "".join(part.text for part in self.parts) if all(p.kind == TEXT for p in self.parts) else None


@record
class Redirection:
    """`operator` is `<`, `>` or `>>`; `<<` when `word` is the standard input itself."""

    operator: str
    word: Word


@record
class Command:
    """One simple command and the operator that follows it (`|`, `;`, `&&`, … or "" at the end)."""

    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]
    following: str
