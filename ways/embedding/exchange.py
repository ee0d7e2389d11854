"""`ways-corpus-<lane>.jsonl`: the corpus as other programs can read it (spec: embedding).

One object a line: `corpus_id`, `kind` (`alias`, `body`), `lang`, `text_hash` (32 hex digits of
blake2b over the UTF-8 text) and `vector`, whose numbers read back as the very same float32.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from ways.embedding.rows import Row


def path_in(cache: str, lane: str) -> str:
    """Where the exchange file of a lane lies in a cache root."""
    return os.path.join(cache, f"ways-corpus-{lane}.jsonl")


def encode(rows: Sequence[Row], matrix: npt.NDArray[np.float32]) -> bytes:
    """The lines of rows and their vectors, in the same order."""
    # Nine significant digits name every float32; one format call a row is much faster than a dump.
    numbers = ",".join(["%.9g"] * matrix.shape[1])
    lines = []
    for row, vector in zip(rows, matrix.tolist(), strict=True):
        fields = {
            "corpus_id": row.corpus_id,
            "kind": row.kind,
            "lang": row.lang,
            "text_hash": row.hash.hex(),
        }
        lines.append(f'{json.dumps(fields)[:-1]}, "vector": [{numbers % tuple(vector)}]}}\n')
    return "".join(lines).encode("ascii")
