"""Fetching from a release base: a web address, a mirror, or a folder on this machine (spec: installer).

Proxies come from the environment, certificates from the system, `SSL_CERT_FILE` and the variables that
other tools use. Names of servers are shown, credentials in an address never. What comes is not trusted:
the caller gives the length, and checks the hash.
"""

from __future__ import annotations

import errno
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from ways.core.environment import child_environment
from ways.core.errors import UNVERIFIED, USAGE, WRITE_FAILED, UserError
from ways.core.files import make_private, remove_if_there

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 15.0
READ_SECONDS = 60.0
CHUNK = 1 << 16
_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
# Where systems keep their authorities; the frozen program's OpenSSL knows only the build machine's place.
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)

Progress = Callable[[int, int], None]


class Unreachable(Exception):
    """Nothing, or not everything, came. `status` is the HTTP status, 0 when there was none. The message
    holds no credentials."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """An open answer: the first byte's position in the whole, and the bytes."""

    start: int
    parts: Iterator[bytes]


def base_url(spelling: str) -> str:
    """A release base as a URL that ends in `/`. Raises UserError for what is neither address nor folder."""
    if "://" not in spelling:
        return file_url(os.path.abspath(os.path.expanduser(spelling)), os.name == "nt") + "/"
    scheme = urlsplit(spelling).scheme.lower()
    if scheme not in {"https", "http", "file"}:
        raise UserError(f"{shown(spelling)} is no release base: only https, http and file are", "", USAGE)
    return spelling.rstrip("/") + "/"


def file_url(path: str, windows: bool) -> str:
    """The URL of an absolute path. Windows' have a drive (`file:///C:/x`) or a server (`file://server/share`)."""
    if not windows:
        return "file://" + quote(path)
    path = path.replace("\\", "/")
    return "file:" + quote(path, safe="/:") if path.startswith("//") else "file:///" + quote(path, safe="/:")


def file_path(url: str, windows: bool) -> str:
    """The path of a file URL: the inverse of `file_url`."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if not windows:
        return path
    if parts.netloc and parts.netloc.lower() != "localhost":
        return f"//{unquote(parts.netloc)}{path}"
    return path if path.startswith("//") else path.lstrip("/")


def shown(url: str) -> str:
    """A URL for people: without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an address that cannot be read)"
    if ":" in host:
        host = f"[{host}]"
    return urlunsplit((parts.scheme, host + port, parts.path, "", ""))


@contextmanager
def opened(url: str, start: int = 0) -> Iterator[Answer]:
    """Open `url`, from byte `start` where the server can. Raises Unreachable, also while reading."""
    if urlsplit(url).scheme == "file":
        with _opened_file(url, start) as answer:
            yield answer
        return
    import httpx

    headers = {"accept-encoding": "identity", "user-agent": "ways"}
    if start:
        headers["range"] = f"bytes={start}-"
    try:
        with _client(url) as client, client.stream("GET", url, headers=headers) as response:
            if response.status_code not in {200, 206}:
                raise Unreachable(f"{shown(url)} answered {response.status_code}", response.status_code)
            yield Answer(_start_of(response, start), response.iter_raw(CHUNK))
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise Unreachable(_explained(url, error)) from error


def _start_of(response: httpx.Response, asked: int) -> int:
    """Where the answer begins: a server may ignore the range that it was asked for."""
    if response.status_code != 206:
        return 0
    kind, _, rest = response.headers.get("content-range", "").partition(" ")
    first = rest.partition("-")[0]
    if kind != "bytes" or not first.isdigit() or int(first) != asked:
        raise Unreachable("the server sent another part of the file than it was asked for")
    return asked


@contextmanager
def _opened_file(url: str, start: int) -> Iterator[Answer]:
    path = file_path(url, os.name == "nt")
    try:
        with open(path, "rb") as file:
            file.seek(start)
            yield Answer(start, iter(lambda: file.read(CHUNK), b""))
    except FileNotFoundError as error:
        raise Unreachable(f"there is no {path}", 404) from error
    except IsADirectoryError as error:
        raise Unreachable(f"{path} is a folder", 404) from error
    except PermissionError as error:
        raise Unreachable(f"{path} cannot be read: {error.strerror}") from error


