from __future__ import annotations

import _socket
import contextlib
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from build import packages
from tests.unit.embedding import parts
from ways.core import local_socket, locking
from ways.core.roots import Roots
from ways.embedding import client, cosine, paths, sidecar, starting, wire

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(os.name == "nt", reason="hooks embed in process on Windows"),
]

WAYS = {
    "core:test": (["run the unit tests", "write a test first"], ["Tests come before code.", "Run them all."]),
    "core:commit": (["write a commit message"], ["A commit message says why."]),
    "core:deploy": (["deploy to production"], []),
    "user:empty": ([], ["only a body"]),
}
CHECKOUT = str(packages.HERE.parent)


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch) -> Iterator[Roots]:
    """Roots in a short folder (socket paths are limited), with the real engine named by environment."""
    parts.use(monkeypatch)
    folder = Path(tempfile.mkdtemp(prefix="we-"))
    found = parts.roots_in(folder)
    yield found
    end(found)
    shutil.rmtree(folder)


@pytest.fixture
def corpus(roots: Roots) -> sidecar.Sidecar:
    return opened(parts.write_corpus(Path(roots.cache, "corpus.bin"), WAYS))


def opened(path: str) -> sidecar.Sidecar:
    found = sidecar.load(path)
    assert isinstance(found, sidecar.Sidecar), found
    return found


def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for something that other processes do."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def free(roots: Roots) -> bool:
    """True when no resident holds the lock."""
    lock = locking.Lock(paths.serve_lock(roots, "en"), 0)
    try:
        lock.acquire()
    except locking.LockTimeout:
        return False
    lock.release()
    return True


def end(roots: Roots) -> None:
    """Leave no resident behind."""
    with contextlib.suppress(OSError):
        client.stop(roots, "en", 5.0)
    until(lambda: free(roots))


def start(roots: Roots, *options: str) -> subprocess.Popen[bytes]:
    """A resident as our child, listening."""
    command = [sys.executable, "-m", "ways", "way-embed", *options]
    environ = {**os.environ, **starting.resident_environment(roots)}
    process = subprocess.Popen(command, env=environ, cwd=CHECKOUT)
    until(lambda: isinstance(client.status(roots, "en", 5.0), dict) or process.poll() is not None)
    return process


def ask(roots: Roots, corpus: sidecar.Sidecar, texts: list[str], **options: object) -> client.Scores:
    """Scores from a resident that is there."""
    answer = client.score(roots, "en", corpus, texts, **{"seconds": 20.0, "start": False} | options)
    assert not isinstance(answer, client.NoAnswer), answer.reason
    return answer


def reason(answer: object) -> str:
    assert isinstance(answer, client.NoAnswer), answer
    return answer.reason


def facts(roots: Roots) -> dict[str, str]:
    found = client.status(roots, "en", 5.0)
    assert isinstance(found, dict), found
    return found


def test_the_first_hook_starts_it_and_a_later_one_is_answered(roots, corpus):
    assert reason(client.score(roots, "en", corpus, ["run the tests"])) == "no resident runs; one was started"
    until(lambda: isinstance(client.status(roots, "en"), dict))
    texts = ["run the tests", "deploy it", "run the tests"]
    answer = ask(roots, corpus, texts)
    vectors = parts.opened().embed(texts)
    for (aliases, bodies), alias, body in zip(
        answer, cosine.alias_scores(corpus, vectors), cosine.body_scores(corpus, vectors), strict=True
    ):
        assert list(aliases) == pytest.approx(list(alias), abs=2e-3, nan_ok=True)
        assert list(bodies) == pytest.approx(list(body), abs=2e-3, nan_ok=True)
    empty, deploy = corpus.index["user:empty"], corpus.index["core:deploy"]
    assert math.isnan(answer[0][0][empty])
    assert not math.isnan(answer[0][1][empty])
    assert math.isnan(answer[0][1][deploy])


def test_a_blank_text_has_no_scores(roots, corpus):
    start(roots)
    blank, word = ask(roots, corpus, [" \n", "commit"])
    assert all(map(math.isnan, [*blank[0], *blank[1]]))
    assert not math.isnan(word[0][corpus.index["core:commit"]])


def test_no_texts_need_no_resident(roots, corpus):
    assert client.score(roots, "en", corpus, []) == []


def test_hostile_texts_are_answered(roots, corpus):
    start(roots)
    texts = ["nul\0", "\ud800 alone", "x" * 100_000, "\u202ertl", "é\u0301" * 2000, ""]
    assert len(ask(roots, corpus, texts)) == len(texts)
    assert len(ask(roots, corpus, ["still there"])) == 1


