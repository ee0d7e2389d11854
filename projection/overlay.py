"""What a dry run pretends: a tree of changes laid over the disk, held in memory.

A path is looked up by its `place`: absolute, every link in its parents resolved (through the
overlay), so that a link which the dry run made is followed like one on the disk.
"""

from __future__ import annotations

import os
import stat
from typing import Literal

from ways.core.record import record, replace
from windows import junctions

MAX_LINKS = 40


class OverlayError(OSError):
    """Too many links on the way, or a missing folder on it."""


@record
class Node:
    """What is at one place. `disk` stands for the disk's own file or folder at `real` (which may have
    been moved here); `mode` is -1 where the disk's own counts."""

    kind: Literal["absent", "file", "folder", "link", "junction", "disk"]
    data: bytes = b""
    target: str = ""
    real: str = ""
    mode: int = -1

    def with_mode(self, mode: int) -> Node:
        """The same with other permission bits."""
        return replace(self, mode=mode)


class Overlay:
    """The changes, by place.

    A folder of the disk that was seen to be no link is taken for one as long as the overlay lives: a plan
    looks at some thousand files in the same few folders, and on Windows every look opens the file.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._plain_folders: set[str] = set()

    def lookup(self, place: str) -> Node:
        """The node at a place; `disk` nodes are not checked for existence."""
        node = self._nodes.get(place)
        if node is not None:
            return node
        at = place
        while (parent := os.path.dirname(at)) != at:
            at = parent
            node = self._nodes.get(at)
            if node is None:
                continue
            if node.kind == "disk":
                return Node("disk", real=node.real + place[len(at) :])
            return Node("absent")
        return Node("disk", real=place)

    def put(self, place: str, node: Node, keep_children: bool = False) -> None:
        """Set what is at a place; what was below it is gone unless `keep_children`."""
        if not keep_children:
            for child in self._below(place):
                del self._nodes[child]
        self._nodes[place] = node

    def move(self, source: str, place: str) -> None:
        """Move a node with everything below it; `source` is absent afterwards."""
        node = self.lookup(source)
        carried = {place + child[len(source) :]: self._nodes[child] for child in self._below(source)}
        self.put(source, Node("absent"))
        self.put(place, node)
        self._nodes.update(carried)

    def names(self, place: str) -> list[str]:
        """Sorted names in the folder at a place. Raises OSError when it is none."""
        node = self.lookup(place)
        if node.kind == "disk":
            found = set(os.listdir(node.real))
        elif node.kind == "folder":
            found = set()
        else:
            raise OverlayError(20, "Not a directory", place)
        for child in self._below(place):
            name = os.path.relpath(child, place)
            if os.sep in name:
                continue
            if self._nodes[child].kind == "absent":
                found.discard(name)
            else:
                found.add(name)
        return sorted(found)

    def link_target(self, place: str) -> str | None:
        """Where the link at a place points, None when there is no link."""
        node = self.lookup(place)
        if node.kind in {"link", "junction"}:
            return node.target
        if node.kind != "disk" or node.real in self._plain_folders:
            return None
        try:
            found = os.lstat(node.real)
            if not stat.S_ISLNK(found.st_mode) and not junctions.is_junction(found):
                if stat.S_ISDIR(found.st_mode):
                    self._plain_folders.add(node.real)
                return None
            return junctions.plain(os.readlink(node.real))
        except OSError:
            return None

    def place(self, path: str) -> str:
        """`path` with the links of its parents resolved, itself not followed."""
        path = os.path.abspath(path)
        parent = os.path.dirname(path)
        if parent == path:
            return path
        return os.path.join(self.resolve(parent, strict=False), os.path.basename(path))

    def resolve(self, path: str, strict: bool = True) -> str:
        """`path` with every link resolved. With `strict` a place where nothing is raises OverlayError."""
        drive, rest = os.path.splitdrive(os.path.abspath(path) if not os.path.isabs(path) else path)
        at = drive + os.sep
        parts = [part for part in rest.split(os.sep) if part not in {"", "."}][::-1]
        followed = 0
        while parts:
            part = parts.pop()
            if part == "..":
                at = os.path.dirname(at)
                continue
            step = os.path.join(at, part)
            target = self.link_target(step)
            if target is None:
                at = step
                continue
            followed += 1
            if followed > MAX_LINKS:
                raise OverlayError(40, "Too many levels of symbolic links", path)
            drive, rest = os.path.splitdrive(target)
            if os.path.isabs(target):
                at = drive + os.sep
            parts += [piece for piece in rest.split(os.sep) if piece not in {"", "."}][::-1]
        if strict and not self._is_there(at):
            raise OverlayError(2, "No such file or directory", path)
        return at

    def _is_there(self, place: str) -> bool:
        node = self.lookup(place)
        return os.path.lexists(node.real) if node.kind == "disk" else node.kind != "absent"

    def _below(self, place: str) -> list[str]:
        prefix = place.rstrip(os.sep) + os.sep
        return [known for known in self._nodes if known.startswith(prefix)]
