"""The small parent that the measured processes are started from.

It runs as `python -I -S spawner.py` and loads next to nothing, because a process that is started
from a large one counts the parent's memory as its own peak (Linux keeps the highest resident size
across the start of a program), and because nothing here may compete with what is measured.

On its standard input come requests, on its standard output go answers, each a length (4 bytes,
little-endian) and marshalled data. A request is a list of processes to run at once:
(arguments, environment, folder, bytes for standard input). The answer has, for each in order:
(wall seconds, processor seconds, peak memory in KiB, exit status as of wait4, stdout, stderr,
start on the monotonic clock).

The wall time ends when the process has ended and everything it wrote has been read, as for the
host of a hook. The processor time includes children that the process has waited for.
"""

from __future__ import annotations

import marshal
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_SECONDS = 600.0


def main() -> None:
    """Answer requests until the input ends."""
    while True:
        head = read_exactly(0, 4)
        if not head:
            return
        requests = marshal.loads(read_exactly(0, int.from_bytes(head, "little")))
        data = marshal.dumps(run(requests))
        write_all(1, len(data).to_bytes(4, "little") + data)


def run(requests: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Start all, feed all, then wait for all."""
    import select

    started = [start(request) for request in requests]
    poller = select.poll()
    owners = {}
    for process in started:
        for name in ("out", "err"):
            poller.register(process[name], select.POLLIN)
            owners[process[name]] = (process, name)
    open_pipes = len(owners)
    deadline = time.perf_counter() + LONGEST_SECONDS
    while open_pipes:
        ready = poller.poll(1000)
        if time.perf_counter() > deadline:
            raise SystemExit("a measured process does not end")
        for descriptor, _events in ready:
            process, name = owners[descriptor]
            part = os.read(descriptor, 1 << 16)
            if part:
                process["parts"][name].append(part)
                continue
            poller.unregister(descriptor)
            os.close(descriptor)
            open_pipes -= 1
            process["open"] -= 1
            if not process["open"]:
                # Closing its output is the last thing that a process does: what is left is its end.
                finish(process)
    return [process["result"] for process in started]


def start(request: tuple[Any, ...]) -> dict[str, Any]:
    """Start one process and write its input."""
    arguments, environment, folder, data = request
    stdin, feed = os.pipe()
    out, stdout = os.pipe()
    err, stderr = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1)]
    actions.append((os.POSIX_SPAWN_DUP2, stderr, 2))
    os.chdir(folder)
    begin = time.perf_counter()
    pid = os.posix_spawn(arguments[0], arguments, environment, file_actions=actions)
    for descriptor in (stdin, stdout, stderr):
        os.close(descriptor)
    try:
        write_all(feed, data)
    except BrokenPipeError:
        pass  # it did not want its input
    os.close(feed)
    return {"pid": pid, "begin": begin, "out": out, "err": err, "open": 2, "parts": {"out": [], "err": []}}


def finish(process: dict[str, Any]) -> None:
    """Wait for the end of one process and note what it took."""
    _pid, status, usage = os.wait4(process["pid"], 0)
    wall = time.perf_counter() - process["begin"]
    parts = process["parts"]
    process["result"] = (
        wall,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss,
        status,
        b"".join(parts["out"]),
        b"".join(parts["err"]),
        process["begin"],
    )


def read_exactly(descriptor: int, count: int) -> bytes:
    """So many bytes, fewer only at the end of the input."""
    parts = []
    while count:
        part = os.read(descriptor, count)
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main()
