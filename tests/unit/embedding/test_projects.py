from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from ways.core.roots import resolve
from ways.embedding import projects


@pytest.fixture
def roots(tmp_path):
    return resolve({"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run")})


def project(tmp_path, name):
    folder = tmp_path / name
    (folder / ".claude" / "ways").mkdir(parents=True)
    return str(folder)


def paths(roots):
    return [entry.path for entry in projects.known(roots)]


def test_nothing_is_known_at_first(roots):
    assert projects.known(roots) == ()


def test_projects_are_remembered_newest_first(roots, tmp_path, monkeypatch):
    moments = iter(["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"])
    monkeypatch.setattr(projects.clock, "utc_iso", lambda: next(moments))
    a, b = project(tmp_path, "a"), project(tmp_path, "b é")
    assert projects.remember(roots, a)
    assert projects.remember(roots, b)
    assert paths(roots) == [b, a]
    assert projects.remember(roots, a)
    assert paths(roots) == [a, b]
    assert projects.known(roots)[0].seen == "2026-01-03T00:00:00.000Z"


def test_two_spellings_are_one_project(roots, tmp_path):
    a = project(tmp_path, "a")
    (tmp_path / "link").symlink_to(a)
    projects.remember(roots, a)
    projects.remember(roots, str(tmp_path / "link"))
    projects.remember(roots, a + "/../a")
    assert paths(roots) == [a]


def test_a_project_without_ways_is_not_recorded(roots, tmp_path):
    (tmp_path / "plain").mkdir()
    assert not projects.remember(roots, str(tmp_path / "plain"))
    assert not projects.remember(roots, str(tmp_path / "gone"))
    assert not os.path.exists(os.path.join(roots.state, projects.NAME))


def test_a_vanished_project_is_dropped(roots, tmp_path):
    a, b, c = (project(tmp_path, name) for name in "abc")
    projects.remember(roots, a)
    projects.remember(roots, b)
    shutil.rmtree(a)
    assert paths(roots) == [b]
    projects.remember(roots, c)
    with open(os.path.join(roots.state, projects.NAME), encoding="utf-8") as file:
        assert a not in file.read()


def test_the_list_is_bounded(roots, tmp_path, monkeypatch):
    monkeypatch.setattr(projects, "MAX_PROJECTS", 3)
    made = [project(tmp_path, f"p{at}") for at in range(5)]
    for path in made:
        projects.remember(roots, path)
    assert set(paths(roots)) == set(made[-3:])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 9, "projects": []}',
        b'{"version": 1, "projects": {"a": 1}}',
        b'{"version": 1, "projects": [1, {"path": 2}, {"path": "relative", "seen": "x"}]}',
        b'{"version": 1, "projects": [{"path": "/a\\u0000", "seen": ""}]}',
    ],
)
def test_a_damaged_list_reads_as_none_and_heals(roots, tmp_path, content):
    os.makedirs(roots.state)
    with open(os.path.join(roots.state, projects.NAME), "wb") as file:
        file.write(content)
    assert projects.known(roots) == ()
    a = project(tmp_path, "a")
    projects.remember(roots, a)
    assert paths(roots) == [a]


def test_twelve_at_once_are_all_remembered(roots, tmp_path):
    made = [project(tmp_path, f"p{at}") for at in range(12)]
    code = (
        "import sys\nfrom ways.core.roots import resolve\nfrom ways.embedding import projects\n"
        "projects.remember(resolve({'HOME': sys.argv[1], 'XDG_RUNTIME_DIR': sys.argv[2]}), sys.argv[3])\n"
    )
    top = os.path.join(os.path.dirname(__file__), "..", "..", "..")
    run = [str(tmp_path / "home"), str(tmp_path / "run")]
    started = [subprocess.Popen([sys.executable, "-c", code, *run, path], cwd=top) for path in made]
    assert [process.wait() for process in started] == [0] * 12
    assert set(paths(roots)) == set(made)
    with open(os.path.join(roots.state, projects.NAME), encoding="utf-8") as file:
        assert len(json.load(file)["projects"]) == 12
