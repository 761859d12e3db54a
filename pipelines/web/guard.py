"""A layer in front of Dagster's web server, which itself takes any request from any page under any name.

Whoever opens a web page lets it send requests to this machine. Here they are refused: under a foreign name (DNS rebinding), from a
foreign page, and all that change something unless they are a POST of JSON, which a foreign page cannot send without being asked for.

Which requests a browser sends for the UI's own pages, judged by their headers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from graphql import GraphQLError, OperationType, parse
from graphql.language import FragmentDefinitionNode, OperationDefinitionNode

HOSTS_VARIABLE = "TRACEHOUSE_UI_HOSTS"
"""The environment variable of names, with commas between them, under which the UI may be opened beside LOOPBACK_NAMES."""
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names of this machine that nobody else can point elsewhere."""
_AUTHORITY = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_USUAL_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True)
class Headers:
    """The headers of a request, by name in small letters, each with all its values."""

    values: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of_scope(cls, pairs: Iterable[tuple[bytes, bytes]]) -> Headers:
        """From the pairs of an ASGI scope."""
        values: dict[str, list[str]] = {}
        for name, value in pairs:
            values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip())
        return cls(values)

    def single(self, name: str) -> str | None:
        """The value of a header that is there once. None where it is missing, "" where it is there twice."""
        values = self.values.get(name, [])
        return values[0] if len(values) == 1 else "" if values else None

    def is_json(self) -> bool:
        """Whether the content is declared as JSON. A browser asks before it sends that to another site, and a form cannot."""
        return (self.single("content-type") or "").partition(";")[0].strip().lower() == "application/json"


@dataclass(frozen=True)
class AllowedNames:
    """The names under which the UI may be opened. given: those of the user, `NAME` or `NAME:PORT`, beside LOOPBACK_NAMES."""

    given: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> AllowedNames:
        """From names with commas between them. Raises ValueError for a text that is no name."""
        names = [name.strip().lower() for name in text.split(",") if name.strip()]
        for name in names:
            if _AUTHORITY.fullmatch(name) is None:
                raise ValueError(
                    f"{name!r} is no name of a host: expected NAME or NAME:PORT, without http:// and without *"
                )
        return cls(frozenset(names))

    def refused_host(self, headers: Headers) -> str | None:
        """Why a request under this name is refused, None where it is not. A page can have its own name lead to this machine."""
        host = headers.single("host") or ""
        parts = _AUTHORITY.fullmatch(host.lower())
        if parts and (parts["name"] in LOOPBACK_NAMES | self.given or parts[0] in self.given):
            return None
        return f"the name {host!r} is not one of this UI's: `tracehouse ui --allow-host NAME` adds a name"

    def refused_origin(self, headers: Headers) -> str | None:
        """Why a request that another page has sent is refused, None where it comes from the UI's own pages or from no page."""
        if "origin" not in headers.values:
            return None
        origin = headers.single("origin") or ""
        address = urlsplit(origin)
        if address.scheme in _USUAL_PORTS and address.netloc:
            here = (headers.single("host") or "").lower()
            # a proxy may give the server a name of its own: then the page's name is one of the user's
            port = f":{_USUAL_PORTS[address.scheme]}"
            ours = {name.removesuffix(port) for name in self.given} | {here.removesuffix(port)}
            if address.netloc.lower().removesuffix(port) in ours:
                return None
        return f"a page of {origin!r} may not use this UI"


def refused_fetch(headers: Headers, is_page: bool) -> str | None:
    """Why a request is refused by what the browser says of its sender, None where it is not. is_page: it reads a page, changes nothing
    and gets nothing but the page: a link of another site may lead there, in a window of its own."""
    if "sec-fetch-site" not in headers.values:
        return None
    site = headers.single("sec-fetch-site")
    if site in ("same-origin", "none"):
        return None
    if is_page and headers.single("sec-fetch-mode") == "navigate" and headers.single("sec-fetch-dest") == "document":
        return None
    return "a page of another site may not use this UI"


# --- guard


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 64 << 20
"""Of a request. Larger ones are refused."""
MOST_TOKENS = 20_000
"""Of a query in an address."""
START_PAGE = "/asset-groups"
"""The graph of all assets. Dagster itself begins with the runs of the last hours, and there may be none."""
_ADDED_HEADERS = [
    (b"x-frame-options", b"SAMEORIGIN"),  # nobody's page shows the UI below something that the user clicks on
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Guard:
    """An ASGI application that lets only harmless and same-origin requests through to another one."""

    def __init__(self, application: Application, names: AllowedNames, start_page: str | None = START_PAGE) -> None:
        """start_page: where the address without a path leads to, None for a page of its own."""
        self.application, self.names, self.start_page = application, names, start_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or hands it on."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A websocket is not subject to the browser's own rules for foreign pages, so the first request decides."""
        if self._refused(scope, is_page=False):
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self.application(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_ADDED_HEADERS]
            await send(message)

        reads = scope["method"] in ("GET", "HEAD")
        reason = self._refused(scope, is_page=reads and not _is_graphql(scope))
        if reason is None and reads:
            reason = refused_query(scope.get("query_string", b"")) if _is_graphql(scope) else None
        elif reason is None:
            reason, receive = await _take_json(scope, receive)
        if reason is not None:
            await _reply(403, f"tracehouse refused this request: {reason}\n", send_with_headers)
        elif self.start_page and reads and scope["path"].rstrip("/") == scope.get("root_path", "").rstrip("/"):
            await _reply(
                302, "", send_with_headers, [(b"location", f"{scope.get('root_path', '')}{self.start_page}".encode())]
            )
        else:
            await self.application(scope, receive, send_with_headers)

    def _refused(self, scope: Scope, is_page: bool) -> str | None:
        headers = Headers.of_scope(scope["headers"])
        return self.names.refused_host(headers) or self.names.refused_origin(headers) or refused_fetch(headers, is_page)


def refused_query(query_string: bytes) -> str | None:
    """Why a GraphQL request by GET is refused, None where each of its documents only reads."""
    try:
        parameters = parse_qs(query_string.decode("latin-1"), keep_blank_values=True, errors="strict")
    except ValueError:
        return "its address cannot be read"
    if all(only_reads(document) for document in parameters.get("query", [])):
        return None
    return "what changes something must be a POST of JSON"


def only_reads(document: str) -> bool:
    """Whether every operation of a GraphQL document is a query, whichever of them is asked for."""
    try:
        definitions = parse(document, no_location=True, max_tokens=MOST_TOKENS).definitions
    except (GraphQLError, RecursionError):
        return False
    return all(
        isinstance(each, FragmentDefinitionNode)
        or (isinstance(each, OperationDefinitionNode) and each.operation == OperationType.QUERY)
        for each in definitions
    )


def _is_graphql(scope: Scope) -> bool:
    return scope["path"].rstrip("/").endswith("/graphql")


async def _take_json(scope: Scope, receive: Receive) -> tuple[str | None, Receive]:
    """(why a request that may change something is refused, what the application receives of it)"""
    if scope["method"] != "POST":
        return f"{scope['method']} is not known here", receive
    if not Headers.of_scope(scope["headers"]).is_json():
        return "what changes something must be a POST of JSON (content type application/json)", receive
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return "it ended early", receive
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > MOST_BYTES:
            return f"it is longer than {MOST_BYTES >> 20} MiB", receive
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return "its content is no JSON", receive
    if not isinstance(content, dict):
        return "its content is no JSON object; requests in batches are not known here", receive
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return None, receive_again


async def _reply(status: int, text: str, send: Send, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    about = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": about})
    await send({"type": "http.response.body", "body": text.encode()})
