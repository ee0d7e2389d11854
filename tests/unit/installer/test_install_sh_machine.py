"""install.sh on awkward machines: TLS inspection, proxies, disks that are full or forbid programs."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.unit.installer.install_world import PLATFORM, Home, Release, make_archive

pytestmark = pytest.mark.skipif(os.name == "nt", reason="install.sh is for POSIX systems")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("release")
    found = Release(folder / "base")
    found.add(make_archive(folder, "1.2.0"))
    return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("certificate")
    key, found = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-nodes", "-keyout", str(key), "-out", str(found), "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    return key, found


@contextmanager
def https(folder: Path, certificate: tuple[Path, Path]) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing: a test reads the script's output, not the server's."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def without(tmp_path: Path, name: str) -> str:
    folder = tmp_path / "programs"
    folder.mkdir()
    for source in ("/bin", "/usr/bin"):
        for path in Path(source).iterdir():
            if path.name != name and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    return str(folder)


@pytest.mark.parametrize("tool", ["curl", "wget"])
def test_a_certificate_of_the_companys_own_works_and_its_lack_is_named(
    home: Home, release: Release, certificate: tuple[Path, Path], tmp_path: Path, tool: str
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    path = without(tmp_path, {"curl": "wget", "wget": "curl"}[tool])
    with https(release.folder, certificate) as address:
        done = home.run("--base", address, PATH=path)
        assert done.returncode != 0
        assert "TLS inspection, not tampering" in done.stderr
        assert "SSL_CERT_FILE" in done.stderr
        done = home.run("--base", address, PATH=path, SSL_CERT_FILE=str(certificate[1]))
        assert done.returncode == 0, done.stderr
    assert home.version == "1.2.0"


@pytest.mark.parametrize("tool", ["curl", "wget"])
def test_a_proxy_that_wants_a_password_is_named_and_its_own_is_not_shown(
    home: Home, tmp_path: Path, tool: str
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            self.send_error(407)

        def log_message(self, *_: object) -> None:
            """Nothing, as above."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        done = home.run(
            "--base",
            "https://releases.example/ways",
            PATH=without(tmp_path, {"curl": "wget", "wget": "curl"}[tool]),
            HTTPS_PROXY=f"http://me:s3cret@127.0.0.1:{server.server_port}",
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert done.returncode != 0
    assert "proxy wants" in done.stderr
    assert "s3cret" not in done.stderr
    assert asked[0] == "releases.example:443"


def test_an_address_with_a_password_is_on_no_command_line(home: Home, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "curl").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{seen}\ncat >/dev/null\nexit 7\n')
    (folder / "curl").chmod(0o755)
    home.run("--base", "https://me:s3cret@releases.example", PATH=f"{folder}:/usr/bin:/bin")
    assert "--config" in seen.read_text()
    assert "s3cret" not in seen.read_text()


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A tmpfs at `folder`; skipped where one cannot be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("a file system can be mounted by root only")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"no tmpfs here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_case_u05_a_temporary_folder_that_forbids_programs_does_not_matter(
    home: Home, release: Release, tmp_path: Path
) -> None:
    with mounted(tmp_path / "tmp", "noexec,size=1m"):
        done = home.run("--base", str(release.folder), TMPDIR=str(tmp_path / "tmp"))
        assert done.returncode == 0, done.stderr
        assert list((tmp_path / "tmp").iterdir()) == []


def test_an_app_root_that_forbids_programs_is_named(home: Home, release: Release, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "noexec,size=40m"):
        done = home.run("--base", str(release.folder), "--dir", str(tmp_path / "disk"))
        assert done.returncode != 0
        assert "noexec" in done.stderr
        assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.parametrize("kilobytes", [8, 200, 1000, 2000])
def test_case_u02_a_full_disk_leaves_nothing_half_done(
    home: Home, release: Release, tmp_path: Path, kilobytes: int
) -> None:
    with mounted(tmp_path / "disk", f"size={kilobytes}k"):
        done = home.run("--base", str(release.folder), "--dir", str(tmp_path / "disk"))
        if done.returncode == 0:
            return  # it fitted
        assert "ways: " in done.stderr
        versions = tmp_path / "disk/agent-ways/versions"
        assert not versions.exists() or list(versions.iterdir()) == []
        assert not (tmp_path / "disk/agent-ways/current").exists()
        assert not (home.folder / ".bashrc").exists()


def test_musl_is_named_before_anything_is_downloaded(home: Home, release: Release, tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "getconf").write_text('#!/bin/sh\n[ "$1" = LONG_BIT ] && echo 64\n')
    (folder / "ldd").write_text("#!/bin/sh\necho 'musl libc (x86_64)' >&2\nexit 1\n")
    for name in ("getconf", "ldd"):
        (folder / name).chmod(0o755)
    done = home.run("--base", str(release.folder), PATH=f"{folder}:/usr/bin:/bin")
    assert done.returncode != 0
    assert "musl" in done.stderr
    assert home.tree() == {}


@pytest.mark.parametrize(
    ("system", "machine", "said"),
    [
        ("SunOS", "x86_64", "SunOS"),
        ("Linux", "riscv64", "riscv64"),
        ("MINGW64_NT-10.0", "x86_64", "PowerShell"),
    ],
)
def test_a_machine_without_a_build_is_named(
    home: Home, tmp_path: Path, system: str, machine: str, said: str
) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "uname").write_text(f'#!/bin/sh\n[ "$1" = -s ] && echo {system} || echo {machine}\n')
    (folder / "uname").chmod(0o755)
    done = home.run("--base", "/", PATH=f"{folder}:/usr/bin:/bin")
    assert done.returncode != 0
    assert said in done.stderr
    assert home.tree() == {}


def test_root_in_somebody_elses_home_is_refused(home: Home, release: Release) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(home.folder, 12345, 12345)
    done = home.run("--base", str(release.folder))
    assert done.returncode != 0
    assert "without sudo" in done.stderr
    assert home.tree() == {}


def test_the_platform_of_the_tests_is_this_machines() -> None:
    assert PLATFORM.split("-")[1] in {"x86_64", "arm64"}
