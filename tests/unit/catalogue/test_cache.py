"""The catalogue cache: it may change how long a hook takes, never what it sees."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ways.catalogue import build, cache
from ways.catalogue.cache import cache_path, holds, load, open_cache
from ways.catalogue.walk import WayRoots
from ways.catalogue.way import Catalogue

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links")
OLD_NS = 1_700_000_000_000_000_000


def make(root: Path, way_id: str, front: str = "description: x\npattern: some word") -> Path:
    folder = root / way_id
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{folder.name}.md"
    path.write_text(f"---\n{front}\n---\nbody\n")
    return path


@pytest.fixture
def settled(monkeypatch):
    """Lets a cache be trusted although its files are new: what is tested is not the two seconds."""
    monkeypatch.setattr(build, "SETTLE_NS", 0)


@pytest.fixture
def counted(monkeypatch):
    """Counts rebuilds."""
    calls = []
    real = build.content

    def counting(*args):
        calls.append(1)
        return real(*args)

    monkeypatch.setattr(build, "content", counting)
    return calls


def snapshot(catalogue: Catalogue) -> tuple:
    return tuple(catalogue.ways), tuple(catalogue.checks), catalogue.broken, catalogue.shadowed


def fresh(roots: WayRoots, tmp_path: Path) -> tuple:
    """What a catalogue without any cache says."""
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder would be")
    try:
        return snapshot(load(roots, str(blocked / "cache")))
    finally:
        blocked.unlink()


def test_a_second_load_trusts_the_cache_and_says_the_same(tmp_path, settled, counted) -> None:
    make(tmp_path / "core", "a/b", "description: x\npattern: 'git (push|pull)'\nwhen: {env: HOME}")
    (tmp_path / "core/a/b/b.check.md").write_text("---\ncommands: ^git push\n---\n## check\n")
    roots = WayRoots(core=str(tmp_path / "core"))
    first = load(roots, str(tmp_path / "cache"))
    second = load(roots, str(tmp_path / "cache"))
    assert len(counted) == 1
    assert snapshot(first) == snapshot(second) == fresh(roots, tmp_path)
    assert second.ways[0].when.env == ("HOME",)
    assert second.checks[0].corpus_id == "core:a/b:check"
    assert second.find("a/b") == second.ways[0] and second.find("a") is None
    assert [way.id for way in second.may_match("pattern", "please GIT PUSH")] == ["a/b"]
    assert second.may_match("pattern", "nothing of the kind") == []
    assert [check.id for check in second.checks_that_may_match("commands", "git push -f")] == ["a/b"]


def test_a_cache_of_files_that_have_just_changed_is_not_trusted(tmp_path, counted) -> None:
    make(tmp_path / "core", "a")
    roots = WayRoots(core=str(tmp_path / "core"))
    load(roots, str(tmp_path / "cache"))
    load(roots, str(tmp_path / "cache"))
    assert len(counted) == 2


def test_an_edit_in_the_same_clock_tick_is_seen(tmp_path) -> None:
    """Same size, same inode, times set back: only the doubt about recent changes reveals it."""
    path = make(tmp_path / "core", "a", "description: one")
    roots = WayRoots(core=str(tmp_path / "core"))
    load(roots, str(tmp_path / "cache"))
    before = path.stat()
    with path.open("r+") as file:
        file.write("---\ndescription: two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load(roots, str(tmp_path / "cache")).ways[0].description == "two"


def test_a_thousand_ways_stay_right_through_every_kind_of_change(tmp_path, settled, counted) -> None:
    core, user = tmp_path / "core", tmp_path / "user"
    for number in range(1000):
        make(
            core,
            f"d{number % 9}/g{number % 31}/w{number}",
            f"description: way {number}\npattern: word{number}",
        )
    roots = WayRoots(user=str(user), core=str(core))
    directory = str(tmp_path / "cache")

    def check(count: int) -> None:
        before = len(counted)
        catalogue = load(roots, directory)
        assert len(counted) == before + 1, "the change was not noticed"
        assert len(catalogue.ways) == count
        load(roots, directory)
        assert len(counted) == before + 1, "the rebuilt cache was not trusted"
        assert snapshot(catalogue) == fresh(roots, tmp_path)
        del counted[before + 1 :]

    check(1000)
    make(core, "d5/g5/w5", "description: edited in place")
    check(1000)
    make(core, "d0/new", "description: added")
    check(1001)
    (core / "d1/g1/w1/w1.md").unlink()
    check(1000)
    (core / "d1/g1/w1/macro.sh").write_text("echo")
    check(1000)
    (core / "d2/g2/w2/w2.check.md").write_text("---\ncommands: x\n---\n")
    check(1000)
    (core / "d0").rename(tmp_path / "aside")
    (core / "d1").rename(core / "d0")
    (tmp_path / "aside").rename(core / "d1")
    check(1000)
    make(user, "d3/g3/w3", "description: the user's own root appears")
    check(1000)
    make(core, "d4/g4/w4", "description: [")
    check(999)


def test_a_rebuild_after_one_edit_parses_one_file(tmp_path, settled, monkeypatch) -> None:
    for number in range(20):
        make(tmp_path / "core", f"w{number}", f"pattern: word{number}")
    roots = WayRoots(core=str(tmp_path / "core"))
    load(roots, str(tmp_path / "cache"))
    parsed = []
    real = build.parse_way
    monkeypatch.setattr(build, "parse_way", lambda *a, **k: (parsed.append(a[1]), real(*a, **k))[1])
    make(tmp_path / "core", "w7", "pattern: changed")
    catalogue = load(roots, str(tmp_path / "cache"))
    assert parsed == ["w7"]
    assert catalogue.find("w7").pattern == "changed"
    assert catalogue.find("w8").pattern == "word8"


@pytest.mark.parametrize("place", ["head", "tail", "magic", "cut", "empty", "json"])
def test_a_damaged_cache_changes_no_result_and_heals(tmp_path, settled, place) -> None:
    for number in range(5):
        make(tmp_path / "core", f"w{number}", f"description: way {number}\npattern: 'word{number}|else'")
    roots = WayRoots(core=str(tmp_path / "core"))
    expected = snapshot(load(roots, str(tmp_path / "cache")))
    path = Path(cache_path(roots, str(tmp_path / "cache")))
    data = bytearray(path.read_bytes())
    middle = len(cache.MAGIC) + 24
    spots = {"head": middle + 20, "tail": len(data) - 300, "magic": 0}
    if place in spots:
        data[spots[place]] ^= 0xFF
    elif place == "cut":
        data = data[: len(data) // 2]
    else:
        data = bytearray(b"" if place == "empty" else b'{"ways": []}')
    path.write_bytes(bytes(data))
    catalogue = load(roots, str(tmp_path / "cache"))
    assert snapshot(catalogue) == expected
    assert [way.id for way in catalogue.may_match("pattern", "word3")] == ["w3"]
    healed = open_cache(str(path))
    assert healed is not None and holds(healed.head) and healed.tail() is not None


def test_every_single_damaged_byte_is_survived(tmp_path, settled) -> None:
    make(tmp_path / "core", "a", "description: way\npattern: 'word|else'")
    roots = WayRoots(core=str(tmp_path / "core"))
    expected = snapshot(load(roots, str(tmp_path / "cache")))
    path = Path(cache_path(roots, str(tmp_path / "cache")))
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        path.write_bytes(bytes(damaged))
        assert snapshot(load(roots, str(tmp_path / "cache"))) == expected, position


def test_a_cache_of_another_interpreter_is_not_read(tmp_path, settled, monkeypatch) -> None:
    make(tmp_path / "core", "a")
    roots = WayRoots(core=str(tmp_path / "core"))
    load(roots, str(tmp_path / "cache"))
    path = cache_path(roots, str(tmp_path / "cache"))
    assert open_cache(path) is not None
    monkeypatch.setattr(cache, "interpreter", lambda: (cache.FORMAT, 0, 0, os.name))
    assert open_cache(path) is None


def test_an_unwritable_cache_is_done_without(tmp_path) -> None:
    make(tmp_path / "core", "a")
    blocked = tmp_path / "file"
    blocked.write_text("")
    catalogue = load(WayRoots(core=str(tmp_path / "core")), str(blocked / "cache"))
    assert [way.id for way in catalogue.ways] == ["a"]
    assert blocked.read_text() == ""


def test_projects_without_ways_share_one_cache(tmp_path, settled) -> None:
    make(tmp_path / "core", "a")
    for name in ("p1", "p2"):
        (tmp_path / name).mkdir()
        load(WayRoots(str(tmp_path / name), "", str(tmp_path / "core")), str(tmp_path / "cache"))
    assert len(list((tmp_path / "cache").glob("catalogue-*"))) == 1
    make(tmp_path / "p2" / ".claude" / "ways", "mine")
    roots = WayRoots(str(tmp_path / "p2"), "", str(tmp_path / "core"))
    assert [way.id for way in load(roots, str(tmp_path / "cache")).ways] == ["a", "mine"]


@posix
def test_a_link_that_changes_its_target_is_noticed(tmp_path, settled) -> None:
    project = tmp_path / "p"
    make(project / ".claude" / "ways", "own")
    make(project / "one", "x", "description: one")
    make(tmp_path / "outside", "x", "description: outside")
    hop = project / "hop"
    hop.symlink_to(project / "one")
    (project / ".claude" / "ways" / "l").symlink_to(hop, target_is_directory=True)
    roots = WayRoots(str(project))
    directory = str(tmp_path / "cache")
    assert [way.id for way in load(roots, directory).ways] == ["l/x", "own"]
    hop.unlink()
    hop.symlink_to(tmp_path / "outside")
    assert [way.id for way in load(roots, directory).ways] == ["own"]
    hop.unlink()
    hop.symlink_to(project / "one")
    assert [way.id for way in load(roots, directory).ways] == ["l/x", "own"]


def test_the_cache_may_be_replaced_between_its_head_and_its_tail(tmp_path, settled) -> None:
    make(tmp_path / "core", "a", "description: first")
    roots = WayRoots(core=str(tmp_path / "core"))
    load(roots, str(tmp_path / "cache"))
    early = load(roots, str(tmp_path / "cache"))
    make(tmp_path / "core", "a", "description: second")
    make(tmp_path / "core", "b", "description: third")
    assert len(load(roots, str(tmp_path / "cache")).ways) == 2
    assert [way.description for way in early.ways] == ["first"]


def test_a_tail_lost_while_the_files_change_yields_ways_that_match_nothing(tmp_path, settled) -> None:
    make(tmp_path / "core", "a")
    make(tmp_path / "core", "b")
    roots = WayRoots(core=str(tmp_path / "core"))
    load(roots, str(tmp_path / "cache"))
    path = Path(cache_path(roots, str(tmp_path / "cache")))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    catalogue = load(roots, str(tmp_path / "cache"))
    (tmp_path / "core" / "a" / "a.md").unlink()
    gone, there = catalogue.ways
    assert (gone.id, gone.pattern, gone.embeddable) == ("a", "", False)
    assert (there.id, there.pattern) == ("b", "some word")


def test_old_caches_and_leftovers_are_removed_when_one_is_written(tmp_path) -> None:
    directory = tmp_path / "cache"
    directory.mkdir()
    names = ["catalogue-old.bin", ".catalogue-x.bin.ways-tmp-1-1-1", "ways-corpus-en.jsonl"]
    for name in names:
        (directory / name).write_text("x")
        os.utime(directory / name, ns=(OLD_NS, OLD_NS))
    (directory / "catalogue-young.bin").write_text("x")
    make(tmp_path / "core", "a")
    load(WayRoots(core=str(tmp_path / "core")), str(directory))
    left = {path.name for path in directory.iterdir()}
    assert "catalogue-young.bin" in left and "ways-corpus-en.jsonl" in left
    assert not left & set(names[:2])


def test_a_root_that_takes_too_long_is_cut_off_and_reported(tmp_path, monkeypatch) -> None:
    make(tmp_path / "core", "a")
    monkeypatch.setattr(build, "ROOT_SECONDS", -1.0)
    catalogue = load(WayRoots(core=str(tmp_path / "core")), str(tmp_path / "cache"))
    assert len(catalogue.ways) == 0
    assert "left out" in catalogue.broken[0].message


def test_loading_from_the_cache_imports_neither_yaml_nor_re(tmp_path) -> None:
    """Whole processes, because only they show what a hook loads."""
    make(tmp_path / "core", "a", "description: x\npattern: 'deploy|release'")
    script = (
        "import sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from ways.catalogue import cache\n"
        "from ways.catalogue.way import WayRoots\n"
        "if sys.argv[4] == 'build':\n"
        "    from ways.catalogue import build\n"
        "    build.SETTLE_NS = 0\n"
        "catalogue = cache.load(WayRoots(core=sys.argv[2]), sys.argv[3])\n"
        "from ways.catalogue.patterns import Searcher\n"
        "with Searcher(catalogue.book) as searcher:\n"
        "    hits = [w.id for w in catalogue.may_match('pattern', 'a RELEASE') "
        "if searcher.search(w.pattern, 'a RELEASE')]\n"
        "heavy = {'re', 'yaml', 'typing', 'dataclasses', 'enum', 'json', 'hashlib', 'threading'}\n"
        "print(hits, sorted(heavy & set(sys.modules)))\n"
    )
    repository = str(Path(build.__file__).parents[2])

    def run(mode: str) -> str:
        arguments = [repository, str(tmp_path / "core"), str(tmp_path / "cache"), mode]
        isolation = ["-I"] if mode == "build" else ["-I", "-S"]
        done = subprocess.run(
            [sys.executable, *isolation, "-c", script, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert run("build").startswith("['a']")
    assert run("read") == "['a'] []"


READER = """
import sys
sys.path.insert(0, sys.argv[1])
from ways.catalogue import cache
from ways.catalogue.way import WayRoots
for _ in range(25):
    catalogue = cache.load(WayRoots(core=sys.argv[2]), sys.argv[3])
    print(*sorted({way.description for way in catalogue.ways}), len(catalogue.ways), flush=True)
"""


def test_processes_that_load_while_a_way_is_edited_see_old_or_new_and_never_go_back(tmp_path) -> None:
    for number in range(10):
        make(tmp_path / "core", f"w{number}", "description: x")
    path = tmp_path / "core" / "w5" / "w5.md"
    repository = str(Path(build.__file__).parents[2])
    arguments = [repository, str(tmp_path / "core"), str(tmp_path / "cache")]
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, *arguments], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for version in range(1000):
        time.sleep(0.002)
        temporary = path.with_name("new")
        temporary.write_text(f"---\ndescription: {version:03}\n---\n")
        temporary.replace(path)
        if readers[0].poll() is not None:
            break
    for reader in readers:
        output, _ = reader.communicate(timeout=120)
        assert reader.returncode == 0
        lines = [line.split() for line in output.splitlines()]
        assert len(lines) == 25
        assert all(line[-2:] == ["x", "10"] for line in lines)
        versions = [line[0] for line in lines if len(line) == 3]
        assert versions == sorted(versions)
    last = load(WayRoots(core=str(tmp_path / "core")), str(tmp_path / "cache"))
    assert last.find("w5").description == path.read_text().split()[2]
    assert not [name for name in os.listdir(tmp_path / "cache") if "ways-tmp" in name]
