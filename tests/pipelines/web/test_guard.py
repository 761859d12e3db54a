"""Requests at the guard, without a server behind it."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

import pytest

from pipelines.web.guard import START_PAGE, Guard, only_reads
from pipelines.web.headers import AllowedNames

DELETE = 'mutation { deletePipelineRun(runId: "1") { __typename } }'


class Behind:
    """Stands for Dagster: keeps what reaches it."""

    def __init__(self) -> None:
        self.reached: list[tuple[str, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            self.reached.append(("websocket", b""))
            await send({"type": "websocket.accept"})
            return
        body = (await receive())["body"] if scope["method"] == "POST" else b""
        self.reached.append((scope["method"], body))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def ask(method: str, target: str, body: str = "", **more: str) -> tuple[list[dict[str, Any]], Behind]:
    """(what was answered, what reached the application). The body comes in two parts."""
    path, _, query = target.partition("?")
    values = {"host": "localhost:3000"} | {name.replace("_", "-"): value for name, value in more.items()}
    scope = {
        "type": "websocket" if method == "WEBSOCKET" else "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in values.items()],
    }
    half = len(body) // 2
    parts = [
        {"type": "http.request", "body": body[:half].encode(), "more_body": True},
        {"type": "http.request", "body": body[half:].encode(), "more_body": False},
    ]
    sent: list[dict[str, Any]] = []
    behind = Behind()

    async def receive() -> dict[str, Any]:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(dict(message))

    asyncio.run(Guard(behind, AllowedNames())(scope, receive, send))  # type: ignore[arg-type]
    return sent, behind


def graphql(document: str) -> str:
    return f"/graphql?query={quote(document)}"


JSON = "application/json"
REFUSED = {
    "a mutation by GET": ("GET", graphql(DELETE), "", {}),
    "one below a query, asked for by its name": (
        "GET", f"{graphql('query A { version } ' + DELETE.replace('mutation', 'mutation B'))}&operationName=B", "", {},
    ),
    "one under an alias": ("GET", graphql(DELETE.replace("deletePipelineRun", "version: deletePipelineRun")), "", {}),
    "one in a fragment": ("GET", graphql("mutation { ...F } fragment F on Mutation { wipeAssets { __typename } }"), "", {}),
    "a second one": ("GET", f"{graphql('{ version }')}&query={quote(DELETE)}", "", {}),
    "one that only a prefix of the path hides": ("GET", f"/prefix{graphql(DELETE)}", "", {}),
    "a document that cannot be read": ("GET", graphql("mutation {"), "", {}),
    "a document that is nested too deep": ("GET", graphql("{a" * 20_000), "", {}),
    "an address that cannot be read": ("GET", "/graphql?query=%ff", "", {}),
    "a form": ("POST", "/graphql", f"query={quote(DELETE)}", {"content_type": "application/x-www-form-urlencoded"}),
    "a form of plain text": ("POST", "/graphql", json.dumps({"query": DELETE}), {"content_type": "text/plain"}),
    "plain text that mentions JSON": (
        "POST", "/graphql", json.dumps({"query": DELETE}), {"content_type": "text/plain; application/json"},
    ),
    "a document as such": ("POST", "/graphql", DELETE, {"content_type": "application/graphql"}),
    "a POST whose query is in its address": ("POST", graphql(DELETE), "", {}),
    "JSON that is none": ("POST", "/graphql", "query=x", {"content_type": JSON}),
    "a batch": ("POST", "/graphql", json.dumps([{"query": DELETE}]), {"content_type": JSON}),
    "an event of an asset by a form": ("POST", "/report_asset_materialization/core/jobs", "", {}),
    "another method": ("PUT", "/graphql", "{}", {"content_type": JSON}),
    "a question whether another site may ask": ("OPTIONS", "/graphql", "", {"origin": "https://evil.example"}),
    "JSON of a foreign page": ("POST", "/graphql", "{}", {"content_type": JSON, "origin": "https://evil.example"}),
    "JSON of a file": ("POST", "/graphql", "{}", {"content_type": JSON, "origin": "null"}),
    "JSON of another server here": (
        "POST", "/graphql", "{}", {"content_type": JSON, "origin": "http://localhost:8888", "sec_fetch_site": "same-site"},
    ),
    "a foreign name": ("GET", "/server_info", "", {"host": "evil.example:3000"}),
    "a query in a foreign page's picture": ("GET", graphql("{ version }"), "", {"sec_fetch_site": "cross-site"}),
    "the UI in a foreign page's frame": (
        "GET", "/runs", "", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_foreign_page_could_send_is_refused(what: str) -> None:
    method, target, body, more = REFUSED[what]
    answer, behind = ask(method, target, body, **more)
    assert answer[0]["status"] == 403, what
    assert behind.reached == []


@pytest.mark.parametrize(
    "more", [{"origin": "https://evil.example"}, {"host": "evil.example"}, {"sec_fetch_site": "cross-site"}]
)
def test_a_websocket_of_a_foreign_page_is_closed_before_it_opens(more: dict[str, str]) -> None:
    answer, behind = ask("WEBSOCKET", "/graphql", **more)
    assert [message["type"] for message in answer] == ["websocket.close"]
    assert behind.reached == []


def test_the_pages_and_scripts_of_the_user_go_through() -> None:
    own = {"origin": "http://localhost:3000", "sec_fetch_site": "same-origin"}
    body = json.dumps({"query": DELETE})
    for more in ({}, own):
        answer, behind = ask("POST", "/graphql", body, content_type=JSON, **more)
        assert answer[0]["status"] == 200 and behind.reached == [("POST", body.encode())]
        assert ask("WEBSOCKET", "/graphql", **more)[1].reached == [("websocket", b"")]
    assert ask("GET", graphql("query A { version } { b: version }"))[1].reached == [("GET", b"")]
    assert ask("GET", "/graphql", accept="text/html")[1].reached == [("GET", b"")]
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    answer, behind = ask("GET", "/runs/1", **link)
    assert behind.reached == [("GET", b"")]
    assert (b"x-frame-options", b"SAMEORIGIN") in answer[0]["headers"]


def test_the_ui_opens_on_the_asset_graph() -> None:
    answer, behind = ask("GET", "/")
    assert answer[0]["status"] == 302 and (b"location", START_PAGE.encode()) in answer[0]["headers"]
    assert behind.reached == []


def test_only_queries_read() -> None:
    assert only_reads("query A { version } fragment F on Query { version }")
    assert not only_reads("subscription { pipelineRunLogs { __typename } }")
    assert not only_reads("type Query { a: Int }")
