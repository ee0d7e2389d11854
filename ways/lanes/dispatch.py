"""`ways hook <event>`: read the payload, run the lane, exit 0 whatever happens.

A hook never fails its host. This is the one place on a hook's path that catches everything: what
went wrong goes to the debug log, and the answer is nothing.
"""

from __future__ import annotations

import os
import sys

from ways.core import debuglog, roots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from ways.lanes.context import Context

# Event name of `ways hook` -> module of ways.lanes with `run(context)`.
LANES = {
    "session-start": "session_start",
    "state": "state",
    "prompt": "prompt",
    "command": "command",
    "file": "file",
    "task": "task",
    "subagent-start": "subagent_start",
    "post-tool": "post_tool",
    "queued": "queued",
    "stop": "stop",
    "tasks-active": "tasks_active",
    "session-link": "session_link",
    "attend-drain": "attend_drain",
    "issues-pull": "issues_pull",
    "issues-task-created": "issues_task_created",
    "corpus-refresh": "corpus_refresh",
    "update-notice": "update_notice",
}
# The lanes that may refuse what the host is about to do, by exit code 2 and a reason on stderr.
REFUSING = frozenset(["issues-task-created"])
# The lines between which an adapter finds the reason, whole, before it exits with 2. Without an adapter the
# program does it itself.
REFUSAL, REFUSAL_END = b"ways: refuse this task\n", b"ways: end of the reason\n"


def main(arguments: list[str], descriptor: int = 0, environ: Mapping[str, str] | None = None) -> int:
    """Run the lane named by `arguments[0]` on the payload at `descriptor`. Returns 0, and 2 only for a
    refusal (REFUSING) where no adapter stands between the host and us.

    `--target DIR` names the config directory that the hook was written for, and says that there is no
    adapter (the Windows wiring uses it; the POSIX adapters set WAYS_TARGET).
    """
    environ = dict(os.environ if environ is None else environ)
    name = arguments[0] if arguments else ""
    alone = len(arguments) > 2 and arguments[1] == "--target"
    if alone:
        environ["WAYS_TARGET"] = arguments[2]
    try:
        where = roots.resolve(environ)
    except OSError as error:
        sys.stderr.write(f"ways hook: {error}\n")
        return 0
    refusal = ""
    answer_only_to_the_host()
    try:
        refusal = _run(name, descriptor, environ, where)
    except Exception as error:  # noqa: BLE001 - the contract: a hook never fails its host
        debuglog.note(where.state, name or "hook", f"{type(error).__name__}: {error} {_origin(error)}")
        if environ.get("WAYS_DEBUG"):
            import traceback

            traceback.print_exc()
    return _refuse(refusal, alone) if refusal else 0


def answer_only_to_the_host() -> None:
    """A host that gave us no standard output must not find our answer in the next file that we open, which
    would get its number: an output that cannot be written to takes the place."""
    for descriptor in (1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDONLY)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)


def _refuse(reason: str, alone: bool) -> int:
    """Say that the host must not go on: to the host, or to the adapter."""
    from ways.core.text import clean
    from ways.lanes import answer

    text = clean(reason).encode("utf-8") + b"\n"
    if alone:
        return 2 if answer.write(text, 2) else 0
    answer.write(REFUSAL + text + REFUSAL_END)
    return 0


def _run(name: str, descriptor: int, environ: Mapping[str, str], where: roots.Roots) -> str:
    """Run a lane; why the host must not go on, "" for nothing."""
    from ways.lanes import payload as payloads
    from ways.lanes.context import Context

    if name not in LANES:
        debuglog.note(where.state, "hook", f"unknown event {name[:60]!r}")
        return ""
    try:
        document, data = payloads.read(descriptor)
        payload = payloads.parse(document, data)
        if not payload.event:
            raise payloads.PayloadProblem("the payload names no hook event")
    except payloads.PayloadProblem as problem:
        debuglog.note(where.state, name, str(problem))
        return ""
    context = Context(name, payload, where, environ)
    try:
        lane(name)(context)
    except payloads.PayloadProblem as problem:
        context.note(str(problem))
    finally:
        context.flush_events()
        context.flush_notes()
    return context.refusal if name in REFUSING else ""


def lane(name: str) -> Callable[[Context], None]:
    """The `run` function of a lane. Raises KeyError for an unknown name."""
    module: ModuleType = __import__(f"ways.lanes.{LANES[name]}", fromlist=["run"])
    run: Callable[[Context], None] = module.run
    return run


def _origin(error: BaseException) -> str:
    """File and line where an error came from, for the debug log."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f"({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
