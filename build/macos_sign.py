"""Signing for macOS what PyInstaller does not sign itself: the native engine (docs/macos.md).

`WAYS_CODESIGN_IDENTITY` names the certificate; without it binaries keep the ad hoc signature that the linker
gave them, with which they run, but which Apple does not notarise.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ways.core.errors import UserError

IDENTITY = "WAYS_CODESIGN_IDENTITY"
_SECONDS = 300.0


def command(path: Path, identity: str) -> list[str]:
    """The call that signs one file: with the hardened runtime and a time stamp, which notarisation wants."""
    return ["codesign", "--force", "--options", "runtime", "--timestamp", "--sign", identity, str(path)]


def sign(path: Path, environ: Mapping[str, str] | None = None) -> None:
    """Sign a library when this is macOS and a certificate is named; else nothing. Raises UserError.

    The signed file is another inode than before: macOS remembers the signature of one that it has run.
    """
    identity = (os.environ if environ is None else environ).get(IDENTITY, "")
    if sys.platform != "darwin" or not identity:
        return
    copy = path.with_name(f".{path.name}.unsigned")
    path.rename(copy)
    path.write_bytes(copy.read_bytes())
    path.chmod(0o755)
    copy.unlink()
    done = subprocess.run(
        command(path, identity), capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode != 0:
        raise UserError(f"{path.name} cannot be signed: {done.stderr.strip()[-500:]}", f"look at {IDENTITY}")
