"""What Claude Code accepts under `hooks` and `permissions`, and where a file departs from it.

One entry of a wrong type can make Claude Code drop the whole file (spec: hooks, the contract), so a
file with one is refused and left to its owner. Unknown members, unknown events and hook types that
we do not use are the user's and pass.
"""

from __future__ import annotations

from projection.claude_settings.text import Document, Kind, Malformed, Node

PERMISSION_LISTS = ("allow", "deny", "ask", "additionalDirectories")
_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "number": "a number",
    "literal": "true, false or null",
}


def check(document: Document) -> None:
    """Raise Malformed for the first member of `hooks` or `permissions` that has another type than
    Claude Code gives it."""
    hooks = document.root.get("hooks")
    if hooks:
        _check_hooks(document, hooks)
    permissions = document.root.get("permissions")
    if permissions:
        _check_permissions(document, permissions)


def _check_hooks(document: Document, hooks: Node) -> None:
    _expect(document, hooks, "object", "hooks")
    for event in hooks.members:
        place = f"hooks.{event.key}"
        _expect(document, event.value, "array", place)
        for number, group in enumerate(event.value.items):
            _check_group(document, group, f"{place}[{number}]")


def _check_group(document: Document, group: Node, place: str) -> None:
    _expect(document, group, "object", place)
    _expect_member(document, group, "matcher", "string", place)
    hooks = _expect_member(document, group, "hooks", "array", place)
    for number, hook in enumerate(hooks.items if hooks else []):
        _check_hook(document, hook, f"{place}.hooks[{number}]")


def _check_hook(document: Document, hook: Node, place: str) -> None:
    _expect(document, hook, "object", place)
    _expect_member(document, hook, "type", "string", place)
    _expect_member(document, hook, "command", "string", place)
    _expect_member(document, hook, "timeout", "number", place)
    _expect_strings(document, hook, "args", place)


def _check_permissions(document: Document, permissions: Node) -> None:
    _expect(document, permissions, "object", "permissions")
    for name in PERMISSION_LISTS:
        _expect_strings(document, permissions, name, "permissions")
    _expect_member(document, permissions, "defaultMode", "string", "permissions")


def _expect_strings(document: Document, parent: Node, name: str, place: str) -> None:
    listed = _expect_member(document, parent, name, "array", place)
    for number, item in enumerate(listed.items if listed else []):
        _expect(document, item, "string", f"{place}.{name}[{number}]")


def _expect_member(document: Document, parent: Node, name: str, kind: Kind, place: str) -> Node | None:
    node = parent.get(name)
    if node:
        _expect(document, node, kind, f"{place}.{name}")
    return node


def _expect(document: Document, node: Node, kind: Kind, place: str) -> None:
    if node.kind != kind:
        what = f"{place} is {_NAMES[node.kind]} where Claude Code expects {_NAMES[kind]}"
        raise Malformed(what, *document.position(node.start))
