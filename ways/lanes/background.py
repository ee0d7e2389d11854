"""Starting our own program in the background from a hook, where no adapter does it (the Windows wiring)."""

from __future__ import annotations

from ways.core import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def start(context: Context, arguments: list[str]) -> None:
    """Run `ways` with these arguments, detached: the hook neither waits for it nor shares a handle with it.

    Nothing is started in a trial of the hooks, which looks at what the hook itself answers. A fault goes to
    the debug log.
    """
    if context.environ.get("WAYS_SAMPLE") or context.environ.get("WAYS_PROBE"):
        return
    from ways.core.local_socket import spawn_detached
    from ways.issues.starting import program

    values = environment.child_environment(context.environ)
    if context.project:
        # Its folder is not the child's current one: Windows could not rename it meanwhile.
        values["CLAUDE_PROJECT_DIR"] = context.project
    try:
        command, folder = program()
        spawn_detached([*command, *arguments], values, folder)
    except OSError as error:
        context.note(f"ways {' '.join(arguments)} cannot be started: {error}")
