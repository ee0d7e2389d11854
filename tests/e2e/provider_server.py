"""A real HTTP server on loopback that speaks both providers' documented formats, and misbehaves on demand.

Its judge is a rule, so that a verdict can be told from any other: a candidate is relevant when the last
word of its description occurs in the conversation.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz-LAST"


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    client: tuple[str, int]


@dataclass
class ProviderServer:
    """`behaviour` is a word of `_BEHAVIOURS` or an HTTP status, for POST; `check` the status of GETs."""

    behaviour: str | int = "ok"
    check: int = 200
    delay: float = 0.0
    check_delay: float = 0.0
    confidence: float = 0.9
    limit_remaining: float | None = 12.5
    endpoints: list[dict[str, Any]] = field(
        default_factory=lambda: [{"supported_parameters": ["tools", "tool_choice"]}]
    )
    error_body: dict[str, Any] = field(
        default_factory=lambda: {"type": "error", "error": {"type": "x", "message": "m"}}
    )
    cost: float | None = 0.00123
    usage: bool = True
    seen: list[Seen] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    released: threading.Event = field(default_factory=threading.Event)
    tls: ssl.SSLContext | None = None

    def __enter__(self) -> ProviderServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                """Quiet."""

            def do_GET(self) -> None:
                owner._get(self)

            def do_POST(self) -> None:
                owner._post(self)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                """A client that went away is what some tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def posts(self) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == "POST"]

    @property
    def gets(self) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == "GET"]

    def _record(self, handler: BaseHTTPRequestHandler) -> Seen:
        length = int(handler.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        seen = Seen(
            handler.command, handler.path, headers, handler.rfile.read(length), handler.client_address
        )
        with self.lock:
            self.seen.append(seen)
        return seen

    def _get(self, handler: BaseHTTPRequestHandler) -> None:
        seen = self._record(handler)
        self.released.wait(self.check_delay)
        if self.check != 200:
            _send(handler, self.check, self.error_body)
        elif seen.path == "/api/v1/key":
            _send(handler, 200, {"data": {"label": "sk", "limit_remaining": self.limit_remaining}})
        elif seen.path.endswith("/endpoints"):
            _send(handler, 200, {"data": {"id": "m", "endpoints": self.endpoints}})
        elif seen.path.startswith("/api/v1/models"):
            row = {
                "id": "author/model",
                "name": "A Model",
                "pricing": {"prompt": "0.000001", "completion": "0.000005"},
            }
            _send(handler, 200, {"data": [row]})
        elif seen.path.startswith("/v1/models?"):
            _send(handler, 200, {"data": [{"id": "model-1", "display_name": "Model 1"}], "has_more": False})
        else:
            _send(handler, 200, {"type": "model", "id": "model-1"})

    def _post(self, handler: BaseHTTPRequestHandler) -> None:
        seen = self._record(handler)
        with self.lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            self.released.wait(self.delay)
            self._answer(handler, seen)
        finally:
            with self.lock:
                self.in_flight -= 1

    def _answer(self, handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        request = json.loads(seen.body)
        if isinstance(self.behaviour, int):
            _send(handler, self.behaviour, self.error_body)
            return
        openrouter = seen.path.endswith("/chat/completions")
        judgements = self._judgements(_message_text(request, openrouter))
        wire = _WIRE.get(self.behaviour)
        if wire is not None:
            wire(handler)
            return
        change = _CHANGES.get(self.behaviour)
        if change is not None:
            change(judgements)
        document = self._document(openrouter, {"judgements": judgements})
        last = _DOCUMENTS.get(self.behaviour)
        if last is not None:
            last(document)
        _send(handler, 200, document)

    def _judgements(self, message: str) -> list[dict[str, Any]]:
        conversation, _, listed = message.partition("<candidates>")
        return [
            {
                "candidate": int(number),
                "relevant": description.split()[-1] in conversation,
                "confidence": self.confidence,
            }
            for number, description in re.findall(r"^(\d+)\. [^\n]*?: ([^\n]*)$", listed, re.MULTILINE)
        ]

    def _document(self, openrouter: bool, tool_input: dict[str, Any]) -> dict[str, Any]:
        if openrouter:
            call = {
                "type": "function",
                "function": {"name": "record_judgements", "arguments": json.dumps(tool_input)},
            }
            usage = {
                "prompt_tokens": 500,
                "completion_tokens": 40,
                "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 0},
            }
            if self.cost is not None:
                usage["cost"] = self.cost  # type: ignore[assignment]
            document: dict[str, Any] = {
                "choices": [
                    {"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
                ]
            }
        else:
            block = {"type": "tool_use", "id": "t", "name": "record_judgements", "input": tool_input}
            usage = {"input_tokens": 400, "output_tokens": 60, "cache_read_input_tokens": 0}
            document = {"type": "message", "stop_reason": "tool_use", "content": [block]}
        return {**document, "usage": usage} if self.usage else document


def _message_text(request: dict[str, Any], openrouter: bool) -> str:
    return str(request["messages"][1 if openrouter else 0]["content"])


def _send(handler: BaseHTTPRequestHandler, status: int, document: dict[str, Any]) -> None:
    _send_bytes(handler, status, json.dumps(document).encode())


def _send_bytes(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json"
) -> None:
    handler.send_response(status)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _half_closed(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"content": [')
    handler.wfile.flush()
    handler.close_connection = True


def _dropped(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def _not_http(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\x00\xffnot http at all\r\n\r\n")
    handler.close_connection = True


def _huge(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    block = b"x" * 65536
    for _ in range(64):
        handler.wfile.write(b"10000\r\n" + block + b"\r\n")
    handler.wfile.write(b"0\r\n\r\n")


def _stream(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for number in range(20):
        event = f"event: nonsense\ndata: {{{number}\n\n".encode()
        handler.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
    handler.wfile.write(b"0\r\n\r\n")


def _dribble(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "100000")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def _redirect(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("location", "/elsewhere")
    handler.send_header("content-length", "0")
    handler.end_headers()


_WIRE = {
    "half_closed": _half_closed,
    "dropped": _dropped,
    "not_http": _not_http,
    "huge": _huge,
    "stream": _stream,
    "dribble": _dribble,
    "redirect": _redirect,
    "not_json": lambda handler: _send_bytes(handler, 200, b"<html>gateway</html>", "text/html"),
    "deep_json": lambda handler: _send_bytes(handler, 200, b"[" * 100_000),
    "a_list": lambda handler: _send_bytes(handler, 200, b"[1, 2]"),
}


def _set(name: str, value: object) -> Any:
    return lambda judgements: judgements[0].update({name: value})


_CHANGES: dict[str, Any] = {
    "missing": lambda judgements: judgements.pop(),
    "extra": lambda judgements: judgements.append({"candidate": 99, "relevant": True, "confidence": 0.5}),
    "doubled": lambda judgements: judgements.append(dict(judgements[0])),
    "too_sure": _set("confidence", 1.5),
    "negative": _set("confidence", -0.1),
    "confidence_text": _set("confidence", "high"),
    "confidence_true": _set("confidence", True),
    "relevant_text": _set("relevant", "yes"),
    "number_text": _set("candidate", "1"),
    "unknown_fields": _set("why", "because"),
}


def _drop_calls(document: dict[str, Any]) -> None:
    if "choices" in document:
        document["choices"][0]["message"] = {"role": "assistant", "content": "They all look relevant."}
    else:
        document["content"] = [{"type": "text", "text": "They all look relevant."}]


def _cut(document: dict[str, Any]) -> None:
    if "choices" in document:
        document["choices"][0]["finish_reason"] = "length"
    else:
        document["stop_reason"] = "max_tokens"


def _two_calls(document: dict[str, Any]) -> None:
    calls = document["choices"][0]["message"]["tool_calls"] if "choices" in document else document["content"]
    calls.append(calls[0])


_DOCUMENTS: dict[str, Any] = {
    "no_tool_call": _drop_calls,
    "cut": _cut,
    "two_calls": _two_calls,
    "error_inside": lambda document: document.update({"error": {"code": 502, "message": "down"}}),
}
