"""The program's entry point: hooks at once, everything else through the command line."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run `ways` with `argv` (without the program's name). Returns the exit code.

    `ways hook …` and the resident embedder start without the command line's libraries.
    """
    arguments = sys.argv[1:] if argv is None else argv
    first = arguments[0] if arguments else ""
    # What a start costs, for the benchmarks; the frozen program answers it sooner still.
    if first == "--noop":
        return 0
    if getattr(sys, "frozen", False):
        from ways.core import in_use

        in_use.hold()  # an update removes no version that somebody runs
    if first == "hook":
        from ways.lanes.dispatch import main as hook

        return hook(arguments[1:])
    if getattr(sys, "frozen", False):
        from ways.core import environment

        environment.restore()
    if first == "way-embed":
        from ways.embedding.resident import main as embed

        return embed(arguments[1:])
    if arguments[:2] == ["agent", "serve"]:
        from ways.agent.__main__ import main as agent

        return agent(arguments[2:])
    if first == "run-script":
        return run_script(arguments[1:])
    try:
        from ways.cli.main import main as command_line

        return command_line(arguments)
    except KeyboardInterrupt:
        # Ctrl-C before the command line was there to catch it, or while it was leaving.
        sys.stderr.write("Interrupted; nothing more was changed.\n")
        return 130


def run_script(arguments: list[str]) -> int:
    """Run a Python file as `python FILE …` would: the frozen program's interpreter for macros."""
    import runpy

    if not arguments:
        sys.stderr.write("ways run-script: name a file\n")
        return 2
    sys.argv = list(arguments)
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as leaving:
        if isinstance(leaving.code, int):
            return leaving.code
        if leaving.code is None:
            return 0
        sys.stderr.write(f"{leaving.code}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
