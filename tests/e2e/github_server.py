"""The part of GitHub's documented REST API that lists issues, on loopback, misbehaving on demand."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "github_pat_0123456789abcdefghijklmnop"


def issue(number: int, title: str, **more: Any) -> dict[str, Any]:
    """One issue as the API gives it, as far as it matters here."""
    return {
        "id": 1000 + number,
        "number": number,
        "title": title,
        "state": "open",
        "html_url": f"https://github.com/acme/rocket/issues/{number}",
        "user": {"login": "octocat"},
        "labels": [{"id": 1, "name": "bug", "color": "f29513"}],
        "assignees": [{"login": "hubot"}],
        "author_association": "NONE",
        **more,
    }


@dataclass
class GitHub:
    """`issues` are those of `repository`; `fault` is a name of `_faults` or an HTTP status, from page
    `fault_page` on."""

    issues: list[dict[str, Any]] = field(default_factory=list)
    repository: str = "acme/rocket"
    fault: str | int = ""
    fault_page: int = 1
    per_page: int = 100
    elsewhere: str = "http://127.0.0.1:9"
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> GitHub:
        owner = self
        self.hold.set()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                owner.hold.wait(20)
                owner.answer(self)

            def log_message(self, *_: object) -> None:
                """Nothing on the test's output."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        query = parse_qs(parts.query)
        page = int(query.get("page", ["1"])[0])
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return self.send(request, 401, {"message": "Bad credentials"})
        if self.fault and page >= self.fault_page:
            return self.misbehave(request)
        if parts.path == f"/repos/{self.repository}/issues":
            return self.page(request, query, page)
        return self.send(request, 404, {"message": "Not Found"})

    def page(self, request: BaseHTTPRequestHandler, query: dict[str, list[str]], page: int) -> None:
        assert query["state"] == ["open"] and int(query["per_page"][0]) <= 100
        size = min(self.per_page, int(query["per_page"][0]))
        rows = self.issues[(page - 1) * size : page * size]
        etag = f'W/"{abs(hash(json.dumps(rows)))}"'
        if request.headers.get("if-none-match") == etag:
            return self.send(request, 304, None, {"etag": etag})
        headers = {"etag": etag, "x-ratelimit-remaining": "4990"}
        if page * size < len(self.issues):
            base = f"{self.url}{urlsplit(request.path).path}?state=open&per_page={size}"
            headers["link"] = f'<{base}&page={page + 1}>; rel="next", <{base}&page=9>; rel="last"'
        return self.send(request, 200, rows, headers)

    def misbehave(self, request: BaseHTTPRequestHandler) -> None:
        if isinstance(self.fault, int):
            return self.send(request, self.fault, {"message": "x"})
        if self.fault == "primary limit":
            headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 1800)}
            return self.send(request, 403, {"message": "API rate limit exceeded"}, headers)
        if self.fault == "secondary limit":
            return self.send(request, 429, {"message": "secondary rate limit"}, {"retry-after": "120"})
        if self.fault == "not json":
            return self.send(request, 200, None, body=b"<html>captive portal</html>")
        if self.fault == "not a list":
            return self.send(request, 200, {"issues": []})
        if self.fault == "odd rows":
            return self.send(
                request, 200, [None, 3, {"number": "7", "title": "x"}, {"number": 8}, issue(9, "ok")]
            )
        if self.fault == "moved":
            self.fault = ""
            self.repository = "acme/rocket2"
            return self.send(
                request,
                301,
                None,
                {"location": f"{self.url}/repos/acme/rocket2/issues?state=open&per_page=100"},
            )
        if self.fault == "moved elsewhere":
            return self.send(request, 302, None, {"location": f"{self.elsewhere}/steal"})
        if self.fault == "next elsewhere":
            return self.send(request, 200, [], {"link": f'<{self.elsewhere}/steal>; rel="next"'})
        if self.fault == "circle":
            return self.send(request, 302, None, {"location": request.path})
        assert self.fault == "hang up"
        request.close_connection = True
        request.connection.close()
        return None

    def send(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        document: Any,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> None:
        data = body if body is not None else b"" if document is None else json.dumps(document).encode()
        request.send_response(status)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)
