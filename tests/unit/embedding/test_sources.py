from __future__ import annotations

import json
import os

import pytest

from tests.unit.embedding.hashing import HashingEngine, model_of
from ways.catalogue.rootkey import project_key
from ways.core.roots import resolve
from ways.embedding import corpus, projects, sidecar, sources


@pytest.fixture
def roots(tmp_path):
    base = resolve({"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    write_way(core_folder(base), "dev/commits", "Making commits", "commit message", "Body of commits here.")
    write_way(base.user_ways, "dev/commits", "My own commits", "commit mine", "Mine is different here.")
    return base


def core_folder(roots):
    return os.path.join(roots.app, "hooks", "ways")


def write_way(folder, way_id, description, vocabulary, body):
    name = way_id.rsplit("/", 1)[-1]
    target = os.path.join(folder, way_id)
    os.makedirs(target, exist_ok=True)
    path = os.path.join(target, f"{name}.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"---\ndescription: {description}\nvocabulary: {vocabulary}\n---\n{body}\n")
    return path


def project(roots, tmp_path, name="project"):
    folder = tmp_path / name
    write_way(
        str(folder / ".claude" / "ways"), "dev/commits", "Commits of the project", "commit ours", "Ours."
    )
    assert projects.remember(roots, str(folder))
    return folder


def texts(roots):
    return {item.corpus_id: item for item in sources.texts(sources.roots_of_ways(roots))}


def signature(roots):
    return sources.signature(sources.roots_of_ways(roots), "/nonexistent")


def test_every_root_is_embedded_under_its_own_key(roots, tmp_path):
    folder = project(roots, tmp_path)
    found = texts(roots)
    key = project_key(str(folder))
    assert set(found) == {"core:dev/commits", "user:dev/commits", f"{key}:dev/commits"}
    core = found["core:dev/commits"]
    assert core.alias == "Making commits commit message"
    assert core.body.strip() == "Body of commits here."
    assert "description" not in core.body


def test_two_projects_have_two_keys(roots, tmp_path):
    first, second = project(roots, tmp_path, "one"), project(roots, tmp_path, "two")
    assert {project_key(str(first)), project_key(str(second))} <= {
        name.split(":")[0] for name in texts(roots)
    }


def test_a_vanished_project_leaves_the_corpus(roots, tmp_path):
    folder = project(roots, tmp_path)
    before = signature(roots)
    os.rename(folder, tmp_path / "elsewhere")
    assert set(texts(roots)) == {"core:dev/commits", "user:dev/commits"}
    assert signature(roots) != before


def test_a_check_gives_its_alias(roots):
    path = os.path.join(core_folder(roots), "dev", "commits", "commits.check.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            "---\ndescription: Look before committing\nvocabulary: verify\n---\n## anchor\na\n## check\nb\n"
        )
    check = texts(roots)["core:dev/commits:check"]
    assert (check.alias, check.body) == ("Look before committing verify", "")


def test_what_cannot_be_embedded_is_left_out(roots):
    core = core_folder(roots)
    broken = write_way(core, "dev/broken", "[unclosed", "x", "y")
    with open(write_way(core, "dev/huge", "Huge", "x", "y"), "a", encoding="utf-8") as file:
        file.write("z" * (1 << 19))
    with open(write_way(core, "dev/plain", "x", "x", "y"), "w", encoding="utf-8") as file:
        file.write("---\npattern: commit\n---\nNo description.\n")
    assert os.path.exists(broken)
    assert {name for name in texts(roots) if name.startswith("core:")} == {"core:dev/commits"}


def test_locales_are_read_beside_the_way(roots):
    path = os.path.join(core_folder(roots), "dev", "commits", "commits.locales.jsonl")
    before = signature(roots)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"lang": "de", "description": "Commits machen", "vocabulary": "Verlauf"}))
    assert texts(roots)["core:dev/commits"].locales == (("de", "Commits machen Verlauf"),)
    changed = signature(roots)
    assert changed != before
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n")
    assert signature(roots) != changed


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_locales_outside_a_project_are_not_followed(roots, tmp_path):
    folder = project(roots, tmp_path)
    outside = tmp_path / "outside.jsonl"
    outside.write_text(json.dumps({"lang": "de", "description": "Geheim"}))
    (folder / ".claude/ways/dev/commits/commits.locales.jsonl").symlink_to(outside)
    assert texts(roots)[f"{project_key(str(folder))}:dev/commits"].locales == ()


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_to_the_whole_disk_is_not_walked(roots, tmp_path):
    folder = project(roots, tmp_path)
    (folder / ".claude/ways/everything").symlink_to("/")
    assert len(texts(roots)) == 3


def test_the_signature_follows_every_change(roots):
    seen = {signature(roots)}
    assert signature(roots) in seen
    way = write_way(core_folder(roots), "dev/tests", "Testing", "pytest", "Body text of tests.")
    seen.add(signature(roots))
    with open(way, "a", encoding="utf-8") as file:
        file.write("more\n")
    seen.add(signature(roots))
    os.unlink(way)
    seen.add(signature(roots))
    assert len(seen) == 4


def test_a_build_over_real_folders(roots, tmp_path):
    project(roots, tmp_path)
    engine = HashingEngine()
    models = {"en": model_of(engine)}

    def build(**options):
        return corpus.build(roots.cache, sources.sources_of(roots), models, **options)

    assert build(if_stale=True).outcome == corpus.BUILT
    assert build(if_stale=True).outcome == corpus.CURRENT
    assert len(sidecar.load(sidecar.path_in(roots.cache, "en")).ids) == 3
    write_way(roots.user_ways, "dev/commits", "My own commits", "commit changed", "Mine is different here.")
    engine.asked.clear()
    assert build(if_stale=True).outcome == corpus.BUILT
    assert engine.asked == ["My own commits commit changed"]
