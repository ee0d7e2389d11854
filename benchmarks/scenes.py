"""Homes to measure in: a program, the ways, a project, a session that is under way.

A scene is a home of its own below the folder of the run: nothing of the user's is read or written.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import texts
from benchmarks.measure import Call
from benchmarks.payloads import Talk, write_transcript
from build import engine, model, packages, selftest
from ways.cli.hook_player import argv, read_handlers
from ways.core import roots as core_roots
from ways.core.roots import Roots
from ways.embedding import paths as embedding_paths
from ways.session import stash
from ways.session.state import Session, open_session

# A catalogue built less than two seconds after a change is not trusted by the next hook.
SETTLE_SECONDS = 2.2
SHOWN = "benchmark/shown"
STASHED = ("benchmark/first", "benchmark/second", "benchmark/third")
SHOWN_FILE = "tides/harbour.benchmark"
SHOWN_COMMAND = "benchmark-pilot harbour"
_WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class Scene:
    """A home. `program` are the words that start ways in it; `target` is the config directory that hooks are
    told of; `extra` goes into the environment."""

    home: Path
    program: tuple[str, ...]
    target: Path
    extra: tuple[tuple[str, str], ...] = ()
    project: Path = field(default_factory=Path)

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of a process in this home."""
        return {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "LANG": "C.UTF-8",
            **dict(self.extra),
        }

    @property
    def roots(self) -> Roots:
        """Where ways keeps things in this home."""
        return core_roots.resolve(self.environment)

    def talk(self, name: str, size: int = 64_000) -> Talk:
        """A session with a transcript of this size (0: none)."""
        path = self.home / ".claude" / "projects" / "-project" / f"{name}.jsonl"
        if size and not path.exists():
            write_transcript(str(path), size)
        return Talk(str(self.project), name, str(path))

    def command(self, *arguments: str, stdin: bytes = b"") -> Call:
        """A command line of ways."""
        return Call((*self.program, *arguments), self.environment, str(self.project), stdin)

    def hook(self, event: str, payload: bytes) -> Call:
        """A hook run as its adapter runs it, without the adapter."""
        own = {"WAYS_TARGET": str(self.target), "CLAUDE_PROJECT_DIR": str(self.project)}
        arguments = (*self.program, "hook", event)
        return Call(arguments, {**self.environment, **own}, str(self.project), payload)

    def adapter(self, name: str, payload: bytes, settings: Path | None = None) -> Call:
        """The command of the adapter `name` as settings.json holds it, run by the shell as the host does.

        Raises LookupError when settings.json has none.
        """
        for handler in read_handlers(str(settings or self.target / "settings.json")):
            if name in handler.command:
                shell, *rest = argv(handler)
                own = {**self.environment, "CLAUDE_PROJECT_DIR": str(self.project)}
                words = (shutil.which(shell, path=own["PATH"]) or shell, *rest)
                return Call(words, own, str(self.project), payload)
        raise LookupError(f"settings.json of {self.target} has no command with {name}")

    def session(self, name: str) -> Session:
        """The state of a session."""
        opened = open_session(self.roots, name)
        if opened is None:
            raise RuntimeError(f"{name} cannot have a state in {self.roots.sessions}")
        return opened

    # Preparing for one run

    def forget_shown(self, session: str, way: str = SHOWN) -> None:
        """The way has not been shown in this session."""
        shutil.rmtree(self.session(session).path("ways", way), ignore_errors=True)

    def leave_stash(self, session: str, ways: tuple[str, ...] = STASHED) -> None:
        """A Task has matched these ways, and its subagent is about to start."""
        pairs = tuple((way, "keyword") for way in ways)
        stash.write_stash(self.session(session), stash.Stash(ways=pairs, subagent_type="general-purpose"))

    def drop_stashes(self, session: str) -> None:
        """No Task has left anything."""
        shutil.rmtree(self.session(session).path(stash.FOLDER), ignore_errors=True)

    def drop_catalogues(self) -> None:
        """No hook has ever cached the catalogue."""
        for path in Path(self.roots.cache).glob("catalogue-*"):
            path.unlink(missing_ok=True)

    def drop_corpus(self) -> None:
        """No corpus was ever built."""
        for path in Path(self.roots.cache).glob("*"):
            if path.name.startswith(("ways-corpus", "ways-probes", "embed-manifest")):
                path.unlink(missing_ok=True)

    # The resident embedder

    def residents(self) -> list[int]:
        """The residents that run for this home (Linux: by what /proc says of their environment)."""
        wanted = f"HOME={self.home}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"way-embed" in words and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def stop_residents(self) -> None:
        """End them, and leave nothing that keeps the next hook from starting one."""
        for process in self.residents():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        wait_until(lambda: not self.residents(), "a resident does not end")
        for path in (embedding_paths.start_record, embedding_paths.socket_path):
            Path(path(self.roots, embedding_paths.EN)).unlink(missing_ok=True)

    def wait_for_resident(self) -> None:
        """Until the resident that a hook has started accepts connections."""
        path = embedding_paths.socket_path(self.roots, embedding_paths.EN)
        wait_until(lambda: os.path.exists(path), "the resident does not come up")

    def resident_peak_mib(self) -> float:
        """The highest memory of the resident so far, in MiB."""
        with open(f"/proc/{self.residents()[0]}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def wait_until(holds: Callable[[], bool], otherwise: str) -> None:
    """Wait for a condition for half a minute. Raises TimeoutError."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.01)


# Making homes


def frozen_program(packed: Path, home: Path) -> tuple[str, ...]:
    """The archive installed into a home; the words that start it."""
    place = selftest.install(packed, home)
    return (str(place.program),)


def frozen(packed: Path, home: Path) -> Scene:
    """A home with the frozen program, served as a target."""
    return _served(home, frozen_program(packed, home))


def from_source(home: Path, with_engine: bool = True) -> Scene:
    """A home with this checkout's program, served as a target. Without the engine there is no matching
    by meaning."""
    home.mkdir(parents=True)
    program = (os.path.join(os.path.dirname(sys.executable), "ways"),)
    if with_engine:
        library = str(engine.cached(packages.cache_folder()))
        models = str(Path(model.cached(embedding_paths.EN)).parent)
        return _served(home, program, (("WAYS_ENGINE_LIB", library), ("WAYS_MODELS_DIR", models)))
    return _served(home, program, (("WAYS_ENGINE_LIB", str(home / "none.so")),))


def _served(home: Path, program: tuple[str, ...], extra: tuple[tuple[str, str], ...] = ()) -> Scene:
    (home / "run").mkdir(mode=0o700, exist_ok=True)
    project = new_project(home / "project")
    scene = Scene(home, program, home / ".claude", extra, project)
    write_ways(Path(scene.roots.user_ways))
    must(scene.command("target", "add", str(scene.target)))
    # As hooks run it: by the target's own link.
    return Scene(home, (str(scene.target / "bin" / "ways"),), scene.target, extra, project)


def beside(scene: Scene, name: str, count: int = 0) -> Scene:
    """A further home for the program of `scene`; with `count` a home with so many ways in all: shipped ones
    as far as they go, then made-up ones of the user's."""
    home = scene.home.parent / name
    (home / "run").mkdir(mode=0o700, parents=True)
    shipped = Path(scene.roots.app) / "hooks" / "ways"
    extra = dict(scene.extra)
    if count:
        app = home / "app"
        copied = copy_ways(shipped, app / "hooks" / "ways", count)
        extra["WAYS_APP_ROOT"] = str(app)
        made = count - copied
    else:
        extra["WAYS_APP_ROOT"] = scene.roots.app
        made = 0
    target = home / ".claude"
    target.mkdir()
    result = Scene(home, scene.program, target, tuple(extra.items()), new_project(home / "project"))
    if count:
        make_up_ways(Path(result.roots.user_ways), made)
    else:
        write_ways(Path(result.roots.user_ways))
    return result


def new_project(folder: Path) -> Path:
    """A project that is a git repository as far as anyone looks."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "ascii")
    return folder


def write_ways(folder: Path) -> None:
    """The ways that measures show: each 1.5 KB, about nothing that another text here is about."""
    matched = ("files: '\\.benchmark$'", "commands: '^benchmark-pilot\\b'")
    _write_way(folder, SHOWN, matched, 1_500, 0)
    for number, way in enumerate(STASHED, 1):
        _write_way(folder, way, ("scope: agent, subagent",), 1_500, number)


def make_up_ways(folder: Path, count: int) -> None:
    """Ways with patterns of their own, a third of them with files and commands, as the shipped ones are."""
    for number in range(10, count + 10):
        step, mode, part, *_ = texts.heading(number).lower().split()
        fields = [
            f"pattern: '\\b{step}(ing)? (the|an?) {mode} {part}s?\\b|\\b{part}{number} (chart|ledger)s?\\b'"
        ]
        if number % 3 == 0:
            fields += [f"files: '(^|/){part}{number}[^/]*\\.(ledger|chart)$'"]
        if number % 3 == 1:
            fields += [f"commands: '^{part}{number}\\s+(draw|fold)\\b'"]
        _write_way(folder, f"madeup{number // 100}/{part}{number}", tuple(fields), 300, number)


def _write_way(folder: Path, way: str, fields: tuple[str, ...], size: int, number: int) -> None:
    place = folder / way
    place.mkdir(parents=True, exist_ok=True)
    title = texts.heading(number)
    front = "\n".join(["---", f"description: {title}", *fields, "---"])
    text = f"{front}\n# {title}\n\n{texts.paragraph(number, size)}\n"
    (place / f"{place.name}.md").write_text(text, "utf-8")


def copy_ways(shipped: Path, target: Path, count: int) -> int:
    """Copy core.md and the first `count` ways, in the order of their paths; how many ways that were."""
    target.mkdir(parents=True)
    for file in shipped.iterdir():
        if file.is_file():
            shutil.copy2(file, target / file.name)
    found = sorted(path for path in shipped.rglob("*.md") if path.stem == path.parent.name)[:count]
    for path in found:
        place = target / path.parent.relative_to(shipped)
        place.mkdir(parents=True, exist_ok=True)
        for file in path.parent.iterdir():
            if file.is_file():
                shutil.copy2(file, place / file.name)
    return len(found)


def count_ways(scene: Scene) -> int:
    """The shipped ways of a home."""
    shipped = Path(scene.roots.app) / "hooks" / "ways"
    return sum(path.stem == path.parent.name for path in shipped.rglob("*.md"))


def must(call: Call) -> bytes:
    """Run a process that has to end well; its output. Raises RuntimeError with what it said."""
    import subprocess

    done = subprocess.run(
        list(call.arguments),
        env=dict(call.environment),
        cwd=call.folder,
        input=call.stdin,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode("utf-8", "replace")[-2000:]
        raise RuntimeError(f"{' '.join(call.arguments)} ended with {done.returncode}:\n{said}")
    return done.stdout


def settle(scenes: list[Scene], payload_of: Callable[[Scene], bytes]) -> None:
    """Let every scene's hooks build their caches once the files are old enough to be trusted."""
    time.sleep(SETTLE_SECONDS)
    for scene in scenes:
        must(scene.hook("file", payload_of(scene)))


def archive_mb(packed: Path) -> float:
    """Size of the archive in MB."""
    return packed.stat().st_size / 1e6
