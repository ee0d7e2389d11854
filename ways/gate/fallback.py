"""Why there was no verdict: the exact words of the spec, counted by the part before the colon."""

from __future__ import annotations

# In the hook.
CONFIG = "config"
AGENT_MISSING = "agent_missing"
AGENT_START = "agent_start"
AGENT_START_BACKOFF = "agent_start_backoff"
CONNECT = "connect"
AGENT_UNTRUSTED = "agent_untrusted"
ENCODE = "encode"
# In the agent, before a call (`config` and `deadline: before call` too).
OFF = "off"
NO_KEY = "no_key"
KEY = "key"
KEY_UNVERIFIED = "key_unverified"
BUSY = "busy"
AGENT_STOPPING = "agent_stopping"
AGENT_ERROR = "agent_error"
# At or after the call; `provider_<status>` is built where the status is known.
DEADLINE = "deadline"
TRANSPORT = "transport"
ANSWER = "answer"
IO = "io"
AGENT_CLOSED = "agent_closed"
DECODE = "decode"
UNEXPECTED_REPLY = "unexpected_reply"

MAX_REASON = 300


class Fallback(Exception):
    """There is no verdict, for `reason`: a word of this module, perhaps with `: ` and a detail."""

    def __init__(self, word: str, detail: str = "") -> None:
        self.reason = reason(word, detail)
        super().__init__(self.reason)


def reason(word: str, detail: str = "") -> str:
    """`word` or `word: detail`, on one line of at most 300 characters without control characters."""
    line = f"{word}: {detail}" if detail else word
    return "".join(c if c.isprintable() else " " for c in " ".join(line.split()))[:MAX_REASON]


def provider_status(status: int) -> str:
    """`provider_<status>`."""
    return f"provider_{status}"


def word_of(reason: str) -> str:
    """The part that is counted: what stands before the colon."""
    return reason.split(":", 1)[0]
