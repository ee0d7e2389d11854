"""PowerShell text to commands, as far as telling what a command is given needs it. Nothing is run."""

from __future__ import annotations

from ways.commandline.syntax import OUTPUT, VARIABLE, Command, Part, Redirection, TooLong, Word

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 25
_ENDS_WORD = frozenset(" \t\r\n;|&(){}<>")
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}


def parse(source: str, depth: int = 0) -> list[Command]:
    """The commands of a script, in order. Raises TooLong."""
    if len(source) > MAX_CHARACTERS or depth > MAX_DEPTH:
        raise TooLong("too long or nested too deeply")
    return _Reader(source.replace("\r\n", "\n"), depth).script()


class _Reader:
    """A position in a script."""

    def __init__(self, source: str, depth: int) -> None:
        self.source = source
        self.at = 0
        self.depth = depth

    def peek(self, count: int = 1) -> str:
        return self.source[self.at : self.at + count]

    def script(self, end: str = "") -> list[Command]:
        """The commands up to the unquoted character `end`, or all."""
        found: list[Command] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while self.at < len(self.source):
            character = self.source[self.at]
            if character in " \t\r":
                self.at += 1
            elif self.peek(2) == "`\n":
                self.at += 2
            elif character == "#":
                line_end = self.source.find("\n", self.at)
                self.at = len(self.source) if line_end < 0 else line_end
            elif character == ">":
                operator = ">>" if self.peek(2) == ">>" else ">"
                self.at += len(operator)
                while self.peek() == " ":
                    self.at += 1
                redirections.append(Redirection(operator, self.word()))
            elif character == "(" and self.depth < MAX_DEPTH and words:
                self.at += 1  # a command in parentheses as an argument: its output
                words.append(Word(Part(OUTPUT, "", self.inner())))
            elif character in ";|&\n(){}":
                self.at += 1
                if character == end:
                    break
                if character == "&" and self.peek() != "&" and not words:
                    continue  # the call operator
                if words:
                    found.append(Command(tuple(words), tuple(redirections), character))
                    words, redirections = [], []
            else:
                words.append(self.word())
        if words:
            found.append(Command(tuple(words), tuple(redirections), ""))
        return found

    def inner(self) -> tuple[Command, ...]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLong("nested too deeply")
        try:
            return tuple(self.script(")"))
        finally:
            self.depth -= 1

    def word(self) -> Word:
        word = Word()
        start = self.at
        while self.at < len(self.source):
            character = self.source[self.at]
            if self.peek(3) in {"@'\n", '@"\n'}:
                self.here_string(word)
            elif character == "'":
                self.single_quoted(word)
            elif character == '"':
                self.at += 1
                word.add("")
                self.double_quoted(word)
            elif character == "`":
                self.at += 1
                word.add(self.escape())
            elif character == "$":
                self.variable(word)
            elif character in _ENDS_WORD:
                break
            else:
                word.add(character)
                self.at += 1
        if self.at == start:
            self.at += 1
        return word

    def here_string(self, word: Word) -> None:
        quote = self.source[self.at + 1]
        self.at += 3
        end = self.source.find(f"\n{quote}@", self.at - 1)
        end = len(self.source) if end < 0 else end
        text = self.source[self.at : max(end, self.at)]
        self.at = end + 3
        if quote == "'":
            word.add(text)
            return
        inner = _Reader(text, self.depth + 1)
        inner.double_quoted(word, closed=False)

    def single_quoted(self, word: Word) -> None:
        """'…' in which a doubled quote stands for one."""
        self.at += 1
        word.add("")
        while self.at < len(self.source):
            end = self.source.find("'", self.at)
            end = len(self.source) if end < 0 else end
            word.add(self.source[self.at : end])
            self.at = end + 1
            if self.peek() != "'":
                return
            word.add("'")
            self.at += 1

    def double_quoted(self, word: Word, closed: bool = True) -> None:
        while self.at < len(self.source):
            character = self.source[self.at]
            if character == '"' and closed:
                self.at += 1
                if self.peek() != '"':
                    return
                word.add('"')
                self.at += 1
            elif character == "`":
                self.at += 1
                word.add(self.escape())
            elif character == "$":
                self.variable(word)
            else:
                word.add(character)
                self.at += 1

    def escape(self) -> str:
        letter = self.peek()
        self.at += 1
        return "" if letter == "\n" else _ESCAPES.get(letter, letter)

    def variable(self, word: Word) -> None:
        if self.peek(2) == "$(":
            self.at += 2
            word.parts.append(Part(OUTPUT, "", self.inner()))
            return
        if self.peek(2) == "${":
            end = self.source.find("}", self.at)
            end = len(self.source) if end < 0 else end
            word.parts.append(Part(VARIABLE, self.source[self.at + 2 : end]))
            self.at = end + 1
            return
        end = self.at + 1
        while end < len(self.source) and self.source[end] in _NAME:
            end += 1
        name = self.source[self.at + 1 : end].rstrip(":")
        if name:
            word.parts.append(Part(VARIABLE, name))
        else:
            word.add("$")
        self.at += 1 + len(name)
