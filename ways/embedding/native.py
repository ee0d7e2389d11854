"""The native library through ctypes: no numpy, no llama_cpp (docs/decisions/engine.md).

Its interface is a handful of C functions over integers, floats and pointers (`build/native/
ways_native.cpp`), so no structure of llama.cpp is described here that could be described wrongly.
`load` compares the interface's version and tries the arithmetic before anything is trusted; what
does not hold is a `Problem`, never a crash.
"""

from __future__ import annotations

from array import array

from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Floats = array[float]

ABI = 1
ENGINE_VERSION = "llama-cpp-python 0.3.36"  # what build/packages.json pins; a test compares
MAX_SEQUENCE = 512
_CODES = {
    1: "it was called with a value it does not take",
    2: "the model cannot be loaded",
    3: "there is not enough memory for a context",
    4: "the computation failed",
    5: "out of memory",
    6: "this processor lacks the AVX2 instructions that the engine was compiled for",
}


@record
class Problem:
    """Why the library, or a call into it, cannot be used. `code` is the library's own, 0 before any call."""

    reason: str
    code: int = 0


def describe(code: int) -> str:
    """The library's error code in words."""
    return _CODES.get(code, f"it failed with code {code}")


class Library:
    """The loaded library. Made by `load` alone."""

    def __init__(self, path: str, functions: Any) -> None:
        self.path = path
        self._functions = functions

    @property
    def version(self) -> str:
        """The source it was built from, as `llama-cpp-python 0.3.36`."""
        return str(self._functions.ways_engine_version().decode("utf-8", "replace"))

    def open(self, path: str, threads: int = 1) -> Model | Problem:
        """The model at `path`, on `threads` threads."""
        import ctypes

        code = ctypes.c_int32(0)
        try:
            name = path.encode("utf-8")
        except UnicodeEncodeError:
            return Problem(f"{path!r} is not a path in UTF-8")
        handle = self._functions.ways_open(name, threads, ctypes.byref(code))
        if not handle:
            return Problem(describe(code.value), code.value)
        return Model(self._functions, handle)

    def best(
        self, queries: Floats, rows: memoryview[float], dimensions: int, spans: memoryview[int], offset: int
    ) -> Floats | Problem:
        """Per query and owner the highest dot product over the owner's rows, NaN for an owner without rows.

        `queries` are float32 vectors one after another, `rows` likewise; `spans` hold four uint32 per
        owner, of which [offset] is the first row and [offset + 1] the number of rows.
        """
        owners, count = len(spans) // 4, len(queries) // dimensions
        out = array("f", bytes(4 * owners * count))
        if not out:
            return out
        with _Address(rows) as row_address, _Address(spans) as span_address:
            address = out.buffer_info()[0]  # also stands in for that of no rows at all
            code = self._functions.ways_best(
                queries.buffer_info()[0], count, row_address or address, len(rows) // dimensions, dimensions,
                span_address + 4 * offset, 4, owners, address,
            )  # fmt: skip
        return Problem(describe(code), code) if code else out

    def kernel(self, rows: memoryview[float], dimensions: int, vectors: Sequence[Floats]) -> list[Floats]:
        """Per vector the dot product with every row, as many float32 values as rows.

        Raises ValueError when the sizes do not fit together.
        """
        count = len(rows) // dimensions
        if any(len(vector) != dimensions for vector in vectors):
            raise ValueError(f"a vector does not have {dimensions} values")
        answers = []
        with _Address(rows) as address:
            for vector in vectors:
                out = array("f", bytes(4 * count))
                if count:
                    self._functions.ways_scores(
                        vector.buffer_info()[0], 1, address, count, dimensions, out.buffer_info()[0]
                    )
                answers.append(out)
        return answers


class Model:
    """An opened model. Not for several threads at once."""

    def __init__(self, functions: Any, handle: int) -> None:
        self._functions = functions
        self._handle = handle
        self.dimensions = int(functions.ways_dimensions(handle))
        self.vocabulary = int(functions.ways_vocabulary(handle))

    def embed(self, sequences: Sequence[Sequence[int]], mean: bytes = b"") -> Floats | Problem:
        """Vectors of length 1, `dimensions` float32 each, one after another in the order of the sequences.

        A sequence has 1 to 512 token ids. `mean` (float32 bytes) is subtracted from each vector before it
        is normalised again. A sequence for which the model gives no direction yields NaN values.
        """
        if self._handle == 0:
            return Problem("the model is closed")
        if mean and len(mean) != 4 * self.dimensions:
            return Problem(f"the mean vector has {len(mean) // 4} values, the model {self.dimensions}")
        out = array("f", bytes(4 * self.dimensions * len(sequences)))
        if not sequences:
            return out
        try:
            ids = array("i", [number for sequence in sequences for number in sequence])
        except (OverflowError, TypeError) as error:
            return Problem(f"a token id is not one: {error}")
        lengths = array("i", map(len, sequences))
        code = self._functions.ways_embed(
            self._handle, ids.buffer_info()[0], lengths.buffer_info()[0], len(sequences), mean or None,
            out.buffer_info()[0],
        )  # fmt: skip
        return Problem(describe(code), code) if code else out

    def close(self) -> None:
        """Free the model. Further calls answer a Problem."""
        handle, self._handle = self._handle, 0
        if handle:
            self._functions.ways_close(handle)


