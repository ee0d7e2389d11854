"""How the user wants targets to be served: the `install.*` settings that the projection follows."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from projection.reconcile import Options
from projection.secret_paths import SECRET_PATHS
from projection.wants import Mode
from ways.core.roots import Roots
from ways.settings.load import load


def options(roots: Roots, *, mode: str | None = None, force: bool = False) -> Options:
    """The options of a run: what the command line says, else what the settings say."""
    settings = load(roots, keep=False)  # a dry run must not even fill a cache
    plain = Options(
        mode=cast("Mode | None", mode),
        default_mode=cast("Mode", settings.install_mode),
        force=force,
    )
    return with_secret_paths(plain, settings.install_secret_path_deny)


def with_secret_paths(options: Options, wanted: bool) -> Options:
    """The same options with the baseline for secret files asked for, or not."""
    return replace(options, deny=SECRET_PATHS if wanted else ())
