"""Set up a source install and show that it works.

    python3 build/from_source.py --activate ~/.claude

Makes `.venv` in the checkout, builds the native engine and the English model (kept in a cache for
the next time), stages the program in the app root, and, for each `--activate DIR`, prints the plan
and puts ways into that Claude Code config directory. It ends by playing a sample session through the
real hooks. Without `--activate` nothing outside the checkout and the app root changes, and the
sample session runs in a throw-away config directory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
VENV = CHECKOUT / ".venv"
OLDEST = (3, 11)


def main(argv: list[str] | None = None) -> int:
    """Run the steps. Returns the exit code of the first one that fails, 0 when all worked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--activate", action="append", default=[], metavar="DIR", help="a config directory to serve"
    )
    parser.add_argument(
        "--no-engine", action="store_true", help="leave out matching by meaning (no compiler needed)"
    )
    parser.add_argument("--no-demo", action="store_true", help="do not play the sample session")
    options = parser.parse_args(argv)
    if sys.version_info < OLDEST:
        print(
            f"ways needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is {sys.version.split()[0]}",
            file=sys.stderr,
        )
        return 2
    steps: list[list[str]] = []
    install(["build"])
    if not options.no_engine:
        steps += [[str(python()), "build/engine.py"], [str(python()), "build/model.py"]]
    for target in options.activate:
        steps.append([str(program()), "target", "add", os.path.abspath(os.path.expanduser(target))])
    if options.activate:
        steps.append([str(program()), "corpus"])
    for step in steps:
        code = run(step)
        if code:
            print(f"\nThis step failed (exit {code}): {' '.join(step)}", file=sys.stderr)
            return code
    if not options.no_demo:
        code = demo(options.activate)
        if code:
            return code
    print_next(bool(options.activate))
    return 0


def install(extras: list[str]) -> None:
    """Make the virtual environment when it is missing and install the project into it, editable."""
    if not python().exists():
        say("Making .venv")
        venv.EnvBuilder(with_pip=True).create(VENV)
    say("Installing the program and its libraries")
    wanted = f".[{','.join(extras)}]"
    command = [
        str(python()),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--editable",
        wanted,
    ]
    subprocess.run(command, cwd=CHECKOUT, check=True)


def python() -> Path:
    """The virtual environment's interpreter."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def program() -> Path:
    """The `ways` command of the virtual environment."""
    return VENV / ("Scripts/ways.exe" if os.name == "nt" else "bin/ways")


def run(command: list[str], environment: dict[str, str] | None = None) -> int:
    """Run one step in the checkout, its output shown. Returns its exit code."""
    say(" ".join([Path(command[0]).name, *command[1:]]))
    return subprocess.run(command, cwd=CHECKOUT, check=False, env=environment).returncode


def demo(activated: list[str]) -> int:
    """Play the sample session through the first activated target, else through a throw-away one."""
    if activated:
        return run([str(program()), "demo", "--target", os.path.abspath(os.path.expanduser(activated[0]))])
    with tempfile.TemporaryDirectory(prefix="ways-demo-") as folder:
        target = os.path.join(folder, "claude")
        environment = {**os.environ, "CLAUDE_CONFIG_DIR": target}
        for name in ("APP", "CONFIG", "STATE", "CACHE", "SESSIONS"):
            environment[f"WAYS_{name}_ROOT"] = os.path.join(folder, name.lower())
        for step in (["reconcile"], ["corpus"], ["demo", "--target", target]):
            code = run([str(program()), *step], environment)
            if code:
                return code
    return 0


def print_next(activated: bool) -> None:
    """Say what to do now."""
    name = os.path.relpath(program(), CHECKOUT)
    print("\nDone.")
    if activated:
        print(
            "Start Claude Code in a project: the hooks are in place. To see their state: " + f"{name} status"
        )
    else:
        print(f"Nothing of yours was changed. To put ways into Claude Code: {name} init")


def say(line: str) -> None:
    """One line a step, flushed, so that it stands before the step's own output."""
    print(f"== {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
