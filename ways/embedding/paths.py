"""Where the native library and the models are (spec: roots and files; matching, "Embedding").

First what was named by hand (`WAYS_ENGINE_LIB`, `WAYS_MODELS_DIR`: tests and builds), then the frozen
program's own version, then the active one (`{app}/current/lib`, `{app}/current/models`), then the cache
(`{cache}/lib`, `{cache}/models`), which is where an acquired multilingual model lands.
"""

from __future__ import annotations

import os
import sys

from ways.core.checksum import checksum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ways.core.roots import Roots

EN, MULTI = "en", "multi"
MODELS = (EN, MULTI)


def library_name(platform: str | None = None) -> str:
    """File name of the native library on a platform as `sys.platform` spells it."""
    platform = sys.platform if platform is None else platform
    if platform in {"win32", "cygwin", "msys"}:
        return "ways_native.dll"
    return "ways_native.dylib" if platform == "darwin" else "ways_native.so"


def model_name(model: str) -> str:
    """File name of a model: `en.gguf`, `multi.gguf`."""
    return f"{model}.gguf"


def library_places(roots: Roots, environ: Mapping[str, str] | None = None) -> list[str]:
    """Every path where the library may be, in the order in which it is looked for."""
    named = (os.environ if environ is None else environ).get("WAYS_ENGINE_LIB", "")
    if named:
        return [named]
    return _places(roots, "lib", library_name())


def model_places(model: str, roots: Roots, environ: Mapping[str, str] | None = None) -> list[str]:
    """Every path where a model's file may be, in the order in which it is looked for."""
    named = (os.environ if environ is None else environ).get("WAYS_MODELS_DIR", "")
    name = model_name(model)
    if named:
        return [os.path.join(named, name)]
    return _places(roots, "models", name)


def _places(roots: Roots, folder: str, name: str) -> list[str]:
    from ways.core import active
    from ways.core.environment import version_folder

    own = version_folder()
    found = [os.path.join(own, folder, name)] if own else []
    return [
        *found,
        os.path.join(active.folder(roots.app), folder, name),
        os.path.join(roots.cache, folder, name),
    ]


def first_file(places: list[str]) -> str:
    """The first place that holds a regular file, "" when none does."""
    for path in places:
        if os.path.isfile(path):
            return path
    return ""


def find_library(roots: Roots, environ: Mapping[str, str] | None = None) -> str:
    """The native library, "" when there is none."""
    return first_file(library_places(roots, environ))


def find_model(model: str, roots: Roots, environ: Mapping[str, str] | None = None) -> str:
    """A model's file, "" when there is none."""
    return first_file(model_places(model, roots, environ))


# Where the resident embedder is met: a folder of the user's own beside the sessions.

_LONGEST_NAME = "multi.sock"


def resident_folder(roots: Roots) -> str:
    """The folder of sockets and locks. Where its path would be too long for a socket, one under /tmp
    whose name is made from it: the same user and sessions root always meet in the same place."""
    from ways.core.local_socket import MAX_SOCKET_PATH

    folder = os.path.join(roots.sessions, ".embed")
    if os.name == "nt" or len(os.fsencode(os.path.join(folder, _LONGEST_NAME))) <= MAX_SOCKET_PATH:
        return folder
    return f"/tmp/.agent-ways-embed-{os.getuid()}-{checksum(os.fsencode(folder)).hex()}"


def socket_path(roots: Roots, model: str) -> str:
    """The socket of one model's resident."""
    return os.path.join(resident_folder(roots), f"{model}.sock")


def pipe_folder(roots: Roots, model: str) -> str:
    """Where the record of one model's named pipe stands (Windows)."""
    return os.path.join(resident_folder(roots), model)


def serve_lock(roots: Roots, model: str) -> str:
    """Held by a resident for as long as it lives."""
    return os.path.join(resident_folder(roots), f"{model}.lock")


def start_lock(roots: Roots, model: str) -> str:
    """Held by a hook while it starts a resident."""
    return os.path.join(resident_folder(roots), f"{model}.start.lock")


def start_record(roots: Roots, model: str) -> str:
    """Its age is the time since a resident was last started; a resident that leaves removes it."""
    return os.path.join(resident_folder(roots), f"{model}.started")
