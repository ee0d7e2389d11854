"""Names of roots in corpus ids: `core`, `user`, or `p-` and 12 hex digits for a project.

A corpus holds the ways of every known project, so a way's id alone does not name it. The key of a
project is made from its resolved path, so that two spellings of one folder share their rows.
"""

from __future__ import annotations

import os

from ways.catalogue.way import CORE, PROJECT, USER

# A way id cannot hold a colon, so no way can take the corpus id of another way's check.
CHECK_SUFFIX = ":check"


def project_key(project: str) -> str:
    """`p-` and 12 hex digits of blake2b over the resolved path of `project`.

    On Windows the case of the path does not matter. The folder need not exist.
    """
    # hashlib would load OpenSSL on a hook's path; this is the module it takes blake2b from.
    from _blake2 import blake2b

    resolved = os.path.normcase(os.path.realpath(project))
    return "p-" + blake2b(os.fsencode(resolved), digest_size=6).hexdigest()


def root_key(root_kind: str, project: str = "") -> str:
    """The key of a root: its kind for `core` and `user`, else the key of its project.

    Raises ValueError for an unknown kind, or for a project root without a project.
    """
    if root_kind in {CORE, USER}:
        return root_kind
    if root_kind != PROJECT or not project:
        raise ValueError(f"no root key for kind {root_kind!r} and project {project!r}")
    return project_key(project)


def corpus_id(key: str, way_id: str) -> str:
    """The id of a way's rows in a corpus: `core:softwaredev/delivery/commits`."""
    return f"{key}:{way_id}"


def check_corpus_id(key: str, way_id: str) -> str:
    """The id of the rows of a way's check: `core:softwaredev/delivery/commits:check`."""
    return f"{key}:{way_id}{CHECK_SUFFIX}"
