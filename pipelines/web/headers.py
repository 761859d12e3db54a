"""Which requests a browser sends for the UI's own pages, judged by their headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

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
