"""The replay as one self-contained page (spec: telemetry; quality, Security).

Nothing of the log is ever markup: the data stands in one JSON block in which `<`, `>` and `&` are escaped,
and the script writes it with textContent. The content security policy allows this page's own script and style
by their hashes and nothing else: no network, no inline handler, no frame, no form.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Sequence

from ways.core import files
from ways.core.jsontext import clean_tree
from ways.core.text import printable
from ways.readers import describe
from ways.readers.document import page_data
from ways.readers.timeline import Timeline

GENERATOR = "ways session replay"
_HERE = os.path.dirname(os.path.abspath(__file__))

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="{generator}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page needs its own script, which is inside it; it loads nothing.</noscript>
<div id="app"></div>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def render(timelines: Sequence[Timeline]) -> str:
    """The page of these sessions, the first one shown first. Raises OSError when its parts are not there."""
    style, script = _part("replay.css"), _part("replay.js")
    document = {
        "sessions": [page_data(timeline) for timeline in timelines],
        "marks": describe.MARKS,
    }
    only = timelines[0].session if len(timelines) == 1 else f"{len(timelines)} sessions"
    return _PAGE.format(
        policy=html.escape(policy(style, script), quote=True),
        generator=GENERATOR,
        title=html.escape(printable(f"Replay of {only}")),
        style=style,
        script=script,
        data=embedded(document),
    )


def policy(style: str, script: str) -> str:
    """The content security policy of a page with this style and script."""
    parts = (
        "default-src 'none'",
        f"style-src {_hash(style)}",
        f"script-src {_hash(script)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)


def embedded(document: object) -> str:
    """JSON that can stand inside a script element: no `<`, `>`, `&`, line separator or lone surrogate."""
    text = json.dumps(clean_tree(document), ensure_ascii=True, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _part(name: str) -> str:
    return files.read_bytes(os.path.join(_HERE, name)).decode("utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
