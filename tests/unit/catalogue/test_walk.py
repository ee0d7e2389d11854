"""The walk of the three roots on real directories."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ways.catalogue import walk as walk_module
from ways.catalogue.cache import load
from ways.catalogue.walk import WayRoots, walk

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links and names")
not_root = pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="modes do not bind root")


def make(root: Path, way_id: str, front: str = "description: x", body: str = "body\n") -> Path:
    folder = root / way_id
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{folder.name}.md"
    path.write_text(f"---\n{front}\n---\n{body}")
    return path


def ids(root: Path, confined_to: str = "") -> list[str]:
    return sorted(file.id for file in walk("core", str(root), confined_to).files)


def test_what_is_a_way_and_what_is_not(tmp_path: Path) -> None:
    make(tmp_path, "a")
    make(tmp_path, "a/b/c")
    make(tmp_path, ".hidden/x")
    make(tmp_path, "_parts/x")
    make(tmp_path, "core")
    (tmp_path / "core.md").write_text("---\n---\n")
    (tmp_path / "a" / "other.md").write_text("---\n---\n")
    (tmp_path / "a" / "_template.md").write_text("---\n---\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "d.md").mkdir()
    assert ids(tmp_path) == ["a", "a/b/c"]


def test_scripts_and_checks_beside_a_way_are_found(tmp_path: Path) -> None:
    make(tmp_path, "a")
    for name in ("macro.sh", "postcheck.py", "macro.txt", "a.check.md", "macro.sh.bak"):
        (tmp_path / "a" / name).write_text("---\n---\n")
    (file,) = walk("core", str(tmp_path)).files
    assert file.siblings == ("macro.sh", "postcheck.py")
    assert file.check_path == str(tmp_path / "a" / "a.check.md")


def test_a_higher_root_shadows_and_the_order_is_that_of_the_tree(tmp_path: Path) -> None:
    project, user, core = tmp_path / "p", tmp_path / "u", tmp_path / "c"
    make(project / ".claude" / "ways", "b/x", "description: from project")
    make(user, "b/x", "description: from user")
    make(user, "b", "description: from user")
    for way_id in ("b-a", "b/x", "b", "a/z", "b/x/deep"):
        make(core, way_id, "description: from core")
    (core / "b" / "x" / "x.check.md").write_text("---\ncommands: x\n---\n")
    catalogue = load(WayRoots(str(project), str(user), str(core)), str(tmp_path / "cache"))
    assert [way.id for way in catalogue.ways] == ["a/z", "b", "b/x", "b/x/deep", "b-a"]
    by_id = {way.id: way for way in catalogue.ways}
    assert by_id["b/x"].description == "from project"
    assert by_id["b"].description == "from user"
    assert by_id["b/x"].corpus_id.startswith("p-")
    assert by_id["b"].corpus_id == "user:b"
    assert by_id["a/z"].corpus_id == "core:a/z"
    assert sorted(catalogue.shadowed) == sorted(
        [("b/x", str(user / "b/x/x.md")), ("b/x", str(core / "b/x/x.md")), ("b", str(core / "b/b.md"))]
    )
    assert len(catalogue.checks) == 0, "the check of a shadowed way is hidden with it"


def test_a_broken_file_in_a_higher_root_is_reported_and_the_one_below_stays(tmp_path: Path) -> None:
    user, core = tmp_path / "u", tmp_path / "c"
    make(user, "a", "description: [")
    make(core, "a", "description: from core")
    catalogue = load(WayRoots("", str(user), str(core)), str(tmp_path / "cache"))
    assert [way.description for way in catalogue.ways] == ["from core"]
    assert [(broken.path, broken.line) for broken in catalogue.broken] == [(str(user / "a" / "a.md"), 3)]


@posix
def test_case_h09_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    make(elsewhere, "linked/child")
    make(root, "a/b")
    (root / "a" / "up").symlink_to(root, target_is_directory=True)
    (root / "a" / "b" / "self").symlink_to(".", target_is_directory=True)
    (root / "l").symlink_to(elsewhere / "linked", target_is_directory=True)
    (root / "dangling").symlink_to(tmp_path / "nowhere")
    assert ids(root) == ["a/b", "l/child"]


@posix
def test_a_link_that_leaves_the_project_is_not_followed(tmp_path: Path) -> None:
    project, outside = tmp_path / "p", tmp_path / "p-outside"
    root = project / ".claude" / "ways"
    make(root, "own")
    make(project / "docs", "inside")
    secret = make(outside, "secret")
    (root / "in").symlink_to(project / "docs", target_is_directory=True)
    (root / "out").symlink_to(outside, target_is_directory=True)
    (root / "f").mkdir()
    (root / "f" / "f.md").symlink_to(secret)
    (root / "own" / "macro.sh").symlink_to(outside / "secret" / "secret.md")
    found = walk("project", str(root), str(project))
    assert sorted(file.id for file in found.files) == ["in/inside", "own"]
    assert all(not file.siblings for file in found.files)
    assert {broken.path for broken in found.broken} == {
        str(root / "out"),
        str(root / "f" / "f.md"),
        str(root / "own" / "macro.sh"),
    }


@posix
def test_a_projects_whole_root_behind_a_link_that_leaves_it(tmp_path: Path) -> None:
    project, outside = tmp_path / "p", tmp_path / "o"
    make(outside, "x")
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "ways").symlink_to(outside, target_is_directory=True)
    found = walk("project", str(project / ".claude" / "ways"), str(project))
    assert found.files == ()
    assert "leaves the project" in found.broken[0].message


@not_root
def test_an_unreadable_directory_ends_only_its_subtree(tmp_path: Path) -> None:
    make(tmp_path, "a/b")
    make(tmp_path, "c")
    (tmp_path / "a").chmod(0)
    try:
        found = walk("core", str(tmp_path))
    finally:
        (tmp_path / "a").chmod(0o700)
    assert [file.id for file in found.files] == ["c"]
    assert "cannot be read" in found.broken[0].message


def test_a_directory_that_fails_while_it_is_listed_ends_only_its_subtree(tmp_path, monkeypatch) -> None:
    make(tmp_path, "a/b")
    make(tmp_path, "c")
    real = os.scandir

    def failing(path):
        if str(path).endswith(os.sep + "a"):
            raise OSError(5, "Input/output error")
        return real(path)

    monkeypatch.setattr(walk_module.os, "scandir", failing)
    found = walk("core", str(tmp_path))
    assert [file.id for file in found.files] == ["c"]
    assert "Input/output error" in found.broken[0].message


def test_hostile_trees_are_bounded(tmp_path: Path, monkeypatch) -> None:
    make(tmp_path, "/".join(["d"] * 13))
    make(tmp_path, "/".join(["d"] * 12))
    assert ids(tmp_path) == ["/".join(["d"] * 12)]
    monkeypatch.setattr(walk_module, "MAX_DIRECTORIES", 5)
    found = walk("core", str(tmp_path))
    assert any("more than 5 directories" in broken.message for broken in found.broken)
    monkeypatch.setattr(walk_module, "MAX_ENTRIES", 0)
    found = walk("core", str(tmp_path))
    assert found.files == () and "entries" in found.broken[0].message


@posix
def test_links_that_multiply_are_bounded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(walk_module, "MAX_DIRECTORIES", 200)
    for level in range(12):
        (tmp_path / f"l{level}").mkdir()
    for level in range(11):
        for name in "xyz":
            (tmp_path / f"l{level}" / name).symlink_to(tmp_path / f"l{level + 1}")
    found = walk("core", str(tmp_path))
    assert len(found.watch) < 1000
    assert any("directories" in broken.message for broken in found.broken)


@posix
@pytest.mark.parametrize("name", ["*", "a:b", "con", "x.", "back\\slash", "new\nline"])
def test_case_h05_names_that_cannot_be_ids_are_reported(tmp_path: Path, name: str) -> None:
    make(tmp_path, f"ok/{name}")
    make(tmp_path, "$x")
    found = walk("core", str(tmp_path))
    assert [file.id for file in found.files] == ["$x"]
    assert "cannot be part of a way's id" in found.broken[0].message


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that are not UTF-8")
def test_a_name_that_is_not_utf8_is_reported_in_a_form_that_can_be_printed(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/caf\xe9")
    found = walk("core", str(tmp_path))
    assert found.files == ()
    found.broken[0].path.encode("utf-8")


@posix
def test_a_fifo_in_place_of_a_way_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / "a.md")
    assert ids(tmp_path) == []


def test_a_missing_root_is_an_empty_root(tmp_path: Path) -> None:
    catalogue = load(WayRoots("", str(tmp_path / "none"), str(tmp_path / "none2")), str(tmp_path / "cache"))
    assert len(catalogue.ways) == 0 and catalogue.broken == ()
