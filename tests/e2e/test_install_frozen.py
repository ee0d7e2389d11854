"""The frozen program on machines that are not on an open network, and what an update tells and leaves alone:
archives by hand, mirrors, a company's certificates and proxies, notices, package managers."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.stranger_home import INSTALL, FrozenReleases, Stranger, differences, tree
from tests.unit.installer.release_world import Server

pytestmark = [
    pytest.mark.frozen,
    pytest.mark.skipif(os.name == "nt", reason="install.ps1 is for Windows"),
]


def test_without_a_network_by_an_archive_and_by_a_mirror(tmp_path: Path, frozen: FrozenReleases) -> None:
    home = Stranger(tmp_path / "home")
    (home.tools / "curl").unlink()
    before = tree(home.path)
    archive = frozen.archives[0]
    wrong = home.install("--archive", str(archive), "--sha256", "0" * 64, code=1)
    assert "not the one that was asked for" in wrong.stderr
    assert differences(before, tree(home.path)) == {}, "no empty folders either"
    home.install("--archive", str(archive))
    assert home.version() == frozen.old
    done = home.ways("update", code=2)
    assert "no release base is known" in done.stderr and "ways update --from URL" in done.stderr
    assert "no version before" in home.ways("rollback", code=1).stderr
    done = home.ways("update", "--from", "http://127.0.0.1:9/", code=6)
    assert "cannot be reached" in done.stderr and home.version() == frozen.old
    mirror = tmp_path / "my mirror"
    shutil.copytree(frozen.repository, mirror)
    assert home.ways("update", "--from", str(mirror)).stdout == f"ways is {frozen.new}.\n"
    assert home.version() == frozen.new


@pytest.mark.parametrize("moment", ["fetched", "unpacked", "receipt"])
def test_case_u02_install_sh_killed_and_run_again(
    tmp_path: Path, frozen: FrozenReleases, server: Server, moment: str
) -> None:
    """A sample; each of its steps is killed with a smaller program in tests/unit/installer."""
    home = Stranger(tmp_path / "home")
    places = home.app / "versions"
    signs = {
        "fetched": lambda: any(places.glob(".staging-install-*/archive")),
        "unpacked": lambda: any(places.glob(".staging-install-*/ways-*/bin/ways")),
        "receipt": Path(home.roots.state, "receipt.json").exists,
    }
    child = subprocess.Popen(
        ["sh", INSTALL, "--base", server.base, "--version", frozen.old],
        env={**home.environment, "PATH": str(home.tools)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while child.poll() is None and not signs[moment]():
        time.sleep(0.0005)
    os.killpg(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    if (home.app / "current").exists():
        assert home.version() == frozen.old
    home.install("--base", server.base, "--version", frozen.old)
    assert home.version() == frozen.old and home.leftovers() == []
    home.ways("uninstall", "--yes", "--purge")
    assert os.listdir(home.path) == []


def test_a_build_without_keys_says_how_to_get_a_newer_one(installed: Stranger) -> None:
    (installed.app / "current/release-root.json").unlink()
    for arguments in (("update",), ("update", "--check"), ("update", "--dry-run")):
        done = installed.ways(*arguments, code=6)
        assert "carries no release keys" in done.stderr and "Next: sh install.sh" in done.stderr


@contextmanager
def answering(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def folder_handler(folder: Path, secret: str = "") -> type[http.server.SimpleHTTPRequestHandler]:
    """Serves a folder; asked as a proxy it serves it for every host, to who knows the secret."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object, **more: object) -> None:
            super().__init__(*arguments, directory=str(folder), **more)  # type: ignore[arg-type]

        def do_GET(self) -> None:
            if secret and self.headers.get("Proxy-Authorization") != secret:
                self.send_error(407)
                return
            self.path = urlsplit(self.path).path
            super().do_GET()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    return Handler


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_companys_own_certificates(installed: Stranger, frozen: FrozenReleases, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "ca.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
    subprocess.run(
        [*command.split(), "-keyout", key, "-out", certificate, "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with answering(folder_handler(frozen.repository)) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        base = f"https://127.0.0.1:{server.server_port}"
        done = installed.ways("update", "--check", "--from", base, code=6)
        assert "TLS inspection" in done.stderr and "SSL_CERT_FILE" in done.stderr
        done = installed.ways("update", "--check", "--from", base, code=1, SSL_CERT_FILE=str(certificate))
        assert f"to {frozen.new}" in done.stdout
        done = installed.install("--base", base, code=1)
        assert "usually its TLS inspection" in done.stderr
        installed.install("--base", base, SSL_CERT_FILE=str(certificate))
    assert installed.version() == frozen.new


def test_a_proxy_with_a_password_that_is_never_shown(installed: Stranger, frozen: FrozenReleases) -> None:
    base = "http://releases.example/ways"
    with answering(folder_handler(frozen.repository.parent, "Basic dTpwQHNz")) as server:
        port = server.server_port
        for user, code in (("u:wr0ng", 6), ("u:p%40ss", 1)):
            proxy = f"http://{user}@127.0.0.1:{port}"
            done = installed.ways(
                *("update", "--check", "--from", base.replace("/ways", "/repository")),
                code=code,
                http_proxy=proxy,
            )
            assert "wr0ng" not in done.stdout + done.stderr and "p%40ss" not in done.stdout + done.stderr
            assert ("407" in done.stderr) if code == 6 else (f"to {frozen.new}" in done.stdout)


def test_case_s19_looking_changes_nothing(
    installed: Stranger, frozen: FrozenReleases, server: Server
) -> None:
    before = tree(installed.path)
    installed.ways("update", "--dry-run")
    installed.ways("update", "--dry-run", "--json")
    installed.ways("update", "--check", code=1)
    installed.ways("uninstall")
    installed.ways("rollback", "--dry-run", code=1)
    installed.ways("reconcile", "--check")
    installed.ways("reconcile", "--dry-run")
    assert [path for path in differences(before, tree(installed.path)) if "in-use" not in path] == []
    assert server.asked and all(name.startswith("metadata/") for name in server.asked)


def session_start(home: Stranger, **more: str) -> str:
    """What the adapter of the update notice prints at a session's start."""
    payload = json.dumps({"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"})
    done = subprocess.run(
        ["sh", home.claude / "hooks/check-config-updates.sh"],
        input=payload,
        env={**home.environment, **more},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_notice_of_a_newer_release(installed: Stranger, frozen: FrozenReleases) -> None:
    """The first session looks in the background, the next one shows its line, an update ends it."""
    state = Path(installed.roots.state)
    assert session_start(installed, DISABLE_UPDATES="1") == ""
    assert session_start(installed) == ""
    deadline = time.monotonic() + 120
    while not (state / "update-notice.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    shown = json.loads(session_start(installed))
    assert shown == {
        "systemMessage": f"ways {frozen.new} is available (installed: {frozen.old}). To update: ways update"
    }
    assert session_start(installed, CI="true") == ""
    installed.ways("update")
    assert session_start(installed) == ""


def test_a_package_managers_program_is_left_to_it(installed: Stranger, frozen: FrozenReleases) -> None:
    marker = installed.app / "versions" / frozen.old / "managed-by.json"
    commands = {"update": "brew upgrade ways", "uninstall": "brew uninstall ways"}
    marker.write_text(json.dumps({"manager": "Homebrew", **commands}))
    for command in ("update", "rollback"):
        done = installed.ways(command, code=3)
        assert "kept up to date by Homebrew" in done.stderr and "Next: brew upgrade ways" in done.stderr
    assert "Homebrew's to remove: brew uninstall ways" in installed.ways("uninstall").stdout
    done = installed.ways("uninstall", "--yes")
    assert "brew uninstall ways" in done.stdout
    assert installed.version() == frozen.old
    assert (installed.claude / "settings.json").read_text() == '{"model": "opus"}\n'


def test_what_the_program_says_of_itself(installed: Stranger, frozen: FrozenReleases) -> None:
    told = json.loads(installed.ways("--version", "--json").stdout)
    release = json.loads((installed.app / "current/release.json").read_text())
    assert (told["version"], told["build"]) == (frozen.old, "frozen")
    assert (told["commit"], told["python"]) == (release["commit"], release["python"])