def _client(url: str) -> httpx.Client:
    import httpx

    secure = urlsplit(url).scheme == "https" or any(
        os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    )
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    # Redirects are followed: what comes is verified by its signature, whoever sends it.
    return httpx.Client(verify=tls_context() if secure else False, follow_redirects=True, timeout=timeout)


def tls_context() -> ssl.SSLContext:
    """The system's authorities, those of certifi, and those that the user's variables add."""
    import certifi

    context = ssl.create_default_context()
    environ = child_environment()
    if not environ.get("SSL_CERT_FILE"):
        context.load_verify_locations(cafile=certifi.where())
    bundles = [*_SYSTEM_BUNDLES, environ.get("SSL_CERT_FILE", "")]
    bundles += [environ.get(name, "") for name in _CA_VARIABLES]
    for path in bundles:
        try:
            if path and os.path.isfile(path):
                context.load_verify_locations(cafile=path)
            elif path and os.path.isdir(path):
                context.load_verify_locations(capath=path)
        except ssl.SSLError as error:
            raise UserError(f"{path} holds no certificates: {error.reason}", "", UNVERIFIED) from error
    return context


def _explained(url: str, error: Exception) -> str:
    """What went wrong, in words that tell a company's TLS inspection from an attack."""
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return (
            f"{urlsplit(url).hostname} shows a certificate that this machine does not trust. A company's or "
            "a virus scanner's TLS inspection does that too; then SSL_CERT_FILE must name its certificate"
        )
    reason = text if text and "://" not in text else type(error).__name__
    return f"{shown(url)} cannot be reached: {reason}"


def fetch(
    url: str, path: str, length: int, check: Callable[[str], str], progress: Progress | None = None
) -> None:
    """Download exactly `length` bytes to `path`, going on where a run before stopped.

    `check(path)` says what is wrong with the finished file, "" for nothing. A file that was gone on with and
    is wrong is fetched once more from its start. Raises UserError: exit 6 when it cannot be had or is not
    what was signed (it is removed then), exit 5 when it cannot be written.
    """
    try:
        make_private(os.path.dirname(path))
        resumed = _bytes_there(path, length) > 0
        _fill(url, path, length, progress)
        fault = check(path)
        if fault and resumed:
            remove_if_there(path)
            _fill(url, path, length, progress)
            fault = check(path)
    except Unreachable as error:
        raise UserError(str(error), "ways update, which goes on where it stopped", UNVERIFIED) from error
    except OSError as error:
        remove_if_there(path)  # a full disk is no place to keep half a file
        what = f"{path}: {error.strerror or error}"
        raise UserError(what, "make room, then ways update", WRITE_FAILED) from error
    if fault:
        remove_if_there(path)
        raise UserError(f"{shown(url)} is not what was signed: {fault}", "ways update", UNVERIFIED)


def _bytes_there(path: str, length: int) -> int:
    """How much of the file a run before has left; more than all of it is thrown away."""
    try:
        size = os.path.getsize(path)
    except FileNotFoundError:
        return 0
    if size > length:
        os.unlink(path)
        return 0
    return size


def _fill(url: str, path: str, length: int, progress: Progress | None) -> None:
    have = _bytes_there(path, length)
    if have == length:
        return
    with opened(url, have) as answer, open(path, "r+b" if have else "wb") as file:
        file.seek(answer.start)
        file.truncate()
        have = answer.start
        for part in answer.parts:
            have += len(part)
            if have > length:
                file.truncate(0)
                raise Unreachable(f"{shown(url)} is longer than the {length} bytes that were signed")
            file.write(part)
            if progress is not None:
                progress(have, length)
    if have != length:
        raise Unreachable(f"{shown(url)} ended after {have} of {length} bytes")
