"""Who may open the UI, and under which name."""

from __future__ import annotations

import pytest

from pipelines.web.headers import AllowedNames, Headers, refused_fetch


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
