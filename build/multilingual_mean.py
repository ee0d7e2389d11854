"""Work out the mean vector of the multilingual model and write `multilingual_mean.json`.

    python -m build.multilingual_mean

The cosines of this model sit between 0.79 and 0.86 whatever the texts say; without the mean they
spread, and a lane can be calibrated. The mean is taken over `multilingual_texts.txt` and kept to five
decimals in a committed file, so that the model's bytes do not depend on the machine that converts it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from build import engine, model, packages
from ways.core.errors import UserError
from ways.embedding import engine as embedding

TEXTS = packages.HERE / "multilingual_texts.txt"
TARGET = packages.HERE / "multilingual_mean.json"


def mean() -> list[float]:
    """The mean of the normalised, uncentred vectors of the texts."""
    texts = [line for line in TEXTS.read_text("utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        path = model.write_multilingual(Path(folder), mean=[])
        library = engine.cached(packages.cache_folder())
        opened = embedding.open_files(str(library), str(path))
        if isinstance(opened, embedding.EngineProblem):
            raise UserError(opened.reason, opened.next_command)
        vectors = [vector for vector in opened.embed(texts) if vector is not None]
        opened.close()
    return [round(sum(column) / len(vectors), 5) for column in zip(*vectors, strict=True)]


if __name__ == "__main__":
    TARGET.write_text(json.dumps({"mean": mean()}) + "\n", "utf-8")
