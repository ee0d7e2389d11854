"""The provider over TLS: its certificate is checked, against the user's own authority as well."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from tests.e2e.judge_home import home
from ways.gate import link

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-nodes", "-keyout", str(key), "-out", str(certificate), "-days", "2"),
            *("-subj", "/CN=judge", "-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    return key, certificate


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"])
def test_the_users_own_authority_is_trusted(
    tmp_path: Path, certificate: tuple[Path, Path], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    for name in (
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
    ):
        monkeypatch.delenv(name, raising=False)
    with home(tmp_path, tls=context) as user:
        # Unknown: the key is not sent to whoever answers.
        user.judge()
        assert user.reasons() == ["key_unverified: unreachable"]
        assert user.server.seen == []
        link.ask(user.roots, {"op": "stop"}, 5, start=False)
        Path(user.roots.state, "agent", "key-check-anthropic.json").unlink()
        user.stop_agent()
        os.environ[variable] = str(certificate[1])
        assert user.judge().blocked == {"code/beta"}
