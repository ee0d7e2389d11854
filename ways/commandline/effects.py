"""What the commands of a script would print, set, write and publish, as far as that can be told unrun.

Followed are literal text, variables that the script sets itself, `echo`, `printf`, `cat`, `tee`,
here-documents, pipes, files that the script writes or that are there, and `sh -c`. Everything else is
unknown, and stands in a word as it was written.
"""

from __future__ import annotations

import os

from ways.commandline import posix, powershell, publishing
from ways.commandline.syntax import OUTPUT, OUTPUT_FILE, TEXT, VARIABLE, Command, TooLong, Word
from ways.core import files, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ways.commandline.publishing import Published

MAX_FILE = 1 << 20
MAX_DEPTH = 10
# Pieces of words; a script that doubles a variable again and again must end.
MAX_STEPS = 20_000
_KEYWORDS = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "do",
        "while",
        "until",
        "!",
        "{",
        "}",
        "(",
        ")",
        "time",
        "fi",
        "done",
        "in",
    ]
)
# Programs that run the program named after their own options.
_WRAPPERS = frozenset(
    [
        *("command", "builtin", "exec", "nohup", "sudo", "doas", "env", "nice", "timeout"),
        *("stdbuf", "setsid", "ionice", "chronic", "xargs", "winpty"),
    ]
)
_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "busybox"])
_DECLARE = frozenset(["export", "local", "declare", "readonly", "typeset"])
_PRINTERS = frozenset(
    ["echo", "printf", "cat", "tee", "write-output", "get-content", "set-content", "out-file"]
)
_MEANT = _SHELLS | _PRINTERS | {"git", "gh", "eval"}


def published(source: str, cwd: str, home: str, windows_shell: bool = False) -> list[Published]:
    """The texts that the `git commit`, `gh pr` and `gh issue` commands of a script would publish.

    `cwd` is where the script starts; files are read from there, at most 1 MiB of each. A script that is too
    long or too deep yields what was found up to there.
    """
    script = Script(cwd, home, windows_shell)
    try:
        script.run_source(source)
    except (TooLong, RecursionError):
        return script.published
    return script.published