def test_too_much_is_refused_before_it_is_sent(roots, corpus):
    start(roots)
    for texts in (["a"] * 65, ["x" * (1 << 20)]):
        assert "more than a request holds" in reason(client.score(roots, "en", corpus, texts))


def test_case_h19_the_hooks_pipe_reaches_its_end_at_once(roots, corpus):
    """A hook that starts a resident ends, and so does its output, whatever handles it was given."""
    script = (
        "import os, sys; from ways.core import roots; from ways.embedding import starting;"
        "print(starting.start_in_background(roots.resolve(), 'en'))"
    )
    inherited, other = os.pipe()
    environ = {**os.environ, **starting.resident_environment(roots)}
    environ |= {
        "ANTHROPIC_API_KEY": "secret",
        "_PYI_ARCHIVE_FILE": "x",
        "_MEIPASS2": "y",
        "PYTHONPATH": CHECKOUT,
    }
    hook = subprocess.Popen(
        [sys.executable, "-c", script], env=environ, cwd=tempfile.gettempdir(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.PIPE, pass_fds=[other],
    )  # fmt: skip
    os.close(other)
    assert hook.stdout is not None
    out = hook.stdout.read()  # returns at the end of the pipe: nobody else holds it
    hook.wait()
    assert out.strip() == b"one was started"
    assert os.read(inherited, 1) == b""
    os.close(inherited)
    until(lambda: isinstance(client.status(roots, "en"), dict))
    if sys.platform == "linux":
        process = f"/proc/{facts(roots)['pid']}"
        streams = {os.readlink(f"{process}/fd/{number}") for number in (0, 1, 2)}
        assert streams == {"/dev/null"}
        kinds = [os.readlink(f"{process}/fd/{number}") for number in os.listdir(f"{process}/fd")]
        assert not [kind for kind in kinds if kind.startswith("pipe:")]
        names = {line.partition(b"=")[0] for line in Path(process, "environ").read_bytes().split(b"\0")}
        assert not names & {b"ANTHROPIC_API_KEY", b"_PYI_ARCHIVE_FILE", b"_MEIPASS2"}
        assert os.getsid(int(facts(roots)["pid"])) != os.getsid(0)
        assert os.readlink(f"{process}/cwd") == "/"


def test_racing_hooks_leave_exactly_one(roots, corpus):
    environ = {**os.environ, **starting.resident_environment(roots), "PYTHONPATH": CHECKOUT}
    script = (
        "import sys; from ways.core import roots; from ways.embedding import starting;"
        "print(starting.start_in_background(roots.resolve(), 'en'))"
    )
    hooks = [
        subprocess.Popen([sys.executable, "-c", script], env=environ, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    said = [hook.communicate()[0].strip() for hook in hooks]
    assert said.count("one was started") == 1, said
    assert set(said) <= {"one was started", "one was started a moment ago", "another hook is starting one"}
    until(lambda: isinstance(client.status(roots, "en"), dict))
    assert len(ask(roots, corpus, ["one"])) == 1


def test_racing_residents_leave_exactly_one(roots, corpus):
    environ = {**os.environ, **starting.resident_environment(roots)}
    command = [sys.executable, "-m", "ways", "way-embed"]
    racing = [subprocess.Popen(command, env=environ, cwd=CHECKOUT) for _ in range(6)]
    until(lambda: sum(process.poll() is None for process in racing) == 1)
    until(lambda: isinstance(client.status(roots, "en"), dict))
    (alive,) = [process for process in racing if process.poll() is None]
    assert facts(roots)["pid"] == str(alive.pid)
    assert all(process.returncode == 0 for process in racing if process is not alive)
    assert client.stop(roots, "en") is None
    assert alive.wait(20) == 0


def test_it_leaves_when_idle(roots, corpus):
    process = start(roots, "--idle-minutes", "0.01")
    assert process.wait(30) == 0
    assert os.listdir(paths.resident_folder(roots)) == ["en.lock"]
    assert reason(client.score(roots, "en", corpus, ["x"], start=False)) == "no resident runs"


def test_it_leaves_at_sigterm_and_a_new_one_may_start(roots, corpus):
    process = start(roots)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert reason(client.score(roots, "en", corpus, ["x"])).endswith("one was started")
    until(lambda: isinstance(client.status(roots, "en"), dict))


def test_after_a_kill_the_next_start_takes_the_socket_over(roots, corpus):
    process = start(roots)
    process.kill()
    process.wait()
    assert os.path.exists(paths.socket_path(roots, "en"))
    assert reason(client.score(roots, "en", corpus, ["x"], start=False)) == "no resident runs"
    start(roots)
    assert len(ask(roots, corpus, ["x"])) == 1


def test_a_resident_that_cannot_start_is_not_tried_at_every_prompt(roots, corpus):
    started = []
    for _ in range(5):
        starting.start_in_background(roots, "en", on_start=lambda: started.append(1))
    assert started == [1]
    hour_ago = time.time() - 3600
    os.utime(paths.start_record(roots, "en"), (hour_ago, hour_ago))
    assert starting.start_in_background(roots, "en", on_start=lambda: started.append(2)) == "one was started"
    hour_ahead = time.time() + 3600
    os.utime(paths.start_record(roots, "en"), (hour_ahead, hour_ahead))
    starting.start_in_background(roots, "en", on_start=lambda: started.append(3))
    assert started == [1, 2, 3]


def test_a_start_that_fails_is_a_reason(roots):
    def fail() -> None:
        raise OSError(12, "Cannot allocate memory")

    assert starting.start_in_background(roots, "en", on_start=fail) == "not started: Cannot allocate memory"


def test_an_older_resident_answers_and_leaves(roots, corpus):
    process = start(roots)
    assert len(ask(roots, corpus, ["run"], version="99.0.0")) == 1
    assert process.wait(20) == 0


def test_a_newer_resident_stays(roots, corpus):
    process = start(roots)
    ask(roots, corpus, ["run"], version="0.0.1")
    ask(roots, corpus, ["run"])
    assert process.poll() is None


@pytest.mark.parametrize("what", ["current", "model", "library"])
def test_it_leaves_when_the_program_is_replaced(roots, corpus, monkeypatch, what):
    library, models = Path(roots.cache, "lib.so"), Path(roots.cache, "models")
    models.mkdir()
    shutil.copy(parts.library(), library)
    shutil.copy(parts.model_path(), models / "en.gguf")
    monkeypatch.setenv("WAYS_ENGINE_LIB", str(library))
    monkeypatch.setenv("WAYS_MODELS_DIR", str(models))
    current = Path(roots.app, "current")
    current.parent.mkdir()
    current.symlink_to("versions/1")
    process = start(roots)
    ask(roots, corpus, ["run"])
    if what == "current":
        Path(roots.app, "next").symlink_to("versions/2")
        os.replace(Path(roots.app, "next"), current)
    else:
        target = library if what == "library" else models / "en.gguf"
        shutil.copy(target, target.with_suffix(".new"))
        os.replace(target.with_suffix(".new"), target)
    assert process.wait(20) == 0


def test_it_leaves_when_its_socket_is_gone(roots, corpus):
    process = start(roots)
    os.unlink(paths.socket_path(roots, "en"))
    assert process.wait(20) == 0


def test_a_rebuilt_corpus_is_read_again(roots, corpus):
    start(roots)
    ask(roots, corpus, ["run"])
    newer = opened(parts.write_corpus(Path(corpus.path), {**WAYS, "core:new": (["bake a cake"], [])}))
    assert reason(client.score(roots, "en", corpus, ["run"], seconds=20)) == "the corpus has just changed"
    answer = ask(roots, newer, ["bake a cake"])
    assert answer[0][0][newer.index["core:new"]] == pytest.approx(1.0, abs=2e-3)


def test_a_corpus_of_another_model_is_refused(roots, corpus):
    start(roots)
    other = opened(parts.write_corpus(Path(roots.cache, "other.bin"), WAYS, broken_hash=True))
    assert (
        reason(client.score(roots, "en", other, ["run"], seconds=20))
        == "the corpus was made with another model"
    )


def test_a_corpus_that_has_gone_is_a_reason(roots, corpus):
    start(roots)
    os.unlink(corpus.path)
    assert "no corpus" in reason(client.score(roots, "en", corpus, ["run"], seconds=20))


def test_a_damaged_corpus_is_a_reason(roots, corpus):
    start(roots)
    Path(corpus.path + ".new").write_bytes(b"WAYSVEC1 and nothing else" * 20)
    os.replace(corpus.path + ".new", corpus.path)
    assert "no corpus" in reason(client.score(roots, "en", corpus, ["run"], seconds=20))
    parts.write_corpus(Path(corpus.path), WAYS)
    assert len(ask(roots, corpus, ["run"])) == 1


def test_a_deadline_is_kept(roots, corpus):
    start(roots)
    late = client.score(roots, "en", corpus, ["long text " * 300 + str(n) for n in range(30)], seconds=0.05)
    assert reason(late) == "deadline"
    assert late.running
    assert len(ask(roots, corpus, ["next"])) == 1


def test_work_past_its_deadline_is_given_up(roots, corpus):
    start(roots)
    connection = local_socket.connect(paths.socket_path(roots, "en"), 5.0)
    texts = tuple("a long text " * 100 + str(number) for number in range(60))
    request = wire.encode_request(wire.Request(wire.SCORE, "0.1.0", 1, corpus.path, texts))
    deadline = time.monotonic() + 60
    local_socket.send_frame(connection, request, deadline)
    answer = wire.parse_answer(local_socket.receive_frame(connection, deadline, wire.MAX_ANSWER))
    connection.close()
    assert answer.status == wire.LATE


# Version, operation, flags, deadline, lengths of the program's version and of the path, number of texts.
REQUEST = "<HBBIHHH"
GARBAGE = {
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "zero length": bytes(4),
    "huge length": b"\xff\xff\xff\xff",
    "noise": b"\x00\x00\x00\x10" + bytes(range(16)),
    "one byte frame": b"\x00\x00\x00\x01x",
    "half a frame": b"\x00\x00\x10\x00half",
    "sizes that lie": local_socket.encode_frame(struct.pack(REQUEST, 1, 1, 0, 100, 60000, 60000, 64)),
    "not utf-8": local_socket.encode_frame(struct.pack(REQUEST, 1, 1, 0, 100, 2, 0, 0) + b"\xff\xfe"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_ends_its_own_connection_only(roots, corpus, name):
    process = start(roots)
    connection = local_socket.connect(paths.socket_path(roots, "en"), 5.0)
    connection.send(GARBAGE[name])
    assert len(ask(roots, corpus, ["still answering"])) == 1
    if name != "half a frame":
        connection.settimeout(20)
        with contextlib.suppress(ConnectionResetError):
            answer = connection.recv(100)
            # Bytes that happen to look like another version's request are answered so.
            assert answer == b"" or answer[4:7] == b"\x01\x00\x02"
    connection.close()
    assert process.poll() is None


def test_another_protocol_version_is_said(roots, corpus):
    start(roots)
    connection = local_socket.connect(paths.socket_path(roots, "en"), 5.0)
    deadline = time.monotonic() + 20
    local_socket.send_frame(connection, b"\x09\x00\x01whatever this means", deadline)
    answer = wire.parse_answer(local_socket.receive_frame(connection, deadline))
    assert answer.status == wire.OTHER_VERSION
    local_socket.send_frame(connection, b"\x09\x00\x03", deadline)
    until(lambda: free(roots))
    connection.close()


def test_clients_that_vanish_or_stay_silent_block_nobody(roots, corpus):
    process = start(roots)
    path = paths.socket_path(roots, "en")
    request = wire.encode_request(wire.Request(wire.SCORE, "0.1.0", 60_000, corpus.path, ("a" * 5000,)))
    for _ in range(20):
        gone = local_socket.connect(path, 5.0)
        local_socket.send_frame(gone, request, time.monotonic() + 5)
        gone.close()
    silent = [local_socket.connect(path, 5.0) for _ in range(80)]
    assert len(ask(roots, corpus, ["me"])) == 1
    for connection in silent:
        connection.close()
    assert process.poll() is None


def test_many_clients_at_once(roots, corpus):
    start(roots)
    environ = {**os.environ, **starting.resident_environment(roots), "PYTHONPATH": CHECKOUT}
    script = (
        "import sys; from ways.core import roots; from ways.embedding import client, sidecar;"
        "corpus = sidecar.load(sys.argv[1]); where = roots.resolve()\n"
        "for n in range(10):\n"
        "    text = f'text {sys.argv[2]} {n}'\n"
        "    answer = client.score(where, 'en', corpus, [text], seconds=60, start=False)\n"
        "    assert len(answer) == 1, answer.reason\n"
        "print('done')"
    )
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", script, corpus.path, str(number)],
            env=environ,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    assert [process.communicate()[0].strip() for process in racing] == ["done"] * 6
    assert int(facts(roots)["requests"]) >= 60


@pytest.mark.parametrize("kind", ["folder", "file", "symlink", "mode", "folder mode", "folder symlink"])
def test_a_socket_that_is_not_ours_alone_is_refused(roots, corpus, kind):
    """Neither side uses it, nothing that lies there is removed, and the debug log says why."""
    path, folder = Path(paths.socket_path(roots, "en")), Path(paths.resident_folder(roots))
    listener = None
    if kind == "folder symlink":
        folder.parent.mkdir()
        Path(roots.home, "elsewhere").mkdir(parents=True)
        folder.symlink_to(Path(roots.home, "elsewhere"))
    else:
        folder.mkdir(parents=True, mode=0o700)
    if kind == "folder":
        path.mkdir()
        (path / "precious").write_text("keep")
    elif kind == "file":
        path.write_text("keep")
    elif kind == "symlink":
        (folder / "target").write_text("keep")
        path.symlink_to("target")
    else:
        listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen(1)
        path.chmod(0o666 if kind == "mode" else 0o600)
        if kind == "folder mode":
            folder.chmod(0o777)
    answer = client.score(roots, "en", corpus, ["run"])
    assert reason(answer).startswith("untrusted: ")
    if kind != "mode":  # a socket of our own with a loose mode is simply replaced by a resident
        environ = {**os.environ, **starting.resident_environment(roots)}
        command = [sys.executable, "-m", "ways", "way-embed"]
        assert subprocess.run(command, env=environ, cwd=CHECKOUT, timeout=60, check=False).returncode == 1
        assert "way-embed" in Path(roots.state, "debug.log").read_text()
    kept = {"folder": path / "precious", "file": path, "symlink": folder / "target"}
    if kind in kept:
        assert kept[kind].read_text() == "keep"
    if listener:
        listener.close()
    if kind == "folder mode":
        folder.chmod(0o700)


def test_without_an_engine_it_ends_and_says_why(roots, monkeypatch):
    monkeypatch.setenv("WAYS_MODELS_DIR", roots.cache)
    environ = {**os.environ, **starting.resident_environment(roots)}
    command = [sys.executable, "-m", "ways", "way-embed"]
    assert subprocess.run(command, env=environ, cwd=CHECKOUT, timeout=60, check=False).returncode == 1
    assert "the English model is not there" in Path(roots.state, "debug.log").read_text()
    assert not os.path.exists(paths.socket_path(roots, "en"))


def test_a_sessions_root_too_long_for_a_socket_has_a_private_folder_instead(roots, corpus):
    long = roots.sessions + "/" + "deep" * 40
    far = Roots(**{**vars(roots), "sessions": long})
    folder = paths.resident_folder(far)
    assert len(paths.socket_path(far, "multi")) <= local_socket.MAX_SOCKET_PATH
    assert folder != paths.resident_folder(roots)
    try:
        start(far)
        assert len(ask(far, corpus, ["run"])) == 1
        assert os.stat(folder).st_mode & 0o777 == 0o700
        assert os.stat(paths.socket_path(far, "en")).st_mode & 0o777 == 0o600
    finally:
        end(far)
        shutil.rmtree(folder)


def test_the_socket_and_its_folder_are_private(roots):
    former = os.umask(0)
    try:
        start(roots)
    finally:
        os.umask(former)
    assert os.stat(paths.resident_folder(roots)).st_mode & 0o777 == 0o700
    assert os.stat(paths.socket_path(roots, "en")).st_mode & 0o777 == 0o600


def test_a_project_with_a_package_of_our_name_is_not_run(roots, tmp_path, monkeypatch):
    """A hook runs in the user's project; what lies there must not be taken for this program."""
    (tmp_path / "ways").mkdir()
    (tmp_path / "ways" / "__init__.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    assert starting.start_in_background(roots, "en") == "one was started"
    until(lambda: isinstance(client.status(roots, "en"), dict))


def test_asking_loads_nothing_heavy(roots, corpus):
    start(roots)
    script = (
        "from ways.core import roots; from ways.embedding import client, sidecar;"
        "answer = client.score(roots.resolve(), 'en', sidecar.load(sys.argv[1]), ['run'], seconds=20);"
        "assert len(answer) == 1; print(*sorted({name.split('.')[0] for name in sys.modules} &"
        " {'numpy', 'subprocess', 'socket', 'ctypes', 'typing', 'dataclasses', 'hashlib', 'json', 're'}))"
    )
    script = f"import sys; sys.path.insert(0, {CHECKOUT!r}); {script}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, corpus.path],
        env={**os.environ, **starting.resident_environment(roots)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == []
