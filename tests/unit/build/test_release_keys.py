"""Which keys a release repository takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from securesystemslib.signer import SSlibKey

from build import release
from ways.core.errors import UserError


def test_a_key_that_was_written_is_read_back(tmp_path: Path) -> None:
    made = release.new_key()
    release.write_key(made, tmp_path / "key", "")
    assert release.read_public(tmp_path / "key.pub").keyid == made.public_key.keyid
    assert release.read_key(tmp_path / "key").public_key.keyid == made.public_key.keyid


def test_a_key_that_the_frozen_program_cannot_check_is_refused(tmp_path: Path) -> None:
    """It has no library for any but Ed25519: with such a key in the root, no update would ever verify."""
    key = SSlibKey.from_crypto(generate_private_key(SECP256R1()).public_key())
    path = tmp_path / "key.pub"
    path.write_text(json.dumps({"keyid": key.keyid, **key.to_dict()}))
    with pytest.raises(UserError, match="not an Ed25519 key"):
        release.read_public(path)
