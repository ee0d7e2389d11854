"""Sending to a provider over connections that stay open between calls.

The answer is read to a limit and never decompressed; redirects are not followed, so a key goes
nowhere but to its profile's `base_url`. Failures carry a class name, never a header or a URL.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass
from typing import Any

import httpx

from ways.agent.providers.base import HttpRequest
from ways.gate import settings

MAX_BODY = 512 << 10
KEEP_OPEN_SECONDS = 300.0
_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True)
class Response:
    """A whole response."""

    status: int
    body: bytes


class TransportError(Exception):
    """No whole response came. `sent`: the request (or a part of it) may have reached the provider."""

    def __init__(self, detail: str, sent: bool) -> None:
        super().__init__(detail)
        self.detail = detail
        self.sent = sent


class TooLarge(TransportError):
    """The response is longer than any answer of ours can be."""


class DeadlinePassed(TransportError):
    """The deadline passed first."""


class Transport:
    """Pools of connections, made on first use: to the world through the user's proxies, to this machine
    without."""

    def __init__(self) -> None:
        self._pools: dict[tuple[bool, bool], httpx.AsyncClient] = {}

    def _pool(self, url: str) -> httpx.AsyncClient:
        scheme, _, rest = url.partition("://")
        local, secure = settings.is_loopback(rest.split("/", 1)[0]), scheme == "https"
        pool = self._pools.get((local, secure))
        if pool is None:
            limits = httpx.Limits(
                max_connections=64, max_keepalive_connections=16, keepalive_expiry=KEEP_OPEN_SECONDS
            )
            # Every wait is bounded by the caller's deadline, so httpx's own timeouts are off. Reading the
            # certificates takes its time, and only https needs them (plain http is for this machine).
            pool = httpx.AsyncClient(
                verify=_tls() if secure else False, timeout=None, limits=limits, trust_env=not local
            )
            self._pools[local, secure] = pool
        return pool

    async def send(self, request: HttpRequest, deadline: float) -> Response:
        """The response, before `deadline` (the running loop's clock). Raises TransportError."""
        client = self._pool(request.url)
        progress = _Progress()
        try:
            async with asyncio.timeout_at(deadline):
                return await _send(client, request, progress)
        except TimeoutError as error:
            raise DeadlinePassed("the deadline passed", progress.sent) from error
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            raise TransportError(type(error).__name__, progress.sent) from None

    async def close(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            await pool.aclose()


class _Progress:
    """Whether the request has begun to leave, as httpcore's trace tells it."""

    def __init__(self) -> None:
        self.sent = False

    async def __call__(self, name: str, _: dict[str, Any]) -> None:
        if name.endswith("send_request_headers.started"):
            self.sent = True


async def _send(client: httpx.AsyncClient, request: HttpRequest, progress: _Progress) -> Response:
    outgoing = client.build_request(
        "GET" if request.body is None else "POST",
        request.url,
        # No compression: a small answer must not be able to unpack into a large one.
        headers={**request.headers, "accept": "application/json", "accept-encoding": "identity"},
        json=request.body,
        extensions={"trace": progress},
    )
    response = await client.send(outgoing, stream=True)
    try:
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > MAX_BODY:
                raise TooLarge(f"more than {MAX_BODY} bytes", True)
        return Response(response.status_code, bytes(body))
    finally:
        await response.aclose()


def _tls() -> ssl.SSLContext:
    """The usual roots (SSL_CERT_FILE and SSL_CERT_DIR honoured) and those that other variables add."""
    context = httpx.create_ssl_context()
    for name in _CA_VARIABLES:
        path = os.environ.get(name, "")
        if os.path.isfile(path):
            context.load_verify_locations(cafile=path)
        elif os.path.isdir(path):
            context.load_verify_locations(capath=path)
    return context
