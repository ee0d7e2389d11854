"""`ways way-embed`: the resident embedder, one process per user and model (spec: matching, "Embedding").

It loads the model once and answers hooks over a private socket until it has been idle for some
minutes, the program it was started from is replaced, or it is asked to leave. Only who holds the
lock may serve, so racing starts leave exactly one. It decides nothing: it answers cosines.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

from ways.core import active, debuglog, files, local_socket, locking
from ways.core import roots as core_roots
from ways.embedding import engine as engines
from ways.embedding import paths
from ways.embedding.answering import Answerer
from ways.embedding.serving import Server

if TYPE_CHECKING:
    from types import FrameType

    from ways.core.roots import Roots

    Stamp = tuple[object, ...]

DONE, FAILED = 0, 1
WHERE = "way-embed"


def main(argv: list[str]) -> int:
    """Serve one model until there is no more reason to. Returns the exit code: 0 also when another
    resident serves already, 1 when there is no engine or no safe place for the socket."""
    parser = argparse.ArgumentParser(prog="ways way-embed", description="The resident embedder.")
    parser.add_argument("--model", choices=paths.MODELS, default=paths.EN)
    parser.add_argument("--idle-minutes", type=float, default=10.0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(argv)
    _detach()
    return run(core_roots.resolve(), options.model, max(0.0, options.idle_minutes) * 60, options.threads)


def run(roots: Roots, model: str, idle_seconds: float, threads: int = 1) -> int:
    """As main, for these roots."""
    stamp = program_stamp(roots, model)  # taken first: a replacement during the start counts
    lock = locking.Lock(paths.serve_lock(roots, model), 0)
    try:
        files.make_private(paths.resident_folder(roots))
        if why := core_roots.unsafe_folder(paths.resident_folder(roots)):
            return _failed(roots, f"{paths.resident_folder(roots)} {why}")
        lock.acquire()
    except locking.LockTimeout as error:
        return DONE if error.why.startswith("held") else _failed(roots, str(error))
    except OSError as error:
        return _failed(roots, str(error))
    try:
        return _serve(roots, model, idle_seconds, threads, stamp)
    finally:
        lock.release()


def _serve(roots: Roots, model: str, idle_seconds: float, threads: int, stamp: Stamp) -> int:
    engine = engines.open_engine(model, roots, threads)
    if isinstance(engine, engines.EngineProblem):
        return _failed(roots, str(engine))
    engine.embed(["warm up"])
    if sys.platform == "win32":
        return _serve_pipe(roots, model, idle_seconds, stamp, Answerer(engine))
    path = paths.socket_path(roots, model)
    try:
        listener = local_socket.listen(path)
    except (local_socket.Untrusted, OSError) as error:
        return _failed(roots, str(error))
    ours = local_socket.identity(path)
    listening = socket.socket(fileno=listener.detach())
    server = Server(listening, Answerer(engine), idle_seconds)
    _leave_on_signal(server)
    try:
        why = server.serve(
            lambda: program_stamp(roots, model) != stamp or local_socket.identity(path) != ours
        )
    finally:
        # The name goes before the socket: a hook finds nobody rather than a queue that nobody serves.
        if local_socket.identity(path) == ours:
            files.remove_if_there(path)
        files.remove_if_there(paths.start_record(roots, model))
        listening.close()
    if why == "the engine failed":
        return _failed(roots, why)
    return DONE


if sys.platform == "win32":

    def _serve_pipe(roots: Roots, model: str, idle_seconds: float, stamp: Stamp, answerer: Answerer) -> int:
        from ways.embedding.pipe_serving import PipeServer

        try:
            server = PipeServer(paths.pipe_folder(roots, model), answerer, idle_seconds)
            why = server.serve(lambda: program_stamp(roots, model) != stamp)
            files.remove_if_there(paths.start_record(roots, model))
        except OSError as error:
            return _failed(roots, str(error))
        return _failed(roots, why) if why == "the engine failed" else DONE


def _detach() -> None:
    """Leave the starter's folder (it may be unmounted or removed) and, where that is still to do, its
    session (a Ctrl-C there is not meant for us)."""
    os.chdir(os.sep)
    if os.name == "nt":
        return
    if os.getpid() != os.getsid(0):
        try:
            os.setsid()
        except PermissionError:  # we lead a process group: started by hand from a shell
            return


def program_stamp(roots: Roots, model: str) -> Stamp:
    """What must stay as it was at the start: the active version, and the files that we run from."""
    watched = [sys.executable, __file__, paths.find_library(roots), paths.find_model(model, roots)]
    return (os.path.realpath(active.folder(roots.app)), *(_file_stamp(path) for path in watched))


def _file_stamp(path: str) -> tuple[int, ...] | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def _leave_on_signal(server: Server) -> None:
    """SIGTERM and SIGINT end the loop within a second, after the request in hand."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        server.stopping = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _failed(roots: Roots, why: str) -> int:
    debuglog.note(roots.state, WHERE, why)
    return FAILED
