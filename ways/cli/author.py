"""`ways author`: writing ways and finding out what they do."""

from __future__ import annotations

import click

from ways.cli.lazy import LazyCommands

COMMANDS = {
    "template": ("author_template", "A way to start from"),
    "lint": ("author_lint", "What is wrong with ways, for people and for CI"),
    "match": ("author_match", "Which ways a text fires, and why"),
    "suggest": ("author_suggest", "Words that tell a way from its neighbours"),
    "siblings": ("author_siblings", "The ways nearest to a way"),
    "tree": ("author_tree", "All ways that hold here, as a tree"),
    "graph": ("author_graph", "The tree with ways that lie near each other"),
    "permissions": ("author_permissions", "Permissions that the ways' guidance needs"),
    "reflow": ("author_reflow", "Re-wrap the paragraphs of your own ways"),
}


@click.group(name="author", cls=LazyCommands, modules=COMMANDS)
def command() -> None:
    """Write ways, and see what they match."""
