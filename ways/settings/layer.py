"""What one settings file gives: values and diagnostics. Apart from the parser, so that a hook which finds a
cached parse loads neither the parser nor the registry."""

from __future__ import annotations

from ways.core.record import record


@record
class Diagnostic:
    """What is wrong in a settings file: the file, the line (1-based; 0 for the whole file), the key."""

    file: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


@record
class Layer:
    """The usable settings of one file: values by dotted key, and what was left out and why."""

    values: dict[str, object]
    diagnostics: tuple[Diagnostic, ...] = ()