class Script:
    """The state of a script while it is followed."""

    def __init__(self, cwd: str, home: str, windows_shell: bool = False) -> None:
        self.cwd = cwd
        self.home = home
        self.variables: dict[str, str] = {}
        self.files: dict[str, str | None] = {}
        self.published: list[Published] = []
        self.windows = windows_shell
        self._depth = 0
        self._steps = 0

    def run_source(self, source: str) -> str | None:
        """Follow a script given as text; what it would print."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooLong("scripts in scripts")
        try:
            return self.run(powershell.parse(source) if self.windows else posix.parse(source))
        finally:
            self._depth -= 1

    def run(self, commands: Iterable[Command]) -> str | None:
        """Follow commands; what they print together, None when some of it is unknown."""
        printed: list[str | None] = []
        groups: list[
            tuple[int, str]
        ] = []  # how much had been printed, and where the script was, at each start
        piped: str | None = None
        for command in commands:
            first = command.words[0].plain if command.words else None
            if first in {"(", "{"}:
                groups.append((len(printed), self.cwd if first == "(" else ""))
            if first in {")", "}"} and groups:
                start, cwd = groups.pop()
                output = self.redirected(command, _joined(printed[start:]))
                del printed[start:]
                self.cwd = cwd or self.cwd
            else:
                output = self.command(command, piped)
            piped = output if command.following == "|" else None
            if command.following != "|":
                printed.append(output)
        return _joined(printed)

    # Words

    def expand(self, word: Word) -> str:
        """The text of a word; what is unknown stands there as written. Raises TooLong."""
        parts: list[str] = []
        for part in word.parts:
            self._steps += 1
            if self._steps > MAX_STEPS or sum(map(len, parts)) > posix.MAX_CHARACTERS:
                raise TooLong("more than any message takes")
            if part.kind == TEXT:
                parts.append(part.text)
            elif part.kind == VARIABLE:
                parts.append(self.variable(part.text))
            elif part.kind == OUTPUT:
                output = self.inner(part.script)
                parts.append("$(…)" if output is None else output.rstrip("\n"))
            elif part.kind == OUTPUT_FILE:
                name = f"/dev/fd/of-this-script-{len(self.files)}"
                self.files[name] = self.inner(part.script)
                parts.append(name)
        return "".join(parts)

    def inner(self, script: tuple[Command, ...]) -> str | None:
        cwd, variables = self.cwd, dict(self.variables)
        try:
            return self.run(script)
        finally:
            self.cwd, self.variables = cwd, variables

    def variable(self, name: str) -> str:
        key = name.lower() if self.windows else name
        if key in self.variables:
            return self.variables[key]
        for mark in (":-", "-"):
            known, found, default = name.partition(mark)
            if found:
                return self.variables.get(known) or default
        return self.home if name == "HOME" else f"${name}"

    # Commands

    def command(self, command: Command, piped: str | None) -> str | None:
        """Follow one command; what it prints, None when that is unknown."""
        if self.is_assignment(command):
            return ""
        words = [self.expand(word) for word in command.words]
        if self.windows and len(words) == 1 and command.following == "|":
            return words[0] + "\n"  # a value that is sent into the pipe
        stdin = piped
        for redirection in command.redirections:
            if redirection.operator == "<<":
                stdin = self.expand(redirection.word)
            elif redirection.operator == "<":
                stdin = self.read(self.expand(redirection.word))
        return self.redirected(command, self.words(words, stdin) if words else stdin)

    def redirected(self, command: Command, output: str | None) -> str | None:
        """What is still printed when the command's redirections have taken their part."""
        for redirection in command.redirections:
            if redirection.operator in {">", ">>"}:
                self.write(self.expand(redirection.word), output, append=redirection.operator == ">>")
                output = ""
        return output

    def is_assignment(self, command: Command) -> bool:
        """PowerShell's `$name = value`, which is then done."""
        words = command.words
        if not self.windows or len(words) < 3 or words[1].plain != "=":
            return False
        target = words[0].parts
        if len(target) != 1 or target[0].kind != VARIABLE:
            return False
        self.variables[target[0].text.lower()] = " ".join(self.expand(word) for word in words[2:])
        return True

    def words(self, words: list[str], stdin: str | None) -> str | None:
        """Follow a command whose words are known."""
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        assigned: dict[str, str] = {}
        while words and _is_assignment(words[0]):
            name, _, value = words[0].partition("=")
            assigned[name] = value
            words = words[1:]
        if not words:
            self.variables.update(assigned)
            return ""
        name = program_name(words[0])
        if name in _WRAPPERS:
            start = next((at for at, word in enumerate(words) if at and program_name(word) in _MEANT), 0)
            if not start:
                return None
            words, name = words[start:], program_name(words[start])
        return self.program(name, words[1:], stdin)

    def program(self, name: str, arguments: list[str], stdin: str | None) -> str | None:
        if name in _DECLARE:
            for word in arguments:
                if _is_assignment(word):
                    key, _, value = word.partition("=")
                    self.variables[key] = value
            return ""
        if name in {"cd", "pushd", "set-location", "chdir"} and arguments:
            self.cwd = self.place(arguments[-1])
            return ""
        if name in {"git", "gh"}:
            found = publishing.of_git if name == "git" else publishing.of_gh
            self.published.extend(found(arguments, lambda path, base: self.text_of(path, base, stdin)))
            return None
        if name == "eval":
            return self.run_source(" ".join(arguments))
        if name in _SHELLS:
            return self.shell(arguments, stdin)
        return self.printer(name, arguments, stdin)

    def shell(self, arguments: list[str], stdin: str | None) -> str | None:
        for at, word in enumerate(arguments):
            if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
                return self.run_source(arguments[at + 1]) if at + 1 < len(arguments) else None
        plain = [word for word in arguments if not word.startswith("-")]
        if not plain and stdin is not None:
            return self.run_source(stdin)
        return None

    def printer(self, name: str, arguments: list[str], stdin: str | None) -> str | None:
        """What the commands print that only pass text on."""
        if name in {"echo", "write-output"}:
            return _echo(arguments)
        if name == "printf":
            return _printf(arguments)
        if name in {"cat", "get-content", "type", "gc"}:
            names = [word for word in arguments if word == "-" or not word.startswith("-")]
            return _joined([stdin if word == "-" else self.read(word) for word in names] or [stdin])
        if name == "tee" or (name in {"set-content", "out-file", "add-content"}):
            return self.save(name, arguments, stdin)
        return None

    def save(self, name: str, arguments: list[str], stdin: str | None) -> str | None:
        """`tee FILE…`, and PowerShell's `Set-Content -Path FILE -Value TEXT`."""
        value, names, following = stdin, [], ""
        for word in arguments:
            if following == "-value":
                value = word
            elif not word.startswith("-") and following not in {"-encoding"}:
                names.append(word)
            following = word.lower() if word.startswith("-") else ""
        if name != "tee" and len(names) == 2 and stdin is None and value is None:
            value = names.pop()
        for place in names:
            self.write(place, value, append="-a" in arguments or name == "add-content")
        return value if name == "tee" else ""

    # Files

    def place(self, path: str, base: str = "") -> str:
        """The absolute path that a path in the script names."""
        if path == "~" or path.startswith(("~/", "~\\")):
            path = self.home + path[1:]
        if os.name == "nt":
            path = text.match_path(path)
        return os.path.normpath(os.path.join(base or self.cwd or os.sep, path))

    def write(self, path: str, content: str | None, append: bool = False) -> None:
        where = self.place(path)
        if append:
            before = self.files[where] if where in self.files else _file(where)
            content = None if content is None or before is None else before + content
        self.files[where] = content

    def read(self, path: str, base: str = "") -> str | None:
        """The content of a file as the script would find it; None when it cannot be known."""
        where = self.place(path, base)
        return self.files[where] if where in self.files else _file(where)

    def text_of(self, path: str, base: str, stdin: str | None) -> str | None:
        """What an option that names a file gives: `-` is the standard input. `base` is where git was sent."""
        if path in {"-", "/dev/stdin"}:
            return stdin
        return self.read(path, self.place(base) if base else "")


