"""A model file: GGUF weights with the tokenizer's tables behind them, in one file with one hash.

llama.cpp reads the GGUF part and ignores what follows. Its own vocabulary is left out, because
parsing it costs more than embedding a prompt (26 ms English, 675 ms multilingual); ours is laid out
to be used where it lies.

    GGUF       as llama.cpp wants it, `tokenizer.ggml.model` = none
    tokenizer  header, slots (hash table), piece offsets, scores, mean vector, normalisation, notes, pieces
    footer     64 bytes: magic, where the tokenizer lies, its checksum, SHA-256 of all before

The footer stands last, so that a file that was cut short is known at once. Little-endian throughout.
Raises nothing for any content: `load` answers a `Problem`.
"""

from __future__ import annotations

import os
import struct
import sys
import zlib

from ways.core.record import record

MAGIC, FOOTER_MAGIC = b"WAYSTOK1", b"WAYSMOD1"
WORDPIECE, UNIGRAM = 0, 1
# magic, kind, pieces, slots, longest piece in bytes, mean values, normalised characters, size of the
# normalisation, size of the notes, size of the pieces, score of an unknown character
HEADER = struct.Struct("<8sIIIIIIIIIf")
FOOTER = struct.Struct("<8sQQI4x32s")
_READ_WHOLE = 4 << 20  # a smaller tokenizer is read and checked; a larger one is mapped


@record
class Problem:
    """Why a model file cannot be used."""

    reason: str


class Tokenizer:
    """The opened tables of one tokenizer.

    `notes` are short facts (`name`, `prefix`, `max_tokens`, `cls`, `sep`, `unk`, …). `identity` is the hex
    SHA-256 of weights and tokenizer. `mean` is the vector to subtract as float32 bytes, b"" for none.
    """

    def __init__(self, data: memoryview, identity: str, fields: tuple[int, ...], unknown: float) -> None:
        kind, pieces, slots, longest, mean, normal, normal_size, notes_size, blob_size = fields
        self.identity = identity
        self.kind = kind
        self.pieces = pieces
        self.longest = longest
        self.unknown_score = unknown
        at = HEADER.size

        def take(size: int) -> memoryview:
            nonlocal at
            at += size
            return data[at - size : at]

        self._slots = take(4 * slots).cast("I")
        self._mask = slots - 1
        self._offsets = take(4 * (pieces + 1)).cast("I")
        self.scores: memoryview[float] = take(4 * pieces if kind == UNIGRAM else 0).cast("f")
        self.mean = bytes(take(4 * mean))
        self._characters = take(4 * normal)
        self._replacements = take(normal_size)
        self.notes = dict(
            line.split("=", 1) for line in bytes(take(notes_size)).decode("utf-8").split("\n") if "=" in line
        )
        self._blob = take(blob_size)

    def find(self, piece: bytes) -> int:
        """The id of a piece, -1 when it is not in the vocabulary."""
        return self.find_hashed(piece, zlib.crc32(piece))

    def find_hashed(self, piece: bytes, checksum: int) -> int:
        """As find, for a caller that has the piece's CRC-32 already."""
        slots, offsets, mask = self._slots, self._offsets, self._mask
        at = checksum & mask
        while number := slots[at]:
            start = offsets[number - 1]
            if offsets[number] - start == len(piece) and self._blob[start : start + len(piece)] == piece:
                return number - 1
            at = (at + 1) & mask
        return -1

    def normalisation(self) -> dict[int, str]:
        """Code point to replacement, for `str.translate`."""
        characters = bytes(self._characters).decode("utf-32-le")
        replacements = bytes(self._replacements).decode("utf-8").split("\0")
        return dict(zip(map(ord, characters), replacements, strict=bool(characters)))


def load(path: str) -> Tokenizer | Problem:
    """The tokenizer of the model at `path`, or why the file is not usable."""
    if sys.byteorder != "little":
        return Problem("models are little-endian and this machine is not")
    flags = (
        os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    )
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        return Problem(f"{path}: {error.strerror or error}")
    try:
        return _load(path, descriptor)
    except (OSError, ValueError, IndexError, struct.error, OverflowError) as error:
        return Problem(f"{path}: not a model of this program ({error})")
    finally:
        os.close(descriptor)


def _load(path: str, descriptor: int) -> Tokenizer | Problem:
    info = os.fstat(descriptor)
    if info.st_mode & 0o170000 != 0o100000:
        return Problem(f"{path}: not a regular file")
    size = info.st_size
    if size < HEADER.size + FOOTER.size:
        return Problem(f"{path}: cut short")
    magic, start, length, checksum, digest = FOOTER.unpack(_read(descriptor, size - FOOTER.size, FOOTER.size))
    if magic != FOOTER_MAGIC:
        return Problem(f"{path}: cut short, or not a model of this program")
    if start + length + FOOTER.size != size or length < HEADER.size:
        return Problem(f"{path}: its parts do not fit together")
    if length <= _READ_WHOLE:
        data = memoryview(_read(descriptor, start, length))
        if zlib.crc32(data) != checksum:
            return Problem(f"{path}: the tokenizer does not match its checksum")
    else:
        import mmap

        data = memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ))[start : start + length]
    return _parse(path, data, digest.hex())


def _parse(path: str, data: memoryview, identity: str) -> Tokenizer | Problem:
    magic, *fields, unknown = HEADER.unpack(data[: HEADER.size])
    kind, pieces, slots, _, mean, normal, normal_size, notes_size, blob_size = fields
    scores = pieces if kind == UNIGRAM else 0
    total = (
        HEADER.size + 4 * (slots + pieces + 1 + scores + mean + normal) + normal_size + notes_size + blob_size
    )
    if magic != MAGIC or kind not in {WORDPIECE, UNIGRAM} or slots & (slots - 1) or slots <= pieces:
        return Problem(f"{path}: its tokenizer is of an unknown kind")
    if total != len(data):
        return Problem(f"{path}: its tokenizer contradicts itself")
    return Tokenizer(data, identity, tuple(fields), unknown)


def _read(descriptor: int, offset: int, size: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    parts = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    if size > 0:
        raise OSError("cut short while it was read")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def verify(path: str) -> Problem | None:
    """A full check of the file against its own SHA-256: None when it is sound. Reads every byte."""
    opened = load(path)
    if isinstance(opened, Problem):
        return opened
    import hashlib

    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            left = os.fstat(stream.fileno()).st_size - FOOTER.size
            while left > 0 and (part := stream.read(min(left, 1 << 20))):
                digest.update(part)
                left -= len(part)
    except OSError as error:
        return Problem(f"{path}: {error.strerror or error}")
    return None if digest.hexdigest() == opened.identity else Problem(f"{path}: does not match its SHA-256")
