"""The payload manifest and the projected roots that follow from it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import projection
from projection.manifest import projected_roots
from projection.payload_manifest import PayloadManifest, ShippedFile, compute, from_json, in_order, to_json
from ways.core.errors import UserError

PAYLOAD = os.path.join(os.path.dirname(projection.__file__), "payload")


def put(folder: Path, path: str, text: str = "x", mode: int = 0o644) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)


def test_compute_lists_every_file_with_size_hash_and_mode(tmp_path: Path) -> None:
    put(tmp_path, "hooks/ways/b.sh", "#!/bin/sh\n", 0o775)
    put(tmp_path, "hooks/ways/a é.md", "text", 0o600)
    put(tmp_path, "hooks/__pycache__/x.pyc")
    put(tmp_path, "hooks/.DS_Store")
    (tmp_path / "empty").mkdir()
    assert compute(str(tmp_path)).files == (
        ShippedFile("hooks/ways/a é.md", 4, hashlib.sha256(b"text").hexdigest(), 0o644),
        ShippedFile("hooks/ways/b.sh", 10, hashlib.sha256(b"#!/bin/sh\n").hexdigest(), 0o755),
    )


def test_a_dangling_link_in_the_payload_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to("nowhere")
    with pytest.raises(UserError, match="leads nowhere"):
        compute(str(tmp_path))


def test_the_digest_follows_content_name_and_mode(tmp_path: Path) -> None:
    put(tmp_path, "a", "1")
    seen = {compute(str(tmp_path)).digest}
    for path, text, mode in (("a", "2", 0o644), ("a", "2", 0o755), ("b", "2", 0o644)):
        put(tmp_path, path, text, mode)
        seen.add(compute(str(tmp_path)).digest)
    assert len(seen) == 4


LETTERS = st.characters(exclude_characters="/\\", exclude_categories=("Cs", "Cc"))
NAMES = st.text(LETTERS, min_size=1, max_size=8)
PATHS = st.lists(NAMES.filter(lambda name: name not in {".", ".."}), min_size=1, max_size=3).map("/".join)
FILES = st.builds(
    ShippedFile,
    PATHS,
    st.integers(0, 2**40),
    st.text("0123456789abcdef", min_size=64, max_size=64),
    st.sampled_from([0o644, 0o755]),
)


@given(st.lists(FILES, max_size=5))
def test_json_there_and_back(files: list[ShippedFile]) -> None:
    manifest = PayloadManifest(in_order(files))
    assert from_json(to_json(manifest), "x") == manifest


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"files": [{"path": "../x", "size": 1, "sha256": "", "mode": "0644"}]}',
        b'{"files": [{"path": "/x", "size": 1, "sha256": "", "mode": "0644"}]}',
        b'{"files": [{"path": "a\\\\..\\\\b", "size": 1, "sha256": "", "mode": "0644"}]}',
        b'{"files": [{"path": "a"}]}',
        b"\xff\xfe",
    ],
)
def test_a_damaged_manifest_names_its_file(data: bytes) -> None:
    with pytest.raises(UserError, match=r"/app/payload-manifest\.json is damaged"):
        from_json(data, "/app/payload-manifest.json")


def test_roots_are_worked_out_from_what_is_shipped(tmp_path: Path) -> None:
    for path in (
        "hooks/ways/core.md",
        "hooks/ways/deep/er/way.md",
        "hooks/waysish/no.md",
        "skills/one/SKILL.md",
        "skills/two/a/b.md",
        "agents/reviewer.md",
        "settings.json",
    ):
        put(tmp_path, path)
    put(tmp_path, "hooks/check-config-updates.sh", mode=0o755)
    put(tmp_path, "bin/ways", mode=0o755)
    put(tmp_path, "bin/boot.py")
    put(tmp_path, "bin/_internal/lib.so", mode=0o755)
    found = {root.path: root.kind for root in projected_roots(compute(str(tmp_path)))}
    assert found == {
        "agents/reviewer.md": "file",
        "bin/ways": "program",
        "hooks/check-config-updates.sh": "file",
        "hooks/ways": "folder",
        "skills/one": "folder",
        "skills/two": "folder",
    }


def test_the_shipped_payload_has_the_roots_that_it_must_have() -> None:
    found = {root.path for root in projected_roots(compute(PAYLOAD))}
    assert {"hooks/ways", "hooks/check-config-updates.sh"} <= found
