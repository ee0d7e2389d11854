"""`python -m ways.agent`: how a hook that runs from source starts the agent."""

from __future__ import annotations

import sys

from ways.agent import serve


def main(arguments: list[str]) -> int:
    """Parse the command line and serve. Returns the exit code."""
    if not arguments:
        return serve.run()
    import argparse

    parser = argparse.ArgumentParser(prog="ways agent serve")
    parser.add_argument("--idle-seconds", type=float, default=serve.IDLE_SECONDS)
    return serve.run(parser.parse_args(arguments).idle_seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