def program_name(word: str) -> str:
    """`/usr/bin/Git.exe` as `git`."""
    name = word.replace("\\", "/").rsplit("/", 1)[-1].lower()
    return name.removesuffix(".exe").removesuffix(".cmd")


def _joined(parts: list[str | None]) -> str | None:
    return None if None in parts else "".join(part for part in parts if part is not None)


def _is_assignment(word: str) -> bool:
    name, found, _ = word.partition("=")
    name = name.removesuffix("+")
    return bool(found) and name.isidentifier() and name.isascii()


def _file(path: str) -> str | None:
    """A regular file's text; "" for none, which is what a command would find too."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return ""
    if info.st_mode & 0o170000 != 0o100000:
        return None
    data = files.read_bytes_or_none(path, MAX_FILE)
    return None if data is None else text.decode(data).replace("\r\n", "\n")


def _echo(arguments: list[str]) -> str:
    """Some shells read `\\n` in it as a line break and some do not: here it is one."""
    end = "\n"
    while arguments and arguments[0] in {"-e", "-n", "-E", "-ne", "-en"}:
        end = "" if "n" in arguments[0] else end
        arguments = arguments[1:]
    return _unescaped(" ".join(arguments)) + end


def _printf(arguments: list[str]) -> str | None:
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments:
        return ""
    form, values = _unescaped(arguments[0]), arguments[1:]
    printed: list[str] = []
    while True:
        once, left = _printf_once(form, values)
        printed.append(once)
        if not left or len(left) == len(values):
            return "".join(printed)
        values = left


def _printf_once(form: str, values: list[str]) -> tuple[str, list[str]]:
    """The format filled in once, and the values that are left."""
    parts: list[str] = []
    at = 0
    while at < len(form):
        if form[at] != "%" or at + 1 >= len(form):
            parts.append(form[at])
            at += 1
            continue
        end = at + 1
        while end < len(form) and form[end] in "-+ #0123456789.*":
            end += 1
        letter = form[end : end + 1]
        if letter == "%":
            parts.append("%")
        else:
            value = values[0] if values else ""
            values = values[1:]
            parts.append(_unescaped(value) if letter == "b" else value)
        at = end + 1
    return "".join(parts), values


def _unescaped(source: str) -> str:
    for written, meant in (("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\\\", "\\")):
        source = source.replace(written, meant)
    return source
