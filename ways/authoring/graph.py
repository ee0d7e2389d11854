"""The tree of ways with its near pairs, as Graphviz DOT, Mermaid or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from ways.catalogue.way import Way
from ways.core.text import printable

FORMATS = ("dot", "mermaid", "json")
TREE, NEAR, DUPLICATE = "tree", "near", "duplicate"


@dataclass(frozen=True)
class Node:
    """A way, or a folder between ways (`is_way` False)."""

    id: str
    root: str
    is_way: bool
    description: str


@dataclass(frozen=True)
class Edge:
    """`tree` from a parent to a child; `near` or `duplicate` between two ways, with the cosine."""

    kind: str
    source: str
    target: str
    cosine: float | None = None


@dataclass(frozen=True)
class Graph:
    """Nodes in tree order, tree edges first, then near pairs, the nearest first."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def build(
    ways: Sequence[Way], cosines: Mapping[tuple[str, str], float], near: float, duplicate: float
) -> Graph:
    """The graph of these ways; a pair with a cosine of at least `near` is an edge, from `duplicate` on it
    counts as hard to tell apart."""
    known = {way.id: way for way in ways}
    ids = set(known)
    for way in ways:
        ids.update(way.parent_ids)
    nodes = []
    edges: list[Edge] = []
    for node in sorted(ids, key=lambda one: one.split("/")):
        found = known.get(node)
        nodes.append(
            Node(
                node, found.root_kind if found else "", found is not None, found.description if found else ""
            )
        )
        if "/" in node:
            edges.append(Edge(TREE, node.rsplit("/", 1)[0], node))
    named = {way.corpus_id: way.id for way in ways}
    pairs = [(value, *pair) for pair, value in cosines.items() if value >= near]
    for value, first, second in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        if first in named and second in named:
            one, other = sorted((named[first], named[second]))
            edges.append(Edge(DUPLICATE if value >= duplicate else NEAR, one, other, round(value, 3)))
    return Graph(tuple(nodes), tuple(edges))


def written(graph: Graph, form: str) -> str:
    """The graph in one of FORMATS, ending in a line break."""
    return {"dot": dot, "mermaid": mermaid, "json": as_json}[form](graph)


def as_json(graph: Graph) -> str:
    """Nodes and edges as plain data."""
    edges = [
        {name: value for name, value in asdict(edge).items() if value is not None} for edge in graph.edges
    ]
    return json.dumps({"nodes": [asdict(node) for node in graph.nodes], "edges": edges}, indent=2) + "\n"


def dot(graph: Graph) -> str:
    """For Graphviz: `ways author graph | dot -Tsvg`."""
    lines = ["digraph ways {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif", fontsize=10];']
    for node in graph.nodes:
        style = "" if node.is_way else ", style=dashed"
        lines.append(
            f"  {_dot(node.id)} [label={_dot(_name(node.id))}, tooltip={_dot(node.description)}{style}];"
        )
    for edge in graph.edges:
        look = ""
        if edge.kind != TREE:
            colour = "red" if edge.kind == DUPLICATE else "gray"
            look = f' [dir=none, constraint=false, color={colour}, style=dashed, label="{edge.cosine:.2f}"]'
        lines.append(f"  {_dot(edge.source)} -> {_dot(edge.target)}{look};")
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(graph: Graph) -> str:
    """For Markdown pages that draw Mermaid."""
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node in graph.nodes:
        label = _mermaid(_name(node.id))
        lines.append(f'  {names[node.id]}["{label}"]' if node.is_way else f'  {names[node.id]}(["{label}"])')
    for edge in graph.edges:
        source, target = names[edge.source], names[edge.target]
        if edge.kind == TREE:
            lines.append(f"  {source} --> {target}")
        else:
            arrow = "==" if edge.kind == DUPLICATE else "-."
            tail = "===" if edge.kind == DUPLICATE else ".-"
            lines.append(f"  {source} {arrow} {edge.cosine:.2f} {tail} {target}")
    return "\n".join(lines) + "\n"


def _name(way_id: str) -> str:
    return way_id.rsplit("/", 1)[-1]


def _dot(text: str) -> str:
    clean = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(clean.split())}"'


def _mermaid(text: str) -> str:
    """A label in which no character has a meaning of its own."""
    return "".join(c if c.isalnum() or c in " -_." else f"#{ord(c)};" for c in printable(text))
