"""Fetching: exactly what was signed, from where it stopped, and no secrets in what is printed."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from installer import download
from tests.unit.installer.release_world import serving
from ways.core.errors import UNVERIFIED, USAGE, WRITE_FAILED, UserError

DATA = os.urandom(300_000)


def check_for(data: bytes = DATA):  # type: ignore[no-untyped-def]
    wanted = hashlib.sha256(data).hexdigest()

    def check(path: str) -> str:
        return "" if hashlib.sha256(Path(path).read_bytes()).hexdigest() == wanted else "another hash"

    return check


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "served").mkdir()
    (tmp_path / "served/file").write_bytes(DATA)
    return tmp_path


def test_a_whole_file_and_then_nothing_more(folder: Path) -> None:
    with serving(folder / "served") as server:
        seen: list[int] = []
        for _ in range(2):
            download.fetch(
                server.base + "file",
                str(folder / "d/file"),
                len(DATA),
                check_for(),
                lambda n, _: seen.append(n),
            )
        assert (folder / "d/file").read_bytes() == DATA
        assert server.asked == ["file"]
        assert seen[-1] == len(DATA)


def test_case_u02_a_cut_off_download_goes_on_where_it_stopped(folder: Path) -> None:
    path = str(folder / "d/file")
    with serving(folder / "served") as server:
        server.stop_after["file"] = 100_000
        with pytest.raises(UserError) as caught:
            download.fetch(server.base + "file", path, len(DATA), check_for())
        assert caught.value.exit_code == UNVERIFIED
        assert 0 < os.path.getsize(path) <= 100_000
        server.stop_after.clear()
        download.fetch(server.base + "file", path, len(DATA), check_for())
        assert Path(path).read_bytes() == DATA
        assert server.ranges[-1].startswith("bytes=")


def test_a_part_of_something_else_is_fetched_anew(folder: Path) -> None:
    path = folder / "d/file"
    path.parent.mkdir()
    path.write_bytes(b"something else")
    with serving(folder / "served") as server:
        download.fetch(server.base + "file", str(path), len(DATA), check_for())
        assert server.ranges == ["bytes=14-", ""]
    assert path.read_bytes() == DATA


@pytest.mark.parametrize("more", [b"x", b"x" * 1_000_000])
def test_case_u09_a_longer_file_is_refused(folder: Path, more: bytes) -> None:
    path = folder / "d/file"
    with serving(folder / "served") as server:
        server.change["file"] = DATA + more
        with pytest.raises(UserError, match="longer than the 300000 bytes") as caught:
            download.fetch(server.base + "file", str(path), len(DATA), check_for())
    assert caught.value.exit_code == UNVERIFIED
    assert not path.exists() or path.stat().st_size == 0


def test_another_file_of_the_same_length_is_refused_and_removed(folder: Path) -> None:
    path = folder / "d/file"
    with serving(folder / "served") as server:
        server.change["file"] = bytes(len(DATA))
        with pytest.raises(UserError, match="is not what was signed: another hash") as caught:
            download.fetch(server.base + "file", str(path), len(DATA), check_for())
    assert caught.value.exit_code == UNVERIFIED
    assert not path.exists()


def test_a_folder_of_this_machine_is_a_base_too(folder: Path) -> None:
    base = download.base_url(str(folder / "served"))
    download.fetch(base + "file", str(folder / "d/file"), len(DATA), check_for())
    assert (folder / "d/file").read_bytes() == DATA
    with pytest.raises(UserError, match="there is no"):
        download.fetch(base + "missing", str(folder / "d/other"), 1, check_for())


@pytest.mark.parametrize("base", ["ftp://host/x", "javascript://x", "data://x"])
def test_other_schemes_are_refused(base: str) -> None:
    with pytest.raises(UserError) as caught:
        download.base_url(base)
    assert caught.value.exit_code == USAGE


def test_credentials_are_never_shown(folder: Path) -> None:
    url = "http://user:secret@127.0.0.1:9/base/file?token=hidden#x"
    assert download.shown(url) == "http://127.0.0.1:9/base/file"
    with pytest.raises(UserError) as caught:
        download.fetch(url, str(folder / "d/file"), 1, check_for())
    assert caught.value.exit_code == UNVERIFIED
    assert "secret" not in str(caught.value) and "hidden" not in str(caught.value)
    with serving(folder / "served") as server, pytest.raises(UserError) as caught:
        there = server.base.replace("//", "//user:secret@") + "nothing?token=hidden"
        download.fetch(there, str(folder / "d/file"), 1, check_for())
    assert "404" in str(caught.value)
    assert "secret" not in str(caught.value) and "hidden" not in str(caught.value)


def test_a_full_disk_is_told_as_that(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: str, _length: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(download, "_bytes_there", full)
    with pytest.raises(UserError, match="No space left") as caught:
        download.fetch("file:///x", str(folder / "d/file"), 1, check_for())
    assert caught.value.exit_code == WRITE_FAILED


def test_an_untrusted_certificate_is_named_as_what_it_mostly_is() -> None:
    error = OSError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed")
    text = download._explained("https://user:secret@releases.example/x", error)
    assert "TLS inspection" in text and "SSL_CERT_FILE" in text and "releases.example" in text
    assert "secret" not in text


def test_the_users_own_authority_is_trusted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server with a certificate of its own: refused, then trusted through SSL_CERT_FILE."""
    import ssl
    import subprocess
    import threading

    from tests.unit.installer.release_world import Server

    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    request = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
    ]
    request += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(request, check=True, capture_output=True)
    server = Server(folder / "served")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    url = server.base.replace("http:", "https:") + "file"
    try:
        with pytest.raises(UserError, match="TLS inspection"):
            download.fetch(url, str(folder / "d/file"), len(DATA), check_for())
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        download.fetch(url, str(folder / "d/file"), len(DATA), check_for())
        assert (folder / "d/file").read_bytes() == DATA
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("path", "windows", "url"),
    [
        ("/srv/my mirror/é", False, "file:///srv/my%20mirror/%C3%A9"),
        ("/srv/a\\b#c?d:e%20", False, "file:///srv/a%5Cb%23c%3Fd%3Ae%2520"),
        ("C:\\my mirror\\é#", True, "file:///C:/my%20mirror/%C3%A9%23"),
        ("\\\\server\\share\\a b", True, "file://server/share/a%20b"),
    ],
)
def test_a_folder_as_a_release_base_and_back(path: str, windows: bool, url: str) -> None:
    assert download.file_url(path, windows) == url
    assert download.file_path(url, windows) == (path.replace("\\", "/") if windows else path)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file://localhost/C:/a", "C:/a"),
        ("file:////server/share/a", "//server/share/a"),
        ("file:///c:/a/../b", "c:/a/../b"),
    ],
)
def test_other_spellings_of_file_urls_on_windows(url: str, path: str) -> None:
    assert download.file_path(url, True) == path
