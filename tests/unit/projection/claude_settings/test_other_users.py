"""What an ordinary account meets, which root never does. Needs root, to become an ordinary account."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator

import pytest

from projection.claude_settings.slices import EMPTY
from tests.unit.projection.claude_settings.helpers import Place, make_place
from ways.core.errors import UserError

ME = 54321
THEIRS = '{"model": "opus"}'

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user"
)


@pytest.fixture
def place() -> Iterator[Place]:
    """A home that belongs to the ordinary account, all the way down."""
    folder = tempfile.mkdtemp()
    made = make_place(folder)
    made.write(THEIRS)
    os.makedirs(made.context.store)
    for path, _, names in os.walk(folder):
        for at in (path, *(os.path.join(path, name) for name in names)):
            os.chown(at, ME, ME)
    yield made
    shutil.rmtree(folder)


def as_me(act: Callable[[], object]) -> tuple[int, str]:
    """The exit code and message of what an ordinary account is told; (0, "") when it went well."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        found: list[object] = [99, "died"]
        try:
            os.setgroups([])
            os.setgid(ME)
            os.setuid(ME)
            try:
                act()
                found = [0, ""]
            except UserError as error:
                found = [error.exit_code, error.message]
        finally:
            os.write(writing, json.dumps(found).encode())
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as stream:
        code, message = json.loads(stream.read())
    return code, message


def test_an_ordinary_account_writes_its_own_file(place: Place) -> None:
    assert as_me(place.apply) == (0, "")
    assert b"check-prompt" in place.read()
    about = os.stat(place.settings)
    assert (about.st_uid, about.st_gid) == (ME, ME)
    assert as_me(lambda: place.apply(EMPTY)) == (0, "")
    assert place.read() == THEIRS.encode()


@pytest.mark.parametrize(
    ("arrange", "word"),
    [
        (lambda place: os.chown(place.settings, 0, ME) or os.chmod(place.settings, 0o664), "another user"),
        (lambda place: os.chown(place.settings, ME, 0), "a group that you are not in"),
        (lambda place: os.chown(place.settings, 0, 0), "cannot be written to"),
        (lambda place: os.chown(place.context.target, 0, 0), "cannot be written to"),
        (lambda place: os.chmod(place.settings, 0o200), "cannot be read"),
    ],
)
def test_what_cannot_be_kept_or_written_is_left_alone(
    place: Place, arrange: Callable[[Place], object], word: str
) -> None:
    arrange(place)
    before = os.stat(place.settings)
    code, message = as_me(place.apply)
    assert (code, word in message) == (5, True), message
    assert place.read() == THEIRS.encode()
    after = os.stat(place.settings)
    assert (after.st_ino, after.st_uid, after.st_mode) == (before.st_ino, before.st_uid, before.st_mode)


def test_a_folder_that_hands_its_group_down_keeps_the_group(place: Place) -> None:
    os.chown(place.context.target, ME, 0)
    os.chmod(place.context.target, 0o2755)
    os.chown(place.settings, ME, 0)
    assert as_me(place.apply) == (0, "")
    assert os.stat(place.settings).st_gid == 0
