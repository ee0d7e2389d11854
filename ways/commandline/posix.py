"""POSIX shell and bash text to commands: quotes, substitutions, here-documents, redirections.

The structure of compound commands is not kept: `if`, `(` and `{` stand as words before simple commands.
Text that no shell would take is read as far as it goes. Nothing is run.
"""

from __future__ import annotations

from ways.commandline.syntax import (
    OUTPUT,
    OUTPUT_FILE,
    TEXT,
    VARIABLE,
    Command,
    Part,
    Redirection,
    TooLong,
    Word,
)

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 25
_BLANK = " \t\r"
_ENDS_WORD = frozenset(" \t\r\n;|&()<>")
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}


def parse(source: str, depth: int = 0) -> list[Command]:
    """The simple commands of a script, in order. Raises TooLong."""
    if len(source) > MAX_CHARACTERS:
        raise TooLong(f"more than {MAX_CHARACTERS} characters")
    return _Reader(source.replace("\r\n", "\n"), depth).script("")


class _Heredoc:
    """A here-document whose body has not been read yet."""

    def __init__(self, word: Word, end: str, quoted: bool, strip: bool) -> None:
        self.word, self.end, self.quoted, self.strip = word, end, quoted, strip


class _Reader:
    """A position in a script."""

    def __init__(self, source: str, depth: int) -> None:
        self.source = source
        self.at = 0
        self.depth = depth
        self.pending: list[_Heredoc] = []
        if depth > MAX_DEPTH:
            raise TooLong(f"nested more than {MAX_DEPTH} deep")

    def peek(self, count: int = 1) -> str:
        return self.source[self.at : self.at + count]

    # Commands

    def script(self, end: str) -> list[Command]:
        """The commands up to the unquoted character `end` (behind which the position then is), or all."""
        found: list[Command] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        open_parentheses = 0
        while self.at < len(self.source):
            character = self.source[self.at]
            if character in _BLANK:
                self.at += 1
            elif self.peek(2) == "\\\n":
                self.at += 2
            elif character == "#":
                self.skip_comment()
            elif character in "<>" or (character.isdigit() and self.is_numbered_redirection()):
                self.redirection(words, redirections)
            elif character in ";|&\n()":
                if character == end and not open_parentheses:
                    self.at += 1
                    break
                open_parentheses += (character == "(") - (character == ")")
                operator = self.operator()
                if operator == ">&":  # `&>` and `&>>`: output and errors to a file
                    redirections.append(Redirection(">", self.spaced_word()))
                    continue
                if words or redirections:
                    found.append(Command(tuple(words), tuple(redirections), operator))
                    words, redirections = [], []
                if operator in {"(", ")"}:
                    words.append(Word(Part(TEXT, operator)))  # a group, for whoever follows the commands
                elif operator == "\n":
                    self.heredoc_bodies()
            else:
                words.append(self.word())
        if words or redirections:
            found.append(Command(tuple(words), tuple(redirections), ""))
        return found

    def skip_comment(self) -> None:
        end = self.source.find("\n", self.at)
        self.at = len(self.source) if end < 0 else end

    def operator(self) -> str:
        """The control operator here; `>&` for a redirection that begins with `&`."""
        if self.peek(2) == "&>":
            self.at += 3 if self.peek(3) == "&>>" else 2
            return ">&"
        for operator in ("&&", "||", "|&", ";;"):
            if self.source.startswith(operator, self.at):
                self.at += 2
                return "|" if operator == "|&" else operator
        self.at += 1
        return self.source[self.at - 1]

    # Redirections

    def is_numbered_redirection(self) -> bool:
        at = self.at
        while self.source[at : at + 1].isdigit():
            at += 1
        return self.source[at : at + 1] in {"<", ">"}

    def redirection(self, words: list[Word], redirections: list[Redirection]) -> None:
        number = ""
        while self.peek().isdigit():
            number += self.peek()
            self.at += 1
        if self.peek(2) in {"<(", ">("}:
            words.append(self.word())
            return
        for operator in ("<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"):
            if self.source.startswith(operator, self.at):
                self.at += len(operator)
                break
        if operator in {"<<", "<<-"}:
            word = self.heredoc(strip=operator == "<<-")
            redirections.append(Redirection("<<", word))
            return
        word = self.spaced_word()
        if operator == "<<<":
            word.add("\n")
            redirections.append(Redirection("<<", word))
        elif operator == ">>" and number in {"", "1"}:
            redirections.append(Redirection(">>", word))
        elif operator in {">", ">|"} and number in {"", "1"}:
            redirections.append(Redirection(">", word))
        elif operator == "<" and number in {"", "0"}:
            redirections.append(Redirection("<", word))

    def spaced_word(self) -> Word:
        while self.peek() in {" ", "\t"}:
            self.at += 1
        return self.word()

    def heredoc(self, strip: bool) -> Word:
        while self.peek() in {" ", "\t"}:
            self.at += 1
        start = self.at
        end = self.word().plain
        written = self.source[start : self.at]
        body = Word()
        self.pending.append(_Heredoc(body, end or written, any(mark in written for mark in "'\"\\"), strip))
        return body

    def heredoc_bodies(self) -> None:
        """Read the bodies of the here-documents that the line before announced."""
        for heredoc in self.pending:
            lines: list[str] = []
            while self.at < len(self.source):
                line_end = self.source.find("\n", self.at)
                line_end = len(self.source) if line_end < 0 else line_end
                line = self.source[self.at : line_end]
                stripped = line.lstrip("\t") if heredoc.strip else line
                if stripped == heredoc.end:
                    self.at = min(line_end + 1, len(self.source))
                    break
                # In a substitution the closing parenthesis may follow the end mark on its line.
                if stripped.startswith(heredoc.end) and stripped[len(heredoc.end) :].lstrip()[:1] == ")":
                    self.at = self.at + line.index(heredoc.end) + len(heredoc.end)
                    break
                self.at = min(line_end + 1, len(self.source))
                lines.append(stripped + "\n")
            text = "".join(lines)
            if heredoc.quoted:
                heredoc.word.parts.append(Part(TEXT, text))
            else:
                inner = _Reader(text, self.depth + 1)
                inner.double_quoted(heredoc.word, "")
        self.pending.clear()

    # Words

    def word(self) -> Word:
        """The word here, possibly empty (then the position has moved, so that reading goes on)."""
        word = Word()
        start = self.at
        while self.at < len(self.source):
            character = self.source[self.at]
            if self.peek(2) in {"<(", ">("} and self.at == start:
                self.at += 2
                script = self.substitution(")")
                word.parts.append(Part(OUTPUT_FILE, "", script))
            elif character in _ENDS_WORD:
                break
            elif character == "'":
                self.single_quoted(word)
            elif character == '"':
                self.at += 1
                word.add("")
                self.double_quoted(word, '"')
            elif character == "\\":
                following = self.source[self.at + 1 : self.at + 2]
                self.at += 2
                if following != "\n":
                    word.add(following)
            elif self.peek(2) == "$'":
                self.at += 2
                word.add(self.ansi_quoted())
            elif self.peek(2) == '$"':
                self.at += 1
            elif character in "$`":
                self.expansion(word)
            else:
                word.add(character)
                self.at += 1
        if self.at == start:
            self.at += 1
        return word

    def single_quoted(self, word: Word) -> None:
        end = self.source.find("'", self.at + 1)
        end = len(self.source) if end < 0 else end
        word.add(self.source[self.at + 1 : end])
        self.at = end + 1

    def double_quoted(self, word: Word, end: str) -> None:
        """The inside of double quotes up to `end`, or of an unquoted here-document up to its end."""
        while self.at < len(self.source):
            character = self.source[self.at]
            if character == end:
                self.at += 1
                return
            if character == "\\":
                following = self.source[self.at + 1 : self.at + 2]
                self.at += 2
                if following == "\n":
                    continue
                word.add(following if following in {"$", "`", '"', "\\"} else "\\" + following)
            elif character in "$`":
                self.expansion(word)
            else:
                stop = self.at + 1
                while stop < len(self.source) and self.source[stop] not in '"\\$`':
                    stop += 1
                word.add(self.source[self.at : stop])
                self.at = stop

    def ansi_quoted(self) -> str:
        """The inside of `$'…'`."""
        parts: list[str] = []
        while self.at < len(self.source):
            character = self.source[self.at]
            self.at += 1
            if character == "'":
                break
            if character != "\\":
                parts.append(character)
                continue
            parts.append(self.ansi_escape())
        return "".join(parts)

    def ansi_escape(self) -> str:
        letter = self.peek()
        self.at += 1
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if letter in {"x", "u", "U"}:
            return self.code_point(16, {"x": 2, "u": 4, "U": 8}[letter])
        if letter in "01234567" and letter:
            self.at -= 1
            return self.code_point(8, 3)
        return letter

    def code_point(self, base: int, most: int) -> str:
        digits = ""
        allowed = "0123456789abcdefABCDEF" if base == 16 else "01234567"
        while len(digits) < most and self.peek() and self.peek() in allowed:
            digits += self.peek()
            self.at += 1
        number = int(digits, base) if digits else 0
        return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else ""

    def expansion(self, word: Word) -> None:
        """What begins with `$` or a backquote."""
        if self.peek() == "`":
            end = self.at + 1
            while end < len(self.source) and self.source[end] != "`":
                end += 2 if self.source[end] == "\\" else 1
            inside = self.source[self.at + 1 : end].replace("\\`", "`").replace("\\\\", "\\")
            self.at = end + 1
            word.parts.append(Part(OUTPUT, "", tuple(parse(inside, self.depth + 1))))
        elif self.peek(3) == "$((":
            end = self.source.find("))", self.at)
            end = len(self.source) if end < 0 else end + 2
            word.add(self.source[self.at : end])
            self.at = end
        elif self.peek(2) == "$(":
            self.at += 2
            word.parts.append(Part(OUTPUT, "", self.substitution(")")))
        elif self.peek(2) == "${":
            end = self.source.find("}", self.at)
            end = len(self.source) if end < 0 else end
            word.parts.append(Part(VARIABLE, self.source[self.at + 2 : end]))
            self.at = end + 1
        else:
            end = self.at + 1
            while end < len(self.source) and self.source[end] in _NAME:
                end += 1
            name = self.source[self.at + 1 : end]
            if name:
                word.parts.append(Part(VARIABLE, name))
            else:
                word.add("$")
            self.at = end

    def substitution(self, end: str) -> tuple[Command, ...]:
        """The commands up to the closing parenthesis; here-documents inside belong to them."""
        pending, self.pending = self.pending, []
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLong(f"nested more than {MAX_DEPTH} deep")
        try:
            return tuple(self.script(end))
        finally:
            self.depth -= 1
            self.pending = pending
