"""What `ways --version` prints."""

from __future__ import annotations

import json
import os
import platform
import sys

import ways
from ways.core import active, environment, files, roots


def facts() -> dict[str, str]:
    """Version, commit ("" when unknown), build kind (`frozen` or `source`), Python and engine."""
    release = _release()
    return {
        "version": ways.__version__,
        "commit": release.get("commit", ""),
        "build": "frozen" if getattr(sys, "frozen", False) else "source",
        "python": platform.python_version(),
        "llama.cpp": _engine(),
    }


def _release() -> dict[str, str]:
    """The facts in the `release.json` of the version that runs: the frozen program's own, else the active
    one's. Empty when there is none."""
    folder = environment.version_folder() or active.folder(roots.resolve().app)
    path = os.path.join(folder, "release.json")
    data = files.read_bytes_or_none(path, 65536)
    if data is None:
        return {}
    try:
        document = json.loads(data)
    except ValueError:
        return {}
    return {key: str(value) for key, value in document.items()} if isinstance(document, dict) else {}


def _engine() -> str:
    try:
        from ways.embedding.native import ENGINE_VERSION
    except ImportError:
        return "not in this build"
    return str(ENGINE_VERSION)


def text(as_json: bool) -> str:
    """One line for people, or the same as JSON."""
    values = facts()
    if as_json:
        return json.dumps(values)
    commit = f" ({values['commit'][:10]})" if values["commit"] else ""
    return (
        f"ways {values['version']}{commit}, {values['build']} build, Python {values['python']}, "
        f"engine {values['llama.cpp']}"
    )
