"""Tests of pipelines/web: guard, server."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

import pytest
from dagster_webserver import cli

from pipelines.web import server
from pipelines.web.guard import HOSTS_VARIABLE, START_PAGE, AllowedNames, Guard, Headers, only_reads, refused_fetch

# guard: Requests at the guard, without a server behind it.

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


# headers: Who may open the UI, and under which name.


def headers(**values: str) -> Headers:
    return Headers.of_scope([(name.replace("_", "-").encode(), value.encode()) for name, value in values.items()])


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("127.0.0.1:3000", True),
        ("localhost:8080", True),
        ("LOCALHOST", True),
        ("[::1]:3000", True),
        ("ui.example.org", True),
        ("gate.example.org:8443", True),
        ("gate.example.org", False),
        ("evil.example:3000", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:3000", False),
        ("localhost:3000@evil.example", False),
        ("0.0.0.0:3000", False),
        ("", False),
    ],
)
def test_names_of_this_machine_and_of_the_user(host: str, passes: bool) -> None:
    names = AllowedNames.parse("ui.example.org, gate.example.org:8443")
    assert (names.refused_host(headers(host=host)) is None) == passes


def test_a_name_that_is_missing_or_there_twice_is_refused() -> None:
    pair = (b"Host", b"localhost")
    assert AllowedNames().refused_host(Headers.of_scope([pair])) is None
    assert AllowedNames().refused_host(Headers.of_scope([])) is not None
    assert AllowedNames().refused_host(Headers.of_scope([pair, pair])) is not None


@pytest.mark.parametrize(
    ("origin", "host", "passes"),
    [
        (None, "localhost:3000", True),
        ("http://localhost:3000", "localhost:3000", True),
        ("http://localhost", "localhost:80", True),
        ("https://ui.example.org", "127.0.0.1:3000", True),  # a proxy that gives the server its own name
        ("http://localhost:8888", "localhost:3000", False),  # a notebook server is not the UI
        ("http://127.0.0.1:3000", "localhost:3000", False),
        ("https://evil.example", "localhost:3000", False),
        ("https://ui.example.org.evil.example", "localhost:3000", False),
        ("null", "localhost:3000", False),  # a file, or a frame in a sandbox
        ("", "localhost:3000", False),
    ],
)
def test_pages_of_the_same_origin(origin: str | None, host: str, passes: bool) -> None:
    sent = headers(host=host) if origin is None else headers(host=host, origin=origin)
    assert (AllowedNames.parse("ui.example.org").refused_origin(sent) is None) == passes


@pytest.mark.parametrize("text", ["*", "http://ui.example.org", "ui.example.org/ui", "a b", "ui:port"])
def test_what_is_no_name_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is no name of a host"):
        AllowedNames.parse(text)


def test_what_a_browser_says_of_its_sender() -> None:
    link = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert refused_fetch(headers(), is_page=False) is None
    assert refused_fetch(headers(sec_fetch_site="same-origin"), is_page=False) is None
    assert refused_fetch(headers(sec_fetch_site="none", **link), is_page=True) is None
    assert refused_fetch(headers(sec_fetch_site="cross-site", **link), is_page=True) is None
    assert refused_fetch(headers(sec_fetch_site="cross-site", **link), is_page=False) is not None
    frame = link | {"sec_fetch_dest": "iframe"}
    for site in ("cross-site", "same-site", "of-next-year"):
        assert refused_fetch(headers(sec_fetch_site=site, **frame), is_page=True) is not None
        assert refused_fetch(headers(sec_fetch_site=site, sec_fetch_mode="no-cors"), is_page=True) is not None


def test_json_is_declared_and_not_hidden_in_another_type() -> None:
    assert headers(content_type="application/json; charset=utf-8").is_json()
    for other in ("text/plain; application/json", "text/plain", "application/graphql", "multipart/form-data", ""):
        assert not headers(content_type=other).is_json()
    assert not headers().is_json()


# server: Dagster's own web server is started with the guard in front of it.


def test_the_server_makes_a_guarded_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOSTS_VARIABLE, "ui.example.org")
    monkeypatch.setattr(server, "create_app_from_workspace_process_context", lambda *_, **__: "dagster")
    monkeypatch.setattr(
        cli, "create_app_from_workspace_process_context", server.create_app_from_workspace_process_context
    )
    monkeypatch.setattr(cli, "main", lambda: None)
    server.serve_ui()
    guard = cli.create_app_from_workspace_process_context()  # type: ignore[call-arg]
    assert isinstance(guard, Guard)
    assert guard.application == "dagster" and guard.names.given == {"ui.example.org"}


def test_a_dagster_that_makes_it_elsewhere_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "create_app_from_workspace_process_context", None)
    with pytest.raises(AssertionError):
        server.serve_ui()
