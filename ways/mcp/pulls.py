"""Recording a pull: by the hook that sees it where there is one, else by the server.

Only the hook knows which session and which agent of it has read the way, so it stamps the marker and logs
`way_pulled`. Where no such hook is wired, and for clients other than Claude Code, the server logs the event
without a session. Each pull is one event.
"""

from __future__ import annotations

import json
import os

from ways.core import files

READ_TOOL = "mcp__ways__ways_read"
CLAUDE_CODE = "claude-code"
_SETTINGS_BYTES = 4 << 20


def is_left_to_the_hook(client: str, target: str) -> bool:
    """True when `client` (its name by its own account) is Claude Code and the settings of the target (its
    config directory) hold a PostToolUse hook of ours for the read tool."""
    return client == CLAUDE_CODE and hook_is_wired(target)


def hook_is_wired(target: str) -> bool:
    """True when the target's settings.json runs `check-post` after the read tool."""
    data = files.read_bytes_or_none(os.path.join(target, "settings.json"), _SETTINGS_BYTES)
    if data is None:
        return False
    try:
        document = json.loads(data.decode("utf-8-sig"))
        groups = document["hooks"]["PostToolUse"]
    except (ValueError, KeyError, TypeError):
        return False
    for group in groups if isinstance(groups, list) else []:
        matcher = group.get("matcher") if isinstance(group, dict) else None
        if isinstance(matcher, str) and READ_TOOL in matcher.split("|") and "check-post" in json.dumps(group):
            return True
    return False