class _Address:
    """The address of a buffer that may be read-only (a mapped file), held for as long as it is used."""

    def __init__(self, view: memoryview[float] | memoryview[int]) -> None:
        import ctypes

        size = ctypes.sizeof(ctypes.c_void_p)
        self._api = ctypes.pythonapi
        self._buffer = (
            ctypes.c_char * (16 * size)
        )()  # Py_buffer is 80 bytes on 64-bit machines; buf comes first
        self._view = view
        self._first = ctypes.c_void_p.from_buffer(self._buffer)

    def __enter__(self) -> int:
        import ctypes

        if not self._view.nbytes:
            return 0
        self._api.PyObject_GetBuffer(ctypes.py_object(self._view), self._buffer, 0)  # 0: PyBUF_SIMPLE
        return self._first.value or 0

    def __exit__(self, *_: object) -> None:
        if self._view.nbytes:
            self._api.PyBuffer_Release(self._buffer)


def load(path: str) -> Library | Problem:
    """The library at `path`, after its self-test, or why it cannot be used."""
    import ctypes

    if is_cut_short(path):
        return Problem(f"{path}: cut short")
    try:
        functions = ctypes.CDLL(path)
    except OSError as error:
        return Problem(f"{path}: {error}")
    try:
        _declare(functions, ctypes)
    except AttributeError as error:
        return Problem(f"{path}: not the engine of this program ({error})")
    if (abi := functions.ways_abi()) != ABI:
        return Problem(f"{path}: its interface is version {abi}, this program needs {ABI}")
    if not functions.ways_processor_ok():
        return Problem(f"{path}: {describe(6)}", 6)
    if why := _self_test(functions):
        return Problem(f"{path}: {why}")
    return Library(path, functions)


def is_cut_short(path: str) -> bool:
    """True when an ELF file ends before its parts do. The loader maps such a file without looking, and
    the first touch of what is not there ends the process: a hook would be killed at every prompt."""
    import struct

    try:
        with open(path, "rb", buffering=0) as file:
            size = file.seek(0, 2)
            file.seek(0)
            header = file.read(64)
            if header[:6] != b"\x7fELF\x02\x01":
                return False  # another format: its loader compares the sizes itself
            if len(header) < 64:
                return True
            segments_at, sections_at = struct.unpack_from("<QQ", header, 32)
            each, segments, section, sections = struct.unpack_from("<4H", header, 54)
            if max(segments_at + each * segments, sections_at + section * sections) > size:
                return True
            file.seek(segments_at)
            table = file.read(each * segments)
    except OSError:
        return False  # the loader says why
    ends = (
        sum(struct.unpack_from("<Q16xQ", table, at + 8)) for at in range(0, len(table) - 55, max(56, each))
    )
    return max(ends, default=0) > size


def _declare(functions: Any, ctypes: Any) -> None:
    pointer, number = ctypes.c_void_p, ctypes.c_int32
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "ways_abi": (number, []),
        "ways_engine_version": (ctypes.c_char_p, []),
        "ways_processor_ok": (number, []),
        "ways_open": (pointer, [ctypes.c_char_p, number, pointer]),
        "ways_close": (None, [pointer]),
        "ways_dimensions": (number, [pointer]),
        "ways_vocabulary": (number, [pointer]),
        "ways_embed": (number, [pointer, pointer, pointer, number, ctypes.c_char_p, pointer]),
        "ways_scores": (number, [pointer, number, pointer, number, number, pointer]),
        "ways_best": (number, [pointer, number, pointer, number, number, pointer, number, number, pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(functions, name)
        function.restype, function.argtypes = result, arguments


def _self_test(functions: Any) -> str:
    """Why plain arithmetic does not come out right through the library, "" when it does."""
    query, rows, out = array("f", [1, 2, 3]), array("f", [1, 0, 0, 0, 1, 1]), array("f", [0, 0])
    code = functions.ways_scores(query.buffer_info()[0], 1, rows.buffer_info()[0], 2, 3, out.buffer_info()[0])
    if code != 0 or out.tolist() != [1.0, 5.0]:
        return f"its self-test failed (code {code})"
    return ""


def kernel_of(library: Library) -> Callable[[memoryview[float], int, Sequence[Floats]], list[Floats]]:
    """The library's dot products in the form that `ways.embedding.cosine` takes."""
    return library.kernel
