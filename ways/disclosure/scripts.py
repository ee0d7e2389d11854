"""Running a way's macro or postcheck (spec: disclosure, Macros and postchecks; cases h20, h21, u06).

A script gets a closed or given stdin, the user's own environment plus the WAYS_ variables, a time
limit and an output limit; when the time is over its whole process group dies.
"""

from __future__ import annotations

import os
import sys

from ways.core import environment, text
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

MAX_STDERR = 2_000
READ_LIMIT_FACTOR = 4  # bytes of UTF-8 that one character may take


@record
class ScriptResult:
    """What a script did. `code` is None when it was killed for time or output; `why` says why it
    could not be used, "" when it ended by itself; `output` is decoded, at most the limit."""

    code: int | None
    output: str
    why: str = ""
    stderr: str = ""


def command_for(path: str) -> list[str] | None:
    """The argument list that runs a script of ours, None when this machine cannot run its kind.

    `.sh` needs bash or sh (Git Bash on Windows), `.py` runs on the program's own interpreter,
    `.ps1` needs PowerShell.
    """
    extension = os.path.splitext(path)[1].lower()
    if extension == ".py":
        return [*interpreter(), path]
    if extension == ".sh":
        shell = _find_shell()
        return [shell, path] if shell else None
    if extension == ".ps1":
        shell = _which("pwsh") or _which("powershell")
        return [shell, "-NoProfile", "-NonInteractive", "-File", path] if shell else None
    return None


def interpreter() -> list[str]:
    """How to run a Python file with the interpreter that the program carries.

    The frozen program has no separate python: it runs the file itself through a hidden command.
    """
    if getattr(sys, "frozen", False):
        return [sys.executable, "run-script"]
    return [sys.executable, "-I", "-X", "utf8"]


def _which(name: str) -> str:
    import shutil

    return shutil.which(name) or ""


def _find_shell() -> str:
    if os.name != "nt":
        return _which("bash") or _which("sh")
    for base in (os.environ.get("PROGRAMFILES", ""), os.environ.get("LOCALAPPDATA", "")):
        for tail in (r"Git\bin\bash.exe", r"Programs\Git\bin\bash.exe"):
            candidate = os.path.join(base, tail) if base else ""
            if candidate and os.path.isfile(candidate):
                return candidate
    found = _which("bash")
    # System32\bash.exe is the Windows Subsystem for Linux: another file system, another home.
    return "" if "system32" in found.lower() else found


def script_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, our variables, and no lock on the user's git index (case h21)."""
    values = environment.child_environment()
    values["GIT_OPTIONAL_LOCKS"] = "0"
    values.update({name: text.clean(value) for name, value in extra.items()})
    return values


def run(
    path: str,
    folder: str,
    extra: Mapping[str, str],
    timeout: float,
    max_chars: int,
    stdin: bytes | None = None,
) -> ScriptResult:
    """Run the script in `folder` and collect its output. Never raises for what the script does.

    `timeout` in seconds, `max_chars` in characters of output; a script that exceeds either is
    killed with its process group (what it printed in time is kept when only the output was too
    long). A grandchild that keeps stdout open cannot keep us: reading ends with the script.
    """
    import subprocess

    command = command_for(path)
    if command is None:
        return ScriptResult(None, "", f"nothing on this machine runs {os.path.basename(path)}")
    options: dict[str, object] = {}
    if os.name == "nt":
        options["creationflags"] = 0x00000200 | 0x08000000  # new process group, no window
    else:
        options["start_new_session"] = True
    where = folder if os.path.isdir(folder) else None
    try:
        process = subprocess.Popen(  # type: ignore[call-overload]
            command,
            cwd=where,
            env=script_environment(extra),
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=True,
            **options,
        )
    except OSError as error:
        return ScriptResult(None, "", f"cannot start {os.path.basename(path)}: {error.strerror or error}")
    return _collect(process, timeout, max_chars, stdin, _contained(process))


def _contained(process: subprocess.Popen[bytes]) -> int:
    """On Windows the job that ends with all of the script's processes; 0 elsewhere, or when there is none."""
    if os.name != "nt":
        return 0
    from windows import jobs

    return jobs.contain(int(process._handle))  # type: ignore[attr-defined,unused-ignore]


def _collect(
    process: subprocess.Popen[bytes], timeout: float, max_chars: int, stdin: bytes | None, job: int
) -> ScriptResult:
    """Read both pipes in threads until the script ends, the time is over or the output too long."""
    import threading
    import time

    limit = max_chars * READ_LIMIT_FACTOR
    pieces: list[bytes] = []
    errors: list[bytes] = []
    too_long = threading.Event()

    def drain(pipe: object, into: list[bytes], most: int, flag: threading.Event | None) -> None:
        kept = 0
        descriptor = pipe.fileno()  # type: ignore[attr-defined]
        while True:
            try:
                part = os.read(descriptor, 65536)
            except OSError:
                return  # closed under us after a kill
            if not part:
                return
            if kept < most:
                into.append(part[: most - kept])
                kept += len(part)
            if kept > most and flag is not None:
                flag.set()

    def feed() -> None:
        try:
            process.stdin.write(stdin)  # type: ignore[union-attr,arg-type]
            process.stdin.close()  # type: ignore[union-attr]
        except OSError:
            return  # a script need not read its input

    readers = [
        threading.Thread(target=drain, args=(process.stdout, pieces, limit, too_long), daemon=True),
        threading.Thread(target=drain, args=(process.stderr, errors, MAX_STDERR, None), daemon=True),
    ]
    if stdin is not None:
        readers.append(threading.Thread(target=feed, daemon=True))
    for reader in readers:
        reader.start()
    deadline = time.monotonic() + timeout
    why = ""
    while process.poll() is None:
        if too_long.is_set():
            why = f"printed more than {max_chars} characters"
            break
        if time.monotonic() >= deadline:
            why = f"ran longer than {timeout:g} s"
            break
        time.sleep(0.002)
    # Grandchildren go too: one that held our pipe would otherwise outlive the answer.
    kill_group(process, job)
    for reader in readers[:2]:
        reader.join(0.2)
    output = text.clean(b"".join(pieces).decode("utf-8", "replace")).replace("\r\n", "\n")
    stderr = text.snippet(b"".join(errors).decode("utf-8", "replace"), 300)
    code = None if why else process.returncode
    return ScriptResult(code, output[:max_chars], why, stderr)


def kill_group(process: subprocess.Popen[bytes], job: int = 0) -> None:
    """Kill what is left of the script's process group (on Windows of its job) and reap the script."""
    import signal
    import subprocess

    if os.name == "nt":
        from windows import jobs

        jobs.end(job)
        if process.poll() is None and not job:
            # taskkill ends the tree; the process itself is killed when that fails.
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(process.pid)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
            process.kill()
    else:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # the group is gone (or holds only what is no longer ours): nothing to end
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        return
