"""The one error that a person reads, and the exit codes (spec: command line)."""

from __future__ import annotations

DONE = 0
WRONG = 1  # the thing checked for is wrong
USAGE = 2
REFUSED = 3  # refused, to protect the user's files
OVERRIDDEN = 4  # written, but a higher layer overrides it
WRITE_FAILED = 5
UNVERIFIED = 6  # network or verification failed
INTERRUPTED = 130


class UserError(Exception):
    """Something the user can act on: what and where, the next command, and the exit code.

    `message` is one line without a final period-less ramble: what is wrong and where (file, line,
    key). `next_command` is what to type next, or "" when there is nothing to type.
    """

    def __init__(self, message: str, next_command: str = "", exit_code: int = WRONG) -> None:
        super().__init__(message)
        self.message = message
        self.next_command = next_command
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.message}  Next: {self.next_command}" if self.next_command else self.message
