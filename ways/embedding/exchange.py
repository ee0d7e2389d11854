"""`ways-corpus-<lane>.jsonl`: the corpus as other programs can read it (spec: embedding).

One object a line: `corpus_id`, `kind` (`alias`, `body`), `lang`, `text_hash` (32 hex digits of
blake2b over the UTF-8 text) and `vector`, whose numbers read back as the very same float32.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    from ways.embedding.rows import Row


def path_in(cache: str, lane: str) -> str:
    """Where the exchange file of a lane lies in a cache root."""
    return os.path.join(cache, f"ways-corpus-{lane}.jsonl")


def encode(rows: Sequence[Row], vectors: array[float], dimensions: int) -> bytes:
    """The lines of rows and their vectors (float32, one after another), in the same order."""
    # Nine significant digits name every float32; one format call a row is much faster than a dump.
    numbers = ",".join(["%.9g"] * dimensions)
    lines = []
    for at, row in enumerate(rows):
        vector = vectors[at * dimensions : (at + 1) * dimensions]
        fields = {
            "corpus_id": row.corpus_id,
            "kind": row.kind,
            "lang": row.lang,
            "text_hash": row.hash.hex(),
        }
        lines.append(f'{json.dumps(fields)[:-1]}, "vector": [{numbers % tuple(vector)}]}}\n')
    return "".join(lines).encode("ascii")
